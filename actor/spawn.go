package actor

import (
	"reflect"
	"time"

	"github.com/organzine/coro/internal/leak"
)

// A Receiver is an actor's state, and its behaviour. Receive is called with one message after the
// other, by one goroutine at a time, and needs no lock. c is for the call alone. An error, a panic
// or a runtime.Goexit is a failure: see Restart, Resume, StopOnFailure and Escalate.
type Receiver[M any] interface {
	Receive(c *Context[M], m M) error
}

// Func is a Receiver without a state of its own.
type Func[M any] func(c *Context[M], m M) error

// Receive calls f.
func (f Func[M]) Receive(c *Context[M], m M) error { return f(c, m) }

// A Starter is a Receiver whose Started is called once, before the first message. It may fail as
// Receive does.
type Starter[M any] interface{ Started(c *Context[M]) error }

// A Stopper is a Receiver whose Stopped is called once, when the actor has ended, or is restarted:
// after its last message, and after its children. cause is why: a *Failure, or nil.
type Stopper[M any] interface {
	Stopped(c *Context[M], cause error)
}

// A Spawner is where actors are spawned: a *System, or a *Context, whose actor is the parent then.
type Spawner interface {
	place() (y *System, parent *actor)
}

func (y *System) place() (*System, *actor) { return y, nil }

// A spawning is what the options of Spawn set.
type spawning struct {
	settings
	name string
}

// A SpawnOption is an option of [Spawn].
type SpawnOption func(*spawning) error

// Name gives the actor a name, by which Lookup finds it, and errors name it. A name that another
// actor has is an ErrName. It is free again when the actor has ended.
func Name(name string) SpawnOption {
	return func(o *spawning) error {
		if name == "" {
			return errorf(ErrOption, "Name: it is empty")
		}
		o.name = name
		return nil
	}
}

// Room bounds the mailbox: at most n messages wait, with the one that is handled. Tell returns
// ErrFull then, and Send waits. What the package itself sends (After, Watch and their like) takes
// room too, but never waits for it. By default there is no bound; see Ref.Tell.
func Room(n int) SpawnOption {
	return func(o *spawning) error {
		if n < 1 || n > 1<<30 {
			return errorf(ErrOption, "Room(%d): must be from 1 to 2³⁰", n)
		}
		o.room = n
		return nil
	}
}

// Waiting is for an actor whose behaviour waits: for channels, input, time, Ask or Send. Its turns
// have a goroutine each, which costs some 0.5 µs a turn.
func Waiting() SpawnOption {
	return func(o *spawning) error { o.waiting = true; return nil }
}

// Restart gives a failed actor a new state, by one more call of the function given to Spawn: at
// most n times within the time `within`, or in all if that is 0. The next failure escalates, unless
// ThenStop is set. The children of the old state are stopped first.
func Restart(n int, within time.Duration) SpawnOption {
	return func(o *spawning) error {
		if n < 1 || within < 0 {
			return errorf(ErrOption,
				"Restart(%d, %v): must be 1 or more, and no negative time",
				n, within)
		}
		o.directive, o.restarts, o.within = restarts, n, within
		return nil
	}
}

// ThenStop is for Restart: a failure after the last restart ends the actor, as StopOnFailure does,
// and does not escalate. Its watchers are told the failure (Ended).
func ThenStop() SpawnOption {
	return func(o *spawning) error { o.thenStop = true; return nil }
}

// Backoff makes an actor wait before each restart: `least` the first time, then twice as long each
// time, up to most; `least` again when there was no restart for the time of Restart. Its messages
// wait, and no executor does.
func Backoff(least, most time.Duration) SpawnOption {
	return func(o *spawning) error {
		if least <= 0 || most < least {
			return errorf(ErrOption, "Backoff(%v, %v): must be positive, and no less",
				least, most)
		}
		o.least, o.most = least, most
		return nil
	}
}

// Resume lets a failed actor go on with its state. A failure of Started escalates, and so does one
// of the function given to Spawn where a sibling's failure restarts the actor (AllForOne).
func Resume() SpawnOption {
	return func(o *spawning) error { o.directive = resumes; return nil }
}

// StopOnFailure ends a failed actor.
func StopOnFailure() SpawnOption {
	return func(o *spawning) error { o.directive = stops; return nil }
}

// Escalate, the default, ends a failed actor, and its parent fails in turn, with the same failure.
// Where there is no parent the system ends: Run returns the failure.
func Escalate() SpawnOption {
	return func(o *spawning) error { o.directive = escalates; return nil }
}

// AllForOne stops or restarts all children of the actor where one is stopped or restarted after a
// failure, whatever their own failures would lead to.
func AllForOne() SpawnOption {
	return func(o *spawning) error { o.together = allForOne; return nil }
}

// RestForOne is AllForOne for the children that were spawned after the failed one.
func RestForOne() SpawnOption {
	return func(o *spawning) error { o.together = restForOne; return nil }
}

// Retry handles a message again on which the behaviour has failed, up to n times, before the
// message becomes a dead letter. Without this option it becomes one at once. The other messages
// wait meanwhile.
func Retry(n int) SpawnOption {
	return func(o *spawning) error {
		if n < 1 {
			return errorf(ErrOption, "Retry(%d): must be 1 or more", n)
		}
		o.retries = n
		return nil
	}
}

// Drop forgets a message on which the behaviour has failed, after the retries, where it would be a
// dead letter.
func Drop() SpawnOption {
	return func(o *spawning) error { o.fate = drop; return nil }
}

// Spawn makes an actor, of a system or as a child of another actor. newActor makes its state, now
// and at each restart. An actor without a hook costs some 200 ns, 80 bytes and its state. Errors:
// ErrStopped, ErrName, ErrOption.
func Spawn[M any, R Receiver[M]](
	at Spawner, newActor func() R, opts ...SpawnOption,
) (Ref[M], error) {
	none := Ref[M]{}
	var y *System
	var parent *actor
	if at != nil {
		y, parent = at.place()
	}
	if y == nil || y.clock == nil {
		return none, errorf(ErrOption,
			"Spawn: no System that New has made, and no Context of a call under way")
	}
	if newActor == nil {
		return none, errorf(ErrOption, "Spawn: no function that makes the actor")
	}
	o := spawning{}
	for _, set := range opts {
		if set == nil {
			return none, errorf(ErrOption, "Spawn: a nil option")
		}
		if err := set(&o); err != nil {
			return none, err
		}
	}
	if o.most > 0 && o.directive != restarts {
		return none, errorf(ErrOption, "Backoff without Restart")
	}
	if o.thenStop && o.directive != restarts {
		return none, errorf(ErrOption, "ThenStop without Restart: use StopOnFailure")
	}
	recv := newActor()
	if isNil(recv) {
		return none, errorf(ErrOption, "Spawn: %v", errNilActor)
	}
	p := poolOf[M](y)
	c := &actorOf[M]{recv: recv}
	c.kind = p.kind(kindKey{reflect.TypeFor[R](), o.settings})
	c.parent = parent
	mayRestart := o.directive == restarts ||
		parent != nil && parent.kind.settings.together != oneForOne
	if o.name != "" || o.room > 0 || mayRestart {
		x := &side{name: o.name}
		if mayRestart {
			x.make = func() Receiver[M] {
				if r := newActor(); !isNil(r) {
					return r
				}
				return nil
			}
		}
		c.side.Store(x)
	}
	if err := y.link(&c.actor, o.name); err != nil {
		return none, err
	}
	if leak.On() {
		leak.Made(leakActor{&c.actor})
	}
	if _, ok := any(recv).(Starter[M]); ok {
		c.post(signal{sigStart, nil})
	}
	return Ref[M]{c}, nil
}

func isNil(recv any) bool {
	if recv == nil {
		return true
	}
	v := reflect.ValueOf(recv)
	switch v.Kind() {
	case reflect.Pointer, reflect.Func, reflect.Map:
		return v.IsNil()
	}
	return false
}

// link makes an actor a child of its parent, or of the system.
func (y *System) link(s *actor, name string) error {
	y.tree.Lock()
	defer y.tree.Unlock()
	if y.stopping || (s.parent != nil && s.parent.flags&(stateIsOver|isStopping) != 0) {
		return errorf(ErrStopped, "Spawn")
	}
	if name != "" {
		if err := y.register(name, s); err != nil {
			return err
		}
	}
	first, last := y.listOf(s)
	s.before = *last
	if *last != nil {
		(*last).after = s
	} else {
		*first = s
	}
	*last = s
	if s.parent != nil {
		s.parent.sideOf().children++
	}
	y.live++
	y.spawned.Add(1)
	return nil
}

// listOf is the list that an actor is in. The caller holds tree.
func (y *System) listOf(s *actor) (first, last **actor) {
	if s.parent == nil {
		return &y.first, &y.last
	}
	x := s.parent.sideOf()
	return &x.first, &x.last
}

// unlink takes an actor away that has ended.
func (y *System) unlink(s *actor) {
	y.tree.Lock()
	first, last := y.listOf(s)
	if s.before != nil {
		s.before.after = s.after
	} else {
		*first = s.after
	}
	if s.after != nil {
		s.after.before = s.before
	} else {
		*last = s.before
	}
	s.before, s.after = nil, nil
	parent := s.parent
	tell, drained := false, false
	if parent != nil {
		x := parent.sideOf()
		x.children--
		if tell = x.children == 0 && x.awaits; tell {
			x.awaits = false
		}
		drained = x.drainedLocked()
	}
	y.live--
	if y.stopping && y.live == 0 {
		close(y.ended)
	}
	y.tree.Unlock()
	if tell {
		parent.post(signal{sigChild, nil})
	}
	if drained {
		parent.kind.ops.drain(parent)
	}
}

func (y *System) childrenOf(x *side) []*actor {
	y.tree.Lock()
	defer y.tree.Unlock()
	return siblingsFrom(x.first)
}

func siblingsFrom(s *actor) (list []*actor) {
	for ; s != nil; s = s.after {
		list = append(list, s)
	}
	return list
}
