//go:build amd64 || arm64

package goid

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestGoroutinesDiffer(t *testing.T) {
	mine := Current()
	assert.NotZero(t, mine)
	assert.Equal(t, mine, Current())
	others := make(chan uintptr)
	release := make(chan struct{})
	for range 8 {
		go func() {
			others <- Current()
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
