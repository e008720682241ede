/* idle_steal.pml - part of idle.pml: inboxes and steals, SLP6 (run.c, steal.c). */

/* Spawns out of an inbox are counted when they are delivered. These nodes are remote wakes. */
#if SCENE == 1 || SCENE == 4
#define REMOTE_WAKES 8
#elif SCENE == 2
#define REMOTE_WAKES 8
#elif SCENE == 3 || SCENE == 6
#define REMOTE_WAKES 2
#else
#define REMOTE_WAKES 0
#endif

/* drain - the nodes of v's inbox, and the deadlines that are due there, go into v's queue. In scene
 * 6 a remote wake is for the coroutine that waits with a deadline. If that coroutine has gone on,
 * the remote wake stays a permit. */
inline drain(v)
{
#if SCENE == 6
	inbox[v] = inbox[v] & ~(2 & ~due[v]);
	queue[v] = queue[v] | (due[v] & (come | inbox[v]));
	due[v] = due[v] & ~(come | inbox[v]);
#endif
	inner = inner & ~inbox[v];
	n = inbox[v] & ~REMOTE_WAKES;
	do
	:: n != 0 -> spawned[v]++; n = n & (n - 1)
	:: else -> break
	od;
	queue[v] = queue[v] | inbox[v];
	inbox[v] = 0;
	n = 0
}

/* give - take the last (n + 1) / 2 of the n in v's queue. A queue has four at most. */
inline give(v)
{
	n = queue[v];
	hand = HIGHEST(n);
	n = n & ~hand;
	n = n & ~HIGHEST(n);
	if
	:: n != 0 -> n = queue[v] & ~hand; hand = hand | HIGHEST(n)
	:: else
	fi;
	queue[v] = queue[v] & ~hand;
	n = 0
}

/* take_from - the part of a steal that is inside v's door. */
inline take_from(v)
{
	fed = 0;
#if SCENE == 6
	queue[v] = queue[v] | (due[v] & come);
	due[v] = due[v] & ~come;
#endif
	if
	:: queue[v] == 0 ->
		drain(v);
		queue[v] = queue[v] | next[v];
		next[v] = 0;
		fed = MANY(queue[v])
	:: else
	fi;
	give(v);
#ifndef MUTANT_LEFT_ASLEEP
	if
	:: (sleepers & BIT(v)) && queue[v] != 0 -> left = v + 1
	:: else
	fi
#endif
}

/* stolen - the part of a steal after v's door: SLP6, and what was stolen goes into w's queue. */
inline stolen()
{
	if
	:: left != 0 -> left--; claim(left, c); c = 0; left = 0         /* SLP6 */
	:: else
	fi;
	if
	:: fed -> fed = 0; if :: hungry != 0 -> notify_hungry() :: else fi
	:: else
	fi;
	if
	:: hand != 0 ->
		d_step { queue[w] = queue[w] | hand; hand = 0 };
		notify_queued();
		found = true
	:: else
	fi
}

inline steal(v)
{
	d_step { take_from(v) };
	stolen()
}

/* note - coroi_note_turns. */
inline note()
{
#if SCENE == 2
	moved[0] = moved[0] & ~BIT(w);
	moved[1] = moved[1] & ~BIT(w);
	moved[2] = moved[2] & ~BIT(w)
#else
	skip
#endif
}

/* try - steal from v in the last steal_round of a search. */
inline try(v)
{
	if
	:: !found && (MANY(queue[v]) || STUCK(w, v)) -> steal(v)
#if SCENE == 2
	:: else
#else
	:: true
#endif
	fi
}
