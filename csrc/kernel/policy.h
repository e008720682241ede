/*
 * policy.h - what the kernel does to be fast or fair, and could do without.
 *
 * Each policy has a switch here. Where it is 0 the policy is not compiled in: a build without it
 * is slower, or keeps a bound of docs/fairness.md no more, and is right in all else.
 * bench/ablate measures what each one earns, and writes docs/rent.md, which says why it stays.
 *
 * Below each switch are the policy's tuning constants: numbers that were chosen by measurement or
 * by judgement, and not by a layout or a protocol. Each has its unit, the reason for its value, and
 * where its figure stands: a page of docs, or the subject of a commit. Where it says "by judgement"
 * nobody has measured other values. What the room base chooses stands in base, what the
 * border and actors choose in border/policy.h and actor/policy.h.
 *
 * After that comes what a worker remembers for its policies: one struct each, a member of
 * coroi_worker (worker.h).
 */
#ifndef COROI_KERNEL_POLICY_H
#define COROI_KERNEL_POLICY_H

#include "base/backoff.h"
#include "base/sanitize.h"

/* ------------------------------------------------------------------------- idle workers */

/* A worker spins before it sleeps, for as long as that was of use lately (steal.c). */
#define COROI_HAS_SPIN 1
/* ns: the longest spin, and the first. A sleep and a wake-up take as long, so no spin costs more
 * than twice what is best (steal.c names the paper). */
#define COROI_SPIN_NS 10000
/* ns: the shortest, after halvings: four looks. By judgement. */
#define COROI_SPIN_LEAST_NS 600
/* Pauses of the CPU between two looks, 150 ns: each look takes the inbox's line from its writers.
 * docs/benchmarks.md, what was tried. */
#define COROI_SPIN_RELAX 6
/* Workers: up to here one alone searches; of more, half of those that are awake. A searcher takes
 * lines from those that work. By judgement, as Go does. */
#define COROI_ONE_SEARCHER 4

/* A coroutine alone on its worker spins before it waits for another thread (idle.c). */
#define COROI_HAS_WAIT_SPIN 1
/* Pauses of the CPU, about 2 us: an answer from another core comes in less, and a wake-up takes
 * longer. docs/benchmarks.md, what was tried. */
#define COROI_WAIT_SPIN_PAUSES 60

/* A sleeping worker looks around by the clock while others run (idle.c). */
#define COROI_HAS_STANDBY 1
/* ns: its first sleep; each further one is twice as long. docs/internals/sleeping.md, the
 * standby. */
#define COROI_STANDBY_FIRST_NS 20000
/* ns: its longest sleep. So long may work lie behind a coroutine that computes. As above. */
#define COROI_STANDBY_MOST_NS 4000000
/* ns: a deadline that is as late is fired by others: its worker does not get to it. Three ticks of
 * the wheel, so that a worker that looks is not overtaken. sleeping.md, deadlines while asleep. */
#define COROI_LATE_NS 200000

/* So does one while something may come from outside of all workers (idle.c). */
#define COROI_HAS_RESERVE 1
/* ns: its sleep. So long may work wait that came to a scheduler which slept. sleeping.md, the
 * reserve: httpd 7.2 to 6.3 us of CPU a request. */
#define COROI_RESERVE_NS 2000000

/* What the driver brings to an idle worker is the worker's own for a moment (activity.h). */
#define COROI_HAS_FED 1
/* ns: that moment. Most coroutines that have got an event run for less, and a wake-up costs 7 us
 * (sleeping.md, what the driver brings). Commit "kernel: what the driver brings to an idle worker
 * is its own for 100 us": httpd 15.7 to 15.1 us a request. */
#define COROI_FED_NS 100000

/* A worker that has taken its waker's CPU sleeps again for a moment (idle.c). */
#define COROI_HAS_COALESCE_WAKES 1
/* ns: that moment: as long as some spawns by a goroutine. sleeping.md, coalesces wakes: 18 000
 * sleeps become 700. */
#define COROI_COALESCE_WAKES_NS 50000

/* An idle worker polls its driver less often where that was of no use (idle.c). How often:
 * base/backoff.h. */
#define COROI_HAS_POLL_LESS 1

/* ------------------------------------------------------------------- what comes from outside */

/* A worker to which spawns stream lets some of them come together (steal.c). */
#define COROI_HAS_COALESCE_SPAWNS 1
/* Pauses of the CPU, 1.2 us, before a look into batches where spawns trickle in: each look takes a
 * line from the sender. docs/benchmarks.md, what was tried: 500 000 by Go, 17.5 to 15 ms. */
#define COROI_TRICKLE_RELAX 48
/* ns: between such looks while the worker spins. By judgement. */
#define COROI_TRICKLE_NS 600
/* Words of spawns that come within one such pause: they stream in. Commit "kernel: tasks that
 * stream in from outside come by an open batch", bench actor, fjthrput: 85 to 28 ns; so the next
 * ones. */
#define COROI_STREAM_WORDS 32u
/* Doublings of the pause, at most: it is 5 us then. */
#define COROI_STREAMS_MOST 2
/* Tasks from outside and ns: they go into an open batch where this number of them comes within
 * that time each. A worker that is busy looks at an open batch less often than at its inbox. */
#define COROI_STREAM_TASKS 8u
#define COROI_STREAM_NS    1000u

/* Where turns are long, what comes from outside goes ahead of the queue at times (run.h). */
#define COROI_HAS_FAVORS 1
/* Favors: for each turn of the queue, which has a fifth of the turns so, at least.
 * docs/fairness.md, C coroutines. */
#define COROI_FAVORS 4u
/* Favors that are saved up, at most: a burst is ahead of the queue by 16 turns. By judgement. */
#define COROI_FAVORS_MOST 16u

/* Turns of the queue from one poll of the inbox to the next; 1 while turns are long. Each poll
 * takes a line from its writers. docs/fairness.md. */
#define COROI_POLL_TURNS 4u
/* Turns of the queue between two looks at spawns and inline calls, at most, if the queue does not
 * become empty. docs/fairness.md. */
#define COROI_DELIVER_TURNS 64u
/* Spawns: taken out of batches at a time, as many as there are turns until the next look. */
#define COROI_TAKE_AT_ONCE 64
/* Spawns from outside that go to one worker before the next worker has its turn: as many as it
 * takes at a time. By judgement. */
#define COROI_OUTSIDE_RUN 64
/* Batches that one spawn of many fills before it pushes them, and spawns of one function that one
 * of them stands for, at most: there is something for each worker. By judgement. */
#define COROI_BATCHES_AT_ONCE 8
#define COROI_REPEAT_MOST     1024

/* ------------------------------------------------------------- work that moves between workers */

/* A thief whose loot was worth less than its transport steals less often (steal.c). */
#define COROI_HAS_HOLD_OFF 1
/* ns: what it costs to move a coroutine. sleeping.md, holds off; so the next two. */
#define COROI_PAY_NS 150
/* ns: half of the first time to hold off: 50 us, as long as a wake-up and some looks. */
#define COROI_HOLD_OFF_NS 25000
/* Doublings of that, at most: 12.8 ms. 330 wake-ups for 500 000 spawns become 60. */
#define COROI_HOLD_OFF_MOST 9

/* Where there are actors, a queue of short turns is not shared while it is short (activity.h). */
#define COROI_HAS_WORTH 1
/* Turns in COROI_LOOK_NS: turns are short where there are as many, 250 ns each: a message that
 * travels between CPUs takes longer. Go's actors have the same figure. Commit "kernel: a queue of
 * short turns is not shared while it is short": chameneos takes 2.7 times as long without it. */
#define COROI_SHORT_TURNS 200u

/* A busy worker takes from one that has far more to do (steal.c). */
#define COROI_HAS_STIR 1
/* ns: from one look at another worker to the next, every fourth look at the clock: the peek takes a
 * line. docs/measured.md: most to least tokens 566 to 1.0. */
#define COROI_STIR_NS 200000
/* Runnables: the worker has less than half of what the other has, and this less; else a steal is
 * not worth its price. docs/fairness.md. */
#define COROI_STIR_LESS 8

/* A coroutine that another busy worker wakes moves there at times (wait.c). */
#define COROI_HAS_FOLLOWS 1
/* Runnables in the queue of a worker that a coroutine may leave for its waker's, where half as many
 * are: a shorter queue goes round soon. By judgement. */
#define COROI_FOLLOWS_FROM 8
/* One of this number of such wakes lets it leave: one that many wake would be on its way at all
 * times. docs/fairness.md. */
#define COROI_FOLLOWS_EVERY 4

/* Coroutines: moved by one steal at most, without an option. Half of the steal buffer. By
 * judgement. */
#define COROI_STEAL_BATCH 32
/* Entries of a queue that one steal looks at: pinned ones are passed over, inside the victim's
 * door. Commit "idle: pinned coroutines hide nobody from thieves". */
#define COROI_STEAL_LOOKS 256

/* Pauses that a thief waits for the owner's answer (DRT2 of door.h), 1.5 us: far more than a busy
 * owner takes, and far less than DRT3 costs. docs/benchmarks.md, what was tried. */
#define COROI_ASK_SPINS 40
/* Pauses that a thief waits for an owner to come out (DRT4), 8 us: all but an owner that has lost
 * its CPU come out by then. By judgement. */
#define COROI_BUSY_SPINS 200
/* Pauses that an owner waits for a thief to come out (DRO5), 8 us, before it sleeps; likewise. */
#define COROI_LOCKED_SPINS 200
/* ns: a nap, where another thread was to be done at once and is not: it has lost its CPU. By
 * judgement. */
#define COROI_PREEMPTED_NS 20000

/* ------------------------------------------------------------------------- forks (fork.h) */

/* Forks that a worker keeps for thieves: a power of two. Of more, the oldest become coroutines. By
 * judgement: a tree has one for each level or each child, and the ring is 8 KiB. */
#define COROI_FORKS_MOST 1024
/* Yields by the clock, 20 us each or more, after which a stack's oldest fork becomes a coroutine: a
 * parent that looks for what its child does gets on, and a tree of 1 s makes 50 coroutines at most.
 * By judgement. */
#define COROI_FORK_TURNS 1024
/* Halves of a coro_for that are not joined, for each worker, at most: parts that wait become as many
 * coroutines. By judgement: as many as the largest range has levels. */
#define COROI_HALVES 64
/* Parents on the stack of a coroutine that a thief takes, which it walks over in the door, some ns
 * each. By judgement: a tree of 2^64 leaves is as high. */
#define COROI_INLINED_MOST 64

/* ----------------------------------------------------------------------- turns and their time */

/* The look clock (turnclock.h). ns: looks are about as far apart. A look takes 50 ns, 0.1 % of
 * that. docs/fairness.md; so all of the clock's. */
#define COROI_LOOK_NS 50000
/* Turns from one look to the next, at most: turns may become 1000 times as long at once. */
#define COROI_LOOK_EVERY_MOST 1024u
/* Turns of the queue from one question whether the look is due to the next; 1 while turns are
 * long. */
#define COROI_LOOK_TURNS 16u
/* Turns in COROI_LOOK_NS: turns are long where there are fewer, 12 us each. */
#define COROI_LONG_TURNS 4
/* ns and turns: the length of turns is their average over that long, or that number. */
#define COROI_PACE_NS    10000
#define COROI_PACE_TURNS 256u

/* The length of a chain of hand-overs adapts to that of turns (run.c). */
#define COROI_HAS_CHAINS 1
/* ns: a chain is to last as long, up to four times, or to be one hand-over. Commit "run: a chain of
 * hand-overs lasts for 10 to 40 us": tokens at home 12.0 to 10.95 ns. docs/fairness.md. */
#define COROI_CHAIN_NS 10000
/* Hand-overs: the longest chain, 5 us of the shortest ones. By judgement. */
#define COROI_CHAIN_MOST 1024u
/* Hand-overs: the first chain, before anything is known of turns. */
#define COROI_CHAIN_FIRST 1

/* Waits that end at once are counted, and one yields after 20 us (budget.h). */
#define COROI_HAS_WAIT_BUDGET 1
/* ns: how long a turn of such waits may be. As long as chains, about. docs/measured.md: a newcomer
 * beside four channels that are never empty, from never to 0.04 ms. */
#define COROI_WAITS_TURN_NS 20000
/* ns: looks at the clock are about as far apart: half of that. */
#define COROI_WAITS_LOOK_NS 10000
/* Waits from one look to the next, at most: they may become long at once. */
#define COROI_WAITS_MOST 256
/* Waits that are granted ahead where none are counted. By judgement. */
#define COROI_SPEND_MOST 64u
/* Parks: counted together where a coroutine has as many permits; a power of two. Commit "run: a
 * chain of hand-overs polls the inbox at its end, and counted parks cost less": strict rings 7.8
 * to 7.2 ns. */
#define COROI_PARKS_COUNTED 8

/* The run loop fetches the records and stacks that run next (deque.h). */
#define COROI_HAS_LOOK_AHEAD 1
/* Entries: records are fetched that far ahead, stacks half as far, free records of a magazine too.
 * A miss takes about as long as as many short turns. Commit "deque: a pop from a long queue brings
 * the stack of the entry 8 behind": 171 to 365 ns become 136 to 201. */
#define COROI_AHEAD 16
/* Coroutines whose lines are in the second cache anyway, from where they come in time: it often has
 * 512 KiB, and a coroutine needs three lines, one of its record and two of its stack. Commit
 * "deque: nothing is brought ahead where it is in the cache anyway": a yield of 50 takes 7.4 ns,
 * not 8.2. */
#define COROI_IN_CACHE 2048

/* A fresh coroutine takes over the record of the one that has just ended (run.c). */
#define COROI_HAS_SUCCEED 1

/* Timers: fired or spread while the door is held, at most. By judgement. */
#define COROI_TIMERS_AT_ONCE 512

/* ---------------------------------------------------------------------------------- memory */

/* Credit that a user gets at a time; one that has more than twice that gives back all but this
 * (slab.h). Two magazines. Commit "csrc: a spawn is one word until it starts". */
#define COROI_CREDIT 128
/* The slab is roomy where this part of its credit is free: a quarter. By judgement. */
#define COROI_ROOMY_PART 4
/* Entries of a new queue; it doubles. 4 KiB a worker. By judgement. */
#define COROI_RING_START 256
/* Stacks of a class that a worker keeps, without an option. By judgement. */
#define COROI_STACK_CACHE 64
/* Shared stacks of a worker, without an option: as many dense coroutines can take turns without a
 * copy. docs/measured.md: 4.4 ns a yield, 12.6 beyond. */
#define COROI_SHARED_STACKS 16
/* A dense coroutine keeps a shared stack for itself where its frames take more than this part of
 * it: a half. docs/dense.md. */
#define COROI_PRIVATE_PART 2
/* The block of a dense coroutine is used again for frames that fit, unless it is larger than they
 * by this part and these bytes. By judgement. */
#define COROI_SLACK_PART  4
#define COROI_SLACK_BYTES 32
/* Pairs of counts of threads outside that wake (wait.c), so that wakers on several cores seldom
 * share one; a power of two. By judgement. */
#define COROI_WAKERS 16

struct coroi_worker;

/* ------------------------------------------ what a worker remembers, for one policy each */

/* The look clock: when the worker looks at the clock, and how long its turns are (turnclock.h).
 * coroi_turns counts turns. */
struct coroi_turnclock {
	uint64_t looked;   /* when the worker last looked, ns */
	uint64_t paced;    /* when the length of turns was last taken, ns */
	uint32_t at;       /* the turn of the next look */
	uint32_t every;    /* turns from one look to the next */
	uint32_t paced_at; /* the turn at which the length of turns was last taken */
	/* The turn of the next look is compared where queue.head has none of these bits; 0 while
	 * turns are long. */
	uint8_t mask;
};

/* Favors: how often what comes from outside may go ahead of the queue (coroi_favors_locked). */
struct coroi_favors {
	uint32_t left; /* favors that are left, */
	uint32_t at;   /* as of this value of queue.head */
	uint32_t end;  /* where the last one that was put ahead is, as queue.head counts */
};

/* Chains of hand-overs: the budget that adapts (coroi_budget_spent_locked). */
struct coroi_chaining {
	uint64_t ended; /* when the budget was last used up, ns, */
	uint32_t head;  /* and the value of queue.head then */
	bool is_fixed;  /* the budget was set by an option, and does not adapt */
};

/* The budget of waits that end at once (budget.h). */
struct coroi_waits {
	int32_t left;    /* waits until the next look at the clock */
	int32_t every;   /* waits from one look to the next */
	uint64_t looked; /* the last look, ns */
	uint64_t since;  /* the last look that was the first of its turn, ns, */
	uint32_t turn;   /* and that turn (coroi_turns) */
};

/* What the driver has brought, and is the worker's own for a moment (coroi_to_share). Atomic,
 * relaxed: thieves look. */
struct coroi_fed {
	uint64_t at; /* when the driver last fed the worker, ns */
	uint32_t to; /* where in the queue what it brought ends, as queue.head counts */
};

/* A busy worker takes from one that has far more to do (coroi_stir). */
struct coroi_stirring {
	struct coroi_worker *from;  /* the worker to take from, or NULL */
	uint64_t looked;            /* the last look for one, ns */
	uint32_t next;              /* the id of the worker to look at next */
	struct coroi_backoff tries; /* how often to look */
};

/* Spinning before sleep (coroi_search). */
struct coroi_spinning {
	uint32_t ns;    /* how long the worker looks for work before it sleeps */
	uint64_t slept; /* when it last went to sleep, ns */
};

/* Stealing, and holding off from it (steal.c). */
struct coroi_steal {
	uint64_t random;   /* the state of steal_round's random numbers; not 0 */
	uint32_t doubled;  /* how often the time to hold off was doubled */
	uint32_t turn;     /* coroi_turns when the last loot came */
	uint64_t hold_off; /* no steals until then, ns. Atomic, relaxed: wakers look */
	/* When the last loot came, ns; 0: that steal has been judged, or there was none. */
	uint64_t began;
	uint32_t *seen; /* [workers] coroi_turns of each worker when this one last looked */
	/* The worker was woken to look for work, and has not slept since. Atomic, relaxed: a
	 * hint. */
	uint8_t called;
};

/* Spawns that come one after the other, and are let come together (coalesce of steal.c). */
struct coroi_spawns {
	bool trickles;   /* at the last look all undelivered batches were empty and still open */
	uint8_t streams; /* spawns stream in: the worker waits 2^that times as long for more */
	/* The value of queue.head after the spawn that was delivered last. */
	uint32_t delivered_to;
};

/* Wakes that are let come together (coalesce_wakes of idle.c). */
struct coroi_wakes {
	/* The CPU of the thread that claimed the worker last. Atomic, relaxed. */
	int32_t waker_cpu;
	bool displaced;             /* the worker woke up on that CPU */
	struct coroi_backoff tries; /* how often coalesce_wakes is tried */
};

#endif
