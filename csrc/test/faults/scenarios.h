/*
 * scenarios.h - what is done while calls fail. Each scenario makes what it needs and ends it. It
 * checks that each error is the documented one and comes only if a call has failed, and that
 * nothing was lost.
 */
#ifndef SCENARIOS_H
#define SCENARIOS_H

#include "../test.h"

/* All scenarios, by name. */
#define SCENARIOS          \
	S(from_outside)    \
	S(growth)          \
	S(chunks)          \
	S(batches)         \
	S(unjoined)        \
	S(joins)           \
	S(deadlock)        \
	S(closing)         \
	S(starvation)      \
	S(stealing)        \
	S(forks)           \
	S(owning)          \
	S(first_block)     \
	S(manual)          \
	S(dense)           \
	S(dense_waits)     \
	S(waits)           \
	S(selects)         \
	S(scopes)          \
	S(scopes_canceled) \
	S(blocking)        \
	S(threads)         \
	S(descriptors)     \
	S(fd_selects)      \
	S(files)           \
	S(lookups)         \
	S(server)          \
	S(actors)          \
	S(actor_buffers)   \
	S(buffers)         \
	S(carries)         \
	S(streams)         \
	S(dispatcher)      \
	S(giving_back)     \
	S(pool_rr)         \
	S(pool_ll)         \
	S(pool_gq)         \
	S(bell)            \
	S(go_calls)        \
	S(lends)           \
	S(many_lends)

/* SCENARIO - the definition of one. */
#define SCENARIO(name) void scenario_##name(void)

#define S(name) SCENARIO(name);
SCENARIOS
#undef S

struct scenario {
	const char *name;
	void (*run)(void);
};

extern const struct scenario scenarios[];
extern const int scenario_count;

/* lasting - the faults of this run stay: a try that is made again may fail again. Otherwise one
 * call fails, and the next try must succeed. */
extern bool lasting;

/* several - calls of more than one kind fail. */
extern bool several;

/* machine - the machine itself makes calls fail, not the layer. */
extern bool machine;

/* refusals - how many calls have returned an error so far. */
extern uint64_t refusals;

/* run_all - each scenario once. */
void run_all(void);

/* check_nothing_left - of memory, descriptors and threads, except for what the process keeps: the
 * chunks of records, and one list of the chunks. */
void check_nothing_left(void);

/* small_work - twenty coroutines, to their ends. No fault is set. */
void small_work(coro_scheduler *s);

#endif
