// Command postgres has 1000 connections of libpq, the C library of PostgreSQL, wait for their
// server at once, each in a C coroutine, on two threads. Beside that it does the same with calls of
// libpq that block, and with pgx, which is written in Go.
//
//	make run     tables
//	make test    the tests
//
// pq.c has the C bodies, bodies.go calls them, systems.go has the three ways, and server.sh starts
// a server.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"syscall"
	"text/tabwriter"
	"time"
)

func main() {
	log.SetFlags(0)
	connections := flag.Int("connections", 1000, "how many; at most 1000")
	rounds := flag.Int("rounds", 3, "how often each system is measured, in a process of its own")
	name := flag.String("system", "", "measure this system alone, in this process: coro, cgo or pgx")
	conninfo := flag.String("conninfo", "", "with -system: where the server is")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	err := errors.New("-connections is 1 to 1000, and -rounds 1 or more")
	switch {
	case *connections < 1 || *connections > 1000 || *rounds < 1:
	case *name != "":
		err = measure(ctx, *name, *conninfo, *connections)
	default:
		err = compare(ctx, os.Stdout, *connections, *rounds)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// A result is what a process has measured. Threads and memory are those beyond the idle program.
type result struct {
	Time    time.Duration // until all queries of one run were answered
	Threads int
	KiB     int
}

const (
	sleepQuery = "SELECT pg_sleep(0.1)"
	runs       = 9
)

// measure measures one system in this process, and writes a result to stdout.
func measure(ctx context.Context, name, conninfo string, connections int) error {
	newSystem, ok := systems[name]
	if !ok {
		return fmt.Errorf("no system %q", name)
	}
	watch := startWatch()
	s, err := newSystem(ctx, conninfo, connections)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	var times []time.Duration
	for i := range runs + 1 {
		start := time.Now()
		if err := s.query(ctx, sleepQuery); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if i > 0 { // the first one warms up
			times = append(times, time.Since(start))
		}
	}
	r := result{Time: median(times)}
	r.Threads, r.KiB = watch.end()
	if err := s.close(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

// compare has each system measured in processes of its own, by turns, and prints the medians.
func compare(ctx context.Context, out io.Writer, connections, rounds int) (err error) {
	server, err := startServer()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.stop(), server.remove()) }()

	self, err := os.Executable()
	if err != nil {
		return err
	}
	names := []string{"coro", "pgx", "cgo"}
	results := map[string][]result{}
	for range rounds {
		for _, name := range names {
			c := exec.CommandContext(ctx, self, "-system", name, "-conninfo",
				server.conninfo(), "-connections", strconv.Itoa(connections))
			c.Stderr = os.Stderr
			text, err := c.Output()
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			var r result
			if err := json.Unmarshal(text, &r); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			results[name] = append(results[name], r)
		}
	}
	fmt.Fprintf(out, "%s at once on each of %d connections; medians of %d rounds\n\n",
		sleepQuery, connections, rounds)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\ttime\tof pgx's\tthreads more\tmemory more")
	pgx := median(field(results["pgx"], func(r result) time.Duration { return r.Time }))
	for _, name := range names {
		t := median(field(results[name], func(r result) time.Duration { return r.Time }))
		threads := median(field(results[name], func(r result) int { return r.Threads }))
		kib := median(field(results[name], func(r result) int { return r.KiB }))
		fmt.Fprintf(w, "%s\t%.0f ms\t%.2f\t%d\t%.1f MiB\n", name, 1e3*t.Seconds(),
			float64(t)/float64(pgx), threads, float64(kib)/1024)
	}
	return w.Flush()
}

func field[T any](results []result, of func(result) T) (values []T) {
	for _, r := range results {
		values = append(values, of(r))
	}
	return values
}

func median[T int | time.Duration](values []T) T {
	slices.Sort(values)
	return values[len(values)/2]
}
