//go:build ignore
/* resolve.c - looking names up: getaddrinfo(3), by a thread of the pool. */
#include "coro_io.h"

#include "base/sysio.h"
#include "io/blocking.h"
#include "kernel/kernel.h"

#include <netdb.h>
#include <string.h>

/*
 * A look-up that a thread has begun outlives a caller that gives up. `state` is RUNNING, then the
 * caller's record, and DONE or LEFT; the one of the two that comes second frees the look-up, and
 * the first gives the token back: nothing comes any more of a look-up that was left. One that no
 * thread has begun is taken back, and freed.
 */
enum { RUNNING, DONE, LEFT };

struct lookup {
	struct coroi_job job;
	uint64_t state; /* atomic */
	struct addrinfo hints, *found;
	bool hinted;
	int error; /* what getaddrinfo has returned */
	char *node, *service;
	char text[]; /* of both */
};

static void drop(struct lookup *l)
{
	if (l->found)
		coroi_sys_freeaddrinfo(l->found);
	coroi_release(l);
}

static void look_up(void *arg)
{
	struct lookup *l = arg;
	struct coro_scheduler *s = l->job.pool->sched;

	if (!l->job.refused)
		l->error = coroi_sys_getaddrinfo(l->node, l->service, l->hinted ? &l->hints : NULL,
						 &l->found);
	uint64_t was = at_xchg(&l->state, DONE);
	if (was == LEFT) {
		drop(l);
		return;
	}
	if (was != RUNNING)
		coroi_event_send((struct coroi_rec *)(uintptr_t)was); /* l is the caller's */
	coroi_pending_end(s);
}

static struct lookup *lookup_of(const char *node, const char *service, const struct addrinfo *hints)
{
	size_t node_bytes = node ? strlen(node) + 1 : 0;
	size_t service_bytes = service ? strlen(service) + 1 : 0;
	struct lookup *l = coroi_alloc(sizeof *l + node_bytes + service_bytes, COROI_LINE);

	if (!l)
		return NULL;
	*l = (struct lookup){.job = {.fn = look_up,
				     .arg = l,
				     .what = (coro_fn)(uintptr_t)coro_getaddrinfo,
				     .is_lookup = true}};
	if (node)
		l->node = memcpy(l->text, node, node_bytes);
	if (service)
		l->service = memcpy(l->text + node_bytes, service, service_bytes);
	if (hints) {
		l->hinted = true;
		l->hints = (struct addrinfo){.ai_flags = hints->ai_flags,
					     .ai_family = hints->ai_family,
					     .ai_socktype = hints->ai_socktype,
					     .ai_protocol = hints->ai_protocol};
	}
	return l;
}

static bool lookup_withdraw(void *arg)
{
	struct lookup *l = arg;
	struct coro_scheduler *s = l->job.pool->sched;

	if (coroi_blocking_take_back(&l->job)) {
		drop(l);
		return true;
	}
	uint64_t was = at_load_rlx(&l->state);
	/* a record, or DONE: then the event is on its way */
	bool left = was != DONE && at_cas(&l->state, &was, LEFT);
	if (left)
		coroi_pending_end(s);
	return left;
}

/* await - wait for l. Returns: CORO_OK: l is the caller's; a status: it is the thread's,
 * or is gone. */
static int await(struct lookup *l, struct coroi_rec *me, uint64_t deadline)
{
	uint64_t running = RUNNING;

	coroi_escape(me);
	if (!at_cas(&l->state, &running, (uintptr_t)me))
		return CORO_OK;
	return coroi_wait(me, CORO_WAIT_BLOCKING, deadline, lookup_withdraw, l);
}

int coro_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
		     struct addrinfo **out, int *error, uint64_t deadline)
{
	struct coroi_worker *w = coroi_self();
	struct coroi_rec *me = coroi_current(w);
	int status;

	if (!me)
		return CORO_EPERM;
	if (!out || !error || !(node || service))
		return CORO_EINVAL;
	if (!deadline)
		return CORO_ETIMEDOUT;
	if ((status = coroi_nowait(w, "coro_getaddrinfo", deadline)) || (status = coroi_refused()))
		return status;
	struct lookup *l = lookup_of(node, service, hints);
	if (!l)
		return CORO_ENOMEM;
	status = coroi_blocking_alone(coroi_scheduler_of(w), &l->job);
	if (status) {
		drop(l);
		return status;
	}
	if ((status = await(l, me, deadline)))
		return status;
	status = l->job.refused ? CORO_EAGAIN : l->error ? 1 : CORO_OK;
	*error = l->error;
	if (!status) {
		*out = l->found;
		l->found = NULL;
	}
	drop(l);
	return status;
}
