// Command frames has C parse a protocol whose frames begin with their length: Go copies a
// connection into a Stream, a coroutine reads frames from there, and gives each to Go as a Buffer.
// What is no frame fails the stream, with a code.
//
// docs/recipes.md explains it. To use it in a module of your own, copy the folder, and write the
// header beside the C file with
//
//	go run github.com/organzine/coro/cmd/coro header
package main

//go:generate go run github.com/organzine/coro/cmd/coro gen -type "enum fault" -- -I../../../csrc/include

// The -I is for this module, where coro.h is in csrc. A module of your own has coro.h beside this
// file, and needs no -I.

/*
#cgo CFLAGS: -std=gnu11 -O2 -I${SRCDIR}/../../../csrc/include
#include "bodies.h"
*/
import "C"

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log"

	"github.com/organzine/coro"
)

const (
	mostBytes   = C.MOST_BYTES
	streamBytes = 64 << 10
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

// run sends frames, and then one that is too long.
func run(ctx context.Context) error {
	s, err := coro.New()
	if err != nil {
		return err
	}
	defer s.Close(context.Background())

	wire, sender := io.Pipe()
	want := crc32.NewIEEE()
	go func() {
		for i := range 20_000 {
			text := bytes.Repeat(fmt.Append(nil, i), i%500)
			want.Write(text)
			_, _ = sender.Write(appendFrame(nil, text))
		}
		_, _ = sender.Write(binary.BigEndian.AppendUint32(nil, mostBytes+1))
		sender.Close()
	}()
	got, total := crc32.NewIEEE(), 0
	n, err := receive(ctx, s, wire, func(frame coro.Buffer) error {
		total += frame.Len()
		_, err := io.Copy(got, frame.Reader())
		return errors.Join(err, frame.Free())
	})
	if got.Sum32() != want.Sum32() {
		return errors.New("other bytes have come")
	}
	fmt.Printf("%d frames with %d bytes, then: %v\n", n, total, err)
	return nil
}

func appendFrame(b, text []byte) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(text))), text...)
}

// receive calls each with the frames that come from `from`, one after the other, until that ends.
// The frame is each's to free. It returns how many frames C has given to each, or 0 if ctx has
// ended first, and the first error: of each, of from, of ctx, or a fault. With an error it closes
// from, so that it does not wait for a peer that is silent.
func receive(
	ctx context.Context, s *coro.Scheduler, from io.ReadCloser, each func(coro.Buffer) error,
) (uint64, error) {
	st, err := coro.NewStream(s, streamBytes)
	if err != nil {
		return 0, errors.Join(err, from.Close())
	}
	defer st.Free() // a parser that has not begun does not give its end up
	failed := make(chan error, 1)
	ctx = context.WithValue(ctx, receiver{}, func(frame coro.Buffer) error {
		err := each(frame)
		if err != nil {
			failed <- err // it is the last call
		}
		return err
	})
	task, err := Parse.StartContext(ctx, s, Frames{From: st.Address(), Take: take})
	if err != nil {
		return 0, errors.Join(err, from.Close())
	}
	sent := make(chan error, 1)
	go func() { sent <- send(st, from) }()
	n, err := task.Wait(context.Background())
	if err != nil {
		_ = st.CloseWithError(err) // the parser may have been canceled before it began
	}
	_, fault := st.Read(make([]byte, 1)) // nothing comes but the end
	if fault == io.EOF {
		return n, <-sent
	}
	_ = from.Close() // send may wait there
	lost := <-sent
	select {
	case err = <-failed:
	default:
		switch {
		case err != nil:
		case errors.Is(fault, io.ErrClosedPipe): // by send
			err = lost
		default:
			err = named(fault)
		}
	}
	return n, err
}

// send copies all to the parser, with the end or the error.
func send(st *coro.Stream, from io.Reader) error {
	if _, err := io.Copy(st, from); err != nil {
		return errors.Join(err, st.CloseWithError(err))
	}
	return st.CloseWrite()
}

// receiver is the key of what take calls.
type receiver struct{}

// take is what C calls. Its context has the values of that of the coroutine.
var take = coro.MustExportFunc(func(ctx context.Context, frame coro.Buffer) (coro.None, error) {
	return coro.None{}, ctx.Value(receiver{}).(func(coro.Buffer) error)(frame)
})

// named says what a fault of the stream is.
func named(err error) error {
	var code *coro.StreamError
	if errors.As(err, &code) {
		switch Fault(code.Code) {
		case FaultTooLong:
			return fmt.Errorf("a frame has more than %d bytes: %w", mostBytes, err)
		case FaultCutOff:
			return fmt.Errorf("the last frame is cut off: %w", err)
		}
	}
	return err
}
