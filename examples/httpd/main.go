// Command httpd is a small HTTP/1.1 server, with a C coroutine for each connection. It shows what
// coro.Scheduler.Serve and coro_io.h are for, and is measured by bench/http. See README.md.
//
//	GET /               "Hello, World!", by a handler in C
//	GET /inline?text    the text in upper case, by a Go function that the worker's thread calls
//	GET /go?text        the same, by a goroutine; /go?50ms answers after that time
//	POST /echo          the body of the request
//
// On SIGTERM and Ctrl-C the server stops to listen, answers the requests that are under way, and
// ends.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"math"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/organzine/coro"
	"github.com/organzine/coro/examples/httpd/server"
)

var inline = coro.MustExportFunc(func(_ context.Context, text []byte) ([]byte, error) {
	return bytes.ToUpper(text), nil
})

var offloaded = coro.MustExportFunc(func(ctx context.Context, text []byte) ([]byte, error) {
	if d, err := time.ParseDuration(string(text)); err == nil {
		select {
		case <-time.After(d):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return bytes.ToUpper(text), nil
})

func main() {
	l := server.DefaultLimits
	address := flag.String("address", "127.0.0.1:0", "where to listen")
	workers := flag.Int("workers", 0, "threads; 0: one for each CPU")
	connections := flag.Int("connections", 10_000, "most connections at once")
	grace := flag.Duration("grace", 10*time.Second, "how long requests may take at the end")
	flag.DurationVar(&l.Idle, "idle", l.Idle, "how long a connection may be idle")
	flag.DurationVar(&l.Header, "header", l.Header, "how long a header may take")
	flag.DurationVar(&l.Body, "body", l.Body, "how long a body may take")
	flag.DurationVar(&l.Write, "write", l.Write, "how long a write may take")
	requests := flag.Uint("requests", uint(l.Requests), "how many requests a connection may make")
	linger := flag.Duration("linger", 2*time.Second,
		"how long to wait for the client to have the last response")
	flag.Parse()
	l.Requests = uint32(min(*requests, math.MaxUint32))
	server.Configure(l, inline, offloaded)
	if err := run(*address, *workers, *connections, *grace, *linger); err != nil {
		log.Fatal(err)
	}
}

func run(address string, workers, connections int, grace, linger time.Duration) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	var options []coro.Option
	if workers > 0 {
		options = append(options, coro.WithWorkers(workers))
	}
	s, err := coro.New(options...)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return errors.Join(err, s.Close(context.Background()))
	}
	fmt.Printf("listening on http://%s\n", l.Addr())
	err = s.Serve(ctx, l, server.Connection, coro.ServeLimit(connections),
		coro.ServeGrace(grace), coro.ServeLinger(linger))
	if errors.Is(err, context.Cause(ctx)) {
		err = nil // as asked for
	}
	return errors.Join(err, s.Close(context.Background()))
}
