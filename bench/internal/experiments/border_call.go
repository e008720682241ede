package experiments

import (
	"context"
	"errors"
	"time"

	"github.com/organzine/coro"
	"github.com/organzine/coro/bench/internal/cbody"
	"github.com/organzine/coro/bench/internal/harness"
)

const (
	callManyN    = 1000 // calls by one CallN
	childrenN    = 1000 // children of a body
	childrenRuns = 200
)

func init() {
	briefBody = []coro.FuncOption{coro.FuncBrief()}
	borderCalls = callRows
	borderCallsBusy = func() []harness.Row { return []harness.Row{callEmpty().busy()} }
}

func callRows() []harness.Row {
	oneUS := crossing{system: sysCoro, name: "call 1us", n: borderTrips,
		open: onWorkers(1, callSpin(stepsPerUS))}
	list := []harness.Row{callEmpty().steady(), callEmpty().cold(), oneUS.steady(),
		callMany().steady(), callWithOffload(1, "").steady(),
		callWithOffload(cpus, " procs").steady()}
	return rows(list, childrenRows(), crowds(sysCoro, onWorkers(borderWorkers, callSpin(borderShort))))
}

// An operation of a scheduler, for onWorkers.
type onScheduled = func(*coro.Scheduler) (op, end func() error, err error)

// called is one Call.
func called[A, R any](f coro.Func[A, R], arg A) onScheduled {
	return func(s *coro.Scheduler) (op, end func() error, err error) {
		return func() error {
			_, err := f.Call(context.Background(), s, arg)
			return err
		}, nil, nil
	}
}

func callEmpty() crossing {
	empty := coro.MustFunc[coro.None, coro.None](cbody.Empty, briefBody...)
	return crossing{system: sysCoro, name: "call", n: borderTrips,
		open: onWorkers(1, called(empty, coro.None{}))}
}

func callSpin(steps int64) onScheduled {
	return called(coro.MustFunc[int64, coro.None](cbody.Spin, briefBody...), steps)
}

func callMany() crossing {
	empty := coro.MustFunc[coro.None, coro.None](cbody.Empty, briefBody...)
	args, results := make([]coro.None, callManyN), make([]coro.None, callManyN)
	return crossing{system: sysCoro, name: "call-n", n: borderTrips / 100, each: callManyN,
		open: onWorkers(1, func(s *coro.Scheduler) (op, end func() error, err error) {
			return func() error {
				return empty.CallN(context.Background(), s, args, results)
			}, nil, nil
		})}
}

// callWithOffload calls a body that makes one offloaded call, on a number of Ps.
func callWithOffload(procs int, variant string) crossing {
	body := coro.MustFunc[cbody.Calls, coro.None](cbody.CallsBody, briefBody...)
	return crossing{system: sysCoro, name: "call with offload" + variant, n: borderTrips,
		procs: procs,
		open: onWorkers(1, func(s *coro.Scheduler) (op, end func() error, err error) {
			return called(body, cbody.Calls{ID: uint32(addOne()), Offload: 1, N: 1})(s)
		})}
}

// childrenRows: one body spawns children and joins them, all in the time that the body tells; and
// the same work as a loop in C.
func childrenRows() []harness.Row {
	of := cbody.ChildrenOf{N: childrenN, Steps: stepsPerUS}
	body := coro.MustFunc[cbody.ChildrenOf, int64](cbody.Children)
	each := func(once func() (time.Duration, error)) (harness.Values, error) {
		var all time.Duration
		n := fewer(childrenRuns)
		for range n {
			d, err := once()
			if err != nil {
				return nil, err
			}
			all += d
		}
		return perOp(all, n*childrenN, nil)
	}
	list := []harness.Row{{System: sysCgo, Variant: "children", Workers: 1, N: childrenN,
		Open: timed(func() (harness.Values, error) {
			return each(func() (time.Duration, error) {
				return cbody.ChildrenPlain(of), nil
			})
		})}}
	for _, workers := range []int{1, borderWorkers} {
		list = append(list, harness.Row{System: sysCoro, Variant: "children",
			Workers: workers, N: childrenN, Open: onScheduler(
				func(s *coro.Scheduler) (harness.Values, error) {
					return each(func() (time.Duration, error) {
						ns, err := body.Call(context.Background(), s, of)
						return time.Duration(ns), errors.Join(err, cbody.Err())
					})
				}, coro.WithWorkers(workers))})
	}
	return list
}
