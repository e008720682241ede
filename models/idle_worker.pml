/* idle_worker.pml - part of idle.pml: a worker, SLP1 to SLP5 (run.c, idle.c). */

proctype worker(byte w)
{
	byte t, hand, n, left;
	bit x, c, fed, found, thief, timed;
#if SCENE == 6
	bit armed;
#endif

#ifdef BATCH
	if
	:: w == 0 -> goto asleep
	:: else
	fi;
#elif defined(ASLEEP)
	goto asleep;
#endif
again:
	/* coroi_run: until nothing is left to run. */
	if
	:: mode == STOPPING -> exited++; goto out
	:: mode == PAUSED -> goto idle
	:: mode == RUNNING
	fi;
pick:
	atomic {
		if
#if SCENE == 6
		:: inbox[w] != 0 || DUE(w) -> drain(w); fed = MANY(queue[w]) || ALSO_DUE
#elif SCENE == 7
		:: inbox[w] != 0 || READY(w) ->
			drain(w);
			queue[w] = queue[w] | events[w];
			events[w] = 0;
			fed = true
#else
		:: inbox[w] != 0 -> drain(w); fed = MANY(queue[w])
#endif
		:: next[w] != 0 || queue[w] != 0 || inbox[w] == 0 /* the inbox is polled seldom */
		fi;
#if SCENE == 2
		moved[w] = BIT(0) | BIT(1) | BIT(2);
#endif
		if
		:: next[w] != 0 -> t = next[w]; next[w] = 0
		:: else -> t = LOWEST(queue[w]); queue[w] = queue[w] & ~t
		fi
	};
	if
	:: fed -> fed = 0; if :: hungry != 0 -> notify_hungry() :: else fi
	:: else
	fi;
	if
	:: t == 0 -> goto idle
	:: else
	fi;
	body();
	d_step { assert((done & t) == 0); done = done | t; owed = owed & ~t; ended[w]++; t = 0 };
	goto pick;

idle:
	/* coroi_idle: coroi_search */
#if SCENE == 4
	/* A look that finds nothing changes nothing. Nor does a look while another worker is the
	 * thief. So all looks are one step, which finds something or does not. */
	atomic {
		if
		:: mode == RUNNING && inbox[w] != 0 -> goto again
		:: mode == RUNNING && HAS(OTHER(w, 1)) -> take_from(OTHER(w, 1))
		:: mode == RUNNING && HAS(OTHER(w, 2)) -> take_from(OTHER(w, 2))
		:: true
		fi
	};
	if
	:: fed || hand != 0 ->
		stolen();
		if
		:: found -> found = 0; goto again
		:: else
		fi
	:: else
	fi;
#else
	if
	:: mode == RUNNING ->
		d_step { thief = !searching; searching = searching | thief; note() };
		if
		:: inbox[w] != 0 -> found = true
		:: true                                 /* w has spun long enough */
		fi;
		if
		:: thief ->
			if
			:: found
			:: !found -> try(OTHER(w, 1)); try(OTHER(w, 2))
			:: !found -> try(OTHER(w, 2)); try(OTHER(w, 1))
			fi;
			searching = 0;
			thief = 0
		:: else
		fi;
		if
		:: found -> found = 0; goto again
		:: else
		fi
	:: else
	fi;
#endif

	/* park */
#ifdef MUTANT_DROP_FIRST
	awake_end_and_tell();
#endif
#ifndef MUTANT_LATE_BIT
	d_step { sleepers = sleepers | BIT(w) };                        /* SLP1 */
#endif
	if                                                              /* SLP2 */
	:: mode == STOPPING -> found = true
	:: mode == PAUSED
	:: mode == RUNNING ->
#ifndef MUTANT_NO_RECHECK
		if
		:: inbox[w] != 0 -> found = true
		:: else ->
#ifndef MUTANT_INBOX_ONLY
			found = (queue[w] != 0 || next[w] != 0)
#endif
		fi
#endif
	fi;
#ifdef MUTANT_LATE_BIT
	d_step { sleepers = sleepers | BIT(w) };
#endif
	if
	:: found ->                                                     /* SLP3 */
		found = false;
#ifdef MUTANT_DROP_FIRST
		awake++;
#endif
		unpark();
#if !defined(MUTANT_NO_HAND_OVER_AWAKE) && !defined(NO_STANDBY)
		hand_over();
#endif
		goto parked
	:: else
	fi;
#ifdef HOLDS_OFF
	if
	:: d_step { off = off | BIT(w) }
	:: d_step { off = off & ~BIT(w) }
	fi;
#endif
#if SCENE == 6
	armed = due[w] != 0;
	if
	:: armed ->                                                     /* SLP4 */
#ifdef MUTANT_NO_PENDING
		awake_end_and_tell();
#else
#ifdef MUTANT_PENDING_AFTER
		awake_end_and_tell();
		pending++;
#else
		d_step { awake--; pending++ };
#endif
#endif
		goto sleeps
	:: else
	fi;
#endif
#if SCENE == 7
	d_step { awake--; pending++ };                                  /* SLP4 */
	goto sleeps;
#endif
#ifndef MUTANT_DROP_FIRST
	d_step {                                                        /* SLP4 */
		awake_end();
#ifndef BATCH
		if
		:: !x && !OFF(w) -> hungry = hungry | SURPLUS
		:: else
		fi
#endif
	};
	if
	:: x -> x = 0; rested()
	:: else ->
#ifdef BATCH
		if
		:: d_step { hungry = hungry | SURPLUS }
		:: true                         /* steals have not paid: no surplus is asked for */
		fi
#else
		skip
#endif
	fi;
#endif
#if SCENE == 6 || SCENE == 7
sleeps:	skip;
#endif
	sleep_until_claimed();                                          /* SLP5 */
#if SCENE == 6
	if
	:: armed ->
#if !defined(MUTANT_PENDING_FIRST) && !defined(MUTANT_NO_PENDING)
		pending--;                                              /* w is awake */
#endif
		armed = false
	:: else
	fi;
#endif
#if SCENE == 7
	pending--;                                                      /* w is awake */
	if
	:: READY(w) ->
		d_step { queue[w] = queue[w] | events[w]; events[w] = 0 };
		notify_queued()
	:: else
	fi;
#endif
parked:
	goto again;

computes:
	true;
end_computes:
	false;
out:
	skip
}
