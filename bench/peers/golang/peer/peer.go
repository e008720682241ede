// Package peer is what the peers in Go share: their arguments, and how they tell.
package peer

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"
)

// Spawn is the main function of a program with the arguments
//
//	spawn VARIANT WORKERS N
//
// It calls spawn for n twice on that number of Ps, and prints what the second call has returned:
// how long the spawns took, and from then until all have ended. The version is that of the module.
func Spawn(module string, spawn func(n int) (spawned, ran time.Duration)) {
	workers, n := arguments("spawn", "WORKERS", "N")
	runtime.GOMAXPROCS(workers)
	spawn(n)
	debug.FreeOSMemory()
	spawned, ran := spawn(n)
	tell(map[string]any{"version": Version(module), "spawn_ms": ms(spawned), "run_ms": ms(ran),
		"total_ms": ms(spawned + ran)})
}

// Switch is the main function of a program with the arguments
//
//	switching VARIANT N SWITCHES
//
// It calls run for n coroutines twice on one P, and prints the time of a switch of the second call.
func Switch(run func(n, switches int) (took time.Duration, done int)) {
	n, switches := arguments("switching", "N", "SWITCHES")
	runtime.GOMAXPROCS(1)
	run(n, switches)
	took, done := run(n, switches)
	tell(map[string]any{"version": runtime.Version(),
		"ns_per_switch": float64(took.Nanoseconds()) / float64(done)})
}

// Version names a module that the program is built with.
func Version(module string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == module {
				return m.Path + " " + m.Version + ", " + runtime.Version()
			}
		}
	}
	return module
}

func arguments(what, first, second string) (a, b int) {
	if len(os.Args) == 5 && os.Args[1] == what {
		var errA, errB error
		a, errA = strconv.Atoi(os.Args[3])
		b, errB = strconv.Atoi(os.Args[4])
		if errA == nil && errB == nil && a > 0 && b > 0 {
			return a, b
		}
	}
	fmt.Fprintf(os.Stderr, "want: %s VARIANT %s %s\n", what, first, second)
	os.Exit(1)
	return 0, 0
}

func tell(told map[string]any) {
	if err := json.NewEncoder(os.Stdout).Encode(told); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func ms(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }
