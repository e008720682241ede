//go:build cgo

package coro_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/testbody"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
