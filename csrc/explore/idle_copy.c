/*
 * idle_copy.c - steal.c and idle.c of the explored copy, and for scenarios what needs their static
 * functions.
 */
#include "kernel/steal.c"
#include "kernel/idle.c"

#include "world.h"

bool world_steal(struct coroi_worker *w, struct coroi_worker *v)
{
	return steal(w, v);
}

void world_nap(struct coroi_worker *w)
{
	sleep_until_claimed(w, false);
}

void world_run_raw(struct coroi_worker *w, unsigned *ran)
{
	for (;;) {
		coroi_door_enter(w);
		struct coroi_rec *r = world_record_of(coroi_pick_locked(w));
		if (r)
			coroi_end_locked(w, r);
		coroi_door_leave(w);
		if (!r)
			return;
		ran[*(uint64_t *)coroi_cold(r)->payload]++;
	}
}

static void sleeper(void *arg)
{
	struct coroi_worker *w = arg;

	coroi_be(w);
	sleep_until_claimed(w, false);
	EX_CHECK(!coroi_work(w)); /* false: no call into Go */
}

void world_asleep(unsigned mask)
{
	sched->activity = 0;
	for (unsigned i = 0; i < sched->workers; i++) {
		if (!(mask >> i & 1))
			continue;
		sched->sleepers[0] |= 1u << i;
		world_worker(i)->spin.ns = 0;
		ex_thread(world_names[i], sleeper, world_worker(i));
	}
}
