package actor

import (
	"reflect"
	"strings"
	"sync"
	"unsafe"
)

// A message that was told, and not asked, may have a Reply in it: a question that is forwarded. If
// the message becomes a dead letter nobody has that Reply any more, so that it is failed.

// A replyField is where a type has a Reply, or an interface, which may have one.
type replyField struct {
	offset uintptr
	t      reflect.Type
}

// failer is a Reply, whatever the type of its answer.
type failer interface{ Fail(err error) error }

// replyFields has the []replyField of each type that was looked at.
var replyFields sync.Map

func replyFieldsOf(t reflect.Type) []replyField {
	if list, ok := replyFields.Load(t); ok {
		return list.([]replyField)
	}
	list := appendReplyFields(nil, t, 0)
	replyFields.Store(t, list)
	return list
}

func appendReplyFields(list []replyField, t reflect.Type, offset uintptr) []replyField {
	switch {
	case t.Kind() == reflect.Interface || isReply(t):
		list = append(list, replyField{offset, t})
	case t.Kind() == reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			list = appendReplyFields(list, f.Type, offset+f.Offset)
		}
	case t.Kind() == reflect.Array:
		for i := range t.Len() {
			before := len(list)
			list = appendReplyFields(list, t.Elem(), offset+uintptr(i)*t.Elem().Size())
			if len(list) == before { // nor do the others have one
				break
			}
		}
	}
	return list
}

// isReply tells whether t is a Reply[R].
func isReply(t reflect.Type) bool {
	return strings.HasPrefix(t.Name(), "Reply[") &&
		t.PkgPath() == reflect.TypeFor[Error]().PkgPath()
}

// failReplies fails each Reply in a message.
func (p *pool[M]) failReplies(m M, err error) {
	failRepliesAt(unsafe.Pointer(&m), p.replies, err)
}

func failRepliesAt(m unsafe.Pointer, fields []replyField, err error) {
	for _, f := range fields {
		v := reflect.NewAt(f.t, unsafe.Add(m, f.offset)).Elem()
		if f.t.Kind() != reflect.Interface {
			_ = v.Interface().(failer).Fail(err) // an error: it was answered
			continue
		}
		if v = v.Elem(); !v.IsValid() {
			continue
		}
		if inner := replyFieldsOf(v.Type()); len(inner) > 0 {
			value := reflect.New(v.Type())
			value.Elem().Set(v)
			failRepliesAt(value.UnsafePointer(), inner, err)
		}
	}
}
