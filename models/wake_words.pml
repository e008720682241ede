/* wake_words.pml - part of wake.pml: the wake word, WKC1 to WKC5, and a cancel, CAN1 (wait.c). */

/* put - a free record goes back to the slab. */
inline put(r)
{
	assert(!freed[r]);
	assert(!node[r]);
	freed[r] = true
}

/* free_word - WKC4. The record goes back if it is no node. */
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

/* push - the record r becomes a node of an inbox. */
inline push(r, box)
{
	d_step {
		assert(!destroyed);
		assert(((inbox[0] | inbox[1]) & BIT(r)) == 0);
		inbox[box] = inbox[box] | BIT(r)
	}
}

/* remote_wake - WKC1 and WKC2. what: an event, a cancel or a permit. */
#define PERMIT 0
#define EVENT 1
#define CANCEL_BIT 2
inline remote_wake(r, g, what)
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
#ifdef MUTANT_CANCEL_NO_WAKE
			first = (count[r] == 0 && !event_bit[r]);
#else
			first = (count[r] == 0 && !event_bit[r] && !cancel_bit[r]);     /* WKC1 */
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
	:: first ->                                                     /* WKC2 */
		to = home[r];
		push(r, to);
		to = 0;
		first = false
	:: else
	fi
}

/* end_wait - the wait of r, whose home is w, ends. */
inline end_wait(w, r, is_canceled)
{
	state[r] = ACTIVE;
	coded[r] = is_canceled;
	queue[w] = queue[w] | BIT(r)
}

/* cancel_one - CAN1. r has not ended. */
inline cancel_one(w, r)
{
#ifndef MUTANT_CANCEL_WAIT_ONLY
	canceled[r] = true;
#endif
	if
	:: state[r] == PARKED || state[r] == JOINING -> end_wait(w, r, true)
	:: else
	fi
}

/* remote_wake_locked - WKC3 and WKC5, in w's door. */
inline remote_wake_locked(w, r)
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
			:: !first -> put(r)                             /* WKC5 */
			:: first && over
			:: first && !over ->
				if
				:: is_event && state[r] == JOINING -> end_wait(w, r, false)
				:: is_event && state[r] != JOINING -> event[r] = true
				:: else
				fi;
				if
				:: n > 0 && state[r] == PARKED ->
					end_wait(w, r, false);
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

/* drain - take all of w's inbox. */
inline drain(w)
{
	d_step { nodes = inbox[w]; inbox[w] = 0 };
	if
	:: nodes & 1 -> remote_wake_locked(w, 0)
	:: else
	fi;
	if
	:: nodes & 2 -> remote_wake_locked(w, 1)
	:: else
	fi;
	nodes = 0
}
