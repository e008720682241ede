package actor

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A leaver says good-bye to others, which it does not see end before.
type leaver struct {
	t        *testing.T
	j        *journal
	name     string
	to       []Ref[string]
	children int
	waits    chan struct{}
}

func (l *leaver) Started(c *Context[string]) error {
	for i := range l.children {
		name := fmt.Sprintf("%s%d", l.name, i)
		_, err := Spawn(c, func() *leaver {
			return &leaver{t: l.t, j: l.j, name: name, to: append([]Ref[string]{c.Self()}, l.to...)}
		}, Name(name))
		if err != nil {
			return err
		}
	}
	return nil
}

func (l *leaver) Receive(c *Context[string], m string) error {
	if m == "spawn" { // a child that comes while the others are drained
		_, err := Spawn(c, func() *leaver {
			return &leaver{t: l.t, j: l.j, name: "late", to: []Ref[string]{c.Self()}}
		})
		return err
	}
	l.j.note("%s gets %s", l.name, m)
	return nil
}

func (l *leaver) Stopped(*Context[string], error) {
	if l.waits != nil {
		<-l.waits
	}
	l.j.note("%s stops", l.name)
	for _, to := range l.to {
		if err := to.Tell("bye of " + l.name); err != nil {
			l.t.Errorf("%s: %v", l.name, err)
		}
	}
}

func leaving(t *testing.T, y *System, l *leaver, opts ...SpawnOption) Ref[string] {
	l.t = t
	r, err := Spawn(y, func() *leaver { return l }, append(opts, Name(l.name))...)
	require.NoError(t, err)
	return r
}

func TestDrainEndsTheLastSpawnedFirst(t *testing.T) {
	for executors := range 3 {
		j := &journal{}
		y := open(t, Executors(executors+1))
		var before []Ref[string]
		for _, name := range []string{"a", "b", "c", "d"} {
			r := leaving(t, y, &leaver{j: j, name: name, to: before}, Room(3))
			before = append([]Ref[string]{r}, before...)
		}
		require.NoError(t, y.Drain(t.Context()))
		lines := j.take()
		require.Len(t, lines, 4+3+2+1)
		var stops []string
		for _, line := range lines {
			if line[2:] == "stops" {
				stops = append(stops, line[:1])
			}
		}
		require.Equal(t, []string{"d", "c", "b", "a"}, stops)
		require.Zero(t, y.Stats().Dead)
		_, err := Spawn(y, of(nothing[int]))
		require.ErrorIs(t, err, ErrStopped)
	}
}

// Children end before their parent, which hears their good-byes; and so does an actor that was
// spawned before.
func TestDrainOfAFamily(t *testing.T) {
	j := &journal{}
	y := open(t, Executors(2))
	store := leaving(t, y, &leaver{j: j, name: "store"})
	leaving(t, y, &leaver{j: j, name: "p", to: []Ref[string]{store}, children: 100})
	require.NoError(t, y.Drain(t.Context()))
	lines := j.take()
	require.Len(t, lines, 100+1+1+100+101)
	require.Equal(t, "store stops", lines[len(lines)-1])
	for i := range 100 {
		require.Contains(t, lines, fmt.Sprintf("p gets bye of p%d", i))
		require.Contains(t, lines, fmt.Sprintf("store gets bye of p%d", i))
	}
	require.Zero(t, y.Stats().Dead)
}

// Messages that are accepted before are handled by the children too, and a child that is spawned
// meanwhile is drained as well.
func TestRefDrainWithChildren(t *testing.T) {
	j := &journal{}
	y := oneExecutor(t)
	parent := leaving(t, y, &leaver{j: j, name: "p", children: 2})
	rest(t, y)
	child, err := Lookup[string](y, "p0")
	require.NoError(t, err)
	tells := spawn(t, y, func(*Context[int], int) error {
		for i := range 3 {
			require.NoError(t, child.Tell(fmt.Sprint(i)))
		}
		parent.Drain()
		require.NoError(t, parent.Tell("spawn"), "it accepts until its children have ended")
		return nil
	})
	tellAll(t, tells, 0)
	<-parent.Done()
	lines := j.take()
	require.Subset(t, lines, []string{"p0 gets 0", "p0 gets 1", "p0 gets 2", "p gets bye of p0",
		"p gets bye of p1", "late stops", "p gets bye of late"})
	require.Equal(t, "p stops", lines[len(lines)-1])
	rest(t, y)
	require.Zero(t, y.Stats().Dead)
	require.Equal(t, 1, y.Stats().Actors)
}

func TestDrainTwiceAndOfNobody(t *testing.T) {
	y := open(t)
	require.NoError(t, y.Drain(t.Context()))
	require.NoError(t, y.Drain(t.Context()))
	y = open(t)
	j := &journal{}
	for i := range 20 {
		leaving(t, y, &leaver{j: j, name: fmt.Sprintf("x%d.", i), children: i % 3})
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if err := y.Drain(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.Zero(t, y.Stats().Actors)
}

// When the context ends, what is left ends at once.
func TestDrainUntilAContextEnds(t *testing.T) {
	j := &journal{}
	y := open(t)
	spawn(t, y, nothing[int])
	waits := make(chan struct{})
	leaving(t, y, &leaver{j: j, name: "slow", waits: waits}, Waiting())
	ctx, cancel := context.WithCancel(t.Context())
	drained := make(chan error)
	go func() { drained <- y.Drain(ctx) }()
	require.Eventually(t, func() bool {
		y.tree.Lock()
		defer y.tree.Unlock()
		return y.draining
	}, time.Minute, time.Millisecond)
	cancel()
	require.Eventually(t, func() bool { return y.Stats().Actors == 1 }, time.Minute, time.Millisecond)
	close(waits)
	require.ErrorIs(t, <-drained, context.Canceled)
}

// A failure that escalates in the middle of a drain ends it, and is told.
func TestAFailureWithinADrain(t *testing.T) {
	y := open(t)
	first := spawn(t, y, func(*Context[string], string) error { return errBad })
	leaving(t, y, &leaver{j: &journal{}, name: "last", to: []Ref[string]{first}})
	require.NoError(t, y.Drain(t.Context()))
	require.ErrorIs(t, y.Err(), errBad)
}
