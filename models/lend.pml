/*
 * lend.pml - a worker that is lent: LND1 to LND9, OWN1 and OWN2 of lend.h, with as much of idle.c
 * (SLP1 to SLP6, WKW1 to WKW4) as decides who is the worker, and whether the end is exact.
 *
 * There is one worker, with its own thread, which sleeps. LENDERS threads lend themselves to it,
 * once each. The coroutine of a lender ends, or spawns a child first, or waits for a deadline.
 * PUSHERS threads push once each. DUE: a coroutine waits for a deadline from the beginning. LOOKS:
 * how often the own thread wakes by itself, as the standby does to look around. THIEF: another
 * worker, which is awake, empties the inbox into the queue, runs one coroutine of it, and ends.
 * A closer closes the scheduler.
 *
 * What is abstracted
 *   the door     What happens inside a door is one step: door.pml is about doors.
 *   memory       is sequentially consistent. In the code all words of the protocol are, but for ev,
 *                which is changed by read-modify-writes alone.
 *   coroutines   are bits. A lender runs its child, and nothing else that is queued.
 *   time         A deadline comes at any time. A sleeper whose deadline others have fired wakes at
 *                any time, too.
 *   the rest     is told by an assert and by a condition of the closer's: idle.pml has the futex.
 *
 * What is claimed
 *   - Two are never the worker at once (asserts in become and in the own thread).
 *   - Rest is not seen while anything is owed: queued, pushed by a thread that is done, waiting for
 *     a deadline, or running on a lender (assert in awake_end).
 *   - No coroutine runs on a lender once the close was told the end (assert in become).
 *   - Each coroutine runs once. All threads stop, and nothing is left (asserts in ran and init).
 *
 * Mutants: MUTANT_..., each named where it changes something. Their names are the explorer's.
 */
#ifndef LENDERS
#define LENDERS 2
#endif
#ifndef PUSHERS
#define PUSHERS 2
#endif
#ifndef LOOKS
#define LOOKS 0
#endif

/* ev */
#define NONE 0
#define SLEEPS 1
#define WOKEN 2

/* Who is the worker. Lenders: from 2 on. */
#define NOBODY 0
#define OWN 1

/* Coroutines: pushed ones are 1 and 2. A lender's child is 4 or 8, and a lender's coroutine that
 * waits for a deadline is 16 or 32. 64 waits from the beginning. */
#define CHILD(i) (4 << (i))
#define WAITER(i) (16 << (i))
#define FIRST 64

#ifdef THIEF
byte awake = 1;
#else
byte awake = 0;
#endif
byte pending;
bool sleepers = true, refusing, stopping, awaited;
byte ev, inbox, queue;
bool due, come;           /* a deadline is armed; it has come */

/* Not in the code. */
byte owner;
byte waits;               /* the coroutine that waits for the deadline */
byte owed, done;
byte living;              /* coroutines that were counted and have not ended */
bool closed;              /* the close was told the end */
byte left_over;           /* threads outside that may still do something */
byte pushing;             /* threads that are in the middle of a push: the lock of spawn.h */

inline ran(x)
{
	assert((done & (x)) == 0);
	done = done | (x);
	living--
}

/* awake_end - give an awake token back, and see the rest. */
inline awake_end()
{
	d_step {
		awake--;
		assert(!(awake == 0 && pending == 0 && ((owed & ~done) != 0 || queue != 0 || due ||
			owner != NOBODY)))
	}
}

/* claimed - WKW4, LND9. */
inline claimed()
{
	ev = WOKEN
}

/* claim - WKW2 to WKW4. */
inline claim()
{
	awake++;
	d_step { x = sleepers; sleepers = false };
	if
	:: x -> x = false; claimed()
	:: else -> awake_end()
	fi
}

/* drain - of the worker, in its door: the inbox, and the deadline. */
inline drain()
{
	if
	:: inbox & 1 -> living++
	:: else
	fi;
	if
	:: inbox & 2 -> living++
	:: else
	fi;
	queue = queue | inbox;
	inbox = 0;
	if
	:: due && come -> due = false; come = false; queue = queue | waits; waits = 0
	:: else
	fi
}

/* ------------------------------------------------------------------------------ the own thread */

/* rise - OWN1, OWN2. x: OWN1. */
inline rise()
{
	do
	:: true ->
		awake++;
		d_step { x = sleepers; sleepers = false };
#ifdef MUTANT_LEND_BLIND_RISE
		x = true;
#endif
		if
		:: x -> break                                           /* OWN1 */
		:: else
		fi;
		awake_end();                                            /* OWN2 */
		awaited = true;
#ifdef MUTANT_LEND_ONE_LOOK
		break
#else
		if
		:: sleepers -> skip
		:: else -> break
		fi
#endif
	od
}

proctype own()
{
	bool x, armed, found, waiting;
	byte looks = LOOKS;

#ifdef DUE
	armed = true;
#endif
	goto asleep;
	do
	:: true ->
		/* the run loop */
		do
		:: atomic { inbox != 0 || (due && come) -> assert(owner == OWN); drain() }
		:: atomic { queue & 1 -> queue = queue & ~1; ran(1) }
		:: atomic { queue & 2 -> queue = queue & ~2; ran(2) }
		:: atomic { queue & 4 -> queue = queue & ~4; ran(4) }
		:: atomic { queue & 8 -> queue = queue & ~8; ran(8) }
		:: atomic { queue & 16 -> queue = queue & ~16; ran(16) }
		:: atomic { queue & 32 -> queue = queue & ~32; ran(32) }
		:: atomic { queue & FIRST -> queue = queue & ~FIRST; ran(FIRST) }
		:: atomic {
			queue == 0 && inbox == 0 && !(due && come) ->
			assert(owner == OWN);
			owner = NOBODY;
			break
		}
		od;
		sleepers = true;                                        /* SLP1 */
		found = stopping;                                       /* SLP2 */
		found = found || inbox != 0;
		d_step { assert(owner == NOBODY); owner = OWN };        /* in the door */
		d_step { assert(owner == OWN); owner = NOBODY; found = found || queue != 0 };
		if
		:: found ->                                             /* SLP3 */
			d_step { x = sleepers; sleepers = false; found = false };
			if
			:: x -> x = false
			:: else ->
				awake_end();
				atomic { ev == WOKEN -> ev = NONE }
			fi;
			if
			:: stopping -> break
			:: else -> skip
			fi;
			d_step { assert(owner == NOBODY); owner = OWN };
			goto next
		:: else
		fi;
		armed = due;                                            /* SLP4 */
		if
		:: armed -> d_step { pending++; awake-- }
		:: else -> awake_end()
		fi;
asleep:		waiting = false;                                        /* SLP5 */
		do
		:: true ->
			d_step {
				if
				:: ev == NONE -> ev = SLEEPS
				:: else
				fi
			};
			if
			:: atomic { ev == WOKEN -> ev = NONE; break }
			:: atomic { ev == SLEEPS && !waiting && armed && (come || !due) ->
					ev = NONE }
			:: atomic { ev == SLEEPS && !waiting && looks > 0 && awake > 0 ->
					ev = NONE; looks-- }
			fi;
			rise();
			if
			:: x -> break
			:: else -> waiting = true
			fi
		od;
		atomic { awaited = false; x = false; waiting = false };
		if
		:: armed -> armed = false; pending--
		:: else
		fi;
		if
		:: stopping -> break
		:: else
		fi;
		d_step { assert(owner == NOBODY); owner = OWN };
next:		skip
	od
}

/* ----------------------------------------------------------------------------------- lenders */

/* become - LND4. */
inline become()
{
	d_step {
		assert(owner == NOBODY && !closed);
		owner = me;
		was_due = due;
		idle = (inbox == 0 && queue == 0)
	}
}

proctype lender(byte i)
{
	bool x, was_due, idle, left;
	byte me = 2 + i;

	/* LND1 */
#ifndef MUTANT_LEND_TOKEN_LATE
	awake++;
#endif
#ifndef MUTANT_LEND_REFUSED
	if
	:: refusing || stopping -> goto second
	:: else
	fi;
#endif
	d_step { x = sleepers; sleepers = false };                                /* LND2 */
	if
	:: x
	:: else -> goto second
	fi;
#ifdef MUTANT_LEND_TOKEN_LATE
	awake++;
#endif
#ifndef MUTANT_LEND_AWAKE
	if                                                              /* LND3 */
	:: ev == SLEEPS
	:: else -> claimed(); goto over
	fi;
#endif
	become();
#ifdef MUTANT_LEND_TOKEN_EARLY
	awake_end();
#endif
	if
	:: !idle -> goto leave                                          /* a give-up */
	:: else
	fi;
	living++;
	if
	:: living--                                                     /* it ends */
	:: atomic { queue = queue | CHILD(i); living++ }; living--      /* it spawns, and ends */
	:: atomic { !due -> due = true; waits = WAITER(i); owed = owed | WAITER(i) }
	fi;
	do
	:: atomic { inbox != 0 || (due && come) -> drain() }
	:: atomic { (queue & CHILD(i)) != 0 -> queue = queue & ~CHILD(i); ran(CHILD(i)) }
	:: break
	od;
leave:
#ifdef MUTANT_LEND_TOKEN_EARLY
	awake++;
#endif
	atomic {                                                        /* LND5 */
		assert(owner == me);
#ifdef MUTANT_LEND_DUE_KEPT
		left = queue != 0;
#else
		left = queue != 0 || due != was_due;
#endif
		owner = NOBODY
	};
	if
	:: left || !idle -> claimed(); goto over                        /* LND9 */
	:: else
	fi;
#ifndef MUTANT_LEND_LATE_BIT
	sleepers = true;                                                     /* LND6 */
#endif
	left = stopping;                                                /* LND7 */
#ifndef MUTANT_LEND_BLIND_INBOX
	left = left || inbox != 0;
#endif
#ifndef MUTANT_LEND_BLIND_QUEUE
	left = left || queue != 0;
#endif
#ifndef MUTANT_LEND_NOT_AWAITED
	left = left || awaited;
#endif
	if
	:: left ->
#ifdef MUTANT_LEND_LATE_BIT
		claimed(); goto over
#else
		d_step { x = sleepers; sleepers = false };
#ifdef MUTANT_LEND_CLAIMED_TWICE
		x = true;
#endif
		if
		:: x -> claimed(); goto over                            /* LND9 */
		:: else -> goto give
		fi
#endif
	:: else
	fi;
#ifdef MUTANT_LEND_LATE_BIT
	sleepers = true;
#endif
give:	awake_end();                                                    /* LND8 */
	goto over;
second:
#ifdef MUTANT_LEND_TOKEN_LATE
	skip;
#elif defined(MUTANT_LEND_TOKEN_KEPT)
	skip;
#else
	awake_end();
#endif
over:	atomic { x = false; left = false; idle = false; was_due = false; left_over-- }
}

/* ---------------------------------------------------------------------------- other threads */

proctype pusher(byte item)
{
	bool x;

	if
	:: atomic { !refusing -> pushing++; inbox = inbox | item };     /* WKW1 */
		if
		:: sleepers -> claim()                                       /* WKW2 to WKW4 */
		:: else
		fi;
		d_step { owed = owed | item; pushing-- }
	:: refusing -> skip
	fi;
	left_over--
}

proctype thief()
{
	bool x, left;

	if
	:: atomic {
		inbox != 0 ->
		drain();
		if
		:: queue & 1 -> queue = queue & ~1; ran(1)
		:: else
			if
			:: queue & 2 -> queue = queue & ~2; ran(2)
			:: else
			fi
		fi;
		left = sleepers && queue != 0                                /* SLP6 */
	}
		if
		:: left -> left = false; claim()
		:: else
		fi
	:: true
	fi;
	awake_end();
	left_over--
}

proctype clock()
{
end:	do
	:: atomic { due && !come -> come = true }
	od
}

proctype closer()
{
	bool x;

	atomic { pushing == 0 -> refusing = true };
	atomic { awake == 0 && pending == 0 && living == 0 -> closed = true };
	stopping = true;
	if
	:: sleepers -> claim()
	:: else
	fi
}

init
{
	atomic {
#ifdef DUE
		due = true;
		waits = FIRST;
		living = 1;
		owed = FIRST;
		pending = 1;
#endif
		left_over = LENDERS + PUSHERS;
#ifdef THIEF
		left_over++;
		run thief();
#endif
		run own();
		run lender(0);
#if LENDERS > 1
		run lender(1);
#endif
#if PUSHERS > 0
		run pusher(1);
#endif
#if PUSHERS > 1
		run pusher(2);
#endif
		run clock();
		run closer()
	};
	timeout;                        /* no thread has anything to do */
	assert(closed && left_over == 0 && (owed & ~done) == 0 && queue == 0 && !due);
	assert(awake <= 1 && pending == 0)
}
