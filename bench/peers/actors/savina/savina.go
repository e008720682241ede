// Package savina has actor programs that are the same for every system. A system only says how an
// actor is spawned, how a message is sent, how one asks, and how all is ended.
//
// The programs and their sizes are those of Savina (Imam, Sarkar: "Savina - An Actor Benchmark
// Suite", AGERE! 2014), a multiple of the size where a run would be shorter than 0.1 s; without the
// messages that end actors. fanin and ask are not Savina's. Every program checks what comes: counts,
// the order of each sender, who answers.
package savina

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"time"
)

// A Msg is 16 bytes without pointers, sent by value. A system that sends `any` boxes it, as its
// users' code does.
type Msg struct {
	Kind uint32
	From int32
	N    int64
}

// An Actor is never called for two messages at once.
type Actor interface {
	Receive(w World, m Msg)
}

// A World is a running system. Actors are numbered from 0, in the order of Spawn.
type World interface {
	Spawn(a Actor) int32 // from outside, by one goroutine
	Send(to int32, m Msg)
	// Ask sends m from outside, by goroutine m.From of Askers, and waits for the answer, for 10 s
	// at most.
	Ask(to int32, m Msg) Msg
	// Reply answers `to`, by the actor that handles it.
	Reply(to Msg, m Msg)
	// Stop ends all. Nothing is sent any more.
	Stop()
}

// Askers is how many goroutines may ask at once; AskLimit for how long each waits.
const (
	Askers   = 64
	AskLimit = 10 * time.Second
)

// A System makes a world with room for n actors.
type System func(n int) World

type result struct {
	messages int64
	took     time.Duration
}

type program struct {
	name string
	run  func(s System, scale int) result
}

var programs = []program{
	{"pingpong", pingPong},
	{"counting", counting},
	{"fjthrput", forkJoin},
	{"threadring", threadRing},
	{"big", big},
	{"chameneos", chameneos},
	{"fanin", fanIn},
	{"ask1", func(s System, scale int) result { return ask(s, 1, 100_000/scale) }},
	{"ask64", func(s System, scale int) result { return ask(s, Askers, 200_000/scale) }},
}

// Main is the main function of a peer: it runs a program twice, and prints what the second run has
// measured, as one JSON object.
func Main(s System) {
	if err := run(s, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(s System, args []string) error {
	flags := flag.NewFlagSet("peer", flag.ContinueOnError)
	name := flags.String("program", "", "which `program`")
	workers := flags.Int("workers", 1, "GOMAXPROCS")
	scale := flags.Int("scale", 1, "divide the size by this")
	if err := flags.Parse(args); err != nil {
		return err
	}
	runtime.GOMAXPROCS(*workers)
	for _, p := range programs {
		if p.name != *name {
			continue
		}
		p.run(s, *scale)
		runtime.GC()
		debug.FreeOSMemory()
		r := p.run(s, *scale)
		return json.NewEncoder(os.Stdout).Encode(map[string]float64{
			"ns_per_message": float64(r.took.Nanoseconds()) / float64(r.messages),
		})
	}
	return errors.New("-program " + *name + ": there is none of that name")
}

// check ends the process: a system that loses, doubles or reorders messages has no figures.
func check(ok bool, format string, args ...any) {
	if !ok {
		fmt.Fprintf(os.Stderr, "wrong: "+format+"\n", args...)
		os.Exit(1)
	}
}
