# The two commands that matter: make run, make test. `make help` lists all.

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
BUILD_PACKAGES := gcc libc6-dev libgmp-dev
TEST_PACKAGES := $(BUILD_PACKAGES) clang libclang-rt-14-dev clang-format gdb patch spin tcc valgrind
ARM64_PACKAGES := $(BUILD_PACKAGES) gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user
PEER_PACKAGES := $(BUILD_PACKAGES) g++ libcaf-dev libboost-context-dev libboost-fiber-dev erlang-base \
	python3 python3-uvloop python3-gevent python3-greenlet cargo librust-tokio-dev
FORK_PACKAGES := g++ libtbb-dev
MUSL_PACKAGES := musl-tools linux-libc-dev
EMULATOR := qemu-aarch64 -L /usr/aarch64-linux-gnu
SIDE_BY_SIDE := -j$(shell nproc) # to build: what runs afterwards is one thing
GO_TEST := go test -timeout 30m # for a package; a test that waits for what never comes gives up sooner

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: deps-run ## the main job: coroutines against goroutines, as tables; a minute, or a few
	go run ./bench

.PHONY: test
test: deps-test check test-c asan-gcc test-gdb test-go test-race ## every C and Go test, with a sanitizer and the race detector

.PHONY: test-more
test-more: deps-test tsan-short test-faults test-nested ## what CI runs besides: another sanitizer, faults, other modules

.PHONY: test-core
test-core: deps-test explore-quick models-quick test-musl-short test-hostile stress-short memcheck-short ## for a change of the C core: the explorer, models, musl, a collection at each crossing, stress

C_FILES = $$(git ls-files '*.c' '*.h')

.PHONY: format
format: ## lay the Go and C code out
	gofmt -w $$(git ls-files '*.go')
	clang-format -i $(C_FILES)

.PHONY: headers
headers: ## the copies of the public headers, in examples that are modules, after a change of csrc/include
	@for copy in $$(git ls-files '*/coro.h' ':!csrc'); do go run ./cmd/coro header -dir $$(dirname $$copy); done

.PHONY: check
check: ## layout and size of the code, what keeps modules from being installed, go vet, staticcheck
	@bad=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$bad" || { echo "not gofmt'ed: $$bad"; exit 1; }
	clang-format --dry-run -Werror $(C_FILES)
	scripts/rooms.sh
	scripts/floors.sh --check
	scripts/floors.sh --self-test
	scripts/words.sh
	scripts/words.sh --self-test
	scripts/labels.sh
	scripts/labels.sh --self-test
	scripts/docs.pl
	scripts/docs.pl --self-test
	scripts/shape.sh --check
	scripts/shape.sh --self-test
	scripts/release-static.sh
	scripts/release-static.sh --self-test
	go vet ./... ./bench/...
	CGO_ENABLED=0 go vet .
	CGO_ENABLED=0 GOARCH=386 go vet ./...
	go run $(STATICCHECK) ./... ./bench/...

.PHONY: release-check
release-check: ## HEAD's modules at their version, installed as users do from a module proxy, into empty folders
	$(LLHTTP) scripts/release-check.sh

.PHONY: test-c
test-c: ## the C tests
	$(MAKE) $(SIDE_BY_SIDE) -C csrc/test test

.PHONY: asan
asan: ## the C tests under AddressSanitizer, gcc and clang
	$(MAKE) $(SIDE_BY_SIDE) -C csrc/test asan

.PHONY: asan-gcc asan-clang
asan-gcc asan-clang:
	$(MAKE) $(SIDE_BY_SIDE) -C csrc/test asan WITH=$(@:asan-%=%)

# As musl in csrc/test/Makefile. Debian's libgcc, which package symbolize links, needs glibc.
MUSL_GO = $$(go list ./... | grep -v /symbolize)

.PHONY: test-musl
test-musl: ## the C tests, and the Go ones, short, with musl, the C library of Alpine
	@scripts/deps.sh $(MUSL_PACKAGES)
	$(MAKE) $(SIDE_BY_SIDE) -C csrc/test musl
	CC="musl-gcc -idirafter /usr/include -idirafter /usr/include/$$(gcc -print-multiarch)" \
		CGO_LDFLAGS="-O2 -g -Wl,--eh-frame-hdr" $(GO_TEST) -short $(MUSL_GO)
	CORO_TEST_BUILDS=1 $(GO_TEST) -run 'TestAnotherModuleIsBuiltInEachWay/musl' ./internal/hard

.PHONY: test-musl-short
test-musl-short: ## the same, smaller: of the Go packages the root one
	CORO_TEST_SCALE=0.05 $(MAKE) test-musl MUSL_GO=.

.PHONY: ubsan
ubsan: ## the C tests under UndefinedBehaviorSanitizer alone, gcc and clang
	$(MAKE) $(SIDE_BY_SIDE) -C csrc/test ubsan

.PHONY: tsan
tsan: ## the C tests under ThreadSanitizer, gcc and clang
	CORO_TEST_SCALE=0.2 $(MAKE) $(SIDE_BY_SIDE) -C csrc/test tsan WITH=clang
	CORO_TEST_SCALE=0.05 $(MAKE) $(SIDE_BY_SIDE) -C csrc/test tsan WITH=gcc

.PHONY: tsan-short
tsan-short:
	CORO_TEST_SCALE=0.05 $(MAKE) $(SIDE_BY_SIDE) -C csrc/test tsan WITH=clang

.PHONY: test-levels
test-levels: ## the C tests of dense and dispatched coroutines at every optimization level, gcc and clang, with stack protectors
	$(MAKE) $(SIDE_BY_SIDE) -C csrc/test levels

.PHONY: memcheck
memcheck: ## the C tests under Valgrind
	CORO_TEST_SCALE=0.01 $(MAKE) $(SIDE_BY_SIDE) -C csrc/test memcheck

.PHONY: memcheck-short
memcheck-short:
	CORO_TEST_SCALE=0.01 $(MAKE) $(SIDE_BY_SIDE) -C csrc/test memcheck T='manual_* stack_call_* join_results* end_of_* sched_first*'

.PHONY: test-gdb
test-gdb: ## what gdb shows of coroutines; needs leave to trace processes
	$(MAKE) -C csrc/test gdb

.PHONY: explore
explore: deps-test ## the core's C under every order of its steps (docs/internals/explorer.md); long
	$(MAKE) -C csrc/explore full

.PHONY: explore-quick
explore-quick: ## the same, smaller
	$(MAKE) $(SIDE_BY_SIDE) -C csrc/explore quick
.PHONY: test-faults
test-faults: ## every system call and allocation of the core fails, one after the other
	$(MAKE) $(SIDE_BY_SIDE) -C csrc/test/faults quick

.PHONY: faults
faults: ## the same under the sanitizers too, and random faults for longer
	$(MAKE) -C csrc/test/faults all

.PHONY: coverage
coverage: ## lines of the C core that the C tests run, at least 95 %, and error branches that they do not take
	$(MAKE) -C csrc/test/faults coverage

.PHONY: test-go
test-go: ## the Go tests
	$(GO_TEST) ./... ./bench/...
	CGO_ENABLED=0 $(GO_TEST) ./actor/...

.PHONY: test-builds
test-builds: deps-test deps-arm64 ## the Go tests that build the core again and again: in each way go offers, after each change
	@scripts/deps.sh $(MUSL_PACKAGES)
	CORO_TEST_BUILDS=1 $(GO_TEST) -run 'IsBuiltInEachWay|AChangedFileRebuilds' ./internal/hard ./internal/core

# The generator of bodies has one goroutine.
.PHONY: test-race
test-race: ## the Go tests under the race detector
	$(GO_TEST) -race $$(go list ./... | grep -v /internal/bodygen)

.PHONY: test-hostile
test-hostile: ## the Go tests, shorter, with a garbage collection at every crossing of Go and C, for half of the time
	$(GO_TEST) -short -tags corohostile . ./internal/hard ./corotest

.PHONY: test-asan
test-asan: ## the Go tests under AddressSanitizer
	$(GO_TEST) -asan ./...

# What docs/internals/testing.md says is counted: all of it, or a tenth.
STRESS_GO = CGO_CFLAGS="-O2 -g -DCOROI_STRESS" go test -v -timeout 90m

.PHONY: stress
stress: ## the tests that count, with random delays, in full: 10^9 queue operations, 10^7 steals and so on
	CORO_TEST_SCALE=100 $(MAKE) $(SIDE_BY_SIDE) -C csrc/test stress
	CORO_TEST_SCALE=100 $(STRESS_GO) -run Stress . ./internal/hard ./internal/history
	CORO_TEST_SCALE=500 $(STRESS_GO) -race -run Stress ./actor

.PHONY: stress-short
stress-short: ## a tenth of that, without stress_mixed, which takes as long as all others
	CORO_TEST_SCALE=10 $(MAKE) $(SIDE_BY_SIDE) -C csrc/test stress LONG=
	CORO_TEST_SCALE=10 $(STRESS_GO) -run StressWakesFromGo .

.PHONY: stress-bodies
stress-bodies: ## 10^7 random operations of bodies, with the race detector and the garbage collector all the time; signals
	CORO_TEST_SCALE=20 go test -v -timeout 1h -run StressSignals ./internal/hard
	CORO_TEST_SCALE=2000 CORO_TEST_GC=1 go test -race -v -timeout 3h -run StressBodies ./internal/hard

# Modules that users may install use the tree's coro by go.work (CONTRIBUTING.md). Those below bench are
# nobody's dependency, and need much that nothing else does: go.work does not name them, and their
# go.mod has a replace instead.
OFF = GOWORK=off
# The parser of examples/httpd and bench/http.
LLHTTP = PKG_CONFIG_PATH=$(CURDIR)/build/llhttp

.PHONY: deps-http
deps-http: deps-run
	@scripts/llhttp.sh build/llhttp

.PHONY: test-nested
test-nested: deps-http ## each module besides the root one (examples, x/nats, bench), vetted, and its short tests
	@scripts/deps.sh liblz4-dev libpcre2-dev libpq-dev libsqlite3-dev pkg-config postgresql
	$(LLHTTP) scripts/nested.sh

.PHONY: test-examples
test-examples: test-nested ## the same, and examples/httpd with AddressSanitizer
	$(LLHTTP) go -C examples/httpd test -asan ./...

.PHONY: test-nats
test-nats: ## x/nats, a module of its own: nodes and servers that are killed; about a minute
	go -C x/nats vet ./...
	cd x/nats && go run $(STATICCHECK) ./...
	go -C x/nats test -count=1 -timeout 5m ./...
	go -C x/nats test -count=1 -short -race -timeout 5m ./...

FUZZ_SECONDS ?= 60
FUZZ_HTTPD = -std=gnu11 -D_GNU_SOURCE -O1 -g -Wall -fsanitize=fuzzer,address,undefined \
	-fno-sanitize-recover=all -DCORO_NO_ABI_CHECK -DLLHTTP_STRICT_MODE=1 -Iexamples/httpd/server

.PHONY: fuzz-httpd
fuzz-httpd: deps-http ## bytes to the connections of examples/httpd, for FUZZ_SECONDS (60), with clang's libFuzzer
	@scripts/deps.sh clang libclang-rt-14-dev
	mkdir -p build/fuzz-httpd.corpus
	$(LLHTTP) sh -c 'clang $(FUZZ_HTTPD) -o build/fuzz-httpd examples/httpd/fuzz/fuzz.c examples/httpd/server/*.c \
		$$(pkg-config --variable=sources libllhttp) $$(pkg-config --cflags --libs libllhttp)'
	build/fuzz-httpd -dict=examples/httpd/fuzz/http.dict -max_len=4096 -max_total_time=$(FUZZ_SECONDS) \
		-artifact_prefix=build/ build/fuzz-httpd.corpus

.PHONY: bench-http
bench-http: deps-http ## HTTP servers by turns: examples/httpd, a bare epoll loop, net/http, fasthttp; 10 min
	@scripts/deps.sh wrk
	$(OFF) $(LLHTTP) go -C bench/http run .

.PHONY: peers
peers: ## coroutines and actors of other libraries and languages beside coro's, by turns (RUN: some); 25 min
	go run ./bench/peers $(if $(RUN),-run '$(RUN)') $(if $(MINICORO),-minicoro '$(MINICORO)') \
		$(if $(LIBACO),-libaco '$(LIBACO)')

.PHONY: deps-peers
deps-peers: ## the compilers and libraries that peers need, but minicoro and libaco
	@scripts/deps.sh $(PEER_PACKAGES)

REPORT = $(OFF) go -C bench/report

.PHONY: report
report: ## build/report/index.html, a page of charts, from docs/figures/figures.json
	$(REPORT) run . -root ../.. -html ../../build/report

.PHONY: report-measure
report-measure: deps-run deps-http ## measure what the report shows anew, then as report-fill; 45 min, on a quiet machine
	@scripts/deps.sh wrk $(FORK_PACKAGES)
	$(REPORT) run . -root ../.. -measure . $(if $(LIBFORK),-libfork '$(abspath $(LIBFORK))')
	$(MAKE) report-fill

.PHONY: report-fill
report-fill: ## the tables and charts of README and docs, from docs/figures/figures.json
	$(REPORT) run . -root ../.. -fill

.PHONY: report-check
report-check: report ## the page in Chromium by the accessibility rules of axe-core, light and dark, wide and narrow
	@scripts/deps.sh chromium $(if $(shell command -v npm),,nodejs npm)
	cd bench/report/check && npm install --no-audit --no-fund && node check.mjs $(CURDIR)/build/report/index.html

.PHONY: test-arm64
test-arm64: deps-arm64 ## the C and Go tests built for arm64, under an emulator; some minutes
	@scripts/deps.sh gdb-multiarch
	$(MAKE) $(SIDE_BY_SIDE) -C csrc/test arm64-bin
	CORO_TEST_SCALE=0.2 $(MAKE) -C csrc/test arm64 arm64-pages arm64-gdb
	CGO_ENABLED=1 GOARCH=arm64 CC=aarch64-linux-gnu-gcc CORO_TEST_EMULATOR='$(EMULATOR)' \
		$(GO_TEST) -short -exec '$(EMULATOR)' ./...
	CORO_TEST_BUILDS=1 $(GO_TEST) -run 'TestAnotherModuleIsBuiltInEachWay/cross' ./internal/hard

.PHONY: test-arm64-quick
test-arm64-quick: deps-arm64 ## the C tests alone of test-arm64, short, and not those that wait or that measure time
	$(MAKE) $(SIDE_BY_SIDE) -C csrc/test arm64-bin
	CORO_TEST_SCALE=0.05 $(MAKE) -C csrc/test arm64 T='[!abl]* a[!c]* ac[!t]* act[!o]* actor_[!b]* b[!r]* lend_*'

.PHONY: models
models: deps-test ## the protocols checked with Spin: the larger variants and every mutant
	models/run

.PHONY: models-quick
models-quick: ## the same with small variants
	models/run quick

.PHONY: ring
ring: deps-run ## rings of coroutines, goroutines, threads and C++20 coroutines: all sizes; takes long
	go run ./bench -run '^ring$$' -full

.PHONY: forkjoin
forkjoin: deps-run ## forks, children and joins beside goroutines, OpenMP, oneTBB, and libfork where LIBFORK is its directory; some minutes
	@scripts/deps.sh $(FORK_PACKAGES)
	go run ./bench -run '^forkjoin' $(if $(LIBFORK),-libfork '$(LIBFORK)')

.PHONY: bench-json
bench-json: deps-run ## every measurement as one JSON object a line
	go run ./bench -json

OLD ?= HEAD
NEW ?= .

.PHONY: compare
compare: deps-run ## whether commit NEW (the work tree) is slower than OLD (HEAD), by the experiments RUN
	go run ./bench/compare '$(OLD)' '$(NEW)' $(if $(RUN),-run '$(RUN)')

.PHONY: compare-check
compare-check: deps-run ## that compare finds a planted slow-down, and nothing where nothing is; 2 min
	go run ./bench/compare -check

.PHONY: docker
docker: ## build the container image
	docker build -t coro .

.PHONY: deps-run
deps-run:
	@scripts/deps.sh $(BUILD_PACKAGES)

.PHONY: deps-test
deps-test:
	@scripts/deps.sh $(TEST_PACKAGES)

.PHONY: deps-arm64
deps-arm64:
	@scripts/deps.sh $(ARM64_PACKAGES)

.PHONY: clean
clean: ## remove what was built
	rm -rf build
