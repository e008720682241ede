//go:build ignore

// Genstub writes stub.go. The go:generate line is in rooms.go.
package main

import (
	"log"
	"os"

	"github.com/organzine/coro/internal/core/stub"
)

func main() {
	text, err := stub.Generate(".")
	if err == nil {
		err = os.WriteFile("stub.go", text, 0o666)
	}
	if err != nil {
		log.Fatal(err)
	}
}
