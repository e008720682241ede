package nats

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"
)

// A logQueue is the slog.Handler of a node. It hands records to Options.Log's handler one after the
// other, by a goroutine of its own, so that nothing here waits for that handler, or fails with it.
// While logMost records wait later ones are dropped, and their number is told.
type logQueue struct {
	to      slog.Handler
	by      caller
	calls   *calls
	dropped atomic.Int64
}

func newLogQueue(n *Node, to slog.Handler) *logQueue {
	return &logQueue{to: to, by: caller{n: n}, calls: newCalls()}
}

// Enabled is for Handle to ask, later.
func (q *logQueue) Enabled(context.Context, slog.Level) bool { return true }

// Handle does not wait.
func (q *logQueue) Handle(_ context.Context, r slog.Record) error {
	if !q.calls.addMost(logMost, func() { q.hand(r) }) {
		q.dropped.Add(1)
	}
	return nil
}

// WithAttrs and WithGroup are called by nothing here.
func (q *logQueue) WithAttrs([]slog.Attr) slog.Handler { return q }
func (q *logQueue) WithGroup(string) slog.Handler      { return q }

// hand calls the user's handler. Its failures are nobody's: there is no other place to tell them.
func (q *logQueue) hand(r slog.Record) {
	if n := q.dropped.Swap(0); n > 0 {
		const text = "records dropped: the handler is slow"
		more := slog.NewRecord(time.Now(), slog.LevelWarn, text, 0)
		more.AddAttrs(slog.Int64("number", n))
		q.pass(more)
	}
	q.pass(r)
}

func (q *logQueue) pass(r slog.Record) {
	_ = q.by.call(func() error {
		ctx := context.Background()
		if !q.to.Enabled(ctx, r.Level) {
			return nil
		}
		return q.to.Handle(ctx, r)
	})
}

// flush waits for the records so far, but not for a handler that hangs.
func (q *logQueue) flush() {
	done := make(chan struct{})
	q.calls.add(func() { close(done) })
	select {
	case <-done:
	case <-time.After(logEnd):
	}
}
