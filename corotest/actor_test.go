//go:build cgo

package corotest_test

import (
	"testing"

	"github.com/organzine/coro/actor"
	"github.com/stretchr/testify/require"
)

func leakSystem(t *testing.T) *actor.System {
	y, err := actor.New()
	require.NoError(t, err)
	return y
}

func leakActor(t *testing.T, y *actor.System) actor.Ref[int] {
	r, err := actor.Spawn(y, func() actor.Func[int] {
		return func(*actor.Context[int], int) error { return nil }
	}, actor.Name("a"))
	require.NoError(t, err)
	return r
}

func TestActorsThatAreLeft(t *testing.T) {
	var y *actor.System
	errors := verifyLeaks(func() { y = leakSystem(t) })
	require.Len(t, errors, 1)
	require.Contains(t, errors[0], "actor system, not closed: 0 actors")
	require.Contains(t, errors[0], "leakSystem")

	var r actor.Ref[int]
	errors = verifyLeaks(func() { r = leakActor(t, y) })
	require.Len(t, errors, 1)
	require.Contains(t, errors[0], "actor that has not ended: a")
	require.Contains(t, errors[0], "leakActor")
	require.NotContains(t, errors[0], "actor.Spawn")

	require.Empty(t, verify(func() {
		r.Stop()
		<-r.Done()
		leakActor(t, y).Stop()
	}))
	require.NoError(t, y.Close())
	require.Empty(t, verify(func() { require.NoError(t, leakSystem(t).Close()) }))
}
