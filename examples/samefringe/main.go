// Command samefringe asks whether two trees of any shapes have the same leaves in the same order:
// the classic case for generators. Each walk is a plain recursive function in C (tree.c) that stops
// at every leaf. Go resumes the two in turn, and stops at the first difference without a look at
// the rest. The program shows generator.Generator.
//
// To use it in a module of your own, copy the folder, and write the header beside the C file with
//
//	go run github.com/organzine/coro/cmd/coro header
package main

// The -I is for this module, where coro.h is in csrc. A module of your own has coro.h beside this
// file, and needs no -I.

/*
#cgo CFLAGS: -std=gnu11 -O2 -I${SRCDIR}/../../csrc/include
#include "tree.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"log"
	"slices"
	"unsafe"

	"github.com/organzine/coro/generator"
)

const (
	leaves = 1000
	// A tree may be as deep as it has leaves, and the walk takes a frame for each level.
	stack = 128 << 10
)

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	numbers := make([]int, leaves)
	for i := range numbers {
		numbers[i] = i * i
	}
	other := slices.Clone(numbers)
	other[2]++
	for _, pair := range []struct {
		what string
		a, b *C.struct_tree
		same bool
		seen int // leaves asked of both
	}{
		{"balanced and leaning left", build(numbers, balanced), build(numbers, left), true,
			leaves},
		{"leaning left and right", build(numbers, left), build(numbers, right), true,
			leaves},
		{"another third leaf", build(numbers, balanced), build(other, right), false, 3},
		{"one leaf less", build(numbers, right), build(numbers[:leaves-1], left), false,
			leaves},
	} {
		same, seen, err := sameFringe(pair.a, pair.b)
		C.tree_free(pair.a)
		C.tree_free(pair.b)
		if err != nil {
			return err
		}
		fmt.Printf("%s: same %v, after %d leaves\n", pair.what, same, seen)
		if same != pair.same || seen != pair.seen {
			return fmt.Errorf("it should be %v after %d", pair.same, pair.seen)
		}
	}
	return nil
}

// sameFringe compares the leaves of two trees one by one. seen is the number of leaves that it has
// asked each for.
func sameFringe(a, b *C.struct_tree) (same bool, seen int, err error) {
	x, err := fringe(a)
	if err != nil {
		return false, 0, err
	}
	defer x.Close()
	y, err := fringe(b)
	if err != nil {
		return false, 0, err
	}
	defer y.Close()
	for {
		v, moreX, err := x.Resume(0)
		if err != nil {
			return false, seen, err
		}
		w, moreY, err := y.Resume(0)
		if err != nil {
			return false, seen, err
		}
		if !moreX && !moreY {
			return true, seen, nil
		}
		seen++
		if moreX != moreY || v != w {
			return false, seen, nil
		}
	}
}

func fringe(t *C.struct_tree) (*generator.Generator, error) {
	if t == nil {
		return nil, errors.New("no memory for a tree")
	}
	return generator.New(unsafe.Pointer(C.tree_fringe), uintptr(unsafe.Pointer(t)), stack)
}

// A shape tells how many of n leaves, at least two, go to the left.
type shape func(n int) int

func balanced(n int) int { return n / 2 }
func left(n int) int     { return n - 1 }
func right(n int) int    { return 1 }

func build(numbers []int, to shape) *C.struct_tree {
	if len(numbers) == 1 {
		return C.tree_leaf(C.intptr_t(numbers[0]))
	}
	k := to(len(numbers))
	return C.tree_fork(build(numbers[:k], to), build(numbers[k:], to))
}
