//go:build !race

package race

// Enabled tells whether the race detector is built in.
const Enabled = false

// An Edge is one object's hand-overs: nothing without the race detector. A nil Edge has none.
type Edge struct{}

// Release comes before a hand-over to the C core.
func (*Edge) Release() {}

// Acquire comes after a hand-over from the C core.
func (*Edge) Acquire() {}

// StoreUint32 stores without order.
func StoreUint32(p *uint32, v uint32) { *p = v }

// LoadPointer loads without order.
func LoadPointer[T any](p **T) *T { return *p }

// StorePointer stores without order.
func StorePointer[T any](p **T, v *T) { *p = v }
