//go:build cgo

package coro_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/organzine/coro"
	"github.com/organzine/coro/corotest"
	"github.com/organzine/coro/internal/testbody"
)

var errEnough = errors.New("enough")

// ends returns a context that ends soon, with errEnough for its cause.
func ends(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeoutCause(background, time.Millisecond, errEnough)
	t.Cleanup(cancel)
	return ctx
}

// A context given to a call that waits bounds that wait alone, and its end gives its cause.
func TestEveryWaitReturnsTheCauseOfItsContext(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	paused := newScheduler(t, coro.WithWorkers(1), coro.WithPaused())
	require.NoError(t, spin.Spawn(paused, coro.None{}))
	full := newScheduler(t, coro.WithWorkers(1), coro.WithPaused(), coro.WithRecordLimit(1))
	for empty.Spawn(full, coro.None{}) == nil {
	}
	forever, err := park.Start(s, coro.None{})
	require.NoError(t, err)
	group := coro.NewGroup(background, s)
	_, err = park.Start(group, coro.None{})
	require.NoError(t, err)
	values := newChan[int](t, s, 0)
	permits := made[coro.Semaphore](t)(coro.NewSemaphore(s, 0))
	count := made[coro.WaitGroup](t)(coro.NewWaitGroup(s, 1))
	waits := map[string]func(ctx context.Context) error{
		"Scheduler.Wait": s.Wait,
		"Scheduler.Run":  paused.Run,
		"SpawnWait": func(ctx context.Context) error {
			return empty.SpawnWait(ctx, full, coro.None{})
		},
		"Task.Wait": func(ctx context.Context) error {
			_, err := forever.Wait(ctx)
			return err
		},
		"Group.Wait": group.Wait,
		"Chan.Send":  func(ctx context.Context) error { return values.Send(ctx, 1) },
		"Chan.Recv": func(ctx context.Context) error {
			_, err := values.Recv(ctx)
			return err
		},
		"Chan.All": func(ctx context.Context) (failed error) {
			for v, err := range values.All(ctx) {
				require.NoError(t, failed, "the last pair is one")
				assert.Zero(t, v)
				failed = err
			}
			return failed
		},
		"Select": func(ctx context.Context) error {
			_, err := coro.Select(ctx, coro.OnRecv(values, nil))
			return err
		},
		"Semaphore.Acquire": permits.Acquire,
		"WaitGroup.Wait":    count.Wait,
		"Completions": func(ctx context.Context) (failed error) {
			for _, err := range coro.Completions(ctx, forever) {
				failed = err
			}
			return failed
		},
	}
	for name, f := range waits {
		assert.ErrorIs(t, f(ends(t)), errEnough, name)
		assert.Equal(t, context.Canceled, f(expired),
			"%s: without a cause it is the context's error", name)
	}
	testbody.Stop()

	bodies := map[string]func(ctx context.Context, c *coro.Coroutine) error{
		"Park": func(ctx context.Context, c *coro.Coroutine) error { return c.Park(ctx) },
		"Sleep": func(ctx context.Context, c *coro.Coroutine) error {
			return c.Sleep(ctx, time.Hour)
		},
		"Await": func(ctx context.Context, c *coro.Coroutine) error {
			_, err := forever.Await(ctx, c)
			return err
		},
		"Recv": func(_ context.Context, c *coro.Coroutine) error {
			ctx, cancel := context.WithTimeoutCause(c.Context(), time.Millisecond,
				errEnough)
			defer cancel()
			_, err := values.Recv(ctx)
			return err
		},
	}
	for name, f := range bodies {
		task := goes(t, s, func(c *coro.Coroutine) error {
			// an ended context ends neither the coroutine nor its other waits
			for range 3 {
				assert.ErrorIs(t, f(ends(t), c), errEnough, name)
				assert.NoError(t, c.Context().Err())
			}
			if name != "Recv" {
				assert.Equal(t, context.Canceled, f(expired, c), name)
			}
			return c.Sleep(background, time.Microsecond)
		})
		_, err := wait(t, task)
		assert.NoError(t, err, name)
	}
	_, err = values.TrySend(1)
	assert.NoError(t, err)
	require.NoError(t, forever.Wake(), "what was waited for goes on")
	_, err = forever.Wait(soon(t))
	require.NoError(t, err)
	group.Cancel(errEnough)
	assert.Equal(t, errEnough, group.Wait(soon(t)), "the group goes on until it is over")
}

func TestParkTakesWhatIsThereAndLosesNothing(t *testing.T) {
	s := newScheduler(t, coro.WithExecutors(1))
	var parker atomic.Uint64
	task := goes(t, s, func(c *coro.Coroutine) error {
		require.NoError(t, c.Wake(c.Handle()))
		assert.NoError(t, c.Park(expired), "a permit that is there is taken")
		assert.ErrorIs(t, c.Park(ends(t)), errEnough)
		parker.Store(uint64(c.Handle()))
		ctx, cancel := context.WithCancel(background)
		assert.NoError(t, c.Park(ctx), "a permit ends the wait before its context does")
		cancel()
		assert.Zero(t, coro.Permits(c))
		require.NoError(t, c.Wake(c.Handle()))
		return c.Park(background)
	})
	eventually(t, func() bool {
		_, n := s.Blocked(0)
		return n == 1 && parker.Load() != 0
	}, "it parks")
	list, _ := s.Blocked(1)
	assert.Equal(t, coro.BlockedCoroutine{
		Handle: task.Handle(), Func: list[0].Func, Worker: -1, Waits: "park",
	}, list[0])
	require.NoError(t, coro.Handle(parker.Load()).Wake())
	_, err := wait(t, task)
	require.NoError(t, err)
}

func TestACancelEndsAWaitWithAnotherContext(t *testing.T) {
	s := newScheduler(t)
	far, end := context.WithTimeout(background, time.Hour)
	defer end()
	never, err := park.Start(s, coro.None{})
	require.NoError(t, err)
	for name, waits := range map[string]func(c *coro.Coroutine) error{
		"Park":  func(c *coro.Coroutine) error { return c.Park(far) },
		"Sleep": func(c *coro.Coroutine) error { return c.Sleep(far, time.Hour) },
		"Await": func(c *coro.Coroutine) error {
			_, err := never.Await(far, c)
			return err
		},
	} {
		ctx, cancel := context.WithCancelCause(background)
		task, err := coro.GoContext(ctx, s, func(c *coro.Coroutine) (coro.None, error) {
			err := waits(c)
			assert.ErrorIs(t, waits(c), errEnough, "each later one too")
			assert.NoError(t, far.Err())
			return coro.None{}, err
		})
		require.NoError(t, err)
		parked(t, s, 2)
		cancel(errEnough)
		_, err = wait(t, task)
		assert.ErrorIs(t, err, errEnough, name)
	}
	require.NoError(t, never.Wake())
}

// Permits that come while contexts end: each is taken by one Park, or left.
func TestPermitsThatRaceWithTheEndsOfContexts(t *testing.T) {
	corotest.VerifyNone(t)
	s := newScheduler(t, coro.WithWorkers(2), coro.WithExecutors(2))
	n := scaled(4000)
	var taken, given atomic.Int64
	parks := goes(t, s, func(c *coro.Coroutine) error {
		random := rand.New(rand.NewPCG(3, 3))
		for taken.Load() < int64(n) {
			ctx, cancel := context.WithTimeout(c.Context(),
				time.Duration(random.IntN(50))*time.Microsecond)
			switch err := c.Park(ctx); err {
			case nil:
				taken.Add(1)
			case context.DeadlineExceeded:
			default:
				cancel()
				return err
			}
			cancel()
		}
		taken.Add(int64(coro.Permits(c)))
		return nil
	})
	wakers := []*coro.Task[coro.None]{}
	for range 2 {
		wakers = append(wakers, goes(t, s, func(c *coro.Coroutine) error {
			for i := range n / 2 {
				if err := c.Wake(parks.Handle()); err != nil {
					return err
				}
				given.Add(1)
				if i%7 == 0 {
					if err := c.Sleep(background,
						time.Microsecond); err != nil {
						return err
					}
				}
			}
			return nil
		}))
	}
	for _, w := range wakers {
		_, err := wait(t, w)
		require.NoError(t, err)
	}
	for taken.Load() < int64(n) && parks.Err() == nil && given.Load() < int64(n) {
		given.Add(1)
		_ = parks.Wake()
	}
	_, err := wait(t, parks)
	require.NoError(t, err)
	assert.Equal(t, given.Load(), taken.Load())
}

// A wait with the body's own context, or with one that never ends, costs no more than one without.
func TestWaitsWithOwnContextsAllocateNothing(t *testing.T) {
	if instrumented {
		t.Skip("instrumented code allocates")
	}
	s := newScheduler(t, coro.WithWorkers(1), coro.WithExecutors(1))
	for name, of := range map[string]func(*coro.Coroutine) context.Context{
		"own":        (*coro.Coroutine).Context,
		"background": func(*coro.Coroutine) context.Context { return background },
		"no cancel": func(c *coro.Coroutine) context.Context {
			return context.WithoutCancel(background)
		},
	} {
		var partner atomic.Uint64
		stop := false
		other := goes(t, s, func(c *coro.Coroutine) error {
			ctx := of(c)
			for {
				if err := c.Park(ctx); err != nil || stop {
					return err
				}
				if err := c.Wake(coro.Handle(partner.Load())); err != nil {
					return err
				}
			}
		})
		task := goes(t, s, func(c *coro.Coroutine) error {
			ctx := of(c)
			partner.Store(uint64(c.Handle()))
			assert.Zero(t, testing.AllocsPerRun(1000, func() {
				if c.Wake(other.Handle()) != nil || c.Park(ctx) != nil {
					runtime.Goexit()
				}
			}), name)
			stop = true
			return c.Wake(other.Handle())
		})
		for _, task := range []*coro.Task[coro.None]{task, other} {
			_, err := wait(t, task)
			require.NoError(t, err, name)
		}
	}
}

// A member of a group with a context of its own is canceled by the end of either.
func TestMembersWithContextsOfTheirOwn(t *testing.T) {
	no := errors.New("no")
	for name, start := range map[string]func(context.Context, *coro.Group) (bound, error){
		"StartContext": func(ctx context.Context, g *coro.Group) (bound, error) {
			return canceled.StartContext(ctx, g, parksAndTells)
		},
		"GoContext": func(ctx context.Context, g *coro.Group) (bound, error) {
			return coro.GoContext(ctx, g, func(c *coro.Coroutine) (int, error) {
				err := c.Park(c.Context())
				assert.ErrorIs(t, err, context.Cause(c.Context()))
				return 0, err
			})
		},
		"GoContext that does not ask": func(ctx context.Context,
			g *coro.Group) (bound, error) {
			return coro.GoContext(ctx, g, parksInGo)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, coro.WithWorkers(1))
			for _, ended := range []bool{false, true} {
				for _, own := range []bool{true, false} {
					ctx, cancel := context.WithCancelCause(background)
					t.Cleanup(func() { cancel(nil) })
					if ended {
						cancel(errEnough)
					}
					g := coro.NewGroup(background, s)
					task, err := start(ctx, g)
					if ended {
						assert.ErrorIs(t, err, errEnough)
						assert.NoError(t, g.Wait(soon(t)),
							"that is no error of the group")
						continue
					}
					require.NoError(t, err)
					parked(t, s, 1)
					if own {
						cancel(errEnough)
						<-task.Done()
						assert.ErrorIs(t, task.Err(), errEnough)
						assert.ErrorIs(t, g.Wait(soon(t)), errEnough,
							"the error of a member")
					} else {
						g.Cancel(no)
						<-task.Done()
						assert.ErrorIs(t, task.Err(), no)
						assert.Equal(t, no, g.Wait(soon(t)))
						assert.NoError(t, ctx.Err())
					}
				}
			}
		})
	}
	type key struct{}
	s := newScheduler(t)
	g := coro.NewGroup(background, s)
	task, err := coro.GoContext(context.WithValue(background, key{}, 7), g,
		func(c *coro.Coroutine) (any, error) {
			return c.Context().Value(key{}), nil
		})
	require.NoError(t, err)
	value, err := wait(t, task)
	require.NoError(t, err)
	assert.Equal(t, 7, value)
	require.NoError(t, g.Wait(background))
	_, err = coro.GoContext(background, g, func(*coro.Coroutine) (int, error) { return 0, nil })
	assert.Equal(t, coro.ErrGroupOver, err, "the group is over")
	_, err = square.StartContext(background, g, 1)
	assert.Equal(t, coro.ErrGroupOver, err)
}

type testKey struct{}

// A stubborn context blocks in each method, or panics, once it is armed.
type stubborn struct {
	context.Context
	armed  *atomic.Bool
	panics bool
	free   <-chan struct{}
}

func (s stubborn) use() {
	if s.armed.Load() {
		if s.panics {
			panic(broken{})
		}
		<-s.free
	}
}

func (s stubborn) Deadline() (time.Time, bool) { s.use(); return s.Context.Deadline() }
func (s stubborn) Done() <-chan struct{}       { s.use(); return s.Context.Done() }
func (s stubborn) Err() error                  { s.use(); return s.Context.Err() }
func (s stubborn) Value(key any) any           { s.use(); return s.Context.Value(key) }

// What users wrote is called by the goroutine that starts, and by what asks for it: a context that
// then blocks or panics holds up neither calls, nor cancels, nor ends, nor Close.
func TestAContextThatBlocksOrPanicsHoldsUpNobody(t *testing.T) {
	for name, panics := range map[string]bool{"blocks": false, "panics": true} {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, coro.WithWorkers(2), coro.WithExecutors(1))
			free := make(chan struct{})
			defer close(free)
			began, ends := make(chan struct{}), make(chan error)
			id := coro.MustExportFunc(func(ctx context.Context, n int64) (int64, error) {
				began <- struct{}{}
				<-ctx.Done()
				ends <- context.Cause(ctx)
				if panics {
					assert.Panics(t, func() { ctx.Value(testKey{}) }, "it is asked")
				}
				return 0, nil
			})
			call := testbody.Call{ID: uint32(id), How: testbody.Offload, ArgBytes: 8,
				ResultBytes: 8}
			for _, done := range []bool{true, false} {
				ctx, cancel := context.WithTimeout(background, time.Hour)
				defer cancel()
				if !done {
					ctx = context.WithoutCancel(ctx)
				}
				armed := &atomic.Bool{}
				ctx = stubborn{context.WithValue(ctx, testKey{}, 1), armed, panics, free}
				g := coro.NewGroup(ctx, s)
				calls, err := callOne.StartContext(ctx, s, call)
				require.NoError(t, err)
				receive(t, began)
				member, err := callOne.StartContext(ctx, g, call)
				require.NoError(t, err)
				receive(t, began)
				parks, err := canceled.StartContext(ctx, s, parksAndTells)
				require.NoError(t, err)
				ready := make(chan struct{})
				body, err := coro.GoContext(ctx, s, func(c *coro.Coroutine) (int, error) {
					close(ready)
					return 0, c.Park(c.Context())
				})
				require.NoError(t, err)
				receive(t, ready)
				parked(t, s, 4)
				armed.Store(true)

				calls.Cancel()
				assert.Equal(t, coro.ErrCanceled, receive(t, ends))
				g.Cancel(errEnough)
				assert.Equal(t, errEnough, receive(t, ends))
				assert.EqualValues(t, 2, calling(t, s, testbody.Offload, increment, 1).Number)
				parks.Cancel()
				body.Cancel()
				_, err = wait(t, parks)
				assert.Equal(t, coro.ErrCanceled, err)
				_, err = wait(t, body)
				assert.Equal(t, coro.ErrCanceled, err)
				for _, task := range []*coro.Task[testbody.Came]{calls, member} {
					_, err = wait(t, task)
					assert.NoError(t, err, "it was not told")
				}
				assert.Equal(t, errEnough, g.Wait(soon(t)))
			}
			assert.NoError(t, s.Close(soon(t)))
		})
	}
}

// A context of another type ends what it was given to, with its cause, and is let go.
func TestContextsOfOtherTypes(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	before := runtime.NumGoroutine()
	for range scaled(100) {
		for _, group := range []bool{false, true} {
			base, cancel := context.WithCancelCause(background)
			done := make(chan struct{})
			ctx := ownDone{base, done}
			var in coro.Scope = s
			if group {
				in = coro.NewGroup(background, s)
			}
			a, err := canceled.StartContext(ctx, in, parksAndTells)
			require.NoError(t, err)
			b, err := coro.GoContext(ctx, in, parksInGo)
			require.NoError(t, err)
			quick, err := coro.GoContext(ctx, s, func(*coro.Coroutine) (int, error) { return 1, nil })
			require.NoError(t, err)
			_, err = wait(t, quick)
			require.NoError(t, err, "before the context ends")
			cancel(errEnough)
			close(done)
			_, err = wait(t, a)
			assert.ErrorIs(t, err, errEnough)
			_, err = wait(t, b)
			assert.ErrorIs(t, err, errEnough)
			if g, ok := in.(*coro.Group); ok {
				assert.ErrorIs(t, g.Wait(background), errEnough)
				_, err := square.StartContext(ownDone{background, nil}, g, 1)
				assert.Equal(t, coro.ErrGroupOver, err)
			}
		}
	}
	finish(t, s)
	eventually(t, func() bool { return runtime.NumGoroutine() <= before+4 }, "nothing is left")
}

// An ownDone has a channel of its own, which package context cannot know.
type ownDone struct {
	context.Context
	done chan struct{}
}

func (o ownDone) Done() <-chan struct{} { return o.done }

// ------------------------------------------------------------------------- what a C body may ask

var asking = coro.MustFunc[testbody.Ask, testbody.Asked](testbody.Asks, coro.FuncName("asks"))

const forever = uint64(math.MaxUint64)

func cause(a testbody.Asked) string {
	text, _, _ := bytes.Cut(a.Cause[:], []byte{0})
	return string(text)
}

func TestACBodyAsksForItsDeadline(t *testing.T) {
	for name, opt := range map[string]coro.FuncOption{
		"on a stack": coro.FuncName("asks"), "dense": coro.FuncDense()} {
		t.Run(name, func(t *testing.T) {
			asking := coro.MustFunc[testbody.Ask, testbody.Asked](testbody.Asks, opt)
			s := newScheduler(t, coro.WithWorkers(2))
			hour, end := context.WithTimeout(background, time.Hour)
			defer end()
			two, endTwo := context.WithTimeout(background, 2*time.Hour)
			defer endTwo()
			inHours := func(at uint64, n int) {
				t.Helper()
				in := time.Duration(at - coro.Now())
				assert.Greater(t, in, time.Duration(n)*time.Hour-time.Minute)
				assert.LessOrEqual(t, in, time.Duration(n)*time.Hour)
			}
			ask := func(ctx context.Context, in coro.Scope, a testbody.Ask) testbody.Asked {
				t.Helper()
				start := func() (*coro.Task[testbody.Asked], error) { return asking.Start(in, a) }
				if ctx != nil {
					start = func() (*coro.Task[testbody.Asked], error) {
						return asking.StartContext(ctx, in, a)
					}
				}
				task, err := start()
				require.NoError(t, err)
				got, err := wait(t, task)
				require.NoError(t, err)
				assert.Zero(t, got.Length, "it is not canceled")
				return got
			}
			for range 200 { // ids are used again
				inHours(ask(hour, s, testbody.Ask{}).Deadline, 1)
				assert.Equal(t, forever, ask(background, s, testbody.Ask{}).Deadline)
				assert.Equal(t, forever, ask(nil, s, testbody.Ask{}).Deadline)
				inHours(ask(context.WithValue(hour, testKey{}, 1), s, testbody.Ask{}).Deadline, 1)
			}
			assert.Equal(t, forever, ask(hour, s, testbody.Ask{Child: 1}).Deadline,
				"a child inherits none")
			g := coro.NewGroup(hour, s)
			inHours(ask(nil, g, testbody.Ask{}).Deadline, 1)
			inHours(ask(two, g, testbody.Ask{}).Deadline, 1)
			inHours(ask(background, g, testbody.Ask{}).Deadline, 1)
			require.NoError(t, g.Wait(background))
			g = coro.NewGroup(two, s)
			inHours(ask(hour, g, testbody.Ask{}).Deadline, 1)
			require.NoError(t, g.Wait(background))

			got := ask(two, s, testbody.Ask{Shield: uint64(time.Hour)})
			inHours(got.Deadline, 2)
			inHours(got.Shielded, 1)
			assert.Equal(t, forever, ask(two, s, testbody.Ask{Shield: forever}).Shielded)
			got = ask(two, s, testbody.Ask{Shield: 1})
			inHours(got.Shielded, 2)

			var tasks []*coro.Task[testbody.Asked]
			var ends []context.CancelFunc
			for i := range 300 { // many ids at a time
				ctx, end := context.WithTimeout(background, time.Duration(1+i%3)*time.Hour)
				ends = append(ends, end)
				task, err := asking.StartContext(ctx, s, testbody.Ask{Waits: 1})
				require.NoError(t, err)
				tasks = append(tasks, task)
			}
			for i, task := range tasks {
				task.Cancel()
				got, err := wait(t, task)
				if err == nil { // else it was canceled before it began
					inHours(got.Deadline, 1+i%3)
				}
				ends[i]()
			}
			finish(t, s)
		})
	}
}

type panickyCause struct{}

func (panickyCause) Error() string { panic("oh") }

// One rule: the text is that of the error that the Task would have.
func TestACBodyAsksWhyItIsCanceled(t *testing.T) {
	for name, opt := range map[string]coro.FuncOption{
		"on a stack": coro.FuncName("asks"), "dense": coro.FuncDense()} {
		t.Run(name, func(t *testing.T) {
			asking := coro.MustFunc[testbody.Ask, testbody.Asked](testbody.Asks, opt)
			s := newScheduler(t, coro.WithWorkers(2), coro.WithCallLimit(1))
			a := testbody.Ask{Waits: 1, Room: 24}
			tells := func(task *coro.Task[testbody.Asked], err error, cancel func(), why string,
				length int) {
				t.Helper()
				require.NoError(t, err)
				parked(t, s, 1)
				cancel()
				got, err := wait(t, task)
				require.NoError(t, err)
				assert.Equal(t, why, cause(got))
				assert.EqualValues(t, length, got.Length)
			}
			for _, c := range []struct {
				cause error
				room  uint32
				why   string
			}{
				{errors.New("no more"), 24, "no more"},
				{errors.New("no more"), 8, "no more"},
				{errors.New("no more"), 7, "no mor"},
				{errors.New("no more"), 1, ""},
				{errors.New("no more"), 0, ""},
			} {
				ctx, cancel := context.WithCancelCause(background)
				ask := a
				ask.Room = c.room
				task, err := asking.StartContext(ctx, s, ask)
				tells(task, err, func() { cancel(c.cause) }, c.why, len("no more"))

				g := coro.NewGroup(background, s)
				task, err = asking.Start(g, ask)
				tells(task, err, func() { g.Cancel(c.cause) }, c.why, len("no more"))
				task, err = asking.StartContext(background, coro.NewGroup(background, s), ask)
				require.NoError(t, err)
				task.Cancel()
				_, _ = wait(t, task)
			}
			ctx, end := context.WithTimeout(background, 5*time.Millisecond)
			defer end()
			task, err := asking.StartContext(ctx, s, a)
			require.NoError(t, err)
			if got, err := wait(t, task); err == nil {
				assert.Equal(t, context.DeadlineExceeded.Error()[:23], cause(got))
			}

			task, err = asking.Start(s, a)
			tells(task, err, func() { task.Cancel() }, coro.ErrCanceled.Error(), 14)
			far, endFar := context.WithTimeout(background, time.Hour)
			defer endFar()
			task, err = asking.StartContext(far, s, a)
			tells(task, err, func() { task.Cancel() }, coro.ErrCanceled.Error(), 14)

			ctx, cancel := context.WithCancelCause(background)
			task, err = asking.StartContext(ctx, s, a)
			require.NoError(t, err)
			parked(t, s, 1)
			cancel(panickyCause{})
			got, err := wait(t, task)
			require.NoError(t, err)
			assert.Contains(t, cause(got), "PANIC=Error method")

			ctx, cancel = context.WithCancelCause(background)
			a.Nowait = 1
			task, err = asking.StartContext(ctx, s, a)
			tells(task, err, func() { cancel(errEnough) }, coro.ErrCanceled.Error(), 14)

			a.Nowait, a.Waits = 0, 0
			task, err = asking.Start(s, a)
			require.NoError(t, err)
			got, err = wait(t, task)
			require.NoError(t, err)
			assert.Zero(t, got.Length)
			assert.Empty(t, cause(got))
			finish(t, s)
		})
	}
}

// The same when the scheduler is closed, where calls into Go are refused.
func TestACBodyAsksWhyItIsCanceledByClose(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	ctx, cancel := context.WithCancelCause(background)
	a := testbody.Ask{Waits: 1, Room: 24}
	ended, err := asking.StartContext(ctx, s, a)
	require.NoError(t, err)
	other, err := asking.StartContext(context.WithValue(background, testKey{}, 1), s, a)
	require.NoError(t, err)
	parked(t, s, 2)
	closedEarly(t, s.Close(expired))
	got, err := ended.Wait(background)
	require.NoError(t, err)
	assert.Equal(t, coro.ErrCanceled.Error(), cause(got))
	got, err = other.Wait(background)
	require.NoError(t, err)
	assert.Equal(t, coro.ErrCanceled.Error(), cause(got))
	cancel(nil)
}

// The tests of bound contexts use tasks of any type by this.
type bound interface {
	Err() error
	Done() <-chan struct{}
	Wake() error
}

// binders start a coroutine that waits for something that never comes, or for the end of the
// context. The group, if there is one, is to be waited for.
var binders = map[string]func(ctx context.Context, s *coro.Scheduler) (bound, *coro.Group, error){
	"StartContext": func(ctx context.Context, s *coro.Scheduler) (bound, *coro.Group, error) {
		task, err := canceled.StartContext(ctx, s, parksAndTells)
		return task, nil, err
	},
	"GoContext": func(ctx context.Context, s *coro.Scheduler) (bound, *coro.Group, error) {
		task, err := coro.GoContext(ctx, s, parksInGo)
		return task, nil, err
	},
	"GoContext, derived": func(ctx context.Context, s *coro.Scheduler) (bound,
		*coro.Group, error) {
		task, err := coro.GoContext(ctx, s, func(c *coro.Coroutine) (int, error) {
			child, err := coro.GoContext(c.Context(), s, parksInGo)
			if err != nil {
				return 0, err
			}
			return child.Await(background, c)
		})
		return task, nil, err
	},
	"Start in a group": func(ctx context.Context, s *coro.Scheduler) (bound,
		*coro.Group, error) {
		g := coro.NewGroup(ctx, s)
		task, err := canceled.Start(g, parksAndTells)
		return task, g, err
	},
	"Go in a group": func(ctx context.Context, s *coro.Scheduler) (bound, *coro.Group, error) {
		g := coro.NewGroup(ctx, s)
		task, err := coro.Go(g, parksInGo)
		return task, g, err
	},
	"StartContext in a group": func(ctx context.Context, s *coro.Scheduler) (bound, *coro.Group,
		error) {
		g := coro.NewGroup(background, s)
		task, err := canceled.StartContext(ctx, g, parksAndTells)
		return task, g, err
	},
	"GoContext in a group": func(ctx context.Context, s *coro.Scheduler) (bound, *coro.Group,
		error) {
		g := coro.NewGroup(background, s)
		task, err := coro.GoContext(ctx, g, parksInGo)
		return task, g, err
	},
	"Park": func(ctx context.Context, s *coro.Scheduler) (bound, *coro.Group, error) {
		task, err := coro.Go(s, func(c *coro.Coroutine) (int, error) {
			return 0, c.Park(ctx)
		})
		return task, nil, err
	},
	"Await": func(ctx context.Context, s *coro.Scheduler) (bound, *coro.Group, error) {
		task, err := coro.Go(s, func(c *coro.Coroutine) (int, error) {
			child, err := coro.GoContext(c.Context(), s, parksInGo)
			if err != nil {
				return 0, err
			}
			_, err = child.Await(ctx, c)
			child.Cancel()
			return 0, err
		})
		return task, nil, err
	},
}

func parksInGo(c *coro.Coroutine) (int, error) { return 0, c.Park(background) }

// within calls start with a context that ends soon, but not before start has returned.
func within(t *testing.T, start func(context.Context) error) {
	t.Helper()
	for d := 10 * time.Millisecond; ; d *= 2 {
		ctx, end := context.WithTimeout(background, d)
		t.Cleanup(end)
		err := start(ctx)
		if err == nil {
			return
		}
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}
}

func reportsDeadlock(t *testing.T, s *coro.Scheduler, n int) {
	t.Helper()
	var deadlock *coro.DeadlockError
	require.ErrorAs(t, s.Run(soon(t)), &deadlock)
	assert.Equal(t, n, deadlock.Count)
}

func TestRunAwaitsTheDeadlinesOfBoundContexts(t *testing.T) {
	for name, start := range binders {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, coro.WithWorkers(2), coro.WithPaused())
			var task bound
			var group *coro.Group
			within(t, func(ctx context.Context) (err error) {
				task, group, err = start(ctx, s)
				return err
			})
			require.NoError(t, s.Run(soon(t)))
			<-task.Done()
			assert.Equal(t, context.DeadlineExceeded, task.Err())
			if group != nil {
				assert.Equal(t, context.DeadlineExceeded, group.Wait(background))
			}
		})
	}
}

// A coroutine canceled before its deadline is no reason to wait for the deadline.
func TestRunAwaitsNoDeadlineOfWhatWasCanceled(t *testing.T) {
	for name, start := range binders {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, coro.WithWorkers(2), coro.WithPaused())
			far, end := context.WithTimeout(background, time.Hour)
			defer end()
			task, _, err := start(far, s)
			require.NoError(t, err)
			left, err := park.Start(s, coro.None{})
			require.NoError(t, err)
			end()
			for range 2 {
				reportsDeadlock(t, s, 1)
				<-task.Done()
				assert.Equal(t, context.Canceled, task.Err())
			}
			require.NoError(t, left.Wake())
			require.NoError(t, s.Run(soon(t)))
		})
	}
}

// Nor is a coroutine that has ended. A group has one token for all of its members, as long as there
// are any.
func TestRunAwaitsNoDeadlineOfWhatHasEnded(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2), coro.WithPaused())
	far, end := context.WithTimeout(background, time.Hour)
	defer end()
	g := coro.NewGroup(far, s)
	left, err := park.Start(s, coro.None{})
	require.NoError(t, err)
	for range 3 {
		for i := range int64(3) {
			_, err := square.Start(g, i)
			require.NoError(t, err)
			_, err = coro.Go(g, func(c *coro.Coroutine) (int, error) {
				return 1, c.Yield()
			})
			require.NoError(t, err)
			_, err = square.StartContext(far, s, i)
			require.NoError(t, err)
			_, err = coro.GoContext(far, s, func(c *coro.Coroutine) (int, error) {
				return 1, c.Yield()
			})
			require.NoError(t, err)
		}
		reportsDeadlock(t, s, 1)
	}
	require.NoError(t, g.Wait(background))
	_, err = square.Start(g, 1)
	assert.Equal(t, coro.ErrGroupOver, err)
	reportsDeadlock(t, s, 1)
	require.NoError(t, left.Wake())
	require.NoError(t, s.Run(soon(t)))
}

// A coroutine that goes on waiting after its deadline is in a deadlock like any other.
func TestRunReportsADeadlockAfterTheDeadline(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2), coro.WithPaused())
	mutex, err := coro.NewMutex(s)
	require.NoError(t, err)
	cond, err := coro.NewCond(mutex)
	require.NoError(t, err)
	within(t, func(ctx context.Context) error {
		task, err := coro.GoContext(ctx, s, func(c *coro.Coroutine) (int, error) {
			if err := mutex.Lock(c.Context()); err != nil {
				return 0, err
			}
			goes(t, s, func(c *coro.Coroutine) error {
				if err := mutex.Lock(c.Context()); err != nil {
					return err
				}
				if err := c.Park(background); err != nil {
					return err
				}
				return mutex.Unlock()
			})
			err := cond.Wait(c.Context())
			return 0, errors.Join(err, mutex.Unlock())
		})
		if err != nil {
			return err
		}
		err = s.Run(soon(t))
		if task.Err() != nil { // the body has not come to the wait
			return task.Err()
		}
		var deadlock *coro.DeadlockError
		require.ErrorAs(t, err, &deadlock)
		assert.Equal(t, 2, deadlock.Count)
		for _, blocked := range deadlock.Blocked {
			if blocked.Waits == "park" {
				require.NoError(t, blocked.Handle.Wake())
			}
		}
		require.NoError(t, s.Run(soon(t)))
		assert.ErrorIs(t, task.Err(), context.DeadlineExceeded)
		return nil
	})
}

// The cancel of a context is not known to come, no more than a wake-up from Go.
func TestRunReportsADeadlockOfWhoCanOnlyBeCanceled(t *testing.T) {
	for name, start := range binders {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, coro.WithWorkers(2), coro.WithPaused())
			ctx, end := context.WithCancel(background)
			defer end()
			task, _, err := start(ctx, s)
			require.NoError(t, err)
			count := 1
			if name == "GoContext, derived" || name == "Await" {
				count = 2
			}
			for range 3 {
				reportsDeadlock(t, s, count)
			}
			end()
			require.NoError(t, s.Run(soon(t)))
			<-task.Done()
			assert.Equal(t, context.Canceled, task.Err())
		})
	}
}

func TestAWaitForADeadlineIsNotStalled(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	far, end := context.WithTimeout(background, time.Hour)
	defer end()
	for name, start := range binders {
		before := s.Stats().Live
		_, _, err := start(far, s)
		require.NoError(t, err)
		eventually(t, func() bool {
			st := s.Stats()
			return st.Live > before && st.Awake == 0
		}, "%s waits", name)
		assert.False(t, s.Stats().Stalled, name)
	}
	end()
	finish(t, s)
}

// The function that a context calls at its end comes late, since it has a goroutine of its own. So
// a run looks by itself.
func TestRunHeedsContextsThatEndInIt(t *testing.T) {
	no := errors.New("no")
	for name, end := range map[string]func(g *coro.Group, cancel func()) error{
		"error of a Go body": func(g *coro.Group, _ func()) error {
			_, err := coro.Go(g, func(c *coro.Coroutine) (int, error) { return 0, no })
			return err
		},
		"error of a C body": func(g *coro.Group, _ func()) error {
			_, err := abort.Start(g, coro.None{})
			return err
		},
		"cancel of the group": func(g *coro.Group, _ func()) error {
			_, err := coro.Go(g, func(c *coro.Coroutine) (int, error) {
				g.Cancel(no)
				return 0, nil
			})
			return err
		},
		"cancel of the context": func(g *coro.Group, cancel func()) error {
			_, err := coro.Go(g.Scheduler(), func(c *coro.Coroutine) (int, error) {
				cancel()
				return 0, nil
			})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			for range scaled(60) {
				s := newScheduler(t, coro.WithWorkers(2), coro.WithPaused())
				ctx, cancel := context.WithCancel(background)
				g := coro.NewGroup(ctx, s)
				_, err := canceled.Start(g, parksAndTells)
				require.NoError(t, err)
				_, err = coro.Go(g, parksInGo)
				require.NoError(t, err)
				if name == "cancel of the context" {
					for what, start := range binders {
						_, _, err = start(ctx, s)
						require.NoError(t, err, what)
					}
				}
				require.NoError(t, end(g, cancel))
				require.NoError(t, s.Run(soon(t)))
				require.Error(t, g.Wait(background))
				cancel()
				require.NoError(t, s.Close(soon(t)))
			}
		})
	}
}

func TestRunHeedsTheEndOfTheContextOfAWait(t *testing.T) {
	for range scaled(60) {
		s := newScheduler(t, coro.WithWorkers(2), coro.WithPaused())
		never := newChan[int](t, s, 0)
		stops := make(chan func(), 1)
		waits, err := coro.Go(s, func(c *coro.Coroutine) (int, error) {
			ctx, stop := context.WithCancel(c.Context())
			stops <- stop
			return never.Recv(ctx)
		})
		require.NoError(t, err)
		goes(t, s, func(c *coro.Coroutine) error {
			for range 10 {
				if err := c.Yield(); err != nil {
					return err
				}
			}
			(<-stops)()
			return nil
		})
		require.NoError(t, s.Run(soon(t)))
		assert.Equal(t, context.Canceled, waits.Err())
		require.NoError(t, s.Close(soon(t)))
	}
}

// Ends, deadlines and cancels come at the same time. Each token is given back once: otherwise a run
// ends too soon or never.
func TestDeadlinesThatRaceWithEnds(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	for range scaled(30) {
		s := newScheduler(t, coro.WithWorkers(2), coro.WithPaused())
		for range 3 {
			ctx, end := context.WithTimeout(background,
				time.Duration(random.IntN(4000))*time.Microsecond)
			g := coro.NewGroup(ctx, s)
			for range 10 {
				for _, start := range binders {
					_, _, err := start(ctx, s)
					require.True(t, err == nil ||
						errors.Is(err, context.DeadlineExceeded), "%v", err)
				}
				_, _ = yield.StartContext(ctx, s, random.Int64N(50))
				_, _ = yield.Start(g, random.Int64N(50))
				_, _ = coro.Go(g, func(c *coro.Coroutine) (int, error) {
					return 0, c.Yield()
				})
			}
			if random.IntN(3) == 0 {
				end()
			}
			require.NoError(t, s.Run(soon(t)),
				"all of them end with the deadline, if not before")
			end()
			_ = g.Wait(background)
		}
		require.NoError(t, s.Run(soon(t)))
		require.NoError(t, s.Close(soon(t)))
	}
}

// The argument of a canceled body.
const (
	parks = iota
	asks
	parksAndTells
	asksAndTells
)

func TestACanceledTaskEndsByItself(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	for range scaled(200) {
		for how := range int64(4) {
			task, err := canceled.Start(s, how)
			require.NoError(t, err)
			if how == asks {
				eventually(t, func() bool { return testbody.Ran() > 0 }, "it runs")
			}
			task.Cancel()
			task.Cancel()
			got, err := task.Wait(soon(t))
			if err == nil {
				assert.Equal(t, how+100, got, "a result stands")
				assert.Less(t, how, int64(parksAndTells))
			} else {
				assert.Equal(t, coro.ErrCanceled, err)
				assert.Zero(t, got)
			}
			assert.Equal(t, err, task.Err())
			task.Cancel()
		}
	}
	finish(t, s)
}

func TestATaskThatIsCanceledWhereverItIs(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	parked1, err := canceled.Start(s, parks)
	require.NoError(t, err)
	parked(t, s, 1)
	parked1.Cancel()
	got, err := parked1.Wait(soon(t))
	require.NoError(t, err)
	assert.EqualValues(t, 100, got)

	told, err := canceled.Start(s, parksAndTells)
	require.NoError(t, err)
	parked(t, s, 1)
	c, err := cancel.Start(s, told.Handle())
	require.NoError(t, err)
	status, err := c.Wait(soon(t))
	require.NoError(t, err)
	assert.Equal(t, testbody.OK, status)
	_, err = told.Wait(soon(t))
	assert.Equal(t, coro.ErrCanceled, err)
	assert.Equal(t, coro.ErrStale, told.Handle().Cancel())

	// A canceled join leaves the end to others.
	target, err := park.Start(s, coro.None{})
	require.NoError(t, err)
	joiner, err := join.Start(s, target.Handle())
	require.NoError(t, err)
	parked(t, s, 2)
	joiner.Cancel()
	status, err = joiner.Wait(soon(t))
	require.NoError(t, err)
	assert.Equal(t, testbody.ECANCELED, status)
	require.NoError(t, target.Wake())
	status, err = target.Wait(soon(t))
	require.NoError(t, err)
	assert.Equal(t, testbody.OK, status)
}

func TestATaskThatIsCanceledBeforeItsStartNeverRuns(t *testing.T) {
	s := newScheduler(t, coro.WithPaused(), coro.WithWorkers(2))
	var tasks []*coro.Task[int64]
	for i := range int64(100) {
		task, err := canceled.Start(s, asks)
		require.NoError(t, err)
		task.Cancel()
		assert.NoError(t, task.Err(), "%d: nothing runs yet", i)
		tasks = append(tasks, task)
	}
	require.NoError(t, s.Run(background))
	assert.Zero(t, testbody.Ran())
	for _, task := range tasks {
		_, err := task.Wait(background)
		require.Equal(t, coro.ErrCanceled, err)
	}
}

func TestABodyInGoIsCanceledLikeAnyOther(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	cancels := map[string]func(*coro.Task[int]){
		"by its task": (*coro.Task[int]).Cancel,
		"by its handle": func(task *coro.Task[int]) {
			require.NoError(t, task.Handle().Cancel())
		},
		"by a C body": func(task *coro.Task[int]) {
			c, err := cancel.Start(s, task.Handle())
			require.NoError(t, err)
			status, err := c.Wait(soon(t))
			require.NoError(t, err)
			assert.Equal(t, testbody.OK, status)
		},
	}
	for name, cancel := range cancels {
		t.Run(name, func(t *testing.T) {
			task, err := coro.Go(s, func(c *coro.Coroutine) (int, error) {
				first, second := c.Park(background), c.Park(background)
				assert.Equal(t, first, second)
				assert.Equal(t, first, context.Cause(c.Context()))
				return 5, first
			})
			require.NoError(t, err)
			parked(t, s, 1)
			cancel(task)
			got, err := task.Wait(soon(t))
			assert.Equal(t, coro.ErrCanceled, err)
			assert.Equal(t, 5, got)
			assert.Equal(t, err, task.Err())
			<-task.Done()
		})
	}
	p := newScheduler(t, coro.WithPaused())
	task, err := coro.Go(p, func(*coro.Coroutine) (int, error) {
		panic("it was canceled before")
	})
	require.NoError(t, err)
	task.Cancel()
	require.NoError(t, p.Run(background))
	_, err = task.Wait(background)
	assert.Equal(t, coro.ErrCanceled, err)
}

func TestDoneIsClosedAtTheEnd(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	task, err := park.Start(s, coro.None{})
	require.NoError(t, err)
	done := task.Done()
	select {
	case <-done:
		assert.Fail(t, "it is parked")
	default:
	}
	assert.NoError(t, task.Err())
	require.NoError(t, task.Wake())
	<-done
	<-task.Done()
	assert.NoError(t, task.Err())
	status, err := task.Wait(expired)
	require.NoError(t, err)
	assert.Equal(t, testbody.OK, status)

	over, err := abort.Start(s, coro.None{})
	require.NoError(t, err)
	finish(t, s)
	<-over.Done() // its end was told to nobody before
	assert.Equal(t, coro.ErrAborted, over.Err())

	joined, err := park.Start(s, coro.None{})
	require.NoError(t, err)
	joiner, err := join.Start(s, joined.Handle())
	require.NoError(t, err)
	parked(t, s, 2)
	<-joined.Done() // Wait returns at once
	_, err = joined.Wait(background)
	assert.Equal(t, coro.ErrBusy, err)
	require.NoError(t, joined.Wake())
	_, err = joiner.Wait(soon(t))
	require.NoError(t, err)
	<-joined.Done()
	assert.Equal(t, coro.ErrStale, joined.Err())
}

func TestTheEndOfAContextCancelsATask(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	reason := errors.New("no more")
	for how := range int64(4) {
		ctx, end := context.WithCancelCause(background)
		task, err := canceled.StartContext(ctx, s, how)
		require.NoError(t, err)
		eventually(t, func() bool { return testbody.Ran() == how+1 }, "it has started")
		end(reason)
		got, err := task.Wait(soon(t))
		if how < parksAndTells {
			require.NoError(t, err)
			assert.Equal(t, how+100, got, "its result stands")
		} else {
			assert.ErrorIs(t, err, reason)
			assert.Zero(t, got)
		}
		assert.Equal(t, err, task.Err())
	}
	finish(t, s)
}

func TestADeadlineCancelsATask(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	ctx, end := context.WithTimeout(background, time.Millisecond)
	defer end()
	task, err := canceled.StartContext(ctx, s, parksAndTells)
	if err == nil {
		_, err = task.Wait(soon(t))
	}
	assert.Equal(t, context.DeadlineExceeded, err)
}

func TestAContextThatEndsBeforeTheStart(t *testing.T) {
	s := newScheduler(t, coro.WithPaused())
	task, err := canceled.StartContext(expired, s, parks)
	assert.Equal(t, context.Canceled, err)
	assert.Nil(t, task)

	reason := errors.New("too late")
	ctx, end := context.WithCancelCause(background)
	task, err = canceled.StartContext(ctx, s, parks)
	require.NoError(t, err)
	end(reason)
	eventually(t, func() bool { // the cancel comes from another goroutine: ask until it came
		_ = s.Run(background)
		return task.Err() != nil || testbody.Ran() > 0
	}, "it ends or starts")
	if testbody.Ran() == 0 {
		assert.ErrorIs(t, task.Err(), reason)
	}
	require.NoError(t, s.Close(background))
	_, err = task.Wait(soon(t))
	assert.True(t, err == nil || errors.Is(err, reason), "%v", err)
	_, err = canceled.StartContext(background, s, parks)
	assert.Equal(t, coro.ErrClosed, err)
}

func TestATaskThatEndsLetsItsContextGo(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	ctx := &countingContext{Context: background, done: make(chan struct{})}
	var tasks []*coro.Task[int64]
	for i := range int64(100) {
		task, err := square.StartContext(ctx, s, i)
		require.NoError(t, err)
		tasks = append(tasks, task)
	}
	for i, task := range tasks {
		got, err := task.Wait(soon(t))
		require.NoError(t, err)
		require.EqualValues(t, i*i, got)
	}
	eventually(t, func() bool { return ctx.bound.Load() == 0 }, "it is let go")
	close(ctx.done)
	finish(t, s)
}

// A countingContext counts the functions bound to it: context.AfterFunc asks it to bind them.
type countingContext struct {
	context.Context
	done  chan struct{}
	bound atomic.Int64
}

func (c *countingContext) Done() <-chan struct{} { return c.done }
func (c *countingContext) AfterFunc(f func()) func() bool {
	c.bound.Add(1)
	return func() bool { c.bound.Add(-1); return true }
}

func TestACloseIsNotTheContextsCause(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	ctx, end := context.WithCancel(background)
	defer end()
	task, err := canceled.StartContext(ctx, s, parksAndTells)
	require.NoError(t, err)
	parked(t, s, 1)
	_ = s.Close(expired)
	require.NoError(t, s.Close(soon(t)))
	_, err = task.Wait(background)
	assert.Equal(t, coro.ErrCanceled, err)
}

func TestATaskOfAContextIsGosToJoin(t *testing.T) {
	const ebusy = int32(-8)
	s := newScheduler(t, coro.WithWorkers(2))
	ctx, end := context.WithCancel(background)
	defer end()
	task, err := park.StartContext(ctx, s, coro.None{})
	require.NoError(t, err)
	joiner, err := join.Start(s, task.Handle())
	require.NoError(t, err)
	status, err := joiner.Wait(soon(t))
	require.NoError(t, err)
	assert.Equal(t, ebusy, status)
	require.NoError(t, task.Wake())
	status, err = task.Wait(soon(t))
	require.NoError(t, err)
	assert.Equal(t, testbody.OK, status)
}

func TestDroppedTasksOfContextsAreCollected(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	ctx, end := context.WithCancel(background)
	defer end()
	const n = 5000
	for i := range int64(n) {
		_, err := square.StartContext(ctx, s, i)
		require.NoError(t, err)
	}
	finish(t, s)
	eventually(t, func() bool {
		return s.Stats().Records-s.Stats().RecordsIdle < n/10
	}, "the records come back")
}

// Each task ends once, with its result or the reason, whichever comes first.
func TestCancelsThatRaceWithWakesAndEnds(t *testing.T) {
	doors(t, func(t *testing.T, opts ...coro.Option) {
		s := newScheduler(t, append(opts, coro.WithWorkers(2))...)
		reason := errors.New("enough")
		var all sync.WaitGroup
		var results, reasons, woken atomic.Int64
		const users = 4
		rounds := scaled(800)
		for user := range users {
			random := rand.New(rand.NewPCG(uint64(user), 5))
			all.Go(func() {
				for range rounds {
					ctx, end := context.WithCancelCause(background)
					task, err := canceled.StartContext(ctx, s,
						int64(random.IntN(2)*parksAndTells))
					if !assert.NoError(t, err) {
						end(nil)
						return
					}
					var two sync.WaitGroup
					two.Go(func() { _ = task.Wake() })
					two.Go(func() { end(reason) })
					if random.IntN(2) == 0 {
						runtime.Gosched()
						task.Cancel()
					}
					got, err := task.Wait(soon(t))
					two.Wait()
					switch {
					case err == nil && got == 0:
						woken.Add(1)
					case err == nil:
						results.Add(1)
						assert.EqualValues(t, 100, got)
					default:
						reasons.Add(1)
						assert.True(t, errors.Is(err, reason) ||
							err == coro.ErrCanceled, "%v", err)
					}
				}
			})
		}
		all.Wait()
		assert.EqualValues(t, users*rounds, results.Load()+reasons.Load()+woken.Load())
		finish(t, s)
	})
}
