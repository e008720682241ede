/* idle_bodies.pml - part of idle.pml: what coroutines do, on worker w. */

/* spawn - a spawn at home. */
inline spawn(runnable)
{
	d_step {
		queue[w] = queue[w] | runnable;
		owed = owed | runnable;
		spawned[w]++
	};
	notify_queued()
}

/* ready - a wake-up at home: the coroutine becomes the next one. */
inline ready(runnable)
{
	d_step {
		queue[w] = queue[w] | next[w];
		next[w] = runnable;
		owed = owed | runnable
	};
	notify_queued()
}

/* remote_wake - a wake-up for a coroutine whose home is worker to. */
inline remote_wake(runnable, to)
{
	d_step {
		inbox[to] = inbox[to] | runnable;
		owed = owed | runnable;
		inner = inner | runnable
	};
	notify_pushed(to)
}

/* arm - a timer of a coroutine, on w, in w's door. */
inline arm(runnable)
{
	d_step {
		due[w] = due[w] | runnable;
		owed = owed | runnable;
		spawned[w]++;
		if
		:: home == 0 -> home = w + 1
		:: else
		fi
	}
}

/* body - the body of coroutine t. */
inline body()
{
#if SCENE == 1
	if
	:: t == 1 -> spawn(2); remote_wake(8, LAST)
	:: else
	fi
#endif
#if SCENE == 2
	if
	:: t == 1 ->
		spawn(2);
#ifdef READY
		ready(4);
#endif
		goto computes
	:: t == 16 -> goto computes
	:: else
	fi
#endif
#if SCENE == 3
	if
	:: t == 1 ->
#ifndef MUTANT_PENDING_LATE
		pending++;                      /* before the worker gives its awake token back */
#endif
		d_step { owed = owed | 2; handed = true }
	:: t == 4 -> spawn(8)
	:: else
	fi
#endif
#if SCENE == 4
	if
	:: t == 1 -> spawn(2); spawn(4)
	:: t == 16 -> remote_wake(8, LAST)
	:: else
	fi
#endif
#if SCENE == 5
	if
	:: t == 1 -> spawn(2)
	:: else
	fi
#endif
#if SCENE == 6
	if
	:: t == 1 -> arm(2)
#ifdef BUSY
	:: t == 8 -> goto computes
#endif
	:: t == 2 -> arm(4)
	:: else
	fi
#endif
#if SCENE == 7
	if
	:: t == 8 -> goto computes
	:: else
	fi
#endif
}
