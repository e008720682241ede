/*
 * spawn.h - new coroutines from threads that are no workers: one at a time, or many from Go.
 */
#ifndef COROI_SPAWN_H
#define COROI_SPAWN_H

#include "kernel/batch.h"

#include <pthread.h>

/* What threads that are no workers need to spawn. They share it: one spawns at a time. */
struct coroi_outside {
	pthread_mutex_t lock;
	struct coroi_mags mags;
	/* A close has begun. Written under the lock. Atomic: a lender reads it, LND1 of lend.h. */
	uint32_t refusing;
	/* Counts the spawns whose worker is chosen here. Atomic, relaxed: a counter, no more. */
	uint32_t next_worker;
	/* How many tasks came, when that was last looked at, ns, and whether they stream in then.
	 * Under the lock. */
	uint32_t tasks;
	bool streams;
	uint64_t looked;
	/* The open batch, of tasks; NULL: none. Its words, and its worker. Under the lock. */
	uint32_t used;
	struct coroi_batch *open;
	struct coroi_worker *target;
};

/* coroi_outside_close - the open batch gets no more. Under the lock. */
void coroi_outside_close(struct coro_scheduler *s);

/* coroi_publish - BTS2 to BTS4 of batch.h, and WKW1 and WKW2 of idle.c: `words` more were written
 * to p, an open batch for w. last: p gets no more. Thread: the sender. Returns: was p pushed? */
bool coroi_publish(struct coroi_batch *p, struct coroi_worker *w, uint32_t words, bool last);

/* coroi_spawn_many - start n coroutines of one function with one argument, in batches, the first
 * batch on worker `first`. The caller makes sure that s takes spawns meanwhile. Thread: any.
 * Returns: how many were started; less than n: no memory. */
uint64_t coroi_spawn_many(struct coro_scheduler *s, const struct coroi_fill *q, const void *arg,
			  uint64_t n, uint32_t first);

#endif
