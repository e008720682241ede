# The two commands that matter: make run, make test. `make help` lists all.

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
BUILD_PACKAGES := gcc libc6-dev libgmp-dev
TEST_PACKAGES := $(BUILD_PACKAGES) clang libclang-rt-14-dev

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: deps-run ## the main job: coroutines against goroutines, as tables; under a minute
	go run ./bench

.PHONY: test
test: deps-test check test-c test-c-asan test-go test-race ## everything that CI runs

.PHONY: check
check: ## formatting, go vet, staticcheck
	@bad=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$bad" || { echo "not gofmt'ed: $$bad"; exit 1; }
	go vet ./... ./bench/...
	CGO_ENABLED=0 go vet .
	go run $(STATICCHECK) ./... ./bench/...

.PHONY: test-c
test-c: ## the C tests
	$(MAKE) -C csrc/test test

.PHONY: test-c-asan
test-c-asan: ## the C tests under the address and undefined-behaviour sanitizers
	$(MAKE) -C csrc/test asan

.PHONY: test-go
test-go: ## the Go tests
	go test ./... ./bench/...

.PHONY: test-race
test-race: ## the Go tests under the race detector
	go test -race ./...

.PHONY: stress
stress: ## the C and Go stress tests, ten times as long
	CORO_TEST_SCALE=10 $(MAKE) -C csrc/test test
	go test -run Stress -count=10 .

.PHONY: bench-json
bench-json: deps-run ## every measurement as one JSON object a line
	go run ./bench -json

.PHONY: docker
docker: ## build the container image
	docker build -t coro .

.PHONY: deps-run
deps-run:
	@scripts/deps.sh $(BUILD_PACKAGES)

.PHONY: deps-test
deps-test:
	@scripts/deps.sh $(TEST_PACKAGES)

.PHONY: clean
clean: ## remove what was built
	rm -rf build
