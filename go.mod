module github.com/organzine/coro

go 1.26

require (
	github.com/anishathalye/porcupine v1.3.1
	github.com/ianlancetaylor/cgosymbolizer v0.0.0-20260504013507-f4b012c11129
	github.com/stretchr/testify v1.12.1
)

require go.yaml.in/yaml/v3 v3.0.5 // indirect
