package actortest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/organzine/coro/actor"
	"github.com/organzine/coro/actor/actortest"
)

// A lamp goes out by itself after a minute.
type lamp struct{ events actor.Ref[string] }

func (l *lamp) Receive(c *actor.Context[string], m string) error {
	if m == "on" {
		c.After(time.Minute, "off")
	}
	return l.events.Tell(m)
}

func ExampleNew() {
	t := &testing.T{} // a test has its own
	s := actortest.New(t, 1)
	probe := actortest.NewProbe[string](s)
	l, err := actor.Spawn(s, func() *lamp { return &lamp{probe.Ref} })
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Tell("on")
	fmt.Println(probe.Take())
	s.Advance(time.Minute)
	fmt.Println(probe.Take())
	// Output:
	// [on]
	// [off]
}
