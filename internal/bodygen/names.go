package bodygen

import (
	"fmt"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A taker is what has a Go name.
type taker struct {
	cName string
	place string // "": not of use
}

// take returns the Go name of what C calls cName, and usual if no -name says otherwise.
func (g *generator) take(cName, usual, place string) (string, error) {
	name := usual
	if given, ok := g.names[cName]; ok {
		name = given
		g.use("-name", cName)
	}
	before, taken := g.taken[name]
	switch {
	case taken && before.cName == cName:
		return "", fmt.Errorf("there are two %s, at %s and at %s", cName,
			before.place, place)
	case taken:
		return "", fmt.Errorf("%s and %s would both be %s in Go: give one another name, "+
			"as with -name '%s=%sOther'", before.cName, cName, name, cName, name)
	case !token.IsIdentifier(name) && !token.IsKeyword(name):
		return "", fmt.Errorf("%s would be %s in Go, which is no name there: give it "+
			"another name, as with -name '%s=Other'", cName, name, cName)
	case g.isReserved(name):
		return "", fmt.Errorf("%s would be %s in Go, which is taken: give it another "+
			"name, as with -name '%s=%sOther'", cName, name, cName, camel(name))
	}
	g.taken[name] = taker{cName, place}
	return name, nil
}

// isReserved tells of a name that the Go file, or Go, has another use for.
func (g *generator) isReserved(name string) bool {
	switch name {
	case "_", "C", "coro", "unsafe", "init":
		return true
	case "main":
		return g.pkg == "main"
	}
	return token.IsKeyword(name) || types.Universe.Lookup(name) != nil
}

// use notes that what a flag names is there.
func (g *generator) use(flag, cName string) { g.used[flag+" "+cName] = true }

// unused is an error if a flag names nothing.
func (g *generator) unused() error {
	for _, f := range []struct {
		names      []string
		flag, none string
	}{
		{g.skips, "-skip", "there is no body %s"},
		{g.wants, "-type", "no C file defines %s: write the name as C does, as in " +
			"-type 'struct figures'"},
		{slices.Sorted(maps.Keys(g.names)), "-name", "there is no body and no type %s"},
	} {
		left := slices.DeleteFunc(slices.Clone(f.names), func(name string) bool {
			return g.used[f.flag+" "+name]
		})
		if len(left) > 0 {
			return fmt.Errorf(f.flag+": "+f.none, strings.Join(left, ", "))
		}
	}
	return nil
}

// camel is the Go name of a C name. It is exported: where a name begins with what has no capital,
// an X comes first.
func camel(name string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(name, "_") {
		if part == "" {
			continue
		}
		switch strings.ToLower(part) {
		case "id", "cpu", "fd", "ip", "url":
			b.WriteString(strings.ToUpper(part))
			continue
		}
		first, size := utf8.DecodeRuneInString(part)
		rest := part[size:]
		if part == strings.ToUpper(part) { // a constant
			rest = strings.ToLower(rest)
		}
		b.WriteRune(unicode.ToUpper(first))
		b.WriteString(rest)
	}
	if s := b.String(); token.IsExported(s) {
		return s
	}
	return "X" + b.String()
}
