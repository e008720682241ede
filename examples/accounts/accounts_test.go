package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/organzine/coro/actor"
)

func start(t *testing.T, cfg config) *service {
	s, err := open(cfg)
	require.NoError(t, err)
	return s
}

func end(t *testing.T, s *service) { require.NoError(t, s.end(t.Context())) }

func testConfig(t *testing.T) config {
	cfg := defaults()
	cfg.dir = t.TempDir()
	return cfg
}

func put(t *testing.T, s *service, account string, amount int64) {
	r := record{Kind: deposit, Account: account, ID: "first", Amount: amount}
	_, err := load{do: s.do}.again(t.Context(), r)
	require.NoError(t, err)
}

func requireBalance(t *testing.T, s *service, account string, want int64) {
	got, err := load{do: s.do}.again(t.Context(), record{Kind: balance, Account: account})
	require.NoError(t, err, account)
	require.Equal(t, want, got, account)
}

// requireAnswer sends a request, as "POST /transfers", and returns the answer.
func requireAnswer(t *testing.T, s *service, status int, request, body string) *httptest.ResponseRecorder {
	method, path, _ := strings.Cut(request, " ")
	w := httptest.NewRecorder()
	s.routes().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path,
		strings.NewReader(body)))
	require.Equal(t, status, w.Code, "%s %s: %s", request, body, w.Body)
	return w
}

func TestRequests(t *testing.T) {
	s := start(t, testConfig(t))
	defer end(t, s)
	for _, c := range []struct {
		status              int
		request, body, says string
	}{
		{404, "GET /accounts/a", "", "no such account"},
		{400, "GET /accounts/a.b", "", "1 to 64"},
		{400, "GET /accounts/" + strings.Repeat("a", 65), "", "1 to 64"},
		{200, "POST /accounts/a/deposit", `{"id":"d1","amount":100}`, `"balance":100`},
		{200, "POST /accounts/a/deposit", `{"id":"d1","amount":100}`, `"balance":100`},
		{409, "POST /accounts/a/deposit", `{"id":"d1","amount":99}`, "another"},
		{200, "POST /accounts/b/deposit", `{"id":"d1","amount":1}`, `"balance":1`},
		{400, "POST /accounts/a/deposit", `{"id":"d2","amount":0}`, "from 1"},
		{400, "POST /accounts/a/deposit", `{"id":"d2","amount":-5}`, "from 1"},
		{400, "POST /accounts/a/deposit", `{"id":"d2","amount":1000000000001}`, "from 1"},
		{400, "POST /accounts/a/deposit", `{"id":"d2","amount":1e99}`, "not understood"},
		{400, "POST /accounts/a/deposit", `{"amount":1}`, "1 to 64"},
		{400, "POST /accounts/a/deposit", `{"id":"d2","amount":1,"to":"b"}`, "no other"},
		{400, "POST /accounts/a/deposit", `{"id":"d2","sum":1}`, "not understood"},
		{400, "POST /transfers", ``, "not understood"},
		{400, "POST /transfers", `{"id":"` + strings.Repeat("x", 5000) + `"}`, "too large"},
		{400, "POST /transfers", `{"id":"t1","from":"a","to":"a","amount":1}`, "two accounts"},
		{200, "POST /transfers", `{"id":"t1","from":"a","to":"b","amount":30}`, `"balance":70`},
		{200, "POST /transfers", `{"id":"t1","from":"a","to":"b","amount":30}`, `"balance":70`},
		{409, "POST /transfers", `{"id":"t1","from":"a","to":"b","amount":31}`, "another"},
		{409, "POST /transfers", `{"id":"t2","from":"a","to":"b","amount":71}`, "less"},
		{404, "POST /transfers", `{"id":"t3","from":"c","to":"b","amount":1}`, "no such"},
		{404, "POST /transfers", `{"id":"t4","from":"a","to":"c","amount":1}`, "no such"},
		{409, "POST /transfers", `{"id":"t4","from":"a","to":"c","amount":1}`, "undone"},
		{409, "POST /transfers", `{"id":"d1","from":"a","to":"b","amount":1}`, "another"},
		{405, "GET /transfers", "", ""},
		{200, "GET /accounts/a", "", `{"account":"a","balance":70}`},
		{200, "GET /accounts/b", "", `{"account":"b","balance":31}`},
	} {
		w := requireAnswer(t, s, c.status, c.request, c.body)
		require.Contains(t, w.Body.String(), c.says, "%s %s", c.request, c.body)
	}
}

// While the disk is waited for, the store has room for one message.
func TestFullMailbox(t *testing.T) {
	cfg := testConfig(t)
	cfg.room = 1
	var slow atomic.Bool
	waits := make(chan struct{})
	ctx, goOn := context.WithCancel(t.Context())
	cfg.sync = func(f *os.File) error {
		if slow.Swap(false) {
			close(waits)
			<-ctx.Done()
		}
		return f.Sync()
	}
	s := start(t, cfg)
	defer end(t, s)
	defer goOn()
	deposit := func(id string) (err error) {
		for err = actor.ErrFull; errors.Is(err, actor.ErrFull); {
			_, err = s.do(t.Context(), record{Kind: deposit, Account: "a", ID: id, Amount: 1})
		}
		return err
	}
	require.NoError(t, deposit("d1"))
	require.NoError(t, s.sys.Rest(t.Context()))
	slow.Store(true)
	done := make(chan error)
	go func() { done <- deposit("d2") }()
	<-waits
	w := requireAnswer(t, s, 503, "POST /accounts/a/deposit", `{"id":"d3","amount":1}`)
	require.Contains(t, w.Body.String(), "full")
	require.Equal(t, "1", w.Header().Get("Retry-After"))
	goOn()
	require.NoError(t, <-done)
	// an answer comes before its question's place is free
	require.NoError(t, s.sys.Rest(t.Context()))
	requireBalance(t, s, "a", 2)
}

// A disk that fails ends the service, with the error; what was not written is not answered with
// 200.
func TestDiskFails(t *testing.T) {
	cfg := testConfig(t)
	full := errors.New("no space is left")
	cfg.sync = func(f *os.File) error { return full }
	s := start(t, cfg)
	requireAnswer(t, s, 503, "POST /accounts/a/deposit", `{"id":"d1","amount":1}`)
	require.ErrorIs(t, s.sys.Run(t.Context()), full)
	requireAnswer(t, s, 503, "GET /accounts/a", "")
	require.ErrorIs(t, s.end(t.Context()), full)
}

// An account that fails again and again ends, and others go on.
func TestAnAccountThatAlwaysPanics(t *testing.T) {
	cfg := testConfig(t)
	var bad atomic.Bool
	cfg.restarts = 2
	cfg.fault = func(account string) {
		if bad.Load() && account == "b" {
			panic("bad")
		}
	}
	s := start(t, cfg)
	defer end(t, s)
	put(t, s, "a", 10)
	put(t, s, "b", 10)
	bad.Store(true)
	for range 10 { // three lives
		requireAnswer(t, s, 503, "GET /accounts/b", "")
	}
	requireBalance(t, s, "a", 10)
	order := `{"id":"t1","from":"a","to":"b","amount":4}`
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	_, err := s.do(ctx, record{Kind: transfer, Account: "a", Other: "b", ID: "t1", Amount: 4})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	bad.Store(false)
	requireAnswer(t, s, 200, "POST /transfers", order)
	requireBalance(t, s, "a", 6)
	requireBalance(t, s, "b", 14)
}

// Accounts panic, are passivated while requests come, and the journal is shortened all the time.
// The load checks the sum.
func TestLoad(t *testing.T) {
	cfg := testConfig(t)
	cfg.idle, cfg.journal, cfg.restarts = 5*time.Millisecond, 5000, 1<<20
	var calls atomic.Int64
	cfg.fault = func(string) {
		if calls.Add(1)%100 == 0 {
			panic("to try it out")
		}
	}
	s := start(t, cfg)
	l := load{accounts: 20, clients: 16, lasts: time.Second, do: s.do, rest: s.sys.Rest}
	out := &strings.Builder{}
	require.NoError(t, l.run(t.Context(), out))
	t.Log(out)
	require.NotZero(t, s.sys.Stats().Failures)
	end(t, s)
	text, err := os.ReadFile(filepath.Join(cfg.dir, "journal"))
	require.NoError(t, err)
	require.NotContains(t, string(text), `{"seq":1,`)
	cfg.fault = func(string) {}
	s = start(t, cfg)
	l.do = s.do
	require.NoError(t, l.check(t.Context(), io.Discard), "the next process")
	end(t, s)
}

func TestPassivation(t *testing.T) {
	cfg := testConfig(t)
	cfg.idle = time.Millisecond
	s := start(t, cfg)
	defer end(t, s)
	put(t, s, "a", 10)
	if a, err := actor.Lookup[request](s.sys, "account/a"); err == nil { // else it has ended
		<-a.Done()
	}
	require.NoError(t, s.sys.Rest(t.Context()))
	saved, err := readSnapshot(cfg.dir, "a")
	require.NoError(t, err)
	require.EqualValues(t, 10, saved.Balance)
	requireBalance(t, s, "a", 10)
}

// What a process has left at its end: transfers under way, and a group that is not whole.
func TestUnfinished(t *testing.T) {
	cfg := testConfig(t)
	text := lines(t, []record{
		{Seq: 1, Kind: deposit, Account: "a", ID: "d", Amount: 10},
		{Seq: 2, Kind: deposit, Account: "b", ID: "d", Amount: 1},
		{Seq: 3, Kind: withdraw, Account: "a", ID: "t1", Other: "b", Amount: 2},
		{Seq: 4, Kind: withdraw, Account: "a", ID: "t2", Other: "nobody", Amount: 3},
		{Seq: 5, Kind: deposit, Account: "a", ID: "d2", Amount: 1},
	})
	text = text[:len(text)-20]
	for i := range 2 { // the second time from what the first one has written, without snapshots
		cfg.dir = t.TempDir()
		path := filepath.Join(cfg.dir, "journal")
		require.NoError(t, os.WriteFile(path, text, 0o666))
		s := start(t, cfg)
		_, err := open(cfg)
		require.ErrorContains(t, err, "another process")
		require.NoError(t, s.sys.Rest(t.Context()))
		requireBalance(t, s, "a", 8)
		requireBalance(t, s, "b", 3)
		if i == 0 {
			put(t, s, "c", 5)
		}
		requireBalance(t, s, "c", 5)
		requireAnswer(t, s, http.StatusNotFound, "GET /accounts/nobody", "")
		requireAnswer(t, s, 200, "POST /transfers", `{"id":"t1","from":"a","to":"b","amount":2}`)
		text, err = os.ReadFile(path)
		require.NoError(t, err)
		end(t, s)
	}
}

// Many want all the money at once.
func TestOneGetsIt(t *testing.T) {
	s := start(t, testConfig(t))
	defer end(t, s)
	put(t, s, "a", 10)
	put(t, s, "b", 1)
	var all sync.WaitGroup
	var got, not atomic.Int64
	for i := range 20 {
		all.Go(func() {
			_, err := s.do(t.Context(), record{Kind: transfer, Account: "a", Other: "b",
				ID: fmt.Sprint(i), Amount: 10})
			if err == nil {
				got.Add(1)
			} else if errors.Is(err, errFunds) {
				not.Add(1)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 1, got.Load())
	require.EqualValues(t, 19, not.Load())
	requireBalance(t, s, "a", 0)
}
