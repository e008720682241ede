package nats

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	natsgo "github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
)

// counted is the number of rounds of a test that counts: n times CORO_TEST_SCALE.
func counted(n int) int {
	scale, err := strconv.ParseFloat(os.Getenv("CORO_TEST_SCALE"), 64)
	if err != nil {
		return n
	}
	return max(1, int(float64(n)*scale))
}

// account is a state: it remembers what it has handled.
type account struct {
	Balance int64
	Last    int // number of the last message
	Handled int
}

type move interface{ isMove() }

type deposit struct {
	Amount int64
	Number int
}
type balance struct{}
type fails struct{ Times int } // so often, by an error
type panics struct{}
type goexits struct{}
type silent struct{}

func (deposit) isMove() {}
func (balance) isMove() {}
func (fails) isMove()   {}
func (panics) isMove()  {}
func (goexits) isMove() {}
func (silent) isMove()  {}

var moves = Messages(OneOf[move](deposit{}, balance{}, fails{}, panics{}, goexits{}, silent{}))

func serverOptions(dir string, port int) *server.Options {
	return &server.Options{Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: dir, NoLog: true,
		NoSigs: true}
}

// freePorts are n different ports that nobody listens at, for servers that are started again.
func freePorts(t testing.TB, n int) (ports []int) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

// serve starts a server in this process.
func serve(t testing.TB, o *server.Options) *server.Server {
	s, err := server.NewServer(o)
	require.NoError(t, err)
	go s.Start()
	require.True(t, s.ReadyForConnections(10*time.Second))
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	return s
}

func connect(t testing.TB, url string) *natsgo.Conn {
	c, err := natsgo.Connect(url, natsgo.MaxReconnects(-1), natsgo.ReconnectWait(50*time.Millisecond),
		natsgo.PingInterval(time.Second))
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// logTo is a logger for a failing test.
func logTo(t testing.TB) *slog.Logger {
	if !testing.Verbose() || os.Getenv("NATS_TEST_LOG") == "" {
		return nil
	}
	return slog.New(slog.NewTextHandler(os.Stderr, nil))
}

func join(t testing.TB, over Transport, o Options) *Node {
	orDefault(&o.Partitions, 8)
	orDefault(&o.TTL, time.Second)
	orDefault(&o.Log, logTo(t))
	n, err := Join(within(t, 30*time.Second), over, o)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = n.Leave(ctx)
	})
	return n
}

// bank defines the kind "account" on a node.
func bank(t testing.TB, n *Node) *Kind[account, move] {
	var failed sync.Map
	k, err := Define(n, "account", func(c *Turn[account], m move) error {
		c.State.Handled++
		switch m := m.(type) {
		case deposit:
			c.State.Balance += m.Amount
			c.State.Last = m.Number
			c.Answer(c.State.Balance)
		case balance:
			c.Unchanged()
			c.State.Handled--
			c.Answer(c.State.Balance)
		case fails:
			c.State.Balance = -1e6
			v, _ := failed.LoadOrStore(c.ID(), new(int))
			if times := v.(*int); *times < m.Times {
				*times++
				return fmt.Errorf("failure %d", *times)
			}
			c.State.Balance = 100
			c.Answer("after all")
		case panics:
			c.State.Balance = -1e6
			panic("of a handler")
		case goexits:
			c.State.Balance = -1e6
			goexit()
		case silent:
		}
		return nil
	}, moves)
	require.NoError(t, err)
	return k
}

// overBoth runs a test over each transport.
func overBoth(t *testing.T, f func(t *testing.T, transport func() Transport)) {
	t.Run("loopback", func(t *testing.T) {
		l := Loopback()
		f(t, func() Transport { return l })
	})
	t.Run("nats", func(t *testing.T) {
		s := serve(t, serverOptions(t.TempDir(), -1))
		f(t, func() Transport { return Over(connect(t, s.ClientURL())) })
	})
}
