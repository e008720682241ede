package main

import (
	"bytes"
	"log"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func lines(t *testing.T, list []record) (text []byte) {
	for _, r := range list {
		var err error
		text, err = appendLine(text, r)
		require.NoError(t, err)
	}
	return text
}

// deposits are n deposits of 1 into account a.
func deposits(n int) (list []record) {
	for i := range n {
		list = append(list, record{Seq: int64(i + 1), Kind: deposit, Account: "a", ID: strconv.Itoa(i),
			Amount: 1})
	}
	return list
}

// reopen opens a journal with this content, and returns it closed, and what was logged.
func reopen(t *testing.T, text []byte) (j *journal, logged string, err error) {
	cfg := testConfig(t)
	require.NoError(t, os.WriteFile(filepath.Join(cfg.dir, "journal"), text, 0o666))
	var out bytes.Buffer
	log.SetOutput(&out)
	defer log.SetOutput(os.Stderr)
	if j, err = openJournal(cfg); err == nil {
		require.NoError(t, j.close())
	}
	return j, out.String(), err
}

func TestJournalIsShortened(t *testing.T) {
	cfg := testConfig(t)
	cfg.journal = 1
	j, err := openJournal(cfg)
	require.NoError(t, err)
	for _, r := range []record{
		{Kind: deposit, Account: "a", ID: "d", Amount: 10},
		{Kind: withdraw, Account: "a", ID: "t", Other: "b", Amount: 1},
		{Kind: deposit, Account: "b", ID: "d", Amount: 1},
		{Kind: deposit, Account: "c", ID: "d", Amount: 1},
	} {
		_, err := j.add(r)
		require.NoError(t, err)
	}
	require.NoError(t, j.sync())
	j.drop("a", 2)
	j.drop("c", 4)
	require.NoError(t, j.shorten())
	require.NoError(t, j.close())
	j, err = openJournal(cfg)
	require.NoError(t, err)
	require.Len(t, j.pending, 1)
	require.EqualValues(t, 2, j.pending["a/t"].Seq)
	require.Len(t, j.tails["b"], 1)
	require.EqualValues(t, 4, j.last.Seq)
	require.Len(t, slices.Concat(slices.Collect(maps.Values(j.tails))...), 3)
	require.NoError(t, j.close())
}

func TestAJournalThatIsEmpty(t *testing.T) {
	j, logged, err := reopen(t, nil)
	require.NoError(t, err)
	require.Empty(t, logged)
	require.Zero(t, j.size)
	require.Empty(t, j.tails)
}

// Wherever the last record is torn, it is cut off, which is said, and the ones before it stay. What
// is written then is read again.
func TestATornTail(t *testing.T) {
	list := deposits(3)
	whole, two := lines(t, list), len(lines(t, list[:2]))
	for end := two; end <= len(whole); end++ {
		j, logged, err := reopen(t, whole[:end])
		require.NoError(t, err)
		text, err := os.ReadFile(j.path())
		require.NoError(t, err)
		switch end {
		case two, len(whole):
			require.Empty(t, logged)
			require.Equal(t, whole[:end], text)
		default:
			require.Contains(t, logged, j.path()+": cut off at byte "+strconv.Itoa(two))
			require.Equal(t, whole[:two], text)
			require.Equal(t, list[:2], j.tails["a"])
		}
		next, err := openJournal(j.cfg)
		require.NoError(t, err)
		seq, err := next.add(record{Kind: deposit, Account: "b", ID: "new", Amount: 1})
		require.NoError(t, err)
		require.NoError(t, next.sync())
		require.NoError(t, next.close())
		last, err := openJournal(j.cfg)
		require.NoError(t, err)
		require.Equal(t, seq, last.tails["b"][0].Seq)
		require.Equal(t, j.tails["a"], last.tails["a"])
		require.NoError(t, last.close())
	}
}

// A tail that the file system has left as zeros is a torn one.
func TestATailOfZeros(t *testing.T) {
	text := lines(t, deposits(2))
	j, logged, err := reopen(t, append(slices.Clone(text), make([]byte, 5000)...))
	require.NoError(t, err)
	require.Contains(t, logged, "the last 5000 bytes")
	require.Len(t, j.tails["a"], 2)
}

// Whichever byte has changed in a record before the last one, the service does not start, and the
// file stays as it is.
func TestAFlippedByteInTheMiddle(t *testing.T) {
	list := deposits(3)
	good := lines(t, list)
	begin, end := len(lines(t, list[:1])), len(lines(t, list[:2]))
	for at := begin; at < end; at++ {
		for _, flip := range []byte{1, 0x80} {
			text := slices.Clone(good)
			text[at] ^= flip
			cfg := testConfig(t)
			path := filepath.Join(cfg.dir, "journal")
			require.NoError(t, os.WriteFile(path, text, 0o666))
			_, err := open(cfg)
			require.ErrorIs(t, err, errLine)
			require.ErrorContains(t, err, path+": byte "+strconv.Itoa(begin)+": ")
			require.ErrorContains(t, err, "from byte "+strconv.Itoa(end))
			left, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, text, left)
		}
	}
}

// A line whose checksum is right and whose text is no record is nothing that a crash leaves.
func TestALineThatIsNoRecord(t *testing.T) {
	text, err := appendLine(lines(t, deposits(1)), "hello")
	require.NoError(t, err)
	_, _, err = reopen(t, text)
	require.ErrorContains(t, err, "no record")
}

func TestADamagedSnapshot(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "accounts"), 0o777))
	saved := snapshot{Account: "a", Seq: 3, Balance: 7, Seen: deposits(1)}
	require.NoError(t, writeSnapshots(dir, map[string]snapshot{"a": saved}))
	got, err := readSnapshot(dir, "a")
	require.NoError(t, err)
	require.Equal(t, saved, got)
	path := snapshotPath(dir, "a")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	text[len(text)/2] ^= 1
	require.NoError(t, os.WriteFile(path, text, 0o666))
	_, err = readSnapshot(dir, "a")
	require.ErrorIs(t, err, errLine)
	require.ErrorContains(t, err, path)
}
