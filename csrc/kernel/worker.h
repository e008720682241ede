/*
 * worker.h - a worker, and its scheduler: which thread owns which word.
 *
 * A worker's memory is in four parts, each in cache-line pairs of its own, so that the writes of
 * one side do not disturb another:
 *
 *   part    what is there                                      written by
 *   owner   busy, current, next, queue, magazines, stacks      the owner, or a thief in its door
 *   req     the door's other side                              thieves
 *   inbox   spawns and wake-ups from other threads             any thread
 *   sleep   futex word, steal buffer, state of idle and steal  the owner, claimers, victims, Go
 *
 * What holds whenever no thread is in the middle of a change:
 *
 *   refuses == (cancel | nowait << 8), and unusual == (exchange | lent << 8 | refuses << 16)
 *   queue.room == (spill.count ? 0 : mask + 1), and queue.count <= mask + 1
 *   handovers.most - handovers.n <= budget             a chain may take `next` that often still
 *   count.steals == served + forced <= stolen
 *   0 <= spawned - ended, summed over all workers: the coroutines that live (coroi_live)
 *   0 <= daemons.spawned - ended, summed over all workers: how many of them are daemons
 *   sched->awaiting_stack == awaiting_stack.count, summed over all workers
 *   searching <= awake; awake and pending are both 0: the scheduler is at rest (idle.c)
 */
#ifndef COROI_WORKER_H
#define COROI_WORKER_H

#include "base/atomics.h"
#include "base/backoff.h"
#include "base/current.h"
#include "kernel/batch.h"
#include "kernel/driver.h"
#include "kernel/hooks.h"
#include "kernel/policy.h"
#include "kernel/record.h"
#include "kernel/service.h"
#include "kernel/slab.h"
#include "kernel/spawn.h"
#include "base/stack.h"

#include <pthread.h>

#define COROI_STEAL_MAX 64

/* Records linked by `next`, first in first out. */
struct coroi_list {
	struct coroi_rec *first, *last;
	uint32_t count; /* atomic, relaxed: others peek */
};

/* A double-ended queue of runnables; see deque.h. */
struct coroi_deque {
	uint64_t *ring; /* runnables, and behind them as many words of argument */
	uint32_t mask;  /* entries of the ring - 1 */
	/* How often the front was taken, less what was added there. It runs free; the low bits are
	 * the front's index. */
	uint32_t head;
	/* Runnables in the ring. Atomic, relaxed: thieves peek. */
	uint32_t count;
	/* Entries of the ring; 0 while something has spilled, since nothing may pass the spilled
	 * ones. */
	uint32_t room;
	uint32_t given; /* how many thieves have got; it runs free. Atomic, relaxed */
	/* Runnables that came when the ring could not grow, in order. */
	struct coroi_list spill;
};

/* Forks of the stack that the worker runs on; see fork.h. */
struct coroi_forks {
	struct coro_fork **ring; /* COROI_FORKS_MOST */
	/* Both run free, and are atomic, since others peek. head is changed in the door. */
	uint32_t head, tail;
};

/* Runs of `next`: hand-overs. */
struct coroi_handovers {
	uint32_t n; /* all of them; it runs free. Atomic, relaxed: others look whether it moves */
	uint32_t most; /* the value of n at which the queue has its turn */
};

/* The spawns out of the inbox that are not in the queue yet: nodes, oldest first. */
struct coroi_undelivered {
	uint64_t first; /* atomic, relaxed: others peek */
	uint64_t last;
};

/* Coroutines here that wait for a call which the native stack makes (hooks.h). */
struct coroi_calls {
	void *list;     /* the border's */
	uint32_t count; /* of those in the list */
};

/* The values of `lent`, besides 0: the worker is lent; and spawns of others have come into the
 * queue since then, so that what is fresh is not all the lender's. In w's door. */
enum { COROI_LENT = 1, COROI_LENT_MIXED = 2 };

/* A worker's part of the tasks of a room above (task.h). */
struct coroi_task_room {
	void *room;    /* what the room keeps here; see coroi_room. Atomic, release */
	uint32_t kept; /* tasks that something is kept here for; see coroi_task_keep */
	/* 1 while the node that asks the worker to settle them is in the inbox. Atomic,
	 * sequentially consistent. */
	uint32_t asked;
	uint64_t link; /* the link of that node */
};

/* A runnable on its way to a thief. */
struct coroi_steal_entry {
	uint64_t runnable, arg;
};

/* What a victim gives to this worker. */
struct coroi_steal_buf {
	uint32_t count; /* entries; written by the victim between DRO4 and DRT6 of door.h */
	uint32_t wants; /* the most that the worker wants; written before DRT1, read at DRO4 */
	struct coroi_steal_entry entry[COROI_STEAL_MAX];
};

/* Coroutines that ended in an unusual way. Atomic, relaxed: statistics. */
struct coroi_ends {
	uint64_t no_stack; /* unstarted: there was no stack, */
	uint64_t canceled; /* they were canceled, */
	uint64_t closed;   /* their scheduler was */
	uint64_t failed;   /* those that called coro_abort or coro_exit_canceled */
};

/* Counters (at_bump): the owner writes them, and remote_wakes a thread in the door. */
struct coroi_worker_counts {
	uint64_t steals, stolen; /* steals, and coroutines that came by them */
	uint64_t served;         /* steals that the victim's owner answered */
	uint64_t forced;         /* steals in a locked door */
	uint64_t missed;         /* tries that got nothing */
	uint64_t parks, remote_wakes;
};

/* The times that a worker was lent. Written by the lender. Atomic, relaxed: statistics. */
struct coroi_lends {
	uint64_t n;        /* all of them */
	uint64_t timed;    /* those that were timed, */
	uint64_t ns, most; /* how long they took together, and the longest, ns */
};

/* The thread that the scheduler has made for a worker, or its host (host.h). */
struct coroi_own_thread {
	int32_t tid; /* the thread's number */
	int32_t cpu; /* the CPU that it is pinned to, or -1 */
	pthread_t self;
	void *sigstack; /* the stack that signals are handled on */
};

/* The sections that the current coroutine has open (nowait.h). Of two levels the higher counts. */
enum {
	COROI_SECTION_FINITE = 1, /* it may wait, if the wait has a bound */
	COROI_SECTION_NOWAIT = 2, /* it must not wait */
	COROI_LEVELS = 3,
	/* In `nowait` beside the level: the worker's forks may not be empty (fork.h). */
	COROI_HOLDS_FORKS = 4,
};
struct coroi_sections {
	const char *where[2]; /* by level - 1: where the outermost was begun */
	uint32_t depth[2];    /* by level - 1: how many are open */
};

/* What the native stack does for a coroutine after the coroutine has suspended. run is NULL:
 * nothing. */
struct coroi_errand {
	void (*run)(struct coroi_worker *w, void *arg);
	void *arg;
};

struct coroi_worker {
	/* ---- owner: changed inside the door, or used by the owner alone */

	/* The door: 1 while the owner is inside. See door.h. */
	uint32_t busy;
	union {
		struct {
			/* The doors of this machine need an exchange: there is no membarrier. */
			uint8_t exchange;
			/* Another thread is the worker; see lend.h. */
			uint8_t lent;
			union {
				struct {
					/* Fresh coroutines end unstarted, and waits return
					 * CORO_ECANCELED. */
					uint8_t cancel;
					/* The level of the section that the current coroutine is
					 * in, or 0, and perhaps COROI_HOLDS_FORKS: what it does not
					 * leave behind when it suspends; see nowait.h. */
					uint8_t nowait;
				};
				uint16_t refuses; /* not 0: one of the two */
			};
		};
		/* Not 0: one of the above, and fast paths are not taken. Atomic, relaxed: `cancel`
		 * is written by a thread that has locked the door, and the owner reads the word
		 * after DRO1 of door.h. */
		uint32_t unusual;
	};
	/* The running coroutine. NULL on the native stack, and while the coroutine runs one of
	 * another layer (current.h). */
	struct coroi_rec *current;
	/* The coroutine that runs next, ahead of the queue. Atomic, relaxed: thieves peek. */
	struct coroi_rec *next;
	struct coroi_handovers handovers;
	struct coroi_deque queue;
	/* How often `next` may run between two turns of the queue; 0: `next` is not used. */
	uint32_t budget;
	/* Index in sched->worker. */
	uint16_t id;
	/* The inbox is polled where queue.head has none of these bits; 0 while turns are long. The
	 * look clock's, and in this line as each turn of the queue reads it. */
	uint8_t poll_mask;
	struct coro_scheduler *sched;
	/* Free records and credit; see slab.h. */
	struct coroi_mags mags;
	void *native_sp; /* the suspended context of the native stack */
	/* Fresh coroutines for which there was no stack. */
	struct coroi_list awaiting_stack;
	/* Length of the queue at the last pass that found nothing to run in it: no record could be
	 * had. */
	uint32_t left;
	/* Coroutines that came to be, and that ended, here. Atomic, see coroi_live. */
	uint64_t spawned, ended;
	struct coroi_undelivered undelivered;
	struct coroi_spawns spawns;
	/* Stacks that the worker keeps. */
	struct coroi_stack_cache stacks;
	/* See dense.h. NULL: no dense coroutine has started here. Atomic: statistics are read
	 * from outside, under the life lock, which is held when it is freed. */
	struct coroi_dense *dense;
	/* See timer.h. */
	struct coroi_wheel *timers;
	/* When the timers are to be looked at, ns; COROI_NEVER: none is armed. Atomic, relaxed:
	 * others peek. */
	uint64_t due;
	struct coroi_turnclock clock;
	struct coroi_favors favors;
	/* coroi_pick_locked has returned 0, as the native stack has something to do. */
	bool leave;
	/* The native stack is to poll the driver: w has looked at the clock, and watches
	 * something. */
	bool poll;
	/* Coroutines at home here that wait for something from outside of all workers, which the
	 * driver finds. While w sleeps, a pending-work token stands for them (SLP4 of idle.c).
	 * Atomic, relaxed: w reads the count outside of its door, too. */
	uint32_t outside;
	struct coroi_fed fed;
	/* The worker shares its work with others. */
	bool shares;
	/* The length of a queue that is worth sharing: see coroi_to_share. Atomic, relaxed: thieves
	 * look. */
	uint32_t worth;
	/* The worker is the main one: host.h. */
	bool is_main;
	/* Wakes after which a coroutine might have followed its waker (wait.c). */
	uint32_t follows;
	struct coroi_stirring stir;
	struct coroi_forks forks;
	struct coroi_waits waits;
	struct coroi_chaining chain;
	struct coroi_calls calls;
	/* See coroi_errand_locked. */
	struct coroi_errand errand;
	/* While the worker is lent, the border's: what it knows of the thread. It begins with the
	 * coroutine for whose end the thread waits, or NULL (coroi_is_lenders). */
	struct coroi_rec **lender;
	/* Signals were masked a second time: Go lets them through when it first sees the thread. */
	bool masked_again;
	/* Daemons that came to be, and that ended, here. Each is counted in spawned and ended
	 * above, too. Atomic, see coroi_others. */
	struct {
		uint64_t spawned, ended;
	} daemons;
	struct coroi_ends ends;
	/* coroi_moves when the worker last looked for a stack in vain; 0: never. Atomic. Relaxed is
	 * enough: a reader has already seen the worker give its awake token back. */
	uint64_t no_stack_at;
	struct coroi_task_room tasks;
	/* See nowait.h. */
	struct coroi_sections sections;

	/* req: see door.h. */
	uint32_t req __attribute__((aligned(COROI_APART)));

	/* inbox: see inbox.h. */
	uint64_t inbox __attribute__((aligned(COROI_APART)));

	/* ---- sleep: used outside the door */

	/* COROI_EV_NONE..., and the futex that the worker sleeps on; see idle.c. */
	uint32_t ev __attribute__((aligned(COROI_APART)));
	/* The worker's own thread wants to go on, and the worker is lent: OWN2 of lend.h. Atomic,
	 * sequentially consistent. */
	uint32_t awaited;
	/* There has been a pinned coroutine for this worker: it is not lent. Atomic, relaxed: what
	 * is pinned comes by the inbox, and no lender runs it. */
	uint32_t kept;
	/* 1: a change of the main worker's host is asked for: host.h. Atomic, sequentially
	 * consistent. */
	uint32_t asked;
	struct coroi_steal_buf steal_buf;
	/* Turns and queue length when a thief found only pinned coroutines here. Atomic,
	 * relaxed. */
	struct {
		uint32_t turn, length;
	} only_pinned;
	struct coroi_spinning spin;
	/* How many things the driver watches for the worker: coroi_watch. Atomic. */
	uint32_t watched;
	/* How often an idle worker polls the driver before it sleeps there. */
	struct coroi_backoff polling;
	struct coroi_steal steal;
	struct coroi_wakes wakes;
	struct coroi_worker_counts count;
	struct coroi_lends lends;
	/* The Go function that the worker calls now; 0: none. Written by Go, on the worker's
	 * thread, and looked at by others. */
	uint32_t in_go;
	/* Inline calls that were made until now. */
	uint64_t inline_calls;
	struct coroi_own_thread thread;
	struct coroi_fiber native; /* the native stack's */
} __attribute__((aligned(COROI_APART)));

/* The fields of the activity word: searching:16 | awake:16 | pending:32; see idle.c. The scheduler
 * is at rest when awake and pending are 0. */
#define COROI_SEARCHING       UINT64_C(1)
#define COROI_AWAKE           (UINT64_C(1) << 16)
#define COROI_PENDING         (UINT64_C(1) << 32)
#define COROI_SEARCHING_OF(s) ((uint32_t)((s)&0xffff))
#define COROI_PENDING_OF(s)   ((uint32_t)((s) >> 32))
#define COROI_AWAKE_OF(s)     ((uint32_t)((s) >> 16 & 0xffff))

#define COROI_MASK_WORDS (CORO_WORKERS_MAX / 64 + 1) /* a bit for each worker and the goworker */

/* What a worker that has nothing to run does: sleep until there is work, sleep until the pause
 * ends, or end. */
enum { COROI_RUNNING, COROI_PAUSED, COROI_STOPPING };

struct coroi_host;

struct coro_scheduler {
	/* Worker threads; the last `dedicated` of them are dedicated. */
	uint32_t workers;
	uint32_t dedicated;
	/* CORO_PAUSED..., of coro_options. */
	uint32_t flags;
	/* The most coroutines that one steal moves. */
	uint32_t steal_batch;
	uint8_t class;       /* of stacks by default */
	uint8_t dense_class; /* of shared stacks (dense.h) */
	uint16_t shared_stacks;
	/* [workers + 1]; the last has no thread: coroi_threadless. */
	struct coroi_worker *worker;
	struct coroi_slab slab;
	struct coroi_stack_pool stacks;
	char name[16];

	/* ---- idle */

	uint64_t activity __attribute__((aligned(COROI_APART)));
	/* A bit for each worker that sleeps and may be woken. */
	uint64_t sleepers[COROI_MASK_WORDS] __attribute__((aligned(COROI_APART)));
	/* A hint to workers that push; see activity.h. */
	uint32_t hungry __attribute__((aligned(COROI_APART)));
	/* 1 + id of the sleeper that is the standby; 0: none. */
	uint32_t standby;
	/* When the standby will look around, ns; a hint. */
	uint64_t standby_until;
	/* 1 + id of a sleeper that is a reserve, or 0; and when it will look, ns, a hint. */
	struct {
		uint32_t who;
		uint64_t until;
	} reserve[2];
	uint32_t mode; /* COROI_RUNNING... */
	/* Its workers may be lent. Set before the workers start. */
	uint32_t lends;
	/* A thread would have lent itself, and no worker slept: the next worker that has nothing to
	 * do sleeps at once (steal.c). Atomic, relaxed: a hint. */
	uint32_t lend_missed;
	/* How often everything came to rest. Counted without a locked instruction, as each lend
	 * ends with a rest: of two threads that count at the same time, one may be missed. */
	uint32_t rests;
	/* Changes at each rest for which a thread or a goroutine waits; a futex. */
	uint32_t rests_told;
	/* How often a rest was left again. Counted before the woken worker does anything. */
	uint32_t rises;
	uint32_t rest_waiters;   /* threads that wait for a rest */
	uint32_t rest_watchers;  /* those outside who are told of each rest (hooks.h: look) */
	uint32_t awaiting_stack; /* coroutines that await a stack, on all workers */
	/* Not 0: there has been a daemon. Set before the first is counted. */
	uint32_t has_daemons;
	/* A coroutine that could be woken from outside when a worker looked last; NULL: none. A
	 * hint. Atomic, relaxed. */
	struct coroi_rec *witness;

	struct coroi_outside outside;
	/* What the border keeps here. */
	unsigned char border[4 * COROI_APART] __attribute__((aligned(COROI_APART)));
	/* What the workers sleep in. */
	const struct coroi_driver *driver;
	void *service[COROI_SERVICES_MAX]; /* the state of services, by their id */

	/* ---- life: inside life_lock */

	pthread_mutex_t life_lock;
	pthread_cond_t life_changed;
	/* Threads that have started, and how many of them could not set themselves up. */
	uint32_t started, unfit;
	uint32_t closers; /* threads inside coro_scheduler_close */
	/* A close has begun; it is done; every coroutine is cancelled; a run is under way. */
	uint8_t closing, closed, canceled, running;
	/* The thread that is the main worker, or is about to be that, or NULL; threads in
	 * coro_scheduler_host; the next host is to leave at once; there is to be none any more. */
	struct coroi_host *host;
	uint32_t hosts;
	uint8_t host_leaves, host_closes;
	uint32_t failures; /* texts of coroi_fail that nobody has taken; atomic */
	uint32_t carries;  /* some coroutine has carried buffers: carry.h. Atomic */
};

/* coroi_general - how many workers share their work: those before the dedicated ones. */
static inline uint32_t coroi_general(const struct coro_scheduler *s)
{
	return s->workers - s->dedicated;
}

/* coroi_threadless - the last worker of s, which has no thread, no door, no queue and no stacks. It
 * has an inbox, a sleeper's bit, and an awake token while it is awake, as any other. What becomes
 * runnable there is the border's to run (border/goworker.h). */
static inline struct coroi_worker *coroi_threadless(struct coro_scheduler *s)
{
	return &s->worker[s->workers];
}

/* coroi_is_lenders - w is lent, and r is the coroutine for whose end the lender waits. */
static inline bool coroi_is_lenders(const struct coroi_worker *w, const struct coroi_rec *r)
{
	return coroi_unlikely(w->lent) && r == *w->lender;
}

/* coroi_is_dedicated - w steals nothing, and nothing is stolen from it. */
static inline bool coroi_is_dedicated(const struct coroi_worker *w)
{
	return w->id >= coroi_general(w->sched);
}

/* coroi_host_asked - the thread that is w is to look at who is its host. Thread: w's; relaxed: SLP2
 * is sure. */
static inline bool coroi_host_asked(const struct coroi_worker *w)
{
	return w->is_main && at_load_rlx(&w->asked);
}

/* coroi_is_task - r is a task of that room. */
static inline bool coroi_is_task(const struct coroi_rec *r)
{
	return r->fn == coroi_tasks.fn;
}

/* coroi_tasks_settle_locked - settle what w keeps, if there is any. The caller is in w's door.
 * Returns: as `settle`. */
static inline bool coroi_tasks_settle_locked(struct coroi_worker *w, bool all)
{
	return coroi_unlikely(w->tasks.kept) &&
	       coroi_tasks.settle(at_load_rlx(&w->tasks.room), w->tasks.kept, all);
}

/* coroi_self - the worker of this thread, or NULL. */
COROI_THREAD_LOCAL struct coroi_worker *coroi_worker_tls;

static inline struct coroi_worker *coroi_self(void)
{
	return coroi_tls(coroi_worker_tls);
}

/*
 * coroi_here - the worker of this thread, for fast paths that do not ask whether there is one:
 * where there is none it is coroi_nobody. No coroutine runs at coroi_nobody, its scheduler is one
 * that nothing belongs to, and nothing is written there.
 */
COROI_THREAD_LOCAL struct coroi_worker *coroi_here_tls;
extern const struct coroi_worker coroi_nobody;

static inline struct coroi_worker *coroi_here(void)
{
#ifdef COROI_EXPLORED /* The explorer changes coroi_worker_tls when it changes threads, not this. */
	struct coroi_worker *w = coroi_self();
	return w ? w : (struct coroi_worker *)&coroi_nobody;
#else
	return coroi_tls(coroi_here_tls);
#endif
}

/* coroi_be - the calling thread is w from now on. coroi_be_nobody - it is no worker. */
static inline void coroi_be(struct coroi_worker *w)
{
	coroi_worker_tls = coroi_here_tls = w;
	coroi_scheduled_tls = &w->current;
}

static inline void coroi_be_nobody(void)
{
	coroi_worker_tls = NULL;
	coroi_here_tls = (struct coroi_worker *)&coroi_nobody;
	coroi_scheduled_tls = NULL;
}

/* coroi_is_pinned_here - w (from coroi_here) is `bound`, and its current coroutine is pinned. False
 * if bound is NULL. */
static inline bool coroi_is_pinned_here(const struct coroi_worker *bound,
					const struct coroi_worker *w)
{
	return coroi_likely(w == bound && w->current && w->current->flags & COROI_F_PINNED);
}

/* coroi_is_pinned - me stays with its worker. */
static inline bool coroi_is_pinned(const struct coroi_rec *me)
{
	return me->flags & COROI_F_PINNED;
}

/* coroi_is_named - me was named by coroi_be_named. coroi_is_pinned_named - me also stays with its
 * worker. */
static inline bool coroi_is_named(const struct coroi_rec *me)
{
	return me->flags & COROI_F_NAMED;
}

static inline bool coroi_is_pinned_named(const struct coroi_rec *me)
{
	_Static_assert((COROI_F_PINNED | COROI_F_NAMED) == 0xc0, "the highest two");
	return me->flags >= (COROI_F_PINNED | COROI_F_NAMED);
}

/* coroi_current_here - the coroutine that runs on w, which is from coroi_here; NULL: none. */
static inline struct coroi_rec *coroi_current_here(const struct coroi_worker *w)
{
	return w->current;
}

/* coroi_watches - the driver watches something for w. Thread: any; a hint. */
static inline bool coroi_watches(const struct coroi_worker *w)
{
	return at_load_rlx(&w->watched);
}

/* coroi_has_inbox - something has come for w, the caller, from other threads. A hint. */
static inline bool coroi_has_inbox(const struct coroi_worker *w)
{
	return at_load_rlx(&w->inbox);
}

/* The deadline of a wait that has none, and is over when other coroutines have had their turn. */
#define COROI_BOUNDED UINT64_C(0)

/* coroi_in_nowait - the current coroutine of w is in a section in which it must not wait until that
 * deadline (nowait.h). */
static inline bool coroi_in_nowait(const struct coroi_worker *w, uint64_t deadline)
{
	return coroi_unlikely(w->nowait) && (w->nowait & COROI_LEVELS) > (deadline != CORO_FOREVER);
}

/* coroi_is_apart - w is lent, its current coroutine is in a section or has forks, or its scheduler
 * is canceled: one look for all. Thread: w. */
static inline bool coroi_is_apart(const struct coroi_worker *w)
{
	return at_load_rlx(&w->unusual) > UINT8_MAX; /* `exchange` is the lowest byte */
}

/* coroi_has_aborted - me, which is about to end, called coro_abort. */
static inline bool coroi_has_aborted(const struct coroi_rec *me)
{
	return me->flags & COROI_F_ABORTED;
}

/* coroi_worker_at - worker i of s, below coroi_workers_of(s). coroi_worker_id - its number. */
static inline struct coroi_worker *coroi_worker_at(const struct coro_scheduler *s, uint32_t i)
{
	return &s->worker[i];
}

static inline uint32_t coroi_workers_of(const struct coro_scheduler *s)
{
	return s->workers;
}

static inline uint32_t coroi_worker_id(const struct coroi_worker *w)
{
	return w->id;
}

/* coroi_current - the coroutine that runs on w; NULL: there is none, or w is NULL. */
static inline struct coroi_rec *coroi_current(const struct coroi_worker *w)
{
	return w ? w->current : NULL;
}

#endif
