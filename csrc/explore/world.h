/*
 * world.h - the explored copy of the core, and what scenarios are made of.
 */
#ifndef EXPLORE_WORLD_H
#define EXPLORE_WORLD_H

#include "engine.h"

#include "kernel/idle.h"
#include "kernel/inbox.h"
#include "kernel/life.h"
#include "kernel/run.h"
#include "kernel/wait.h"

/* The scheduler, and its workers w0, w1, ... Those whose bit is in the scenario's `raw` have no
 * thread of their own: a scenario's thread plays their part, after world_be. */
extern struct coro_scheduler *sched;
struct coroi_worker *world_worker(unsigned id);
void world_be(unsigned id);

void *world_alloc(size_t bytes, size_t align);
unsigned world_worker_thread(void *(*fn)(void *), void *arg);

/* world_stack - a stack of the world, or of a thread, to be watched; world_stacks - the live
 * parts of all, if threads stand at those n contexts. world_stacks_begin - nobody is suspended
 * anywhere. */
#define WORLD_CLEANED 4096 /* bytes of a stack, before somebody begins there */
void world_stack(void *low, void *top);
void world_stacks(const void *const *sp, unsigned n, void (*add)(const void *sp, const void *top));
void world_stacks_begin(void);

/* world_region - memory of the scenario's own that each schedule finds as setup left it. */
void world_region(void *p, size_t bytes);

/* world_record - a record that w owns, runnable, with its handle known; during setup. */
struct coroi_rec *world_record(struct coroi_worker *w);

/* world_record_of - the record of a runnable from a queue; NULL: none was there. */
static inline struct coroi_rec *world_record_of(uint64_t runnable)
{
	return runnable ? coroi_runnable_record(runnable) : NULL;
}

/* world_steal - as steal.c does it: true if w has got something from v. */
bool world_steal(struct coroi_worker *w, struct coroi_worker *v);

/* world_sleep - as idle.c does it: give the token back; the last one tells that everything rests.
 * world_grant - take one. */
void world_sleep(void);
void world_grant(void);

/* world_pushing - around everything that brings work from outside: what lies in an inbox meanwhile
 * comes later than a rest. */
void world_pushing(bool begins);

/* world_asleep - during setup: all sleep. Those of the mask get threads that sleep, and then do
 * what workers do, without ever spinning before they have found something. world_nap - as idle.c
 * does it: sleep until claimed. */
void world_asleep(unsigned mask);
void world_nap(struct coroi_worker *w);

extern const struct ex_scenario *const scenarios_door[],
	*const scenarios_idle[], *const scenarios_run[], *const scenarios_batch[],
								 *const scenarios_wait[],
									 *const scenarios_call[];

#endif
