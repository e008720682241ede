//go:build cgo

package hard_test

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
	pageBlock = regexp.MustCompile("(?ms)(?:`([a-z_.]+)`[^\n`]*:\n\n)?^```([a-z]*)\n(.*?)^```$")
	pageSays  = regexp.MustCompile(`fmt\.Println\(.*\) +// (.*)\n`)
)

// pageParts are the parts of a page: what is above the first heading of the second level, and what
// is below each.
func pageParts(t *testing.T, page string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", page))
	require.NoError(t, err)
	return strings.Split(string(text), "\n## ")
}

// follow does what a part of a page says, in its order: it writes the files, runs the lines of the
// shell, and compares what the program prints with its comments. The module comes from this tree,
// so that no network is needed.
func (o *outside) follow(part string) {
	o.t.Helper()
	repository, err := filepath.Abs("../..")
	require.NoError(o.t, err)
	says, ran := "", 0
	for _, block := range pageBlock.FindAllStringSubmatch(part, -1) {
		name, language, text := block[1], block[2], block[3]
		if language != "" {
			if name == "" {
				name = "main.go"
			}
			o.write(name, text)
			if name == "main.go" {
				says = ""
				for _, m := range pageSays.FindAllStringSubmatch(text, -1) {
					says += m[1] + "\n"
				}
			}
			continue
		}
		for _, command := range strings.Split(strings.TrimSpace(text), "\n") {
			out := o.run("sh", "-c", command)
			ran++
			switch {
			case strings.HasPrefix(command, "go mod init"):
				o.run("go", "mod", "edit", "-replace=github.com/organzine/coro="+repository)
			case strings.HasPrefix(command, "go run ."):
				require.NotEmpty(o.t, says)
				assert.Equal(o.t, says, out)
			}
		}
	}
	require.NotZero(o.t, ran)
	o.run("go", "vet", ".")
}

func TestReadmeProgramFromAnEmptyFolder(t *testing.T) {
	needs(t, "gcc", "sh")
	newEmptyOutside(t).follow(pageParts(t, "README.md")[0])
}

func TestHandlersPageFromAnEmptyFolder(t *testing.T) {
	needs(t, "gcc", "sh")
	newEmptyOutside(t).follow(pageParts(t, "docs/handlers.md")[1])
}

func TestTutorialFromAnEmptyFolder(t *testing.T) {
	needs(t, "gcc", "sh")
	o := newEmptyOutside(t)
	steps := 0
	for _, part := range pageParts(t, "docs/tutorial.md")[1:] {
		if regexp.MustCompile(`^\d\. `).MatchString(part) {
			o.follow(part)
			steps++
		}
	}
	require.Equal(t, 4, steps)
}

const sumsTo5050 = `package main

import (
	"context"
	"fmt"

	"github.com/organzine/coro"
)

func main() {
	s, err := coro.New()
	if err != nil {
		panic(err)
	}
	fmt.Println(Sum.Call(context.Background(), s, coro.None{}))
	fmt.Println(s.Close(context.Background()))
}
`

// The page of waiting has a body with a child and a channel.
func TestScopeOfThePageOfWaiting(t *testing.T) {
	needs(t, "gcc")
	text, err := os.ReadFile("../../docs/waiting.md")
	require.NoError(t, err)
	body := regexp.MustCompile("(?s)```c\n(static void numbers.*?)```").FindSubmatch(text)
	require.NotNil(t, body)
	o := newOutside(t, map[string]string{"main.go": sumsTo5050,
		"sum.c": "#include \"coro.h\"\n\n" + string(body[1])})
	o.generate()
	assert.Equal(t, "5050 <nil>\n<nil>\n", o.run("go", "run", "."))
}
