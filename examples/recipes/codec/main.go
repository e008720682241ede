// Command codec has a C library compress the bodies of HTTP requests while they come: the response
// is what comes out. A coroutine for each request runs LZ4 between the two directions of a Stream.
//
//	make run     the program
//	make test    the tests
//
// docs/recipes.md explains it.
package main

//go:generate go run github.com/organzine/coro/cmd/coro header
//go:generate go run github.com/organzine/coro/cmd/coro gen

/*
#cgo CFLAGS: -std=gnu11 -O2
#cgo pkg-config: liblz4
*/
import "C"

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/organzine/coro"
)

// streamBytes is how much waits on its way to the codec, and from there.
const streamBytes = 64 << 10

func main() {
	text, err := run(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(text)
}

// run starts a server, and sends it a body that comes back compressed, and that in turn.
func run(ctx context.Context) (string, error) {
	s, err := coro.New()
	if err != nil {
		return "", err
	}
	defer s.Close(context.Background())
	server := httptest.NewServer(handler(s))
	defer server.Close()

	text := bytes.Repeat([]byte("to be, or not to be: that is the question. "), 500_000)
	packed, err := post(ctx, server.URL+"/pack", text)
	if err != nil {
		return "", err
	}
	back, err := post(ctx, server.URL+"/unpack", packed)
	if err != nil {
		return "", err
	}
	if !bytes.Equal(text, back) {
		return "", errors.New("other bytes have come back")
	}
	return fmt.Sprintf("%d bytes: less than a tenth when compressed %v, the same ones back",
		len(text), len(packed) < len(text)/10), nil
}

func post(ctx context.Context, url string, body []byte) ([]byte, error) {
	return send(ctx, url, bytes.NewReader(body))
}

func send(ctx context.Context, url string, body io.Reader) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, body)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", response.Status, answer)
	}
	return answer, err
}

func handler(s *coro.Scheduler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /pack", through(s, Pack))
	mux.HandleFunc("POST /unpack", through(s, Unpack))
	return mux
}

// through answers a request with what the codec makes of its body.
func through(s *coro.Scheduler, codec coro.Func[coro.StreamEnd, coro.None]) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		n, err := filter(w, r, s, codec)
		var failed *coro.BodyError
		if err == nil {
			return
		}
		if n > 0 { // it is too late for a status
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Connection", "close") // there may be a rest of the body
		switch {
		case errors.As(err, &failed):
			http.Error(w, failed.Text, http.StatusUnprocessableEntity)
		default:
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	}
}

// filter returns when neither a goroutine nor a coroutine of the request is left: how much was
// written to w, and the first that has failed.
func filter(
	w http.ResponseWriter, r *http.Request, s *coro.Scheduler,
	codec coro.Func[coro.StreamEnd, coro.None],
) (int64, error) {
	// The answer begins before the body ends.
	if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
		return 0, err
	}
	st, err := coro.NewStream(s, streamBytes)
	if err != nil {
		return 0, err
	}
	defer st.Free() // a codec that has not begun does not give its end up
	task, err := codec.StartContext(r.Context(), s, st.Address())
	if err != nil {
		return 0, err
	}
	read, ended := make(chan error, 1), make(chan error, 1)
	go func() { read <- feed(st, r.Body) }()
	go func() { ended <- end(st, task) }()
	n, wrote := io.Copy(w, st)
	if wrote != nil { // the client has gone, or the codec has failed: who goes on is told
		wrote = errors.Join(wrote, st.Close())
	}
	err = errors.Join(<-ended, wrote)
	if err != nil { // nobody takes the rest of the body, and it may not come
		_ = http.NewResponseController(w).SetReadDeadline(time.Now())
	}
	return n, errors.Join(err, <-read)
}

// end waits for the end of the codec. One that was canceled before it began has closed nothing.
func end(st *coro.Stream, task *coro.Task[coro.None]) error {
	_, err := task.Wait(context.Background())
	if err != nil {
		return errors.Join(err, st.CloseWithError(err))
	}
	return nil
}

// feed copies the body to the codec, with its end or its error.
func feed(st *coro.Stream, body io.Reader) error {
	if _, err := io.Copy(st, body); err != nil {
		return errors.Join(err, st.CloseWithError(err))
	}
	return st.CloseWrite()
}
