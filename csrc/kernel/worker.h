/*
 * worker.h - a worker thread and its scheduler: who owns which word.
 *
 * A worker's memory, in pairs of cache lines so that nobody's writes disturb another's:
 *
 *      owner   busy, current, slot, queue, magazines, stack cache      written inside its door
 *      req     the door's other side                                   written by thieves
 *      inbox   spawns and wake-ups from other threads                  written by anybody
 *      sleep   futex word, steal buffer, idle state                           written by itself and who wakes it
 */
#ifndef COROI_WORKER_H
#define COROI_WORKER_H

#include "base/atomics.h"
#include "base/backoff.h"
#include "base/current.h"
#include "kernel/batch.h"
#include "kernel/driver.h"
#include "kernel/gobell.h"
#include "kernel/gocall.h"
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

/* A double-ended queue of runnable coroutines; see deque.h. */
struct coroi_deque {
	uint64_t *ring; /* runnables, then as many arguments */
	uint32_t mask;  /* ring entries - 1 */
	uint32_t head;  /* free-running: how often the front was taken */
	uint32_t count; /* in the ring; atomic, relaxed: thieves peek */
	/* ring entries; 0 while something has spilled: the ring is as good as full */
	uint32_t room;
	/* what did not fit when the ring could not grow, in order */
	struct coroi_list spill;
};

/* A coroutine on its way to a thief. */
struct coroi_steal_entry {
	uint64_t runnable, arg;
};

/* What the native stack is to do for a coroutine that has suspended; run NULL: nothing. */
struct coroi_errand {
	void (*run)(struct coroi_worker *w, void *arg);
	void *arg;
};

struct coroi_worker {
	/* owner: inside the door, or read by the owner alone */
	uint32_t busy; /* the door: 1 while the owner is inside */
	union {
		struct {
			uint8_t exchange; /* doors without membarrier */
			uint8_t unused;
			union {
				struct {
					/* fresh ones end unstarted, waits return CORO_ECANCELED */
					uint8_t cancel;
					/* the current one is in a section; see nowait.h */
					uint8_t nowait;
				};
				uint16_t refuses; /* either */
			};
		};
		/* any: fast paths are not taken. Atomic, relaxed: `cancel` is written with the door
		 * locked */
		uint32_t unusual;
	};
	/* the running coroutine; NULL on the native stack, or inside one resumed by hand */
	struct coroi_rec *current;
	/* runs next, ahead of the queue; atomic, relaxed: thieves peek */
	struct coroi_rec *next;
	/* times the slot was taken, free-running; atomic, relaxed: others look whether it moves */
	uint32_t handovers;
	uint32_t handovers_most; /* when it is that many, the queue has its turn */
	struct coroi_deque queue;
	/* hand-overs between two turns of the queue; 0: the slot is not used */
	uint32_t budget;
	uint16_t id;
	/* by an option. Else it is what takes about so long, see coroi_budget_spent_locked */
	bool budget_given;
	struct coro_scheduler *sched;
	struct coroi_mags mags;
	void *native_sp;                  /* the suspended native context */
	struct coroi_list awaiting_stack; /* fresh ones for which there was no stack */
	/* of the queue, when it was looked through last: for these there was no record */
	uint32_t left;
	uint64_t spawned, ended;
	uint64_t undelivered,
		undelivered_last; /* spawns out of the inbox that are not in the queue yet, oldest first: nodes.
					   * Atomic, relaxed: others peek at the first */
	/* at the last look all of those had been taken, and more may come */
	bool trickles;
	struct coroi_stack_cache stacks;
	/* see dense.h; NULL: none has started here. Atomic: figures are read from outside, under
	 * the life lock, which is held when it is freed */
	struct coroi_dense *dense;
	struct coroi_wheel *timers; /* see timer.h */
	/* when they are to be looked at, ns; COROI_NEVER: none is armed. Atomic, relaxed: others
	 * peek */
	uint64_t due;
	uint64_t looked;              /* when they last were, ns */
	uint32_t look_at, look_every; /* the turn of the next look, and from one to the next */
	uint64_t spent_ns;            /* when the budget was last used up, */
	uint32_t spent_at;            /* and queue.head then */
	/* inline calls of coroutines here that wait to be made, so many; see gocall.h */
	struct coroi_call *calls;
	uint32_t calls_count;
	struct coroi_errand errand; /* see run.h */
	bool masked_again; /* for signals, which Go lets through when it first sees the thread */
	uint32_t nowait_depth;    /* sections that are open */
	const char *nowait_where; /* the outermost */

	uint32_t req __attribute__((aligned(COROI_APART))); /* see door.h */

	uint64_t inbox __attribute__((aligned(COROI_APART))); /* see inbox.h */

	/* sleep */
	uint32_t ev __attribute__((aligned(COROI_APART))); /* futex; see idle.c */
	uint32_t steal_buf_count;                          /* from a victim that served us */
	struct coroi_steal_entry steal_buf[COROI_STEAL_MAX];
	uint64_t random;
	/* turns and queue when a thief found nothing but pinned ones there; atomic, relaxed */
	uint32_t kept_at, kept_length;
	uint32_t spin_ns;   /* how long it looks for work before it sleeps */
	uint64_t parked_at; /* ns */
	int32_t waker_cpu;  /* where whoever claimed it last ran; atomic, relaxed */
	bool displaced;     /* it has woken up there */
	struct coroi_backoff coalescing;
	uint32_t backoff; /* steals in a row that did not pay */
	/* no stealing before this time, ns; atomic, relaxed: who would wake it looks */
	uint64_t hold_off;
	/* it was woken to look for work, and has not slept since; atomic, relaxed: a hint */
	uint8_t called;
	/* when the last stolen batch came, ns; 0: none since we were last idle */
	uint64_t steal_began;
	uint32_t steal_turn; /* coroi_turns then */
	uint32_t *seen;      /* [workers] coroi_turns of the others when we last looked */
	uint64_t steals, stolen, served, forced, parks, remote_wakes;
	/* the Go function that it calls now, 0: none. Written by Go, on its thread; others look */
	uint32_t in_go;
	uint64_t inline_calls; /* made until now */
	int32_t tid, cpu;
	pthread_t thread;
	void *sigstack;
	struct coroi_fiber native; /* its own stack */
} __attribute__((aligned(COROI_APART)));

/* Everything rests when the awake and ext fields of activity are zero; see idle.c. */
#define COROI_SEARCHING       UINT64_C(1)
#define COROI_AWAKE           (UINT64_C(1) << 16)
#define COROI_PENDING         (UINT64_C(1) << 32)
#define COROI_SEARCHING_OF(s) ((uint32_t)((s)&0xffff))
#define COROI_PENDING_OF(s)   ((uint32_t)((s) >> 32))
#define COROI_AWAKE_OF(s)     ((uint32_t)((s) >> 16 & 0xffff))

#define COROI_MASK_WORDS (CORO_WORKERS_MAX / 64 + 1) /* workers, and the goworker */

/* What a worker that has nothing to do is told to do. */
enum { COROI_RUNNING, COROI_PAUSED, COROI_STOPPING };

struct coro_scheduler {
	uint32_t workers; /* of them the last are dedicated: so many */
	uint32_t dedicated;
	uint32_t flags;
	uint32_t steal_batch;
	uint8_t class;       /* of default stacks */
	uint8_t dense_class; /* of the slots of dense.h */
	uint16_t shared_stacks;
	/* [workers + 1], the last is the Go goworker; see goworker.h */
	struct coroi_worker *worker;
	struct coroi_slab slab;
	struct coroi_stack_pool stacks;
	char name[16];

	/* idle */
	uint64_t activity __attribute__((aligned(COROI_APART)));
	/* a bit for each worker that sleeps and may be woken */
	uint64_t sleepers[COROI_MASK_WORDS] __attribute__((aligned(COROI_APART)));
	/* hint to who pushes; see activity.h */
	uint32_t hungry __attribute__((aligned(COROI_APART)));
	uint32_t standby;       /* id + 1 of the sleeper that looks around; 0: none */
	uint64_t standby_until; /* when it will, ns; a hint */
	uint32_t mode;          /* COROI_RUNNING... */
	uint32_t rests;         /* futex: times that everything came to rest */
	/* times that somebody woke up from that; counted before it does anything */
	uint32_t rises;
	uint32_t rest_waiters;   /* threads that wait for rests to change */
	uint32_t awaiting_stack; /* coroutines that wait for a stack, on all workers */

	struct coroi_outside outside;
	struct coroi_gobell bell __attribute__((aligned(COROI_APART)));
	struct coroi_offloaded calls __attribute__((aligned(COROI_APART)));
	const struct coroi_driver *driver;
	void *service[COROI_SERVICES_MAX]; /* state of services, by their id */

	/* life */
	pthread_mutex_t life_lock;
	pthread_cond_t life_changed;
	/* threads that run, and of them those that could not set themselves up */
	uint32_t started, unfit;
	uint32_t closers; /* threads inside close */
	uint8_t closing, closed, canceled, running;
};

/* coroi_general - so many workers share their work: those before the dedicated ones. */
static inline uint32_t coroi_general(const struct coro_scheduler *s)
{
	return s->workers - s->dedicated;
}

/* coroi_is_dedicated - w steals nothing, and nothing is stolen from it. */
static inline bool coroi_is_dedicated(const struct coroi_worker *w)
{
	return w->id >= coroi_general(w->sched);
}

/* coroi_self - the worker of this thread, or NULL. */
COROI_THREAD_LOCAL struct coroi_worker *coroi_worker_tls;

static inline struct coroi_worker *coroi_self(void)
{
	return coroi_tls(coroi_worker_tls);
}

/*
 * coroi_here - the same for usual paths, which need not ask whether there is one: where there is
 * none it is coroi_nobody, at which no coroutine runs, and which has no scheduler that anything
 * belongs to. Nobody writes there.
 */
COROI_THREAD_LOCAL struct coroi_worker *coroi_here_tls;
extern const struct coroi_worker coroi_nobody;

static inline struct coroi_worker *coroi_here(void)
{
#ifdef COROI_EXPLORED /* it changes one thread-local variable when it changes threads */
	struct coroi_worker *w = coroi_self();
	return w ? w : (struct coroi_worker *)&coroi_nobody;
#else
	return coroi_tls(coroi_here_tls);
#endif
}

/* coroi_current - the coroutine that runs on w; NULL: none, or no worker. */
static inline struct coroi_rec *coroi_current(const struct coroi_worker *w)
{
	return w ? w->current : NULL;
}

#endif
