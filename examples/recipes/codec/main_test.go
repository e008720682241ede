package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/organzine/coro"
	"github.com/organzine/coro/corotest"
)

// patience is how long a test waits for an event that must come. No passing test waits that long.
const patience = 3 * time.Minute

// serving is a server, which has ended when the test ends, with all its coroutines.
func serving(t *testing.T) (*coro.Scheduler, string) {
	corotest.VerifyNone(t)
	s, err := coro.New(coro.WithWorkers(2))
	require.NoError(t, err)
	server := httptest.NewServer(handler(s))
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		server.Close() // waits for the handlers
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		assert.NoError(t, s.Wait(ctx), "no coroutine is left")
		assert.NoError(t, s.Close(ctx))
	})
	return s, server.URL
}

// random bytes, which cannot be compressed.
func random(n int) []byte {
	source := rand.New(rand.NewPCG(1, uint64(n)))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(source.Uint32())
	}
	return b
}

func TestRun(t *testing.T) {
	text, err := run(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "21500000 bytes: less than a tenth when compressed true, the same ones back", text)
}

func TestAnyBodyComesBack(t *testing.T) {
	_, url := serving(t)
	for _, n := range []int{0, 1, 16<<10 - 1, 16 << 10, 16<<10 + 1, streamBytes, 1<<20 + 7} {
		for _, body := range [][]byte{random(n), make([]byte, n)} {
			packed, err := post(t.Context(), url+"/pack", body)
			require.NoError(t, err)
			back, err := post(t.Context(), url+"/unpack", packed)
			require.NoError(t, err)
			assert.True(t, bytes.Equal(body, back), "%d bytes", n)
		}
	}
}

// What comes out is sent while the body still comes.
func TestTheAnswerBeginsBeforeTheBodyEnds(t *testing.T) {
	_, url := serving(t)
	body, sends := io.Pipe()
	begun, done := make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := sends.Write(random(1 << 20))
		<-begun
		done <- errors.Join(err, sends.Close())
	}()
	response, err := http.Post(url+"/pack", "", body)
	require.NoError(t, err)
	some := make([]byte, 1000)
	_, err = io.ReadFull(response.Body, some)
	require.NoError(t, err)
	close(begun)
	rest, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, <-done)
	assert.Greater(t, len(rest), 1<<20-1000)
	require.NoError(t, response.Body.Close())
}

func TestWhatIsNoLZ4IsAnErrorOfTheRequest(t *testing.T) {
	_, url := serving(t)
	packed, err := post(t.Context(), url+"/pack", random(1000))
	require.NoError(t, err)
	for _, c := range []struct {
		body []byte
		want string
	}{
		{random(3 * streamBytes), "ERROR_frameType_unknown"},
		{nil, "the end is missing"},
		{packed[:10], "the end is missing"},
	} {
		_, err := post(t.Context(), url+"/unpack", c.body)
		assert.ErrorContains(t, err, "422 Unprocessable Entity: "+c.want)
	}
}

// The client sends what is damaged, and then neither sends nor ends any more.
func TestASilentClientGetsItsStatus(t *testing.T) {
	_, url := serving(t)
	body, sends := io.Pipe()
	defer sends.Close()
	go func() { _, _ = sends.Write(random(1000)) }()
	_, err := send(t.Context(), url+"/unpack", body)
	assert.ErrorContains(t, err, "422 Unprocessable Entity: ERROR_frameType_unknown")
}

// An answer that has begun cannot have another status: it is aborted.
func TestWhatFailsLaterAbortsTheAnswer(t *testing.T) {
	_, url := serving(t)
	packed, err := post(t.Context(), url+"/pack", random(1<<20))
	require.NoError(t, err)
	for _, body := range [][]byte{
		packed[:len(packed)-1],
		append(packed[:len(packed)/2:len(packed)/2], make([]byte, 1<<20)...),
	} {
		got, err := post(t.Context(), url+"/unpack", body)
		assert.Error(t, err, "no end")
		assert.NotEmpty(t, got, "%v", err)
	}
}

// The client goes, while its body comes and while it does not take the answer.
func TestAClientThatGoesEndsItsCoroutine(t *testing.T) {
	for _, whole := range []bool{true, false} {
		s, url := serving(t)
		ctx, cancel := context.WithCancel(t.Context())
		body, sends := io.Pipe()
		go func() {
			piece := random(1 << 20)
			for range 64 { // more than all buffers hold
				if _, err := sends.Write(piece); err != nil {
					return
				}
			}
		}()
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/pack", body)
		require.NoError(t, err)
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		if !whole {
			_, err = io.ReadFull(response.Body, make([]byte, 100))
			require.NoError(t, err)
		}
		assert.Positive(t, s.Stats().Live)
		cancel()
		_ = response.Body.Close()
		require.NoError(t, body.CloseWithError(io.ErrClosedPipe))
		soon, stop := context.WithTimeout(context.Background(), patience)
		assert.NoError(t, s.Wait(soon), "the coroutine has ended")
		stop()
	}
}

func TestAClosedSchedulerIsAStatus(t *testing.T) {
	s, url := serving(t)
	require.NoError(t, s.Close(t.Context()))
	_, err := post(t.Context(), url+"/pack", random(10))
	assert.ErrorContains(t, err, "503 Service Unavailable")
}
