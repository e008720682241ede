package nats

import (
	"context"
	"errors"
	"reflect"

	"github.com/nats-io/nuid"
	"github.com/organzine/coro/actor"
)

// A Kind is a kind of actors: their states are of type S, encoded into snapshots, and their
// messages of type M. There is an actor for each key, wherever the owner of the key's partition is.
type Kind[S, M any] struct {
	n              *Node
	name           string
	handle         func(*Turn[S], M) error
	state, message Codec
}

// behaviour is a Kind, whatever its types.
type behaviour interface {
	spawn(h *hold, key string) (actor.Ref[[]*delivery], error)
}

// A KindOption is an option of Define.
type KindOption func(*kindOptions)

type kindOptions struct{ state, message Codec }

// States sets the Codec of states; JSON by default.
func States(c Codec) KindOption { return func(o *kindOptions) { o.state = c } }

// Messages sets the Codec of messages; JSON by default. Messages of an interface type need one that
// knows the types, as [OneOf] makes it. Answers are always JSON.
func Messages(c Codec) KindOption { return func(o *kindOptions) { o.message = c } }

// Define defines a kind on a node, before Start; a node that only sends defines it too. handle is
// called with one message of a key after the other, in the order in which they were stored; for
// different keys by several goroutines at a time. It may wait.
//
// The state of a key is the zero value at first. What handle does to the state counts once for each
// message. What it does elsewhere may be done several times, as handle is called again if a node
// dies before the snapshot is written; and again, with the state as before, if it returns an error,
// panics, or calls runtime.Goexit: up to Options.Tries times, then the message is a dead letter.
func Define[S, M any](n *Node, name string, handle func(*Turn[S], M) error,
	opts ...KindOption) (*Kind[S, M], error) {
	if n == nil {
		return nil, errorf(ErrOption, "a nil Node")
	}
	o := kindOptions{JSON, JSON}
	for _, f := range opts {
		if f == nil {
			return nil, errorf(ErrOption, "kind %s: a nil KindOption", name)
		}
		f(&o)
	}
	switch {
	case !nameForm.MatchString(name):
		return nil, errorf(ErrOption, "kind %q: 1 to 64 letters, digits, - and _", name)
	case handle == nil || o.state == nil || o.message == nil:
		return nil, errorf(ErrOption, "kind %s: a nil function, or a nil Codec", name)
	case o.message == JSON && reflect.TypeFor[M]().Kind() == reflect.Interface:
		return nil, errorf(ErrOption,
			"kind %s: messages of an interface type: give Messages(OneOf[%v](…))",
			name, reflect.TypeFor[M]())
	}
	k := &Kind[S, M]{n, name, handle, o.state, o.message}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.kinds[name] != nil {
		return nil, errorf(ErrOption, "kind %s is defined already", name)
	}
	if n.serves {
		return nil, errorf(ErrOption, "kind %s: Define it before Start", name)
	}
	n.kinds[name] = k
	return k, nil
}

func (n *Node) kind(name string) behaviour {
	n.mu.Lock()
	defer n.mu.Unlock()
	if k := n.kinds[name]; k != nil {
		return k
	}
	return strangers(name)
}

// A SendOption is an option of Tell and Ask.
type SendOption func(*message)

// ID names a message, so that one that is sent twice to a key counts once: within two minutes, and
// as long as the id is among the last Options.Window of the key. By default it is random. An empty
// id is an ErrOption.
func ID(id string) SendOption { return func(m *message) { m.id = id } }

// With puts a value into the message's header: see Turn.Header.
func With(name, value string) SendOption { return func(m *message) { m.header[name] = value } }

// Tell sends a message to the actor of a key. It returns when the servers have stored it: from then
// on it is handled, or becomes a dead letter. While they do not answer Tell tries again, with one
// id, until ctx ends, or the connection is closed; without a deadline for three times the TTL. Then
// the error is an ErrUnavailable, and the message may have been stored all the same. A sender that
// waits for each Tell has its messages to one key handled in order.
//
// Errors: ErrKey, ErrOption, ErrLeft, ErrUnavailable, ErrTooLarge, ErrFull at once, ErrGone, and
// those of ctx and the Codec.
func (k *Kind[S, M]) Tell(ctx context.Context, key string, m M, opts ...SendOption) error {
	return k.send(ctx, key, m, "", opts)
}

func (k *Kind[S, M]) send(
	ctx context.Context, key string, m M, reply string, opts []SendOption,
) error {
	n := k.n
	if len(key) == 0 || len(key) > MaxKey {
		return errorf(ErrKey, "it has %d", len(key))
	}
	if n.ctx.Err() != nil {
		return context.Cause(n.ctx)
	}
	data, err := k.message.Encode(m)
	if err != nil {
		return errorf(ErrOption, "the message cannot be encoded: %v", err)
	}
	to := &message{id: nuid.Next(), kind: k.name, key: key, reply: reply, header: Header{},
		data: data}
	for _, f := range opts {
		if f == nil {
			return errorf(ErrOption, "a nil SendOption")
		}
		f(to)
	}
	if to.id == "" {
		return errorf(ErrOption,
			`ID(""): each message would count as the same one: give an ID `+
				"that names the message, or leave the option out")
	}
	if n.o.Inject != nil {
		n.o.Inject(ctx, to.header)
	}
	ctx, cancel := limited(ctx, 3*n.o.TTL)
	defer cancel()
	p := partitionOf(k.name, key, n.o.Partitions)
	return persist(ctx, n.ctx, n.o.TTL/4, func() (again bool, err error) {
		err = n.link.publish(ctx, p, to)
		return !errors.Is(err, ErrTooLarge) && !errors.Is(err, ErrFull), err
	})
}
