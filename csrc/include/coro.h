/*
 * coro.h - stackful C coroutines on a work-stealing pool of threads.
 *
 * Three layers, all public:
 *
 *   by hand     coro_new, coro_resume, coro_yield_value, coro_reset, coro_free: one coroutine that
 *               the caller resumes itself, on any thread, without a scheduler (after Lwan's
 *               coroutines).
 *   dispatched  coro_dispatch_*: coroutines of one thread that share a stack, and a policy of the
 *               user's own that says who runs next, without a scheduler (after usched's);
 *               coro_dispatch_pool_*: threads with two such policies.
 *   scheduled   coro_scheduler_*, coro_spawn, coro_yield, coro_park, coro_wake, coro_join,
 *               coro_cancel: very many coroutines run by worker threads that steal from each other.
 *
 * What holds everywhere
 *
 *   Errors      Every int result is CORO_OK (0), a positive yield code, or a negative CORO_E...
 *               code; errno is neither read nor set.
 *   Stacks      A coroutine runs on a small stack (16 KiB unless asked otherwise) with a guard
 *               below it. Touching the guard names the coroutine on stderr and ends the process.
 *               Code whose frames are larger than the guard (64 KiB) must be compiled with
 *               -fstack-clash-protection.
 *   Threads     A scheduled coroutine may continue on another thread after every call that can
 *               suspend (marked "Suspends"). Hold no address of a thread-local variable and no
 *               errno across such a call.
 *   Registers   A switch preserves what the C ABI calls callee-saved; not the signal mask, and not
 *               the floating-point control words (MXCSR, x87 CW, FPCR): restore these before
 *               suspending.
 *   C only      A coroutine must not call into Go by itself: its stack is not one that Go can grow
 *               or scan. coro_call_go has it done.
 *   Pointers    Nothing here can protect against a stray pointer in a coroutine's own body.
 */
#ifndef CORO_H
#define CORO_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Status codes. Negative: an error, and nothing was changed. */
enum {
	CORO_OK = 0,
	CORO_EINVAL = -1, /* an argument is out of its range */
	CORO_EPERM = -2,  /* not callable here (outside a coroutine, or on a worker thread) */
	CORO_ENOMEM = -3, /* memory, a byte cap, or the kernel's limit of mappings is used up */
	CORO_ESTALE = -4, /* the handle's coroutine has ended, or never was */
	CORO_ECANCELED =
		-5, /* coro_cancel, or the scheduler was closed with cancel, before or while this waited */
	CORO_EDEADLK = -6, /* coroutines are left that nothing can wake any more */
	CORO_ECLOSED = -7, /* the scheduler takes no more work */
	CORO_EBUSY = -8,   /* the coroutine is running, or is being joined by another */
	CORO_EAGAIN = -9,  /* the system refused a thread */
	CORO_ENDED = -10, /* a resume of a coroutine that has finished or aborted; reset it first */
	CORO_EABORTED = -11,  /* the coroutine that was joined ended by coro_abort */
	CORO_EOVERFLOW = -12, /* a coroutine has 2^28 permits that it has not taken */
	CORO_EFAILED =
		-13, /* the Go function returned an error, or panicked: coro_call_error has the text */
	CORO_ETOOBIG = -14,   /* the Go function's result is larger than the buffer */
	CORO_ETIMEDOUT = -15, /* the deadline came first */
	CORO_ENOWAIT = -16,   /* the call would wait in a no-wait section */
};

/* Yield codes: what a coroutine is after it was last resumed. */
enum {
	CORO_MAY_RESUME = 1, /* it yielded, and can be resumed */
	CORO_FINISHED = 2,   /* its function returned, or it called coro_exit */
	CORO_ABORT = 3,      /* it called coro_abort */
};

/* coro_strerror - one line of text for a status code; never NULL. Thread: any. */
const char *coro_strerror(int status);

/*
 * A coroutine's function. arg points to the coroutine's own copy of the bytes given at spawn,
 * aligned to 16; NULL if there were none. result points to where its result goes, zeroed, aligned
 * to 16; NULL if none was asked for. Both end with the coroutine.
 */
typedef void (*coro_fn)(void *arg, void *result);

#define CORO_INLINE_BYTES  48                /* most bytes of arg, and of result */
#define CORO_STACK_MIN     ((size_t)4 << 10) /* smallest stack, in bytes */
#define CORO_STACK_MAX     ((size_t)8 << 20) /* largest stack, in bytes */
#define CORO_STACK_DEFAULT ((size_t)16 << 10)
#define CORO_WORKERS_MAX   256

/* Deadlines are times of CLOCK_MONOTONIC in ns, as coro_now tells them. In the past (0 is always):
 * do not wait. */
#define CORO_FOREVER UINT64_MAX

/* coro_now - the present time, in ns. Thread: any. Cost: 20 to 50 ns. */
uint64_t coro_now(void);

/* ------------------------------------------------------------------ coroutines resumed by hand */

/* A coroutine resumed by hand. Not safe for use by two threads at once; may move between
 * threads. */
typedef struct coro coro_t;

/* Its function: arg is the pointer given to coro_new, first the value of the first coro_resume. The
 * value returned is what that last coro_resume receives, with CORO_FINISHED. */
typedef intptr_t (*coro_body)(void *arg, intptr_t first);

/*
 * coro_new - make a coroutine that will run body(arg, first) on a stack of at least stack_bytes.
 *
 * stack_bytes: 0 for CORO_STACK_DEFAULT, else CORO_STACK_MIN to CORO_STACK_MAX, rounded up to a
 * power of two.
 * Thread: any. Blocking: may map memory. Cost: 30 ns with a pooled stack, some microseconds
 * without.
 * Returns: CORO_OK and *out, CORO_EINVAL, CORO_ENOMEM.
 */
int coro_new(coro_t **out, coro_body body, void *arg, size_t stack_bytes);

/*
 * coro_resume - run co until it yields or ends; send is what its coro_yield_value returns (or
 * first).
 *
 * Thread:   any, one at a time; from inside another coroutine too (resumes nest).
 * Blocking: as long as co runs. Cost: one switch each way, 2 to 4 ns.
 * Returns:  CORO_MAY_RESUME, CORO_FINISHED or CORO_ABORT, with the value in *received (if not
 *           NULL); CORO_EBUSY if co is running, CORO_ENDED if it has ended, CORO_EINVAL if co is
 *           NULL.
 */
int coro_resume(coro_t *co, intptr_t send, intptr_t *received);

/*
 * coro_yield_value - suspend the innermost coroutine that is resumed by hand on this thread: its
 * coro_resume receives value, with CORO_MAY_RESUME. Returns CORO_OK and, in *sent (if not NULL),
 * the value of the next coro_resume. Outside such a coroutine: CORO_EPERM.
 */
int coro_yield_value(intptr_t value, intptr_t *sent);

/* coro_status - CORO_MAY_RESUME, CORO_FINISHED or CORO_ABORT; CORO_EBUSY while it runs. */
int coro_status(const coro_t *co);

/*
 * coro_reset - run what co deferred, free its arena, and make it as new with another body, on the
 * same stack. A co that had not ended is abandoned where it yielded: its frames are not unwound.
 * Returns: CORO_OK, CORO_EBUSY if co is running, CORO_EINVAL.
 */
int coro_reset(coro_t *co, coro_body body, void *arg);

/* coro_free - the same, and give the stack back. NULL is allowed. Returns: CORO_OK, CORO_EBUSY if
 * co is running. */
int coro_free(coro_t *co);

/* --------------------------------------------------------- inside any coroutine, of any layer */

/*
 * coro_defer - run fn(arg) when the current coroutine ends, however it ends, last deferred first,
 * on its own stack (for coro_reset and coro_free: on the caller's).
 * Returns: CORO_OK, CORO_EPERM outside a coroutine, CORO_EINVAL if fn is NULL, CORO_ENOMEM.
 */
int coro_defer(void (*fn)(void *), void *arg);

/* coro_malloc - bytes, aligned to 16, that are freed when the current coroutine ends, after its
 * deferred functions. NULL outside a coroutine or when memory is out. Small blocks come from a bump
 * arena: a few ns. */
void *coro_malloc(size_t bytes);

/* coro_strdup, coro_strndup - a copy of s (at most n bytes of it) in that arena. */
char *coro_strdup(const char *s);
char *coro_strndup(const char *s, size_t n);

/* coro_exit - end the current coroutine at once, from any depth; frames are not unwound, what was
 * deferred runs. Returns only outside a coroutine: CORO_EPERM. */
int coro_exit(void);

/* coro_abort - the same, and its resumer sees CORO_ABORT, its joiner CORO_EABORTED; of a dispatched
 * one it is the status. */
int coro_abort(void);

/* coro_stack_left - bytes between here and the guard; 0 outside a coroutine. */
size_t coro_stack_left(void);

/*
 * coro_call_on_stack - call fn(arg) on another stack of at least bytes, for one deep call. fn may
 * suspend.
 * Cost: two switches and a pooled stack, about 20 ns.
 * Returns: CORO_OK after fn returned, CORO_EPERM outside a coroutine, CORO_EINVAL, CORO_ENOMEM (fn
 * not called).
 */
int coro_call_on_stack(size_t bytes, void (*fn)(void *), void *arg);

/* ------------------------------------------------------------------------- the bare dispatcher */

/*
 * A dispatcher: coroutines that share one stack on one thread, and a policy of the user's own: a
 * function that says who runs next. It knows no ready queue, no events and no other thread; whoever
 * wants these writes them, as coro_dispatch_pool below does, or uses a scheduler. The algorithm is
 * usched's (Nikita Danilov, "usched: stackswap coroutines", 2022): a coroutine that never blocks is
 * called as a function, one that blocks leaves its frames in a buffer, if another wants the stack,
 * and a blocked one owns nothing else. Unlike usched's it is copied by code on another stack, so
 * that it works with any options of the compiler.
 *
 * Memory       A coro_dispatched is the user's: 64 bytes, zeros before its first
 *              coro_dispatch_init, that must stay where they are until it has ended. Buffers come
 *              from the policy's alloc: the bytes between where it has blocked and the base of the
 *              stack, 72 or more (on arm64 some 200). A buffer is kept while its owner runs, and
 *              until it ends, unless it does not fit any more: it is too small, or more than half
 *              of it would be empty.
 * Restriction  While a coroutine is blocked its stack holds somebody else's frames: it must give no
 *              pointer to a variable of its own stack to anybody who uses it meanwhile. (CORO_DENSE
 *              has the same one.)
 * Inside       The calls for "any coroutine" above work: what was deferred runs at the end,
 *              coro_abort and coro_exit end the current one, and it may go to a deeper stack, and
 *              block there. Coroutines resumed by hand may be used; inside one, coro_dispatch_block
 *              is CORO_EPERM. So are all calls for scheduled coroutines, even if a scheduled one
 *              has called coro_dispatch_run, and all that wait for objects. What keeps the thread
 *              waiting keeps all of the dispatcher's coroutines waiting.
 * Thread       One at a time, from coro_dispatch_new to coro_dispatch_free; between two runs it may
 *              be another one. Whoever wants to wake its coroutines from other threads needs a lock
 *              of its own, around what next looks at.
 */
typedef struct coro_dispatcher coro_dispatcher;

typedef struct coro_dispatched {
	uint64_t words[8];
} coro_dispatched;

typedef void (*coro_dispatch_fn)(void *arg);

#define CORO_DISPATCH_STACK_DEFAULT ((size_t)256 << 10)

/*
 * What the user supplies: three callbacks, all of them called on the dispatcher's thread, while no
 * coroutine is current. They may call what a plain thread may, coro_dispatch_init and
 * coro_dispatch_drop; not coro_dispatch_run.
 */
typedef struct coro_dispatch_policy {
	uint32_t size;  /* sizeof(coro_dispatch_policy) */
	uint32_t flags; /* 0 */

	/*
	 * Who runs next: one that is fresh from coro_dispatch_init, or blocked. NULL: nobody, the
	 * run is to end. It may wait for events, with whatever keeps a thread waiting. It is asked
	 * at the start of a run, and when a coroutine has blocked or ended; who that was the user
	 * has to remember, and coro_dispatch_status tells which. Called on the shared stack, or on
	 * that of the thread.
	 */
	coro_dispatched *(*next)(coro_dispatcher *d, void *user);

	/* A buffer of at least bytes, aligned to 8, for c, which is about to block; NULL: there is
	 * none. free - it is not needed any more; bytes as they were asked for. */
	void *(*alloc)(void *user, coro_dispatched *c, size_t bytes);
	void (*free)(void *user, coro_dispatched *c, void *buffer, size_t bytes);

	void *user; /* for the callbacks */
	/* of the shared stack: 0 for CORO_DISPATCH_STACK_DEFAULT, else as in coro_new */
	size_t stack_bytes;
} coro_dispatch_policy;

/*
 * coro_dispatch_new - a dispatcher with that policy, which is copied.
 * Thread: any. Blocking: may map memory. Returns: CORO_OK and *out; CORO_EINVAL: something is NULL,
 * or a number out of its range; CORO_ENOMEM.
 */
int coro_dispatch_new(coro_dispatcher **out, const coro_dispatch_policy *policy);

/* coro_dispatch_free - Returns: CORO_OK; CORO_EBUSY while it runs, or coroutines have started that
 * have not ended: see coro_dispatch_drop. NULL is allowed. */
int coro_dispatch_free(coro_dispatcher *d);

/*
 * coro_dispatch_init - c will call fn(arg) when d's policy names it for the first time. Nothing
 * else is done: it is in no list.
 * Thread: any that has c to itself; d is not touched. Cost: 64 bytes are written.
 * Returns: CORO_OK; CORO_EBUSY: c has been initialized, and has not ended; CORO_EINVAL.
 */
int coro_dispatch_init(coro_dispatched *c, coro_dispatcher *d, coro_dispatch_fn fn, void *arg);

/*
 * coro_dispatch_run - run d's coroutines on this thread until next returns NULL. Those that are
 * blocked then stay so, with their frames in their buffers; another run may go on with them.
 *
 * Blocking: until then. Cost: of a coroutine that never blocks, a call and next, some ns; of one
 * that blocks and goes on, two switches and next, about 14 ns, and, unless it is next itself, two
 * copies, 10 ns for small frames.
 * Returns: CORO_OK; CORO_EPERM inside coro_dispatch_run, of whatever dispatcher, on this thread;
 *          CORO_EBUSY: another thread runs it; CORO_EINVAL. And, as the run ended because next has
 *          returned somebody who cannot run: CORO_EINVAL if it is not one of d's, CORO_ENDED if it
 *          has ended, CORO_EBUSY if it runs already. Everything else is as after next has returned
 *          NULL.
 */
int coro_dispatch_run(coro_dispatcher *d);

/*
 * coro_dispatch_block - block the current coroutine, until next names it again.
 *
 * Cost: see coro_dispatch_run. alloc is called if there is no buffer that fits.
 * Returns: CORO_OK; at once, without having blocked: CORO_ENOMEM, as alloc has returned NULL,
 * CORO_EINVAL, as what it has returned is not aligned to 8 (it was given to free), CORO_EPERM where
 * no coroutine of a dispatcher is the innermost one.
 */
int coro_dispatch_block(void);

/* coro_dispatch_self - the current coroutine, if it is a dispatcher's; or NULL. Cost: a few ns. */
coro_dispatched *coro_dispatch_self(void);

/* coro_dispatch_status - CORO_MAY_RESUME: it is fresh or blocked; CORO_EBUSY: it runs, or is about
 * to block, or to end; CORO_FINISHED or CORO_ABORT: it has ended, nothing of it is left, and its
 * memory is the user's. CORO_EINVAL: it was never initialized. Thread: d's. */
int coro_dispatch_status(const coro_dispatched *c);

/*
 * coro_dispatch_drop - end one that is fresh or blocked: what it has deferred runs, on the caller's
 * stack, its arena and its buffer are given back; its frames are not unwound. Its status is
 * CORO_ABORT.
 * Thread: d's, or any while d does not run. Returns: CORO_OK; CORO_EBUSY: it runs, or another
 * thread runs d; CORO_EINVAL: it has ended, or was never initialized.
 */
int coro_dispatch_drop(coro_dispatched *c);

/* -------------------------------------------------------------- threads with a dispatcher each */

/*
 * A pool of threads, each with a dispatcher, and one of two policies. Coroutines are started, park
 * and are woken, from wherever one likes, and stay with the thread on which they have begun.
 *
 *   CORO_DISPATCH_RR  round robin (usched's rr.c): a ready queue with a mutex for each thread,
 *                     first in first out; so many spawned in a row go to one thread, then the next.
 *                     A wake takes the lock of the target's thread, wherever it comes from. A park
 *                     and a wake are 100 ns, 60 where several permits are taken at a time.
 *   CORO_DISPATCH_LL  locality (usched's ll.c): coroutines of one group live on one thread. A wake
 *                     there takes no lock, and who was woken runs before those that were ready
 *                     already, so that who talk to each other stay in cache: 40 ns, and 15. One in
 *                     257 goes behind all the others, so that these have their turn too. A wake
 *                     from another thread is a message, under a lock.
 *
 * For loads that are known to fall into groups and that need nothing but park and wake. Nothing is
 * stolen: a thread whose coroutines compute for long keeps its others waiting while the next one
 * idles. Where that matters, or there are deadlines, locks, joins, calls into Go or calls that
 * block, use a scheduler; CORO_DENSE gives it coroutines without stacks.
 */
typedef struct coro_dispatch_pool coro_dispatch_pool;

/* Names a coroutine of a pool for ever: number and generation. 0 is never one. */
typedef uint64_t coro_dispatch_id;

enum {
	CORO_DISPATCH_RR = 1,
	CORO_DISPATCH_LL = 2,
};

typedef struct coro_dispatch_pool_options {
	uint32_t size;      /* sizeof(coro_dispatch_pool_options) */
	uint32_t policy;    /* CORO_DISPATCH_RR or CORO_DISPATCH_LL */
	uint32_t threads;   /* at most CORO_WORKERS_MAX; 0: one per core this process may use */
	uint32_t in_a_row;  /* rr: so many go to one thread before the next; 0: 128. ll: 0 */
	size_t stack_bytes; /* of each thread's shared stack, as in coro_dispatch_policy */
	const char *name;   /* threads are called name/0, name/1, ...; NULL: "dispatch" */
} coro_dispatch_pool_options;

/* coro_dispatch_pool_new - with its threads, which wait for work. Thread: any. Returns: CORO_OK and
 * *out, CORO_EINVAL, CORO_ENOMEM, CORO_EAGAIN: a thread was refused. */
int coro_dispatch_pool_new(coro_dispatch_pool **out, const coro_dispatch_pool_options *options);

/*
 * coro_dispatch_pool_spawn - start fn(arg) on one of the threads. group: ll: which, group modulo
 * threads; rr: 0. *out (if not NULL) names it.
 * Thread: any. Blocking: for a lock of a thread. Cost: 60 to 150 ns.
 * Returns: CORO_OK, CORO_EINVAL, CORO_ENOMEM, CORO_ECLOSED after coro_dispatch_pool_stop.
 */
int coro_dispatch_pool_spawn(coro_dispatch_pool *p, coro_dispatch_fn fn, void *arg, uint32_t group,
			     coro_dispatch_id *out);

/*
 * coro_dispatch_park - wait for a permit and take it. The current coroutine has one permit more for
 * each coro_dispatch_wake. (coro_dispatch_block is a yield here: the caller goes behind all that
 * are ready.)
 * Returns: CORO_OK; CORO_ECANCELED: there is none, and the pool was stopped; CORO_ENOMEM: there is
 * none, and no memory for its frames: no permit was taken, and it has not waited; CORO_EPERM where
 * no coroutine of a pool is the innermost one.
 */
int coro_dispatch_park(void);

/*
 * coro_dispatch_wake - give the target a permit; if it is parked, it becomes ready.
 * Thread: any. Blocking: for the lock of the target's thread, but for ll on that thread; may make
 * one futex call.
 * Returns: CORO_OK, CORO_ESTALE if it has ended, CORO_EOVERFLOW if it has 2^28 permits already,
 * CORO_EINVAL.
 */
int coro_dispatch_wake(coro_dispatch_pool *p, coro_dispatch_id target);

/* coro_dispatch_id_self - of the current coroutine, if it is a pool's; or 0. */
coro_dispatch_id coro_dispatch_id_self(void);

/* coro_dispatch_pool_wait - until every coroutine has ended. Returns: CORO_OK, CORO_EPERM on one of
 * the pool's threads, CORO_EINVAL. */
int coro_dispatch_pool_wait(coro_dispatch_pool *p);

/* coro_dispatch_pool_stop - take no more work. What has not started ends unstarted, every present
 * and future park that finds no permit returns CORO_ECANCELED, so that bodies end through their own
 * clean-up. Thread: any. Blocking: for the threads' locks. Returns: CORO_OK, CORO_EINVAL. */
int coro_dispatch_pool_stop(coro_dispatch_pool *p);

/* coro_dispatch_pool_free - stop it, wait until every coroutine has ended, end the threads, free
 * everything. Ids must not be used any more. NULL is allowed. Returns: CORO_OK, CORO_EPERM on one
 * of the pool's threads. */
int coro_dispatch_pool_free(coro_dispatch_pool *p);

/* ------------------------------------------------------------------ inside scheduled coroutines */

typedef struct coro_scheduler coro_scheduler;

/* Names one scheduled coroutine for ever: index and generation. A handle whose coroutine has ended
 * is stale, and every call with it returns CORO_ESTALE. 0 is never a handle. */
typedef uint64_t coro_handle;

/* How to spawn. Zero it, set size to sizeof, then what is wanted. */
typedef struct coro_attr {
	uint32_t size;
	uint32_t flags;        /* CORO_JOINABLE, CORO_DENSE */
	size_t stack_bytes;    /* 0: the scheduler's default; of a dense one always 0 */
	uint32_t result_bytes; /* 0 to CORO_INLINE_BYTES; more than 0 needs CORO_JOINABLE */
	uint32_t
		worker; /* i + 1: pinned to worker i, where it starts and stays; CORO_HERE: to its parent's; 0: to none, it
	                        * starts at its parent's; CORO_ANYWHERE: to none, and if its parent's is a dedicated one it starts elsewhere */
} coro_attr;

#define CORO_HERE     UINT32_MAX
#define CORO_ANYWHERE (UINT32_MAX - 1)

#define CORO_JOINABLE 1u /* keeps its result until coro_join or coro_detach */

/*
 * CORO_DENSE - a coroutine that owns no stack while it waits, for millions that are alive at once
 * and mostly wait.
 *
 * It runs on one of its worker's shared stacks (coro_options.shared_stacks). When it waits and
 * another needs that stack, its live frames, some hundred bytes, are copied out, and back to the
 * same addresses before it goes on. One that never waits costs what any other does; one that waits
 * costs its record, 128 bytes, and its frames.
 *
 *   Restriction  While it waits, its stack holds somebody else's frames. Whoever has a pointer to a
 *                variable of its stack reads and writes those: a dense coroutine must give no such
 *                pointer to anybody who uses it meanwhile, as to a child, to another thread, or
 *                into a structure that others walk. Values for these calls (of channels, of calls
 *                into Go) may lie there, they are copied; objects that others wait at, and the arg
 *                of coro_blocking, may not: CORO_EINVAL.
 *   Its worker   Once it has started it stays with its worker, as if pinned: coro_pin to another
 *                and coro_thread_begin return CORO_EPERM. Until then it can be stolen like any
 *                other.
 *   Errors       A wait may return CORO_ENOMEM, if there is no memory for copies; a join of it, if it never had any.
 */
#define CORO_DENSE 2u

/*
 * coro_spawn - start fn in the current scheduler; the child runs later, its parent goes on.
 *
 * arg, arg_bytes: copied into the coroutine; 0 to CORO_INLINE_BYTES.
 * Thread:  a scheduled coroutine. Blocking: never. Cost: about 5 ns.
 * Returns: CORO_OK, CORO_EPERM, CORO_EINVAL, CORO_ENOMEM.
 */
int coro_spawn(coro_fn fn, const void *arg, size_t arg_bytes);

/* coro_spawn_attr - the same with attributes; *out (if not NULL; a joinable one must be named)
 * names the child. attr may be NULL. */
int coro_spawn_attr(const coro_attr *attr, coro_fn fn, const void *arg, size_t arg_bytes,
		    coro_handle *out);

/* coro_spawn_first - the same, but the child runs at once and its parent goes to the back of the
 * queue. Suspends. Returns also: CORO_EINVAL if the child is to start on another worker. */
int coro_spawn_first(const coro_attr *attr, coro_fn fn, const void *arg, size_t arg_bytes,
		     coro_handle *out);

/*
 * coro_yield - let the others run: the caller goes to the back of its worker's queue.
 *
 * Suspends. Cost: 2 to 7 ns. Returns: CORO_OK, CORO_EPERM outside a scheduled coroutine.
 */
int coro_yield(void);

/*
 * coro_switch_to - yield to a chosen coroutine: target, if it is parked and at home on this worker,
 * is woken and runs now; the caller goes to the back of the queue. Otherwise it is coro_wake and
 * then coro_yield.
 *
 * Suspends. Returns: CORO_OK, CORO_EPERM, CORO_ESTALE (then it has not yielded).
 */
int coro_switch_to(coro_handle target);

/* coro_worker - the number of the worker that runs the caller, from 0; -1 outside a scheduled
 * coroutine. */
int coro_worker(void);

/*
 * coro_pin - stay with one worker from now on: worker is its number, to which the caller moves, or
 * CORO_HERE. coro_unpin - be stolen again like any other.
 *
 * A pinned one is never stolen; if its worker is kept busy by another coroutine, it waits. coro_pin
 * suspends if it moves.
 * Returns: CORO_OK, CORO_EPERM, CORO_EINVAL if there is no such worker.
 */
int coro_pin(uint32_t worker);
int coro_unpin(void);

/*
 * coro_park - wait for a permit and take it. A coroutine has one permit more for each coro_wake.
 *
 * Suspends. Returns: CORO_OK, CORO_EPERM, CORO_ECANCELED (see coro_cancel, coro_scheduler_close;
 * there was no permit, and none was taken).
 */
int coro_park(void);

/* coro_park_until - the same with a deadline. Returns also: CORO_ETIMEDOUT (there was no permit,
 * and none was taken). No deadline is early; one is late by some 100 us, more where no worker is
 * free. Cost of one that does not come: 10 ns. */
int coro_park_until(uint64_t deadline);

/* coro_sleep - wait for so many ns; coro_sleep_until - until a time. Suspends. Returns: CORO_OK,
 * CORO_EPERM, CORO_ECANCELED. */
int coro_sleep(uint64_t ns);
int coro_sleep_until(uint64_t deadline);

/* What comes periodically. Set up by coro_ticker_init: the first tick comes a period (ns, 1 or
 * more) from now. Returns: CORO_OK, CORO_EINVAL. */
typedef struct coro_ticker {
	uint64_t next, period; /* ns */
} coro_ticker;

int coro_ticker_init(coro_ticker *t, uint64_t period);

/* coro_ticker_wait - sleep until the next tick. Those that have come meanwhile are not made up for,
 * but counted: *ticks (NULL: not wanted) is 1, and one more for each. Suspends. Returns: CORO_OK,
 * CORO_EPERM, CORO_ECANCELED (the tick is still to come), CORO_EINVAL. */
int coro_ticker_wait(coro_ticker *t, uint64_t *ticks);

/*
 * coro_wake - give target a permit; if it is parked, it becomes runnable.
 *
 * Thread: any. Blocking: never; may make one futex call when the target's worker sleeps.
 * Cost: 3 ns at home, one push to another worker's inbox elsewhere.
 * Returns: CORO_OK, CORO_ESTALE, CORO_EOVERFLOW if target already has 2^28 permits, those on their
 * way counted: let it park before it is woken again. A permit for which the result was CORO_OK is
 * never lost.
 */
int coro_wake(coro_handle target);

/* coro_self - the handle of the current scheduled coroutine; 0 outside. */
coro_handle coro_self(void);

/*
 * coro_join - wait until target, spawned CORO_JOINABLE, has ended; copy result_bytes of its result
 * to result, unless it never started. The handle is stale afterwards.
 *
 * Suspends. Returns: CORO_OK, CORO_EABORTED, CORO_ECANCELED (either it was cancelled, or the joiner
 * while it waited: then target can still be joined), CORO_ENOMEM (target never had a stack to run
 * on), CORO_ESTALE, CORO_EBUSY (another joins it), CORO_EINVAL (not joinable, itself, or
 * result_bytes over what it has), CORO_EPERM.
 */
int coro_join(coro_handle target, void *result, size_t result_bytes);

/* coro_join_until - the same with a deadline. Returns also: CORO_ETIMEDOUT: target can still be
 * joined. */
int coro_join_until(coro_handle target, void *result, size_t result_bytes, uint64_t deadline);

/*
 * coro_cancel - tell one coroutine to end: the wait that it is in, or else each present and future
 * one, returns CORO_ECANCELED, so that its body ends through its own clean-up. If it has not
 * started, it ends unstarted, and its joiner gets CORO_ECANCELED. Nothing else happens to it: a
 * body that never waits, and does not ask coro_canceled, runs on, and what it returns is its
 * result.
 *
 * It cannot be taken back, and a second time changes nothing. Nothing is lost by it: coro_park
 * takes a permit that is there even so, and coro_join a result; what comes later is left where it
 * is. Children are not cancelled with it. One that waits for a stack (see stack_limit) ends when it
 * is its turn.
 *
 * Thread: any, of itself too. Blocking: never; may make one futex call. Cost: as coro_wake.
 * Returns: CORO_OK, or CORO_ESTALE if target has ended; with CORO_OK it may still end before it
 * notices.
 */
int coro_cancel(coro_handle target);

/* coro_canceled - 1 if the current scheduled coroutine is cancelled, by coro_cancel or by a close;
 * 0 otherwise, and outside. For bodies that compute for long without waiting. Cost: about 1 ns. */
int coro_canceled(void);

/*
 * coro_exit_canceled - as coro_exit, and the joiner of the current coroutine gets CORO_ECANCELED
 * and no result: for one that was cancelled and has nothing to show. Returns only where
 * coro_canceled is 0: CORO_EPERM.
 */
int coro_exit_canceled(void);

/*
 * Scopes: children that do not outlive the coroutine that opened the scope. When one of them ends
 * by coro_abort, the others are canceled. When the owner ends, however that is, those that are left
 * are canceled, and joined before its memory goes.
 */
typedef struct coro_scope coro_scope;

#define CORO_SCOPE_BYTES 32 /* most bytes of arg of a child in a scope */

/* coro_scope_new - in the current coroutine's arena; it ends with it. Returns: CORO_OK, CORO_EPERM,
 * CORO_ENOMEM, CORO_EINVAL. */
int coro_scope_new(coro_scope **out);

/* coro_scope_spawn - coro_spawn_attr of a child in the scope, by its owner: 0 to CORO_SCOPE_BYTES
 * of argument, and no result. Cost: some 200 ns. Returns also: CORO_ECANCELED: the scope was
 * canceled, or a child has failed; nothing was spawned. */
int coro_scope_spawn(coro_scope *s, const coro_attr *attr, coro_fn fn, const void *arg,
		     size_t arg_bytes);

/* coro_scope_cancel - as coro_cancel for each child, until the next coro_scope_wait. Thread: any,
 * while the owner is alive. Returns: CORO_OK, CORO_EINVAL. */
int coro_scope_cancel(coro_scope *s);

/*
 * coro_scope_wait - wait, as its owner, until all children have ended; then the scope is as new. If
 * the owner is canceled meanwhile, so are they, and it waits for their end.
 *
 * Suspends. Returns: CORO_OK if all have returned; else why the first that failed did, as coro_join
 * tells it: CORO_EABORTED, CORO_ENOMEM, CORO_ECANCELED (of the owner, too); CORO_EPERM: not the
 * owner, CORO_EINVAL.
 */
int coro_scope_wait(coro_scope *s);

/* coro_detach - nobody will join target. Thread: any. Returns: CORO_OK, CORO_ESTALE, CORO_EBUSY,
 * CORO_EINVAL. */
int coro_detach(coro_handle target);

/* --------------------------------------------------------------------------- no-wait sections */

/*
 * coro_nowait_begin - from here to coro_nowait_end the current coroutine must not be suspended: for
 * code that counts on nobody else having run on its worker meanwhile, or that calls what it does
 * not know. where: names the section in reports; it must stay until the end, as a literal or
 * __func__ does. Sections nest; the outermost counts, and is named.
 *
 * In a section a call that would suspend returns CORO_ENOWAIT, has done nothing, and is reported:
 * coro_yield, coro_switch_to, coro_spawn_first, coro_sleep, coro_ticker_wait, coro_pin to another
 * worker, coro_blocking, coro_thread_begin, coro_scope_wait and calls into Go always; coro_park,
 * coro_join and what waits at an object if what they want is not there at that moment. With a
 * deadline of 0 these do what they always do. The section ends with the coroutine, before its
 * deferred functions: that is reported too.
 *
 * Thread: a scheduled coroutine. Cost: 1 ns; others pay nothing. Returns: CORO_OK, CORO_EPERM
 * (_end: no section is open), CORO_EINVAL.
 */
int coro_nowait_begin(const char *where);
int coro_nowait_end(void);

/* What was done where it must not be. */
typedef struct coro_nowait_report {
	const char *where; /* of the section */
	const char *call;  /* the function: "coro_park"; or "the end" */
	coro_fn fn;        /* of the coroutine */
	uint32_t worker;
} coro_nowait_report;

typedef void (*coro_nowait_hook)(const coro_nowait_report *);

/* coro_nowait_on_error - what is called instead of a line on stderr, in the call itself, so that a
 * debugger or a stack trace shows it. NULL: the line. It must not wait. For the whole process.
 * Returns what was called before. Thread: any. */
coro_nowait_hook coro_nowait_on_error(coro_nowait_hook hook);

/* -------------------------------------------------------------------------- calls that block */

/*
 * coro_blocking - have fn(arg) called by a thread of the scheduler's pool, while the caller is
 * suspended and its worker goes on with others: for calls that keep their thread waiting, or
 * compute for long. In fn the calls of this header do what they do on any thread that is no worker.
 * Threads are made as they are needed, up to coro_options.blocking_threads, and end after 5 s
 * without work; with more calls than that, they are made in turn. The stack is 512 KiB.
 *
 * Suspends. Cost: about what waking a thread costs, twice; 5 to 20 us. Returns: CORO_OK after fn
 * has returned; CORO_ECANCELED before it was called (a call that has begun is waited for),
 * CORO_EAGAIN if there is no thread and none can be had, CORO_EINVAL, CORO_EPERM outside a
 * scheduled coroutine: not called.
 */
int coro_blocking(void (*fn)(void *), void *arg);

/*
 * coro_thread_begin - go on on a thread of that pool, with the caller's own stack, until
 * coro_thread_end: for a stretch of code with several calls that block. Meanwhile the caller is no
 * coroutine for the calls of this header, but a thread that is no worker: coro_sleep and the like
 * return CORO_EPERM, and locks that it holds cannot be given back. One that ends comes back first.
 *
 * Suspends. Cost: as coro_blocking. Returns: CORO_OK on that thread; CORO_ECANCELED, CORO_EAGAIN,
 * CORO_EPERM: nothing has changed. coro_thread_end returns CORO_OK on a worker, or CORO_EPERM: the
 * caller has not begun.
 */
int coro_thread_begin(void);
int coro_thread_end(void);

/* -------------------------------------------------------------------------------
 * synchronization */

/*
 * Semaphores, mutexes, reader-writer locks, conditions, latches, once and channels: between
 * coroutines of any scheduler, and threads that are no workers. A coroutine that waits is
 * suspended, a thread is blocked; both are served in the order in which they came, and nobody
 * overtakes who waits.
 *
 * Memory       An object's memory is the user's (of a channel: coro_chan_new's). All zeros is a
 *              shared one, ready for use: an unlocked mutex, a semaphore without permits, a latch
 *              at zero. It must stay where it is while it is in use. _destroy makes every later use
 *              CORO_EINVAL, and is CORO_EBUSY while others wait or hold it; it is not needed. Its
 *              memory may go when every call with it has returned; an unlock counts as returned
 *              once somebody else holds the mutex.
 * Deadlines    Every call that may wait has one: CORO_FOREVER, a time of coro_now, or 0 for "do not wait".
 * Home         Initialized with CORO_HOME, by a coroutine that is pinned (coro_attr.worker), an
 *              object belongs to that worker: only coroutines pinned there may use it (others:
 *              CORO_EPERM), and no atomic operation is made. Once its scheduler is closed anybody
 *              may destroy it, or free it.
 * Cancel       A wait that is cancelled, or timed out, has taken nothing. What was given before the
 *              end is kept: then the call returns CORO_OK, and the next one CORO_ECANCELED.
 * Returns      What may wait: CORO_OK, CORO_ETIMEDOUT (the deadline came first; with 0: it would
 *              have to wait), CORO_ECANCELED, CORO_ENOWAIT (in a no-wait section), and CORO_EPERM
 *              where nobody can wait: in a Go function that was called inline, or in a coroutine
 *              resumed by hand. All: CORO_EINVAL if the object is NULL or was destroyed.
 * Thread       Any. Cost: 5 to 10 ns where nothing is to be waited for, 2 to 4 ns at home, as coro_wake where one is woken.
 */
#define CORO_HOME        1u /* in flags of an _init: bound to the current coroutine's worker, see above */
#define CORO_PERMITS_MAX (UINT64_C(1) << 60)

/* A counted semaphore. */
typedef struct coro_sem {
	uint64_t words[6];
} coro_sem;

/* coro_sem_init - with so many permits, at most CORO_PERMITS_MAX. Returns: CORO_OK, CORO_EINVAL;
 * with CORO_HOME also CORO_EPERM if the caller is not pinned. The same holds for the other _init
 * calls. */
int coro_sem_init(coro_sem *s, uint64_t permits, uint32_t flags);

/* coro_sem_acquire - take a permit. Suspends. */
int coro_sem_acquire(coro_sem *s, uint64_t deadline);

/* coro_sem_release - give n permits, 1 or more. Returns also: CORO_EOVERFLOW over CORO_PERMITS_MAX;
 * nothing was given. */
int coro_sem_release(coro_sem *s, uint64_t n);
int coro_sem_destroy(coro_sem *s);

/* A mutex. It has an owner, a coroutine (wherever it runs) or a thread, who unlocks it. */
typedef struct coro_mutex {
	uint64_t words[6];
} coro_mutex;

int coro_mutex_init(coro_mutex *m, uint32_t flags);

/* coro_mutex_lock - Suspends. Returns also: CORO_EDEADLK: the caller holds it already. */
int coro_mutex_lock(coro_mutex *m, uint64_t deadline);

/* coro_mutex_unlock - and the first who waits owns it. Returns also: CORO_EPERM: the caller does
 * not hold it. */
int coro_mutex_unlock(coro_mutex *m);
int coro_mutex_destroy(coro_mutex *m);

/* A lock that many readers or one writer hold. Who comes after a writer that waits, waits behind
 * it. */
typedef struct coro_rwlock {
	uint64_t words[8];
} coro_rwlock;

int coro_rwlock_init(coro_rwlock *l, uint32_t flags);

/* coro_rwlock_read, coro_rwlock_write - Suspend. Return also: CORO_EDEADLK: the caller holds it for
 * writing. (Who holds it for reading and asks for more may wait for ever behind a writer.) */
int coro_rwlock_read(coro_rwlock *l, uint64_t deadline);
int coro_rwlock_write(coro_rwlock *l, uint64_t deadline);

/* coro_rwlock_unlock - Returns also: CORO_EPERM: nobody holds it, or another for writing. */
int coro_rwlock_unlock(coro_rwlock *l);
int coro_rwlock_destroy(coro_rwlock *l);

/* A condition variable. */
typedef struct coro_cond {
	uint64_t words[6];
} coro_cond;

int coro_cond_init(coro_cond *c, uint32_t flags);

/* coro_cond_wait - unlock m, wait for a signal, and lock m again: that it is locked when the call
 * returns holds whatever it returns. No wake-up is spurious. Suspends. Returns also: CORO_EPERM:
 * the caller does not hold m. */
int coro_cond_wait(coro_cond *c, coro_mutex *m, uint64_t deadline);

/* coro_cond_signal - wake the first who waits; coro_cond_broadcast - all of them. */
int coro_cond_signal(coro_cond *c);
int coro_cond_broadcast(coro_cond *c);
int coro_cond_destroy(coro_cond *c);

/* A latch: a count, and those who wait until it is zero (a wait group; once it is zero it may be
 * used again). */
typedef struct coro_latch {
	uint64_t words[6];
} coro_latch;

int coro_latch_init(coro_latch *l, uint64_t count, uint32_t flags);

/* coro_latch_add - change the count by n, which may be negative. Returns also: CORO_EINVAL if it
 * would be negative, CORO_EOVERFLOW over CORO_PERMITS_MAX: nothing was changed. */
int coro_latch_add(coro_latch *l, int64_t n);

/* coro_latch_wait - until the count is zero. Suspends. */
int coro_latch_wait(coro_latch *l, uint64_t deadline);
int coro_latch_destroy(coro_latch *l);

/* Something that is done once. All zeros: not yet. */
typedef struct coro_once {
	uint64_t words[8];
} coro_once;

/* coro_once_do - if nobody has begun it, call fn(arg), which has to return; else wait until it has.
 * Suspends. Returns also: CORO_EDEADLK: from inside fn. */
int coro_once_do(coro_once *o, void (*fn)(void *), void *arg, uint64_t deadline);

/*
 * A channel of values of one size, first in first out, closed as Go's are: who sends to a closed
 * one gets an error, and who receives gets what is left in it first.
 */
typedef struct coro_chan coro_chan;

#define CORO_ELEMENT_MAX  ((size_t)64 << 10) /* most bytes of a value */
#define CORO_CAPACITY_MAX ((size_t)1 << 31)  /* most values */

/*
 * coro_chan_new - for values of element_bytes (0 to CORO_ELEMENT_MAX), with room for capacity of
 * them (up to CORO_CAPACITY_MAX); 0: who sends waits until somebody receives. flags: CORO_HOME.
 * Memory: 192 bytes, and the room.
 * Returns: CORO_OK and *out, CORO_EINVAL, CORO_ENOMEM, CORO_EPERM.
 */
int coro_chan_new(coro_chan **out, size_t element_bytes, size_t capacity, uint32_t flags);

/* coro_chan_free - free it, and what is in it, when every other call with it has returned. NULL is
 * allowed. Returns: CORO_OK, CORO_EBUSY while others wait at it, or were served elsewhere by a
 * coro_select that has not returned yet, CORO_EPERM if it was made by Go, which frees it. */
int coro_chan_free(coro_chan *c);

/* coro_chan_send - send the value at *value. Suspends. Returns also: CORO_ECLOSED. Whatever but
 * CORO_OK: nothing was sent. */
int coro_chan_send(coro_chan *c, const void *value, uint64_t deadline);

/* coro_chan_recv - receive one into *value. Suspends. Returns also: CORO_ECLOSED: closed, and
 * nothing is left. */
int coro_chan_recv(coro_chan *c, void *value, uint64_t deadline);

/* coro_chan_close - Returns: CORO_OK, CORO_ECLOSED if it was closed already. Those who wait get
 * CORO_ECLOSED, woken in the order in which they came. */
int coro_chan_close(coro_chan *c);

/* coro_chan_length, coro_chan_capacity - values that are in it now, and at most. */
size_t coro_chan_length(coro_chan *c);
size_t coro_chan_capacity(const coro_chan *c);

/* One of several operations. */
typedef struct coro_case {
	coro_chan *chan;
	const void *send; /* the value to send; NULL: receive */
	void *recv;       /* where to */
	int32_t status;   /* of the one that was done: CORO_OK or CORO_ECLOSED */
	uint32_t reserved;
} coro_case;

#define CORO_CASES_MAX 64

/*
 * coro_select - do one of n operations (1 to CORO_CASES_MAX), as soon as one can be done; among
 * several that can, a random one. A closed channel can: its case's status is CORO_ECLOSED.
 *
 * Suspends. Cost: about 10 ns a case, and 100 bytes of the stack, beside which 2 KiB must be left.
 * Returns: the index of the one done, 0 to n - 1; or CORO_ETIMEDOUT, CORO_ECANCELED, CORO_EPERM,
 * CORO_EINVAL, CORO_ENOMEM (too little of the stack is left): none was.
 */
int coro_select(coro_case *cases, uint32_t n, uint64_t deadline);

/* ----------------------------------------------------------------------------------- calls into
 * Go */

/* Names a Go function that was exported by coro.Export, to be called, or by coro.ExportBody, to be
 * started; for ever, and for nothing else. 0 is never one. */
typedef uint32_t coro_go_id;

/* coro_go_function - the one exported under a name by coro.ExportNamed; 0: none. Thread: any. Cost:
 * looks through the names: ask once. */
coro_go_id coro_go_function(const char *name);

/*
 * coro_call_go - have a Go function called by a goroutine, while the caller is suspended. The
 * function may block, for as long as it likes, and do what any Go code may. A cancel, of the caller
 * or of all, does not end the call: it ends the function's context.
 *
 * arg, arg_bytes:  exactly the bytes of its Go argument type; any number for a []byte, which gets a copy.
 * result, result_bytes: room for its result; NULL and 0: the result is not wanted.
 * got:     how many bytes the result has, whatever is returned; NULL: not wanted.
 * Suspends. Cost: some hundred ns while calls keep coming, tens of us to wake what sleeps; docs/calls.md has figures.
 * Returns: CORO_OK; CORO_EFAILED if the function returned an error, panicked, or ended its
 *          goroutine; CORO_ETOOBIG if the result is larger than result_bytes: nothing was written,
 *          and of a fixed size, the function was not called; CORO_EINVAL if id names nothing, or
 *          arg_bytes is not the argument's size (*got then has that size), or the scheduler was not
 *          made by Go; CORO_ECANCELED if the scheduler is being canceled, CORO_EPERM: not called.
 */
int coro_call_go(coro_go_id id, const void *arg, size_t arg_bytes, void *result,
		 size_t result_bytes, size_t *got);

/*
 * coro_call_go_inline - the same, but this worker's thread calls the function, on its own stack.
 *
 * For short functions that do not block: no channel, lock, file or network that may keep them
 * waiting. All coroutines of this worker wait meanwhile. There is no current coroutine: what the
 * function calls of this header returns CORO_EPERM where one is needed. A function that ends its
 * goroutine (runtime.Goexit, FailNow of a test) ends the process.
 *
 * Suspends. Cost: 50 to 100 ns if this one alone calls, about as much as a thread's callback; 15 to
 * 40 ns each if many do.
 */
int coro_call_go_inline(coro_go_id id, const void *arg, size_t arg_bytes, void *result,
			size_t result_bytes, size_t *got);

/*
 * coro_call_error - the text of the last call of the current coroutine that returned CORO_EFAILED:
 * of the error, or "panic: " with the value and then, from the second line on, the Go stack. At
 * most bytes - 1 of it are copied to text, and a zero. Returns: the length of the whole; 0: there
 * was none, or no memory for it.
 */
size_t coro_call_error(char *text, size_t bytes);

/*
 * coro_spawn_go - start a coroutine whose body is a Go function, in the current scheduler. It runs
 * later, on a goroutine, is woken, joined and cancelled as any other, and may wait and do what any
 * Go code may.
 *
 * id:      from coro.ExportBody.
 * arg, arg_bytes: exactly the bytes of its Go argument type.
 * out:     the child's handle, which is then to be joined or detached; coro_join gets the result, or CORO_EABORTED if the
 *          function returned an error, panicked or ended its goroutine. NULL: nobody waits for it.
 * Thread:  a scheduled coroutine. Blocking: never; may make one system call, if all goroutines
 *          sleep. Cost: about 50 ns, and 2 us of a goroutine.
 * Returns: CORO_OK; CORO_EINVAL if id names no such function, or arg_bytes is not the argument's
 *          size, or the scheduler was not made by Go; CORO_ENOMEM, CORO_EPERM. In a scheduler that
 *          is being canceled it ends unstarted.
 */
int coro_spawn_go(coro_go_id id, const void *arg, size_t arg_bytes, coro_handle *out);

/* --------------------------------------------------------------------------------- schedulers */

typedef struct coro_options {
	uint32_t size;  /* sizeof(coro_options) */
	uint32_t flags; /* CORO_PAUSED, CORO_NO_MEMBARRIER */
	/* 0: one per core this process may use; at most CORO_WORKERS_MAX */
	uint32_t workers;
	/* most coroutines one steal takes, 1 to 64; 0: 32. 1 is "steal one" */
	uint32_t steal_batch;
	/* wake-ups run ahead of the queue in a row; 0: for 10 to 40 us; -1: none, pure FIFO */
	int32_t handover_budget;
	uint32_t stack_cache; /* idle stacks a worker keeps; 0: 64 */
	size_t stack_bytes;   /* default stack; 0: CORO_STACK_DEFAULT */
	/* cap on bytes of stacks; 0: none. At the cap idle ones give way, and starting waits */
	size_t stack_limit;
	/* cap on bytes of records (128 each, in chunks of 2 MiB); 0: none */
	size_t record_limit;
	const char *name;     /* threads are called name/0, name/1, ...; NULL: "coro" */
	const uint16_t *cpus; /* worker i is pinned to cpus[i % cpu_count]; NULL: not pinned */
	uint32_t cpu_count;
	/* further workers, after those, with at most CORO_WORKERS_MAX in all. See below */
	uint32_t dedicated;
	/* most threads for coro_blocking and coro_thread_begin, at most 65536; 0: 64 */
	uint32_t blocking_threads;
	/* stacks that a worker's dense coroutines share, 2 to 1024; 0: 16 */
	uint32_t shared_stacks;
	size_t shared_stack_bytes; /* of each, as stack_bytes; 0: CORO_STACK_DEFAULT */
} coro_options;

/*
 * Dedicated workers (coro_options.dedicated) are numbered after the others. One runs only what was
 * sent there (coro_attr.worker, coro_pin), what those spawn, and what wakes up there: it steals
 * nothing, nothing is stolen from it, and no other spawn lands there. So whoever lives there waits
 * for nobody else, and keeps nobody else waiting: an event loop, a sound card's buffer, a library
 * that wants all calls from one thread. In all else it is a worker like any other.
 */

#define CORO_PAUSED        1u /* run mode: nothing runs before coro_scheduler_run */
#define CORO_NO_MEMBARRIER 2u /* use an exchange in every door, as where membarrier is refused */
#define CORO_NO_STANDBY    4u /* for tests: no timed look-around while others work */

/*
 * coro_scheduler_init - make a scheduler and its worker threads. opt may be NULL.
 * Thread: any but a worker. Returns: CORO_OK and *out, CORO_EINVAL, CORO_ENOMEM, CORO_EAGAIN.
 */
int coro_scheduler_init(coro_scheduler **out, const coro_options *opt);

/*
 * coro_scheduler_spawn - start fn from any thread; attr and out may be NULL.
 * Blocking: never; may make one futex call. Cost: 20 to 60 ns.
 * Returns: CORO_OK, CORO_EINVAL, CORO_ENOMEM, CORO_ECLOSED.
 */
int coro_scheduler_spawn(coro_scheduler *s, const coro_attr *attr, coro_fn fn, const void *arg,
			 size_t arg_bytes, coro_handle *out);

/*
 * coro_scheduler_run - run mode: let the workers run until nothing can happen any more, then pause
 * them.
 *
 * Thread: any but a worker; one at a time. Blocking: until the end.
 * Returns: CORO_OK when every coroutine has ended; CORO_EDEADLK when some are left that nothing can
 * wake (coro_scheduler_blocked lists them; a wake and another run may free them); CORO_EPERM on a
 * worker or in service mode; CORO_EBUSY if it runs already; CORO_ECLOSED.
 */
int coro_scheduler_run(coro_scheduler *s);

/*
 * coro_scheduler_wait - service mode: wait until every coroutine has ended. New work may be spawned
 * meanwhile and is waited for too. Returns: CORO_OK, CORO_EPERM on a worker or in run mode.
 */
int coro_scheduler_wait(coro_scheduler *s);

/*
 * Kinds of waits, each with its name: X(identifier, letter, name). coro_wait_name, coro_blocked and
 * debuggers read this one table.
 */
#define CORO_WAIT_KINDS(X)                \
	X(PARK, 'p', "park")              \
	X(JOIN, 'j', "join")              \
	X(CALL, 'g', "call")              \
	X(SLEEP, 't', "sleep")            \
	X(BLOCKING, 'b', "blocking call") \
	X(SEMAPHORE, 's', "semaphore")    \
	X(MUTEX, 'm', "mutex")            \
	X(READ, 'r', "read lock")         \
	X(WRITE, 'w', "write lock")       \
	X(CONDITION, 'c', "condition")    \
	X(LATCH, 'l', "latch")            \
	X(ONCE, 'o', "once")              \
	X(SEND, '>', "send")              \
	X(RECEIVE, '<', "receive")        \
	X(SELECT, '?', "select")

enum coro_wait_kind {
#define CORO_WAIT_KIND(identifier, letter, name) CORO_WAIT_##identifier = letter,
	CORO_WAIT_KINDS(CORO_WAIT_KIND)
#undef CORO_WAIT_KIND
};

/* coro_wait_name - the name of a kind of wait, as in "park"; "unknown" if there is no such kind. Never
 * NULL. Thread: any. */
const char *coro_wait_name(uint32_t kind);

/* A coroutine that waits: what coro_scheduler_blocked reports. */
typedef struct coro_blocked {
	coro_handle handle; /* for information: it can be stale by the time it is read */
	coro_fn fn;
	uint32_t worker; /* its home */
	uint32_t waits;  /* CORO_WAIT_PARK... */
} coro_blocked;

/* coro_scheduler_blocked - the waiting coroutines, at most cap of them into list; the return
 * value counts all. Thread: any but a worker. Cost: looks at every record; stops each worker for
 * as long. */
size_t coro_scheduler_blocked(coro_scheduler *s, coro_blocked *list, size_t cap);

/*
 * coro_scheduler_close - take no more work, wait until every coroutine has ended, join the threads,
 * free the stacks. A paused scheduler drops what never started.
 *
 * With cancel: what has not started ends unstarted, and every present and future wait returns
 * CORO_ECANCELED, so that bodies end through their own clean-up. A body that never returns keeps
 * close waiting.
 * Thread: any but a worker. Calling it again waits for the first to finish; cancel may be added
 * that way.
 * Returns: CORO_OK, CORO_EPERM on a worker.
 */
int coro_scheduler_close(coro_scheduler *s, int cancel);

/* coro_scheduler_destroy - close with cancel if it is still open, then free everything. Handles of
 * s must not be used any more. NULL is allowed. */
int coro_scheduler_destroy(coro_scheduler *s);

/* Counters since the start, and present sizes. Racy while workers run, exact when they are idle. */
typedef struct coro_worker_stats {
	uint64_t spawned; /* coroutines that entered here */
	uint64_t ended;
	uint64_t switches;     /* times the worker chose what to run next, modulo 2^32 */
	uint64_t steals;       /* successful steals made */
	uint64_t stolen;       /* coroutines got by them */
	uint64_t served;       /* steals that the victim served itself */
	uint64_t forced;       /* steals that locked the victim's door */
	uint64_t parks;        /* times it went to sleep */
	uint64_t remote_wakes; /* wake-ups that came from other threads */
	uint64_t queued;       /* in its queue now */
	int32_t tid;           /* its Linux thread id */
	int32_t cpu;           /* the CPU it is pinned to, or -1 */
} coro_worker_stats;

typedef struct coro_stats {
	uint32_t workers, awake;
	/* what will bring work by itself: calls into Go, and workers that sleep until a deadline */
	uint64_t outside;
	uint64_t live;                /* coroutines that have entered and not ended */
	uint64_t awaiting_stack;      /* of them, waiting for a stack */
	uint64_t idle_ends;           /* times everything came to rest */
	uint64_t stacks, stacks_idle; /* that may have memory, and of them not in use */
	uint64_t stack_bytes;         /* their usable bytes; guards are not memory */
	uint64_t records, records_idle, record_bytes;
	uint64_t records_retired; /* records whose generations are used up */
	/* mapped for the frames of dense coroutines that were copied out, and for what they wait
	 * with */
	uint64_t dense_bytes;
	uint64_t dense_saved;          /* blocks there: about one for each of them */
	uint64_t dense_p50, dense_p99; /* bytes of such a block */
	/* times; those that go on where they are cost nothing, not even a count */
	uint64_t dense_copied_out, dense_copied_in;
	uint64_t dense_bytes_copied;
	uint64_t dense_private; /* times that one kept its stack, since its frames were large */
	int32_t membarrier;     /* 1: doors are asymmetric, 0: they use an exchange */
	int32_t guard;          /* 1: MADV_GUARD_INSTALL, 0: mprotect */
} coro_stats;

/* coro_scheduler_stats - fills *total, and of per_worker the first cap. Thread: any. */
int coro_scheduler_stats(coro_scheduler *s, coro_stats *total, coro_worker_stats *per_worker,
			 uint32_t cap);

/* coro_scheduler_trim - give idle stacks, empty chunks of records and what queues have grown to
 * back to the kernel. Thread: any but a worker. Blocking: system calls; stops each worker for some
 * microseconds. Returns: bytes given back. */
size_t coro_scheduler_trim(coro_scheduler *s);

#ifdef __cplusplus
}
#endif
#endif
