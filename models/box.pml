/*
 * box.pml - an actor's mailbox in one word: csrc/actor/box.h S1-S2, L1-L3, T0-T4, C1-C3, B1-B3, and
 * P1-P2 of passive.c, with urgent messages (side.c).
 *
 * There is one place for actors. Its first actor has generation 1. SENDERS threads send SENDS
 * messages each to that actor, with that reference. What the queues of the workers have is a count of
 * turns; two workers run them. With STOP a thread stops the actor; the place is used again, by an
 * actor of generation 2, to which a further sender and, with URGENTS, a further controller send. With
 * URGENTS=n n controllers send two urgent messages each. With NO_MEMORY a turn cannot be started for
 * a dormant actor, at times, where the message may be urgent. With SWEEP a sweeper marks the dormant
 * actor as idle, once. With LOCAL each sender is on one of the two workers at each send.
 *
 * Taken over: the word, with its generation, message and marks; each look, CAS and exchange of it as
 * one step, and a CAS compares the whole word with what was looked at. So a message that leaves and
 * comes again in between is here too (ABA): there are NODES nodes, and who sends takes the lowest
 * free one. `pending`, the lock of the side table, and what is done in it, step by step. A behaviour
 * that ends its coroutine (coroi_turn_ended). The clock may end a turn after any call.
 *
 * Left out
 *   senders   without LOCAL, inside and outside are the same: an S2 is a step by itself, later than
 *             S1, on any thread. With LOCAL the senders of one worker go on at the same time, and
 *             beside its turns, which in the code are one thread. In the code S1 and S2 are in one door, or under one lock. A behaviour that
 *             sends is one more sender. S3 is no step of the box.
 *   batches   a call has one message. The next call may come without a look at the clock.
 *   memory    is sequentially consistent. Each step of the word is a read-modify-write, but for the
 *             looks, which a CAS repeats, and B3.
 *   sides     watchers and bounds; making the table, which is there.
 *   depths    which are hints; the end of a scheduler; a place that is retired.
 *
 * Claimed
 *   - A message that was accepted is handled, or a dead letter, once; one that was refused is neither.
 *     Both in the order of its sender (come). Urgent messages do not overtake each other.
 *   - No message comes to an actor for which it was not meant (come).
 *   - Never are two turns of the actor queued or run (start, worker).
 *   - No node is used after it was given back, nor given back twice (LIVE).
 *   - When nothing goes on any more, nothing lies in the box, in `pending` or in the side table, no
 *     mark is left, all nodes are free, and an actor that was stopped has ended (the end of init).
 *     With -DNP, which asks for a search for cycles: nothing goes on without end.
 *
 * Mutants: MUTANT_REST_STORE, MUTANT_REST_BLIND, MUTANT_TAKE_STORE, MUTANT_NOT_ACTIVE,
 * MUTANT_NOT_AGAIN, MUTANT_PENDING_LATE, MUTANT_NO_PENDING, MUTANT_EARLY_FREE, MUTANT_SAME_GEN,
 * MUTANT_SIDE_FIRST, MUTANT_UNMARK_STORE, MUTANT_MARK_FIRST, MUTANT_OVERTAKES_URGENT,
 * MUTANT_BLIND_WITHDRAW, MUTANT_IDLE_STORE, MUTANT_ALONE_STORE, MUTANT_ALONE_BLIND,
 * MUTANT_ALONE_EARLY, MUTANT_ALONE_TWICE, MUTANT_ALONE_UNMARKS, MUTANT_LOCAL_STOLEN,
 * MUTANT_LOCAL_BLIND, MUTANT_LOCAL_ANY, MUTANT_LOCAL_BEFORE, MUTANT_LOCAL_BEHIND, MUTANT_LOCAL_OPEN,
 * MUTANT_LOCAL_STALE.
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
#define M(box)  (((box) >> 5) & 7)
#define MSG(m)  ((m) << 5)
#define GEN(g)  ((g) << 8)
#define GEN_OF(box) ((box) >> 8)

#define DORMANT(box)   (((box) & 255) == LIVE_)
#define ALONE(box)     (((box) & 31) == LIVE_ && M(box) != 0 && next[M(box)] == 0)
#define TAKES(box, g)  (GEN_OF(box) == (g) && ((box) & LIVE_))

short box = GEN(1) + LIVE_;
byte pending;

/* The side table. */
bool locked;
byte urgent, urgent_last, takes;

byte queued;                 /* turns in the workers' queues */
#ifdef LOCAL
byte at_worker = 2;          /* in whose; 2: in no worker's own, from outside */
bool door[2];                /* a sender is in the worker's door */
bool open[2];                /* L1: the actor is the worker's open one */
bool taken[2];               /* the turn was stolen from the worker since (coroi_task_given) */
short open_box[2];
byte open_last[2];
bool appended;               /* COROI_APPENDED of `pending` */
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

/* start - S2, T3: a turn is queued. start_by - by worker w, L1: what the box is, and the end of
 * `pending`. */
inline start()
{
	atomic { queued++; assert(queued + runs == 1) }
}

#ifdef LOCAL
inline enter(w) { atomic { !door[w] -> door[w] = true } }
inline leave(w) { door[w] = false }
#else
inline enter(w) { skip }
inline leave(w) { skip }
#endif

inline start_by(w, x, last)
{
	atomic {
		queued++;
		assert(queued + runs == 1);
#ifdef LOCAL
		at_worker = w;
		if
		:: w < 2 -> open[w] = true; taken[w] = false; open_box[w] = x; open_last[w] = last
		:: else
		fi
#endif
	}
}

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
	short old;
	byte m, i, w;
	bool ok;

	do
	:: i < n ->
		new_node(m, s * 2 + i);
#ifdef LOCAL
		if
		:: w = 0
		:: w = 1
		fi;
		if
		:: open[w] ->                                     /* L2 */
			enter(w);
			old = box;
#ifdef MUTANT_LOCAL_BLIND
			old = open_box[w];
#endif
			ok = old == open_box[w];
#ifndef MUTANT_LOCAL_STOLEN
			ok = ok && open[w] && !taken[w];
#endif
#ifndef MUTANT_LOCAL_ANY
			ok = ok && TAKES(old, to);
#endif
			if
			:: ok ->
				d_step {
					next[m] = 0;
					if
					:: open_last[w] != 0 -> next[open_last[w]] = m
					:: else -> pending = m; appended = true
					fi;
					open_last[w] = m;
					accepted[s * 2 + i] = true
				}
			:: else
			fi;
			leave(w);
			old = 0
		:: !open[w]
		fi;
		if
		:: ok -> goto sent
		:: else
		fi;
#endif
		old = box;                                      /* S1 */
		do
		:: !TAKES(old, to) ->
			d_step { refused[s * 2 + i] = true; assert(!came[s * 2 + i]) };
			put(m);
			break
		:: TAKES(old, to) ->
			next[m] = M(old);
#ifdef MUTANT_NOT_ACTIVE
#define WAKES(old) ((old & (255 - ACTIVE)) == LIVE_)
#else
#define WAKES(old) DORMANT(old)
#endif
			if
			:: WAKES(old) ->
				enter(w);
				cas(old, (old & (GEN(7) + CONTROL + HALT + LIVE_)) | MSG(m));
				if
				:: ok -> start_by(w, GEN(to) + LIVE_ + MSG(m), 0)   /* S2, L1 */
				:: else
				fi;
				leave(w)
			:: else ->
				cas(old, (old & (GEN(7) + CONTROL + HALT + LIVE_)) | MSG(m))
			fi;
			if
			:: ok -> accepted[s * 2 + i] = true; break
			:: else
			fi
		od;
sent:		atomic { i++; m = 0; old = 0; ok = false }
	:: else -> break
	od
}

/* mark - C2. status: 0, ESTALE, ENOMEM */
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
		cas(old, old | what);
		if
		:: ok -> break
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

	old = box;                                              /* P1 */
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
		lock();                                         /* C1 */
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
			set_mark(to, CONTROL);                    /* C2 */
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

/* take - T1. */
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

/* tail - after T1: which one is the last. */
#ifdef LOCAL
inline tail() { last = M(x) }
#else
inline tail() { skip }
#endif

/* end - B2, B3, after B1. */
inline end_after()
{
#ifndef MUTANT_SIDE_FIRST
	lock();                                                 /* B2 */
	d_step { list = urgent; urgent = 0; urgent_last = 0; takes = 0 };
	locked = false;
#endif
	pending = 0;
	bury(m);
	reverse(x, m);
	bury(m);
	bury(list);
	atomic { runs = false; place_free = true }              /* B3 */
}

proctype Worker(byte w)
{
	byte self, m, list, at, before;
#ifdef LOCAL
	byte last;
#endif
	short x;
	bool ok;

end:	do
#ifdef LOCAL
	:: atomic {
			queued > 0 && (at_worker == 2 || !door[at_worker]) ->
			queued--;
			assert(!runs);
			runs = true;
			if
			:: at_worker == 1 - w -> taken[1 - w] = true
			:: else
			fi;
			at_worker = 2;
			if
			:: open[w] ->                             /* L3 */
#ifndef MUTANT_LOCAL_OPEN
				open[w] = false;
#endif
				last = open_last[w];
#ifndef MUTANT_LOCAL_STALE
				if
				:: taken[w] -> last = 0
				:: else
				fi
#endif
			:: else
			fi
		};
#else
	:: atomic { queued > 0 -> queued--; assert(!runs); runs = true };
#endif
		m = pending;
		x = box;
		self = GEN_OF(x);
#ifdef LOCAL
		if
		:: appended ->                                    /* L3 */
			list = m;
			take();
			d_step {
				appended = false;
				at = last;
				if
				:: at == 0 -> at = list
				:: else
				fi;
				do
				:: last == 0 && next[at] != 0 -> at = next[at]
				:: else -> break
				od;
				if
				:: next[m] != 0 -> last = M(x)
				:: else
				fi;
#if defined(MUTANT_LOCAL_BEFORE)
				next[at] = m;
				m = list;
#elif defined(MUTANT_LOCAL_BEHIND)
				before = m;
				do
				:: next[before] != 0 -> before = next[before]
				:: else -> break
				od;
				next[before] = list;
#else
				next[at] = next[m];
				next[m] = list;
#endif
				list = 0; at = 0; before = 0
			};
			goto again
		:: else
		fi;
#endif
		if
		:: m == 0 -> take(); tail()                       /* or T0, not handled */
		:: m == 0 && ALONE(x) -> goto alone
		:: m != 0
		fi;
again:
		if
		:: x & HALT ->                                    /* B1 */
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
		:: x & CONTROL ->                                 /* C3 */
#else
		:: x & CONTROL && !(m != 0 && id[m] >= URGENT) -> /* C3 */
#endif
#ifdef MUTANT_UNMARK_STORE
			box = GEN(self) + LIVE_ + ACTIVE;
#else
			atomic { box = (box & (GEN(7) + MSG(7) + HALT + LIVE_ + IDLE)) | ACTIVE };
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
#ifdef LOCAL
					if
					:: m == 0 -> last = at
					:: else
					fi;
#endif
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
		:: m != 0 ->                                      /* T2 */
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
ended:				m = pending;
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
			:: x & IDLE ->                            /* P2 */
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
			ok = false;                               /* T4 */
#ifdef MUTANT_REST_STORE
			if
			:: box == GEN(self) + LIVE_ + ACTIVE ->
				atomic { box = GEN(self) + LIVE_; ok = true; runs = false }
			:: else
			fi;
#elif defined(MUTANT_REST_BLIND)
			atomic {
				if
				:: (box & (GEN(7) + 255 - CONTROL)) == GEN(self) + LIVE_ + ACTIVE ->
					box = GEN(self) + LIVE_; ok = true; runs = false
				:: else
				fi
			};
#else
			atomic {
				if
				:: box == GEN(self) + LIVE_ + ACTIVE ->
					box = GEN(self) + LIVE_; ok = true; runs = false
				:: else
				fi
			};
#endif
			if
			:: ok -> goto over
			:: else
			fi
		:: else
		fi;
		x = box;                                          /* C3 */
		if
		:: skip                                           /* there is time left */
		:: skip ->                                        /* T3 */
#ifdef LOCAL
			d_step {
				at = m;
				do
				:: at != 0 && next[at] != 0 -> at = next[at]
				:: else -> break
				od;
				assert(m == 0 || last == 0 || last == at);
				at = 0
			};
			if
			:: m != 0 && last != 0 && x == GEN(self) + LIVE_ + ACTIVE ->
				atomic { !door[w] -> runs = false; start_by(w, x, last) } /* L1 */
			:: else ->
				atomic { runs = false; start() }
			fi;
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
		:: m == 0 -> take(); tail()
		:: else
		fi;
#endif
		goto again;
alone:		m = M(x);                                         /* T0 */
#ifdef MUTANT_ALONE_EARLY
		come(m);
		put(m);
#else
		come(m);
#endif
		if
		:: skip ->                                        /* the behaviour has returned */
			ok = false;
#ifdef MUTANT_ALONE_STORE
			if
			:: box == GEN(self) + LIVE_ + MSG(m) ->
				atomic { box = GEN(self) + LIVE_; ok = true; runs = false }
			:: else
			fi;
#else
			atomic {
				if
#ifdef MUTANT_ALONE_BLIND
				:: (box & (GEN(7) + 255 - CONTROL)) == GEN(self) + LIVE_ + MSG(m) ->
#else
				:: box == GEN(self) + LIVE_ + MSG(m) ->
#endif
					box = GEN(self) + LIVE_; ok = true; runs = false
				:: else
				fi
			};
#endif
			if
			:: ok ->
#ifndef MUTANT_ALONE_EARLY
				put(m);
#endif
				goto over
			:: else
			fi;
			take();
			tail();
#ifndef MUTANT_ALONE_TWICE
			at = next[m];
#ifndef MUTANT_ALONE_EARLY
			put(m);
#endif
			d_step { m = at; at = 0 };
#endif
			goto again
#if !defined(MUTANT_ALONE_EARLY) && !defined(MUTANT_EARLY_FREE)
		:: skip ->                                        /* it has ended the coroutine */
#ifdef MUTANT_ALONE_UNMARKS
			take();
#else
			atomic { x = box; box = (x & (255 + GEN(7) - MSG(7))) | ACTIVE };
			reverse(x, m);
#endif
			pending = m;
			goto ended
#endif
		fi;
over:		skip;
		d_step {
			self = 0; m = 0; list = 0; x = 0; ok = false;
#ifdef LOCAL
			last = 0
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
	box = (box & GEN(7)) | LIVE_;                           /* B3 */
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
		assert(DORMANT(box) || place_free);
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
