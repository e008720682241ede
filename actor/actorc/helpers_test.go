//go:build cgo

package actorc_test

import (
	"context"

	"github.com/organzine/coro/internal/trial"
)

var (
	background   = context.Background()
	soon         = trial.Soon
	eventually   = trial.Eventually
	newScheduler = trial.NewScheduler
	finish       = trial.Finish
	scaled       = trial.Scaled
	optionError  = trial.OptionError
)
