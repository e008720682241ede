//go:build cgo

package coro_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/testbody"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	serveEcho      = coro.MustFunc[coro.FD, coro.None](testbody.ServeEchoBody)
	serveEchoDense = coro.MustFunc[coro.FD, coro.None](testbody.ServeEchoBody, coro.FuncDense())
)

// A served listener: end ends its context, and returns what Serve has returned.
type served struct {
	net.Addr
	end func() error
}

func serve(t *testing.T, s *coro.Scheduler, l net.Listener, f coro.Func[coro.FD, coro.None],
	opts ...coro.ServeOption,
) served {
	t.Helper()
	ctx, quit := context.WithCancelCause(background)
	result := make(chan error, 1)
	testbody.Connections()
	go func() { result <- s.Serve(ctx, l, f, opts...) }()
	return served{l.Addr(), func() error { quit(errEnough); return <-result }}
}

func listen(t *testing.T, network string) net.Listener {
	t.Helper()
	at := "127.0.0.1:0"
	if network == "unix" {
		at = filepath.Join(t.TempDir(), "socket")
	}
	l, err := net.Listen(network, at)
	require.NoError(t, err)
	return l
}

func (v served) dial(t *testing.T) net.Conn {
	t.Helper()
	c, err := net.Dial(v.Network(), v.String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// ask sends a request, and returns its answer.
func ask(t *testing.T, c net.Conn, request string) string {
	t.Helper()
	_, err := c.Write([]byte(request))
	assert.NoError(t, err)
	answer := make([]byte, len(request))
	_, err = io.ReadFull(c, answer)
	assert.NoError(t, err)
	return string(answer)
}

func atEnd(t *testing.T, c net.Conn) {
	t.Helper()
	_, err := c.Read(make([]byte, 1))
	assert.Error(t, err)
}

func noConnections(t *testing.T) {
	t.Helper()
	now, _ := testbody.Connections()
	assert.Zero(t, now)
}

func TestServe(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		for name, f := range map[string]coro.Func[coro.FD, coro.None]{
			"plain": serveEcho, "dense": serveEchoDense,
		} {
			t.Run(network+" "+name, func(t *testing.T) {
				s := newScheduler(t, coro.WithWorkers(2))
				v := serve(t, s, listen(t, network), f)
				var all sync.WaitGroup
				for i := range 20 {
					c := v.dial(t)
					all.Go(func() {
						for k := range 50 {
							request := fmt.Sprint("request ", i, k)
							assert.Equal(t, request, ask(t, c, request))
						}
						if i%2 == 0 {
							assert.NoError(t, c.Close())
						}
					})
				}
				all.Wait()
				assert.ErrorIs(t, v.end(), errEnough)
				noConnections(t)
				_, err := net.Dial(network, v.String())
				assert.Error(t, err)
				if network == "unix" {
					_, err := os.Stat(v.String())
					assert.NoError(t, err, "the path stays")
				}
				finish(t, s)
			})
		}
	}
}

func TestServeLimit(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	v := serve(t, s, listen(t, "tcp"), serveEcho, coro.ServeLimit(2))
	var conns []net.Conn
	for range 10 {
		conns = append(conns, v.dial(t))
	}
	for _, c := range conns {
		assert.Equal(t, "x", ask(t, c, "x"))
		require.NoError(t, c.Close())
	}
	_, most := testbody.Connections()
	assert.LessOrEqual(t, most, 2)
	assert.ErrorIs(t, v.end(), errEnough)
	finish(t, s)
}

func TestServePinned(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	v := serve(t, s, listen(t, "tcp"), serveEcho.OnWorker(1))
	for range 10 {
		assert.Equal(t, "1", ask(t, v.dial(t), "!"))
	}
	assert.ErrorIs(t, v.end(), errEnough)
	finish(t, s)
}

// While there is no descriptor left, connections wait, and the pauses are counted.
func TestServeWithoutDescriptors(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	v := serve(t, s, listen(t, "unix"), serveEcho)
	assert.Equal(t, "x", ask(t, v.dial(t), "x"))
	eventually(t, func() bool { return s.Stats().Awake == 0 }, "the worker sleeps: its set is open")
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	second := os.NewFile(uintptr(fd), "second")
	assert.Zero(t, s.Stats().AcceptPauses)
	lift := limit(syscall.RLIMIT_NOFILE, 0)
	err = syscall.Connect(fd, &syscall.SockaddrUnix{Name: v.String()})
	eventually(t, func() bool { return s.Stats().AcceptPauses >= 3 }, "three pauses")
	now, _ := testbody.Connections()
	lift()
	require.NoError(t, err)
	assert.Equal(t, 1, now)
	_, err = second.Write([]byte("y"))
	assert.NoError(t, err)
	answer := make([]byte, 1)
	_, err = second.Read(answer)
	assert.NoError(t, err)
	assert.Equal(t, "y", string(answer))
	assert.NoError(t, second.Close())
	pauses := s.Stats().AcceptPauses
	assert.Contains(t, s.Stats().String(), fmt.Sprint("accept pauses: ", pauses, ";"))
	assert.Equal(t, "x", ask(t, v.dial(t), "x"))
	assert.Equal(t, pauses, s.Stats().AcceptPauses)
	assert.ErrorIs(t, v.end(), errEnough)
	finish(t, s)
}

// Connections that do not end by themselves are closed when the time of grace is over.
func TestServeGrace(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	for _, grace := range []time.Duration{0, 30 * time.Millisecond} {
		v := serve(t, s, listen(t, "tcp"), serveEcho, coro.ServeGrace(grace))
		idle, stays := v.dial(t), v.dial(t)
		assert.Equal(t, "x", ask(t, idle, "x"))
		assert.Equal(t, "x", ask(t, stays, "x"))
		_, err := stays.Write([]byte("."))
		require.NoError(t, err)
		require.Eventually(t, func() bool { now, _ := testbody.Connections(); return now == 2 },
			time.Minute, time.Millisecond)
		begun := time.Now()
		assert.ErrorIs(t, v.end(), errEnough)
		assert.GreaterOrEqual(t, time.Since(begun), grace)
		atEnd(t, idle)
		atEnd(t, stays)
		noConnections(t)
	}
	finish(t, s)
}

// A listener of a type of its own, as a tls.Listener is.
type wrapped struct{ net.Listener }

func TestServeBadInput(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	var bad *coro.OptionError
	closed := func(l net.Listener) {
		t.Helper()
		_, err := l.Accept()
		assert.ErrorIs(t, err, net.ErrClosed)
	}
	assert.ErrorAs(t, s.Serve(background, nil, serveEcho), &bad)
	for _, o := range []coro.ServeOption{
		coro.ServeLimit(0), coro.ServeLimit(-1), coro.ServeLimit(1 << 31), coro.ServeGrace(-1),
		coro.ServeLinger(-1),
	} {
		l := listen(t, "tcp")
		assert.ErrorAs(t, s.Serve(background, l, serveEcho, o), &bad)
		closed(l)
	}
	l := listen(t, "tcp")
	assert.ErrorAs(t, s.Serve(background, tls.NewListener(l, &tls.Config{}), serveEcho), &bad)
	closed(l)
	l = listen(t, "tcp")
	assert.ErrorAs(t, s.Serve(background, wrapped{l}, serveEcho), &bad)
	closed(l)
	l = listen(t, "tcp")
	assert.ErrorAs(t, s.Serve(background, l, coro.Func[coro.FD, coro.None]{}), &bad)
	closed(l)
	l = listen(t, "tcp")
	assert.ErrorAs(t, s.Serve(background, l, serveEcho.OnWorker(7)), &bad)
	closed(l)
	l = listen(t, "tcp")
	ended, quit := context.WithCancelCause(background)
	quit(errEnough)
	assert.ErrorIs(t, s.Serve(ended, l, serveEcho), errEnough)
	closed(l)
	l = listen(t, "tcp")
	require.NoError(t, l.Close())
	assert.ErrorIs(t, s.Serve(background, l, serveEcho), net.ErrClosed)
	finish(t, s)
	require.NoError(t, s.Close(background))
	l = listen(t, "tcp")
	assert.ErrorIs(t, s.Serve(background, l, serveEcho), coro.ErrClosed)
	closed(l)
}

// Close with a context that ends cancels the server with all else.
func TestServeInASchedulerThatCloses(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	v := serve(t, s, listen(t, "tcp"), serveEcho)
	c := v.dial(t)
	assert.Equal(t, "x", ask(t, c, "x"))
	soon, quit := context.WithTimeout(background, 20*time.Millisecond)
	defer quit()
	assert.ErrorIs(t, s.Close(soon), context.DeadlineExceeded)
	atEnd(t, c)
	err := v.end()
	assert.True(t, errors.Is(err, coro.ErrCanceled) || errors.Is(err, coro.ErrClosed), err)
	require.NoError(t, s.Close(background))
}

// A Go body serves: it holds its executor, and its end ends Serve.
func TestServeInAGoBody(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2), coro.WithExecutors(2))
	l := listen(t, "tcp")
	task, err := coro.Go(s, func(me *coro.Coroutine) (coro.None, error) {
		return coro.None{}, s.Serve(me.Context(), l, serveEcho)
	})
	require.NoError(t, err)
	c, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	assert.Equal(t, "x", ask(t, c, "x"))
	task.Cancel()
	_, err = task.Wait(background)
	assert.ErrorIs(t, err, coro.ErrCanceled)
	atEnd(t, c)
	require.NoError(t, c.Close())
	finish(t, s)
}

// connectionsAtOnce is how many connections the process may have, both ends of each.
func connectionsAtOnce(t *testing.T) int {
	var most syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &most))
	return min(9500, int(min(most.Cur, 1<<20)-300)/2)
}

// inParts runs f for 0 to n-1, on some goroutines.
func inParts(n int, f func(i int)) {
	const parts = 16
	var all sync.WaitGroup
	for part := range parts {
		all.Go(func() {
			for i := part; i < n; i += parts {
				f(i)
			}
		})
	}
	all.Wait()
}

// Thousands of connections are held at once, and each gets its answers. At the end half of them
// have a request under way, which is answered. All others see the end, and none is cut off.
func TestServeThousands(t *testing.T) {
	if testing.Short() || raceDetector {
		t.Skip("both ends of thousands of connections")
	}
	n := connectionsAtOnce(t)
	require.Greater(t, n, 100)
	for name, f := range map[string]coro.Func[coro.FD, coro.None]{
		"plain": serveEcho, "dense": serveEchoDense,
	} {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, coro.WithWorkers(2))
			v := serve(t, s, listen(t, "tcp"), f, coro.ServeGrace(patience))
			conns := make([]net.Conn, n)
			inParts(n, func(i int) {
				c, err := net.Dial("tcp", v.String())
				if assert.NoError(t, err) {
					conns[i] = c
				}
			})
			t.Cleanup(func() {
				for _, c := range conns {
					if c != nil {
						_ = c.Close()
					}
				}
			})
			require.NotContains(t, conns, nil)
			for _, word := range []string{"first", "second"} {
				inParts(n, func(i int) {
					request := fmt.Sprint(word, i)
					assert.Equal(t, request, ask(t, conns[i], request))
				})
			}
			now, most := testbody.Connections()
			assert.Equal(t, n, now)
			assert.Equal(t, n, most)
			assert.Zero(t, s.Stats().AcceptPauses)
			inParts(n, func(i int) {
				if i%2 == 0 {
					_, err := conns[i].Write([]byte("last"))
					assert.NoError(t, err)
				}
			})
			begun := time.Now()
			assert.ErrorIs(t, v.end(), errEnough)
			assert.Less(t, time.Since(begun), patience, "within the time of grace")
			noConnections(t)
			inParts(n, func(i int) {
				rest, err := io.ReadAll(conns[i]) // an end, and no reset
				assert.NoError(t, err)
				assert.Equal(t, "last"[:4*((i+1)%2)], string(rest))
			})
			finish(t, s)
		})
	}
}

func TestStressServe(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	for i := range int(counted(5)) {
		v := serve(t, s, listen(t, "tcp"), serveEcho, coro.ServeLimit(1+i%3))
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				for {
					c, err := net.Dial("tcp", v.String())
					if err != nil {
						return
					}
					for range i % 4 {
						if _, err := c.Write([]byte("request")); err == nil {
							_, _ = io.ReadFull(c, make([]byte, 7)) // it may end
						}
					}
					_ = c.Close()
				}
			})
		}
		time.Sleep(time.Duration(i%20) * time.Millisecond)
		assert.ErrorIs(t, v.end(), errEnough)
		all.Wait()
	}
	finish(t, s)
}
