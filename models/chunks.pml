/*
 * chunks.pml - the mailbox of an actor in Go: actor/mailbox.go GSD1 to GSD4, GTN1, GTN4, GTN5, GBK1
 * to GBK3.
 *
 * SENDERS goroutines send SENDS messages each to one actor, with NODES nodes, which are used again.
 * Each node that a sender takes may get a bulk, which holds BULK messages more. The one
 * executor runs one turn after the other; that a second one would be started is an error. OWN is how
 * many messages the actor sends to itself.
 *
 * Taken over: the order of the steps, and each atomic step by itself. SIGNALS is how many signals are
 * posted, besides.
 *
 * Left out: what a turn leaves to the next one (GTN3), which is only a part of its list; bounds. A
 * bulk that is done is never used again: in the code its owner alone uses it again, which is not
 * within GBK2 then.
 *
 * Claimed: each message is handled once, in the order of its sender, and none is left, nor a signal;
 * never are two turns under way.
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

#ifndef SIGNALS
#define SIGNALS 0
#endif
#ifndef OWN
#define OWN 0
#endif

#define NODE    1 /* in the box: NODE + the node's number; 0: the box is empty */
#define NONE    255
#define CLOSED  128

#define MESSAGE(s, n) ((s) * 16 + (n))

byte box, pending = NONE;
bool is_active;
byte queued, turns, handled;
byte posted, obeyed; /* signals */
byte next_of[NODES], message_of[NODES], bulk_of[NODES];
bool is_used[NODES];
byte word[BULKS], owner[BULKS], kept[BULKS * BULK];
byte bulks; /* that were made */
byte own; /* messages that the actor has sent to itself */
byte expects[SENDERS + 1]; /* the last is the actor itself */

/* claim - make a dormant actor active. Sets claimed, else leaves it. */
inline claim(claimed) {
	atomic {
		if
		:: !is_active -> is_active = true; claimed = true
		:: else
		fi
	}
}

/* start - start the turn of the actor that the caller has claimed. */
inline start() {
	atomic { assert(queued == 0 && turns == 0); queued++ }
}

/* handle - a message comes to the behaviour. */
inline handle(m) {
	d_step {
		assert(expects[(m) / 16] == (m) % 16);
		expects[(m) / 16]++;
		handled++
	}
}

/* take_node - a free node, for message m. There is one. */
inline take_node(mine, m) {
	mine = (!is_used[0] -> 0 : (!is_used[1] -> 1 : NODES - 1)); /* the first that is free */
	is_used[mine] = true;
	message_of[mine] = m;
	bulk_of[mine] = NONE
}

/* send_own - the turn that handles the message of node n sends to its actor, if a node is free. */
inline send_own(n, mine, old) {
	atomic {
		if
		:: !is_used[0] || !is_used[1] || !is_used[NODES - 1] ->
			take_node(mine, MESSAGE(SENDERS, own))
		:: else -> mine = NONE
		fi
	}
	if
	:: mine == NONE
	:: else ->
		own++;
		if
#ifdef MUTANT_OWN_BLIND
		:: next_of[n] == NONE && bulk_of[n] == NONE ->
#else
		:: box == 0 && next_of[n] == NONE && bulk_of[n] == NONE ->
#endif
			next_of[mine] = NONE; /* GSD4 */
			next_of[n] = mine
		:: else ->
			do
			:: old = box;
				next_of[mine] = (old >= NODE -> old - NODE : NONE);
				atomic { /* GSD2 */
					if
					:: box == old -> box = NODE + mine; break
					:: else
					fi
				}
			od
		fi
	fi
}

proctype Sender(byte s)
{
	byte n, old, i, b, mine;
	bool claimed;

	do
	:: n == SENDS -> break
	:: else ->
		old = box;
		if /* GSD1 */
#ifdef MUTANT_CLAIM_BLIND
		:: true -> claim(claimed)
#else
		:: old == 0 -> claim(claimed)
#endif
		:: else
		fi;
		/* GBK2 */
		b = NONE;
		if
		:: old >= NODE && !claimed -> b = bulk_of[old - NODE]
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
			take_node(mine, MESSAGE(s, n));
			if /* GBK1 */
			:: bulk_of[mine] = bulks; owner[bulks] = s; word[bulks] = 0; bulks++
			:: skip
			fi
		}
		if
		:: claimed ->
			next_of[mine] = NONE;
			pending = mine;
			n++;
			start();
			goto sent
		:: else
		fi;
again:		old = box;
		next_of[mine] = (old >= NODE -> old - NODE : NONE);
		atomic { /* GSD2 */
			if
			:: box == old -> box = NODE + mine
			:: else -> goto again
			fi
		}
		n++;
#ifndef MUTANT_SEND_BLIND
		claim(claimed); /* GSD3 */
#endif
		if
		:: claimed -> start()
		:: else
		fi;
sent:		atomic { old = 0; i = 0; b = 0; mine = 0; claimed = false }
	od
}

proctype Poster()
{
	bool claimed;
	byte n;

	do
	:: n == SIGNALS -> break
	:: else ->
		posted++;
		n++;
		claim(claimed);
		if
		:: claimed -> start()
		:: else
		fi;
		claimed = false
	od
}

proctype Executor()
{
	byte list, b, i, count, after, mine;
	bool claimed;

end:	do
	:: atomic { queued > 0 -> queued--; turns++ }
		obeyed = posted; /* the signals of now */
		if
		:: pending != NONE -> list = pending; pending = NONE
		:: else ->
take:			atomic { /* GTN1: all, oldest first */
				after = NONE;
				list = (box >= NODE -> box - NODE : NONE);
				box = 0;
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
			if
			:: own < OWN -> send_own(list, mine, after)
			:: else
			fi;
			b = bulk_of[list];
			if
			:: b != NONE ->
#ifdef MUTANT_OPEN
				count = word[b]; /* it is not closed */
#else
				atomic { count = word[b]; word[b] = count | CLOSED } /* GBK3 */
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
		if
		:: box != 0 -> goto take
		:: else
		fi;
#ifdef MUTANT_LOOK_FIRST
		if
		:: box == 0 && posted == obeyed -> atomic { is_active = false; turns--; goto next }
		:: else
		fi;
		atomic { is_active = false; turns-- };
#else
		atomic { is_active = false; turns-- } /* GTN4 */
		if /* GTN5 */
#ifdef MUTANT_SIGNAL_BLIND
		:: box == 0 -> goto next
#else
		:: box == 0 && posted == obeyed -> goto next
#endif
		:: else
		fi;
#endif
		claim(claimed);
		if
		:: claimed -> start()
		:: else
		fi;
next:		atomic { list = 0; b = 0; i = 0; count = 0; after = 0; mine = 0; claimed = false }
	od
}

init {
	byte s;

	atomic {
		run Executor();
		run Poster();
		do
		:: s == SENDERS -> break
		:: else -> run Sender(s); s++
		od
	}
	/* all but the executor have ended */
	_nr_pr == 2;
	/* else nothing goes on any more: an invalid end */
	handled == SENDERS * SENDS + own && obeyed == posted;
	turns == 0 && queued == 0;
	assert(!is_active && box == 0 && pending == NONE)
}
