//go:build ignore
/* gobell.c - see gobell.h. */
#include "border/gobell.h"

#include "border/goworker.h"
#include "kernel/service.h"
#include "kernel/wait.h"

int coroi_bell_open(struct coro_scheduler *s)
{
	s->bell.fd = coroi_event_open();
	return s->bell.fd < 0 ? CORO_EAGAIN : s->bell.fd;
}

static void bell_destroy(struct coro_scheduler *s)
{
	if (s->bell.fd > 0) /* -1: not opened, or dropped. 0: bell_init never ran */
		coroi_event_close(s->bell.fd);
	s->bell.fd = -1;
}

void coroi_bell_ring(struct coro_scheduler *s)
{
	if (!at_load_seq(&s->bell.go_sleeps) || !at_xchg(&s->bell.go_sleeps, 0))
		return;
	/* Count this thread, then read fd; sequentially consistent, as in coroi_bell_drop. So
	 * coroi_bell_drop sees the count, or we see that fd is -1. */
	at_add(&s->bell.ringers, 1);
	int bell = (int)at_load_seq(&s->bell.fd);
	if (bell >= 0)
		coroi_event_ring(bell);
	at_add(&s->bell.ringers, -1);
}

void coroi_bell_drop(struct coro_scheduler *s)
{
	at_xchg(&s->bell.fd, -1);
	for (uint32_t n; (n = at_load_seq(&s->bell.ringers));)
		/* the ringing thread was preempted: let it finish */
		coroi_futex_wait(&s->bell.ringers, n, COROI_PREEMPTED_NS);
}

/* bell_canceled - F7 of gocall.h. */
static void bell_canceled(struct coro_scheduler *s, struct coroi_rec *r)
{
	(void)r;
	at_xchg(&s->calls.canceled, 1);
	coroi_bell_ring(s);
}

void coroi_bell_done(struct coro_scheduler *s, struct coroi_rec *r, uint32_t go_id)
{
	uint64_t head = at_load_rlx(&s->bell.done);
	if (go_id & COROI_JOIN_COUNTED)
		coroi_pending_begin(s, 1);
	/* The id takes the place of the permits: r has ended, and gets none any more. */
	r->permits = go_id & ~COROI_JOIN_COUNTED;
	do {
		r->next = head;
	} while (!at_cas(&s->bell.done, &head, (uint64_t)(uintptr_t)r));
	coroi_bell_ring(s);
}

static int bell_init(struct coro_scheduler *s, const coro_options *o)
{
	(void)o;
	s->bell.fd = -1;
	return CORO_OK;
}

static struct coroi_service bell_service = {
	.init = bell_init,
	.canceled = bell_canceled, /* F7 of gocall.h */
	.destroy = bell_destroy,
};

__attribute__((constructor)) static void bell_register(void)
{
	coroi_service_register(&bell_service);
}
