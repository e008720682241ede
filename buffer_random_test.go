//go:build cgo

package coro_test

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/organzine/coro"
	"github.com/organzine/coro/corotest"
	"github.com/organzine/coro/internal/testbody"
)

// Buffers that are passed on at random. Each is sealed: its bytes tell whether it is whole.

// A sealedArg, a sealedValue and a sealedResult are those of internal/testbody/sealed.h.
type sealedArg struct {
	buffer, second coro.Buffer
	channel        uintptr
	seed           uint64
	id             int64
	does           int64
}

type sealedValue struct {
	number uint64
	buffer coro.Buffer
}

type sealedResult struct {
	broken int64
	buffer coro.Buffer
}

const sealBytes = 16

var (
	sealedBody   = coro.MustFunc[sealedArg, sealedResult](testbody.Sealed, coro.FuncName("sealed"))
	sealedDaemon = sealedBody.Daemon()
	passesOn     = coro.MustExportFunc(passOn)
	errPassOn    = errors.New("it is refused")
)

// seal writes a seal, and the bytes that follow from it.
func seal(p []byte, seed uint64) {
	binary.LittleEndian.PutUint64(p, seed)
	binary.LittleEndian.PutUint64(p[8:], uint64(len(p)))
	first := byte(seed * 0x9e3779b97f4a7c15 >> 56)
	for i := sealBytes; i < len(p); i++ {
		p[i] = first + byte(i*7) + byte(i>>8)
	}
}

func isSealed(p []byte) bool {
	if len(p) < sealBytes || binary.LittleEndian.Uint64(p[8:]) != uint64(len(p)) {
		return false
	}
	first := byte(binary.LittleEndian.Uint64(p) * 0x9e3779b97f4a7c15 >> 56)
	for i := sealBytes; i < len(p); i++ {
		if p[i] != first+byte(i*7)+byte(i>>8) {
			return false
		}
	}
	return true
}

var (
	errBroken   = errors.New("a buffer is not as it was sealed")
	errThere    = errors.New("a buffer that was sent or freed is of use yet")
	errNotThere = errors.New("a buffer that was not sent is not there")
)

// passOn is what C bodies call.
func passOn(_ context.Context, b coro.Buffer) (coro.Buffer, error) {
	r := rand.New(rand.NewPCG(uint64(b.Len()), 9))
	p := passer{r: r}
	p.whole(b)
	if p.failure == nil {
		switch r.IntN(4) {
		case 0:
			p.free(b)
			b = coro.Buffer{}
		case 1:
			p.free(b)
			return coro.Buffer{}, errors.Join(errPassOn, p.failure)
		default:
			p.reseal(b)
		}
	}
	return b, p.failure
}

// A passer makes buffers, and passes them on.
type passer struct {
	r       *rand.Rand
	s       *coro.Scheduler
	chans   []*coro.Chan[sealedValue]
	ctx     context.Context // of a Go body, or background
	kept    []coro.Buffer   // what outlives the scheduler
	failure error           // the first
}

func (p *passer) fail(err error) {
	if p.failure == nil && err != nil {
		p.failure = err
	}
}

// may notes an error that nothing explains. It tells whether there is none at all.
func (p *passer) may(err error) bool {
	if err == nil {
		return true
	}
	var body *coro.BodyError
	for _, is := range []error{coro.ErrClosed, coro.ErrChanClosed, coro.ErrNoMemory,
		coro.ErrCanceled, coro.ErrAborted, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, is) {
			return false
		}
	}
	if !errors.As(err, &body) {
		p.fail(err)
	}
	return false
}

// bytes is how many a buffer is to have: of each size class.
func (p *passer) bytes() int {
	switch n := p.r.IntN(400); {
	case n == 0:
		return 1<<16 + p.r.IntN(1<<16)
	case n < 10:
		return sealBytes + p.r.IntN(1<<15)
	}
	return sealBytes + p.r.IntN(300)
}

// make makes a buffer. False: it cannot be made.
func (p *passer) make() (b coro.Buffer, ok bool) {
	var err error
	n := p.bytes()
	if p.r.IntN(2) == 0 {
		text := make([]byte, n)
		seal(text, p.r.Uint64())
		b, err = coro.BufferOf(p.s, text)
	} else if b, err = coro.NewBuffer(p.s, n); err == nil {
		p.reseal(b)
	}
	return b, p.may(err)
}

func (p *passer) reseal(b coro.Buffer) {
	p.fail(b.Use(func(text []byte) error {
		if !errors.Is(b.Free(), coro.ErrBusy) {
			return errThere
		}
		seal(text, p.r.Uint64())
		return nil
	}))
}

// whole looks at the bytes of b, which is this passer's.
func (p *passer) whole(b coro.Buffer) {
	var text []byte
	var err error
	switch p.r.IntN(3) {
	case 0:
		err = b.Use(func(all []byte) error {
			if !isSealed(all) {
				return errBroken
			}
			return nil
		})
		p.fail(err)
		return
	case 1:
		text = make([]byte, b.Len())
		_, err = b.ReadAt(text, 0)
	default:
		text, err = b.Bytes()
	}
	p.fail(err)
	if !isSealed(text) {
		p.fail(errBroken)
	}
}

// change makes b longer or shorter.
func (p *passer) change(b coro.Buffer) {
	n := b.Len()
	var err error
	switch p.r.IntN(4) {
	case 0:
		err = b.Append(make([]byte, p.bytes()))
	case 1:
		err = b.Resize(p.bytes())
	case 2:
		err = b.Cut(p.r.IntN(1+(n-sealBytes)/2), n-p.r.IntN(1+(n-sealBytes)/2))
	case 3:
		_, err = b.WriteAt(make([]byte, p.bytes()), int64(p.r.IntN(2*n)))
	}
	if p.may(err) {
		p.reseal(b)
	}
	p.whole(b)
}

// sent: nobody has b by this handle.
func (p *passer) sent(b coro.Buffer) {
	var err error
	switch p.r.IntN(5) {
	case 0:
		err = b.Free()
	case 1:
		_, err = b.Bytes()
	case 2:
		err = b.Resize(20)
	case 3:
		_, err = p.chans[0].TrySend(sealedValue{0, b})
		if errors.Is(err, coro.ErrChanClosed) { // it does not look at the buffer then
			return
		}
	case 4:
		err = sealedBody.Spawn(p.s, sealedArg{buffer: b})
		if errors.Is(err, coro.ErrClosed) {
			return
		}
	}
	if !errors.Is(err, coro.ErrStale) {
		p.fail(errors.Join(errThere, err))
	}
}

// free frees b, which is whole and this passer's, or keeps it.
func (p *passer) free(b coro.Buffer) {
	switch n := p.r.IntN(16); {
	case n == 0 && p.s != nil: // two do it at once
		var other error
		var both sync.WaitGroup
		both.Go(func() { other = b.Free() })
		err := b.Free()
		both.Wait()
		if (err == nil) == (other == nil) ||
			!errors.Is(errors.Join(err, other), coro.ErrStale) {
			p.fail(errors.Join(errThere, err, other))
		}
	case n == 1 && p.s != nil && len(p.kept) < 50:
		p.kept = append(p.kept, b)
	default:
		p.fail(b.Free())
	}
}

// stays: b was not sent, since there was an error.
func (p *passer) stays(b coro.Buffer) {
	if b.Len() == 0 {
		p.fail(errNotThere)
		return
	}
	p.whole(b)
	p.free(b)
}

// got is what was received.
func (p *passer) got(b coro.Buffer) {
	if b != (coro.Buffer{}) {
		p.whole(b)
		p.free(b)
	}
}

func (p *passer) result(r sealedResult) {
	if r.broken != 0 {
		p.fail(errBroken)
	}
	p.got(r.buffer)
}

// context is one that ends by itself, soon, or never.
func (p *passer) context(ends bool) (context.Context, context.CancelFunc) {
	switch n := p.r.IntN(8); {
	case ends && n < 4 || n == 0:
		return context.WithTimeout(p.ctx, time.Duration(p.r.IntN(200))*time.Microsecond)
	case ends || n == 1:
		ctx, cancel := context.WithCancel(p.ctx)
		go cancel()
		return ctx, cancel
	}
	return p.ctx, func() {}
}

func (p *passer) channel() *coro.Chan[sealedValue] { return p.chans[p.r.IntN(len(p.chans))] }

// arg has b, and sometimes another buffer.
func (p *passer) arg(b coro.Buffer) sealedArg {
	a := sealedArg{buffer: b, seed: p.r.Uint64(), id: int64(passesOn),
		does: p.r.Int64N(testbody.SealedDoes), channel: p.chans[p.r.IntN(len(p.chans)-1)].Address()}
	if p.r.IntN(4) == 0 {
		a.second, _ = p.make()
	}
	return a
}

// notStarted: each of them stays, or none.
func (p *passer) notStarted(a sealedArg) {
	p.stays(a.buffer)
	if a.second != (coro.Buffer{}) {
		p.stays(a.second)
	}
}

func (p *passer) started(a sealedArg) {
	p.sent(a.buffer)
	if a.second != (coro.Buffer{}) {
		p.sent(a.second)
	}
}

// ended: a call has returned an error: it was started, or not.
func (p *passer) ended(a sealedArg) {
	if a.buffer.Len() > 0 {
		p.notStarted(a)
	} else {
		p.started(a)
	}
}

// calls sends b to a C body, and waits for the result.
func (p *passer) calls(b coro.Buffer) {
	a := p.arg(b)
	ctx, cancel := p.context(a.does == testbody.SealedPark)
	defer cancel()
	r, err := sealedBody.Call(ctx, p.s, a)
	if p.may(err) {
		p.started(a)
		p.result(r)
	} else {
		p.ended(a)
	}
}

// callsMany sends b, and others, to C bodies of one CallN.
func (p *passer) callsMany(b coro.Buffer) {
	args := []sealedArg{p.arg(b)}
	for range p.r.IntN(4) {
		if other, ok := p.make(); ok {
			args = append(args, p.arg(other))
		}
	}
	for i := range args {
		if args[i].does == testbody.SealedPark {
			args[i].does = 0
		}
	}
	ctx, cancel := p.context(false)
	defer cancel()
	results := make([]sealedResult, len(args))
	p.may(sealedBody.CallN(ctx, p.s, args, results))
	for i := range args {
		p.ended(args[i])
		p.result(results[i])
	}
}

// starts sends b to a C body whose Task is waited for, canceled, or dropped.
func (p *passer) starts(b coro.Buffer) {
	a := p.arg(b)
	ctx, cancel := p.context(false)
	defer cancel()
	var in coro.Scope = p.s
	var g *coro.Group
	if p.r.IntN(3) == 0 {
		g = coro.NewGroup(ctx, p.s)
		in = g
	}
	var task *coro.Task[sealedResult]
	var err error
	if p.r.IntN(2) == 0 {
		task, err = sealedBody.Start(in, a)
	} else {
		task, err = sealedBody.StartContext(ctx, in, a)
	}
	if !p.may(err) {
		p.notStarted(a)
		return
	}
	p.started(a)
	if a.does == testbody.SealedPark || p.r.IntN(4) == 0 {
		task.Cancel()
	}
	if g != nil {
		p.may(g.Wait(p.ctx))
	}
	switch p.r.IntN(4) {
	case 0: // dropped
	case 1:
		wait, done := p.context(true)
		defer done()
		p.waits(wait, task)
	default:
		p.waits(p.ctx, task)
	}
}

func (p *passer) waits(ctx context.Context, task *coro.Task[sealedResult]) {
	r, err := task.Wait(ctx)
	if p.may(err) {
		p.result(r)
	}
}

// spawns sends b to a C body that nobody waits for.
func (p *passer) spawns(b coro.Buffer) {
	a := p.arg(b)
	if a.does == testbody.SealedPark {
		a.does = 0
	}
	ctx, cancel := p.context(false)
	defer cancel()
	var err error
	switch p.r.IntN(4) {
	case 0:
		err = sealedBody.Spawn(p.s, a)
	case 1:
		err = sealedBody.OnWorker(0).SpawnWait(ctx, p.s, a)
	case 2:
		a.does = p.r.Int64N(testbody.SealedDoes)
		err = sealedDaemon.Spawn(p.s, a)
	default:
		batch := sealedBody.Batch(p.s)
		if err = batch.Add(a); err == nil {
			p.may(batch.Flush())
			p.ended(a)
			return
		}
	}
	if p.may(err) {
		p.started(a)
	} else {
		p.notStarted(a)
	}
}

// sends sends b through a channel.
func (p *passer) sends(b coro.Buffer) {
	ctx, cancel := p.context(true)
	defer cancel()
	v, ok := sealedValue{1, b}, true
	var err error
	if p.r.IntN(2) == 0 {
		err = p.channel().Send(ctx, v)
	} else {
		ok, err = p.channel().TrySend(v)
	}
	if p.may(err) && ok {
		p.sent(b)
	} else {
		p.stays(b)
	}
}

// receives receives a buffer from a channel.
func (p *passer) receives() {
	ctx, cancel := p.context(true)
	defer cancel()
	var v sealedValue
	var err error
	switch p.r.IntN(4) {
	case 0:
		v, err = p.channel().Recv(ctx)
	case 1:
		v, _, err = p.channel().TryRecv()
	default:
		var both [2]sealedValue
		cases := []coro.Case{coro.OnRecv(p.channel(), &both[0]), coro.OnRecv(p.channel(), &both[1])}
		var i int
		if p.r.IntN(2) == 0 {
			i, err = coro.Select(ctx, cases...)
		} else {
			i, err = coro.TrySelect(cases...)
		}
		if i >= 0 {
			v = both[i]
		}
	}
	if p.may(err) {
		p.got(v.buffer)
	}
}

func (p *passer) step() {
	if p.r.IntN(5) == 0 {
		p.receives()
		return
	}
	b, ok := p.make()
	if !ok {
		return
	}
	if p.r.IntN(4) == 0 {
		p.change(b)
	}
	switch p.r.IntN(9) {
	case 8:
		p.callsMany(b)
	case 0, 1:
		p.calls(b)
	case 2, 3:
		p.starts(b)
	case 4:
		p.spawns(b)
	case 5, 6:
		p.sends(b)
	default:
		p.whole(b)
		p.free(b)
	}
}

// inside does what a passer does in a Go body.
func (p *passer) inside(steps int) {
	inner := *p
	inner.r = rand.New(rand.NewPCG(p.r.Uint64(), 1))
	inner.kept = nil
	task, err := coro.Go(p.s, func(c *coro.Coroutine) (coro.None, error) {
		inner.ctx = c.Context()
		for range steps {
			inner.step()
		}
		return coro.None{}, nil
	})
	if !p.may(err) {
		return
	}
	_, err = task.Wait(background)
	p.may(err)
	p.kept = append(p.kept, inner.kept...)
	p.fail(inner.failure)
}

func (p *passer) run(steps int) {
	for done := 0; done < steps && p.failure == nil; {
		n := min(steps-done, 100)
		if p.r.IntN(4) == 0 {
			p.inside(n)
		} else {
			for range n {
				p.step()
			}
		}
		done += n
	}
}

// passersAt has passers pass buffers on, in a scheduler that is closed then, or meanwhile.
func passersAt(t *testing.T, round, steps int) {
	const goroutines = 4
	opts := []coro.Option{coro.WithWorkers(1 + round%3), coro.WithExecutors(2)}
	if round%2 == 1 {
		opts = append(opts, coro.WithBufferLimit(64<<10<<(round%4)))
	}
	s, err := coro.New(opts...)
	require.NoError(t, err)
	chans := make([]*coro.Chan[sealedValue], 4)
	for i := range chans {
		chans[i], err = coro.NewChan[sealedValue](s, i*i)
		require.NoError(t, err)
	}
	passers := make([]*passer, goroutines)
	var all, closing sync.WaitGroup
	for i := range passers {
		passers[i] = &passer{s: s, chans: chans, ctx: background,
			r: rand.New(rand.NewPCG(uint64(round), uint64(i)))}
		all.Go(func() { passers[i].run(steps / goroutines) })
	}
	r := rand.New(rand.NewPCG(uint64(round), 99))
	if round%4 >= 2 {
		closing.Go(func() {
			time.Sleep(time.Duration(r.IntN(50)) * time.Millisecond)
			assert.NoError(t, chans[0].Close())
			time.Sleep(time.Duration(r.IntN(50)) * time.Millisecond)
			_ = s.Close(expired)
		})
	}
	all.Wait()
	closing.Wait()
	if r.IntN(2) == 0 {
		for range 20 { // Close cancels what nobody waits for
			if b, ok := passers[0].make(); ok {
				_ = sealedBody.Spawn(s, sealedArg{buffer: b, does: testbody.SealedPark})
				_ = b.Free()
			}
		}
	}
	_ = s.Close(expired)
	require.NoError(t, s.Close(soon(t)))
	for _, c := range chans[:len(chans)-1] { // C knows their addresses; the last one is dropped
		assert.NoError(t, c.Free())
	}
	for _, p := range passers {
		for _, b := range p.kept {
			p.whole(b)
			p.fail(b.Free())
		}
		assert.NoError(t, p.failure)
	}
	clear(chans)
	clear(passers)
	allFreed(t, s)
}

// Random operations with buffers: each is whole at each of its owners, and all are freed.
func TestRandomBuffers(t *testing.T) {
	const most = 10000
	steps := int(counted(20000))
	for round := 0; steps > 0; round++ {
		passersAt(t, round, min(steps, most))
		steps -= most
	}
	runtime.GC()
}

// What is left would be told with the place where it was made.
func TestRandomBuffersLeaveNothing(t *testing.T) {
	corotest.VerifyNone(t)
	for round := range 4 {
		passersAt(t, round, int(counted(1000)))
	}
}
