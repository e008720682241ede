/*
 * gocall.h - coroutines that call Go.
 *
 * The problem: Go must never run on a coroutine's stack, as it guesses where the stack ends. Nor
 * may frames of Go and of a suspended coroutine ever lie on one stack. And entering Go costs more
 * than everything else here.
 *
 * The calling coroutine is suspended during the call. Inline calls, which the worker makes:
 *
 *   INL1  caller: write the call into the worker's list, inside the door, and suspend. The caller
 *         is in no queue, so nothing moves it. Its state stays ACTIVE, so that wakes become
 *         permits.
 *   INL2  worker: when nothing else can run, when 64 calls wait, or at a turn whose number is a
 *         multiple of 64, go to the native stack, and from there into Go, once, with the whole
 *         list. The worker is in no door and has no current coroutine, so that thieves get at its
 *         queue. It keeps its awake token, so that this is not the end.
 *   INL3  Go: make the calls, and write results, lengths and statuses.
 *   INL4  worker: queue the callers, inside the door. The suspension of each returns the status of
 *         its call. If there is one caller, and nothing else to run, it goes on without the queue.
 *
 * Only the first way into Go is a callback. Go then calls coroi_work, which runs coroutines as the
 * worker's main function did, and returns for the next list. So each list costs a call of C by Go,
 * which is cheaper than a callback. Frames of Go lie on the native stack alone, where the last one
 * ends first, until the worker ends: none is ever below or above a frame of a coroutine.
 *
 * Only its worker uses the list: the callers run there, INL2 comes after the last of them has
 * suspended, and no coroutine calls while the worker is in Go.
 *
 * Offloaded calls, which goroutines make. The call lies on the stack of its coroutine, or in the
 * heap if the coroutine is dense:
 *
 *   OFF1  caller: take a pending-work token (activity.h). Until Go gives it back, this is not the
 *         end.
 *   OFF2  caller: add the call to the scheduler's list, sequentially consistent.
 *   OFF3  caller: if calls.unwatched is not 0, exchange it for 0. The caller that got a 1
 *         (UNWATCHED) rings the bell. The caller that got a 2 (ASLEEP) wakes the thread that sleeps
 *         on the word.
 *   OFF4  caller: suspend, COMMITTED, unless the event has come. No cancel ends this wait.
 *   OFF5  Go, about to look no more: set calls.unwatched to 1, and look at the list once more, both
 *         sequentially consistent. So Go sees OFF2, or OFF3 sees the 1. A ring may come late, for a
 *         call that Go has seen already, and OFF3 may have made a newer 1 a 0 for it. So the poller
 *         that hears a ring does OFF5 again, if no goroutine looks.
 *   OFF6  Go: take the whole list, make the call, and write the result and the status. Send the
 *         caller its event (WKC1 and WKC2 of wait.c): afterwards the call is gone. Give the token
 *         back: afterwards the scheduler may be gone.
 *   OFF7  cancel: a caller has COROI_F_TOLD from its first call on. So a cancel of it, in its
 *         home's door, is told to the services (service.h). The service of hooks.c sets
 *         calls.canceled, and rings the bell. Go ends the contexts of the calls under way whose
 *         callers are cancelled. Go also looks at the caller of each call that begins, once the
 *         call counts as under way.
 *
 *   OFF8  Go, after OFF5: a goroutine whose thread is to be woken by OFF3, rather than through the
 *         bell, exchanges the 1 for a 2, and sleeps in the kernel while the word is 2. If the word
 *         is no 1 by then, or whenever the sleep ends, the goroutine looks at the list as before
 *         OFF5. So a caller that makes the 1 a 0 before OFF8 is seen by OFF8, and one that makes
 *         the 2 a 0 ends the sleep, late rings included. At most one goroutine is between the begin
 *         of OFF8 and its next look. While there is one, another goroutine that does OFF5 writes
 *         the 2 instead of the 1: then OFF8 finds a 2 and looks, or the sleep has begun and OFF3
 *         ends it.
 *
 * The core knows Go as one function, which Go registers. Arguments and results go by address and
 * length. Functions go by number, which only Go can read.
 */
#ifndef COROI_GOCALL_H
#define COROI_GOCALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/worker.h"

/* The offloaded calls of a scheduler. */
struct coroi_offloaded {
	/* Calls that Go has not taken: LIFO of struct coroi_call. Atomic, OFF2 and OFF6. */
	uint64_t first;
	/* A coroutine that may be calling was cancelled: Go looks which one. Atomic, OFF7. */
	uint32_t canceled;
	/* Whether a goroutine looks at the list, COROI_CALLS_...; a futex. Atomic, OFF3, OFF5,
	 * OFF8. */
	uint32_t unwatched;
};

enum {
	COROI_CALLS_WATCHED,   /* a goroutine looks at the list, or is about to */
	COROI_CALLS_UNWATCHED, /* none does: ring the bell */
	COROI_CALLS_ASLEEP,    /* none does, and the thread of one sleeps on the word: wake it */
};

/* A call. */
struct coroi_call {
	uint64_t next; /* link of an offloaded call in a list */
	struct coroi_rec *caller;
	uint32_t id;
	int32_t status; /* written by Go */
	const void *arg;
	size_t arg_bytes;
	void *result;
	size_t result_bytes; /* room for the result */
	size_t got;          /* bytes that the result has */
	size_t *out;         /* where the caller wants `got`, or NULL */
	char *text;          /* text of an error, from coroi_call_fail */
};

/* coroi_calls_of - the list of w's inline calls, of COROI_CALLS_AT_ONCE. */
static inline struct coroi_call *coroi_calls_of(const struct coroi_worker *w)
{
	return w->calls.list;
}

/* coroi_calls_make - make that list, of a worker that has not started. False: no memory.
 * coroi_calls_free - w has ended, or was not started. */
bool coroi_calls_make(struct coroi_worker *w);
void coroi_calls_free(struct coroi_worker *w);

/* coroi_calls_canceled - OFF7, of a service. */
void coroi_calls_canceled(struct coro_scheduler *s, struct coroi_rec *r);

/* The function that Go registers: it makes the inline calls of w and calls coroi_work (life.h), by
 * turns, until coroi_work returns false. Thread: w, on its native stack, in no door. */
typedef void (*coroi_go_serve)(struct coroi_worker *w);

/* coroi_go_register - set Go's function. To be called before any scheduler is made. */
void coroi_go_register(coroi_go_serve serve);

/* coroi_go_causes - id is the function that fails with the text of why its caller was canceled. To
 * be called before any scheduler is made. */
void coroi_go_causes(uint32_t id);

/* coroi_call_cause - ask Go why me, the current coroutine of a scheduler of Go's, was canceled: by
 * an offloaded call, which no cancel refuses. Returns: the text, which is the caller's to release;
 * NULL: no memory. */
char *coroi_call_cause(struct coroi_rec *me);

/* coroi_go_name - from now on coro_go_function finds id under this name. Thread: any. Returns:
 * CORO_OK, CORO_ENOMEM. */
int coroi_go_name(const char *name, size_t bytes, uint32_t id);

/* coroi_calls_sleep - OFF8. Thread: one of Go's, no worker. Blocking: until a caller, or
 * coroi_calls_rouse, ends the sleep; at times less. Returns: when the thread was awake again, by
 * coro_now; 0: it has not slept. */
uint64_t coroi_calls_sleep(struct coro_scheduler *s);

/* coroi_calls_rouse - end the sleep of OFF8, or keep it from beginning: a goroutine looks. Thread:
 * any, under the lock of Go's pool. Cost: a system call. */
void coroi_calls_rouse(struct coro_scheduler *s);

/* coroi_call_fail - give the call the status CORO_EFAILED, and a copy of the text if there is
 * memory for it. Thread: the one that makes the call. */
void coroi_call_fail(struct coroi_call *c, const char *text, size_t bytes);

/* coroi_go_inside - is the calling thread a worker of s? Go asks, so a worker's thread is inside an
 * inline call. */
bool coroi_go_inside(struct coro_scheduler *s);

/* coroi_go_enter - w goes into Go for the first time, with calls to be made. Returns when w is
 * stopped. Thread: w, on its native stack. */
void coroi_go_enter(struct coroi_worker *w);

/* coroi_calls_made_locked - INL4. Returns: the caller that goes on without the queue, as it is the
 * only one and nothing else can run; or NULL. */
struct coroi_rec *coroi_calls_made_locked(struct coroi_worker *w);

#endif
