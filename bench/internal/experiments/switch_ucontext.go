package experiments

import (
	"github.com/organzine/coro/bench/internal/cbody"
	"github.com/organzine/coro/bench/internal/harness"
)

// ucontextSwitch is glibc's swapcontext, which saves the signal mask by a system call at each
// switch.
func ucontextSwitch() []harness.Row {
	return []harness.Row{
		{System: sysUcontext, Variant: "pair", Workers: 1, N: 2,
			Open: timed(func() (harness.Values, error) {
				d, err := cbody.UcontextPair(uctxTrips)
				return oneWay(d, err, 2*uctxTrips)
			})},
		{System: sysUcontext, Variant: "ring", Workers: 1, N: ringMembers,
			Open: timed(func() (harness.Values, error) {
				d, err := cbody.UcontextRing(ringMembers, uctxRingLaps)
				return oneWay(d, err, ringMembers*uctxRingLaps)
			})},
	}
}
