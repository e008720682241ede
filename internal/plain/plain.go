// Package plain tells types without Go pointers, whose bytes may be C's, or need not be cleared.
package plain

import "reflect"

// PointsIntoGo is the reason to refuse a type that holds the type %v.
const PointsIntoGo = "contains %v, which points into Go: " +
	"pass numbers, arrays and structs of them, a runtime/cgo.Handle, or C memory as a uintptr"

// PointerIn returns a type inside t that holds a Go pointer, or nil.
func PointerIn(t reflect.Type) reflect.Type {
	switch t.Kind() {
	case reflect.Array:
		if t.Len() > 0 {
			return PointerIn(t.Elem())
		}
	case reflect.Struct:
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
