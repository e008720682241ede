//go:build ignore
/*
 * pin.c - coroutines that stay with one worker.
 *
 * A pinned coroutine lies in the queue of its worker like any other. Thieves pass it over
 * (coroi_deque_give), so that coroutines that are not pinned pay nothing. A coroutine migrates to
 * another worker by an errand (run.h): the native stack does it, after the coroutine has suspended.
 */
#include "kernel/dense.h"
#include "kernel/inlined.h"
#include "kernel/nowait.h"
#include "kernel/run.h"
#include "kernel/wait.h"

int coro_worker(void)
{
	struct coroi_worker *w = coroi_self();
	return coroi_current(w) ? w->id : -1;
}

struct migration {
	struct coroi_rec *rec;
	struct coroi_worker *to;
};

/* migrate - the errand: m->rec, which is suspended, goes on at home on m->to. */
static void migrate(struct coroi_worker *w, void *arg)
{
	struct migration *m = arg;

	coroi_door_enter(w);
	/* m is on the stack of m->rec, and not there any more when this returns. */
	coroi_move_locked(m->rec, m->to);
	coroi_door_leave(w);
}

/* move - me, the current coroutine of w, goes on at the worker of that number. */
static int move(struct coroi_worker *w, struct coroi_rec *me, uint32_t to)
{
	struct migration m = {me, &w->sched->worker[to]};
	struct coroi_sections open = coroi_sections_leave(w);

	coroi_door_enter(w);
	int status = coroi_errand_locked(w, me, migrate, &m);
	coroi_sections_return(&open);
	return status;
}

/* stays - me cannot move: it is dense, or runs on the stack of a parent that is pinned. */
static bool stays(const struct coroi_rec *me)
{
	return coroi_is_dense(me) || coroi_inlined_is_pinned(me);
}

int coro_pin(uint32_t worker)
{
	struct coroi_worker *w = coroi_self();
	struct coroi_rec *me = coroi_current(w);

	if (!me)
		return CORO_EPERM;
	if (worker != CORO_HERE && worker >= w->sched->workers)
		return CORO_EINVAL;
	if (stays(me))
		return worker == CORO_HERE || worker == w->id ? CORO_OK : CORO_EPERM;
	if (worker != CORO_HERE && worker != w->id && coroi_nowait(w, "coro_pin", COROI_BOUNDED))
		return CORO_ENOWAIT;
	coroi_flag(me, COROI_F_PINNED);
	at_store_rlx(&w->sched->worker[worker == CORO_HERE ? w->id : worker].kept, 1);
	if (worker == CORO_HERE || worker == w->id)
		return CORO_OK;
	return move(w, me, worker);
}

int coro_unpin(void)
{
	struct coroi_rec *me = coroi_current(coroi_self());

	if (!me)
		return CORO_EPERM;
	if (!stays(me))
		at_store_rlx(&me->flags, (uint8_t)(me->flags & ~COROI_F_PINNED));
	return CORO_OK;
}
