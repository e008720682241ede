//go:build cgo

package coro_test

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/organzine/coro"
)

// The kinds of messages of a counter.
const (
	countAdd uint32 = iota // a uint64: adds it
	countSum               // asks for the sum, a uint64
)

// A counter is an actor in C whose messages Go handles.
type counter struct{ sum uint64 }

func (c *counter) Receive(messages []coro.CMessage) int {
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
func (c *counter) Wait(context.Context, coro.CMessage) error { return nil }

func (c *counter) Ended() { fmt.Println("ended with", c.sum) }

// Coroutines and actors in C send to a counter as to any actor in C. Here Go sends and asks.
func ExampleScheduler_SpawnCActor() {
	ctx := context.Background()
	s, err := coro.New()
	check(err)
	defer s.Close(ctx)

	a, err := s.SpawnCActor(&counter{})
	check(err)
	for n := range uint64(5) {
		check(a.Send(countAdd, binary.NativeEndian.AppendUint64(nil, n)))
	}
	fmt.Println(coro.AskC[coro.None, uint64](ctx, s, a, countSum, coro.None{}))
	check(a.Drain())
	check(s.Wait(ctx))
	// Output:
	// 10 <nil>
	// ended with 10
}
