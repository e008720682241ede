//go:build cgo

// Command service is a web service that keeps a scheduler for as long as it lives:
//
//	GET /steps?n=77031      how long the Collatz sequence from n is: a C body (StartContext)
//	GET /longest?below=1000 the longest sequence from below 1000: a Go body that starts a
//	                        C body for each number and awaits it (GoContext)
//	GET /nap?for=300ms      a Go body that sleeps
//	GET /total?items=3,5,3  what items cost: a C body that gets the items through a channel, and
//	                        calls a Go function for each price
//	GET /metrics            figures of the scheduler
//	GET /counts             how many requests were accepted, and how many of them answered
//
// Each request's coroutine has the request's context: it is canceled when the client has gone. On
// SIGTERM or Ctrl-C the service loses nothing: it stops to listen, waits until every request is
// answered, and closes the scheduler, which is at rest by then. If that takes longer than -limit,
// Close cancels the rest, and those requests are answered with 503. A second signal ends the
// service at once.
//
// The C bodies are in a package of their own, bodies, which has the tests of them.
//
// To use it in a module of your own, copy the folder, put your module's path into the import of
// bodies, and write the header beside the C file with
//
//	go run github.com/organzine/coro/cmd/coro header -dir bodies
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/organzine/coro"
	"github.com/organzine/coro/examples/service/bodies"
)

// cents are the prices of the items, by number.
var cents = []int64{1: 250, 2: 99, 3: 1000, 5: 42}

// price is what bodies.Total calls. The function's context ends when the request has gone.
var price = coro.MustExportFunc(func(_ context.Context, number uint32) (int64, error) {
	if number >= uint32(len(cents)) || cents[number] == 0 {
		return 0, fmt.Errorf("there is no item %d", number)
	}
	return cents[number], nil
})

func main() {
	limit := flag.Duration("limit", 10*time.Second, "how long to wait for requests at the end")
	flag.Parse()
	if err := run(*limit); err != nil {
		log.Fatal(err)
	}
}

func run(limit time.Duration) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	s, err := coro.New()
	if err != nil {
		return err
	}
	v := &service{s: s}
	listener, err := net.Listen("tcp", "127.0.0.1:0") // a port that the system chooses
	if err != nil {
		return errors.Join(err, s.Close(context.Background()))
	}
	server := &http.Server{Handler: v.routes()}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	fmt.Printf("listening on http://%s\n", listener.Addr())

	select {
	case <-ctx.Done():
		stop()
	case err = <-failed:
	}
	err = errors.Join(err, shutDown(server, s, limit))
	accepted, answered := v.accepted.Load(), v.answered.Load()
	fmt.Printf("answered %d of %d requests\n", answered, accepted)
	if err == nil && answered != accepted {
		err = fmt.Errorf("%d requests are lost", accepted-answered)
	}
	return err
}

// shutDown ends the server first and the scheduler after it, so that no request finds the scheduler
// closed.
func shutDown(server *http.Server, s *coro.Scheduler, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	late := server.Shutdown(ctx)
	err := s.Close(ctx)
	if late != nil { // Close has canceled the rest: their clients are told
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = server.Shutdown(ctx)
	}
	return errors.Join(late, err)
}

type service struct {
	s                  *coro.Scheduler
	accepted, answered atomic.Int64
}

func (v *service) routes() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /steps", v.answer(v.steps))
	mux.Handle("GET /longest", v.answer(v.longest))
	mux.Handle("GET /nap", v.answer(v.nap))
	mux.Handle("GET /total", v.answer(v.total))
	mux.HandleFunc("GET /metrics", v.metrics)
	mux.HandleFunc("GET /counts", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, v.accepted.Load(), v.answered.Load())
	})
	return mux
}

// errBadRequest is the answer to a request that cannot be understood.
var errBadRequest = errors.New("bad request")

// answer makes a handler of a function that returns a line of text.
func (v *service) answer(f func(*http.Request) (string, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v.accepted.Add(1)
		text, err := f(r)
		switch {
		case errors.Is(err, errBadRequest):
			http.Error(w, err.Error(), http.StatusBadRequest)
		case err != nil:
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		default:
			if _, err = fmt.Fprintln(w, text); err != nil {
				return
			}
		}
		v.answered.Add(1)
	})
}

// number reads a parameter of a request.
func number(r *http.Request, name string, most uint64) (uint64, error) {
	n, err := strconv.ParseUint(r.FormValue(name), 10, 64)
	if err != nil || n < 1 || n > most {
		return 0, fmt.Errorf("%w: %s must be from 1 to %d", errBadRequest, name, most)
	}
	return n, nil
}

func (v *service) steps(r *http.Request) (string, error) {
	n, err := number(r, "n", 1_000_000_000)
	if err != nil {
		return "", err
	}
	task, err := bodies.Steps.StartContext(r.Context(), v.s, n)
	if err != nil {
		return "", err
	}
	count, err := task.Wait(r.Context())
	return fmt.Sprint(count), err
}

func (v *service) longest(r *http.Request) (string, error) {
	below, err := number(r, "below", 1_000_000)
	if err != nil {
		return "", err
	}
	task, err := coro.GoContext(r.Context(), v.s, func(c *coro.Coroutine) (string, error) {
		most, from := uint64(0), uint64(1)
		for n := uint64(1); n < below; n++ {
			task, err := bodies.Steps.Start(c.Scheduler(), n)
			if err != nil {
				return "", err
			}
			count, err := task.Await(c.Context(), c)
			if err != nil {
				return "", err
			}
			if count > most {
				most, from = count, n
			}
		}
		return fmt.Sprintf("%d steps from %d", most, from), nil
	})
	if err != nil {
		return "", err
	}
	return task.Wait(r.Context())
}

func (v *service) nap(r *http.Request) (string, error) {
	d, err := time.ParseDuration(r.FormValue("for"))
	if err != nil {
		return "", fmt.Errorf("%w: for must be a duration: %v", errBadRequest, err)
	}
	task, err := coro.GoContext(r.Context(), v.s, func(c *coro.Coroutine) (string, error) {
		return "slept", c.Sleep(c.Context(), d)
	})
	if err != nil {
		return "", err
	}
	return task.Wait(r.Context())
}

func (v *service) total(r *http.Request) (string, error) {
	list := strings.Split(r.FormValue("items"), ",")
	items, err := coro.NewChan[bodies.Item](v.s, len(list)) // Send never waits
	if err != nil {
		return "", err
	}
	defer func() { _ = items.Free() }() // its address was lent to C; the C body has ended by then
	task, err := bodies.Total.StartContext(r.Context(), v.s, bodies.NewOrder(items, price))
	if err != nil {
		return "", err
	}
	bad := sendItems(r.Context(), items, list)
	// The body gets what is in the channel, and then ends.
	sum, err := task.Wait(context.WithoutCancel(r.Context()))
	switch {
	case bad != nil:
		return "", bad
	case err != nil:
		return "", err
	case sum < 0:
		return "", fmt.Errorf("%w: there is no such item", errBadRequest)
	}
	return fmt.Sprint(sum), nil
}

// sendItems sends one of each item, and closes the channel.
func sendItems(ctx context.Context, items *coro.Chan[bodies.Item], list []string) error {
	var err error
	for _, text := range list {
		number, bad := strconv.ParseUint(text, 10, 32)
		if bad != nil {
			err = fmt.Errorf("%w: items must be numbers: %v", errBadRequest, bad)
			break
		}
		if err = items.Send(ctx, bodies.NewItem(uint32(number), 1)); err != nil {
			break
		}
	}
	return errors.Join(err, items.Close())
}

// metrics are figures of the scheduler in the text format that Prometheus reads.
func (v *service) metrics(w http.ResponseWriter, _ *http.Request) {
	st := v.s.Stats()
	var switches, steals uint64
	for i := range st.PerWorker {
		switches += st.PerWorker[i].Switches
		steals += st.PerWorker[i].Steals
	}
	for _, m := range []struct {
		name  string
		value any
	}{
		{"coro_live", st.Live},
		{"coro_workers_awake", st.Awake},
		{"coro_stack_bytes", st.StackBytes},
		{"coro_record_bytes", st.RecordBytes},
		{"coro_switches_total", switches},
		{"coro_steals_total", steals},
	} {
		if _, err := fmt.Fprintln(w, m.name, m.value); err != nil {
			return
		}
	}
}
