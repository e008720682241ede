//go:build cgo

package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/organzine/coro"
	"github.com/organzine/coro/corotest"
	"github.com/organzine/coro/internal/testbody"
)

// patience is how long a test waits for an event that must come. No passing test waits that long.
const patience = 3 * time.Minute

// verifyNone checks that neither schedulers nor goroutines nor descriptors are left at the end.
func verifyNone(t testing.TB) {
	t.Helper()
	corotest.VerifyNone(t)
	goroutines, files := runtime.NumGoroutine(), sockets(t)
	t.Cleanup(func() {
		for begin := time.Now(); ; time.Sleep(time.Millisecond) {
			more, open := runtime.NumGoroutine(), sockets(t)
			if more <= goroutines && open <= files {
				return
			}
			require.Less(t, time.Since(begin), patience, "%d goroutines, before %d; "+
				"%d sockets, before %d", more, goroutines, open, files)
		}
	})
}

func sockets(t testing.TB) (n int) {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	for _, e := range entries {
		to, _ := os.Readlink("/proc/self/fd/" + e.Name())
		if strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n
}

func scheduler(t testing.TB) *coro.Scheduler {
	t.Helper()
	s, err := coro.New(coro.WithWorkers(2))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close(context.Background())) })
	return s
}

// connect connects a client with a function that serves one connection. The result of that is sent
// to the channel.
func connect(t testing.TB, serve func(*tls.Conn) error) (*tls.Conn, <-chan error) {
	t.Helper()
	server, client, err := configs()
	require.NoError(t, err)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", server)
	require.NoError(t, err)
	defer listener.Close()
	accepted := make(chan net.Conn, 1)
	go func() {
		defer close(accepted)
		if conn, err := listener.Accept(); err == nil {
			_ = conn.(*tls.Conn).HandshakeContext(context.Background())
			accepted <- conn
		}
	}()
	conn, err := tls.Dial("tcp", listener.Addr().String(), client)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
	served := make(chan error, 1)
	go func() { served <- serve((<-accepted).(*tls.Conn)) }()
	return conn, served
}

// joined connects a client with the C engine.
func joined(t testing.TB, s *coro.Scheduler) (*tls.Conn, <-chan error) {
	t.Helper()
	return connect(t, func(conn *tls.Conn) error { return serve(s, conn) })
}

// goodbye is an engine that writes "goodbye", ends that direction, and reads all. Its result is how
// many bytes it has read, or a status.
var goodbye = coro.MustFunc[coro.StreamEnd, int64](testbody.StreamGoodbye)

// fails is an engine that reads one byte, and fails with a code of its own.
var fails = coro.MustFunc[coro.StreamEnd, int64](testbody.StreamFails)

// outcome is what has become of the connection.
func outcome(t testing.TB, served <-chan error) error {
	t.Helper()
	select {
	case err := <-served:
		return err
	case <-time.After(patience):
		require.Fail(t, "the connection is not over")
		return nil
	}
}

func TestLinesAreAnswered(t *testing.T) {
	verifyNone(t)
	conn, served := joined(t, scheduler(t))
	answers := bufio.NewReader(conn)
	for _, line := range []string{"a line\n", "\n", strings.Repeat("x", lineBytes-1) + "\n", "b\n"} {
		_, err := io.WriteString(conn, line)
		require.NoError(t, err)
		answer, err := answers.ReadString('\n')
		require.NoError(t, err)
		assert.Equal(t, strings.ToUpper(line), answer)
	}
	require.NoError(t, conn.Close())
	assert.NoError(t, outcome(t, served))
}

// Much more than all buffers hold goes both ways at once. The client ends, and then still gets what
// is missing, and the end.
func TestMuchGoesBothWaysAndEachWayEnds(t *testing.T) {
	verifyNone(t)
	conn, served := joined(t, scheduler(t))
	raw := make([]byte, 4<<20)
	_, err := rand.Read(raw)
	require.NoError(t, err)
	var sent bytes.Buffer
	for line := range slices.Chunk(raw, 500) {
		sent.WriteString(hex.EncodeToString(line) + "\n")
	}
	want := bytes.ToUpper(sent.Bytes())
	var sender sync.WaitGroup
	sender.Go(func() {
		_, err := conn.Write(sent.Bytes())
		assert.NoError(t, err)
		assert.NoError(t, conn.CloseWrite())
	})
	got, err := io.ReadAll(conn) // no error: TLS has ended rightly
	sender.Wait()
	require.NoError(t, err)
	assert.True(t, bytes.Equal(want, got), "%d bytes of %d", len(got), len(want))
	assert.NoError(t, outcome(t, served), "while the client's connection is open")
}

// The client neither sends nor ends any more.
func TestTheEngineClosesFirst(t *testing.T) {
	verifyNone(t)
	conn, served := joined(t, scheduler(t))
	_, err := io.WriteString(conn, "one\n"+strings.Repeat("x", lineBytes))
	require.NoError(t, err)
	got, err := io.ReadAll(conn)
	assert.NoError(t, err)
	assert.Equal(t, "ONE\n", string(got))
	assert.NoError(t, outcome(t, served))
}

// The engine ends its sending, and goes on reading.
func TestTheEngineEndsOneWay(t *testing.T) {
	verifyNone(t)
	s := scheduler(t)
	read := make(chan int64, 1)
	conn, served := connect(t, func(conn *tls.Conn) error {
		n, err := join(conn, s, goodbye)
		read <- n
		return err
	})
	got, err := io.ReadAll(conn)
	assert.NoError(t, err)
	assert.Equal(t, "goodbye", string(got))
	_, err = io.WriteString(conn, "and still this")
	assert.NoError(t, err)
	assert.NoError(t, conn.CloseWrite())
	assert.EqualValues(t, len("and still this"), <-read)
	assert.NoError(t, outcome(t, served))
}

// The engine fails, and the peer neither sends nor ends any more.
func TestTheEngineFails(t *testing.T) {
	verifyNone(t)
	s := scheduler(t)
	conn, served := connect(t, func(conn *tls.Conn) error {
		_, err := join(conn, s, fails)
		return err
	})
	_, err := io.WriteString(conn, "x")
	require.NoError(t, err)
	_, _ = io.ReadAll(conn)
	var failed *coro.StreamError
	require.ErrorAs(t, outcome(t, served), &failed)
	assert.EqualValues(t, -70000, failed.Code)
}

// An engine that reads hears that the connection has failed, and by what.
func TestTheEngineHearsOfAnError(t *testing.T) {
	verifyNone(t)
	s := scheduler(t)
	read := make(chan int64, 1)
	conn, served := connect(t, func(conn *tls.Conn) error {
		n, err := join(conn, s, goodbye)
		read <- n
		return err
	})
	_, err := io.ReadFull(conn, make([]byte, len("goodbye")))
	require.NoError(t, err)
	tcp := conn.NetConn().(*net.TCPConn)
	require.NoError(t, tcp.SetLinger(0))
	require.NoError(t, tcp.Close())
	assert.ErrorIs(t, outcome(t, served), syscall.ECONNRESET)
	assert.EqualValues(t, -4096-int64(syscall.ECONNRESET), <-read, "CORO_OF_ERRNO(ECONNRESET)")
}

// A scheduler that is closed starts no engine, and nothing is left open.
func TestAClosedSchedulerStartsNoEngine(t *testing.T) {
	verifyNone(t)
	s, err := coro.New()
	require.NoError(t, err)
	require.NoError(t, s.Close(t.Context()))
	conn, served := joined(t, s)
	assert.ErrorIs(t, outcome(t, served), coro.ErrClosed)
	_, err = io.ReadAll(conn)
	assert.NoError(t, err, "TLS has ended rightly")
}

// A pipe's writes go to a reader at once.
type pipe struct{ net.Conn }

func (pipe) CloseWrite() error { return nil }

// The engine is canceled before it begins, and the peer waits.
func TestAnEngineThatNeverBegan(t *testing.T) {
	verifyNone(t)
	s, err := coro.New(coro.WithPaused())
	require.NoError(t, err)
	conn, peer := net.Pipe()
	defer peer.Close()
	served := make(chan error, 1)
	go func() {
		_, err := join(pipe{conn}, s, upperLines)
		served <- err
	}()
	_, err = io.WriteString(peer, "a line\n") // join reads: the engine was started
	require.NoError(t, err)
	now, cancel := context.WithCancel(t.Context())
	cancel()
	_ = s.Close(now) // cancels
	assert.ErrorIs(t, outcome(t, served), coro.ErrCanceled)
	_, err = peer.Read(make([]byte, 1))
	assert.ErrorIs(t, err, io.EOF, "conn is closed")
}

// The peer goes without a word of TLS, while the engine waits for it.
func TestThePeerGoes(t *testing.T) {
	record := []byte{23, 3, 3, 0, 100} // the head of a record of TLS, without the rest
	for name, test := range map[string]struct {
		end  func(*net.TCPConn) error
		want error
	}{
		"reset": {func(c *net.TCPConn) error { return c.SetLinger(0) }, syscall.ECONNRESET},
		"end in a record": {func(c *net.TCPConn) error { _, err := c.Write(record); return err },
			io.ErrUnexpectedEOF},
		"end": {func(*net.TCPConn) error { return nil }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			verifyNone(t)
			conn, served := joined(t, scheduler(t))
			_, err := io.WriteString(conn, "one\n")
			require.NoError(t, err)
			_, err = io.ReadFull(conn, make([]byte, 4))
			require.NoError(t, err)
			tcp := conn.NetConn().(*net.TCPConn)
			require.NoError(t, test.end(tcp))
			require.NoError(t, tcp.Close())
			if err := outcome(t, served); test.want != nil {
				assert.ErrorIs(t, err, test.want)
			} else {
				assert.NoError(t, err)
			}
		})
	}
}

// The engine waits for a peer that reads nothing, and is canceled.
func TestTheSchedulerIsClosed(t *testing.T) {
	verifyNone(t)
	s, err := coro.New(coro.WithWorkers(2))
	require.NoError(t, err)
	conn, served := joined(t, s)
	require.NoError(t, conn.HandshakeContext(t.Context())) // it may take as long as the deadline
	lines := bytes.Repeat([]byte(strings.Repeat("x", 99)+"\n"), 100)
	for err == nil { // nothing is taken for a second
		require.NoError(t, conn.SetWriteDeadline(time.Now().Add(time.Second)))
		_, err = conn.Write(lines)
	}
	assert.ErrorIs(t, err, os.ErrDeadlineExceeded, "all buffers are full")
	now, cancel := context.WithCancel(t.Context())
	cancel()
	_ = s.Close(now) // cancels
	require.NoError(t, s.Close(t.Context()))
	require.NoError(t, conn.NetConn().Close())
	assert.Error(t, outcome(t, served), "what was under way has not arrived")
}

// A request of 60 bytes and its answer, over TLS: answered by Go directly, and by the C engine
// behind a Stream.
func BenchmarkRequest(b *testing.B) {
	direct := func(conn *tls.Conn) error {
		defer conn.Close()
		lines := bufio.NewReader(conn)
		for {
			line, err := lines.ReadSlice('\n')
			if err != nil {
				return nil
			}
			if _, err = conn.Write(bytes.ToUpper(line)); err != nil {
				return err
			}
		}
	}
	s := scheduler(b)
	for _, by := range []struct {
		name  string
		serve func(*tls.Conn) error
	}{
		{"direct", direct},
		{"joined", func(conn *tls.Conn) error { return serve(s, conn) }},
	} {
		for _, connections := range []int{1, 64} {
			name := fmt.Sprint(by.name, "/", connections)
			b.Run(name, func(b *testing.B) { requests(b, connections, by.serve) })
		}
	}
}

// requests has the clients send the requests, all at once.
func requests(b *testing.B, connections int, serve func(*tls.Conn) error) {
	var clients sync.WaitGroup
	conns := make([]*tls.Conn, connections)
	for i := range conns {
		conns[i], _ = connect(b, serve)
	}
	request := []byte(strings.Repeat("x", 59) + "\n")
	b.ResetTimer()
	for i, conn := range conns {
		n := b.N / connections
		if i < b.N%connections {
			n++
		}
		clients.Go(func() {
			answer := make([]byte, len(request))
			for range n {
				if _, err := conn.Write(request); !assert.NoError(b, err) {
					return
				}
				if _, err := io.ReadFull(conn, answer); !assert.NoError(b, err) {
					return
				}
			}
		})
	}
	clients.Wait()
	b.StopTimer()
	for _, conn := range conns {
		assert.NoError(b, conn.Close())
	}
}
