//go:build ignore
/* gobell.c - see gobell.h. */
#include "border/gobell.h"

#include "border/state.h"
#include "kernel/wait.h"

int coroi_bell_open(struct coro_scheduler *s)
{
	coroi_border(s)->bell.fd = coroi_event_open();
	return coroi_border(s)->bell.fd < 0 ? CORO_EAGAIN : coroi_border(s)->bell.fd;
}

void coroi_bell_close(struct coro_scheduler *s)
{
	if (coroi_border(s)->bell.fd >
	    0) /* -1: not opened, or dropped. 0: the scheduler was not made to the end */
		coroi_event_close(coroi_border(s)->bell.fd);
	coroi_border(s)->bell.fd = -1;
}

void coroi_bell_ring(struct coro_scheduler *s)
{
	if (!at_load_seq(&coroi_border(s)->bell.go_sleeps) ||
	    !at_xchg(&coroi_border(s)->bell.go_sleeps, 0))
		return;
	/* Count this thread, then read fd; sequentially consistent, as in coroi_bell_drop. So
	 * coroi_bell_drop sees the count, or we see that fd is -1. */
	at_add(&coroi_border(s)->bell.ringers, 1);
	int bell = (int)at_load_seq(&coroi_border(s)->bell.fd);
	if (bell >= 0)
		coroi_event_ring(bell);
	at_add(&coroi_border(s)->bell.ringers, -1);
}

void coroi_bell_drop(struct coro_scheduler *s)
{
	at_xchg(&coroi_border(s)->bell.fd, -1);
	for (uint32_t n; (n = at_load_seq(&coroi_border(s)->bell.ringers));)
		/* the ringing thread was preempted: let it finish */
		coroi_futex_wait(&coroi_border(s)->bell.ringers, n, COROI_PREEMPTED_NS);
}

void coroi_bell_done(struct coro_scheduler *s, struct coroi_rec *r, uint32_t go_id)
{
	uint64_t head = at_load_rlx(&coroi_border(s)->bell.done);
	if (go_id & COROI_JOIN_COUNTED)
		coroi_pending_begin(s, 1);
	/* The id takes the place of the permits: r has ended, and gets none any more. */
	r->permits = go_id & ~COROI_JOIN_COUNTED;
	do {
		r->next = head;
	} while (!at_cas(&coroi_border(s)->bell.done, &head, (uint64_t)(uintptr_t)r));
	coroi_bell_ring(s);
}
