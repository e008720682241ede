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

// A Fork is a load to be done, Laps times and once before that is not counted. It is the argument
// of ForkSpawn and ForkScope.
type Fork struct{ Load, Size, Laps uint32 }

// A Forked is what that took: the result of ForkSpawn and ForkScope.
type Forked struct {
	Ns  int64 // of all laps that count
	Sum uint64
}

// The entries of forkspawn.c and forkscope.c.
var (
	ForkSpawn = unsafe.Pointer(C.cb_fork_spawn)
	ForkScope = unsafe.Pointer(C.cb_fork_scope)
)

// Serial does the load in plain C on this thread.
func (f Fork) Serial() (time.Duration, uint64, error) {
	r := C.cb_fork_serial((*C.struct_cb_fork)(unsafe.Pointer(&f)))
	return Forked{int64(r.ns), uint64(r.sum)}.Took()
}

// Took is the time of all laps that count, and the checksum of a lap.
func (f Forked) Took() (time.Duration, uint64, error) {
	if f.Ns < 0 {
		return 0, 0, errors.New("a load has unequal checksums, or had no memory")
	}
	return time.Duration(f.Ns), f.Sum, nil
}
