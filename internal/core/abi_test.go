//go:build cgo

package core

import (
	"crypto/sha256"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/organzine/coro/csrc/include"
	"github.com/organzine/coro/internal/race"
)

// What coro.h declares in this version, as declared tells it.
const (
	abiVersion = "1"
	abiHash    = "0606a0aa91f0cf2e"
)

var (
	versionLine = regexp.MustCompile(`(?m)^#define CORO_VERSION (\d+)$`)
	comments    = regexp.MustCompile(`(?s)/\*.*?\*/`)
	spaces      = regexp.MustCompile(`\s+`)
)

// declared is a hash of the declarations of a header, without its comments, layout and version.
func declared(header string) string {
	text := versionLine.ReplaceAllString(comments.ReplaceAllString(header, " "), "")
	text = spaces.ReplaceAllString(text, " ")
	return fmt.Sprintf("%x", sha256.Sum256([]byte(text)))[:16]
}

// allHeaders are the texts of what users include, one after the other.
func allHeaders() (text string) {
	for _, name := range include.Names {
		text += include.Text(name)
	}
	return text
}

func TestTheHeaderHasANewVersionIfItDeclaresSomethingElse(t *testing.T) {
	version := versionLine.FindStringSubmatch(include.Text("coro.h"))
	require.NotNil(t, version, "coro.h has a version")
	hash := declared(allHeaders())
	assert.True(t, version[1] == abiVersion && hash == abiHash,
		"coro.h declares something else than in version %s. So copies of it in users' modules may "+
			"not fit any more.\nRaise CORO_VERSION in csrc/include/coro.h by 1, unless that was "+
			"done since the last release.\nThen write abiVersion = %q and abiHash = %q in %s.",
		abiVersion, version[1], hash, "internal/core/abi_test.go")
}

func TestTheHashIsOfDeclarationsAlone(t *testing.T) {
	const header = "/* one */\n#define CORO_VERSION 1\nint f(void); /* two */\n"
	assert.Equal(t, declared(header), declared("#define CORO_VERSION 2\n\nint\tf(void);\n"))
	assert.NotEqual(t, declared(header), declared(strings.Replace(header, "void", "int", 1)))
	assert.NotEqual(t, declared(header), declared(header+"#define CORO_X 1\n"))
}

// A copy of the header of another version does not link, and the linker says what to do.
func TestAnotherVersionOfTheHeaderDoesNotLink(t *testing.T) {
	if testing.Short() || race.Enabled {
		t.Skip("links programs, and not with the race detector")
	}
	dir := t.TempDir()
	core := filepath.Join(dir, "abi.o")
	out, err := exec.Command("gcc", "-fPIC", "-I../../csrc/include", "-c", "../../csrc/base/abi.c", "-o", core).CombinedOutput()
	require.NoError(t, err, "%s", out)
	main := filepath.Join(dir, "main.c")
	link := func(header, more string, how ...string) (string, error) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "coro.h"), []byte(header), 0o666))
		require.NoError(t, os.WriteFile(main,
			[]byte(more+"#include \"coro.h\"\nint main(void) { return 0; }\n"), 0o666))
		args := append(how[1:len(how):len(how)], main, "-x", "none", core,
			"-o", filepath.Join(dir, "main"))
		out, err := exec.Command(how[0], args...).CombinedOutput()
		return string(out), err
	}
	old := versionLine.ReplaceAllString(include.Text("coro.h"), "#define CORO_VERSION 0")
	for _, how := range []string{
		"gcc -x c", "clang -x c", "g++ -x c++", "clang++ -x c++", "gcc -shared -fPIC -x c",
		"gcc -flto -O2 -x c", "gcc -s -pie -fPIE -x c", "gcc -static -x c",
	} {
		t.Run(how, func(t *testing.T) {
			how := strings.Fields(how)
			if _, err := exec.LookPath(how[0]); err != nil {
				t.Skip(err)
			}
			out, err := link(include.Text("coro.h"), "", how...)
			require.NoError(t, err, out)
			out, err = link(old, "", how...)
			require.Error(t, err)
			assert.Contains(t, out,
				"coro_abi_0_of_this_coro_h_is_not_that_of_the_linked_coro__run_coro_header_again")
			out, err = link(old, "#define CORO_NO_ABI_CHECK\n", how...)
			require.NoError(t, err, out)
		})
	}
}

// The check of the version is in no memory of a running program.
func TestTheVersionCostsNothingAtRunTime(t *testing.T) {
	dir := t.TempDir()
	object := filepath.Join(dir, "main.o")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.c"), []byte("#include \"coro.h\"\n"), 0o666))
	out, err := exec.Command("gcc", "-I../../csrc/include", "-c", filepath.Join(dir, "main.c"), "-o", object).
		CombinedOutput()
	require.NoError(t, err, "%s", out)
	file, err := elf.Open(object)
	require.NoError(t, err)
	defer file.Close()
	section := file.Section(".coro_abi")
	require.NotNil(t, section)
	assert.Zero(t, section.Flags&elf.SHF_ALLOC)
	for _, s := range file.Sections {
		if s.Flags&elf.SHF_ALLOC != 0 && !strings.HasPrefix(s.Name, ".note") && s.Name != ".eh_frame" {
			assert.Zero(t, s.Size, s.Name)
		}
	}
}
