/*
 * fd.pml - waits for one direction of a descriptor, its events, its close, and the number used
 * again: csrc/io/fd.h FDC1-FDC7, FDE1-FDE4, FDM1-FDM3, FDX1-FDX3.
 *
 * There are two workers, each with a set; the kernel's side of the descriptor, which is
 * edge-triggered; a coroutine that reads BYTES bytes, one by one or several at once, on any worker;
 * a peer that sends them; a looker for each set, which takes an edge and carries it out later, as a
 * worker or the standby does; with CLOSE a closer; with GIVE_UP a deadline, which withdraws. With
 * REUSE the number is adopted again after the close, and a second coroutine reads under the new
 * name.
 *
 * The model is in parts, which fd_select.pml has too:
 *   fd_state.pml   the slot, the kernel's side, and what is not in the code
 *   fd_call.pml    FDC1 to FDC7, FDM1 to FDM3, FDX3
 *   fd_events.pml  FDE1 to FDE4, FDX1, FDX2, and the peer
 *
 * Taken over: the order of the steps, and each atomic step by itself. An edge is a set's copy of
 * "there is something new": a byte that comes makes it true in each set that has the descriptor,
 * and so does adding the descriptor while something is there. A look takes it. A read that has
 * emptied the descriptor may know that (`drained`), or not.
 *
 * Left out: the other direction, which has a word of its own; a select, which fd_select.pml has; a
 * call that does not wait; `hung`, which says only that a system call is not left out; which worker
 * a coroutine is at home with, and its wake (wake.pml); O_NONBLOCK, which FDX3 gives back in a lock
 * of its own (mode.h).
 *
 * Claimed: each byte is read, unless a close came first; no reader sleeps on while a byte is there;
 * each wait has one event, or is withdrawn; none comes to a coroutine that does not wait; the slot
 * is free once, after its last user.
 */
#define NEXT Coroutine(1, gen, 1)

#include "fd_state.pml"
#include "fd_call.pml"
#include "fd_events.pml"

/* A coroutine reads `bytes` bytes under the generation `mine`. */
proctype Coroutine(byte r; byte mine; byte bytes)
{
	byte w, was, old;
	bool last, came, ended, entered, over;

	do
	:: over || got[r] == bytes -> break
	:: else ->
		enter(mine, entered);
		if
		:: entered -> read(r, over); leave(last)
		:: else -> over = true
		fi
	od
}

init {
	atomic {
		is_open = true;
		run Looker(0); run Looker(1);
		run Coroutine(0, 0, BYTES);
		run Peer(0, BYTES);
#ifdef CLOSE
		run Closer()
#endif
	}
	/* all but the lookers have ended */
	_nr_pr == 3;
	!(edge[0] && watched[0]) && !(edge[1] && watched[1]);
#ifndef CLOSE
	assert(got[0] == BYTES);
#else
	assert(freed == 1);
#endif
#ifdef REUSE
	assert(got[1] == 1);
#endif
	assert(!waits[0] && !waits[1])
}
