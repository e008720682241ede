package bodygen

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/organzine/coro/csrc/include"
)

// compile compiles a C file with debug information, and reads that.
func (c *config) compile(source string) (*object, error) {
	if _, err := os.Stat(source); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "coro-gen-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out, l := filepath.Join(dir, "body.o"), languageOf(source)
	args, err := command(source, c.flags)
	if err != nil {
		return nil, err
	}
	// What comes last counts: not optimized, every function and variable is there to be read.
	args = append(args, "-w", "-O0", "-g", "-gdwarf-4", "-fno-lto", "-fno-debug-types-section",
		"-c", source, "-o", out)
	if len(c.wants) > 0 { // also types that nothing in the C file uses
		args = append(args, "-fno-eliminate-unused-debug-types")
	}
	cmd := exec.Command(args[0], args[1:]...)
	// A cache may have the debug information of the same text in another folder.
	cmd.Env = append(os.Environ(), "CCACHE_DISABLE=1")
	text, err := cmd.CombinedOutput()
	switch {
	case errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("there is no %s compiler %q: install %s, or name another "+
			"in $%s", l.name, args[0], l.usual, l.variable)
	case err != nil:
		return nil, fmt.Errorf("%s does not compile: %w\n%s(%s)", source, err, text,
			hint(text))
	}
	file, err := elf.Open(out)
	if err != nil {
		return nil, fmt.Errorf("%s: %s makes no ELF file: %w", source, args[0], err)
	}
	defer file.Close()
	o, err := read(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	o.source = source
	return o, nil
}

// unknown is what a compiler says of a name of coro that no header has declared.
var unknown = regexp.MustCompile("(?:unknown type name|undeclared identifier|declaration of " +
	"function|error:) ['‘]((?i)coro_\\w+)['’]")

// missing is what a compiler says of a header of coro that is not there.
var missing = regexp.MustCompile(`fatal error: '?(coro\w*\.h)(?:'|: No such file)`)

// hint is a remedy for a C file that does not compile.
func hint(text []byte) string {
	if header := missing.FindSubmatch(text); header != nil {
		return fmt.Sprintf("%s is not beside the C file: run go tool coro header %[1]s, "+
			"and write that into the go:generate line, too", header[1])
	}
	for _, found := range unknown.FindAllSubmatch(text, -1) {
		word := regexp.MustCompile(`\b` + string(found[1]) + `\b`)
		for _, header := range alone {
			if declares, _ := include.Headers.ReadFile(header); word.Match(declares) {
				return fmt.Sprintf("%s is declared in %s, which coro.h does not "+
					"include: add #include \"%[2]s\"", found[1], header)
			}
		}
	}
	return "compiler flags come after --, as in coro gen x.c -- -Iinclude"
}

// A language is one that bodies are written in, and its compiler.
type language struct {
	name     string
	variable string // of the environment: names the compiler
	flags    string // of the environment
	usual    string // a compiler
}

func languageOf(source string) language {
	if isCxx(source) {
		return language{"C++", "CXX", "CGO_CXXFLAGS", "g++"}
	}
	return language{"C", "CC", "CGO_CFLAGS", "gcc"}
}

// command is the compiler with the flags of the environment, and then those of the command line.
func command(source string, flags []string) (args []string, err error) {
	l := languageOf(source)
	for _, name := range []string{l.variable, "CGO_CPPFLAGS", l.flags} {
		value := os.Getenv(name)
		if name == l.variable && value == "" {
			value = l.usualCompiler()
		}
		words, err := Split(value)
		if err != nil {
			return nil, fmt.Errorf("$%s: %w", name, err)
		}
		args = append(args, words...)
	}
	return append(args, flags...), nil
}

// usualCompiler is the one that the go command uses.
func (l language) usualCompiler() string {
	out, err := exec.Command("go", "env", l.variable).Output()
	if name := strings.TrimSpace(string(out)); err == nil && name != "" {
		return name
	}
	return l.usual
}

// Split splits words at spaces, as the go command does: ' and " quote a whole word.
func Split(s string) (words []string, err error) {
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimSpace(s) {
		end, skip := strings.IndexAny(s, " \t\n"), 0
		if s[0] == '"' || s[0] == '\'' {
			skip = 1
			if end = strings.IndexByte(s[1:], s[0]); end < 0 {
				return nil, errors.New("a quote is not closed")
			}
			end++
		}
		if end < 0 {
			end = len(s)
		}
		words = append(words, s[skip:end])
		s = s[min(end+skip, len(s)):]
	}
	return words, nil
}
