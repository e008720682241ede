package policies

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const root = "../../.."

// copied has the files with the switches.
func copied(t *testing.T) string {
	dir := t.TempDir()
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(root, f.path))
		require.NoError(t, err)
		to := filepath.Join(dir, f.path)
		require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o777))
		require.NoError(t, os.WriteFile(to, text, 0o666))
	}
	return dir
}

func TestEachPolicyIsSwitchedOffAlone(t *testing.T) {
	all, err := In(root)
	require.NoError(t, err)
	assert.Contains(t, all, "spin")
	assert.Contains(t, all, "home")
	assert.Contains(t, all, "stay-on-p")
	for _, name := range all {
		dir := copied(t)
		require.NoError(t, SwitchOff(dir, name))
		left, err := In(dir) // a switch that is off is none
		require.NoError(t, err)
		assert.Len(t, left, len(all)-1)
		assert.NotContains(t, left, name)
	}
}

func TestAPolicyThatIsNotThereIsTold(t *testing.T) {
	err := SwitchOff(copied(t), "none")
	assert.ErrorContains(t, err, `no policy "none"`)
	assert.ErrorContains(t, err, "spin, ")
	_, err = In(t.TempDir())
	assert.Error(t, err)
}
