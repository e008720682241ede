package bodygen

import (
	"debug/dwarf"
	"debug/elf"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// An object is what the debug information of a compiled C file says.
type object struct {
	source   string
	byOffset map[dwarf.Offset]*die
	units    []*die
	file     *elf.File
	symbols  []elf.Symbol
	data     map[elf.SectionIndex][]byte
}

// A die is an entry of the debug information, with those below it.
type die struct {
	*dwarf.Entry
	object   *object
	files    []*dwarf.LineFile // of its unit
	dir      string            // where its unit was compiled
	above    *die              // nil: a unit
	children []*die
}

func read(file *elf.File) (*object, error) {
	info, err := file.DWARF()
	if err != nil {
		return nil, fmt.Errorf("no debug information: %w", err)
	}
	o := &object{byOffset: map[dwarf.Offset]*die{}, file: file,
		data: map[elf.SectionIndex][]byte{}}
	if o.symbols, err = file.Symbols(); err != nil {
		return nil, err
	}
	for i, s := range file.Sections {
		if s.Type == elf.SHT_PROGBITS && strings.HasPrefix(s.Name, ".data") {
			if o.data[elf.SectionIndex(i)], err = s.Data(); err != nil {
				return nil, err
			}
		}
	}
	var open []*die // the entry that the next one is below of, and those above it
	reader := info.Reader()
	for {
		entry, err := reader.Next()
		if entry == nil || err != nil {
			return o, err
		}
		if entry.Tag == 0 {
			open = open[:len(open)-1]
			continue
		}
		d := &die{Entry: entry, object: o}
		o.byOffset[entry.Offset] = d
		if entry.Tag == dwarf.TagCompileUnit {
			if d.files, d.dir, err = filesOf(info, entry); err != nil {
				return nil, err
			}
			o.units = append(o.units, d)
			open = nil
		} else if n := len(open); n > 0 {
			above := open[n-1]
			d.files, d.dir, d.above = above.files, above.dir, above
			above.children = append(above.children, d)
		}
		if entry.Children {
			open = append(open, d)
		}
	}
}

func filesOf(info *dwarf.Data, unit *dwarf.Entry) ([]*dwarf.LineFile, string, error) {
	dir, _ := unit.Val(dwarf.AttrCompDir).(string)
	lines, err := info.LineReader(unit)
	if lines == nil || err != nil {
		return nil, dir, err
	}
	return lines.Files(), dir, nil
}

// val is an attribute of d, or of what d is the definition of.
func (d *die) val(a dwarf.Attr) any {
	for d != nil {
		if v := d.Val(a); v != nil {
			return v
		}
		next := d.Val(dwarf.AttrSpecification)
		if next == nil {
			next = d.Val(dwarf.AttrAbstractOrigin)
		}
		offset, _ := next.(dwarf.Offset)
		d = d.object.byOffset[offset]
	}
	return nil
}

func (d *die) name() string { s, _ := d.val(dwarf.AttrName).(string); return s }

// number is an attribute, or -1 if there is none.
func (d *die) number(a dwarf.Attr) int64 {
	switch n := d.val(a).(type) {
	case int64:
		return n
	case uint64:
		return int64(n)
	}
	return -1
}

// typ is the type of d; nil for void.
func (d *die) typ() *die {
	offset, ok := d.val(dwarf.AttrType).(dwarf.Offset)
	if !ok {
		return nil
	}
	return d.object.byOffset[offset]
}

// place is where d is declared: file and line. The file is "" if that is not known.
func (d *die) place() (file string, line int) {
	i := d.number(dwarf.AttrDeclFile)
	if i < 0 || int(i) >= len(d.files) || d.files[i] == nil {
		return "", 0
	}
	file = d.files[i].Name
	if !filepath.IsAbs(file) {
		file = filepath.Join(d.dir, file)
	}
	return filepath.Clean(file), int(d.number(dwarf.AttrDeclLine))
}

// below are the entries directly below d that have a tag.
func (d *die) below(tag dwarf.Tag) []*die {
	var all []*die
	for _, c := range d.children {
		if c.Tag == tag {
			all = append(all, c)
		}
	}
	return all
}

// plain is the type without const, volatile and restrict.
func plain(t *die) *die {
	for t != nil && (t.Tag == dwarf.TagConstType || t.Tag == dwarf.TagVolatileType ||
		t.Tag == dwarf.TagRestrictType) {
		t = t.typ()
	}
	return t
}

// find is the type that C calls name: "struct x", "union x", "enum x" or a typedef; or nil.
func (o *object) find(name string) *die {
	for _, u := range o.units {
		for _, t := range u.children {
			isType := t.Tag == dwarf.TagTypedef || t.Tag == dwarf.TagStructType ||
				t.Tag == dwarf.TagUnionType || t.Tag == dwarf.TagEnumerationType
			if isType && t.name() != "" && cText(t) == name &&
				t.Val(dwarf.AttrDeclaration) == nil {
				return t
			}
		}
	}
	return nil
}

// A body is one that CORO_BODY defines.
type body struct {
	name             string
	source           string
	at               *die // the function with typed pointers
	arg, result      *die // types
	argAlign, resAln int64
}

const (
	descName    = "coro_body_desc"
	descSuffix  = "_body"
	typedPrefix = "coro_typed_"
)

// bodies are those that the C file defines, in the order of the file.
func (o *object) bodies() ([]*body, error) {
	typed := map[string]*die{}
	for _, u := range o.units {
		for _, f := range u.below(dwarf.TagSubprogram) {
			name, ok := strings.CutPrefix(f.name(), typedPrefix)
			if ok && len(f.below(dwarf.TagFormalParameter)) == 2 {
				typed[name] = f
			}
		}
	}
	var all []*body
	for _, u := range o.units {
		for _, v := range u.below(dwarf.TagVariable) {
			desc := v.typ()
			if v.Val(dwarf.AttrLocation) == nil || desc == nil ||
				desc.Tag != dwarf.TagStructType || desc.name() != descName {
				continue
			}
			name, ok := strings.CutSuffix(v.name(), descSuffix)
			f := typed[name]
			if !ok || f == nil {
				return nil, fmt.Errorf("struct %s %s was not defined by "+
					"CORO_BODY", descName, v.name())
			}
			b, err := o.body(name, f, desc)
			if err != nil {
				return nil, err
			}
			all = append(all, b)
		}
	}
	slices.SortStableFunc(all, func(a, b *body) int {
		_, x := a.at.place()
		_, y := b.at.place()
		return x - y
	})
	return all, nil
}

func (o *object) body(name string, f, desc *die) (*body, error) {
	b := &body{name: name, source: o.source, at: f}
	for i, p := range f.below(dwarf.TagFormalParameter) {
		pointer := plain(p.typ())
		if pointer == nil || pointer.Tag != dwarf.TagPointerType ||
			plain(pointer.typ()) == nil {
			return nil, fmt.Errorf("the debug information of the body %s has no "+
				"types", name)
		}
		if i == 0 {
			b.arg = plain(pointer.typ())
		} else {
			b.result = plain(pointer.typ())
		}
	}
	var err error
	if b.argAlign, err = o.described(name, desc, "arg_align"); err != nil {
		return nil, err
	}
	b.resAln, err = o.described(name, desc, "result_align")
	return b, err
}

// described is a member, of 2 bytes, of the description of a body.
func (o *object) described(name string, desc *die, member string) (int64, error) {
	for _, m := range desc.below(dwarf.TagMember) {
		if m.name() != member {
			continue
		}
		for _, s := range o.symbols {
			data := o.data[s.Section]
			at := s.Value + uint64(m.number(dwarf.AttrDataMemberLoc))
			if s.Name == name+descSuffix && at+2 <= uint64(len(data)) {
				return int64(o.file.ByteOrder.Uint16(data[at:])), nil
			}
		}
	}
	return 0, fmt.Errorf("%s of the body %s is not found: is coro.h of another version?",
		member, name)
}
