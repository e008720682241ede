/*
 * fork.pml - forks: FRK1 to FRK6, FST1 to FST3, FSU1, FSU2, FMV1, FCA1, FCA2 and FEX1 of
 * kernel/fork.h.
 *
 * Coroutine 0 begins the forks 0 and 1, and the child of fork 1 begins fork 2. The child of fork f
 * is coroutine f + 1. There are two workers, and each steals from the other when it has nothing to
 * run. A coroutine that has forks may first yield by the clock, or wait; so may a child. Then it
 * joins its forks, in any order. A coroutine that is done returns.
 *
 * What is as in the code
 *   the words   word and child of a fork, and the steps that change them.
 *   the deque   is the worker's, oldest first. What is in it, and who has taken what is not.
 *   stacks      An inlined child has its parent's stack and home. Its parent is in no queue.
 *
 * What is abstracted
 *   doors       are one lock each: what is done inside is one step. The push of FRK1 is one too.
 *   queues      are sets. A thief takes anything out of one.
 *   memory      is sequentially consistent, and a fork is a number.
 *   sleeping    A worker sees what there is to steal: idle.pml is about that.
 *   credit      is one number for both workers.
 *
 * What is claimed
 *   - Each fork runs exactly once, or its parent is told that the fork has not begun (asserts in
 *     begin_child and settle).
 *   - No parent that waits is lost, and no cancel of a child that waits for one (invalid end state).
 *   - No fork is used after its parent has left it (assert in use).
 *   - A worker that goes on with something else has no forks (assert in suspend).
 *   - A coroutine runs where its home is (assert in go_on).
 *   - Stacks in use are no more than children that were stolen, or promoted by a wait, and one
 *     (assert in worker).
 *
 * Parameters: SLICES (yields by the clock of each coroutine), WAITS (the coroutines that wait once,
 * as a set), CREDIT (for how many children). With CANCEL coroutine 0 is cancelled once, and a child
 * that waits is not woken: only its cancel ends the wait. With ABORT a coroutine may end before it
 * has joined all. Mutants: MUTANT_...
 */
#ifndef SLICES
#define SLICES 0
#endif
#ifndef WAITS
#define WAITS 0
#endif
#ifndef CREDIT
#define CREDIT 3
#endif

#define FORKS 3
#define COROUTINES 4
#define NONE 9

#define owner(f) (f == 2 -> 2 : 0)
#define child_of(f) (f + 1)
#define fork_of(c) (c - 1)
#define STARTED(c) (1 << (c))
#define UNSTARTED(f) (1 << (COROUTINES + (f)))

mtype = { BEGUN, PRIVATE, PARENT, DONE };      /* word */
mtype = { NOBODY, HANDLE, CANCEL_FIRST };      /* child */
mtype = { FRESH, ACTIVE, PARKED, WAITING, COMMITTED, ENDED }; /* state of a coroutine */

/* Workers. */
byte cur[2] = NONE;
byte queue[2];
byte ring[6];           /* FORKS for each worker, the oldest first */
byte n[2];

/* Forks. */
mtype word[FORKS] = BEGUN, child[FORKS] = NOBODY;
bit away[FORKS];

/* Coroutines. */
mtype state[COROUTINES] = FRESH;
bit home[COROUTINES];
bit inlined[COROUTINES], event[COROUTINES], canceled[COROUTINES];
byte above[COROUTINES] = NONE;  /* the child that an INLINES has called */
byte credit = CREDIT;

/* Not in the code: the claims are stated with these. */
byte begun[FORKS];
bit told[FORKS];        /* its parent hears that it has not begun */
bit gone[FORKS];        /* its parent has left it */
bit over[FORKS];        /* it has run, and its result is there */
byte stacks = 1, apart; /* children that were stolen, or promoted by a wait */

#define running(c) (cur[home[c]] == c)
#define slot(i) ring[home[c] * FORKS + (i)]

inline use(f)
{
	assert(!gone[f])
}

/* go_on - c, which was suspended or called its child, is current again. */
inline go_on()
{
	running(c)
}

/* drop_at - take the i-th out of w's deque. */
inline drop_at(w, i)
{
	k = i;
	do
	:: k + 1 < n[(w)] -> ring[(w) * FORKS + k] = ring[(w) * FORKS + k + 1]; k++
	:: else -> break
	od;
	n[(w)]--;
	ring[(w) * FORKS + n[(w)]] = 0;
	k = 0
}

/* promote - FSU2 of all. */
inline promote(counts)
{
	do
	:: n[home[c]] > 0 ->
		x = slot(0);
		use(x);
		if
		:: credit > 0 ->
			credit--;
			away[x] = 1;
			queue[home[c]] = queue[home[c]] | UNSTARTED(x);
			apart = apart + counts
		:: else ->
#ifndef MUTANT_LOST
			word[x] = PRIVATE
#endif
		fi;
#ifdef MUTANT_PROMOTED_KEPT
		break;
#endif
		drop_at(home[c], 0)
	:: else -> break
	od;
	x = 0
}

/* suspend - c gives its worker up. */
inline suspend()
{
#ifndef MUTANT_PROMOTED_KEPT
	assert(n[home[c]] == 0);
#endif
	cur[home[c]] = NONE
}

/* wake - what waits is queued at home. */
inline wake(r)
{
	state[r] = ACTIVE;
	queue[home[r]] = queue[home[r]] | STARTED(r)
}

/* cancel - CAN1 and FCA1: r and what is above it, in the door of their home. */
inline cancel(r)
{
	k = r;
	do
	:: canceled[k] = 1;
		if
#ifndef MUTANT_CANCEL_STOPS
		:: above[k] != NONE -> k = above[k]
#endif
		:: else -> break
		fi
	od;
	if
	:: state[k] == PARKED || state[k] == WAITING -> wake(k)
	:: else
	fi;
	k = 0
}

inline begin_child(f)
{
	use(f);
	begun[f]++;
	assert(begun[f] == 1)
}

/* settle - the parent leaves f. */
inline settle(f)
{
	assert(told[f] == (begun[f] == 0));
	assert(told[f] || over[f]);
	away[f] = 0;
	gone[f] = 1
}

/* cancel_away - FCA2 of all that are c's. */
inline cancel_away()
{
	g = 0;
	do
	:: g < FORKS && owner(g) == c && away[g] ->
#ifdef MUTANT_PLAIN_CANCEL
		was = child[g];
		child[g] = CANCEL_FIRST;
#else
		atomic { was = child[g]; child[g] = CANCEL_FIRST };
#endif
		atomic {
			if
			:: was == HANDLE && state[child_of(g)] != ENDED -> cancel(child_of(g))
			:: else
			fi;
			was = 0;
			g++
		}
	:: g < FORKS && !(owner(g) == c && away[g]) -> g++
	:: else -> break
	od;
	g = 0
}

/* await - FRK6. commits: the wait is not withdrawn, as the child is cancelled already. */
inline await(f, commits)
{
	committed = commits;
#ifdef MUTANT_PLAIN_WAIT
	if
	:: word[f] == BEGUN -> word[f] = PARENT; waits = 1
	:: else -> waits = 0
	fi;
#else
	atomic {
		if
		:: word[f] == BEGUN -> word[f] = PARENT; waits = 1
		:: else -> waits = 0
		fi
	};
#endif
	do
	:: waits ->
		atomic {
			if
			:: event[c] -> event[c] = 0; waits = 0
			:: !event[c] && canceled[c] && !committed -> skip
			:: else ->
				state[c] = (committed -> COMMITTED : WAITING);
#ifndef MUTANT_LEFT
				promote(1);
#endif
				suspend()
			fi
		};
		go_on();
		if
		:: waits && !event[c] && canceled[c] && !committed -> cancel_away(); committed = 1
		:: else
		fi
	:: else -> break
	od;
	assert(word[f] == DONE);
	committed = 0
}

/* join - of f, which is c's. */
inline join(f)
{
	atomic {
		use(f);
		i = 0;
		do
		:: i < n[home[c]] && slot(i) != f -> i++
		:: else -> break
		od;
#ifdef MUTANT_POP_OUTSIDE
		here = i < n[home[c]]
	};
	atomic {
		if
		:: here && n[home[c]] > 0 -> drop_at(home[c], n[home[c]] - 1)
		:: else
		fi;
		here = here || word[f] == PRIVATE;
#else
		if
		:: i < n[home[c]] -> drop_at(home[c], i); here = 1      /* FRK5 */
		:: else -> here = word[f] == PRIVATE
		fi;
#endif
		i = 0;
		if
		:: here && (canceled[c] || credit == 0) -> told[f] = 1
		:: here && !canceled[c] && credit > 0 ->                /* FRK3 */
			begin_child(f);
			credit--;
			inlined[child_of(f)] = 1;
			home[child_of(f)] = home[c];
			state[child_of(f)] = ACTIVE;
			above[c] = child_of(f);
			cur[home[c]] = child_of(f)
		:: else
		fi
	};
	go_on();                                                        /* FRK4 */
	if
	:: !here -> await(f, 0)
	:: else
	fi;
	atomic { here = 0; settle(f) }
}

/* exit - FEX1. */
inline exit()
{
	atomic {
		do
		:: n[home[c]] > 0 && owner((slot(n[home[c]] - 1))) == c ->
			x = slot(n[home[c]] - 1);
			drop_at(home[c], n[home[c]] - 1);
			told[x] = 1
		:: else -> break
		od;
		x = 0
	};
	cancel_away();
	f = 0;
	do
	:: f < FORKS ->
		if
		:: owner(f) == c && joined[f] == 0 ->
			if
			:: away[f] ->
#ifndef MUTANT_EXIT_HASTY
				await(f, 1)
#endif
			:: word[f] == PRIVATE -> told[f] = 1
			:: else
			fi;
#ifdef MUTANT_EXIT_HASTY
			gone[f] = 1;
#else
			atomic { settle(f) };
#endif
			joined[f] = 1
		:: else
		fi;
		f++
	:: else -> break
	od;
	f = 0
}

proctype coroutine(byte c)
{
	byte i, k, x, f, g, slices, kept[FORKS], held;
	bit here, waits, committed, waited, joined[FORKS], aborts, is_told;
	mtype was;

end_not_begun:
	running(c);
	/* FST2 */
	if
	:: c > 0 && !inlined[c] ->
#ifdef MUTANT_PLAIN_CHILD
		was = child[fork_of(c)];
		child[fork_of(c)] = HANDLE;
#else
		atomic {
			use(fork_of(c));
			was = child[fork_of(c)];
			child[fork_of(c)] = HANDLE
		};
#endif
		if
		:: was == CANCEL_FIRST -> is_told = 1; told[fork_of(c)] = 1; goto ended
		:: else -> atomic { was = 0; begin_child(fork_of(c)) }
		fi
	:: else
	fi;

	/* FRK1 */
	f = 0;
	do
	:: f < FORKS ->
		if
		:: owner(f) == c ->
			atomic { slot(n[home[c]]) = f; n[home[c]]++ }
		:: else
		fi;
		f++
	:: else -> break
	od;
	f = 0;

	do
	:: slices < SLICES ->
		slices++;
		atomic {                                                /* FSU1 */
#ifdef MUTANT_YIELD_PROMOTES
			promote(0);
#else
			do
			:: held < n[home[c]] -> kept[held] = slot(held); held++
			:: else -> break
			od;
			do
			:: n[home[c]] > 0 -> drop_at(home[c], n[home[c]] - 1)
			:: else -> break
			od;
#endif
			queue[home[c]] = queue[home[c]] | STARTED(c);
			suspend()
		};
		go_on();
		i = 0;
		do
		:: i < held ->
			atomic { slot(n[home[c]]) = kept[i]; n[home[c]]++ };
			kept[i] = 0;
			i++
		:: else -> break
		od;
		atomic { i = 0; held = 0 }
	:: (WAITS >> c & 1) && !waited ->
		waited = 1;
		atomic {
			if
			:: !canceled[c] ->
				state[c] = PARKED;
#ifndef MUTANT_LEFT
				promote(1);
#endif
				suspend()
			:: else
			fi
		};
		go_on()
	:: else -> break
	od;

	/* The joins, in any order; or the end before. */
	do
	:: (c == 0 && !(joined[0] && joined[1])) || (c == 2 && !joined[2]) ->
		if
		:: c == 0 && !joined[0] -> f = 0
		:: c == 0 && !joined[1] -> f = 1
		:: c == 2 -> f = 2
#ifdef ABORT
		:: exit(); goto ended
#endif
		fi;
		join(f);
		joined[f] = 1;
		f = 0
	:: else -> break
	od;

ended:
	if
	:: c > 0 && inlined[c] ->                                       /* FRK4 */
		atomic {
			over[fork_of(c)] = 1;
			state[c] = ENDED;
			credit++;
			assert(home[owner(fork_of(c))] == home[c]);
			above[owner(fork_of(c))] = NONE;
			cur[home[c]] = owner(fork_of(c))
		}
	:: c > 0 && !inlined[c] ->                                      /* FST3 */
		over[fork_of(c)] = !is_told;
#ifdef MUTANT_PLAIN_END
		was = word[fork_of(c)];
		word[fork_of(c)] = DONE;
#else
		atomic {
			use(fork_of(c));
			was = word[fork_of(c)];
			word[fork_of(c)] = DONE
		};
#endif
#ifdef MUTANT_TOUCHED
		use(fork_of(c));
#endif
		if
		:: was == PARENT ->
			atomic {
				i = owner(fork_of(c));
				if
				:: state[i] == WAITING || state[i] == COMMITTED -> event[i] = 1; wake(i)
				:: else -> event[i] = 1
				fi;
				i = 0
			}
		:: else
		fi;
		atomic { state[c] = ENDED; stacks--; credit++; suspend() }
	:: else -> atomic { state[c] = ENDED; suspend() }
	fi
}

/* move - FMV1: r goes to worker me. */
inline move(r)
{
	home[r] = me;
#ifndef MUTANT_PARENT_STAYS
	do
	:: inlined[r] -> r = owner(fork_of(r)); home[r] = me
	:: else -> break
	od
#endif
}

inline any_of(set)
{
	if
	:: set & STARTED(0) -> r = 0
	:: set & STARTED(1) -> r = 1
	:: set & STARTED(2) -> r = 2
	:: set & STARTED(3) -> r = 3
	:: set & UNSTARTED(0) -> r = COROUTINES
	:: set & UNSTARTED(1) -> r = COROUTINES + 1
	:: set & UNSTARTED(2) -> r = COROUTINES + 2
	fi
}

proctype worker(bit me)
{
	byte r, k;

	do
	:: atomic {
		cur[me] == NONE && queue[me] != 0 ->
		any_of(queue[me]);
		queue[me] = queue[me] & ~(1 << r);
		if
		:: r < COROUTINES -> assert(home[r] == me)
		:: else ->
			r = child_of(r - COROUTINES);
			home[r] = me;
			state[r] = ACTIVE;
			stacks++;
			assert(stacks <= apart + 1)
		fi;
		cur[me] = r;
		r = 0
	   }
	:: atomic {                                                     /* FST1 */
		cur[me] == NONE && queue[me] == 0 && n[1 - me] > 0 && credit > 0 ->
		r = ring[(1 - me) * FORKS];
		use(r);
		credit--;
		apart++;
		away[r] = 1;
		queue[me] = UNSTARTED(r);
#ifdef MUTANT_HEAD_OUTSIDE
		r = 0
	   };
	   atomic {
		if
		:: n[1 - me] > 0 -> drop_at(1 - me, 0)
		:: else
		fi
#else
		drop_at(1 - me, 0);
		r = 0
#endif
	   }
	:: atomic {
		cur[me] == NONE && queue[me] == 0 && queue[1 - me] != 0 ->
		any_of(queue[1 - me]);
		queue[1 - me] = queue[1 - me] & ~(1 << r);
		queue[me] = 1 << r;
		if
		:: r < COROUTINES -> move(r)
		:: else
		fi;
		r = 0
	   }
	:: state[0] == ENDED && cur[me] == NONE && queue[0] == 0 && queue[1] == 0 -> break
	od
}

/* Whoever waits is woken once: all but children that wait for their cancel. */
proctype waker()
{
	do
	:: atomic { state[0] == PARKED -> wake(0) }
#ifndef CANCEL
	:: atomic { state[1] == PARKED -> wake(1) }
	:: atomic { state[2] == PARKED -> wake(2) }
	:: atomic { state[3] == PARKED -> wake(3) }
#endif
	:: state[0] == ENDED -> break
	od
}

proctype canceler()
{
	byte k;

	atomic {
		if
		:: state[0] != ENDED -> cancel(0)
		:: else
		fi
	}
}

init
{
	atomic {
		cur[0] = 0;
		state[0] = ACTIVE;
		run coroutine(0);
		run coroutine(1);
		run coroutine(2);
		run coroutine(3);
		run worker(0);
		run worker(1);
#ifdef CANCEL
		run canceler();
#endif
#if WAITS
		run waker();
#endif
	}
}
