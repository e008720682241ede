package actor

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Each call whose context ends returns an error in which errors.Is finds the cause and the Err,
// whether the context has ended before or ends while the call waits.
func TestErrorsOfContextsHaveTheCauseAndTheErr(t *testing.T) {
	why := errors.New("enough")
	for _, wait := range []time.Duration{-time.Hour, 5 * time.Millisecond} {
		y := open(t)
		begun, goOn := make(chan struct{}), make(chan struct{})
		full := spawn(t, y, func(*Context[int], int) error {
			close(begun)
			<-goOn
			return nil
		}, Room(1), Waiting())
		require.NoError(t, full.Tell(1))
		<-begun
		mute := spawn(t, y, func(*Context[riddle], riddle) error { return nil })
		for name, call := range map[string]func(context.Context) error{
			"Ask":  func(ctx context.Context) error { _, err := askRiddle(ctx, mute, 1); return err },
			"Send": func(ctx context.Context) error { return full.Send(ctx, 2) },
			"Rest": y.Rest,
		} {
			late, free := context.WithTimeoutCause(context.Background(), wait, why)
			err := call(late)
			require.ErrorIs(t, err, why, name)
			require.ErrorIs(t, err, context.DeadlineExceeded, name)
			free()
			canceled, cancel := context.WithCancelCause(context.Background())
			time.AfterFunc(wait, func() { cancel(why) })
			err = call(canceled)
			require.ErrorIs(t, err, why, name)
			require.ErrorIs(t, err, context.Canceled, name)
		}
		for name, call := range map[string]func(context.Context) error{"Drain": y.Drain, "Stop": y.Stop} {
			late, free := context.WithTimeoutCause(context.Background(), wait, why)
			err := call(late)
			require.ErrorIs(t, err, why, name)
			require.ErrorIs(t, err, context.DeadlineExceeded, name)
			free()
		}
		close(goOn)
	}
}
