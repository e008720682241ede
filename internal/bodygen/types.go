package bodygen

import (
	"debug/dwarf"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/organzine/coro/csrc/include"
)

// A goType is the Go type of a C type.
type goType struct {
	text        string
	size, align int64
	comment     string // "": none
	values      string // of an enum without a name
	lends       bool   // it has a coro.Slice in it
}

// A named is a Go type that has a name: a struct or an enum.
type named struct {
	cName    string // for messages
	goName   string
	place    string // the C file, and where the type is defined
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

	attrVector    = dwarf.Attr(0x2107) // DW_AT_GNU_vector
	attrEnumClass = dwarf.Attr(0x6d)   // DW_AT_enum_class
)

// A spot says where a type is used.
type spot struct {
	text   string // for messages: "the argument of the body add"
	goName string // of a struct or an enum that has no name in C
	sizeof string // in C, an expression of the type
	root   string // in C, the struct with a name around the spot
	path   string // in C, from there to the spot
	line   int    // whose comment is that of what is around the spot
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
	if what := onlyCxx(t); what != "" {
		return goType{}, at.refuse("%s, which C has not, and the Go file includes the "+
			"header as C: use a type of C, or %s", what, remedy)
	}
	switch t.Tag {
	case dwarf.TagTypedef:
		if typ, ok := g.coroType(t); ok {
			return typ, nil
		}
		return g.goType(t.typ(), at, t.name())
	case dwarf.TagBaseType:
		return baseType(t, at)
	case dwarf.TagPointerType:
		if isOfCoro(plain(t.typ()), "coro_stream") {
			return g.ofCoro("coro.StreamEnd", 8), nil
		}
		return goType{text: "uintptr", size: 8, align: 8, comment: cText(t)}, nil
	case dwarf.TagArrayType:
		return g.arrayType(t, at)
	case dwarf.TagEnumerationType:
		return g.enumType(t, at, alias)
	case dwarf.TagStructType:
		if isLent(t) {
			return g.sliceType(t, at)
		} else if isOfCoro(t, "coro_buffer") {
			return g.ofCoro("coro.Buffer", 8), nil
		}
		return g.structType(t, at, alias)
	case dwarf.TagUnionType:
		return goType{}, at.refuse("is a union, which Go has not: use a struct, or an "+
			"array of bytes that C copies out of, or %s", remedy)
	}
	return goType{}, at.refuse("has a type that Go has not (%s): %s", cText(t), remedy)
}

// onlyCxx says what of C++ a type is; "": it may be one of C.
func onlyCxx(t *die) string {
	for d := t.above; d != nil; d = d.above {
		if d.Tag == dwarf.TagNamespace {
			return "is in a namespace"
		}
	}
	switch {
	case t.Tag == dwarf.TagClassType:
		return "is a class"
	case t.Tag == dwarf.TagReferenceType || t.Tag == dwarf.TagRvalueReferenceType:
		return "is a reference"
	case t.Tag == dwarf.TagPtrToMemberType:
		return "is a pointer to a member"
	case len(t.below(dwarf.TagInheritance)) > 0:
		return "has a base class"
	case t.Tag == dwarf.TagStructType && t.Val(dwarf.AttrContainingType) != nil:
		return "has virtual functions"
	case t.Val(attrEnumClass) == true:
		return "is an enum class"
	}
	return ""
}

// The numbers of coro.h that have types in Go.
var coroTypes = map[string]string{
	"coro_handle": "coro.Handle",
	"coro_fd":     "coro.FD",
	"coro_actor":  "actorc.Actor",
	"coro_go_id":  "coro.FuncID",
}

// coroType is the Go type of a typedef of coro.h that package coro has a type for.
func (g *generator) coroType(t *die) (goType, bool) {
	name := coroTypes[t.name()]
	number := underlying(t)
	if name == "" || !isOfCoro(t, t.name()) || number == nil || number.Tag != dwarf.TagBaseType {
		return goType{}, false
	}
	return g.ofCoro(name, number.number(dwarf.AttrByteSize)), true
}

// isOfCoro tells whether t is what a header of coro calls so.
func isOfCoro(t *die, name string) bool {
	if t == nil || t.name() != name {
		return false
	}
	file, _ := t.place()
	return isCoro(file)
}

// ofCoro is a type of package coro, or actorc.
func (g *generator) ofCoro(name string, size int64) goType {
	if strings.HasPrefix(name, "actorc.") {
		g.usesActors = true
	} else {
		g.usesCoro = true
	}
	return goType{text: name, size: size, align: size}
}

// isLent tells of the structs that coro_bytes and CORO_SLICE are.
func isLent(t *die) bool {
	return isOfCoro(t, "coro_bytes") ||
		strings.HasPrefix(t.name(), "coro_slice_of_")
}

// sliceType is the coro.Slice of such a struct.
func (g *generator) sliceType(t *die, at spot) (goType, error) {
	g.usesCoro = true
	typ := goType{text: "coro.Bytes", size: 16, align: 8, lends: true}
	if t.name() == "coro_bytes" {
		return typ, nil
	}
	members := t.below(dwarf.TagMember)
	if len(members) != 2 || plain(members[0].typ()).Tag != dwarf.TagPointerType {
		return goType{}, at.refuse("is a struct %s that is none of CORO_SLICE: give it "+
			"another name", t.name())
	}
	name := "an element of " + at.text
	e, err := g.goType(plain(members[0].typ()).typ(), spot{text: name}, "")
	switch {
	case err != nil:
		return goType{}, err
	case e.lends:
		return goType{}, at.refuse("lends memory that has a coro_bytes, or the like, in "+
			"it: lend each by a member of its own, or %s", remedy)
	}
	typ.text = "coro.Slice[" + e.text + "]"
	return typ, nil
}

func baseType(t *die, at spot) (goType, error) {
	size := t.number(dwarf.AttrByteSize)
	name, instead := "", "use smaller numbers, as two of 64 bits"
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
		return goType{text: fmt.Sprintf("complex%d", 8*size), size: size,
			align: size / 2}, nil
	default:
		if enc == encFloat || enc == encComplex {
			instead = "use a float or a double"
		}
		return goType{}, at.refuse("is a %s of %d bytes, which Go has not: %s", t.name(),
			size, instead)
	}
	return goType{text: name, size: size, align: size}, nil
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
	e.text, e.size = prefix+e.text, count*e.size
	return e, err
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
	for i, c := range n.consts {
		if !signed && c.value < 0 {
			n.consts[i].value = c.value & (1<<(8*size) - 1)
		}
	}
	if n.cName == "" { // its numbers have no type of their own
		return goType{text: n.base, size: size, align: size,
			values: n.base + " of " + strings.Join(n.values(), ", ")}, nil
	}
	n.sizeof = n.cName
	n.doc = g.comments.before(t)
	have, err := g.declare(n, t, at)
	if err != nil {
		return goType{}, err
	}
	if have != n {
		err = same(have, n)
	}
	return goType{text: have.goName, size: size, align: size}, err
}

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

// isCoro tells whether a file is a header of coro.
func isCoro(file string) bool {
	base := filepath.Base(file)
	return base == "coro.h" || strings.HasPrefix(base, "coro_") && filepath.Ext(base) == ".h"
}

// standsAlone tells of a header of coro that coro.h does not include.
func standsAlone(file string) bool { return slices.Contains(alone, filepath.Base(file)) }

var alone = include.Names[1:]
