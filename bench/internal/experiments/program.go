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
)

// noCompiler: why the compiler cannot build what includes that header; empty: it can. No header is
// one that every compiler has.
func noCompiler(compiler, header string) string {
	if _, err := exec.LookPath(compiler); err != nil {
		return "there is no " + compiler
	}
	if header == "" {
		return ""
	}
	cmd := exec.Command(compiler, "-E", "-x", "c", "-")
	cmd.Stdin = strings.NewReader("#if !__has_include(<" + header + ">)\n#error\n#endif\n")
	if cmd.Run() != nil {
		return compiler + " finds no " + header
	}
	return ""
}

// compile runs a compiler.
func compile(compiler string, args ...string) error {
	if out, err := exec.Command(compiler, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", compiler, err, out)
	}
	return nil
}

// builtProgram has a program built, in a directory of its own, and opens it: the file itself is
// gone by then.
func builtProgram(build func(dir, program string) error) (*os.File, error) {
	dir, err := os.MkdirTemp("", "coro-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "program")
	if err := build(dir, program); err != nil {
		return nil, err
	}
	return os.Open(program)
}

// runProgram runs an open program with these arguments, and returns what it prints.
func runProgram(name string, program *os.File, args ...int) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), longPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/proc/self/fd/3")
	for _, n := range args {
		cmd.Args = append(cmd.Args, strconv.Itoa(n))
	}
	cmd.ExtraFiles = []*os.File{program}
	out, err := cmd.Output()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), ctx.Err())
	}
	return out, nil
}
