//go:build cgo

package coro_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/asm"
	"github.com/organzine/coro/internal/testbody"
)

// Two goroutines that use one Batch: a call that comes while another is in one is ErrBusy, and has
// done nothing.
func TestABatchInTwoHandsIsBusyAndWhole(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	for _, f := range []coro.Func[int64, coro.None]{add, add.OnWorker(1)} {
		testbody.Reset()
		var added atomic.Int64
		for range scaled(200) {
			b := f.Batch(s)
			var both sync.WaitGroup
			for range 2 {
				both.Go(func() {
					n := 0
					for range 5000 {
						switch err := b.Add(1); err {
						case nil:
							n++
						case coro.ErrBusy:
						default:
							assert.NoError(t, err)
						}
					}
					added.Add(int64(n))
					for b.Flush() == coro.ErrBusy {
						runtime.Gosched()
					}
				})
			}
			both.Wait()
		}
		finish(t, s)
		assert.Equal(t, added.Load(), testbody.Sum())
		assert.Positive(t, added.Load())
	}
}

// What an iterator has yielded before it panics, or ends its goroutine, is started, and nothing
// stays taken.
func TestAnIteratorThatPanicsLosesNothing(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2), coro.WithRecordLimit(1))
	const each, rounds = 100, 200 // with what they leave taken, more than the limit
	for name, end := range map[string]func(){
		"panic":  func() { panic(errEnough) },
		"Goexit": runtime.Goexit,
	} {
		testbody.Reset()
		for range rounds {
			done := make(chan any)
			go func() {
				defer func() { done <- recover() }()
				_, _ = add.SpawnSeq(s, func(yield func(int64) bool) {
					for range each {
						if !yield(1) {
							return
						}
					}
					end()
				})
			}()
			if v := receive(t, done); v != nil {
				require.Equal(t, errEnough, v)
			}
			finish(t, s)
		}
		assert.EqualValues(t, each*rounds, testbody.Sum(), name)
	}
	require.NoError(t, add.Spawn(s, 1))
	finish(t, s)
}

// A method of a zero value or a nil pointer returns, or panics in the goroutine that calls it,
// where the panic can be recovered.
func TestMethodsOfZeroValuesPanicInTheCaller(t *testing.T) {
	var (
		nobody *coro.Scheduler
		task   coro.Task[int64]
		batch  coro.Batch[int64, coro.None]
	)
	for _, v := range []any{
		nobody, new(coro.Scheduler), &task, (*coro.Task[int64])(nil), &batch,
		new(coro.Group), (*coro.Group)(nil), new(coro.Coroutine), (*coro.Coroutine)(nil),
		coro.Handle(0), coro.Func[int64, coro.None]{}, coro.Stats{},
		coro.BlockedCoroutine{}, &coro.PanicError{}, &coro.DeadlockError{}, &coro.RunningError{},
		&coro.OptionError{}, &coro.NoWaitError{},
	} {
		value := reflect.ValueOf(v)
		for i := range value.NumMethod() {
			method := value.Method(i)
			args := make([]reflect.Value, method.Type().NumIn())
			for i := range args {
				args[i] = reflect.Zero(method.Type().In(i))
				if method.Type().In(i) == reflect.TypeOf(&background).Elem() {
					args[i] = reflect.ValueOf(ends(t))
				}
			}
			returned := make(chan struct{})
			go func() {
				defer close(returned)
				defer func() { _ = recover() }()
				call := method.Call
				if method.Type().IsVariadic() {
					call = method.CallSlice
				}
				call(args)
			}()
			receive(t, returned)
		}
	}
	assert.Panics(t, func() { _ = task.Err() })
	assert.Panics(t, func() { _ = nobody.Run(ends(t)) })
}

// inTurn calls every method of v, with arguments that a caller could give, and what a method
// returns as an iterator, and tells report what each call panicked with; nil: with nothing.
func inTurn(v any, report func(method string, panicked any)) {
	methods := reflect.ValueOf(v)
	for i := range methods.NumMethod() {
		func() {
			defer func() { report(methods.Type().Method(i).Name, recover()) }()
			call(methods.Method(i))
		}()
	}
}

var contextType = reflect.TypeFor[context.Context]()

// call calls f, and the functions that it returns.
func call(f reflect.Value) {
	ctx, cancel := context.WithTimeout(background, 50*time.Millisecond)
	defer cancel()
	in := make([]reflect.Value, f.Type().NumIn())
	for i := range in {
		switch t := f.Type().In(i); {
		case t == contextType:
			in[i] = reflect.ValueOf(ctx)
		case t.Kind() == reflect.Func:
			in[i] = reflect.MakeFunc(t, func([]reflect.Value) []reflect.Value {
				out := make([]reflect.Value, t.NumOut())
				for k := range out {
					out[k] = reflect.Zero(t.Out(k))
				}
				return out
			})
		case t.Kind() == reflect.Int:
			in[i] = reflect.ValueOf(1)
		default:
			in[i] = reflect.Zero(t)
		}
	}
	var out []reflect.Value
	if f.Type().IsVariadic() {
		out = f.CallSlice(in)
	} else {
		out = f.Call(in)
	}
	for _, result := range out {
		if result.Kind() == reflect.Func && !result.IsNil() {
			call(result)
		}
	}
}

func TestZeroObjectsPanicWithTheConstructor(t *testing.T) {
	for maker, v := range map[string]any{
		"NewChan":      new(coro.Chan[int]),
		"NewSemaphore": new(coro.Semaphore),
		"NewMutex":     new(coro.Mutex),
		"NewRWMutex":   new(coro.RWMutex),
		"NewWaitGroup": new(coro.WaitGroup),
		"NewCond":      new(coro.Cond),
		"NewOnce":      new(coro.Once),
	} {
		inTurn(v, func(method string, panicked any) {
			text := "make it with " + maker
			if method == "Address" || method == "Free" {
				// the same method of all objects
				text = "make the object with NewChan, NewMutex or the like"
			}
			assert.Contains(t, fmt.Sprint(panicked), text, "%T.%s", v, method)
		})
	}
	assert.PanicsWithValue(t, "coro: Chan(zero value): make it with NewChan", func() {
		coro.Select(background, coro.OnRecv(new(coro.Chan[int]), nil)) //nolint:errcheck // panics
	})
}

// A struct that has a lock by value, as one has a sync.RWMutex.
func TestAZeroRWMutexInAStructPanics(t *testing.T) {
	var service struct {
		name  string
		guard coro.RWMutex
	}
	assert.PanicsWithValue(t, "coro: RWMutex(zero value): make it with NewRWMutex", func() {
		_ = service.guard.RLock(background)
	})
}

// Whatever a method of a zero value or a nil pointer does: the process goes on.
func TestZeroAndNilValuesDoNoHarm(t *testing.T) {
	panics := 0
	for _, v := range []any{
		new(coro.Group), (*coro.Group)(nil),
		new(coro.Coroutine), (*coro.Coroutine)(nil),
		new(coro.Batch[int, coro.None]), (*coro.Batch[int, coro.None])(nil),
		coro.Func[int, coro.None]{}, coro.Handle(0), coro.Case{},
		(*coro.Chan[int])(nil), (*coro.Semaphore)(nil), (*coro.Mutex)(nil), (*coro.RWMutex)(nil),
		(*coro.WaitGroup)(nil), (*coro.Cond)(nil), (*coro.Once)(nil),
	} {
		inTurn(v, func(_ string, panicked any) {
			if panicked != nil {
				panics++
			}
		})
	}
	assert.NotZero(t, panics)
}

func TestNothingIsMadeWithoutAScheduler(t *testing.T) {
	for _, s := range []*coro.Scheduler{nil, new(coro.Scheduler)} {
		for what, err := range map[string]error{
			"NewChan":      second(coro.NewChan[int](s, 1)),
			"NewSemaphore": second(coro.NewSemaphore(s, 1)),
			"NewMutex":     second(coro.NewMutex(s)),
			"NewRWMutex":   second(coro.NewRWMutex(s)),
			"NewWaitGroup": second(coro.NewWaitGroup(s, 1)),
			"NewOnce":      second(coro.NewOnce(s)),
			"NewCond":      second(coro.NewCond(nil)),
		} {
			var option *coro.OptionError
			if assert.ErrorAs(t, err, &option, what) {
				assert.Equal(t, what, option.What)
			}
		}
	}
	assert.Error(t, second(coro.NewCond(new(coro.Mutex))))
}

const copies = 500

// copied are copies of what make makes. Nothing refers to the originals any more, and the garbage
// collector has seen that. go vet reports a copy by assignment, and with reason.
func copied[T any](t *testing.T, make func(i int) *T) []T {
	list := []T{}
	for i := range copies {
		list = append(list, unsafe.Slice(make(i), 1)...)
	}
	for range 4 {
		runtime.GC()
		time.Sleep(2 * time.Millisecond) // cleanups run
	}
	return list
}

func TestACopyOfAnObjectKeepsItsMemory(t *testing.T) {
	s := newScheduler(t)
	chans := copied(t, func(i int) *coro.Chan[int] {
		c := made[coro.Chan[int]](t)(coro.NewChan[int](s, 4))
		require.NoError(t, c.Send(background, i))
		return c
	})
	semaphores := copied(t, func(i int) *coro.Semaphore {
		return made[coro.Semaphore](t)(coro.NewSemaphore(s, i))
	})
	mutexes := copied(t, func(int) *coro.Mutex {
		m := made[coro.Mutex](t)(coro.NewMutex(s))
		require.NoError(t, m.Lock(background))
		return m
	})
	locks := copied(t, func(int) *coro.RWMutex {
		m := made[coro.RWMutex](t)(coro.NewRWMutex(s))
		require.NoError(t, m.RLock(background))
		return m
	})
	groups := copied(t, func(i int) *coro.WaitGroup {
		return made[coro.WaitGroup](t)(coro.NewWaitGroup(s, i+1))
	})
	onces := copied(t, func(int) *coro.Once {
		o := made[coro.Once](t)(coro.NewOnce(s))
		require.NoError(t, o.Do(background, func() {}))
		return o
	})
	for i := range copies {
		v, ok, err := chans[i].TryRecv()
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, i, v)

		for range i {
			ok, err := semaphores[i].TryAcquire()
			require.NoError(t, err)
			require.True(t, ok)
		}
		ok, err = semaphores[i].TryAcquire()
		require.NoError(t, err)
		require.False(t, ok)

		require.Equal(t, coro.ErrLockedAlready, second(mutexes[i].TryLock()))
		require.NoError(t, mutexes[i].Unlock())
		require.NoError(t, locks[i].RUnlock())
		require.Equal(t, coro.ErrNotLocked, locks[i].RUnlock())
		require.Equal(t, coro.ErrNegativeWaitGroup, groups[i].Add(-i-2))
		require.NoError(t, groups[i].Add(-i-1))
		require.NoError(t, onces[i].Do(background, func() { t.Error("done twice") }))
	}
}

// The memory of an object whose address was given away goes once, whichever copy has given it.
func TestACopyOfAnObjectHasItsAddress(t *testing.T) {
	s := newScheduler(t)
	c := made[coro.Chan[int64]](t)(coro.NewChan[int64](s, 1))
	two := unsafe.Slice(c, 1)
	two = append([]coro.Chan[int64]{}, two...)
	assert.Equal(t, c.Address(), two[0].Address())
	require.NoError(t, two[0].Send(background, 7))
	v, err := c.Recv(background)
	require.NoError(t, err)
	assert.EqualValues(t, 7, v)
	require.NoError(t, s.Close(background))
}

// A goroutine that waits at a copy is served at the original, and the race detector sees that.
func TestAWaitAtACopy(t *testing.T) {
	s := newScheduler(t)
	c := made[coro.Chan[int]](t)(coro.NewChan[int](s, 0))
	m := made[coro.RWMutex](t)(coro.NewRWMutex(s))
	receiver := append([]coro.Chan[int]{}, unsafe.Slice(c, 1)...)
	locks := append([]coro.RWMutex{}, unsafe.Slice(m, 1)...)
	var all sync.WaitGroup
	shared := 0
	all.Go(func() {
		for i := range 100 {
			v, err := receiver[0].Recv(soon(t))
			assert.NoError(t, err)
			assert.Equal(t, i, v)
			assert.Equal(t, i+1, shared)
			assert.NoError(t, locks[0].RLock(soon(t)))
			_ = shared
			assert.NoError(t, locks[0].RUnlock())
			v, err = receiver[0].Recv(soon(t))
			assert.NoError(t, err)
			assert.Equal(t, -1, v)
		}
	})
	for i := range 100 {
		require.NoError(t, m.Lock(soon(t)))
		shared++
		require.NoError(t, m.Unlock())
		require.NoError(t, c.Send(soon(t), i))
		require.NoError(t, c.Send(soon(t), -1))
	}
	all.Wait()
}

// A coroutine that would wait for its own end is told at once, in each way of waiting, whether it
// is a Go body or has called the Go function that waits.
func TestWaitingForOneselfIsAnError(t *testing.T) {
	other := newScheduler(t)
	elsewhere := coro.NewGroup(background, other)
	_, err := square.Start(elsewhere, 1)
	require.NoError(t, err)

	// refused checks all ways to wait for a coroutine of s, and for its group.
	refused := func(t *testing.T, s *coro.Scheduler, g *coro.Group, own func() error) {
		assert.Equal(t, coro.ErrInside, own(), "Task.Wait")
		assert.Equal(t, coro.ErrInside, g.Wait(background), "Group.Wait")
		assert.Equal(t, coro.ErrInside, s.Wait(background), "Scheduler.Wait")
		assert.Equal(t, coro.ErrInside, s.Close(background), "Close")
		assert.Equal(t, coro.ErrInside, s.Close(expired), "Close")
		task, err := square.Start(s, 3)
		require.NoError(t, err)
		if task.Err() == nil {
			<-task.Done()
		}
		assert.NoError(t, other.Wait(background), "it waits for nobody here")
		assert.NoError(t, elsewhere.Wait(background))
	}
	t.Run("Go body", func(t *testing.T) {
		s := newScheduler(t)
		g := coro.NewGroup(background, s)
		self := make(chan *coro.Task[int], 1)
		task, err := coro.Go(g, func(c *coro.Coroutine) (int, error) {
			own := <-self
			refused(t, s, g, func() error { _, err := own.Wait(background); return err })
			_, err := own.Await(background, c)
			assert.Equal(t, coro.ErrInside, err)
			return 7, nil
		})
		require.NoError(t, err)
		self <- task
		n, err := wait(t, task)
		require.NoError(t, err)
		assert.Equal(t, 7, n)
		require.NoError(t, g.Wait(soon(t)), "the group was not over")
		require.NoError(t, s.Close(soon(t)), "the scheduler was not closed")
	})
	t.Run("Go body outside of the group", func(t *testing.T) {
		s := newScheduler(t)
		g := coro.NewGroup(background, s)
		_, err := coro.Go(g, func(*coro.Coroutine) (int, error) { return 0, nil })
		require.NoError(t, err)
		_, err = wait(t, goes(t, s, func(c *coro.Coroutine) error { return g.Wait(soon(t)) }))
		require.NoError(t, err)
	})
	for name, how := range ways {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, coro.WithWorkers(2))
			g := coro.NewGroup(background, s)
			self := make(chan *coro.Task[testbody.Came], 1)
			id := coro.MustExportFunc(func(context.Context, int64) (int64, error) {
				own := <-self
				refused(t, s, g, func() error { _, err := own.Wait(background); return err })
				return 9, nil
			})
			task, err := callOne.Start(g, testbody.Call{ID: uint32(id), How: how,
				ArgBytes: 8, ResultBytes: 8})
			require.NoError(t, err)
			self <- task
			came, err := wait(t, task)
			require.NoError(t, err)
			assert.EqualValues(t, 9, came.Number)
			require.NoError(t, g.Wait(soon(t)))
			require.NoError(t, s.Close(soon(t)))
		})
	}
}

// Coroutines whose inline calls are made together go on together: each is waited for in vain by the
// functions of the others.
func TestWaitingForACoroutineThatIsCalledInlineTogether(t *testing.T) {
	const callers = 8
	s := newScheduler(t, coro.WithWorkers(1), coro.WithPaused())
	tasks := make([]*coro.Task[testbody.Came], callers)
	refused := 0
	id := coro.MustExportFunc(func(context.Context, int64) (int64, error) {
		for _, task := range tasks {
			switch _, err := task.Wait(background); err {
			case coro.ErrInside:
				refused++
			default:
				assert.NoError(t, err)
			}
		}
		return 0, nil
	})
	for i := range tasks {
		var err error
		tasks[i], err = callOne.Start(s, testbody.Call{ID: uint32(id), How: testbody.Inline,
			ArgBytes: 8, ResultBytes: 8})
		require.NoError(t, err)
	}
	require.NoError(t, s.Run(soon(t)))
	assert.GreaterOrEqual(t, refused, callers)
}

// A brittle context panics, once, at the call number n of its methods by the goroutine that made
// it.
type brittle struct {
	context.Context
	by   uintptr
	left *int
}

type broken struct{}

func newBrittle(ctx context.Context, n int) brittle { return brittle{ctx, asm.Goroutine(), &n} }

func (b brittle) use() {
	if asm.Goroutine() == b.by {
		if *b.left--; *b.left == 0 {
			panic(broken{})
		}
	}
}

func (b brittle) Deadline() (time.Time, bool) { b.use(); return b.Context.Deadline() }
func (b brittle) Done() <-chan struct{}       { b.use(); return b.Context.Done() }
func (b brittle) Err() error                  { b.use(); return b.Context.Err() }
func (b brittle) Value(key any) any           { b.use(); return b.Context.Value(key) }

// brittleContexts are contexts that end in a moment, before a deadline far away, and with one.
var brittleContexts = map[string]func() (context.Context, context.CancelFunc){
	"canceled": func() (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithTimeout(background, time.Hour)
		time.AfterFunc(100*time.Microsecond, cancel)
		return ctx, cancel
	},
	"deadline": func() (context.Context, context.CancelFunc) {
		return context.WithTimeout(background, 100*time.Microsecond)
	},
}

// sweep calls f with contexts that panic at the first call, the second, and so on, until none does.
// It returns how many did.
func sweep(t *testing.T, f func(context.Context)) (panics int) {
	for _, make := range brittleContexts {
		for n := 1; ; n++ {
			ctx, cancel := make()
			b := newBrittle(ctx, n)
			func() {
				defer func() {
					if p := recover(); p != nil && p != (broken{}) {
						panic(p)
					}
				}()
				f(b)
			}()
			cancel()
			if *b.left > 0 {
				break
			}
			panics++
		}
	}
	assert.Positive(t, panics)
	return panics
}

// A panic in a method of a context, wherever it is called, leaves nothing held: no spawning is
// locked, nobody is left on a list of waiters, and the scheduler comes to its end.
func TestAContextThatPanicsLeavesNothingHeld(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2), coro.WithExecutors(1))
	paused := newScheduler(t, coro.WithWorkers(1), coro.WithPaused())
	full := newScheduler(t, coro.WithWorkers(1), coro.WithPaused(), coro.WithRecordLimit(1))
	for empty.Spawn(full, coro.None{}) == nil {
	}
	forever, err := park.Start(s, coro.None{})
	require.NoError(t, err)
	bodyForever := goes(t, s, func(c *coro.Coroutine) error { return c.Park(c.Context()) })
	values := newChan[int](t, s, 0)
	permits := made[coro.Semaphore](t)(coro.NewSemaphore(s, 0))
	lock := made[coro.Mutex](t)(coro.NewMutex(s))
	group := func(start func(*coro.Group) error) {
		g := coro.NewGroup(background, s)
		started := false
		defer func() { // what was started before the panic is canceled
			if !started {
				assert.NoError(t, g.Wait(soon(t)))
			}
		}()
		err := start(g)
		started = true
		g.Cancel(errEnough)
		if werr := g.Wait(soon(t)); err == nil {
			assert.True(t, errors.Is(werr, errEnough) || errors.Is(werr, context.Canceled) ||
				errors.Is(werr, context.DeadlineExceeded), // its own came first
				"%v", werr)
		}
	}
	ends := func(c *coro.Coroutine) (int, error) { return 0, c.Park(c.Context()) }
	calls := map[string]func(ctx context.Context){
		"GoContext": func(ctx context.Context) { _, _ = coro.GoContext(ctx, s, ends) },
		"StartContext": func(ctx context.Context) {
			_, _ = canceled.StartContext(ctx, s, parksAndTells)
		},
		"GoContext in a group": func(ctx context.Context) {
			group(func(g *coro.Group) error { _, err := coro.GoContext(ctx, g, ends); return err })
		},
		"StartContext in a group": func(ctx context.Context) {
			group(func(g *coro.Group) error {
				_, err := canceled.StartContext(ctx, g, parksAndTells)
				return err
			})
		},
		"NewGroup": func(ctx context.Context) {
			g := coro.NewGroup(ctx, s)
			_, _ = canceled.Start(g, parksAndTells)
			_ = g.Wait(soon(t))
		},
		"SpawnWait":      func(ctx context.Context) { _ = empty.SpawnWait(ctx, full, coro.None{}) },
		"Scheduler.Wait": func(ctx context.Context) { _ = s.Wait(ctx) },
		"Scheduler.Run":  func(ctx context.Context) { _ = paused.Run(ctx) },
		"Task.Wait":      func(ctx context.Context) { _, _ = forever.Wait(ctx) },
		"Chan.Recv":      func(ctx context.Context) { _, _ = values.Recv(ctx) },
		"Select": func(ctx context.Context) {
			_, _ = coro.Select(ctx, coro.OnRecv(values, nil))
		},
		"Semaphore.Acquire": func(ctx context.Context) { _ = permits.Acquire(ctx) },
		"Completions": func(ctx context.Context) {
			for range coro.Completions(ctx, forever) {
			}
		},
	}
	for name, f := range calls {
		t.Run(name, func(t *testing.T) { sweep(t, f) })
	}
	assert.Zero(t, coro.WaitingForMemory(full))

	bodies := map[string]func(context.Context, *coro.Coroutine){
		"Park":  func(ctx context.Context, c *coro.Coroutine) { _ = c.Park(ctx) },
		"Sleep": func(ctx context.Context, c *coro.Coroutine) { _ = c.Sleep(ctx, time.Hour) },
		"Await": func(ctx context.Context, c *coro.Coroutine) {
			_, _ = forever.Await(ctx, c)
		},
		"Await of a body": func(ctx context.Context, c *coro.Coroutine) {
			_, _ = bodyForever.Await(ctx, c)
		},
		"Recv":    func(ctx context.Context, c *coro.Coroutine) { _, _ = values.Recv(ctx) },
		"Acquire": func(ctx context.Context, c *coro.Coroutine) { _ = permits.Acquire(ctx) },
		"Lock": func(ctx context.Context, c *coro.Coroutine) {
			assert.Error(t, lock.Lock(ctx))
		},
	}
	require.NoError(t, lock.Lock(background))
	for name, f := range bodies {
		t.Run(name+" by a body", func(t *testing.T) {
			task := goes(t, s, func(c *coro.Coroutine) error {
				for _, make := range brittleContexts {
					for n := 1; ; n++ {
						own, cancel := make()
						ctx := c.Context()
						if name != "Park" && name != "Sleep" {
							own, cancel = context.WithTimeout(ctx, 100*time.Microsecond)
						}
						b := newBrittle(own, n)
						func() {
							defer func() {
								if p := recover(); p != nil && p != (broken{}) {
									panic(p)
								}
							}()
							f(b, c)
						}()
						cancel()
						if *b.left > 0 {
							break
						}
					}
				}
				return nil
			})
			_, err := wait(t, task)
			require.NoError(t, err)
		})
	}
	require.NoError(t, lock.Unlock())
	assert.True(t, tries(t, lock.TryLock), "nobody else waits for it")
	require.NoError(t, permits.Release(1))
	assert.True(t, tries(t, permits.TryAcquire), "nobody else waits for it")
	assert.False(t, tries(t, func() (bool, error) { return values.TrySend(1) }),
		"nobody receives")

	require.NoError(t, forever.Wake())
	require.NoError(t, bodyForever.Wake())
	finish(t, s)
	for _, s := range []*coro.Scheduler{s, paused, full} {
		require.NoError(t, s.Close(soon(t)))
	}
}

// Close heeds its context in whatever it waits, and so does each further one.
func TestCloseReturnsWithItsContextThoughSpawningIsHeld(t *testing.T) {
	s, err := coro.New(coro.WithWorkers(1))
	require.NoError(t, err)
	release := coro.HoldSubmitters(s)
	for range 2 {
		ctx, cancel := context.WithTimeout(background, 10*time.Millisecond)
		var running *coro.RunningError
		require.ErrorAs(t, s.Close(ctx), &running)
		cancel()
		assert.Equal(t, coro.ErrClosed, empty.Spawn(s, coro.None{}))
	}
	release()
	require.NoError(t, s.Close(soon(t)))
}

// A lendable is an object that has an Address.
type lendable interface {
	Address() uintptr
	Free() error
}

// A freeable is an object and what can be done with it.
type freeable struct {
	name   string
	object lendable
	use    int64                           // by C
	hold   func(*testing.T) (letGo func()) // has somebody wait at the object, or hold it
	uses   []func() error
	tries  []func() (bool, error)
}

// heldBy has a goroutine do what waits, and returns when it does.
func heldBy(
	t *testing.T, waits func(context.Context) error, lets func() error,
) (letGo func()) {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- waits(background) }()
	eventually(t, sleepsIn("heldBy.func1"), "the goroutine has tried for long enough, and sleeps")
	return func() {
		require.NoError(t, lets())
		require.NoError(t, <-ended)
	}
}

// sleepsIn tells whether a goroutine sleeps that has the function on its stack.
func sleepsIn(function string) func() bool {
	sleeping := regexp.MustCompile(`^goroutine \d+ \[(chan receive|select|sync\..*)\]:`)
	return func() bool {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		for one := range strings.SplitSeq(string(stacks), "\n\n") {
			if sleeping.MatchString(one) && strings.Contains(one, function) {
				return true
			}
		}
		return false
	}
}

func freeables(t *testing.T, s *coro.Scheduler) []freeable {
	room := newChan[int64](t, s, 2)
	direct := newChan[int64](t, s, 0)
	sem := made[coro.Semaphore](t)(coro.NewSemaphore(s, 0))
	mu := made[coro.Mutex](t)(coro.NewMutex(s))
	rw := made[coro.RWMutex](t)(coro.NewRWMutex(s))
	guard := made[coro.Mutex](t)(coro.NewMutex(s))
	cond := made[coro.Cond](t)(coro.NewCond(guard))
	group := made[coro.WaitGroup](t)(coro.NewWaitGroup(s, 1))
	once := made[coro.Once](t)(coro.NewOnce(s))
	ofChan := func(name string, c *coro.Chan[int64], use int64) freeable {
		return freeable{name: name, object: c, use: use,
			hold: func(t *testing.T) func() {
				return heldBy(t, func(ctx context.Context) error {
					_, err := c.Recv(ctx)
					return err
				}, func() error { return c.Send(background, 1) })
			},
			uses: []func() error{
				c.Close,
				func() error { return c.Send(background, 1) },
				func() error { _, err := c.Recv(background); return err },
				func() error { _, err := coro.Select(background, coro.OnRecv(c, nil)); return err },
				func() error { _, err := coro.TrySelect(coro.OnSend(c, 1)); return err },
				func() error {
					for _, err := range c.All(background) {
						return err
					}
					return nil
				},
			},
			tries: []func() (bool, error){
				func() (bool, error) { return c.TrySend(1) },
				func() (bool, error) { _, ok, err := c.TryRecv(); return ok, err },
			},
		}
	}
	return []freeable{
		ofChan("chan with room", room, testbody.SendNow),
		ofChan("chan without room", direct, testbody.ReceiveNow),
		{
			name: "semaphore", object: sem, use: testbody.AcquireNow,
			hold: func(t *testing.T) func() {
				return heldBy(t, sem.Acquire, func() error { return sem.Release(1) })
			},
			uses: []func() error{
				func() error { return sem.Acquire(background) },
				func() error { return sem.Release(1) },
				func() error { return sem.Release(2) },
			},
			tries: []func() (bool, error){sem.TryAcquire},
		},
		{
			name: "mutex", object: mu, use: testbody.LockNow,
			hold: func(t *testing.T) func() {
				require.NoError(t, mu.Lock(background))
				return func() { require.NoError(t, mu.Unlock()) }
			},
			uses:  []func() error{func() error { return mu.Lock(background) }, mu.Unlock},
			tries: []func() (bool, error){mu.TryLock},
		},
		{
			name: "rwmutex", object: rw, use: testbody.ReadNow,
			hold: func(t *testing.T) func() {
				require.NoError(t, rw.RLock(background))
				return func() { require.NoError(t, rw.RUnlock()) }
			},
			uses: []func() error{
				func() error { return rw.Lock(background) },
				func() error { return rw.RLock(background) },
				rw.Unlock, rw.RUnlock,
			},
			tries: []func() (bool, error){rw.TryLock, rw.TryRLock},
		},
		{
			name: "cond", object: cond, use: testbody.SignalNow,
			hold: func(t *testing.T) func() {
				return heldBy(t, func(ctx context.Context) error {
					return errors.Join(guard.Lock(ctx), cond.Wait(ctx), guard.Unlock())
				}, cond.Signal)
			},
			uses: []func() error{cond.Signal, cond.Broadcast, func() error {
				require.NoError(t, guard.Lock(background))
				defer guard.Unlock()
				return cond.Wait(background)
			}},
		},
		{
			name: "wait group", object: group, use: testbody.CountNow,
			hold: func(t *testing.T) func() {
				return heldBy(t, group.Wait, group.Done)
			},
			uses: []func() error{group.Done, func() error { return group.Wait(background) }},
		},
		{
			name: "once", object: once, use: testbody.DoNow,
			hold: func(t *testing.T) func() {
				begun, end := make(chan struct{}), make(chan struct{})
				var ended sync.WaitGroup
				ended.Go(func() {
					assert.NoError(t, once.Do(background, func() { close(begun); <-end }))
				})
				<-begun
				return func() { close(end); ended.Wait() }
			},
			uses: []func() error{func() error { return once.Do(background, func() {}) }},
		},
	}
}

// What is in use is not freed; what was freed says so, to Go and to C.
func TestFree(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1), coro.WithExecutors(1))
	for _, k := range freeables(t, s) {
		t.Run(k.name, func(t *testing.T) {
			address := k.object.Address()
			require.NotZero(t, address)
			require.Equal(t, address, k.object.Address())
			letGo := k.hold(t)
			require.ErrorIs(t, k.object.Free(), coro.ErrBusy)
			require.Equal(t, address, k.object.Address(), "nothing was changed")
			letGo()

			require.NoError(t, k.object.Free())
			assert.ErrorIs(t, k.object.Free(), coro.ErrDestroyed)
			assert.Zero(t, k.object.Address())
			for range 2 {
				for i, use := range k.uses {
					assert.ErrorIs(t, use(), coro.ErrDestroyed, "use %d", i)
				}
				for i, try := range k.tries {
					ok, err := try()
					assert.False(t, ok)
					assert.ErrorIs(t, err, coro.ErrDestroyed, "try %d", i)
				}
				assert.Equal(t, testbody.EINVAL, misuse(t, s, address, k.use), "by C")
				assert.Equal(t, testbody.EINVAL, misuse(t, s, 0, k.use), "C has the new Address")
				task, err := coro.Go(s, func(c *coro.Coroutine) (int, error) { return 0, k.uses[0]() })
				require.NoError(t, err)
				_, err = task.Wait(soon(t))
				assert.ErrorIs(t, err, coro.ErrDestroyed, "by a Go body")
				runtime.GC() // Go refers to the object, so that its memory is still there
			}
			runtime.KeepAlive(k.object)
		})
	}
}

// An object whose address nobody has is freed in the same way, and so is one after Close.
func TestFreeWithoutAnAddressAndAfterClose(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	mine, late := newChan[int64](t, s, 1), newChan[int64](t, s, 1)
	require.NoError(t, mine.Send(background, 1))
	require.NoError(t, mine.Free())
	assert.Zero(t, mine.Address())
	assert.Zero(t, mine.Len(), "what was in the channel is lost")
	_, err := mine.Recv(background)
	assert.ErrorIs(t, err, coro.ErrDestroyed)

	require.NotZero(t, late.Address())
	require.NoError(t, s.Close(background))
	assert.NoError(t, late.Free())
	assert.ErrorIs(t, late.Free(), coro.ErrDestroyed)
}

// An object that C has destroyed is given back by Free.
func TestFreeOfWhatCHasDestroyed(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	p := made[coro.Semaphore](t)(coro.NewSemaphore(s, 0))
	require.Equal(t, testbody.OK, misuse(t, s, p.Address(), testbody.DestroySem))
	assert.NoError(t, p.Free())
	assert.ErrorIs(t, p.Free(), coro.ErrDestroyed)
}

// A channel that others use at the same time is freed, and they hear of it. (While one waits at the
// channel it is not freed: TestFree.)
func TestFreeAmongUses(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	for i := range scaled(100) {
		c := newChan[int64](t, s, i%2)
		require.NotZero(t, c.Address())
		var all sync.WaitGroup
		var used atomic.Int64
		for k := range 4 {
			all.Go(func() {
				var err error
				for ; err == nil; used.Add(1) {
					if k%2 == 0 {
						_, err = c.TrySend(1)
					} else {
						_, _, err = c.TryRecv()
					}
				}
				assert.ErrorIs(t, err, coro.ErrDestroyed)
			})
		}
		eventually(t, func() bool { return used.Load() > 20 }, "used")
		eventually(t, func() bool { return !errors.Is(c.Free(), coro.ErrBusy) }, "freed")
		all.Wait()
		assert.ErrorIs(t, c.Free(), coro.ErrDestroyed)
	}
}

// A channel for the answer of each request: made, used by C, freed. No memory grows, neither Go's
// nor C's, and the garbage collector comes about often enough by itself.
func TestFreedObjectsLeaveNoMemory(t *testing.T) {
	requests := 20_000
	if testing.Short() {
		requests = 2000
	}
	type answer [64]byte
	s := newScheduler(t, coro.WithWorkers(1))
	memory := func() (inGo, inC int) {
		runtime.GC()
		runtime.GC() // the first has the cleanups run
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc), testbody.Allocated()
	}
	uses := func(address uintptr, how int64) {
		task, err := misuses.Start(s, flow{address, how})
		require.NoError(t, err)
		status, err := task.Wait(background)
		require.NoError(t, err)
		require.EqualValues(t, testbody.OK, status)
	}
	request := func() {
		c := newChan[answer](t, s, 64)
		done := made[coro.WaitGroup](t)(coro.NewWaitGroup(s, 1))
		uses(c.Address(), testbody.SendZeros)
		uses(done.Address(), testbody.CountNow)
		v, err := c.Recv(background)
		require.NoError(t, err)
		require.Zero(t, v)
		require.NoError(t, c.Free())
		require.NoError(t, done.Free())
	}
	for range 100 {
		request()
	}
	goBefore, cBefore := memory()
	most := 0
	for i := range requests {
		request()
		if i%500 == 0 {
			most = max(most, testbody.Allocated()-cBefore)
		}
	}
	assert.Less(t, most, 32<<20, "of 90 MB that were made in between")
	var goGrowth, cGrowth int
	eventually(t, func() bool {
		inGo, inC := memory()
		goGrowth, cGrowth = inGo-goBefore, inC-cBefore
		return goGrowth < 1<<20 && cGrowth < 1<<20
	}, "no memory has grown")
	t.Logf("Go: %d bytes more, C: %d bytes more, and %d at most", goGrowth, cGrowth, most)
}
