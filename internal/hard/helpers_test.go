//go:build cgo

package hard_test

import (
	"context"
	"testing"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/race"
	"github.com/organzine/coro/internal/testbody"
	"github.com/organzine/coro/internal/trial"
)

// The bodies of internal/testbody, as users see them.
var (
	empty  = coro.MustFunc[coro.None, coro.None](testbody.Empty)
	add    = coro.MustFunc[int64, coro.None](testbody.Add)
	square = coro.MustFunc[int64, int64](testbody.Square)
	park   = coro.MustFunc[coro.None, int32](testbody.Park, coro.FuncName("park"))
	wake   = coro.MustFunc[coro.Handle, int32](testbody.Wake)
	join   = coro.MustFunc[coro.Handle, int32](testbody.Join, coro.FuncName("join"))
	sumGo  = coro.MustFunc[testbody.SumGoArg, int64](testbody.SumGo)

	doubleBody = coro.MustExportBody(func(c *coro.Coroutine, n int64) (int64, error) {
		return 2 * n, c.Yield()
	})
)

// What the tests share with those of other packages.
var (
	background = context.Background()
	expired    = trial.Expired

	soon         = trial.Soon
	eventually   = trial.Eventually
	newScheduler = trial.NewScheduler
	finish       = trial.Finish
	parked       = trial.Parked
	scaled       = trial.Scaled
	counted      = trial.Counted
	goes         = trial.Goes
	gone         = trial.Gone

	emulator = trial.Emulator
	children = trial.Children
	child    = trial.Child
)

const (
	patience     = trial.Patience
	instrumented = trial.Instrumented
	raceDetector = race.Enabled
)

func TestMain(m *testing.M) { trial.Main(m) }

func wait[R any](t testing.TB, task *coro.Task[R]) (R, error) { return trial.Wait(t, task) }

func made[T any](t testing.TB) func(*T, error) *T { return trial.Made[T](t) }

func newChan[T any](t testing.TB, s *coro.Scheduler, capacity int) *coro.Chan[T] {
	return trial.NewChan[T](t, s, capacity)
}

// second is the error of a call with two results.
func second[T any](_ T, err error) error { return err }
