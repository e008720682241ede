/*
 * spawn.h - new coroutines from threads that are no workers: one at a time, or many from Go.
 */
#ifndef COROI_SPAWN_H
#define COROI_SPAWN_H

#include "kernel/slab.h"

#include <pthread.h>

/* What threads that are no workers need to spawn. They share it: one spawns at a time. */
struct coroi_outside {
	pthread_mutex_t lock;
	struct coroi_mags mags;
	/* A close has begun. Written under the lock. Atomic: a lender reads it, L1 of lend.h. */
	uint32_t refusing;
	/* Counts the spawns whose worker is chosen here. Atomic, relaxed: a counter, no more. */
	uint32_t next_worker;
};

/* coroi_spawn_many - start n coroutines of one function with one argument, in batches, the first
 * batch on worker `first`. The caller makes sure that s takes spawns meanwhile. Thread: any.
 * Returns: how many were started; less than n: no memory. */
uint64_t coroi_spawn_many(struct coro_scheduler *s, const struct coroi_fill *q, const void *arg,
			  uint64_t n, uint32_t first);

#endif
