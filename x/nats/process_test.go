package nats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	natsgo "github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
)

// The test binary runs itself again: as a server, or as a node with the kind "ledger".
func TestMain(m *testing.M) {
	switch os.Getenv("CORO_NATS_TEST_AS") {
	case "":
		os.Exit(m.Run())
	case "server":
		asServer()
	case "node":
		asNode()
	}
}

func die(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// A serverConfig says what a server process is. One that has a Name is one of a cluster.
type serverConfig struct {
	Dir         string
	Port        int
	MaxStore    int64 // bytes; 0: as the server likes
	Name        string
	ClusterPort int
	Routes      string // to all of the cluster
}

func asServer() {
	var c serverConfig
	if err := json.Unmarshal([]byte(os.Getenv("CORO_NATS_TEST_SERVER")), &c); err != nil {
		die(err)
	}
	o := serverOptions(c.Dir, c.Port)
	o.JetStreamMaxStore = c.MaxStore
	if c.Name != "" {
		o.ServerName = c.Name
		o.Cluster = server.ClusterOpts{Name: "cluster", Host: o.Host, Port: c.ClusterPort}
		o.Routes = server.RoutesFromStr(c.Routes)
	}
	s, err := server.NewServer(o)
	if err != nil {
		die(err)
	}
	s.Start()
	select {}
}

var chaosOptions = Options{Partitions: 32, TTL: 2 * time.Second, Idle: time.Second, Room: 64, Tries: 3}

const exitGone = 3 // of a node process that ends by ErrGone

// A line is the state of a ledger.
type line struct {
	Last       int // number of the last message
	Handled    int
	Disordered int // messages that did not come after the one before
	Skipped    int `json:",omitempty"` // messages that were poison

	bad bool // it cannot be encoded
}

// plainLine is a line without methods.
type plainLine line

func (l line) MarshalJSON() ([]byte, error) {
	if l.bad {
		panic("the state is poison")
	}
	return json.Marshal(plainLine(l))
}

type entryOf struct {
	Number int
	Slow   bool
	Poison string // one of poisonWays: this is a dead letter
	Skips  int    // so many before this one are
}

// plainEntry is an entryOf without methods.
type plainEntry entryOf

func (m *entryOf) UnmarshalJSON(data []byte) error {
	err := json.Unmarshal(data, (*plainEntry)(m))
	if m.Poison == "codec" {
		goexit()
	}
	return err
}

var poisonWays = []string{"error", "panic", "goexit", "codec", "state"}

// poisoned does what a poison message does to the handler.
func (m entryOf) poisoned(l *line) error {
	switch m.Poison {
	case "error":
		return errors.New("an error")
	case "panic":
		panic("a panic")
	case "goexit":
		goexit()
	case "state":
		l.bad = true
	}
	return nil
}

func ledger(n *Node) (*Kind[line, entryOf], error) {
	return Define(n, "ledger", func(c *Turn[line], m entryOf) error {
		if m.Number < 0 {
			c.Unchanged()
			c.Answer(c.State.Last)
			return nil
		}
		if m.Slow {
			select {
			case <-time.After(20 * time.Millisecond):
			case <-c.Context().Done():
			}
		}
		if m.Number != c.State.Last+1+m.Skips {
			c.State.Disordered++
		}
		c.State.Last = m.Number
		c.State.Handled++
		c.State.Skipped += m.Skips
		c.Answer(m.Number)
		return m.poisoned(c.State)
	})
}

func asNode() {
	conn, err := natsgo.Connect(os.Getenv("CORO_NATS_TEST_URL"), natsgo.MaxReconnects(-1),
		natsgo.ReconnectWait(100*time.Millisecond), natsgo.RetryOnFailedConnect(true),
		natsgo.PingInterval(time.Second))
	if err != nil {
		die(err)
	}
	o := chaosOptions
	o.Name = os.Getenv("CORO_NATS_TEST_NAME")
	o.OnDeadLetter = buried(conn)
	if os.Getenv("NATS_TEST_LOG") != "" {
		o.Log = slog.New(slog.NewTextHandler(os.Stderr, nil)).With("pid", os.Getpid())
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	n, err := Join(ctx, Over(conn), o)
	cancel()
	if err != nil {
		die(err)
	}
	if _, err := ledger(n); err != nil {
		die(err)
	}
	if err := n.Start(); err != nil {
		die(err)
	}
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	select {
	case <-term:
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := n.Leave(ctx); err != nil {
			die(err)
		}
	case <-n.Done():
		if errors.Is(n.Err(), ErrGone) {
			os.Exit(exitGone)
		}
		die(n.Err())
	}
}

// A process is a child that is killed and started again.
type process struct {
	env []string
	cmd *exec.Cmd
}

func (p *process) start(t testing.TB) {
	p.cmd = exec.Command(os.Args[0])
	p.cmd.Env = append(os.Environ(), p.env...)
	p.cmd.Stderr = os.Stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, p.cmd.Start())
}

func (p *process) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	_ = p.cmd.Wait()
}

func newProcess(t testing.TB, as string, env ...string) *process {
	p := &process{env: append(env, "CORO_NATS_TEST_AS="+as)}
	p.start(t)
	t.Cleanup(func() { p.kill() })
	return p
}

func (c serverConfig) address() string { return fmt.Sprintf("127.0.0.1:%d", c.Port) }
func (c serverConfig) url() string     { return "nats://" + c.address() }

// process starts the server, and waits until it answers.
func (c serverConfig) process(t testing.TB) *process {
	env, err := json.Marshal(c)
	require.NoError(t, err)
	p := newProcess(t, "server", "CORO_NATS_TEST_SERVER="+string(env))
	require.Eventually(t, func() bool {
		conn, err := natsgo.Connect(c.url())
		if err != nil {
			return false
		}
		conn.Close()
		return true
	}, 20*time.Second, 20*time.Millisecond)
	return p
}
