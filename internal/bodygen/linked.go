package bodygen

import (
	"bufio"
	"debug/elf"
	"fmt"
	"go/build"
	"go/build/constraint"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The Go file takes the address of each body, so that the program must have each once. Cgo compiles
// the C files of the Go file's folder that fit the system, the machine and the build constraints,
// and the headers that Go files include.

// link checks that the bodies of a C file will be linked, once.
func (g *generator) link(o *object, bodies []*body) error {
	if len(bodies) == 0 {
		return nil
	}
	source, err := filepath.Abs(o.source)
	if err != nil {
		return err
	}
	if err := g.compiled(source, o.file.Machine); err != nil {
		return err
	}
	for _, b := range bodies {
		if file, _ := b.at.place(); file != source && file != "" {
			if err := g.once(b, file, o.file.Machine); err != nil {
				return err
			}
		}
	}
	return nil
}

// once checks that no file but that of b defines the body too.
func (g *generator) once(b *body, file string, machine elf.Machine) error {
	if isSource(file) {
		if !g.linked && g.compiled(file, machine) == nil {
			return fmt.Errorf("the body %s is defined in %s, which cgo compiles by "+
				"itself too: do not include it", b.name, place(b.at))
		}
		return nil
	}
	others, ok := g.inHeader[file]
	if !ok {
		others = g.includedFrom(file, filepath.Ext(b.source))
		g.inHeader[file] = others
	}
	if slices.Contains(others, b.name) {
		return fmt.Errorf("the body %s is defined in %s: each file that includes that "+
			"header, such as the Go file, would define it again: move it into a C file",
			b.name, place(b.at))
	}
	return nil
}

// includedFrom are the bodies that each file gets which includes a header, in the language of ext.
func (g *generator) includedFrom(header, ext string) (names []string) {
	dir, err := os.MkdirTemp("", "coro-gen-")
	if err != nil {
		return nil
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "includes"+ext)
	text := fmt.Sprintf("#include \"%s\"\n", header)
	if os.WriteFile(name, []byte(text), 0o666) != nil {
		return nil
	}
	o, err := g.compile(name)
	if err != nil {
		return nil // it is no header of its own: a C file brings what it needs
	}
	bodies, _ := o.bodies()
	for _, b := range bodies {
		names = append(names, b.name)
	}
	return names
}

// compiled is an error if cgo would not compile a C file into the package of the Go file.
func (g *generator) compiled(file string, machine elf.Machine) error {
	if g.linked {
		return nil
	}
	dir, name := filepath.Split(file)
	here, err := os.Stat(filepath.Dir(g.output))
	if err != nil {
		return err
	}
	there, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if !os.SameFile(here, there) {
		return notCompiled("it does not lie in the folder of the Go file",
			"move it there, or include it in a C file there")
	}
	target := build.Default
	target.GOOS, target.CgoEnabled = "linux", true
	switch machine {
	case elf.EM_X86_64:
		target.GOARCH = "amd64"
	case elf.EM_AARCH64:
		target.GOARCH = "arm64"
	}
	if ok, err := target.MatchFile(dir, name); ok || err != nil {
		return err
	}
	target.OpenFile = func(string) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("")), nil
	}
	if ok, _ := target.MatchFile(dir, name); ok {
		return notCompiled(fmt.Sprintf("%q keeps it out of a build for %s/%s",
			constraintOf(file), target.GOOS, target.GOARCH), "take that line out, or, "+
			"where a C file includes this one, name that one alone")
	}
	return notCompiled(fmt.Sprintf("its name keeps it out of a build for %s/%s", target.GOOS,
		target.GOARCH), "rename it")
}

func notCompiled(why, remedy string) error {
	return fmt.Errorf("cgo does not compile this file, since %s: %s; or say -linked, if its "+
		"bodies are linked in another way, as from a library or with build tags", why,
		remedy)
}

// constraintOf is the first line of a file that is a build constraint.
func constraintOf(file string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if constraint.IsGoBuild(line) || constraint.IsPlusBuild(line) {
			return line
		}
	}
	return ""
}
