/*
 * ends.pml - a channel with room, and a lock for each of its ends: R1 to R3 of csrc/chan.h, with Q1 to Q3 of csrc/waitq.h.
 *
 * SENDERS that send SENDS values each, RECEIVERS that receive RECVS each (with -DCLOSE: until it is closed, by somebody at any
 * moment), CAP places. With -DGIVE_UP a wait is given up at any moment. With -DFREE the only receiver frees the channel after the
 * last of all values. Whoever sends or receives begins with R1 or R2, or at once with R3, as select and guests do.
 *
 * What is abstracted
 *   memory    sequentially consistent: what passes an end is counted by a release, and looked at by an acquire. That the place is
 *             written, or read, before it is counted is checked by asserts: a place that was read is empty (0).
 *   events    a bit for each; how an event comes to who waits is wake.pml's matter, and waits at several objects are chan.pml's.
 *   values    numbered as they come: when they are written to the ring, given away, or enqueued with their sender.
 *
 * What is claimed
 *   - values go out in the order in which they came, each once, to one (WENT_OUT, and the counts at the end)
 *   - a place is written when it is empty, and read when it is not; never more than CAP values
 *   - ECLOSED to who receives is firm: all that was sent is taken, and nothing is sent any more
 *   - each wait has one event, or none if it was given up (wake, and the end)
 *   - when nothing moves any more, nobody holds a lock, nobody waits to send where there is room or to receive where there is a value, and
 *     nobody waits at all in a closed one (the end)
 *   - FREE: nobody touches it any more once it is freed (lock, unlock)
 *
 * Mutants: MUTANT_EARLY_SENT, MUTANT_EARLY_TAKEN, MUTANT_BLIND_SEND, MUTANT_BLIND_RECV, MUTANT_WAIT_ONE_LOCK, MUTANT_SEND_WAIT_ONE_LOCK,
 * MUTANT_NO_SECOND_TRY, MUTANT_WRONG_ORDER, MUTANT_STALE_SEEN, MUTANT_NOT_AWAITED, MUTANT_HASTY_CLEAR, MUTANT_CLOSE_IN_ALONE and
 * MUTANT_CLOSE_OUT_ALONE (CLOSE), MUTANT_BLIND_WITHDRAW (GIVE_UP), MUTANT_BARE_FREE (FREE).
 */
#ifndef SENDERS
#define SENDERS 2
#endif
#ifndef RECEIVERS
#define RECEIVERS 2
#endif
#ifndef SENDS
#define SENDS 2
#endif
#ifndef RECVS
#define RECVS 2
#endif
#ifndef CAP
#define CAP 1
#endif

#define ALL (SENDERS + RECEIVERS)
#define NOBODY 255

mtype = { TRY, OK, CLOSED, GAVE_UP };

bool in, out;               /* the locks */
byte sent, taken;           /* what has passed each end */
byte in_seen, out_seen;     /* of the other end, when it was last looked at */
byte slots[CAP];            /* 0: empty */
bool awaited;               /* somebody waits to send: set before one does, cleared by who finds nobody */
bool closed, freed;

typedef queue { byte n; byte who[ALL] };
queue senders, receivers;   /* first come, first served */

byte box[ALL];              /* of a waiter: its value */
bool refused[ALL];          /* ... and its status */
bool event[ALL];
bool ended[ALL];

byte arrived, last;         /* the last number given; the last one that went out */
byte n_sent, n_received;

#define PLACE(n) slots[(n) % CAP]
#define WENT_OUT(v) assert(v > last); last = v

inline lock(l)   { atomic { !l -> assert(!freed); l = true } }
inline unlock(l) { atomic { assert(!freed && l); l = false } }

inline lock_both()   { lock(in); lock(out) }
inline unlock_both() { unlock(out); unlock(in) }

/* enqueue, first - of a queue. */
inline enqueue(q, x) { atomic { q.who[q.n] = x; q.n++ } }

inline first(q, x)
{
	atomic {
		x = q.who[0];
		q.n--;
		k = 0;
		do
		:: k < q.n -> q.who[k] = q.who[k + 1]; k++
		:: else -> break
		od;
		q.who[q.n] = 0;
		k = 0
	}
}

/* remove - x, if it is still there. */
inline remove(q, x, found)
{
	atomic {
		k = 0;
		found = false;
		do
		:: k < q.n && q.who[k] == x -> found = true; break
		:: k < q.n && q.who[k] != x -> k++
		:: k >= q.n -> break
		od;
		if
		:: found ->
			q.n--;
			do
			:: k < q.n -> q.who[k] = q.who[k + 1]; k++
			:: else -> break
			od;
			q.who[q.n] = 0
		:: else
		fi;
		k = 0
	}
}

inline wake(who)
{
	if
	:: who != NOBODY -> atomic { assert(!event[who]); event[who] = true; who = NOBODY }
	:: else
	fi
}

/* look_in, look_out - by who sends, or receives: is there room, or a value? */
#ifdef MUTANT_STALE_SEEN
#define NO_ROOM (sent - in_seen == CAP)
#else
#define NO_ROOM (sent - in_seen >= CAP) /* more: who waited was served by who received */
#endif

inline look_in()
{
	if
	:: NO_ROOM -> in_seen = taken
	:: else
	fi
}

inline look_out()
{
	if
	:: out_seen == taken -> out_seen = sent
	:: else
	fi
}

inline write_slot() { atomic { assert(PLACE(at) == 0); arrived++; PLACE(at) = arrived } }
inline read_slot()  { atomic { v = PLACE(at); assert(v != 0); PLACE(at) = 0; WENT_OUT(v) } }

inline count_sent()  { atomic { assert(sent - taken < CAP && !closed); sent++ } }
inline count_taken() { atomic { assert(sent > taken); taken++ } }

inline put()
{
	at = sent;
#ifdef MUTANT_EARLY_SENT
	count_sent(); write_slot();
#else
	write_slot(); count_sent();
#endif
	at = 0
}

inline take()
{
	at = taken;
#ifdef MUTANT_EARLY_TAKEN
	count_taken(); read_slot();
#else
	read_slot(); count_taken();
#endif
	at = 0
}

/* await_event - it has enqueued itself, and left: for its event, or until it gives up. */
inline await_event(q)
{
	found = false;
end_wait:
	if
	:: atomic { event[me] -> event[me] = false }
#ifdef GIVE_UP
	:: true ->
		lock_both();
		remove(q, me, found);
#ifdef MUTANT_BLIND_WITHDRAW
		found = true;
#endif
		unlock_both();
		if
		:: found -> status = GAVE_UP; found = false
		:: else -> atomic { event[me] -> event[me] = false } /* it is certain */
		fi
#endif
	fi;
	atomic {
		if
		:: status == GAVE_UP
		:: status != GAVE_UP && refused[me] -> status = CLOSED; refused[me] = false
		:: else -> status = OK
		fi
	}
}

proctype sender(byte me)
{
	byte i, k, at, x = NOBODY;
	bool found;
	mtype status = TRY;

	do
	:: i < SENDS && status != CLOSED ->
		i++;
		status = TRY;
		if
		:: true ->                                      /* R1 */
			lock(in);
			if
			:: closed -> status = CLOSED
#ifndef MUTANT_BLIND_SEND
			:: !closed && receivers.n > 0
#endif
			:: else ->
				look_in();
				if
				:: !NO_ROOM -> put(); status = OK
				:: else
				fi
			fi;
			unlock(in)
		:: true
		fi;
		if
		:: status == TRY ->                             /* R3 */
#ifdef MUTANT_SEND_WAIT_ONE_LOCK
			lock(in);
#else
			lock_both();
#endif
			if
			:: closed -> status = CLOSED
			:: else ->
#ifndef MUTANT_NO_SECOND_TRY
				if
				:: receivers.n > 0 ->
					first(receivers, x);
					atomic {
						assert(sent == taken && box[x] == 0);
						arrived++;
						box[x] = arrived;
						WENT_OUT(arrived)
					};
					status = OK
				:: else ->
					look_in();
					if
					:: !NO_ROOM -> put(); status = OK
					:: else
					fi
				fi;
#endif
				if
				:: status == TRY ->
#ifndef MUTANT_NOT_AWAITED
					awaited = true;
#endif
					atomic { arrived++; box[me] = arrived; enqueue(senders, me) }
				:: else
				fi
			fi;
#ifdef MUTANT_SEND_WAIT_ONE_LOCK
			unlock(in);
#else
			unlock_both();
#endif
			if
			:: status == TRY -> await_event(senders); box[me] = 0
			:: else -> wake(x)
			fi
		:: else
		fi;
		if
		:: status == OK -> n_sent++
		:: else
		fi
	:: else -> break
	od;
	ended[me] = true
}

proctype receiver(byte me)
{
	byte i, k, at, v, x = NOBODY;
	bool found;
	mtype status = TRY;

	do
#ifdef CLOSE
	:: status != CLOSED ->
#else
	:: i < RECVS && status != CLOSED ->
		i++;
#endif
		status = TRY;
		if
		:: true ->                                      /* R2 */
			lock(out);
			look_out();
			if
			:: out_seen != taken ->
				if
#ifndef MUTANT_BLIND_RECV
				:: awaited
#endif
				:: else -> take(); status = OK
				fi
			:: else ->
				if
				:: atomic { closed -> assert(sent == taken); status = CLOSED }
				:: atomic { !closed -> skip }
				fi
			fi;
			unlock(out)
		:: true
		fi;
		if
		:: status == TRY ->                             /* R3 */
#if defined(MUTANT_WAIT_ONE_LOCK)
			lock(out);
#elif defined(MUTANT_WRONG_ORDER)
			lock(out); lock(in);
#else
			lock_both();
#endif
#ifndef MUTANT_NO_SECOND_TRY
			look_out();
			if
			:: out_seen != taken ->
				take();
				status = OK;
				if
				:: senders.n > 0 ->
					first(senders, x);
					atomic { assert(PLACE(sent) == 0 && box[x] != 0); PLACE(sent) = box[x] };
					count_sent()
				:: else
				fi
			:: else
			fi;
			if
#ifdef MUTANT_HASTY_CLEAR
			:: x != NOBODY -> awaited = false
#else
			:: awaited -> awaited = senders.n > 0
#endif
			:: else
			fi;
#endif
			if
			:: status == TRY && closed -> atomic { assert(sent == taken); status = CLOSED }
			:: status == TRY && !closed -> enqueue(receivers, me)
			:: else
			fi;
#ifdef MUTANT_WAIT_ONE_LOCK
			unlock(out);
#else
			unlock_both();
#endif
			if
			:: status == TRY ->
				await_event(receivers);
				if
				:: status == OK -> atomic { v = box[me]; box[me] = 0; assert(v != 0) }
				:: else -> assert(box[me] == 0)
				fi
			:: else -> wake(x)
			fi
		:: else
		fi;
		if
		:: status == OK -> n_received++
		:: else
		fi;
#ifdef FREE
		if
		:: status == OK && v == SENDERS * SENDS ->
#ifdef MUTANT_BARE_FREE
			lock(out); freed = true;
#else
			lock_both();
			atomic { assert(senders.n + receivers.n == 0); freed = true };
#endif
			status = CLOSED
		:: else
		fi;
#endif
		v = 0
	:: else -> break
	od;
	ended[me] = true
}

#ifdef CLOSE
proctype closer()
{
	byte k, x = NOBODY;
	queue woken;

#ifndef MUTANT_CLOSE_OUT_ALONE
	lock(in);
#endif
#ifndef MUTANT_CLOSE_IN_ALONE
	lock(out);
#endif
	closed = true;
	do
	:: receivers.n > 0 -> first(receivers, x); refused[x] = true; enqueue(woken, x)
	:: receivers.n == 0 && senders.n > 0 -> first(senders, x); refused[x] = true; enqueue(woken, x)
	:: receivers.n == 0 && senders.n == 0 -> break
	od;
#ifndef MUTANT_CLOSE_IN_ALONE
	unlock(out);
#endif
#ifndef MUTANT_CLOSE_OUT_ALONE
	unlock(in);
#endif
	do
	:: woken.n > 0 -> first(woken, x); wake(x)
	:: else -> break
	od
}
#endif

init {
	byte k, n;

	atomic {
		do
		:: k < SENDERS -> run sender(k); k++
		:: k >= SENDERS && k < ALL -> run receiver(k); k++
		:: k == ALL -> break
		od;
		k = 0;
#ifdef CLOSE
		run closer()
#endif
	};
	timeout -> /* nothing moves any more */
#ifdef FREE
	assert(freed);
#else
	assert(!in && !out);
#endif
	assert(!(senders.n > 0 && sent - taken < CAP) && !(receivers.n > 0 && sent > taken));
	assert(!(closed && senders.n + receivers.n > 0));
	assert(n_sent == n_received + sent - taken);
	do
	:: k < ALL -> assert(!event[k] && !refused[k]); n = n + ended[k]; k++
	:: else -> break
	od;
	assert(n + senders.n + receivers.n == ALL)
}
