/* fd_call.pml - part of fd.pml and fd_select.pml: a call, FDC1 to FDC7, FDM1 to FDM3, FDX3. */

/* enter - FDC1, under the generation `mine`. */
inline enter(mine, entered)
{
	atomic {
		entered = is_open && gen == mine && !closing;
		if
		:: entered -> users++
		:: else
		fi
	}
}

inline finish() /* FDX3 */
{
	atomic { watched[0] = false; watched[1] = false; edge[0] = false; edge[1] = false; set = 0 }
	atomic { /* free_slot */
		assert(is_open && users == 0);
		is_open = false; closing = false;
#ifndef MUTANT_SAME_GEN
		gen++;
#endif
		freed++
	}
	atomic { in_kernel = 0; number_free = true } /* close(2) */
}

/* leave - FDC7. */
inline leave(last)
{
	atomic {
		users--;
		last = closing && users == 0
	}
	if
	:: last -> finish(); last = false
	:: else
	fi
}

/* take_ready - FDC2. was: what the direction was. */
inline take_ready(was)
{
	atomic {
		was = dir;
		if
		:: dir == READY -> dir = EMPTY
		:: else
		fi
	}
}

/* is_useless - nothing has come since the last read was short. */
#ifdef MUTANT_BLIND_DRAINED
#define is_useless(was) drained
#else
#define is_useless(was) (drained && was == EMPTY)
#endif

/* read_bytes - FDC3: one byte, or all of them and fewer than there is room for. was: as FDC2 has
 * found it. */
inline read_bytes(r, was, came)
{
	atomic {
		came = in_kernel > 0 && !is_useless(was);
		if
		:: came -> in_kernel--; got[r]++; drained = false
		:: came -> got[r] = got[r] + in_kernel; in_kernel = 0; drained = true
		:: !came && !is_useless(was) -> drained = false
		:: !came && is_useless(was)
		fi
	}
}

/* watch - FDC4, on any worker: the coroutine may have been stolen. */
inline watch(w, old)
{
	if
	:: w = 0
	:: w = 1
	fi;
	if
	:: set == w + 1
	:: set != w + 1 && set != 0 /* it stays for once */
	:: set != w + 1 ->
		lock_slot(); /* FDM1 */
		old = set;
		if
		:: old == w + 1
		:: else ->
#ifdef MUTANT_ADD_SILENT
			atomic { watched[w] = true }
#else
			atomic { watched[w] = true; edge[w] = in_kernel > 0 } /* FDM2 */
#endif
			if
			:: old -> atomic { watched[old - 1] = false; edge[old - 1] = false }
			:: else
			fi;
			set = w + 1 /* FDM3 */
		fi;
		old = 0;
		unlock_slot()
	fi;
	w = 0
}

/* await - FDC5 and FDC6. was: not EMPTY: the coroutine did not wait. ended: by its deadline. */
inline await(r, was, ended)
{
	ended = false;
	atomic { /* FDC5 */
		was = dir;
		if
		:: dir == EMPTY -> dir = RECORD + r; waits[r] = true
		:: else
		fi
	}
	if
	:: was != EMPTY
	:: else -> /* FDC6 */
		if
		:: event[r]
#ifdef GIVE_UP
		:: !gave_up ->
			atomic {
				gave_up = true;
				ended = dir == RECORD + r;
				if
				:: ended -> dir = EMPTY; waits[r] = false
				:: else
				fi
			}
			if
			:: ended
#ifdef MUTANT_NO_COMMIT
			:: else -> ended = true
#else
			:: else -> event[r]
#endif
			fi
#endif
		fi;
		if
		:: !ended -> atomic { event[r] = false; waits[r] = false }
		:: else
		fi
	fi
}

/* read - FDC2 to FDC6: of the coroutine r, which has entered, with its variables. over: the
 * descriptor is closed. */
inline read(r, over)
{
	do
	:: true ->
#ifdef MUTANT_CALL_FIRST
		read_bytes(r, dir, came);
#endif
		take_ready(was); /* FDC2 */
		if
		:: was == CLOSED -> over = true; break
		:: else
		fi;
#ifndef MUTANT_CALL_FIRST
		read_bytes(r, was, came); /* FDC3 */
#endif
		if
		:: came -> break
		:: else
		fi;
		watch(w, old); /* FDC4 */
		await(r, was, ended);
		if
		:: ended -> break
		:: else
		fi
	od;
	atomic { was = 0; came = false; ended = false }
}
