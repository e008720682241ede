// Command pcre2 finds all matches of a Perl pattern in a Go []byte, by PCRE2, a coroutine for each
// part of the text. C writes what it finds into a Go slice.
//
//	make run     the program
//	make test    the tests
//
// docs/recipes.md explains it.
package main

//go:generate go run github.com/organzine/coro/cmd/coro header
//go:generate go run github.com/organzine/coro/cmd/coro gen -name search=Find

/*
#cgo CFLAGS: -std=gnu11 -O2
#cgo pkg-config: libpcre2-8
*/
import "C"

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"regexp"

	"github.com/organzine/coro"
)

const (
	partBytes = 64 << 10
	pattern   = `\b[a-z]+[0-9]*@(?:[a-z]+\.)+(?:com|org)\b`
)

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
	for i := range 20_000 {
		text = fmt.Appendf(text, "line %d, from user%d@post.example.com to nobody@nowhere\n", i, i)
	}
	found, err := findAll(ctx, s, pattern, text)
	if err != nil {
		return "", err
	}
	want := regexp.MustCompile(pattern).FindAllIndex(text, -1)
	if len(found) == 0 || len(found) != len(want) {
		return "", fmt.Errorf("%d matches, but Go finds %d", len(found), len(want))
	}
	for i, span := range found {
		if span != [2]int(want[i]) {
			return "", fmt.Errorf("match %d is at %d, but Go finds it at %d", i, span, want[i])
		}
	}
	last := found[len(found)-1]
	return fmt.Sprintf("%d bytes: %d matches, the last one %s", len(text), len(found),
		text[last[0]:last[1]]), nil
}

// findAll returns where pattern matches in text. Parts end at the end of a line: no match of the
// pattern has such an end in it.
func findAll(ctx context.Context, s *coro.Scheduler, pattern string, text []byte) ([][2]int, error) {
	lentPattern := coro.SliceOf([]byte(pattern))
	var parts []Search
	var begins []int
	for at := 0; at < len(text); {
		n := endOfPart(text[at:])
		parts = append(parts, Search{
			Text:    coro.SliceOf(text[at : at+n]),
			Pattern: lentPattern,
			Found:   coro.SliceOf(make([]Span, n/8+8)),
		})
		begins = append(begins, at)
		at += n
	}
	counts := make([]uint64, len(parts))
	if err := Find.CallN(ctx, s, parts, counts); err != nil {
		return nil, err
	}
	var all [][2]int
	for i, part := range parts {
		found := part.Found.Slice()
		if counts[i] > uint64(len(found)) {
			return nil, fmt.Errorf("part %d has %d matches, and room for %d", i, counts[i],
				len(found))
		}
		for _, span := range found[:counts[i]] {
			all = append(all, [2]int{begins[i] + int(span.From), begins[i] + int(span.To)})
		}
	}
	return all, nil
}

func endOfPart(text []byte) int {
	if len(text) > partBytes {
		if i := bytes.IndexByte(text[partBytes:], '\n'); i >= 0 {
			return partBytes + i + 1
		}
	}
	return len(text)
}
