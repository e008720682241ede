package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/organzine/coro"
)

// A system is one way to have many connections.
type system interface {
	query(ctx context.Context, sql string) error // on all connections at once
	close() error
}

// systems are what makes one, with all its connections open.
var systems = map[string]func(ctx context.Context, conninfo string, n int) (system, error){
	"coro": newCoro,
	"cgo":  newCgo,
	"pgx":  newPgx,
}

// opening is how many connections are being opened at a time.
const opening = 32

// coroSystem: a C coroutine for each query, on two worker threads.
type coroSystem struct {
	s     *coro.Scheduler
	conns []uintptr
}

func newCoro(ctx context.Context, conninfo string, n int) (system, error) {
	s, err := coro.New(coro.WithWorkers(2))
	if err != nil {
		return nil, err
	}
	c := &coroSystem{s: s, conns: make([]uintptr, n)}
	err = each(n, opening, func(i int) (err error) {
		c.conns[i], err = open(ctx, s, conninfo)
		return err
	})
	return c, err
}

func (c *coroSystem) query(ctx context.Context, sql string) error {
	text, free := cString(sql)
	defer free()
	tasks := make([]*coro.Task[answer], len(c.conns))
	var errs []error
	for i, conn := range c.conns {
		task, err := pqQuery.Start(c.s, queryArg{conn, text, time.Minute})
		if err != nil {
			errs = append(errs, err)
			break
		}
		tasks[i] = task
	}
	for _, task := range tasks {
		if task != nil {
			_, err := task.Wait(context.Background())
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (c *coroSystem) close() error {
	err := c.s.Close(context.Background())
	for _, conn := range c.conns {
		closeConn(conn)
	}
	return err
}

// cgoSystem: a goroutine for each query makes a call that keeps its thread.
type cgoSystem struct {
	conns []uintptr
}

func newCgo(_ context.Context, conninfo string, n int) (system, error) {
	c := &cgoSystem{conns: make([]uintptr, n)}
	err := each(n, opening, func(i int) error {
		conn, ok := openBlocking(conninfo)
		if !ok {
			return errors.New("PQconnectdb has failed")
		}
		c.conns[i] = conn
		return nil
	})
	return c, err
}

func (c *cgoSystem) query(_ context.Context, sql string) error {
	text, free := cString(sql)
	defer free()
	return each(len(c.conns), len(c.conns), func(i int) error {
		if !queryBlocking(c.conns[i], text) {
			return errors.New("PQexec has failed")
		}
		return nil
	})
}

func (c *cgoSystem) close() error {
	for _, conn := range c.conns {
		closeConn(conn)
	}
	return nil
}

// pgxSystem: a goroutine for each query, and the runtime's poller. pgconn is pgx's lower half,
// which speaks the same simple protocol as PQexec.
type pgxSystem struct {
	conns []*pgconn.PgConn
}

func newPgx(ctx context.Context, conninfo string, n int) (system, error) {
	c := &pgxSystem{make([]*pgconn.PgConn, n)}
	err := each(n, opening, func(i int) (err error) {
		c.conns[i], err = pgconn.Connect(ctx, conninfo)
		return err
	})
	return c, err
}

func (c *pgxSystem) query(ctx context.Context, sql string) error {
	return each(len(c.conns), len(c.conns), func(i int) error {
		_, err := c.conns[i].Exec(ctx, sql).ReadAll()
		return err
	})
}

func (c *pgxSystem) close() error {
	return each(len(c.conns), opening, func(i int) error {
		return c.conns[i].Close(context.Background())
	})
}

// each calls f with 0 to n-1, in goroutines: at most width are alive at a time.
func each(n, width int, f func(i int) error) error {
	var wait sync.WaitGroup
	errs := make([]error, n)
	free := make(chan struct{}, width)
	for i := range n {
		free <- struct{}{}
		wait.Go(func() {
			errs[i] = f(i)
			<-free
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}
