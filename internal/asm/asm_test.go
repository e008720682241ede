//go:build amd64 || arm64

package asm

import (
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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

// An id is never used again, and is the one that Go shows; it is found without parsing.
func TestGoroutineIDsAreUnique(t *testing.T) {
	assert.NotZero(t, idAt, "this release of Go keeps the id elsewhere: GoroutineID is slow")
	assert.Equal(t, parsedID(), GoroutineID())
	seen := map[uint64]bool{GoroutineID(): true}
	ids := make(chan uint64)
	for range 2000 {
		go func() {
			assert.Equal(t, parsedID(), GoroutineID())
			ids <- GoroutineID()
		}()
		seen[<-ids] = true
	}
	assert.Len(t, seen, 2001)
}

func TestStoreRelease(t *testing.T) {
	words := [3]uint32{1, 2, 3}
	StoreRelease(&words[1], 0xfedcba98)
	assert.Equal(t, [3]uint32{1, 0xfedcba98, 3}, words)
	StoreReleaseAfterCAS(&words[1], 0x01234567)
	assert.Equal(t, [3]uint32{1, 0x01234567, 3}, words)
}

// Two goroutines each store a word and then look at the other's: one of them sees the other's
// store. In memory that is not Go's the race detector leaves atomic.Store without its order: then a
// call from C can be lost between the two.
func TestOneOfTwoStoresIsSeen(t *testing.T) {
	memory, err := syscall.Mmap(-1, 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_PRIVATE|syscall.MAP_ANON)
	require.NoError(t, err)
	defer func() { require.NoError(t, syscall.Munmap(memory)) }()
	word := func(round uint32, whose int) *uint32 {
		return (*uint32)(unsafe.Pointer(&memory[256*int(round%3)+128*whose]))
	}

	const rounds = 300000
	var saw [2][rounds]bool
	var ready [2]atomic.Uint32
	var wait sync.WaitGroup
	for me := range 2 {
		wait.Go(func() {
			for i := range uint32(rounds) {
				atomic.StoreUint32(word(i+1, me), 0)
				ready[me].Store(i + 1)
				for spins := 0; ready[1-me].Load() <= i; spins++ {
					if spins > 1000 { // there may be one CPU only
						runtime.Gosched()
					}
				}
				StoreSeq(word(i, me), 1)
				saw[me][i] = atomic.LoadUint32(word(i, 1-me)) == 1
			}
		})
	}
	wait.Wait()
	for i := range rounds {
		require.True(t, saw[0][i] || saw[1][i], "round %d", i)
	}
}
