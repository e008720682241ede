module github.com/organzine/coro/bench/http

go 1.26.0

require (
	github.com/organzine/coro v0.1.0
	github.com/organzine/coro/bench v0.0.0
	github.com/organzine/coro/examples/httpd v0.1.0
	github.com/stretchr/testify v1.12.1
	github.com/valyala/fasthttp v1.78.0
)

require (
	github.com/klauspost/compress v1.20.3 // indirect
	github.com/mitchellh/colorstring v0.0.0-20190213212951-d06e56a500db // indirect
	github.com/molecule-man/go-brrr v1.3.1 // indirect
	github.com/rivo/uniseg v0.4.7 // indirect
	github.com/schollz/progressbar/v3 v3.19.1 // indirect
	github.com/valyala/bytebufferpool v1.0.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/sys v0.50.0 // indirect
	golang.org/x/term v0.48.0 // indirect
)

replace (
	github.com/organzine/coro => ../..
	github.com/organzine/coro/bench => ..
	github.com/organzine/coro/examples/httpd => ../../examples/httpd
)
