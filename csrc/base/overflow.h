/*
 * overflow.h - naming the coroutine that has overflowed its stack.
 */
#ifndef COROI_OVERFLOW_H
#define COROI_OVERFLOW_H

#include <stdbool.h>
#include <stdint.h>

struct coroi_stack;

/* coroi_overflow_install - handle SIGSEGV, once a process; to be called after the language runtime
 * has installed its own handler. */
void coroi_overflow_install(void);

/* What a thread is doing. */
struct coroi_where {
	int worker;      /* -1: the thread is no worker */
	uintptr_t fn;    /* of the innermost coroutine; 0: none runs */
	uint64_t handle; /* of it; 0: it is resumed by hand, or dispatched */
	/* the stack that it runs on; NULL: none runs, or it is about to start */
	const struct coroi_stack *stack;
};

/* coroi_where - what this thread is doing; false: nothing with coroutines. Async-signal-safe. */
bool coroi_where(struct coroi_where *at);

#endif
