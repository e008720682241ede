// Command matrix multiplies two matrices that are Go slices: C computes the product block by block,
// a coroutine for each, as members of a Group. All of them borrow the same two slices.
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
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"log"
	"slices"

	"github.com/organzine/coro"
)

const (
	n    = 512 // rows and columns
	size = 64  // of a block
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

	factors := make([]float64, 2*n*n)
	for i := range factors {
		factors[i] = float64(i * 7 % 23) // small integers: sums of them are exact
	}
	product := make([]float64, n*n)
	if err := multiply(ctx, s, factors, product); err != nil {
		return err
	}
	fmt.Printf("%d by %d numbers in blocks of %d: trace %.0f\n", n, n, size, trace(product))
	if !slices.Equal(product, inGo(factors[:n*n], factors[n*n:])) {
		return errors.New("the product in Go is another one")
	}
	return nil
}

// multiply computes all blocks. The slices are lent until Wait has returned.
func multiply(ctx context.Context, s *coro.Scheduler, factors, product []float64) error {
	g := coro.NewGroup(ctx, s)
	for row := uint32(0); row < n; row += size {
		for column := uint32(0); column < n; column += size {
			_, err := Multiply.Start(g, Block{
				Factors: coro.SliceOf(factors), Product: coro.SliceOf(product),
				N: n, Size: size, Row: row, Column: column,
			})
			if err != nil {
				return errors.Join(err, g.Wait(context.Background()))
			}
		}
	}
	return g.Wait(context.Background()) // all have ended: ctx cancels the members
}

func trace(m []float64) (sum float64) {
	for i := range n {
		sum += m[i*n+i]
	}
	return sum
}

// inGo is the product computed in Go, to compare.
func inGo(a, b []float64) []float64 {
	product := make([]float64, n*n)
	for i := range n {
		to := product[i*n : (i+1)*n]
		for k := range n {
			x := a[i*n+k]
			for j, y := range b[k*n : (k+1)*n] {
				to[j] += x * y
			}
		}
	}
	return product
}
