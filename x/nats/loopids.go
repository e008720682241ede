package nats

import (
	"hash/maphash"
	"strconv"
	"time"
)

// loopIDs are the ids of messages that were published lately. Each takes some 60 bytes.
type loopIDs struct {
	seeds [2]maphash.Seed
	has   map[loopID]struct{}
	list  []timedID // the oldest first
}

// A loopID is a hash of 128 bits of a message's kind, key and id.
type loopID [2]uint64

type timedID struct {
	id loopID
	at int64 // ns of Unix time
}

func newLoopIDs() *loopIDs {
	return &loopIDs{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
		has: map[loopID]struct{}{}}
}

func (s *loopIDs) of(m *message) (id loopID) {
	name := m.kind + " " + strconv.Itoa(len(m.key)) + " " + m.key + m.id
	for i, seed := range s.seeds {
		id[i] = maphash.String(seed, name)
	}
	return id
}

func (s *loopIDs) add(id loopID, at time.Time) {
	s.has[id] = struct{}{}
	s.list = append(s.list, timedID{id, at.UnixNano()})
}

// forget forgets those that are too old.
func (s *loopIDs) forget(now time.Time) {
	n, until := 0, now.Add(-idsLast).UnixNano()
	for ; n < len(s.list) && s.list[n].at <= until; n++ {
		delete(s.has, s.list[n].id)
	}
	if s.list = s.list[n:]; n > 0 && len(s.list) == 0 { // a map gives no memory back
		s.has, s.list = map[loopID]struct{}{}, nil
	}
}
