package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"runtime"

	"github.com/valyala/fasthttp"

	"github.com/organzine/coro"
	"github.com/organzine/coro/bench/http/loop"
	"github.com/organzine/coro/examples/httpd/server"
)

// The systems that are measured.
const (
	sysCoro     = "coro"
	sysEpoll    = "epoll"
	sysNetHTTP  = "net/http"
	sysFastHTTP = "fasthttp"
	sysLwan     = "lwan" // a program of its own
)

var all = []string{sysCoro, sysEpoll, sysNetHTTP, sysFastHTTP, sysLwan}

var hello = []byte("Hello, World!\n")

// serveAs is the process of a server: until it is killed, but for an error.
func serveAs(out io.Writer, system string, workers int) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(out, l.Addr()); err != nil {
		return err
	}
	switch system {
	case sysCoro:
		return serveByCoro(l, workers)
	case sysEpoll:
		return loop.Serve(l.(*net.TCPListener), workers)
	case sysNetHTTP:
		runtime.GOMAXPROCS(workers)
		return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			_, _ = w.Write(hello)
		}))
	case sysFastHTTP:
		runtime.GOMAXPROCS(workers)
		s := &fasthttp.Server{
			NoDefaultServerHeader: true,
			Handler: func(ctx *fasthttp.RequestCtx) {
				ctx.SetContentType("text/plain")
				ctx.SetBody(hello)
			},
		}
		return s.Serve(l)
	}
	return fmt.Errorf("-serve %s: there is no such server", system)
}

var upper = coro.MustExportFunc(func(_ context.Context, text []byte) ([]byte, error) {
	return bytes.ToUpper(text), nil
})

func serveByCoro(l net.Listener, workers int) error {
	limits := server.DefaultLimits
	limits.Requests = math.MaxUint32
	server.Configure(limits, upper, upper)
	s, err := coro.New(coro.WithWorkers(workers))
	if err != nil {
		return err
	}
	return s.Serve(context.Background(), l, server.Connection, coro.ServeLimit(100_000))
}
