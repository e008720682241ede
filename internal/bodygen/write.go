package bodygen

import (
	"bytes"
	"debug/dwarf"
	"fmt"
	"go/format"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
)

// A generator collects what the Go file will have.
type generator struct {
	*config
	comments sources
	taken    map[string]string // Go name -> what has it
	used     []string          // C names of -name that were met
	byName   map[string]*named // by C name
	headers  []string
	types    []*named
	bodies   []goBody
}

type goBody struct {
	goName, cName, source string
	arg, result           string
	doc                   []string
}

// take returns the Go name of what C calls cName, and usual if no -name says otherwise.
func (g *generator) take(cName, usual string) (string, error) {
	name := usual
	if given, ok := g.names[cName]; ok {
		name = given
		g.used = append(g.used, cName)
	}
	before, taken := g.taken[name]
	switch {
	case taken && before == cName:
		return "", fmt.Errorf("there are two %s", cName)
	case taken:
		return "", fmt.Errorf("%s and %s would both be %s in Go: give one another name, "+
			"as with -name '%s=%sOther'", before, cName, name, cName, name)
	case name == "C" || token.IsKeyword(name):
		return "", fmt.Errorf("%s would be %s in Go, which is taken: give it another "+
			"name, as with -name '%s=%sOther'", cName, name, cName, camel(name))
	}
	g.taken[name] = cName
	return name, nil
}

// unused is an error if an argument -name names nothing.
func (g *generator) unused() error {
	var left []string
	for name := range g.names {
		if !slices.Contains(g.used, name) {
			left = append(left, name)
		}
	}
	if slices.Sort(left); len(left) > 0 {
		return fmt.Errorf("-name: there is no body and no type %s",
			strings.Join(left, ", "))
	}
	return nil
}

// declare gives a type its Go name, or returns the same type of an earlier use.
func (g *generator) declare(n *named, t *die, alias string, at spot) (*named, error) {
	nested := n.within != ""
	if have, ok := g.byName[n.cName]; ok && !nested {
		return have, g.same(have, n)
	}
	usual := camel(strings.TrimPrefix(strings.TrimPrefix(n.cName, "struct "), "enum "))
	if nested {
		usual = at.goName
	}
	var err error
	if n.goName, err = g.take(n.cName, usual); err != nil {
		return nil, err
	}
	for i := range n.consts {
		c := &n.consts[i]
		c.goName = camel(c.cName)
		if !strings.HasPrefix(c.goName, n.goName) {
			c.goName = n.goName + c.goName
		}
		if c.goName, err = g.take(c.cName, c.goName); err != nil {
			return nil, err
		}
	}
	g.byName[n.cName] = n
	if n.base != "" {
		g.types = append(g.types, n)
	}
	if nested {
		return n, nil
	}
	return n, g.include(n, t)
}

// same checks that two C files have the same type of one name.
func (g *generator) same(a, b *named) error {
	if a.bytes == b.bytes && a.base == b.base && len(a.consts) == len(b.consts) {
		for i := range a.consts {
			x, y := a.consts[i], b.consts[i]
			if x.cName != y.cName || x.value != y.value {
				return fmt.Errorf("there are two different %s", a.cName)
			}
		}
		return nil
	}
	return fmt.Errorf("there are two different %s", a.cName)
}

// include sees to it that the Go file includes the header that has the type.
func (g *generator) include(n *named, t *die) error {
	file, _ := t.place()
	if file == "" || isCoro(file) {
		return nil
	}
	if filepath.Ext(file) == ".c" {
		return fmt.Errorf("%s is defined in %s: move it into a header, so that the Go "+
			"file can include that and check the layout", n.cName, filepath.Base(file))
	}
	name, err := g.relative(filepath.Dir(g.output), file)
	for i := 0; err != nil && i < len(g.flags); i++ {
		dir, ok := strings.CutPrefix(g.flags[i], "-I")
		if ok && dir == "" && i+1 < len(g.flags) {
			dir = g.flags[i+1]
		}
		if ok && dir != "" {
			name, err = g.relative(dir, file)
		}
	}
	switch {
	case err == nil && !slices.Contains(g.headers, name):
		g.headers = append(g.headers, name)
	case err != nil && len(g.includes) == 0:
		return fmt.Errorf("%s is defined in %s, which is below no folder of -I: name a "+
			"header that includes it, as with -include x.h", n.cName, file)
	}
	return nil
}

// relative is the path of a file from a folder that it is below of.
func (*generator) relative(dir, file string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	name, err := filepath.Rel(dir, file)
	if err == nil && !filepath.IsLocal(name) {
		err = fmt.Errorf("%s is not below %s", file, dir)
	}
	return filepath.ToSlash(name), err
}

// body adds a body, and the types that it has.
func (g *generator) body(b *body) error {
	arg, err := g.inline(b.arg, "the argument of the body "+b.name, b.argAlign)
	if err != nil {
		return fmt.Errorf("%s: %w", b.source, err)
	}
	result, err := g.inline(b.result, "the result of the body "+b.name, b.resAln)
	if err != nil {
		return fmt.Errorf("%s: %w", b.source, err)
	}
	goName, err := g.take(b.name, camel(b.name))
	if err != nil {
		return fmt.Errorf("%s: %w", b.source, err)
	}
	doc := g.comments.before(b.at)
	g.bodies = append(g.bodies, goBody{goName, b.name, filepath.Base(b.source), arg, result,
		doc})
	return nil
}

// inline is the Go type of an argument or a result.
func (g *generator) inline(t *die, what string, align int64) (string, error) {
	if t.Tag == dwarf.TagTypedef && t.name() == "coro_none" {
		return "coro.None", nil
	}
	typ, err := g.goType(t, spot{text: what}, "")
	if err != nil {
		return "", err
	}
	if typ.align != align {
		return "", fmt.Errorf("%s, %s, is aligned to %d in C and to %d in Go: leave the "+
			"attributes of its alignment out", what, cText(t), align, typ.align)
	}
	return typ.text, nil
}

// text is the Go file.
func (g *generator) text() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("// Code generated by coro gen; DO NOT EDIT.\n\n")
	fmt.Fprintf(&b, "package %s\n\n", g.pkg)
	g.preamble(&b)
	b.WriteString("import (\n\t\"unsafe\"\n\n\t\"github.com/organzine/coro\"\n)\n")
	for _, f := range g.bodies {
		b.WriteString("\n")
		writeDoc(&b, f.comment())
		fmt.Fprintf(&b, "var %s = coro.MustFunc[%s, %s](unsafe.Pointer(&C.%s%s))\n",
			f.goName, f.arg, f.result, f.cName, descSuffix)
	}
	for _, n := range g.types {
		n.write(&b)
	}
	g.assertions(&b)
	text, err := format.Source(b.Bytes())
	if err != nil {
		return nil, fmt.Errorf("coro gen has written what is not Go: %w", err)
	}
	return text, nil
}

// comment is the doc comment of the variable. "add - adds" in C is "Add adds" in Go.
func (f *goBody) comment() []string {
	what := fmt.Sprintf("%s is the body %s of %s.", f.goName, f.cName, f.source)
	if len(f.doc) == 0 {
		return []string{what}
	}
	if text, ok := strings.CutPrefix(f.doc[0], f.cName+" - "); ok {
		lines := append([]string{f.goName + " " + text}, f.doc[1:]...)
		return append(lines, "", "The C body is "+f.cName+" of "+f.source+".")
	}
	return append([]string{what, ""}, f.doc...)
}

// preamble writes the C part: declarations, and what must hold in C.
func (g *generator) preamble(b *bytes.Buffer) {
	b.WriteString("/*\n#include <stddef.h>\n#include \"coro.h\"\n")
	slices.Sort(g.headers)
	for _, h := range append(slices.Clone(g.includes), g.headers...) {
		fmt.Fprintf(b, "#include \"%s\"\n", h)
	}
	b.WriteString("\n")
	for _, f := range g.bodies {
		fmt.Fprintf(b, "CORO_DECLARE_BODY(%s);\n", f.cName)
	}
	if len(g.types) > 0 {
		b.WriteString("\n#define CORO_SAME(x) " +
			"_Static_assert(x, \"the C types have changed: run go generate\")\n")
	}
	for _, n := range g.types {
		fmt.Fprintf(b, "CORO_SAME(sizeof(%s) == %d);\n", n.sizeof, n.bytes)
		for _, f := range n.fields {
			if f.goName == "_" {
				continue
			}
			at := fmt.Sprintf("offsetof(%s, %s%s)", n.offsetof, n.within, f.cName)
			if n.within != "" {
				at += fmt.Sprintf(" - offsetof(%s, %s)", n.offsetof,
					strings.TrimSuffix(n.within, "."))
			}
			fmt.Fprintf(b, "CORO_SAME(%s == %d);\n", at, f.offset)
			fmt.Fprintf(b, "CORO_SAME(sizeof(((%s *)0)->%s%s) == %d);\n", n.offsetof,
				n.within, f.cName, f.typ.size)
		}
		for _, c := range n.consts {
			fmt.Fprintf(b, "CORO_SAME(%s == %d);\n", c.cName, c.value)
		}
	}
	b.WriteString("*/\nimport \"C\"\n\n")
}

// assertions writes what must hold in Go.
func (g *generator) assertions(b *bytes.Buffer) {
	var lines []string
	must := func(what string, is int64) {
		lines = append(lines, fmt.Sprintf("_ = [1]struct{}{}[%s-%d]", what, is))
	}
	for _, n := range g.types {
		if n.base != "" {
			must(fmt.Sprintf("unsafe.Sizeof(%s(0))", n.goName), n.bytes)
			continue
		}
		must(fmt.Sprintf("unsafe.Sizeof(%s{})", n.goName), n.bytes)
		for _, f := range n.fields {
			if f.goName != "_" {
				member := n.goName + "{}." + f.goName
				must("unsafe.Offsetof("+member+")", f.offset)
				must("unsafe.Sizeof("+member+")", f.typ.size)
			}
		}
	}
	if len(lines) > 0 {
		b.WriteString("\n// The sizes and offsets are those of C: " +
			"otherwise this does not compile.\n")
		fmt.Fprintf(b, "var (\n%s\n)\n", strings.Join(lines, "\n"))
	}
}

// write writes the Go type.
func (n *named) write(b *bytes.Buffer) {
	form := "\n// %s has the layout of %s.\n"
	if n.base != "" {
		form = "\n// %s is %s of C.\n"
	}
	fmt.Fprintf(b, form, n.goName, n.cName)
	if len(n.doc) > 0 {
		b.WriteString("//\n")
	}
	writeDoc(b, n.doc)
	if n.base != "" {
		fmt.Fprintf(b, "type %s %s\n\nconst (\n", n.goName, n.base)
		for _, c := range n.consts {
			fmt.Fprintf(b, "%s %s = %d\n", c.goName, n.goName, c.value)
		}
		b.WriteString(")\n")
		return
	}
	fmt.Fprintf(b, "type %s struct {\n", n.goName)
	for _, f := range n.fields {
		writeDoc(b, f.doc)
		fmt.Fprintf(b, "%s %s", f.goName, f.typ.text)
		if f.typ.comment != "" {
			fmt.Fprintf(b, " // %s", f.typ.comment)
		}
		b.WriteString("\n")
	}
	b.WriteString("}\n")
}

// writeDoc writes a comment. A space comes first in each line, so that none is a directive of Go.
func writeDoc(b *bytes.Buffer, lines []string) {
	for _, line := range lines {
		fmt.Fprintln(b, strings.TrimRight("// "+line, " "))
	}
}
