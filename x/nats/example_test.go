package nats_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/organzine/coro/x/nats"
)

// An account is the state of the actor of a key.
type account struct{ Balance int64 }

// Each key of a kind is an actor. Its messages are handled one after the other, at one node at a
// time. This cluster is in memory: a real one is nats.Over(conn).
func Example() {
	ctx := context.Background()
	node, err := nats.Join(ctx, nats.Loopback(), nats.Options{Partitions: 8})
	check(err)
	accounts, err := nats.Define(node, "account", func(c *nats.Turn[account], amount int64) error {
		if c.State.Balance+amount < 0 {
			return errors.New("no such credit") // as if it had not been sent, after five tries
		}
		c.State.Balance += amount
		c.Answer(c.State.Balance)
		return nil
	})
	check(err)
	check(node.Start())

	check(accounts.Tell(ctx, "7", 100)) // it is stored
	for _, amount := range []int64{20, -500, 3} {
		balance, err := nats.Ask[int64](ctx, accounts.To("7", amount))
		fmt.Println(balance, errors.Is(err, nats.ErrDead))
	}
	check(node.Leave(ctx))
	// Output:
	// 120 false
	// 0 true
	// 123 false
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
