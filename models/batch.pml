/*
 * batch.pml - batches of spawns that stay open while a worker empties them: BTS1 to BTS4 and BTW1
 * to BTW3 of batch.h, with as much of idle.c (SLP1 to SLP5, WKW1 to WKW4) as decides whether a
 * spawn is left lying.
 *
 * One sender makes SPAWNS spawns of one word each, in batches of ROOM words. The last word closes a
 * batch. When the sender is done, it closes the batch that is still open. One worker sleeps when it
 * finds nothing. With -DTHIEF a thief takes from the worker, inside the worker's door, and detaches
 * what is empty.
 *
 * What is abstracted
 *   memory    is sequentially consistent. In the code the count is a release and the look at it an
 *             acquire, so that the words that were written before (BTS1) are seen. An assert checks
 *             what is written where.
 *   doors     are a lock. What a worker does inside it with batches alone is several steps, since
 *             the sender runs meanwhile.
 *   tokens    are left out: sleeping is a bit and a wake-up. idle.pml counts who is awake.
 *   spawns    count as run when they are taken. Repeated spawns, records and several senders are
 *             left out: a batch has one sender at a time, and batches share only the inbox and the
 *             list of undelivered batches.
 *
 * What is claimed
 *   - Every spawn is taken once, in order, after it was written (asserts in deliver).
 *   - A batch is pushed only when no worker looks at it (assert in push). A batch is freed once,
 *     and nobody touches it after that.
 *   - Nothing is left lying: when all threads have stopped, all spawns are taken and all batches
 *     freed (the end of init).
 *
 * Mutants: MUTANT_BLIND_DETACH, MUTANT_LOOK_THEN_ADD, MUTANT_LOOK_FIRST, MUTANT_PUSH_FIRST,
 * MUTANT_CLOSE_APART, MUTANT_CLOSE_LEAVES, MUTANT_CLOSE_DROPS, MUTANT_DETACH_FIRST,
 * MUTANT_NO_DETACH.
 */
#ifndef SPAWNS
#define SPAWNS 5
#endif
#ifndef ROOM
#define ROOM 2
#endif
#define BATCHES 4

/* The batches. A state is three words here. One step changes all three. */
byte count[BATCHES];
bool closed[BATCHES];
bool detached[BATCHES] = true;
byte taken[BATCHES];
bool written[16];             /* BTS1, by the number of the spawn */
bool inbox[BATCHES], undelivered[BATCHES];
bool freed[BATCHES];

bool door;
bool asleep, woken;           /* the worker's bit; the worker is claimed */
byte next;                    /* the number of the spawn that comes next */
bool sent;                    /* the sender is done */

#define LIVE(p) assert(!freed[p])

/* push - WKW1. */
inline push(p)
{
	atomic {
		LIVE(p);
		assert(!inbox[p] && !undelivered[p]);
		inbox[p] = true
	}
}

/* look_at_the_bit - WKW2 to WKW4. */
inline look_at_the_bit()
{
	if
	:: atomic { asleep -> asleep = false; woken = true }
	:: atomic { !asleep -> skip }
	fi
}

proctype sender()
{
	byte p, n, i;
	bool was_detached, last;

	for (i : 0 .. SPAWNS - 1) {
		written[i] = true;                              /* BTS1 */
		last = n + 1 == ROOM;
#ifdef MUTANT_LOOK_FIRST
		look_at_the_bit();
#endif
#ifdef MUTANT_LOOK_THEN_ADD
		was_detached = detached[p];
		atomic { LIVE(p); count[p]++; closed[p] = last };
#else
#ifdef MUTANT_CLOSE_APART
		atomic { LIVE(p); was_detached = detached[p]; count[p]++ };
#else
		atomic {                                        /* BTS2, BTS4 */
			LIVE(p);
			was_detached = detached[p];
			count[p]++;
			closed[p] = last
		};
#endif
#endif
		if
		:: was_detached ->                                /* BTS3 */
#ifdef MUTANT_PUSH_FIRST
			push(p);
			atomic { LIVE(p); detached[p] = false }
#else
			atomic { LIVE(p); detached[p] = false };
			push(p)
#endif
		:: else
		fi;
#ifdef MUTANT_CLOSE_APART
		if
		:: last -> atomic { LIVE(p); closed[p] = true }
		:: else
		fi;
#endif
#ifndef MUTANT_LOOK_FIRST
		look_at_the_bit();
#endif
		if
		:: last -> p++; n = 0
		:: else -> n++
		fi
	};
	if
	:: n > 0 ->                                             /* BTS4: the sender closes */
		atomic { LIVE(p); was_detached = detached[p]; closed[p] = true };
#ifdef MUTANT_CLOSE_DROPS
		atomic { LIVE(p); freed[p] = true }
#else
#ifndef MUTANT_CLOSE_LEAVES
		if
		:: was_detached -> atomic { LIVE(p); assert(taken[p] == count[p]); freed[p] = true }
		:: else
		fi
#endif
#endif
	:: else
	fi;
	sent = true
}

/* deliver - BTW1 and BTW2, inside the door. have and done were read together. */
inline deliver(p)
{
	do
	:: taken[p] < have ->
		d_step {
			LIVE(p);
			assert(written[next]);
			taken[p]++;
			next++
		}
	:: else -> break
	od;
	if
	:: done ->
		atomic {
			LIVE(p);
			assert(taken[p] == count[p]);
			undelivered[p] = false;
			freed[p] = true
		}
	:: else
	fi
}

/* drain - unpack the inbox, then deliver what is undelivered, oldest first. */
inline drain()
{
	d_step {
		p = 0;
		do
		:: p < BATCHES ->
			if
			:: inbox[p] -> inbox[p] = false; undelivered[p] = true
			:: else
			fi;
			p++
		:: else -> p = 0; break
		od
	};
	do
	:: p < BATCHES ->
		if
		:: undelivered[p] ->
			atomic { LIVE(p); have = count[p]; done = closed[p] };
			deliver(p)
		:: else
		fi;
		p++
	:: else -> p = 0; break
	od
}

/* detach - BTW3. found: a spawn has come. */
inline detach()
{
	do
	:: p < BATCHES ->
		if
		:: undelivered[p] ->
#ifdef MUTANT_BLIND_DETACH
			if
			:: taken[p] == count[p] && !closed[p] ->
				atomic { LIVE(p); detached[p] = true; undelivered[p] = false }
			:: else -> found = true
			fi
#else
			atomic {
				LIVE(p);
				if
				:: taken[p] == count[p] && !closed[p] ->
					detached[p] = true;
					undelivered[p] = false
				:: else -> found = true
				fi
			}
#endif
		:: else
		fi;
		p++
	:: else -> p = 0; break
	od
}

inline enter() { atomic { !door -> door = true } }
inline leave() { door = false }

#define PUSHED (inbox[0] || inbox[1] || inbox[2] || inbox[3])

proctype worker()
{
	byte p, have;
	bool done, found;

	do
	:: true ->
		enter(); drain(); leave();
#ifdef MUTANT_DETACH_FIRST
		found = false; enter(); detach(); leave();
#endif
		asleep = true;                                     /* SLP1 */
#ifndef MUTANT_DETACH_FIRST
		found = PUSHED;                                   /* SLP2 */
		if
		:: !found ->
			enter();
#ifndef MUTANT_NO_DETACH
			detach();
#endif
			leave()
		:: else
		fi;
#endif
		if
		:: found ->                                     /* SLP3 */
			if
			:: atomic { asleep -> asleep = false }
			:: atomic { !asleep && woken -> woken = false }
			fi
		:: else ->                                      /* SLP5 */
end:			atomic { woken -> woken = false }
		fi
	od
}

#ifdef THIEF
proctype thief()
{
	byte p, have, turns;
	bool done, found;

	do
	:: turns < 2 ->
		turns++;
		enter(); drain(); detach(); leave()
	:: break
	od
}
#endif

init {
	byte p;

	atomic {
		run sender();
		run worker();
#ifdef THIEF
		run thief()
#endif
	};
	(sent && timeout);
	assert(next == SPAWNS);
	do
	:: p < BATCHES -> assert(freed[p] || count[p] == 0); p++
	:: else -> break
	od
}
