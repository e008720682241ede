// Package policy has a switch for each thing that the Go code does to be fast and could do without,
// as csrc/kernel/policy.h has for the core. Where one is false the policy is not compiled in.
// bench/ablate measures what each earns.
package policy

const (
	// HasBulk: a deep mailbox of package actor takes messages by the chunk (actor/mailbox.go).
	HasBulk = true
	// HasStayOnP: a turn does not let other goroutines run while a P is idle
	// (internal/turnclock).
	HasStayOnP = true
	// HasMeet: a goroutine passes a value of a channel without room without a call into C
	// (meet.go).
	HasMeet = true
)
