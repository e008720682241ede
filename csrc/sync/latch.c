//go:build cgo && linux
/* latch.c - latches: all who wait go on when the count is 0. */
#include "sync/object.h"

struct latch {
	struct coroi_object object;
	struct coroi_waitq queue; /* not empty: count is not 0 */
	uint64_t count;
};
COROI_VIEW(struct latch, coro_latch, latch_of)

int coro_latch_init(coro_latch *p, uint64_t count, uint32_t flags)
{
	int status = count <= CORO_PERMITS_MAX ? coroi_object_init(p, sizeof(struct latch), flags)
					       : CORO_EINVAL;

	if (!status)
		latch_of(p)->count = count;
	return status;
}

int coro_latch_add(coro_latch *p, int64_t n)
{
	struct coroi_chain woken = {NULL, NULL};

	if (!p)
		return CORO_EINVAL;
	struct latch *l = latch_of(p);
	int status = coroi_object_enter(&l->object);
	if (status)
		return status;
	if (n < 0 && l->count < -(uint64_t)n) {
		coroi_object_leave(&l->object);
		return CORO_EINVAL;
	}
	if (n > 0 &&
	    ((uint64_t)n > CORO_PERMITS_MAX || l->count + (uint64_t)n > CORO_PERMITS_MAX)) {
		coroi_object_leave(&l->object);
		return CORO_EOVERFLOW;
	}
	l->count += (uint64_t)n;
	for (struct coroi_waiter *x; !l->count && (x = coroi_waitq_take(&l->queue));)
		coroi_chain_add(&woken, x);
	coroi_object_leave(&l->object);
	coroi_chain_wake(&woken);
	return CORO_OK;
}

int coro_latch_wait(coro_latch *p, uint64_t deadline)
{
	static const struct coroi_wait_as as = {CORO_WAIT_LATCH, "coro_latch_wait"};

	if (!p)
		return CORO_EINVAL;
	struct latch *l = latch_of(p);
	int status = coroi_object_enter(&l->object);
	if (status)
		return status;
	if (!l->count) {
		coroi_object_leave(&l->object);
		return CORO_OK;
	}
	return coroi_object_wait(coroi_here(), &l->object, l->object.home, &l->queue, &as, 0, 0,
				 deadline);
}

int coroi_latch_wait_gowaiter(coro_latch *p, struct coroi_gowaiter *g)
{
	struct latch *l = latch_of(p);
	int status = coroi_object_enter(&l->object);

	if (status)
		return status;
	if (l->count && g)
		return coroi_gowaiter_wait(g, &l->object, &l->queue);
	status = l->count ? CORO_ETIMEDOUT : CORO_OK;
	coroi_object_leave(&l->object);
	return status;
}

int coroi_latch_add_leaf(coro_latch *p, const int64_t *n)
{
	struct latch *l = latch_of(p);

	if (!coroi_object_enter_leaf(&l->object))
		return COROI_BY_CALL;
	/* more than there may be, if it would be less than 0 */
	uint64_t count = l->count + (uint64_t)*n;
	bool may = count <= CORO_PERMITS_MAX && (count || !l->queue.first);
	if (may)
		l->count = count;
	coroi_object_leave(&l->object);
	return may ? CORO_OK : COROI_BY_CALL;
}

int coroi_latch_wait_leaf(coro_latch *p, void *unused)
{
	struct latch *l = latch_of(p);
	(void)unused;

	if (!coroi_object_enter_leaf(&l->object))
		return COROI_BY_CALL;
	bool over = !l->count;
	coroi_object_leave(&l->object);
	return over ? CORO_OK : CORO_ETIMEDOUT;
}

int coro_latch_destroy(coro_latch *p)
{
	if (!p)
		return CORO_EINVAL;
	struct latch *l = latch_of(p);
	int status = coroi_object_enter_end(&l->object);
	return status ? status : coroi_object_end(&l->object, l->queue.first);
}
