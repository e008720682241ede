// Command sqlite has a hundred actors order, and keeps what they order in an SQLite database that
// belongs to the process's main thread: one actor there owns the connection.
//
//	make run     the program
//	make test    the tests
//
// shop.c has the actors, and main hosts the main worker.
package main

//go:generate go run github.com/organzine/coro/cmd/coro header

/*
#cgo CFLAGS: -O2
#cgo pkg-config: sqlite3
#include "shop.h"
#include <stdlib.h>
*/
import "C"

import (
	"context"
	"flag"
	"fmt"
	"log"
	"runtime"
	"time"
	"unsafe"

	"github.com/organzine/coro"
)

// The main goroutine stays on the main thread.
func init() { runtime.LockOSThread() }

// shop has the layout of the C structs in its types.
var shop = coro.MustFunc[shopArg, sums](unsafe.Pointer(C.shop), coro.FuncStack(64<<10))

type shopArg struct {
	path              uintptr // a C string
	customers, orders int64
	worker            int64
}

type sums struct {
	Rows, Amount     int64
	Calls, Elsewhere int64 // of SQLite, and those on another thread than the main one
}

func main() {
	log.SetFlags(0)
	customers := flag.Int64("customers", 100, "how many")
	orders := flag.Int64("orders", 1000, "of each customer")
	path := flag.String("db", ":memory:", "the database, which must be new")
	flag.Parse()
	if *customers < 0 || *orders < 0 {
		log.Fatal("-customers and -orders are 0 or more")
	}
	began := time.Now()
	got, err := run(context.Background(), *path, *customers, *orders)
	if err != nil {
		log.Fatal(err)
	}
	took := time.Since(began)
	fmt.Printf("%d orders of %d customers, amount %d, in %v: %.0f ns each\n", got.Rows, *customers,
		got.Amount, took.Round(time.Millisecond), float64(took.Nanoseconds())/float64(max(got.Rows, 1)))
	fmt.Printf("%d calls of SQLite, %d of them not on the main thread\n", got.Calls, got.Elsewhere)
}

// run opens the shop. The caller is on the main thread.
func run(ctx context.Context, path string, customers, orders int64) (sums, error) {
	s, err := coro.New(coro.WithMainThread())
	if err != nil {
		return sums{}, err
	}
	defer s.Close(ctx)
	text := C.CString(path)
	defer C.free(unsafe.Pointer(text))
	task, err := shop.Start(s, shopArg{uintptr(unsafe.Pointer(text)), customers, orders,
		int64(s.MainWorker())})
	if err != nil {
		return sums{}, err
	}
	// It returns when all has come to its end: the database is closed too.
	if err := s.RunMain(ctx); err != nil {
		return sums{}, err
	}
	return task.Wait(ctx)
}
