//go:build cgo

package coro_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/leak"
)

func newBuffer(t testing.TB, s *coro.Scheduler, text string) coro.Buffer {
	t.Helper()
	b, err := coro.BufferOf(s, []byte(text))
	require.NoError(t, err)
	return b
}

func assertStale(t testing.TB, b coro.Buffer) {
	t.Helper()
	_, err := b.Bytes()
	assert.ErrorIs(t, err, coro.ErrStale)
	assert.ErrorContains(t, err, "was sent or freed")
	assert.ErrorIs(t, b.Free(), coro.ErrStale)
	assert.ErrorIs(t, b.Append([]byte("x")), coro.ErrStale)
	_, err = b.WriteAt([]byte("x"), 0)
	assert.ErrorIs(t, err, coro.ErrStale)
	_, err = b.ReadAt(make([]byte, 1), 0)
	assert.ErrorIs(t, err, coro.ErrStale)
	assert.ErrorIs(t, b.Resize(1), coro.ErrStale)
	assert.ErrorIs(t, b.Cut(0, 0), coro.ErrStale)
	assert.ErrorIs(t, b.Use(func([]byte) error { return nil }), coro.ErrStale)
	assert.Zero(t, b.Len())
	assert.Zero(t, b.Cap())
}

// assertNoBuffers is for the end of a test: all buffers of s were freed.
func assertNoBuffers(t testing.TB, s *coro.Scheduler) {
	t.Helper()
	st := s.Stats().Buffers
	assert.Equal(t, st.Made, st.Freed)
	assert.Zero(t, st.Bytes)
}

func TestABufferIsReadAndWritten(t *testing.T) {
	s := newScheduler(t)
	b := newBuffer(t, s, "hello")
	assert.Equal(t, 5, b.Len())
	assert.GreaterOrEqual(t, b.Cap(), 5)
	require.NoError(t, b.Append([]byte(", world")))
	p := make([]byte, 5)
	n, err := b.ReadAt(p, 7)
	assert.NoError(t, err)
	assert.Equal(t, "world", string(p[:n]))
	n, err = b.ReadAt(p, 10)
	assert.ErrorIs(t, err, io.EOF)
	assert.Equal(t, "ld", string(p[:n]))
	_, err = b.ReadAt(p, 100)
	assert.ErrorIs(t, err, io.EOF)
	_, err = b.ReadAt(p, -1)
	assert.ErrorContains(t, err, "offset")
	n, err = b.WriteAt([]byte("HE"), 0)
	assert.NoError(t, err)
	assert.Equal(t, 2, n)
	_, err = b.WriteAt([]byte("!"), 14) // past the end
	assert.NoError(t, err)
	all, err := b.Bytes()
	assert.NoError(t, err)
	assert.Equal(t, "HEllo, world\x00\x00!", string(all))
	_, err = b.WriteAt(nil, -1)
	assert.ErrorContains(t, err, "offset")
	assert.ErrorContains(t, b.Cut(2, 1), "0 to 15")
	assert.ErrorContains(t, b.Cut(-1, 1), "0 to 15")
	assert.ErrorContains(t, b.Cut(0, 16), "0 to 15")
	require.NoError(t, b.Cut(7, 12))
	n, err = b.CopyTo(p[:3])
	assert.NoError(t, err)
	assert.Equal(t, "wor", string(p[:n]))
	require.NoError(t, b.Resize(2))
	require.NoError(t, b.Resize(4))
	all, _ = b.Bytes()
	assert.Equal(t, "wo\x00\x00", string(all))
	assert.ErrorContains(t, b.Resize(-1), "must be from")
	assert.Contains(t, b.String(), "4 bytes")
	require.NoError(t, b.Free())
	assertStale(t, b)
	assertStale(t, coro.Buffer{})
	assertNoBuffers(t, s)
}

func TestABufferGrows(t *testing.T) {
	s := newScheduler(t)
	b, err := coro.NewBuffer(s, 0)
	require.NoError(t, err)
	want, r := []byte{}, rand.New(rand.NewSource(1))
	for len(want) < 300_000 {
		piece := make([]byte, r.Intn(9000))
		r.Read(piece)
		n, err := b.Writer().Write(piece)
		require.NoError(t, err)
		require.Equal(t, len(piece), n)
		want = append(want, piece...)
	}
	got, err := io.ReadAll(b.Reader())
	require.NoError(t, err)
	assert.True(t, bytes.Equal(want, got))
	require.NoError(t, b.Cut(1000, 200_000))
	got, _ = b.Bytes()
	assert.True(t, bytes.Equal(want[1000:200_000], got))
	require.NoError(t, b.Free())
	_, err = b.Writer().Write([]byte{1})
	assert.ErrorIs(t, err, coro.ErrStale)
	assertNoBuffers(t, s)
}

func TestANewBufferIsZero(t *testing.T) {
	s := newScheduler(t)
	for _, n := range []int{0, 1, 64, 65, 5000, 65536, 65537, 1 << 20} {
		for range 3 {
			b, err := coro.NewBuffer(s, n)
			require.NoError(t, err)
			assert.Equal(t, n, b.Len())
			require.NoError(t, b.Use(func(p []byte) error {
				assert.Equal(t, n, len(p))
				assert.Empty(t, bytes.Trim(p, "\x00"))
				for i := range p {
					p[i] = 1
				}
				return nil
			}))
			require.NoError(t, b.Free())
		}
	}
	assertNoBuffers(t, s)
}

func TestABufferInUseIsBusy(t *testing.T) {
	s := newScheduler(t)
	b := newBuffer(t, s, "text")
	failure := errors.New("mine")
	err := b.Use(func(p []byte) error {
		assert.Equal(t, "text", string(p))
		copy(p, "T")
		assert.ErrorIs(t, b.Free(), coro.ErrBusy)
		assert.ErrorIs(t, b.Resize(2), coro.ErrBusy)
		assert.ErrorIs(t, b.Cut(0, 1), coro.ErrBusy)
		assert.ErrorIs(t, b.Append(nil), coro.ErrBusy)
		assert.ErrorContains(t, b.Use(nil), "in use")
		assert.Equal(t, 4, b.Len())
		return failure
	})
	assert.Equal(t, failure, err)
	assert.Panics(t, func() { _ = b.Use(func([]byte) error { panic("mine") }) })
	all, err := b.Bytes()
	assert.NoError(t, err)
	assert.Equal(t, "Text", string(all))
	require.NoError(t, b.Free())
}

func TestBuffersHaveALimit(t *testing.T) {
	s := newScheduler(t, coro.WithBufferLimit(1<<20))
	var all []coro.Buffer
	for range 16 {
		b, err := coro.NewBuffer(s, 1<<16)
		require.NoError(t, err)
		all = append(all, b)
	}
	for _, n := range []int{1, 1 << 16, 1 << 20} {
		_, err := coro.NewBuffer(s, n)
		assert.ErrorIs(t, err, coro.ErrNoMemory)
		assert.ErrorContains(t, err, "WithBufferLimit")
	}
	assert.ErrorIs(t, all[0].Append([]byte("x")), coro.ErrNoMemory)
	assert.ErrorIs(t, all[0].Resize(1<<17), coro.ErrNoMemory)
	assert.Equal(t, 1<<20, s.Stats().Buffers.Bytes)
	for _, b := range all {
		assert.NoError(t, b.Free())
	}
	b, err := coro.NewBuffer(s, 1<<20)
	require.NoError(t, err)
	require.NoError(t, b.Free())
	assertNoBuffers(t, s)
	_, err = coro.New(coro.WithBufferLimit(0))
	assert.ErrorContains(t, err, "WithBufferLimit")
}

func TestWhereNoBufferIsMade(t *testing.T) {
	s := newScheduler(t)
	_, err := coro.NewBuffer(nil, 1)
	assert.ErrorContains(t, err, "NewBuffer")
	_, err = coro.NewBuffer(s, -1)
	assert.ErrorContains(t, err, "NewBuffer")
	b := newBuffer(t, s, "outlives")
	require.NoError(t, s.Close(soon(t)))
	_, err = coro.NewBuffer(s, 1)
	assert.ErrorIs(t, err, coro.ErrClosed)
	all, err := b.Bytes()
	assert.NoError(t, err)
	assert.Equal(t, "outlives", string(all))
	require.NoError(t, b.Free())
	assertNoBuffers(t, s)
}

// Of many that free one buffer, one does; and what they make meanwhile is theirs alone.
func TestABufferIsFreedOnce(t *testing.T) {
	s := newScheduler(t)
	var wg sync.WaitGroup
	shared := make([]coro.Buffer, 2000)
	for i := range shared {
		shared[i] = newBuffer(t, s, strings.Repeat("x", i))
	}
	var mu sync.Mutex
	freed := 0
	for range 4 {
		wg.Go(func() {
			n := 0
			for _, b := range shared {
				own := newBuffer(t, s, "own")
				switch err := b.Free(); {
				case err == nil:
					n++
				default:
					assert.ErrorIs(t, err, coro.ErrStale)
				}
				text, err := own.Bytes()
				assert.NoError(t, err)
				assert.Equal(t, "own", string(text))
				assert.NoError(t, own.Free())
			}
			mu.Lock()
			freed += n
			mu.Unlock()
		})
	}
	wg.Wait()
	assert.Equal(t, len(shared), freed)
	assertNoBuffers(t, s)
}

func TestABufferThatIsLeftIsFound(t *testing.T) {
	s := newScheduler(t)
	before := newBuffer(t, s, "before")
	v := leak.Begin()
	defer v.End()
	b := newBuffer(t, s, "left")
	gone := newBuffer(t, s, "gone")
	require.NoError(t, gone.Free())
	leaks := v.Leaks()
	require.Len(t, leaks, 1)
	assert.Contains(t, leaks[0].What, "buffer of 4 bytes")
	assert.Contains(t, leaks[0].Where, "TestABufferThatIsLeftIsFound")
	require.NoError(t, b.Free())
	assert.Empty(t, v.Leaks())
	require.NoError(t, before.Free())
}
