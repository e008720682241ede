/*
 * awaited.pml - the end of a coroutine that owns a lock, and those that wait for the lock: AWT1 to
 * AWT4 of awaited.h, with MTX1 and MTX2 of mutex.h and WTQ1 to WTQ3 of waitq.h.
 *
 * The owner has the lock at the beginning. It unlocks and then ends, or ends with the lock. WAITERS
 * come, at any moment, lock, and unlock; with -DGIVE_UP each may leave the queue again. When all of
 * them are through, the memory of the lock goes.
 *
 * What is abstracted
 *   memory    is sequentially consistent, as the steps are that the protocol rests upon.
 *   the table is one note, under the name of the first owner. Later owners do not end.
 *   events    are a bit for each waiter.
 *
 * What is claimed
 *   - When nothing moves any more, all have come to their end: nobody waits behind an owner that
 *   has
 *     ended (valid end states).
 *   - One at a time has the lock (HAS).
 *   - Nobody touches the lock when its memory has gone (TOUCH), also while the end looks.
 *
 * Mutants: MUTANT_LOOKS_FIRST and MUTANT_NO_LOOK (WAITERS=1: a second one would find the end),
 * MUTANT_ENDS_LATE, MUTANT_WAITS_IN_ENDS (the end waits for the lock's own lock),
 * MUTANT_DROPS_ALONE and MUTANT_NO_DROP (GIVE_UP).
 */
#ifndef WAITERS
#define WAITERS 2
#endif
#define OWNER  (WAITERS + 1)
#define NOBODY 0

bool held;  /* the lock's own lock */
bool ends;  /* `ends` of awaited.c */
bool note;  /* of the owner and the lock */
bool ended; /* it can be seen that the owner has ended */
bool gone;  /* the memory of the lock */
byte owner = OWNER;
bool event[WAITERS + 1]; /* of waiter i at i */
bool waits[WAITERS + 1]; /* it is in the queue */
bool left;               /* the first owner has unlocked, or ends with the lock */
byte through;            /* waiters that have returned from the lock for the last time */
byte has;                /* how many are between lock and unlock */
chan queue = [WAITERS] of { byte };

#define TOUCH assert(!gone)

inline lock_object() { atomic { !held -> TOUCH; held = true } }
inline unlock_object() { atomic { TOUCH; held = false } }
inline lock_ends() { atomic { !ends -> ends = true } }
inline unlock_ends() { ends = false }

/* The memory goes when nobody is to come to the lock any more. */
inline goes() { gone = gone || (through == WAITERS && left) }

/* AWT3, by others than the owner. */
inline drop() {
#ifndef MUTANT_DROPS_ALONE
	lock_ends();
#endif
	note = false;
#ifndef MUTANT_DROPS_ALONE
	unlock_ends();
#endif
}

/* The first waiter, if there is one, has the lock from now on. The lock is entered. next: it. */
inline give(next) {
	if
	:: len(queue) > 0 -> queue?next; waits[next] = false; owner = next
	:: len(queue) == 0 -> next = NOBODY; owner = NOBODY
	fi
}

/* mutex_enter: if the owner has ended, the first waiter gets the lock. */
inline enter(next) {
	lock_object();
	do
	:: owner == OWNER && ended && len(queue) > 0 ->
		drop();
		queue?next;
		waits[next] = false;
		owner = next;
		unlock_object();
		event[next] = true;
		lock_object()
	:: else -> break
	od
}

proctype waiter(byte me) {
	byte next;
	bool got;

	enter(next);
again:
	if
	:: owner == NOBODY -> owner = me; got = true
	:: owner == OWNER && ended && len(queue) == 0 -> drop(); owner = me; got = true
	:: else ->
		if
		:: owner == OWNER && len(queue) == 0 -> /* AWT1 */
#ifdef MUTANT_LOOKS_FIRST
			if
			:: ended -> goto again
			:: !ended -> note = true
			fi
#else
			note = true;
#ifndef MUTANT_NO_LOOK
			if
			:: ended -> goto again /* which drops the note */
			:: !ended
			fi
#endif
#endif
		:: else
		fi;
		waits[me] = true;
		queue!me
	fi;
	unlock_object();
	if
	:: got
	:: !got ->
		if
		:: event[me] -> got = true
#ifdef GIVE_UP
		:: true -> /* WTQ3 */
			lock_object();
			if
			:: waits[me] -> waits[me] = false; queue??eval(me); unlock_object()
			:: !waits[me] -> unlock_object(); event[me]; got = true
			fi
#endif
		fi
	fi;
	if
	:: got ->
		has++;
		assert(has == 1 && owner == me);
		has--;
		lock_object();
		give(next);
		unlock_object();
		if
		:: next -> event[next] = true
		:: else
		fi
	:: !got ->
#ifndef MUTANT_NO_DROP
		lock_object();
		if
		:: len(queue) == 0 -> drop()
		:: else
		fi;
		unlock_object()
#endif
	fi;
	atomic {
		through++;
		goes()
	}
}

proctype first_owner() {
	byte next;

	has++;
	if
	:: true -> /* it unlocks: AWT3 */
		has--;
		lock_object();
		note = false;
		give(next);
		unlock_object();
		atomic { left = true; goes() }
		if
		:: next -> event[next] = true
		:: else
		fi
	:: true -> atomic { has--; left = true; goes() }
	fi;
#ifndef MUTANT_ENDS_LATE
	ended = true; /* AWT2 */
#endif
	do
	:: note ->
		lock_ends(); /* AWT4 */
		if
		:: !note -> unlock_ends()
		:: note ->
#ifdef MUTANT_WAITS_IN_ENDS
			lock_object();
#else
			if
			:: atomic { !held -> TOUCH; held = true }
			:: atomic { held -> TOUCH; unlock_ends(); goto look }
			fi;
#endif
			note = false;
			unlock_ends();
			if
			:: owner == OWNER -> give(next)
			:: else -> next = NOBODY
			fi;
			unlock_object();
			if
			:: next -> event[next] = true
			:: else
			fi
		fi;
look:		skip
	:: !note -> break
	od;
#ifdef MUTANT_ENDS_LATE
	ended = true
#endif
}

init {
	atomic {
		byte i = 1;
		run first_owner();
		do
		:: i <= WAITERS -> run waiter(i); i++
		:: i > WAITERS -> break
		od
	}
}
