// Package savina has actor programs that are the same for every system in Go. A system only says
// how an actor is spawned, how a message is sent, how one asks, and how all is ended.
//
// The programs and their sizes are those of Savina (Imam, Sarkar: "Savina - An Actor Benchmark
// Suite", AGERE! 2014), a multiple of the size where a run would be shorter than 0.1 s; without
// the messages that end actors. fanin and ask are not Savina's. Every program checks what comes:
// counts, the order of each sender, and the answers. It ends the process if a system loses,
// doubles or reorders messages: such a system has no figures.
package savina

import (
	"fmt"
	"os"
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
	// Ask sends m from outside, by goroutine m.From of Askers, and waits for the answer.
	Ask(to int32, m Msg) Msg
	// Reply answers `to`, by the actor that handles it.
	Reply(to Msg, m Msg)
	// Stop ends all. Nothing is sent any more.
	Stop() error
}

// Askers is how many goroutines may ask at once; AskLimit for how long each waits.
const (
	Askers   = 64
	AskLimit = 10 * time.Second
)

// A System makes a world with room for n actors.
type System func(n int) (World, error)

// A Result is what a program has done.
type Result struct {
	Messages int64
	Took     time.Duration
}

type program struct {
	actors int
	run    func(w World, scale int) Result
}

var programs = map[string]program{
	"pingpong":   {2, pingPong},
	"counting":   {2, counting},
	"fjthrput":   {joiners, forkJoin},
	"threadring": {ringers, threadRing},
	"big":        {talkers + 1, big},
	"chameneos":  {creatures + 1, chameneos},
	"fanin":      {feeders + 1, fanIn},
	"ask1":       {1, func(w World, scale int) Result { return ask(w, 1, asks/scale) }},
	"ask64":      {Askers, func(w World, scale int) Result { return ask(w, Askers, asks/scale) }},
}

// Run runs the program of that name in a world of its own. The program's size is divided by scale.
func Run(name string, s System, scale int) (Result, error) {
	p, ok := programs[name]
	if !ok {
		return Result{}, fmt.Errorf("savina: there is no program %q", name)
	}
	w, err := s(p.actors)
	if err != nil {
		return Result{}, err
	}
	r := p.run(w, scale)
	return r, w.Stop()
}

// wrong ends the process. It is called behind an `if`, so that arguments are boxed there alone.
func wrong(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "savina: "+format+"\n", args...)
	os.Exit(1)
}
