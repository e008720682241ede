/*
 * idle.pml - who sleeps, who is woken, and when everything is at its end: P1 to P6 and N1 to N4 of csrc/idle.c, with the
 * standby, pauses, ends, ext tokens and timed waits.
 *
 * Three workers, and what SCENE says of tasks and of threads outside:
 *   1  flow    spawns from two threads outside, a queue to steal from, mail for a parked one elsewhere, then a close
 *   2  loop    two tasks that never return: what they spawned, what they woke (the slot) and their mail must be done
 *              by others, and the end is never told
 *   3  ext     a call that is offloaded: its completion comes by a push, from a thread that holds an ext token; then a close
 *   4  pause   batch mode: spawns before, during and between two runs; mail between workers
 *   5  finish  one is parked for ever: whoever waits for the end must never be told that all have ended
 *   6  timed   a task arms a timer for another, whose end arms one more: their worker sleeps with an ext token until it is due, or is
 *              woken, or another fires it (thieves, the standby); then a close. WAKE: who waits may be woken first. BUSY: what wakes
 *              the worker is a task that never returns, and others must fire them
 *
 * What is as in the code: S, sleepers, ev and its futex, mode, hungry, standby, rests and its futex, each read and written
 * in the same order, one step each, by claim, claim_any, coroi_notify_hungry, coroi_notify_pushed, coroi_wake_all, search, steal
 * and take, park, unpark, stand_by, stand_down, look_around, nap, worker_main, resume_all, pause_at_rest, coroi_finished,
 * coroi_rest_await, stop_threads, and by Go's Port.pushed. `turns` and `seen` are exact: moved[v] has the bit of each worker
 * that has not noted v's last turn.
 *
 * What is abstracted
 *   the door     what is done inside one is one step: door.pml is about doors. What follows a step in the same door (a
 *                feed after a drain) comes after it: others may do more in between than in the code.
 *   memory       sequentially consistent. Every word that the protocol needs is changed by sequentially consistent
 *                operations only; the queue is behind the door; hungry and the lengths, which are read relaxed, are hints.
 *   tasks        bits; a queue is a set, of which the lowest runs first and the highest is stolen first. Unopened
 *                spawns count as queued: both are inside the door, and has_work and stuck look at both.
 *   time         spinning ends when it likes. A standby's time-out comes when it would change something, so that a state
 *                in which nobody can do anything is a state without steps, and an error unless all is done. With HOLDS_OFF
 *                each that goes to sleep perhaps holds off from stealing, until a time-out of its own: then it is not woken for a surplus,
 *                and takes the place of the standby. Otherwise backing off from steals that do not pay only delays.
 *                Deadlines come one after the other, at any time (come): then whoever looks fires, in the door of the worker, and
 *                the sleep of one that sleeps with a deadline ends. How late the standby is, is time, and not looked at.
 *   knocking     is never refused (it costs a later look).
 *   starving     is not modelled.
 *
 * What is claimed
 *   - rest is not seen (S zero in a run) while anything is owed: queued, in a slot, running, sent and its sender done
 *     with sending; nor while anything is in a queue or slot whose sender has not done (assert in drop)
 *   - whoever waits for the end is told, once it is there, and not before; every thread stops (asserts in closer, runner)
 *   - nobody sleeps for ever with something to do, and with a standby nothing lies for ever behind a task that computes
 *     (invalid end state, and assert in init)
 *
 * Some mutants are the code as it was before this model: MUTANT_COUNT_TOGETHER, MUTANT_NO_RISES, MUTANT_NO_HAND_OVER,
 * MUTANT_NO_HELPER, MUTANT_NO_HAND_OVER_AWAKE.
 *
 * Parameters: SCENE, N workers, ASLEEP, HOLDS_OFF, TWO senders, PARCEL (two tasks in one push, to the first, who sleeps, while the others are awake), READY, NO_STANDBY, WAKE, BUSY. Mutants: MUTANT_..., each named where it changes something.
 */
#ifndef SCENE
#define SCENE 1
#endif

#define WORKERS 3
#ifndef N
#define N WORKERS
#endif
#define LAST (N - 1)

#define BIT(i) (1 << (i))
#define MANY(set) ((set & (set - 1)) != 0)

/* ev */
#define NONE 0
#define SLEEPS 1
#define WOKEN 2

/* mode */
#define RUNNING 0
#define PAUSED 1
#define STOPPING 2

/* hungry */
#define SURPLUS 1
#define ALONE 2

/* S */
#ifdef PARCEL
byte awake = N - 1, ext;         /* the first sleeps */
#elif defined(ASLEEP)
byte awake = 0, ext;
#else
byte awake = N, ext;
#endif
bit searching;

#ifdef PARCEL
byte sleepers = 1;
#elif defined(ASLEEP)
byte sleepers = (1 << N) - 1;
#else
byte sleepers;
#endif
byte ev[WORKERS];
#ifdef PARCEL
byte hungry;             /* somebody has been woken for it */
#else
byte hungry = ALONE;
#endif
byte standby;
#ifdef HOLDS_OFF
byte off;                /* those that hold off, and sleep */
#define OFF(v) ((off & BIT(v)) != 0)
#define CALLABLE (sleepers & ~off)
#else
#define OFF(v) false
#endif
bool rest_new;           /* rests has changed since its one reader read it */
bool rise_new;           /* so has rises */
byte rest_waiters;
bool rest_down;          /* in futex_wait on rests */
#if SCENE == 4
byte mode = PAUSED;
#else
byte mode = RUNNING;
#endif

byte queue[WORKERS], slot[WORKERS], inbox[WORKERS];
#if SCENE == 2
byte moved[WORKERS];
#endif
#if SCENE == 2 || SCENE == 4
hidden byte spawned[WORKERS], ended[WORKERS]; /* nobody reads them in these scenes */
#else
byte spawned[WORKERS], ended[WORKERS];
#endif

#if SCENE == 6
byte due[WORKERS];       /* armed there */
byte come;               /* deadlines that have passed */
byte home;               /* 1 + where the first was armed */
#define DUE(v) ((due[v] & come) != 0)
#endif

/* Not in the code. */
byte owed;               /* tasks that there is an obligation to do */
byte done;               /* tasks that have run to their end */
byte exited;             /* workers that have */
byte inner;              /* mails from coroutines that lie in an inbox */
bool handed;             /* the offloaded call is with its thread */

#define AT_REST (awake == 0 && ext == 0)
#define HAS(v) (queue[v] != 0 || slot[v] != 0 || inbox[v] != 0)
#if SCENE == 2
#define STUCK(w, v) (HAS(v) && (moved[v] & BIT(w)) == 0)
#elif SCENE == 6 && !defined(MUTANT_BLIND_STANDBY)
#define STUCK(w, v) (HAS(v) || DUE(v))
#else
#define STUCK(w, v) HAS(v)
#endif
#define OTHER(w, k) ((w + k) % WORKERS)

#if SCENE == 4
bool in_run;             /* between the end of resume_all and the pause: what rests before is told to nobody */
#define IN_RUN in_run
#else
#define IN_RUN (mode == RUNNING)
#endif

/* The lowest and the highest of a set. */
#define LOWEST(set) (set & (255 - set + 1))
#define HIGHEST(set) (set & 128 -> 128 : (set & 64 -> 64 : (set & 32 -> 32 : (set & 16 -> 16 : \
	(set & 8 -> 8 : (set & 4 -> 4 : (set & 2 -> 2 : (set & 1))))))))

/* ------------------------------------------------------------------------------------- tokens */

inline rested()
{
	rest_new = true;
	d_step {
		if
		:: rest_waiters > 0 -> rest_down = false
		:: else
		fi
	}
}

/* drop - x: everything rests now. */
inline drop()
{
	awake--;
	x = AT_REST;
	assert(!(x && IN_RUN && (owed | queue[0] | queue[1] | queue[2] | slot[0] | slot[1] | slot[2]) != 0))
}

inline drop_and_tell()
{
	d_step { drop() };
	if
	:: x -> x = 0; rested()
	:: else
	fi
}

/* ------------------------------------------------------------------------------------- waking */

/* grant - take a token; from rest, it is counted before anything can come of it. */
inline grant()
{
#if SCENE == 4 && !defined(MUTANT_NO_RISES)
	d_step { x = AT_REST; awake++ };
	if
	:: x -> x = 0; rise_new = true
	:: else
	fi
#else
	awake++
#endif
}

/* claim - N2 to N4. ok: it was us. */
inline claim(id, ok)
{
#ifndef MUTANT_CLAIM_FIRST
	grant();                                                        /* N2 */
#endif
	if
#if SCENE == 4
	:: mode == PAUSED -> drop_and_tell()
	:: mode != PAUSED ->
#else
	:: true ->
#endif
		d_step {                                                /* N3 */
			ok = (sleepers & BIT(id)) != 0;
			sleepers = sleepers & ~BIT(id)
		};
		if
		:: ok ->
#ifdef MUTANT_CLAIM_FIRST
			ev[id] = WOKEN;
			awake++
#else
			ev[id] = WOKEN                                  /* N4 */
#endif
		:: else ->
#ifdef MUTANT_TOKEN_KEPT
			skip
#else
#ifndef MUTANT_CLAIM_FIRST
			drop_and_tell()
#else
			skip
#endif
#endif
		fi
	fi
}

inline claim_any(who)
{
	do
	:: (who) == 0 || mode == PAUSED -> break
	:: (who) & 1 -> claim(0, c); if :: c -> break :: else fi
	:: ((who) & 3) == 2 -> claim(1, c); if :: c -> break :: else fi
	:: ((who) & 7) == 4 -> claim(2, c); if :: c -> break :: else fi
	od;
	c = 0
}

inline feed()
{
#ifdef HOLDS_OFF
	if
	:: d_step { (hungry & ALONE) != 0 -> hungry = 0 }; claim_any(sleepers)
	:: d_step { hungry == SURPLUS -> hungry = 0 }; claim_any(CALLABLE)
	:: hungry == 0
	fi
#else
	d_step { x = (hungry != 0); hungry = 0 };
	if
	:: x -> x = 0; claim_any(sleepers)
	:: else
	fi
#endif
}

/* coroi_notify_queued, of worker w. */
inline idle_queued()
{
	if
	:: (hungry & ALONE) || (hungry != 0 && MANY(queue[w])) -> feed()
	:: else
	fi
}

/* coroi_notify_pushed: N1 has been done. */
inline idle_pushed(to)
{
	if
	:: sleepers & BIT(to) -> claim(to, c); c = 0                    /* N2 to N4 */
	:: else ->
		if
		:: hungry & ALONE -> feed()
		:: else
		fi
	fi
}

/* push - N1 and what follows, from a thread outside; then it counts. */
inline push(task, to)
{
#ifdef MUTANT_WAKE_FIRST
	idle_pushed(to);
	d_step { inbox[to] = inbox[to] | task };
#else
	d_step { inbox[to] = inbox[to] | task };
	idle_pushed(to);
#endif
	owed = owed | (task & ~done)
}

inline wake_all()
{
	if :: sleepers & 1 -> claim(0, c) :: else fi;
	if :: sleepers & 2 -> claim(1, c) :: else fi;
	if :: sleepers & 4 -> claim(2, c) :: else fi;
	c = 0
}

/* ------------------------------------------------------------------------- what tasks do, on worker w */

inline spawn(task)
{
	d_step {
		queue[w] = queue[w] | task;
		owed = owed | task;
		spawned[w]++
	};
	idle_queued()
}

/* ready - a wake-up at home: the next slot. */
inline ready(task)
{
	d_step {
		queue[w] = queue[w] | slot[w];
		slot[w] = task;
		owed = owed | task
	};
	idle_queued()
}

inline mail(task, to)
{
	d_step { inbox[to] = inbox[to] | task; owed = owed | task; inner = inner | task };
	idle_pushed(to)
}

/* arm - a timer of the task's, on w, in its door. */
inline arm(task)
{
	d_step {
		due[w] = due[w] | task;
		owed = owed | task;
		spawned[w]++;
		if
		:: home == 0 -> home = w + 1
		:: else
		fi
	}
}

inline body()
{
#if SCENE == 1
	if
	:: t == 1 -> spawn(2); mail(8, LAST)
	:: else
	fi
#endif
#if SCENE == 2
	if
	:: t == 1 ->
		spawn(2);
#ifdef READY
		ready(4);
#endif
		goto computes
	:: t == 16 -> goto computes
	:: else
	fi
#endif
#if SCENE == 3
	if
	:: t == 1 ->
#ifndef MUTANT_EXT_LATE
		ext++;                          /* before the worker's own token is dropped */
#endif
		d_step { owed = owed | 2; handed = true }
	:: t == 4 -> spawn(8)
	:: else
	fi
#endif
#if SCENE == 4
	if
	:: t == 1 -> spawn(2); spawn(4)
	:: t == 16 -> mail(8, LAST)
	:: else
	fi
#endif
#if SCENE == 5
	if
	:: t == 1 -> spawn(2)
	:: else
	fi
#endif
#if SCENE == 6
	if
	:: t == 1 -> arm(2)
#ifdef BUSY
	:: t == 8 -> goto computes
#endif
	:: t == 2 -> arm(4)
	:: else
	fi
#endif
}

/* Spawns out of an inbox are counted when they are opened; these are the mails. */
#if SCENE == 1 || SCENE == 4
#define MAILS 8
#elif SCENE == 2
#define MAILS 8
#elif SCENE == 3 || SCENE == 6
#define MAILS 2
#else
#define MAILS 0
#endif

/* drain - v's inbox goes into v's queue, and what is due there. In scene 6 a mail is for who waits with a deadline: if he has gone on, it
 * stays a permit. */
inline drain(v)
{
#if SCENE == 6
	inbox[v] = inbox[v] & ~(2 & ~due[v]);
	queue[v] = queue[v] | (due[v] & (come | inbox[v]));
	due[v] = due[v] & ~(come | inbox[v]);
#endif
	inner = inner & ~inbox[v];
	n = inbox[v] & ~MAILS;
	do
	:: n != 0 -> spawned[v]++; n = n & (n - 1)
	:: else -> break
	od;
	queue[v] = queue[v] | inbox[v];
	inbox[v] = 0;
	n = 0
}

/* give - (n + 1) / 2 of v's queue, the last ones. At most four are in one. */
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

/* steal - from v: in its door take, then into our own queue. */
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
		queue[v] = queue[v] | slot[v];
		slot[v] = 0;
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

inline stolen()
{
	if
	:: left != 0 -> left--; claim(left, c); c = 0; left = 0         /* P6 */
	:: else
	fi;
	if
	:: fed -> fed = 0; if :: hungry != 0 -> feed() :: else fi
	:: else
	fi;
	if
	:: hand != 0 ->
		d_step { queue[w] = queue[w] | hand; hand = 0 };
		idle_queued();
		found = true
	:: else
	fi
}

inline steal(v)
{
	d_step { take_from(v) };
	stolen()
}

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

/* sweep - the last one of a search, over the others from a random one on. */
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

/* ------------------------------------------------------------------------------------ sleeping */

inline stand_down()
{
	standby = 0;
	d_step { hungry = hungry | ALONE }
}

inline stand_by()
{
	do
#ifdef HOLDS_OFF
	:: OFF(w) ->
		standby = w + 1;
		d_step { hungry = hungry & ~ALONE };
		if
		:: standby == 0 -> d_step { hungry = hungry | ALONE }
		:: else
		fi;
		break
#endif
	:: !OFF(w) && awake != 0 ->
		d_step {
			x = (standby == 0);
			if
			:: x -> standby = w + 1
			:: else
			fi
		};
		if
		:: !x -> break
		:: else -> x = 0
		fi;
		if
		:: awake != 0 -> break
		:: else
		fi;
		standby = 0;
		d_step { hungry = hungry | ALONE };
		if
		:: awake == 0 -> break
		:: else
		fi
	:: !OFF(w) && awake == 0 ->
		if
		:: standby != 0 -> break
		:: else
		fi;
		d_step { hungry = hungry | ALONE };
		if
		:: awake == 0 -> break
		:: else
		fi
	od
}

/* unpark - have a token and no bit. */
inline unpark()
{
	d_step {
		x = (sleepers & BIT(w)) != 0;
		sleepers = sleepers & ~BIT(w)
	};
	if
	:: x -> x = 0
	:: else ->
		d_step {
			drop();
			assert(!x)              /* one of two: never the last */
		};
#ifndef MUTANT_STALE_EV
		atomic { ev[w] == WOKEN -> ev[w] = NONE }
#endif
	fi
}

#if SCENE == 6 && !defined(MUTANT_BLIND_STANDBY)
#define LATE(v) DUE(v)
#else
#define LATE(v) false
#endif
#define TIME_OUT (LATE(OTHER(w, 1)) || LATE(OTHER(w, 2)) || awake == 0 || (hungry & SURPLUS) == 0 || HAS(OTHER(w, 1)) || HAS(OTHER(w, 2)))

/* hand_over - w goes to work. */
inline hand_over()
{
#ifndef NO_STANDBY
#ifdef MUTANT_NO_HAND_OVER
	if
	:: standby == w + 1 -> stand_down()
	:: else
	fi
#else
	if
	:: standby == w + 1 -> standby = 0
	:: else
	fi;
	if
	:: standby == 0 ->
		d_step { hungry = hungry | ALONE };
		if
		:: (inbox[w] != 0 || queue[w] != 0 || slot[w] != 0) && awake > 1 -> feed()
		:: else
		fi
	:: else
	fi
#endif
#else
	skip
#endif
}

/* DEADLINE - w, which sleeps with a deadline, is to wake up for it. If others have left none, it was theirs that came. */
#ifdef MUTANT_NO_DEADLINE
#define DEADLINE false
#elif defined(MUTANT_EXT_KEPT)
#define DEADLINE DUE(w)
#else
#define DEADLINE (DUE(w) || due[w] == 0)
#endif

/* ALSO_DUE - what w has taken out of its inbox may take long, and it has deadlines: others must look. */
#ifdef MUTANT_NO_HELPER
#define ALSO_DUE false
#else
#define ALSO_DUE (queue[w] != 0 && due[w] != 0 && (hungry & ALONE) != 0)
#endif

inline nap()
{
#ifndef NO_STANDBY
	d_step { note() };
	stand_by();
#endif
asleep:
	do
	:: true ->
		d_step {
#ifdef MUTANT_DEAF_STANDBY
			timed = (standby == w + 1 && !OFF(w));
#else
			timed = (standby == w + 1);
#endif
			if
#ifdef MUTANT_BLIND_SLEEP
			:: true -> ev[w] = SLEEPS
#else
			:: ev[w] == NONE -> ev[w] = SLEEPS
			:: else
#endif
			fi
		};
end:		if
#ifdef HOLDS_OFF
		:: atomic { ev[w] == WOKEN -> ev[w] = NONE; off = off & ~BIT(w); break }
#else
		:: atomic { ev[w] == WOKEN -> ev[w] = NONE; break }
#endif
		:: atomic { timed && ev[w] == SLEEPS && TIME_OUT -> ev[w] = NONE }
#ifdef HOLDS_OFF
			if
			:: standby != w + 1 -> goto asleep       /* another has taken its place */
			:: awake != 0 && OFF(w) && (STUCK(w, OTHER(w, 1)) || STUCK(w, OTHER(w, 2))) /* it looks so as well */
			:: d_step { standby == w + 1 -> off = off & ~BIT(w) }
			fi
#endif
#if SCENE == 6
		:: atomic { armed && ev[w] == SLEEPS && DEADLINE -> ev[w] = NONE };
#ifdef MUTANT_EXT_FIRST
			d_step { ext--; x = AT_REST; assert(!(x && owed != 0)); x = 0 };
#endif
			grant();
			unpark();
			break
#endif
		fi;
		if
#if SCENE == 6
		:: awake == 0 && ext != 0       /* not yet */
#endif
		:: awake == 0 -> stand_down(); stand_by()
		:: awake != 0 ->
			/* look_around */
			if
			:: STUCK(w, OTHER(w, 1)) || STUCK(w, OTHER(w, 2)) ||
			   MANY(queue[OTHER(w, 1)]) || MANY(queue[OTHER(w, 2)]) ->
				grant();
				unpark();
				break
			:: else ->
				d_step { hungry = hungry | SURPLUS; note() }
			fi
		fi
	od;
	timed = false;
	hand_over()
}

/* ------------------------------------------------------------------------------------- a worker */

proctype worker(byte w)
{
	byte t, hand, n, left;
	bit x, c, fed, found, thief, timed;
#if SCENE == 6
	bit armed;
#endif

#ifdef PARCEL
	if
	:: w == 0 -> goto asleep
	:: else
	fi;
#elif defined(ASLEEP)
	goto asleep;
#endif
again:
	/* coroi_run: until there is none. */
	if
	:: mode == STOPPING -> exited++; goto out
	:: mode == PAUSED -> goto idle
	:: mode == RUNNING
	fi;
pick:
	atomic {
		if
#if SCENE == 6
		:: inbox[w] != 0 || DUE(w) -> drain(w); fed = MANY(queue[w]) || ALSO_DUE
#else
		:: inbox[w] != 0 -> drain(w); fed = MANY(queue[w])
#endif
		:: slot[w] != 0 || queue[w] != 0 || inbox[w] == 0 /* it is looked into now and then only */
		fi;
#if SCENE == 2
		moved[w] = BIT(0) | BIT(1) | BIT(2);
#endif
		if
		:: slot[w] != 0 -> t = slot[w]; slot[w] = 0
		:: else -> t = LOWEST(queue[w]); queue[w] = queue[w] & ~t
		fi
	};
	if
	:: fed -> fed = 0; if :: hungry != 0 -> feed() :: else fi
	:: else
	fi;
	if
	:: t == 0 -> goto idle
	:: else
	fi;
	body();
	d_step { assert((done & t) == 0); done = done | t; owed = owed & ~t; ended[w]++; t = 0 };
	goto pick;

idle:
	/* coroi_idle: search */
#if SCENE == 4
	/* A look that finds nothing, or that somebody else is the thief, changes nothing: so all looks are one step, in which
	 * it finds something or does not. */
	atomic {
		if
		:: mode == RUNNING && inbox[w] != 0 -> goto again
		:: mode == RUNNING && HAS(OTHER(w, 1)) -> take_from(OTHER(w, 1))
		:: mode == RUNNING && HAS(OTHER(w, 2)) -> take_from(OTHER(w, 2))
		:: true
		fi
	};
	if
	:: fed || hand != 0 ->
		stolen();
		if
		:: found -> found = 0; goto again
		:: else
		fi
	:: else
	fi;
#else
	if
	:: mode == RUNNING ->
		d_step { thief = !searching; searching = searching | thief; note() };
		if
		:: inbox[w] != 0 -> found = true
		:: true                                 /* it has spun long enough */
		fi;
		if
		:: thief ->
			if
			:: found
			:: !found -> try(OTHER(w, 1)); try(OTHER(w, 2))
			:: !found -> try(OTHER(w, 2)); try(OTHER(w, 1))
			fi;
			searching = 0;
			thief = 0
		:: else
		fi;
		if
		:: found -> found = 0; goto again
		:: else
		fi
	:: else
	fi;
#endif

	/* park */
#ifdef MUTANT_DROP_FIRST
	drop_and_tell();
#endif
#ifndef MUTANT_LATE_BIT
	d_step { sleepers = sleepers | BIT(w) };                        /* P1 */
#endif
	if                                                              /* P2 */
	:: mode == STOPPING -> found = true
	:: mode == PAUSED
	:: mode == RUNNING ->
#ifndef MUTANT_NO_RECHECK
		if
		:: inbox[w] != 0 -> found = true
		:: else ->
#ifndef MUTANT_INBOX_ONLY
			found = (queue[w] != 0 || slot[w] != 0)
#endif
		fi
#endif
	fi;
#ifdef MUTANT_LATE_BIT
	d_step { sleepers = sleepers | BIT(w) };
#endif
	if
	:: found ->                                                     /* P3 */
		found = false;
#ifdef MUTANT_DROP_FIRST
		awake++;
#endif
		unpark();
#if !defined(MUTANT_NO_HAND_OVER_AWAKE) && !defined(NO_STANDBY)
		hand_over();
#endif
		goto parked
	:: else
	fi;
#ifdef HOLDS_OFF
	if
	:: d_step { off = off | BIT(w) }
	:: d_step { off = off & ~BIT(w) }
	fi;
#endif
#if SCENE == 6
	armed = due[w] != 0;
	if
	:: armed ->                                                     /* P4 */
#ifdef MUTANT_NO_EXT
		drop_and_tell();
#else
#ifdef MUTANT_EXT_AFTER
		drop_and_tell();
		ext++;
#else
		d_step { awake--; ext++ };
#endif
#endif
		goto sleeps
	:: else
	fi;
#endif
#ifndef MUTANT_DROP_FIRST
	d_step {                                                        /* P4 */
		drop();
#ifndef PARCEL
		if
		:: !x && !OFF(w) -> hungry = hungry | SURPLUS
		:: else
		fi
#endif
	};
	if
	:: x -> x = 0; rested()
	:: else ->
#ifdef PARCEL
		if
		:: d_step { hungry = hungry | SURPLUS }
		:: true                         /* steals have not paid */
		fi
#else
		skip
#endif
	fi;
#endif
#if SCENE == 6
sleeps:	skip;
#endif
	nap();                                                          /* P5 */
#if SCENE == 6
	if
	:: armed ->
#if !defined(MUTANT_EXT_FIRST) && !defined(MUTANT_NO_EXT)
		ext--;                                                  /* we are awake */
#endif
		armed = false
	:: else
	fi;
#endif
parked:
	goto again;

computes:
	true;
end_computes:
	false;
out:
	skip
}

/* --------------------------------------------------------------------------- threads outside */

inline rest_await()
{
	rest_waiters++;
	if
	:: atomic { !rest_new -> rest_down = true };
#if SCENE == 5
end:		!rest_down              /* for ever, in this scene */
#else
		!rest_down
#endif
	:: rest_new
	fi;
	rest_waiters--
}

/* coroi_finished */
inline finished(yes)
{
	yes = false;
	rest_new = false;
	if
	:: AT_REST ->
#ifdef MUTANT_COUNT_TOGETHER
		live = spawned[0] - ended[0];
		live = live + spawned[1] - ended[1];
		live = live + spawned[2] - ended[2];
		if
		:: live == 0 && AT_REST -> yes = !rest_new
		:: else
		fi
#else
		live = 0 - ended[0];
		live = live - ended[1];
		live = live - ended[2];
		live = live + spawned[0];
		live = live + spawned[1];
		live = live + spawned[2];
		yes = live == 0
#endif
	:: else
	fi
}

inline stop_threads()
{
	mode = STOPPING;
#ifndef MUTANT_NO_WAKE_ALL
	wake_all();
#endif
	exited == N
}

bool sent_a, sent_b;     /* the senders are done: what close waits for first */

#if SCENE != 4
proctype sender_a()
{
	bit x, c;

#if SCENE == 2
	push(1, 0);
	push(8, 0);
#ifndef TWO
	push(16, 1);
#endif
#elif SCENE == 5 && defined(PARCEL)
	push(5, 0);              /* 1 and 4 */
#else
	push(1, 0);
#endif
	sent_a = true
}
#endif

#if SCENE == 1 || SCENE == 2 || SCENE == 3
proctype sender_b()
{
	bit x, c;

#if SCENE == 3
	push(4, LAST);
#else
	push(16, 1);
#endif
	sent_b = true
}
#endif

#if SCENE == 3
/* The thread that makes the offloaded call. */
proctype offload()
{
	bit x, c;

	handed;
#ifdef MUTANT_EXT_LATE
	ext++;
#endif
#ifdef MUTANT_EXT_EARLY
	d_step { ext--; x = AT_REST; assert(!(x && owed != 0)) };
	if :: x -> x = 0; rested() :: else fi;
	push(2, 0)
#else
	push(2, 0);
	d_step { ext--; x = AT_REST; assert(!(x && owed != 0)) };
	if :: x -> x = 0; rested() :: else fi
#endif
}
#endif

#if SCENE == 6
/* Time. */
proctype clock()
{
	come = 2;
	come = 2 | 4
}

#if defined(WAKE) || defined(BUSY)
/* Wakes who waits with a deadline, unless that was first. */
proctype waker()
{
	bit x, c;

	home != 0;
#ifdef BUSY
	push(8, home - 1);
#else
	push(2, home - 1);
#endif
	sent_b = true
}
#endif
#endif

#if SCENE == 1 || SCENE == 3 || SCENE == 5 || (SCENE == 6 && !defined(BUSY))
/* coro_scheduler_close, of an open scheduler. */
proctype closer()
{
	byte live;
	bit yes, x, c;

#if SCENE != 5
	sent_a;
#if defined(TWO) || defined(WAKE)
	sent_b;
#endif
#endif
	do
	:: finished(yes);
		if
		:: yes -> break
		:: else
		fi;
		rest_await()
	od;
#if SCENE == 1
#ifdef TWO
	assert(done == (1 | 2 | 8 | 16));
#else
	assert(done == (1 | 2 | 8));
#endif
#elif SCENE == 3
#ifdef TWO
	assert(done == (1 | 2 | 4 | 8));
#else
	assert(done == (1 | 2));
#endif
#elif SCENE == 6
	assert(done == (1 | 2 | 4));
#else
	assert(false);                  /* one is parked for ever */
#endif
	stop_threads()
}
#endif

#if SCENE == 4
/* Port.pushed of csrc/port.go. */
inline port_push(task, to)
{
	d_step { inbox[to] = inbox[to] | task };
	if
	:: (sleepers & BIT(to)) == 0 && (hungry & ALONE) == 0
	:: else ->
		if
		:: mode != PAUSED -> idle_pushed(to)
		:: else
		fi
	fi
}

proctype sender_a()
{
	bit x, c;

	port_push(16, 1);
#ifdef TWO
	port_push(1, 0);
#endif
	sent_a = true
}

inline resume_all()
{
	mode = RUNNING;
	wake_all();
	in_run = true
}

inline run_batch()
{
	resume_all();
	do
	:: true ->
		rest_new = false;
		rise_new = false;
		if
		:: AT_REST ->
			d_step { mode = PAUSED; in_run = false };
#ifdef MUTANT_NO_SECOND_LOOK
			break;
#else
			if
			:: AT_REST ->
#ifdef MUTANT_NO_RISES
				break
#else
				if
				:: !rise_new -> break
				:: else
				fi
#endif
			:: else
			fi;
#endif
			resume_all()
		:: else
		fi;
		rest_await()
	od;
	/* What coroutines have sent was done in this run: else it tells of a deadlock that is none. */
	assert(inner == 0)
}

proctype runner()
{
	bit x, c;

	run_batch();
	sent_a;
#ifdef TWO
	run_batch();
#else
	if
	:: done != (8 | 16) -> run_batch()
	:: else                         /* one with nothing to do */
	fi;
#endif
#ifdef TWO
	assert(done == (1 | 2 | 4 | 8 | 16));
#else
	assert(done == (8 | 16));
#endif
	mode = STOPPING;
	wake_all();
	exited == N
}
#endif

init
{
	atomic {
#if SCENE == 1 || SCENE == 4
		spawned[LAST] = 1;      /* task 8, parked at home there */
#elif SCENE == 2 || SCENE == 3
		spawned[0] = 1;         /* 8 or 2 */
#elif SCENE == 5
		spawned[1] = 1;         /* for ever */
#endif
		run worker(0);
		run worker(1);
#if N > 2
		run worker(2);
#endif
		run sender_a();
#if defined(TWO)
		run sender_b();
#endif
#if SCENE == 3
		run offload();
#endif
#if SCENE == 6
		run clock();
#if defined(WAKE) || defined(BUSY)
		run waker();
#endif
#endif
#if SCENE == 4
		run runner();
#else
#if SCENE != 2 && !defined(BUSY)
		run closer();
#endif
#endif
	};
#if SCENE == 2
	timeout;                        /* nobody has anything to do */
#ifdef READY
	assert(done == (2 | 4 | 8))
#else
	assert(done == (2 | 8))
#endif
#endif
#ifdef BUSY
	timeout;
	assert(done == (1 | 2 | 4));
#endif
#if SCENE == 5
	timeout;
#ifdef PARCEL
	assert(done == (1 | 2 | 4))
#else
	assert(done == (1 | 2))
#endif
#endif
}
