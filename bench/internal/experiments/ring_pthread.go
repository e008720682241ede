package experiments

import (
	"time"

	"github.com/organzine/coro/bench/internal/cbody"
)

var threadRings = ringSystem{name: sysPthread, variant: "semaphores", posts: 20_000, least: 5,
	bytes: 30_000, most: 800, manyWorkers: true, run: func(r cbody.Rings) (time.Duration,
		int64, error) {
		before, err := resident()
		if err != nil {
			return 0, 0, err
		}
		if err := r.ThreadsOpen(); err != nil {
			return 0, 0, err
		}
		waiting, err := resident()
		if err != nil {
			return 0, 0, err
		}
		d, err := cbody.ThreadsFire()
		if r.LIFO && err == nil {
			waiting, err = resident()
		}
		return d, waiting - before, err
	}}
