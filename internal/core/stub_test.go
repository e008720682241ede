//go:build cgo && linux && (amd64 || arm64)

package core

import (
	"os"
	"os/exec"
	"testing"

	"github.com/organzine/coro/internal/core/stub"
	"github.com/stretchr/testify/require"
)

func TestStubDeclaresWhatTheCoreDoes(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip(err)
	}
	want, err := stub.Generate(".")
	require.NoError(t, err)
	have, err := os.ReadFile("stub.go")
	require.NoError(t, err)
	if string(want) != string(have) {
		t.Error("stub.go differs from what package core declares: run go generate ./internal/core")
	}
}
