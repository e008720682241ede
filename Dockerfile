# Builds and tests coro, and makes a small image that runs its benchmark.
#
#   docker build -t coro . && docker run --rm coro

FROM golang:1.26-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends libgmp-dev && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN go vet ./... && go test -short ./...
RUN go build -o /out/bench ./bench

FROM debian:bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends libgmp10 && rm -rf /var/lib/apt/lists/* \
	&& useradd --system --no-create-home coro
COPY --from=build /out/bench /usr/local/bin/bench
USER coro
ENTRYPOINT ["/usr/local/bin/bench"]
