//go:build cgo

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

var (
	readmePart  = regexp.MustCompile(`(?m)^##+ (.*)\n`)
	readmeBlock = regexp.MustCompile("(?ms)(?:^`([a-z.]+)`[^\n`]*:\n\n)?^```([a-z]*)\n(.*?)^```$")
	readmeSays  = regexp.MustCompile(`fmt\.Println\(.*\) // (.*)\n`)
)

// readmeParts are the parts of README.md below headings, by heading.
func readmeParts(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	headings := readmePart.FindAllSubmatchIndex(text, -1)
	parts := map[string]string{}
	for i, h := range headings {
		end := len(text)
		if i+1 < len(headings) {
			end = headings[i+1][0]
		}
		parts[string(text[h[2]:h[3]])] = string(text[h[1]:end])
	}
	return parts
}

// lay writes the program of a part of README.md. It returns what the program prints, by its
// comments, and the lines of the shell.
func (o *outside) lay(part string) (says string, commands []string) {
	o.t.Helper()
	for _, block := range readmeBlock.FindAllStringSubmatch(part, -1) {
		name, language, text := block[1], block[2], block[3]
		switch {
		case name == "" && language == "go":
			name = "main.go"
		case name == "":
			commands = append(commands, strings.Split(strings.TrimSpace(text), "\n")...)
			continue
		}
		o.write(name, text)
		if name == "main.go" {
			for _, m := range readmeSays.FindAllStringSubmatch(text, -1) {
				says += m[1] + "\n"
			}
		}
	}
	require.NotEmpty(o.t, says)
	return says, commands
}

// What README.md says is done from an empty folder, line by line. The module comes from this tree,
// so that no network is needed.
func TestReadmeProgramsFromAnEmptyFolder(t *testing.T) {
	needs(t, "gcc", "sh")
	parts := readmeParts(t)
	o := newEmptyOutside(t)
	repository, err := os.Getwd()
	require.NoError(t, err)

	says, commands := o.lay(parts["A first program"])
	require.Len(t, commands, 5)
	assert.Contains(t, commands[0], "go mod init ")
	for i, command := range commands {
		out := o.run("sh", "-c", command)
		switch i {
		case 0:
			o.run("go", "mod", "edit", "-replace=github.com/organzine/coro="+repository)
		case len(commands) - 1:
			assert.Equal(t, says, out)
		}
	}
	// The one without C comes first.
	for _, heading := range []string{"With a Go body", "With C structs, and a channel", "A call"} {
		require.NoError(t, os.RemoveAll(filepath.Join(o.dir, "body.c")))
		says, commands := o.lay(parts[heading])
		assert.Empty(t, commands)
		assert.Equal(t, says, o.run("go", "run", "."), heading)
	}
	o.run("go", "vet", ".")
}
