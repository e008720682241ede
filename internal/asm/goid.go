//go:build amd64 || arm64

package asm

import "runtime"

func goroutineWord(at uintptr) uint64

// descriptorBytes is how much of a goroutine's descriptor is looked through. A descriptor is larger
// (440 bytes in Go 1.26).
const descriptorBytes = 256

// idAt is where the descriptor has the goroutine's id; 0: not known.
var idAt = findID()

// GoroutineID is the number of the goroutine, which is never another's: the one that Go's stack
// traces show. It costs about 1 ns; or 1 µs, if this release of Go keeps it where findID does not
// find it.
func GoroutineID() uint64 {
	if idAt != 0 {
		return goroutineWord(idAt)
	}
	return parsedID()
}

// parsedID is the goroutine's id, the documented way: "goroutine 18 [running]:".
func parsedID() uint64 {
	var buf [64]byte
	id := uint64(0)
	for _, b := range buf[len("goroutine "):runtime.Stack(buf[:], false)] {
		if b < '0' || b > '9' {
			break
		}
		id = 10*id + uint64(b-'0')
	}
	return id
}

// findID returns the one offset at which the descriptors of several goroutines have their ids; 0 if
// that is not one.
func findID() uintptr {
	const goroutines = 8
	found := make(chan uint32)
	for range goroutines {
		go func() {
			var at uint32 // a bit for each word
			for i := range uint32(descriptorBytes / 8) {
				if goroutineWord(uintptr(8*i)) == parsedID() {
					at |= 1 << i
				}
			}
			found <- at
		}()
	}
	all := ^uint32(0)
	for range goroutines {
		all &= <-found
	}
	if all == 0 || all&(all-1) != 0 {
		return 0
	}
	at := uintptr(0)
	for ; all > 1; all >>= 1 {
		at += 8
	}
	return at
}
