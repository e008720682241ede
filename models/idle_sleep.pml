/* idle_sleep.pml - part of idle.pml: the standby, and sleeping, P5 (idle.c). */

/* stand_by, stand_down - become the worker that looks around, and stop being that worker. */
inline stand_down()
{
	standby = 0;
	d_step { hungry = hungry | ALONE }
}

inline stand_by()
{
	do
#ifdef HOLDS_OFF
	:: OFF(w) ->
		standby = w + 1;
		d_step { hungry = hungry & ~ALONE };
		if
		:: standby == 0 -> d_step { hungry = hungry | ALONE }
		:: else
		fi;
		break
#endif
	:: !OFF(w) && awake != 0 ->
		d_step {
			x = (standby == 0);
			if
			:: x -> standby = w + 1
			:: else
			fi
		};
		if
		:: !x -> break
		:: else -> x = 0
		fi;
		if
		:: awake != 0 -> break
		:: else
		fi;
		standby = 0;
		d_step { hungry = hungry | ALONE };
		if
		:: awake == 0 -> break
		:: else
		fi
	:: !OFF(w) && awake == 0 ->
		if
		:: standby != 0 -> break
		:: else
		fi;
		d_step { hungry = hungry | ALONE };
		if
		:: awake == 0 -> break
		:: else
		fi
	od
}

/* unpark - P3, and the standby that wakes itself: w has a token. Clear its bit. */
inline unpark()
{
	d_step {
		x = (sleepers & BIT(w)) != 0;
		sleepers = sleepers & ~BIT(w)
	};
	if
	:: x -> x = 0
	:: else ->
		d_step {
			awake_end();
			assert(!x)              /* this is one of two tokens: never the last */
		};
#ifndef MUTANT_STALE_EV
		atomic { ev[w] == WOKEN -> ev[w] = NONE }
#endif
	fi
}

#if SCENE == 6 && !defined(MUTANT_BLIND_STANDBY)
#define LATE(v) DUE(v)
#else
#define LATE(v) false
#endif
/* TIME_OUT - the time-out of the standby would change something. */
#define TIME_OUT (LATE(OTHER(w, 1)) || LATE(OTHER(w, 2)) || awake == 0 || \
	(hungry & SURPLUS) == 0 || HAS(OTHER(w, 1)) || HAS(OTHER(w, 2)))

/* hand_over - w goes to work. Another worker must be the standby, or be told that none is. */
inline hand_over()
{
#ifndef NO_STANDBY
#ifdef MUTANT_NO_HAND_OVER
	if
	:: standby == w + 1 -> stand_down()
	:: else
	fi
#else
	if
	:: standby == w + 1 -> standby = 0
	:: else
	fi;
	if
	:: standby == 0 ->
		d_step { hungry = hungry | ALONE };
		if
		:: (inbox[w] != 0 || queue[w] != 0 || next[w] != 0) && awake > 1 -> notify_hungry()
		:: else
		fi
	:: else
	fi
#endif
#else
	skip
#endif
}

/* DEADLINE - w sleeps with a deadline, and must wake up for it. If others have left w no deadline,
 * they have fired those that came. */
#ifdef MUTANT_NO_DEADLINE
#define DEADLINE false
#elif defined(MUTANT_PENDING_KEPT)
#define DEADLINE DUE(w)
#else
#define DEADLINE (DUE(w) || due[w] == 0)
#endif

/* ALSO_DUE - w has taken something out of its inbox that may take long, and has deadlines: others
 * must look around. */
#ifdef MUTANT_NO_HELPER
#define ALSO_DUE false
#else
#define ALSO_DUE (queue[w] != 0 && due[w] != 0 && (hungry & ALONE) != 0)
#endif

/* sleep_until_claimed - P5. */
inline sleep_until_claimed()
{
#ifndef NO_STANDBY
	d_step { note() };
	stand_by();
#endif
asleep:
	do
	:: true ->
		d_step {
#ifdef MUTANT_DEAF_STANDBY
			timed = (standby == w + 1 && !OFF(w));
#else
			timed = (standby == w + 1);
#endif
			if
#ifdef MUTANT_BLIND_SLEEP
			:: true -> ev[w] = SLEEPS
#else
			:: ev[w] == NONE -> ev[w] = SLEEPS
			:: else
#endif
			fi
		};
end:		if
#ifdef HOLDS_OFF
		:: atomic { ev[w] == WOKEN -> ev[w] = NONE; off = off & ~BIT(w); break }
#else
		:: atomic { ev[w] == WOKEN -> ev[w] = NONE; break }
#endif
		:: atomic { timed && ev[w] == SLEEPS && TIME_OUT -> ev[w] = NONE }
#ifdef HOLDS_OFF
			if
			:: standby != w + 1 -> goto asleep /* another has become the standby */
			:: awake != 0 && OFF(w) && /* w looks for that even while it holds off */
			   (STUCK(w, OTHER(w, 1)) || STUCK(w, OTHER(w, 2)))
			:: d_step { standby == w + 1 -> off = off & ~BIT(w) }
			fi
#endif
#if SCENE == 6
		:: atomic { armed && ev[w] == SLEEPS && DEADLINE -> ev[w] = NONE };
#ifdef MUTANT_PENDING_FIRST
			d_step { pending--; x = AT_REST; assert(!(x && owed != 0)); x = 0 };
#endif
			awake_begin();
			unpark();
			break
#endif
		fi;
		if
#if SCENE == 6
		:: awake == 0 && pending != 0   /* w does not stand down yet */
#endif
		:: awake == 0 -> stand_down(); stand_by()
		:: awake != 0 ->
			/* look_around */
			if
			:: STUCK(w, OTHER(w, 1)) || STUCK(w, OTHER(w, 2)) ||
			   MANY(queue[OTHER(w, 1)]) || MANY(queue[OTHER(w, 2)]) ->
				awake_begin();
				unpark();
				break
			:: else ->
				d_step { hungry = hungry | SURPLUS; note() }
			fi
		fi
	od;
	timed = false;
	hand_over()
}
