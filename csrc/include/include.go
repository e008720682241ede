// Package include is the public C header of coro, for C bodies and for the core itself: coro.h,
// which includes its parts, and those that include coro.h.
package include

import (
	"embed"
	"regexp"
	"strings"
)

// include.go - the C headers, embedded.

// Headers are the files of the header. They are embedded for the command coro, and as the rooms'
// files are, for internal/core.
//
//go:embed *.h
var Headers embed.FS

// Names are the headers that users include. Those but the first, coro.h, include that.
var Names = []string{"coro.h", "coro_io.h", "coro_actor.h"}

// No expression is compiled before it is needed: every program with the core has this package.
func ownInclude() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^#include "([a-z_]+\.h)".*\n`)
}

// Text is one of the headers of Names as one file, for modules that have no path to its parts: each
// part stands where coro.h includes it.
func Text(name string) string {
	if name != Names[0] {
		return part(name)
	}
	own := ownInclude()
	text := own.ReplaceAllStringFunc(part(name), func(line string) string {
		return part(own.FindStringSubmatch(line)[1]) + "\n"
	})
	return strings.ReplaceAll(text, "\n\n\n", "\n\n")
}

// Version is the header's CORO_VERSION.
func Version() string {
	line := regexp.MustCompile(`(?m)^#define CORO_VERSION (\d+)$`)
	return line.FindStringSubmatch(part(Names[0]))[1]
}

// part is one file of the public header.
func part(name string) string {
	text, err := Headers.ReadFile(name)
	if err != nil {
		panic(err) // a file that is embedded is there
	}
	return string(text)
}
