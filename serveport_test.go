//go:build cgo && linux

package coro_test

import (
	"errors"
	"net"
	"syscall"
	"testing"

	"github.com/organzine/coro"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const soReusePort = 15 // SO_REUSEPORT of Linux, which package syscall lacks for amd64

// listenShared listens at an address with others that do.
func listenShared(t *testing.T, at string) net.Listener {
	t.Helper()
	config := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		var failed error
		err := raw.Control(func(fd uintptr) {
			failed = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, soReusePort, 1)
		})
		return errors.Join(err, failed)
	}}
	l, err := config.Listen(t.Context(), "tcp", at)
	require.NoError(t, err)
	return l
}

// Two listeners share a port, each is served by a Serve of its own, and the kernel spreads the
// connections. The end of one leaves the other's connections alone.
func TestServeListenersThatShareAPort(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	first := serve(t, s, listenShared(t, "127.0.0.1:0"), serveEcho.OnWorker(0), coro.ServeGrace(0))
	second := serve(t, s, listenShared(t, first.String()), serveEcho.OnWorker(1))
	require.Equal(t, first.String(), second.String())
	workers := map[string][]net.Conn{}
	for range 200 {
		c := first.dial(t)
		at := ask(t, c, "!") // the worker
		workers[at] = append(workers[at], c)
		if len(workers) == 2 && len(workers[at]) >= 3 {
			break
		}
	}
	require.Len(t, workers, 2)
	assert.ErrorIs(t, first.end(), errEnough)
	for _, c := range workers["0"] {
		atEnd(t, c)
	}
	for _, c := range append(workers["1"], second.dial(t)) {
		assert.Equal(t, "1", ask(t, c, "!"))
	}
	assert.ErrorIs(t, second.end(), errEnough)
	noConnections(t)
	finish(t, s)
}
