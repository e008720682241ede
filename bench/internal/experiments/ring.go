package experiments

import (
	"cmp"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/organzine/coro"
	"github.com/organzine/coro/bench/internal/cbody"
	"github.com/organzine/coro/bench/internal/harness"
)

// RingOptions are the sizes of the experiment "ring". A number that is 0 is chosen by the
// experiment.
type RingOptions struct {
	Full bool // the table of all sizes
	// a ring is started when the one before has ended, so that one is live at a time
	LIFO    bool
	Rings   int // with Members: this size alone
	Members int // of a ring
	Rounds  int // of a member
	Extra   int // bytes of stack that each member uses besides
	Workers int
	Usched  string // the directory of usched's sources; empty: none
}

// Check tells what of it cannot be.
func (o RingOptions) Check() error {
	for _, n := range []struct {
		name               string
		value, least, most int
	}{
		{"rings", o.Rings, 1, 1 << 24},
		{"members", o.Members, 2, 1 << 16},
		{"rounds", o.Rounds, 1, 1 << 30},
		{"extra", o.Extra, 1, 4 << 20},
		{"workers", o.Workers, 1, cpus},
	} {
		if n.value != 0 && (n.value < n.least || n.value > n.most) {
			return fmt.Errorf("-%s %d: from %d to %d", n.name, n.value, n.least, n.most)
		}
	}
	if o.Members > 0 && o.Rings == 0 {
		return errors.New("-members needs -rings")
	}
	if o.Rings > 0 && o.Rings < o.Workers {
		return fmt.Errorf("-rings %d: each of %d workers needs one", o.Rings, o.Workers)
	}
	return nil
}

// ring is the price of waiting for an event and posting another's, in rings.
func ring(o RingOptions) *harness.Experiment {
	all, left := ringRows(o)
	about := `R rings of 8 members (of 2 where it says so), n members in all. Each, M times,
waits for its own event and then posts its neighbour's; events count. loose: a token for each
member, so that several are ready at a time and one switch serves several posts.
strict: one token in each ring, a switch for each post. In millions of posts a second, and ns for
each. All members are there and wait before the clock starts; then, the growth of VmRSS + VmPTE,
which for few is mostly that of the scheduler or runtime.
coro: coro_wake and coro_park, all of a ring on one worker; fifo: hand-over budget 0. dispatch: a
pool of dispatchers, without a scheduler; rr: a queue with a lock for each thread, first in first
out; ll: the rings of a thread without a lock; gq: one queue and lock for all threads. rr without
locks: rr in a program of which one thread runs at a time, its locks compiled out. goroutine: channels, buffered for as many values as
there are members; unbuffered loose: a token less than members, or all would be sending. pthread:
semaphores; rust: threads and channels of its standard library; for both, one worker is one CPU.
c++20: coroutines on one thread, without locks or anything that another thread could do.
usched: its own two programs, where -usched names the directory of its sources.`
	if o.LIFO {
		about += "\nlifo: no member is there before; each ring is started when the one before has ended. Memory: after the last."
	}
	if o.Extra > 0 {
		about += fmt.Sprintf("\nEach member uses %d bytes of its stack besides, of C++20 of its frame.", o.Extra)
	}
	for _, why := range left {
		about += "\nLeft out: " + why + "."
	}
	return &harness.Experiment{
		Name:  "ring",
		Asked: true,
		About: about,
		Metrics: []harness.Metric{
			{Name: "mps", Title: "M/s", Digits: 2},
			{Name: "ns_per_handover", Title: "ns", Digits: 2},
			{Name: "bytes_each", Title: "bytes each"},
		},
		Rows: all,
		Versus: &harness.Versus{
			Metric: "ns_per_handover", Title: "against buffered",
			Peer: func(row, c harness.Row) bool {
				return c.System == sysGoroutine &&
					strings.Contains(c.Variant, "buffered") &&
					!strings.Contains(c.Variant, "unbuffered") &&
					row.System != sysGoroutine && game(row) == game(c) &&
					row.N == c.N && row.Workers == c.Workers
			},
		},
	}
}

// game is what rows must have in common to be compared: loose or strict, and the size of a ring.
func game(r harness.Row) string {
	kind, _, _ := strings.Cut(r.Variant, " ")
	_, size, _ := strings.Cut(r.Variant, " of ")
	return kind + size
}

// A ringSystem is one way of having rings go round.
type ringSystem struct {
	name, variant string
	posts         int   // in a run, about
	least         int   // rounds, whatever that makes
	bytes         int64 // each takes at most; for want of so much memory sizes are left out
	most          int   // members in the tables; 0: any number
	manyWorkers   bool
	onlySome      bool // not in all of the table of all sizes
	looseOnly     bool
	run           func(r cbody.Rings) (time.Duration, int64, error)
}

// omits: it has no rows of that size in the tables.
func (s ringSystem) omits(size ringSize) bool {
	return s.onlySome && (!size.some || size.members != ringMembersEach) || s.most > 0 &&
		size.n() > s.most
}

// What members of coro are: more kinds are spawned with more flags.
var ringKinds = []struct {
	name  string
	flags uint32
	bytes int64
}{{"plain", 0, 5500}, {"dense", cbody.Dense, 400}}

func ringSystems() []ringSystem {
	var list []ringSystem
	for _, k := range ringKinds {
		on := func(opts ...coro.Option) func(cbody.Rings) (time.Duration, int64, error) {
			return func(r cbody.Rings) (time.Duration, int64, error) {
				r.Attr = k.flags
				return coroRings(r, opts...)
			}
		}
		s := ringSystem{name: sysCoro, variant: k.name, posts: 4_000_000, least: 200,
			bytes: k.bytes, manyWorkers: true, run: on()}
		list = append(list, s)
		s.variant, s.manyWorkers, s.onlySome, s.run = k.name+" fifo", false, true,
			on(coro.WithTuning(coro.Tuning{HandoverBudget: -1}))
		s.posts, s.least = 2_000_000, 20
		list = append(list, s)
	}
	return list
}

const (
	ringMembersEach = 8 // unless it says otherwise
)

var (
	ringSizes    = []int{16, 8000}
	ringAllSizes = []int{16, 32, 64, 400, 800, 4000, 8000, 40_000, 80_000, 400_000, 800_000,
		4_000_000, 8_000_000}
	// in the table of all: of pairs, and of systems that are not in all of it
	ringSomeSizes = []int{16, 8000, 800_000}
	ringOnAll     = []int{8000} // on all CPUs
)

// ringRows are the rows, and what was left out of them and why.
func ringRows(o RingOptions) (list []harness.Row, left []string) {
	systems := slices.Concat(ringSystems(), poolRingSystems(), goRingSystems(),
		[]ringSystem{threadRings})
	for _, built := range []struct {
		system    ringSystem
		name, why string // why: it is left out
	}{{aloneRings, "rr without locks", noAlone()}, {cxxRings, "C++20", noCxx()},
		{rustRings, "Rust", noRust()}} {
		if built.why == "" {
			systems = append(systems, built.system)
		} else {
			left = append(left, built.name+", as "+built.why)
		}
	}
	if why := noUsched(o); why == "" {
		systems = append(systems, uschedRingSystems(o.Usched)...)
	} else {
		left = append(left, "usched, as "+why)
	}
	free, err := procField("/proc/meminfo", "MemAvailable")
	if err != nil {
		left = append(left, fmt.Sprintf("what needs much memory, as %v", err))
	}
	for _, size := range ringTable(o) {
		for _, s := range systems {
			if size.workers > 1 && !s.manyWorkers || !o.one() && s.omits(size) {
				continue
			}
			if need := int64(size.n()) * (s.bytes + int64(o.Extra)); need > 1<<27 &&
				need > free/10*9 {
				left = append(left, fmt.Sprintf(
					"%s %s, %d members, for want of %d MiB of memory", s.name,
					s.variant, size.n(), need>>20))
				continue
			}
			list = append(list, s.rows(size, o)...)
		}
	}
	return list, left
}

// one: a size was asked for.
func (o RingOptions) one() bool { return o.Rings > 0 }

type ringSize struct {
	rings, members, workers int
	some                    bool // one of ringSomeSizes
}

func (s ringSize) n() int { return s.rings * s.members }

func ringTable(o RingOptions) (list []ringSize) {
	workers := max(o.Workers, 1)
	if o.one() {
		return []ringSize{{o.Rings, cmp.Or(o.Members, ringMembersEach), workers, true}}
	}
	in := func(sizes []int, members, workers int) {
		for _, n := range sizes {
			list = append(list, ringSize{n / members, members, workers,
				slices.Contains(ringSomeSizes, n)})
		}
	}
	sizes := ringSizes
	if o.Full {
		sizes = ringAllSizes
	}
	in(sizes, ringMembersEach, workers)
	if o.Full {
		in(ringSomeSizes, 2, workers)
	}
	if workers == 1 && cpus > 1 {
		in(ringOnAll, ringMembersEach, cpus)
	}
	return list
}

// rows are loose and strict ones of that size.
func (s ringSystem) rows(size ringSize, o RingOptions) (list []harness.Row) {
	for _, strict := range []bool{false, true} {
		if s.looseOnly && strict {
			continue
		}
		variant := "loose " + s.variant
		if strict {
			variant = "strict " + s.variant
		}
		if o.LIFO {
			variant += " lifo"
		}
		if size.members != ringMembersEach {
			variant += fmt.Sprintf(" of %d", size.members)
		}
		r := cbody.Rings{
			Rings: size.rings, Members: size.members, Rounds: o.Rounds, Extra: o.Extra,
			Strict: strict, LIFO: o.LIFO, Workers: size.workers,
		}
		if r.Rounds == 0 {
			r.Rounds = max(s.posts/size.n(), s.least)
		}
		small := r
		small.Rings, small.Rounds = min(r.Rings, 2*r.Workers), min(r.Rounds, 1000)
		run := func(r cbody.Rings) (harness.Values, error) {
			debug.FreeOSMemory()
			d, bytes, err := s.run(r)
			if err != nil {
				return nil, err
			}
			posts := float64(r.Rings) * float64(r.Members) * float64(r.Rounds)
			v := harness.Values{"mps": posts / float64(d.Nanoseconds()) * 1e3,
				"ns_per_handover": float64(d.Nanoseconds()) / posts}
			if bytes > 0 { // a few may fit in what was there
				v["bytes_each"] = float64(bytes) / float64(size.n())
			}
			return v, nil
		}
		procs := 0
		if s.name == sysGoroutine {
			procs = size.workers
		}
		list = append(list, harness.Row{System: s.name, Variant: variant,
			Workers: size.workers, N: size.n(), Procs: procs,
			Open: func() (harness.Trial, error) {
				return harness.Trial{
					Warm: func() error { _, err := run(small); return err },
					Run:  func() (harness.Values, error) { return run(r) },
				}, nil
			}})
	}
	return list
}

// coroRings has coroutines of C do it, on a scheduler of their own.
func coroRings(r cbody.Rings, opts ...coro.Option) (d time.Duration, bytes int64, err error) {
	if err := r.Open(); err != nil {
		return 0, 0, err
	}
	defer r.Close()
	before, err := resident()
	if err != nil {
		return 0, 0, err
	}
	// so large that what they use is less than the half from which on they would keep it
	if r.Attr&cbody.Dense != 0 {
		opts = append(opts, coro.WithSharedStacks(16,
			min(4*r.Extra+coro.StackDefault, coro.StackMax)))
	}
	s, err := coro.New(append(opts, coro.WithWorkers(r.Workers))...)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, closed(s), cbody.Err()) }()
	start := coro.MustFunc[uint64, coro.None](cbody.RingsStart)
	for k := range r.Workers {
		if err := start.Spawn(s, uint64(k)); err != nil {
			return 0, 0, err
		}
	}
	if err := until(func() bool {
		return cbody.RingsReady() == r.Workers && s.Stats().Awake == 0
	}); err != nil {
		return 0, 0, fmt.Errorf("on %d of %d workers all members wait: %w",
			cbody.RingsReady(), r.Workers, err)
	}
	waiting, err := resident()
	if err != nil {
		return 0, 0, err
	}
	if err := cbody.RingsFire(); err != nil {
		return 0, 0, err
	}
	if err := settledIn(s, longPatience); err != nil {
		return 0, 0, err
	}
	if r.LIFO {
		waiting, err = resident()
	}
	return cbody.RingsTime(), waiting - before, err
}
