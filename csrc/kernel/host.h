/*
 * host.h - the main worker, which a thread of the user's hosts, as the main thread of the process.
 *
 * Some libraries want all calls from one thread that the program has. So the last of the dedicated
 * workers (CORO_MAIN_WORKER) can be run by any thread, its host, inside coro_scheduler_host. The
 * worker has a thread of its own too, its keeper. While there is no host the keeper parks, is
 * claimed and holds tokens by the steps of idle.c, so that the end stays exact. It fires deadlines
 * and fetches events, but runs no coroutine: what can run waits for a host, with the worker awake.
 * Once a close has begun the keeper runs what is left.
 *
 *   HST1  host, in the life lock, where there is no other: `host` = itself, WANTED. Then `asked` =
 *         1, and claim the worker, if it sleeps. Both sequentially consistent: the keeper sees
 *         `asked` at SLP2, or the host sees the worker's bit
 *   HST2  keeper, awake, in no door, on its native stack; in the lock: WANTED -> HOSTED, `asked` =
 *         0. The host is the worker from now on. The keeper waits until there is no host
 *   HST3  any thread, in the lock. HOSTED: `asked` = 1, and claim the worker, as in HST1. WANTED:
 *         LEFT, and there is no host. No host: the next one is to leave at once
 *   HST4  host, in no door, on its native stack, where it sees `asked`, or the worker has ended; in
 *         the lock: there is no host, `asked` = 0. The keeper is the worker again
 *
 * What the worker has changes hands in the lock. A busy host sees `asked` when it looks at the
 * clock (coroi_poll_locked), one that goes to sleep at SLP2, and one that sleeps is claimed.
 */
#ifndef COROI_HOST_H
#define COROI_HOST_H

#include "kernel/worker.h"

/* A thread in coro_scheduler_host. The life lock guards it. */
struct coroi_host {
	enum { COROI_HOST_WANTED, COROI_HOST_HOSTED, COROI_HOST_LEFT } state;
};

/* coroi_host_keep - keep w, the main worker, until a close has begun, or it is stopped (false).
 * Thread: w's own, on its native stack. */
bool coroi_host_keep(struct coroi_worker *w);

/* coroi_host_close - a close has begun: from now on the keeper runs what is left, where there is no
 * host. Thread: any. */
void coroi_host_close(struct coro_scheduler *s);

#endif
