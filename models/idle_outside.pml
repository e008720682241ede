/* idle_outside.pml - part of idle.pml: threads outside: those that send, wait, pause and close. */

/* rest_waits, rest_waits_no_more - coroi_rest_waits. */
inline rest_waits()
{
#ifndef MUTANT_WAITS_UNCOUNTED
	rest_waiters++
#else
	skip
#endif
}

inline rest_waits_no_more()
{
#ifndef MUTANT_WAITS_UNCOUNTED
	rest_waiters--
#else
	skip
#endif
}

/* rest_await - coroi_rest_await. The mutant counts the waiter only here. */
inline rest_await()
{
#ifdef MUTANT_WAITS_UNCOUNTED
	rest_waiters++;
#endif
	if
	:: atomic { !rest_new -> rest_down = true };
#if SCENE == 5
end:		!rest_down              /* the sleep never ends in this scene */
#else
		!rest_down
#endif
	:: rest_new
	fi;
#ifdef MUTANT_WAITS_UNCOUNTED
	rest_waiters--;
#endif
	skip
}

/* finished - coroi_finished. */
inline finished(yes)
{
	yes = false;
	rest_new = false;
	if
	:: AT_REST ->
#ifdef MUTANT_COUNT_TOGETHER
		live = spawned[0] - ended[0];
		live = live + spawned[1] - ended[1];
		live = live + spawned[2] - ended[2];
		if
		:: live == 0 && AT_REST -> yes = !rest_new
		:: else
		fi
#else
		live = 0 - ended[0];
		live = live - ended[1];
		live = live - ended[2];
		live = live + spawned[0];
		live = live + spawned[1];
		live = live + spawned[2];
		yes = live == 0
#endif
	:: else
	fi
}

/* stop_threads - stop_threads of life.c. */
inline stop_threads()
{
	mode = STOPPING;
#ifndef MUTANT_NO_WAKE_ALL
	wake_all();
#endif
	exited == N
}

bool sent_a, sent_b;     /* the senders are done: close waits for them first */

#if SCENE == 7
/* event - the driver of a worker has these for it. */
proctype event(byte what, to)
{
	d_step { events[to] = events[to] | what }
}
#endif

#if SCENE != 4 && SCENE != 7
proctype sender_a()
{
	bit x, c;

#if SCENE == 2
	push(1, 0);
	push(8, 0);
#ifndef TWO
	push(16, 1);
#endif
#elif SCENE == 5 && defined(BATCH)
	push(5, 0);              /* coroutines 1 and 4 */
#else
	push(1, 0);
#endif
	sent_a = true
}
#endif

#if SCENE == 1 || SCENE == 2 || SCENE == 3
proctype sender_b()
{
	bit x, c;

#if SCENE == 3
	push(4, LAST);
#else
	push(16, 1);
#endif
	sent_b = true
}
#endif

#if SCENE == 3
/* offload - the thread that makes the offloaded call. */
proctype offload()
{
	bit x, c;

	handed;
#ifdef MUTANT_PENDING_LATE
	pending++;
#endif
#ifdef MUTANT_PENDING_EARLY
	d_step { pending--; x = AT_REST; assert(!(x && owed != 0)) };
	if :: x -> x = 0; rested() :: else fi;
	push(2, 0)
#else
	push(2, 0);
	d_step { pending--; x = AT_REST; assert(!(x && owed != 0)) };
	if :: x -> x = 0; rested() :: else fi
#endif
}
#endif

#if SCENE == 6
/* clock - time. */
proctype clock()
{
	come = 2;
	come = 2 | 4
}

#if defined(WAKE) || defined(BUSY)
/* waker - wakes the coroutine that waits with a deadline, unless the deadline was first. */
proctype waker()
{
	bit x, c;

	home != 0;
#ifdef BUSY
	push(8, home - 1);
#else
	push(2, home - 1);
#endif
	sent_b = true
}
#endif
#endif

#if SCENE == 1 || SCENE == 3 || SCENE == 5 || (SCENE == 6 && !defined(BUSY))
/* closer - coro_scheduler_close of an open scheduler. */
proctype closer()
{
	byte live;
	bit yes, x, c;

#if SCENE != 5
	sent_a;
#if defined(TWO) || defined(WAKE)
	sent_b;
#endif
#endif
	rest_waits();
	do
	:: finished(yes);
		if
		:: yes -> break
		:: else
		fi;
		rest_await()
	od;
	rest_waits_no_more();
#if SCENE == 1
#ifdef TWO
	assert(done == (1 | 2 | 8 | 16));
#else
	assert(done == (1 | 2 | 8));
#endif
#elif SCENE == 3
#ifdef TWO
	assert(done == (1 | 2 | 4 | 8));
#else
	assert(done == (1 | 2));
#endif
#elif SCENE == 6
	assert(done == (1 | 2 | 4));
#else
	assert(false);                  /* one coroutine stays parked */
#endif
	stop_threads()
}
#endif

#if SCENE == 4
/* submitter_push - pushNode and pushed of submit.go. */
inline submitter_push(runnable, to)
{
	d_step { inbox[to] = inbox[to] | runnable };
	if
	:: (sleepers & BIT(to)) == 0 && (hungry & ALONE) == 0
	:: else ->
		if
		:: mode != PAUSED -> notify_pushed(to)
		:: else
		fi
	fi
}

proctype sender_a()
{
	bit x, c;

	submitter_push(16, 1);
#ifdef TWO
	submitter_push(1, 0);
#endif
	sent_a = true
}

/* resume_all, run_to_rest - resume_all and pause_at_rest of life.c. */
inline resume_all()
{
	mode = RUNNING;
	wake_all();
	in_run = true
}

inline run_to_rest()
{
	resume_all();
	rest_waits();
	do
	:: true ->
		rest_new = false;
		rise_new = false;
		if
		:: AT_REST ->
			d_step { mode = PAUSED; in_run = false };
#ifdef MUTANT_NO_SECOND_LOOK
			break;
#else
			if
			:: AT_REST ->
#ifdef MUTANT_NO_RISES
				break
#else
				if
				:: !rise_new -> break
				:: else
				fi
#endif
			:: else
			fi;
#endif
			resume_all()
		:: else
		fi;
		rest_await()
	od;
	rest_waits_no_more();
	/* What coroutines have sent is done in this run. Else the run tells of a deadlock that is
	 * none. */
	assert(inner == 0)
}

proctype runner()
{
	bit x, c;

	run_to_rest();
	sent_a;
#ifdef TWO
	run_to_rest();
#else
	if
	:: done != (8 | 16) -> run_to_rest()
	:: else                         /* this run would have nothing to do */
	fi;
#endif
#ifdef TWO
	assert(done == (1 | 2 | 4 | 8 | 16));
#else
	assert(done == (8 | 16));
#endif
	mode = STOPPING;
	wake_all();
	exited == N
}
#endif
