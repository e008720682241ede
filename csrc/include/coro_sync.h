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
