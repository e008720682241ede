/* forks.h - C functions that work on parts of a range, for For. */
#ifndef CORO_TESTBODY_FORKS_H
#define CORO_TESTBODY_FORKS_H

#include "coro.h"

/* What a part does at a number. */
enum testbody_does {
	TESTBODY_GOES_ON,
	TESTBODY_ABORTS,
	TESTBODY_FAILS, /* with the number for the code, and a text */
	TESTBODY_EXITS,
	TESTBODY_YIELDS,
	TESTBODY_SLEEPS,   /* 1 us */
	TESTBODY_WAITS,    /* until it is canceled */
	TESTBODY_COMPUTES, /* until testbody_stop */
	TESTBODY_CALLS,    /* the Go function, int64 -> int64, with the number */
	TESTBODY_CANCELS,  /* itself */
	/* until another part has begun: so the number is in the first one of at least two */
	TESTBODY_IS_JOINED,
};

/* Adds 1 to hits[i] for each number, and says that it ran where it waits or computes. */
struct testbody_range {
	uint32_t *hits;     /* NULL: none are counted */
	int64_t at, every;  /* where it does `does`: at, and then each so many; every 0: once */
	uint32_t does, how; /* how: as of struct testbody_call */
	coro_go_id id;
	uint32_t grain; /* parts are at most so long; 0: that is not checked */
};
void testbody_range(int64_t from, int64_t to, void *arg);

/* Has no argument: adds to the sum how many numbers there are, and 1000 if arg is not NULL. */
void testbody_count_range(int64_t from, int64_t to, void *arg);

/* arg int64 n: forks Fibonacci; result int64 */
void testbody_fib(void *arg, void *result);

#endif
