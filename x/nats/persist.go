package nats

import (
	"context"
	"errors"
	"fmt"
	"time"

	natsgo "github.com/nats-io/nats.go"
)

// limited gives ctx that much time if it has no deadline.
func limited(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if _, has := ctx.Deadline(); has {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, d)
}

// persist calls f until that succeeds, or says that calling it again is of no use, or the connection
// is closed, or ctx ends, or left, which is the node's. It waits longer from call to call, up to
// most.
func persist(ctx, left context.Context, most time.Duration, f func() (again bool, err error)) error {
	var last error
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, most) {
		if err := ctx.Err(); err != nil {
			return errors.Join(err, last)
		}
		again, err := f()
		if err == nil || !again || errors.Is(err, natsgo.ErrConnectionClosed) {
			return err
		}
		last = err
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		case <-left.Done():
			return errors.Join(fmt.Errorf("nats: %w", ErrLeft), last)
		}
	}
}
