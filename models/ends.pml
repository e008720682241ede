/*
 * ends.pml - a channel with room, and a lock for each of its ends: CHN1 to CHN3 of chan.h, with
 * WTQ1 to WTQ3 of waitq.h.
 *
 * SENDERS send SENDS values each. RECEIVERS receive RECVS values each, or with -DCLOSE until a
 * closer closes the channel, at any moment. There are CAP cells. With -DGIVE_UP a wait is given up
 * at any moment. With -DFREE the only receiver frees the channel after the last of all values. A
 * sender begins with CHN1 and a receiver with CHN2, or each begins with CHN3 at once, as select and
 * gowaiters do.
 *
 * What is abstracted
 *   memory    is sequentially consistent. In the code the count of what passes an end is a release,
 *             and the look at the count an acquire. Asserts check that a cell is written, or read,
 *             before it is counted: a cell that was read is empty (0).
 *   events    are a bit for each process. wake.pml shows how an event comes to its waiter. chan.pml
 *             shows waits at several objects.
 *   values    are numbered as they come: when they are written to the ring, given away, or enqueued
 *             with their sender.
 *
 * What is claimed
 *   - Values go out in the order in which they came, each once, to one receiver (WENT_OUT, and the
 *     counts at the end).
 *   - A cell is written when it is empty, and read when it is not. There are never more than CAP
 *     values.
 *   - ECLOSED to a receiver is firm: all that was sent is taken, and nothing is sent any more.
 *   - Each wait has one event, or none if it was given up (wake, and the end).
 *   - When nothing moves any more, no lock is held, no sender waits where there is room, no
 *     receiver waits where there is a value, and nobody waits in a closed channel (the end).
 *   - FREE: nobody touches the channel once it is freed (lock, unlock).
 *
 * Mutants: MUTANT_EARLY_SENT, MUTANT_EARLY_TAKEN, MUTANT_BLIND_SEND, MUTANT_BLIND_RECV,
 * MUTANT_WAIT_ONE_LOCK, MUTANT_SEND_WAIT_ONE_LOCK, MUTANT_NO_SECOND_TRY, MUTANT_WRONG_ORDER,
 * MUTANT_STALE_SEEN, MUTANT_NOT_AWAITED, MUTANT_HASTY_CLEAR, MUTANT_CLOSE_IN_ALONE and
 * MUTANT_CLOSE_OUT_ALONE (CLOSE), MUTANT_BLIND_WITHDRAW (GIVE_UP), MUTANT_UNLOCKED_FREE (FREE).
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
byte sent, taken;           /* values that have passed each end */
byte in_seen, out_seen;     /* the count of the other end, at the last look at it */
byte cells[CAP];            /* 0: empty */
bool awaited;               /* a sender waits: set before, cleared by a receiver that finds none */
bool closed, freed;

typedef queue { byte n; byte who[ALL] };
queue senders, receivers;   /* first come, first served */

byte box[ALL];              /* the value of a waiter */
bool refused[ALL];          /* the status of a waiter */
bool event[ALL];
bool ended[ALL];

byte arrived, last;         /* the last number given; the last number that went out */
byte n_sent, n_received;

#define CELL(n) cells[(n) % CAP]
#define WENT_OUT(v) assert(v > last); last = v

inline lock(l)   { atomic { !l -> assert(!freed); l = true } }
inline unlock(l) { atomic { assert(!freed && l); l = false } }

inline lock_both()   { lock(in); lock(out) }
inline unlock_both() { unlock(out); unlock(in) }

/* enqueue, first - add a waiter at the back of a queue, take the first one. */
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

/* remove - take x out of a queue. found: x was still there. */
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

/* look_in - by a sender: is there room? look_out - by a receiver: is there a value? */
#ifdef MUTANT_STALE_SEEN
#define NO_ROOM (sent - in_seen == CAP)
#else
#define NO_ROOM (sent - in_seen >= CAP) /* more than CAP: a receiver has served a sender */
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

inline write_cell() { atomic { assert(CELL(at) == 0); arrived++; CELL(at) = arrived } }
inline read_cell()  { atomic { v = CELL(at); assert(v != 0); CELL(at) = 0; WENT_OUT(v) } }

inline count_sent()  { atomic { assert(sent - taken < CAP && !closed); sent++ } }
inline count_taken() { atomic { assert(sent > taken); taken++ } }

inline put()
{
	at = sent;
#ifdef MUTANT_EARLY_SENT
	count_sent(); write_cell();
#else
	write_cell(); count_sent();
#endif
	at = 0
}

inline take()
{
	at = taken;
#ifdef MUTANT_EARLY_TAKEN
	count_taken(); read_cell();
#else
	read_cell(); count_taken();
#endif
	at = 0
}

/* await_event - the process is enqueued, and has left. It waits for its event, or gives up. */
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
		:: else -> atomic { event[me] -> event[me] = false } /* it is committed */
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
		:: true ->                                      /* CHN1 */
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
		:: status == TRY ->                             /* CHN3 */
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
					atomic {
						arrived++;
						box[me] = arrived;
						enqueue(senders, me)
					}
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
		:: true ->                                      /* CHN2 */
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
		:: status == TRY ->                             /* CHN3 */
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
					atomic {
						assert(CELL(sent) == 0 && box[x] != 0);
						CELL(sent) = box[x]
					};
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
			:: status == TRY && closed ->
				atomic { assert(sent == taken); status = CLOSED }
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
				:: status == OK ->
					atomic { v = box[me]; box[me] = 0; assert(v != 0) }
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
#ifdef MUTANT_UNLOCKED_FREE
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
	:: receivers.n == 0 && senders.n > 0 ->
		first(senders, x); refused[x] = true; enqueue(woken, x)
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
