package bodygen

import (
	"debug/dwarf"
	"fmt"
	"go/token"
	"slices"
)

func (g *generator) structType(t *die, at spot, alias string) (goType, error) {
	n := &named{cName: alias, bytes: t.number(dwarf.AttrByteSize)}
	if t.name() != "" {
		n.cName = "struct " + t.name()
	}
	if t.Val(dwarf.AttrDeclaration) != nil || n.bytes < 0 {
		return goType{}, at.refuse("is a %s, which has no members here", n.cName)
	}
	switch members := t.below(dwarf.TagMember); {
	case len(members) == 0 && at.root == "":
		return goType{}, at.refuse("is a struct without members: use coro_none, where " +
			"there is nothing to give")
	case len(members) == 0:
		return goType{}, at.refuse("is a struct without members: leave it out")
	}
	if n.cName == "" { // within another one
		n.cName, n.sizeof = at.text, at.sizeof
		n.offsetof, n.within = at.root, at.path+"."
	} else {
		n.sizeof, n.offsetof = n.cName, n.cName
		at = spot{text: n.cName, root: n.cName}
	}
	key := use{t, n.cName}
	have, ok := g.seen[key]
	if !ok {
		var err error
		if have, err = g.newStruct(n, t, at); err != nil {
			return goType{}, err
		}
		g.seen[key] = have
	}
	lends := slices.ContainsFunc(have.fields, func(f field) bool { return f.typ.lends })
	return goType{text: have.goName, size: have.bytes, align: alignOf(have.fields),
		lends: lends}, nil
}

// newStruct adds a struct that this C file has not used yet, or finds the one of another file.
func (g *generator) newStruct(n *named, t *die, at spot) (*named, error) {
	if _, line := t.place(); line != at.line {
		n.doc = g.comments.before(t)
	}
	have, err := g.declare(n, t, at)
	if err != nil {
		return nil, err
	}
	if err := g.fields(n, t, at); err != nil {
		return nil, err
	}
	if have != n {
		return have, same(have, n)
	}
	g.types = append(g.types, n)
	return n, nil
}

// fields lays the members out as Go does, and looks whether C has done so.
func (g *generator) fields(n *named, t *die, at spot) error {
	end := int64(0)
	_, line := t.place() // a comment of that line is the struct's
	taken := map[string]bool{}
	for _, m := range t.below(dwarf.TagMember) {
		f, here, err := g.member(n, m, at, line)
		switch {
		case err != nil:
			return err
		case taken[f.goName]:
			return here.refuse("has the same Go name, %s, as another member: give one "+
				"another name", f.goName)
		case up(end, f.typ.align) > f.offset || f.offset%f.typ.align != 0:
			return here.refuse("lies at byte %d, but Go aligns %s to %d: leave the "+
				"attribute %s out", f.offset, f.typ.text, f.typ.align, culprit(m))
		case up(end, f.typ.align) < f.offset:
			n.fields = append(n.fields, padding(end, f.offset))
		}
		taken[f.goName] = true
		if _, l := m.place(); l != line {
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
		return at.refuse("has %d bytes in C, where Go would have %d: leave the "+
			"attributes packed and aligned out", n.bytes, up(end, align))
	}
	return nil
}

// member is a member, and where it is.
func (g *generator) member(n *named, m *die, at spot, line int) (f field, here spot, err error) {
	f = field{cName: m.name(), goName: camel(m.name()),
		offset: m.number(dwarf.AttrDataMemberLoc)}
	here = spot{text: "the member " + f.cName + " of " + n.cName,
		goName: n.goName + f.goName, root: at.root, path: n.within + f.cName, line: line}
	here.sizeof = fmt.Sprintf("((%s *)0)->%s", here.root, here.path)
	switch {
	case f.cName == "":
		return f, here, at.refuse("has a member without a name: give it one")
	case m.Val(dwarf.AttrBitSize) != nil:
		return f, here, here.refuse("is a bit-field, which Go has not: use a whole " +
			"number, and shift and mask in it")
	case !token.IsIdentifier(f.goName):
		return f, here, here.refuse("would be %s in Go, which is no name there: give it "+
			"another name", f.goName)
	}
	f.typ, err = g.goType(m.typ(), here, "")
	return f, here, err
}

// culprit is the attribute by which a member lies where Go would not have it.
func culprit(member *die) string {
	for t := member.typ(); t != nil && t.Tag == dwarf.TagTypedef; t = t.typ() {
		if member.Val(dwarf.AttrAlignment) != nil {
			return "aligned of its type, " + t.name() + ","
		}
	}
	return "packed"
}

func padding(from, to int64) field {
	return field{goName: "_", offset: from,
		typ: goType{text: fmt.Sprintf("[%d]byte", to-from), size: to - from, align: 1}}
}

func alignOf(fields []field) int64 {
	align := int64(1)
	for _, f := range fields {
		align = max(align, f.typ.align)
	}
	return align
}

func up(n, align int64) int64 { return (n + align - 1) / align * align }

// alignment is the largest one that an attribute in C gives a type, or a member of it.
func alignment(t *die) int64 {
	if t == nil || t.Tag == dwarf.TagPointerType {
		return 0
	}
	align := t.number(dwarf.AttrAlignment)
	for _, m := range t.below(dwarf.TagMember) {
		align = max(align, m.number(dwarf.AttrAlignment), alignment(m.typ()))
	}
	return max(align, alignment(t.typ()))
}
