package nats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/organzine/coro/actor"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ways are those in which a user's function fails.
var ways = map[string]func(){
	"panic":                         func() { panic("poison") },
	"goexit":                        goexit,
	"panic of an error that panics": func() { panic(badError{func() { panic("poison") }}) },
}

// A badError is an error whose methods do what they should not.
type badError struct{ bad func() }

func (e badError) Error() string { e.bad(); return "bad" }
func (e badError) Is(error) bool { e.bad(); return false }
func (e badError) Unwrap() error { e.bad(); return nil }

// A badAnswer cannot be encoded.
type badAnswer struct{ bad func() }

func (b badAnswer) MarshalJSON() ([]byte, error) { b.bad(); return []byte("1"), nil }

// A poison is where a user's function fails, for messages "bad".
type poison struct {
	options  func(o *Options, bad func())
	codecs   func(bad func()) []KindOption
	handle   func(c *Turn[text], bad func()) error
	tries    int   // of the dead letter; 0: it is none
	is       error // the dead letter's
	answered bool  // all the same
}

type text struct{ Text string }

// A hookCodec is JSON that calls functions first.
type hookCodec struct {
	Codec
	encode, decode func(v string)
}

func (c hookCodec) Encode(v any) ([]byte, error) {
	data, err := c.Codec.Encode(v)
	if c.encode != nil {
		c.encode(string(data))
	}
	return data, err
}

func (c hookCodec) Decode(data []byte, into any) error {
	if c.decode != nil {
		c.decode(string(data))
	}
	return c.Codec.Decode(data, into)
}

// ifBad calls bad for what has "bad" in it.
func ifBad(bad func()) func(string) {
	return func(v string) {
		if v == `"bad"` || v == `{"Text":"bad"}` {
			bad()
		}
	}
}

var poisons = map[string]poison{
	"handler": {tries: 3, handle: func(_ *Turn[text], bad func()) error { bad(); return nil }},
	"error of the handler": {tries: 3, handle: func(_ *Turn[text], bad func()) error {
		return badError{bad}
	}},
	"answer": {tries: 3, handle: func(c *Turn[text], bad func()) error {
		c.Answer(badAnswer{bad})
		return nil
	}},
	"Extract": {tries: 3, options: func(o *Options, bad func()) {
		o.Extract = func(ctx context.Context, h Header) context.Context {
			if h["bad"] != "" {
				bad()
			}
			return ctx
		}
	}},
	"message": {tries: 1, is: ErrDecode, codecs: func(bad func()) []KindOption {
		return []KindOption{Messages(hookCodec{JSON, nil, ifBad(bad)})}
	}},
	"state is encoded": {tries: 3, codecs: func(bad func()) []KindOption {
		return []KindOption{States(hookCodec{JSON, ifBad(bad), nil})}
	}, handle: func(c *Turn[text], _ func()) error { c.State.Text = "bad"; return nil }},
	"OnDeadLetter": {tries: 3, options: func(o *Options, bad func()) {
		f := o.OnDeadLetter
		o.OnDeadLetter = func(d DeadLetter) { f(d); bad() }
	}, handle: func(*Turn[text], func()) error { return errors.New("an error") }},
	"Log": {answered: true, options: func(o *Options, bad func()) {
		o.Log = slog.New(badHandler{bad})
	}, handle: func(c *Turn[text], _ func()) error { c.Answer("good"); return nil }},
}

type badHandler struct{ bad func() }

func (h badHandler) Enabled(context.Context, slog.Level) bool  { return true }
func (h badHandler) Handle(context.Context, slog.Record) error { h.bad(); return nil }
func (h badHandler) WithAttrs([]slog.Attr) slog.Handler        { return h }
func (h badHandler) WithGroup(string) slog.Handler             { return h }

// Each function of the user fails, in each way: the message is a dead letter once, after its tries,
// who has asked is told, and the partition is not lost: other keys, and the same one, go on.
func TestPoison(t *testing.T) {
	overBoth(t, func(t *testing.T, transport func() Transport) {
		over := transport()
		for where, p := range poisons {
			for how, bad := range ways {
				t.Run(where+", "+how, func(t *testing.T) {
					t.Parallel()
					p.test(t, over, fmt.Sprintf("c%d", clusters.Add(1)), bad)
				})
			}
		}
	})
}

var clusters atomic.Int64 // for names

func (p poison) test(t *testing.T, over Transport, cluster string, bad func()) {
	dead := make(chan DeadLetter, 100)
	o := Options{Cluster: cluster, Partitions: 1, Tries: 3, TTL: 10 * time.Second,
		OnDeadLetter: func(d DeadLetter) { dead <- d }}
	if p.options != nil {
		p.options(&o, bad)
	}
	var codecs []KindOption
	if p.codecs != nil {
		codecs = p.codecs(bad)
	}
	n := join(t, over, o)
	var calls atomic.Int64
	k, err := Define(n, "a", func(c *Turn[text], m string) error {
		if m == "bad" {
			calls.Add(1)
			if p.handle != nil {
				return p.handle(c, bad)
			}
		}
		c.State.Text += "."
		c.Answer(len(c.State.Text))
		return nil
	}, codecs...)
	require.NoError(t, err)
	require.NoError(t, n.Start())
	ctx := within(t, 30*time.Second)
	good := func(key string, want int) {
		v, err := Ask[int](ctx, k.To(key, "good"))
		require.NoError(t, err)
		require.Equal(t, want, v)
	}
	good("x", 1)
	token := n.held(0).token
	_, err = Ask[string](ctx, k.To("x", "bad", With("bad", "yes")))
	if p.answered {
		require.NoError(t, err)
	} else {
		require.ErrorIs(t, err, ErrDead)
		d := <-dead
		require.Equal(t, p.tries, d.Tries)
		require.Error(t, d.Err)
		if p.is != nil {
			require.ErrorIs(t, d.Err, p.is)
		}
	}
	good("x", 2)
	good("y", 1)
	require.Empty(t, dead)
	require.LessOrEqual(t, calls.Load(), int64(p.tries)+1)
	require.Equal(t, token, n.held(0).token, "the partition was lost meanwhile")
}

// held is the hold of a partition.
func (n *Node) held(p int) *hold {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.holds[p]
}

// A state that cannot be decoded, in each way: all messages of the key are dead letters.
func TestAStateThatIsPoison(t *testing.T) {
	for how, bad := range ways {
		t.Run(how, func(t *testing.T) {
			dead := make(chan DeadLetter, 10)
			n := join(t, Loopback(), Options{Partitions: 1, TTL: 10 * time.Second,
				OnDeadLetter: func(d DeadLetter) { dead <- d }})
			ctx := within(t, 20*time.Second)
			s := snapshot{state: []byte(`{"Text":"bad"}`)}
			_, err := n.link.store(states).put(ctx, snapshotKey("a", "x"), s.encode(), 0)
			require.NoError(t, err)
			echo := func(c *Turn[text], m string) error { c.Answer(m); return nil }
			k, err := Define(n, "a", echo,
				States(hookCodec{JSON, nil, ifBad(bad)}))
			require.NoError(t, err)
			require.NoError(t, n.Start())
			for range 2 {
				_, err = Ask[string](ctx, k.To("x", "m"))
				require.ErrorIs(t, err, ErrDead)
				require.ErrorIs(t, (<-dead).Err, ErrDecode)
			}
			v, err := Ask[string](ctx, k.To("y", "m"))
			require.NoError(t, err)
			require.Equal(t, "m", v)
			require.Empty(t, dead)
		})
	}
}

// A dead letter has the error itself that the handler has returned, a PanicError, or ErrGoexit.
func TestErrorsOfDeadLetters(t *testing.T) {
	dead := make(chan DeadLetter, 10)
	n := join(t, Loopback(), Options{Tries: 1, OnDeadLetter: func(d DeadLetter) { dead <- d }})
	own := &json.SyntaxError{}
	k, err := Define(n, "a", func(_ *Turn[int], m string) error {
		switch m {
		case "panic":
			panic(own)
		case "goexit":
			goexit()
		}
		return own
	})
	require.NoError(t, err)
	require.NoError(t, n.Start())
	ctx := within(t, 20*time.Second)
	tell := func(m string) error {
		require.NoError(t, k.Tell(ctx, "x", m))
		return (<-dead).Err
	}
	require.Same(t, own, tell("error"))
	var p *PanicError
	require.ErrorAs(t, tell("panic"), &p)
	require.Same(t, own, p.Value)
	require.Contains(t, string(p.Stack), "TestErrorsOfDeadLetters")
	require.ErrorIs(t, tell("goexit"), actor.ErrGoexit)
}

// A dead letter's hook that waits holds the messages of its key alone, also where the kind is not
// defined.
func TestADeadLetterThatWaits(t *testing.T) {
	goesOn, begun := make(chan struct{}), make(chan struct{}, 10)
	n := join(t, Loopback(), Options{Partitions: 1, OnDeadLetter: func(DeadLetter) {
		begun <- struct{}{}
		<-goesOn
	}})
	defer close(goesOn)
	k, err := Define(n, "a", func(c *Turn[int], m string) error { c.Answer(m); return nil })
	require.NoError(t, err)
	require.NoError(t, n.Start())
	ctx := within(t, 20*time.Second)
	require.NoError(t, n.link.publish(ctx, 0, &message{id: "1", kind: "nothing", key: "x"}))
	<-begun
	v, err := Ask[string](ctx, k.To("x", "m"))
	require.NoError(t, err)
	require.Equal(t, "m", v)
}

// A handler of the log that hangs keeps nothing up, and what it misses is told, when it goes on.
func TestALogThatHangs(t *testing.T) {
	var mu sync.Mutex
	var records []string
	goesOn := make(chan struct{})
	hang := handlerFunc(func(r slog.Record) {
		<-goesOn
		mu.Lock()
		defer mu.Unlock()
		records = append(records, r.Message)
	})
	n := join(t, Loopback(), Options{Tries: 1, Partitions: 1, Log: slog.New(hang)})
	k, err := Define(n, "a", func(_ *Turn[int], m string) error { return errors.New(m) })
	require.NoError(t, err)
	require.NoError(t, n.Start())
	ctx := within(t, 30*time.Second)
	for range logMost {
		require.NoError(t, k.Tell(ctx, "x", "m"))
	}
	_, err = Ask[string](ctx, k.To("x", "m"))
	require.ErrorIs(t, err, ErrDead)
	require.NotZero(t, n.log.dropped.Load())
	close(goesOn)
	require.NoError(t, n.Leave(ctx))
	mu.Lock()
	defer mu.Unlock()
	require.Contains(t, records, "records dropped: the handler is slow")
	require.Contains(t, records, "partition taken")
}

type handlerFunc func(slog.Record)

func (f handlerFunc) Enabled(context.Context, slog.Level) bool      { return true }
func (f handlerFunc) Handle(_ context.Context, r slog.Record) error { f(r); return nil }
func (f handlerFunc) WithAttrs([]slog.Attr) slog.Handler            { return f }
func (f handlerFunc) WithGroup(string) slog.Handler                 { return f }

// Functions of the user that would wait for themselves are told, with any context.
func TestWithinAHandlerOrAHook(t *testing.T) {
	background := context.Background()
	var n *Node
	var k *Kind[int, string]
	got := make(chan error, 100)
	tries := func(key string) {
		got <- n.Leave(background)
		_, err := Ask[int](background, k.To(key, "x"))
		got <- err
	}
	n = join(t, Loopback(), Options{Tries: 1, Partitions: 1,
		OnDeadLetter: func(d DeadLetter) { tries(d.Key) },
		Extract: func(ctx context.Context, h Header) context.Context {
			if h["tries"] != "" {
				tries(h["tries"])
			}
			return ctx
		}})
	k, err := Define(n, "a", func(c *Turn[int], m string) error {
		if m == "fails" {
			return errors.New(m)
		}
		tries(c.Key())
		c.Answer(1)
		return nil
	})
	require.NoError(t, err)
	require.NoError(t, n.Start())
	ctx := within(t, 20*time.Second)
	require.NoError(t, k.Tell(ctx, "x", "a", With("tries", "x"))) // Extract, the handler
	require.NoError(t, k.Tell(ctx, "x", "fails"))                 // OnDeadLetter
	for range 6 {
		err := <-got
		require.ErrorIs(t, err, ErrInside)
		assert.Regexp(t, `node .*: call it by another goroutine|a "x" asks itself`, err.Error())
	}
	require.NoError(t, n.Err())
	require.NoError(t, n.Leave(ctx)) // from outside
}

// A handler may end the node, by another goroutine.
func TestAHandlerThatHasTheNodeLeave(t *testing.T) {
	n := join(t, Loopback(), Options{})
	left := make(chan error, 1)
	k, err := Define(n, "a", func(*Turn[int], string) error {
		go func() { left <- n.Leave(context.Background()) }()
		return nil
	})
	require.NoError(t, err)
	require.NoError(t, n.Start())
	require.NoError(t, k.Tell(within(t, 10*time.Second), "x", "leave"))
	require.NoError(t, <-left)
	<-n.Done()
}
