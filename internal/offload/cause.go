package offload

import (
	"context"
	"errors"

	"github.com/organzine/coro/internal/core"
)

// cause is the function behind coro_cancel_cause. Its error is why the caller is canceled. A
// goroutine asks for the text: it is the user's.
var cause = &Func{
	Name: "coro_cancel_cause",
	Call: func(ctx context.Context, _ *core.Call) error { return ctx.(*callContext).reason() },
	Inline: func(_ context.Context, calls core.Calls, i, _ int) int {
		c := calls.At(i)
		calls.Begin(i, c)
		Failed(c, errNotInline)
		return i + 1
	},
}

// It comes to a C body that guesses the id.
var errNotInline = errors.New("coro: not to be called inline")

func init() { core.RegisterCauses(Add(cause)) }
