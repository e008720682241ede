//go:build amd64 || arm64

package asm

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestGoroutinesDiffer(t *testing.T) {
	mine := Goroutine()
	assert.NotZero(t, mine)
	assert.Equal(t, mine, Goroutine())
	others := make(chan uintptr)
	release := make(chan struct{})
	for range 8 {
		go func() {
			others <- Goroutine()
			<-release
		}()
	}
	seen := map[uintptr]bool{mine: true}
	for range 8 {
		seen[<-others] = true
	}
	close(release)
	assert.Len(t, seen, 9)
}

func TestStoreRelease(t *testing.T) {
	words := [3]uint32{1, 2, 3}
	StoreRelease(&words[1], 0xfedcba98)
	assert.Equal(t, [3]uint32{1, 0xfedcba98, 3}, words)
	StoreReleaseAfterCAS(&words[1], 0x01234567)
	assert.Equal(t, [3]uint32{1, 0x01234567, 3}, words)
}
