package actor_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/organzine/coro/actor"
)

// An account takes deposits, and tells its balance.
type account struct{ balance int64 }

type accountMessage interface{}

type deposit struct{ amount int64 }

type balance struct{ to actor.Reply[int64] }

func newAccount() *account { return &account{} }

func (a *account) Receive(_ *actor.Context[accountMessage], m accountMessage) error {
	switch m := m.(type) {
	case deposit:
		if m.amount <= 0 {
			return errors.New("no deposit")
		}
		a.balance += m.amount
	case balance:
		return m.to.Answer(a.balance)
	}
	return nil
}

func Example() {
	ctx := context.Background()
	sys, err := actor.New()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() {
		if err := errors.Join(sys.Close(), sys.Err()); err != nil {
			fmt.Println(err)
		}
	}()
	acc, err := actor.Spawn(sys, newAccount, actor.Name("acc/7"), actor.Resume())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, amount := range []int64{100, -1, 20} {
		if err := acc.Tell(deposit{amount}); err != nil {
			fmt.Println(err)
		}
	}
	sum, err := actor.Ask(ctx, acc, func(to actor.Reply[int64]) accountMessage {
		return balance{to}
	})
	fmt.Println(sum, err)
	fmt.Println(sys.Stats().Failed, "dead letter")
	// Output:
	// 120 <nil>
	// 1 dead letter
}

// What no actor deals with ends the system, and is the result of Run.
func ExampleSystem_Run() {
	sys, _ := actor.New()
	a, _ := actor.Spawn(sys, func() actor.Func[int] {
		return func(_ *actor.Context[int], m int) error { return fmt.Errorf("no %d, please", m) }
	}, actor.Name("picky"))
	_ = a.Tell(13)
	fmt.Println(sys.Run(context.Background()))
	_ = sys.Close()
	// Output: actor: picky failed: no 13, please
}

func ExampleContext_Watch() {
	sys, _ := actor.New()
	worker, _ := actor.Spawn(sys, func() actor.Func[int] {
		return func(*actor.Context[int], int) error { return errors.New("broken") }
	}, actor.Name("worker"), actor.StopOnFailure())
	told := make(chan actor.Ended)
	watcher, _ := actor.Spawn(sys, func() actor.Func[actor.Ended] {
		return func(c *actor.Context[actor.Ended], e actor.Ended) error {
			if e.Name == "" {
				_, err := c.Watch(worker, func(e actor.Ended) actor.Ended { return e })
				return err
			}
			told <- e
			return nil
		}
	}, actor.Waiting()) // it sends to a channel
	_ = watcher.Tell(actor.Ended{})
	_ = worker.Tell(1)
	e := <-told
	fmt.Println(e.Name, "has ended:", e.Cause)
	_ = sys.Close()
	// Output: worker has ended: actor: worker failed: broken
}

// An answer can come as one more turn, while the actor goes on with other messages.
func ExampleAskThen() {
	sys, _ := actor.New()
	squares, _ := actor.Spawn(sys, func() actor.Func[square] {
		return func(_ *actor.Context[square], m square) error { return m.to.Answer(m.n * m.n) }
	})
	asks, _ := actor.Spawn(sys, func() actor.Func[int] {
		return func(c *actor.Context[int], n int) error {
			return actor.AskThen(c, squares,
				func(to actor.Reply[int]) square { return square{n, to} },
				func(_ *actor.Context[int], v int, err error) error {
					fmt.Println(n, v, err)
					return nil
				})
		}
	})
	_ = asks.Tell(7)
	_ = sys.Drain(context.Background())
	_ = sys.Close()
	// Output: 7 49 <nil>
}

type square struct {
	n  int
	to actor.Reply[int]
}

func ExampleContext_After() {
	sys, _ := actor.New()
	a, _ := actor.Spawn(sys, func() actor.Func[string] {
		return func(c *actor.Context[string], m string) error {
			fmt.Println(m)
			if m == "ready" {
				c.After(time.Millisecond, "go")
			}
			return nil
		}
	})
	_ = a.Tell("ready")
	_ = sys.Rest(context.Background()) // what is to come is waited for
	_ = sys.Close()
	// Output:
	// ready
	// go
}

// Each one that has subscribed gets each message; one that has ended is forgotten.
func ExampleTopic() {
	ctx := context.Background()
	sys, _ := actor.New(actor.Executors(1))
	prices, _ := actor.NewTopic[int](sys)
	for _, name := range []string{"chart", "alarm"} {
		r, _ := actor.Spawn(sys, func() actor.Func[int] {
			return func(c *actor.Context[int], price int) error {
				fmt.Println(c.Name(), price)
				if c.Name() == "alarm" {
					c.Stop()
				}
				return nil
			}
		}, actor.Name(name))
		_ = prices.Subscribe(r)
	}
	for _, price := range []int{100, 101} {
		_ = prices.Ref().Tell(price)
		_ = sys.Rest(ctx)
	}
	_ = sys.Close()
	// Unordered output:
	// chart 100
	// alarm 100
	// chart 101
}
