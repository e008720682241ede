/* wake_coroutines.pml - part of wake.pml: ends and joins, JOI1 to JOI3 (join.c), and workers. */

/* end_target - coroi_end_locked of the target: WKC4, or JOI2. */
inline end_target()
{
	atomic { !door[me]; door[me] = true };
	if
	:: SCENE == 1 || GEN_OF(TARGET) == 2 ->
		d_step {
			if
			:: gen[TARGET] == 2 ->
				/* The second user has taken what it was given, and nothing that
				 * was given to the first. */
				assert(given == 1 && taken == 1);
				assert(permits[TARGET] == 0 && !event[TARGET] &&
				       count[TARGET] == 0);
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
		d_step {                                                /* JOI2 */
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
			:: home[JOINER] != me -> kind = 0; remote_wake(JOINER, gen[JOINER], EVENT)
			:: else ->
				d_step {
					kind = 0;
					if
					:: state[JOINER] == JOINING -> end_wait(me, JOINER, false)
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

/* run_target - coro_park, then the end. */
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
			:: permits[TARGET] == 0 && canceled[TARGET]     /* CAN2 */
#endif
			:: else -> state[TARGET] = PARKED; break
			fi
		}
	:: parks == 0 -> end_target(); break
	od
}

/* join_free - coroi_join_free, JOI3. */
inline join_free()
{
	state[TARGET] = FREE;
	free_word(TARGET)
}

/* detach - coro_detach. */
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

/*
 * run_joiner - coro_join. What the joiner does:
 *   stage 0  JOI1
 *         1  it waits
 *         2  it waits, and cannot be cancelled
 *         3  it is done
 *         4  JOI3
 *         5  it was suspended at stage 1
 *         6  it was suspended at stage 2
 *         7  it was cancelled, and detaches the target
 */
inline run_joiner()
{
	do
	:: stage == 0 ->
		escaped[JOINER] = true;
		d_step {
			if
			:: join_gen == 1 && join == NOBODY -> join = COROUTINE; stage = 1  /* JOI1 */
			:: join_gen == 1 && join == DONE -> join = TAKEN; stage = 4
			:: else -> stage = 3                            /* busy or stale */
			fi
		}
	:: stage == 1 || stage == 2 ->
		/* coroi_wait. When the joiner is resumed its state is ACTIVE. An event that has
		 * resumed it is not in event. */
		atomic {
			!door[me];
			if
			:: event[JOINER] -> event[JOINER] = false; stage = 4
			:: !event[JOINER] && (cancel || canceled[JOINER]) && stage == 1 ->
				coded[JOINER] = true; stage = stage + 4
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
				:: else -> stage = 2    /* the end came first, with an event */
#endif
				fi
			}
		fi
	:: stage == 7 -> detach(1); stage = 3
	:: stage == 4 -> assert(join_gen == 1); join_free(); stage = 3   /* JOI3 */
	:: stage == 3 ->
		atomic { !door[me]; door[me] = true };
		d_step {
			assert(!event[JOINER] && !event_bit[JOINER]);   /* no event is left over */
			state[JOINER] = FREE;
			over_j = true
		};
		free_word(JOINER);
		door[me] = false;
		break
	od
}

/* worker - it drains its inbox, runs what is queued, and steals from the other worker. */
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
	:: atomic {
		(queue[1 - me] != 0 || inbox[1 - me] != 0) && !door[1 - me] -> door[1 - me] = true
	   };
		if
		:: queue[1 - me] == 0 -> drain(1 - me)
		:: else
		fi;
		atomic {
			if
			:: queue[1 - me] & 1 ->
				nodes = 1; home[0] = me; queue[1 - me] = queue[1 - me] & ~1
			:: queue[1 - me] & 2 ->
				nodes = 2; home[1] = me; queue[1 - me] = queue[1 - me] & ~2
			:: queue[1 - me] == 0
			fi;
			door[1 - me] = false
		};
		if
		:: nodes != 0 -> atomic { !door[me]; queue[me] = queue[me] | nodes; nodes = 0 }
		:: else
		fi
	:: over_2 && (SCENE == 1 || over_j && !node[JOINER]) && inbox[me] == 0 && queue[me] == 0 ->
		break
	od
}
