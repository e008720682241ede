/* fd_events.pml - part of fd.pml and fd_select.pml: E1 to E4, X1, X2, and the peer. */

/* put - E3, X2: what is there becomes `state`, unless CLOSED. was: RECORD + r: r is to have its
 * event. taken: for S3. */
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

/* tell - E4, X2. */
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
	bool taken; /* S3 */

end:	do
	:: atomic { edge[w] && watched[w] -> edge[w] = false; its_gen = gen } /* epoll_wait */
		if
		:: gen != its_gen || !is_open /* E1 */
		:: else ->
			put(READY, was, taken); /* E3 */
			tell(was) /* E4 */
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
	bool taken; /* S3 */

	atomic { closing = true; users++ } /* X1 */
	put(CLOSED, was, taken); /* X2 */
#ifndef MUTANT_X2_SILENT
	tell(was);
#endif
#ifdef MUTANT_X3_EARLY
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
