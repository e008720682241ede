package coro_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A duration that is tuning stands in tuning.go, where it has its reason. Bounds and defaults of
// options stand with these.
func TestDurationsStandInTuning(t *testing.T) {
	duration := regexp.MustCompile(`([0-9] ?\* ?|= )time\.((Nano|Micro|Milli)?[Ss]econd|Minute|Hour)\b`)
	require.Regexp(t, duration, "for pause := 5 * time.Millisecond; ; {")
	require.Regexp(t, duration, "\tgrace  = time.Second")
	require.NotRegexp(t, duration, "d = 2*time.Duration(n); at = time.Now()")
	for _, dir := range []string{".", "actor", "x/nats"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		require.NoError(t, err)
		if files == nil && dir == "x/nats" {
			continue // a module of its own, which this module's zip does not have
		}
		require.Contains(t, files, filepath.Join(dir, "tuning.go"))
		for _, file := range files {
			switch base := filepath.Base(file); {
			case strings.HasSuffix(base, "_test.go"), base == "tuning.go", base == "options.go":
				continue
			}
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			for i, line := range strings.Split(string(text), "\n") {
				code, _, _ := strings.Cut(line, "//")
				assert.NotRegexp(t, duration, code, "%s:%d", file, i+1)
			}
		}
	}
}
