package cbody

/*
#include "cbody.h"
#include "forkload.h"
*/
import "C"

import (
	"embed"
	"errors"
	"time"
	"unsafe"
)

// ForkHeaders are the files that programs of other systems are built with: the loads and their
// bodies.
//
//go:embed forkload.h forkbody.h
var ForkHeaders embed.FS

// The loads of forkload.h, which says what the size of each counts.
const (
	ForkFib     = uint32(C.FJ_FIB)
	ForkQueens  = uint32(C.FJ_QUEENS)
	ForkSort    = uint32(C.FJ_SORT)
	ForkMandel  = uint32(C.FJ_MANDEL)
	ForkTree    = uint32(C.FJ_TREE)
	ForkProduct = uint32(C.FJ_PRODUCT)
)

// What the loads have in common with those that are written in Go.
const (
	ForkSortLeaf    = C.FJ_SORT_LEAF
	ForkInsertion   = C.FJ_INSERTION
	ForkMandelLimit = C.FJ_MANDEL_LIMIT
	ForkMandelBits  = C.FJ_MANDEL_BITS
	ForkKids        = C.FJ_KIDS
	ForkTreeRoot    = C.FJ_TREE_ROOT
	ForkTreeMost    = C.FJ_TREE_MOST
	ForkProductLeaf = C.FJ_PRODUCT_LEAF
)

// A Fork is a load to be done Laps times, 1 or more, the first of them untimed if there are more. It
// is the argument of the entries.
type Fork struct{ Load, Size, Laps uint32 }

// A Forked is what that took: the result of the entries.
type Forked struct {
	Ns  int64 // of a lap
	Sum uint64
}

// The entries of forkspawn.c, forkscope.c and forkfork.c. ForkFor has ForkMandel alone.
var (
	ForkSpawn = unsafe.Pointer(C.cb_fork_spawn)
	ForkScope = unsafe.Pointer(C.cb_fork_scope)
	ForkFork  = unsafe.Pointer(C.cb_fork_fork)
	ForkFor   = unsafe.Pointer(C.cb_fork_for)
)

// Serial does the load in plain C on this thread.
func (f Fork) Serial() (time.Duration, uint64, error) {
	r := C.cb_fork_serial((*C.struct_cb_fork)(unsafe.Pointer(&f)))
	return Forked{int64(r.ns), uint64(r.sum)}.Took()
}

// Children are how many children a lap has; 0: they were not counted.
func (f Fork) Children() uint64 {
	return uint64(C.cb_fork_children((*C.struct_cb_fork)(unsafe.Pointer(&f))))
}

// Took is the time of a lap, and its checksum.
func (f Forked) Took() (time.Duration, uint64, error) {
	if f.Ns < 0 {
		return 0, 0, errors.New("a load has unequal checksums, or had no memory")
	}
	return time.Duration(f.Ns), f.Sum, nil
}

// ForksBody is the entry of forkbeside.c: ForkBeside, ForksDone.
var ForksBody = unsafe.Pointer(C.cb_forks_body)

// The flags of ForkBeside.
const (
	ForksBeside = int64(C.CB_FORKS_BESIDE)
	ForksChain  = int64(C.CB_FORKS_CHAIN)
)

// A ForkBeside is Fibonacci of N, or a chain of N: see cbody.h.
type ForkBeside struct{ N, Every, Flags int64 }

// ForksDone is what came of them.
type ForksDone struct {
	Took             time.Duration
	Sum              int64
	Gap              time.Duration // the longest between two turns of one that yields
	Late, LateOnMean time.Duration // of the sleeper
}
