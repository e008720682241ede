package experiments

import (
	"context"
	"errors"
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
// in a directory. Their rings are loose: each member is the first to post in one of n rounds, so that
// most waits find a post, and one in eight suspends. They take what became ready last: a ring has
// ended before the next one begins, and so they are beside rows that are lifo. Their time includes
// that of making all members.
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

// buildUsched builds a program as its Makefile does, and opens it: the file itself is gone by then.
// Its sources need stdint.h, which some C libraries do not include by themselves.
func buildUsched(dir, policy string) (*os.File, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	out, err := os.MkdirTemp("", "coro-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(out)
	program, object := filepath.Join(out, "ring"), filepath.Join(out, "usched.o")
	main := policy[:1] + "main.c"
	for _, args := range [][]string{
		{"-fno-stack-protector", "-c", "usched.c", "-o", object},
		{"-O3", "-fno-stack-protector", policy + ".c", object, main, "-pthread", "-o", program},
	} {
		cmd := exec.Command("cc", append([]string{"-include", "stdint.h", "-w"}, args...)...)
		cmd.Dir = dir
		if text, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("usched in %s: %w\n%s", dir, err, text)
		}
	}
	return os.Open(program)
}

func runUsched(program *os.File, r cbody.Rings) (time.Duration, int64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), ringPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/proc/self/fd/3", strconv.Itoa(r.Members),
		strconv.Itoa(r.Rings), strconv.Itoa(r.Rounds), strconv.Itoa(r.Extra),
		strconv.Itoa(r.Workers))
	cmd.ExtraFiles = []*os.File{program}
	out, err := cmd.Output()
	if err != nil {
		return 0, 0, errors.Join(fmt.Errorf("usched: %w", err), ctx.Err())
	}
	seconds, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
	if err != nil || seconds <= 0 {
		return 0, 0, fmt.Errorf("usched printed %q", out)
	}
	return time.Duration(seconds * float64(time.Second)), 0, nil
}
