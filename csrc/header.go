package csrc

import (
	"regexp"
	"strings"

	"github.com/organzine/coro/csrc/include"
)

var ownInclude = regexp.MustCompile(`(?m)^#include "([a-z_]+\.h)".*\n`)

// Header is the text of coro.h as one file, for modules that have no path to its parts: each part
// stands where coro.h includes it.
func Header() string {
	text := ownInclude.ReplaceAllStringFunc(part("coro.h"), func(line string) string {
		return part(ownInclude.FindStringSubmatch(line)[1]) + "\n"
	})
	return strings.ReplaceAll(text, "\n\n\n", "\n\n")
}

// HeaderIO is the text of coro_io.h, which includes coro.h.
func HeaderIO() string { return part("coro_io.h") }

// HeaderActor is the text of coro_actor.h, which includes coro.h.
func HeaderActor() string { return part("coro_actor.h") }

// part is one file of the public header.
func part(name string) string {
	text, err := include.Headers.ReadFile(name)
	if err != nil {
		panic(err) // a file that is embedded is there
	}
	return string(text)
}
