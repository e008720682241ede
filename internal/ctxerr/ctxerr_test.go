package ctxerr

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// oddError cannot be compared.
type oddError []string

func (oddError) Error() string { return "odd" }

func TestOf(t *testing.T) {
	why := errors.New("enough")
	own := &Sentinel{"canceled by us", context.Canceled}
	for _, cause := range []error{why, context.Canceled, own, oddError{}, fmt.Errorf("why: %w", why)} {
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(cause)
		err := Of(ctx)
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, cause.Error(), err.Error())
		require.NotErrorIs(t, err, context.DeadlineExceeded)
		if _, odd := cause.(oddError); odd {
			require.ErrorAs(t, err, &oddError{})
		} else {
			require.ErrorIs(t, err, cause)
		}
		require.Equal(t, err, By(err, context.Canceled), "once")
	}
	ctx, cancel := context.WithDeadlineCause(context.Background(), time.Unix(0, 0), why)
	defer cancel()
	require.ErrorIs(t, Of(ctx), context.DeadlineExceeded)
	require.ErrorIs(t, Of(ctx), why)
	ctx, cancel = context.WithDeadline(context.Background(), time.Unix(0, 0))
	defer cancel()
	require.Equal(t, context.DeadlineExceeded, Of(ctx))
	require.Same(t, own, By(own, context.Canceled))
	require.ErrorIs(t, By(own, context.DeadlineExceeded), context.DeadlineExceeded)
	require.NoError(t, Of(context.Background()))
}
