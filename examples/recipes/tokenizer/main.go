// Command tokenizer counts and marks the tokens of a Go []byte in C, on all workers: one call of a
// C body for each part of the text, by CallN. Text and marks are lent, and never copied.
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
	"errors"
	"fmt"
	"log"

	"github.com/organzine/coro"
)

// partBytes is about how long a part is: much more work than the start of a coroutine.
const partBytes = 64 << 10

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

	text := bytes.Repeat([]byte("In 1815, on 18 June, 72000 men met 118000: at Waterloo. "), 300_000)
	marks := make([]byte, len(text))
	got, err := tokenize(ctx, s, text, marks)
	if err != nil {
		return err
	}
	fmt.Printf("%d bytes: %d words, %d numbers, %d signs\n", len(text), got.Words, got.Numbers,
		got.Signs)
	want, wantMarks := inGo(text)
	if got != want || !bytes.Equal(marks, wantMarks) {
		return errors.New("there are other tokens in Go")
	}
	return nil
}

// tokenize has all parts marked, and sums their tokens up.
func tokenize(ctx context.Context, s *coro.Scheduler, text, marks []byte) (Tokens, error) {
	var parts []Part
	for len(text) > 0 {
		n := endOfPart(text)
		parts = append(parts, Part{coro.SliceOf(text[:n]), coro.SliceOf(marks[:n])})
		text, marks = text[n:], marks[n:]
	}
	counts := make([]Tokens, len(parts))
	if err := Tokenize.CallN(ctx, s, parts, counts); err != nil {
		return Tokens{}, err
	}
	var sum Tokens
	for _, c := range counts {
		sum.Words += c.Words
		sum.Numbers += c.Numbers
		sum.Signs += c.Signs
	}
	return sum, nil
}

// endOfPart is behind a space, so that no token lies in two parts.
func endOfPart(text []byte) int {
	if len(text) > partBytes {
		if i := bytes.IndexByte(text[partBytes:], ' '); i >= 0 {
			return partBytes + i + 1
		}
	}
	return len(text)
}

// inGo is the same in Go, to compare.
func inGo(text []byte) (sum Tokens, marks []byte) {
	const word, number, sign = 1, 2, 3
	marks = make([]byte, len(text))
	before := 0
	for i, c := range text {
		kind := 0
		switch {
		case c|32 >= 'a' && c|32 <= 'z':
			kind = word
		case c >= '0' && c <= '9':
			kind = number
		case c > ' ':
			kind = sign
		}
		if kind != before || kind == sign {
			marks[i] = byte(kind)
			switch kind {
			case word:
				sum.Words++
			case number:
				sum.Numbers++
			case sign:
				sum.Signs++
			}
		}
		before = kind
	}
	return sum, marks
}
