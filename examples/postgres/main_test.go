package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/organzine/coro"
)

// shared is the server of all tests; nil: PostgreSQL is not there.
var shared *server

func TestMain(m *testing.M) {
	os.Exit(withServer(m.Run))
}

func withServer(run func() int) int {
	if found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb"); found == nil {
		return run()
	}
	var err error
	if shared, err = startServer(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	status := run()
	if err := errors.Join(shared.stop(), shared.remove()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return status
}

// setUp makes a scheduler for one test.
func setUp(t *testing.T) (*server, *coro.Scheduler) {
	if shared == nil {
		t.Skip("no PostgreSQL server: " +
			"apt-get install -y --no-install-recommends postgresql")
	}
	s, err := coro.New(coro.WithWorkers(2))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close(context.Background())) })
	return shared, s
}

// connect opens a connection for the rest of the test.
func connect(t *testing.T, server *server, s *coro.Scheduler) uintptr {
	conn, err := open(context.Background(), s, server.conninfo())
	require.NoError(t, err)
	t.Cleanup(func() { closeConn(conn) })
	return conn
}

func ask(s *coro.Scheduler, conn uintptr, sql string) (answer, error) {
	return query(context.Background(), s, conn, sql, time.Minute)
}

func TestAnswers(t *testing.T) {
	server, s := setUp(t)
	conn := connect(t, server, s)
	for _, c := range []struct {
		sql  string
		want answer
	}{
		{"SELECT 6 * 7", answer{1, 42}},
		{"SELECT * FROM generate_series(5, 1004)", answer{1000, 5}},
		{"CREATE TEMP TABLE t (n bigint); INSERT INTO t VALUES (-3), (4); SELECT n FROM t ORDER BY n",
			answer{2, -3}},
		{"SELECT sum(n) FROM t", answer{1, 1}},
		{"SELECT n FROM t WHERE n > 4", answer{}},
		{"", answer{}},
		// an answer, and a query, that the buffers of a socket do not hold
		{"SELECT 7, repeat('x', 1000000) FROM generate_series(1, 8)", answer{8, 7}},
		{fmt.Sprintf("SELECT length('%08000000d')", 0), answer{1, 8000000}},
	} {
		got, err := ask(s, conn, c.sql)
		require.NoError(t, err, "%.80s", c.sql)
		assert.Equal(t, c.want, got, "%.80s", c.sql)
	}
}

func TestManyConnections(t *testing.T) {
	server, s := setUp(t)
	require.NoError(t, each(40, 40, func(i int) error {
		conn, err := open(context.Background(), s, server.conninfo())
		if err != nil {
			return err
		}
		defer closeConn(conn)
		for n := range 20 {
			want := int64(100*i + n)
			got, err := ask(s, conn, fmt.Sprintf("SELECT %d", want))
			if err != nil || got != (answer{1, want}) {
				return fmt.Errorf("%d: got %v, %w", want, got, err)
			}
		}
		return nil
	}))
}

func TestErrorsHaveTheServersText(t *testing.T) {
	server, s := setUp(t)
	conn := connect(t, server, s)
	for sql, text := range map[string]string{
		"SELEC 1":                "syntax error",
		"SELECT 1; SELECT 1 / 0": "division by zero",
		"SELECT nothing":         `column "nothing" does not exist`,
	} {
		_, err := ask(s, conn, sql)
		var failed *coro.BodyError
		require.ErrorAs(t, err, &failed)
		assert.Equal(t, 1, failed.Code)
		assert.Contains(t, failed.Text, text)
	}
	got, err := ask(s, conn, "SELECT 8")
	require.NoError(t, err)
	assert.Equal(t, answer{1, 8}, got)

	_, err = open(context.Background(), s, server.conninfo()+" dbname=none")
	assert.ErrorContains(t, err, `database "none" does not exist`)
	_, err = open(context.Background(), s, "host="+server.dir+" port=1")
	assert.ErrorContains(t, err, "No such file or directory")
	_, err = open(context.Background(), s, "no=option")
	assert.ErrorContains(t, err, "invalid connection option")
}

func TestCopyIsRefused(t *testing.T) {
	server, s := setUp(t)
	for _, sql := range []string{"COPY (SELECT 1) TO STDOUT", "CREATE TEMP TABLE c (n int); COPY c FROM STDIN"} {
		conn := connect(t, server, s)
		_, err := ask(s, conn, sql)
		assert.ErrorContains(t, err, "does no COPY")
		_, err = ask(s, conn, "SELECT 1")
		assert.ErrorContains(t, err, "another command is already in progress")
	}
}

// After a deadline, and after a cancel, the server has given up the query, and the connection is
// used again.
func TestQueriesThatAreGivenUp(t *testing.T) {
	server, s := setUp(t)
	conn := connect(t, server, s)

	_, err := query(context.Background(), s, conn, "SELECT pg_sleep(3600)", 50*time.Millisecond)
	var failed *coro.BodyError
	require.ErrorAs(t, err, &failed)
	assert.Contains(t, failed.Text, "deadline")
	got, err := ask(s, conn, "SELECT 9")
	require.NoError(t, err)
	assert.Equal(t, answer{1, 9}, got)

	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err = query(ctx, s, conn, "SELECT pg_sleep(3600)", 0)
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	got, err = ask(s, conn, "SELECT 10")
	require.NoError(t, err)
	assert.Equal(t, answer{1, 10}, got)
}

// The server has a part of a query when its time is up, and takes the rest later. A cancel that
// comes before the whole query is lost.
func TestQueryIsGivenUpThatIsPartlySent(t *testing.T) {
	server, s := setUp(t)
	conn := connect(t, server, s)
	backend, err := ask(s, conn, "SELECT pg_backend_pid()")
	require.NoError(t, err)
	pid := int(backend.first)

	// No socket's buffer holds the query.
	long := "SELECT pg_sleep(3600) --" + strings.Repeat("x", 8_000_000)
	for _, canceled := range []bool{false, true} {
		require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
		ctx, cancel := context.WithCancel(context.Background())
		timeout := 50 * time.Millisecond
		if canceled {
			timeout = 0
		}
		var goesOn atomic.Bool
		done := make(chan struct{})
		go func() {
			defer close(done)
			assert.Eventually(t, func() bool {
				_, waiting := s.Blocked(1)
				return waiting == 1
			}, time.Minute, time.Millisecond)
			if canceled {
				cancel()
			}
			time.Sleep(400 * time.Millisecond) // longer than the timeout
			goesOn.Store(true)
			assert.NoError(t, syscall.Kill(pid, syscall.SIGCONT))
		}()
		_, err = query(ctx, s, conn, long, timeout)
		assert.True(t, goesOn.Load(), "given up while the server had stopped: %v", err)
		<-done
		cancel()
		if canceled {
			require.ErrorIs(t, err, context.Canceled)
		} else {
			require.ErrorContains(t, err, "deadline")
		}
		got, err := ask(s, conn, "SELECT 11")
		require.NoError(t, err)
		assert.Equal(t, answer{1, 11}, got)
	}
}

// sleepers starts queries that take an hour, and returns when the server has them.
func sleepers(t *testing.T, server *server, s *coro.Scheduler, n int) []*coro.Task[answer] {
	text, free := cString("SELECT pg_sleep(3600)")
	t.Cleanup(free)
	tasks := make([]*coro.Task[answer], n)
	for i := range tasks {
		task, err := pqQuery.Start(s, queryArg{connect(t, server, s), text, 0})
		require.NoError(t, err)
		tasks[i] = task
	}
	watch := connect(t, server, s)
	require.Eventually(t, func() bool {
		got, err := ask(s, watch, "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'")
		return err == nil && got.first == int64(n)
	}, time.Minute, 10*time.Millisecond)
	return tasks
}

func TestServerStopsUnderQueries(t *testing.T) {
	server, s := setUp(t)
	tasks := sleepers(t, server, s, 10)
	require.NoError(t, server.stop())
	t.Cleanup(func() { require.NoError(t, server.start()) })
	for _, task := range tasks {
		_, err := task.Wait(context.Background())
		var failed *coro.BodyError
		require.ErrorAs(t, err, &failed)
		assert.Regexp(t, "terminating connection|server closed the connection", failed.Text)
	}
	_, err := open(context.Background(), s, server.conninfo())
	assert.Error(t, err)
}

func TestSchedulerIsClosedUnderQueries(t *testing.T) {
	server, s := setUp(t)
	tasks := sleepers(t, server, s, 10)
	closing := errors.New("closing")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(closing)
	err := s.Close(ctx)
	var running *coro.RunningError // clean-up may take longer than Close waits
	assert.True(t, errors.Is(err, closing) || errors.As(err, &running), "%v", err)
	require.NoError(t, s.Close(context.Background()))
	for _, task := range tasks {
		_, err := task.Wait(context.Background())
		assert.ErrorIs(t, err, coro.ErrCanceled)
	}
}
