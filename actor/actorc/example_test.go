//go:build cgo

package actorc_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/organzine/coro"
	"github.com/organzine/coro/actor"
	"github.com/organzine/coro/actor/actorc"
)

// An actor of Go has an entrance for C. Here another actor of Go sends there, as C would.
func Example() {
	ctx := context.Background()
	s, err := coro.New()
	check(err)
	y, err := actor.New()
	check(err)
	defer func() { check(errors.Join(s.Close(ctx), y.Close())) }()

	prints, err := actor.Spawn(y, func() actor.Func[int64] {
		return func(_ *actor.Context[int64], n int64) error {
			fmt.Println("a number:", n)
			return nil
		}
	})
	check(err)
	entrance, err := actorc.In(s, prints, func(m actorc.Message) (int64, error) {
		return int64(binary.NativeEndian.Uint64(m.Payload())), nil
	})
	check(err)
	inC, err := actorc.Of[int64](y, entrance, 0)
	check(err)
	for n := range int64(3) {
		check(inC.Tell(n * n))
	}
	check(s.Wait(ctx)) // C has passed them on
	check(y.Rest(ctx)) // and Go has handled them
	// Output:
	// a number: 0
	// a number: 1
	// a number: 4
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// The kinds of messages of a counter.
const (
	countAdd uint32 = iota // a uint64: adds it
	countSum               // asks for the sum, a uint64
)

// A counter is an actor in C whose messages Go handles.
type counter struct{ sum uint64 }

func (c *counter) Receive(messages []actorc.Message) int {
	for _, m := range messages {
		switch m.Kind() {
		case countAdd:
			c.sum += binary.NativeEndian.Uint64(m.Payload())
		case countSum:
			if asker, ok := m.Asker(); ok {
				_ = asker.Answer(binary.NativeEndian.AppendUint64(nil, c.sum))
			}
		}
	}
	return len(messages)
}

// Wait has nothing to do: Receive handles all.
func (c *counter) Wait(context.Context, actorc.Message) error { return nil }

func (c *counter) Ended() { fmt.Println("ended with", c.sum) }

// Coroutines and actors in C send to a counter as to any actor in C. Here Go sends and asks.
func ExampleSpawn() {
	ctx := context.Background()
	s, err := coro.New()
	check(err)
	defer s.Close(ctx)

	a, err := actorc.Spawn(s, &counter{})
	check(err)
	for n := range uint64(5) {
		check(a.Send(countAdd, binary.NativeEndian.AppendUint64(nil, n)))
	}
	fmt.Println(actorc.Ask[coro.None, uint64](ctx, s, a, countSum, coro.None{}))
	check(a.Drain())
	check(s.Wait(ctx))
	// Output:
	// 10 <nil>
	// ended with 10
}
