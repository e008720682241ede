/*
 * spawn.h - many new coroutines from Go.
 */
#ifndef COROI_SPAWN_H
#define COROI_SPAWN_H

#include "kernel/slab.h"

#include <pthread.h>

/* Threads that are no workers spawn one at a time, with two magazines that they share. */
struct coroi_outside {
	pthread_mutex_t lock;
	struct coroi_mags mags;
	uint8_t refusing;
	uint32_t next_worker; /* atomic, relaxed */
};

/* coroi_spawn_many - start n that have one argument, in batches, the first of them to worker
 * `first`. Returns how many; less than n: no memory. The caller sees to it that s takes spawns
 * meanwhile. Thread: any. */
uint64_t coroi_spawn_many(struct coro_scheduler *s, const struct coroi_fill *q, const void *arg,
			  uint64_t n, uint32_t first);

#endif
