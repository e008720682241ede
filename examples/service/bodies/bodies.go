// Package bodies has the C coroutines of the service. They are a package of their own, so that Go
// tests can start them: a _test.go file may not import "C".
package bodies

// The -I is for this module, where coro.h is in csrc. A module of your own has coro.h beside this
// file, and needs no -I.

/*
#cgo CFLAGS: -O2 -I${SRCDIR}/../../../csrc/include
#include "bodies.h"
*/
import "C"

import (
	"unsafe"

	"github.com/organzine/coro"
)

// Item and Order are structs of C: Go and C have one layout.
type (
	Item  = C.struct_item
	Order = C.struct_order
)

// Steps is how long the Collatz sequence from a number is. Total is what the items of an order
// cost; -1 if an item has no price.
var (
	Steps = coro.MustFunc[uint64, uint64](unsafe.Pointer(C.steps), coro.FuncName("steps"))
	Total = coro.MustFunc[Order, int64](unsafe.Pointer(C.total), coro.FuncName("total"))
)

// NewItem is a quantity of the item with a number.
func NewItem(number, count uint32) Item {
	return Item{number: C.uint32_t(number), count: C.uint32_t(count)}
}

// NewOrder is the argument of Total: items come through the channel until it is closed, and price
// is an exported function from an item's number, uint32, to its price, int64.
func NewOrder(items *coro.Chan[Item], price coro.FuncID) Order {
	return Order{items: C.uint64_t(items.Address()), price: C.uint32_t(price)}
}
