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
