/*
 * policy.h - pools of threads with a dispatcher each: their members, and how they stop. A policy
 * says which member is next, and how one is woken: rr.c or ll.c (after those of usched by Nikita
 * Danilov, 2022), or gq.c.
 *
 * A member is the place of one coroutine after another. It always belongs to the same thread (gq:
 * to the first; the coroutine, once it has begun, to the thread that it has begun on). An id
 * is its number in the pool and its generation, which changes when a coroutine ends. Members are
 * given back with the pool, not before: any id may be followed.
 *
 * Each thread has a hub: the thread whose lock guards it. rr and ll: itself; gq: the first one. The
 * lock is for a few instructions. Whatever of the thread or its members is not said to be the
 * thread's own is used under it. Three words are atomic:
 *   chunk   stored with a release when all of the chunk is there, loaded with an acquire to follow
 *           an id
 *   live    coroutines that have not ended; sequentially consistent. The thread that takes it to
 *           zero says so under the pool's lock, under which waiters look: none of them misses it
 *    sleeps  stored by the thread when it is about to sleep, and by the one that wakes it, under the
 *           lock; loaded without the lock, with an acquire, by the thread in its sleep
 * Locks are taken in this order: a thread's, the pool's. No thread has the locks of two.
 */
#ifndef COROI_POLICY_H
#define COROI_POLICY_H

#include "base/atomics.h"
#include "dispatch/dispatch.h"
#include "base/heap.h"
#include "base/list.h"
#include "base/lock.h"

#include <pthread.h>

#define COROI_MEMBERS        512 /* of a chunk */
#define COROI_MEMBER_CHUNKS  (1u << 18)
#define COROI_MEMBER_PERMITS (UINT64_C(1) << 28)

enum {
	COROI_MEMBER_UNUSED,
	COROI_MEMBER_SENT,
	COROI_MEMBER_READY,
	COROI_MEMBER_RUNS,
	COROI_MEMBER_PARKED
};

struct coroi_member {
	struct coroi_dispatched own; /* first; its `code` is what coro_dispatch_park returns */
	struct coroi_member *next;   /* in `ready`, or in `unused` */
	union {
		struct coroi_member *wake_next; /* ll: in `remote_wake` */
		uint64_t since;                 /* gq: the number with which it became ready */
	};
	uint64_t permits;
	uint32_t number, generation;
	uint32_t on_its_way; /* ll: permits from other threads, not added to `permits` yet */
	uint8_t state;
	uint8_t is_fresh;          /* it has not begun */
	uint8_t is_woken_remotely; /* ll: it is in `remote_wake` */
};

struct coroi_member_chunk {
	struct coroi_dispatch_thread *home;
	struct coroi_member_chunk *next;
	struct coroi_member member[COROI_MEMBERS];
};

struct coroi_members {
	struct coroi_member *first, *last;
};

struct coroi_dispatch_thread {
	struct coro_dispatch_pool *pool;
	struct coroi_dispatch_thread *hub;
	const struct coroi_policy *policy;
	coro_dispatcher *dispatcher;
	struct coroi_heap heap;       /* for frames; the thread's own */
	struct coroi_member *running; /* named last; the thread's own */
	struct coroi_members ready;   /* ll: the thread's own */
	int32_t budget;               /* ll: the thread's own */
	uint8_t canceled;             /* parks are refused; ll: the thread's own */
	uint8_t holds; /* rr, gq: a park has left the lock to `next`; the thread's own */
	struct coroi_spin lock __attribute__((aligned(COROI_APART)));
	/* The thread sleeps until another one makes that 0. Written under the lock, and a futex. */
	uint32_t sleeps;
	struct coroi_member *unused;
	struct coroi_member_chunk *chunks;
	struct coroi_members fresh; /* gq, of the hub: members that have not begun */
	uint64_t readied;           /* gq, of the hub: members that became ready until now */
	uint32_t
		sleepers; /* of the hub: threads in coroi_dispatch_sleep_locked; some may be awake again */
	/* ll: spawned or woken by other threads, linked by wake_next */
	struct coroi_members remote_wake;
	/* ll: remote_wake is not empty, or the thread is to stop. Written under the lock. Atomic,
	 * relaxed: the thread peeks, and then looks under the lock */
	uint32_t news;
	uint8_t closed;  /* no more spawns */
	uint8_t cancels; /* the thread is to be, or is, `canceled` */
	uint8_t quits;   /* its last coroutine has ended */
	uint32_t index;
	int32_t cpu; /* that it is pinned to; negative: none */
	pthread_t thread;
} __attribute__((aligned(COROI_APART)));

struct coro_dispatch_pool {
	const struct coroi_policy *policy;
	struct coroi_dispatch_thread *thread; /* [threads] */
	struct coroi_member_chunk **chunk;    /* [COROI_MEMBER_CHUNKS] */
	uint32_t threads;
	uint32_t in_a_row;
	/* rr: spawns until now; atomic, for a number of its own for each */
	uint64_t turn;
	uint64_t live __attribute__((aligned(COROI_APART)));
	pthread_mutex_t lock;
	pthread_cond_t ended;
	uint32_t chunks; /* under the lock */
	char name[16];
};

/* What a policy does. */
struct coroi_policy {
	/* next - as of coro_dispatch_policy. */
	coro_dispatched *(*next)(coro_dispatcher *d, void *thread);

	/* park - coro_dispatch_park of m, which runs on t, this thread. Suspends by a tail call.
	 * refused - own could not be suspended, because of status: returns what its park is to
	 * return. */
	int (*park)(struct coroi_dispatch_thread *t, struct coroi_member *m);
	int (*refused)(void *thread, struct coroi_dispatched *own, int status);

	/* wake - coro_dispatch_wake of m, of t, if the generation is still m's. here: t is this
	 * thread. */
	int (*wake)(struct coroi_dispatch_thread *t, struct coroi_member *m, uint32_t generation,
		    bool here);

	/* Under the lock of t's hub; the caller wakes t if it sleeps. spawned - m is new. stopped - t is to
	 * cancel its members. */
	void (*spawned)(struct coroi_dispatch_thread *t, struct coroi_member *m, bool here);
	void (*stopped)(struct coroi_dispatch_thread *t);
};

extern const struct coroi_policy coroi_rr, coroi_ll, coroi_gq;

static inline void coroi_members_add(struct coroi_members *q, struct coroi_member *m)
{
	coroi_fifo_add(q, m, next);
}

static inline void coroi_members_add_first(struct coroi_members *q, struct coroi_member *m)
{
	coroi_fifo_add_first(q, m, next);
}

static inline struct coroi_member *coroi_members_take(struct coroi_members *q)
{
	return coroi_fifo_take(q, next);
}

/* coroi_member_has_ended - of m, which was named last. */
static inline bool coroi_member_has_ended(const struct coroi_member *m)
{
	return m->own.state == COROI_DISPATCH_ENDED;
}

/* coroi_member_user - m as the public calls see it. */
static inline coro_dispatched *coroi_member_user(struct coroi_member *m)
{
	return (coro_dispatched *)&m->own;
}

/* coroi_member_thread - the thread that runs m, or, of a fresh one of gq, any. */
static inline struct coroi_dispatch_thread *coroi_member_thread(const struct coroi_member *m)
{
	return m->own.dispatcher->policy.user;
}

/* coroi_member_end_locked - m has ended, and is free for another coroutine. */
void coroi_member_end_locked(struct coroi_dispatch_thread *t, struct coroi_member *m);

/* coroi_member_end_unstarted_locked - m, which is fresh, ends without having begun. */
void coroi_member_end_unstarted_locked(struct coroi_dispatch_thread *t, struct coroi_member *m);

/* coroi_members_cancel_locked - all parked members of t become ready, with CORO_ECANCELED, at the
 * end of `ready` of the threads that run them. */
void coroi_members_cancel_locked(struct coroi_dispatch_thread *t);

/* coroi_dispatch_sleep_locked - t sleeps until it is woken. coroi_dispatch_rouse_locked - wake t,
 * if it sleeps. */
void coroi_dispatch_sleep_locked(struct coroi_dispatch_thread *t);

static inline void coroi_dispatch_rouse_locked(struct coroi_dispatch_thread *t)
{
	if (!at_load_rlx(&t->sleeps))
		return;
	at_store_rel(&t->sleeps, 0);
	coroi_futex_wake(&t->sleeps, 1);
}

#endif
