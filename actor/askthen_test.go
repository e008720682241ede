package actor

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// keeper keeps the replies that are asked of it.
func keeper(t *testing.T, y *System, replies *[]Reply[int]) Ref[query] {
	return spawn(t, y, func(_ *Context[query], q query) error {
		*replies = append(*replies, q.to)
		return nil
	})
}

// asksOnce asks `of` with a message that is "ask", fails with one that is "bad", and notes answers,
// by the number of its state.
type asksOnce struct {
	of      Ref[query]
	number  int
	answers *[]int // v + 100 times the number
	stopped func(c *Context[string])
	fails   int // so often then fails
}

func (a *asksOnce) ask(c *Context[string]) error {
	return AskThen(c, a.of, func(to Reply[int]) query { return query{to: to} },
		func(_ *Context[string], v int, err error) error {
			if err == nil {
				*a.answers = append(*a.answers, v+100*a.number)
			}
			if a.fails--; a.fails >= 0 {
				return errBad
			}
			return err
		})
}

func (a *asksOnce) Receive(c *Context[string], m string) error {
	switch m {
	case "ask":
		return a.ask(c)
	case "bad":
		return errBad
	case "passivate":
		c.Passivate(time.Minute)
	}
	return nil
}

func (a *asksOnce) Stopped(c *Context[string], _ error) {
	if a.stopped != nil {
		a.stopped(c)
	}
}

func asker(t *testing.T, y *System, first asksOnce, opts ...SpawnOption) Ref[string] {
	number := 0
	r, err := Spawn(y, func() *asksOnce {
		number++
		next := first
		next.number = number
		if first.stopped != nil {
			next.stopped = func(c *Context[string]) { _ = next.ask(c) }
		}
		return &next
	}, opts...)
	require.NoError(t, err)
	return r
}

func TestAnAnswerBelongsToTheStateThatAsked(t *testing.T) {
	for _, way := range []struct {
		name string
		opts []SpawnOption
		want []int
	}{
		{"restart", []SpawnOption{Restart(5, 0)}, []int{202}},
		{"resume", []SpawnOption{Resume()}, []int{101, 102}},
	} {
		t.Run(way.name, func(t *testing.T) {
			y := oneExecutor(t)
			var replies []Reply[int]
			var answers []int
			r := asker(t, y, asksOnce{of: keeper(t, y, &replies), answers: &answers}, way.opts...)
			tellAll(t, r, "ask", "bad", "ask")
			require.Len(t, replies, 2)
			for i, to := range replies {
				require.NoError(t, to.Answer(i+1))
			}
			rest(t, y)
			require.Equal(t, way.want, answers)
			require.EqualValues(t, 1, y.Stats().Dead, "the message that failed, and no answer")
		})
	}
}

// A state that asks as it is retired gets no answer, nor does the next one.
func TestAskThenOfAStateThatIsReplaced(t *testing.T) {
	y := oneExecutor(t)
	var replies []Reply[int]
	var answers []int
	first := asksOnce{of: keeper(t, y, &replies), answers: &answers, stopped: func(*Context[string]) {}}
	r := asker(t, y, first, Restart(5, 0))
	tellAll(t, r, "bad")
	require.Len(t, replies, 1)
	require.NoError(t, replies[0].Answer(1))
	rest(t, y)
	require.Empty(t, answers)
	r.Stop()
	<-r.Done()
	rest(t, y)
	require.NoError(t, replies[1].Answer(1))
}

func TestThenIsRetried(t *testing.T) {
	y, k := byHand(t)
	var replies []Reply[int]
	var answers []int
	r := asker(t, y, asksOnce{of: keeper(t, y, &replies), answers: &answers, fails: 2}, Resume(), Retry(5))
	tellAll(t, r, "passivate", "ask", "ask")
	require.NoError(t, replies[0].Answer(1))
	rest(t, y)
	require.Equal(t, []int{101, 101, 101}, answers)
	k.advance(t, y, time.Hour)
	requireEnded(t, r, false)
	require.NoError(t, replies[1].Answer(2))
	k.advance(t, y, time.Hour)
	requireEnded(t, r, true)
}

// An actor that awaits an answer is not idle, and the time begins with the answer.
func TestPassivateAwaitsAnswers(t *testing.T) {
	y, k := byHand(t)
	var replies []Reply[int]
	var answers []int
	r := asker(t, y, asksOnce{of: keeper(t, y, &replies), answers: &answers})
	tellAll(t, r, "passivate", "ask", "ask")
	k.advance(t, y, time.Hour)
	requireEnded(t, r, false)
	require.NoError(t, replies[0].Answer(1))
	k.advance(t, y, time.Hour)
	requireEnded(t, r, false)
	require.NoError(t, replies[1].Answer(2))
	rest(t, y)
	k.advance(t, y, 59*time.Second)
	requireEnded(t, r, false)
	k.advance(t, y, time.Second)
	requireEnded(t, r, true)
	require.Equal(t, []int{101, 102}, answers)
}

// What a state that was replaced awaits keeps nobody from an end; nor does a question that was
// refused.
func TestPassivateAfterARestart(t *testing.T) {
	y, k := byHand(t)
	var replies []Reply[int]
	var answers []int
	of := keeper(t, y, &replies)
	r := asker(t, y, asksOnce{of: of, answers: &answers}, Restart(9, 0))
	tellAll(t, r, "ask", "bad", "passivate")
	of.Stop()
	<-of.Done()
	tellAll(t, r, "ask")
	k.advance(t, y, time.Minute)
	requireEnded(t, r, true)
	require.Len(t, replies, 1)
}
