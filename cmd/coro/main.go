// Command coro helps to build programs that bring C coroutines of their own.
//
//	coro init      start a program with a C body in this folder
//	coro header    write coro.h and the other headers beside C code
//	coro gen       write Go for the C bodies that CORO_BODY defines
//	coro gdb       write coro-gdb.py, commands for gdb that show coroutines
//	coro doctor    look whether coro works here, and what is missing
//	coro version   print the versions of coro and of its headers
//	coro help      explain a command
//
// A module keeps the command in a tool line of its go.mod, so that its version is that of the
// module coro, and go mod vendor vendors it:
//
//	go mod init example.org/first
//	go get -tool github.com/organzine/coro/cmd/coro
//	go tool coro init
//	go run .
//
// The status is 0; 1 if the command fails; 2 if its arguments are wrong. Gen and init need a C
// compiler, and doctor looks for one.
//
// # Headers
//
// A module that imports coro links its C symbols, but has no include path to its headers. Coro
// header writes coro.h into a folder, with the headers that it is told the names of (coro_io.h:
// sockets and files; coro_actor.h: actors in C), and those of coro that lie there already. Commit
// them with the C files. After an update of coro write them again: a program with a copy that does
// not fit does not link, and the linker's message says so (CORO_VERSION).
//
//	coro header               coro.h, and what is there already
//	coro header coro_io.h     coro_io.h, too
//	coro header -dir bodies   into another folder
//	coro header -check        write nothing, and fail if a file is not what would be written
//
// # Go for C bodies
//
//	//go:generate go tool coro gen -o bodies_gen.go bodies.c -- -DNDEBUG
//
// Coro gen compiles the C and C++ files, by default all of the folder, and reads the debug
// information. It writes one Go file: a coro.Func for each body that CORO_BODY defines, and Go
// types with the layout of the C structs and enums that the bodies take and return, with their
// comments. The file does not compile where a size or an offset is another in C or in Go.
// docs/typed.md has more.
//
//	-o file          the Go file, by default bodies_gen.go
//	-check           write nothing, and fail if the file is not what would be written
//	-pkg name        the Go package, by default $GOPACKAGE, or that of the folder's Go files
//	-name C=Go       the Go name of a body or a type, by default the C name in Go's capitals
//	-skip body       leave a body out
//	-type C          the Go type of a struct or an enum that no body has: -type "struct figures"
//	-include header  a header for the Go file to include besides those that have the structs
//	-linked          bodies of files that cgo does not compile are linked in another way
//
// The compiler is $CC, for C++ $CXX, or that of the go command. It gets $CGO_CPPFLAGS,
// $CGO_CFLAGS, for C++ $CGO_CXXFLAGS, and what comes after --. The #cgo lines of Go files are not
// read: give their -I and -D again.
//
// # What works here
//
// Coro doctor tells system, Go, cgo and the C compiler, what the kernel has that coro makes use of,
// and the limits that a program with many coroutines meets: a line each, with the remedy. "FAIL" is
// what keeps coro from working, "slow" what it does without. It fails if any line does.
package main

import (
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/organzine/coro/csrc/include"
	"github.com/organzine/coro/internal/bodygen"
	"github.com/organzine/coro/internal/usage"
)

// gdbScript holds the commands for gdb.
//
//go:embed coro-gdb.py
var gdbScript string

// A command is given the arguments behind its name.
type command struct {
	name, does string
	run        func(args []string, out io.Writer) error
}

func commands() []command {
	return []command{
		{"init", "start a program with a C body in this folder", initialize},
		{"header", "write coro.h and the other headers beside C code", writeHeaders},
		{"gen", "write Go for the C bodies that CORO_BODY defines", bodygen.Main},
		{"gdb", "write coro-gdb.py, commands for gdb that show coroutines", writeGDB},
		{"doctor", "look whether coro works here, and what is missing", doctor},
		{"version", "print the versions of coro and of its headers", printVersion},
		{"help", "explain a command: coro help gen", help},
	}
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run returns the status.
func run(args []string, out, messages io.Writer) int {
	err := dispatch(args, out)
	var wrong *usage.Error
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return 0
	case errors.As(err, &wrong):
		fmt.Fprintln(messages, "coro:", err)
		return 2
	}
	fmt.Fprintln(messages, "coro:", err)
	return 1
}

func dispatch(args []string, out io.Writer) error {
	if len(args) == 0 {
		return &usage.Error{Text: "the command is missing"}
	}
	name, args := args[0], args[1:]
	switch name {
	case "-h", "-help", "--help":
		name = "help"
	case "-version", "--version":
		name = "version"
	}
	for _, c := range commands() {
		if c.name == name {
			return c.run(args, out)
		}
	}
	return &usage.Error{Text: fmt.Sprintf("there is no command %q", name)}
}

func help(args []string, out io.Writer) error {
	set := usage.Flags("help")
	if err := usage.Parse(set, args, "coro help [command]", out); err != nil {
		return err
	}
	switch set.NArg() {
	case 0:
		fmt.Fprint(out, "Coro helps to build programs with C coroutines of their own.\n\n")
		for _, c := range commands() {
			fmt.Fprintf(out, "  coro %-8s  %s\n", c.name, c.does)
		}
		return nil
	case 1:
		return dispatch([]string{set.Arg(0), "-h"}, out)
	}
	return &usage.Error{Command: "help", Text: "give the name of one command"}
}

func printVersion(args []string, out io.Writer) error {
	if err := usage.ParseFlags(usage.Flags("version"), args, "coro version", out); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "coro %s, headers with CORO_VERSION %s\n", moduleVersion(),
		include.Version())
	return err
}

// moduleVersion is the version of the module coro: "(devel)" in its own tree.
func moduleVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}

func writeGDB(args []string, out io.Writer) error {
	set := usage.Flags("gdb")
	name := set.String("o", "coro-gdb.py", "`file` to write; - for standard output")
	err := usage.ParseFlags(set, args, "coro gdb [-o file]\n\n"+
		"Write commands for gdb that list coroutines and show their stacks.\n", out)
	if err != nil {
		return err
	}
	if *name == "-" {
		_, err := io.WriteString(out, gdbScript)
		return err
	}
	if err := os.WriteFile(*name, []byte(gdbScript), 0o666); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "wrote %s; in gdb: source %[1]s, then: help coro\n", *name)
	return err
}
