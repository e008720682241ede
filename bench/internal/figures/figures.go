// Package figures holds what was measured, as docs/figures/figures.json keeps it, and makes the
// tables of the documents out of it.
package figures

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/organzine/coro/bench/internal/harness"
)

// Path is where the figures are, from the module's root.
const Path = "docs/figures/figures.json"

// A Set is what one command has measured in one go.
type Set struct {
	Machine      harness.Machine       `json:"machine"`
	Before       harness.Noise         `json:"noise_before"`
	After        harness.Noise         `json:"noise_after"`
	Measurements []harness.Measurement `json:"measurements"`
}

// Figures are the last set of each command: bench, application, forkjoin, peers, http.
type Figures map[string]Set

// A Key names one measurement.
type Key struct {
	Command, Experiment, System, Variant string
	Workers, N                           int // 0: any, the first that there is
	Metric                               string
}

// Read reads the file at path. One that is not there has no figures.
func Read(path string) (Figures, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Figures{}, nil
	}
	if err != nil {
		return nil, err
	}
	f := Figures{}
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// Write writes them to path, a measurement a line.
func (f Figures) Write(path string) error {
	text, err := json.MarshalIndent(f, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// Find returns a measurement, and whether there is one.
func (f Figures) Find(k Key) (harness.Measurement, bool) {
	for _, m := range f[k.Command].Measurements {
		if m.Experiment == k.Experiment && m.System == k.System && m.Variant == k.Variant &&
			m.Metric == k.Metric && (k.Workers == 0 || k.Workers == m.Workers) &&
			(k.N == 0 || k.N == m.N) {
			return m, true
		}
	}
	return harness.Measurement{}, false
}
