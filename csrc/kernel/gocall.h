/*
 * gocall.h - coroutines that call Go.
 *
 * The problem: Go must never run on a coroutine's stack (it guesses where that ends), and never
 * while a suspended coroutine has one of its frames below it. And entering Go costs more than
 * everything else here.
 *
 * The coroutine that calls is suspended meanwhile. Inline calls:
 *
 *   I1  the caller writes its call into its worker's list, inside the door, and suspends. It is in
 *       no queue: nobody moves it, and its state stays ACTIVE, so that wakes become permits
 *   I2  the worker, when nothing else can run, when 64 wait, or at a turn whose number is a
 *       multiple of 64, goes to its native stack, and from there into Go, once, with the whole
 *       list. It is in no door and has no current coroutine, so thieves get at its queue; it keeps
 *       its awake token, so this is not the end
 *   I3  Go writes results, lengths and statuses
 *   I4  the worker queues the callers, inside its door, each with its status as what its suspension
 *       returns; one with nothing beside it just goes on
 *
 * Going into Go is a callback the first time only. Go then calls coroi_work, which runs coroutines
 * as the worker's main function did, and returns for the next list; so each list costs a call of C
 * by Go, which is half of a callback. Frames of Go lie on the native stack alone, where what comes
 * last ends first, until the worker ends: none is ever below or above a coroutine's.
 *
 * The list is its worker's alone: the callers run there, I2 comes after the last of them has
 * suspended, and none calls while the worker is in Go.
 *
 * Offloaded calls, which goroutines make. The call is on the stack of its coroutine:
 *
 *   F1  the caller takes a pending-work token of activity (idle.c): until Go gives it back this is not the end
 *   F2  it adds the call to the scheduler's list, sequentially consistent
 *   F3  calls_unwatched was 1, and this caller is the one who makes it 0: it rings the bell
 *   F4  it suspends, COMMITTED, unless its event has come; no close cancels that
 *   F5  Go, about to look no more: calls_unwatched = 1, and one more look at the list, both
 *       sequentially consistent. So Go sees F2, or F3 sees it. The bell's ring may be late, for a
 *       call that Go has seen, and have made a newer 1 a 0: whoever hears it does F5 again if
 *       nobody looks
 *   F6  Go takes the whole list, makes the call, writes the result and the status, sends the caller
 *       its event (W1 and W2 of wait.c), after which the call is gone, and gives the token back,
 *       after which the scheduler may be
 *   F7  a cancel of the caller, in its home's door, finds that it waits for Go, is about to, or did
 *       so last: calls_canceled = 1, and the bell. Go looks which callers of the calls that are
 *       being made are cancelled, and ends the contexts of those. It looks at each call that
 *       begins, too, once the other look would find that
 *
 * Go is known here as one function, which it registers. Arguments and results go by address and
 * length; functions go by number, which only Go can read.
 */
#ifndef COROI_GOCALL_H
#define COROI_GOCALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct coro_scheduler;
struct coroi_rec;
struct coroi_worker;

/* The offloaded calls of a scheduler. */
struct coroi_offloaded {
	uint64_t first;     /* that Go is to make: LIFO of struct coroi_call */
	uint32_t canceled;  /* a coroutine was cancelled that may be calling: Go looks which */
	uint32_t unwatched; /* nobody in Go looks at them: ring the bell */
};

/* A call. */
struct coroi_call {
	uint64_t next; /* of offloaded ones, in a list */
	struct coroi_rec *caller;
	uint32_t id;
	int32_t status; /* what Go makes of it */
	const void *arg;
	size_t arg_bytes;
	void *result;
	size_t result_bytes; /* there is room for */
	size_t got;          /* the result has */
	size_t *out;         /* where the caller wants to have that; NULL: nowhere */
	char *text;          /* of an error; from coroi_call_fail */
};

#define COROI_CALLS_AT_ONCE 64

/* Makes the inline calls of w and calls coroi_work (life.h), by turns, until that returns false. On
 * w's thread, which is in no door. */
typedef void (*coroi_go_serve)(struct coroi_worker *w);

/* coroi_go_register - Go is there. Before any scheduler is made. */
void coroi_go_register(coroi_go_serve serve);

/* coroi_go_name - coro_go_function finds id under this name from now on. Returns: CORO_OK,
 * CORO_ENOMEM. */
int coroi_go_name(const char *name, size_t bytes, uint32_t id);

/* coroi_call_fail - the call's status is CORO_EFAILED, with that text, as far as there is memory
 * for it. */
void coroi_call_fail(struct coroi_call *c, const char *text, size_t bytes);

/* coroi_go_inside - the calling thread is a worker of s: it is inside an inline call. */
bool coroi_go_inside(struct coro_scheduler *s);

/* coroi_go_enter - w goes into Go for the first time, with calls to be made, and comes back when it
 * is stopped. On the native stack. */
void coroi_go_enter(struct coroi_worker *w);

/* coroi_calls_made_locked - I4. Where there is one caller and nothing else to do it is not queued,
 * but returned, to go on. */
struct coroi_rec *coroi_calls_made_locked(struct coroi_worker *w);

#endif
