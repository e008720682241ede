package csrc

import (
	"regexp"

	"github.com/organzine/coro/csrc/include"
)

var ownInclude = regexp.MustCompile(`(?m)^#include "([a-z_]+\.h)".*\n`)

// Header is the text of coro.h as one file: the parts that it includes stand in it.
func Header() string {
	return ownInclude.ReplaceAllStringFunc(part("coro.h"), func(line string) string {
		return "\n" + part(ownInclude.FindStringSubmatch(line)[1])
	})
}

// part is one file of the public header.
func part(name string) string {
	text, err := include.Headers.ReadFile(name)
	if err != nil {
		panic(err) // a file that is embedded is there
	}
	return string(text)
}
