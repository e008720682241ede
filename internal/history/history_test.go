//go:build cgo

package history_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/history"
	"github.com/organzine/coro/internal/race"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ops is how many calls a client makes, at most, in a history.
const ops = 6

// A theme is what the calls of a history are about.
type theme int

const (
	chans theme = iota
	semaphore
	mutex
	rwmutex
	wakes
	themes
)

func (t theme) String() string {
	return [...]string{"channels", "semaphore", "mutex", "rwmutex", "wakes and tasks"}[t]
}

// The kinds of clients.
const (
	goroutine = iota
	goBody
	cBody
	denseBody
	clientKinds
)

// A bench is where histories are made, one after the other.
type bench struct {
	t      *testing.T
	s      *coro.Scheduler
	world  *history.World
	ops    [history.Clients][]history.Op
	client [2]coro.Func[history.Client, coro.None] // plain and dense
	random *rand.Rand

	// Of the present history.
	theme theme
	kind  [history.Clients]int
	caps  [history.Chans]int
	free  int // permits of the semaphore at the start
	chans [history.Chans]*coro.Chan[int64]
	sem   *coro.Semaphore
	mutex *coro.Mutex
	rw    *coro.RWMutex
	tasks [history.Clients]*coro.Task[coro.None]
	open  atomic.Bool // the gate of the clients in Go
	value int64       // the last value that was sent

	// plant has one client do what the history does not tell.
	plant bool
}

func newBench(t *testing.T, seed uint64) *bench {
	s, err := coro.New(coro.WithWorkers(2), coro.WithExecutors(2))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close(context.Background())) })
	b := &bench{t: t, s: s, random: rand.New(rand.NewPCG(seed, 1))}
	b.world, b.ops = history.NewWorld(ops)
	b.client[0], err = coro.NewFunc[history.Client, coro.None](history.ClientBody)
	require.NoError(t, err)
	b.client[1], err = coro.NewFunc[history.Client, coro.None](history.ClientBody, coro.FuncDense())
	require.NoError(t, err)
	return b
}

// wait is how long a call may wait, in ns: mostly not for long, since the others may be over.
func (b *bench) wait() int64 {
	if b.random.IntN(3) == 0 {
		return 0
	}
	return int64(b.random.IntN(60)+1) * 1000
}

// draw fills in what client i is to call.
func (b *bench) draw(i int) []history.Op {
	list := b.ops[i][:0]
	add := func(kind, object int) {
		if len(list) == cap(list) {
			return
		}
		b.value++
		op := history.Op{Kind: int32(kind), Object: int32(object), WaitNS: b.wait(), Index: -1}
		op.Value[0] = b.value
		b.value++
		op.Value[1] = b.value
		op.Sends = b.random.Uint32N(1 << history.Chans)
		list = append(list, op)
	}
	pair := func(lock, unlock int) {
		add(lock, 0)
		add(unlock, 0)
	}
	for n := 1 + b.random.IntN(ops); n > 0; n-- {
		switch b.theme {
		case chans:
			switch k := b.random.IntN(20); {
			case k < 8:
				add(history.Send, b.random.IntN(history.Chans))
			case k < 15:
				add(history.Recv, b.random.IntN(history.Chans))
			case k < 19:
				add(history.Select, 0)
			default:
				add(history.CloseC, b.random.IntN(history.Chans))
			}
		case semaphore:
			if b.random.IntN(2) == 0 {
				add(history.Acquire, 0)
			} else {
				add(history.Release, 0)
				list[len(list)-1].Value[0] = 1 + b.random.Int64N(2)
			}
		case mutex:
			pair(history.Lock, history.Unlock)
		case rwmutex:
			if b.random.IntN(2) == 0 {
				pair(history.Read, history.RWUnlock)
			} else {
				pair(history.Write, history.RWUnlock)
			}
		case wakes:
			other := b.random.IntN(history.Clients)
			switch k := b.random.IntN(8); {
			case k < 3 && b.kind[i] != goroutine:
				add(history.Park, 0)
			case k < 7 && b.kind[other] != goroutine:
				add(history.Wake, other)
			case b.kind[i] < cBody && b.kind[other] != goroutine && other != i:
				add(history.Join, other)
			}
		}
	}
	return list
}

// prepare draws a history and makes what its calls are about.
func (b *bench) prepare() (err error) {
	b.theme = theme(b.random.IntN(int(themes)))
	*b.world = history.World{}
	b.value = 0
	b.open.Store(false)
	for i := range b.kind {
		b.kind[i] = b.random.IntN(clientKinds)
	}
	switch b.theme {
	case chans:
		for i := range b.chans {
			b.caps[i] = b.random.IntN(3)
			if b.chans[i], err = coro.NewChan[int64](b.s, b.caps[i]); err != nil {
				return err
			}
			b.world.Chan[i] = b.chans[i].Address()
		}
	case semaphore:
		b.free = b.random.IntN(3)
		if b.sem, err = coro.NewSemaphore(b.s, b.free); err == nil {
			b.world.Sem = b.sem.Address()
		}
	case mutex:
		if b.mutex, err = coro.NewMutex(b.s); err == nil {
			b.world.Mutex = b.mutex.Address()
		}
	case rwmutex:
		if b.rw, err = coro.NewRWMutex(b.s); err == nil {
			b.world.RWMutex = b.rw.Address()
		}
	}
	return err
}

// run makes a history, and returns the calls that were made.
func (b *bench) run() []porcupine.Operation {
	require.NoError(b.t, b.prepare())
	var list [history.Clients][]history.Op
	done := make(chan struct{}, history.Clients)
	for i := range list {
		list[i] = b.draw(i)
	}
	for i, kind := range b.kind {
		var err error
		switch kind {
		case goroutine:
			go func() {
				b.inGo(nil, i, list[i])
				done <- struct{}{}
			}()
		case goBody:
			b.tasks[i], err = coro.Go(b.s, func(c *coro.Coroutine) (coro.None, error) {
				b.world.Handle[i] = uint64(c.Handle())
				b.inGo(c, i, list[i])
				return coro.None{}, nil
			})
		default:
			b.tasks[i], err = b.client[kind-cBody].Start(b.s, b.world.Of(i, list[i]))
		}
		require.NoError(b.t, err)
	}
	for atomic.LoadInt32(&b.world.Ready) < history.Clients {
		runtime.Gosched()
	}
	b.open.Store(true)
	atomic.StoreInt32(&b.world.Open, 1)
	made := make([]porcupine.Operation, 0, history.Clients*(ops+1))
	for i, kind := range b.kind {
		if kind == goroutine {
			<-done
			continue
		}
		_, err := b.tasks[i].Wait(context.Background())
		require.NoError(b.t, err)
		back := b.world.Tick()
		last := int64(0)
		if n := len(list[i]); n > 0 {
			last = list[i][n-1].Back
		}
		made = append(made, porcupine.Operation{ClientId: i, Call: last + 1, Return: back,
			Input: input{Op: history.Op{Kind: history.End}, client: i}, Output: nil})
	}
	for i := range list {
		for _, op := range list[i] {
			if op.Status != history.Skipped {
				made = append(made, porcupine.Operation{ClientId: i, Call: op.Call,
					Return: op.Back, Input: input{op, i}, Output: nil})
			}
		}
	}
	return made
}

// inGo is a client in Go: a goroutine, or the body of c.
func (b *bench) inGo(c *coro.Coroutine, number int, list []history.Op) {
	atomic.AddInt32(&b.world.Ready, 1)
	for !b.open.Load() {
		if c != nil {
			_ = c.Yield()
		} else {
			runtime.Gosched()
		}
	}
	held := nothing
	for i := range list {
		op := &list[i]
		op.Call = b.world.Tick()
		op.Status = int32(b.call(c, op, &held))
		op.Back = b.world.Tick()
		if b.plant && number == 0 {
			b.secretly()
		}
	}
}

// secretly does what no history tells of: one of them is then impossible, sooner or later.
func (b *bench) secretly() {
	switch b.theme {
	case chans:
		_, _, _ = b.chans[0].TryRecv()
	case semaphore:
		_, _ = b.sem.TryAcquire()
	case mutex:
		_, _ = b.mutex.TryLock()
	case rwmutex:
		_, _ = b.rw.TryLock()
	case wakes:
		for i, kind := range b.kind {
			if kind >= goBody {
				_ = coro.Handle(b.world.Handle[i]).Wake()
			}
		}
	}
}

// Statuses, of Go's clients as of C's.
const (
	ok       = 0
	stale    = -4
	closed   = -7
	timedOut = -15
	strange  = -100
)

// status is what err says, and took what a Try said besides.
func (b *bench) status(took bool, err error) int {
	switch {
	case err == nil && took:
		return ok
	case err == nil, err == context.DeadlineExceeded:
		return timedOut
	case err == coro.ErrStale:
		return stale
	case err == coro.ErrChanClosed:
		return closed
	}
	if !b.plant { // what a client has locked in secret it may not lock again
		b.t.Errorf("%v: %v", b.theme, err)
	}
	return strange
}

// call makes a call. held tells whether the client holds a lock.
func (b *bench) call(c *coro.Coroutine, op *history.Op, held *int) int {
	ctx, cancel := context.Background(), context.CancelFunc(func() {})
	if c != nil {
		ctx = c.Context()
	}
	if op.WaitNS > 0 {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(op.WaitNS))
	}
	defer cancel()
	try := op.WaitNS == 0
	waits := func(err error) int { return b.status(true, err) }
	switch op.Kind {
	case history.Send:
		if try {
			return b.status(b.chans[op.Object].TrySend(op.Value[0]))
		}
		return waits(b.chans[op.Object].Send(ctx, op.Value[0]))
	case history.Recv:
		var took bool
		var err error
		if took = true; try {
			op.Got, took, err = b.chans[op.Object].TryRecv()
		} else {
			op.Got, err = b.chans[op.Object].Recv(ctx)
		}
		return b.status(took, err)
	case history.CloseC:
		return waits(b.chans[op.Object].Close())
	case history.Select:
		return b.selects(ctx, op)
	case history.Acquire:
		if try {
			return b.status(b.sem.TryAcquire())
		}
		return waits(b.sem.Acquire(ctx))
	case history.Release:
		return waits(b.sem.Release(int(op.Value[0])))
	case history.Park:
		if try { // there is no TryPark
			var end context.CancelFunc
			ctx, end = context.WithTimeout(ctx, 0)
			defer end()
		}
		return waits(c.Park(ctx))
	case history.Wake:
		return waits(coro.Handle(b.world.Handle[op.Object]).Wake())
	case history.Join:
		return b.joins(ctx, c, op)
	}
	return b.locks(ctx, op, held)
}

func (b *bench) selects(ctx context.Context, op *history.Op) int {
	var cases [history.Chans]coro.Case
	for i := range cases {
		if op.Sends>>i&1 != 0 {
			cases[i] = coro.OnSend(b.chans[i], op.Value[i])
		} else {
			cases[i] = coro.OnRecv(b.chans[i], &op.Got)
		}
	}
	var index int
	var err error
	if op.WaitNS == 0 {
		index, err = coro.TrySelect(cases[:]...)
	} else {
		index, err = coro.Select(ctx, cases[:]...)
	}
	op.Index = int32(index)
	return b.status(index >= 0, err)
}

func (b *bench) joins(ctx context.Context, c *coro.Coroutine, op *history.Op) int {
	var err error
	if op.WaitNS == 0 {
		var end context.CancelFunc
		ctx, end = context.WithTimeout(ctx, 0)
		defer end()
	}
	if c != nil {
		_, err = b.tasks[op.Object].Await(ctx, c)
	} else {
		_, err = b.tasks[op.Object].Wait(ctx)
	}
	return b.status(true, err)
}

// What a client holds.
const (
	nothing = iota
	lock    // the mutex, or the reader-writer lock for reading
	writing
)

func (b *bench) locks(ctx context.Context, op *history.Op, held *int) int {
	unlocks := op.Kind == history.Unlock || op.Kind == history.RWUnlock
	if unlocks != (*held != nothing) {
		return history.Skipped
	}
	gets, took, err := lock, true, error(nil)
	try := op.WaitNS == 0
	switch op.Kind {
	case history.Lock:
		if try {
			took, err = b.mutex.TryLock()
		} else {
			err = b.mutex.Lock(ctx)
		}
	case history.Read:
		if try {
			took, err = b.rw.TryRLock()
		} else {
			err = b.rw.RLock(ctx)
		}
	case history.Write:
		if gets = writing; try {
			took, err = b.rw.TryLock()
		} else {
			err = b.rw.Lock(ctx)
		}
	case history.Unlock:
		err = b.mutex.Unlock()
	case history.RWUnlock:
		if *held == writing {
			err = b.rw.Unlock()
		} else {
			err = b.rw.RUnlock()
		}
	}
	status := b.status(took, err)
	switch {
	case unlocks:
		*held = nothing
	case status == ok:
		*held = gets
	}
	return status
}

// histories makes n of them, and returns those that no order of single calls explains.
func (b *bench) histories(n int) (impossible [][]porcupine.Operation) {
	for range n {
		made := b.run()
		m := modelOf(b)
		if !porcupine.CheckOperations(m, made) || !b.met(made) {
			impossible = append(impossible, made)
		}
	}
	return impossible
}

// TestStressHistoriesAreLinearizable makes random calls of channels, select, semaphores, locks,
// tasks and wakes, from goroutines, Go bodies, C bodies and dense ones together, and looks for an
// order of single calls that explains what each returned. CORO_TEST_SCALE makes it longer.
func TestStressHistoriesAreLinearizable(t *testing.T) {
	n := 1000
	if testing.Short() || race.Enabled {
		n = 100
	}
	if f, err := strconv.ParseFloat(os.Getenv("CORO_TEST_SCALE"), 64); err == nil {
		n = max(int(float64(n)*f), 100)
	}
	seed := rand.Uint64()
	b := newBench(t, seed)
	for done := 0; done < n; done += 100 {
		for range 100 {
			for _, made := range b.histories(1) {
				t.Errorf("seed %#x: no order explains\n%s", seed, b.describe(made))
			}
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d histories, seed %#x", n, seed)
}

// TestAHistoryWithASecretIsFound plants a fault in each theme: a client that takes a value, a
// permit or a lock, or wakes, without telling.
func TestAHistoryWithASecretIsFound(t *testing.T) {
	b := newBench(t, rand.Uint64())
	b.plant = true
	found := map[theme]int{}
	for range 100 {
		for range 100 {
			found[b.theme] += len(b.histories(1))
		}
		if len(found) == int(themes) && !slices.Contains(values(found), 0) {
			return
		}
	}
	t.Errorf("found: %v", found)
}

func values(m map[theme]int) []int { return slices.Collect(maps.Values(m)) }

// describe is what the present history was, in the order of its calls.
func (b *bench) describe(made []porcupine.Operation) string {
	slices.SortFunc(made, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	var text strings.Builder
	for i, kind := range b.kind {
		fmt.Fprintf(&text, "client %d: %s\n", i,
			[...]string{"goroutine", "Go body", "C body", "dense C body"}[kind])
	}
	fmt.Fprintf(&text, "capacities %v, permits %d\n", b.caps, b.free)
	for _, o := range made {
		fmt.Fprintf(&text, "%4d to %4d  %v\n", o.Call, o.Return, o.Input)
	}
	return text.String()
}
