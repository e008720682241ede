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

/*
 * coro_body.h - bodies with typed arguments and results, described for Go. A part of coro.h.
 */
#ifndef CORO_BODY_H
#define CORO_BODY_H

/* The argument type of a body without an argument, the result type of one without a result. The
 * argument's pointer is NULL then; the result's points to scratch. */
typedef struct coro_none {
	char unused;
} coro_none;

/*
 * coro_bytes - memory that a body borrows, as a member of its argument: in Go a coro.Bytes. n: its
 * bytes; at: NULL if there are none. It is the body's until the coroutine ends, and no longer: Go
 * keeps it where it is for that time (coro.Slice). Memory that C gives is C's own care.
 *
 * CORO_SLICE - the same for memory of n elements of a type: in Go a coro.Slice of that type.
 *
 *	CORO_SLICE(doubles, double);
 */
typedef struct coro_bytes {
	void *at;
	size_t n;
} coro_bytes;

#define CORO_SLICE(name, type)                \
	typedef struct coro_slice_of_##name { \
		type *at;                     \
		size_t n;                     \
	} name

/*
 * CORO_BRIEF - of a body: it is brief. Between two waits it takes some microseconds, it never
 * blocks its thread, and it needs nothing from the thread that woke it.
 */
#define CORO_BRIEF 8u

/* What CORO_BODY says of a body. Programs do not change it. */
struct coro_body_desc {
	uint64_t magic; /* CORO_BODY_MAGIC */
	coro_fn entry;
	const char *name;
	size_t stack_bytes; /* the least that the body needs; 0: the scheduler's default */
	uint32_t flags;     /* CORO_DENSE, CORO_BRIEF */
	uint16_t arg_bytes, arg_align;
	uint16_t result_bytes, result_align;
	uint32_t unused;
};

#define CORO_BODY_MAGIC UINT64_C(0x01ca80c0de0f6279) /* another one for another layout */

/*
 * CORO_BODY - define a body: a function that a coroutine runs, with the types of its argument and
 * of its result, of at most CORO_LARGE_BYTES bytes each. coro_none says that there is none.
 *
 *	CORO_BODY(add, struct add_arg, int64_t, CORO_BRIEF)
 *	{
 *		*result = arg->a + arg->b;
 *	}
 *
 * In the body arg is a struct add_arg *, and result an int64_t *. As of a coro_fn, arg points to
 * the coroutine's own copy, and result to zeros.
 *
 *   add        is the coro_fn, for coro_spawn and its like.
 *   add_body   is its struct coro_body_desc. Go is given its address, &C.add_body, and then refuses
 *              types of another size or alignment (coro.NewFunc).
 *   flags      0, CORO_DENSE, CORO_BRIEF or both. What starts the body in C does not look at them.
 *   Types      have a name without brackets: arrays and pointers to functions need a typedef. The
 *              alignment is at most 16.
 *
 * A type of more than CORO_INLINE_BYTES bytes makes the body large: Go alone starts it, and keeps
 * argument and result in memory of its own until the coroutine has ended (Func.Start, Func.Call and
 * their like). What coro_spawn starts has no such memory. So there add, as a coro_fn, does nothing
 * but to fail, as by coro_fail, with the code CORO_ETOOBIG. In C spawn a function that is given the
 * address of its memory; a body that Go starts may call the same.
 *
 * The body may do what any coro_fn may, call setjmp too. It takes one jump more where the compiler
 * does not put it into add.
 *
 * In C++, where exceptions are on, one that leaves the body ends it as coro_fail does, with the
 * code CORO_THREW and the text of what(), if it is a std::exception.
 *
 * CORO_BODY_STACK - the same for a body that needs stack_bytes of stack, CORO_STACK_MIN to
 * CORO_STACK_MAX, and is not dense. Go gives a coroutine as much; coro_spawn_attr goes by its
 * attributes alone.
 */
#define CORO_BODY(name, arg_type, result_type, flags) \
	CORO_BODY_STACK(name, arg_type, result_type, 0, flags)

#define CORO_BODY_STACK(name, arg_type, result_type, stack_bytes, flags)                        \
	CORO_DECLARE_BODY(name);                                                                \
	static void coro_typed_##name(arg_type *arg, result_type *result);                      \
	CORO_ASSERT_TYPE(arg_type, "the argument of " #name);                                   \
	CORO_ASSERT_TYPE(result_type, "the result of " #name);                                  \
	CORO_ASSERT(((flags) & ~(CORO_DENSE | CORO_BRIEF)) == 0,                                \
		    "the flags of " #name " are CORO_DENSE and CORO_BRIEF");                    \
	CORO_ASSERT((stack_bytes) == 0 || ((flags)&CORO_DENSE) == 0,                            \
		    #name " is dense: coro_options.shared_stacks sets the size of its stacks"); \
	CORO_ASSERT((stack_bytes) == 0 || ((size_t)(stack_bytes) >= CORO_STACK_MIN &&           \
					   (size_t)(stack_bytes) <= CORO_STACK_MAX),            \
		    "the stack of " #name " is from CORO_STACK_MIN to CORO_STACK_MAX");         \
	static CORO_UNUSED void coro_large_##name(void *arg, void *result)                      \
	{                                                                                       \
		CORO_CATCH(coro_typed_##name((arg_type *)arg, (result_type *)result))           \
	}                                                                                       \
	void name(void *arg, void *result)                                                      \
	{                                                                                       \
		if (CORO_IS_LARGE(arg_type, result_type)) {                                     \
			coro_fail(CORO_ETOOBIG, #name CORO_LARGE_TEXT);                         \
			return;                                                                 \
		}                                                                               \
		CORO_CATCH(coro_typed_##name((arg_type *)arg, (result_type *)result))           \
	}                                                                                       \
	struct coro_body_desc name##_body = {                                                   \
		CORO_BODY_MAGIC,                                                                \
		CORO_IS_LARGE(arg_type, result_type) ? coro_large_##name : name,                \
		#name,                                                                          \
		(size_t)(stack_bytes),                                                          \
		(uint32_t)(flags),                                                              \
		(uint16_t)CORO_BYTES_OF(arg_type),                                              \
		(uint16_t)CORO_ALIGN_OF(arg_type),                                              \
		(uint16_t)CORO_BYTES_OF(result_type),                                           \
		(uint16_t)CORO_ALIGN_OF(result_type),                                           \
		0};                                                                             \
	static void coro_typed_##name(CORO_UNUSED arg_type *arg, CORO_UNUSED result_type *result)

/* CORO_DECLARE_BODY - declare a body that another file defines, as in a header:
 * CORO_DECLARE_BODY(add); */
#ifdef __cplusplus
#define CORO_DECLARE_BODY(name)                        \
	extern "C" void name(void *arg, void *result); \
	extern "C" struct coro_body_desc name##_body
#else
#define CORO_DECLARE_BODY(name)             \
	void name(void *arg, void *result); \
	extern struct coro_body_desc name##_body
#endif

/* CORO_THREW - the code with which a body in C++ has failed (coro_fail) that an exception left. */
#define CORO_THREW (-1000)

/* The rest is for CORO_BODY alone. */

/* CORO_CATCH - make the call of a body. coro_fail comes after the handler: it does not return, and
 * the exception would be left behind. It returns outside a coroutine: the exception ends the
 * process there, as one that leaves a thread does. */
#ifdef __cpp_exceptions
#define CORO_CATCH(call)                                      \
	const char *coro_why = NULL;                          \
	try {                                                 \
		call;                                         \
		return;                                       \
	} catch (const std::exception &coro_e) {              \
		coro_why = coro_strdup(coro_e.what());        \
	} catch (...) {                                       \
		coro_why = "a C++ exception of another kind"; \
	}                                                     \
	coro_fail(CORO_THREW, coro_why);                      \
	std::terminate();
#else
#define CORO_CATCH(call) call;
#endif

/* A body that no coro_fn of C's can be: see CORO_BODY. */
#define CORO_IS_LARGE(arg_type, result_type)            \
	(CORO_BYTES_OF(arg_type) > CORO_INLINE_BYTES || \
	 CORO_BYTES_OF(result_type) > CORO_INLINE_BYTES)
#define CORO_LARGE_TEXT                                                                   \
	" has an argument or a result of more than CORO_INLINE_BYTES: only Go starts it." \
	" In C spawn a function that is given the address of its memory"

#define CORO_ASSERT_TYPE(type, what)                                                         \
	CORO_ASSERT(CORO_IS_TYPE(type), what " is coro_none, not void, if there is none");   \
	CORO_ASSERT(CORO_BYTES_OF(type) <= CORO_LARGE_BYTES,                                 \
		    what " has more bytes than CORO_LARGE_BYTES: give a coro_bytes, or the " \
			 "address of memory");                                               \
	CORO_ASSERT(CORO_ALIGN_OF(type) <= 16, what " is aligned to more than 16")

#ifdef __cplusplus
#define CORO_IS_TYPE(type)    (!__is_same(type, void))
#define CORO_BYTES_OF(type)   (__is_same(type, coro_none) ? 0 : sizeof(type))
#define CORO_ALIGN_OF(type)   alignof(type)
#define CORO_ASSERT(ok, text) static_assert(ok, text)
#else
#define CORO_IS_TYPE(type)    _Generic((type *)0, void * : 0, default : 1)
#define CORO_BYTES_OF(type)   _Generic((type *)0, coro_none * : (size_t)0, default : sizeof(type))
#define CORO_ALIGN_OF(type)   _Alignof(type)
#define CORO_ASSERT(ok, text) _Static_assert(ok, text)
#endif

#ifdef __GNUC__
#define CORO_UNUSED __attribute__((unused))
#else
#define CORO_UNUSED
#endif

#endif

/*
 * coro_fork.h - forks: calls that may run beside their caller. A part of coro.h. For work that is
 * divided in two, and again, until the parts are small: sorting, searching, trees, matrices.
 *
 *	static void fib(void *arg, void *result)
 *	{
 *		int64_t n = *(int64_t *)arg, a, b, left = n - 1, right = n - 2;
 *		coro_fork f;
 *
 *		if (n < 2) {
 *			*(int64_t *)result = n;
 *			return;
 *		}
 *		coro_fork_begin(&f, fib, &left, &a);
 *		fib(&right, &b);
 *		if (coro_fork_join(&f))
 *			coro_abort();
 *		*(int64_t *)result = a + b;
 *	}
 *
 * A fork that no other worker has taken is a call that its join makes. So a tree of forks is walked
 * in depth, on one stack, and a fork costs about five calls. A worker that has nothing to run takes
 * the oldest fork of another one. docs/fork.md tells when to fork, and what suspending costs.
 */
#ifndef CORO_FORK_H
#define CORO_FORK_H

#ifndef CORO_H
#error "include coro.h"
#endif

/* A fork, 64 bytes. It lies in its parent's frame, or wherever else it stays until the join. */
typedef struct coro_fork {
	coro_fn fn;
	void *arg, *result;
	/* the library's */
	uint64_t word;
	void *parent, *next, *before;
	uint64_t child;
} coro_fork;

/*
 * coro_fork_begin - fn(arg, result) may run from now on, beside the caller. It runs once, in a
 * coroutine of its own, at the latest in coro_fork_join.
 *
 * f, arg, result: memory that stays until coro_fork_join has returned, and that no other thread
 * writes meanwhile, but fn. result may be NULL.
 *
 * The coroutine that has begun a fork joins it, before the function that f lies in returns, in any
 * order. If it ends otherwise than by returning (coro_exit, coro_abort, coro_fail), its forks that
 * have not begun never do, those that run are canceled, and the end waits for them.
 *
 * When the child begins: as another worker takes it; after the caller has suspended, in a wait or a
 * yield of its own; after some ms in which only waits that end at once let others run; or in the
 * join. It begins with half of a stack at least. coro_self, locks, coro_defer, permits and errors
 * are the child's own, wherever it runs. It is neither pinned nor a daemon, has the default stack
 * size where it does not run on its parent's stack, and no coroutine but its parent can join it.
 *
 * Where no other worker may take the fork, the join calls fn: in a pinned coroutine, and in a
 * section (coro_nowait_begin, coro_finite_begin). In a dense coroutine, in one of another layer, and
 * on a thread that runs none, that is a plain call: fn is part of its caller.
 *
 * Thread: any. Blocking: never. Cost: about two calls; a spawn for each from the 1025th on that one
 * stack has begun, none of them joined.
 */
void coro_fork_begin(coro_fork *f, coro_fn fn, void *arg, void *result);

/*
 * coro_fork_join - wait until f's function has ended; call it, if it has not begun.
 *
 * Blocking: as f's function, which the join calls; if another worker has begun it, until it has
 *           ended. A cancel of the caller is one of the child, and the join waits for its end.
 * Returns:  CORO_OK: it has returned. CORO_EABORTED, CORO_EFAILED (coro_join_error tells more),
 *           CORO_ECANCELED: as coro_join. The function was not called: CORO_ECANCELED, as the caller
 *           was canceled before; CORO_ENOMEM: there was no record, or no stack to go on on. Not
 *           joined: CORO_EPERM: the fork is another coroutine's; CORO_ENOWAIT: another worker runs
 *           it, and the caller must not wait.
 * Cost:     about three calls more than f's function. Another worker runs it: a wait.
 */
int coro_fork_join(coro_fork *f);

/*
 * coro_for - fn(from, to, arg) for parts of [begin, end) that together are all of it, of at most
 * `grain` numbers each (less than 1: 1). The parts run one after the other, in order, as long as no
 * other worker has nothing to do; when one has, it takes the upper half of what is left.
 *
 * fn runs in the calling coroutine, and in forks: one that ends its coroutine ends the loop, and in
 * the caller's part the caller. Between two parts others of the worker may run, as in a wait that
 * ends at once.
 *
 * Thread:   any. Blocking: as fn, and as coro_fork_join.
 * Returns:  CORO_OK; or the status of the lowest part that did not return: then some numbers were
 *           perhaps left out. CORO_ECANCELED: the caller was canceled, as it is told between two
 *           parts. CORO_EINVAL: fn is NULL.
 * Cost:     a call for each part. After Tzannes, Caragea, Barua, Vishkin, "Lazy Binary-Splitting",
 *           PPoPP 2010.
 */
int coro_for(int64_t begin, int64_t end, int64_t grain,
	     void (*fn)(int64_t from, int64_t to, void *arg), void *arg);

#endif

/*
 * coro_sync.h - where coroutines and threads wait for each other. A part of coro.h.
 *
 * Semaphores, mutexes, reader-writer locks, conditions, latches, once and channels are shared by
 * coroutines of any scheduler and by threads that are no workers. A coroutine that waits is
 * suspended, a thread is blocked. Both are served in the order in which they came: a newcomer never
 * overtakes one that waits.
 *
 *   Memory       An object's memory is the user's (a channel's: coro_chan_new's). All zeros is a
 *                shared one, ready for use: an unlocked mutex, a semaphore without permits, a latch
 *                at zero. It must stay where it is while it is in use. Its memory may go when every
 *                call with it has returned; an unlock counts as returned once somebody else holds
 *                the mutex.
 *   Destroy      After _destroy every use is CORO_EINVAL. It is optional. It returns CORO_OK;
 *                CORO_EBUSY while others wait at the object or hold it; CORO_EINVAL; CORO_EPERM if
 *                the object belongs to a worker.
 *   Deadlines    Every call here that may wait for an object has one: CORO_FOREVER, a time of
 *                coro_now, or 0 for "do not wait". A wait that could end at once yields first, but
 *                with 0 or in a no-wait section, if such waits have gone on for 20 us in one turn
 *                and the worker has something else to run.
 *   Home         An object that was initialized with CORO_HOME, by a pinned coroutine
 *                (coro_attr.worker, coro_pin), belongs to that worker: only coroutines pinned there
 *                may use it (others: CORO_EPERM), and no atomic operation is made. Once its
 *                scheduler is closed, any thread may destroy or free it.
 *   Cancel       A wait that is canceled, or timed out, has taken nothing. What was given before
 *                the end is kept: then the call returns CORO_OK, and the next one CORO_ECANCELED.
 *   Thread       Any. In a coroutine that is resumed by hand or dispatched, and in a Go function
 *                that was called inline, nothing can wait, and no mutex, reader-writer lock or once
 *                can be taken at all: CORO_EPERM.
 *   Cost         5 to 10 ns where nothing is to be waited for, 2 to 4 ns at home, as coro_wake
 *                where one is woken.
 *   Returns      Every call with an object: CORO_OK; CORO_EINVAL if the object is NULL or was
 *                destroyed, or another argument is out of its range; CORO_EPERM if it belongs to
 *                another worker.
 *                What may wait, too: CORO_ETIMEDOUT (the deadline came first; with 0: it would have
 *                to wait), CORO_ECANCELED, CORO_ENOWAIT in a no-wait section, CORO_EPERM where
 *                nothing can wait, and of a dense coroutine CORO_ENOMEM, and CORO_EINVAL if the
 *                object lies on its stack.
 *                The calls below name only what they return besides these.
 */
#ifndef CORO_SYNC_H
#define CORO_SYNC_H

#ifndef CORO_H
#error "include coro.h"
#endif

#define CORO_HOME        1u /* in flags of an _init: bound to the current coroutine's worker */
#define CORO_PERMITS_MAX (UINT64_C(1) << 60)

/* A counted semaphore. */
typedef struct coro_sem {
	uint64_t words[6];
} coro_sem;

/* coro_sem_init - with a number of permits, at most CORO_PERMITS_MAX. Returns, as the other _init
 * calls: CORO_OK, CORO_EINVAL; with CORO_HOME also CORO_EPERM if the caller is not pinned. */
int coro_sem_init(coro_sem *s, uint64_t permits, uint32_t flags);

/* coro_sem_acquire - take a permit. Suspends. */
int coro_sem_acquire(coro_sem *s, uint64_t deadline);

/* coro_sem_release - give n permits, 1 or more. Returns: also CORO_EOVERFLOW over CORO_PERMITS_MAX:
 * nothing was given. */
int coro_sem_release(coro_sem *s, uint64_t n);
int coro_sem_destroy(coro_sem *s);

/*
 * A mutex. Its owner is a coroutine (wherever it runs) or a thread, which unlocks it, at the latest
 * before it ends. If a coroutine ends without that, the next lock returns CORO_EOWNERDEAD: the
 * caller holds the mutex, and can repair what it guards and call coro_mutex_consistent. If that
 * caller ends too, the next one is told. If it unlocks without that, the mutex is lost: every lock,
 * of those too that wait, is CORO_ENOTRECOVERABLE, and destroying it is all that is left. (That is
 * how the robust mutexes of POSIX behave.)
 *
 * The end of a coroutine tells the first of those that wait, at once. Without memory for a note of
 * that (some 64 bytes for two locks that are waited for), the first is told when the next call
 * locks, with whatever deadline. The end of a thread is never noticed.
 */
typedef struct coro_mutex {
	uint64_t words[6];
} coro_mutex;

int coro_mutex_init(coro_mutex *m, uint32_t flags);

/* coro_mutex_lock - Suspends. Returns: also CORO_EDEADLK: the caller holds it already;
 * CORO_EOWNERDEAD: the caller holds it now, and its last owner has ended; CORO_ENOTRECOVERABLE. */
int coro_mutex_lock(coro_mutex *m, uint64_t deadline);

/* coro_mutex_unlock - the first that waits owns it from then on. Returns: also CORO_EPERM: the
 * caller does not hold it. */
int coro_mutex_unlock(coro_mutex *m);

/* coro_mutex_consistent - after CORO_EOWNERDEAD: what m guards is in order again. Without that it
 * does nothing. Returns: also CORO_EPERM: the caller does not hold m. */
int coro_mutex_consistent(coro_mutex *m);

/* coro_mutex_destroy - also of a mutex that is lost, or whose owner has ended. */
int coro_mutex_destroy(coro_mutex *m);

/* A lock that many readers or one writer hold. Whatever comes after a writer that waits, waits
 * behind it. A writer is an owner, as of a mutex, and its end is noticed as there; readers are
 * counted only, and a reader that ends without unlocking leaves the lock read. After the end of a
 * writer, all that get the lock, for reading too, are told by CORO_EOWNERDEAD, until one that holds
 * it for writing has called coro_rwlock_consistent. A writer that was told and unlocks without that
 * loses the lock, as a mutex; a reader just unlocks. */
typedef struct coro_rwlock {
	uint64_t words[8];
} coro_rwlock;

int coro_rwlock_init(coro_rwlock *l, uint32_t flags);

/* coro_rwlock_read, coro_rwlock_write - Suspend. Return: also CORO_EDEADLK: the caller holds it for
 * writing; CORO_EOWNERDEAD: the caller holds it now, and a writer has ended; CORO_ENOTRECOVERABLE.
 * A reader that asks again, or to write, may wait without end behind a writer. */
int coro_rwlock_read(coro_rwlock *l, uint64_t deadline);
int coro_rwlock_write(coro_rwlock *l, uint64_t deadline);

/* coro_rwlock_unlock - Returns: also CORO_EPERM: nobody holds it, or another for writing. */
int coro_rwlock_unlock(coro_rwlock *l);

/* coro_rwlock_consistent - as coro_mutex_consistent. Returns: also CORO_EPERM: the caller does not
 * hold l for writing. */
int coro_rwlock_consistent(coro_rwlock *l);

/* coro_rwlock_destroy - also of a lock that is lost, or whose writer has ended. */
int coro_rwlock_destroy(coro_rwlock *l);

/* A condition variable. */
typedef struct coro_cond {
	uint64_t words[6];
} coro_cond;

int coro_cond_init(coro_cond *c, uint32_t flags);

/* coro_cond_wait - unlock m, wait for a signal, and lock m again. If the caller held m, it holds m
 * when the call returns, whatever it returns but CORO_ENOTRECOVERABLE, and CORO_EINVAL if m was
 * destroyed meanwhile. No wake-up is spurious.
 * Suspends. Returns: also CORO_EPERM: the caller does not hold m; CORO_EOWNERDEAD or
 * CORO_ENOTRECOVERABLE, as coro_mutex_lock, whatever has ended the wait. */
int coro_cond_wait(coro_cond *c, coro_mutex *m, uint64_t deadline);

/* coro_cond_signal - wake the first that waits, if any; coro_cond_broadcast - all of them. */
int coro_cond_signal(coro_cond *c);
int coro_cond_broadcast(coro_cond *c);
int coro_cond_destroy(coro_cond *c);

/* A latch: a count, and waits that end when it is zero (a wait group: once it is zero it may be
 * used again). */
typedef struct coro_latch {
	uint64_t words[6];
} coro_latch;

/* coro_latch_init - with a count, at most CORO_PERMITS_MAX. */
int coro_latch_init(coro_latch *l, uint64_t count, uint32_t flags);

/* coro_latch_add - change the count by n, which may be negative. Returns: also CORO_EINVAL if it
 * would be negative, CORO_EOVERFLOW over CORO_PERMITS_MAX: nothing was changed. */
int coro_latch_add(coro_latch *l, int64_t n);

/* coro_latch_wait - until the count is zero. Suspends. */
int coro_latch_wait(coro_latch *l, uint64_t deadline);
int coro_latch_destroy(coro_latch *l);

/* Something that is done once. All zeros: not yet. It belongs to no worker. */
typedef struct coro_once {
	uint64_t words[8];
} coro_once;

/*
 * coro_once_do - if no call has begun it, call fn(arg); else wait until that has returned. If fn
 * ends the coroutine instead of returning, the first that waits, or the next that comes, calls its
 * own fn. A thread must return from fn.
 *
 * Suspends.
 * Cost:    for a coroutine that calls fn, some 50 bytes of its arena (coro_malloc) as well.
 * Returns: also CORO_EDEADLK: from inside fn.
 */
int coro_once_do(coro_once *o, void (*fn)(void *), void *arg, uint64_t deadline);

/* coro_once_destroy - Returns: CORO_EBUSY while a function of it runs. */
int coro_once_destroy(coro_once *o);

/* ------------------------------------------------------------------------- channels, and select */

/*
 * A channel of values of one size, first in first out, closed as Go's are: a send to a closed one
 * fails, and receives get what is left in it first.
 */
typedef struct coro_chan coro_chan;

#define CORO_ELEMENT_MAX  ((size_t)64 << 10) /* most bytes of a value */
#define CORO_CAPACITY_MAX ((size_t)1 << 31)  /* most values */

/*
 * coro_chan_new - for values of element_bytes (0 to CORO_ELEMENT_MAX), with room for capacity of
 * them (up to CORO_CAPACITY_MAX); 0: a send waits for a receive. flags: CORO_HOME.
 *
 * Blocking: one allocation: 192 bytes and the room.
 * Returns:  CORO_OK and *out, CORO_EINVAL, CORO_ENOMEM; with CORO_HOME also CORO_EPERM if the
 *           caller is not pinned.
 */
int coro_chan_new(coro_chan **out, size_t element_bytes, size_t capacity, uint32_t flags);

/*
 * coro_chan_new_buffers - the same, for values with buffers (coro_buffer.h): buffers has a bit for
 * each word of a value that is a coro_buffer (coro_buffer_word). Such a value has at most 512 bytes.
 * A send makes the sender's handles stale; it may also return CORO_ESTALE and CORO_EBUSY. With any
 * error the sender owns them as before. coro_select makes the handles of all cases stale, and takes
 * back what it has not sent. Several of its cases may send the same buffer.
 */
int coro_chan_new_buffers(coro_chan **out, size_t element_bytes, size_t capacity, uint32_t flags,
			  uint64_t buffers);

/*
 * coro_chan_free - free it, and what is in it, when every other call with it has returned. NULL is
 * allowed.
 *
 * Returns: CORO_OK; CORO_EBUSY while others wait at it, or were served elsewhere by a coro_select
 *          that has not returned yet; CORO_EPERM if it was made by Go, which frees it, or belongs
 *          to another worker.
 */
int coro_chan_free(coro_chan *c);

/* coro_chan_send - send the value at *value. Suspends. Returns: also CORO_ECLOSED. With any error
 * nothing was sent. */
int coro_chan_send(coro_chan *c, const void *value, uint64_t deadline);

/* coro_chan_recv - receive one into *value. Suspends. Returns: also CORO_ECLOSED: it is closed, and
 * nothing is left. */
int coro_chan_recv(coro_chan *c, void *value, uint64_t deadline);

/* coro_chan_close - the waits at it end with CORO_ECLOSED, in the order in which they began.
 * Returns: also CORO_ECLOSED if it was closed already. */
int coro_chan_close(coro_chan *c);

/* coro_chan_length, coro_chan_capacity - values that are in it now (0 if the caller may not use
 * it), and at most. */
size_t coro_chan_length(coro_chan *c);
size_t coro_chan_capacity(const coro_chan *c);

/* coro_chan_element_bytes - the bytes of a value, as coro_chan_new was told, or as Go's type of the
 * values has. 0 if c is NULL. */
size_t coro_chan_element_bytes(const coro_chan *c);

/*
 * coro_chan_send_checked, coro_chan_recv_checked - coro_chan_send and coro_chan_recv of a variable
 * of variable_bytes (CORO_UNKNOWN_BYTES: not known). Where that is not the size of the channel's
 * values, nothing is copied: the call returns CORO_EINVAL, and writes a line to stderr that begins
 * with where. If the values have 0 bytes every variable does.
 *
 * Where CORO_DEBUG is defined before coro.h is included, in C, each coro_chan_send and
 * coro_chan_recv becomes such a call: with the size of what its pointer points to, or of the array
 * that it is given, and file and line. A pointer to void, or to characters, is not checked, nor is
 * coro_select. Without CORO_DEBUG nothing is checked, and nothing is paid.
 */
#define CORO_UNKNOWN_BYTES SIZE_MAX
int coro_chan_send_checked(coro_chan *c, const void *value, uint64_t deadline,
			   size_t variable_bytes, const char *where);
int coro_chan_recv_checked(coro_chan *c, void *value, uint64_t deadline, size_t variable_bytes,
			   const char *where);

#if defined(CORO_DEBUG) && !defined(__cplusplus)
#define CORO_LINE_TEXT(line) #line
#define CORO_LINE(line)      CORO_LINE_TEXT(line)
#define CORO_WHERE           __FILE__ ":" CORO_LINE(__LINE__)

/* CORO_VARIABLE_BYTES - of an array its size; of a pointer, the size of what it points to. */
#define CORO_VARIABLE_BYTES(p)                                                         \
	(!__builtin_types_compatible_p(__typeof__(p), __typeof__((p) + 0)) ? sizeof(p) \
	 : _Generic((p), void * : 1, const void * : 1, char * : 1, const char * : 1,   \
		    signed char * : 1, const signed char * : 1, unsigned char * : 1,   \
		    const unsigned char * : 1, default : 0)                            \
		 ? CORO_UNKNOWN_BYTES                                                  \
		 : sizeof *(p))

#define coro_chan_send(c, value, deadline) \
	coro_chan_send_checked(c, value, deadline, CORO_VARIABLE_BYTES(value), CORO_WHERE)
#define coro_chan_recv(c, value, deadline) \
	coro_chan_recv_checked(c, value, deadline, CORO_VARIABLE_BYTES(value), CORO_WHERE)
#endif

/* One of several operations: a send or a receive at a channel, or a wait at a descriptor
 * (coro_io.h) or a stream (coro_stream.h) until a direction is ready. */
typedef struct coro_case {
	union {
		coro_chan *chan;
		uint64_t fd; /* a coro_fd, where direction is of a descriptor */
		struct coro_stream *stream;
	};
	const void *send; /* the value to send; NULL: receive, or no channel */
	void *recv;       /* where to */
	int32_t status;   /* of the one that was done */
	/* 0: a channel; CORO_IN, CORO_OUT or CORO_REQUEST: of the descriptor; CORO_STREAM_IN or
	 * CORO_STREAM_OUT: of the stream */
	uint32_t direction;
} coro_case;

#define CORO_CASES_MAX 64

/*
 * coro_select - do one of n operations (1 to CORO_CASES_MAX), as soon as one can be done; among
 * several that can, a random one. An operation on a closed channel can: its status is CORO_ECLOSED.
 *
 * A descriptor can when its direction is ready, as coro_fd_wait has it; the caller then reads or
 * writes. The direction is in use during the call. Both directions of a descriptor may be waited
 * for, each once. A descriptor can, too, when it is closed: its status is CORO_ECLOSED, or
 * CORO_ESTALE as of all calls with an old name, or what the system says. CORO_REQUEST can, too,
 * with CORO_ECLOSED, when nothing has come and the connection's server ends. What an event has told
 * of while another operation was done is there for the next call with the descriptor.
 *
 * A stream can when the caller could read something, or write some bytes, or when a read or write
 * would find the end or an error. The direction is in use during the call.
 *
 * Suspends.
 * Thread:  any. With descriptors: a coroutine of their scheduler; with streams: a coroutine.
 * Cost:    about 10 ns a case, and 100 bytes of the stack a case, beside which 2 KiB must be left.
 *          With descriptors or streams 130 bytes a case, and a poll(2) for each descriptor before a
 *          wait and after it. With buffers to send an allocation.
 * Returns: the index of the one done, 0 to n - 1. None was done: CORO_ETIMEDOUT, CORO_ECANCELED,
 *          CORO_ENOWAIT, CORO_EPERM, CORO_EINVAL, CORO_ENOMEM (too little of the stack is left; of
 *          a dense coroutine: no memory). With descriptors or streams, whatever else could be done:
 *          CORO_EBUSY, another call, or another case, uses the direction; CORO_EPERM, the caller is
 *          no coroutine of the descriptor's scheduler. With buffers to send, whatever else could be
 *          done: CORO_ESTALE and CORO_EBUSY of one of them, CORO_ENOMEM. And what has failed as the
 *          worker began to watch one (CORO_ERRNO of coro_io.h): then no operation could be done at
 *          once.
 */
int coro_select(coro_case *cases, uint32_t n, uint64_t deadline);

/* ----------------------------------------------------------------------------------------
 * scopes */

/*
 * Scopes: children that do not outlive the coroutine that opened the scope. When one of them ends
 * by coro_abort, the others are canceled. When the owner ends, in whatever way, the children that
 * are left are canceled, and joined before its memory goes.
 */
typedef struct coro_scope coro_scope;

#define CORO_SCOPE_BYTES 32 /* most bytes of arg of a child in a scope */

/*
 * coro_scope_new - a scope in the current coroutine's arena; it ends with the coroutine.
 *
 * Thread:  a scheduled coroutine.
 * Returns: CORO_OK and *out, CORO_EPERM, CORO_ENOMEM, CORO_EINVAL.
 */
int coro_scope_new(coro_scope **out);

/*
 * coro_scope_spawn - coro_spawn_attr of a child in the scope: 0 to CORO_SCOPE_BYTES of argument,
 * and no result. attr may be NULL.
 *
 * A child without attributes is a fork (coro_fork.h, which tells when it begins): so a scope at each
 * node of a tree is walked in depth, on few stacks. One with attributes, and any child of an owner
 * that is pinned, dense or in a section, is a coroutine that is queued at once.
 *
 * Thread:   the scope's owner.
 * Blocking: as coro_spawn.
 * Cost:     as coro_fork_begin and a lock; where the child is queued, as coro_spawn_attr.
 * Returns:  CORO_OK; nothing was spawned: CORO_ECANCELED if the scope was canceled, or a child has
 *           aborted, CORO_EPERM if the caller is not the owner, CORO_EINVAL, CORO_ENOMEM.
 */
int coro_scope_spawn(coro_scope *s, const coro_attr *attr, coro_fn fn, const void *arg,
		     size_t arg_bytes);

/*
 * coro_scope_cancel - as coro_cancel for each child, until the next coro_scope_wait.
 *
 * Thread:   any, while the owner is alive.
 * Blocking: may make one system call a child.
 * Returns:  CORO_OK, CORO_EINVAL.
 */
int coro_scope_cancel(coro_scope *s);

/*
 * coro_scope_wait - wait until all children have ended; then the scope is as new. If the owner is
 * canceled meanwhile, so are the children, and it waits for their end.
 *
 * Thread:  the scope's owner.
 * Suspends.
 * Returns: CORO_OK if all children have returned; else what coro_join tells of the first that has
 *          not: CORO_EABORTED, CORO_EFAILED (coro_join_error tells of the first one that failed),
 *          CORO_ENOMEM (it has not begun), CORO_ECANCELED (also if the owner was canceled). The
 *          order is that of spawning, with those that were canceled last. It has not waited:
 *          CORO_ENOWAIT, CORO_EPERM if the caller is not the owner, CORO_EINVAL.
 */
int coro_scope_wait(coro_scope *s);

/* ------------------------------------------------------------------------------ no-wait
 * sections */

/*
 * coro_nowait_begin - from here to coro_nowait_end the current coroutine must not be suspended: for
 * code that counts on no other having run on its worker meanwhile, or that calls what it does not
 * know. where names the section in reports; it must stay until the end, as a literal or __func__
 * does. Sections nest; the outermost counts, and is named.
 *
 * In a section a call that would suspend returns CORO_ENOWAIT, has done nothing, and is reported:
 * coro_yield, coro_switch_to, coro_spawn_first, coro_sleep, coro_ticker_wait, coro_pin to another
 * worker, coro_blocking, coro_thread_begin, coro_scope_wait and calls into Go always; coro_park,
 * coro_join and what waits at an object if what they want is not there at that moment. With a
 * deadline of 0 these do what they always do. The section ends with the coroutine, before its
 * deferred functions: that is reported too.
 *
 * Thread:  a scheduled coroutine.
 * Cost:    1 ns; other coroutines pay nothing.
 * Returns: CORO_OK, CORO_EPERM, CORO_EINVAL if where is NULL. coro_nowait_end: CORO_OK, CORO_EPERM
 *          if no section is open.
 */
int coro_nowait_begin(const char *where);
int coro_nowait_end(void);

/*
 * coro_finite_begin - a no-wait section that lets waits through which have a bound: for code that
 * must not wait for what may never come, as it holds what others need.
 *
 * In such a finite-wait section these calls do what they always do: those that were given a
 * deadline other than CORO_FOREVER, whether that comes soon or late; coro_yield, coro_switch_to and
 * coro_spawn_first; coro_pin; coro_sleep and coro_ticker_wait. All others that would suspend return
 * CORO_ENOWAIT as in a no-wait section, and are reported: those without a deadline (coro_park,
 * coro_join, coro_scope_wait, coro_serve, and coro_pread and its like where the page cache has not
 * what is wanted), and those that wait for a function of the user's (coro_blocking,
 * coro_thread_begin, calls into Go). coro_cond_wait with a deadline may then wait for its mutex
 * without one.
 *
 * The section stays the coroutine's while it waits, and moves with it. Sections of both kinds nest
 * in each other: while a no-wait section is open, it is what counts.
 *
 * Thread:  a scheduled coroutine.
 * Cost:    1 ns, and some ns for each wait in a section; other coroutines pay nothing.
 * Returns: as coro_nowait_begin and coro_nowait_end.
 */
int coro_finite_begin(const char *where);
int coro_finite_end(void);

/* What was done where it must not be. */
typedef struct coro_nowait_report {
	const char *where; /* of the section */
	const char *call;  /* the function: "coro_park"; or "the end" */
	coro_fn fn;        /* of the coroutine */
	uint32_t worker;
	uint32_t finite; /* 1: the section is one of coro_finite_begin; 0: of coro_nowait_begin */
} coro_nowait_report;

typedef void (*coro_nowait_hook)(const coro_nowait_report *);

/* coro_nowait_on_error - for the whole process, what is called instead of writing a line to stderr,
 * in the call itself, so that a debugger or a stack trace shows it. NULL: the line. The hook must
 * not wait. Returns the hook before; NULL: the line. */
coro_nowait_hook coro_nowait_on_error(coro_nowait_hook hook);

/* ------------------------------------------------------------------------------ calls that
 * block */

/*
 * coro_blocking - a thread of the scheduler's pool calls fn(arg), while the caller is suspended and
 * its worker goes on with others: for calls that keep their thread waiting, or compute for long. In
 * fn the calls of this header do what they do on any thread that is no worker. Threads are made as
 * they are needed, up to coro_options.blocking_threads, and end after 5 s without work; further
 * calls wait for one of them. A thread's stack has 512 KiB.
 *
 * Suspends.
 * Cost:    two threads are woken: some us, more where the thread is to be made or the CPU sleeps;
 *          docs/waiting.md has figures.
 * Returns: CORO_OK after fn has returned. fn was not called: CORO_ECANCELED (a call that has begun
 *          is waited for), CORO_EAGAIN if there is no thread and none can be had, CORO_EINVAL,
 *          CORO_ENOWAIT, CORO_EPERM outside a scheduled coroutine, CORO_ENOMEM of a dense one.
 */
int coro_blocking(void (*fn)(void *), void *arg);

/*
 * coro_thread_begin - continue on a thread of that pool, with the caller's own stack, until
 * coro_thread_end: for a stretch of code with several calls that block. Meanwhile the caller is no
 * coroutine for the calls of this header, but a thread that is no worker: coro_sleep and the like
 * return CORO_EPERM, and locks that it holds cannot be given back. A caller that ends comes back
 * first.
 *
 * Suspends.
 * Cost:    as coro_blocking.
 * Returns: CORO_OK on that thread. Nothing has changed: CORO_ECANCELED, CORO_EAGAIN, CORO_ENOWAIT,
 *          CORO_EPERM outside a scheduled coroutine, or of a dense one.
 */
int coro_thread_begin(void);

/* coro_thread_end - continue on a worker. Suspends. Returns: CORO_OK, CORO_EPERM without
 * coro_thread_begin. */
int coro_thread_end(void);

/*
 * coro_unblock_signals - call fn(arg) on the calling thread, with the signal mask that the process
 * was started with: for a fn that starts programs, by posix_spawn, popen, system, or fork and exec.
 * A program inherits the mask of the thread that starts it. The threads of workers and of
 * coro_blocking block all signals but faults and two of Go's: a program that is started there
 * without this call ignores SIGTERM, SIGINT and SIGPIPE.
 *
 * fn must return, and must not wait: it is a no-wait section. A SIGPIPE that an earlier write to a
 * broken pipe has left pending on the thread is dropped. A signal that comes meanwhile may be
 * handled on this thread: by Go's handlers on its signal stack, by a handler without SA_ONSTACK on
 * the caller's stack.
 *
 * Thread:   any.
 * Blocking: as fn does. To start a program takes about a millisecond: do it in coro_blocking.
 * Cost:     three or four system calls, about 1 us.
 * Returns:  CORO_OK after fn has returned; CORO_EINVAL if fn is NULL.
 */
int coro_unblock_signals(void (*fn)(void *), void *arg);

#endif

/*
 * coro_stream.h - streams of bytes between Go and C, and between coroutines. A part of coro.h.
 *
 * A stream has two ends, and each end two directions. What is written at one end is read at the
 * other, in order. Each direction holds a number of bytes at most: a write waits for room, a read
 * for bytes. One end of a stream that Go has made (coro.NewStream) is Go's, an io.Reader and an
 * io.Writer. The other end is C's: an argument of a body.
 *
 *   Ends         A direction is ended by its writer, and refused by its reader: coro_stream_close.
 *                The other end is told a code. A reader gets what was written before first.
 *   Memory       An end is its user's until coro_stream_free. The bytes of a direction are
 *                allocated by its first write, and freed once both ends have closed it, or
 *                with the stream, if a call used it then.
 *   Thread       Any, of any scheduler. One call reads and one writes at an end at a time.
 *   Deadlines, Cancel  As in coro_sync.h. With a deadline of 0 a call does what can be done at
 *                once.
 *   Cost         Some ns and the copy, where nothing is to be waited for. A reader that waits is
 *                woken by the first bytes; a writer that waits, when half of the room is free, or
 *                room for all that it has left.
 */
#ifndef CORO_STREAM_H
#define CORO_STREAM_H

#ifndef CORO_H
#error "include coro.h"
#endif

/* One end of a stream. */
typedef struct coro_stream coro_stream;

#define CORO_STREAM_BYTES_MAX ((size_t)1 << 30)

/* The directions of an end: in coro_stream_close, and in a coro_case. */
#define CORO_STREAM_IN  0x101u
#define CORO_STREAM_OUT 0x102u

/*
 * coro_stream_new - a stream with the ends *a and *b. Each direction has room for `bytes`, rounded
 * up to a power of two (1 to CORO_STREAM_BYTES_MAX).
 *
 * Blocking: one allocation, of some hundred bytes.
 * Returns:  CORO_OK, CORO_EINVAL, CORO_ENOMEM.
 */
int coro_stream_new(coro_stream **a, coro_stream **b, size_t bytes);

/*
 * coro_stream_free - give an end up, when every other call with it has returned. What it has not
 * closed is closed with CORO_ECANCELED. NULL is allowed. Nobody may use the end afterwards.
 *
 * Returns: CORO_OK; CORO_EBUSY: another call with the end goes on. Then the end is closed, and not
 *          given up.
 */
int coro_stream_free(coro_stream *s);

/* coro_stream_drop - coro_stream_free for coro_defer. */
void coro_stream_drop(void *stream);

/*
 * coro_stream_read - read up to `bytes` as soon as there are any. Suspends. Nothing is waited for
 * if bytes is 0: then 0 is returned.
 *
 * Returns: the number of bytes; 0: the end, which the writer has closed with code 0. Below 0: the
 *          code of the writer; CORO_ECLOSED, this end has closed the direction; CORO_EBUSY, another
 *          call reads here; CORO_ETIMEDOUT, CORO_ECANCELED, CORO_ENOWAIT, CORO_EPERM, CORO_ENOMEM,
 *          CORO_EINVAL as in coro_sync.h.
 */
int64_t coro_stream_read(coro_stream *s, void *buffer, size_t bytes, uint64_t deadline);

/*
 * coro_stream_write - write all of `bytes`. Suspends.
 *
 * Returns: the number of bytes: all; or fewer, if the call ended after some were written. Below 0,
 *          and nothing was written: the code of the reader, which has closed the direction;
 *          CORO_ECLOSED, the reader has closed it with code 0, or this end has; CORO_EBUSY, another
 *          call writes here; CORO_ENOMEM, also for the bytes of the direction; and the others of
 *          coro_stream_read.
 */
int64_t coro_stream_write(coro_stream *s, const void *buffer, size_t bytes, uint64_t deadline);

/*
 * coro_stream_close - close CORO_STREAM_IN, CORO_STREAM_OUT or both (`|`) at this end. The calls
 * that wait here, or at the other end, end. A direction that this end has closed before is not
 * changed.
 *
 * code: what the other end is told. 0: reads find the end, writes CORO_ECLOSED. Below 0: both
 * return the code, in Go an error: of CORO_OF_ERRNO (coro_io.h) a syscall.Errno.
 *
 * Blocking: never. Returns: CORO_OK, CORO_EINVAL.
 */
int coro_stream_close(coro_stream *s, uint32_t directions, int code);

#endif

/*
 * coro_go.h - calls into Go, and coroutines with a Go body. A part of coro.h.
 *
 * Only a scheduler that Go has made has a Go side; elsewhere these calls return CORO_EINVAL.
 */
#ifndef CORO_GO_H
#define CORO_GO_H

#ifndef CORO_H
#error "include coro.h"
#endif

/* Names a Go function that was exported by coro.ExportFunc, to be called, or by coro.ExportBody, to
 * be started. An id never names another function. 0 is never one. */
typedef uint32_t coro_go_id;

/* coro_go_function - the function exported under a name by coro.ExportFuncNamed; 0: none. Cost:
 * looks through the names, so ask once. */
coro_go_id coro_go_function(const char *name);

/*
 * coro_call_go - a goroutine calls a Go function, while the caller is suspended. The function may
 * block, for as long as it likes, and do what any Go code may. A cancel of the caller or of the
 * scheduler does not end a call that has begun: it ends the function's context.
 *
 * arg, arg_bytes:       exactly the bytes of its Go argument type; any number for a []byte, which
 *                       gets a copy.
 * result, result_bytes: room for its result; NULL and 0: the result is not wanted.
 * got:                  how many bytes the result has, whatever is returned; NULL: not wanted.
 *
 * Suspends.
 * Cost:    some hundred ns while calls keep coming, tens of us to wake what sleeps; docs/calls.md
 *          has figures.
 * Returns: CORO_OK; CORO_EFAILED if the function returned an error, panicked, or ended its
 *          goroutine; CORO_ETOOBIG if the result is larger than result_bytes: nothing was written,
 *          and if its size is fixed, the function was not called.
 *          The function was not called: CORO_EINVAL if id names none, arg_bytes is not the
 *          argument's size (*got then has that size), or the scheduler was not made by Go;
 *          CORO_ECANCELED if the caller or its scheduler was canceled before; CORO_ENOWAIT;
 *          CORO_EPERM outside a scheduled coroutine; CORO_ENOMEM of a dense one.
 */
int coro_call_go(coro_go_id id, const void *arg, size_t arg_bytes, void *result,
		 size_t result_bytes, size_t *got);

/*
 * coro_call_go_inline - the same, but this worker's thread calls the function, on its own stack.
 *
 * For short functions that do not block: no channel, lock, file or network that may keep them
 * waiting. All coroutines of this worker wait meanwhile. There is no current coroutine: where a
 * call of this header needs one, it returns CORO_EPERM to the function. A function that ends its
 * goroutine (runtime.Goexit, FailNow of a test) ends the process.
 *
 * Suspends.
 * Cost:    50 to 100 ns if this one alone calls, about as much as a thread's callback; 15 to 40 ns
 *          each if many do.
 * Returns: as coro_call_go.
 */
int coro_call_go_inline(coro_go_id id, const void *arg, size_t arg_bytes, void *result,
			size_t result_bytes, size_t *got);

/*
 * coro_call_error - the text of the current coroutine's last call that returned CORO_EFAILED: of
 * the error, or "panic: " with the value, and after an empty line the Go stack. At most bytes - 1
 * of it are copied to text, and a zero.
 *
 * Returns: the length of the whole text; 0: there was none, or no memory for it.
 */
size_t coro_call_error(char *text, size_t bytes);

/*
 * coro_deadline - the deadline of the Go context that the current coroutine was started with
 * (StartContext, or a Group), for waits that are to end in time. In a shield section it is the
 * section's, until that is over. CORO_FOREVER: there is none. A coroutine that a C body has spawned
 * inherits none. Of a dispatched one, one resumed by hand, and outside: CORO_FOREVER.
 *
 * Cost: 2 ns; in a shield section 20 to 50.
 */
uint64_t coro_deadline(void);

/*
 * coro_cancel_cause - why the current coroutine is canceled: the text of the Go context's cause
 * (context.Cause), if the coroutine was started with one that has ended; else "coro: canceled". At
 * most bytes - 1 of it are copied to text, and a zero. It tells the body of the cancel, as
 * coro_canceled does. Where there is no memory, and in a no-wait section, the text is "coro:
 * canceled".
 *
 * Suspends, if Go knows the coroutine; no cancel ends that.
 * Thread:  a scheduled coroutine.
 * Cost:    that of coro_call_go.
 * Returns: the length of the whole text; 0: the coroutine is not canceled.
 */
size_t coro_cancel_cause(char *text, size_t bytes);

/*
 * coro_spawn_go - start a coroutine whose body is a Go function, in the current scheduler. It runs
 * later, on a goroutine. It is woken, joined and canceled as any other, and may wait and do what
 * any Go code may. It is no daemon (CORO_DAEMON).
 *
 * id:             from coro.ExportBody.
 * arg, arg_bytes: exactly the bytes of its Go argument type.
 * out:            the child's handle, which is then to be joined or detached; coro_join gets the
 *                 result, or CORO_EFAILED if the function returned an error, panicked or ended its
 *                 goroutine. NULL: nobody waits for it.
 *
 * Where the Go types have a coro.Buffer (coro_buffer.h), those of the argument pass to the
 * function, and those of the result to the caller of coro_join. With an error of coro_spawn_go the
 * caller owns them as before.
 *
 * Thread:   a scheduled coroutine.
 * Blocking: may map 2 MiB, and make one system call if all goroutines sleep.
 * Cost:     about 50 ns, and 2 us of a goroutine.
 * Returns:  CORO_OK; CORO_EINVAL if id names no such function, arg_bytes is not the argument's
 *           size, or the scheduler was not made by Go; CORO_ENOMEM; CORO_EPERM; of an argument with
 *           buffers CORO_ESTALE and CORO_EBUSY. In a scheduler that is being canceled the child
 *           ends unstarted.
 */
int coro_spawn_go(coro_go_id id, const void *arg, size_t arg_bytes, coro_handle *out);

#endif

/*
 * coro_scheduler.h - schedulers: made, run, looked at and closed. A part of coro.h.
 *
 * A scheduler is in one of two modes. In service mode its workers run whatever is spawned, at once.
 * In run mode (CORO_PAUSED) spawned coroutines wait for coro_scheduler_run.
 */
#ifndef CORO_SCHEDULER_H
#define CORO_SCHEDULER_H

#ifndef CORO_H
#error "include coro.h"
#endif

typedef struct coro_options {
	uint32_t size;  /* sizeof(coro_options), or 0 */
	uint32_t flags; /* CORO_PAUSED, CORO_NO_LENDING, CORO_MAIN_WORKER, and for tests two more */
	/* 0: one per core this process may use; at most CORO_WORKERS_MAX */
	uint32_t workers;
	/* most coroutines one steal takes, 1 to 64; 0: 32. 1 is "steal one" */
	uint32_t steal_batch;
	/* wake-ups run ahead of the queue in a row; 0: for 10 to 40 us; -1: none, pure FIFO */
	int32_t handover_budget;
	uint32_t stack_cache; /* idle stacks of each size a worker keeps, at most 65536; 0: 64 */
	size_t stack_bytes;   /* default stack; 0: CORO_STACK_DEFAULT */
	/* cap on bytes of stacks; 0: none. At the cap idle ones give way, and starting waits, until
	 * a coroutine ends; where none ever can, what waits ends with CORO_ENOMEM */
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
	size_t buffer_limit;       /* cap on bytes of buffers (coro_buffer.h); 0: none */
} coro_options;

/*
 * Dedicated workers (coro_options.dedicated) are numbered after the others. One runs only what was
 * sent there (coro_attr.worker, coro_pin), what those spawn, and what wakes up there: it steals
 * nothing, nothing is stolen from it, and no other spawn lands there. So what lives there waits for
 * nobody else, and keeps nobody else waiting: an event loop, a sound card's buffer, a library that
 * wants all calls from one thread. In all else it is a worker like any other.
 */

#define CORO_PAUSED        1u  /* run mode: nothing runs before coro_scheduler_run */
#define CORO_NO_MEMBARRIER 2u  /* use an exchange in every door, as where membarrier is refused */
#define CORO_NO_STANDBY    4u  /* for tests: no timed look-around while others work */
#define CORO_NO_LENDING    8u  /* what Go starts and wakes runs on the workers' own threads alone */
#define CORO_MAIN_WORKER   16u /* the last dedicated worker is run by coro_scheduler_host */

/*
 * coro_scheduler_init - make a scheduler and its worker threads. opt may be NULL.
 *
 * Thread:   any but a worker.
 * Blocking: until the threads have started.
 * Returns:  CORO_OK and *out, CORO_EPERM on a worker, CORO_EINVAL, CORO_ENOMEM, CORO_EAGAIN.
 */
int coro_scheduler_init(coro_scheduler **out, const coro_options *opt);

/*
 * coro_scheduler_spawn - start fn from any thread; attr and out may be NULL.
 *
 * Blocking: for a mutex that all threads share that spawn so in s; the holder may map 2 MiB, and
 *           make one futex call to wake a worker.
 * Cost:     20 to 60 ns.
 * Returns:  CORO_OK, CORO_EINVAL, CORO_ENOMEM, CORO_ECLOSED.
 */
int coro_scheduler_spawn(coro_scheduler *s, const coro_attr *attr, coro_fn fn, const void *arg,
			 size_t arg_bytes, coro_handle *out);

/*
 * coro_scheduler_run - run mode: let the workers run until nothing can happen any more, then pause
 * them.
 *
 * Thread:   any but a worker; one at a time.
 * Blocking: until the end.
 * Returns:  CORO_OK when every coroutine has ended but daemons (CORO_DAEMON); CORO_EDEADLK when
 *           others are left that nothing can wake (coro_scheduler_blocked lists them; a wake and
 *           another run may free them); CORO_EPERM on a worker or in service mode; CORO_EBUSY if it
 *           runs already; CORO_ECLOSED; CORO_EINVAL if s is NULL.
 */
int coro_scheduler_run(coro_scheduler *s);

/*
 * coro_scheduler_wait - service mode: wait until every coroutine has ended but daemons
 * (CORO_DAEMON). New work may be spawned meanwhile and is waited for too. Daemons may wait for
 * whatever they like, time and Go too; while one runs, the end is not told.
 *
 * Thread:   any but a worker.
 * Blocking: until then.
 * Returns:  CORO_OK, CORO_EPERM on a worker or in run mode, CORO_EINVAL if s is NULL.
 */
int coro_scheduler_wait(coro_scheduler *s);

/*
 * coro_scheduler_host - the calling thread is the main worker from now on: the last dedicated one
 * of a scheduler with CORO_MAIN_WORKER, in service mode. So what was sent there runs on a thread of
 * the caller's, such as the main thread of the process, on which some libraries want to be called.
 * Other threads may host the worker later. While no thread does, what was sent there waits.
 *
 * Once a close has begun no thread begins to host. One that hosts goes on until the worker ends.
 * Where none does, what is left runs on a thread of the scheduler's: so leave after the end.
 *
 * Thread:   any but a worker. Its signal mask and CPUs stay. Coroutines see its thread-local
 *           variables.
 * Blocking: until coro_scheduler_host_leave is called, or the scheduler is closed. While all sleep,
 *           in the scheduler's driver.
 * Returns:  CORO_OK, the caller is no worker any more; CORO_EBUSY: another thread hosts;
 *           CORO_ECLOSED; CORO_EPERM on a worker, or without CORO_MAIN_WORKER; CORO_EINVAL if s is
 *           NULL.
 */
int coro_scheduler_host(coro_scheduler *s);

/*
 * coro_scheduler_host_leave - have coro_scheduler_host return, between two coroutines; if no thread
 * hosts, the next one returns at once.
 *
 * Thread:   any.
 * Blocking: for a mutex. It does not wait for that return, which may take 50 us, and as long as
 *           a coroutine computes.
 * Returns:  CORO_OK, CORO_EPERM without CORO_MAIN_WORKER, CORO_EINVAL if s is NULL.
 */
int coro_scheduler_host_leave(coro_scheduler *s);

/*
 * Kinds of waits, each with its name: X(identifier, letter, name). coro_wait_name, coro_blocked and
 * debuggers read this one table.
 */
#define CORO_WAIT_KINDS(X)                            \
	X(PARK, 'p', "park")                          \
	X(JOIN, 'j', "join")                          \
	X(FORK, 'f', "fork")                          \
	X(CALL, 'g', "call")                          \
	X(SLEEP, 't', "sleep")                        \
	X(BLOCKING, 'b', "blocking call")             \
	X(SEMAPHORE, 's', "semaphore")                \
	X(MUTEX, 'm', "mutex")                        \
	X(READ, 'r', "read lock")                     \
	X(WRITE, 'w', "write lock")                   \
	X(CONDITION, 'c', "condition")                \
	X(LATCH, 'l', "latch")                        \
	X(ONCE, 'o', "once")                          \
	X(SEND, '>', "send")                          \
	X(RECEIVE, '<', "receive")                    \
	X(STREAM_READ, 'R', "stream read")            \
	X(STREAM_WRITE, 'W', "stream write")          \
	X(SELECT, '?', "select")                      \
	X(SELECT_FD, 'S', "select with a descriptor") \
	X(INPUT, 'I', "input")                        \
	X(OUTPUT, 'O', "output")

enum coro_wait_kind {
#define CORO_WAIT_KIND(identifier, letter, name) CORO_WAIT_##identifier = letter,
	CORO_WAIT_KINDS(CORO_WAIT_KIND)
#undef CORO_WAIT_KIND
};

/* coro_wait_name - the name of a kind of wait, as in "park"; "unknown" if there is no such kind.
 * Never NULL. Thread: any. */
const char *coro_wait_name(uint32_t kind);

/* A coroutine that waits: what coro_scheduler_blocked reports. */
typedef struct coro_blocked {
	coro_handle handle; /* for information: it can be stale by the time it is read */
	coro_fn fn; /* of a child of a scope the child's; of a turn of an actor its behaviour */
	uint32_t worker; /* its home */
	uint32_t waits;  /* CORO_WAIT_PARK... */
	uint32_t daemon; /* 1: it is a daemon */
} coro_blocked;

/*
 * coro_scheduler_blocked - the waiting coroutines, at most cap of them into list, daemons last.
 * What leads the calls of a CallN of Go, and waits for them, is not one of them.
 *
 * Thread:   any but a worker.
 * Blocking: for some locks.
 * Cost:     looks at every record; stops each worker for as long.
 * Returns:  how many there are; 0 on a worker, or of a closed scheduler.
 */
size_t coro_scheduler_blocked(coro_scheduler *s, coro_blocked *list, size_t cap);

/* A function, and how many coroutines of it have reached a worker and not ended. */
typedef struct coro_function_count {
	coro_fn fn; /* as in coro_blocked */
	uint64_t live;
	uint64_t unstarted; /* of them, that have not started */
} coro_function_count;

/*
 * coro_scheduler_functions - the functions of the coroutines that live, at most cap of them into
 * list, in no order, each with its count. Coroutines with a Go body are not among them; children of
 * scopes, turns of actors and calls of a CallN are from their start on.
 *
 * Thread:   any but a worker.
 * Blocking: for some locks.
 * Cost:     looks at every record and all that is queued; stops each worker for as long.
 * Returns:  how many functions are in list; cap + 1 if there are more, which are not counted. 0 on
 *           a worker, or of a closed scheduler.
 */
size_t coro_scheduler_functions(coro_scheduler *s, coro_function_count *list, size_t cap);

/*
 * coro_scheduler_close - take no more work, wait until every coroutine has ended, join the threads,
 * free the stacks. Daemons are canceled when all others have ended, and with them what they spawn
 * then. A paused scheduler drops what never started.
 *
 * With cancel: what has not started ends unstarted, and every present and future wait returns
 * CORO_ECANCELED, so that bodies end through their own clean-up. A body that never returns keeps
 * close waiting. Another call waits for the first one to finish; it may add cancel.
 *
 * Thread:   any but a worker.
 * Blocking: until then.
 * Returns:  CORO_OK, CORO_EPERM on a worker, CORO_EINVAL if s is NULL.
 */
int coro_scheduler_close(coro_scheduler *s, int cancel);

/*
 * coro_scheduler_destroy - close with cancel if it is still open, then free everything. Handles of
 * s must not be used any more. NULL is allowed.
 *
 * Thread:   any but a worker.
 * Blocking: as coro_scheduler_close.
 * Returns:  CORO_OK, CORO_EPERM on a worker.
 */
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
	uint64_t missed;       /* tries to steal that got nothing */
	uint64_t parks;        /* times it went to sleep */
	uint64_t remote_wakes; /* wake-ups that came from other threads */
	uint64_t queued;       /* in its queue now */
	int32_t tid;           /* its Linux thread id; of the main worker that of its host */
	int32_t cpu;           /* the CPU it is pinned to, or -1 */
} coro_worker_stats;

typedef struct coro_stats {
	uint32_t workers, awake;
	/* coroutines that came to be, and that ended, since the start, those with a Go body too */
	uint64_t spawned, ended;
	/* of those that ended: by coro_fail or coro_abort; and unstarted, as there
	 * was no stack and none could come, as they were canceled, and as the scheduler was */
	uint64_t failed;
	uint64_t unstarted_no_stack, unstarted_canceled, unstarted_closed;
	/* coroutines with a Go body, since the start, and alive */
	uint64_t go_spawned, go_live;
	/* what will bring work by itself: calls into Go, calls that block, and workers that sleep
	 * until a deadline */
	uint64_t outside;
	uint64_t live;                /* coroutines that have entered and not ended */
	uint64_t daemons;             /* of them, daemons */
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
	/* the threads of coro_blocking and coro_thread_begin, those of them that are idle, and what
	 * waits for one */
	uint32_t blocking_threads, blocking_idle, blocking_queued;
	uint64_t inline_calls; /* calls into Go made on workers */
	/* times that a thread has stood in for a worker that slept; about how long in all, ns, by
	 * one of them in 64; and the longest of these */
	uint64_t lends, lent_ns, lent_most_ns;
	/* times that a coro_serve has not accepted for a while, since there was no descriptor or no
	 * memory */
	uint64_t accept_pauses;
	/* buffers (coro_buffer.h) that were made in this scheduler, and that were freed, since the
	 * start; and the bytes of the memory of those that are not */
	uint64_t buffers_made, buffers_freed, buffer_bytes;
	int32_t membarrier; /* 1: doors are asymmetric, 0: they use an exchange */
	int32_t guard;      /* 1: MADV_GUARD_INSTALL, 0: mprotect */
} coro_stats;

/*
 * coro_scheduler_stats - fills *total, and of per_worker (if not NULL) the first cap.
 *
 * Thread:   any. No worker is stopped.
 * Blocking: for locks that workers take when they run out of stacks or records in hand, and for
 *           coro_scheduler_trim and coro_scheduler_blocked on other threads.
 * Cost:     100 to 300 ns for each worker.
 * Returns:  CORO_OK, CORO_EINVAL if s or total is NULL.
 */
int coro_scheduler_stats(coro_scheduler *s, coro_stats *total, coro_worker_stats *per_worker,
			 uint32_t cap);

/*
 * coro_scheduler_trim - give idle stacks, empty chunks of records and what queues have grown to
 * back to the kernel.
 *
 * Thread:   any but a worker.
 * Blocking: system calls.
 * Cost:     stops each worker for some us.
 * Returns:  bytes given back.
 */
size_t coro_scheduler_trim(coro_scheduler *s);

#endif

/*
 * coro_buffer.h - memory with one owner at a time, which may pass from C to Go and back. A part of
 * coro.h.
 *
 * A buffer is a handle of 8 bytes, by index and generation, of memory that the library keeps. Who
 * has made it owns it, and either frees it or sends it on: in the argument or the result of a
 * coroutine, in a value of a channel, or in a message to an actor (coro_actor.h) or its answer, in
 * words that were declared to hold buffers.
 * Nothing is copied. A send makes the sender's handle stale, and the receiver gets another one. A
 * send that fails changes nothing: the sender owns the buffer as before. What nobody receives is
 * freed by the library.
 *
 *   Stale     Every call with a handle that was sent, freed, or never made is CORO_ESTALE, but
 *             of those of actors CORO_EINVAL. After
 *             2^40 owners of the same descriptor a handle that old may name a buffer again.
 *   Address   coro_buffer_at tells where the bytes are. The address is the owner's until the
 *             buffer is sent, freed or resized; nothing can tell who keeps it for longer. With
 *             AddressSanitizer a use of freed memory is reported.
 *   Contents  The bytes of a new buffer are what was there before.
 *   End       A buffer may outlive the scheduler that it was made in, and counts there.
 *   Thread    Any; one owner at a time.
 */
#ifndef CORO_BUFFER_H
#define CORO_BUFFER_H

#ifndef CORO_H
#error "include coro.h"
#endif

/* A handle of a buffer. All zeros are none. */
typedef struct coro_buffer {
	uint64_t id;
} coro_buffer;

#define CORO_BUFFER_MAX ((size_t)1 << 40) /* most bytes of a buffer */

/* Which words of a payload hold buffers: the i-th 8 bytes are a coro_buffer if bit i is set, as
 * coro_buffer_word(offsetof(struct message, image)). */
#define coro_buffer_word(offset) (UINT64_C(1) << (offset) / 8)

/*
 * coro_buffer_make - make a buffer of so many bytes, which counts in the scheduler of the current
 * coroutine; coro_buffer_make_on - which counts in s.
 *
 * Thread:   a scheduled coroutine; of _make_on any.
 * Cost:     some 10 ns up to 64 KiB; more where the worker has none in hand, and beyond: memory is
 *           mapped then. _make_on takes a lock.
 * Returns:  CORO_OK and *out; CORO_ENOMEM, also at coro_options.buffer_limit; CORO_EINVAL if out or
 *           s is NULL, or bytes over CORO_BUFFER_MAX; CORO_EPERM outside a scheduled coroutine.
 */
int coro_buffer_make(size_t bytes, coro_buffer *out);
int coro_buffer_make_on(coro_scheduler *s, size_t bytes, coro_buffer *out);

/* coro_buffer_free - the end of the buffer. Cost: as coro_buffer_make. Returns: CORO_OK;
 * CORO_ESTALE; CORO_EBUSY while Go uses the buffer. */
int coro_buffer_free(coro_buffer b);

/* coro_buffer_at - the address of the bytes, aligned to 64, and in *bytes (if not NULL) how many
 * there are. NULL and 0: the handle is stale. Cost: some ns. */
void *coro_buffer_at(coro_buffer b, size_t *bytes);

/*
 * coro_buffer_resize - the buffer has so many bytes from now on; what it had of them stays, and
 * more is what was there before. Addresses of before are not valid any more. A buffer that becomes
 * smaller keeps its memory.
 *
 * Cost:    a few ns where its memory is large enough: a power of two up to 64 KiB, and pages
 *          beyond. Otherwise a buffer is made, and the bytes are copied.
 * Returns: CORO_OK; CORO_ESTALE, CORO_EBUSY, CORO_EINVAL, CORO_ENOMEM: nothing was changed.
 */
int coro_buffer_resize(coro_buffer b, size_t bytes);

/* coro_buffer_cut - keep the bytes from `from` up to `to`, which are moved to the front. Returns:
 * CORO_OK, CORO_ESTALE, CORO_EBUSY, CORO_EINVAL if not from <= to <= its bytes. */
int coro_buffer_cut(coro_buffer b, size_t from, size_t to);

#endif

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

#ifdef __cplusplus
}
#endif

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#endif
