/* fd_events.pml - part of fd.pml and fd_select.pml: FDE1 to FDE4, FDX1, FDX2, and the peer. */

/* put - FDE3, FDX2: what is there becomes `state`, unless CLOSED. was: RECORD + r: r is to have its
 * event. taken: for FDS3. */
inline put(state, was, taken)
{
	do
	:: atomic { dir < SELECT ->
			was = dir;
			if
			:: dir != CLOSED -> dir = state
			:: else
			fi;
			break }
#ifdef SELECTS
	:: atomic { dir >= SELECT -> was = dir } put_at_case(state, was, taken)
#endif
	od
}

/* tell - FDE4, FDX2. */
inline tell(was)
{
	if
	:: was >= RECORD -> send_event(was - RECORD)
	:: else
	fi;
	was = 0
}

proctype Looker(byte w)
{
	byte its_gen, was;
	bool taken; /* FDS3 */

end:	do
	:: atomic { edge[w] && watched[w] -> edge[w] = false; its_gen = gen } /* epoll_wait */
		if
		:: gen != its_gen || !is_open /* FDE1 */
		:: else ->
			put(READY, was, taken); /* FDE3 */
			tell(was) /* FDE4 */
		fi;
		its_gen = 0
	od
}

/* A peer sends n bytes to the descriptor of that generation. */
proctype Peer(byte mine; byte n)
{
	do
	:: n == 0 -> break
	:: else -> atomic { if :: is_open && gen == mine -> byte_comes() :: else fi; n-- }
	od
}

#ifdef CLOSE
proctype Closer()
{
	byte was;
	bool last;
	bool taken; /* FDS3 */

	atomic { closing = true; users++ } /* FDX1 */
	put(CLOSED, was, taken); /* FDX2 */
#ifndef MUTANT_CLOSE_SILENT
	tell(was);
#endif
#ifdef MUTANT_FREE_EARLY
	atomic { users-- }
	finish();
#else
	leave(last);
#endif
#ifdef REUSE
	atomic {
		number_free -> is_open = true; dir = EMPTY; drained = false;
		run NEXT;
		run Peer(gen, 1)
	}
#endif
}
#endif
