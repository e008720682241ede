/*
 * credit.pml - waiting for credit: CRD1 to CRD4 of slab.h, with the grants, the refunds and the
 * trim that slab.h tells before them.
 *
 * USERS users spawn coroutines and end them, OPS times each. WAITERS goroutines wait for a credit,
 * and a poller hears the bell. With -DTRIM a thread trims, with -DSYSTEM the system has memory for
 * one more chunk after a while, and with -DGIVE_UP a goroutine may stop waiting.
 *
 * What is as in the code
 *   slab      coroi_slab_grant with take_credit, coroi_slab_refund, raise_capacity, spare, and
 *             coroi_slab_is_exhausted: each operation on granted, capacity and wanted is a step.
 *   users     coroi_mags_spend, borrow, earn and keep of mags.c. A user is a worker, a submitter,
 *             or the threads that are no workers.
 *   Go        await, enter, serve, grant and leave of spawnwait.go, in its lock; the bell and the
 *             poller's loop.
 *
 * What is abstracted
 *   memory    is sequentially consistent, as the operations on these words are in the code.
 *   doors     are a lock. door.pml shows that a door is one, for a collector too.
 *   figures   are small: a chunk has CHUNK records, and no user may hide any. A user gets AT_ONCE
 *             credits at a time, and gives back what is above as much. "A quarter of the records is
 *             free" is "two are free".
 *   mapping   is left out where no chunk can be had: a grant does not try again under the lock.
 *   records   are left out: that a user with a credit finds one follows from held <= capacity.
 *   users     begin with all credit that there is, one of it in the hand of user 0.
 *   started   coroutines of goroutines that waited run at user 0, which ends some or none.
 *   closing   is left out: it gives no credit.
 *
 * What is claimed
 *   - Credit that was handed out is never more than capacity, once a trim has decided (assert in
 *     take_credit, and in trim).
 *   - Credit is conserved (end of init): what is granted is what users have in hand, and what is
 *     alive.
 *   - No goroutine waits while credit is free, nor while a user has some in hand, nor when nothing
 *     is alive (end of init).
 *   - A goroutine is told ErrNoMemory only if the system has refused memory while no credit was
 *     granted (assert in give).
 *   - When nobody waits and there is room again, users may keep credit again (end of init).
 *
 * Parameters: USERS, OPS, WAITERS, CHUNKS (mapped at the beginning), MAPS (that can be mapped
 * later), LIMIT (credits that there may ever be). Mutants: MUTANT_..., each named where it
 * changes something.
 */
#ifndef USERS
#define USERS 2
#endif
#ifndef OPS
#define OPS 2
#endif
#ifndef WAITERS
#define WAITERS 2
#endif
#ifndef CHUNKS
#define CHUNKS 1
#endif
#ifndef MAPS
#define MAPS 0
#endif
#ifndef CHUNK
#define CHUNK 3
#endif
#ifndef LIMIT
#define LIMIT ((CHUNKS + MAPS) * CHUNK)
#endif
#define AT_ONCE 2
#define ROOM 2

#define UNWANTED 0
#define LATELY 1
#define WANTED 2

short granted;
short capacity = CHUNKS * CHUNK;
byte wanted;
byte chunks = CHUNKS, maps = MAPS;
bool slab;                      /* the slab's lock */

byte credit[USERS];             /* in hand */
bool lean[USERS];
bool door[USERS];
byte live[USERS];               /* coroutines that this user is going to end, or nobody */

bool mu;                        /* the lock of Go's queue */
chan queue = [WAITERS] of { byte };
#define WAITS 0
#define GIVEN 1
#define NO_MEMORY 2
byte state[WAITERS];

bool go_sleeps, rung;           /* the bell */

/* Not in the code: the claims are stated with these. */
short held;                     /* credit that was handed out */
bool trimming;                  /* capacity was lowered, and the trim has not looked yet */
byte done;                      /* goroutines that are through */

#define MOST (capacity < LIMIT -> capacity : LIMIT)
#define ROOMY (granted <= MOST - ROOM)

inline lock(l) { atomic { !l -> l = true } }
inline unlock(l) { l = false }

inline ring() { atomic { if :: go_sleeps -> go_sleeps = false; rung = true :: else fi } }

/* tell_waiters - CRD3. */
inline tell_waiters()
{
	if
	:: wanted == WANTED -> ring()
#ifndef MUTANT_LATELY_SILENT
	:: wanted == LATELY && ROOMY -> ring()
#endif
	:: else
	fi
}

inline refund(k)
{
#ifdef MUTANT_LOOK_FOR_WANT_FIRST
	seen = wanted;
	atomic { granted = granted - (k); held = held - (k) };
	if
	:: seen == WANTED || (seen == LATELY && ROOMY) -> ring()
	:: else
	fi;
	seen = 0
#else
	atomic { granted = granted - (k); held = held - (k) };
	tell_waiters()
#endif
}

inline raise_capacity()
{
	capacity = capacity + CHUNK;
#ifndef MUTANT_QUIET_RAISE
	tell_waiters()
#endif
}

/* take_credit - up to `ask` more for n. */
inline take_credit(ask)
{
	g = granted;
	do
	:: true ->
		atomic {
			left = MOST - g;
			if
			:: left > ask -> left = ask
			:: else
			fi
		};
		if
		:: left <= 0 -> break
		:: else
		fi;
		atomic {
			if
			:: granted != g -> g = granted; left = 0
			:: else -> granted = granted + left
			fi
		};
		if
		:: left == 0
		:: left > 0 ->
			atomic {
				if
#ifdef MUTANT_NO_LOOK_BACK
				:: true ->
#else
				:: g + left <= capacity ->
#endif
					n = n + left;
					held = held + left;
					assert(trimming || held <= capacity);
					left = 0;
					break
#ifndef MUTANT_NO_LOOK_BACK
				:: else -> granted = granted - left
#endif
				fi
			};
			tell_waiters();
			atomic { left = 0; g = granted }
		fi
	od;
	atomic { left = 0; g = 0 }
}

/* slab_grant - n = up to `want` credits. */
inline slab_grant(want)
{
	take_credit(want);
#if MAPS > 0 || defined(TRIM) || defined(SYSTEM)
	if
	:: n == want
	:: n < want ->
		lock(slab);
		do
		:: true ->
			take_credit(want - n);
			if
			:: n == want || capacity >= LIMIT || maps == 0 -> break
			:: else -> atomic { maps--; chunks++ }; raise_capacity()
			fi
		od;
		unlock(slab)
	fi
#else
	skip
#endif
}

/* --------------------------------------------------------------------------------- users */

/* keep - inside the door of user u. */
inline keep(u, most)
{
	atomic {
		lean[u] = wanted != UNWANTED;
		n = (lean[u] -> 0 : (credit[u] < most -> credit[u] : most));
#ifdef MUTANT_LEAN_KEEPS
		n = (credit[u] < most -> credit[u] : most);
#endif
		n = credit[u] - n;
		credit[u] = credit[u] - n
	};
	if
	:: n > 0 -> refund(n); n = 0
	:: else
	fi
}

proctype user(byte u)
{
	byte ops, n, seen, want;
	short g, left;

	do
	:: ops < OPS ->
		atomic { !door[u] -> door[u] = true; ops++ };
		if
		:: true ->                                      /* spend */
			if
			:: credit[u] == 0 ->                      /* borrow */
				atomic {
					want = (wanted == UNWANTED -> AT_ONCE : 1);
					lean[u] = want == 1
				};
				slab_grant(want);
				atomic { credit[u] = n; n = 0; want = 0 }
			:: else
			fi;
			atomic {
				if
				:: credit[u] > 0 -> credit[u]--; live[u]++
				:: else
				fi
			}
		:: live[u] > 0 ->                               /* earn */
			atomic { live[u]--; credit[u]++ };
			if
			:: lean[u] || credit[u] > AT_ONCE -> keep(u, AT_ONCE)
			:: else
			fi
		fi;
		unlock(door[u])
	:: else -> break
	od
}

/* ------------------------------------------------------------------------------------ Go */

/* give - grant of spawnwait.go, in the lock. */
inline give(collecting)
{
	do
	:: len(queue) > 0 ->
		want = len(queue);
		slab_grant(want);
		want = 0;
		if
		:: n > 0 ->
			atomic {
				do
				:: n > 0 -> queue?x; state[x] = GIVEN; n--
				:: else -> x = 0; break
				od
			}
		:: n == 0 && collecting -> break
		:: n == 0 && !collecting ->
			if
			:: granted > 0 -> break
			:: granted == 0 ->
#ifdef MUTANT_EARLY_NO_MEMORY
				atomic {
					assert(maps == 0 && MOST <= 0);
					queue?x; state[x] = NO_MEMORY; x = 0
				}
#else
				lock(slab);
				if
				:: capacity <= 0 ->
					if
					:: granted != 0
					:: granted == 0 && maps > 0 ->
						atomic { maps--; chunks++ };
						raise_capacity()
					:: granted == 0 && maps == 0 -> n = 1
					fi
				:: else
				fi;
				unlock(slab);
				if
				:: n == 1 ->
					atomic {
						assert(maps == 0 && MOST <= 0);
						queue?x; state[x] = NO_MEMORY; x = 0; n = 0
					}
				:: else
				fi
#endif
			fi
		fi
	:: else -> break
	od
}

/* serve - CRD4. */
inline serve()
{
	if
	:: wanted != UNWANTED ->
		lock(mu);
		give(false);
		if
		:: len(queue) > 0
		:: len(queue) == 0 ->
			wanted = LATELY;
			if
			:: ROOMY -> wanted = UNWANTED
			:: else
			fi
		fi;
		unlock(mu)
	:: else
	fi
}

/* collect - coroi_collect, and what unloads the submitters. */
inline collect()
{
	do
	:: x < USERS ->
		lock(door[x]);
		keep(x, 0);
		unlock(door[x]);
		x++
	:: else -> x = 0; break
	od
}

proctype waiter(byte w)
{
	byte n, x, seen, want;
	short g, left;
	bool first;

	/* enter */
	lock(mu);
	queue!w;
	atomic { first = wanted == UNWANTED };
#ifdef MUTANT_WANT_LATE
	give(first);
	wanted = WANTED;
#else
#ifdef MUTANT_NOT_WANTED_AGAIN
	if
	:: wanted == UNWANTED -> wanted = WANTED
	:: else
	fi;
#else
#ifdef MUTANT_COLLECT_FIRST
	if
	:: first -> collect()
	:: else
	fi;
#endif
	wanted = WANTED;                                        /* CRD1 */
#endif
	give(first);
#endif
	unlock(mu);
	if
	:: first ->
#ifndef MUTANT_NO_COLLECT
#ifndef MUTANT_COLLECT_FIRST
		collect();
#endif
#endif
#ifndef MUTANT_NO_SERVE
		serve()
#endif
	:: else
	fi;
	first = false;
end:	if
	:: state[w] != WAITS
#ifdef GIVE_UP
	:: true ->                                              /* leave */
		lock(mu);
		if
		:: state[w] == WAITS -> queue??eval(w)
		:: else
		fi;
		unlock(mu);
		if
		:: state[w] == GIVEN ->
			state[w] = WAITS;
#ifndef MUTANT_KEEPS_GIVEN
			refund(1)
#endif
		:: else
		fi
#endif
	fi;
	atomic {
		if
		:: state[w] == GIVEN -> live[0]++               /* it starts a coroutine */
		:: else
		fi;
		done++
	}
}

proctype poller()
{
	byte n, x, seen, want;
	short g, left;

	do
	:: true ->
#ifndef MUTANT_LATE_ARM
		go_sleeps = true;
#endif
		serve();
#ifdef MUTANT_LATE_ARM
		go_sleeps = true;
#endif
end:		atomic { rung -> rung = false }
	od
}

#ifdef TRIM
/* trim - spare: a chunk goes if what is granted does not need it. Its memory can be had again, or
 * somebody else has taken it. */
proctype trim()
{
	byte seen;

	lock(slab);
#ifdef MUTANT_TRIM_LOOKS_FIRST
	seen = granted;
	capacity = capacity - CHUNK;
	if
	:: seen <= capacity || seen == 0 ->
		atomic { assert(held <= capacity || held == 0); chunks-- };
#else
	atomic { capacity = capacity - CHUNK; trimming = true };
	if
	:: atomic { granted <= capacity || granted == 0 ->
		trimming = false;
		assert(held <= capacity || held == 0);
		chunks--
	   };
#endif
		if
		:: maps++
		:: true
		fi
	:: else ->
		raise_capacity();
		trimming = false
	fi;
	unlock(slab)
}
#endif

#ifdef SYSTEM
proctype system() { maps++ }
#endif

init
{
	byte u;
	short in_hand, alive;

	atomic {
		/* All credit is out. User 0 has some of it in hand. */
		granted = CHUNKS * CHUNK;
		held = granted;
		if
		:: granted > 0 -> credit[0] = 1; live[0] = granted - 1
		:: else
		fi;
		do
		:: u < USERS -> run user(u); u++
		:: else -> u = 0; break
		od;
		do
		:: u < WAITERS -> run waiter(u); u++
		:: else -> u = 0; break
		od;
#ifdef TRIM
		run trim();
#endif
#ifdef SYSTEM
		run system();
#endif
		run poller()
	};
	timeout;
	/* Nobody goes on: all are through, but those that wait. */
	assert(!mu && !slab && !trimming && !rung);
	do
	:: u < USERS ->
		assert(!door[u]);
		in_hand = in_hand + credit[u];
		alive = alive + live[u];
		u++
	:: else -> break
	od;
	assert(done + len(queue) == WAITERS);
	assert(granted == held && held == in_hand + alive);
	assert(held <= MOST || held == 0);
	assert(len(queue) == 0 || (granted >= MOST && in_hand == 0 && alive > 0));
	assert(wanted != LATELY || !ROOMY)
}
