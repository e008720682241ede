//go:build cgo

package coro_test

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
	empty      = coro.MustFunc[coro.None, coro.None](testbody.Empty)
	add        = coro.MustFunc[int64, coro.None](testbody.Add)
	square     = coro.MustFunc[int64, int64](testbody.Square)
	park       = coro.MustFunc[coro.None, int32](testbody.Park, coro.FuncName("park"))
	laps       = coro.MustFunc[coro.None, coro.None](testbody.Laps)
	spin       = coro.MustFunc[coro.None, coro.None](testbody.Spin, coro.FuncName("spin"))
	abort      = coro.MustFunc[coro.None, coro.None](testbody.Abort)
	yield      = coro.MustFunc[int64, coro.None](testbody.Yield)
	tree       = coro.MustFunc[int64, coro.None](testbody.Tree)
	wake       = coro.MustFunc[coro.Handle, int32](testbody.Wake)
	join       = coro.MustFunc[coro.Handle, int32](testbody.Join, coro.FuncName("join"))
	self       = coro.MustFunc[coro.None, coro.Handle](testbody.Self)
	family     = coro.MustFunc[int64, int64](testbody.Family)
	pingPong   = coro.MustFunc[int64, coro.None](testbody.PingPong)
	canceled   = coro.MustFunc[int64, int64](testbody.Canceled, coro.FuncName("canceled"))
	cancel     = coro.MustFunc[coro.Handle, int32](testbody.Cancel)
	late       = coro.MustFunc[uint64, coro.None](testbody.Late)
	busyParent = coro.MustFunc[uint64, coro.None](testbody.BusyParent)
)

// What the tests share with those of other packages.
var (
	background = context.Background()
	expired    = trial.Expired

	soon         = trial.Soon
	eventually   = trial.Eventually
	newScheduler = trial.NewScheduler
	finish       = trial.Finish
	closedEarly  = trial.ClosedEarly
	tries        = trial.Tries
	gone         = trial.Gone
	threads      = trial.Threads
	parked       = trial.Parked
	asleep       = trial.Asleep
	scaled       = trial.Scaled
	counted      = trial.Counted
	goes         = trial.Goes
	limit        = trial.Limit
	optionError  = trial.OptionError

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
