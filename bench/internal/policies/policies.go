// Package policies knows the switches of the policies in a tree of coro: those of the core in C and
// of the Go code.
package policies

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// files have the switches, one a line.
var files = []struct {
	path string
	line *regexp.Regexp // the name is between what stands before and behind it
}{
	{"csrc/kernel/policy.h", regexp.MustCompile(`(?m)^(#define COROI_HAS_)(\w+)( )1$`)},
	{"csrc/border/policy.h", regexp.MustCompile(`(?m)^(#define COROI_HAS_)(\w+)( )1$`)},
	{"csrc/actor/policy.h", regexp.MustCompile(`(?m)^(#define COROI_HAS_)(\w+)( )1$`)},
	{"internal/policy/policy.go", regexp.MustCompile(`(?m)^(\tHas)(\w+)( = )true$`)},
}

var inner = regexp.MustCompile(`([a-z])([A-Z])`)

// nameOf is how a policy is told: COROI_HAS_STAY_ON_P and HasStayOnP are stay-on-p.
func nameOf(text string) string {
	text = inner.ReplaceAllString(text, "${1}_$2")
	return strings.ToLower(strings.ReplaceAll(text, "_", "-"))
}

// In returns the names of all policies of the tree, in the order of their files.
func In(tree string) ([]string, error) {
	var names []string
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(tree, f.path))
		if err != nil {
			return nil, err
		}
		for _, m := range f.line.FindAllSubmatch(text, -1) {
			names = append(names, nameOf(string(m[2])))
		}
	}
	return names, nil
}

// SwitchOff switches a policy of the tree off.
func SwitchOff(tree, name string) error {
	all, err := In(tree)
	if err != nil {
		return err
	}
	if !slices.Contains(all, name) {
		return fmt.Errorf("there is no policy %q; there are %s", name,
			strings.Join(all, ", "))
	}
	for _, f := range files {
		path := filepath.Join(tree, f.path)
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		off := f.line.ReplaceAllFunc(text, func(line []byte) []byte {
			m := f.line.FindSubmatch(line)
			if nameOf(string(m[2])) != name {
				return line
			}
			value := "0"
			if bytes.HasPrefix(line, []byte("\t")) {
				value = "false"
			}
			return slices.Concat(m[1], m[2], m[3], []byte(value))
		})
		if bytes.Equal(off, text) {
			continue
		}
		if err := os.WriteFile(path, off, 0o644); err != nil {
			return err
		}
	}
	return nil
}
