package coro

import "github.com/organzine/coro/internal/bubble"

// Why the package does not work in a bubble of testing/synctest: the core's threads, and the
// goroutines of a scheduler, are outside of each bubble. While a goroutine of a bubble waits for
// them its clock stands still, so that no time-out comes; and Go ends the process where they touch
// a channel or a context that was made in the bubble. So each call that would wait, or hand over a
// context that may end, looks first where it is. Calls that do neither do not look.

// outside returns ErrBubble in a bubble.
func outside() error {
	if bubble.In() {
		return ErrBubble
	}
	return nil
}
