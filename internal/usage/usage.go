// Package usage has what the commands of cmd/coro share: their flags, their help, and the error of
// arguments that are wrong.
package usage

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
)

// An Error says which arguments of a command are wrong.
type Error struct {
	Command string // "": of coro itself
	Text    string
}

func (e *Error) Error() string {
	if e.Command == "" {
		return e.Text + ": see coro help"
	}
	return fmt.Sprintf("%s: %s: see coro help %[1]s", e.Command, e.Text)
}

// Flags is an empty set of flags of a command.
func Flags(command string) *flag.FlagSet {
	set := flag.NewFlagSet(command, flag.ContinueOnError)
	set.SetOutput(io.Discard)
	return set
}

// Parse reads the flags of a command. If they ask for help, that is written to out, with the
// explanation of the flags below it, and the error is flag.ErrHelp. Any other error is an *Error.
func Parse(set *flag.FlagSet, args []string, help string, out io.Writer) error {
	err := set.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintf(out, "usage: %s\n", strings.TrimSpace(help))
		set.SetOutput(out)
		set.PrintDefaults()
		return flag.ErrHelp
	case err != nil:
		return &Error{set.Name(), err.Error()}
	}
	return nil
}

// ParseFlags is Parse for a command that takes flags alone.
func ParseFlags(set *flag.FlagSet, args []string, help string, out io.Writer) error {
	if err := Parse(set, args, help, out); err != nil {
		return err
	}
	if set.NArg() == 0 {
		return nil
	}
	return &Error{set.Name(), fmt.Sprintf("unexpected argument %q", set.Arg(0))}
}
