// Command crash is a program that imports symbolize and runs one of crash.Kinds.
package main

import (
	"fmt"
	"os"

	"github.com/organzine/coro/internal/crash"
	_ "github.com/organzine/coro/symbolize"
)

func main() {
	for _, k := range crash.Kinds {
		if k.Name == os.Args[1] {
			k.Run()
			return
		}
	}
	fmt.Fprintln(os.Stderr, "unknown:", os.Args[1])
	os.Exit(3)
}
