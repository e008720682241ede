/*
 * parcel.pml - parcels that stay open while a worker empties them: A1 to A4 and B1 to B3 of csrc/parcel.h, with as much of
 * csrc/idle.c (P1 to P5, N1 to N4) as decides whether a spawn is left lying.
 *
 * One sender makes SPAWNS spawns of one word each, in parcels of ROOM words: the last word closes a parcel, and when it has
 * done, the sender closes the one that is still open. One worker, that sleeps when it finds nothing; with -DTHIEF
 * another takes from it, inside its door, and lets go of what is empty.
 *
 * What is abstracted
 *   memory    sequentially consistent: the count is a release and the look at it an acquire, so that words written before
 *             (A1) are seen; what is written where is checked by an assert.
 *   doors     a lock. What a worker does inside it with parcels alone is several steps, as the sender runs meanwhile.
 *   tokens    sleeping is a bit and a wake-up; counting who is awake is idle.pml's matter.
 *   spawns    what is taken counts as run. Repeated ones, records and several senders are left out: a parcel has one
 *             sender at a time, and parcels share nothing but inbox and list.
 *
 * What is claimed
 *   - every spawn is taken once, in order, after it was written (asserts in pour)
 *   - a parcel is pushed only when nobody looks at it (assert in push), freed once, and touched by nobody after that
 *   - nothing is left lying: when all have stopped, all spawns are taken and all parcels freed (the end of init)
 *
 * Mutants: MUTANT_BLIND_LET_GO, MUTANT_LOOK_THEN_ADD, MUTANT_LOOK_FIRST, MUTANT_PUSH_FIRST, MUTANT_CLOSE_APART,
 * MUTANT_CLOSE_LEAVES, MUTANT_CLOSE_DROPS, MUTANT_LET_GO_FIRST, MUTANT_NO_LET_GO.
 */
#ifndef SPAWNS
#define SPAWNS 5
#endif
#ifndef ROOM
#define ROOM 2
#endif
#define PARCELS 4

/* The parcels. A state is three words here and is changed in one step, as one. */
byte count[PARCELS];
bool closed[PARCELS];
bool adrift[PARCELS] = true;
byte taken[PARCELS];
bool written[16];             /* A1: by the number of the spawn */
bool inbox[PARCELS], list[PARCELS];
bool freed[PARCELS];

bool door;
bool asleep, woken;           /* the worker's bit; somebody claimed it */
byte next;                    /* the spawn that comes next */
bool sent;                    /* the sender has done */

#define LIVE(p) assert(!freed[p])

/* push - N1, then N2 to N4. */
inline push(p)
{
	atomic {
		LIVE(p);
		assert(!inbox[p] && !list[p]);
		inbox[p] = true
	}
}

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
	bool was_adrift, last;

	for (i : 0 .. SPAWNS - 1) {
		written[i] = true;                              /* A1 */
		last = n + 1 == ROOM;
#ifdef MUTANT_LOOK_FIRST
		look_at_the_bit();
#endif
#ifdef MUTANT_LOOK_THEN_ADD
		was_adrift = adrift[p];
		atomic { LIVE(p); count[p]++; closed[p] = last };
#else
#ifdef MUTANT_CLOSE_APART
		atomic { LIVE(p); was_adrift = adrift[p]; count[p]++ };
#else
		atomic {                                        /* A2, A4 */
			LIVE(p);
			was_adrift = adrift[p];
			count[p]++;
			closed[p] = last
		};
#endif
#endif
		if
		:: was_adrift ->                                /* A3 */
#ifdef MUTANT_PUSH_FIRST
			push(p);
			atomic { LIVE(p); adrift[p] = false }
#else
			atomic { LIVE(p); adrift[p] = false };
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
	:: n > 0 ->                                             /* A4: the sender closes */
		atomic { LIVE(p); was_adrift = adrift[p]; closed[p] = true };
#ifdef MUTANT_CLOSE_DROPS
		atomic { LIVE(p); freed[p] = true }
#else
#ifndef MUTANT_CLOSE_LEAVES
		if
		:: was_adrift -> atomic { LIVE(p); assert(taken[p] == count[p]); freed[p] = true }
		:: else
		fi
#endif
#endif
	:: else
	fi;
	sent = true
}

/* pour - B1 and B2, inside the door; have and done were read together. */
inline pour(p)
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
	:: done -> atomic { LIVE(p); assert(taken[p] == count[p]); list[p] = false; freed[p] = true }
	:: else
	fi
}

/* drain - unpack the inbox, then pour what is in the list, oldest first. */
inline drain()
{
	d_step {
		p = 0;
		do
		:: p < PARCELS -> if :: inbox[p] -> inbox[p] = false; list[p] = true :: else fi; p++
		:: else -> p = 0; break
		od
	};
	do
	:: p < PARCELS ->
		if
		:: list[p] -> atomic { LIVE(p); have = count[p]; done = closed[p] }; pour(p)
		:: else
		fi;
		p++
	:: else -> p = 0; break
	od
}

/* let_go - B3. found: something has come. */
inline let_go()
{
	do
	:: p < PARCELS ->
		if
		:: list[p] ->
#ifdef MUTANT_BLIND_LET_GO
			if
			:: taken[p] == count[p] && !closed[p] ->
				atomic { LIVE(p); adrift[p] = true; list[p] = false }
			:: else -> found = true
			fi
#else
			atomic {
				LIVE(p);
				if
				:: taken[p] == count[p] && !closed[p] -> adrift[p] = true; list[p] = false
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

#define MAIL (inbox[0] || inbox[1] || inbox[2] || inbox[3])

proctype worker()
{
	byte p, have;
	bool done, found;

	do
	:: true ->
		enter(); drain(); leave();
#ifdef MUTANT_LET_GO_FIRST
		found = false; enter(); let_go(); leave();
#endif
		asleep = true;                                     /* P1 */
#ifndef MUTANT_LET_GO_FIRST
		found = MAIL;                                   /* P2 */
		if
		:: !found ->
			enter();
#ifndef MUTANT_NO_LET_GO
			let_go();
#endif
			leave()
		:: else
		fi;
#endif
		if
		:: found ->                                     /* P3 */
			if
			:: atomic { asleep -> asleep = false }
			:: atomic { !asleep && woken -> woken = false }
			fi
		:: else ->                                      /* P5 */
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
		enter(); drain(); let_go(); leave()
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
	:: p < PARCELS -> assert(freed[p] || count[p] == 0); p++
	:: else -> break
	od
}
