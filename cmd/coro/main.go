// Command coro helps to build programs that bring C coroutines of their own.
//
//	go run github.com/organzine/coro/cmd/coro header [-o file]   write coro.h as one file
//	go run github.com/organzine/coro/cmd/coro info               tell what the C core finds here
//
// A module that imports coro links its C symbols, but has no include path to its header. Write the
// header beside the cgo files that need it, and commit it with them. It changes only with the
// version of coro.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/organzine/coro"
	"github.com/organzine/coro/csrc"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "coro:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	if len(args) == 0 {
		return fmt.Errorf("usage: coro header [-o file] | coro info")
	}
	switch args[0] {
	case "header":
		return header(args[1:], out)
	case "info":
		return info(out)
	}
	return fmt.Errorf("unknown command %q: use header or info", args[0])
}

func header(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("header", flag.ContinueOnError)
	name := flags.String("o", "coro.h", "file to write; - for standard output")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("header: unexpected argument %q", flags.Arg(0))
	}
	if *name == "-" {
		_, err := io.WriteString(out, csrc.Header())
		return err
	}
	return os.WriteFile(*name, []byte(csrc.Header()), 0o666)
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
