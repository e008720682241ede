package experiments

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/organzine/coro"
	"github.com/organzine/coro/bench/internal/cbody"
	"github.com/organzine/coro/bench/internal/harness"
)

// streamBlocks is how many blocks a run sends. Tests send less.
var streamBlocks = 5000

const sysSocketPair = "socket pair"

// streams is the rate of blocks that go from Go to C and back.
func streams() *harness.Experiment {
	var list []harness.Row
	for _, v := range []struct {
		name string
		echo func(f io.ReadWriter, n int) (time.Duration, error)
	}{{"round trip", streamTurns}, {"flow", streamFlow}} {
		for _, system := range []struct {
			name string
			kind string
			open func() (harness.Trial, io.ReadWriter, error)
		}{
			{sysCoro, "", openStream()},
			{sysCoro, " brief", openStream(coro.FuncBrief())},
			{sysGoroutine, "", openPipes}, {sysSocketPair, "", openSocketPair},
		} {
			open := func() (harness.Trial, error) {
				t, f, err := system.open()
				t.Run = func() (harness.Values, error) { return streamRate(f, v.echo) }
				return t, err
			}
			list = append(list, harness.Row{System: system.name, Variant: v.name + system.kind,
				Workers: 1, N: cbody.StreamBlock, Open: open})
		}
	}
	return &harness.Experiment{
		Name:  "stream",
		Asked: true,
		About: `blocks of 64 KiB from a goroutine to another side, which sends them back, in MB/s.
coro: a Stream of 64 KiB in each direction, and a C coroutine, on one worker; brief: which the
thread runs that wakes it. goroutine: two io.Pipes, and a goroutine. socket pair: a C coroutine with
an adopted end.
round trip: each block comes back before the next is sent. flow: one goroutine sends, another one
reads.`,
		Metrics: []harness.Metric{{Name: "mb_per_second", Title: "MB/s", Digits: 0}},
		Rows:    list,
	}
}

func streamRate(
	f io.ReadWriter, echo func(f io.ReadWriter, n int) (time.Duration, error),
) (harness.Values, error) {
	took, err := echo(f, streamBlocks)
	bytes := float64(streamBlocks) * float64(cbody.StreamBlock)
	return harness.Values{"mb_per_second": bytes / took.Seconds() / 1e6}, err
}

func openStream(kind ...coro.FuncOption) func() (harness.Trial, io.ReadWriter, error) {
	return func() (t harness.Trial, f io.ReadWriter, err error) {
		s, err := coro.New(coro.WithWorkers(1))
		if err != nil {
			return t, nil, err
		}
		st, err := coro.NewStream(s, cbody.StreamBlock)
		if err == nil {
			echo := coro.MustFunc[coro.StreamEnd, coro.None](cbody.StreamEcho, kind...)
			err = echo.Spawn(s, st.Address())
		}
		if err != nil {
			return t, nil, errors.Join(err, closed(s))
		}
		t.Close = func() error { return errors.Join(st.Close(), closed(s), cbody.Err()) }
		return t, st, nil
	}
}

type twoPipes struct {
	io.Reader
	io.Writer
}

func openPipes() (t harness.Trial, f io.ReadWriter, err error) {
	there, out := io.Pipe()
	in, back := io.Pipe()
	ended := make(chan error)
	go func() {
		_, err := io.CopyBuffer(struct{ io.Writer }{back}, struct{ io.Reader }{there},
			make([]byte, cbody.StreamBlock))
		ended <- errors.Join(err, back.Close())
	}()
	t.Close = func() error { return errors.Join(out.Close(), <-ended) }
	return t, twoPipes{in, out}, nil
}

func openSocketPair() (t harness.Trial, f io.ReadWriter, err error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return t, nil, err
	}
	own := os.NewFile(uintptr(fds[0]), "socket pair")
	conn, err := net.FileConn(own)
	err = errors.Join(err, own.Close())
	if err != nil {
		return t, nil, err
	}
	stop, err := serveByCoro(cbody.StreamEchoFD)([]int32{int32(fds[1])})
	t.Close = func() error { return errors.Join(conn.Close(), stop()) }
	return t, conn, err
}

// streamTurns sends n blocks, each when the one before has come back.
func streamTurns(f io.ReadWriter, n int) (time.Duration, error) {
	block := make([]byte, cbody.StreamBlock)
	start := time.Now()
	for range n {
		if _, err := f.Write(block); err != nil {
			return 0, err
		}
		if _, err := io.ReadFull(f, block); err != nil {
			return 0, err
		}
	}
	return time.Since(start), nil
}

// streamFlow sends n blocks while another goroutine reads them.
func streamFlow(f io.ReadWriter, n int) (time.Duration, error) {
	sent := make(chan error)
	start := time.Now()
	go func() {
		block := make([]byte, cbody.StreamBlock)
		var err error
		for i := 0; i < n && err == nil; i++ {
			_, err = f.Write(block)
		}
		sent <- err
	}()
	block := make([]byte, cbody.StreamBlock)
	for left := n * len(block); left > 0; {
		k, err := f.Read(block)
		if err != nil {
			return 0, errors.Join(err, <-sent)
		}
		left -= k
	}
	return time.Since(start), <-sent
}
