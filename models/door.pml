/*
 * door.pml - the asymmetric lock of a worker, and stealing through the lock: DRO1 to DRO6 and DRT1
 * to DRT6 of door.h.
 *
 * The threads are one owner, THIEVES thieves (worker ids 1...), one foreign locker
 * (coroi_door_lock), and one sender of remote wakes.
 *
 * What is as in the code
 *   req            is the same word, with the same encoding, changed by the same compare-and-swaps.
 *   owner          is coroi_door_enter, coroi_door_try (a door that is not free: leave, then
 *                  enter), coroi_door_slow with its futex and WAITER bit, and coroi_door_leave.
 *   thief          is coroi_door_knock, then steal() and take() of steal.c. A thief that is served
 *                  gets a steal buffer. A thief that locks takes from the queue, and from the next
 *                  one and the remote wakes if the queue is empty.
 *   foreign        is coroi_door_lock. The foreign locker knocks until it has the door, and then
 *                  looks at everything, as a cancel does.
 *
 * What is abstracted
 *   memory         The owner's stores go through a buffer of BUFFER entries. The owner's loads look
 *                  there first. On amd64 (TSO) stores leave the buffer in order. With -DPSO, for
 *                  arm64, stores to different words leave in any order, but a release store only
 *                  after all stores before it. Read-modify-writes empty the buffer. membarrier
 *                  (DRT3) empties it from outside. The thieves store inside the lock, whose end is
 *                  a read-modify-write, so thieves need no buffer. Loads are not reordered: the
 *                  loads that matter are acquires.
 *   coroutines     are bits. The queue is a set: the door does not depend on its order. Ring, head
 *                  and count are one word.
 *   DRT2         is a choice, since time is one. A thief that is served in time goes to DRT6. Any
 *                  other thief goes on.
 *   DRT4, DRT5     The thief may give up whenever it has found busy set. It may not give up while
 *                  the owner is known to wait outside with an empty buffer: then the next look
 *                  finds busy clear.
 *   knocking       Thieves knock without looking at the racy lengths. They knock more often than
 *                  thieves do in the code.
 *
 * What is claimed
 *   - Never are two inside (assert in come_in).
 *   - Each coroutine is taken at most once (assert in take_mask). None is lost (assert in init).
 *   - The holder of the lock finds everything there that is not taken (assert in foreign).
 *   - There is no deadlock, and an owner that sleeps on req misses no wake-up (invalid end state).
 *
 * Parameters: THIEVES, KNOCKS (of each thief), LOCKS (of the foreign locker), LAPS (of the owner,
 * two sections each), BUFFER, PSO, EXCHANGE (doors without membarrier). Mutants: MUTANT_..., each
 * named where it changes something.
 */
#ifndef THIEVES
#define THIEVES 2
#endif
#ifndef KNOCKS
#define KNOCKS 2
#endif
#ifndef LOCKS
#define LOCKS 1
#endif
#ifndef LAPS
#define LAPS 2
#endif
#ifndef BUFFER
#define BUFFER 8
#endif

/* The word req: what | WAITER | thief << 3. */
#define FREE 0
#define ASK 1
#define SERV 2
#define LOCK 3
#define WAITER 4
#define WORD(what, t) (what + (t << 3))
#define WHAT(word) (word & 3)
#define THIEF(word) (word >> 3)
#define FOREIGN 3

/* Words in memory. */
#define BUSY 0
#define REQ 1
#define QUEUE 2
#define NEXT 3
#define STEAL_BUF 3 /* STEAL_BUF + t: the steal buffer of thief t, 1 or 2 */
#define WORDS 6
#define RELEASE 8

/* Coroutines: a lap of the owner makes two, and the remote wakes bring two. */
#define WAKE_1 64
#define WAKE_2 128

byte mem[WORDS];
byte inbox;

byte buffered;          /* stores in the owner's buffer, oldest first */
byte where[BUFFER], what[BUFFER];

bool sleeping;          /* the owner is in futex_wait on req */

/* Not in the code: the claims are stated with these. */
byte inside;
byte made, taken;       /* coroutines that exist; coroutines that were taken out to be run */
byte on_the_way;        /* coroutines that are given, and that the thief has not found yet */
bool waiting;           /* the owner waits outside for req to change */

inline flush(i)
{
	mem[where[i] & 7] = what[i];
	k = i + 1;
	do
	:: k < buffered ->
		where[k - 1] = where[k];
		what[k - 1] = what[k];
		k++
	:: else -> break
	od;
	buffered--;
	where[buffered] = 0;
	what[buffered] = 0;
	k = 0
}

inline flush_all()
{
	do
	:: buffered > 0 -> flush(0)
	:: else -> break
	od;
	k = 0
}

/* store, load - the owner's plain or release store, and the owner's load. */
inline store(word, value)
{
	d_step {
		assert(buffered < BUFFER);
		where[buffered] = word;
		what[buffered] = value;
		buffered++
	}
}

inline load(word, result)
{
	d_step {
		result = mem[word];
		k = 0;
		do
		:: k < buffered ->
			if
			:: (where[k] & 7) == word -> result = what[k]
			:: else
			fi;
			k++
		:: else -> break
		od;
		k = 0
	}
}

inline come_in()
{
	inside++;
	assert(inside == 1)
}

inline take_mask(mask)
{
	assert((taken & (mask)) == 0);
	taken = taken | (mask)
}

/* half - the last n members of a set. n is half of them, rounded up or down, as in the code. */
inline half(set, up, out)
{
	n = 0;
	k = 0;
	do
	:: k < 8 -> n = n + ((set >> k) & 1); k++
	:: else -> break
	od;
	n = (n + up) / 2;
	out = 0;
	k = 8;
	do
	:: n > 0 && k > 0 ->
		k--;
		if
		:: (set >> k) & 1 -> out = out | (1 << k); n--
		:: else
		fi
	:: else -> break
	od;
	k = 0;
	n = 0
}

inline lowest(set, out)
{
	k = 0;
	do
	:: ((set >> k) & 1) == 0 -> k++
	:: else -> break
	od;
	out = 1 << k;
	k = 0
}

/* ----------------------------------------------------------------------------- the owner */

inline leave()
{
	atomic {
		inside--;
#ifdef MUTANT_PLAIN_LEAVE
		store(BUSY, 0)
#else
		store(BUSY | RELEASE, 0)                /* DRO6 */
#endif
	}
}

/* pick - the next one, else the front of the queue. */
inline pick()
{
	atomic { load(NEXT, x) };
	if
	:: x != 0 ->
		atomic { take_mask(x); store(NEXT, 0) }
	:: else ->
		atomic { load(QUEUE, q) };
		if
		:: q != 0 -> atomic { lowest(q, x); take_mask(x); store(QUEUE, q - x) }
		:: else
		fi
	fi;
	x = 0; q = 0
}

proctype owner()
{
	byte r, x, q, k, n, section;

d1:
	buffered + 5 <= BUFFER;                         /* room for the stores of a section */
#ifdef EXCHANGE
#if defined(MUTANT_LDAPR) || defined(MUTANT_PLAIN_ENTER)
	/* DRO3 passes DRO1's store: by an acquire load that may (ldapr), or without an exchange */
	d_step { flush_all() };
	store(BUSY, 1);
#else
	d_step { flush_all(); mem[BUSY] = 1 };          /* DRO1, an exchange */
#endif
#else
	store(BUSY, 1);                                 /* DRO1 */
#endif
	atomic {                                        /* DRO3 */
		load(REQ, r);
		if
		:: r == FREE -> come_in(); goto in
		:: else
		fi
	};
	if
	:: true                                         /* coroi_door_enter: slow */
	:: atomic { store(BUSY | RELEASE, 0); goto d1 } /* coroi_door_try: leave, then enter */
	fi;
slow:
	atomic {
		load(REQ, r);
		if
		:: r == FREE -> come_in(); goto in
		:: else
		fi
	};
	if
	:: WHAT(r) == ASK && THIEF(r) == FOREIGN ->
		atomic {
			waiting = true;
#ifndef MUTANT_STAY_IN
			store(BUSY | RELEASE, 0)        /* DRO5: this thief wants the door itself */
#endif
		};
		mem[REQ] != r /* the buffer has no store to req: DRO3 would have found it */
	:: WHAT(r) == ASK && THIEF(r) != FOREIGN ->
		d_step {                                /* DRO4 */
			flush_all();
			if
#ifdef MUTANT_BLIND_SERVE
			:: true -> mem[REQ] = WORD(SERV, THIEF(r)); come_in(); x = 1
#else
			:: mem[REQ] == r -> mem[REQ] = WORD(SERV, THIEF(r)); come_in(); x = 1
			:: else -> x = 0
#endif
			fi
		};
		if
		:: x == 0 -> goto slow
		:: else -> x = 0
		fi;
		atomic {
			load(QUEUE, q);
			half(q, 0, x);
			on_the_way = on_the_way | x;
			store(QUEUE, q - x)
		};
		store(STEAL_BUF + THIEF(r), x);
		x = 0; q = 0;
#ifdef MUTANT_PLAIN_SERVED
		store(REQ, FREE);
#else
		store(REQ | RELEASE, FREE);
#endif
		goto in
	:: WHAT(r) == LOCK ->
		atomic {
			waiting = true;
#ifndef MUTANT_STAY_IN
			store(BUSY | RELEASE, 0)        /* DRO5 */
#endif
		};
		do
		:: WHAT(mem[REQ]) != LOCK -> break
		:: atomic { WHAT(mem[REQ]) == LOCK -> x = mem[REQ] };
		   d_step {
			flush_all();
			if
#ifdef MUTANT_BLIND_WAITER
			:: true -> mem[REQ] = x | WAITER
#else
			:: mem[REQ] == x -> mem[REQ] = x | WAITER
			:: else -> x = 0
#endif
			fi;
			k = 0
		   };
		   if
		   :: x == 0
		   :: x != 0 ->
			if
			:: atomic { mem[REQ] == (x | WAITER) -> x = 0; sleeping = true };
				!sleeping
			:: atomic { mem[REQ] != (x | WAITER) -> x = 0 }
			fi
		   fi
		od
	:: else -> goto slow /* SERV: the thief has no buffer yet (in blind mutants only) */
	fi;
	atomic { waiting = false; flush_all(); mem[BUSY] = 1; goto slow }; /* DRO1, an exchange */
in:
	r = 0;
	if
	:: section & 1 ->
		/* Look into the inbox, choose the next one. */
		if
		:: inbox != 0 ->
			d_step { flush_all(); x = inbox; inbox = 0 };
			atomic { load(QUEUE, q); store(QUEUE, q | x); x = 0; q = 0 }
		:: true
		fi;
		pick()
	:: else ->
		/* Spawn one, wake another: the former next one goes to the back. */
		atomic {
			load(QUEUE, q);
			n = 1 << section;
			made = made | n;
			q = q | n;
			store(QUEUE, q)
		};
		atomic {
			load(NEXT, x);
			n = 2 << section;
			made = made | n;
			if
			:: x != 0 -> store(QUEUE, q | x)
			:: else
			fi;
			store(NEXT, n);
			x = 0; q = 0; n = 0
		}
	fi;
	leave();
	section++;
	if
	:: section < 2 * LAPS -> goto d1
	:: else
	fi
	/* The owner computes from now on, and never returns: the rest is for the others. */
}

/* The owner's CPU: buffered stores reach memory at some time. */
proctype cpu()
{
	byte k, i;
end:
	do
	:: atomic { buffered > 0 -> flush(0) }
#ifdef PSO
	:: atomic {
		buffered > 1 ->
		i = 1;
		do
		:: i < buffered - 1 -> i++
		:: true -> break
		od;
		k = 0;
		do
		:: k < i && (where[k] & 7) != (where[i] & 7) -> k++
		:: else -> break
		od;
		if
		:: k == i && (where[i] & RELEASE) == 0 -> flush(i)
		:: else
		fi;
		i = 0; k = 0
	   }
#endif
	od
}

/* --------------------------------------------------------------------------- the thieves */

/* Results of a knock. */
#define REFUSED 0
#define SERVED 1
#define LOCKED 2

/* knock - DRT1 to DRT6. */
inline knock(t)
{
	result = REFUSED;
	atomic {
		if
		:: mem[REQ] == FREE -> mem[REQ] = WORD(ASK, t)          /* DRT1 */
		:: else -> goto known
		fi
	};
	if
	:: t != FOREIGN && mem[REQ] != WORD(ASK, t) -> goto served    /* DRT2 */
	:: true
	fi;
#if !defined(EXCHANGE) && !defined(MUTANT_NO_BARRIER)
	d_step { flush_all() };                                         /* DRT3, membarrier */
#endif
	do
	:: mem[REQ] != WORD(ASK, t) -> goto served                      /* DRT4 */
#ifdef MUTANT_NO_BUSY_CHECK
	:: true ->
#else
	:: mem[BUSY] == 0 ->
#endif
		atomic {
			if
#ifdef MUTANT_BLIND_LOCK
			:: true ->
#else
			:: mem[REQ] == WORD(ASK, t) ->
#endif
				mem[REQ] = WORD(LOCK, t);
				come_in();
				result = LOCKED;
				goto known
#ifndef MUTANT_BLIND_LOCK
			:: else
#endif
			fi
		};
		goto served
	:: atomic {
		mem[BUSY] != 0 && !(waiting && buffered == 0) ->        /* DRT5 */
		if
#ifdef MUTANT_BLIND_GIVE_UP
		:: true -> mem[REQ] = FREE; goto known
#else
		:: mem[REQ] == WORD(ASK, t) -> mem[REQ] = FREE; goto known
		:: else -> goto served
#endif
		fi
	   }
	od;
served:
#ifndef MUTANT_HASTY_SERVE
	mem[REQ] != WORD(SERV, t);                                      /* DRT6 */
#endif
	result = SERVED;
known:
	skip
}

inline unlock()
{
	d_step {
		x = mem[REQ];
		mem[REQ] = FREE;
		inside--
	};
#ifndef MUTANT_NO_WAKE
	if
	:: x & WAITER -> sleeping = false
	:: else
	fi;
#endif
	x = 0
}

proctype thief(byte t)
{
	byte result, x, q, k, n, tries;

	do
	:: tries < KNOCKS ->
		tries++;
		knock(t);
		if
		:: result == REFUSED
		:: result == SERVED ->
			d_step {
				x = mem[STEAL_BUF + t];
				take_mask(x);
				on_the_way = on_the_way & ~x;
				x = 0
			}
		:: result == LOCKED ->
			d_step {
				q = mem[QUEUE];
				if
				:: q == 0 ->
					q = mem[NEXT] | inbox;
					mem[NEXT] = 0;
					inbox = 0
				:: else
				fi;
				half(q, 1, x);
				take_mask(x);
				mem[QUEUE] = q - x;
				x = 0; q = 0
			};
			unlock()
		fi;
		result = 0
	:: else -> break
	od
}

proctype foreign()
{
	byte result, x, k, locks;

	do
	:: locks < LOCKS ->
		do
		:: knock(FOREIGN);
			if
			:: result == LOCKED -> break
			:: else
			fi
		od;
		locks++;
		/* Nothing is hidden from the holder of the door. */
		assert((mem[QUEUE] | mem[NEXT] | inbox | taken | on_the_way) == made);
		assert((mem[QUEUE] & mem[NEXT]) == 0);
		assert(((mem[QUEUE] | mem[NEXT] | inbox) & (taken | on_the_way)) == 0);
		unlock();
		result = 0
	:: else -> break
	od
}

proctype sender()
{
	atomic { made = made | WAKE_1; inbox = inbox | WAKE_1 };
	atomic { made = made | WAKE_2; inbox = inbox | WAKE_2 }
}

init
{
	byte k, t;

	atomic {
		run cpu();
		run owner();
		run thief(1);
#if THIEVES > 1
		run thief(2);
#endif
#if LOCKS > 0
		run foreign();
#endif
		run sender()
	};
	/* All but init and the CPU are done. Each coroutine was taken once, or the owner finds it
	 * where it lies. */
	_nr_pr == 2;
	d_step { flush_all() };
	assert(inside == 0 && !waiting && !sleeping);
	assert(mem[BUSY] == 0 && mem[REQ] == FREE);
	assert(on_the_way == 0);
	assert(((mem[QUEUE] | mem[NEXT] | inbox) & taken) == 0);
	assert((mem[QUEUE] | mem[NEXT] | inbox | taken) == made)
}
