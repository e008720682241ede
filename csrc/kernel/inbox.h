/*
 * inbox.h - what other threads hand to a worker: new coroutines and wake-ups.
 *
 * A last-in-first-out list that anybody adds to with one compare-and-swap and its worker (inside
 * its door) takes whole with one exchange (Treiber, "Systems Programming: Coping with Parallelism",
 * 1986; taking all at once has no ABA problem). The nodes are parts of what is handed over, named
 * by the low bits of the link:
 *
 *      COROI_NODE_SPAWN   a record, linked by `next`
 *      COROI_NODE_WAKE    a record whose wake word holds permits or an event, linked by `wake_next`
 *      COROI_NODE_BATCH   a batch of spawns, linked by its `next`
 *      COROI_NODE_MOVED   a record that has started, suspended, and at home here now, linked by `next`
 *
 * Order: a push is a release, whose partner is the worker's xchg, an acquire; and sequentially
 * consistent with the look at the sleepers that follows it, whose partners are steps P1 and P2 in
 * idle.c.
 */
#ifndef COROI_INBOX_H
#define COROI_INBOX_H

#include "kernel/worker.h"

enum {
	COROI_NODE_SPAWN = 0,
	COROI_NODE_BATCH = 1,
	COROI_NODE_WAKE = 2,
	COROI_NODE_MOVED = 3,
	COROI_NODE_KIND = 7
};

static inline void *coroi_node_of(uint64_t node)
{
	return (void *)(uintptr_t)(node & ~(uint64_t)COROI_NODE_KIND);
}

static inline uint64_t *coroi_node_link(uint64_t node)
{
	void *p = coroi_node_of(node);
	switch (node & COROI_NODE_KIND) {
	case COROI_NODE_BATCH:
		return &((struct coroi_batch *)p)->next;
	case COROI_NODE_WAKE:
		return &((struct coroi_rec *)p)->wake_next;
	default:
		return &((struct coroi_rec *)p)->next;
	}
}

/* coroi_inbox_push - add one node. Thread: any. The caller sees to it
 * that the worker is awake (coroi_notify_pushed). */
static inline void coroi_inbox_push(struct coroi_worker *w, uint64_t node)
{
	uint64_t head = at_load_rlx(&w->inbox);
	do {
		*coroi_node_link(node) = head;
	} while (!at_cas(&w->inbox, &head, node));
}

/* coroi_inbox_take - all nodes, oldest first; 0: none. Inside the door. */
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
