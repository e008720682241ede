/* idle_sleep.pml - part of idle.pml: the standby, and sleeping, SLP5 (idle.c). */

/* resign - w is the standby no longer, unless another has become that. */
inline resign()
{
	d_step {
		if
		:: standby == w + 1 -> standby = 0
		:: else
		fi
	}
}

/* clears_alone - x: w has become the standby, and may sleep. */
inline clears_alone()
{
	if
	:: hungry & ALONE ->
		d_step { hungry = hungry & ~ALONE };
#ifdef MUTANT_NO_LOOK_AT_STANDBY
		x = true
#else
		x = (standby != 0)
#endif
	:: else -> x = true
	fi
}

/* stand_by, stand_down - become the worker that looks around, and stop being that worker. */
inline stand_down()
{
	resign();
	d_step { hungry = hungry | ALONE }
}

inline stand_by()
{
	do
#ifdef HOLDS_OFF
	:: OFF(w) && standby != 0 && pending != 0 -> break /* w becomes the reserve */
	:: OFF(w) ->
		standby = w + 1;
		clears_alone();
		if
		:: x -> x = 0; break
		:: else
		fi
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
		:: awake != 0 ->
			clears_alone();
			if
			:: x -> x = 0; break
			:: else
			fi
		:: else ->
			resign();
			d_step { hungry = hungry | ALONE };
			if
			:: awake == 0 -> break
			:: else
			fi
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

#if SCENE == 7
/* be_reserve - as in the code. */
inline be_reserve()
{
	if
	:: standby == w + 1
	:: else ->
		d_step {
			x = (reserve[0] == 0);
			if
			:: x -> reserve[0] = w + 1
			:: else
			fi
		};
		if
		:: !x && standby == 0 ->
			d_step {
				x = (reserve[1] == 0);
				if
				:: x -> reserve[1] = w + 1
				:: else
				fi
			}
		:: else
		fi;
		if
		:: x -> x = 0; d_step { hungry = hungry & ~ALONE }
		:: else
		fi
	fi
}

/* no_reserve - w is a reserve no longer. */
inline no_reserve()
{
	if
	:: reserve[0] == w + 1 -> reserve[0] = 0
	:: reserve[1] == w + 1 -> reserve[1] = 0
	:: else
	fi
}
#endif

/* unpark - SLP3, and the standby that wakes itself: w has a token. Clear its bit. */
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
#define TIME_OUT (READY(OTHER(w, 1)) || READY(OTHER(w, 2)) || \
	LATE(OTHER(w, 1)) || LATE(OTHER(w, 2)) || awake == 0 || \
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
	resign();
#if SCENE == 7 && !defined(MUTANT_RESERVE_KEPT)
	no_reserve();
#endif
	if
	:: standby == 0 && !HAS_RESERVE ->
		d_step { hungry = hungry | ALONE };
		if
		:: (inbox[w] != 0 || queue[w] != 0 || next[w] != 0) && (awake > 1 || WATCHES) ->
			notify_hungry()
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

#if SCENE == 7
/* poll - polls_for: the standby sends what the driver of v, which is awake, has for v. */
inline poll(v)
{
	d_step {
		if
		:: READY(v) && !(sleepers & BIT(v)) -> inbox[v] = inbox[v] | events[v]; events[v] = 0
		:: else
		fi
	}
}
#endif

/* sleep_until_claimed - SLP5. */
inline sleep_until_claimed()
{
#ifndef NO_STANDBY
	d_step { note() };
	stand_by();
#if SCENE == 7
	be_reserve();
#endif
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
#if SCENE == 7
		/* w's driver has something for it: rise, and deliver after the hand-over */
		:: atomic { ev[w] == SLEEPS && READY(w) -> ev[w] = NONE };
			awake_begin();
			unpark();
			break
#ifndef MUTANT_RESERVE_DEAF
		/* The reserve's time-out: reserve_looks. To stay the reserve is to be later. */
		:: atomic { ev[w] == SLEEPS && (reserve[0] == w + 1 || reserve[1] == w + 1) -> ev[w] = NONE };
#ifdef MUTANT_RESERVE_RETIRES
			x = (standby == 0 && awake != 0);
			no_reserve();
			if
			:: x -> x = 0; stand_by()
			:: else
			fi;
#else
			no_reserve();
			stand_by();
#endif
			if
			:: standby != w + 1 -> goto asleep
			:: else
			fi
#endif
#endif
		fi;
		if
#if SCENE == 6 || SCENE == 7
		:: awake == 0 && pending != 0   /* w does not stand down yet */
#endif
		:: awake == 0 -> stand_down(); stand_by()
		:: awake != 0 ->
			/* look_around */
#if SCENE == 7
			poll(OTHER(w, 1));
			poll(OTHER(w, 2));
#endif
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
