// Command rows searches a table in C, a coroutine for each part. How much a search finds nobody
// knows before: each result is a Buffer, which C makes and lets grow, and Go reads and frees.
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
	"io"
	"log"
	"os"

	"github.com/organzine/coro"
)

const partBytes = 256 << 10

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, w io.Writer) error {
	s, err := coro.New()
	if err != nil {
		return err
	}
	defer s.Close(context.Background())

	var table []byte
	towns := []string{"Ghent", "Jena", "Oslo", "Turku", "Vienna"}
	for i := range 300_000 {
		table = fmt.Appendf(table, "%d,%s,%d\n", i, towns[i*i%101%len(towns)], i%1000)
	}
	rows, n, err := search(ctx, s, table, 1, "Oslo")
	if err != nil {
		return err
	}
	want := 0
	for line := range bytes.Lines(table) {
		if bytes.Contains(line, []byte(",Oslo,")) {
			want++
		}
	}
	first, _, _ := bytes.Cut(rows, []byte("\n"))
	_, err = fmt.Fprintf(w, "%d of 300000 rows, as many as Go finds %v, the first: %s\n", n, n == want, first)
	return err
}

// search returns the lines of the table that have value in a column, and how many they are. It
// returns when nobody borrows the table any more.
func search(
	ctx context.Context, s *coro.Scheduler, table []byte, column uint32, value string,
) (lines []byte, n int, err error) {
	g := coro.NewGroup(ctx, s)
	wanted := coro.SliceOf([]byte(value))
	var tasks []*coro.Task[Rows]
	for len(table) > 0 && err == nil {
		end := endOfPart(table)
		var task *coro.Task[Rows]
		task, err = Search.Start(g, Query{coro.SliceOf(table[:end]), wanted, column})
		if err == nil {
			tasks = append(tasks, task)
		}
		table = table[end:]
	}
	for _, task := range tasks { // in the order of the parts
		rows, failed := task.Wait(context.Background())
		if failed != nil {
			continue // the Group has the first error
		}
		n += int(rows.N)
		used := rows.Lines.Use(func(found []byte) error {
			lines = append(lines, found...) // found is C's memory, and lent until here
			return nil
		})
		err = errors.Join(err, used, rows.Lines.Free())
	}
	return lines, n, errors.Join(err, g.Wait(context.Background()))
}

// endOfPart is behind an end of a line.
func endOfPart(table []byte) int {
	if len(table) > partBytes {
		if i := bytes.IndexByte(table[partBytes:], '\n'); i >= 0 {
			return partBytes + i + 1
		}
	}
	return len(table)
}
