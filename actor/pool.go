package actor

import (
	"reflect"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/organzine/coro/internal/plain"
)

// A pool has what actors of one system with messages of one type have in common.
type pool[M any] struct {
	sys      *System
	ended    node[M]      // what the box of an actor that has ended has
	pointers bool         // messages have pointers
	replies  []replyField // where messages may have a Reply
	locals   []local[M]
	outside  sync.Pool // of *local, for goroutines that are no executors

	mu     sync.Mutex
	spares []*node[M] // a magazine each
	count  atomic.Int32
	kinds  map[kindKey]*kindOf[M]
}

// A local is what one goroutine at a time has of a pool.
type local[M any] struct {
	free      *node[M]
	id        uint64     // see bulk
	bulks     []*bulk[M] // free ones
	n         int
	pace      int    // messages of a turn from one look at the clock to the next
	atMessage bool   // the turn is at the first pending message, not in a hook
	done      uint32 // messages that the turn has handled, since the last flush
	ctx       Context[M]
	_         [64]byte
}

var nextLocal atomic.Uint64 // local.id

func poolOf[M any](y *System) *pool[M] {
	t := reflect.TypeFor[M]()
	if p, ok := y.pools.Load(t); ok {
		return p.(*pool[M])
	}
	p := &pool[M]{sys: y, pointers: plain.PointerIn(t) != nil, replies: replyFieldsOf(t),
		locals: make([]local[M], len(y.executors)), kinds: make(map[kindKey]*kindOf[M])}
	for i := range p.locals {
		p.locals[i].init(&y.executors[i].caller)
	}
	p.outside.New = func() any { return &local[M]{id: nextLocal.Add(1)} }
	got, _ := y.pools.LoadOrStore(t, p)
	return got.(*pool[M])
}

func (l *local[M]) init(h *caller) {
	l.id = nextLocal.Add(1)
	l.pace = 1
	l.ctx.l, l.ctx.h = l, h
}

// get returns a node.
func (p *pool[M]) get(l *local[M]) *node[M] {
	if l.free == nil {
		p.more(l)
	}
	return l.pop()
}

// pop is get where there is a free node.
func (l *local[M]) pop() *node[M] {
	n := l.free
	l.free = n.next
	l.n--
	return n
}

// more sees to it that l has a free node.
func (p *pool[M]) more(l *local[M]) {
	if p.count.Load() > 0 {
		p.mu.Lock()
		if i := len(p.spares) - 1; i >= 0 {
			l.free, l.n = p.spares[i], magazine
			p.spares[i] = nil
			p.spares = p.spares[:i]
			p.count.Store(int32(i))
		}
		p.mu.Unlock()
	}
	if l.free == nil {
		l.free, l.n = new(node[M]), 1
	}
}

// getBulk returns an empty bulk, for a node that nobody else sees yet.
func (p *pool[M]) getBulk(l *local[M]) *bulk[M] {
	if i := len(l.bulks) - 1; i >= 0 {
		b := l.bulks[i]
		l.bulks = l.bulks[:i]
		atomic.StoreUint32(&b.word, 0)
		return b
	}
	return &bulk[M]{owner: l.id}
}

// dropBulk takes away the bulk of a node that is done. The owner of bulks keeps some.
func (p *pool[M]) dropBulk(l *local[M], n *node[M], b *bulk[M]) {
	n.bulk.Store(nil)
	if b.owner == l.id && len(l.bulks) < bulksKept {
		if p.pointers {
			clear(b.m[:b.n])
		}
		b.at, b.n = 0, 0
		l.bulks = append(l.bulks, b)
	}
}

// give takes a node back, whose message is done.
func (p *pool[M]) give(l *local[M], n *node[M]) {
	p.tidy(l, n)
	l.keep(n)
}

// keep is give after tidy.
func (l *local[M]) keep(n *node[M]) {
	n.next = l.free
	l.free = n
	l.n++
}

// pass is keep of a node of a list, and returns the next one.
func (l *local[M]) pass(n *node[M]) *node[M] {
	next := n.next
	n.x = nil
	l.keep(n)
	return next
}

// tidy is what comes before keep.
func (p *pool[M]) tidy(l *local[M], n *node[M]) {
	if p.pointers || l.n >= 2*magazine {
		p.clear(l, n)
	}
}

// clear is what tidy does now and then, and for messages with pointers. If clear was inlined, tidy
// could not be.
//
//go:noinline
func (p *pool[M]) clear(l *local[M], n *node[M]) {
	if p.pointers {
		var none M
		n.m = none
	}
	if l.n >= 2*magazine {
		p.spare(l)
	}
}

// spare hands a magazine over to others.
func (p *pool[M]) spare(l *local[M]) {
	first := l.free
	last := first
	for range magazine - 1 {
		last = last.next
	}
	l.free = last.next
	last.next = nil
	l.n -= magazine
	p.mu.Lock()
	if len(p.spares) < magazines {
		p.spares = append(p.spares, first)
		p.count.Store(int32(len(p.spares)))
	}
	p.mu.Unlock()
}

// A kind is what actors that were spawned alike have in common.
type kind struct {
	kindKey
	sys       *System
	ops       ops
	questions atomic.Pointer[questions] // of the first Ask
}

type kindOf[M any] struct {
	kind
	pool *pool[M]
}

// A kindKey tells kinds of one pool apart.
type kindKey struct {
	receiver reflect.Type
	settings settings
}

// ops is a pool, for those that do not know the type of its messages.
type ops interface {
	turn(e *executor, s *actor)
	turnThatWaits(s *actor)
	failed(e *executor, s *actor, err error)
	drain(s *actor)
}

func (p *pool[M]) kind(key kindKey) *kind {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := p.kinds[key]
	if k == nil {
		k = &kindOf[M]{kind: kind{kindKey: key, sys: p.sys, ops: p}, pool: p}
		p.kinds[key] = k
	}
	return (*kind)(unsafe.Pointer(k))
}
