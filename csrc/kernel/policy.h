/*
 * policy.h - what the kernel does to be fast or fair, and could do without.
 *
 * Each policy has a switch here. Where it is 0 the policy is not compiled in: a build without it
 * is slower, or keeps a bound of docs/fairness.md no more, and is right in all else.
 * bench/ablate measures what each one earns, and writes docs/rent.md, which says why it stays.
 *
 * After the switches comes what a worker remembers for its policies: one struct each, a member of
 * coroi_worker (worker.h).
 */
#ifndef COROI_KERNEL_POLICY_H
#define COROI_KERNEL_POLICY_H

#include "base/backoff.h"

/* A queue of short turns is not shared while it is short (activity.h). */
#define COROI_HAS_WORTH 1
/* A worker spins before it sleeps, for as long as that was of use lately (steal.c). */
#define COROI_HAS_SPIN 1
/* A coroutine alone on its worker spins before it waits for another thread (idle.c). */
#define COROI_HAS_WAIT_SPIN 1
/* A sleeping worker looks around by the clock while others run (idle.c). */
#define COROI_HAS_STANDBY 1
/* So does one while something may come from outside of all workers (idle.c). */
#define COROI_HAS_RESERVE 1
/* What the driver brings to an idle worker is the worker's own for a moment (activity.h). */
#define COROI_HAS_FED 1
/* A worker that has taken its waker's CPU sleeps again for a moment (idle.c). */
#define COROI_HAS_COALESCE_WAKES 1
/* A worker to which spawns stream lets some of them come together (steal.c). */
#define COROI_HAS_COALESCE_SPAWNS 1
/* A busy worker takes from one that has far more to do (steal.c). */
#define COROI_HAS_STIR 1
/* A thief whose loot was worth less than its transport steals less often (steal.c). */
#define COROI_HAS_HOLD_OFF 1
/* Where turns are long, what comes from outside goes ahead of the queue at times (run.h). */
#define COROI_HAS_FAVORS 1
/* A coroutine that another busy worker wakes moves there at times (wait.c). */
#define COROI_HAS_FOLLOWS 1
/* The run loop fetches the records and stacks that run next (deque.h). */
#define COROI_HAS_LOOK_AHEAD 1
/* The length of a chain of hand-overs adapts to that of turns (run.c). */
#define COROI_HAS_CHAINS 1
/* Waits that end at once are counted, and one yields after 20 us (budget.h). */
#define COROI_HAS_WAIT_BUDGET 1
/* The thread of a caller runs the coroutine that it calls (lend.h). */
#define COROI_HAS_LEND 1
/* A fresh coroutine takes over the record of the one that has just ended (run.c). */
#define COROI_HAS_SUCCEED 1
/* An idle worker polls its driver less often where that was of no use (idle.c). */
#define COROI_HAS_POLL_LESS 1

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
