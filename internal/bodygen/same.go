package bodygen

import (
	"fmt"
	"os"
	"path/filepath"
)

// Two C files may mean different types by one name: by headers of their own, or by macros before
// one header. Go has one type of the name, so that the C files must agree, in all that a use of the
// type depends on. Types below them, which have names, are compared for themselves.

// same checks that two C files have the same type of one name.
func same(a, b *named) error {
	x, y := a.parts(), b.parts()
	i := 0
	for i < len(x) && i < len(y) && x[i] == y[i] {
		i++
	}
	if i == len(x) && i == len(y) {
		return nil
	}
	return fmt.Errorf("%s has two definitions: in %s with %s, in %s with %s: "+
		"give one of them another name, or both C files the same definition",
		a.cName, a.place, part(x, i), b.place, part(y, i))
}

func part(parts []string, i int) string {
	if i < len(parts) {
		return parts[i]
	}
	return "nothing more"
}

// parts are all that must be equal, in words.
func (n *named) parts() []string {
	parts := []string{fmt.Sprintf("%d bytes", n.bytes)}
	if n.base != "" {
		parts = append(parts, "numbers of type "+n.base)
	}
	for _, f := range n.fields {
		if f.goName != "_" {
			parts = append(parts, fmt.Sprintf("the member %s (%s at byte %d)",
				f.cName, f.typ.meaning(), f.offset))
		}
	}
	return append(parts, n.values()...)
}

// values are the constants, in words.
func (n *named) values() []string {
	var all []string
	for _, c := range n.consts {
		all = append(all, fmt.Sprintf("%s = %d", c.cName, c.value))
	}
	return all
}

// meaning is the type, and what C knows of it besides.
func (t goType) meaning() string {
	for _, text := range []string{t.comment, t.values} {
		if text != "" {
			return text
		}
	}
	return t.text
}

// place is where d is declared, for messages.
func place(d *die) string {
	file, line := d.place()
	if here, err := os.Getwd(); err == nil {
		if name, err := filepath.Rel(here, file); err == nil && len(name) < len(file) {
			file = name
		}
	}
	return fmt.Sprintf("%s:%d", file, line)
}

// placeOfType is the same of a type, and the C file that has it from there.
func placeOfType(d *die) string { return fmt.Sprintf("%s (%s)", d.object.source, place(d)) }
