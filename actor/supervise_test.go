package actor

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A journal has what actors note, in order.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) note(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, fmt.Sprintf(format, args...))
}

func (j *journal) take() (lines []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	lines, j.lines = j.lines, nil
	return lines
}

var errBad = errors.New("bad")

// A noter notes its hooks and its messages. It fails with a message that is "bad", and has children
// with the names in children.
type noter struct {
	j        *journal
	name     string
	children []string
	opts     []SpawnOption
	refs     *[]Ref[string]
}

func (n *noter) Started(c *Context[string]) error {
	n.j.note("%s starts", n.name)
	for _, name := range n.children {
		r, err := Spawn(c, func() *noter { return &noter{j: n.j, name: name} },
			append([]SpawnOption{Name(name)}, n.opts...)...)
		if err != nil {
			return err
		}
		*n.refs = append(*n.refs, r)
	}
	return nil
}

func (n *noter) Receive(_ *Context[string], m string) error {
	n.j.note("%s gets %s", n.name, m)
	if m == "bad" {
		return errBad
	}
	return nil
}

func (n *noter) Stopped(_ *Context[string], cause error) {
	if cause == nil {
		n.j.note("%s stops", n.name)
		return
	}
	n.j.note("%s stops: %v", n.name, errors.Is(cause, errBad))
}

func oneExecutor(t *testing.T, opts ...Option) *System {
	return open(t, append([]Option{Executors(1)}, opts...)...)
}

func tellAll[M any](t *testing.T, r Ref[M], list ...M) {
	t.Helper()
	for _, m := range list {
		require.NoError(t, r.Tell(m))
	}
	rest(t, r.c.kind.sys)
}

func TestRestartUpToALimit(t *testing.T) {
	j := &journal{}
	y := oneExecutor(t)
	r, err := Spawn(y, func() *noter { return &noter{j: j, name: "a"} }, Restart(2, 0))
	require.NoError(t, err)
	tellAll(t, r, "1", "bad", "2", "bad", "3")
	require.Equal(t, []string{"a starts", "a gets 1", "a gets bad", "a stops: true", "a starts",
		"a gets 2", "a gets bad", "a stops: true", "a starts", "a gets 3"}, j.take())
	require.NoError(t, y.Err())
	require.NoError(t, r.Tell("bad"))
	require.ErrorIs(t, y.Run(t.Context()), errBad)
	require.Equal(t, []string{"a gets bad", "a stops: true"}, j.take())
}

// Restarts up to a limit, and then an end that escalates to nobody.
func TestRestartThenStop(t *testing.T) {
	j := &journal{}
	y := oneExecutor(t)
	var children []Ref[string]
	parent, err := Spawn(y, func() *noter {
		return &noter{j: j, name: "p", children: []string{"a", "b"},
			opts: []SpawnOption{Restart(2, time.Hour), ThenStop()}, refs: &children}
	})
	require.NoError(t, err)
	rest(t, y)
	var cause error
	watches := spawn(t, y, func(c *Context[Ended], e Ended) error {
		if e.Name != "" {
			cause = e.Cause
			return nil
		}
		_, err := c.Watch(children[0], func(e Ended) Ended { return e })
		return err
	})
	tellAll(t, watches, Ended{})
	j.take()
	tellAll(t, children[0], "bad", "bad", "1", "bad")
	require.Equal(t, []string{"a gets bad", "a stops: true", "a starts", "a gets bad", "a stops: true",
		"a starts", "a gets 1", "a gets bad", "a stops: true"}, j.take())
	require.ErrorIs(t, children[0].Tell("2"), ErrStopped)
	require.ErrorIs(t, cause, errBad)
	tellAll(t, children[1], "3")
	tellAll(t, parent, "4")
	require.Equal(t, []string{"b gets 3", "p gets 4"}, j.take())
	require.NoError(t, y.Err())
}

func TestRestartsAreForgottenAfterATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		y, err := New(Executors(2))
		require.NoError(t, err)
		j := &journal{}
		r, err := Spawn(y, func() *noter { return &noter{j: j, name: "a"} },
			Restart(1, time.Minute))
		require.NoError(t, err)
		for range 10 {
			require.NoError(t, r.Tell("bad"))
			require.NoError(t, y.Rest(t.Context()))
			require.NoError(t, y.Err())
			time.Sleep(time.Minute + 1)
		}
		require.NoError(t, r.Tell("bad"))
		require.NoError(t, r.Tell("bad"))
		require.ErrorIs(t, y.Run(t.Context()), errBad)
		require.NoError(t, y.Close())
	})
}

func TestBackoffKeepsMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		y, err := New(Executors(1))
		require.NoError(t, err)
		start := time.Now()
		var at []time.Duration
		r := spawn(t, y, func(_ *Context[int], m int) error {
			at = append(at, time.Since(start))
			if m < 4 {
				return errBad
			}
			return nil
		}, Restart(10, time.Hour), Backoff(time.Second, 3*time.Second))
		for i := range 6 {
			require.NoError(t, r.Tell(i))
		}
		synctest.Wait()
		beside := spawn(t, y, func(*Context[int], int) error { return nil })
		require.NoError(t, beside.Tell(1))
		synctest.Wait()
		require.EqualValues(t, 1, y.Stats().Handled, "no executor waits")
		require.NoError(t, y.Rest(t.Context()))
		s := time.Second
		require.Equal(t, []time.Duration{0, s, 3 * s, 6 * s, 9 * s, 9 * s}, at)
		require.NoError(t, y.Close())
	})
}

func TestResumeStopAndFates(t *testing.T) {
	for _, c := range []struct {
		name            string
		opts            []SpawnOption
		handled         []int
		failed, stopped int
	}{
		{"resume", []SpawnOption{Resume()}, []int{0, -1, 1, -1, 2}, 2, 0},
		{"drop", []SpawnOption{Resume(), Drop()}, []int{0, -1, 1, -1, 2}, 0, 0},
		{"retry", []SpawnOption{Resume(), Retry(2)}, []int{0, -1, -1, -1, 1, -1, -1, -1, 2}, 2, 0},
		{"stop", []SpawnOption{StopOnFailure()}, []int{0, -1}, 1, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			y := oneExecutor(t)
			var got []int
			r := spawn(t, y, func(_ *Context[int], m int) error {
				if got = append(got, m); m < 0 {
					panic(errBad)
				}
				return nil
			}, c.opts...)
			first := spawn(t, y, func(*Context[int], int) error {
				for _, m := range []int{0, -1, 1, -1, 2} {
					require.NoError(t, r.Tell(m))
				}
				return nil
			})
			tellAll(t, first, 0)
			require.Equal(t, c.handled, got)
			require.EqualValues(t, c.failed, y.Stats().Failed)
			require.EqualValues(t, c.stopped, y.Stats().Stopped)
			require.NoError(t, y.Err())
		})
	}
}

func TestSiblingsShareAFate(t *testing.T) {
	for name, c := range map[string]struct {
		parent SpawnOption
		want   []string
	}{
		"one":  {nil, []string{"b"}},
		"all":  {AllForOne(), []string{"a", "b", "c"}},
		"rest": {RestForOne(), []string{"b", "c"}},
	} {
		for _, directive := range []SpawnOption{Restart(5, 0), StopOnFailure()} {
			t.Run(name, func(t *testing.T) {
				j := &journal{}
				y := oneExecutor(t)
				var refs []Ref[string]
				var opts []SpawnOption
				if c.parent != nil {
					opts = append(opts, c.parent)
				}
				_, err := Spawn(y, func() *noter {
					return &noter{j: j, name: "p", children: []string{"a", "b", "c"},
						opts: []SpawnOption{directive}, refs: &refs}
				}, opts...)
				require.NoError(t, err)
				rest(t, y)
				j.take()
				tellAll(t, refs[1], "bad")
				var stopped []string
				for _, line := range j.take() {
					var who string
					if n, _ := fmt.Sscanf(line, "%s stops", &who); n == 1 &&
						len(line) > 7 && line[2:7] == "stops" {
						stopped = append(stopped, who)
					}
				}
				slices.Sort(stopped)
				require.Equal(t, c.want, stopped)
				require.NoError(t, y.Err())
			})
		}
	}
}

// A child shares a restart, whatever its own failures would lead to.
func TestSiblingsWithOtherDirectives(t *testing.T) {
	for _, other := range []SpawnOption{StopOnFailure(), Resume(), Escalate()} {
		y := oneExecutor(t)
		var bad Ref[int]
		var beside Ref[string]
		j := &journal{}
		first := spawn(t, y, func(c *Context[int], _ int) (err error) {
			bad = spawn(t, c, func(*Context[int], int) error { return errBad }, Restart(5, 0))
			beside, err = Spawn(c, func() *noter { return &noter{j: j, name: "b"} }, other)
			return err
		}, AllForOne())
		tellAll(t, first, 0)
		tellAll(t, bad, 0)
		tellAll(t, beside, "1")
		require.Equal(t, []string{"b starts", "b stops: true", "b starts", "b gets 1"}, j.take())
		require.EqualValues(t, 1, y.Stats().Failures)
	}
}

// Resume goes on with a state. Where a sibling's failure restarts the actor, and its next state
// cannot be made, there is none.
func TestResumeWithoutANextState(t *testing.T) {
	for name, fail := range map[string]func() *noter{
		"nil":    func() *noter { return nil },
		"panic":  func() *noter { panic(errBad) },
		"goexit": func() *noter { runtime.Goexit(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			y := oneExecutor(t)
			made := 0
			var bad Ref[int]
			first := spawn(t, y, func(c *Context[int], _ int) error {
				bad = spawn(t, c, func(*Context[int], int) error { return errBad }, Restart(5, 0))
				_, err := Spawn(c, func() *noter {
					if made++; made > 1 {
						return fail()
					}
					return &noter{j: &journal{}, name: "b"}
				}, Resume(), Name("beside"))
				return err
			}, AllForOne())
			tellAll(t, first, 0)
			require.NoError(t, bad.Tell(0))
			require.ErrorContains(t, y.Run(t.Context()), "actor: beside failed: ")
			require.Equal(t, 2, made)
			require.EqualValues(t, 2, y.Stats().Failures)
		})
	}
}

func TestEscalation(t *testing.T) {
	j := &journal{}
	y := oneExecutor(t)
	var refs []Ref[string]
	top, err := Spawn(y, func() *noter {
		return &noter{j: j, name: "p", children: []string{"a", "b"}, refs: &refs}
	}, Restart(1, 0))
	require.NoError(t, err)
	rest(t, y)
	j.take()
	tellAll(t, refs[0], "bad")
	require.Equal(t, []string{"a gets bad", "a stops: true", "b stops", "p stops: true",
		"p starts", "a starts", "b starts"}, j.take())
	require.Len(t, refs, 4)
	require.NoError(t, y.Err())
	tellAll(t, top, "1")
	tellAll(t, refs[3], "bad")
	require.ErrorContains(t, y.Run(t.Context()), "actor: b failed: bad", "it is told who has failed")
	require.Equal(t, []string{"p gets 1", "b gets bad", "b stops: true", "a stops", "p stops: true"},
		j.take())
	for _, r := range refs {
		<-r.Done()
	}
}

type failing struct {
	starts *int
	most   int
}

func (f *failing) Started(*Context[int]) error {
	if *f.starts++; *f.starts <= f.most {
		panic(errBad)
	}
	return nil
}
func (f *failing) Receive(*Context[int], int) error { return errBad }
func (f *failing) Stopped(*Context[int], error)     { panic("a hook that panics") }

func TestHooksThatFail(t *testing.T) {
	var failures []string
	y := oneExecutor(t, OnFailure(func(f *Failure) { failures = append(failures, f.Err.Error()) }))
	starts := 0
	r, err := Spawn(y, func() *failing { return &failing{&starts, 3} }, Restart(5, 0))
	require.NoError(t, err)
	rest(t, y)
	require.NoError(t, y.Err())
	require.Equal(t, 4, starts)
	r.Stop()
	<-r.Done()
	require.NoError(t, y.Err())
	require.Len(t, failures, 3+3+1, "three starts, and four ends")

	starts = -1000
	r, err = Spawn(y, func() *failing { return &failing{&starts, 0} }, Restart(5, 0), Name("f"))
	require.NoError(t, err)
	for range 20 {
		_ = r.Tell(1)
	}
	require.ErrorContains(t, y.Run(t.Context()), "actor: f failed", "a restart loop has an end")
}

// Who resumes goes on also when a child's failure has escalated, but not with a state whose start
// has failed.
func TestResumeOfHooksAndChildren(t *testing.T) {
	y := oneExecutor(t)
	var child Ref[int]
	n := 0
	parent := spawn(t, y, func(c *Context[int], m int) error {
		if n++; n == 1 {
			child = spawn(t, c, func(*Context[int], int) error { return errBad })
		}
		return nil
	}, Resume())
	tellAll(t, parent, 1)
	tellAll(t, child, 1)
	tellAll(t, parent, 2)
	require.Equal(t, 2, n)
	require.NoError(t, y.Err())
	<-child.Done()
	starts := 0
	_, err := Spawn(y, func() *failing { return &failing{&starts, 1} }, Resume())
	require.NoError(t, err)
	require.ErrorIs(t, y.Run(t.Context()), errBad)
}

func TestStopWithinAStop(t *testing.T) {
	y := oneExecutor(t)
	var inner Ref[int]
	r := spawn(t, y, func(c *Context[int], m int) error {
		if m == 0 {
			inner = spawn(t, c, func(c *Context[int], _ int) error { c.Stop(); c.Stop(); return nil })
			_, err := c.Watch(inner, func(Ended) int { return 2 })
			require.NoError(t, err)
			return inner.Tell(1)
		}
		c.Stop()
		c.Self().Stop()
		inner.Stop()
		return nil
	})
	require.NoError(t, r.Tell(0))
	<-r.Done()
	<-inner.Done()
	r.Stop()
	r.Drain()
	require.Zero(t, y.Stats().Actors)
}

func TestGoexitOnAnExecutor(t *testing.T) {
	y := oneExecutor(t)
	n := 0
	r := spawn(t, y, func(_ *Context[int], m int) error {
		n++
		runtime.Goexit()
		return nil
	}, Resume())
	for range 100 {
		require.NoError(t, r.Tell(1))
	}
	rest(t, y)
	require.Equal(t, 100, n)
	require.EqualValues(t, 100, y.Stats().Failed)
}

// Each message has the tries that Retry says, whatever has become of those before it.
func TestRetryCountsForEachMessage(t *testing.T) {
	for _, opts := range [][]SpawnOption{nil, {Waiting()}} {
		for _, alone := range []bool{true, false} { // messages of turns of their own, or of one turn
			y := oneExecutor(t)
			tries := map[int]int{}
			r := spawn(t, y, func(_ *Context[int], m int) error {
				tries[m]++
				if m%2 == 0 && tries[m] <= 2 {
					panic("not yet")
				}
				return nil
			}, append(opts, Resume(), Retry(2))...)
			tell := spawn(t, y, func(*Context[int], int) error {
				for m := range 20 {
					if err := r.Tell(m); err != nil {
						return err
					}
				}
				return nil
			})
			if alone {
				for m := range 20 {
					tellAll(t, r, m)
					rest(t, y)
				}
			} else {
				tellAll(t, tell, 0)
				rest(t, y)
			}
			for m := range 20 {
				require.Equal(t, 3-2*(m%2), tries[m], "message %d", m)
			}
			require.Zero(t, y.Stats().Dead)
		}
	}
}
