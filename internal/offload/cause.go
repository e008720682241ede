package offload

import (
	"context"
	"errors"

	"github.com/organzine/coro/csrc"
)

// cause is the function behind coro_cancel_cause. Its error is why the caller is canceled. A
// goroutine asks for the text: it is the user's.
var cause = &Func{
	Name: "coro_cancel_cause",
	Call: func(ctx context.Context, _ *csrc.Call) error { return ctx.(*callContext).reason() },
	Inline: func(_ context.Context, calls csrc.Calls, i, _ int) int {
		c := calls.At(i)
		calls.Begin(i, c)
		Failed(c, errNotInline)
		return i + 1
	},
}

// It comes to a C body that guesses the id.
var errNotInline = errors.New("coro: not to be called inline")

func init() { csrc.RegisterCauses(Add(cause)) }
