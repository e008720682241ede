// Package peer is the main function of a peer in Go.
package peer

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/organzine/coro/bench/internal/savina"
)

// Main runs a program of package savina twice, and prints what the second run has measured, as one
// JSON object.
func Main(s savina.System) {
	if err := run(s, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(s savina.System, args []string) error {
	flags := flag.NewFlagSet("peer", flag.ContinueOnError)
	name := flags.String("program", "", "which `program`")
	workers := flags.Int("workers", 1, "GOMAXPROCS")
	scale := flags.Int("scale", 1, "divide the size by this")
	if err := flags.Parse(args); err != nil {
		return err
	}
	runtime.GOMAXPROCS(*workers)
	if _, err := savina.Run(*name, s, *scale); err != nil {
		return err
	}
	debug.FreeOSMemory()
	r, err := savina.Run(*name, s, *scale)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]float64{
		"ns_per_message": float64(r.Took.Nanoseconds()) / float64(r.Messages),
	})
}
