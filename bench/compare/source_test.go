package main

import (
	"context"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// repository makes one of a commit and a work tree that differs from it, and returns its root.
func repository(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	write(t, root, map[string]string{"kept": "old", "deleted": "old",
		"dir/run.sh": "#!/bin/sh\n", ".gitignore": "ignored\n"})
	require.NoError(t, os.Chmod(filepath.Join(root, "dir/run.sh"), 0o755))
	require.NoError(t, os.Symlink("kept", filepath.Join(root, "link")))
	for _, args := range [][]string{
		{"init", "-q"}, {"add", "-A"},
		{"-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-q", "-m",
			"first: of all"},
	} {
		_, err := git(context.Background(), root, args...)
		require.NoError(t, err)
	}
	write(t, root, map[string]string{"kept": "new", "dir/untracked": "new", "ignored": "new"})
	require.NoError(t, os.Remove(filepath.Join(root, "deleted")))
	return root
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	require.NoError(t, err)
	return string(data)
}

func TestCommitIsUnpacked(t *testing.T) {
	root, dir := repository(t), filepath.Join(t.TempDir(), "x")
	s, err := resolve(t.Context(), root, "HEAD")
	require.NoError(t, err)
	assert.Contains(t, s.name, "first: of all")
	require.NoError(t, s.unpack(t.Context(), root, dir))
	assert.Equal(t, "old", read(t, dir, "kept"))
	assert.Equal(t, "old", read(t, dir, "deleted"))
	assert.Equal(t, "old", read(t, dir, "link"))
	assert.NoFileExists(t, filepath.Join(dir, "dir/untracked"))
	info, err := os.Stat(filepath.Join(dir, "dir/run.sh"))
	require.NoError(t, err)
	assert.NotZero(t, info.Mode()&0o100)
}

func TestWorkTreeIsCopied(t *testing.T) {
	root := repository(t)
	for _, arg := range []string{"", ".", "worktree"} {
		dir := filepath.Join(t.TempDir(), "x")
		s, err := resolve(t.Context(), root, arg)
		require.NoError(t, err)
		require.NoError(t, s.unpack(t.Context(), root, dir))
		assert.Equal(t, "new", read(t, dir, "kept"))
		assert.Equal(t, "new", read(t, dir, "dir/untracked"))
		assert.Equal(t, "new", read(t, dir, "link"))
		assert.NoFileExists(t, filepath.Join(dir, "deleted"))
		assert.NoFileExists(t, filepath.Join(dir, "ignored"))
	}
	status, err := git(t.Context(), root, "worktree", "list")
	require.NoError(t, err)
	assert.Equal(t, 1, strings.Count(string(status), "\n"), "the repository is as it was")
}

func TestWhatIsNoCommit(t *testing.T) {
	root := repository(t)
	for _, arg := range []string{"nothing", "--all", "HEAD:kept"} {
		_, err := resolve(t.Context(), root, arg)
		assert.ErrorContains(t, err, arg)
	}
}

// A way puts the work tree's files in the place of a commit's, and takes away what is no longer
// there.
func TestLayReplacesPaths(t *testing.T) {
	root := repository(t)
	w := workshop{root: root, dir: t.TempDir()}
	require.NoError(t, copyWorkTree(t.Context(), root, filepath.Join(w.dir, "here")))
	s, err := resolve(t.Context(), root, "HEAD")
	require.NoError(t, err)
	tree := filepath.Join(w.dir, "tree")
	require.NoError(t, w.lay(t.Context(), s, way{paths: []string{"dir"}}, tree))
	assert.Equal(t, "new", read(t, tree, "dir/untracked"))
	assert.Equal(t, "old", read(t, tree, "kept"))
	require.NoError(t, w.lay(t.Context(), s, way{}, tree))
	assert.NoFileExists(t, filepath.Join(tree, "dir/untracked"))
	require.NoError(t, w.lay(t.Context(), s, way{paths: []string{"kept"}}, tree))
	assert.Equal(t, "new", read(t, tree, "kept"))
}

// The code after a pad lies as much further on, in C and in assembly.
func TestPadMovesCode(t *testing.T) {
	dir := t.TempDir()
	pad, err := graft.ReadFile("graft/pad.h")
	require.NoError(t, err)
	write(t, dir, map[string]string{
		"pad.h": string(pad),
		"c.c":   "int first(int x) { return x + 1; }\nint second(int x) { return x * first(x); }\n",
		"s.S":   ".text\n.globl second\n.type second, %function\nsecond:\n.skip 4\n.size second, 4\n",
	})
	for _, name := range []string{"c.c", "s.S"} {
		var at []uint64
		for _, padding := range []int{0, 16, 48} {
			object := filepath.Join(dir, "x.o")
			args := []string{"-O2", "-c", fmt.Sprintf("-DCOMPARE_PAD=%d", padding),
				"-include", filepath.Join(dir, "pad.h"), "-o", object,
				filepath.Join(dir, name)}
			out, err := exec.Command("cc", args...).CombinedOutput()
			require.NoError(t, err, "%s", out)
			at = append(at, placeOf(t, object, "second"))
			require.NoError(t, checkPads(object, padding))
			assert.Error(t, checkPads(object, padding+16))
		}
		assert.Equal(t, []uint64{16, 48}, []uint64{at[1] - at[0], at[2] - at[0]}, name)
	}
}

func placeOf(t *testing.T, object, name string) uint64 {
	t.Helper()
	f, err := elf.Open(object)
	require.NoError(t, err)
	defer f.Close()
	symbols, err := f.Symbols()
	require.NoError(t, err)
	for _, s := range symbols {
		if s.Name == name {
			return s.Value
		}
	}
	require.Fail(t, "no "+name)
	return 0
}

func TestGraftIsAddedAndTakenAway(t *testing.T) {
	dir := t.TempDir()
	names := func() (out []string) {
		list, err := os.ReadDir(dir)
		require.NoError(t, err)
		for _, f := range list {
			out = append(out, f.Name())
		}
		return out
	}
	require.NoError(t, addGraft(dir, 32, 5))
	all := []string{"compare_graft.go", "compare_graft_pad.h", "compare_graft_plant.c"}
	assert.Equal(t, all, names())
	assert.Contains(t, read(t, dir, "compare_graft.go"), "-DCOMPARE_PAD=32 ")
	assert.Contains(t, read(t, dir, "compare_graft_plant.c"), "#define PLANT_PERCENT 5\n")
	require.NoError(t, addGraft(dir, 0, 0))
	assert.Equal(t, []string{"compare_graft.go", "compare_graft_plant.c"}, names())
	require.NoError(t, addGraft(dir, 0, -1))
	assert.Empty(t, names())
}
