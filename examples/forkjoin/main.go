// Command forkjoin divides work among all workers, by coro.For and by forks in C (work.c). It fills
// and sorts a slice of Go's, counts the ways to place queens, and walks a tree that Go has made.
// The results are checked. The page docs/fork.md tells when to fork.
//
// To use it in a module of your own, copy the folder, and write the header beside the C file with
//
//	go run github.com/organzine/coro/cmd/coro header
package main

// The -I is for this module, where coro.h is in csrc. A module of your own has coro.h beside this
// file, and needs no -I.

/*
#cgo CFLAGS: -std=gnu11 -O2 -I${SRCDIR}/../../csrc/include
#include "work.h"
*/
import "C"

import (
	"context"
	"fmt"
	"log"
	"slices"
	"unsafe"

	"github.com/organzine/coro"
)

// What is passed by value has the layout of its struct in work.h.
type (
	numbers = coro.Slice[uint32]

	tree struct {
		nodes coro.Slice[C.struct_node]
		root  int32
	}
	sum struct{ values, nodes, depth int64 }
)

var (
	fill   = coro.MustRangeFunc[numbers](unsafe.Pointer(C.fill))
	sort   = coro.MustFunc[numbers, coro.None](unsafe.Pointer(C.sort))
	queens = coro.MustFunc[uint32, uint64](unsafe.Pointer(C.queens))
	walk   = coro.MustFunc[tree, sum](unsafe.Pointer(C.walk))
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	s, err := coro.New()
	if err != nil {
		return err
	}
	defer s.Close(context.Background())
	if err := sorts(ctx, s); err != nil {
		return err
	}
	ways, err := queens.Call(ctx, s, 10)
	if err != nil {
		return err
	}
	fmt.Printf("10 queens: %d ways\n", ways)
	return walks(ctx, s)
}

// sorts lends C a slice of Go's. When For and Call return, no part uses it any more.
func sorts(ctx context.Context, s *coro.Scheduler) error {
	slice := make([]uint32, 1_000_000)
	if err := coro.For(ctx, s, len(slice), 4096, fill, coro.SliceOf(slice)); err != nil {
		return err
	}
	before := checksum(slice)
	if _, err := sort.Call(ctx, s, coro.SliceOf(slice)); err != nil {
		return err
	}
	fmt.Printf("%d numbers: sorted %v, the same ones %v, median %d\n", len(slice),
		slices.IsSorted(slice), checksum(slice) == before, slice[len(slice)/2])
	return nil
}

// checksum does not depend on the order.
func checksum(slice []uint32) (sum uint64) {
	for _, x := range slice {
		sum += uint64(x) * uint64(x)
	}
	return sum
}

// walks sums a tree up that leans to one side, so that nobody can divide it evenly beforehand.
func walks(ctx context.Context, s *coro.Scheduler) error {
	var nodes []C.struct_node
	root := grow(&nodes, 200_000)
	sum, err := walk.Call(ctx, s, tree{coro.SliceOf(nodes), root})
	if err != nil {
		return err
	}
	n := int64(len(nodes))
	fmt.Printf("a tree of %d nodes, %d deep: sum right %v\n", sum.nodes, sum.depth,
		sum.values == n*(n-1)/2)
	return nil
}

// grow appends a tree of n nodes, an eighth of them to the left, and returns the place of its root.
func grow(nodes *[]C.struct_node, n int) int32 {
	if n == 0 {
		return -1
	}
	at := len(*nodes)
	*nodes = append(*nodes, C.struct_node{value: C.int64_t(at)})
	left := grow(nodes, (n-1)/8)
	right := grow(nodes, n-1-(n-1)/8)
	(*nodes)[at].left, (*nodes)[at].right = C.int32_t(left), C.int32_t(right)
	return int32(at)
}
