/*
 * scenarios.h - what is done while calls fail. Each scenario makes what it needs and ends it,
 * checks that each error is the documented one and comes only if a call has failed, and that
 * nothing was lost.
 */
#ifndef SCENARIOS_H
#define SCENARIOS_H

#include "../test.h"

struct scenario {
	const char *name;
	void (*run)(void);
};

extern const struct scenario scenarios[];
extern const int scenario_count;

/* lasting - the faults of this run stay: what waits for memory may be told that there is none.
 * Otherwise one call fails, and the next try must succeed. */
extern bool lasting;

/* several - calls of more than one kind fail. */
extern bool several;

/* machine - the machine itself makes calls fail, not the layer. */
extern bool machine;

/* refusals - how many calls have returned an error so far. */
extern uint64_t refusals;

/* run_all - each scenario once. */
void run_all(void);

/* check_nothing_left - of memory, descriptors and threads, but what the process keeps: the chunks
 * of records, and one list of them. */
void check_nothing_left(void);

/* went_well - status is CORO_OK; else it is error, and a call has failed. */
bool went_well(int status, int error);

/* QUIET - the value of a call that must leave errno alone. */
#define QUIET(call)                             \
	({                                      \
		errno = 4711;                   \
		__typeof__(call) got_ = (call); \
		CHECK_EQ(errno, 4711);          \
		got_;                           \
	})

/* small_work - twenty coroutines, to their ends. No fault is set. */
void small_work(coro_scheduler *s);

#endif
