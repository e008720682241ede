/*
 * lend.h - a thread inside a call by Go lends itself to a worker that sleeps.
 *
 * The problem: what Go starts or wakes is a worker's, and its thread sleeps. To wake a thread costs
 * as much as a thousand switches, and the calling goroutine then waits for the answer. So the
 * caller does not wake that thread: it becomes the worker, runs what is there for it to run, and
 * gives the worker back. A worker owns a door, a queue, stacks and magazines. A thread has a CPU.
 * As with a P and an M of Go, any thread may bring the one to the other; one at a time may be the
 * worker.
 *
 *      own thread   asleep in SLP5 .....................................  asleep, or woken by LND9
 *      lender            LND1 to LND3 | LND4, the coroutine runs | LND5 to LND8
 *      worker       asleep          |        lent                    |  asleep
 *
 * A lend is for a call of one coroutine (coroi_lend_call), for brief functions (brief.h) that a
 * call of Go's has woken (coroi_lend_woken), or for a brief task (coroi_task_lend, task.h). Nothing
 * else runs on a thread that is lent: no coroutine that has awaited a stack, either.
 *
 *   LND1  take an awake token for the worker (WKW2 of idle.c), and then look at `refusing` and at
 *         the mode. A lender thus counts as a worker that is awake. Close and destroy wait for it
 *   LND2  clear the sleeper's bit (WKW3). If another thread has cleared it, or s refuses: give the
 *         token back, and there is no lend
 *   LND3  ev is SLEEPS (acquire): the worker's own thread has done SLP4, and uses nothing of the
 *         worker until it has cleared the bit, or was woken. Else it is on its way to sleep, and
 *         may be in its door: LND9, and there is no lend
 *   LND4  be the worker: set the thread's variables, and `lent` in the door. While that is set no
 *         fast path is taken, and coroi_lend_pick_locked chooses what runs. Deliver the wake for
 *         which the thread lends itself, if any: WKC3 of wait.c
 *   LND5  in the door, leave the worker. If anything is left for it to do: LND9. Anything is what
 *         SLP2 looks for, calls to be made inline, coroutines that await a stack, and since LND4
 *         deadlines that have come or gone, the first wait for something from outside or the end of
 *         the last, and the first or the last thing that the driver watches: the own thread sleeps
 *         with another token then, or in another bed
 *   LND6  set the sleeper's bit: SLP1
 *   LND7  look once more: the inbox, the queue, `next`, undelivered spawns, the mode, `awaited`;
 *         and whether others are awake without a standby, and something lies with one of them. All
 *         loads are sequentially consistent, and none is in the door, where another lender may be
 *         by now. If there is something: clear the bit again, and LND9. If another thread has
 *         cleared it, that thread is the owner: give the token back
 *   LND8  give the token back: SLP4
 *   LND9  wake the worker's own thread, which gets the token: WKW4
 *
 * The own thread may come back from its sleep by itself meanwhile: a deadline has come, or it is
 * the standby. Then it takes a token and clears its bit (coroi_rise in idle.c):
 *
 *   OWN1  the bit was set: nobody is the worker. The own thread is awake
 *   OWN2  the bit was clear: another thread has claimed the worker, or lends itself. The own thread
 *         gives its token back, is standby and reserve no longer, and lets another worker look
 *         around if none does. It sets `awaited`, and looks at the bit once more. If that is set by
 *         now: OWN1 again. Else it sleeps until it is woken
 *
 * A standby whose time-out finds its worker lent only resigns, and wakes another worker: a standby
 * looks at the other workers, and so not at what lies behind its own worker's lender.
 *
 * OWN2 writes `awaited` and then reads the bit; LND6 writes the bit and then LND7 reads `awaited`;
 * all sequentially consistent. So the lender sees that it is awaited, or the own thread sees the
 * bit.
 *
 * Two are never the worker at once. The one that has cleared the bit is: a lender (LND2), a
 * claimer, which passes the worker on to the own thread (WKW4, LND9), or the own thread (OWN1).
 * From SLP1 to SLP5 the own thread enters its door with its bit set; ev is not SLEEPS then, and
 * LND3 stops the lender. LND7 enters no door.
 *
 * Nothing is left lying. Others publish their change before they read the bit: WKW1 before WKW2, a
 * thief's or a canceler's change of the queue before SLP6. LND6 comes before LND7. So they see the
 * bit, and claim, or LND7 sees what they have done.
 *
 * From within an inline call, a call of a coroutine runs on the worker that makes the inline call.
 * That worker is in Go (INL3 of gocall.h): its thread is the caller's, and runs nothing. The steps
 * are LND4, the coroutine and LND5, and the thread stays the worker. All other steps are between
 * threads, and so not there. The worker need not be idle: what it has queued waits, as it does
 * during any inline call. Its list of calls is laid aside: the calls of what runs meanwhile are
 * offloaded, but for those of the coroutine itself, which the caller makes. Without this, calls
 * that nest (Go, C, Go, C) would each hold a worker, and with the last one all would wait for each
 * other.
 *
 * What belongs to a thread is the lender's, and is not changed: signal mask, alternate signal
 * stack, errno, floating-point environment, thread-local variables of C libraries.
 *
 * Never lent: dedicated workers; workers for which there has been a pinned coroutine, but to their
 * own threads; those of a scheduler with CORO_PAUSED, CORO_NO_LENDING or cpus; any worker, by a
 * thread that is another worker.
 *
 * Memory: after LND8 a lender touches the scheduler once more, if that was the last token. The
 * caller of coroi_lend_call keeps the scheduler alive. coroi_lend_woken is counted among the wakers
 * for which coro_scheduler_destroy waits (wait.c).
 */
#ifndef COROI_LEND_H
#define COROI_LEND_H

#include "border/policy.h"
#include "kernel/hooks.h"
#include "kernel/worker.h"

/* How a lend has come out. Below 0: an error, and nothing was started. */
enum coroi_lend_outcome {
	COROI_LEND_ENDED,     /* the coroutine has ended: status and payload say how */
	COROI_LEND_SUSPENDED, /* it goes on elsewhere: its end is the caller's (coroi_lend.rec) */
	COROI_LEND_CALLS, /* it calls Go: the caller makes coroi_lend.call, and calls coroi_lend_on */
	/* Nothing was done: no worker sleeps that can be lent, or s or the thread lends none, or fn
	 * is not brief. */
	COROI_LEND_NONE
};

/* One call of a coroutine on the caller's thread. Integers alone: Go has it on a goroutine's
 * stack. */
struct coroi_lend {
	/* What to start. fn, and how many bytes of payload are its argument and its result. */
	uint64_t sched, fn;
	uint8_t class, arg_bytes, result_bytes;
	uint8_t brief; /* after its coroutine has suspended, run what is brief, and nothing else */
	/* How it ended, as coro_join says. With CORO_EFAILED code and text, which is the caller's
	 * to release. */
	int32_t status, code;
	uint64_t text;
	/* The coroutine, a struct coroi_rec, and its generation << 32. It is joinable, unless the
	 * outcome is COROI_LEND_ENDED. Nobody but the caller can join it, unless brief is set. */
	uint64_t rec, gen;
	/* Of the coroutine; if that has ended, only with brief. */
	uint64_t handle;
	uint64_t call; /* a struct coroi_call */
	/* The index in its join word: an id of Go's poller, or COROI_JOIN_LENDER. With brief set it
	 * is the latter. */
	uint32_t id;
	int32_t outcome; /* room for the caller */
	/* How long to run what the coroutine has spawned, ns; 0: COROI_LEND_NS. */
	uint32_t budget_ns;
	uint32_t unused;
	unsigned char payload[CORO_INLINE_BYTES]; /* the argument, then the result */
};

/* A lender, on its own stack. */
struct coroi_lender {
	/* The call's coroutine; NULL: there is none, or it has ended. The kernel looks: `lender` of
	 * worker.h is the address of this member. */
	struct coroi_rec *own;
	struct coroi_worker *w;
	struct coroi_rec *quick; /* own, as long as it has never suspended (start_quickly) */
	struct coroi_lend *call; /* NULL: a lend for what was woken */
	struct coroi_call *go;   /* own's call into Go, which the caller is to make */
	uint64_t now;            /* own's runnable, ahead of what w has; 0: none */
	uint32_t laid_aside;     /* calls that w, whose own thread this is, makes; else 0 */
	bool over;               /* nothing more is to be run */
	bool picked;     /* there was a pick since own began: own had suspended, and has escaped */
	bool spun;       /* the lender has looked for a while for what own waits for */
	uint64_t due;    /* w's first deadline at LND4 */
	bool outside;    /* at LND4 a coroutine of w waited for something from outside */
	bool watched;    /* at LND4 the driver watched something for w */
	uint64_t began;  /* when the budget has begun, ns; 0: it has not */
	uint64_t looked; /* at the clock, for the budget, ns */
	/* picks before the next look at the clock, and between two looks */
	uint32_t unlooked, look_every;
	struct coroi_fiber native; /* that of w's own thread */
	/* This lend is one of those that are timed. since: when it began, ns. ran: when the
	 * coroutine began that runs now, and its function; 0: none was started. */
	bool timed;
	uint64_t since, ran_since;
	coro_fn ran;
	/* That function is in doubt, and this is what the thread had used when the run began. */
	bool measured;
	struct coroi_usage before;
};

/* coroi_lender - the thread that w is lent to; NULL: w is not lent. */
static inline struct coroi_lender *coroi_lender(const struct coroi_worker *w)
{
	return (struct coroi_lender *)(void *)w->lender;
}

/* coroi_lend_call - run a coroutine on the calling thread, as a worker that sleeps, or as the
 * worker whose inline call the thread makes. It counts as spawned, and is in all a coroutine like
 * any other.
 *
 * Thread:   any, on its native stack.
 * Blocking: while the coroutine runs without suspending; then for the budget at most, and for as
 *           long as one coroutine runs that was begun within that time.
 * Cost:     some 50 ns.
 * Returns:  enum coroi_lend_outcome, CORO_ENOMEM. While s is closing: COROI_LEND_NONE. */
int coroi_lend_call(struct coroi_lend *l);

/* coroi_lend_on - the call into Go of l's coroutine was made. Go on with the coroutine, on the
 * calling thread if its worker can be lent. In all else as coroi_lend_call. Returns: any outcome.
 * With COROI_LEND_NONE the call is to be completed as any offloaded call is (OFF6 of gocall.h), and
 * the coroutine goes on elsewhere. */
int coroi_lend_on(struct coroi_lend *l);

/* What a call of Go's has woken while it held locks of its own. */
struct coroi_waker {
	struct coroi_worker *w;  /* claimed: LND1 to LND3 are done. NULL: none */
	struct coroi_rec *woken; /* the coroutine of w whose wake is to be delivered */
	uint32_t *count;         /* of wait.c: a waker on its way; NULL: none */
};

/* coroi_lend_wakes - WKC1 of wait.c was done for r, whose function is fn, at home with worker w.
 * True: this thread has claimed w, will lend itself, and delivers the wake (coroi_lend_woken).
 * False: WKC2 is still to be done. Thread: any. */
COROI_NOINLINE bool coroi_lend_wakes(struct coroi_worker *w, struct coroi_rec *r, coro_fn fn);

/* coroi_lend_keeps - hooks.h. */
bool coroi_lend_keeps(uint32_t *count);

/* coroi_lend_woken - LND4 to LND9 for the worker that k has: run what is brief there. */
COROI_NOINLINE void coroi_lend_woken(struct coroi_waker *k);

/* coroi_waker_begin, coroi_waker_end - around a call by Go that may wake coroutines. One that is
 * brief then runs on the calling thread, when the call is through. Thread: as of
 * coroi_lend_call. */
static inline void coroi_waker_begin(struct coroi_waker *k)
{
	k->w = NULL;
	k->count = NULL;
	coroi_waker_tls = k;
}

static inline void coroi_waker_end(struct coroi_waker *k)
{
	coroi_waker_tls = NULL;
	if (k->w)
		coroi_lend_woken(k);
}

/* What each call of coroi_lend_call goes through is one piece of code. */
#define COROI_LEND_FAST inline __attribute__((always_inline))

/* coroi_lend_begins - in a lend that is timed: fn, which is brief, begins to run at now, ns. */
void coroi_lend_begins(struct coroi_lender *l, coro_fn fn, uint64_t now);

/* coroi_lend_judge - in a lend that is timed: has what ran until now, ns, kept its promise to be
 * brief? */
void coroi_lend_judge(struct coroi_lender *l, uint64_t now);

/* coroi_lend_pick_locked - coroi_pick_locked of a worker that is lent. */
COROI_NOINLINE uint64_t coroi_lend_pick_locked(struct coroi_worker *w);

/* coroi_lend_suspended - the current coroutine of w has suspended, and no other thread can take it
 * yet. If it is a lender's own, it escapes: it may end on another worker, and an end is kept for a
 * joiner only if the coroutine has escaped. */
COROI_NOINLINE void coroi_lend_suspended(struct coroi_worker *w);

/* coroi_lend_may_begin_locked - may a child with the function fn, of the coroutine that runs on w,
 * which is lent, begin on the lender's thread ahead of the queue? */
bool coroi_lend_may_begin_locked(struct coroi_worker *w, coro_fn fn);

/* coroi_lend_ended_locked - me, the lender's own, has ended, or does so unstarted. */
COROI_NOINLINE void coroi_lend_ended_locked(struct coroi_worker *w, struct coroi_rec *me);

/* coroi_lend_makes - w is lent, and the lender makes the calls of me, the current coroutine of w,
 * into Go. coroi_lend_make - it is to make c, for which OFF1 of gocall.h is done. */
bool coroi_lend_makes(const struct coroi_worker *w, const struct coroi_rec *me);
void coroi_lend_make(struct coroi_worker *w, struct coroi_call *c);

/* coroi_lend_inside - is w lent to its own thread, within an inline call? */
bool coroi_lend_inside(const struct coroi_worker *w);

/* -------------------------------------------------------------------------------------- tasks */

/* coroi_task_promise - the function by whose promise the task (kernel/task.h) with that argument is
 * brief, or is not. Set once, by a constructor of the room whose tasks they are. The task waits
 * in a queue, in whose door the caller is. */
extern coro_fn (*coroi_task_promise)(uint64_t arg);

/*
 * coroi_task_lend - coroi_task_spawn by a thread that lends itself: the task, which is brief, runs
 * on the calling thread, and so does what is brief and comes of it, for some 15 us.
 *
 * Thread:  any, with no lock that a brief task takes.
 * Returns: true: it was done, and *status is CORO_OK. False: nothing was done. The thread is a
 *          worker or runs a coroutine, or no worker sleeps that can be lent, or has a record.
 */
bool coroi_task_lend(struct coro_scheduler *s, uint64_t arg, bool (*change)(void *), void *ctx,
		     int *status);

#endif
