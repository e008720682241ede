package nats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/nats-io/nuid"
)

// asks are the questions of a node that wait for answers.
type asks struct {
	prefix string // of addresses
	mu     sync.Mutex
	wait   map[string]chan *message
}

func (n *Node) listen() (err error) {
	n.asks.wait = map[string]chan *message{}
	n.asks.prefix, err = n.link.inbox(func(address string, m *message) {
		n.asks.mu.Lock()
		defer n.asks.mu.Unlock()
		if c := n.asks.wait[address]; c != nil {
			delete(n.asks.wait, address)
			c <- m
		}
	})
	return err
}

const noAnswerText = "no answer"

// answerOf is the answer as a message.
func answerOf(v any, has bool) (*message, error) {
	if !has {
		return &message{fail: noAnswerText}, nil
	}
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("the answer cannot be encoded: %w", err)
	}
	return &message{data: data}, nil
}

// A Question is a message to the actor of a key, for Ask.
type Question struct {
	n         *Node
	kind, key string
	send      func(ctx context.Context, reply string) error
}

// To makes a Question. It may be asked several times: with an ID as an option it counts once, and
// is answered once. A caller that asks again then waits in vain: another message shows the state.
func (k *Kind[S, M]) To(key string, m M, opts ...SendOption) Question {
	return Question{k.n, k.name, key, func(ctx context.Context, reply string) error {
		return k.send(ctx, key, m, reply, opts)
	}}
}

// Ask sends a message as Tell does, and waits for the answer, until ctx ends; without a deadline
// for six times the TTL.
//
//	balance, err := nats.Ask[int64](ctx, accounts.To("7", Balance{}))
//
// The answer comes when the message was handled and the state is written. An answer that is lost,
// as its node or the asker's connection has died, is waited for in vain; the message is handled all
// the same.
//
// Errors: those of Tell; ErrNoAnswer; ErrDead; ErrDecode, if the answer is no R. A handler or a
// hook that asks its own actor gets ErrInside.
func Ask[R any](ctx context.Context, q Question) (r R, err error) {
	n := q.n
	if n == nil {
		return r, errorf(ErrOption, "the zero Question: use Kind.To")
	}
	if q.isOf(ctx) {
		return r, errorf(ErrInside, "%s %q asks itself: use Tell", q.kind, q.key)
	}
	ctx, cancel := limited(ctx, 6*n.o.TTL)
	defer cancel()
	at, c := n.asks.prefix+nuid.Next(), make(chan *message, 1)
	n.asks.mu.Lock()
	n.asks.wait[at] = c
	n.asks.mu.Unlock()
	defer func() {
		n.asks.mu.Lock()
		delete(n.asks.wait, at)
		n.asks.mu.Unlock()
	}()
	if err := q.send(ctx, at); err != nil {
		return r, err
	}
	select {
	case <-ctx.Done():
		return r, fmt.Errorf("nats: no answer of %s %q came: %w", q.kind, q.key, ended(ctx))
	case <-n.ctx.Done():
		return r, context.Cause(n.ctx)
	case a := <-c:
		return decodeAnswer[R](a)
	}
}

// isOf tells whether the question is for the actor that asks: by its handler's context, or by the
// goroutine.
func (q Question) isOf(ctx context.Context) bool {
	is := func(c caller) bool {
		return c.n.o.Cluster == q.n.o.Cluster && c.address == address{q.kind, q.key}
	}
	if c, ok := ctx.Value(callerKey{}).(caller); ok && is(c) {
		return true
	}
	c := here()
	return c != nil && is(*c)
}

func decodeAnswer[R any](a *message) (r R, err error) {
	switch dead := "nats: " + ErrDead.Error(); {
	case a.fail == noAnswerText:
		return r, fmt.Errorf("nats: %w", ErrNoAnswer)
	case strings.HasPrefix(a.fail, dead):
		return r, fmt.Errorf("nats: %w%s", ErrDead, a.fail[len(dead):])
	case a.fail != "":
		return r, errors.New("nats: " + a.fail)
	}
	if err := json.Unmarshal(a.data, &r); err != nil {
		return r, errorf(ErrDecode, "the answer: %v", err)
	}
	return r, nil
}
