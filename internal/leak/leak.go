// Package leak keeps account of the things that package coro makes, while a verification goes on
// that nothing is left of them. Otherwise it costs one load of a word that nobody writes.
package leak

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
)

// An Item is a thing that was made.
type Item interface {
	// Left says what is left of the item; "" if nothing is, and never will be again.
	Left() string
}

// A Pool is where coroutines without a handle are spawned. It is comparable.
type Pool interface {
	Item
	// Live counts the pool's coroutines that have not ended, among them all whose spawn has
	// returned.
	Live() int
	// Waiting names some of the coroutines that wait.
	Waiting() []string
}

// A Member is an item that Live of its pool counts, as long as the item is alive.
type Member interface {
	Item
	Alive() bool
	Pool() Pool
}

// A Leak is a thing that is left.
type Leak struct {
	What  string
	Where string // the calls that made it, as in a stack trace
}

func (l Leak) String() string { return l.What + ", made by\n" + l.Where }

type site [24]uintptr

type entry struct {
	seq  uint64
	item Item
	site *site
}

// A spawns is the account of one pool's coroutines without handles.
type spawns struct {
	pool     Pool
	baseline int // coroutines that were there before the first
	sites    []spawnSite
}

type spawnSite struct {
	seq   uint64
	site  site
	count int
}

var (
	on atomic.Int32 // verifications

	mu      sync.Mutex
	seq     uint64
	entries []entry
	pruneAt int
	pools   map[Pool]*spawns
)

// On tells whether a verification goes on.
func On() bool { return on.Load() > 0 }

func here() *site {
	s := &site{}
	runtime.Callers(3, s[:]) // neither here nor its caller
	return s
}

const pruneLeast = 4096

// Made reports an item. It is called if On.
func Made(item Item) {
	at := here()
	mu.Lock()
	defer mu.Unlock()
	seq++
	entries = append(entries, entry{seq, item, at})
	if len(entries) >= pruneAt {
		kept := entries[:0]
		for _, e := range entries {
			if e.item.Left() != "" {
				kept = append(kept, e)
			}
		}
		clear(entries[len(kept):])
		entries = kept
		pruneAt = max(2*len(kept), pruneLeast)
	}
}

// Meet reports that a member of the pool is about to be made. It is called if On.
func Meet(pool Pool) {
	mu.Lock()
	defer mu.Unlock()
	meet(pool)
}

func meet(pool Pool) *spawns {
	p := pools[pool]
	if p == nil {
		p = &spawns{pool: pool, baseline: pool.Live()}
		if pools != nil { // else the verification has ended just now
			pools[pool] = p
		}
	}
	return p
}

// Spawns reports that n coroutines without handles are about to be spawned. It is called if On.
func Spawns(pool Pool, n int) {
	at := here()
	mu.Lock()
	defer mu.Unlock()
	seq++
	p := meet(pool)
	for i := range p.sites {
		if p.sites[i].site == *at {
			p.sites[i].count += n
			p.sites[i].seq = seq
			return
		}
	}
	p.sites = append(p.sites, spawnSite{seq, *at, n})
}

// members counts the pool's members that are alive. With mu held.
func members(pool Pool) (n int) {
	for _, e := range entries {
		if m, ok := e.item.(Member); ok && m.Pool() == pool && m.Alive() {
			n++
		}
	}
	return n
}

// What others keep account of themselves: what was there at Begin, and what is left of the rest.
var watched []watcher

type watcher struct {
	begin func() any
	left  func(before any) []Leak
}

// Watch has begin called at each Begin, and left, with what begin has returned, for each list of
// leaks. It is called by init functions.
func Watch(begin func() any, left func(before any) []Leak) {
	watched = append(watched, watcher{begin, left})
}

// A Verification is about all things that are made between Begin and End.
type Verification struct {
	since  uint64
	before []any // of what is watched
}

// Begin has account kept from now on.
func Begin() *Verification {
	mu.Lock()
	defer mu.Unlock()
	if on.Add(1) == 1 {
		entries, pools, pruneAt = nil, map[Pool]*spawns{}, pruneLeast
	}
	v := &Verification{since: seq}
	for _, w := range watched {
		v.before = append(v.before, w.begin())
	}
	return v
}

// End must be called once.
func (v *Verification) End() {
	mu.Lock()
	defer mu.Unlock()
	if on.Add(-1) == 0 {
		entries, pools = nil, nil
	}
}

// Leaks lists what is left now.
func (v *Verification) Leaks() (leaks []Leak) {
	mu.Lock()
	defer mu.Unlock()
	for _, e := range entries {
		if e.seq <= v.since {
			continue
		}
		if what := e.item.Left(); what != "" {
			leaks = append(leaks, Leak{what, e.site.String()})
		}
	}
	for pool, p := range pools {
		n := pool.Live() - p.baseline - members(pool)
		if n <= 0 {
			continue
		}
		var where strings.Builder
		for _, s := range p.sites {
			if s.seq > v.since {
				fmt.Fprintf(&where, "%d of\n%s", s.count, s.site.String())
			}
		}
		if where.Len() == 0 {
			continue
		}
		what := fmt.Sprintf("coroutines that have not ended: %d", n)
		if w := pool.Waiting(); len(w) > 0 {
			what += " (waiting: " + strings.Join(w, ", ") + ")"
		}
		leaks = append(leaks, Leak{what, where.String()})
	}
	for i, w := range watched {
		leaks = append(leaks, w.left(v.before[i])...)
	}
	return leaks
}

// String lists the calls, but for those inside the library, and those of the runtime below them.
func (s *site) String() string {
	n := 0
	for n < len(s) && s[n] != 0 {
		n++
	}
	var b strings.Builder
	frames := runtime.CallersFrames(s[:n])
	for inside := true; ; {
		f, more := frames.Next()
		inside = inside && isOwn(f)
		if !inside && f.Function != "" && !strings.HasPrefix(f.Function, "runtime.") {
			fmt.Fprintf(&b, "\t%s\n\t\t%s:%d\n", f.Function, f.File, f.Line)
		}
		if !more {
			return b.String()
		}
	}
}

func isOwn(f runtime.Frame) bool {
	return (strings.HasPrefix(f.Function, "github.com/organzine/coro.") ||
		strings.HasPrefix(f.Function, "github.com/organzine/coro/actor.")) &&
		!strings.HasSuffix(f.File, "_test.go")
}

// A Flag is an item that is left until it is Done. A nil Flag is one while no verification goes on.
type Flag struct {
	What string
	done atomic.Bool
}

// Left is the flag's What.
func (f *Flag) Left() string {
	if f.done.Load() {
		return ""
	}
	return f.What
}

// Done says that nothing is left.
func (f *Flag) Done() {
	if f != nil {
		f.done.Store(true)
	}
}
