package experiments

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/organzine/coro/bench/internal/cbody"
)

const sysUsched = "usched"

// uschedRingSystems are the two programs of usched by Nikita Danilov, 2022, built from its sources
// in a directory. Their rings are loose: each member is the first to post in one of n rounds, so
// that most waits find a post, and one in eight suspends. They take what became ready last: a ring
// has ended before the next one begins, and so they are beside rows that are lifo. Their time
// includes that of making all members.
func uschedRingSystems(dir string) (list []ringSystem) {
	for _, policy := range []string{"rr", "ll"} {
		program := sync.OnceValues(func() (*os.File, error) { return buildUsched(dir, policy) })
		list = append(list, ringSystem{name: sysUsched, variant: policy, posts: 4_000_000,
			least: 200, bytes: 700, manyWorkers: true, looseOnly: true,
			run: func(r cbody.Rings) (time.Duration, int64, error) {
				p, err := program()
				if err != nil {
					return 0, 0, err
				}
				return runUsched(p, r)
			}})
	}
	return list
}

// noUsched: why there are no rings of usched; empty: there are.
func noUsched(o RingOptions) string {
	switch {
	case o.Usched == "":
		return "its sources are not there: git clone https://github.com/nikitadanilov/usched, and -usched DIR"
	case !o.LIFO:
		return "it runs one ring after the other: -lifo"
	}
	return ""
}

// buildUsched builds a program as its Makefile does. Its sources need stdint.h, which some C
// libraries do not include by themselves.
func buildUsched(dir, policy string) (*os.File, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	return builtProgram(func(out, program string) error {
		object := filepath.Join(out, "usched.o")
		for _, args := range [][]string{
			{"-fno-stack-protector", "-c", "usched.c", "-o", object},
			{"-O3", "-fno-stack-protector", policy + ".c", object, policy[:1] + "main.c", "-pthread",
				"-o", program},
		} {
			cmd := exec.Command("cc", append([]string{"-include", "stdint.h", "-w"}, args...)...)
			cmd.Dir = dir
			if text, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("usched in %s: %w\n%s", dir, err, text)
			}
		}
		return nil
	})
}

func runUsched(program *os.File, r cbody.Rings) (time.Duration, int64, error) {
	out, err := runProgram("usched", program, r.Members, r.Rings, r.Rounds, r.Extra, r.Workers)
	if err != nil {
		return 0, 0, err
	}
	seconds, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
	if err != nil || seconds <= 0 {
		return 0, 0, fmt.Errorf("usched printed %q", out)
	}
	return time.Duration(seconds * float64(time.Second)), 0, nil
}
