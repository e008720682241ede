// Command btree looks a million keys up in a B-tree that does not fit into the caches: once one
// lookup after the other, and once by coroutines that ask for a node, and yield until it is there.
// One thread does both. Tree, keys and results are Go slices that C borrows.
//
// docs/recipes.md explains it. To use it in a module of your own, copy the folder, and write the
// header beside the C file with
//
//	go run github.com/organzine/coro/cmd/coro header
package main

//go:generate go run github.com/organzine/coro/cmd/coro gen -- -I../../../csrc/include

// The -I is for this module, where coro.h is in csrc. A module of your own has coro.h beside this
// file, and needs no -I.

/*
#cgo CFLAGS: -std=gnu11 -O2 -I${SRCDIR}/../../../csrc/include
#include "bodies.h"
*/
import "C"

import (
	"context"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"time"

	"github.com/organzine/coro"
)

const (
	nodeKeys = C.NODE_KEYS
	nowhere  = C.NOWHERE
	treeKeys = 12_000_000
	lookups  = 1_000_000
	turns    = 24 // coroutines that take turns
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	s, err := coro.New(coro.WithWorkers(1))
	if err != nil {
		return err
	}
	defer s.Close(context.Background())

	random := rand.New(rand.NewPCG(1, 2))
	sorted := make([]uint32, treeKeys)
	for i, key := 0, uint32(0); i < len(sorted); i++ {
		key += 1 + random.Uint32N(300)
		sorted[i] = key
	}
	tree := build(sorted)
	keys, there := make([]uint32, lookups), make([]bool, lookups)
	for i := range keys {
		at := random.IntN(treeKeys - 1)
		keys[i] = sorted[at] + uint32(i%2) // each other one is found by chance
		there[i] = i%2 == 0 || keys[i] == sorted[at+1]
	}

	one, many := make([]uint32, lookups), make([]uint32, lookups)
	began := time.Now()
	_, err = LookUp.Call(ctx, s, Lookups{coro.SliceOf(tree), coro.SliceOf(keys), coro.SliceOf(one)})
	if err != nil {
		return err
	}
	alone := time.Since(began)
	began = time.Now()
	if err := lookUpBeside(ctx, s, tree, keys, many); err != nil {
		return err
	}
	beside := time.Since(began)

	hits := 0
	for i, at := range one {
		if at != nowhere {
			hits++
		}
		if there[i] != (at != nowhere) || there[i] && tree[at] != keys[i] || many[i] != at {
			return fmt.Errorf("key %d is found at %d and %d", keys[i], at, many[i])
		}
	}
	fmt.Printf("%d of %d keys found among %d\n", hits, lookups, treeKeys)
	fmt.Printf("%d coroutines that prefetch: %.1f times as fast as one that does not\n", turns,
		float64(alone)/float64(beside))
	return nil
}

// lookUpBeside divides the keys among some coroutines of one worker.
func lookUpBeside(ctx context.Context, s *coro.Scheduler, tree, keys, found []uint32) error {
	var parts []Lookups
	for i := range turns {
		from, to := i*len(keys)/turns, (i+1)*len(keys)/turns
		parts = append(parts, Lookups{
			coro.SliceOf(tree), coro.SliceOf(keys[from:to]),
			coro.SliceOf(found[from:to]),
		})
	}
	return LookUpBeside.CallN(ctx, s, parts, nil)
}

// build lays sorted keys out as the tree that bodies.h describes.
func build(sorted []uint32) []uint32 {
	nodes := (len(sorted) + nodeKeys - 1) / nodeKeys
	tree := make([]uint32, nodes*nodeKeys)
	var fill func(node int)
	fill = func(node int) {
		if node >= nodes {
			return
		}
		first := node*(nodeKeys+1) + 1
		for i := range nodeKeys {
			fill(first + i)
			key := uint32(math.MaxUint32)
			if len(sorted) > 0 {
				key, sorted = sorted[0], sorted[1:]
			}
			tree[node*nodeKeys+i] = key
		}
		fill(first + nodeKeys)
	}
	fill(0)
	return tree
}
