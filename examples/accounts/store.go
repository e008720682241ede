package main

import (
	"cmp"
	"slices"

	"github.com/organzine/coro/actor"
)

// A store is the actor that alone writes the disk. It is Waiting. Changes go to the journal, in
// groups: what comes while it waits for the disk is the next group, which is synced at once, and
// only then answered. Then it writes the snapshots that have come, and when the journal has grown,
// a new one without what is in snapshots.
type store struct {
	cfg     config
	journal *journal
	group   []func(error)       // answers, when the group is on the disk or is not
	saves   map[string]snapshot // by account
	armed   bool                // a flush is on its way
}

// What a store is told, besides a snapshot.
type (
	keep struct { // a change; the answer is its number
		record
		kept actor.Reply[int64]
	}
	fetch struct { // an account as it is on the disk, with all changes that the store was told
		account string
		fetched actor.Reply[snapshot]
	}
	flush struct{}
)

func (s *store) Receive(c *actor.Context[any], m any) error {
	switch m := m.(type) {
	case keep:
		seq, err := s.journal.add(m.record)
		if err != nil {
			return err
		}
		s.group = append(s.group, func(err error) { give(m.kept, seq, err) })
	case fetch:
		s.group = append(s.group, func(err error) {
			v, bad := readSnapshot(s.cfg.dir, m.account)
			v.tail = slices.Clone(s.journal.tails[m.account])
			give(m.fetched, v, cmp.Or(err, bad))
		})
	case snapshot:
		s.saves[m.Account] = m
	case flush:
		return s.flush()
	}
	if !s.armed {
		s.armed = true
		c.After(0, flush{}) // behind what has come, and into a full mailbox too
	}
	return nil
}

func give[R any](to actor.Reply[R], v R, err error) {
	if err != nil {
		_ = to.Fail(err) // an error: nobody waits any more
	} else {
		_ = to.Answer(v)
	}
}

// flush writes the group. Its error ends the service: nothing that follows would be durable.
func (s *store) flush() error {
	err := s.journal.sync()
	for _, answer := range s.group {
		answer(err)
	}
	s.group, s.armed = nil, false
	if err == nil && len(s.saves) > 0 {
		err = writeSnapshots(s.cfg.dir, s.saves)
		for _, v := range s.saves {
			s.journal.drop(v.Account, v.Seq)
		}
		clear(s.saves)
	}
	if err != nil {
		return err
	}
	return s.journal.shorten()
}

// Stopped tells those that still wait.
func (s *store) Stopped(*actor.Context[any], error) {
	for _, answer := range s.group {
		answer(actor.ErrStopped)
	}
}
