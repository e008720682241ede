/*
 * chunks.pml - the mailbox of an actor in Go: actor/mailbox.go S1, S2, T1, T4, K1 to K3.
 *
 * SENDERS goroutines send SENDS messages each to one actor, with NODES nodes, which are used again.
 * Each node that a sender takes may get a bulk, which holds BULK messages more. The one
 * executor runs one turn after the other; that a second one would be started is an error.
 *
 * Taken over: the order of the steps, and each atomic step by itself; the way of a message that is
 * alone, which stays in the box while it is handled.
 *
 * Left out: pending (T3), by which a turn only leaves a part of its list to the next one; signals
 * (T5); bounds. A bulk that is done is never used again: in the code its owner alone uses it again,
 * which is not within K2 then.
 *
 * Claimed: each message is handled once, in the order of its sender, and none is left; never are two
 * turns under way.
 */
#ifndef SENDERS
#define SENDERS 2
#endif
#ifndef SENDS
#define SENDS 2
#endif
#ifndef NODES
#define NODES 3
#endif
#ifndef BULK
#define BULK 2
#endif
#define BULKS (SENDERS * SENDS)

#define DORMANT 0
#define ACTIVE  1
#define NODE    2 /* NODE + the node's number */
#define NONE    255
#define CLOSED  128

#define MESSAGE(s, n) ((s) * 16 + (n))

byte box = DORMANT;
byte queued, turns, handled;
byte next_of[NODES], message_of[NODES], bulk_of[NODES];
bool is_used[NODES];
byte word[BULKS], owner[BULKS], kept[BULKS * BULK];
byte bulks; /* that were made */
byte expects[SENDERS];

/* handle - a message comes to the behaviour. */
inline handle(m) {
	d_step {
		assert(expects[(m) / 16] == (m) % 16);
		expects[(m) / 16]++;
		handled++
	}
}

proctype Sender(byte s)
{
	byte n, old, i, b, mine;

	do
	:: n == SENDS -> break
	:: else ->
		/* K2 */
		old = box;
		b = NONE;
		if
		:: old >= NODE -> b = bulk_of[old - NODE]
		:: else
		fi;
		if
#ifdef MUTANT_ANYBODY
		:: b != NONE ->
#else
		:: b != NONE && owner[b] == s ->
#endif
			i = word[b];
			if
			:: i < BULK ->
				kept[b * BULK + i] = MESSAGE(s, n);
#ifdef MUTANT_COUNT_STORE
				word[b] = i + 1;
				n++;
				goto sent;
#else
				atomic {
					if
					:: word[b] == i -> word[b] = i + 1; n++; goto sent
					:: else
					fi
				}
#endif
			:: else
			fi
		:: else
		fi;
		/* a node */
		atomic {
			!is_used[0] || !is_used[1] || !is_used[NODES - 1];
			/* the first that is free */
			mine = (!is_used[0] -> 0 : (!is_used[1] -> 1 : NODES - 1));
			is_used[mine] = true;
			message_of[mine] = MESSAGE(s, n);
			bulk_of[mine] = NONE;
			if /* K1 */
			:: bulk_of[mine] = bulks; owner[bulks] = s; word[bulks] = 0; bulks++
			:: skip
			fi
		}
again:		old = box; /* S1 */
		if
		:: old >= NODE -> next_of[mine] = old - NODE
		:: else -> next_of[mine] = NONE
		fi;
		atomic {
			if
			:: box == old -> box = NODE + mine
			:: else -> goto again
			fi
		}
		n++;
		if /* S2 */
		:: old == DORMANT -> atomic { assert(queued == 0 && turns == 0); queued++ }
		:: else
		fi;
sent:		atomic { old = 0; i = 0; b = 0; mine = 0 }
	od
}

proctype Executor()
{
	byte top, list, b, i, count, after;

end:	do
	:: atomic { queued > 0 -> queued--; turns++ }
		top = box;
		if
		:: top >= NODE && next_of[top - NODE] == NONE && bulk_of[top - NODE] == NONE ->
			/* alone: it stays in the box */
			handle(message_of[top - NODE]);
#ifdef MUTANT_ALONE_STORE
			if
			:: box == top -> box = DORMANT; is_used[top - NODE] = false; goto over
			:: else
			fi;
#else
			atomic {
				if
				:: box == top ->
					box = DORMANT; is_used[top - NODE] = false; turns--; goto next
				:: else
				fi
			}
#endif
			atomic { list = box - NODE; box = ACTIVE }
			/* all but the one that was handled, oldest first */
			atomic {
				after = NONE;
				do
				:: list == top - NODE -> break
				:: else -> i = next_of[list]; next_of[list] = after; after = list; list = i
				od;
				is_used[top - NODE] = false;
				list = after
			}
		:: else ->
take:			atomic {
				after = NONE;
				if
				:: box >= NODE -> list = box - NODE
				:: else -> list = NONE
				fi;
				box = ACTIVE;
				do
				:: list == NONE -> break
				:: else -> i = next_of[list]; next_of[list] = after; after = list; list = i
				od;
				list = after
			}
		fi;
		do
		:: list == NONE -> break
		:: else ->
			handle(message_of[list]);
			b = bulk_of[list];
			if
			:: b != NONE ->
#ifdef MUTANT_OPEN
				count = word[b]; /* it is not closed */
#else
				atomic { count = word[b]; word[b] = count | CLOSED } /* K3 */
#endif
				i = 0;
				do
				:: i == count -> break
				:: else -> handle(kept[b * BULK + i]); i++
				od
			:: else
			fi;
			atomic { after = next_of[list]; is_used[list] = false; bulk_of[list] = NONE; list = after }
		od;
		atomic { /* T4 */
			if
			:: box == ACTIVE -> box = DORMANT; turns--; goto next
			:: else
			fi
		}
		goto take;
#ifdef MUTANT_ALONE_STORE
over:		turns--;
#endif
next:		atomic { top = 0; list = 0; b = 0; i = 0; count = 0; after = 0 }
	od
}

init {
	byte s;

	atomic {
		run Executor();
		do
		:: s == SENDERS -> break
		:: else -> run Sender(s); s++
		od
	}
	/* all but the executor have ended */
	_nr_pr == 2;
	handled == SENDERS * SENDS; /* else nothing goes on any more: an invalid end */
	turns == 0 && queued == 0;
	assert(box == DORMANT)
}
