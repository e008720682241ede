package main

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/organzine/coro/bench/internal/harness"
)

const (
	begins = "<!-- ablate begins -->\n"
	ends   = "<!-- ablate ends -->\n"
	shown  = 4 // rows of a policy in the table
)

// writePage puts the table between the marks of the page.
func writePage(page string, plans []plan, results string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, ok := bytes.Cut(text, []byte(begins))
	_, after, ok2 := bytes.Cut(rest, []byte(ends))
	if !ok || !ok2 {
		return fmt.Errorf("%s lacks the lines %q and %q", page, begins, ends)
	}
	return os.WriteFile(page, slices.Concat(before, []byte(begins), table(plans, results),
		[]byte(ends), after), 0o644)
}

// table has a line for each policy.
func table(plans []plan, results string) []byte {
	var out bytes.Buffer
	out.WriteString("| policy | without it | ground | measured |\n|---|---|---|---|\n")
	for _, p := range plans {
		r, err := read(results, p.name)
		said, when := "not measured", ""
		if p.ground != "" {
			said = "as the ground says"
		}
		if err == nil {
			said, when = summary(r.Rows), r.Tree+", "+r.Machine
		}
		fmt.Fprintf(&out, "| `%s` | %s | %s | %s |\n", p.name, said, p.reason(), when)
	}
	return out.Bytes()
}

// reason is the ground on which the policy stays.
func (p plan) reason() string {
	if p.ground == "" {
		return "not decided"
	}
	s := "(" + p.ground + ") " + p.why
	if p.held != "" {
		s += "; held by `" + p.held + "`"
	}
	return s
}

// summary tells the rows that differ most without the policy, of those that differ at all.
func summary(rows []harness.Verdict) string {
	var differ []harness.Verdict
	for _, v := range rows {
		if differs(v) {
			differ = append(differ, v)
		}
	}
	if len(differ) == 0 {
		return fmt.Sprintf("%d rows: no difference", len(rows))
	}
	slices.SortStableFunc(differ, func(a, b harness.Verdict) int {
		return cmp.Compare(math.Abs(math.Log(b.Change)), math.Abs(math.Log(a.Change)))
	})
	var parts []string
	for _, v := range differ[:min(shown, len(differ))] {
		parts = append(parts, fmt.Sprintf("%s %s %s %.4g → %.4g (%+.0f %%)", v.Experiment, v.Row,
			v.Metric, v.Old, v.New, 100*(v.Change-1)))
	}
	s := strings.Join(parts, "; ")
	if n := len(differ) - shown; n > 0 {
		s += fmt.Sprintf("; %d more", n)
	}
	return fmt.Sprintf("%s; %d of %d rows: no difference", s, len(rows)-len(differ), len(rows))
}
