package coro_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	docFence   = regexp.MustCompile("(?ms)^[ \t]*```.*?^[ \t]*```$")
	docCode    = regexp.MustCompile("`[^`\n]*`")
	docLink    = regexp.MustCompile(`(?:\]\(|src(?:set)?=")([^)"\s]+)[)"]`)
	docHeading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	docDropped = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	docGoName  = regexp.MustCompile(`\b(coro|actor|corotest)\.([A-Z]\w*)(?:\.([A-Z]\w*))?`)
	docCName   = regexp.MustCompile(`\bcoro_\w+\b\*?|\bCORO_\w+\b\*?`)
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

// docExported are the names that the Go files of a directory export; of methods, Type.Method.
func docExported(t *testing.T, dir string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				names[docReceiver(d)+d.Name.Name] = true
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						names[spec.Name.Name] = true
						docMembers(names, spec)
					case *ast.ValueSpec:
						for _, name := range spec.Names {
							names[name.Name] = true
						}
					}
				}
			}
		}
	}
	return names
}

// docReceiver is the type of a method's receiver and a dot, or nothing.
func docReceiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	at := d.Recv.List[0].Type
	for {
		switch of := at.(type) {
		case *ast.StarExpr:
			at = of.X
		case *ast.IndexExpr:
			at = of.X
		case *ast.IndexListExpr:
			at = of.X
		case *ast.Ident:
			return of.Name + "."
		}
	}
}

// docMembers adds the fields of a struct, and the methods of an interface.
func docMembers(names map[string]bool, spec *ast.TypeSpec) {
	var members *ast.FieldList
	switch of := spec.Type.(type) {
	case *ast.StructType:
		members = of.Fields
	case *ast.InterfaceType:
		members = of.Methods
	default:
		return
	}
	for _, m := range members.List {
		for _, name := range m.Names {
			names[spec.Name.Name+"."+name.Name] = true
		}
	}
}

// Each name of the API that a page has between backquotes is there: coro.X, actor.X, coro_x.
func TestNamesOfThePagesExist(t *testing.T) {
	goNames := map[string]map[string]bool{"coro": docExported(t, "."),
		"actor": docExported(t, "actor"), "corotest": docExported(t, "corotest")}
	var headers strings.Builder
	paths, err := filepath.Glob("csrc/include/*.h")
	require.NoError(t, err)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		headers.Write(text)
	}
	cNames := map[string]bool{}
	anyName := regexp.MustCompile(`\b(?:coro|CORO)_\w+`)
	waitKind := regexp.MustCompile(`\bX\((\w+), '`) // of CORO_WAIT_KINDS
	for _, name := range anyName.FindAllString(headers.String(), -1) {
		cNames[name] = true
	}
	for _, m := range waitKind.FindAllStringSubmatch(headers.String(), -1) {
		cNames["CORO_WAIT_"+m[1]] = true
	}
	cNames["CORO_BUFFERS"] = true // of the environment
	pages, err := filepath.Glob("docs/*.md")
	require.NoError(t, err)
	found := 0
	for _, page := range append(pages, "README.md", "CHANGELOG.md") {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		prose := docFence.ReplaceAllString(string(text), "")
		for _, code := range docCode.FindAllString(prose, -1) {
			for _, m := range docGoName.FindAllStringSubmatch(code, -1) {
				found++
				name := m[2]
				if m[3] != "" {
					name += "." + m[3]
				}
				assert.True(t, goNames[m[1]][name], "%s: %s: there is no %s", page, code, name)
			}
			for _, name := range docCName.FindAllString(code, -1) {
				found++
				assert.True(t, isCName(cNames, name), "%s: %s: there is no %s", page, code, name)
			}
		}
	}
	assert.Greater(t, found, 500)
}

// isCName tells whether a header has the name; one that ends in a star is how names begin.
func isCName(names map[string]bool, name string) bool {
	prefix, isPrefix := strings.CutSuffix(name, "*")
	if !isPrefix {
		return names[name]
	}
	for n := range names {
		if strings.HasPrefix(n, prefix) {
			return true
		}
	}
	return false
}

// docTriedBy is what runs the commands that pages show: a test, or a target of make.
var docTriedBy = map[string]string{
	"go run github.com/organzine/coro/examples/hello-c@latest":                          "make release-check",
	"go get github.com/organzine/coro/actor":                                            "make release-check",
	"GOARCH=arm64 CGO_ENABLED=1 CC=aarch64-linux-gnu-gcc go build":                      "make test-arm64",
	"CGO_ENABLED=1 GOARCH=arm64 CC=aarch64-linux-gnu-gcc go build .":                    "make test-arm64",
	"go build -tags netgo,osusergo -ldflags '-linkmode external -extldflags -static' .": "TestAnotherModuleIsBuiltInEachWay",
}

// docFollowed are the pages whose commands a test runs as they stand, and up to which heading.
var docFollowed = map[string]string{"README.md": "\n## ", "docs/tutorial.md": "", "docs/handlers.md": ""}

var (
	docShell   = regexp.MustCompile("(?s)^```(?:sh)?\n(.*)```$")
	docIndent  = regexp.MustCompile(`(?m)^    (\S.*)$`)
	docCommand = regexp.MustCompile(`^(?:[A-Z_]+=\S+ )*(?:go|make|apk|docker) `)
	docMake    = regexp.MustCompile("(?:^|`)make\\s+([a-z][a-z0-9-]*)")
	docBench   = regexp.MustCompile(`go run \./bench -run\s+'?([^'` + "`" + `\s]+)`)
	docTool    = regexp.MustCompile("go tool coro ([a-z]+)")
)

// Each command of a users' page is run by a test, or the page says that it was not tried. Targets
// of make, experiments of the benchmark and commands of the tool are there.
func TestCommandsOfThePagesAreRunOrMarked(t *testing.T) {
	makefile, err := os.ReadFile("Makefile")
	require.NoError(t, err)
	tool, err := os.ReadFile("cmd/coro/main.go")
	require.NoError(t, err)
	experiments := docExperiments(t)
	pages, err := filepath.Glob("docs/*.md")
	require.NoError(t, err)
	found := 0
	for _, page := range append(pages, "README.md") {
		bytes, err := os.ReadFile(page)
		require.NoError(t, err)
		text := string(bytes)
		for _, m := range docMake.FindAllStringSubmatch(text, -1) {
			found++
			assert.True(t, strings.Contains(string(makefile), "\n"+m[1]+":"),
				"%s: there is no target %s", page, m[1])
		}
		for _, m := range docTool.FindAllStringSubmatch(text, -1) {
			found++
			assert.True(t, strings.Contains(string(tool), `{"`+m[1]+`", "`),
				"%s: the tool has no command %s", page, m[1])
		}
		for _, m := range docBench.FindAllStringSubmatch(text, -1) {
			found++
			assert.True(t, slices.ContainsFunc(experiments, regexp.MustCompile(m[1]).MatchString),
				"%s: there is no experiment %s", page, m[1])
		}
		from := 0
		if end, ok := docFollowed[page]; ok {
			from = len(text)
			if end != "" {
				from = strings.Index(text, end)
			}
		}
		for _, at := range docCommandsOf(text) {
			command := strings.TrimSpace(strings.Split(text[at:], "\n")[0])
			command = strings.TrimSpace(strings.Split(command, "  #")[0])
			if at < from && command != "go run github.com/organzine/coro/examples/hello-c@latest" ||
				docMake.MatchString(command) || docBench.MatchString(command) {
				continue
			}
			found++
			docIsTried(t, page, command, text[at:min(at+500, len(text))], string(makefile))
		}
	}
	assert.Greater(t, found, 50)
}

// docExperiments are the names of the benchmark's experiments.
func docExperiments(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("bench/internal/experiments/*.go")
	require.NoError(t, err)
	name := regexp.MustCompile(`(?m)^\t+Name: +"([a-z]+)",$`)
	var names []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, m := range name.FindAllStringSubmatch(string(text), -1) {
			names = append(names, m[1])
		}
	}
	return names
}

// docCommandsOf are the places of the commands that a page shows on lines of their own.
func docCommandsOf(text string) []int {
	var places []int
	add := func(from, to int) {
		for _, line := range strings.SplitAfter(text[from:to], "\n") {
			if docCommand.MatchString(line) {
				places = append(places, from)
			}
			from += len(line)
		}
	}
	for _, block := range docFence.FindAllStringIndex(text, -1) {
		if m := docShell.FindStringSubmatchIndex(text[block[0]:block[1]]); m != nil {
			add(block[0]+m[2], block[0]+m[3])
		}
	}
	for _, m := range docIndent.FindAllStringSubmatchIndex(docFence.ReplaceAllStringFunc(text,
		func(block string) string { return strings.Repeat(" ", len(block)) }), -1) {
		add(m[2], m[3])
	}
	return places
}

// docIsTried checks that something that is there runs a command, or that what follows it says that
// nothing does.
func docIsTried(t *testing.T, page, command, rest, makefile string) {
	t.Helper()
	by := docTriedBy[command]
	if target, ok := strings.CutPrefix(by, "make "); ok {
		assert.True(t, strings.Contains(makefile, "\n"+target+":"),
			"%s: there is no target %s", command, target)
		return
	}
	if by == "" {
		assert.Regexp(t, `(?i)not\s+tried`, rest, "%s: %s: what runs it?", page, command)
		return
	}
	tests, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	hard, err := filepath.Glob("internal/hard/*_test.go")
	require.NoError(t, err)
	tests = append(tests, hard...)
	assert.True(t, slices.ContainsFunc(tests, func(file string) bool {
		text, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(text), "func "+by+"(")
	}), "%s: there is no %s", command, by)
}
