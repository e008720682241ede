/*
 * ask.pml - questions to actors, several at once, and memory that the asker lends: ASK1 to ASK6 of
 * actor/ask.c.
 *
 * An asker asks N questions at once, ROUNDS times, with the same questions. Each message is its
 * turn's, which begins it, touches what is lent, may leave it LEAVES times, and answers. The
 * deadline, or a cancel, may come at any moment; with -DPATIENT none comes. With -DPLAIN the last
 * question does not lend. With -DSTALLS an actor that has left a message does nothing more until its
 * asker has returned.
 *
 * What is abstracted
 *   memory    is sequentially consistent. A question's word is one step.
 *   turns     of one actor overlap, as those of several do.
 *   waiting   is a semaphore. That a question alone has no count is left out.
 *
 * What is claimed
 *   - What is lent is touched during its ask alone (TOUCH).
 *   - Each answer is that of its own message, and is there when it is read.
 *   - When nothing moves any more, all asks have returned (valid end states).
 *
 * Mutants: MUTANT_BEGIN_BLIND, MUTANT_TAKES_BEGUN, MUTANT_NO_LOOK, MUTANT_OUT_KEPT,
 * MUTANT_COUNT_FIRST, MUTANT_COUNT_STORE, MUTANT_LEFT_SILENT (STALLS), MUTANT_SAME_NUMBER (PLAIN).
 */
#ifndef N
#define N 2
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif
#ifndef LEAVES
#define LEAVES 1
#endif
#ifdef PLAIN
#define LENDS(i) (i != N - 1)
#else
#define LENDS(i) true
#endif

mtype = { FREE, WAITS, BEGUN, WRITTEN, ANSWERED };
mtype state[N] = FREE;
byte number[N];
byte answer[N]; /* the round that it is of */
byte lent[N];   /* the round in which the asker waits, + 1; 0: its ask has returned */
bool taken[N];  /* back, by the asker */
byte out, permits;

#define TOUCH assert(!LENDS(i) || lent[i] == r + 1)

/* ASK6. */
inline count() {
#ifdef MUTANT_COUNT_STORE
	seen = out;
	out = seen - 1;
	seen = seen - 1;
#else
	atomic { out--; seen = out }
#endif
}

/* The turn of a message: question i, of that number, sent in round r. */
proctype turn(byte i; byte n; byte r)
{
	byte left, seen = 1;

	do
	:: atomic { /* ASK2; what does not lend is answered as it is */
#ifdef MUTANT_BEGIN_BLIND
		if
		:: LENDS(i) && state[i] == WAITS && number[i] == n -> state[i] = BEGUN
		:: else
		fi
#else
		if
		:: state[i] == WAITS && number[i] == n ->
			if
			:: LENDS(i) -> state[i] = BEGUN
			:: else
			fi
		:: else -> goto over /* taken back, and dropped */
		fi
#endif
	   }
	   TOUCH;
	   if
	   :: LENDS(i) && left < LEAVES ->
		left++;
		atomic { /* ASK3 */
			if
			:: state[i] == BEGUN && number[i] == n -> state[i] = WAITS
			:: else -> goto over
			fi
		}
#ifndef MUTANT_LEFT_SILENT
		permits++;
#endif
#ifdef STALLS
		lent[i] != r + 1
#else
		skip
#endif
	   :: true -> break
	   fi
	od;
	TOUCH;
	atomic { /* ASK4 */
		if
		:: (state[i] == BEGUN || state[i] == WAITS) && number[i] == n -> state[i] = WRITTEN
		:: else -> goto over
		fi
	}
#ifdef MUTANT_COUNT_FIRST
	count();
#endif
	answer[i] = r;
	state[i] = ANSWERED;
#ifndef MUTANT_COUNT_FIRST
	count();
#endif
	if
	:: seen == 0 -> permits++
	:: else
	fi;
over:
	skip
}

/* ASK5 of all that are out. */
inline take_back() {
	begun = false;
	i = 0;
	do
	:: i < N ->
		took = false;
		atomic {
			if
			:: !taken[i] && state[i] == WAITS -> state[i] = FREE; took = true
#ifdef MUTANT_TAKES_BEGUN
			:: !taken[i] && state[i] == BEGUN -> state[i] = FREE; took = true
#else
			:: !taken[i] && state[i] == BEGUN -> begun = true
#endif
			:: else
			fi
		}
		if
		:: took ->
			taken[i] = true;
#ifndef MUTANT_OUT_KEPT
			out--
#endif
		:: else
		fi;
		i++
	:: else -> break
	od
}

active proctype asker()
{
	byte r, i;
	bool late, begun, took;

	do
	:: r < ROUNDS ->
		late = false;
		out = N;
		i = 0;
		do /* ASK1 */
		:: i < N ->
			d_step { lent[i] = r + 1; taken[i] = false; state[i] = WAITS };
			run turn(i, number[i], r);
			i++
		:: else -> break
		od;
		do
		:: out == 0 -> break
		:: else ->
			if
			:: atomic { !late && permits > 0 -> permits-- }
#ifndef PATIENT
			:: !late -> late = true
#endif
			:: late ->
				take_back();
				if
#ifdef MUTANT_NO_LOOK
				:: begun ->
#else
				:: begun && out != 0 ->
#endif
					atomic { permits > 0 -> permits-- }
				:: else /* an answer is being written, or none is out */
				fi
			fi
		od;
		i = 0;
		do
		:: i < N ->
			assert(taken[i] || (state[i] == ANSWERED && answer[i] == r));
			lent[i] = 0;
			d_step {
				state[i] = FREE;
#ifndef MUTANT_SAME_NUMBER
				number[i]++
#endif
			};
			i++
		:: else -> break
		od;
		r++
	:: else -> break
	od
}
