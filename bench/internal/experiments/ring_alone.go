package experiments

import (
	"embed"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/organzine/coro/bench/internal/cbody"
	"github.com/organzine/coro/csrc/base"
	"github.com/organzine/coro/csrc/dispatch"
	"github.com/organzine/coro/csrc/include"
)

//go:embed alone
var aloneSources embed.FS

// aloneRings are those of the policy rr in a program of which one thread runs at a time, so that its
// locks are compiled out.
var aloneRings = ringSystem{name: sysDispatch, variant: "rr without locks", posts: 4_000_000,
	least: 200, bytes: 700, onlySome: true, run: runAlone}

// noAlone: why there are no such rings; empty: there are.
func noAlone() string {
	return noCompiler("cc", "")
}

// aloneProgram builds the program, once in a process: the rooms base and dispatch of the core, with
// another lock.h, which is found first.
var aloneProgram = sync.OnceValues(func() (*os.File, error) {
	return builtProgram(func(dir, program string) error {
		for at, files := range map[string]fs.FS{"core/base": base.Sources,
			"core/dispatch": dispatch.Sources, "include": include.Headers,
			"cbody": cbody.RingPoolSources, "own": aloneSources} {
			if err := os.CopyFS(filepath.Join(dir, at), files); err != nil {
				return err
			}
		}
		if err := os.Remove(filepath.Join(dir, "core/base/lock.h")); err != nil {
			return err
		}
		args := []string{"-std=gnu11", "-D_GNU_SOURCE", "-O2", "-fno-omit-frame-pointer",
			"-pthread", "-I" + filepath.Join(dir, "own/alone"), "-I" + filepath.Join(dir, "core"),
			"-I" + filepath.Join(dir, "include"), "-I" + filepath.Join(dir, "cbody"),
			"-Wl,--wrap=coroi_thread_start,--wrap=coroi_dispatch_sleep_locked," +
				"--wrap=coro_dispatch_pool_wait", "-o", program}
		for _, pattern := range []string{"own/alone/*.c", "cbody/*.c", "core/base/*.c",
			"core/base/*_" + runtime.GOARCH + ".S", "core/dispatch/*.c"} {
			found, err := filepath.Glob(filepath.Join(dir, pattern))
			if err != nil {
				return err
			}
			args = append(args, found...)
		}
		return compile("cc", args...)
	})
})

func runAlone(r cbody.Rings) (time.Duration, int64, error) {
	program, err := aloneProgram()
	if err != nil {
		return 0, 0, err
	}
	return timedRings("rr without locks", program, r, r.Extra)
}
