/*
 * chan.pml - waiters at an object, and the processes that serve them: WTQ1 to WTQ5 of waitq.h, with
 * the waits at several objects of select.c.
 *
 * There are two channels without room. One receiver waits at both (coro_select), and one at the
 * first. Each channel has a sender. A sender or a receiver that finds nobody waits. It gives up at
 * any moment, or (-DPATIENT) never.
 *
 * Each process that finds a waiter of one channel spinning serves that by a leaf (WTQ5), or not.
 *
 * What is abstracted
 *   memory    is sequentially consistent: everything but `chosen` is under a lock, and the event
 *             orders the rest.
 *   queues    are sets: any waiter of a queue may be taken.
 *   events    are a counter for each process that waits. wake.pml shows how an event comes, and
 *             that a cancel and a deadline are alike.
 *   values    are numbered. Each is sent once.
 *
 * What is claimed
 *   - One process receives a value, the one to which it was given. A process that gives up has sent
 *     or received nothing.
 *   - A waiter is looked at only while it exists: until the process that waits has gone on (LIVE).
 *   - Each wait has one event, or none if it was given up. No event is left over (ONE_EVENT, and
 *     the end).
 *   - A waiter that spins is fired or has an event, never both, and never neither (the end).
 *   - PATIENT: when nothing moves any more, no sender waits where a receiver waits.
 *
 * Mutants: MUTANT_NO_CLAIM, MUTANT_BLIND_CLAIM, MUTANT_BLIND_WITHDRAW, MUTANT_BLIND_LEAVE,
 * MUTANT_NO_DEQUEUE, MUTANT_UNLOCKED_DEQUEUE, MUTANT_LATE_VALUE, MUTANT_ONE_LOCK,
 * MUTANT_BLIND_FIRE, MUTANT_BLIND_TAKE_BACK, MUTANT_LEAF_KEEPS, MUTANT_LEAF_BLIND,
 * MUTANT_LEAF_LATE_VALUE, MUTANT_LEAF_LATE_REMOVE.
 */
#define CHANS 2
#define LEFT 255

/* The processes that wait: the receiver at both, the receiver at the first, the senders. A waiter
 * is its number. The first two waiters are those of the receiver at both. */
#define BOTH 0
#define ONE 1
#define SENDER 2 /* + channel */
#define WAITERS 5

bool lock[CHANS];
bool queued[WAITERS];
bool live[WAITERS];
byte value[WAITERS];
byte chosen;            /* of BOTH: waiter + 1, or LEFT */
byte event[4];          /* by process */
byte word[WAITERS];     /* the event word of WTQ4; BOTH has one, the first */
#define NONE 0
#define FIRED 1
#define SPINS 2

byte sent, received;    /* values */
bool got[8];            /* by value */

#define chan_of(x) (x < 2 -> x : (x == 2 -> 0 : x - 3))
#define owner_of(x) (x < 2 -> BOTH : x - 1)
#define word_of(x) (x < 2 -> 0 : x)
#define LIVE(x) assert(live[x])

inline enter(c) { atomic { !lock[c] -> lock[c] = true } }
inline leave(c) { lock[c] = false }

inline send_event(who)
{
	atomic { assert(event[who] == 0); event[who]++ } /* ONE_EVENT */
}

/* wake - WTQ2, after the lock. x is a waiter. */
inline wake(x)
{
	LIVE(x);
	if
#ifdef MUTANT_BLIND_FIRE
	:: word[word_of(x)] == SPINS -> word[word_of(x)] = FIRED
#else
	:: atomic { word[word_of(x)] == SPINS -> word[word_of(x)] = FIRED }
#endif
	:: atomic { word[word_of(x)] != SPINS -> skip }
		send_event(owner_of(x))
	fi
}

/* spin_for_event - WTQ4, by the owner of x (of BOTH: the first waiter), for any time. */
inline spin_for_event(x, fired)
{
	fired = false;
	if
	:: atomic { word[x] == FIRED -> fired = true }
#ifdef MUTANT_BLIND_TAKE_BACK
	:: word[x] != FIRED -> word[x] = NONE
#else
	:: atomic { word[x] != FIRED -> word[x] = NONE }
#endif
	fi
}

/* leaf_fires - WTQ5: x leaves its queue, is given v (0: it sends), and fired; or it is put back. In
 * the lock. */
inline leaf_fires(x, v, served)
{
	served = false;
	LIVE(x);
#ifndef MUTANT_LEAF_LATE_REMOVE
	queued[x] = false;
#endif
#ifndef MUTANT_LEAF_LATE_VALUE
	if
	:: v != 0 -> value[x] = v
	:: else
	fi;
#endif
	if
#ifdef MUTANT_LEAF_BLIND
	:: word[x] == SPINS -> word[x] = FIRED; served = true
#else
	:: atomic { word[x] == SPINS -> word[x] = FIRED; served = true }
#endif
#ifdef MUTANT_LEAF_KEEPS
	:: atomic { word[x] != SPINS -> skip }
#else
	:: atomic { word[x] != SPINS -> queued[x] = true }
#endif
	fi;
#ifdef MUTANT_LEAF_LATE_REMOVE
	if
	:: served -> LIVE(x); queued[x] = false
	:: else
	fi;
#endif
#ifdef MUTANT_LEAF_LATE_VALUE
	if
	:: served && v != 0 -> LIVE(x); value[x] = v
	:: else
	fi;
#endif
}

/* take_receiver - WTQ2: x becomes a waiter that still waits at channel c, or WAITERS. In the
 * lock. */
inline take_receiver(c, x)
{
	do
	:: atomic { queued[c] -> queued[c] = false; x = c }
#ifdef MUTANT_NO_CLAIM
		LIVE(x); chosen = x + 1; break
#elif defined(MUTANT_BLIND_CLAIM)
		LIVE(x);
		if
		:: chosen == 0 -> LIVE(x); chosen = x + 1; break /* looked, then written */
		:: else -> x = WAITERS
		fi
#else
		LIVE(x);
		if
		:: atomic { chosen == 0 -> chosen = x + 1 } break
		:: atomic { chosen != 0 -> x = WAITERS }
		fi
#endif
	:: atomic { c == 0 && queued[2] -> queued[2] = false; x = 2 }
		LIVE(x);
		break
	:: atomic { !queued[c] && !(c == 0 && queued[2]) -> x = WAITERS }
		break
	od
}

inline receive(v) { atomic { assert(!got[v]); got[v] = true; received++ } }

/* await_event - gave_up: the wait has ended before the event, and the waiter may be taken back. */
inline await_event(who, gave_up)
{
	gave_up = false;
end_wait:
	if
	:: atomic { event[who] > 0 -> event[who]-- }
#ifndef PATIENT
	:: gave_up = true
#endif
	fi
}

proctype sender(byte c; byte n)
{
	byte i, x, me = 3 + c, v;
	bool gave_up, fired;

	for (i : 1 .. n) {
		v = 4 * c + i;
		enter(c);
		if
		:: atomic { c == 0 && queued[2] && word[2] == SPINS -> skip }
			leaf_fires(2, v, fired);
			leave(c);
			if
			:: fired -> sent++; goto sent_one
			:: else -> enter(c)
			fi
		:: true
		fi;
		take_receiver(c, x);
		if
		:: x != WAITERS ->
#ifdef MUTANT_LATE_VALUE
			leave(c);
			wake(x);
			LIVE(x);
			value[x] = v;
#else
			LIVE(x);
			value[x] = v;
			leave(c);
			wake(x);
#endif
			sent++
		:: else -> /* WTQ1 */
			atomic {
				assert(event[SENDER + c] == 0);
				live[me] = true;
				value[me] = v;
				queued[me] = true
			};
			if
			:: word[me] = SPINS
			:: word[me] = NONE
			fi;
			leave(c);
			spin_for_event(me, fired);
			if
			:: fired -> gave_up = false
			:: else -> await_event(SENDER + c, gave_up)
			fi;
			if
			:: gave_up -> /* WTQ3 */
				enter(c);
#ifdef MUTANT_BLIND_WITHDRAW
				atomic { queued[me] = false };
				leave(c)
#else
				if
				:: atomic { queued[me] -> queued[me] = false }
					leave(c)
				:: else ->
					leave(c);
					atomic { event[SENDER + c] > 0 -> event[SENDER + c]-- };
					gave_up = false
				fi
#endif
			:: else
			fi;
			if
			:: !gave_up -> sent++
			:: else
			fi;
			live[me] = false
		fi;
sent_one:
		skip
	}
}

/* take_sender - x becomes a sender that waits at channel c, or WAITERS. In the lock. */
inline take_sender(c, x)
{
	if
	:: atomic { queued[3 + c] -> queued[3 + c] = false; x = 3 + c } LIVE(x)
	:: atomic { !queued[3 + c] -> x = WAITERS }
	fi
}

proctype one(byte n)
{
	byte i, x, v;
	bool gave_up, fired;

	for (i : 1 .. n) {
		enter(0);
		if
		:: atomic { queued[3] && word[3] == SPINS -> skip }
			LIVE(3);
			v = value[3];
			leaf_fires(3, 0, fired);
			leave(0);
			if
			:: fired -> receive(v); goto received_one
			:: else -> enter(0)
			fi
		:: true
		fi;
		take_sender(0, x);
		if
		:: x != WAITERS ->
			LIVE(x);
			v = value[x];
			leave(0);
			wake(x);
			receive(v)
		:: else ->
			atomic {
				assert(event[ONE] == 0);
				live[2] = true;
				value[2] = 0;
				queued[2] = true
			};
			if
			:: word[2] = SPINS
			:: word[2] = NONE
			fi;
			leave(0);
			spin_for_event(2, fired);
			if
			:: fired -> gave_up = false
			:: else -> await_event(ONE, gave_up)
			fi;
			if
			:: gave_up ->
				enter(0);
				if
				:: atomic { queued[2] -> queued[2] = false }
					leave(0)
				:: else ->
					leave(0);
					atomic { event[ONE] > 0 -> event[ONE]-- };
					gave_up = false
				fi
			:: else
			fi;
			if
			:: !gave_up -> v = value[2]; receive(v)
			:: else
			fi;
			live[2] = false
		fi;
received_one:
		skip
	}
}

/* dequeue - take the waiter of BOTH at channel c out, unless it was taken out before. */
inline dequeue(c)
{
	if
	:: atomic { chosen == c + 1 -> skip }
	:: atomic { chosen != c + 1 -> skip }
#ifndef MUTANT_UNLOCKED_DEQUEUE
		enter(c);
#endif
		queued[c] = false;
#ifndef MUTANT_UNLOCKED_DEQUEUE
		leave(c)
#endif
	fi
}

proctype both(byte n)
{
	byte i, x, v;
	bool gave_up, fired;

	for (i : 1 .. n) {
		enter(0);
#ifndef MUTANT_ONE_LOCK
		enter(1);
#endif
		take_sender(0, x);
		if
		:: x == WAITERS -> take_sender(1, x)
		:: else
		fi;
		if
		:: x != WAITERS ->
			LIVE(x);
			v = value[x];
#ifndef MUTANT_ONE_LOCK
			leave(1);
#endif
			leave(0);
			wake(x);
			receive(v)
		:: else ->
			atomic {
				assert(event[BOTH] == 0);
				chosen = 0;
				live[0] = true; live[1] = true;
				queued[0] = true; queued[1] = true
			};
			if
			:: word[0] = SPINS
			:: word[0] = NONE
			fi;
#ifndef MUTANT_ONE_LOCK
			leave(1);
#endif
			leave(0);
			spin_for_event(0, fired);
			if
			:: fired -> gave_up = false
			:: else -> await_event(BOTH, gave_up)
			fi;
			if
			:: gave_up ->
				if
#ifdef MUTANT_BLIND_LEAVE
				:: chosen = LEFT
#else
				:: atomic { chosen == 0 -> chosen = LEFT }
				:: atomic { chosen != 0 -> skip }
					atomic { event[BOTH] > 0 -> event[BOTH]-- };
					gave_up = false
#endif
				fi
			:: else
			fi;
#ifndef MUTANT_NO_DEQUEUE
			dequeue(0);
			dequeue(1);
#endif
			if
			:: !gave_up -> v = value[chosen - 1]; receive(v)
			:: else
			fi;
			atomic { live[0] = false; live[1] = false }
		fi
	}
}

init {
	atomic {
		run both(2);
		run one(1);
		run sender(0, 2);
		run sender(1, 1)
	};
#ifdef PATIENT
	timeout -> /* nothing moves any more */
	assert(!(queued[3] && (queued[0] || queued[2])) && !(queued[4] && queued[1]));
#else
	_nr_pr == 1 ->
#endif
	assert(sent == received);
	assert(event[0] + event[1] + event[2] + event[3] == 0)
}
