/*
 * overflow.h - naming the coroutine that overflows its stack.
 */
#ifndef COROI_OVERFLOW_H
#define COROI_OVERFLOW_H

#include <stdbool.h>
#include <stdint.h>

struct coroi_stack;

/* coroi_overflow_install - handle SIGSEGV, once a process; after the language runtime has its own
 * handler. */
void coroi_overflow_install(void);

/* What a thread is at. */
struct coroi_where {
	int worker;      /* -1: it is none */
	uintptr_t fn;    /* of the innermost coroutine; 0: in none */
	uint64_t handle; /* 0: it is resumed by hand */
	/* which it runs on; NULL: in none, or it is only about to start */
	const struct coroi_stack *stack;
};

/* coroi_where - of this thread; false if it has nothing to do with coroutines now.
 * Async-signal-safe. */
bool coroi_where(struct coroi_where *at);

#endif
