//go:build cgo && linux && (amd64 || arm64)

package core

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/organzine/coro/internal/core/ctwins"
	"github.com/organzine/coro/internal/race"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// twinsTimes is how many random states each step is tried from. The race detector looks at each
// byte that is copied, and the steps run on one thread: there it is a tenth.
var twinsTimes = 2000

func init() {
	if race.Enabled {
		twinsTimes /= 10
	}
}

// twins is a scheduler without threads, on which each step is made twice: by C and by Go.
type twins struct {
	t       *testing.T
	world   ctwins.World
	s       *Scheduler
	n       uint32 // workers, the goworker left out
	r       *record
	regions [][]byte // all that a step may change
}

func newTwins(t *testing.T) *twins {
	// two words of sleepers
	x := &twins{t: t, n: 70, world: ctwins.NewWorld(70), s: &Scheduler{}}
	*(*unsafe.Pointer)(unsafe.Pointer(&x.s.c)) = x.world.Scheduler
	x.r = (*record)(x.world.Record)
	x.regions = [][]byte{
		region(x.world.Scheduler, unsafe.Sizeof(*x.s.c)),
		region(x.world.Workers, uintptr(x.n+1)*unsafe.Sizeof(worker{})),
		region(x.world.Record, unsafe.Sizeof(record{})),
		region(unsafe.Pointer(cold(x.r)), unsafe.Sizeof(coldLine{})),
	}
	return x
}

func region(p unsafe.Pointer, n uintptr) []byte { return unsafe.Slice((*byte)(p), n) }

// bytes is a copy of all that a step may change.
func (x *twins) bytes() []byte { return slices.Concat(x.regions...) }

func (x *twins) restore(from []byte) {
	for _, r := range x.regions {
		from = from[copy(r, from):]
	}
}

// both makes a step from the present state by C, and from the same state by Go, and compares all
// the bytes afterwards, and what the two return. It leaves what the step has left.
func (x *twins) both(input string, byC, byGo func() uint64) {
	before := x.bytes()
	gotC := byC()
	x.forget()
	after := x.bytes()
	x.restore(before)
	gotGo := byGo()
	x.forget()
	if now := x.bytes(); gotC != gotGo || !bytes.Equal(after, now) {
		at := 0
		for at < len(now) && now[at] == after[at] {
			at++
		}
		require.Failf(x.t, "C and Go differ",
			"input: %s; they return %#x and %#x; first at byte %d of %v",
			input, gotC, gotGo, at, x.sizes())
	}
}

// forget drops what depends on the CPU that the test happens to run on.
func (x *twins) forget() {
	for i := range x.n + 1 {
		x.s.worker(i).wakes.waker_cpu = 0
	}
}

func (x *twins) sizes() (list []int) {
	for _, r := range x.regions {
		list = append(list, len(r))
	}
	return list
}

// scramble gives the record random contents.
func (x *twins) scramble() {
	for _, r := range x.regions[2:] {
		for i := range r {
			r[i] = byte(rand.Uint32())
		}
	}
}

// sleep has random workers sleep, or none, in a random state of the scheduler. It never pauses.
func (x *twins) sleep() {
	c := x.s.c
	for i := range x.n + 1 {
		w := x.s.worker(i)
		sleeps := rand.IntN(3) == 0
		bit := uint64(1) << (i & 63)
		word := (*uint64)(unsafe.Pointer(&c.sleepers[i>>6]))
		*word &^= bit
		w.ev = 0
		w.steal.called = 0
		w.steal.hold_off = 0
		if sleeps {
			*word |= bit
			w.ev = 1 // COROI_EV_SLEEPS
		}
		if rand.IntN(2) == 0 {
			*(*uint64)(unsafe.Pointer(&w.steal.hold_off)) = 1 << 63 // for long
		}
	}
	*(*uint32)(unsafe.Pointer(&c.hungry)) = rand.Uint32N(4)
	*(*uint64)(unsafe.Pointer(&c.activity)) = uint64(rand.Uint32N(2)) << 16
	*(*uint32)(unsafe.Pointer(&c.dedicated)) = rand.Uint32N(x.n)
	*(*uint32)(unsafe.Pointer(&c.mode)) = 2 * rand.Uint32N(2) // running, or stopping
}

func (x *twins) address() uint64 { return uint64(uintptr(x.world.Record)) }

func TestTwinsPush(t *testing.T) {
	x := newTwins(t)
	for range twinsTimes {
		x.scramble()
		w := x.s.worker(rand.Uint32N(x.n + 1))
		*(*uint64)(unsafe.Pointer(&w.inbox)) = rand.Uint64()
		kind := []uint64{0, 2, 3}[rand.IntN(3)] // a spawn, a wake, one that has moved
		link := (*uint64)(unsafe.Pointer(&x.r.next))
		if kind == 2 {
			link = (*uint64)(unsafe.Pointer(&x.r.wake_next))
		}
		x.both(fmt.Sprint("kind ", kind),
			func() uint64 {
				ctwins.Push(unsafe.Pointer(w), x.address()|kind)
				return 0
			},
			func() uint64 { pushNode(w, x.address()|kind, link); return 0 })
		// A batch has its link in front. The record stands in for one: it is the same
		// memory.
		x.both("a batch",
			func() uint64 { ctwins.Push(unsafe.Pointer(w), x.address()|1); return 0 },
			func() uint64 { push(w, (*batch)(x.world.Record)); return 0 })
	}
}

func TestTwinsNotify(t *testing.T) {
	x := newTwins(t)
	for range twinsTimes {
		x.sleep()
		i := rand.Uint32N(x.n + 1)
		w := x.s.worker(i)
		x.both(fmt.Sprint("worker ", i),
			func() uint64 { ctwins.Notify(unsafe.Pointer(w)); return 0 },
			func() uint64 { x.s.pushed(w, i); return 0 })
	}
}

// While the scheduler is paused, C claims a sleeper and gives it up again, which counts as a rest.
// Go looks at the mode first, and changes nothing.
func TestTwinsNotifyInAPause(t *testing.T) {
	x := newTwins(t)
	for range 1000 {
		x.sleep()
		*(*uint32)(unsafe.Pointer(&x.s.c.mode)) = 1 // paused
		before := x.bytes()
		for i := range x.n + 1 {
			x.s.pushed(x.s.worker(i), i)
		}
		require.True(t, bytes.Equal(before, x.bytes()))
	}
}

// randomSpec is a spec of a random function, with random sizes.
func randomSpec() Spec {
	sizes := []uint8{0, 8, uint8(rand.UintN(InlineBytes + 1))}
	return Spec{
		Fn:          uintptr(rand.Uint64() & (1<<47 - 1)),
		Class:       uint8(rand.UintN(16)),
		ArgBytes:    sizes[rand.IntN(len(sizes))],
		ResultBytes: sizes[rand.IntN(len(sizes))],
	}
}

func TestTwinsFill(t *testing.T) {
	x := newTwins(t)
	var arg [InlineBytes]byte
	for range twinsTimes {
		x.scramble()
		for i := range arg {
			arg[i] = byte(rand.Uint32())
		}
		spec, home := randomSpec(), rand.Uint32N(x.n+1)
		x.both(fmt.Sprintf("%+v, home %d", spec, home),
			func() uint64 {
				ctwins.Fill(x.world.Record, spec.Fn, spec.Class, spec.ArgBytes,
					spec.ResultBytes, uint16(home), unsafe.Pointer(&arg))
				return 0
			},
			func() uint64 { fill(x.r, &spec, home, unsafe.Pointer(&arg)); return 0 })
	}
}

// hide gives the record a random generation, and no handle.
func (x *twins) hide() {
	*(*uint64)(unsafe.Pointer(&x.r.wake)) = uint64(rand.Uint32()) << genShift
}

func TestTwinsReveal(t *testing.T) {
	x := newTwins(t)
	for range twinsTimes {
		x.scramble()
		x.hide()
		x.both("a record",
			func() uint64 { return ctwins.Reveal(x.world.Record) },
			func() uint64 { return Joinable{x.r, reveal(x.r, 0)}.Handle() })
	}
}

func TestTwinsSend(t *testing.T) {
	x := newTwins(t)
	for range twinsTimes {
		x.scramble()
		x.sleep()
		home := rand.Uint32N(x.n + 1)
		w := x.s.worker(home)
		*(*uint64)(unsafe.Pointer(&w.inbox)) = rand.Uint64()
		x.r.home = 0
		// fill has set it; C's send does too
		*(*uint16)(unsafe.Pointer(&x.r.home)) = uint16(home)
		x.both(fmt.Sprint("home ", home),
			func() uint64 { ctwins.Send(unsafe.Pointer(w), x.world.Record); return 0 },
			func() uint64 { x.s.send(x.r, home); return 0 })
	}
}

func TestTwinsEvent(t *testing.T) {
	x := newTwins(t)
	for range twinsTimes {
		x.scramble()
		x.sleep()
		gen := rand.Uint32()
		home := rand.Uint32N(x.n + 1)
		*(*uint16)(unsafe.Pointer(&x.r.home)) = uint16(home)
		x.r.state = 2 // COROI_ACTIVE: only C asks that, and an ended one has no waits
		word := uint64(gen) << genShift
		// Twice ESCAPED: mostly it is set. EVENT, CANCEL, permits.
		for _, bit := range []uint64{escaped, escaped, 1 << 30, 1 << 29, 5} {
			if rand.IntN(2) == 0 {
				word |= bit
			}
		}
		if rand.IntN(8) == 0 {
			gen++ // it has ended
		}
		*(*uint64)(unsafe.Pointer(&x.r.wake)) = word
		x.both(fmt.Sprintf("word %#x, generation %d, home %d", word, gen, home),
			func() uint64 { ctwins.SendEvent(x.world.Record, gen); return 0 },
			func() uint64 {
				x.s.SendEvent(Joinable{x.r, uint64(gen) << genShift})
				return 0
			})
	}
}

// soon waits for a condition.
func soon(t *testing.T, holds func() bool) {
	for began := time.Now(); !holds(); time.Sleep(100 * time.Microsecond) {
		require.Less(t, time.Since(began), 10*time.Second)
	}
}

// TestTwinsJoin has a C body join a coroutine, and compares the join word with what Go registers on
// the same record; and Go's way back with C's, when the join is canceled.
func TestTwinsJoin(t *testing.T) {
	s, status := New(Options{Workers: 1})
	require.Equal(t, OK, status)
	submitters, status := s.NewSubmitters(1)
	require.Equal(t, OK, status)
	p := &submitters[0]
	require.Equal(t, OK, p.Acquire())
	start := func(spec Spec, arg unsafe.Pointer) Joinable {
		j, status := p.Start(&spec, arg)
		require.Equal(t, OK, status)
		return j
	}
	for range 20 {
		target := start(Spec{Fn: ctwins.Parks}, nil)
		word := joinWord(target.r)
		nobody := atomic.LoadUint64(word)
		assert.Equal(t, target.gen, nobody)

		join := ctwins.Join{Handle: target.Handle()}
		by := start(Spec{Fn: ctwins.Joins, ArgBytes: 8, ResultBytes: 8},
			unsafe.Pointer(&join))
		soon(t, func() bool { return atomic.LoadUint64(word) != nobody })
		registered := atomic.LoadUint64(word)
		require.False(t, target.JoinBy(by), "C has registered")
		require.False(t, target.Register(5))
		require.True(t, atomic.CompareAndSwapUint64(word, registered, nobody))
		require.True(t, target.JoinBy(by))
		require.Equal(t, registered, atomic.LoadUint64(word), "JOI1")
		require.True(t, target.Unjoin(by))
		require.Equal(t, nobody, atomic.LoadUint64(word), "JOI1 taken back by Go")
		require.True(t, target.JoinBy(by))
		require.True(t, target.Rejoin(by, 6))
		rejoined := atomic.LoadUint64(word)
		require.True(t, atomic.CompareAndSwapUint64(word, rejoined, nobody))
		require.True(t, target.Register(6))
		require.True(t, target.Count(6))
		require.Equal(t, rejoined, atomic.LoadUint64(word), "Rejoin is Register and Count")
		require.True(t, atomic.CompareAndSwapUint64(word, rejoined, registered))

		var result int64
		require.Equal(t, OK, Cancel(by.Handle()))
		soon(t, by.Ended)
		status, _ := by.Take(unsafe.Pointer(&result), 8)
		require.Equal(t, OK, status)
		require.EqualValues(t, Canceled, int32(result))
		require.Equal(t, nobody, atomic.LoadUint64(word), "JOI1 taken back by C")

		// The end: C finds the registration of Go, and Go C's end.
		require.True(t, target.Register(9))
		require.Equal(t, OK, Wake(target.Handle()))
		soon(t, func() bool { return slices.Equal(s.Done(nil), []uint32{9}) })
		status, _ = target.Take(nil, 0)
		require.Equal(t, OK, status)
		require.Equal(t, Stale, Detach(target.Handle()))
	}
	p.Shut()
	require.Equal(t, OK, s.Close(true))
	s.Destroy()
}
