/*
 * fd_select.pml - a wait for a descriptor and a channel together: csrc/io/fd.h FDS1-FDS4, with
 * FDC1-FDC7, FDE1-FDE4, FDM1-FDM3, FDX1-FDX3, and what sync/select.c does with the channel (waitq.h
 * WTQ1-WTQ3).
 *
 * There is what fd.pml has. But the coroutine selects between the descriptor and a channel, or
 * reads the descriptor alone, in any order, until it has BYTES bytes and VALUES values, which a
 * sender sends. With REUSE the second coroutine has a channel of its own, to which nobody sends.
 *
 * The model is in parts. fd.pml has the first three too:
 *   fd_state.pml   the slot, the kernel's side, and what is not in the code
 *   fd_call.pml    FDC1 to FDC7, FDM1 to FDM3, FDX3
 *   fd_events.pml  FDE1 to FDE4, FDX1, FDX2, and the peer
 *   fd_select.pml  FDS1 to FDS4, and the channel
 *
 * Taken over: as in fd.pml. A channel has a lock, a queue with room for the one waiter, and the
 * values that were sent while nobody waited. The coroutine has the channel's lock from its last
 * look at the values to FDS1.
 *
 * Left out: what fd.pml leaves out, a select that does not wait included; several channels or
 * descriptors (chan.pml has several channels); a sender that waits.
 *
 * Claimed: as in fd.pml. One case of a select is chosen, or none if the select is withdrawn. An
 * event that comes while another case is chosen is not lost: no coroutine sleeps on while a byte is
 * there. Each value is received once, or stays in the channel. No thread looks at a case after
 * FDS4, nor at a channel's waiter after WTQ3.
 */
#define SELECTS
#define NEXT Coroutine(1, gen, 1, 0)

#include "fd_state.pml"

#ifndef VALUES
#define VALUES 2
#endif

/* The values of `chosen`. */
#define NONE 0
#define CHAN 1
#define FD   2
#define LEFT 3

/* By coroutine: its select, and its channel. */
byte chosen[2];
bool chan_locked[2];
bool queued[2];        /* the waiter is in the channel's queue */
bool mail[2];          /* the waiter was given a value */
byte values[2];        /* in the channel */

/* Not in the code. */
bool live[2];          /* the case and the waiter may be looked at */
byte received[2];      /* values */

inline lock_chan(r) { atomic { !chan_locked[r] -> chan_locked[r] = true } }
inline unlock_chan(r) { chan_locked[r] = false }

/* choose - `what` is chosen if nothing is yet. */
inline choose(r, what, succeeded)
{
	atomic {
		assert(live[r]);
		succeeded = chosen[r] == NONE;
		if
		:: succeeded -> chosen[r] = what
		:: else
		fi
	}
}

/* put_at_case - FDS2 and FDS3, in the loop of put, which has found SELECT. Ends that loop if SELECT
 * is still there. */
inline put_at_case(state, was, taken)
{
	lock_slot(); /* FDS2 */
#ifndef MUTANT_SELECT_ONE_LOOK
	was = dir;
#endif
	if
	:: was >= SELECT ->
		was = was - SELECT;
		dir = state;
#ifdef MUTANT_SELECT_LATE_CHOICE
		unlock_slot();
#endif
#ifdef MUTANT_SELECT_BLIND
		atomic { assert(live[was]); taken = chosen[was] == NONE }
		if
		:: taken -> chosen[was] = FD
		:: else
		fi;
#else
		choose(was, FD, taken); /* FDS3 */
#endif
#ifdef MUTANT_SELECT_LOSES
		if
		:: !taken && state == READY -> dir = EMPTY
		:: else
		fi;
#endif
#ifdef MUTANT_SELECT_SENDS
		taken = true;
#endif
#ifndef MUTANT_SELECT_LATE_CHOICE
		unlock_slot();
#endif
		was = (taken -> RECORD + was : EMPTY);
		taken = false;
		break
	:: else -> unlock_slot()
	fi
}

#include "fd_call.pml"
#include "fd_events.pml"

/* Sends n values to the channel of r. */
proctype Sender(byte r; byte n)
{
	bool taken;

	do
	:: n == 0 -> break
	:: else ->
		lock_chan(r);
		if
		:: queued[r] -> queued[r] = false; choose(r, CHAN, taken) /* WTQ2 */
		:: else
		fi;
		if
		:: taken -> atomic { assert(live[r] && !mail[r]); mail[r] = true }
		:: else -> values[r]++
		fi;
		unlock_chan(r);
		if
		:: taken -> send_event(r)
		:: else
		fi;
		atomic { taken = false; n-- }
	od
}

/* look - FDC2, and FDC3 for a select, which asks whether something is there. */
inline look(was, ready)
{
	take_ready(was);
	atomic {
		ready = was == CLOSED || (in_kernel > 0 && !is_useless(was));
		if
#ifndef MUTANT_SELECT_LOOK_SILENT
		:: ready -> drained = false
#endif
		:: else
		fi
	}
}

/* withdraw - of the select, by its deadline, or since FDS1 has failed. withdrawn: nothing was
 * chosen, and no event is to come. */
inline withdraw(r, withdrawn)
{
	atomic {
#ifdef MUTANT_SELECT_BLIND_LEAVE
		withdrawn = true;
		chosen[r] = LEFT;
#else
		choose(r, LEFT, withdrawn);
#endif
		waits[r] = !withdrawn
	}
}

/* wait - WTQ1, FDS1 to FDS4, in the lock of the channel. ended: by the deadline. came: the
 * channel's case is done. Neither: the select begins again. */
inline wait(r, was, ended, came)
{
	atomic { chosen[r] = NONE; live[r] = true; waits[r] = true }
	queued[r] = true; /* WTQ1 */
	atomic { /* FDS1 */
		was = dir;
		if
#ifdef MUTANT_SELECT_BLIND_WAIT
		:: true -> dir = SELECT + r; was = EMPTY
#else
		:: dir == EMPTY -> dir = SELECT + r
		:: else
#endif
		fi
	}
	unlock_chan(r);
	if
	:: was != EMPTY -> withdraw(r, withdrawn)
	:: was == EMPTY && event[r]
#ifdef GIVE_UP
	:: was == EMPTY && !gave_up ->
		gave_up = true;
		withdraw(r, withdrawn);
		ended = withdrawn
#endif
	fi;
	if
	:: withdrawn
#ifdef MUTANT_SELECT_NO_COMMIT
	:: !withdrawn && !event[r] -> waits[r] = false
#endif
	:: !withdrawn -> /* nothing else ends the wait */
		atomic { event[r] -> event[r] = false; waits[r] = false }
	fi;
	came = chosen[r] == CHAN && !withdrawn;
#ifndef MUTANT_SELECT_UNLOCKED
	lock_slot(); /* FDS4 */
#endif
#ifndef MUTANT_SELECT_STAYS
	atomic {
		if
		:: dir == SELECT + r -> dir = EMPTY
		:: else
		fi
	}
#endif
#ifndef MUTANT_SELECT_UNLOCKED
	unlock_slot();
#endif
	if
	:: !came -> lock_chan(r); queued[r] = false; unlock_chan(r) /* WTQ3 */
	:: else
	fi;
	atomic {
		live[r] = false; withdrawn = false;
		assert(came == mail[r] && !event[r]);
		mail[r] = false;
		if
		:: came -> received[r]++
		:: else
		fi
	}
}

/* select_mix - of the coroutine r, which has entered, with its variables. over: the descriptor is
 * closed. */
inline select_mix(r, over)
{
	do
	:: true ->
		look(was, ready);
		if
		:: !ready -> watch(w, old) /* FDC4 */
		:: else
		fi;
		lock_chan(r);
		if
		:: values[r] > 0 ->
			atomic { values[r]--; received[r]++ }
			unlock_chan(r);
			break
		:: ready -> unlock_chan(r); over = was == CLOSED; break
		:: !ready && values[r] == 0 ->
			wait(r, was, ended, came);
			if
			:: ended || came -> break
			:: else
			fi
		fi
	od;
	atomic { was = 0; ready = false; ended = false; came = false }
}

/* A coroutine, to which `bytes` bytes and n values come. */
proctype Coroutine(byte r; byte mine; byte bytes; byte n)
{
	byte w, was, old;
	bool last, came, ended, entered, over, ready, withdrawn;

	do
	:: over || (got[r] == bytes && received[r] == n) -> break
	:: else ->
		enter(mine, entered);
		if
		:: entered ->
			if
			:: got[r] < bytes -> read(r, over)
			:: true -> select_mix(r, over)
			fi;
			leave(last)
		:: else -> over = true
		fi
	od
}

init {
	atomic {
		is_open = true;
		run Looker(0); run Looker(1);
		run Coroutine(0, 0, BYTES, VALUES);
		run Peer(0, BYTES);
		run Sender(0, VALUES);
#ifdef CLOSE
		run Closer()
#endif
	}
	/* all but the lookers have ended */
	_nr_pr == 3;
	!(edge[0] && watched[0]) && !(edge[1] && watched[1]);
#ifndef CLOSE
	assert(got[0] == BYTES && received[0] == VALUES);
#else
	assert(freed == 1);
#endif
#ifdef REUSE
	assert(got[1] == 1);
#endif
	assert(received[0] + values[0] == VALUES);
	assert(!waits[0] && !waits[1])
}
