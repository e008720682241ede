package table

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTableGivesIdsAgain(t *testing.T) {
	var table Table[int]
	assert.Nil(t, table.At(0))
	assert.Nil(t, table.At(1<<32-1))
	values := make([]int, 3*pageEntries)
	for i := range values {
		require.EqualValues(t, i, table.Add(&values[i]))
	}
	for i := range values {
		assert.Same(t, &values[i], table.At(uint32(i)))
	}
	assert.Nil(t, table.At(3*pageEntries))
	table.Remove(7)
	table.Remove(70)
	assert.Nil(t, table.At(7))
	assert.EqualValues(t, 70, table.Add(&values[0]))
	assert.EqualValues(t, 7, table.Add(&values[1]))
	assert.EqualValues(t, 3*pageEntries, table.Add(&values[2]))
	count := 0
	table.Each(func(*int) { count++ })
	assert.Equal(t, 3*pageEntries+1, count)
}

func TestTableTakesTheIdsOfTheCaller(t *testing.T) {
	var table Table[uint32]
	table.Each(func(*uint32) { assert.Fail(t, "there is none") })
	ids := []uint32{5, 16384, 16383, 0, 1 << 20}
	for _, id := range ids {
		table.Put(id, &id)
	}
	for _, id := range ids {
		assert.Equal(t, id, *table.At(id))
		assert.Nil(t, table.At(id+7))
	}
	var seen []uint32
	table.Each(func(id *uint32) { seen = append(seen, *id) })
	assert.Equal(t, []uint32{0, 5, 16383, 16384, 1 << 20}, seen)
	table.Clear(5)
	assert.Nil(t, table.At(5))
}

// What was added before is found while the table grows.
func TestTableIsReadWhileItGrows(t *testing.T) {
	var table Table[uint32]
	var all sync.WaitGroup
	stop := make(chan struct{})
	added := make(chan uint32, 1)
	first := uint32(0)
	added <- table.Add(&first)
	for range 2 {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				case id := <-added:
					assert.Equal(t, id, *table.At(id))
					added <- id
				}
				table.Each(func(v *uint32) { assert.Equal(t, *v, *table.At(*v)) })
			}
		})
	}
	for i := uint32(1); i < 50*pageEntries; i++ {
		id := i
		assert.Equal(t, i, table.Add(&id))
		<-added
		added <- id
	}
	close(stop)
	all.Wait()
}

func TestList(t *testing.T) {
	var list List[error]
	assert.Empty(t, list.All())
	assert.EqualValues(t, 0, list.Add(assert.AnError))
	assert.EqualValues(t, 1, list.Add(assert.AnError))
	assert.EqualValues(t, 2, list.Add(assert.AnError))
	assert.Equal(t, assert.AnError, list.Remove(1))
	assert.Len(t, list.All(), 2)
	assert.Equal(t, 2, list.Len())
	assert.EqualValues(t, 1, list.Add(assert.AnError))
	assert.Equal(t, 3, list.Len())
}
