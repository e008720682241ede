//go:build cgo && linux
/* guest.c - see guest.h. */
#include "guest.h"

#include "bell.h"

struct coroi_guest *coroi_guest_new(struct coro_scheduler *sched, uint32_t slot, struct coroi_rec *body, uint32_t gen, size_t bytes)
{
	struct coroi_guest *g = coroi_alloc(sizeof *g + bytes, 16);

	if (!g)
		return NULL;
	g->sched = sched;
	g->slot = slot;
	g->body = body;
	g->gen = gen;
	return g;
}

void coroi_guest_free(struct coroi_guest *g)
{
	coroi_release(g);
}

int coroi_guest_wait(struct coroi_guest *g, struct coroi_object *o, struct coroi_waitq *q)
{
	uint64_t mark = g->x.mark; /* who wants it, set beforehand like n */

	coroi_waiter_init(&g->x, o, NULL, g->x.n, g->value);
	g->x.mark = mark;
	g->x.tell = COROI_TELL_GUEST;
	g->x.guest = g;
	coroi_waitq_add(q, &g->x);
	coroi_object_leave(o);
	return COROI_WAITS;
}

bool coroi_guest_withdraw(struct coroi_guest *g)
{
	return g->withdraw ? g->withdraw(g) : coroi_waiter_withdraw(&g->x);
}

void coroi_guest_wake(struct coroi_guest *g)
{
	struct coro_scheduler *s = g->sched;
	struct coroi_rec *body = g->body;
	uint32_t gen = g->gen;

	at_store_rel(&g->fired, 1); /* a body may go on at once, and free g */
	if (body) {
		coroi_event_send_to(body, gen);
		return;
	}
	uint64_t head = at_load_rlx(&s->guests);
	do {
		g->next = head;
	} while (!at_cas(&s->guests, &head, (uintptr_t)g));
	coroi_bell_ring(s);
}
