package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/organzine/coro/csrc/include"
	"github.com/organzine/coro/internal/usage"
)

const headerHelp = "coro header [-check] [-dir folder] [header]...\n\n" +
	"Write coro.h, the headers that are named (coro_io.h: sockets and files; coro_actor.h:\n" +
	"actors in C), and those of coro that lie in the folder already.\n\n"

func writeHeaders(args []string, out io.Writer) error {
	set := usage.Flags("header")
	dir := set.String("dir", ".", "`folder` to write into")
	check := set.Bool("check", false, "do not write, but fail if a file is stale")
	if err := usage.Parse(set, args, headerHelp, out); err != nil {
		return err
	}
	for _, name := range set.Args() {
		if !slices.Contains(include.Names, name) {
			return &usage.Error{Command: "header", Text: fmt.Sprintf(
				"there is no header %q, but %s", name,
				strings.Join(include.Names, ", "))}
		}
	}
	for i, name := range include.Names {
		file := filepath.Join(*dir, name)
		have, err := os.ReadFile(file)
		if i > 0 && !slices.Contains(set.Args(), name) && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		text := include.Text(name)
		switch {
		case !*check:
			err = writeHeader(file, text, out)
		case err == nil && string(have) != text:
			err = fmt.Errorf("%s is stale: coro is of another version: run coro header", file)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func writeHeader(file, text string, out io.Writer) error {
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "wrote %s of coro %s, CORO_VERSION %s\n", file, moduleVersion(),
		include.Version())
	return err
}
