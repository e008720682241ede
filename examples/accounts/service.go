package main

import (
	"context"
	"errors"
	"log"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/organzine/coro/actor"
)

// A config is what can be set, by flags or by tests.
type config struct {
	dir      string
	limit    time.Duration // of a request, and of the end
	idle     time.Duration // after which an account is passivated
	remember time.Duration // how long an id is known
	journal  int64         // bytes, at which it is shortened
	room     int           // of mailboxes
	restarts int           // of an account in 10 s
	fault    func(string)  // is called within an account, and may panic
	sync     func(*os.File) error
}

func defaults() config {
	return config{dir: "accounts.data", limit: 5 * time.Second, idle: time.Minute,
		remember: 24 * time.Hour, journal: 16 << 20, room: 4096, restarts: 10, fault: func(string) {},
		sync: (*os.File).Sync}
}

// A service is the system of actors. Requests go one way: bank, coordinator, bank, account, store.
type service struct {
	cfg     config
	sys     *actor.System
	bank    actor.Ref[any]
	journal *journal
}

// open starts the service on a directory.
func open(cfg config) (*service, error) {
	j, err := openJournal(cfg)
	if err != nil {
		return nil, err
	}
	sys, err := actor.New(actor.OnFailure(func(f *actor.Failure) { log.Print(f) }))
	if err != nil {
		return nil, errors.Join(err, j.close())
	}
	s := &service{cfg: cfg, sys: sys, journal: j}
	unfinished := slices.Collect(maps.Values(j.pending)) // the journal is the store's from now on
	to, err := actor.Spawn(sys, func() *store {
		return &store{cfg: cfg, journal: j, saves: make(map[string]snapshot)}
	}, actor.Name("store"), actor.Waiting(), actor.Room(cfg.room))
	if err == nil {
		s.bank, err = actor.Spawn(sys, func() *bank {
			return &bank{cfg: cfg, store: to, unfinished: unfinished,
				accounts: make(map[string]actor.Ref[request]),
				late:     make(map[string][]request)}
		}, actor.Name("bank"))
	}
	if err != nil {
		return nil, errors.Join(err, s.end(context.Background()))
	}
	return s, nil
}

// do hands a request to the bank, and returns the balance after it.
func (s *service) do(ctx context.Context, r record) (int64, error) {
	return actor.Ask(ctx, s.bank, func(to actor.Reply[int64]) any { return request{r, to} })
}

// end ends the service when nobody sends requests any more: what is under way is finished, then the
// accounts end, which save themselves, and then the store, as it was spawned before the bank. When
// ctx ends it stops at once; what is not done then, the next process finds in the journal.
func (s *service) end(ctx context.Context) error {
	return errors.Join(s.sys.Drain(ctx), s.sys.Close(), s.sys.Err(), s.journal.close())
}
