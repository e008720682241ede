package coro

import (
	"fmt"

	"github.com/organzine/coro/internal/core"
	"github.com/organzine/coro/internal/leak"
)

// This is what package corotest is told while it verifies.

// A leakable is a scheduler as package leak sees it.
type leakable struct{ *Scheduler }

func (l leakable) isEnded() bool { return l.life.Err() != nil }

func (l leakable) Left() string {
	if l.isEnded() {
		return ""
	}
	what := "not closed"
	if l.closed.Load() {
		what = "still closing"
	}
	st := l.Stats()
	return fmt.Sprintf("scheduler, %s: %d worker threads, %d coroutines, %d stacks in use",
		what, st.Workers, st.Live,
		st.Stacks-st.StacksIdle)
}

func (l leakable) Live() int {
	if l.isEnded() {
		return 0
	}
	l.executors.mu.Lock() // nobody takes items meanwhile
	defer l.executors.mu.Unlock()
	return l.core.Present()
}

func (l leakable) Waiting() (list []string) {
	if l.isEnded() {
		return nil
	}
	blocked, _ := l.Blocked(8)
	for _, b := range blocked {
		list = append(list, b.Func+" in "+b.Waits)
	}
	return list
}

// A leakTask is a coroutine with a handle.
type leakTask struct {
	join core.Joinable
	s    *Scheduler
}

func (t leakTask) Alive() bool     { alive, _ := t.join.Fate(); return alive }
func (t leakTask) Pool() leak.Pool { return leakable{t.s} }

func (t leakTask) Left() string {
	switch alive, held := t.join.Fate(); {
	case alive && !(leakable{t.s}).isEnded():
		return "coroutine that has not ended, of a task"
	case held:
		return "task that has ended and nobody has waited for"
	}
	return ""
}

// A leakBody is a coroutine that a C body has started with coro_spawn_go; only C knows which.
type leakBody struct {
	leakTask
	name string
}

func (b leakBody) Left() string {
	switch alive, held := b.join.Fate(); {
	case alive && !(leakable{b.s}).isEnded():
		return "coroutine that has not ended, started by C: " + b.name
	case held:
		return "coroutine that has ended and nobody has joined or detached, " +
			"started by C: " + b.name
	}
	return ""
}

// made reports the task to a verification.
func (t *Task[R]) made() {
	if leak.On() {
		leak.Made(leakTask{t.join, t.s})
	}
}
