/*
 * cbody.h - the C side of the experiments: bodies of coroutines, and whole loops that are timed in
 * C.
 *
 * Nothing here is reentrant: one experiment runs at a time, and keeps its state in the file's
 * statics. A body that sees a call fail leaves the first bad status in cb_status, which is asked
 * for after the run.
 */
#ifndef CBODY_H
#define CBODY_H

#if defined(__has_include)
#if !__has_include(<gmp.h>)
#error "gmp.h is missing: install libgmp-dev: apt-get install libgmp-dev"
#endif
#endif

#include "coro.h"

#include <stdint.h>
#include <time.h>

/* cb_fail - keep status if it is the first that is not CORO_OK. cb_take_status - it, and forget it.
 * Where all goes well it is a comparison: what is measured has nothing of it. */
void cb_failed(int status);
int cb_take_status(void);

static inline void cb_fail(int status)
{
	if (__builtin_expect(status != CORO_OK, 0))
		cb_failed(status);
}

/* cb_clock_ns - a clock. cb_now_ns - the monotonic one. cb_thread_ns - CPU time of the calling
 * thread: where a thread never waits, that is its time on a machine where nothing else runs.
 * cb_waits - times in ns, one for each of up to CB_WAITS. */
int64_t cb_clock_ns(clockid_t clock);
int64_t cb_now_ns(void);
int64_t cb_thread_ns(void);
#define CB_WAITS 10000
extern int64_t cb_waits[CB_WAITS];

/* ------------------------------------------------------------------------- switch.c, ucontext.c
 * Time in ns for the given number of round trips (two switches each), and of laps round a ring.
 * Negative: a status. The ring of coro is cb_yield_start with as many members. */
int64_t cb_coro_pair(int64_t round_trips);
int64_t cb_ucontext_pair(int64_t round_trips);
int64_t cb_ucontext_ring(int64_t members, int64_t laps);

/* ------------------------------------------------------------------------------------ ladder.c
 * cb_ladder - the lives of n coroutines, each suspended once, on stacks of `bytes`; ten divides n.
 * ns of the thread's CPU time, or a status. cb_ladder_run_loop (arg: int64_t, n; result: int64_t,
 * such ns) is the last rung, on one worker. */
enum {
	CB_LADDER_NEW_STACK,
	CB_LADDER_REUSED_STACK,
	CB_LADDER_MALLOC,
	CB_LADDER_CALLOC,
	CB_LADDER_REUSED_CALLOC,
	CB_LADDER_NO_MASK,
	CB_LADDER_NO_FP
};
int64_t cb_ladder(int64_t rung, int64_t bytes, int64_t n);
void cb_ladder_run_loop(void *arg, void *result);

/* ------------------------------------------------------------------------------------- yield.c
 * cb_yield_start (arg: struct cb_yield) spawns `members` coroutines on its own worker. Each yields
 * until all have started, and then `yields` times. The clock runs from when the last of them has
 * started to when the last has made its yields: members * yields, and the members - 1 that were
 * under way. For one worker. */
struct cb_yield {
	int64_t members, yields;
	int64_t extra; /* bytes of stack that each uses besides */
	int64_t dense; /* not 0: they are dense */
};
void cb_yield_start(void *arg, void *result);
int64_t cb_yield_ns(void);

/* ------------------------------------------------------------------------------------- spawn.c
 * cb_empty does nothing. cb_spawn_empty (arg: int64_t) spawns that many of it. */
void cb_empty(void *arg, void *result);
void cb_spawn_empty(void *arg, void *result);

/* ------------------------------------------------------------------------- fib.c, spin.c, job.c A
 * job is n times one task, a plain C function of one number. cb_job_start (arg: struct cb_job)
 * spawns them all as coroutines with stacks of stack_bytes; cb_job_plain calls them in a loop;
 * cb_job_threads lets new threads do fixed shares of them, or take them one by one from a shared
 * counter, and returns a status. cb_job_one does one task of the job of the last cb_job_begin.
 * cb_job_bad is how many of the tasks since the last call had a
 * wrong result, plus n for each that is missing. */
typedef uint64_t (*cb_task)(uint64_t size);
enum { CB_FIB = 0, CB_SPIN = 1 };
struct cb_job {
	int64_t n, stack_bytes, kind;
	uint64_t size, want; /* the task's argument, and its right result */
};
void cb_spin_body(void *arg, void *result); /* arg: int64_t, steps of cb_spin */
/* the n-th Fibonacci number modulo 2^64, computed in full; 32 divides n */
uint64_t cb_fib(uint64_t n);
uint64_t cb_fib_check(uint64_t n); /* the same, computed modulo 2^64 by plain addition */
/* steps of a linear congruential generator, each waiting for the last */
uint64_t cb_spin(uint64_t steps);
void cb_job_start(void *arg, void *result);
void cb_job_plain(const struct cb_job *job);
void cb_job_begin(const struct cb_job *job);
void cb_job_one(void);
int cb_job_threads(const struct cb_job *job, int64_t threads, int fixed);
int64_t cb_job_bad(int64_t n);

/* ----------------------------------------- forkserial.c, forkspawn.c, forkscope.c, forkfork.c
 * A load of forkload.h, one of FJ_FIB and so on, of this size, done `laps` times (1 or more), the
 * first of them untimed if there are more: cb_fork_serial in plain C, the others (arg: struct
 * cb_fork, result: struct cb_forked) with a coroutine for each child, joined by its handle or by a
 * scope, or with a fork for each; cb_fork_for has FJ_MANDEL alone, by coro_for. cb_fork_children:
 * how many children the load has in a lap; 0: it was not counted. */
struct cb_fork {
	uint32_t load, size, laps;
};
struct cb_forked {
	int64_t ns;   /* of a lap; negative: no memory, or unequal checksums */
	uint64_t sum; /* the checksum of a lap */
};
struct cb_forked cb_fork_serial(const struct cb_fork *f);
void cb_fork_spawn(void *arg, void *result);
void cb_fork_scope(void *arg, void *result);
void cb_fork_fork(void *arg, void *result);
void cb_fork_for(void *arg, void *result);
uint64_t cb_fork_children(const struct cb_fork *f);

/* -------------------------------------------------------------------------------- forkbeside.c
 * cb_forks_body (arg: struct cb_forks, result: struct cb_forks_done) has Fibonacci of n by forks,
 * one child in `every` sleeping for CB_FORKS_NAP (0: none), or a chain of n forks, one inside the
 * other; of n = 0 it sleeps for CB_FORKS_NONE. CB_FORKS_BESIDE: beside two coroutines that yield
 * and one that sleeps for CB_FORKS_NAP at a time. */
enum { CB_FORKS_BESIDE = 1, CB_FORKS_CHAIN = 2 };
enum { CB_FORKS_NAP = 1000000, CB_FORKS_NONE = 300000000 }; /* ns */
struct cb_forks {
	int64_t n, every, flags;
};
struct cb_forks_done {
	int64_t ns, sum;
	int64_t gap_ns;                /* the longest between two turns of one that yields */
	int64_t late_ns, late_mean_ns; /* of the sleeper */
};
void cb_forks_body(void *arg, void *result);

/* -------------------------------------------------------------------------------------- call.c
 * cb_callbacks is the time in ns of n calls of an empty Go function by a new thread. cb_calls calls
 * a Go function of an int64_t, which adds 1, n times; cb_call_once (arg: coro_go_id) once,
 * offloaded, and its result is the time in ns. */
int64_t cb_callbacks(int64_t n);

/* cb_wakes - a new thread wakes a goroutine n times, each after a pause. One caller at a time. */
int cb_wakes(int64_t n, int64_t pause_ns);
struct cb_calls {
	coro_go_id id;
	uint32_t offload;
	int64_t n;
};
void cb_calls(void *arg, void *result);
void cb_call_once(void *arg, void *result);

/* ------------------------------------------------------------------------------------ border.c
 * cb_nothing does nothing. cb_echo (arg: struct cb_echo) sends each int64_t of one channel back
 * through another, until the first is closed. cb_call_asleep (arg: struct cb_asleep) makes n
 * offloaded calls of a Go function, each after a pause. The function is given the time just before
 * the call, and returns how long ago that was; cb_waits has that. cb_children (arg: struct
 * cb_children) spawns n children, CB_CHILDREN at most, and joins them. Each child makes `steps`
 * steps of cb_spin. The result is the time of all that in ns, int64_t. cb_children_plain is the
 * loop without children. One body at a time. cb_buffers (arg: int64_t) makes and frees that many
 * buffers of 64 bytes, one after the other. */
#define CB_CHILDREN 1000
struct cb_children {
	int64_t n, steps;
};
void cb_children(void *arg, void *result);
void cb_buffers(void *arg, void *result);
int64_t cb_children_plain(const struct cb_children *a);
struct cb_echo {
	uintptr_t requests, answers;
};
struct cb_asleep {
	coro_go_id id;
	int64_t n, pause_ns;
};
void cb_nothing(void);
void cb_echo(void *arg, void *result);
/* the same; not declared brief */
void cb_echo_plain(void *arg, void *result);
void cb_call_asleep(void *arg, void *result);

/* -------------------------------------------------------------------------------------- chan.c
 * cb_chan_start sends n values through a channel from one coroutine, pinned to worker 0, to
 * another, pinned to `receiver`; the result is the time in ns, int64_t. CB_PAIR: each is sent back
 * before the next. CB_SELECT: by turns to two channels, and the receiver selects. cb_chan_send and
 * cb_chan_recv (arg: struct cb_flow) are one side of it, with Go on the other: the numbers from 0,
 * or, `timed`, the time of each, one after each pause; cb_chan_recv keeps in cb_waits how long it
 * was under way. */
enum { CB_ONE_WAY = 0, CB_PAIR = 1, CB_SELECT = 2 };
struct cb_chan {
	int64_t n;
	uint32_t capacity, flags; /* of the channel: CORO_HOME */
	uint32_t receiver, kind;
};
struct cb_flow {
	uintptr_t channel;
	int64_t n, pause_ns, timed;
};
void cb_chan_start(void *arg, void *result);
void cb_chan_send(void *arg, void *result);
void cb_chan_recv(void *arg, void *result);

/* -------------------------------------------------------------------------------------- fair.c
 * cb_fair_open makes n actors, each with a channel of 64 tokens, and steps of arithmetic for each
 * token; a status. A coroutine is one of them: cb_fair_busy (arg: struct cb_fair *) passes each
 * token on to `to`, until the channels are closed (cb_fair_stop); cb_fair_newcomer takes one token,
 * and stores when. cb_fair_crier (arg: struct cb_crier) sends a token to the first of each pair.
 * cb_fair_actors (no argument) makes them actors instead, without channels: each takes one token as
 * a newcomer does, unless its `to` is a number, or CB_COUNTS: it counts its tokens, and passes none
 * on. cb_fair_yields (arg: uint32_t *) yields until that is not 0. cb_sleep_until: a time of
 * cb_now_ns. */
struct cb_fair {
	coro_chan *in;
	uint64_t self;           /* a coro_actor; 0: it is a coroutine */
	uint64_t steps, handled; /* tokens; of a newcomer: when, ns */
	uint32_t to;
} __attribute__((aligned(128)));
#define CB_NEWCOMER  UINT32_MAX
#define CB_FAIR_LONG 10000 /* steps of arithmetic: some 10 us; a behaviour of more is not brief */
#define CB_COUNTS    (UINT32_MAX - 1)
struct cb_crier {
	uint32_t first, pairs;
};
void cb_sleep_until(int64_t ns);
int cb_fair_open(uint32_t n, uint64_t steps);
void cb_fair_stop(void);
void cb_fair_close(void);
struct cb_fair *cb_fair_at(uint32_t i);
int cb_fair_send(uint32_t to, uint64_t token);
void cb_fair_busy(void *arg, void *result);
void cb_fair_newcomer(void *arg, void *result);
void cb_fair_crier(void *arg, void *result);
void cb_fair_actors(void *arg, void *result);
void cb_fair_yields(void *arg, void *result);

/* ------------------------------------------------------------------------------------- actor.c
 * cb_actor_start (arg: struct cb_actors) makes the actors of a program, and starts it; result:
 * int64_t, ns until its end. CB_FJTHRPUT, of actors that are brief or not, is only made:
 * cb_actor_outside sends n messages to each of its actors, from the calling thread, `batch` at a
 * time, CB_BATCH at most; ns. cb_actor_idle (arg: struct cb_idle) makes n actors, each of which
 * gets `burst` messages; cb_actor_woken: how many they have had. */
enum { CB_ACTORS = 100, CB_BIG = 120, CB_FORKS = 60, CB_BATCH = 64 };
enum {
	CB_PINGPONG,
	CB_COUNTING,
	CB_THREADRING,
	CB_BIG_ONE,
	CB_CHAMENEOS,
	CB_FANIN,
	CB_FJTHRPUT,
	CB_FJTHRPUT_BRIEF
};
struct cb_actors {
	int64_t program, n;
};
struct cb_idle {
	int64_t n, burst;
};
void cb_actor_start(void *arg, void *result);
int64_t cb_actor_outside(int64_t n, int64_t batch);
void cb_actor_idle(void *arg, void *result);
int64_t cb_actor_woken(void);

/* --------------------------------------------------------------------------------------- ask.c
 * cb_ask_start (arg: struct cb_asks) asks eight actors n times each; result: int64_t, ns. worker:
 * theirs, as coro_actor_spawn_on has it. */
enum cb_ask_how { CB_ASK_EACH, CB_ASK_LEND, CB_ASK_ALL };

struct cb_asks {
	int32_t how;
	uint32_t worker;
	int64_t n;
};

void cb_ask_start(void *arg, void *result);

/* -------------------------------------------------------------------------------------- sync.c
 * cb_uncontended (arg: struct cb_sync) takes and gives back a mutex or a semaphore n times.
 * cb_ring_start has n members, CB_RING in each ring, each with a semaphore of its own; in each ring
 * one token makes so many laps. Results: int64_t, ns. One worker. */
enum { CB_MUTEX = 0, CB_SEMAPHORE = 1, CB_RING = 8 };
struct cb_sync {
	int64_t n, laps;
	uint32_t flags, kind;
};
void cb_uncontended(void *arg, void *result);
void cb_ring_start(void *arg, void *result);

/* ------------------------------------------------------------- ring.c, ringpool.c, ringthread.c
 * Rings: each member waits for its own event and posts its neighbour's, `rounds` times. An event
 * counts. CB_RINGS_STRICT: there is one token in each ring, and not one for each member.
 * CB_RINGS_LIFO: a ring is started when the one before has ended.
 *
 * Of coroutines: cb_rings_open says which. cb_rings_start (arg: uint64_t, a worker's number; one
 * for each of `workers`) starts all members of that worker's rings there; cb_rings_ready counts
 * those that have. cb_rings_fire then lets all rings go, and cb_rings_ns is how long they took,
 * when all have ended. Of coroutines of a pool of dispatchers, CORO_DISPATCH_RR, _LL or _GQ:
 * cb_ring_pool_open, cb_ring_pool_start, cb_ring_pool_ready and cb_ring_pool_fire do the same, and
 * the last of them waits for the end; ns, or a status. Of threads: cb_ring_threads_open starts all,
 * cb_ring_threads_fire lets them go and joins them; ns, or a status. */
enum { CB_RINGS_STRICT = 1, CB_RINGS_LIFO = 2 };
struct cb_rings {
	uint64_t rings;
	uint32_t members, rounds;   /* of a ring, of a member */
	uint32_t extra;             /* bytes of stack that each member uses besides */
	uint32_t flags, attr_flags; /* the latter: with which members are spawned */
	uint32_t workers;           /* for threads: 1 is one CPU, more are all */
};
/* room for the handle or id of each member, or why there is none */
int cb_rings_ids(const struct cb_rings *r, uint64_t **out);
/* also gets and touches memory for handles, so that it is not counted */
int cb_rings_open(const struct cb_rings *r);
void cb_rings_close(void);
void cb_rings_start(void *arg, void *result);
uint32_t cb_rings_ready(void);
int cb_rings_fire(void);
int64_t cb_rings_ns(void);
int cb_ring_pool_open(const struct cb_rings *r);
void cb_ring_pool_close(void);
int cb_ring_pool_start(uint32_t policy);
uint32_t cb_ring_pool_ready(void);
int64_t cb_ring_pool_fire(void);
int cb_ring_threads_open(const struct cb_rings *r);
int64_t cb_ring_threads_fire(void);

/* ------------------------------------------------------------------------------------- timer.c
 * cb_timers_start: n coroutines wait for permits, if `deadlines` with one that does not come, and
 * each is woken once in every round, and waits again: so many arms and disarms. Result: int64_t,
 * the ns of all rounds. One worker. cb_late_start: n sleep at worker `sleepers`, the first for
 * ahead_ns, each next one apart_ns longer, while worker 0 is busy; cb_waits: how late each was. */
struct cb_timers {
	int64_t n, rounds, deadlines;
};
struct cb_late {
	int64_t n, ahead_ns, apart_ns;
	int64_t sleepers;
};
void cb_timers_start(void *arg, void *result);
void cb_late_start(void *arg, void *result);

/* ------------------------------------------------------------------------------------- block.c
 * cb_block_start (arg: int64_t) has an empty function called by coro_blocking so often; result:
 * int64_t, ns. cb_block_nap (arg: int64_t) has one called that sleeps for so many ns. cb_handoff:
 * as many round trips of two threads with a condition variable each; ns, or negative. */
void cb_block_start(void *arg, void *result);
void cb_block_nap(void *arg, void *result);
int64_t cb_handoff(int64_t n);

/* ------------------------------------------------------------------------------------ memory.c
 * cb_park writes its handle down and parks, cb_wake_all (arg: int64_t) wakes the first so many. The
 * list is allocated and touched by cb_park_open, so that it is not counted. */
int cb_park_open(int64_t n);
void cb_park_close(void);
void cb_park(void *arg, void *result);
void cb_wake_all(void *arg, void *result);
int64_t cb_parked(void); /* that have come to their coro_park */
int64_t cb_woken(void);  /* that have come back from it */

/* ------------------------------------------------------------------------------------ stream.c
 * cb_stream_echo (arg: a coro_stream *) and cb_stream_echo_fd (arg: a coro_fd) write back what they
 * read, in blocks of CB_STREAM_BLOCK at most, until the end. */
#define CB_STREAM_BLOCK 65536
void cb_stream_echo(void *arg, void *result);
void cb_stream_echo_fd(void *arg, void *result);

#endif
