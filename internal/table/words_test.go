package table

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWords(t *testing.T) {
	var words Words[int]
	assert.Nil(t, words.At(64))
	values := make([]int, 10<<firstLog)
	for round := range 2 {
		for i := range values {
			words.Put(uintptr(64*(i+1)), &values[i])
		}
		for i := range values {
			assert.Same(t, &values[i], words.At(uintptr(64*(i+1))))
		}
		assert.Nil(t, words.At(1), round)
		for i := range values {
			words.Remove(uintptr(64 * (i + 1)))
			assert.Nil(t, words.At(uintptr(64*(i+1))))
			if i+1 < len(values) {
				assert.Same(t, &values[i+1], words.At(uintptr(64*(i+2))))
			}
		}
	}
	assert.LessOrEqual(t, len(words.buckets.Load().list), 2*len(values), "it did not grow again")
	words.Remove(7) // there is none
}

// Each finds its own word while others change the table.
func TestWordsWhileOthersChangeThem(t *testing.T) {
	var words Words[uintptr]
	var all sync.WaitGroup
	for me := range uintptr(4) {
		all.Go(func() {
			for i := range uintptr(2000) {
				word := 64 * (4*i + me + 1)
				words.Put(word, &word)
				assert.Same(t, &word, words.At(word))
				if i%2 == 0 {
					words.Remove(word)
					assert.Nil(t, words.At(word))
				}
			}
		})
	}
	all.Wait()
}
