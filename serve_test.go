//go:build cgo

package coro_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/testbody"
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

// Bodies whose requests, of eight bytes, are streamed in.
var (
	untilEnds = coro.MustFunc[coro.FD, coro.None](testbody.ServeUntilEndsBody)
	untilTold = coro.MustFunc[coro.FD, coro.None](testbody.ServeUntilToldBody)
	serveSome = coro.MustFunc[coro.FD, coro.None](testbody.ServeSomeBody)
)

// usualGrace is the time of grace without an option.
const usualGrace = 10 * time.Second

// requests is n of them, of one client, from a number on.
func requests(client, from, n int) (out []byte) {
	for i := range n {
		out = binary.NativeEndian.AppendUint32(out, uint32(client))
		out = binary.NativeEndian.AppendUint32(out, uint32(from+i))
	}
	return out
}

// streams sends requests until the connection ends, in bursts, and checks their answers. began is
// done when the first has come. It returns how many have come, and how that has ended.
func streams(t *testing.T, c net.Conn, client int, pauses bool, began *sync.WaitGroup) (int, error) {
	var writer sync.WaitGroup
	writer.Go(func() {
		for from := 0; ; from += 20 {
			if _, err := c.Write(requests(client, from, 20)); err != nil {
				return
			}
			if pauses {
				time.Sleep(time.Duration(rand.IntN(500)) * time.Microsecond)
			}
		}
	})
	answers := bufio.NewReaderSize(c, 1<<16)
	var answer [8]byte
	for n := 0; ; n++ {
		_, err := io.ReadFull(answers, answer[:])
		if n == 0 {
			began.Done()
		}
		if err != nil || binary.NativeEndian.Uint32(answer[4:]) != uint32(n) {
			_ = c.Close()
			writer.Wait()
			assert.Error(t, err, "answer %d is another", n)
			return n, err
		}
	}
}

// Clients that stream requests get every answer that was written, however the bodies end, and then
// the end. One that neither reads nor closes holds nothing up.
func TestStressServeEndLosesNoAnswer(t *testing.T) {
	const clients = 8
	for name, f := range map[string]coro.Func[coro.FD, coro.None]{
		"until the server ends": untilEnds, "until told": untilTold, "some": serveSome,
	} {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, coro.WithWorkers(2))
			var longest time.Duration
			answers, rounds := 0, int(counted(10))
			for range rounds {
				// no client is so slow, on a busy machine neither
				v := serve(t, s, listen(t, "tcp"), f, coro.ServeLinger(patience))
				silent := v.dial(t)
				_, err := silent.Write(requests(clients, 0, 10))
				require.NoError(t, err)
				var all, began sync.WaitGroup
				began.Add(clients)
				var read [clients]int
				for i := range clients {
					c := v.dial(t)
					all.Go(func() {
						var err error
						read[i], err = streams(t, c, i, name == "until told", &began)
						assert.ErrorIs(t, err, io.EOF, "no reset")
					})
				}
				began.Wait()
				time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
				begun := time.Now()
				assert.ErrorIs(t, v.end(), errEnough)
				longest = max(longest, time.Since(begun))
				all.Wait()
				for i := range clients {
					assert.Equal(t, testbody.Answered(i), read[i], "answers written, answers read")
					answers += read[i]
				}
				testbody.Answered(clients)
				assert.NoError(t, silent.Close())
			}
			assert.Less(t, longest, usualGrace+patience)
			t.Logf("%d ends, %d answers, the longest end %v", rounds, answers, longest)
			finish(t, s)
		})
	}
}

// A client that never reads, and one that streams on after the end, hold Serve no longer than the
// time of grace and that of lingering together.
func TestServeEndsBesideClientsThatDoNot(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	for _, linger := range []time.Duration{0, 200 * time.Millisecond} {
		v := serve(t, s, listen(t, "tcp"), untilEnds,
			coro.ServeGrace(100*time.Millisecond), coro.ServeLinger(linger))
		var all sync.WaitGroup
		for i, reads := range []bool{false, true} {
			c := v.dial(t)
			if reads {
				all.Go(func() { _, _ = io.Copy(io.Discard, c) })
			}
			all.Go(func() { // until the connection is reset
				for {
					if _, err := c.Write(requests(i, 0, 100)); err != nil {
						return
					}
				}
			})
		}
		time.Sleep(50 * time.Millisecond)
		begun := time.Now()
		assert.ErrorIs(t, v.end(), errEnough)
		assert.Less(t, time.Since(begun), usualGrace)
		all.Wait()
		testbody.Answered(0)
		testbody.Answered(1)
	}
	finish(t, s)
}

// The peer half-closes, and the answers that are on their way come all the same.
func TestServeToAPeerThatHasEnded(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		s := newScheduler(t, coro.WithWorkers(1))
		v := serve(t, s, listen(t, network), untilTold)
		c := v.dial(t)
		_, err := c.Write(requests(0, 0, 100))
		require.NoError(t, err)
		require.NoError(t, c.(interface{ CloseWrite() error }).CloseWrite())
		answers, err := io.ReadAll(c)
		assert.NoError(t, err)
		assert.Equal(t, requests(0, 0, 100), answers)
		assert.ErrorIs(t, v.end(), errEnough)
		testbody.Answered(0)
		finish(t, s)
	}
}

// A Unix socket that is closed with something unread gives its peer an error instead of the end.
func TestServeEndOfUnixStreams(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	for range counted(5) {
		v := serve(t, s, listen(t, "unix"), untilEnds)
		c := v.dial(t)
		var all, began sync.WaitGroup
		began.Add(1)
		n := 0
		all.Go(func() {
			var err error
			n, err = streams(t, c, 0, false, &began)
			assert.ErrorIs(t, err, io.EOF)
		})
		began.Wait()
		assert.ErrorIs(t, v.end(), errEnough)
		all.Wait()
		assert.Equal(t, testbody.Answered(0), n)
	}
	finish(t, s)
}

// Connections have the options that package net gives those that it accepts, also one that has come
// before Serve.
func TestServeSetsTheOptionsOfPackageNet(t *testing.T) {
	f := coro.MustFunc[coro.FD, coro.None](testbody.ServeOptionsBody)
	s := newScheduler(t, coro.WithWorkers(1))
	options := func(c net.Conn) []byte {
		t.Helper()
		_, err := c.Write([]byte("?"))
		require.NoError(t, err)
		values := make([]byte, testbody.ServeOptions)
		_, err = io.ReadFull(c, values)
		require.NoError(t, err)
		return values
	}
	l := listen(t, "tcp")
	early, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	defer early.Close()
	v := serve(t, s, l, f)
	want := []byte{1, 1, 15, 15, 9}
	assert.Equal(t, want, options(early))
	assert.Equal(t, want, options(v.dial(t)))
	assert.ErrorIs(t, v.end(), errEnough)

	l = listen(t, "tcp") // and these are package net's
	c, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	defer c.Close()
	accepted, err := l.Accept()
	require.NoError(t, err)
	require.NoError(t, l.Close())
	fd, err := s.Adopt(accepted.(*net.TCPConn))
	require.NoError(t, err)
	require.NoError(t, f.Spawn(s, fd))
	assert.Equal(t, want, options(c))
	require.NoError(t, c.Close())
	require.NoError(t, s.Wait(soon(t)))
	require.NoError(t, fd.Close())

	v = serve(t, s, listen(t, "unix"), f)
	assert.Equal(t, byte(0), options(v.dial(t))[1], "no keep-alive")
	assert.ErrorIs(t, v.end(), errEnough)
	finish(t, s)
}

// Serve returns at the end of its context also where no worker has begun to serve; the server that
// begins later finds no listener.
func TestServeInAPausedScheduler(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1), coro.WithPaused())
	v := serve(t, s, listen(t, "tcp"), serveEcho)
	c := v.dial(t) // the kernel accepts it
	assert.ErrorIs(t, v.end(), errEnough)
	atEnd(t, c)
	_, err := net.Dial("tcp", v.String())
	assert.Error(t, err)
	assert.NoError(t, s.Run(soon(t)))

	v = serve(t, s, listen(t, "tcp"), serveEcho)
	c = v.dial(t)
	var over atomic.Bool
	var runs sync.WaitGroup
	runs.Go(func() { // a run that comes before the server has nothing to run
		for !over.Load() {
			assert.NoError(t, s.Run(background))
		}
	})
	assert.Equal(t, "x", ask(t, c, "x"))
	assert.ErrorIs(t, v.end(), errEnough)
	over.Store(true)
	runs.Wait()
}

// A context that panics where it is looked at.
type panicking struct {
	context.Context
	later bool
}

func (p panicking) Err() error {
	if !p.later {
		panic(errEnough)
	}
	return nil
}

func (p panicking) Done() <-chan struct{} { panic(errEnough) }

// Serve closes the listener on each way out, also by a panic.
func TestServeClosesItsListenerOnEachWayOut(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	closed := newScheduler(t, coro.WithWorkers(1))
	require.NoError(t, closed.Close(background))
	full := newScheduler(t, coro.WithWorkers(1), coro.WithPaused(), coro.WithRecordLimit(1))
	for empty.Spawn(full, coro.None{}) == nil {
	}
	canceled, quit := context.WithCancel(background)
	quit()
	var none context.Context
	var zero coro.Func[coro.FD, coro.None]
	for name, f := range map[string]func(l net.Listener) error{
		"a nil option": func(l net.Listener) error {
			err := s.Serve(background, l, serveEcho, coro.ServeLimit(1), nil)
			var bad *coro.OptionError
			assert.ErrorAs(t, err, &bad)
			return err
		},
		"a bad option": func(l net.Listener) error {
			return s.Serve(background, l, serveEcho, coro.ServeLinger(-1))
		},
		"another listener": func(l net.Listener) error {
			return s.Serve(background, wrapped{l}, serveEcho)
		},
		"no function": func(l net.Listener) error { return s.Serve(background, l, zero) },
		"a worker that is not there": func(l net.Listener) error {
			return s.Serve(background, l, serveEcho.OnWorker(7))
		},
		"a closed scheduler": func(l net.Listener) error {
			return closed.Serve(background, l, serveEcho)
		},
		"no record": func(l net.Listener) error { return full.Serve(background, l, serveEcho) },
		"a context that has ended": func(l net.Listener) error {
			return s.Serve(canceled, l, serveEcho)
		},
		"no context": func(l net.Listener) error { return s.Serve(none, l, serveEcho) },
		"a context that panics at once": func(l net.Listener) error {
			return s.Serve(panicking{background, false}, l, serveEcho)
		},
		"a context that panics later": func(l net.Listener) error {
			return s.Serve(panicking{background, true}, l, serveEcho)
		},
		"an end": func(l net.Listener) error {
			ctx, quit := context.WithTimeout(background, time.Millisecond)
			defer quit()
			return s.Serve(ctx, l, serveEcho)
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := listen(t, "tcp")
			err := func() (err error) {
				defer func() {
					if recover() != nil {
						err = errors.New("a panic")
					}
				}()
				return f(l)
			}()
			assert.Error(t, err)
			_, err = l.Accept()
			assert.ErrorIs(t, err, net.ErrClosed)
			c, err := net.Dial("tcp", l.Addr().String())
			if err == nil { // a dial from the very port that is free again connects to itself
				assert.Equal(t, c.RemoteAddr().String(), c.LocalAddr().String(), "nothing listens")
				assert.NoError(t, c.Close())
			}
		})
	}
	finish(t, s)
}

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

var echo = coro.MustFunc[testbody.FDEcho, int64](testbody.FDEchoBody)

// connected returns two ends of a TCP connection.
func connected(t *testing.T) (ours, theirs net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	came := make(chan net.Conn, 1)
	go func() {
		c, err := l.Accept()
		assert.NoError(t, err)
		came <- c
	}()
	theirs, err = net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	return <-came, theirs
}

func adopt(t *testing.T, s *coro.Scheduler, c net.Conn) coro.FD {
	t.Helper()
	f, err := s.Adopt(c.(syscall.Conn))
	require.NoError(t, err)
	return f
}

// A worker that waits for descriptors sleeps in a set of them, which takes two more.
func TestAWorkerThatWaitsForDescriptorsNeedsTwoMore(t *testing.T) {
	open := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		return len(list)
	}
	s := newScheduler(t, coro.WithWorkers(1))
	ours, theirs := connected(t)
	f := adopt(t, s, ours)
	before := open()
	task, err := echo.Start(s, testbody.FDEcho{FD: uint64(f)})
	require.NoError(t, err)
	eventually(t, func() bool { return s.Stats().Awake == 0 }, "it waits for the first byte")
	assert.Equal(t, before+2, open())
	require.NoError(t, theirs.Close())
	_, err = task.Wait(soon(t))
	require.NoError(t, err)
	finish(t, s)
}

func TestAdoptedConnectionsAreServedByC(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	var all sync.WaitGroup
	for range 20 {
		ours, theirs := connected(t)
		f := adopt(t, s, ours)
		task, err := echo.Start(s, testbody.FDEcho{FD: uint64(f)})
		require.NoError(t, err)
		all.Go(func() {
			sent := make([]byte, 100_000)
			for i := range sent {
				sent[i] = byte(rand.Int())
			}
			go func() {
				_, err := theirs.Write(sent)
				assert.NoError(t, err)
				assert.NoError(t, theirs.(*net.TCPConn).CloseWrite())
			}()
			back, err := io.ReadAll(theirs)
			assert.NoError(t, err)
			assert.True(t, bytes.Equal(sent, back))
			assert.NoError(t, theirs.Close())
			n, err := task.Wait(background)
			assert.NoError(t, err)
			assert.EqualValues(t, len(sent), n)
			assert.ErrorIs(t, f.Close(), net.ErrClosed)
		})
	}
	all.Wait()
	finish(t, s)
}

// A connection goes to C and back again and again while its peer sends: no byte is lost.
func TestAdoptAndBack(t *testing.T)       { adoptAndBack(t, scaled(400)) }
func TestStressAdoptAndBack(t *testing.T) { adoptAndBack(t, int(counted(1000))) }

func adoptAndBack(t *testing.T, turns int) {
	s := newScheduler(t, coro.WithWorkers(2))
	ours, theirs := connected(t)
	const chunk = 100
	all := int64(2 * turns * chunk)
	sent, back := sha256.New(), sha256.New()
	var peer sync.WaitGroup
	peer.Go(func() {
		// in pieces that have nothing to do with the chunks
		random := rand.NewChaCha8([32]byte{1})
		piece := make([]byte, 3*chunk)
		for left := all; left > 0; {
			n := min(left, 1+int64(random.Uint64()%uint64(len(piece))))
			_, _ = random.Read(piece[:n]) // it returns no error
			sent.Write(piece[:n])
			_, err := theirs.Write(piece[:n])
			assert.NoError(t, err)
			left -= n
		}
	})
	peer.Go(func() {
		n, err := io.Copy(back, theirs)
		assert.NoError(t, err)
		assert.Equal(t, all, n)
	})
	buffer := make([]byte, chunk)
	for range turns {
		f := adopt(t, s, ours)
		n, err := echo.Call(background, s, testbody.FDEcho{FD: uint64(f), Bytes: chunk})
		require.NoError(t, err)
		require.EqualValues(t, chunk, n)
		ours, err = f.Conn()
		require.NoError(t, err)
		_, err = io.ReadFull(ours, buffer)
		require.NoError(t, err)
		_, err = ours.Write(buffer)
		require.NoError(t, err)
	}
	require.NoError(t, ours.Close())
	peer.Wait()
	require.Equal(t, sent.Sum(nil), back.Sum(nil))
	require.NoError(t, theirs.Close())
	finish(t, s)
}

// C connects to a Unix socket whose queue is full until Go accepts.
func TestConnectWaitsForRoomInTheQueue(t *testing.T) {
	const clients = 6
	s := newScheduler(t, coro.WithWorkers(1))
	dir, err := os.MkdirTemp("", "coro") // a short name
	require.NoError(t, err)
	defer func() { assert.NoError(t, os.RemoveAll(dir)) }()
	var path [40]byte
	require.Less(t, copy(path[:39], dir+"/s"), 39)
	l, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	require.NoError(t, syscall.Bind(l, &syscall.SockaddrUnix{Name: dir + "/s"}))
	require.NoError(t, syscall.Listen(l, 1))
	connects := coro.MustFunc[[40]byte, int64](testbody.ConnectsBody)
	var tasks []*coro.Task[int64]
	for range clients {
		task, err := connects.Start(s, path)
		require.NoError(t, err)
		tasks = append(tasks, task)
	}
	parked(t, s, clients-2)
	for range clients {
		c, _, err := syscall.Accept(l)
		require.NoError(t, err)
		require.NoError(t, syscall.Close(c))
	}
	for _, task := range tasks {
		status, err := task.Wait(background)
		require.NoError(t, err)
		assert.Zero(t, status)
	}
	require.NoError(t, syscall.Close(l))
	finish(t, s)
}

func TestAdoptOfOtherKinds(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	path := filepath.Join(t.TempDir(), "socket")
	l, err := net.Listen("unix", path)
	require.NoError(t, err)
	f, err := s.Adopt(l.(*net.UnixListener))
	require.NoError(t, err)
	_, err = os.Stat(path)
	require.NoError(t, err, "the path stays")
	_, err = l.Accept()
	require.ErrorIs(t, err, net.ErrClosed)
	l, err = f.Listener()
	require.NoError(t, err)
	_, err = f.Listener()
	require.ErrorIs(t, err, net.ErrClosed, "it is Go's again")
	client, err := net.Dial("unix", path)
	require.NoError(t, err)
	accepted, err := l.Accept()
	require.NoError(t, err)
	require.NoError(t, accepted.Close())
	_, err = client.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
	require.NoError(t, client.Close())
	require.NoError(t, l.Close())

	p, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	f, err = s.Adopt(p.(*net.UDPConn))
	require.NoError(t, err)
	p, err = f.PacketConn()
	require.NoError(t, err)
	require.NoError(t, p.Close())

	r, w, err := os.Pipe()
	require.NoError(t, err)
	f, err = s.Adopt(r)
	require.NoError(t, err)
	_, err = w.WriteString("x")
	require.NoError(t, err)
	r, err = f.File()
	require.NoError(t, err)
	got := make([]byte, 1)
	_, err = r.Read(got)
	require.NoError(t, err)
	assert.Equal(t, "x", string(got))
	require.NoError(t, r.Close())
	require.NoError(t, w.Close())
	finish(t, s)
}

// What comes back as something else is open, in the error.
func TestWhatComesBackIsNoSocket(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	for name, back := range map[string]func(coro.FD) error{
		"Conn":       func(f coro.FD) error { _, err := f.Conn(); return err },
		"Listener":   func(f coro.FD) error { _, err := f.Listener(); return err },
		"PacketConn": func(f coro.FD) error { _, err := f.PacketConn(); return err },
	} {
		r, w, err := os.Pipe()
		require.NoError(t, err)
		f, err := s.Adopt(r)
		require.NoError(t, err)
		err = back(f)
		require.ErrorIs(t, err, syscall.ENOTSOCK, name)
		require.ErrorContains(t, err, "coro: FD: ", name)
		var wrong *coro.BackError
		require.ErrorAs(t, err, &wrong, name)
		require.ErrorIs(t, f.Close(), net.ErrClosed, name)
		require.NoError(t, w.Close())
		_, err = wrong.File.Read(make([]byte, 1))
		require.ErrorIs(t, err, io.EOF, name)
		require.NoError(t, wrong.File.Close(), name)
	}
	finish(t, s)
}

func TestAdoptMisuse(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	_, err := s.Adopt(nil)
	var option *coro.OptionError
	require.ErrorAs(t, err, &option)
	for _, f := range []coro.FD{0, 1, ^coro.FD(0)} {
		require.ErrorIs(t, f.Close(), net.ErrClosed)
		_, err = f.Conn()
		require.ErrorIs(t, err, net.ErrClosed)
	}
	ours, theirs := connected(t)
	f := adopt(t, s, ours)
	task, err := echo.Start(s, testbody.FDEcho{FD: uint64(f)})
	require.NoError(t, err)
	for n := 0; n == 0; time.Sleep(time.Millisecond) {
		_, n = s.Blocked(1)
	}
	_, err = f.Conn()
	require.ErrorIs(t, err, coro.ErrBusy)
	require.NoError(t, f.Close())
	n, err := task.Wait(background)
	require.NoError(t, err)
	assert.EqualValues(t, testbody.ECLOSED, n)
	require.NoError(t, theirs.Close())

	ours, theirs = connected(t)
	require.NoError(t, theirs.Close())
	require.NoError(t, s.Close(background))
	_, err = s.Adopt(ours.(*net.TCPConn))
	require.ErrorIs(t, err, coro.ErrClosed)
	_, err = ours.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF, "it stays open")
	require.NoError(t, ours.Close())
}

// Close of a scheduler closes what is left, so that the peer hears of it.
func TestCloseClosesAdoptedDescriptors(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	ours, theirs := connected(t)
	f := adopt(t, s, ours)
	require.NoError(t, s.Close(background))
	_, err := theirs.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
	require.ErrorIs(t, f.Close(), net.ErrClosed)
	require.NoError(t, theirs.Close())
}
