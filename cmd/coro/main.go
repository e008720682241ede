// Command coro helps to build programs that bring C coroutines of their own.
//
//	coro header [-o file]   write coro.h as one file
//	coro header-io [-o file]   write coro_io.h, which includes coro.h: sockets and files
//	coro header-actor [-o file]   write coro_actor.h, which includes coro.h: actors in C
//	coro gdb [-o file]      write coro-gdb.py, commands for gdb that show coroutines
//	coro info               tell what the C core finds here
//	coro gen                write Go for the C bodies that CORO_BODY defines
//
// A module keeps the command in a tool line of its go.mod, so that its version is that of the
// module coro, and go mod vendor vendors it:
//
//	go get -tool github.com/organzine/coro/cmd/coro
//	go tool coro header
//
// A module that imports coro links its C symbols, but has no include path to its header. Write the
// header beside the cgo files that need it, and commit it with them. After an update of coro write
// it again: a program with a copy that does not fit does not link, and the linker's message says so
// (CORO_VERSION).
//
// # Go for C bodies
//
//	//go:generate go tool coro gen -o bodies_gen.go bodies.c -- -DNDEBUG
//
// Coro gen compiles the C files, by default all of the folder, and reads the debug information. It
// writes one Go file: a coro.Func for each body that CORO_BODY defines, and Go types with the
// layout of the C structs and enums that the bodies take and return, with their comments. The file
// does not compile where a size or an offset is another in C or in Go. docs/typed.md has more.
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
// The compiler is $CC, or that of the go command. It gets $CGO_CPPFLAGS, $CGO_CFLAGS, and what
// comes after --. The #cgo lines of Go files are not read: give their -I and -D again.
package main

import (
	"context"
	_ "embed"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/organzine/coro"
	"github.com/organzine/coro/csrc"
	"github.com/organzine/coro/internal/bodygen"
)

// gdbScript holds the commands for gdb.
//
//go:embed coro-gdb.py
var gdbScript string

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "coro:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	if len(args) == 0 {
		return fmt.Errorf("usage: coro header [-o file] | coro header-io [-o file] | "+
			"coro header-actor [-o file] | coro gdb [-o file] | coro info | %s", bodygen.Usage)
	}
	switch args[0] {
	case "header":
		_, err := write("header", "coro.h", csrc.Header(), args[1:], out)
		return err
	case "header-io":
		_, err := write("header-io", "coro_io.h", csrc.HeaderIO(), args[1:], out)
		return err
	case "header-actor":
		_, err := write("header-actor", "coro_actor.h", csrc.HeaderActor(), args[1:], out)
		return err
	case "gdb":
		name, err := write("gdb", "coro-gdb.py", gdbScript, args[1:], out)
		if err == nil && name != "-" {
			_, err = fmt.Fprintf(out,
				"wrote %s; in gdb: source %[1]s, then: help coro\n", name)
		}
		return err
	case "info":
		return info(out)
	case "gen":
		return bodygen.Main(args[1:], os.Stderr)
	}
	return fmt.Errorf("unknown command %q: use header, header-io, header-actor, gdb, info or gen", args[0])
}

// write writes the text to the file that the arguments of a command name, or else to the file
// usual. It returns the name; "-" is out.
func write(command, usual, text string, args []string, out io.Writer) (string, error) {
	flags := flag.NewFlagSet(command, flag.ContinueOnError)
	name := flags.String("o", usual, "file to write; - for standard output")
	if err := flags.Parse(args); err != nil {
		return "", err
	}
	if flags.NArg() > 0 {
		return "", fmt.Errorf("%s: unexpected argument %q", command, flags.Arg(0))
	}
	if *name == "-" {
		_, err := io.WriteString(out, text)
		return *name, err
	}
	return *name, os.WriteFile(*name, []byte(text), 0o666)
}

func info(out io.Writer) error {
	s, err := coro.New()
	if err != nil {
		return err
	}
	st := s.Stats()
	fmt.Fprintf(out, "workers      %d (GOMAXPROCS)\n", st.Workers)
	fmt.Fprintf(out, "doors        %s\n", choose(st.Membarrier, "asymmetric (membarrier)",
		"exchange: membarrier is refused here, a switch costs about 5 ns more"))
	fmt.Fprintf(out, "guards       %s\n", choose(st.LightGuards,
		"MADV_GUARD_INSTALL: no mapping each",
		"mprotect: two mappings a stack, limited by vm.max_map_count"))
	fmt.Fprintf(out, "stack        %d bytes by default, %d to %d\n", coro.StackDefault,
		coro.StackMin, coro.StackMax)
	fmt.Fprintf(out, "inline       %d bytes of argument, and of result\n", coro.InlineBytes)
	return s.Close(context.Background())
}

func choose(ok bool, yes, no string) string {
	if ok {
		return yes
	}
	return no
}
