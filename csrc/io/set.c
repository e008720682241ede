//go:build ignore
/* set.c - see set.h. */
#include "io/set.h"

#include "base/sys.h"
#include "base/sysio.h"

#include <errno.h>

#define EVENTS    COROI_FD_EVENTS /* fetched at once */
#define BELL      0               /* the data of the bell's event: no coro_fd */
#define BROKEN_NS 4000000         /* a sleep on the futex instead of one in a set that is broken */

enum { BED_FUTEX, BED_SET };

struct set {
	int epoll, bell;
	uint32_t open; /* 1: both are; atomic, release: other threads use them too (set_is_open) */
	uint32_t bed;  /* where the own thread sleeps; atomic */
	/* What the own thread has fetched. */
	uint32_t fetched;
	struct epoll_event event[EVENTS];
} __attribute__((aligned(COROI_APART)));

/* What a scheduler has. */
struct sets {
	struct coroi_refusal refusal;
	struct set set[];
};

static struct coroi_service set_service;

static struct sets *sets_of(struct coro_scheduler *s)
{
	return *coroi_service_state(s, &set_service);
}

static struct set *set_of(const struct coroi_worker *w)
{
	return &sets_of(coroi_scheduler_of(w))->set[coroi_worker_id(w)];
}

struct coroi_refusal *coroi_set_refusal(struct coro_scheduler *s)
{
	struct sets *all = sets_of(s);
	return all ? &all->refusal : NULL;
}

/* ------------------------------------------------------------------------------ descriptors */

static int open_set(struct set *t)
{
	int epoll = coroi_set_open();
	if (epoll < 0)
		return epoll;
	int bell = coroi_event_open();
	int status = bell < 0 ? -EMFILE : coroi_set_add(epoll, bell, EPOLLIN, BELL);
	if (status < 0) {
		if (bell >= 0)
			coroi_close(bell);
		coroi_close(epoll);
		return status;
	}
	t->epoll = epoll;
	t->bell = bell;
	at_store_rel(&t->open, 1); /* pairs with set_is_open */
	return 0;
}

int coroi_set_watch(struct coroi_worker *w, coro_fd f)
{
	struct set *t = set_of(w);
	int status = at_load_rlx(&t->open) ? 0 : open_set(t);

	if (status < 0)
		return status;
	status = coroi_set_add(t->epoll, coroi_fd_number(f),
			       EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, f);
	if (status >= 0)
		coroi_watch(w, 1);
	return status;
}

void coroi_set_forget(struct coroi_worker *w, coro_fd f)
{
	/* It fails if the user has closed the number: then it is out of the set. */
	(void)coroi_set_remove(set_of(w)->epoll, coroi_fd_number(f));
	coroi_watch(w, -1);
}

/* ------------------------------------------------------------------------------- the driver */

/* fetch - events but the bell's. *rung: the bell is rung. Returns: their number; -errno. */
static int fetch(struct set *t, struct epoll_event *event, int64_t ns, bool *rung)
{
	int n = coroi_set_wait(t->epoll, event, EVENTS, ns), k = 0;

	*rung = false;
	for (int i = 0; i < n; i++)
		if (event[i].data.u64 == BELL)
			*rung = true;
		else
			event[k++] = event[i];
	return n < 0 ? n : k;
}

/* set_is_open - the descriptors of t can be used. The caller may be another thread than the one
 * that opened them: one that polls for the worker, or its own one, while the worker is lent. */
static bool set_is_open(const struct set *t)
{
	return at_load_acq(&t->open); /* pairs with open_set */
}

static void lie_down(struct set *t, uint32_t bed)
{
	if (at_load_rlx(&t->bed) != bed)
		at_xchg(&t->bed, bed); /* SET1 */
}

static bool set_sleep(struct coroi_worker *w, int64_t ns)
{
	struct set *t = set_of(w);
	bool rung;

	if (!coroi_watches(w) || !set_is_open(t)) {
		lie_down(t, BED_FUTEX);
		return coroi_futex_sleep(w, ns);
	}
	lie_down(t, BED_SET);
	if (!coroi_is_to_sleep(w)) /* SET1 */
		return false;
	int n = fetch(t, t->event, ns, &rung);
	if (rung)
		coroi_event_clear(t->bell);
	if (n < 0 && n != -EINTR) {
		/* The process has closed the descriptor. The futex is no worse than a busy loop. */
		lie_down(t, BED_FUTEX);
		return coroi_futex_sleep(w, ns < 0 || ns > BROKEN_NS ? BROKEN_NS : ns);
	}
	t->fetched = n > 0 ? (uint32_t)n : 0;
	return n > 0;
}

static void set_kick(struct coroi_worker *w)
{
	struct set *t = set_of(w);

	if (at_load_seq(&t->bed) == BED_SET) /* SET2 */
		coroi_event_ring(t->bell);
	else
		coroi_futex_kick(w);
}

static void set_deliver(struct coroi_worker *w)
{
	struct set *t = set_of(w);

	coroi_fd_events(t->event, t->fetched); /* SET3 */
	t->fetched = 0;
}

static bool set_poll(struct coroi_worker *w)
{
	struct epoll_event event[EVENTS];
	struct set *t = set_of(w);
	bool rung;

	if (!set_is_open(t))
		return false;
	int n = fetch(t, event, 0, &rung);
	return n > 0 && coroi_fd_events(event, (uint32_t)n);
}

static const struct coroi_driver driver = {
	.sleep = set_sleep,
	.kick = set_kick,
	.deliver = set_deliver,
	.poll = set_poll,
};

/* ------------------------------------------------------------------------------ the service */

static int sets_init(struct coro_scheduler *s, const coro_options *o)
{
	(void)o;
	struct sets *all = coroi_alloc(sizeof *all + coroi_workers_of(s) * sizeof *all->set,
				       COROI_APART);
	if (!all)
		return CORO_ENOMEM;
	*coroi_service_state(s, &set_service) = all;
	coroi_set_driver(s, &driver);
	return CORO_OK;
}

static void sets_refuse(struct coro_scheduler *s)
{
	struct coroi_refusal *r = coroi_set_refusal(s);

	if (!r)
		return;
	coroi_lock(&r->lock);
	r->refuses = true;
	coroi_unlock(&r->lock);
}

static void sets_stats(struct coro_scheduler *s, coro_stats *out)
{
	out->accept_pauses = at_load_rlx(&coroi_set_refusal(s)->pauses);
}

static void sets_close(struct coro_scheduler *s)
{
	if (sets_of(s))
		coroi_fd_end(s);
}

static void sets_destroy(struct coro_scheduler *s)
{
	struct sets *all = sets_of(s);

	for (uint32_t i = 0; all && i < coroi_workers_of(s); i++)
		if (all->set[i].open) {
			coroi_close(all->set[i].bell);
			coroi_close(all->set[i].epoll);
		}
	coroi_release(all);
	*coroi_service_state(s, &set_service) = NULL;
}

static struct coroi_service set_service = {
	.init = sets_init,
	.refuse = sets_refuse,
	.stats = sets_stats,
	.close = sets_close,
	.destroy = sets_destroy,
};

__attribute__((constructor)) static void set_register(void)
{
	coroi_service_register(&set_service);
}
