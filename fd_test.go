//go:build cgo

package coro_test

import (
	"bytes"
	"crypto/sha256"
	"io"
	"math/rand/v2"
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
