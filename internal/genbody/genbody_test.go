//go:build cgo && linux && (amd64 || arm64)

package genbody

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/organzine/coro"
)

func result[A, R any](t *testing.T, s *coro.Scheduler, f coro.Func[A, R], arg A) (*coro.Task[R], R) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	task, err := f.Start(s, arg)
	require.NoError(t, err)
	got, err := task.Wait(ctx)
	require.NoError(t, err)
	return task, got
}

// Every member arrives in C, and comes back, as what it is in Go.
func TestMembersOfAllKindsArrive(t *testing.T) {
	s, err := coro.New(coro.WithWorkers(1))
	require.NoError(t, err)
	defer func() { assert.NoError(t, s.Close(context.Background())) }()

	for _, c := range []struct {
		numbers Numbers
		sum     float64
	}{
		{Numbers{Yes: true}, 1},
		{Numbers{Part: 0.25}, 0.5},
		{Numbers{Whole: -1e9}, -3e9},
		{Numbers{I8: -128}, -512},
		{Numbers{U8: 255}, 1275},
		{Numbers{U16: 65535}, 393210},
		{Numbers{U32: 1 << 31}, 7 << 31},
		{Numbers{U64: 1 << 40}, 8 << 40},
		{Numbers{C: 'a'}, 873},
		{Numbers{Sc: -1}, -10},
		{Numbers{Ul: 1 << 40}, 11 << 40},
		{Numbers{true, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 66},
	} {
		_, sum := result(t, s, GenbodyAdd, c.numbers)
		assert.Equal(t, c.sum, sum, "%+v", c.numbers)
	}

	p := Painting{Shape: ShapeFlat, Warmth: WarmthHot, Colour: PaintingColour{1, 2, 3}, Name: Text()}
	p.Corner = [2][2]Point{{{1, -2}, {3, -4}}, {{5, -6}, {7, -8}}}
	task, turned := result(t, s, GenbodyTurn, p)
	assert.Equal(t, Painting{
		Corner: [2][2]Point{{{7, -8}, {5, -6}}, {{3, -4}, {1, -2}}},
		Shape:  ShapeRound, Warmth: WarmthCold, Colour: PaintingColour{3, 2, 1}, Name: Text(),
		Who: task.Handle(),
	}, turned)

	_, warmth := result(t, s, GenbodyRows, [3]uint32{1, 2, 7})
	assert.Equal(t, WarmthMild, warmth)
	_, warmth = result(t, s, GenbodyRows, [3]uint32{1, 2, 8})
	assert.Equal(t, WarmthHot, warmth)
	_, n := result(t, s, GenbodyLength, Text())
	assert.EqualValues(t, 11, n)
	require.NoError(t, GenbodyNothing.Spawn(s, coro.None{}))
}
