//go:build cgo

package coro

// WithoutStandby is for tests of lost wake-ups: no sleeper looks around while others work.
func WithoutStandby() Option {
	return func(c *config) error { c.NoStandby = true; return nil }
}
