package actor

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A round of the storm uses up a number of messages, each with a number of its own. What has become
// of each is counted in its ledger, in four bits each.
const (
	accepted   uint64 = 1 << (4 * iota)
	perhaps           // Ask has given up: it is not known whether it was accepted
	withdrawn         // its timer was stopped
	handled           // its behaviour has returned nil
	dead              // OnDeadLetter has seen it
	deadFailed        // of these, with the cause Failed
	failed            // attempts to handle it
	last              // its actor's Retry allows no further attempt
	dropped           // the same, and its actor drops what it fails with
)

type ledger struct {
	next  atomic.Uint32
	most  uint32
	fates []atomic.Uint64 // by number; 0 is no message's, and those above most are of look
}

// number is that of a new message; 0: all are used up.
func (l *ledger) number() uint32 {
	if l.isUsedUp() {
		return 0
	}
	if id := l.next.Add(1); id <= l.most {
		return id
	}
	return 0
}

func (l *ledger) isUsedUp() bool { return l.next.Load() >= l.most }

// add says what has become of a message, and returns how often that was so before.
func (l *ledger) add(id uint32, fate uint64) (before uint64) {
	if id == 0 {
		return 0
	}
	return (l.fates[id].Add(fate) - fate) / fate & 15
}

func (l *ledger) count(id int, fate uint64) uint64 { return l.fates[id].Load() / fate & 15 }

// faultAt is what is wrong with a message when all is over.
func (l *ledger) faultAt(id int) string {
	n := func(fate uint64) uint64 { return l.count(id, fate) }
	ends := n(handled) + n(dead) + n(dropped)
	switch {
	case n(withdrawn) > 0 && ends > 0:
		return "its timer was stopped, and it came"
	case n(withdrawn) == 0 && n(accepted) > 0 && ends == 0:
		return "it was accepted, and is lost"
	case n(accepted)+n(perhaps) == 0 && ends+n(failed) > 0:
		return "it was refused, and came"
	case ends > 1:
		return "it has ended more than once"
	case n(last) != n(deadFailed):
		return "it is a dead letter by failures if, and only if, it was tried as often as Retry says"
	}
	return ""
}

const (
	chaosPlaces = 32
	chaosGroups = 8
)

// A chaos is one round.
type chaos struct {
	t    testing.TB
	seed uint64
	y    *System
	ledger
	places [chaosPlaces]atomic.Pointer[chaosPlace]
	groups [chaosGroups]atomic.Pointer[Ref[chaosMessage]]
	spawns sync.Mutex

	tree    bool // actors have children, and may escalate; else questions have no deadline
	exact   bool // all that Stats.Handled counts is seen here
	settled atomic.Bool
	beats   atomic.Int32 // timers of Every

	handles, failures, failuresSeen, deads, answers, notices atomic.Uint64
	unnumbered                                               atomic.Uint64 // of deads
}

// What goes wrong on purpose.
var errTrouble = errors.New("trouble")

// random is a source that depends on the seed, and on x, alone.
func (s *chaos) random(x uint64) *rand.Rand { return rand.New(rand.NewPCG(s.seed, x)) }

// mayPanic panics, or ends the goroutine, one time in `in`.
func mayPanic(r *rand.Rand, in int) {
	if r.IntN(in) == 0 {
		if r.IntN(2) == 0 {
			panic(errTrouble)
		}
		runtime.Goexit()
	}
}

// mayFail is mayPanic, or an error.
func mayFail(r *rand.Rand, in int) error {
	if r.IntN(in) == 0 {
		mayPanic(r, 2)
		return errTrouble
	}
	return nil
}

// belongs calls a function that belongs to an actor, which fails if the function does.
func (s *chaos) belongs(f func() error) (err error) {
	ok := false
	defer func() {
		if !ok {
			s.failures.Add(1)
		}
	}()
	err = f()
	ok = err == nil
	return err
}

func (s *chaos) errorf(format string, args ...any) {
	s.t.Errorf("seed %d: %s", s.seed, fmt.Sprintf(format, args...))
}

// The storm: whatever fails, and wherever, each message that was accepted is handled, or a dead
// letter, once; each asker is answered; each watcher is told; everything ends. What a round does
// depends on a seed, which a failure tells, and on the order in which messages come. With
// CORO_TEST_SEED there is one round, with that seed.
func TestStressChaos(t *testing.T) {
	const round = 20_000
	if seed, err := strconv.ParseUint(os.Getenv("CORO_TEST_SEED"), 10, 64); err == nil {
		chaosRound(t, seed, round)
		return
	}
	for n := counted(round); n > 0 && !t.Failed(); {
		n -= chaosRound(t, rand.Uint64(), round)
	}
}

// chaosRound returns how many messages were accepted, of n that were sent.
func chaosRound(t testing.TB, seed uint64, n int) int {
	before := runtime.NumGoroutine()
	s := &chaos{t: t, seed: seed, ledger: ledger{
		most: uint32(n), fates: make([]atomic.Uint64, n+1+chaosPlaces)}}
	r := s.random(1 << 40)
	s.tree, s.exact = r.IntN(2) == 0, r.IntN(3) == 0
	y, err := New(Executors(1+r.IntN(4)), OnDeadLetter(s.onDeadLetter), OnFailure(s.onFailure))
	require.NoError(t, err)
	s.y = y
	how := r.IntN(6)
	s.exact = s.exact && how != 2 && how != 3 // a drain is by messages
	s.begin(r)
	var senders sync.WaitGroup
	for i := range 4 {
		senders.Go(func() { s.sendFromOutside(s.random(1<<41 + uint64(i))) })
	}
	s.within(func() {
		s.end(how, &senders)
		senders.Wait()
		require.NoError(t, y.Close())
	})
	taken := s.check(before)
	if t.Failed() {
		t.Logf("seed %d, tree %v, exact %v, end %d", seed, s.tree, s.exact, how)
	}
	return taken
}

// begin spawns the first actors. Until then there are places of one that has ended.
func (s *chaos) begin(r *rand.Rand) {
	none := &chaosPlace{s: s}
	none.ref = spawn(s.t, s.y, func(*Context[chaosMessage], chaosMessage) error { return nil })
	none.ref.Stop()
	<-none.ref.Done()
	for i := range s.places {
		s.places[i].Store(none)
	}
	for i := range s.places {
		s.spawn(s.y, i, r)
	}
}

// within calls f, which has to return before long. A hang is told with what all goroutines are at.
func (s *chaos) within(f func()) {
	timer := time.AfterFunc(4*time.Minute, func() {
		var text strings.Builder
		_ = pprof.Lookup("goroutine").WriteTo(&text, 1)
		panic(fmt.Sprintf("seed %d: it hangs: %s", s.seed, text.String()))
	})
	defer timer.Stop()
	f()
}

// end ends the round in one of several ways, four of which let everything come to rest before.
func (s *chaos) end(how int, senders *sync.WaitGroup) {
	ctx := context.Background()
	if how < 2 { // while messages are sent
		for !s.isUsedUp() && s.next.Load() < s.most/2 {
			time.Sleep(time.Millisecond)
		}
	} else {
		senders.Wait()
	}
	switch how {
	case 0:
		brief, cancel := context.WithTimeout(ctx, time.Millisecond)
		defer cancel()
		if err := s.y.Stop(brief); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			s.errorf("Stop: %v", err)
		}
	case 1:
	case 2:
		if err := s.y.Drain(ctx); err != nil {
			s.errorf("Drain: %v", err)
		}
	case 3:
		stopped, stop := context.WithCancel(ctx)
		stop()
		if err := s.y.Run(stopped); err != s.y.Err() {
			s.errorf("Run: %v", err)
		}
	default:
		s.rests()
		s.look()
		s.rests()
		s.settled.Store(true)
	}
}

func (s *chaos) rests() {
	if err := s.y.Rest(context.Background()); err != nil {
		s.errorf("Rest: %v", err)
	}
}

// look asks each actor that lives whether it has had all that is its due.
func (s *chaos) look() {
	for i := range s.places {
		m := chaosMessage{id: s.most + 1 + uint32(i), look: true}
		s.sent(m.id, s.places[i].Load().ref.Tell(m))
	}
}

// check looks at what a round has come to, when it is over, and returns how many messages were
// accepted.
func (s *chaos) check(goroutines int) (taken int) {
	faults, deads := 0, uint64(0)
	for id := range s.fates {
		taken += int(s.count(id, accepted))
		deads += s.count(id, dead)
		if fault := s.faultAt(id); fault != "" && faults < 10 {
			s.errorf("message %d, fate %x: %s", id, s.fates[id].Load(), fault)
			faults++
		}
	}
	st := s.y.Stats()
	equal := func(what string, want, got uint64) {
		if want != got {
			s.errorf("%s: %d, not %d", what, got, want)
		}
	}
	equal("Stats.Actors", 0, uint64(st.Actors))
	equal("Stats.Dead", s.deads.Load(), st.Dead)
	equal("dead letters with numbers", s.deads.Load()-s.unnumbered.Load(), deads)
	equal("Stats.Failures", s.failures.Load(), st.Failures)
	equal("failures that OnFailure has seen", s.failures.Load(), s.failuresSeen.Load())
	if s.exact {
		equal("Stats.Handled", s.handles.Load(), st.Handled)
	} else if st.Handled < s.handles.Load() {
		s.errorf("Stats.Handled is %d, of %d", st.Handled, s.handles.Load())
	}
	for i := range s.places {
		if err := s.places[i].Load().ref.Tell(chaosMessage{}); !errors.Is(err, ErrStopped) {
			s.errorf("Tell after Close: %v", err)
		}
	}
	for end := time.Now().Add(time.Minute); runtime.NumGoroutine() > goroutines; {
		if time.Now().After(end) {
			s.errorf("%d goroutines, %d before", runtime.NumGoroutine(), goroutines)
			break
		}
		time.Sleep(time.Millisecond)
	}
	s.t.Logf("%d accepted, %d handled, %d dead, %d failures, %d actors, %d answers, %d notices",
		taken, s.handles.Load(), deads, st.Failures, st.Spawned, s.answers.Load(), s.notices.Load())
	return taken
}

func (s *chaos) onDeadLetter(d DeadLetter) {
	m := d.Message.(chaosMessage)
	s.deads.Add(1)
	s.add(m.id, dead)
	if m.id == 0 {
		s.unnumbered.Add(1)
	}
	if d.Cause == Failed {
		s.add(m.id, deadFailed)
	}
	mayPanic(s.random(1<<42+uint64(m.id)), 20)
}

func (s *chaos) onFailure(*Failure) {
	mayPanic(s.random(1<<43+s.failuresSeen.Add(1)), 20)
}
