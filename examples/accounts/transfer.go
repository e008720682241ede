package main

import (
	"errors"
	"time"

	"github.com/organzine/coro/actor"
)

// A coordinator is the actor of one transfer, and ends with it:
//
//	1  withdraw from the one account. If that is refused, nothing has happened
//	2  deposit into the other one
//	3  if that is refused, undo the withdrawal
//
// Each step is sent until its outcome is known; the id makes that harmless. If the process ends
// between 1 and the end, the next one goes on at 2, by the journal. As a transfer has one
// coordinator at a time, 2 and 3 never both happen.
type coordinator struct {
	request // Account: from, Other: to
	bank    actor.Ref[any]
	step    string
	begun   bool  // the account may have been told
	left    int64 // after the withdrawal
	why     error // of an undo
}

// again is the word to try the step again.
type again struct{}

func (t *coordinator) Started(c *actor.Context[again]) error { return t.try(c) }

func (t *coordinator) Receive(c *actor.Context[again], _ again) error { return t.try(c) }

func (t *coordinator) try(c *actor.Context[again]) error {
	r := t.record
	r.Kind = t.step
	if t.step == deposit {
		r.Account, r.Other = r.Other, r.Account
	}
	return actor.AskThen(c, t.bank, func(to actor.Reply[int64]) any {
		return request{r, to}
	}, t.outcome)
}

func (t *coordinator) outcome(c *actor.Context[again], balance int64, err error) error {
	switch _, refused := errors.AsType[*refusal](err); {
	case !t.begun && errors.Is(err, actor.ErrFull):
		t.end(c, err)
	case err != nil && !refused:
		t.begun = true
		c.After(20*time.Millisecond, again{})
	case t.step == withdraw && err == nil:
		t.left = balance
		return t.next(c, deposit)
	case t.step == deposit && err != nil:
		t.why = err
		return t.next(c, undo)
	default:
		t.end(c, errors.Join(err, t.why))
	}
	return nil
}

func (t *coordinator) next(c *actor.Context[again], step string) error {
	t.step, t.begun = step, true
	return t.try(c)
}

func (t *coordinator) end(c *actor.Context[again], err error) {
	t.answer(t.left, err)
	c.Stop()
}

// Stopped tells who waits that the outcome is not known, if it is not.
func (t *coordinator) Stopped(*actor.Context[again], error) {
	t.answer(0, actor.ErrStopped)
}
