//go:build cgo

package coro_test

import (
	"bufio"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"net"
	"sync"
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
