// Package inside lets the packages that are built on package coro have its core and its errors.
package inside

import (
	"context"

	"github.com/organzine/coro/internal/core"
	"github.com/organzine/coro/internal/panicked"
	"github.com/organzine/coro/internal/race"
)

// A Scheduler is what such a package needs of a *coro.Scheduler.
type Scheduler struct {
	Core   *core.Scheduler
	Edge   *race.Edge      // from its calls to its coroutines
	Life   context.Context // ends when a Close whose context has ended cancels what is left
	Closed func() bool
	Ended  *panicked.Hook[Ender] // of all actors in C that Go serves
}

// An Ender is told of an end.
type Ender interface{ Ended() }

// Of returns the inside of a *coro.Scheduler, Error the error of package coro for a status about a
// scheduler, and BodyError that for the failure of a body. Package coro sets them.
var (
	Of        func(scheduler any) Scheduler
	Error     func(core.Status) error
	BodyError func(*core.Failure) error
)
