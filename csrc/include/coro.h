/*
 * coro.h - stackful C coroutines on a work-stealing pool of threads.
 *
 * Three layers, all public:
 *
 *   by hand     coro_new, coro_resume, coro_yield_value, coro_reset, coro_free: one coroutine that
 *               the caller resumes itself, on any thread, without a scheduler (after Lwan's
 *               coroutines).
 *   scheduled   coro_scheduler_*, coro_spawn, coro_yield, coro_park, coro_wake, coro_join,
 *               coro_cancel: very many coroutines, run by worker threads that steal from each
 *               other.
 *   dispatched  coro_dispatch_*: coroutines of one thread that share a stack, in an order that a
 *               policy of the user decides, without a scheduler (after usched's);
 *               coro_dispatch_pool_*: threads with two such policies.
 *
 * This part has what a coroutine's body needs of the first two layers. It includes the others, so
 * that C code includes coro.h alone:
 *
 *   coro_body.h       CORO_BODY: bodies with typed arguments and results, described for Go
 *   coro_sync.h       where coroutines and threads wait for each other: semaphores, locks,
 *                     channels, select, scopes; no-wait and finite-wait sections; calls
 *                     that block
 *   coro_stream.h     streams of bytes between Go and C, and between coroutines
 *   coro_go.h         calls into Go, and coroutines with a Go body
 *   coro_scheduler.h  schedulers: made, run, looked at and closed; Go does this for Go programs
 *   coro_buffer.h     memory with one owner at a time, in C and Go
 *   coro_dispatch.h   the third layer
 *
 * What the comment of a call says
 *
 *   Thread      who may call it. No line: any thread and any coroutine.
 *   Suspends    the calling coroutine may be suspended, and its worker goes on with others.
 *   Blocking    what may keep the calling thread waiting. No line: at most a lock that is held for
 *               some instructions.
 *   Cost        with everything in cache, and nothing to wait for, on a machine of 2024.
 *   Returns     all that an int result can be.
 *
 * What holds everywhere
 *
 *   Errors      Every int result is CORO_OK (0), a positive yield code, or a negative CORO_E...
 *               code. errno is neither read nor set.
 *   Stacks      A coroutine runs on a small stack (16 KiB unless asked otherwise) with a guard
 *               below it. Touching the guard names the coroutine on stderr and ends the process,
 *               as any other fault does.
 *               Code whose frames are larger than the guard (64 KiB) must be compiled with
 *               -fstack-clash-protection.
 *   Threads     A scheduled coroutine may continue on another thread after every call that can
 *               suspend. Hold no address of a thread-local variable and no errno across such a
 *               call.
 *   Registers   A switch preserves what the C ABI calls callee-saved. It does not preserve the
 *               signal mask, nor the floating-point control words (MXCSR, x87 CW, FPCR): restore
 *               these before suspending.
 *   C++         An exception that leaves a body of CORO_BODY makes that fail (CORO_THREW). The
 *               behaviour is undefined if one leaves any other function that was given to these
 *               calls, and if a coroutine suspends inside a catch block, or in a destructor that an
 *               exception runs: what is being handled belongs to the thread. Copy what is needed,
 *               leave the block, then wait. A try block may suspend. coro_exit and its like run
 *               no destructors.
 *   Go          A coroutine must not call into Go by itself: its stack is not one that Go can grow
 *               or scan. coro_call_go makes the call.
 *   Pointers    Nothing here can protect against a stray pointer in a coroutine's own body.
 */
#ifndef CORO_H
#define CORO_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#ifdef __cpp_exceptions
#include <exception>
#endif

/*
 * CORO_VERSION - the version of what this header declares. A copy of the header fits the linked
 * coro if both have the same. Otherwise the program does not link: the linker says that the symbol
 * CORO_ABI_NAME is undefined, in each file that includes the copy. `coro header` writes a copy that
 * fits. The reference to the symbol lies in a section that no program loads, and costs nothing at
 * run time. --gc-sections drops the section, and the check with it. Code that is not linked with
 * coro, a plug-in in C for example, defines CORO_NO_ABI_CHECK first.
 */
#define CORO_VERSION 1

#define CORO_TEXT_OF(x) #x
#define CORO_TEXT(x)    CORO_TEXT_OF(x)
#define CORO_ABI_NAME          \
	"coro_abi_" CORO_TEXT( \
		CORO_VERSION) "_of_this_coro_h_is_not_that_of_the_linked_coro__run_coro_header_again"

#if defined(__GNUC__) && defined(__ELF__) && !defined(CORO_NO_ABI_CHECK)
__asm__(".pushsection .coro_abi,\"\",%progbits\n\t"
	".hidden " CORO_ABI_NAME "\n\t"
	".quad " CORO_ABI_NAME "\n\t"
	".popsection");
#endif

/* CORO_PRINTS - the compiler checks the arguments of such a function against its format. */
#ifdef __GNUC__
#define CORO_PRINTS(text, arguments) __attribute__((__format__(__printf__, text, arguments)))
#else
#define CORO_PRINTS(text, arguments)
#endif

#ifdef __GNUC__
#pragma GCC visibility push(default) /* whatever the user's code is compiled with */
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Status codes. Negative: an error; nothing was changed, unless the call says otherwise. */
enum {
	CORO_OK = 0,
	/* an argument is out of its range, or an object was destroyed */
	CORO_EINVAL = -1,
	/* not allowed here: outside a coroutine, on a worker thread, at an object that is bound to
	 * another worker, or for a lock that the caller does not hold */
	CORO_EPERM = -2,
	CORO_ENOMEM = -3, /* memory, a byte cap, or the kernel's limit of mappings is used up */
	/* the handle's coroutine has ended, or never was; a buffer was sent or freed */
	CORO_ESTALE = -4,
	/* by coro_cancel, or a close of the scheduler with cancel, before or during the wait */
	CORO_ECANCELED = -5,
	/* coro_scheduler_run: coroutines are left that nothing can wake; a lock or a once: the
	 * caller holds it already, and would wait for itself */
	CORO_EDEADLK = -6,
	CORO_ECLOSED = -7,   /* the scheduler, pool or channel is closed */
	CORO_EBUSY = -8,     /* in use: it runs, or others wait for it or hold it */
	CORO_EAGAIN = -9,    /* the system refused a thread */
	CORO_ENDED = -10,    /* the coroutine has finished or aborted: reset it first */
	CORO_EABORTED = -11, /* the coroutine that was joined ended by coro_abort */
	/* a count would be over its limit: 2^28 permits of a coroutine, CORO_PERMITS_MAX of a
	 * semaphore or latch */
	CORO_EOVERFLOW = -12,
	/* the coroutine that was joined ended by coro_fail: coro_join_error has code and text; the
	 * Go function returned an error, or panicked: coro_call_error has the text */
	CORO_EFAILED = -13,
	CORO_ETOOBIG = -14,   /* the Go function's result is larger than the buffer */
	CORO_ETIMEDOUT = -15, /* the deadline came first */
	/* the call would wait in a no-wait section, or without a deadline in a finite-wait section */
	CORO_ENOWAIT = -16,
	/* the last owner of the lock ended without unlocking: the caller holds the lock now, and
	 * what it guards may be half changed */
	CORO_EOWNERDEAD = -17,
	/* the lock was unlocked after CORO_EOWNERDEAD without having been marked consistent */
	CORO_ENOTRECOVERABLE = -18,
};

/* Yield codes: what a coroutine is after it was last resumed. */
enum {
	CORO_MAY_RESUME = 1, /* it yielded, and can be resumed */
	CORO_FINISHED = 2,   /* its function returned, or it called coro_exit */
	CORO_ABORT = 3,      /* it called coro_abort */
	CORO_FAILED = 4,     /* it called coro_fail: coro_resume_error has code and text */
};

/* coro_strerror - one line of text for a status or yield code; never NULL. */
const char *coro_strerror(int status);

/*
 * A coroutine's function. arg points to the coroutine's own copy of the bytes given at spawn,
 * aligned to 16; NULL if there were none. result points to CORO_INLINE_BYTES, zeroed, aligned to
 * 16: where its result goes, or, if none was asked for, scratch. Both end with the function: what
 * is deferred runs later, and uses neither.
 */
typedef void (*coro_fn)(void *arg, void *result);

#define CORO_INLINE_BYTES  48                /* most bytes of arg, and of result */
#define CORO_LARGE_BYTES   4096              /* the same, of a CORO_BODY that Go starts */
#define CORO_STACK_MIN     ((size_t)4 << 10) /* smallest stack, in bytes */
#define CORO_STACK_MAX     ((size_t)8 << 20) /* largest stack, in bytes */
#define CORO_STACK_DEFAULT ((size_t)16 << 10)
#define CORO_WORKERS_MAX   256

/* Deadlines are times of CLOCK_MONOTONIC in ns, as coro_now tells them. One in the past (0 is
 * always) means: do not wait. */
#define CORO_FOREVER UINT64_MAX

/* coro_now - the present time, in ns. Cost: 20 to 50 ns. */
uint64_t coro_now(void);

/* ------------------------------------------------------------------ coroutines resumed by hand */

/* A coroutine resumed by hand. Not safe for use by two threads at once; may move between
 * threads. */
typedef struct coro coro_t;

/* Its function. arg is the pointer given to coro_new, first the value of the first coro_resume. The
 * value returned is what the last coro_resume receives, with CORO_FINISHED. */
typedef intptr_t (*coro_body)(void *arg, intptr_t first);

/*
 * coro_new - make a coroutine that will run body(arg, first) on a stack of at least stack_bytes.
 *
 * stack_bytes: 0 for CORO_STACK_DEFAULT, else CORO_STACK_MIN to CORO_STACK_MAX, rounded up to a
 * power of two.
 * Blocking: may map memory.
 * Cost:     30 ns with a pooled stack, some us without.
 * Returns:  CORO_OK and *out, CORO_EINVAL, CORO_ENOMEM.
 */
int coro_new(coro_t **out, coro_body body, void *arg, size_t stack_bytes);

/*
 * coro_resume - run co until it yields or ends; send is what its coro_yield_value returns (or
 * first).
 *
 * Thread:   any, one at a time; from inside another coroutine too (resumes nest).
 * Blocking: as long as co runs.
 * Cost:     one switch each way, 2 to 4 ns.
 * Returns:  CORO_MAY_RESUME, CORO_FINISHED, CORO_ABORT or CORO_FAILED, with the value in *received
 *           (if not NULL); CORO_EBUSY if co is running, CORO_ENDED if it has ended, CORO_EINVAL if
 *           co is NULL.
 */
int coro_resume(coro_t *co, intptr_t send, intptr_t *received);

/*
 * coro_resume_error - with what co, which has ended by coro_fail, has failed, until it is reset or
 * freed: *code (if not NULL), 0 if co has not failed; and the text: at most bytes - 1 bytes
 * and a zero are copied.
 *
 * Returns: the length of the whole text; 0: there is none.
 */
size_t coro_resume_error(const coro_t *co, int *code, char *text, size_t bytes);

/*
 * coro_yield_value - suspend the innermost coroutine that is resumed by hand on this thread: its
 * coro_resume receives value, with CORO_MAY_RESUME.
 *
 * Returns: CORO_OK and, in *sent (if not NULL), the value of the next coro_resume; CORO_EPERM
 *          outside such a coroutine.
 */
int coro_yield_value(intptr_t value, intptr_t *sent);

/* coro_status - CORO_MAY_RESUME, CORO_FINISHED, CORO_ABORT or CORO_FAILED; CORO_EBUSY while co
 * runs, CORO_EINVAL if co is NULL. */
int coro_status(const coro_t *co);

/*
 * coro_reset - run what co deferred, free its arena, and make it as new with another body, on the
 * same stack. A co that had not ended is abandoned where it yielded: its frames are not unwound.
 *
 * Returns: CORO_OK, CORO_EBUSY if co is running, CORO_EINVAL if co or body is NULL.
 */
int coro_reset(coro_t *co, coro_body body, void *arg);

/*
 * coro_free - run what co deferred, free its arena, and give it and its stack back. NULL is
 * allowed.
 *
 * Returns: CORO_OK, CORO_EBUSY if co is running.
 */
int coro_free(coro_t *co);

/* --------------------------------------------------------- inside any coroutine, of any layer */

/*
 * coro_defer - run fn(arg) when the current coroutine ends, however it ends, last deferred first,
 * on its own stack (for coro_reset, coro_free and coro_dispatch_drop: on the caller's).
 *
 * How the coroutine has ended is clear when the first of them begins. They may wait, defer more,
 * and write the result. One that calls coro_exit, coro_abort or coro_fail ends there: the others
 * run, and nothing else comes of the call, neither a status nor a text. What a wait tells them of a
 * cancel changes nothing either. The frames of a body that has called coro_exit or the like are
 * gone by then: arg must not point into them.
 *
 * Returns: CORO_OK, CORO_EPERM outside a coroutine, CORO_EINVAL if fn is NULL, CORO_ENOMEM.
 */
int coro_defer(void (*fn)(void *), void *arg);

/*
 * coro_defer_mark - mark how much is deferred and allocated: for a part of a coroutine's life that
 * ends before the coroutine, one request of a connection for example. Lwan has generations of
 * deferred functions, which this is after.
 *
 * Marks nest. The end of the coroutine runs what is deferred as if there was no mark.
 *
 * Returns: a mark of this coroutine; NULL outside a coroutine, or when memory is used up.
 * Cost: 64 bytes of the arena until coro_defer_run.
 */
typedef struct coro_mark coro_mark;
coro_mark *coro_defer_mark(void);

/*
 * coro_defer_run - run what was deferred since the mark, last first, on this stack, and free what
 * coro_malloc and its like have given since. Younger marks and this one are gone then.
 *
 * The functions may wait, and defer and allocate more, which the same call runs and frees. One that
 * ends the coroutine ends it, and the end runs the others. A function of coro_once_do must not run
 * to a mark that was taken before that call.
 *
 * Returns: CORO_OK; nothing was done: CORO_EPERM outside a coroutine, CORO_EINVAL if this coroutine
 *          has no such mark (any more), CORO_EBUSY in a function that coro_defer_run runs for this
 *          mark or for a younger one.
 * Cost: one step for each function and mark since; the memory is free at once.
 */
int coro_defer_run(coro_mark *mark);

/*
 * coro_defer_disarm - take fn(arg) back, the last one deferred if there are several: what it would
 * have undone is to stay.
 *
 * Returns: CORO_OK, CORO_EPERM outside a coroutine, CORO_EINVAL if fn is NULL or fn(arg) is not
 *          deferred.
 * Cost: one step for each function that was deferred later.
 */
int coro_defer_disarm(void (*fn)(void *), void *arg);

/*
 * coro_malloc - bytes, aligned to 16, that are freed when the current coroutine ends,
 * after its deferred functions. NULL outside a coroutine, or when memory is used up.
 *
 * Cost: some ns for up to 256 bytes, which come from a bump arena; else one allocation.
 */
void *coro_malloc(size_t bytes);

/*
 * coro_malloc_with - the same, and destroy(memory) is deferred: it runs with the coroutine's
 * deferred functions, before the memory is free. destroy: NULL for none.
 *
 * Returns: NULL also where there is no memory for the deferred function.
 */
void *coro_malloc_with(size_t bytes, void (*destroy)(void *));

/* coro_strdup, coro_strndup - a copy of s (of at most n bytes of it) in that arena; else as
 * coro_malloc. */
char *coro_strdup(const char *s);
char *coro_strndup(const char *s, size_t n);

/*
 * coro_asprintf, coro_vasprintf - what printf would print, in that arena; else as coro_malloc. NULL
 * also where the C library refuses the format.
 *
 * Stack: printf takes some KiB. With less than 16 KiB left these run on a larger stack, as by
 * coro_call_on_stack; no memory for that: NULL.
 */
char *coro_asprintf(const char *format, ...) CORO_PRINTS(1, 2);
char *coro_vasprintf(const char *format, va_list args) CORO_PRINTS(1, 0);

/*
 * coro_exit - end the current coroutine at once, from any depth. Frames are not unwound; what was
 * deferred runs. Its stack reads as zeros for the next coroutine there. (What a body that returns
 * has left there stays.)
 *
 * Cost: a system call, which gives the pages of the stack back to the kernel: about 1 us.
 *
 * Returns: only outside a coroutine: CORO_EPERM.
 */
int coro_exit(void);

/* coro_abort - the same, and the resumer gets CORO_ABORT, the joiner CORO_EABORTED; of a dispatched
 * coroutine CORO_ABORT is the status. */
int coro_abort(void);

/*
 * coro_fail - the same, with a code and a text of the body's own, for one that cannot do what it
 * was started for. The joiner gets CORO_EFAILED and no result, and coro_join_error tells both; in
 * Go the task's error is a *BodyError. The resumer gets CORO_FAILED, and coro_resume_error tells
 * both. Of a dispatched coroutine CORO_FAILED is the status, and nothing else is kept.
 *
 * code: any number.
 * text: copied, up to CORO_FAILURE_BYTES - 1 bytes of it; NULL: none. Where there is no memory for
 *       the copy, the code alone is told.
 */
int coro_fail(int code, const char *text);

#define CORO_FAILURE_BYTES 1024 /* of a text of coro_fail, with its zero */

/* coro_stack_left - bytes between here and the guard; 0 outside a coroutine. */
size_t coro_stack_left(void);

/*
 * coro_call_on_stack - call fn(arg) on another stack of at least bytes (as in coro_new), for one
 * deep call. fn may suspend.
 *
 * Blocking: may map memory.
 * Cost:     two switches and a pooled stack, about 20 ns.
 * Returns:  CORO_OK after fn has returned; CORO_EPERM outside a coroutine, CORO_EINVAL,
 *           CORO_ENOMEM: fn was not called.
 */
int coro_call_on_stack(size_t bytes, void (*fn)(void *), void *arg);

/* ------------------------------------------------------------------ inside scheduled coroutines */

typedef struct coro_scheduler coro_scheduler;

/* Names one scheduled coroutine, by index and generation. A handle whose coroutine has ended is
 * stale, and every call with it returns CORO_ESTALE. 0 is never a handle. */
typedef uint64_t coro_handle;

/* How to spawn. Zero it, then set what is wanted. */
typedef struct coro_attr {
	uint32_t size;         /* sizeof(coro_attr), or 0 */
	uint32_t flags;        /* CORO_JOINABLE, CORO_DENSE, CORO_DAEMON */
	size_t stack_bytes;    /* 0: the scheduler's default; of a dense one always 0 */
	uint32_t result_bytes; /* 0 to CORO_INLINE_BYTES; more than 0 needs CORO_JOINABLE */
	/* i + 1: pinned to worker i, where it starts and stays; CORO_HERE: pinned to its parent's
	 * worker; 0: not pinned, starts at its parent's worker; CORO_ANYWHERE: not pinned, and
	 * starts elsewhere if its parent's worker is a dedicated one */
	uint32_t worker;
	/* which words of arg, and of the result, are a coro_buffer (coro_buffer_word): always the
	 * same of one function. coro_spawn_first takes none */
	uint32_t arg_buffers, result_buffers;
} coro_attr;

#define CORO_HERE     UINT32_MAX
#define CORO_ANYWHERE (UINT32_MAX - 1)

#define CORO_JOINABLE 1u /* keeps its result until coro_join or coro_detach */

/*
 * CORO_DENSE - a coroutine that owns no stack while it waits, for millions that are alive at once
 * and mostly wait.
 *
 * It runs on one of its worker's shared stacks (coro_options.shared_stacks). When it waits and
 * another needs that stack, its live frames, some hundred bytes, are copied out; they are copied
 * back to the same addresses before it goes on. One that never waits costs what any other does; one
 * that waits costs its record, 128 bytes, and its frames.
 *
 *   Restriction  While it waits, its stack holds the frames of other coroutines. A pointer to one
 *                of its variables reads and writes those. So a dense coroutine must give no such
 *                pointer to anybody who uses it meanwhile: to a child, to another thread, or into a
 *                structure that others walk. Values for these calls (of channels, of calls into Go)
 *                may lie on its stack, they are copied. Objects that others wait at, and the arg of
 *                coro_blocking, may not: CORO_EINVAL.
 *   Its worker   Once it has started it stays with its worker, as if pinned: coro_pin to another
 *                worker and coro_thread_begin return CORO_EPERM. Until then it can be stolen.
 *   Errors       A wait may also return CORO_ENOMEM, if there is no memory for copies: then the
 *                wait has taken nothing. So may coro_select, coro_blocking and calls into Go
 *                before they begin.
 */
#define CORO_DENSE 2u

/*
 * CORO_DAEMON - a coroutine that is meant to wait for ever, as one that serves requests. The end of
 * the others does not wait for it: neither coro_scheduler_wait nor coro_scheduler_run does, and
 * daemons alone are no deadlock. coro_scheduler_close cancels daemons when the others have ended,
 * and waits for their ends. In all else it is a coroutine like any other, which may be joined,
 * woken and canceled. Its children are no daemons, unless they ask for it. What coro_spawn_go
 * starts is none: a Go body that is to be a daemon is started by Go, with AsDaemon.
 *
 * Cost: a record of its own, some 10 ns more to spawn and to end.
 */
#define CORO_DAEMON 4u

/*
 * coro_spawn - start fn in the current scheduler; the child runs later, its parent goes on.
 *
 * arg, arg_bytes: copied into the coroutine; 0 to CORO_INLINE_BYTES.
 * Thread:   a scheduled coroutine.
 * Blocking: may map 2 MiB, and make one futex call to wake a worker.
 * Cost:     about 5 ns.
 * Returns:  CORO_OK, CORO_EPERM, CORO_EINVAL, CORO_ENOMEM. In a scheduler that is being canceled
 *           the child ends unstarted.
 */
int coro_spawn(coro_fn fn, const void *arg, size_t arg_bytes);

/* coro_spawn_attr - the same with attributes; *out (if not NULL; a joinable child must be named)
 * names the child. attr may be NULL. */
int coro_spawn_attr(const coro_attr *attr, coro_fn fn, const void *arg, size_t arg_bytes,
		    coro_handle *out);

/*
 * coro_spawn_first - the same, but the child runs at once and its parent goes to the back of the
 * queue.
 *
 * Suspends.
 * Returns: also CORO_EINVAL if the child is to start on another worker, and CORO_ENOWAIT.
 */
int coro_spawn_first(const coro_attr *attr, coro_fn fn, const void *arg, size_t arg_bytes,
		     coro_handle *out);

/*
 * coro_yield - let the others run: the caller goes to the back of its worker's queue. It does not
 * tell of a cancel: ask coro_canceled.
 *
 * Suspends.
 * Cost:    2 to 7 ns.
 * Returns: CORO_OK, CORO_EPERM outside a scheduled coroutine, CORO_ENOWAIT.
 */
int coro_yield(void);

/*
 * coro_switch_to - yield to a chosen coroutine: target, if it is parked and at home on this worker,
 * is woken and runs now; the caller goes to the back of the queue. Else the call is coro_wake and
 * then coro_yield.
 *
 * Suspends.
 * Returns: CORO_OK; CORO_EPERM, CORO_ENOWAIT, CORO_ESTALE, CORO_EOVERFLOW: it has not yielded.
 */
int coro_switch_to(coro_handle target);

/* coro_worker - the number of the worker that runs the caller, from 0; -1 outside a scheduled
 * coroutine. */
int coro_worker(void);

/*
 * coro_pin - stay with one worker from now on: worker is its number, to which the caller moves, or
 * CORO_HERE. A pinned coroutine is never stolen; while another keeps its worker busy, it waits.
 *
 * Suspends, if it moves.
 * Returns: CORO_OK, CORO_EPERM outside a scheduled coroutine, CORO_EINVAL if there is no such
 *          worker; of a move also CORO_ENOWAIT, and CORO_EPERM of a dense coroutine.
 */
int coro_pin(uint32_t worker);

/* coro_unpin - be stolen again like any other; changes nothing for a dense coroutine. Returns:
 * CORO_OK, CORO_EPERM outside a scheduled coroutine. */
int coro_unpin(void);

/*
 * coro_park - wait for a permit and take it. A coroutine has one permit more for each coro_wake. If
 * there is one each time, for 20 us in one turn, and the worker has something else to run, the call
 * yields.
 *
 * Suspends.
 * Cost:    2 to 7 ns.
 * Returns: CORO_OK; no permit was taken: CORO_EPERM outside a scheduled coroutine, CORO_ECANCELED
 *          and CORO_ENOWAIT only if there was none, CORO_ENOMEM of a dense coroutine.
 */
int coro_park(void);

/*
 * coro_park_until - the same with a deadline. No deadline is early; one is late by some 100 us,
 * more where no worker is free.
 *
 * Suspends.
 * Cost:    10 ns for a deadline that does not come.
 * Returns: also CORO_ETIMEDOUT: there was no permit. With a deadline of 0 never CORO_ENOWAIT.
 */
int coro_park_until(uint64_t deadline);

/*
 * coro_sleep - wait for ns nanoseconds; coro_sleep_until - until a time.
 *
 * Suspends.
 * Returns: CORO_OK, CORO_EPERM outside a scheduled coroutine, CORO_ECANCELED, CORO_ENOWAIT,
 *          CORO_ENOMEM of a dense coroutine.
 */
int coro_sleep(uint64_t ns);
int coro_sleep_until(uint64_t deadline);

/* What comes periodically. */
typedef struct coro_ticker {
	uint64_t next, period; /* ns */
} coro_ticker;

/* coro_ticker_init - the first tick comes one period (ns, 1 or more) from now. Returns: CORO_OK,
 * CORO_EINVAL. */
int coro_ticker_init(coro_ticker *t, uint64_t period);

/*
 * coro_ticker_wait - sleep until the next tick. Ticks that have come meanwhile are not made up for,
 * but counted: *ticks (NULL: not wanted) is 1, and one more for each of them.
 *
 * Suspends.
 * Returns: CORO_OK; the tick is still to come: CORO_EINVAL if t was not initialized, and what else
 *          coro_sleep returns.
 */
int coro_ticker_wait(coro_ticker *t, uint64_t *ticks);

/*
 * coro_wake - give target a permit; if it is parked, it becomes runnable.
 *
 * Blocking: may make one system call when the target's worker sleeps.
 * Cost:     3 ns at home, one push to another worker's inbox elsewhere.
 * Returns:  CORO_OK: the permit is never lost; CORO_ESTALE; CORO_EOVERFLOW if target already has
 *           2^28 permits, those on their way counted: let it park before it is woken again.
 */
int coro_wake(coro_handle target);

/* coro_self - the handle of the current scheduled coroutine; 0 outside. */
coro_handle coro_self(void);

/*
 * coro_join - wait until target, spawned CORO_JOINABLE, has ended; copy result_bytes of its result
 * to result, unless it never started. The handle is stale afterwards.
 *
 * Suspends.
 * Returns: target is joined: CORO_OK; CORO_EABORTED; no result: CORO_EFAILED (coro_join_error has
 *          more), CORO_ECANCELED (it was canceled before it started, or was told of its cancel; see
 *          coro_cancel), CORO_ENOMEM (it never had a stack to run on).
 *          It can still be joined: CORO_ECANCELED (the caller was canceled while it waited),
 *          CORO_ENOWAIT, CORO_ENOMEM of a dense caller.
 *          It is not the caller's to join: CORO_ESTALE, CORO_EBUSY (another joins it), CORO_EINVAL
 *          (not joinable, the caller itself, or result_bytes over what it has), CORO_EPERM outside
 *          a scheduled coroutine.
 */
int coro_join(coro_handle target, void *result, size_t result_bytes);

/* coro_join_until - the same with a deadline. Returns: also CORO_ETIMEDOUT: target can still be
 * joined. */
int coro_join_until(coro_handle target, void *result, size_t result_bytes, uint64_t deadline);

/*
 * coro_join_error - with what the last coroutine has failed for which a call of the current one, a
 * join or coro_scope_wait, has met CORO_EFAILED: *code (if not NULL), and the text: at most
 * bytes - 1 bytes and a zero are copied. Of a Go body that has returned an error the code is
 * 0, and the text the error's. Where there is no memory, the code alone is kept, until the next
 * wait with a deadline.
 *
 * Returns: the length of the whole text; 0: there is none.
 */
size_t coro_join_error(int *code, char *text, size_t bytes);

/* coro_detach - nobody will join target. Returns: CORO_OK, CORO_ESTALE, CORO_EBUSY if another joins
 * it, CORO_EINVAL if it is not joinable. */
int coro_detach(coro_handle target);

/*
 * coro_cancel - tell one coroutine to end: the wait that it is in, or else each present and future
 * one, returns CORO_ECANCELED, so that its body ends through its own clean-up. A coroutine that has
 * not started ends unstarted, and its joiner gets CORO_ECANCELED.
 *
 * A body that was told of its cancel, by CORO_ECANCELED of a call or by coro_canceled, and then
 * returns or calls coro_exit, is canceled: its joiner gets CORO_ECANCELED and no result. If it has
 * done all the same what it was started for, it says so by coro_exit_finished. A body that was
 * never told has finished, and what it returns is its result. What deferred functions are told does
 * not count.
 *
 * A cancel cannot be taken back, and a second one changes nothing. It loses nothing: coro_park
 * still takes a permit that is there, and coro_join a result; what comes later is left where it is.
 * Children are not canceled. A coroutine that waits for a stack (coro_options.stack_limit) ends
 * when it is its turn.
 *
 * Blocking: may make one system call.
 * Cost:     as coro_wake.
 * Returns:  CORO_OK, or CORO_ESTALE if target has ended; with CORO_OK it may still end before it
 *           notices.
 */
int coro_cancel(coro_handle target);

/* coro_canceled - 1 if the current scheduled coroutine is canceled, by coro_cancel or by a close;
 * 0 otherwise, and outside. For bodies that compute for long without waiting. In a Call from Go, on
 * the goroutine's thread, nothing hears of the context until the body waits or yields: call
 * coro_yield before it there. Cost: about 1 ns. */
int coro_canceled(void);

/* coro_exit_finished - as coro_exit, and the coroutine has finished, even if it was told that it is
 * canceled: the joiner gets CORO_OK and the result. Returns: only outside a scheduled coroutine:
 * CORO_EPERM. */
int coro_exit_finished(void);

/*
 * coro_shield_begin, coro_shield_end - between the two a cancel is held off: for clean-up, which
 * tells others, waits for their answer, or calls Go. No call returns CORO_ECANCELED there, until
 * the deadline; from then on waits do, as outside, and the wait of that moment ends. coro_canceled
 * tells of the cancel as ever. A cancel of the scheduler (a close) is held off, too.
 *
 * Sections nest, and none lasts longer than the one around it. A section that is open when the body
 * ends holds for its deferred functions. The context of a Go function that coro_call_go calls there
 * does not end by the cancel, and has the section's deadline.
 *
 * Cost:    10 ns, the first time an allocation; each wait inside some 30 ns.
 * Returns: CORO_OK; CORO_EPERM outside a scheduled coroutine, and of an end without a begin;
 *          CORO_ENOMEM of a begin: no section was begun.
 */
int coro_shield_begin(uint64_t deadline);
int coro_shield_end(void);

#include "coro_body.h"
#include "coro_fork.h"
#include "coro_sync.h"
#include "coro_stream.h"
#include "coro_go.h"
#include "coro_scheduler.h"
#include "coro_buffer.h"
#include "coro_dispatch.h"

#ifdef __cplusplus
}
#endif

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#endif
