/*
 * stir.pml - busy workers that take from each other: coroi_stir of steal.c, and the doors of all of
 * them, DRO1 to DRO6 and DRT1 to DRT6 of door.h.
 *
 * The threads are N workers. Each enters its door, takes a coroutine to run, and leaves; and it
 * knocks at the door of another worker, takes from there, and keeps what it has taken inside its
 * own door. Each worker is owner and thief, and any may knock at any other.
 *
 * What is as in the code
 *   doors      req and busy are the words of door.h, changed by the same steps. A thief that is
 *              served gets a steal buffer. A thief that locks takes by itself.
 *   coroi_stir The knock is made outside of the own door.
 *
 * What is abstracted
 *   memory     is sequentially consistent: what stores in a buffer do to one door is in door.pml.
 *   the futex of DRO5 is a wait. DRT2 is left out: a thief that is served in time is served at
 *   DRT4.
 *   DRT5       Thieves never give up. So they wait for an owner for ever where that does not come,
 *              and what ends here would end in the code without the limit on their spins.
 *   when       Each worker stirs whenever it likes, STIRS times, whatever the lengths are.
 *
 * What is claimed
 *   - Never are two inside one door (assert in come_in).
 *   - Each coroutine is run at most once (assert in run_one), and none is lost (assert in init).
 *   - There is no deadlock: no two workers wait for each other (invalid end state).
 *
 * Parameters: N, SECTIONS and STIRS (of each worker). Mutants: MUTANT_INSIDE (the knock is made
 * inside the own door), MUTANT_NO_LOOK (DRO3 is left out when a worker keeps what it has taken).
 */
#ifndef N
#define N 2
#endif
#ifndef SECTIONS
#define SECTIONS 2
#endif
#ifndef STIRS
#define STIRS 2
#endif

/* The word req: what | thief << 2. */
#define FREE 0
#define ASK 1
#define SERV 2
#define LOCK 3
#define WORD(what, t) (what + (t << 2))
#define WHAT(word) (word & 3)
#define THIEF(word) (word >> 2)

byte busy[N], req[N];
byte queue[N];          /* sets of coroutines: two for each worker */
byte buffer[N];         /* what a thief was given */

/* Not in the code: the claims are stated with these. */
byte inside[N];
byte ran;

#define ALL ((1 << (2 * N)) - 1)

inline come_in(v)
{
	inside[v]++;
	assert(inside[v] == 1)
}

/* one_of - a member of the set, or 0. */
#define one_of(set) ((set) & -(set))

/* enter - DRO1 to DRO5. */
inline enter()
{
	busy[me] = 1;                                           /* DRO1 */
	do
	:: atomic { req[me] == FREE -> come_in(me); break }     /* DRO3 */
	:: atomic {
		WHAT(req[me]) == ASK ->                         /* DRO4 */
		r = THIEF(req[me]);
		req[me] = WORD(SERV, r);
		come_in(me)
	   };
		d_step {
			x = one_of(queue[me]);
			queue[me] = queue[me] & ~x;
			buffer[r] = x;
			x = 0
		};
		req[me] = FREE;
		break
	:: WHAT(req[me]) == LOCK ->                             /* DRO5 */
		busy[me] = 0;
		WHAT(req[me]) != LOCK;
		busy[me] = 1
	od;
	skip
}

inline leave()
{
	atomic { inside[me]--; busy[me] = 0 }                   /* DRO6 */
}

inline run_one()
{
	d_step {
		x = one_of(queue[me]);
		assert((ran & x) == 0);
		ran = ran | x;
		queue[me] = queue[me] & ~x;
		x = 0
	}
}

/* knock - DRT1 to DRT6, and what is taken at v is in buffer[me]. */
inline knock()
{
	if
	:: atomic { req[v] == FREE -> req[v] = WORD(ASK, me) }; /* DRT1 */
		do
		:: req[v] != WORD(ASK, me) -> break             /* served */
		:: busy[v] == 0 ->                              /* DRT4 */
			atomic {
				if
				:: req[v] == WORD(ASK, me) ->
					req[v] = WORD(LOCK, me);
					come_in(v)
				:: else -> break
				fi
			};
			d_step {
				x = one_of(queue[v]);
				queue[v] = queue[v] & ~x;
				buffer[me] = x;
				x = 0;
				inside[v]--
			};
			req[v] = FREE;
			break
		od;
		req[v] != WORD(SERV, me)                        /* DRT6 */
	:: req[v] != FREE                                       /* refused */
	fi
}

proctype worker(byte me)
{
	byte r, x, v, sections, stirs;

	do
	:: sections < SECTIONS ->
		enter();
		run_one();
		leave();
		sections++
	:: stirs < STIRS ->
		stirs++;
		if
		:: me != 0 -> v = 0
		:: me != 1 -> v = 1
#if N > 2
		:: me != 2 -> v = 2
#endif
		fi;
#ifdef MUTANT_INSIDE
		enter();
		knock();
#else
		knock();
#ifdef MUTANT_NO_LOOK
		busy[me] = 1;
		come_in(me);
#else
		enter();
#endif
#endif
		d_step {
			queue[me] = queue[me] | buffer[me];
			buffer[me] = 0
		};
		leave();
		v = 0
	:: sections == SECTIONS && stirs == STIRS -> break
	od
	/* The worker computes from now on, outside of its door. */
}

init
{
	atomic {
		queue[0] = 3;
		queue[1] = 12;
#if N > 2
		queue[2] = 48;
		run worker(2);
#endif
		run worker(0);
		run worker(1)
	};
	_nr_pr == 1;
	byte all = queue[0] | queue[1];
#if N > 2
	all = all | queue[2];
#endif
	assert((all & ran) == 0 && (all | ran) == ALL);
	assert(req[0] == FREE && req[1] == FREE)
}
