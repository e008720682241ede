package experiments

import (
	_ "embed"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/organzine/coro/bench/internal/cbody"
)

const sysRust = "rust"

//go:embed rust/ring.rs
var rustSource []byte

// rustRings are threads of Rust's standard library; an event is a channel.
var rustRings = ringSystem{name: sysRust, variant: "threads", posts: 20_000, least: 5,
	bytes: 30_000, most: 800, manyWorkers: true, run: runRust}

// noRust: why there are no rings of Rust; empty: there are.
func noRust() string {
	why := noCompiler("rustc", "")
	if why != "" {
		why += ": sudo apt-get install -y rustc"
	}
	return why
}

// rustProgram builds the program, once in a process.
var rustProgram = sync.OnceValues(func() (*os.File, error) {
	return builtProgram(func(dir, program string) error {
		source := filepath.Join(dir, "ring.rs")
		if err := os.WriteFile(source, rustSource, 0o600); err != nil {
			return err
		}
		return compile("rustc", "-O", "--edition", "2021", "-o", program, source)
	})
})

func runRust(r cbody.Rings) (time.Duration, int64, error) {
	program, err := rustProgram()
	if err != nil {
		return 0, 0, err
	}
	return timedRings("the Rust program", program, r, r.Extra, r.Workers)
}
