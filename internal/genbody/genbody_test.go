//go:build cgo && linux && (amd64 || arm64)

package genbody

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/organzine/coro"
	"github.com/organzine/coro/actor/actorc"
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

// A body that takes a coro_fd fits Serve, and the numbers of coro.h have their types in Go.
func TestAGeneratedBodyServes(t *testing.T) {
	s, err := coro.New(coro.WithWorkers(1))
	require.NoError(t, err)
	defer func() { assert.NoError(t, s.Close(context.Background())) }()

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, listener, GenbodyServe) }()
	defer func() { stop(); assert.ErrorIs(t, <-served, context.Canceled) }()
	c, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.SetDeadline(time.Now().Add(3*time.Minute)))
	_, err = c.Write([]byte("there and back"))
	require.NoError(t, err)
	text := make([]byte, len("there and back"))
	_, err = io.ReadFull(c, text)
	require.NoError(t, err)
	assert.Equal(t, "there and back", string(text))

	_, ids := result(t, s, GenbodyIds, Ids{[2]coro.FD{1, 2}, actorc.Actor(3), coro.Handle(4), coro.FuncID(5)})
	assert.Equal(t, Ids{[2]coro.FD{2, 1}, 3, 4, 5}, ids)
}

// A coro_buffer is a Buffer, which passes, and a coro_stream * what Stream.Address returns.
func TestBuffersAndStreamsOfAGeneratedBody(t *testing.T) {
	s, err := coro.New(coro.WithWorkers(1))
	require.NoError(t, err)
	defer func() { assert.NoError(t, s.Close(context.Background())) }()

	st, err := coro.NewStream(s, 64)
	require.NoError(t, err)
	p := Crate{To: st.Address()}
	for i := range p.Part {
		p.Part[i], err = coro.NewBuffer(s, i+1)
		require.NoError(t, err)
	}
	_, back := result(t, s, GenbodyWeigh, p)
	assert.Equal(t, Crate{Part: back.Part, Weight: 3}, back)
	for i, b := range back.Part {
		assert.ErrorIs(t, p.Part[i].Free(), coro.ErrStale)
		assert.Equal(t, 2-i, b.Len())
		assert.NoError(t, b.Free())
	}
	written, err := io.ReadAll(st)
	assert.Len(t, written, 4)
	assert.Error(t, err, "C has given its end up")
}

// A type that only messages have is there for both sides.
func TestATypeThatNoBodyHas(t *testing.T) {
	f := Figures{Last: EventEnd, FD: 7, Bytes: FiguresBytes{In: 1, Out: 2}}
	assert.Equal(t, FigureSum(f), uint64(1+7+1+2))
}
