package main

import (
	"context"
	"debug/elf"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/organzine/coro/bench/internal/policies"
)

// A way says which bench program the sides are built with.
type way struct {
	name, about string
	paths       []string // of the work tree, that take the place of a side's own
}

// The ways, the best first. The next one is for when the one before does not compile with either
// core, or fails: files and functions get other names over time.
var ways = []way{
	{"work", "the work tree's bench, on both sides", []string{"bench"}},
	{"harness", "each side's own experiments, run by the work tree's harness",
		[]string{"bench/main.go", "bench/internal/harness"}},
	{"own", "each side's own bench", nil},
}

// cores are the directories that a tree may have the package in that compiles the core, the newest
// first.
var cores = []string{"internal/core", "csrc"}

//go:embed graft
var graft embed.FS

// A workshop builds benches, in a directory of its own.
type workshop struct {
	root string // of the repository
	dir  string // of its own
}

// A pair is both sides, at one padding.
type pair struct {
	padding  int
	old, new *bench
}

// A recipe is what the sides are built from, and with.
type recipe struct {
	old, new source
	paddings []int
	plant    int // percent by which yields of new are slowed down; less than 0: none are
}

// build makes all pairs. The sides are built at the same place, one after the other, so that what
// is the same comes out the same to the byte.
func (w workshop) build(ctx context.Context, r recipe, by way) ([]pair, error) {
	here := filepath.Join(w.dir, "here")
	if _, err := os.Stat(here); err != nil {
		if err := copyWorkTree(ctx, w.root, here); err != nil {
			return nil, err
		}
	}
	pairs := make([]pair, len(r.paddings))
	for side, s := range []source{r.old, r.new} {
		tree := filepath.Join(w.dir, "tree")
		if err := w.lay(ctx, s, by, tree); err != nil {
			return nil, err
		}
		for i, padding := range r.paddings {
			plant := r.plant
			if plant > 0 && side == 0 {
				plant = 0
			}
			binary := filepath.Join(w.dir, fmt.Sprintf("bench-%d-%d", side, padding))
			b, err := compile(ctx, tree, binary, padding, plant)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.name, err)
			}
			pairs[i].padding = padding
			if side == 0 {
				pairs[i].old = b
			} else {
				pairs[i].new = b
			}
		}
	}
	return pairs, nil
}

// lay makes a source's tree, without a policy if that is asked for.
func (w workshop) lay(ctx context.Context, s source, by way, tree string) error {
	if err := w.layAll(ctx, s, by, tree); err != nil || s.without == "" {
		return err
	}
	return policies.SwitchOff(tree, s.without)
}

// layAll unpacks a source to tree, with the work tree's files in place of some of its own.
func (w workshop) layAll(ctx context.Context, s source, by way, tree string) error {
	if err := os.RemoveAll(tree); err != nil {
		return err
	}
	here := filepath.Join(w.dir, "here")
	if s.commit == "" {
		return os.CopyFS(tree, os.DirFS(here))
	}
	if err := s.unpack(ctx, w.root, tree); err != nil {
		return err
	}
	for _, path := range by.paths {
		from, to := filepath.Join(here, path), filepath.Join(tree, path)
		if err := os.RemoveAll(to); err != nil {
			return err
		}
		info, err := os.Stat(from)
		if err != nil {
			return err
		}
		if info.IsDir() {
			err = os.CopyFS(to, os.DirFS(from))
		} else {
			err = copyFile(from, to)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// compile builds the bench in tree, with a padding and a planted slow-down.
func compile(ctx context.Context, tree, binary string, padding, plant int) (*bench, error) {
	for _, core := range cores {
		dir := filepath.Join(tree, core)
		if units, _ := filepath.Glob(filepath.Join(dir, "kernel*.c")); len(units) == 0 {
			continue
		}
		if err := addGraft(dir, padding, plant); err != nil {
			return nil, err
		}
		break
	}
	args := []string{"build", "-trimpath", "-buildvcs=false", "-o", binary, "./bench"}
	cmd := command(ctx, tree, "go", args...)
	cmd.Env = append(os.Environ(), "GOWORK=")
	if _, err := output(cmd); err != nil {
		return nil, err
	}
	if err := checkPads(binary, padding); err != nil {
		return nil, err
	}
	return openBench(ctx, binary)
}

// addGraft puts files into the core's package, and takes away those of the build before.
func addGraft(dir string, padding, plant int) error {
	const prefix = "compare_graft"
	for _, name := range []string{".go", "_pad.h", "_plant.c"} {
		if err := os.RemoveAll(filepath.Join(dir, prefix+name)); err != nil {
			return err
		}
	}
	text := "package " + filepath.Base(dir) + "\n\n"
	add := func(from, to, head string) error {
		data, err := graft.ReadFile("graft/" + from)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, prefix+to), append([]byte(head), data...),
			0o644)
	}
	if padding > 0 {
		const line = "// #cgo CFLAGS: -DCOMPARE_PAD=%d -include ${SRCDIR}/%s_pad.h\n"
		text += fmt.Sprintf(line, padding, prefix)
		if err := add("pad.h", "_pad.h", ""); err != nil {
			return err
		}
	}
	if plant >= 0 {
		text += "// #cgo LDFLAGS: -Wl,--wrap=coro_yield\n"
		percent := fmt.Sprintf("#define PLANT_PERCENT %d\n", plant)
		if err := add("plant.c", "_plant.c", percent); err != nil {
			return err
		}
	}
	if padding == 0 && plant < 0 {
		return nil
	}
	return os.WriteFile(filepath.Join(dir, prefix+".go"), []byte(text+"import \"C\"\n"), 0o644)
}

// checkPads finds the pads in a binary: one in each unit of the core, and all as long as they
// should be.
func checkPads(binary string, padding int) error {
	f, err := elf.Open(binary)
	if err != nil {
		return err
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		return err
	}
	pads := 0
	for _, s := range symbols {
		if strings.HasPrefix(s.Name, "coroi_compare_pad") {
			pads++
			if s.Size != uint64(padding) {
				return fmt.Errorf("a padding of %d bytes is %d", padding, s.Size)
			}
		}
	}
	if padding > 0 && pads == 0 {
		return fmt.Errorf("a padding of %d bytes is not in the program", padding)
	}
	return nil
}
