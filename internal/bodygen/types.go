package bodygen

import (
	"debug/dwarf"
	"fmt"
	"path/filepath"
	"strings"
)

// A goType is the Go type of a C type.
type goType struct {
	text        string
	size, align int64
	comment     string // "": none
}

// A named is a Go type that has a name: a struct or an enum.
type named struct {
	cName    string // for messages
	goName   string
	doc      []string
	base     string // of an enum: the Go type below
	fields   []field
	consts   []constant
	bytes    int64
	sizeof   string // in C: what to take the size of
	offsetof string // in C: the type that members are of, and
	within   string // the path of the struct in there, "" or "member."
}

type field struct {
	goName, cName string // goName "_": padding
	typ           goType
	offset        int64
	doc           []string
}

type constant struct {
	goName, cName string
	value         int64
}

// DWARF's numbers of encodings of base types.
const (
	encBoolean      = 2
	encComplex      = 3
	encFloat        = 4
	encSigned       = 5
	encSignedChar   = 6
	encUnsigned     = 7
	encUnsignedChar = 8
	encUTF          = 16

	attrVector = dwarf.Attr(0x2107) // DW_AT_GNU_vector
)

// A spot says where a type is used.
type spot struct {
	text   string // for messages: "the argument of the body add"
	goName string // of a struct or an enum that has no name in C
	sizeof string // in C, an expression of the type
	root   string // in C, the struct with a name around the spot
	path   string // in C, from there to the spot
}

// refuse is an error about a type.
func (s spot) refuse(format string, args ...any) error {
	return fmt.Errorf("%s %s", s.text, fmt.Sprintf(format, args...))
}

const remedy = "give the address of such memory as a pointer"

// goType returns the Go type of a C type. alias is the typedef by which the type is used, or "".
func (g *generator) goType(t *die, at spot, alias string) (goType, error) {
	t = plain(t)
	if t == nil {
		return goType{}, at.refuse("is void: coro_none says that there is none")
	}
	switch t.Tag {
	case dwarf.TagTypedef:
		if t.name() == "coro_handle" {
			return goType{"coro.Handle", 8, 8, ""}, nil
		}
		return g.goType(t.typ(), at, t.name())
	case dwarf.TagBaseType:
		return baseType(t, at)
	case dwarf.TagPointerType:
		return goType{"uintptr", 8, 8, cText(t)}, nil
	case dwarf.TagArrayType:
		return g.arrayType(t, at)
	case dwarf.TagEnumerationType:
		return g.enumType(t, at, alias)
	case dwarf.TagStructType:
		return g.structType(t, at, alias)
	case dwarf.TagUnionType:
		return goType{}, at.refuse("is a union, which Go has not: use a struct, or an "+
			"array of bytes that C copies out of, or %s", remedy)
	}
	return goType{}, at.refuse("has a type that Go has not (%s): %s", cText(t), remedy)
}

func baseType(t *die, at spot) (goType, error) {
	size := t.number(dwarf.AttrByteSize)
	name := ""
	switch enc := t.number(dwarf.AttrEncoding); {
	case enc == encBoolean && size == 1:
		name = "bool"
	case t.name() == "char": // its sign is not the same on each machine
		name = "byte"
	case (enc == encSigned || enc == encSignedChar) && size <= 8:
		name = fmt.Sprintf("int%d", 8*size)
	case (enc == encUnsigned || enc == encUnsignedChar || enc == encUTF) && size <= 8:
		name = fmt.Sprintf("uint%d", 8*size)
	case enc == encFloat && (size == 4 || size == 8):
		name = fmt.Sprintf("float%d", 8*size)
	case enc == encComplex && (size == 8 || size == 16):
		return goType{fmt.Sprintf("complex%d", 8*size), size, size / 2, ""}, nil
	default:
		return goType{}, at.refuse("is a %s of %d bytes, which Go has not: use smaller "+
			"numbers, as two of 64 bits", t.name(), size)
	}
	return goType{name, size, size, ""}, nil
}

func (g *generator) arrayType(t *die, at spot) (goType, error) {
	if t.Val(attrVector) != nil {
		return goType{}, at.refuse("is a vector: use an array")
	}
	prefix, count := "", int64(1)
	for _, d := range t.below(dwarf.TagSubrangeType) {
		n := d.number(dwarf.AttrCount)
		if n < 0 && d.Val(dwarf.AttrUpperBound) != nil {
			n = d.number(dwarf.AttrUpperBound) + 1
		}
		if n <= 0 {
			return goType{}, at.refuse("is an array of no fixed length: say how long "+
				"it is, or %s", remedy)
		}
		prefix += fmt.Sprintf("[%d]", n)
		count *= n
		at.path += "[0]"
		at.sizeof += "[0]"
	}
	e, err := g.goType(t.typ(), at, "")
	return goType{prefix + e.text, count * e.size, e.align, e.comment}, err
}

// underlying is the type without typedefs.
func underlying(t *die) *die {
	for t = plain(t); t != nil && t.Tag == dwarf.TagTypedef; {
		t = plain(t.typ())
	}
	return t
}

func (g *generator) enumType(t *die, at spot, alias string) (goType, error) {
	size := t.number(dwarf.AttrByteSize)
	n := &named{cName: alias, bytes: size}
	if t.name() != "" {
		n.cName = "enum " + t.name()
	}
	signed := false
	for _, e := range t.below(dwarf.TagEnumerator) {
		v := e.number(dwarf.AttrConstValue)
		if v == -1 && e.Val(dwarf.AttrConstValue) == nil {
			return goType{}, at.refuse("is an enum with a value that is not known")
		}
		n.consts = append(n.consts, constant{cName: e.name(), value: v})
		signed = signed || v < 0
	}
	if base := underlying(t.typ()); base != nil {
		enc := base.number(dwarf.AttrEncoding)
		signed = enc == encSigned || enc == encSignedChar
	}
	n.base = fmt.Sprintf("uint%d", 8*size)
	if signed {
		n.base = n.base[1:]
	}
	use := goType{n.base, size, size, ""}
	if n.cName == "" {
		return use, nil // its numbers have no type of their own
	}
	for i, c := range n.consts {
		if !signed && c.value < 0 {
			n.consts[i].value = c.value & (1<<(8*size) - 1)
		}
	}
	n.sizeof = n.cName
	n.doc = g.comments.before(t)
	have, err := g.declare(n, t, alias, at)
	if err != nil {
		return goType{}, err
	}
	use.text = have.goName
	return use, nil
}

func (g *generator) structType(t *die, at spot, alias string) (goType, error) {
	n := &named{cName: alias, bytes: t.number(dwarf.AttrByteSize)}
	if t.name() != "" {
		n.cName = "struct " + t.name()
	}
	if t.Val(dwarf.AttrDeclaration) != nil || n.bytes < 0 {
		return goType{}, at.refuse("is a %s, which has no members here", n.cName)
	}
	if n.cName == "" { // within another one
		n.cName, n.sizeof = at.text, at.sizeof
		n.offsetof, n.within = at.root, at.path+"."
	} else {
		n.sizeof, n.offsetof = n.cName, n.cName
		at = spot{text: n.cName, root: n.cName}
	}
	n.doc = g.comments.before(t)
	have, err := g.declare(n, t, alias, at)
	if err != nil {
		return goType{}, err
	}
	if have != n { // it was used before
		return goType{have.goName, have.bytes, alignOf(have.fields), ""}, nil
	}
	if err := g.fields(n, t, at); err != nil {
		return goType{}, err
	}
	g.types = append(g.types, n)
	return goType{n.goName, n.bytes, alignOf(n.fields), ""}, nil
}

// fields lays the members out as Go does, and looks whether C has done so.
func (g *generator) fields(n *named, t *die, at spot) error {
	end, line := int64(0), 0
	taken := map[string]bool{}
	members := t.below(dwarf.TagMember)
	if len(members) == 0 {
		return at.refuse("has no members: use coro_none for an argument or a result that " +
			"is none")
	}
	for _, m := range members {
		f := field{cName: m.name(), goName: camel(m.name()),
			offset: m.number(dwarf.AttrDataMemberLoc)}
		here := spot{text: "the member " + f.cName + " of " + n.cName,
			goName: n.goName + f.goName, root: at.root, path: n.within + f.cName}
		here.sizeof = fmt.Sprintf("((%s *)0)->%s", here.root, here.path)
		switch {
		case f.cName == "":
			return at.refuse("has a member without a name: give it one")
		case m.Val(dwarf.AttrBitSize) != nil:
			return here.refuse("is a bit-field, which Go has not: use a whole " +
				"number, and shift and mask in it")
		case taken[f.goName]:
			return here.refuse("has the same Go name, %s, as another member: give one "+
				"another name", f.goName)
		}
		taken[f.goName] = true
		var err error
		if f.typ, err = g.goType(m.typ(), here, ""); err != nil {
			return err
		}
		if up(end, f.typ.align) > f.offset || f.offset%f.typ.align != 0 {
			return here.refuse("lies at byte %d, where Go would not align it: a "+
				"packed struct does not go", f.offset)
		}
		if up(end, f.typ.align) < f.offset {
			n.fields = append(n.fields, padding(end, f.offset))
		}
		if _, l := m.place(); l != line || line == 0 {
			f.doc, line = g.comments.of(m), l
		}
		n.fields = append(n.fields, f)
		end = f.offset + f.typ.size
	}
	align := alignOf(n.fields)
	if up(end, align) < n.bytes {
		n.fields = append(n.fields, padding(end, n.bytes))
		end = n.bytes
	}
	if up(end, align) != n.bytes {
		return at.refuse("has %d bytes in C, where Go would have %d: "+
			"a packed struct does not go", n.bytes, up(end, align))
	}
	return nil
}

func padding(from, to int64) field {
	return field{goName: "_", offset: from,
		typ: goType{fmt.Sprintf("[%d]byte", to-from), to - from, 1, ""}}
}

func alignOf(fields []field) int64 {
	align := int64(1)
	for _, f := range fields {
		align = max(align, f.typ.align)
	}
	return align
}

func up(n, align int64) int64 { return (n + align - 1) / align * align }

// cText is a type as C writes it, about.
func cText(t *die) string {
	switch {
	case t == nil:
		return "void"
	case t.Tag == dwarf.TagPointerType:
		inner := t.typ()
		if f := plain(inner); f != nil && f.Tag == dwarf.TagSubroutineType {
			return "pointer to a function"
		}
		text := cText(inner)
		if strings.HasSuffix(text, "*") {
			return text + "*"
		}
		return text + " *"
	case t.Tag == dwarf.TagConstType:
		return qualified("const", t.typ())
	case t.Tag == dwarf.TagVolatileType:
		return qualified("volatile", t.typ())
	case t.Tag == dwarf.TagRestrictType:
		return cText(t.typ())
	case t.Tag == dwarf.TagStructType && t.name() != "":
		return "struct " + t.name()
	case t.Tag == dwarf.TagUnionType && t.name() != "":
		return "union " + t.name()
	case t.Tag == dwarf.TagEnumerationType && t.name() != "":
		return "enum " + t.name()
	case t.name() != "":
		return t.name()
	}
	return strings.TrimSuffix(strings.TrimPrefix(t.Tag.String(), "Tag"), "Type")
}

// qualified is a type with a word before it, or, of a pointer, behind it.
func qualified(word string, t *die) string {
	text := cText(t)
	if strings.HasSuffix(text, "*") {
		return text + word
	}
	return word + " " + text
}

// camel is the Go name of a C name.
func camel(name string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(name, "_") {
		switch low := strings.ToLower(part); low {
		case "id", "cpu", "fd", "ip", "url":
			b.WriteString(strings.ToUpper(part))
		case "":
		default:
			if part == strings.ToUpper(part) { // a constant
				part = part[:1] + low[1:]
			}
			b.WriteString(strings.ToUpper(part[:1]) + part[1:])
		}
	}
	if s := b.String(); s == "" || s[0] >= '0' && s[0] <= '9' {
		return "X" + s
	}
	return b.String()
}

// isCoro tells whether a file is a part of coro.h.
func isCoro(file string) bool {
	base := filepath.Base(file)
	return base == "coro.h" || strings.HasPrefix(base, "coro_") && filepath.Ext(base) == ".h"
}
