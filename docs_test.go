package coro_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	docFence   = regexp.MustCompile("(?ms)^[ \t]*```.*?^[ \t]*```$")
	docCode    = regexp.MustCompile("`[^`\n]*`")
	docLink    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	docHeading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	docDropped = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// docAnchors are the anchors of a page, as GitHub makes them.
func docAnchors(text string) map[string]bool {
	anchors := map[string]bool{}
	for _, m := range docHeading.FindAllStringSubmatch(docFence.ReplaceAllString(text, ""), -1) {
		words := docDropped.ReplaceAllString(strings.ToLower(m[1]), "")
		anchors[strings.ReplaceAll(words, " ", "-")] = true
	}
	return anchors
}

// Each link of a page within the repository leads to a file that is there, and to a heading of it.
func TestLinksOfThePagesLeadSomewhere(t *testing.T) {
	out, err := exec.Command("git", "ls-files", "*.md").Output()
	if err != nil {
		t.Skip("not in a repository of git")
	}
	links := 0
	for _, page := range strings.Fields(string(out)) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		plain := docCode.ReplaceAllString(docFence.ReplaceAllString(string(text), ""), "code")
		for _, m := range docLink.FindAllStringSubmatch(plain, -1) {
			path, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(path, "://") {
				continue
			}
			links++
			target := page
			if path != "" {
				target = filepath.Join(filepath.Dir(page), path)
			}
			if _, err := os.Stat(target); !assert.NoError(t, err, "%s: %s", page, m[1]) || anchor == "" {
				continue
			}
			linked, err := os.ReadFile(target)
			require.NoError(t, err)
			assert.True(t, docAnchors(string(linked))[anchor], "%s: there is no heading %s", page, m[1])
		}
	}
	assert.Greater(t, links, 100)
}
