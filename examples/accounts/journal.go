package main

import (
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// A journal is a file of records, one a line (line.go). In memory it has those that no snapshot
// has, by account (tails), and the withdrawals of transfers that are under way (pending).
type journal struct {
	cfg           config
	lock, file    *os.File
	group         []byte // lines that are not written yet
	size, longest int64  // it is shortened when its size is more than longest
	last          record
	tails         map[string][]record // by account
	pending       map[string]record   // by record.transfer
}

// openJournal reads the journal of a directory, which it makes if there is none. What is not whole
// at the end was never answered, since the process had ended while it wrote, and is cut off. If
// there are whole lines behind one that is not, what was answered is damaged, and openJournal
// returns an error.
func openJournal(cfg config) (*journal, error) {
	if err := os.MkdirAll(filepath.Join(cfg.dir, "accounts"), 0o777); err != nil {
		return nil, err
	}
	lock, err := os.Create(filepath.Join(cfg.dir, "lock"))
	if err != nil {
		return nil, err
	}
	j := &journal{cfg: cfg, lock: lock, tails: make(map[string][]record),
		pending: make(map[string]record)}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: another process uses it: %w", cfg.dir, err), j.close())
	}
	if err := errors.Join(j.open(), syncDir(filepath.Dir(cfg.dir)), syncDir(cfg.dir)); err != nil {
		return nil, errors.Join(err, j.close())
	}
	return j, nil
}

func (j *journal) path() string { return filepath.Join(j.cfg.dir, "journal") }

func (j *journal) open() (err error) {
	if j.file, err = os.OpenFile(j.path(), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o666); err != nil {
		return err
	}
	data, err := io.ReadAll(j.file)
	if err != nil {
		return err
	}
	at := 0
	for at < len(data) {
		var r record
		n, err := readLine(data[at:], &r)
		if err != nil {
			if n > 0 {
				return fmt.Errorf("%s: byte %d: a whole line that is no record: %w", j.path(), at, err)
			} else if next := nextLine(data, at+1); next > 0 {
				return fmt.Errorf("%s: byte %d: a record is damaged, and whole ones follow from "+
					"byte %d: restore the file from a copy: %w", j.path(), at, next, err)
			}
			log.Printf("%s: cut off at byte %d: the last %d bytes are no whole record", j.path(), at,
				len(data)-at)
			break
		}
		j.note(r)
		at += n
	}
	j.size = int64(at)
	j.longest = max(j.cfg.journal, 2*j.size)
	if at == len(data) {
		return j.file.Sync()
	}
	return errors.Join(j.file.Truncate(j.size), j.file.Sync())
}

// note takes note of a record.
func (j *journal) note(r record) {
	j.last = r
	switch r.Kind {
	case withdraw:
		j.pending[r.transfer()] = r
	case deposit, undo:
		delete(j.pending, r.transfer())
	}
	j.tails[r.Account] = append(j.tails[r.Account], r)
}

// add adds a record to the group, and returns its number.
func (j *journal) add(r record) (int64, error) {
	r.Seq = j.last.Seq + 1
	group, err := appendLine(j.group, r)
	if err != nil {
		return 0, err
	}
	j.group = group
	j.note(r)
	return r.Seq, nil
}

// sync makes the group durable.
func (j *journal) sync() error {
	if len(j.group) == 0 {
		return nil
	}
	n, err := j.file.Write(j.group)
	j.size += int64(n)
	j.group = j.group[:0]
	if err != nil {
		return err
	}
	return j.cfg.sync(j.file)
}

// drop forgets records of an account up to a number, which a snapshot has.
func (j *journal) drop(account string, seq int64) {
	tail := slices.DeleteFunc(j.tails[account], func(r record) bool { return r.Seq <= seq })
	if j.tails[account] = tail; len(tail) == 0 {
		delete(j.tails, account)
	}
}

// shorten replaces a file that has grown by one with the records that are still needed, and the
// last one for its number.
func (j *journal) shorten() error {
	if j.size <= j.longest || len(j.group) > 0 {
		return nil
	}
	needed := map[int64]record{j.last.Seq: j.last}
	for _, r := range slices.Concat(slices.Collect(maps.Values(j.tails))...) {
		needed[r.Seq] = r
	}
	for _, r := range j.pending {
		needed[r.Seq] = r
	}
	var text []byte
	for _, seq := range slices.Sorted(maps.Keys(needed)) {
		var err error
		if text, err = appendLine(text, needed[seq]); err != nil {
			return err
		}
	}
	if err := errors.Join(replaceFile(j.path(), text), syncDir(j.cfg.dir), j.file.Close()); err != nil {
		return err
	}
	j.size, j.tails, j.pending = 0, make(map[string][]record), make(map[string]record)
	return j.open()
}

func (j *journal) close() error {
	err := j.lock.Close()
	if j.file != nil {
		err = errors.Join(j.file.Close(), err)
	}
	return err
}
