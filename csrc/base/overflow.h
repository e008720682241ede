/*
 * overflow.h - the report of a stack overflow, which names the coroutine.
 */
#ifndef COROI_OVERFLOW_H
#define COROI_OVERFLOW_H

#include <stdbool.h>
#include <stdint.h>

struct coroi_stack;

/* coroi_overflow_install - install a handler for SIGSEGV, once in a process. To be called after the
 * language's runtime has installed its own handler. Thread: any. */
void coroi_overflow_install(void);

/* What a thread is doing. */
struct coroi_where {
	int worker;      /* -1: the thread is no worker */
	uintptr_t fn;    /* function of the innermost coroutine; 0: no coroutine runs */
	uint64_t handle; /* handle of that coroutine; 0: it is manual, or dispatched */
	/* the stack of that coroutine; NULL: no coroutine runs, or its stack is not known, as it is
	 * a dense one that is still to be copied in */
	const struct coroi_stack *stack;
};

/* coroi_where - tell what this thread is doing. False: nothing with coroutines.
 * Async-signal-safe. */
bool coroi_where(struct coroi_where *at);

#endif
