package main

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/organzine/coro/bench/internal/harness"
)

// A result is what was measured of a policy.
type result struct {
	Policy, Tree, Machine string
	Rows                  []harness.Verdict
}

func fileOf(dir, policy string) string { return filepath.Join(dir, policy+".json") }

func read(dir, policy string) (r result, err error) {
	text, err := os.ReadFile(fileOf(dir, policy))
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(text, &r)
}

// isMeasured: the policy has a result, of this tree.
func isMeasured(dir, policy, tree string) bool {
	r, err := read(dir, policy)
	return err == nil && r.Tree == tree
}

func write(dir string, r result) error {
	text, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(fileOf(dir, r.Policy), append(text, '\n'), 0o644)
}

// decode reads what bench/compare -json has written.
func decode(file string) (rows []harness.Verdict, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var v harness.Verdict
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			return nil, err
		}
		rows = append(rows, v)
	}
	return rows, nil
}
