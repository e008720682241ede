// Command lz4 compresses a Go []byte by LZ4, a coroutine for each chunk, and compares what comes
// back. C reads and writes Go's slices in place.
//
//	make run     the program
//	make test    the tests
//
// docs/recipes.md explains it.
package main

//go:generate go run github.com/organzine/coro/cmd/coro header
//go:generate go run github.com/organzine/coro/cmd/coro gen

/*
#cgo CFLAGS: -std=gnu11 -O2
#cgo pkg-config: liblz4
#include <lz4.h>
*/
import "C"

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"strconv"

	"github.com/organzine/coro"
)

const chunkBytes = 64 << 10

// bound is the most that a chunk takes when it is compressed.
var bound = int(C.LZ4_compressBound(chunkBytes))

func main() {
	text, err := run(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(text)
}

func run(ctx context.Context) (string, error) {
	s, err := coro.New()
	if err != nil {
		return "", err
	}
	defer s.Close(context.Background())

	var text []byte
	for i := range 1_500_000 {
		text = append(strconv.AppendInt(text, int64(i)*7919%10_007, 10), " items\n"...)
	}
	packed, err := compress(ctx, s, text)
	if err != nil {
		return "", err
	}
	back, err := decompress(ctx, s, packed)
	if err != nil {
		return "", err
	}
	if !bytes.Equal(text, back) {
		return "", errors.New("other bytes have come back")
	}
	n := 0
	for _, chunk := range packed {
		n += len(chunk)
	}
	return fmt.Sprintf("%d bytes in %d chunks: less than a half when compressed %v, the same ones back",
		len(text), len(packed), n < len(text)/2), nil
}

// compress returns the compressed chunks.
func compress(ctx context.Context, s *coro.Scheduler, text []byte) ([][]byte, error) {
	n := (len(text) + chunkBytes - 1) / chunkBytes
	to := make([][]byte, n)
	args, sizes := make([]Chunk, n), make([]int32, n)
	for i := range n {
		to[i] = make([]byte, bound)
		from := text[i*chunkBytes : min((i+1)*chunkBytes, len(text))]
		args[i] = Chunk{coro.SliceOf(from), coro.SliceOf(to[i])}
	}
	if err := Compress.CallN(ctx, s, args, sizes); err != nil {
		return nil, err
	}
	for i, size := range sizes {
		to[i] = to[i][:size]
	}
	return to, nil
}

// decompress is the way back: each chunk goes to its place of the text.
func decompress(ctx context.Context, s *coro.Scheduler, packed [][]byte) ([]byte, error) {
	text := make([]byte, len(packed)*chunkBytes)
	args, sizes := make([]Chunk, len(packed)), make([]int32, len(packed))
	for i, from := range packed {
		to := text[i*chunkBytes : (i+1)*chunkBytes]
		args[i] = Chunk{coro.SliceOf(from), coro.SliceOf(to)}
	}
	if err := Decompress.CallN(ctx, s, args, sizes); err != nil {
		return nil, err
	}
	n := 0
	for _, size := range sizes { // all are full but the last one
		n += int(size)
	}
	return text[:n], nil
}
