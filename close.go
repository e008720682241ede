package coro

import (
	"context"
	"runtime"
	"time"

	"github.com/organzine/coro/internal/core"
	"github.com/organzine/coro/internal/ctxerr"
)

// Close takes no more work, waits until every coroutine has ended, joins the threads and frees the
// memory. Results of Tasks stay until they are waited for. Daemons are canceled when all others
// have ended, and with them what they spawn then. A paused scheduler drops coroutines that never
// started.
//
// When the context ends (or has ended) first, Close cancels: a coroutine that has not started ends
// unstarted, and every present and future wait returns CORO_ECANCELED, so that bodies end through
// their own clean-up. If all end within a second then, Close returns the context's cause. If not,
// it returns a *RunningError that names the functions that the workers are executing, those that
// other threads call for coroutines (coro_blocking), and those that wait in shield sections
// (coro_shield_begin, [Coroutine.Shield]). Closing goes on in the background, and frees nothing
// under a running coroutine. So Close waits at most that second for shield sections, and the end of
// the scheduler comes when they are over. When every coroutine has ended, and only look-ups of
// names go on that nobody waits for any more (coro_getaddrinfo), Close returns the *RunningError at
// once.
//
// Close may be called again, and by several goroutines: each call waits for the same end. A call
// after that end returns nil. Within one of its Go bodies, and within a Go function that one of its
// coroutines has called, Close would wait for itself: that call returns ErrInside, and nothing is
// closed.
func (s *Scheduler) Close(ctx context.Context) error {
	if len(s.callers()) > 0 {
		return ErrInside
	}
	if s.life.Err() != nil {
		return nil
	}
	if err := outside(); err != nil {
		return err
	}
	if !s.closed.Swap(true) {
		s.credit.close(s)
		go s.close()
	}
	if ctx.Err() == nil {
		select {
		case <-s.life.Done():
			return nil
		case <-ctx.Done():
		}
	}
	s.cancel(ErrCanceled)
	go func() {
		<-s.shut
		s.executors.cancel()
		s.core.Close(true)
		runtime.KeepAlive(s)
	}()
	grace := time.NewTimer(closeGrace)
	defer grace.Stop()
	look := time.NewTicker(closeLook)
	defer look.Stop()
	for waits := true; waits; {
		select {
		case <-s.life.Done():
			return ctxerr.Of(ctx)
		case <-grace.C:
			waits = false
		case <-look.C:
			waits = !s.onlyCallsGoOn()
		}
	}
	e := &RunningError{Cause: ctxerr.Of(ctx), Funcs: s.running()}
	runtime.KeepAlive(s)
	return e
}

// onlyCallsGoOn tells whether every coroutine has ended, and other threads make calls for which
// none waits any more: look-ups of names.
func (s *Scheduler) onlyCallsGoOn() bool {
	return s.core.AtRest() && s.core.Others()+s.core.Daemons() == 0 && len(s.core.Running()) > 0
}

// running returns the names of what Close waits for; or, where nothing runs, those of coroutines
// that are left.
func (s *Scheduler) running() (names []string) {
	for _, fn := range s.core.Running() {
		names = append(names, funcName(fn))
	}
	names = append(names, s.executors.running()...)
	names = append(names, s.offload.Running()...)
	if len(names) == 0 {
		list, _ := s.Blocked(blockedShown)
		for _, b := range list {
			names = append(names, b.Func)
		}
	}
	return names
}

// close ends all spawning from Go, closes the core, and ends s. It is called once, in a goroutine
// of its own.
func (s *Scheduler) close() {
	for i := range s.submitters {
		for s.submitters[i].Acquire() != core.OK {
			runtime.Gosched()
		}
		s.submitters[i].Shut()
	}
	close(s.shut)
	if s.paused {
		// A run is waited for. What is left then is canceled; what never started is
		// dropped.
		s.runs.Lock()
		s.executors.cancel()
		s.runs.Unlock()
	} else {
		s.core.HostClose()               // what is left is run, also where no thread hosts
		_ = s.poller.awaitRest(s.ctx, s) // until Close cancels all, at most
		// Not all that lives: a Call that has begun before s was closed may only start now.
		// The core cancels the daemons that are left when it takes no more.
		if s.core.Daemons() > 0 {
			s.cancel(ErrCanceled)
			s.executors.cancel()
		}
	}
	s.core.Close(false)
	s.executors.close()
	s.offload.Close()
	s.cancel(ErrClosed)
	s.poller.close(s)
	// Nobody has a submitter any more. Tasks keep s, and with it their results, until they are
	// waited for.
	runtime.AddCleanup(s, (*core.Scheduler).Destroy, s.core)
	s.end()
}
