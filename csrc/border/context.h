/*
 * context.h - what a coroutine knows of the Go context that it was started with.
 *
 * Go keeps the context, under the id by which it hears of the coroutine's end (gobell.h). The
 * deadline is written down here when the coroutine is started, if there is one. Why the coroutine
 * was canceled is asked of Go, when the coroutine asks. A coroutine that does neither pays for
 * neither.
 */
#ifndef COROI_CONTEXT_H
#define COROI_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

struct coro_scheduler;

/* Ids have 28 bits. Each segment has twice as many places as the one before, so that no place ever
 * moves. */
#define COROI_DEADLINE_SEGMENTS 23

/* The deadlines, by id. */
struct coroi_deadlines {
	uint64_t segment[COROI_DEADLINE_SEGMENTS]; /* addresses; 0: not made yet. Atomic. */
};

/* coroi_deadline_set - the coroutine that Go is about to start under id has a deadline in that many
 * ns. Thread: any. Returns: false: no memory. */
bool coroi_deadline_set(struct coro_scheduler *s, uint32_t id, uint64_t in_ns);

/* coroi_deadline_forget - the coroutine of id, for which a deadline was set, has ended, or was not
 * started. To be called before the id is given to another. Thread: any. */
void coroi_deadline_forget(struct coro_scheduler *s, uint32_t id);

/* coroi_deadlines_free - s is destroyed. */
void coroi_deadlines_free(struct coro_scheduler *s);

#endif
