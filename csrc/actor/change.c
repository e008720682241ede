//go:build ignore
/* change.c - SND1, SND2, HOM3 and CTL2 of box.h, the general way: see change.h. */
#include "actor/change.h"

#include "border/border.h"

COROI_COLD void coroi_ask_home(const struct coroi_actors *all, uint32_t worker)
{
	coroi_task_ask(coroi_worker_at(all->sched, worker));
}

bool coroi_change(void *change)
{
	struct coroi_change *x = change;
	uint64_t old = coroi_box_look(&x->a->box);

	for (;;) {
		bool dormant = coroi_box_is_dormant(old);
		if (x->dormant && !dormant)
			return false;
		x->status = coroi_box_takes(old, x->to) ? CORO_OK : CORO_ESTALE;
		if (x->status)
			return false;
		if (coroi_change_try(x, &old))
			return dormant;
	}
}

/* runs_here - SND1 and SND2 from outside to an actor that is dormant and brief: its turn runs on
 * this thread. False: nothing was done. */
static bool runs_here(struct coroi_actors *all, struct coroi_change *x, int *status)
{
	return coroi_has(x->a, COROI_P_BRIEF) && !coroi_has(x->a, COROI_P_PINNED) &&
	       coroi_task_lend(all->sched, (uintptr_t)x->a, coroi_change, x, status);
}

COROI_NOINLINE int coroi_change_slow(struct coroi_actors *all, struct coroi_change *x)
{
	int status = CORO_OK;

	if (!coroi_change_active(x) && (!x->outside || !runs_here(all, x, &status)))
		status = coroi_task_spawn(all->sched, coroi_pin_of(x->a), (uintptr_t)x->a,
					  coroi_change, x);
	if (x->asks)
		coroi_ask_home(all, x->asks - 1);
	return status ? status : x->status;
}

int coroi_post(struct coroi_actors *all, struct coroi_place *a, coro_actor to,
	       struct coro_message *m)
{
	struct coroi_change x = {.a = a, .to = to, .first = m, .last = m, .n = 1};

	return coroi_change_slow(all, &x);
}

int coroi_mark(struct coroi_actors *all, struct coroi_place *a, coro_actor to, uint64_t mark)
{
	struct coroi_change x = {.a = a, .to = to, .mark = mark};

	return coroi_change_slow(all, &x);
}

int coroi_mark_dormant(struct coroi_actors *all, struct coroi_place *a, coro_actor to,
		       uint64_t mark)
{
	struct coroi_change x = {.a = a, .to = to, .mark = mark, .dormant = true};

	return coroi_change_slow(all, &x);
}
