//go:build cgo && linux && (amd64 || arm64)

package csrc

// #cgo noescape coroi_slab_grant
// #cgo nocallback coroi_slab_grant
// #cgo noescape coroi_slab_refund
// #cgo nocallback coroi_slab_refund
// #cgo noescape coroi_slab_is_exhausted
// #cgo nocallback coroi_slab_is_exhausted
// #cgo noescape coroi_slab_is_roomy
// #cgo nocallback coroi_slab_is_roomy
// #include "kernel/life.h"
// #include "kernel/slab.h"
import "C"

import (
	"sync/atomic"
	"unsafe"
)

// A Demand says whether goroutines wait for credit: the `wanted` of slab.h, where G1 to G4 are
// told.
type Demand uint32

const (
	Unwanted     = Demand(C.COROI_UNWANTED)
	WantedLately = Demand(C.COROI_WANTED_LATELY) // nobody waits, but somebody did until lately
	Wanted       = Demand(C.COROI_WANTED)
)

func (s *Scheduler) wanted() *uint32 { return (*uint32)(unsafe.Pointer(&s.c.slab.wanted)) }

// SetDemand is the first half of G1, and the end of G4. One caller at a time.
func (s *Scheduler) SetDemand(d Demand) { atomic.SwapUint32(s.wanted(), uint32(d)) }

// Grant returns credit for up to n coroutines, less than n at the limit of memory.
func (s *Scheduler) Grant(n uint32) uint32 {
	crossing()
	return uint32(C.coroi_slab_grant(&s.c.slab, C.uint32_t(n)))
}

// IsExhausted tells whether no credit is granted, and the system has no memory for any: nobody's end
// can give credit back. After false, and while Granted is 0, Grant is worth another try.
func (s *Scheduler) IsExhausted() bool {
	crossing()
	return bool(C.coroi_slab_is_exhausted(&s.c.slab))
}

// Refund gives back the credit for n coroutines.
func (s *Scheduler) Refund(n uint32) {
	crossing()
	C.coroi_slab_refund(&s.c.slab, C.uint32_t(n))
}

// Collect has the workers give up the credit that they keep in hand: the second half of G1. The
// submitters are the caller's business, by Unload.
func (s *Scheduler) Collect() {
	crossing()
	C.coroi_collect(s.c)
}

// IsRoomy tells whether a quarter of the records is free.
func (s *Scheduler) IsRoomy() bool {
	crossing()
	return bool(C.coroi_slab_is_roomy(&s.c.slab))
}

// Granted is the credit that is granted now: for coroutines, and in hand.
func (s *Scheduler) Granted() int {
	return int(atomic.LoadInt64((*int64)(unsafe.Pointer(&s.c.slab.granted))))
}

// atOnce is how much credit a submitter gets at a time: G2.
func (s *Scheduler) atOnce() uint32 {
	if atomic.LoadUint32(s.wanted()) != uint32(Unwanted) {
		return 1
	}
	return C.COROI_CREDIT
}

// Endow gives credit for n coroutines to a submitter that is held.
func (p *Submitter) Endow(n uint32) { p.credit += n }

// spend takes a credit.
func (p *Submitter) spend() bool {
	if p.credit == 0 {
		p.credit = p.sched.Grant(p.sched.atOnce())
	}
	if p.credit == 0 {
		return false
	}
	p.credit--
	return true
}

// earn is for credit that was not spent.
func (p *Submitter) earn(credit uint32) {
	p.credit += credit
	switch {
	case p.sched.atOnce() == 1:
		p.repay(p.credit)
	case p.credit > 2*C.COROI_CREDIT:
		p.repay(p.credit - C.COROI_CREDIT)
	}
}

// repay gives credit back that the submitter has in hand.
func (p *Submitter) repay(credit uint32) {
	if credit > 0 {
		p.credit -= credit
		p.sched.Refund(credit)
	}
}
