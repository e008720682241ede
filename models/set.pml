/*
 * set.pml - a worker that sleeps in its set of descriptors, or on its futex: csrc/io/set.h
 * SET1-SET3, with as much of idle.c (SLP1 to SLP5, WKW1 to WKW4), of lend.h (LND1 to LND9, OWN1,
 * OWN2) and of io/fd.h (FDC2 to FDC6, FDE3, FDE4) as decides where the worker sleeps, who sends an
 * event, and whether the scheduler is at rest.
 *
 * There is one worker with its own thread; a coroutine that reads READS bytes from one descriptor; a
 * peer that sends them; PUSHERS threads that push a coroutine each. With LENDER a thread lends itself to
 * the worker: for a coroutine that ends, or, with READ_LENT, for the one that reads. With LOOKER another
 * thread looks into the set, as the standby does, at any times. CHAIN: the peer sends nothing before all
 * pushed coroutines have run, so that no event makes up for a claim that was missed.
 *
 * What is abstracted
 *   the door     What happens inside a door is one step.
 *   memory       is sequentially consistent, as all words of the protocol are.
 *   the kernel   A byte that comes makes the descriptor ready in the set, and so does adding the
 *                descriptor while there is a byte. A look takes that, and tells it if there is a byte by
 *                then. The bell is ready until it is cleared.
 *   time         There are no deadlines, and no standby of its own: idle.pml and lend.pml have them.
 *   the slot     fd.pml has all of it.
 *
 * What is claimed
 *   - Each byte is read, each coroutine runs, and all threads end (a state without steps is an error).
 *   - The scheduler is not at rest while the coroutine waits, can go on or is being sent its event, nor
 *     while anything is pushed or a lender runs (assert in awake_end).
 *   - Two are never the worker at once, and none is without a token (asserts in become). At the end no
 *     token is left.
 *
 * Mutants: MUTANT_..., each named where it changes something. Their names are the explorer's.
 */
#ifndef READS
#define READS 2
#endif
#ifndef PUSHERS
#define PUSHERS 1
#endif

#ifdef LOOKER
#define STAY 3
#else
#define STAY 2
#endif

/* ev */
#define NONE 0
#define SLEEPS 1
#define WOKEN 2

/* bed */
#define FUTEX 0
#define SET 1

/* Who is the worker. */
#define NOBODY 0
#define OWN 1
#define LENT 2

byte awake = 1, pending;
bool sleepers, awaited, stopping;
byte ev, bed;
bool in_futex, in_set;      /* the own thread sleeps there, until this is false */
bool bell, edge;            /* the set's bell, and its descriptor, are ready */
bool watched;               /* the descriptor is in the set */
byte bytes;                 /* that nobody has read */
bool ready, record;         /* the direction's word: READY, or the coroutine that waits */
byte inbox;                 /* pushed coroutines */
bool spawned, mail;         /* the coroutine that reads, in the inbox: to begin; for its event */
bool outside;               /* the worker counts it as waiting for something from outside */
#ifdef READ_LENT
bool runs;                  /* it can go on */
#else
bool runs = true;
#endif

/* Not in the code. */
byte owner = OWN;
byte got, ran, pushing;
bool carried;               /* FDE3 has taken the record, and FDE4 is to come */

inline awake_end() {
	d_step {
		awake--;
		assert(!(awake == 0 && pending == 0 && (record || outside || runs || carried || mail ||
			inbox + spawned > pushing || owner != NOBODY)))
	}
}

inline become(who) {
	d_step { assert(owner == NOBODY && awake > 0); owner = who }
}

/* kick - SET2. */
inline kick() {
	if
	:: bed == SET ->
#ifndef MUTANT_SET_NO_RING
		d_step { bell = true; in_set = false }
#endif
	:: else -> in_futex = false
	fi
}

/* claimed - WKW4, LND9. */
inline claimed() {
	d_step { was_ev = ev; ev = WOKEN };
	if
	:: was_ev == SLEEPS -> kick()
	:: else
	fi;
	was_ev = NONE
}

/* notify - WKW2 to WKW4. */
inline notify() {
	if
	:: sleepers ->
		awake++;
		d_step { x = sleepers; sleepers = false };
		if
		:: x -> x = false; claimed()
		:: else -> awake_end()
		fi
	:: else
	fi
}

/* put - FDE3. carries: a record was there. */
inline put() {
	d_step {
		carries = record;
		carried = carried || record;
		if
		:: record -> record = false
		:: else
		fi;
		ready = true
	}
}

/* send_here - FDE4 of the worker. send_away - of any other thread. */
inline send_here(who) {
	put();
	if
	:: carries ->
		d_step {
			assert(owner == who);
			outside = false; runs = true; carried = false; carries = false
		}
	:: else
	fi
}

inline send_away() {
	put();
	if
	:: carries ->
		d_step { mail = true; carried = false; carries = false }; /* WKW1 */
		notify()
	:: else
	fi
}

/* take - the events of a look. */
inline take() {
	found = edge && bytes > 0;
	edge = false
}

/* drain - of the worker, in its door. */
inline drain() {
	ran = ran + inbox;
	inbox = 0;
	if
	:: mail || spawned -> mail = false; spawned = false; outside = false; runs = true
	:: else
	fi
}

/* read - the coroutine runs until it waits, or has read all. */
inline read(who) {
	runs = false;
	do
	:: got == READS -> break
	:: else ->
		ready = false;                                          /* FDC2 */
		d_step { x = bytes > 0; if :: x -> bytes--; got++ :: else fi };   /* FDC3 */
		if
		:: x -> x = false
		:: else ->
			d_step {                                        /* FDC4 */
				if
				:: !watched -> watched = true; edge = bytes > 0
				:: else
				fi
			};
			d_step { x = !ready; record = !ready };         /* FDC5 */
			if
			:: x ->
				atomic {                                /* FDC6 */
					x = false;
					assert(owner == who);
					outside = true;
					break
				}
			:: else
			fi
		fi
	od
}

/* ------------------------------------------------------------------------------ the own thread */

/* rise - OWN1, OWN2. x: OWN1. */
inline rise() {
	do
	:: true ->
#ifndef MUTANT_RISE_NO_TOKEN
		awake++;
#endif
		d_step { x = sleepers; sleepers = false };
		if
		:: x -> break
		:: else
		fi;
#ifndef MUTANT_RISE_TOKEN_KEPT
		awake_end();
#endif
		awaited = true;
		if
		:: sleepers -> skip
		:: else -> break
		fi
	od
}

/* sleep - of the driver. found: there is something to deliver. */
inline sleep() {
	if
#ifdef MUTANT_SET_FUTEX
	:: true ->
#else
	:: !watched ->
#endif
		bed = FUTEX;
		atomic { in_futex = (ev == SLEEPS); !in_futex }
	:: else ->
		bed = SET;                                              /* SET1 */
#ifdef MUTANT_SET_BLIND_SLEEP
		x = true;
#else
		x = (ev == SLEEPS);
#endif
		if
		:: x ->
			x = false;
			do
			:: atomic { in_set = !(edge || bell); !in_set ->
					take();
					if
					:: found || bell -> break
					:: else -> skip
					fi }
			od;
			bell = false
		:: else
		fi
	fi
}

proctype own() {
	bool x, armed, found, carries, waiting, was_claimed;
	byte was_ev;

	do
	:: true ->
		do /* the run loop */
		:: atomic { inbox != 0 || spawned || mail -> assert(owner == OWN); drain() }
		:: atomic { runs -> assert(owner == OWN) } read(OWN)
		:: atomic { watched && edge -> take(); /* polls */
				if
				:: found -> found = false; skip
				:: else -> goto next
				fi };
			send_here(OWN)
		:: atomic { inbox == 0 && !spawned && !mail && !runs -> owner = NOBODY; break }
		od;
		sleepers = true;                                        /* SLP1 */
		found = stopping;                                       /* SLP2 */
		found = found || inbox != 0 || spawned || mail;
		if
		:: found ->                                             /* SLP3 */
			found = false;
			d_step { x = sleepers; sleepers = false };
			if
			:: x -> x = false
			:: else ->
				awake_end();
				atomic { ev == WOKEN -> ev = NONE }
			fi;
			if
			:: stopping -> awake_end(); break
			:: else
			fi;
			become(OWN);
			goto next
		:: else
		fi;
#ifdef MUTANT_OUTSIDE_UNCOUNTED
		armed = false;
#else
		armed = outside;                                        /* SLP4 */
#endif
		if
		:: armed -> d_step { pending++; awake-- }
		:: else -> awake_end()
		fi;
		do                                                      /* SLP5 */
		:: true ->
			d_step { x = (ev == NONE); if :: x -> ev = SLEEPS :: else fi };
			if
			:: x ->
				x = false;
				sleep()
			:: else
			fi;
			d_step {
				was_claimed = (ev != SLEEPS);
				ev = NONE
			};
			if
			:: was_claimed ->
#ifdef MUTANT_SET_CLAIMED_DROPS
				found = false;
#endif
				break
			:: else
			fi;
			if
			:: !waiting && found ->
				rise();
				if
				:: x -> break
				:: else -> waiting = true
				fi
			:: else
			fi;
#ifndef MUTANT_SET_LENT_DROPS
			if
			:: found ->
#ifdef MUTANT_SET_LENT_AS_WORKER
				send_here(OWN);
#else
				send_away();
#endif
			:: else
			fi;
#endif
			found = false
		od;
		atomic { x = false; was_claimed = false; waiting = false; awaited = false };
		become(OWN);
		if                                                      /* SET3 */
		:: found -> found = false; send_here(OWN)
		:: else
		fi;
		if
		:: armed -> armed = false; pending--
		:: else
		fi;
next:		skip
	od
}

/* ----------------------------------------------------------------------------- other threads */

#ifdef LENDER
proctype lender() {
	bool x, was_outside, was_watched, left;
	byte was_ev;

	awake++;                                                        /* LND1 */
	d_step { x = sleepers; sleepers = false };                      /* LND2 */
	if
	:: x -> x = false
	:: else ->
		awake_end();
#ifdef READ_LENT
		atomic { pushing++; spawned = true };
		notify();
		pushing--;
#endif
		goto over
	fi;
	if                                                              /* LND3 */
	:: ev == SLEEPS
	:: else ->
#ifdef READ_LENT
		spawned = true;
#endif
		claimed();
		goto over
	fi;
	become(LENT);                                                   /* LND4 */
	d_step { was_outside = outside; was_watched = watched };
#ifdef READ_LENT
	read(LENT);
#endif
	atomic {                                                        /* LND5 */
		assert(owner == LENT);
#ifdef MUTANT_LEND_OUTSIDE_KEPT
		left = runs;
#else
		left = runs || outside != was_outside || watched != was_watched;
#endif
		owner = NOBODY
	};
	if
	:: left -> claimed(); goto over                                 /* LND9 */
	:: else
	fi;
	sleepers = true;                                                /* LND6 */
	left = inbox != 0 || spawned || mail;                           /* LND7 */
	left = left || stopping;
	left = left || awaited;
	if
	:: left ->
		d_step { x = sleepers; sleepers = false };
		if
		:: x -> x = false; claimed(); goto over                 /* LND9 */
		:: else
		fi
	:: else
	fi;
	awake_end();                                                    /* LND8 */
over:	atomic { x = false; left = false; was_outside = false; was_watched = false }
}
#endif

proctype pusher() {
	bool x;
	byte was_ev;

	atomic { inbox++; pushing++ };                                  /* WKW1 */
	notify();
	pushing--
}

#ifdef LOOKER
proctype looker() {
	bool x, found, carries;
	byte was_ev;

end:	do
	:: atomic { watched && edge -> take();
			if
			:: found -> found = false; skip
			:: else -> goto end
			fi };
		send_away()
#ifdef MUTANT_SET_BELL_EDGE
	:: bell -> bell = false
#endif
	od
}
#endif

proctype peer() {
	byte n = READS;

	do
	:: n == 0 -> break
	:: else ->
#ifdef CHAIN
		ran == PUSHERS;
#endif
		d_step {
			n--; bytes++;
			if
			:: watched -> edge = true; in_set = false
			:: else
			fi
		}
	od
}

init {
	bool x;
	byte was_ev, n = PUSHERS;

	atomic {
#ifdef LOOKER
		run looker();
#endif
		run own();
		run peer();
#ifdef LENDER
		run lender();
#endif
		do
		:: n == 0 -> break
		:: else -> run pusher(); n--
		od
	}
	/* all but the own thread and the looker have ended */
	atomic { got == READS && ran == PUSHERS && _nr_pr == STAY -> stopping = true };
	notify();
	_nr_pr == STAY - 1 && awake == 0 && pending == 0
}
