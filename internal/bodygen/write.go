package bodygen

import (
	"bytes"
	"debug/dwarf"
	"fmt"
	"go/format"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// A generator collects what the Go file will have.
type generator struct {
	*config
	comments   sources
	taken      map[string]taker  // by Go name
	used       map[string]bool   // by flag and C name
	byName     map[string]*named // by C name
	seen       map[use]*named
	inHeader   map[string][]string // header -> bodies that each file gets which includes it
	headers    []string
	types      []*named
	bodies     []goBody
	usesCoro   bool // the Go file uses package coro
	usesActors bool // the Go file uses package actorc
}

// A use is a struct of one C file, and its name there.
type use struct {
	t     *die
	cName string
}

type goBody struct {
	goName, cName, source string
	arg, result           string
	doc                   []string
}

// declare gives a type its Go name, or that of the type of this name in an earlier C file, which it
// then returns. The caller sees to it that both are the same.
func (g *generator) declare(n *named, t *die, at spot) (*named, error) {
	n.place = placeOfType(t)
	if have, ok := g.byName[n.cName]; ok {
		n.goName = have.goName
		return have, nil
	}
	usual := camel(strings.TrimPrefix(strings.TrimPrefix(n.cName, "struct "), "enum "))
	if n.within != "" {
		usual = at.goName
	}
	var err error
	if n.goName, err = g.take(n.cName, usual, n.place); err != nil {
		return nil, err
	}
	for i := range n.consts {
		c := &n.consts[i]
		c.goName = camel(c.cName)
		if !strings.HasPrefix(c.goName, n.goName) {
			c.goName = n.goName + c.goName
		}
		if c.goName, err = g.take(c.cName, c.goName, n.place); err != nil {
			return nil, err
		}
	}
	g.byName[n.cName] = n
	if n.base != "" {
		g.types = append(g.types, n)
	}
	if n.within != "" {
		return n, nil
	}
	return n, g.include(n, t)
}

// include sees to it that the Go file includes the header that has the type.
func (g *generator) include(n *named, t *die) error {
	file, _ := t.place()
	switch {
	case file == "" || isCoro(file) && !standsAlone(file):
		return nil
	case isCoro(file):
		g.header(filepath.Base(file))
		return nil
	}
	if isSource(file) {
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
	case err == nil:
		g.header(name)
		return includable(name)
	case len(g.includes) == 0:
		return fmt.Errorf("%s is defined in %s, which is below no folder of -I: name a "+
			"header that includes it, as with -include x.h", n.cName, file)
	}
	return nil
}

// header adds a header for the Go file to include.
func (g *generator) header(name string) {
	if !slices.Contains(g.headers, name) {
		g.headers = append(g.headers, name)
	}
}

// includable is an error if an #include in a comment of Go cannot have the name.
func includable(name string) error {
	if strings.Contains(name, "*/") || strings.ContainsAny(name, "\"\r\n\x00") ||
		!utf8.ValidString(name) {
		return fmt.Errorf("the Go file cannot include the header %q: give the file or "+
			"its folder another name", name)
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
	if !token.IsIdentifier(b.name + descSuffix) {
		return fmt.Errorf("the body %[1]s has no name in Go, as in C.%[1]s%[2]s: give it "+
			"another name", b.name, descSuffix)
	}
	arg, _, err := g.inline(b.arg, "the argument of the body "+b.name, b.argAlign)
	if err != nil {
		return err
	}
	result, lends, err := g.inline(b.result, "the result of the body "+b.name, b.resAln)
	if err != nil {
		return err
	}
	if lends {
		return fmt.Errorf("the result of the body %s has a coro_bytes, or the like, in it: "+
			"memory is lent to a body by its argument alone", b.name)
	}
	goName, err := g.take(b.name, camel(b.name), place(b.at))
	if err != nil {
		return err
	}
	g.usesCoro = true
	g.bodies = append(g.bodies, goBody{goName, b.name, filepath.Base(b.source), arg, result,
		g.comments.before(b.at)})
	return nil
}

// inline is the Go type of an argument or a result, and whether it lends memory.
func (g *generator) inline(t *die, what string, align int64) (_ string, lends bool, _ error) {
	if t.Tag == dwarf.TagTypedef && t.name() == "coro_none" {
		return "coro.None", false, nil
	}
	typ, err := g.goType(t, spot{text: what}, "")
	if err != nil {
		return "", false, err
	}
	return typ.text, typ.lends, sameAlign(what+", "+cText(t)+",", align, typ.align)
}

// sameAlign checks that C and Go align a type alike.
func sameAlign(what string, c, goes int64) error {
	if c == goes {
		return nil
	}
	return fmt.Errorf("%s is aligned to %d in C and to %d in Go: leave the attributes of its "+
		"alignment out", what, c, goes)
}

// want adds a type that -type names, if the C file has it.
func (g *generator) want(o *object, cName string) error {
	t := o.find(cName)
	if t == nil {
		return nil
	}
	g.use("-type", cName)
	if u := underlying(t); u == nil || u.Tag != dwarf.TagStructType &&
		u.Tag != dwarf.TagEnumerationType && u.Tag != dwarf.TagUnionType {
		return fmt.Errorf("-type: %s is no struct and no enum: use its Go type", cName)
	}
	typ, err := g.goType(t, spot{text: cName}, "")
	if err != nil {
		return err
	}
	return sameAlign(cName, max(alignment(t), typ.align), typ.align)
}

// text is the Go file.
func (g *generator) text() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("// Code generated by coro gen; DO NOT EDIT.\n\n")
	fmt.Fprintf(&b, "package %s\n\n", g.pkg)
	g.preamble(&b)
	b.WriteString("import (\n\t\"unsafe\"\n\n")
	if !g.usesCoro { // the program needs it for coro.h
		b.WriteString("_ ")
	}
	b.WriteString("\"github.com/organzine/coro\"\n")
	if g.usesActors {
		b.WriteString("\"github.com/organzine/coro/actor/actorc\"\n")
	}
	b.WriteString(")\n")
	for _, f := range g.bodies {
		b.WriteString("\n")
		writeDoc(&b, f.comment(), 0)
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

// flagVariables are those of the languages that the bodies are written in.
func (g *generator) flagVariables() []string {
	found := map[string]bool{}
	for _, f := range g.bodies {
		found[strings.TrimPrefix(languageOf(f.source).flags, "CGO_")] = true
	}
	return slices.Sorted(maps.Keys(found))
}

// preamble writes the C part: declarations, and what must hold in C.
func (g *generator) preamble(b *bytes.Buffer) {
	b.WriteString("/*\n")
	for _, variable := range g.flagVariables() {
		// a frame that is larger than the guard below a stack touches the guard all the same
		fmt.Fprintf(b, "#cgo %s: -fstack-clash-protection\n", variable)
	}
	b.WriteString("#include <stddef.h>\n#include \"coro.h\"\n")
	slices.Sort(g.headers)
	for _, h := range append(slices.Clone(g.includes), g.headers...) {
		fmt.Fprintf(b, "#include \"%s\"\n", h)
	}
	if len(g.bodies) > 0 {
		b.WriteString("\n")
	}
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
	what := n.goName + " has the layout of " + n.cName
	if n.base != "" {
		what = n.goName + " is " + n.cName + " of C"
	}
	doc, explains := cutName(n.cName, n.doc)
	b.WriteString("\n")
	writeDoc(b, sentence(what, doc, explains), 0)
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
		writeDoc(b, f.doc, tabColumns)
		fmt.Fprintf(b, "%s %s", f.goName, f.typ.text)
		if f.typ.comment != "" {
			fmt.Fprintf(b, " // %s", f.typ.comment)
		}
		b.WriteString("\n")
	}
	b.WriteString("}\n")
}
