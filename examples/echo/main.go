//go:build cgo

// Command echo is a server that sends back what comes: the smallest one. Each connection is a
// coroutine with a C body, which reads and writes as if its calls blocked. The program shows
// coro.Scheduler.Serve and coro_io.h. On SIGTERM or Ctrl-C it stops to listen, and ends when its
// clients have, or after -grace.
//
// To use it in a module of your own, copy the folder, and write the headers beside the C file with
//
//	go run github.com/organzine/coro/cmd/coro header coro_io.h
//
// The Go side of the C body, bodies_gen.go, is written by coro gen.
package main

//go:generate go run github.com/organzine/coro/cmd/coro gen echo.c -- -I../../csrc/include

// The -I is for this module, where coro.h is in csrc. A module of your own has coro.h beside this
// file, and needs neither these lines nor the -I.

// #cgo CFLAGS: -std=gnu11 -O2 -I${SRCDIR}/../../csrc/include
import "C"

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/organzine/coro"
)

func main() {
	address := flag.String("address", "127.0.0.1:0", "where to listen; port 0: any")
	limit := flag.Int("limit", 10_000, "most connections at once")
	grace := flag.Duration("grace", 10*time.Second, "how long to wait for clients at the end")
	flag.Parse()
	if err := run(*address, *limit, *grace); err != nil {
		log.Fatal(err)
	}
}

func run(address string, limit int, grace time.Duration) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	s, err := coro.New()
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return errors.Join(err, s.Close(context.Background()))
	}
	fmt.Printf("listening on %s\n", l.Addr())
	err = s.Serve(ctx, l, Echo, coro.ServeLimit(limit), coro.ServeGrace(grace))
	if errors.Is(err, context.Cause(ctx)) {
		err = nil // as asked for
	}
	return errors.Join(err, s.Close(context.Background()))
}
