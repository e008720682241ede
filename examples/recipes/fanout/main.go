// Command fanout encodes what one goroutine reads, block by block in C on all workers, and writes
// the results in the order of the blocks. A block is a Buffer: C gets it, and gives another one
// back, of another length.
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
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"

	"github.com/organzine/coro"
)

const (
	blockBytes = 48 << 10 // a multiple of 3, which ends with no padding
	ahead      = 16       // blocks that are encoded, or wait to be written
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

	text := bytes.Repeat([]byte("a producer, and workers that are not in step; "), 200_000)
	var got bytes.Buffer
	if err := encode(ctx, s, &got, bytes.NewReader(text)); err != nil {
		return err
	}
	same := got.String() == base64.StdEncoding.EncodeToString(text)
	fmt.Printf("%d bytes are %d in base64, the same as in Go %v\n", len(text), got.Len(), same)
	return nil
}

// encode writes to w what r has, in base64. When w or C fails, it still waits for the read of r
// that has begun: whoever has an r that may be silent closes it then.
func encode(ctx context.Context, s *coro.Scheduler, w io.Writer, r io.Reader) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	tasks, read := make(chan *coro.Task[coro.Buffer], ahead), make(chan error, 1)
	go func() {
		read <- start(ctx, s, r, tasks)
		close(tasks)
	}()
	var failed error
	for task := range tasks { // to the last one, so that no buffer is left
		b, err := task.Wait(context.Background())
		if err == nil {
			if failed == nil {
				_, err = io.Copy(w, b.Reader())
			}
			err = errors.Join(err, b.Free())
		}
		if err != nil && failed == nil {
			failed = err
			cancel()
		}
	}
	if err := <-read; failed == nil {
		failed = err
	}
	return failed
}

// start has each block of r encoded, and sends its task.
func start(
	ctx context.Context, s *coro.Scheduler, r io.Reader, tasks chan<- *coro.Task[coro.Buffer],
) error {
	for {
		block, err := coro.NewBuffer(s, blockBytes)
		if err != nil {
			return err
		}
		n := 0
		err = block.Use(func(to []byte) (err error) { // to is C's memory
			n, err = io.ReadFull(r, to)
			return err
		})
		switch err {
		case io.EOF:
			return block.Free()
		case io.ErrUnexpectedEOF: // the last block
			err = block.Resize(n)
		}
		var task *coro.Task[coro.Buffer]
		if err == nil {
			task, err = Encode.StartContext(ctx, s, block)
		}
		if err != nil {
			return errors.Join(err, block.Free()) // it is still Go's
		}
		tasks <- task
	}
}
