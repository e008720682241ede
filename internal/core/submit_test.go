//go:build cgo && linux && (amd64 || arm64)

package core

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
)

func TestSubmittersShareNoCacheLines(t *testing.T) {
	assert.Zero(t, unsafe.Sizeof(Submitter{})%128)
}

func TestGoAndCAgreeOnRecords(t *testing.T) {
	assert.EqualValues(t, 64, unsafe.Sizeof(record{}))
	assert.EqualValues(t, 64, unsafe.Sizeof(coldLine{}))
	var r record
	assert.Equal(t, unsafe.Offsetof(r.permits)+4, unsafe.Offsetof(r.home),
		"fill stores one word")
	assert.Equal(t, unsafe.Offsetof(r.permits)+6, unsafe.Offsetof(r.state))
	assert.Equal(t, unsafe.Offsetof(r.permits)+7, unsafe.Offsetof(r.flags))
	assert.Equal(t, unsafe.Offsetof(r.class)+1, unsafe.Offsetof(r.arg_bytes))
	assert.Equal(t, unsafe.Offsetof(r.class)+2, unsafe.Offsetof(r.result_bytes))
}

func TestTooManyWakesAreRefused(t *testing.T) {
	s, status := New(Options{Workers: 1, Paused: true})
	assert.Equal(t, OK, status)
	submitters, status := s.NewSubmitters(1)
	assert.Equal(t, OK, status)
	assert.Equal(t, OK, submitters[0].Acquire())
	j, status := submitters[0].Start(&Spec{Fn: 1}, nil) // it never runs
	assert.Equal(t, OK, status)
	assert.Equal(t, OK, Wake(j.Handle()))
	j.r.wake += permitsMax - 2
	assert.Equal(t, OK, Wake(j.Handle()))
	assert.Equal(t, Overflow, Wake(j.Handle()))
	submitters[0].Shut()
	assert.Equal(t, OK, s.Close(true))
	s.Destroy()
}
