package main

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/organzine/coro/csrc/include"
	"github.com/organzine/coro/internal/bodygen"
	"github.com/organzine/coro/internal/usage"
)

// tool is the path of this command.
const tool = "github.com/organzine/coro/cmd/coro"

// program holds the files of a first program, each with .txt behind its name.
//
//go:embed program
var program embed.FS

const initHelp = "coro init\n\n" +
	"Start a program in this folder, which must lie in a module and have no Go or C files\n" +
	"yet: coro.h, a C body, Go that runs it, and a test. No file is overwritten.\n\n" +
	"  go mod init example.org/first\n" +
	"  go get -tool " + tool + "\n" +
	"  go tool coro init\n" +
	"  go run .\n"

func initialize(args []string, out io.Writer) error {
	err := usage.ParseFlags(usage.Flags("init"), args, initHelp, out)
	if err == nil {
		err = noCodeHere()
	}
	if err == nil {
		err = toolIsThere()
	}
	if err != nil {
		return err
	}
	if err := writeProgram(out); err != nil {
		return err
	}
	if err := bodygen.Main([]string{"-pkg", "main"}, out); err != nil {
		return fmt.Errorf("bodies_gen.go, which main.go needs, is not written, but "+
			"`go generate` will write it when this is mended: %w", err)
	}
	_, err = fmt.Fprint(out, "wrote bodies_gen.go from body.c; after a change there: go generate\n"+
		"now: go run . and go test . (the first build compiles coro: half a minute)\n")
	return err
}

func writeProgram(out io.Writer) error {
	if err := writeNew("coro.h", []byte(include.Text("coro.h")), out); err != nil {
		return err
	}
	files, err := program.ReadDir("program")
	if err != nil {
		return err
	}
	for _, f := range files {
		text, err := program.ReadFile("program/" + f.Name())
		if err != nil {
			return err
		}
		if err := writeNew(strings.TrimSuffix(f.Name(), ".txt"), text, out); err != nil {
			return err
		}
	}
	return nil
}

// noCodeHere is an error if the folder has a file that would be part of the program, or be in its
// way.
func noCodeHere() error {
	entries, err := os.ReadDir(".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		ext := filepath.Ext(e.Name())
		if slices.Contains([]string{".go", ".c", ".h", ".cc", ".cpp", ".cxx"}, ext) {
			return fmt.Errorf("init: %s is here already: use an empty folder", e.Name())
		}
	}
	return nil
}

// toolIsThere is an error if the module of the folder has no tool line for this command.
func toolIsThere() error {
	path, err := goCommand("env", "GOMOD")
	if err != nil {
		return err
	}
	path = strings.TrimSpace(path)
	if path == "" || path == os.DevNull {
		return errors.New("init: this folder is in no module: " +
			"run go mod init example.org/first")
	}
	text, err := goCommand("mod", "edit", "-json", path)
	if err != nil {
		return err
	}
	var module struct{ Tool []struct{ Path string } }
	if err := json.Unmarshal([]byte(text), &module); err != nil {
		return err
	}
	for _, t := range module.Tool {
		if t.Path == tool {
			return nil
		}
	}
	return fmt.Errorf("init: %s has no tool line for coro: run go get -tool %s", path, tool)
}

// goCommand runs the go command, and returns what it prints.
func goCommand(args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	out, err := cmd.Output()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return "", fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, exit.Stderr)
	case err != nil:
		return "", fmt.Errorf("there is no go command: install Go, or put it into PATH: %w",
			err)
	}
	return string(out), nil
}

// writeNew writes a file that is not there.
func writeNew(name string, text []byte, out io.Writer) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	if _, err = file.Write(text); err != nil {
		file.Close()
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, "wrote", name)
	return err
}
