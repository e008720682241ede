/*
 * fd.pml - waits for one direction of a descriptor, its events, its close, and the number used again:
 * csrc/io/fd.h O1-O7, E1-E4, M1-M3, X1-X3.
 *
 * There are two workers, each with a set; the kernel's side of the descriptor, which is edge-triggered;
 * a coroutine that reads CALLS bytes, and may move to the other worker before each call; a peer that
 * sends them; a looker for each set, which takes an edge and carries it out later, as a worker or the
 * standby does; with CLOSE a closer; with GIVE_UP a deadline, which withdraws. With REUSE the number is
 * adopted again after the close, and a second reader waits under the new name.
 *
 * Taken over: the order of the steps, and each atomic step by itself. An edge is a set's copy of "there
 * is something new": a byte that comes makes it true in each set that has the descriptor, and so does
 * adding the descriptor while something is there. A look takes it.
 *
 * Left out: the other direction, which has a word of its own; `hung` and `drained`, which say only
 * whether a system call is left out; which worker a coroutine is at home with, and its wake (wake.pml).
 *
 * Claimed: each byte is read, unless a close came first; no reader sleeps on while a byte is there; each
 * wait has one event, or is withdrawn; none comes to a coroutine that does not wait; the slot is free
 * once, after its last user.
 */
#ifndef CALLS
#define CALLS 2
#endif

#define EMPTY  0
#define READY  1
#define CLOSED 2
#define RECORD 3 /* 3 + the reader's number */

byte dir;              /* the direction's word */
byte set;              /* 1 + the worker; 0: none */
bool locked;           /* of `set` */
byte gen, users;
bool is_open, closing;
byte in_kernel;        /* bytes that were not read */
bool watched[2], edge[2];
byte got;
bool event[2], waits[2], gave_up;
byte freed;
bool number_free;       /* the kernel may give the number again */

inline byte_comes() {
	in_kernel++;
	edge[0] = edge[0] || watched[0];
	edge[1] = edge[1] || watched[1]
}

/* send_event - to the reader r, once */
inline send_event(r) {
	assert(!event[r]);
	event[r] = true
}

/* put - what is there becomes `state`, unless CLOSED; was: what it was */
inline put(state, was) {
	atomic {
		was = dir;
		if
		:: dir != CLOSED -> dir = state
		:: else
		fi
	}
}

inline finish() { /* X3 */
	atomic { watched[0] = false; watched[1] = false; edge[0] = false; edge[1] = false; set = 0 }
	atomic { /* free_slot */
		assert(is_open && users == 0);
		is_open = false; closing = false;
#ifndef MUTANT_SAME_GEN
		gen++;
#endif
		freed++
	}
	atomic { in_kernel = 0; number_free = true } /* close(2) */
}

inline leave() {
	atomic {
		users--;
		last = closing && users == 0
	}
	if
	:: last -> finish()
	:: else
	fi
}

proctype Looker(byte w)
{
	byte its_gen, was;

end:	do
	:: atomic { edge[w] && watched[w] -> edge[w] = false; its_gen = gen } /* epoll_wait */
		if
		:: gen != its_gen || !is_open /* E1 */
		:: else ->
			put(READY, was) /* E3 */
			if
			:: was >= RECORD -> send_event(was - RECORD) /* E4 */
			:: else
			fi
		fi
	od
}

/* A reader under the generation `mine`. */
proctype Reader(byte r; byte mine; byte calls)
{
	byte w, was, old;
	bool last, came;

	do
	:: calls == 0 -> break
	:: else ->
		if /* it was stolen, or not */
		:: w = 0
		:: w = 1
		fi;
		atomic { /* O1 */
			if
			:: is_open && gen == mine && !closing -> users++
			:: else -> goto over
			fi
		}
again:
#ifdef MUTANT_O3_FIRST
		atomic { came = in_kernel > 0; if :: came -> in_kernel--; got++ :: else fi }
#endif
		atomic { /* O2 */
			was = dir;
			if
			:: dir == READY -> dir = EMPTY
			:: else
			fi
		}
		if
		:: was == CLOSED -> leave(); goto over
		:: else
		fi;
#ifndef MUTANT_O3_FIRST
		atomic { came = in_kernel > 0; if :: came -> in_kernel--; got++ :: else fi } /* O3 */
#endif
		if
		:: came -> leave(); calls--; goto next
		:: else
		fi;
		if /* O4 */
		:: set == w + 1
		:: set != w + 1 && set != 0 /* it stays for once */
		:: set != w + 1 ->
			atomic { !locked -> locked = true } /* M1 */
			old = set;
			if
			:: old == w + 1
			:: else ->
#ifdef MUTANT_ADD_SILENT
				atomic { watched[w] = true }
#else
				atomic { watched[w] = true; edge[w] = in_kernel > 0 } /* M2 */
#endif
				if
				:: old -> atomic { watched[old - 1] = false; edge[old - 1] = false }
				:: else
				fi;
				set = w + 1 /* M3 */
			fi;
			locked = false
		fi;
		atomic { /* O5 */
			was = dir;
			if
			:: dir == EMPTY -> dir = RECORD + r; waits[r] = true
			:: else
			fi
		}
		if
		:: was != EMPTY -> goto again
		:: else
		fi;
		if /* O6 */
		:: event[r]
#ifdef GIVE_UP
		:: !gave_up ->
			atomic { gave_up = true; was = dir; if :: dir == RECORD + r -> dir = EMPTY :: else fi }
			if
			:: was == RECORD + r -> waits[r] = false; leave(); goto next
			:: else ->
#ifndef MUTANT_NO_COMMIT
				event[r]
#else
				leave(); goto next
#endif
			fi
#endif
		fi;
		atomic { event[r] = false; waits[r] = false }
		goto again;
next:		skip
	od;
over:	skip
}

/* A peer sends n bytes to the descriptor of that generation. */
proctype Peer(byte mine; byte n)
{
	do
	:: n == 0 -> break
	:: else -> atomic { if :: is_open && gen == mine -> byte_comes() :: else fi; n-- }
	od
}

#ifdef CLOSE
proctype Closer()
{
	byte was;
	bool last;

	atomic { closing = true; users++ } /* X1 */
	put(CLOSED, was) /* X2 */
#ifndef MUTANT_X2_SILENT
	if
	:: was >= RECORD -> send_event(was - RECORD)
	:: else
	fi;
#endif
#ifdef MUTANT_X3_EARLY
	atomic { users-- }
	finish()
#else
	leave()
#endif
#ifdef REUSE
	atomic { number_free -> is_open = true; dir = EMPTY; got = 0 }
	run Reader(1, gen, 1);
	run Peer(gen, 1)
#endif
}
#endif

init {
	atomic {
		is_open = true;
		run Looker(0); run Looker(1);
		run Reader(0, 0, CALLS);
		run Peer(0, CALLS);
#ifdef CLOSE
		run Closer()
#endif
	}
	/* all but the lookers have ended */
	_nr_pr == 3;
	!(edge[0] && watched[0]) && !(edge[1] && watched[1]);
#if !defined(CLOSE) && !defined(GIVE_UP)
	assert(got == CALLS);
#endif
#ifdef REUSE
	assert(got == 1 && freed == 1);
#elif defined(CLOSE)
	assert(freed == 1);
#endif
	assert(!waits[0] && !waits[1])
}
