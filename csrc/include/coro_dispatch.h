/*
 * coro_dispatch.h - coroutines that are run in the order that a policy decides. A part of coro.h.
 *
 * Two things that use no scheduler: the dispatcher for one thread, with a policy of
 * the user's own; and pools of threads with a dispatcher each, and one of three ready-made policies.
 */
#ifndef CORO_DISPATCH_H
#define CORO_DISPATCH_H

#ifndef CORO_H
#error "include coro.h"
#endif

/* ------------------------------------------------------------------ the dispatcher for one
 * thread */

/*
 * A dispatcher: coroutines that share one stack on one thread, and a policy of the user's own, a
 * function that says which one runs next. It knows no ready queue, no events and no other thread: a
 * user who wants these writes them, as coro_dispatch_pool below does, or uses a scheduler. The
 * algorithm is usched's (Nikita Danilov, "usched: stackswap coroutines", 2022): a coroutine that
 * never blocks is called as a function; one that blocks leaves its frames in a buffer, if another
 * wants the stack; a blocked one owns nothing else. Unlike usched's, frames are copied by code on
 * another stack, so that any options of the compiler will do.
 *
 * Memory       A coro_dispatched is the user's: 64 bytes, zeros before its first
 *              coro_dispatch_init, that must stay where they are until the coroutine has ended.
 *              Buffers come from the policy's alloc: the bytes between where the coroutine has
 *              blocked and the base of the stack, 72 or more (on arm64 some 200). A buffer is kept
 *              while its owner runs, and until it ends, unless it does not fit any more: it is too
 *              small, or more than half of it would be empty. With CORO_DISPATCH_GIVE_BACK it is
 *              given to free each time its owner continues.
 * Restriction  While a coroutine is blocked, its stack holds the frames of other coroutines: it
 *              must give no pointer to a variable of its own stack to anybody who uses it
 *              meanwhile. (CORO_DENSE has the same restriction.)
 * Inside       The calls for "any coroutine" of coro.h work: what was deferred runs at the end,
 *              coro_abort and coro_exit end the current coroutine, and it may call functions on a
 *              deeper stack, and block there. Coroutines resumed by hand may be used; inside one,
 *              coro_dispatch_block is CORO_EPERM. So are all calls for scheduled coroutines, even
 *              if a scheduled one has called coro_dispatch_run, and all waits for objects. What
 *              keeps the thread waiting keeps all of the dispatcher's coroutines waiting.
 * Thread       One at a time, from coro_dispatch_new to coro_dispatch_free; between two runs it may
 *              be another one. To wake its coroutines from other threads takes a lock of the
 *              user's, around what next looks at.
 */
typedef struct coro_dispatcher coro_dispatcher;

typedef struct coro_dispatched {
	uint64_t words[8];
} coro_dispatched;

typedef void (*coro_dispatch_fn)(void *arg);

#define CORO_DISPATCH_STACK_DEFAULT ((size_t)256 << 10)

/*
 * A flag of coro_dispatch_policy and of coro_dispatch_pool_options: a coroutine's buffer is given
 * back when the coroutine continues, and each block asks for a new one. So memory is taken by the
 * coroutines that are blocked, and by no other. It is for many coroutines that block deep and are
 * then away from there, or that run long between two blocks. Cost: a call of alloc and one of free
 * for each block. A block that gets no buffer is CORO_ENOMEM, as without the flag.
 */
#define CORO_DISPATCH_GIVE_BACK ((uint32_t)1)

/*
 * What the user supplies: three callbacks, all of them called on the dispatcher's thread, while no
 * coroutine is current. They may call what a plain thread may, coro_dispatch_init and
 * coro_dispatch_drop; not coro_dispatch_run.
 */
typedef struct coro_dispatch_policy {
	uint32_t size;  /* sizeof(coro_dispatch_policy), or 0 */
	uint32_t flags; /* 0 or CORO_DISPATCH_GIVE_BACK */

	/*
	 * next - the coroutine that runs next: one that is fresh from coro_dispatch_init, or
	 * blocked. NULL: none, the run is to end. It may wait for events, by any means that keep a
	 * thread waiting. It is asked at the start of a run, and when a coroutine has blocked or
	 * ended; which one that was the user must remember, and coro_dispatch_status tells which of
	 * the two. Called on the shared stack, or on that of the thread.
	 */
	coro_dispatched *(*next)(coro_dispatcher *d, void *user);

	/* alloc - a buffer of at least bytes, aligned to 8, for c, which is about to block; NULL:
	 * there is none. free - it is not needed any more; bytes as they were asked for. With
	 * CORO_DISPATCH_GIVE_BACK free is called before c continues: coro_dispatch_status of c is
	 * CORO_EBUSY then. */
	void *(*alloc)(void *user, coro_dispatched *c, size_t bytes);
	void (*free)(void *user, coro_dispatched *c, void *buffer, size_t bytes);

	void *user; /* for the callbacks */
	/* of the shared stack: 0 for CORO_DISPATCH_STACK_DEFAULT, else as in coro_new */
	size_t stack_bytes;
} coro_dispatch_policy;

/*
 * coro_dispatch_new - a dispatcher with that policy, which is copied.
 *
 * Blocking: may map memory.
 * Returns:  CORO_OK and *out; CORO_EINVAL: something is NULL, or a number out of its range;
 *           CORO_ENOMEM.
 */
int coro_dispatch_new(coro_dispatcher **out, const coro_dispatch_policy *policy);

/*
 * coro_dispatch_free - free d. NULL is allowed.
 *
 * Returns: CORO_OK; CORO_EBUSY while it runs, or coroutines have started that have not ended: see
 *          coro_dispatch_drop.
 */
int coro_dispatch_free(coro_dispatcher *d);

/*
 * coro_dispatch_init - c will call fn(arg) when d's policy names it for the first time. Nothing
 * else is done: c is in no list.
 *
 * Thread:  any that has c to itself; d is not touched.
 * Cost:    64 bytes are written.
 * Returns: CORO_OK; CORO_EBUSY: c has been initialized, and has not ended; CORO_EINVAL: something
 *          is NULL.
 */
int coro_dispatch_init(coro_dispatched *c, coro_dispatcher *d, coro_dispatch_fn fn, void *arg);

/*
 * coro_dispatch_run - run d's coroutines on this thread until next returns NULL. Blocked ones then
 * stay blocked, with their frames in their buffers; another run may continue them.
 *
 * Blocking: until then.
 * Cost:     of a coroutine that never blocks, a call and next, some ns; of one that blocks and
 *           continues, two switches and next, about 14 ns, and, unless it is next itself, two
 *           copies, 10 ns for small frames.
 * Returns:  CORO_OK. Nothing was run: CORO_EPERM on a thread that is inside coro_dispatch_run, of
 *           any dispatcher; CORO_EBUSY: another thread runs it; CORO_EINVAL: d is NULL. The run has
 *           ended because next has returned one that cannot run: CORO_EINVAL if it is not d's,
 *           CORO_ENDED if it has ended, CORO_EBUSY if it runs already; all else is as if next had
 *           returned NULL.
 */
int coro_dispatch_run(coro_dispatcher *d);

/*
 * coro_dispatch_block - block the current coroutine, until next names it again.
 *
 * Cost:    see coro_dispatch_run. alloc is called if there is no buffer that fits; with
 *          CORO_DISPATCH_GIVE_BACK alloc and free are, each time.
 * Returns: CORO_OK. It has not blocked: CORO_ENOMEM: alloc has returned NULL; CORO_EINVAL: what
 *          alloc has returned is not aligned to 8 (it was given to free); CORO_EPERM where no
 *          coroutine of a dispatcher is the innermost one.
 */
int coro_dispatch_block(void);

/* coro_dispatch_self - the current coroutine, if it is a dispatcher's; else NULL. Cost: some ns. */
coro_dispatched *coro_dispatch_self(void);

/*
 * coro_dispatch_status - what c is.
 *
 * Thread:  d's.
 * Returns: CORO_MAY_RESUME: fresh or blocked; CORO_EBUSY: it runs, or is about to block or to end;
 *          CORO_FINISHED, CORO_ABORT or CORO_FAILED: it has ended, nothing of it is left, and its
 *          memory is the user's; CORO_EINVAL: it was never initialized, or is NULL.
 */
int coro_dispatch_status(const coro_dispatched *c);

/*
 * coro_dispatch_drop - end a coroutine that is fresh or blocked: what it has deferred runs, on the
 * caller's stack; its arena and its buffer are given back; its frames are not unwound. Its status
 * is CORO_ABORT.
 *
 * Thread:  d's, or any while d does not run.
 * Returns: CORO_OK; CORO_EBUSY: it runs, or another thread runs d; CORO_EINVAL: it has ended, was
 *          never initialized, or is NULL.
 */
int coro_dispatch_drop(coro_dispatched *c);

/* -------------------------------------------------------------- threads with a dispatcher each */

/*
 * A pool of threads, each with a dispatcher, and one of three policies. Coroutines are started, and
 * woken, from any thread; each parks on, and stays with, the thread on which it has begun.
 *
 *   CORO_DISPATCH_RR  round robin (usched's rr.c): a ready queue with a mutex for each thread,
 *                     first in first out. in_a_row spawns go to one thread, then to the next. A
 *                     wake takes the lock of the target's thread, wherever it comes from. A park
 *                     and a wake are 100 ns, 60 where several permits are taken at a time.
 *   CORO_DISPATCH_LL  locality (usched's ll.c): coroutines of one group live on one thread. A wake
 *                     from that thread takes no lock, and the woken one runs before those that were
 *                     ready already, so that coroutines that talk to each other stay in cache: 40
 *                     ns, and 15. One in 257 goes behind all the others, so that these have their
 *                     turn too. A wake from another thread is a message, under a lock.
 *   CORO_DISPATCH_GQ  a global queue, first in first out, under one lock for all threads. Shared
 *                     are the coroutines that have not begun: the thread that is free next begins
 *                     one, so that a thread which is busy for long keeps none of them waiting. From
 *                     then on a coroutine runs on that thread alone, in the order of the queue
 *                     among those that the thread may run. Each park and each wake takes the lock,
 *                     so it is the slowest one where many threads wake each other.
 *
 * For loads that are known to fall into groups and that need nothing but park and wake. Nothing is
 * stolen: a thread whose coroutines compute for long keeps its others (gq: those that have begun)
 * waiting while the next thread idles. Where that matters, or there are deadlines, locks, joins, calls into Go or calls that
 * block, use a scheduler; CORO_DENSE gives it coroutines without stacks.
 */
typedef struct coro_dispatch_pool coro_dispatch_pool;

/* Names one coroutine of a pool, by number and generation. 0 is never one. */
typedef uint64_t coro_dispatch_id;

enum {
	CORO_DISPATCH_RR = 1,
	CORO_DISPATCH_LL = 2,
	CORO_DISPATCH_GQ = 3,
};

typedef struct coro_dispatch_pool_options {
	uint32_t size;     /* sizeof(coro_dispatch_pool_options), or 0 */
	uint32_t policy;   /* CORO_DISPATCH_RR, CORO_DISPATCH_LL or CORO_DISPATCH_GQ */
	uint32_t threads;  /* at most CORO_WORKERS_MAX; 0: one per core this process may use */
	uint32_t in_a_row; /* rr: spawns that go to one thread before the next; 0: 128. ll, gq: 0 */
	size_t stack_bytes; /* of each thread's shared stack, as in coro_dispatch_policy */
	const char *name;   /* threads are called name/0, name/1, ...; NULL: "dispatch" */
	/* thread i is pinned to cpus[i % cpu_count]; NULL: not pinned. A thread whose CPU this
	 * process may not use, or that is not there, runs anywhere. */
	const uint16_t *cpus;
	uint32_t cpu_count; /* at least 1, with cpus */
	uint32_t flags;     /* 0 or CORO_DISPATCH_GIVE_BACK */
} coro_dispatch_pool_options;

/*
 * coro_dispatch_pool_new - a pool with its threads, which wait for work.
 *
 * Blocking: may map memory; makes threads.
 * Returns:  CORO_OK and *out, CORO_EINVAL, CORO_ENOMEM, CORO_EAGAIN: a thread was refused.
 */
int coro_dispatch_pool_new(coro_dispatch_pool **out, const coro_dispatch_pool_options *options);

/*
 * coro_dispatch_pool_spawn - start fn(arg) on one of the threads; *out (if not NULL) names the
 * coroutine.
 *
 * group:    ll: it goes to thread group modulo threads; rr, gq: 0.
 * Blocking: for the mutex of that thread (gq: of the pool's queue), under which memory may be allocated; may make one futex
 *           call.
 * Cost:     60 to 150 ns.
 * Returns:  CORO_OK, CORO_EINVAL, CORO_ENOMEM, CORO_ECLOSED after coro_dispatch_pool_stop.
 */
int coro_dispatch_pool_spawn(coro_dispatch_pool *p, coro_dispatch_fn fn, void *arg, uint32_t group,
			     coro_dispatch_id *out);

/*
 * coro_dispatch_park - wait for a permit and take it. The current coroutine has one permit more for
 * each coro_dispatch_wake. (coro_dispatch_block is a yield here: the caller goes behind all that
 * are ready.)
 *
 * Thread:  a coroutine of a pool.
 * Returns: CORO_OK. No permit was taken: CORO_ECANCELED: there is none, and the pool was stopped;
 *          CORO_ENOMEM: there is none, and no memory for the caller's frames; CORO_EPERM where no
 *          coroutine of a pool is the innermost one.
 */
int coro_dispatch_park(void);

/*
 * coro_dispatch_wake - give the target a permit; if it is parked, it becomes ready.
 *
 * Blocking: for the mutex of the target's thread (ll: unless this is that thread; gq: of the
 *           pool's queue); may make one futex call.
 * Returns:  CORO_OK, CORO_ESTALE if it has ended, CORO_EOVERFLOW if it has 2^28 permits already,
 *           CORO_EINVAL if p is NULL.
 */
int coro_dispatch_wake(coro_dispatch_pool *p, coro_dispatch_id target);

/* coro_dispatch_id_self - the id of the current coroutine, if it is a pool's; else 0. */
coro_dispatch_id coro_dispatch_id_self(void);

/*
 * coro_dispatch_pool_wait - wait until every coroutine has ended.
 *
 * Thread:   any but the pool's.
 * Blocking: until then. Nothing detects a deadlock.
 * Returns:  CORO_OK, CORO_EPERM on one of the pool's threads, CORO_EINVAL if p is NULL.
 */
int coro_dispatch_pool_wait(coro_dispatch_pool *p);

/*
 * coro_dispatch_pool_stop - take no more work. What has not started ends unstarted; every present
 * and future park that finds no permit returns CORO_ECANCELED, so that bodies end through their own
 * clean-up.
 *
 * Blocking: for the threads' mutexes.
 * Returns:  CORO_OK, CORO_EINVAL if p is NULL.
 */
int coro_dispatch_pool_stop(coro_dispatch_pool *p);

/*
 * coro_dispatch_pool_free - stop it, wait until every coroutine has ended, end the threads, free
 * everything. Ids must not be used any more. NULL is allowed.
 *
 * Thread:   any but the pool's.
 * Blocking: until then.
 * Returns:  CORO_OK, CORO_EPERM on one of the pool's threads.
 */
int coro_dispatch_pool_free(coro_dispatch_pool *p);

#endif
