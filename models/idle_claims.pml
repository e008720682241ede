/* idle_claims.pml - part of idle.pml: tokens and claims, WKW1 to WKW4 (activity.c). */

/* rested - coroi_rested. */
inline rested()
{
	if
	:: rest_waiters > 0 ->
		rest_new = true;
		rest_down = false
	:: else
	fi
}

/* awake_end - give an awake token back. x: everything rests now. */
inline awake_end()
{
	awake--;
	x = AT_REST;
	assert(!(x && IN_RUN && (owed | queue[0] | queue[1] | queue[2] |
		next[0] | next[1] | next[2]) != 0))
}

/* awake_end_and_tell - give an awake token back, and tell of a rest. */
inline awake_end_and_tell()
{
	d_step { awake_end() };
	if
	:: x -> x = 0; rested()
	:: else
	fi
}

/* awake_begin - take an awake token. The first token after a rest is counted (rises) before
 * anything can come of it. */
inline awake_begin()
{
#if SCENE == 4 && !defined(MUTANT_NO_RISES)
	d_step { x = AT_REST; awake++ };
	if
	:: x -> x = 0; rise_new = true
	:: else
	fi
#else
	awake++
#endif
}

/* claim - WKW2 to WKW4. ok: this claim cleared the bit. */
inline claim(id, ok)
{
#ifndef MUTANT_CLAIM_FIRST
	awake_begin();                                                  /* WKW2 */
#endif
	if
#if SCENE == 4
	:: mode == PAUSED -> awake_end_and_tell()
	:: mode != PAUSED ->
#else
	:: true ->
#endif
		d_step {                                                /* WKW3 */
			ok = (sleepers & BIT(id)) != 0;
			sleepers = sleepers & ~BIT(id)
		};
		if
		:: ok ->
#ifdef MUTANT_CLAIM_FIRST
			ev[id] = WOKEN;
			awake++
#else
			ev[id] = WOKEN                                  /* WKW4 */
#endif
		:: else ->
#ifdef MUTANT_TOKEN_KEPT
			skip
#else
#ifndef MUTANT_CLAIM_FIRST
			awake_end_and_tell()
#else
			skip
#endif
#endif
		fi
	fi
}

/* claim_any - wake one of these sleepers, to steal. */
inline claim_any(who)
{
	do
	:: (who) == 0 || mode == PAUSED -> break
	:: (who) & 1 -> claim(0, c); if :: c -> break :: else fi
	:: ((who) & 3) == 2 -> claim(1, c); if :: c -> break :: else fi
	:: ((who) & 7) == 4 -> claim(2, c); if :: c -> break :: else fi
	od;
	c = 0
}

/* notify_hungry - coroi_notify_hungry. */
inline notify_hungry()
{
#ifdef HOLDS_OFF
	if
	:: d_step { (hungry & ALONE) != 0 -> hungry = 0 }; claim_any(sleepers)
	:: d_step { hungry == SURPLUS -> hungry = 0 }; claim_any(CALLABLE)
	:: hungry == 0
	fi
#else
	d_step { x = (hungry != 0); hungry = 0 };
	if
	:: x -> x = 0; claim_any(sleepers)
	:: else
	fi
#endif
}

/* notify_queued - coroi_notify_queued of worker w. */
inline notify_queued()
{
	if
	:: (hungry & ALONE) || (hungry != 0 && MANY(queue[w])) -> notify_hungry()
	:: else
	fi
}

/* notify_pushed - coroi_notify_pushed, after WKW1. */
inline notify_pushed(to)
{
	if
	:: sleepers & BIT(to) -> claim(to, c); c = 0                    /* WKW2 to WKW4 */
	:: else ->
		if
		:: hungry & ALONE -> notify_hungry()
		:: else
		fi
	fi
}

/* push - WKW1 and what follows, from a thread outside. After the push the runnable is owed. */
inline push(runnable, to)
{
#ifdef MUTANT_WAKE_FIRST
	notify_pushed(to);
	d_step { inbox[to] = inbox[to] | runnable };
#else
	d_step { inbox[to] = inbox[to] | runnable };
	notify_pushed(to);
#endif
	owed = owed | (runnable & ~done)
}

/* wake_all - coroi_wake_all. */
inline wake_all()
{
	if :: sleepers & 1 -> claim(0, c) :: else fi;
	if :: sleepers & 2 -> claim(1, c) :: else fi;
	if :: sleepers & 4 -> claim(2, c) :: else fi;
	c = 0
}
