package actor

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestABehaviourThatReturnsAnothersFailureFailsItself(t *testing.T) {
	for kind, opts := range kinds {
		t.Run(kind, func(t *testing.T) {
			told := []string{}
			y := open(t, Executors(1), OnFailure(func(f *Failure) { told = append(told, f.Actor) }))
			bs := &Failure{"b", errBad}
			a := spawn(t, y, func(*Context[int], int) error { return bs }, append(opts, Name("a"))...)
			require.NoError(t, a.Tell(0))
			err := y.Run(t.Context())
			require.EqualValues(t, 1, y.Stats().Failures)
			require.Equal(t, []string{"a"}, told)
			f := (*Failure)(nil)
			require.ErrorAs(t, err, &f)
			require.Equal(t, "a", f.Actor)
			require.Equal(t, error(bs), f.Err)
		})
	}
}

// What escalates is the child's failure, counted once.
func TestAnEscalatedFailureIsTheChilds(t *testing.T) {
	told := 0
	y := open(t, Executors(1), OnFailure(func(*Failure) { told++ }))
	parent := spawn(t, y, func(c *Context[int], _ int) error {
		child, err := Spawn(c, of(func(*Context[int], int) error { return errBad }), Name("child"))
		return errors.Join(err, child.Tell(0))
	}, Name("parent"))
	require.NoError(t, parent.Tell(0))
	require.Equal(t, &Failure{"child", errBad}, y.Run(t.Context()))
	require.Equal(t, 1, told)
	require.EqualValues(t, 1, y.Stats().Failures)
}

func TestANilFailureAsAnErrorIsAFailure(t *testing.T) {
	y := open(t, Executors(1))
	a := spawn(t, y, func(*Context[int], int) error { return (*Failure)(nil) }, Name("a"))
	require.NoError(t, a.Tell(0))
	require.EqualError(t, y.Run(t.Context()), "actor: a failed: the behaviour has returned a nil "+
		"*actor.Failure as an error, which is an error: return nil without a type")
	require.EqualValues(t, 1, y.Stats().Failures)
}
