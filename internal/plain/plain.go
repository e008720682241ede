// Package plain tells types without Go pointers, whose bytes may be C's, or need not be cleared.
package plain

import (
	"fmt"
	"reflect"
	"strings"
)

// Refusal is the reason why C cannot have a T: it holds a Go pointer. "": there is none.
func Refusal(t reflect.Type) string {
	bad := PointerIn(t)
	switch {
	case bad == nil:
		return ""
	case Lent(bad) != nil:
		return fmt.Sprintf("contains %v, memory that is lent: the argument of a Func, of a "+
			"RangeFunc, or of an exported Go function, may have it, nothing else", bad)
	}
	return fmt.Sprintf("contains %v, which points into Go: pass numbers, arrays and structs of "+
		"them, a runtime/cgo.Handle, C memory as a uintptr, or, in the argument of a Func, "+
		"Go memory as a coro.Slice", bad)
}

// PointerIn returns a type inside t that holds a Go pointer, or nil.
func PointerIn(t reflect.Type) reflect.Type {
	switch t.Kind() {
	case reflect.Array:
		if t.Len() > 0 {
			return PointerIn(t.Elem())
		}
	case reflect.Struct:
		if Lent(t) != nil {
			return t
		}
		for i := range t.NumField() {
			if bad := PointerIn(t.Field(i).Type); bad != nil {
				return bad
			}
		}
	case reflect.Pointer, reflect.UnsafePointer, reflect.String, reflect.Slice, reflect.Map,
		reflect.Chan, reflect.Func, reflect.Interface:
		return t
	}
	return nil
}

// Lent is the type of the elements, if t is a coro.Slice, or else nil.
func Lent(t reflect.Type) reflect.Type {
	if t.Kind() != reflect.Struct || !strings.HasPrefix(t.Name(), "Slice[") ||
		t.PkgPath() != "github.com/organzine/coro" {
		return nil
	}
	return t.Field(0).Type.Elem()
}

// isBuffer tells whether t is coro.Buffer.
func isBuffer(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t.Name() == "Buffer" &&
		t.PkgPath() == "github.com/organzine/coro"
}

// Buffers returns the offsets of all coro.Buffers in a t, which holds no Go pointers but those of
// Slices. There may be millions of elements in an array: past most bytes nothing is looked at, and
// more is true if there are some.
func Buffers(t reflect.Type, most uintptr) (offsets []uintptr, more bool) {
	if isBuffer(t) {
		return []uintptr{0}, false
	}
	add := func(e reflect.Type, at uintptr) {
		if at >= most {
			some, beyond := Buffers(e, most)
			more = more || beyond || len(some) > 0
			return
		}
		some, beyond := Buffers(e, most-at)
		more = more || beyond
		for _, offset := range some {
			offsets = append(offsets, at+offset)
		}
	}
	switch {
	case t.Kind() == reflect.Array:
		for i := 0; i < t.Len() && !more; i++ {
			had := len(offsets)
			if add(t.Elem(), uintptr(i)*t.Elem().Size()); i == 0 && len(offsets) == had {
				break
			}
		}
	case t.Kind() == reflect.Struct && Lent(t) == nil:
		for i := range t.NumField() {
			add(t.Field(i).Type, t.Field(i).Offset)
		}
	}
	return offsets, more
}

// Slices returns the offsets of all coro.Slices in a t. refusal: why C cannot have one; "": it can.
func Slices(t reflect.Type) (offsets []uintptr, refusal string) {
	if e := Lent(t); e != nil {
		return []uintptr{0}, Refusal(e)
	}
	add := func(some []uintptr, at uintptr) {
		for _, offset := range some {
			offsets = append(offsets, at+offset)
		}
	}
	var some []uintptr
	switch t.Kind() {
	case reflect.Array:
		if t.Len() == 0 {
			break
		}
		if some, refusal = Slices(t.Elem()); len(some) == 0 { // there may be millions
			break
		}
		for i := range t.Len() {
			add(some, uintptr(i)*t.Elem().Size())
		}
	case reflect.Struct:
		for i := 0; i < t.NumField() && refusal == ""; i++ {
			some, refusal = Slices(t.Field(i).Type)
			add(some, t.Field(i).Offset)
		}
	default:
		refusal = Refusal(t)
	}
	return offsets, refusal
}
