// Package bodygen writes Go for C bodies that CORO_BODY defines: the command coro gen.
//
// It compiles the C files with debug information, and reads there what the compiler knows of the
// bodies and of their types (debug.go). Each C type gets a Go type of the same layout, or an error
// with a remedy (types.go). Comments come from the C files, at the places that the debug
// information names (comment.go).
package bodygen

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Usage is how the command is called.
const Usage = "coro gen [-check] [-o file] [-pkg name] [-name C=Go]... [-include header]... " +
	"[file.c]... [-- compiler flags]"

// config is what the arguments say.
type config struct {
	check    bool
	output   string
	pkg      string
	names    map[string]string // C name -> Go name
	includes []string
	sources  []string
	flags    []string // for the compiler
}

// Main is the command with its arguments. It writes the Go file, or, with -check, returns an error
// if the file is not as it would be written.
func Main(args []string, messages io.Writer) error {
	c, err := parse(args, messages)
	if err != nil {
		return err
	}
	text, err := c.generate()
	if err != nil {
		return err
	}
	if !c.check {
		return os.WriteFile(c.output, text, 0o666)
	}
	have, err := os.ReadFile(c.output)
	if err != nil {
		return err
	}
	if !bytes.Equal(have, text) {
		return fmt.Errorf("%s is stale: the C files say something else: run go generate",
			c.output)
	}
	return nil
}

func parse(args []string, messages io.Writer) (*config, error) {
	c := &config{names: map[string]string{}}
	if i := slices.Index(args, "--"); i >= 0 {
		args, c.flags = args[:i], args[i+1:]
	}
	set := flag.NewFlagSet("gen", flag.ContinueOnError)
	set.SetOutput(messages)
	set.Usage = func() {
		fmt.Fprintln(messages, "usage:", Usage)
		set.PrintDefaults()
	}
	set.BoolVar(&c.check, "check", false,
		"do not write, but fail if the file is stale")
	set.StringVar(&c.output, "o", "bodies_gen.go", "Go `file` to write")
	set.StringVar(&c.pkg, "pkg", os.Getenv("GOPACKAGE"),
		"`name` of the Go package; by default $GOPACKAGE, or that of the folder's Go files")
	set.Func("name", "`C=Go`: the Go name of a body, of a struct or of a typedef; as in "+
		"-name add=addition -name 'struct add=Addends'", c.rename)
	set.Func("include",
		"`header` for the Go file to include besides those that have the structs",
		func(s string) error { c.includes = append(c.includes, s); return nil })
	if err := set.Parse(args); err != nil {
		return nil, err
	}
	c.sources = set.Args()
	return c, c.defaults()
}

func (c *config) rename(s string) error {
	from, to, ok := strings.Cut(s, "=")
	if !ok || !token.IsIdentifier(to) {
		return errors.New("want C=Go, where Go is an identifier")
	}
	c.names[from] = to
	return nil
}

func (c *config) defaults() error {
	if len(c.sources) == 0 {
		c.sources, _ = filepath.Glob("*.c")
	}
	if len(c.sources) == 0 {
		return errors.New("gen: there is no C file here: " +
			"name the files that have bodies")
	}
	for _, s := range c.sources {
		if filepath.Ext(s) != ".c" {
			return fmt.Errorf("gen: %s is not a C file: compiler flags come after --",
				s)
		}
	}
	if c.pkg != "" {
		return nil
	}
	files, _ := filepath.Glob(filepath.Join(filepath.Dir(c.output), "*.go"))
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.PackageClauseOnly)
		if err == nil && !strings.HasSuffix(name, "_test.go") {
			c.pkg = f.Name.Name
			return nil
		}
	}
	return errors.New("gen: no Go file tells the name of the package: use -pkg")
}

// generate returns the text of the Go file.
func (c *config) generate() ([]byte, error) {
	g := &generator{config: c, comments: sources{}, taken: map[string]string{},
		byName: map[string]*named{}}
	for _, source := range c.sources {
		o, err := compile(source, c.flags)
		if err != nil {
			return nil, err
		}
		bodies, err := o.bodies()
		if err != nil {
			return nil, err
		}
		for _, b := range bodies {
			if err := g.body(b); err != nil {
				return nil, err
			}
		}
	}
	if len(g.bodies) == 0 {
		return nil, fmt.Errorf("no CORO_BODY defines a body in %s",
			strings.Join(c.sources, ", "))
	}
	if err := g.unused(); err != nil {
		return nil, err
	}
	return g.text()
}
