/*
 * wake.pml - the wake word, the join word and the reuse of a record: W1 to W5 and C1 to C4 of csrc/wait.c,
 * J1 to J3 of csrc/join.c.
 *
 * Two workers, records 0 (the target, whose record is used a second time) and 1 (the joiner), threads outside.
 *   SCENE 1  wakes  the target parks twice; three threads wake it, one from a worker (coro_wake at home, or mail), so that
 *                   one may come too late
 *   SCENE 2  joins  the target ends; a coroutine joins it; mail for the target meanwhile. With -DCANCEL all waits are
 *                   cancelled, with -DGO a goroutine waits for it too, with -DDETACH somebody detaches it
 * With -DCANCEL_ONE somebody cancels one of them: in scene 1 the target, from outside and, as a waker on worker 1, perhaps at
 * home, and there is one wake-up less than it parks; in scene 2 the joiner, from outside.
 * In both, the record is then used by another coroutine, which parks once and is woken once, while what was late before
 * may still be on its way. Both coroutines move between the workers by steals, and a thief drains its victim's inbox.
 *
 * What is as in the code: coro_cancel, mail (W1, W2), coroi_mail_locked (W3, W5), coroi_end_locked and free_word (W4), is_home_locked
 * and wake_home_locked, coro_park, coro_join with await_event and unregister, coro_detach, Register and Take of join.go,
 * end_joinable_locked (J2), coroi_join_free (J3), coroi_deque_give, cancel.
 *
 * What is abstracted
 *   words     a compare-and-swap in a loop is one step: it depends on nothing but the word. Loads of other words are
 *             steps of their own, in the order of the code. Memory is sequentially consistent.
 *   doors     a lock; steps inside it that touch only what the door protects are taken together.
 *   sleeping  a worker sees what is in its inbox: idle.pml is about that.
 *   run loop  a coroutine's own steps; queues are sets. All permits of one mail are delivered together, as in the code.
 *
 * What is claimed
 *   - a record is in at most one inbox, once (assert in push), is never freed while it is a node, nor twice (assert in put)
 *   - permits are conserved: the second user of the record gets its own one, and no other (asserts in ends)
 *   - no wake-up and no event is lost: all coroutines end (invalid end state); none is left over (asserts in ends)
 *   - a cancel reaches whom it was for: one that is not woken often enough ends by it (invalid end state); and not
 *     the next user of its record (asserts in ends)
 *
 * Parameters: SCENE, CANCEL, CANCEL_ONE, GO, DETACH; LIMIT_DESTROY shows what a destroy that does not wait for
 * wakers from outside would do. Mutants: MUTANT_...
 */
#ifndef SCENE
#define SCENE 1
#endif

#define BIT(i) (1 << (i))
#define TARGET 0
#define JOINER 1

mtype = { FREE, FRESH, ACTIVE, PARKED, JOINING, ENDED };
mtype = { NOBODY, COROUTINE, BY_GO, DONE, DETACHED, TAKEN, FOR_GO };

/* The wake words. */
byte gen[2] = 1;
bool escaped[2], event_bit[2], cancel_bit[2];
byte count[2];

/* The rest of the records. */
mtype state[2] = ACTIVE;
byte home[2];
byte permits[2];
bool event[2], coded[2];        /* coded: its code is CORO_ECANCELED */
bool canceled[2];
mtype join = NOBODY;            /* of the target */
byte join_gen = 1;

/* The workers. */
bool door[2];
byte queue[2], inbox[2];
bool cancel;

bool listed;                    /* the target is on the list of the done */

/* Not in the code. */
bool node[2];                   /* some waker, inbox or worker has it as a mail */
bool freed[2];
byte parks = 2;                 /* the target's body still has to do */
byte stage;                     /* the joiner's */
byte given, taken;              /* the second user's permits */
bool over_1, over_2, over_j;    /* ends */
bool destroyed;

#define IS_OVER(s) (s == ENDED || s == FREE)
#define GEN_OF(r) gen[r]

/* put - a free record goes back. */
inline put(r)
{
	assert(!freed[r]);
	assert(!node[r]);
	freed[r] = true
}

/* free_word - W4, and the record goes back if it is no node. */
inline free_word(r)
{
	d_step {
#ifndef MUTANT_SAME_GEN
		gen[r]++;
#endif
		escaped[r] = false;
		if
#ifdef MUTANT_FREE_NODE
		:: true ->
#else
#ifdef MUTANT_FREE_CANCELED
		:: count[r] == 0 && !event_bit[r] ->
#else
		:: count[r] == 0 && !event_bit[r] && !cancel_bit[r] ->
#endif
#endif
			put(r)
#ifndef MUTANT_FREE_NODE
		:: else
#endif
		fi
	}
}

inline push(r, box)
{
	d_step {
		assert(!destroyed);
		assert(((inbox[0] | inbox[1]) & BIT(r)) == 0);
		inbox[box] = inbox[box] | BIT(r)
	}
}

/* mail - W1 and W2. what: EVENT, CANCEL, else a permit. */
#define PERMIT 0
#define EVENT 1
#define CANCEL_BIT 2
inline mail(r, g, what)
{
	over = IS_OVER(state[r]);
	d_step {
		first = false;
		if
#ifdef MUTANT_NO_GENERATION
		:: escaped[r] && !over ->
#else
		:: gen[r] == g && escaped[r] && !over ->
#endif
#ifdef MUTANT_CANCEL_NO_MAIL
			first = (count[r] == 0 && !event_bit[r]);
#else
			first = (count[r] == 0 && !event_bit[r] && !cancel_bit[r]);     /* W1 */
#endif
#ifdef MUTANT_ALWAYS_PUSH
			first = true;
#endif
			if
			:: what == EVENT -> event_bit[r] = true
			:: what == CANCEL_BIT -> cancel_bit[r] = true
			:: what == PERMIT ->
				count[r]++;
				given = given + (g == 2)
			fi;
			if
			:: first -> node[r] = true
			:: else
			fi
		:: else
		fi;
		over = false
	};
	if
	:: first ->                                                     /* W2 */
		to = home[r];
		push(r, to);
		to = 0;
		first = false
	:: else
	fi
}

/* runnable - a wait of r, at home at w, ends. */
inline runnable(w, r, is_canceled)
{
	state[r] = ACTIVE;
	coded[r] = is_canceled;
	queue[w] = queue[w] | BIT(r)
}

/* cancel_one - C1, for one that has not ended. */
inline cancel_one(w, r)
{
#ifndef MUTANT_CANCEL_WAIT_ONLY
	canceled[r] = true;
#endif
	if
	:: state[r] == PARKED || state[r] == JOINING -> runnable(w, r, true)
	:: else
	fi
}

/* mail_locked - W3 and W5, in w's door. */
inline mail_locked(w, r)
{
	to = home[r];
	if
#ifndef MUTANT_NO_FORWARD
	:: escaped[r] && to != w -> push(r, to)
	:: else ->
#else
	:: true ->
#endif
#ifndef MUTANT_CLEAR_FIRST
		over = IS_OVER(state[r]);
#endif
		d_step {
			first = escaped[r];
			is_event = event_bit[r];
			n = count[r];
			is_cancel = cancel_bit[r];
			event_bit[r] = false;
			cancel_bit[r] = false;
			count[r] = 0;
			node[r] = false
		};
#ifdef MUTANT_CLEAR_FIRST
		over = IS_OVER(state[r]);
#endif
		d_step {
			if
			:: !first -> put(r)                             /* W5 */
			:: first && over
			:: first && !over ->
				if
				:: is_event && state[r] == JOINING -> runnable(w, r, false)
				:: is_event && state[r] != JOINING -> event[r] = true
				:: else
				fi;
				if
				:: n > 0 && state[r] == PARKED ->
					runnable(w, r, false);
					taken = taken + (r == TARGET && gen[r] == 2);
					n--
				:: else
				fi;
				permits[r] = permits[r] + n;
				if
				:: is_cancel -> cancel_one(w, r)
				:: else
				fi
			fi;
			n = 0; is_event = false; is_cancel = false; first = false; over = false
		}
	fi;
	to = 0
}

inline drain(w)
{
	d_step { nodes = inbox[w]; inbox[w] = 0 };
	if
	:: nodes & 1 -> mail_locked(w, 0)
	:: else
	fi;
	if
	:: nodes & 2 -> mail_locked(w, 1)
	:: else
	fi;
	nodes = 0
}

/* -------------------------------------------------------------------------- what the coroutines do */

inline end_target()
{
	atomic { !door[me]; door[me] = true };
	if
	:: SCENE == 1 || GEN_OF(TARGET) == 2 ->
		d_step {
			if
			:: gen[TARGET] == 2 ->
				/* What it was given it has taken, and nothing of its predecessor's. */
				assert(given == 1 && taken == 1);
				assert(permits[TARGET] == 0 && !event[TARGET] && count[TARGET] == 0);
				assert(!canceled[TARGET] && !coded[TARGET] && !cancel_bit[TARGET]);
				over_2 = true
			:: else -> over_1 = true
			fi;
			state[TARGET] = FREE
		};
		free_word(TARGET)
	:: else ->
		over_1 = true;
		state[TARGET] = ENDED;
		d_step {                                                /* J2 */
			kind = join;
			if
			:: join == NOBODY -> join = DONE
#ifdef MUTANT_JOINER_NOT_TAKEN
			:: join == COROUTINE -> join = DONE
#else
			:: join == COROUTINE -> join = TAKEN
#endif
			:: join == BY_GO -> join = FOR_GO
			:: else
			fi
		};
		if
		:: kind == COROUTINE ->
			if
			:: home[JOINER] != me -> kind = 0; mail(JOINER, gen[JOINER], EVENT)
			:: else ->
				d_step {
					kind = 0;
					if
					:: state[JOINER] == JOINING -> runnable(me, JOINER, false)
					:: else -> event[JOINER] = true
					fi
				}
			fi
		:: kind == BY_GO -> kind = 0; listed = true
		:: kind == DETACHED -> kind = 0; state[TARGET] = FREE; free_word(TARGET)
		:: else -> kind = 0
		fi
	fi;
	door[me] = false
}

/* coro_park, then the end. */
inline run_target()
{
	do
	:: parks > 0 ->
#ifdef MUTANT_CANCEL_LOOK_OUTSIDE
		sees = canceled[TARGET];
#endif
		atomic {
			!door[me];
			parks--;
			if
			:: permits[TARGET] > 0 ->
				permits[TARGET]--;
				taken = taken + (gen[TARGET] == 2)
#ifdef MUTANT_CANCEL_LOOK_OUTSIDE
			:: permits[TARGET] == 0 && sees
#else
			:: permits[TARGET] == 0 && canceled[TARGET]     /* C2 */
#endif
			:: else -> state[TARGET] = PARKED; break
			fi
		}
	:: parks == 0 -> end_target(); break
	od
}

/* coroi_join_free - J3. */
inline join_free()
{
	state[TARGET] = FREE;
	free_word(TARGET)
}

inline detach(g)
{
	d_step {
		kind = 0;
		if
		:: join_gen == g && join == NOBODY -> join = DETACHED
		:: join_gen == g && join == DONE -> join = TAKEN; kind = TAKEN
		:: else
		fi
	};
	if
	:: kind == TAKEN -> kind = 0; join_free()
	:: else
	fi
}

/* coro_join: stage 0 J1, 1 waits, 2 waits and cannot be cancelled, 3 has had what it wanted. */
inline run_joiner()
{
	do
	:: stage == 0 ->
		escaped[JOINER] = true;
		d_step {
			if
			:: join_gen == 1 && join == NOBODY -> join = COROUTINE; stage = 1  /* J1 */
			:: join_gen == 1 && join == DONE -> join = TAKEN; stage = 4
			:: else -> stage = 3                            /* busy or stale */
			fi
		}
	:: stage == 1 || stage == 2 ->
		/* await_event. Resumed: state is ACTIVE, and an event that came by resuming it is not in event. */
		atomic {
			!door[me];
			if
			:: event[JOINER] -> event[JOINER] = false; stage = 4
			:: !event[JOINER] && (cancel || canceled[JOINER]) && stage == 1 -> coded[JOINER] = true; stage = stage + 4
			:: else -> state[JOINER] = JOINING; stage = stage + 4; break
			fi
		}
	:: stage == 5 || stage == 6 ->
		if
		:: !coded[JOINER] -> stage = 4
		:: else ->
			coded[JOINER] = false;
			d_step {
				if
#ifdef MUTANT_NO_UNREGISTER_CHECK
				:: true -> join = (join == COROUTINE -> NOBODY : join); stage = 7
#else
				:: join_gen == 1 && join == COROUTINE -> join = NOBODY; stage = 7
				:: else -> stage = 2    /* the end has come first, and an event with it */
#endif
				fi
			}
		fi
	:: stage == 7 -> detach(1); stage = 3
	:: stage == 4 -> assert(join_gen == 1); join_free(); stage = 3   /* J3 */
	:: stage == 3 ->
		atomic { !door[me]; door[me] = true };
		d_step {
			assert(!event[JOINER] && !event_bit[JOINER]);   /* none is left over */
			state[JOINER] = FREE;
			over_j = true
		};
		free_word(JOINER);
		door[me] = false;
		break
	od
}

proctype worker(byte me)
{
	byte nodes, to, n;
	bool over, first, is_event, is_cancel;
#ifdef MUTANT_CANCEL_LOOK_OUTSIDE
	bool sees;
#endif
	mtype kind;

	do
	:: atomic { inbox[me] != 0 && !door[me] -> door[me] = true };
		drain(me);
		door[me] = false
	:: atomic { (queue[me] & 1) && !door[me] -> queue[me] = queue[me] & ~1 };
		run_target()
#if SCENE == 2
	:: atomic { (queue[me] & 2) && !door[me] -> queue[me] = queue[me] & ~2 };
		run_joiner()
#endif
	:: atomic { (queue[1 - me] != 0 || inbox[1 - me] != 0) && !door[1 - me] -> door[1 - me] = true };
		if
		:: queue[1 - me] == 0 -> drain(1 - me)
		:: else
		fi;
		atomic {
			if
			:: queue[1 - me] & 1 -> nodes = 1; home[0] = me; queue[1 - me] = queue[1 - me] & ~1
			:: queue[1 - me] & 2 -> nodes = 2; home[1] = me; queue[1 - me] = queue[1 - me] & ~2
			:: queue[1 - me] == 0
			fi;
			door[1 - me] = false
		};
		if
		:: nodes != 0 -> atomic { !door[me]; queue[me] = queue[me] | nodes; nodes = 0 }
		:: else
		fi
	:: over_2 && (SCENE == 1 || over_j && !node[JOINER]) && inbox[me] == 0 && queue[me] == 0 -> break
	od
}

/* ---------------------------------------------------------------------------------- threads outside */

/* coro_wake(h) of a generation, from no worker; with HERE, from worker 1. */
proctype waker(byte mine; bool here)
{
	byte to;
	bool over, first;

	if
	:: here ->
		atomic { !door[1]; door[1] = true };
		/* is_home_locked: home, state, and last the word */
		here = (home[TARGET] == 1);
		over = IS_OVER(state[TARGET]);
#ifdef MUTANT_WORD_FIRST
		over = over
#endif
		atomic {
			if
			:: here && !over && gen[TARGET] == mine && escaped[TARGET] ->
				given = given + (mine == 2);
				if
				:: state[TARGET] == PARKED ->
					runnable(1, TARGET, false);
					taken = taken + (mine == 2)
				:: else -> permits[TARGET]++
				fi;
				door[1] = false;
				goto out
			:: else -> door[1] = false; over = false
			fi
		}
	:: !here
	fi;
	mail(TARGET, mine, PERMIT);
out:
	skip
}

/* The second user of the record: fill, reveal, queue; then its one wake-up. */
proctype spawner()
{
	byte to;
	bool over, first;

	atomic { freed[TARGET] -> freed[TARGET] = false };
	state[TARGET] = FRESH;
	home[TARGET] = 1;
	d_step { permits[TARGET] = 0; event[TARGET] = false; canceled[TARGET] = false; coded[TARGET] = false; parks = 1 };
	d_step { assert(gen[TARGET] == 2); escaped[TARGET] = true };
	atomic { !door[1]; state[TARGET] = ACTIVE; queue[1] = queue[1] | BIT(TARGET) };
	mail(TARGET, 2, PERMIT)
}

#ifdef CANCEL_ONE
/* coro_cancel(h), from no worker; with HERE, from worker 1. */
proctype canceler_of_one(bool here)
{
	byte to;
	bool over, first;

	if
	:: here ->
		atomic { !door[1]; door[1] = true };
		here = (home[TARGET] == 1);
		over = IS_OVER(state[TARGET]);
		atomic {
			if
			:: here && !over && gen[TARGET] == 1 && escaped[TARGET] ->
				cancel_one(1, TARGET);
				door[1] = false;
				goto out
			:: else -> door[1] = false; over = false
			fi
		}
	:: !here
	fi;
#if SCENE == 1
	mail(TARGET, 1, CANCEL_BIT);
#else
	mail(JOINER, 1, CANCEL_BIT);
#endif
out:
	skip
}
#endif

#ifdef CANCEL
proctype canceler()
{
	atomic { !door[0]; door[0] = true };
	atomic {
		!door[1];
		cancel = true;
		if
		:: state[JOINER] == JOINING -> runnable(home[JOINER], JOINER, true)
		:: else
		fi
	};
	door[0] = false
}
#endif

#ifdef GO
proctype go()
{
	mtype kind;

	d_step {
		if
		:: join_gen == 1 && join == NOBODY -> join = BY_GO; kind = BY_GO        /* Register */
		:: join_gen == 1 && join == DONE -> join = TAKEN; kind = TAKEN          /* Take */
		:: else
		fi
	};
	if
	:: kind == BY_GO ->
		listed;
		assert(join == FOR_GO);
		join = TAKEN;
		join_free()
	:: kind == TAKEN -> join_free()
	:: else
	fi
}
#endif

#ifdef DETACH
proctype detacher()
{
	mtype kind;

	detach(1)
}
#endif

#ifdef LIMIT_DESTROY
/* Everything rests, the threads are joined, and the scheduler is destroyed. */
proctype destroyer()
{
	atomic { over_1 && queue[0] == 0 && queue[1] == 0 && inbox[0] == 0 && inbox[1] == 0 && !door[0] && !door[1] ->
		 destroyed = true }
}
#endif

init
{
	atomic {
		escaped[TARGET] = true;
		queue[0] = BIT(TARGET);
#if SCENE == 2
		parks = 0;
		home[JOINER] = 1;
#ifdef CANCEL_ONE
		escaped[JOINER] = true; /* whoever spawned it knows it */
#endif
		queue[1] = BIT(JOINER);
#endif
		run worker(0);
		run worker(1);
		run waker(1, false);
#if SCENE == 1 && !defined(CANCEL_ONE)
		run waker(1, true);
		run waker(1, false);
#endif
#ifdef CANCEL_ONE
		run canceler_of_one(false);
#if SCENE == 1
		run canceler_of_one(true);
#endif
#endif
#ifdef CANCEL
		run canceler();
#endif
#ifdef GO
		run go();
#endif
#ifdef DETACH
		run detacher();
#endif
#ifdef LIMIT_DESTROY
		run destroyer();
#endif
		run spawner()
	};
	_nr_pr == 1;
	assert(freed[TARGET] && !node[TARGET] && gen[TARGET] == 3);
#if SCENE == 2
	assert(freed[JOINER] && !node[JOINER])
#endif
}
