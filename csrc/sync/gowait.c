//go:build ignore
/* gowait.c - see gowait.h. */
#include "sync/gowait.h"

#include "border/border.h"
#include "kernel/kernel.h"

struct coroi_gowaiter *coroi_gowaiter_new(struct coro_scheduler *sched, uint32_t id,
					  struct coroi_rec *body, uint32_t gen, size_t bytes)
{
	struct coroi_gowaiter *g = coroi_alloc(sizeof *g + bytes, COROI_LINE);

	if (!g)
		return NULL;
	g->sched = sched;
	g->id = id;
	g->body = body;
	g->gen = gen;
	return g;
}

void coroi_gowaiter_free(struct coroi_gowaiter *g)
{
	coroi_release(g);
}

int coroi_gowaiter_wait(struct coroi_gowaiter *g, struct coroi_object *o, struct coroi_waitq *q)
{
	uint64_t owner = g->x.owner; /* set by the caller, as n */

	coroi_waiter_init(&g->x, o, NULL, g->x.n, g->value);
	g->x.owner = owner;
	g->x.tell = COROI_TELL_GOWAITER;
	g->x.gowaiter = g;
	coroi_waitq_add(q, &g->x);
	coroi_object_leave(o);
	return COROI_WAITS;
}

bool coroi_gowaiter_withdraw(struct coroi_gowaiter *g)
{
	return g->withdraw ? g->withdraw(g) : coroi_waiter_withdraw(&g->x);
}

void coroi_gowaiter_wake(struct coroi_gowaiter *g)
{
	struct coro_scheduler *s = g->sched;
	struct coroi_rec *body = g->body;
	uint32_t gen = g->gen;

	at_store_rel(&g->fired, 1); /* a Go body may go on at once, and free g */
	if (body) {
		coroi_event_send_to(body, gen);
		return;
	}
	coroi_lifo_push(coroi_gowaiters(s), (uintptr_t)g, g->next);
	coroi_bell_ring(s);
}
