// Package bodygen writes Go for C bodies that CORO_BODY defines: the command coro gen.
//
// It compiles the C files with debug information, and reads there what the compiler knows of the
// bodies and of their types (debug.go). A body that would not be linked once and only once is an
// error (linked.go). Each C type gets a Go type of the same layout, or an error with a remedy
// (types.go, structs.go); C files that mean different types by one name are an error (same.go).
// Comments come from the C files, at the places that the debug information names (comment.go), and
// become doc comments of Go (doc.go).
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

	"github.com/organzine/coro/internal/usage"
)

// help is how the command is called.
const help = "coro gen [-check] [-o file] [-pkg name] [-name C=Go]... [-skip body]... " +
	"[-type C]... [-include header]... [-linked] [file]... [-- compiler flags]\n\n" +
	"Write Go for the C bodies that CORO_BODY defines in C and C++ files, by default those\n" +
	"of the folder.\n\n"

// config is what the arguments say.
type config struct {
	check    bool
	output   string
	pkg      string
	linked   bool
	names    map[string]string // C name -> Go name
	skips    []string          // C names of bodies
	wants    []string          // C names of types
	includes []string
	sources  []string
	flags    []string // for the compiler
}

// Main is the command with its arguments. It writes the Go file, or, with -check, returns an error
// if the file is not as it would be written. Help, if it is asked for, goes to out.
func Main(args []string, out io.Writer) error {
	c, err := parse(args, out)
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

func parse(args []string, out io.Writer) (*config, error) {
	c := &config{names: map[string]string{}}
	if i := slices.Index(args, "--"); i >= 0 {
		args, c.flags = args[:i], args[i+1:]
	}
	set := usage.Flags("gen")
	set.BoolVar(&c.check, "check", false,
		"do not write, but fail if the file is stale")
	set.StringVar(&c.output, "o", "bodies_gen.go", "Go `file` to write")
	set.StringVar(&c.pkg, "pkg", os.Getenv("GOPACKAGE"),
		"`name` of the Go package; by default $GOPACKAGE, or that of the folder's Go files")
	set.Func("name", "`C=Go`: the Go name of a body, of a struct or of a typedef; as in "+
		"-name add=addition -name 'struct add=Addends'", c.rename)
	list(set, &c.skips, "skip", "a `body` of C to leave out")
	list(set, &c.wants, "type",
		"a struct or an enum of `C` that no body has, as in -type 'struct figures'")
	list(set, &c.includes, "include",
		"`header` for the Go file to include besides those that have the structs")
	set.BoolVar(&c.linked, "linked", false,
		"the bodies are linked, also where cgo does not seem to compile a C file")
	if err := usage.Parse(set, args, help, out); err != nil {
		return nil, err
	}
	c.sources = set.Args()
	return c, c.defaults()
}

// list defines a flag that may be given more than once.
func list(set *flag.FlagSet, to *[]string, name, what string) {
	set.Func(name, what, func(s string) error { *to = append(*to, s); return nil })
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
		for _, ext := range extensions {
			files, _ := filepath.Glob("*" + ext)
			c.sources = append(c.sources, files...)
		}
	}
	if len(c.sources) == 0 {
		return errors.New("gen: there is no C or C++ file here: " +
			"name the files that have bodies")
	}
	for _, s := range c.sources {
		if !isSource(s) {
			return &usage.Error{Command: "gen", Text: s + " is not a C or C++ file: " +
				"compiler flags come after --"}
		}
	}
	for _, header := range c.includes {
		if err := includable(header); err != nil {
			return err
		}
	}
	if c.pkg == "" {
		c.pkg = c.packageHere()
	}
	switch {
	case c.pkg == "":
		return errors.New("gen: no Go file tells the name of the package: use -pkg")
	case !token.IsIdentifier(c.pkg) || c.pkg == "_":
		return fmt.Errorf("gen: %q is no name of a package: use -pkg", c.pkg)
	}
	return nil
}

// packageHere is the package of the Go files beside the one to write, or "".
func (c *config) packageHere() string {
	files, _ := filepath.Glob(filepath.Join(filepath.Dir(c.output), "*.go"))
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.PackageClauseOnly)
		if err == nil && !strings.HasSuffix(name, "_test.go") {
			return f.Name.Name
		}
	}
	return ""
}

// extensions are those of the files that cgo compiles: C, and, but for the first, C++.
var extensions = []string{".c", ".cc", ".cpp", ".cxx"}

// isSource tells of a file that cgo compiles, by its name.
func isSource(file string) bool { return slices.Contains(extensions, filepath.Ext(file)) }

// isCxx tells of a C++ file.
func isCxx(file string) bool { return isSource(file) && filepath.Ext(file) != extensions[0] }

// generate returns the text of the Go file.
func (c *config) generate() ([]byte, error) {
	g := &generator{config: c, comments: sources{}, taken: map[string]taker{},
		used: map[string]bool{}, byName: map[string]*named{}, seen: map[use]*named{},
		inHeader: map[string][]string{}}
	for _, source := range c.sources {
		o, err := c.compile(source)
		if err != nil {
			return nil, err
		}
		if err := g.object(o); err != nil {
			return nil, fmt.Errorf("%s: %w", source, err)
		}
	}
	if err := g.unused(); err != nil {
		return nil, err
	}
	if len(g.bodies)+len(g.types) == 0 {
		return nil, fmt.Errorf("no CORO_BODY defines a body in %s",
			strings.Join(c.sources, ", "))
	}
	return g.text()
}

// object adds the bodies of a C file, the types that they have, and those of -type.
func (g *generator) object(o *object) error {
	bodies, err := o.bodies()
	if err != nil {
		return err
	}
	bodies = slices.DeleteFunc(bodies, func(b *body) bool {
		g.use("-skip", b.name)
		return slices.Contains(g.skips, b.name)
	})
	if err := g.link(o, bodies); err != nil {
		return err
	}
	for _, b := range bodies {
		if err := g.body(b); err != nil {
			return err
		}
	}
	for _, name := range g.wants {
		if err := g.want(o, name); err != nil {
			return err
		}
	}
	return nil
}
