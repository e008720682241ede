package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// A snapshot is an account as it was after a record: the file accounts/<account>, of one line
// (line.go).
type snapshot struct {
	Account string   `json:"account"`
	Seq     int64    `json:"seq"` // of the account's last record
	Balance int64    `json:"balance"`
	Seen    []record `json:"seen"` // the last one of each id
	tail    []record // from the journal: the records since, and perhaps some before
}

func snapshotPath(dir, account string) string {
	return filepath.Join(dir, "accounts", account)
}

// readSnapshot reads an account's snapshot. One that has none is new.
func readSnapshot(dir, account string) (s snapshot, err error) {
	text, err := os.ReadFile(snapshotPath(dir, account))
	if errors.Is(err, fs.ErrNotExist) {
		return snapshot{Account: account}, nil
	} else if err != nil {
		return s, err
	}
	if _, err := readLine(text, &s); err != nil {
		return s, fmt.Errorf("%s: restore the file from a copy: %w", snapshotPath(dir, account), err)
	}
	return s, nil
}

func writeSnapshots(dir string, list map[string]snapshot) error {
	for _, s := range list {
		text, err := appendLine(nil, s)
		if err != nil {
			return err
		}
		if err := replaceFile(snapshotPath(dir, s.Account), text); err != nil {
			return err
		}
	}
	return syncDir(filepath.Join(dir, "accounts"))
}

// replaceFile gives a file a new content; if that fails, or the process ends, it has the old one.
func replaceFile(path string, text []byte) error {
	f, err := os.Create(path + ".tmp")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(path+".tmp", path)
}

// syncDir makes the names of a directory's files durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
