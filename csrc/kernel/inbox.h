/*
 * inbox.h - what other threads hand to a worker: new coroutines and wake-ups.
 *
 * The inbox is a last-in-first-out list. Any thread adds to it with one compare-and-swap. The
 * worker, inside its door, takes all of it with one exchange. (Treiber, "Systems Programming:
 * Coping with Parallelism", 1986. Taking all at once has no ABA problem.) The nodes are parts of
 * what is handed over. The low bits of a link name their kind:
 *
 *      COROI_NODE_SPAWN   a record, linked by `next`
 *      COROI_NODE_BATCH   a batch of spawns, linked by its `next`
 *      COROI_NODE_WAKE    a record whose wake word holds permits, an event or a cancel, linked by
 *                         `wake_next`. The high bits are 1 + the id of the waker's worker, in the
 *                         inbox of one that shares its work; 0: the waker is no coroutine of the
 *                         scheduler
 *      COROI_NODE_MOVED   a record that has started, is suspended, and has its home here now,
 *                         linked by `next`
 *      COROI_NODE_TASKS   the worker itself, which is to settle tasks (task.h), linked by
 *                         `tasks.link`
 *
 * Order: a push is a release, and its partner is the worker's exchange, an acquire. A push is also
 * sequentially consistent with the look at the sleepers that follows it (WKW1, WKW2). The partners
 * of these are SLP1 and SLP2 in idle.c.
 */
#ifndef COROI_INBOX_H
#define COROI_INBOX_H

#include "kernel/worker.h"

enum {
	COROI_NODE_SPAWN = 0,
	COROI_NODE_BATCH = 1,
	COROI_NODE_WAKE = 2,
	COROI_NODE_MOVED = 3,
	COROI_NODE_TASKS = 4,
	COROI_NODE_KIND = 7
};

#define COROI_NODE_FROM_SHIFT 48 /* no address is as large: see runnable.h */
#define COROI_NODE_ADDRESS    ((UINT64_C(1) << COROI_NODE_FROM_SHIFT) - 1 - COROI_NODE_KIND)

static inline void *coroi_node_of(uint64_t node)
{
	return (void *)(uintptr_t)(node & COROI_NODE_ADDRESS);
}

static inline uint32_t coroi_node_from(uint64_t node)
{
	return (uint32_t)(node >> COROI_NODE_FROM_SHIFT);
}

static inline uint64_t *coroi_node_link(uint64_t node)
{
	void *p = coroi_node_of(node);
	switch (node & COROI_NODE_KIND) {
	case COROI_NODE_BATCH:
		return &((struct coroi_batch *)p)->next;
	case COROI_NODE_WAKE:
		return &((struct coroi_rec *)p)->wake_next;
	case COROI_NODE_TASKS:
		return &((struct coroi_worker *)p)->tasks.link;
	default:
		return &((struct coroi_rec *)p)->next;
	}
}

/* coroi_inbox_push - add one node (WKW1). The caller then calls coroi_notify_pushed, so that the
 * worker is awake. Thread: any. Blocking: never. Cost: a compare-and-swap. Relaxed load: it is only
 * the expected value. */
static inline void coroi_inbox_push(struct coroi_worker *w, uint64_t node)
{
	uint64_t head = at_load_rlx(&w->inbox);
	do {
		*coroi_node_link(node) = head;
	} while (!at_cas(&w->inbox, &head, node));
}

/* coroi_inbox_take - take all nodes. The caller is inside the door. Returns: the oldest, linked to
 * the others in the order of their pushes; 0: the inbox was empty. */
static inline uint64_t coroi_inbox_take(struct coroi_worker *w)
{
	uint64_t node = at_xchg(&w->inbox, 0), list = 0;
	while (node) {
		uint64_t *link = coroi_node_link(node), next = *link;
		*link = list;
		list = node;
		node = next;
	}
	return list;
}

#endif
