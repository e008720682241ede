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
	entrance, err := actorc.In(s, prints, func(m coro.CMessage) (int64, error) {
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
