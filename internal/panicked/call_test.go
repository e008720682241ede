package panicked_test

import (
	"bytes"
	"errors"
	"log/slog"
	"runtime"
	"testing"

	"github.com/organzine/coro/internal/panicked"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCallReturnsHowAFunctionHasFailed(t *testing.T) {
	require.NoError(t, panicked.Call(func() {}))
	require.ErrorIs(t, panicked.Call(runtime.Goexit), panicked.ErrGoexit)

	bad := errors.New("bad")
	err := panicked.Call(func() { panic(bad) })
	require.ErrorIs(t, err, bad)
	e := (*panicked.Error)(nil)
	require.ErrorAs(t, err, &e)
	assert.Contains(t, string(e.Stack), "call_test.go")

	require.Error(t, panicked.Call(func() { panic(nil) }))
	require.ErrorIs(t, panicked.Call(func() { // the end of a Goexit is a panic
		defer func() { panic(bad) }()
		runtime.Goexit()
	}), bad)
}

func TestAHooksFailureIsLoggedOnceAndCounted(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewJSONHandler(&log, nil)))
	defer slog.SetDefault(before)

	calls := 0
	h := panicked.Hook[int]{Name: "a.Hook", F: func(n int) {
		if calls += n; n == 1 {
			runtime.Goexit()
		}
		panic("bad")
	}}
	h.Call(2)
	h.Call(1)
	h.Call(2)
	assert.Equal(t, 5, calls)
	assert.EqualValues(t, 3, h.Failures())
	assert.Equal(t, 1, bytes.Count(log.Bytes(), []byte("\n")), "one line: %s", &log)
	for _, part := range []string{`"hook":"a.Hook"`, "coro: panic: bad", "call_test.go"} {
		assert.Contains(t, log.String(), part)
	}

	none := panicked.Hook[int]{}
	none.Call(1)
	assert.Zero(t, none.Failures())
}

type handler struct{ slog.Handler }

func TestAHandlerOfLogsThatPanicsHarmsNobody(t *testing.T) {
	before := slog.Default()
	slog.SetDefault(slog.New(handler{}))
	defer slog.SetDefault(before)
	h := panicked.Hook[int]{Name: "a.Hook", F: func(int) { panic("bad") }}
	h.Call(1)
	assert.EqualValues(t, 1, h.Failures())
}
