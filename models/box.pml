/*
 * box.pml - an actor's mailbox in one word: csrc/actor/box.h SND1-SND2, TRN1-TRN4, HOM1-HOM6,
 * CTL1-CTL3, END1-END3, and PSV1-PSV2 of passive.c, with urgent messages (side.c).
 *
 * There is one place for actors. Its first actor has generation 1. SENDERS threads send SENDS
 * messages each to that actor, with that reference. What the queues of the workers have is a count
 * of turns; two workers run them. With STOP a thread stops the actor; the place is used again, by
 * an actor of generation 2, to which a further sender and, with URGENTS, a further controller send.
 * With URGENTS=n n controllers send two urgent messages each. With NO_MEMORY a turn cannot be
 * started for a dormant actor, at times, where the message may be urgent. With SWEEP a sweeper
 * marks the dormant actor as idle, once. With HOME each sender is on one of the two workers at each
 * send, and the actor comes home and leaves. BUSY has no worker that is without something to run,
 * or whose credit is collected, so that nobody but those asked looks after an actor that lingers.
 * With OWN=n the actor sends n messages to itself, 2 at most.
 *
 * Taken over: the word, with its generation, message and marks; each look, CAS and exchange of it
 * as one step, and a CAS compares the whole word with what was looked at. So a message that leaves
 * and comes again in between is here too (ABA): there are NODES nodes, and who sends takes the
 * lowest free one. `pending`, the lock of the side table, and what is done in it, step by step. A
 * behaviour that ends its coroutine (coroi_turn_ended). The clock may end a turn after any call.
 * With HOME: a worker's note of the actor, with its generation, and the steal of a turn that waits,
 * which may come back. There may be no memory for HOM2 to HOM4, and for the start of a lingering
 * actor's turn, which is then tried again.
 *
 * Left out
 *   senders   without HOME, inside and outside are the same: an SND2 is a step by itself, later
 *             than SND1, on any thread. With HOME the senders of one worker go on at the same time,
 *             and beside its turns, which in the code are one thread; and one outside is like one
 *             on another worker. In the code SND1 and SND2 are in one door, or under one lock. A
 *             behaviour that sends to another actor is one more sender. SND3 is no step of the box.
 *   notes     what is done in a door is one step, but for HOM2's append. An actor may come home
 *             wherever a turn of it ends; which of them do is a guess of the code. Another actor
 *             that is noted at the same place: a note is not made, at times. What is kept for the
 *             next turn. That asking takes two steps, a flag and a node in the inbox.
 *   batches   a call has one message. The next call may come without a look at the clock.
 *   memory    is sequentially consistent. Each step of the word is a read-modify-write, but for the
 *             looks, which a CAS repeats or a door makes sure of, and END3.
 *   sides     watchers and bounds; making the table, which is there; what is sent later (later.c).
 *   depths    which are hints; the end of a scheduler; a place that is retired.
 *
 * Claimed
 *   - A message that was accepted is handled, or a dead letter, once; one that was refused is
 *     neither. Both in the order of its sender (come). Urgent messages do not overtake each other.
 *   - No message comes to an actor for which it was not meant (come).
 *   - Never are two turns of the actor queued or run (start, worker).
 *   - No node is used after it was given back, nor given back twice (LIVE).
 *   - When nothing goes on any more, nothing lies in the box, in `pending` or in the side table, no
 *     mark is left, all nodes are free, an actor that was stopped has ended, and none is at home;
 *     with BUSY one may linger (the end of init). With -DNP, which searches for cycles, and
 *     is not for HOME: nothing goes on without end.
 *
 * Mutants: MUTANT_REST_STORE, MUTANT_REST_BLIND, MUTANT_TAKE_STORE, MUTANT_NOT_ACTIVE,
 * MUTANT_NOT_AGAIN, MUTANT_PENDING_LATE, MUTANT_NO_PENDING, MUTANT_EARLY_FREE, MUTANT_SAME_GEN,
 * MUTANT_SIDE_FIRST, MUTANT_UNMARK_STORE, MUTANT_MARK_FIRST, MUTANT_OVERTAKES_URGENT,
 * MUTANT_BLIND_WITHDRAW, MUTANT_IDLE_STORE, MUTANT_HOME_STOLEN, MUTANT_HOME_BLIND,
 * MUTANT_HOME_ANY, MUTANT_HOME_SILENT, MUTANT_HOME_OWN_SILENT, MUTANT_HOME_EARLY,
 * MUTANT_HOME_FORGETS, MUTANT_HOME_MARK, MUTANT_HOME_LINGERS, MUTANT_HOME_KEPT, MUTANT_HOME_STAYS,
 * MUTANT_HOME_END, MUTANT_HOME_LEAVE_STORE, MUTANT_HOME_ENDED_STORE, MUTANT_HOME_REST_STORE,
 * MUTANT_HOME_IDLE_STORE, MUTANT_HOME_OWN_BLIND.
 */
#ifndef SENDERS
#define SENDERS 2
#endif
#ifndef SENDS
#define SENDS 2
#endif
#ifndef URGENTS
#define URGENTS 0
#endif
#ifndef NODES
#define NODES 3
#endif

/* The word. */
#define ACTIVE  1
#define CONTROL 2
#define HALT    4  /* COROI_BOX_STOP */
#define LIVE_   8
#define IDLE    16
#define HOME_   32 /* in place of a message there is a worker's number */
#define MSG(m)  ((m) << 6)
#define GEN(g)  ((g) << 9)
#define LOW     511 /* all but the generation */
#define GEN_OF(box) ((box) >> 9)
#ifdef HOME
#define M(box)  ((box) & HOME_ -> 0 : ((box) >> 6) & 7)
#else
#define M(box)  (((box) >> 6) & 7)
#endif

#define DORMANT(box)   (((box) & LOW) == LIVE_)
#define TAKES(box, g)  (GEN_OF(box) == (g) && ((box) & LIVE_))
#define AT(g, w)       (GEN(g) + LIVE_ + ACTIVE + HOME_ + MSG(w))
#define AT_WHICH(box)  (((box) >> 6) & 7)
#define AWAY(box)      ((box) & (GEN(7) + LOW - HOME_ - MSG(7)))

short box = GEN(1) + LIVE_;
byte pending;

/* The side table. */
bool locked;
byte urgent, urgent_last, takes;

byte queued;                 /* turns in the workers' queues */
#ifdef HOME
byte at_worker;              /* in whose the turn is; that of a CTL2 is in the first's */
bool door[2];                /* a sender is in the worker's door */
/* The worker's note. */
#define NONE    0
#define WAITS   1            /* the turn is queued */
#define LINGERS 2
byte note[2];
byte note_gen[2];            /* the actor's generation */
byte note_last[2];           /* WAITS: the end of `pending` */
bool taken[2];               /* the turn was stolen since (coroi_task_given) */
bool asked[2];               /* HOM3: the worker is to look */
byte own;                    /* HOM6: how many messages the actor has sent to itself */
#endif
bool runs;                   /* a turn runs */
bool place_free;

/* Messages, from 1 on. */
byte next[NODES + 1], id[NODES + 1];
bool used[NODES + 1];

byte actor = 1;              /* which one is in the place, or was the last */
#define MEANT(s) ((s) == 3 || (s) == 6 -> 2 : 1)

/* A message's id: its sender's number, and its own: two each. Urgent ones are from URGENT on. */
#define URGENT 8
#define IDS    14
byte first[IDS / 2];         /* of each sender: the next message that may come */
bool accepted[IDS], refused[IDS], came[IDS];

#define LIVE(m) assert(used[m])
#if NODES > 2
#define MAY_GET (!used[1] || !used[2] || !used[3])
#else
#define MAY_GET (!used[1] || !used[2])
#endif

/* new_node - wait for a free one. */
inline new_node(m, its_id)
{
	atomic {
		if
		:: !used[1] -> m = 1
		:: used[1] && !used[2] -> m = 2
#if NODES > 2
		:: used[1] && used[2] && !used[3] -> m = 3
#endif
		fi;
		used[m] = true;
		id[m] = its_id
	}
}

inline put(m) { d_step { LIVE(m); used[m] = false; next[m] = 0; id[m] = 0 } }

/* start - SND2, TRN3: a turn is queued. start_on - by worker w, in its queue. */
inline start()
{
	atomic { queued++; assert(queued + runs == 1) }
}

inline start_on(w)
{
	atomic {
		start();
#ifdef HOME
		at_worker = w
#endif
	}
}

#ifdef HOME
/* write - in w's door: its note. */
inline write(w, what, gen, last)
{
	note[w] = what; note_gen[w] = gen; note_last[w] = last; taken[w] = false
}

#define IS_NOTED(w, what, gen) (note[w] == (what) && note_gen[w] == (gen))

/* ask - HOM3, where the box was old. */
inline ask(old)
{
#ifndef MUTANT_HOME_SILENT
	if
	:: old & HOME_ -> asked[AT_WHICH(old)] = true
	:: else
	fi
#else
	skip
#endif
}

/* may_append - HOM2, in w's door. */
inline may_append(w, to)
{
	ok = note[w] == LINGERS || note[w] == WAITS;
#ifndef MUTANT_HOME_STOLEN
	ok = ok && !taken[w];
#endif
#ifdef MUTANT_HOME_ANY
	ok = ok && box == AT(note_gen[w], w)
#else
	ok = ok && note_gen[w] == to;
#ifndef MUTANT_HOME_BLIND
	ok = ok && box == AT(to, w)
#endif
#endif
}

/* append - HOM2. */
inline append(w, m)
{
	next[m] = 0;
	if
	:: note[w] == LINGERS ->
		pending = m;
		write(w, WAITS, note_gen[w], m);
		start_on(w)
	:: else ->
		LIVE(note_last[w]);
		next[note_last[w]] = m;
		note_last[w] = m
	fi
}
#endif

/* come - m is handled by the actor that is in the place, or is its dead letter. */
inline come(m)
{
	d_step {
		LIVE(m);
		assert(MEANT(id[m] / 2) == actor);
		assert(id[m] % 2 >= first[id[m] / 2]);
		first[id[m] / 2] = id[m] % 2 + 1;
		assert(!came[id[m]] && !refused[id[m]]);
		came[id[m]] = true
	}
}

inline lock() { atomic { !locked -> locked = true } }

/* cas - ok: the box was old, and is to. Else old is what it is. */
inline cas(old, to)
{
	atomic {
		ok = box == old;
		if
		:: ok -> box = to
		:: else -> old = box
		fi
	}
}

proctype Sender(byte s; byte to; byte n)
{
	short old, was;
	byte m, i, w;
	bool ok;

	do
	:: i < n ->
		new_node(m, s * 2 + i);
#ifdef HOME
		if
		:: w = 0
		:: w = 1
		fi;
		if
		:: atomic {                                       /* HOM2 */
				!door[w] ->
				may_append(w, to);
				door[w] = ok
			};
			if
			:: ok ->
				atomic { append(w, m); accepted[s * 2 + i] = true; door[w] = false };
				goto sent
			:: else
			fi
		:: skip                                           /* the door wants more, or no memory */
		fi;
#endif
		old = box;                                      /* SND1 */
		do
		:: !TAKES(old, to) ->
			d_step { refused[s * 2 + i] = true; assert(!came[s * 2 + i]) };
			put(m);
			break
		:: TAKES(old, to) ->
			next[m] = M(old);
#ifdef MUTANT_NOT_ACTIVE
#define WAKES(old) ((old & (LOW - ACTIVE)) == LIVE_)
#else
#define WAKES(old) DORMANT(old)
#endif
			was = old;
#ifdef MUTANT_HOME_EARLY
			ask(old);
#endif
			cas(old, (old & (GEN(7) + CONTROL + HALT + LIVE_)) | MSG(m));
			if
			:: ok -> accepted[s * 2 + i] = true; break
			:: else
			fi
		od;
		if
		:: ok && WAKES(was) -> start_on(w)              /* SND2 */
#ifdef HOME
#ifndef MUTANT_HOME_EARLY
		:: ok && was & HOME_ ->                         /* HOM3 */
			if
#ifndef MUTANT_HOME_OWN_SILENT
			:: was != AT(to, w) || IS_NOTED(w, LINGERS, to) -> ask(was)
#else
			:: was != AT(to, w) -> ask(was)
#endif
			:: else
			fi
#endif
#endif
		:: else
		fi;
sent:		atomic { i++; m = 0; old = 0; was = 0; w = 0; ok = false }
	:: else -> break
	od
}

/* mark - CTL2. status: 0, ESTALE, ENOMEM */
#define ESTALE 1
#define ENOMEM 2
inline set_mark(to, what)
{
	old = box;
	do
	:: !TAKES(old, to) -> status = ESTALE; break
	:: TAKES(old, to) && DORMANT(old) ->
		if
		:: skip ->
			cas(old, old | what);
			if
			:: ok -> start(); break
			:: else
			fi
#ifdef NO_MEMORY
		:: status = ENOMEM; break
#endif
		fi
	:: TAKES(old, to) && !DORMANT(old) ->
		if
#if defined(HOME) && !defined(MUTANT_HOME_MARK)
		:: old & HOME_ -> cas(old, AWAY(old) | what)
#endif
		:: else -> cas(old, old | what)
		fi;
		if
		:: ok ->
#if defined(HOME) && !defined(MUTANT_HOME_MARK)
			ask(old);                                 /* HOM3 */
#endif
			break
		:: else
		fi
	od;
	atomic { old = 0; ok = false }
}

proctype Stopper()
{
	short old;
	byte status;
	bool ok;

	do
	:: status = 0;
		set_mark(1, HALT);
		if
		:: status != ENOMEM -> break
		:: else
		fi
	od
}

#ifdef SWEEP
proctype Sweeper()
{
	short old;
	bool ok;

	old = box;                                              /* PSV1 */
	if
	:: DORMANT(old) ->
		cas(old, old | IDLE);
		if
		:: ok -> start()
		:: else
		fi
	:: else
	fi
}
#endif

#ifdef HOME
/* Worker v, or a thief that holds its door, looks as v was asked to (HOM3); and v has nothing to
 * run, or its credit is collected (HOM5). */
inline settle(v, all)
{
	atomic {
		!door[v] ->
		if
		:: note[v] != LINGERS
		:: note[v] == LINGERS && box == AT(note_gen[v], v) && !all
		:: note[v] == LINGERS && box == AT(note_gen[v], v) && all ->
			box = GEN(note_gen[v]) + LIVE_;
			write(v, NONE, 0, 0)
		:: note[v] == LINGERS && box != AT(note_gen[v], v) ->
			if
			:: write(v, NONE, 0, 0); start_on(v)
			:: asked[v] = true                        /* no memory now */
			fi
		fi
	}
}

/* LOOK - what becomes of worker v's note, by v or a thief. */
#ifdef MUTANT_HOME_FORGETS
#define LOOK(v) asked[v] -> settle(v, false); asked[v] = false
#else
#define LOOK(v) atomic { asked[v] -> asked[v] = false }; settle(v, false)
#endif
#ifdef MUTANT_HOME_IDLE_STORE
#define REST(v) \
	note[v] == LINGERS && box == AT(note_gen[v], v) -> \
	atomic { box = GEN(note_gen[v]) + LIVE_; write(v, NONE, 0, 0) }
#else
#define REST(v) atomic { note[v] == LINGERS && !door[v] -> settle(v, true) }
#endif

proctype Looker()
{
end:	do
	:: LOOK(0)
	:: LOOK(1)
#ifndef BUSY
	:: REST(0)
	:: REST(1)
#endif
	od
}
#endif

/* in_table - m is in the side table; before: which one is before it. */
inline withdraw(m)
{
	d_step {
		in_table = false;
		before = 0;
		at = urgent;
		do
		:: at != 0 && at != m -> before = at; at = next[at]
		:: else -> break
		od;
		if
		:: at != 0 ->
			in_table = true;
			if
			:: before != 0 -> next[before] = next[m]
			:: else -> urgent = next[m]
			fi;
			if
			:: urgent_last == m -> urgent_last = before
			:: else
			fi
		:: else
		fi;
		before = 0; at = 0
	}
}

/* Urgent messages. */
proctype Controller(byte s; byte to; byte n)
{
	short old;
	byte m, i, status, was, before, at;
	bool ok, in_table;

	do
	:: i < n ->
		status = 0;
		new_node(m, s * 2 + i);
#ifdef MUTANT_MARK_FIRST
		set_mark(to, CONTROL);
#endif
		lock();                                         /* CTL1 */
		if
		:: !TAKES(box, to) -> status = ESTALE
		:: else ->
			d_step {
				next[m] = 0;
				if
				:: urgent -> next[urgent_last] = m
				:: else -> urgent = m
				fi;
				urgent_last = m;
				was = takes
			}
		fi;
		locked = false;
		if
		:: status -> in_table = true
		:: else ->
#ifndef MUTANT_MARK_FIRST
			set_mark(to, CONTROL);                    /* CTL2 */
#endif
			in_table = false;
			if
			:: status ->
				lock();
#ifdef MUTANT_BLIND_WITHDRAW
				withdraw(m);
#else
				if
				:: TAKES(box, to) && takes == was -> withdraw(m); assert(in_table)
				:: else
				fi;
#endif
				locked = false
			:: else
			fi
		fi;
		if
		:: in_table ->
			d_step { refused[s * 2 + i] = true; assert(!came[s * 2 + i]) };
			put(m)
		:: else -> accepted[s * 2 + i] = true
		fi;
		d_step { i++; m = 0; was = 0; in_table = false; status = 0 }
	:: else -> break
	od
}

/* reverse - the messages of x, oldest first. */
inline reverse(x, list)
{
	atomic {
		at = M(x);
		list = 0;
		do
		:: at != 0 ->
			LIVE(at);
			before = next[at];
			next[at] = list;
			list = at;
			at = before
		:: else -> break
		od;
		at = 0; before = 0
	}
}

/* bury - dead letters. */
inline bury(list)
{
	do
	:: list != 0 ->
		come(list);
		at = next[list];
		put(list);
		d_step { list = at; at = 0 }
	:: else -> break
	od
}

/* take - TRN1. */
inline take()
{
#ifdef MUTANT_TAKE_STORE
	x = box;
	box = GEN(self) + LIVE_ + ACTIVE;
#else
	atomic { x = box; box = GEN(self) + LIVE_ + ACTIVE };
#endif
	reverse(x, m)
}

#ifdef HOME
/* send_own - the actor sends at to itself, in a call of its behaviour: HOM6, or SND1. */
inline send_own()
{
	x = box;
	if
#ifdef MUTANT_HOME_OWN_BLIND
	:: home ->
#else
	:: home && x & HOME_ ->
#endif
		atomic { LIVE(last); next[at] = 0; next[last] = at; last = at; ok = true }
	:: ok = false
	fi;
	do
	:: ok -> break
	:: !ok ->
		next[at] = M(x);
		cas(x, (x & (GEN(7) + CONTROL + HALT + LIVE_)) | MSG(at))
	od;
	atomic { accepted[2 * 2 + own] = true; own++; at = 0; x = 0; ok = false }
}

/* leave_home - HOM5, where the box was x. */
inline leave_home()
{
	if
	:: x & HOME_ ->
#ifdef MUTANT_HOME_LEAVE_STORE
		box = AWAY(x);
#else
		atomic {
			if
			:: box == x -> box = AWAY(x)
			:: else
			fi
		}
#endif
	:: else
	fi
}

/* RESTS - TRN4: dormant, or at home (HOM1). */
#define RESTS \
	if \
	:: box = GEN(self) + LIVE_; ok = true; runs = false \
	:: !door[w] -> box = AT(self, w); write(w, LINGERS, self, 0); ok = true; runs = false \
	fi
#else
#define RESTS box = GEN(self) + LIVE_; ok = true; runs = false
#endif

/* end - END2, END3, after END1. */
inline end_after()
{
#ifndef MUTANT_SIDE_FIRST
	lock();                                                 /* END2 */
	d_step { list = urgent; urgent = 0; urgent_last = 0; takes = 0 };
	locked = false;
#endif
	pending = 0;
	bury(m);
	reverse(x, m);
	bury(m);
	bury(list);
	atomic { runs = false; place_free = true }              /* END3 */
}

proctype Worker(byte w)
{
	byte self, m, list, at, before;
#ifdef HOME
	byte last;
	bool home;
#endif
	short x;
	bool ok;

end:	do
#ifdef HOME
	:: atomic {                                               /* a thief */
			queued > 0 && at_worker == 1 - w && !door[1 - w] ->
			at_worker = w;
			taken[1 - w] = note[1 - w] == WAITS
		};
		goto over
	:: atomic {
			queued > 0 && at_worker == w && !door[w] ->
			queued--;
			at_worker = 0;
			assert(!runs);
			runs = true;
			m = pending;
			x = box;
			self = GEN_OF(x);
			if
#ifdef MUTANT_HOME_STAYS
			:: x == AT(self, w) ->
#else
			:: IS_NOTED(w, WAITS, self) && x == AT(self, w) -> /* HOM4 */
#endif
				home = true;
				last = note_last[w];
#ifndef MUTANT_HOME_KEPT
				write(w, NONE, 0, 0);
#endif
				x = 0
			:: else ->
				if
				:: IS_NOTED(w, WAITS, self) -> write(w, NONE, 0, 0)
				:: else
				fi
			fi
		};
		if
		:: home -> goto again
		:: else -> leave_home()                           /* HOM5 */
		fi;
#else
	:: atomic { queued > 0 -> queued--; assert(!runs); runs = true };
		m = pending;
		x = box;
		self = GEN_OF(x);
#endif
		if
		:: m == 0 -> take()
		:: else
		fi;
again:
		if
		:: x & HALT ->                                    /* END1 */
#ifdef MUTANT_SIDE_FIRST
			lock();
			d_step { list = urgent; urgent = 0; urgent_last = 0; takes = 0 };
			locked = false;
#endif
#ifdef MUTANT_SAME_GEN
			atomic { x = box; box = GEN(self) };
#else
			atomic { x = box; box = GEN(self + 1) };
#endif
			end_after();
			goto over
		:: else
		fi;
		if
#ifdef MUTANT_OVERTAKES_URGENT
		:: x & CONTROL ->                                 /* CTL3 */
#else
		:: x & CONTROL && !(m != 0 && id[m] >= URGENT) -> /* CTL3 */
#endif
#ifdef MUTANT_UNMARK_STORE
			box = GEN(self) + LIVE_ + ACTIVE;
#else
			atomic { box = (box & (GEN(7) + LOW - CONTROL)) | ACTIVE };
#endif
			lock();
			d_step {
				list = urgent;
				urgent = 0;
				if
				:: list ->
					takes++;
					at = list;
					do
					:: next[at] != 0 -> at = next[at]
					:: else -> break
					od;
					next[at] = m;
					m = list;
					at = 0;
					list = 0
				:: else
				fi
			};
			locked = false
		:: else
		fi;
		if
		:: m != 0 ->                                      /* TRN2 */
#ifndef MUTANT_NO_PENDING
			pending = m;
#endif
#ifdef MUTANT_EARLY_FREE
			at = next[m];
			put(m);
			come(m);
#else
			come(m);
#endif
#ifdef OWN
			do
			:: atomic { own < OWN && self == 1 && MAY_GET -> new_node(at, 2 * 2 + own) };
				send_own()
			:: break
			od;
#endif
			if
			:: skip ->                                /* the behaviour has returned */
#ifndef MUTANT_EARLY_FREE
				at = next[m];
				put(m);
#endif
				d_step { m = at; at = 0; x = 0 };
#ifdef MUTANT_PENDING_LATE
				if
				:: m == 0 -> pending = 0
				:: else
				fi
#else
				pending = m
#endif
#ifndef MUTANT_EARLY_FREE
			:: skip ->                                /* it has ended the coroutine */
				m = pending;
#ifdef HOME
				x = box;
#ifdef MUTANT_HOME_ENDED_STORE
				if
				:: x & HOME_ -> box = AWAY(x)
				:: else
				fi;
#endif
				leave_home();                     /* HOM5 */
				d_step { home = false; last = 0; x = 0 };
#endif
				at = next[m];
				put(m);
				d_step { m = at; at = 0 };
				pending = m;
				if
				:: m == 0 ->
					ok = false;
					atomic {
						if
						:: box == GEN(self) + LIVE_ + ACTIVE ->
							box = GEN(self) + LIVE_; ok = true; runs = false
						:: else
						fi
					};
					if
					:: ok -> goto over
					:: else
					fi
				:: else
				fi;
				atomic { runs = false; start() };
				goto over
#endif
			fi
		:: else
		fi;
		if
		:: m == 0 ->
			if
			:: x & IDLE ->                            /* PSV2 */
				ok = false;
#ifdef MUTANT_IDLE_STORE
				atomic { ok = true; box = GEN(self + 1) };
#else
				atomic {
					if
					:: box == GEN(self) + LIVE_ + ACTIVE ->
						box = GEN(self + 1); ok = true
					:: else
					fi
				};
#endif
				if
				:: ok -> x = 0; end_after(); goto over
				:: else
				fi
			:: else
			fi;
			ok = false;                               /* TRN4 */
#ifdef HOME
			if
			:: home ->
#if defined(MUTANT_HOME_REST_STORE)
				if
				:: box == AT(self, w) ->
					atomic { box = GEN(self) + LIVE_; ok = true; runs = false }
				:: else
				fi;
#endif
				atomic {
					if
#ifdef MUTANT_HOME_LINGERS
					:: !door[w] ->
#else
					:: !ok && box == AT(self, w) && !door[w] -> /* HOM4 */
#endif
						write(w, LINGERS, self, 0); ok = true; runs = false
					:: !ok && box == AT(self, w) ->             /* HOM5 */
						box = GEN(self) + LIVE_; ok = true; runs = false
					:: ok || box != AT(self, w)
					fi;
					home = false; last = 0
				};
				goto rested
			:: else
			fi;
#endif
#ifdef MUTANT_REST_STORE
			if
			:: box == GEN(self) + LIVE_ + ACTIVE ->
				atomic { box = GEN(self) + LIVE_; ok = true; runs = false }
			:: else
			fi;
#elif defined(MUTANT_REST_BLIND)
			atomic {
				if
				:: (box & (GEN(7) + LOW - CONTROL)) == GEN(self) + LIVE_ + ACTIVE ->
					box = GEN(self) + LIVE_; ok = true; runs = false
				:: else
				fi
			};
#else
			atomic {
				if
				:: box == GEN(self) + LIVE_ + ACTIVE -> RESTS
				:: else
				fi
			};
#endif
rested:			if
			:: ok -> goto over
			:: else
			fi
		:: else
		fi;
		x = box;                                          /* CTL3 */
		if
		:: skip                                           /* there is time left */
		:: skip ->                                        /* TRN3 */
#ifdef HOME
			atomic {
				runs = false;
				if
				:: home && !door[w] ->
#ifdef MUTANT_HOME_END
					write(w, WAITS, self, m)
#else
					write(w, WAITS, self, last)
#endif
				:: skip                         /* another lingers there, or no room */
				fi;
				start_on(w)
			};
#else
			atomic { runs = false; start() };
#endif
#ifdef MUTANT_PENDING_LATE
			pending = m;
#endif
			goto over
		fi;
#ifndef MUTANT_NOT_AGAIN
		if
		:: m == 0 -> take()
		:: else
		fi;
#endif
		goto again;
over:		skip;
		d_step {
			self = 0; m = 0; list = 0; x = 0; ok = false;
#ifdef HOME
			last = 0; home = false
#endif
		}
	od
}

#if defined(STOP) || defined(SWEEP)
#define ENDS
/* The place is used again. */
proctype Spawner()
{
end:	atomic { place_free -> place_free = false };
	pending = 0;
	actor = 2;
	box = (box & GEN(7)) | LIVE_;                           /* END3 */
	run Sender(3, GEN_OF(box), 1);
#if URGENTS > 0
	run Controller(6, GEN_OF(box), 1)
#endif
}
#endif

init {
	byte i;

	atomic {
		run Worker(0); run Worker(1);
#ifdef HOME
		run Looker();
#endif
#if SENDERS > 0
		run Sender(0, 1, SENDS);
#endif
#if SENDERS > 1
		run Sender(1, 1, SENDS);
#endif
#if SENDERS > 2
		run Sender(2, 1, SENDS);
#endif
#if URGENTS > 0
		run Controller(4, 1, 2);
#endif
#if URGENTS > 1
		run Controller(5, 1, 2);
#endif
#ifdef STOP
		run Stopper();
#endif
#ifdef SWEEP
		run Sweeper();
#endif
#ifdef ENDS
		run Spawner()
#endif
	};
	timeout;
	d_step {
#ifdef BUSY
		assert(DORMANT(box) || place_free ||
		       (box & HOME_ && box == AT(GEN_OF(box), AT_WHICH(box)) &&
			IS_NOTED(AT_WHICH(box), LINGERS, GEN_OF(box))));
#else
		assert(DORMANT(box) || place_free);
#endif
		assert(pending == 0 && !locked && queued == 0 && !runs);
		assert(urgent == 0);
#ifdef STOP
		assert(actor == 2);
#endif
		do
		:: i < IDS ->
			assert(accepted[i] == came[i]);
			i++
		:: else -> i = 1; break
		od;
		do
		:: i <= NODES -> assert(!used[i]); i++
		:: else -> break
		od
	}
}
