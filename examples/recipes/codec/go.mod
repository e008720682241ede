module github.com/organzine/coro/examples/recipes/codec

go 1.26

require (
	github.com/organzine/coro v0.1.0
	github.com/stretchr/testify v1.12.1
)

require go.yaml.in/yaml/v3 v3.0.5 // indirect
