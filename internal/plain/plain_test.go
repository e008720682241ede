package plain_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/plain"
)

// Slice is none of coro's.
type Slice[T any] struct{ At [1]T }

func TestTheSlicesOfAType(t *testing.T) {
	for _, c := range []struct {
		of      reflect.Type
		offsets []uintptr
		refusal string
	}{
		{reflect.TypeFor[coro.None](), nil, ""},
		{reflect.TypeFor[struct{ a, b int }](), nil, ""},
		{reflect.TypeFor[coro.Bytes](), []uintptr{0}, ""},
		{reflect.TypeFor[struct {
			a byte
			b coro.Bytes
			c [2]struct {
				d int32
				e coro.Slice[[4]float64]
			}
			f [0]coro.Bytes
		}](), []uintptr{8, 32, 56}, ""},
		{reflect.TypeFor[[1 << 30]struct{ b [3]byte }](), nil, ""},
		{reflect.TypeFor[[1 << 30][1 << 10]*int](), nil, "contains *int"},
		{reflect.TypeFor[struct{ coro.Bytes }](), []uintptr{0}, ""},
		{reflect.TypeFor[Slice[int]](), nil, ""},
		{reflect.TypeFor[Slice[*int]](), nil, "contains *int"},
		{reflect.TypeFor[coro.Slice[struct{ s string }]](), nil, "contains string"},
		{reflect.TypeFor[coro.Slice[coro.Bytes]](), nil, "contains coro.Slice[uint8]"},
		{reflect.TypeFor[struct {
			a coro.Bytes
			p *int
		}](), nil, "contains *int"},
	} {
		offsets, refusal := plain.Slices(c.of)
		if c.refusal == "" {
			assert.Empty(t, refusal, c.of)
			assert.Equal(t, c.offsets, offsets, c.of)
		} else {
			assert.Contains(t, refusal, c.refusal, c.of)
		}
	}
	assert.NotNil(t, plain.PointerIn(reflect.TypeFor[coro.Bytes]()))
}
