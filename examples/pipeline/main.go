// Command pipeline sends a stream of blocks through four stages, two with Go bodies and two with C
// bodies:
//
//	source (Go) ──► scramble (C) ──► sum_up (C) ──► sink (Go)
//	   ▲                                              │
//	   └──────────── a permit for each free block ◄───┘
//
// The blocks lie in one ring in C memory, and every stage walks along the ring by itself. Permits
// alone say which stage may touch a block: a stage parks for each block, works on it in place, and
// wakes the next stage, by its handle, in either language. Permits are counted, so a fast stage may
// be ahead of a slow one by the whole ring, and no further. The program shows Park and Wake,
// coro_park and coro_wake, Await, and a Group, which ends all stages if one of them fails.
//
// To use it in a module of your own, copy the folder, and write the header beside the C file with
//
//	go run github.com/organzine/coro/cmd/coro header
//
// The Go side of the two C bodies, bodies_gen.go, is written by coro gen.
package main

//go:generate go run github.com/organzine/coro/cmd/coro gen stages.c -- -I../../csrc/include

// The -I is for this module, where coro.h is in csrc. A module of your own has coro.h beside this
// file, and needs no -I.

/*
#cgo CFLAGS: -std=gnu11 -O2 -I${SRCDIR}/../../csrc/include
#include <stdlib.h>
#include "stages.h"
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"log"
	"unsafe"

	"github.com/organzine/coro"
)

const (
	blocks     = 4000
	ringBlocks = C.RING_BLOCKS
	blockWords = C.BLOCK_WORDS
)

type ring [ringBlocks]C.struct_block // in C memory

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
	defer s.Close(ctx)
	memory := C.calloc(1, C.size_t(unsafe.Sizeof(ring{})))
	if memory == nil {
		return errors.New("no memory for the ring")
	}
	defer C.free(memory)

	g := coro.NewGroup(ctx, s)
	task, err := coro.Go(g, func(c *coro.Coroutine) (uint64, error) {
		return sink(c, g, (*ring)(memory))
	})
	// the ring is freed after that
	if err := errors.Join(err, g.Wait(context.Background())); err != nil {
		return err
	}
	checksum, err := task.Wait(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("%d blocks of up to %d words, checksum %016x\n", blocks, blockWords, checksum)
	if plain := withoutPipeline(); checksum != plain {
		return fmt.Errorf("it should be %016x", plain)
	}
	return nil
}

// sink starts the other stages, from the back to the front, and is the last stage itself.
func sink(c *coro.Coroutine, g *coro.Group, r *ring) (sum uint64, err error) {
	address := uintptr(unsafe.Pointer(r))
	third, err := SumUp.Start(g, Stage{address, c.Handle()})
	if err != nil {
		return 0, err
	}
	second, err := Scramble.Start(g, Stage{address, third.Handle()})
	if err != nil {
		return 0, err
	}
	first, err := coro.Go(g, func(c *coro.Coroutine) (uint64, error) {
		return source(c, r, second.Handle())
	})
	if err != nil {
		return 0, err
	}
	for range ringBlocks { // all blocks are free
		if err := c.Wake(first.Handle()); err != nil {
			return 0, err
		}
	}
	received := uint64(0)
	for i := 0; ; i++ {
		if err := c.Park(c.Context()); err != nil {
			return 0, err
		}
		b := &r[i%ringBlocks]
		if b.words == 0 {
			break
		}
		for _, word := range b.word[:b.words] {
			sum = checksum(sum, uint64(word))
		}
		received += uint64(b.words)
		// the source has sent all, and ended
		if err := c.Wake(first.Handle()); err != nil && err != coro.ErrStale {
			return 0, err
		}
	}
	for _, task := range []*coro.Task[uint64]{first, second, third} {
		n, err := task.Await(c.Context(), c)
		if err != nil {
			return 0, err
		}
		if n != received {
			return 0, fmt.Errorf("a stage has seen %d words of %d", n, received)
		}
	}
	return sum, nil
}

// source fills a block for each permit.
func source(c *coro.Coroutine, r *ring, next coro.Handle) (sent uint64, err error) {
	for i := 0; ; i++ {
		if err := c.Park(c.Context()); err != nil {
			return sent, err
		}
		b := &r[i%ringBlocks]
		b.words = 0
		if i < blocks {
			b.words = C.uint32_t(wordsIn(i))
		}
		for k := range b.word[:b.words] {
			b.word[k] = C.uint64_t(sent)
			sent++
		}
		words := b.words // after the wake-up the block is the next stage's
		if err := c.Wake(next); err != nil {
			return sent, err
		}
		if words == 0 {
			return sent, nil
		}
	}
}

// wordsIn is the number of words in block i: some blocks are not full.
func wordsIn(i int) int { return blockWords - i%7 }

func checksum(sum, word uint64) uint64 { return (sum ^ word) * 0x100000001b3 }

// withoutPipeline computes the same in one loop.
func withoutPipeline() (result uint64) {
	n, sum := uint64(0), uint64(0)
	for i := range blocks {
		for range wordsIn(i) {
			x := n * 0x9e3779b97f4a7c15
			sum += x ^ x>>32
			result = checksum(result, sum)
			n++
		}
	}
	return result
}
