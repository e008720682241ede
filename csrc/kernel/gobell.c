//go:build cgo && linux
/* gobell.c - see gobell.h. */
#include "kernel/gobell.h"

#include "kernel/goworker.h"
#include "kernel/wait.h"

int coroi_bell_open(struct coro_scheduler *s)
{
	s->bell = coroi_event_open();
	return s->bell < 0 ? CORO_EAGAIN : s->bell;
}

void coroi_bell_close(struct coro_scheduler *s)
{
	if (s->bell >= 0)
		coroi_event_close(s->bell);
	s->bell = -1;
}

void coroi_bell_ring(struct coro_scheduler *s)
{
	if (!at_load_seq(&s->go_sleeps) || !at_xchg(&s->go_sleeps, 0))
		return;
	/* Counted, then looked at: whoever drops it sees that we are here, or we see that it is
	 * gone. */
	at_add(&s->ringers, 1);
	int bell = (int)at_load_seq(&s->bell);
	if (bell >= 0)
		coroi_event_ring(bell);
	at_add(&s->ringers, -1);
}

void coroi_bell_drop(struct coro_scheduler *s)
{
	at_xchg(&s->bell, -1);
	for (uint32_t n; (n = at_load_seq(&s->ringers));)
		coroi_futex_wait(&s->ringers, n, 20000); /* preempted: let it finish */
}

void coroi_bell_canceled(struct coro_scheduler *s)
{
	at_xchg(&s->calls_canceled, 1);
	coroi_bell_ring(s);
}

void coroi_bell_done(struct coro_scheduler *s, struct coroi_rec *r, uint32_t go_id)
{
	uint64_t head = at_load_rlx(&s->done);
	if (go_id & COROI_JOIN_COUNTED)
		coroi_pending_begin(s, 1);
	r->permits = go_id & ~COROI_JOIN_COUNTED; /* nobody wakes it any more */
	do {
		r->next = head;
	} while (!at_cas(&s->done, &head, (uint64_t)(uintptr_t)r));
	coroi_bell_ring(s);
}
