//go:build cgo && linux
/*
 * pin.c - coroutines that stay with one worker.
 *
 * A pinned one lies in the queue of its worker like the others; thieves pass it over
 * (coroi_deque_give), so that those who are not pinned pay nothing for it. Moving to another worker
 * is done by the native stack (coroi_run), where the coroutine is known to be suspended.
 */
#include "kernel/dense.h"
#include "kernel/nowait.h"
#include "kernel/run.h"

int coro_worker(void)
{
	struct coroi_worker *w = coroi_self();
	return coroi_current(w) ? w->id : -1;
}

int coro_pin(uint32_t worker)
{
	struct coroi_worker *w = coroi_self();
	struct coroi_rec *me = coroi_current(w);

	if (!me)
		return CORO_EPERM;
	if (worker != CORO_HERE && worker >= w->sched->workers)
		return CORO_EINVAL;
	if (coroi_is_dense(me))
		return worker == CORO_HERE || worker == w->id ? CORO_OK : CORO_EPERM;
	if (worker != CORO_HERE && worker != w->id && coroi_nowait(w, "coro_pin"))
		return CORO_ENOWAIT;
	me->flags |= COROI_F_PINNED;
	if (worker == CORO_HERE || worker == w->id)
		return CORO_OK;
	coroi_door_enter(w);
	w->copier = me;
	w->mover_to = (uint16_t)worker;
	w->current = NULL;
	return coroi_to(&me->sp, w->native_sp, 0, w, NULL);
}

int coro_unpin(void)
{
	struct coroi_rec *me = coroi_current(coroi_self());

	if (!me)
		return CORO_EPERM;
	if (!coroi_is_dense(me))
		me->flags &= (uint8_t)~COROI_F_PINNED;
	return CORO_OK;
}
