package experiments

import (
	"errors"
	"fmt"
	"time"

	"github.com/organzine/coro/bench/internal/cbody"
)

const sysDispatch = "dispatch"

// poolRingSystems are pools of bare dispatchers, with each policy.
func poolRingSystems() (list []ringSystem) {
	for _, p := range []struct {
		name     string
		policy   uint32
		onlySome bool
	}{{"rr", cbody.RoundRobin, true}, {"ll", cbody.Locality, false},
		{"gq", cbody.GlobalQueue, true}} {
		list = append(list, ringSystem{name: sysDispatch, variant: p.name, posts: 4_000_000,
			least: 200, bytes: 700, manyWorkers: true, onlySome: p.onlySome,
			run: func(r cbody.Rings) (time.Duration,
				int64, error) {
				return poolRings(r, p.policy)
			}})
	}
	return list
}

func poolRings(r cbody.Rings, policy uint32) (d time.Duration, bytes int64, err error) {
	if err := r.PoolOpen(); err != nil {
		return 0, 0, err
	}
	defer func() {
		r.PoolClose()
		err = errors.Join(err, cbody.Err())
	}()
	before, err := resident()
	if err != nil {
		return 0, 0, err
	}
	if err := r.PoolStart(policy); err != nil {
		return 0, 0, err
	}
	if err := until(func() bool { return cbody.PoolReady() == r.Workers }); err != nil {
		return 0, 0, fmt.Errorf("on %d of %d threads all members wait: %w",
			cbody.PoolReady(), r.Workers, err)
	}
	waiting, err := resident()
	if err != nil {
		return 0, 0, err
	}
	d, err = cbody.PoolFire()
	if r.LIFO && err == nil {
		waiting, err = resident()
	}
	return d, waiting - before, err
}
