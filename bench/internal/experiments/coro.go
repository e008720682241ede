package experiments

import (
	"context"
	"errors"
	"time"

	"github.com/organzine/coro"
	"github.com/organzine/coro/bench/internal/cbody"
	"github.com/organzine/coro/bench/internal/harness"
)

// patience ends an experiment that hangs; no measurement comes near it.
const patience = time.Minute

// longPatience is for programs of their own, and for the largest sizes.
const longPatience = 10 * patience

// onScheduler makes a row out of a function that needs a scheduler, which it gets for itself. A
// failed call in a C body fails the run.
func onScheduler(run func(*coro.Scheduler) (harness.Values, error),
	opts ...coro.Option) func() (harness.Trial, error) {
	return func() (harness.Trial, error) {
		s, err := coro.New(opts...)
		if err != nil {
			return harness.Trial{}, err
		}
		return harness.Trial{
			Run: func() (harness.Values, error) {
				v, err := run(s)
				return v, errors.Join(err, cbody.Err())
			},
			Close: func() error { return closed(s) },
		}, nil
	}
}

func closed(s *coro.Scheduler) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return s.Close(ctx)
}

// settled waits until everything on s has ended.
func settled(s *coro.Scheduler) error { return settledIn(s, patience) }

func settledIn(s *coro.Scheduler, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return s.Wait(ctx)
}

// nsEach is the time of each of n, in ns.
func nsEach(d time.Duration, n int) float64 { return float64(d) / float64(n) }

// byTurns measures one thing and what it is compared with by turns, n times each: machines change
// their speed within seconds, and only neighbours can be compared. It returns the medians of the
// first, and of the first divided by the other.
func byTurns(n int, own, other func() (float64, error)) (value, times float64, err error) {
	var values, ratios []float64
	for range n {
		base, err := other()
		if err != nil {
			return 0, 0, err
		}
		v, err := own()
		if err != nil {
			return 0, 0, err
		}
		values, ratios = append(values, v), append(ratios, v/base)
	}
	return harness.Median(values), harness.Median(ratios), nil
}
