//go:build ignore
/* latch.c - latches: all waiters go on when the count is 0. */
#include "sync/latch.h"

struct latch {
	struct coroi_object object;
	struct coroi_waitq queue; /* not empty: count is not 0 */
	uint64_t count;
};
COROI_VIEW(struct latch, coro_latch, latch_of)
_Static_assert(sizeof(struct latch) <= COROI_GO_WORD && COROI_GO_WORD < sizeof(coro_latch),
	       "the word is free");

int coro_latch_init(coro_latch *p, uint64_t count, uint32_t flags)
{
	int status = count <= CORO_PERMITS_MAX ? coroi_object_init(p, sizeof(struct latch), flags)
					       : CORO_EINVAL;

	if (!status)
		latch_of(p)->count = count;
	return status;
}

int coro_latch_destroy(coro_latch *p)
{
	return coroi_object_destroy(p, NULL);
}

int coro_latch_add(coro_latch *p, int64_t n)
{
	struct latch *l = latch_of(p);
	struct coroi_chain woken = {NULL, NULL};
	int status = coroi_object_enter_at(p);

	if (status)
		return status;
	if (n < 0 && l->count < -(uint64_t)n)
		return coroi_object_answer(&l->object, CORO_EINVAL);
	if (n > 0 && ((uint64_t)n > CORO_PERMITS_MAX || l->count + (uint64_t)n > CORO_PERMITS_MAX))
		return coroi_object_answer(&l->object, CORO_EOVERFLOW);
	l->count += (uint64_t)n;
	if (!l->count)
		coroi_object_take(&l->object, UINT64_MAX, &woken);
	return coroi_object_leave_waking(&l->object, &woken);
}

int coroi_latch_add_leaf(coro_latch *p, const int64_t *n)
{
	struct latch *l = latch_of(p);

	if (!coroi_object_enter_leaf(&l->object, COROI_SPIN_PAUSE))
		return COROI_BY_CALL;
	/* A count below 0 is more than CORO_PERMITS_MAX, too. */
	uint64_t count = l->count + (uint64_t)*n;
	bool may = count <= CORO_PERMITS_MAX && (count || !l->queue.first);
	if (may)
		l->count = count;
	return coroi_object_answer(&l->object, may ? CORO_OK : COROI_BY_CALL);
}

/* latch_try - CORO_OK: the count is 0; COROI_WAITS: it is not. l is entered. */
static inline int latch_try(const struct latch *l)
{
	return l->count ? COROI_WAITS : CORO_OK;
}

int coro_latch_wait(coro_latch *p, uint64_t deadline)
{
	static const struct coroi_wait_as as = {CORO_WAIT_LATCH, "coro_latch_wait"};
	struct latch *l = latch_of(p);
	int status = coroi_object_enter_at(p);

	return status ? status
		      : coroi_object_answer_waiting(&l->object, latch_try(l), &as, 0, 0, deadline);
}

int coroi_latch_wait_gowaiter(coro_latch *p, struct coroi_gowaiter *g)
{
	struct latch *l = latch_of(p);
	int status = coroi_object_enter(&l->object);

	return status ? status : coroi_object_answer_gowaiter(&l->object, latch_try(l), g, 0, 0);
}

int coroi_latch_wait_leaf(coro_latch *p, void *unused)
{
	struct latch *l = latch_of(p);
	(void)unused;

	return coroi_object_enter_leaf(&l->object, COROI_SPIN_PAUSE)
		       ? coroi_object_answer(&l->object, latch_try(l))
		       : COROI_BY_CALL;
}
