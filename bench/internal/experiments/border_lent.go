package experiments

import (
	"context"

	"github.com/organzine/coro"
	"github.com/organzine/coro/bench/internal/cbody"
	"github.com/organzine/coro/bench/internal/harness"
)

func init() { borderLent = lentRows }

// lentRows are calls of an empty body whose argument lends memory, or is larger than a record has
// room for; and buffers that are made and freed.
func lentRows() []harness.Row {
	memory := make([]byte, 4096)
	slice := coro.MustFunc[coro.Bytes, coro.None](cbody.Empty, briefBody...)
	large := coro.MustFunc[[256]byte, coro.None](cbody.Empty, briefBody...)
	one := crossing{system: sysCoro, name: "call slice", n: borderTrips,
		open: onWorkers(1, called(slice, coro.SliceOf(memory)))}
	block := crossing{system: sysCoro, name: "call 256 bytes", n: borderTrips,
		open: onWorkers(1, called(large, [256]byte{}))}
	rows := []harness.Row{one.steady(), block.steady(), lentMany(slice).steady()}
	plain := coro.MustFunc[coro.None, coro.None](cbody.Empty, briefBody...)
	for _, row := range []struct {
		name string
		open onScheduled
	}{
		{"call crowd", called(plain, coro.None{})},
		{"call slice crowd", called(slice, coro.SliceOf(memory))},
	} {
		c := crossing{system: sysCoro, name: row.name, n: borderTrips, workers: borderWorkers,
			open: onWorkers(borderWorkers, row.open)}
		rows = append(rows, c.crowded(borderCrowd))
	}
	inC := coro.MustFunc[int64, coro.None](cbody.Buffers)
	return append(rows,
		crossing{system: sysCoro, name: "buffer", n: borderTrips,
			open: onWorkers(1, buffer)}.steady(),
		crossing{system: sysCoro, name: "buffer in C", n: borderTrips / 100, each: callManyN,
			open: onWorkers(1, called(inC, callManyN))}.steady())
}

// buffer is a buffer that Go makes and frees.
func buffer(s *coro.Scheduler) (op, end func() error, err error) {
	return func() error {
		b, err := coro.NewBuffer(s, 64)
		if err != nil {
			return err
		}
		return b.Free()
	}, nil, nil
}

// lentMany is a CallN whose calls borrow a slice each.
func lentMany(slice coro.Func[coro.Bytes, coro.None]) crossing {
	args, results := make([]coro.Bytes, callManyN), make([]coro.None, callManyN)
	for i := range args {
		args[i] = coro.SliceOf(make([]byte, 64))
	}
	return crossing{system: sysCoro, name: "call-n slice", n: borderTrips / 100, each: callManyN,
		open: onWorkers(1, func(s *coro.Scheduler) (op, end func() error, err error) {
			return func() error {
				return slice.CallN(context.Background(), s, args, results)
			}, nil, nil
		})}
}
