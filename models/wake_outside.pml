/* wake_outside.pml - part of wake.pml: threads outside. */

/* waker - coro_wake of the target with generation mine, from no worker, or (here) from worker 1. */
proctype waker(byte mine; bool here)
{
	byte to;
	bool over, first;

	if
	:: here ->
		atomic { !door[1]; door[1] = true };
		/* is_home_locked: home, state, and the word last */
		here = (home[TARGET] == 1);
		over = IS_OVER(state[TARGET]);
		atomic {
			if
			:: here && !over && gen[TARGET] == mine && escaped[TARGET] ->
				given = given + (mine == 2);
				if
				:: state[TARGET] == PARKED ->
					end_wait(1, TARGET, false);
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
	remote_wake(TARGET, mine, PERMIT);
out:
	skip
}

/* spawner - the second user of the record: fill, reveal, queue, and then its one wake-up. */
proctype spawner()
{
	byte to;
	bool over, first;

	atomic { freed[TARGET] -> freed[TARGET] = false };
	state[TARGET] = FRESH;
	home[TARGET] = 1;
	d_step {
		permits[TARGET] = 0;
		event[TARGET] = false;
		canceled[TARGET] = false;
		coded[TARGET] = false;
		parks = 1
	};
	d_step { assert(gen[TARGET] == 2); escaped[TARGET] = true };
	atomic { !door[1]; state[TARGET] = ACTIVE; queue[1] = queue[1] | BIT(TARGET) };
	remote_wake(TARGET, 2, PERMIT)
}

#ifdef CANCEL_ONE
/* canceler_of_one - coro_cancel, from no worker, or (here) from worker 1. */
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
	remote_wake(TARGET, 1, CANCEL_BIT);
#else
	remote_wake(JOINER, 1, CANCEL_BIT);
#endif
out:
	skip
}
#endif

#ifdef CANCEL
/* canceler - all waits are cancelled. */
proctype canceler()
{
	atomic { !door[0]; door[0] = true };
	atomic {
		!door[1];
		cancel = true;
		if
		:: state[JOINER] == JOINING -> end_wait(home[JOINER], JOINER, true)
		:: else
		fi
	};
	door[0] = false
}
#endif

#ifdef GO
/* go - a goroutine that joins the target: Register and Take of join.go. */
proctype go()
{
	mtype kind;

	d_step {
		if
		:: join_gen == 1 && join == NOBODY -> join = BY_GO; kind = BY_GO /* Register */
		:: join_gen == 1 && join == DONE -> join = TAKEN; kind = TAKEN /* Take */
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
/* detacher - a thread that detaches the target. */
proctype detacher()
{
	mtype kind;

	detach(1)
}
#endif

#ifdef LIMIT_DESTROY
/* destroyer - everything rests, the threads are joined, and the scheduler is destroyed. */
proctype destroyer()
{
	atomic {
		over_1 && queue[0] == 0 && queue[1] == 0 && inbox[0] == 0 && inbox[1] == 0 &&
		!door[0] && !door[1] -> destroyed = true
	}
}
#endif
