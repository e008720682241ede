# Builds and tests coro, and makes a small image that runs its benchmark.
#
#   docker build -t coro . && docker run --rm coro
#
# Arguments go to the benchmark: docker run --rm coro -json. More than the default limits of a container is not asked for:
# no capability, no privilege, no writable file system.

FROM golang:1.26-bookworm AS build
WORKDIR /src
# What seldom changes comes first, so that these layers are kept: packages, then modules.
COPY Makefile ./
COPY scripts scripts
RUN make deps-run && rm -rf /var/lib/apt/lists/*
COPY go.mod go.sum ./
COPY bench/go.mod bench/go.sum bench/
RUN export GOWORK=off; go mod download && go -C bench mod download
COPY . .
RUN go build -trimpath -o /out/bench ./bench && go build -trimpath -o /out/coro ./cmd/coro

# The tests of C and Go, in the container that the image is built in: the long ones short, for machines that have other
# work; the sanitizers are left to `make test`.
FROM build AS test
RUN CORO_TEST_SCALE=0.02 make test-c test-go

# From the stage of the tests: what fails them makes no image.
FROM debian:bookworm-slim
RUN apt-get update \
	&& apt-get install -y --no-install-recommends libgmp10 \
	&& rm -rf /var/lib/apt/lists/* \
	&& useradd --system --no-create-home --shell /usr/sbin/nologin coro
COPY --from=test /out/bench /out/coro /usr/local/bin/
USER coro
WORKDIR /tmp
ENTRYPOINT ["/usr/local/bin/bench"]
