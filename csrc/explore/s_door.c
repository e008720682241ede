/*
 * s_door.c - scenarios of the door and of stealing. The owner is no run loop: it enters, takes or
 * adds one record, and leaves.
 */
#include "world.h"

#include "kernel/steal.h"

#define ITEMS 6

static struct {
	struct coroi_rec *item[ITEMS];
	unsigned taken[ITEMS];
	bool done;
} g;

enum { SERVED, FORCED, REFUSED, LOCKED_BY_FOREIGN, COLLECTED };

static void took(struct coroi_rec *r)
{
	for (unsigned i = 0; r && i < ITEMS; i++) {
		if (g.item[i] == r) {
			if (g.taken[i]++)
				ex_fail("item %u is taken twice", i);
			return;
		}
	}
	if (r)
		ex_fail("a record is taken that is no item");
}

static void add_item(unsigned i)
{
	struct coroi_worker *w = world_worker(0);
	g.item[i] = world_record(w);
	coroi_queue_locked(w, g.item[i]);
}

static void make(unsigned queued, unsigned in_all)
{
	for (unsigned i = 0; i < in_all; i++) {
		if (i < queued)
			add_item(i);
		else
			g.item[i] = world_record(world_worker(0));
	}
	world_region(&g, sizeof g);
}

/* drain - at the end: count all records that a worker still has. */
static void drain(struct coroi_worker *w)
{
	for (struct coroi_rec *r; (r = world_record_of(coroi_pick_locked(w)));)
		took(r);
}

static void check(void)
{
	for (unsigned i = 0; i < sched->workers; i++)
		drain(world_worker(i));
	for (unsigned i = 0; i < ITEMS; i++)
		if (g.item[i] && g.taken[i] != 1)
			ex_fail("item %u is taken %u times", i, g.taken[i]);
}

static void take_one(struct coroi_worker *w)
{
	coroi_door_enter(w);
	struct coroi_rec *r = world_record_of(coroi_pick_locked(w));
	coroi_door_leave(w);
	took(r);
}

static void owner(void *arg)
{
	struct coroi_worker *w = world_worker(0);
	(void)arg;
	world_be(0);
	take_one(w);
	coroi_door_enter(w);
	coroi_queue_locked(w, g.item[3]);
	coroi_door_leave(w);
	take_one(w);
}

static void thief(void *arg)
{
	struct coroi_worker *w = world_worker((unsigned)(uintptr_t)arg);

	world_be(w->id);
	if (!world_steal(w, world_worker(0))) {
		ex_reached(REFUSED);
		return;
	}
	ex_reached(w->count.served ? SERVED : FORCED);
	take_one(w);
}

static void foreign(void *arg)
{
	struct coroi_worker *w = world_worker(0);
	(void)arg;
	coroi_door_lock(w);
	ex_reached(LOCKED_BY_FOREIGN);
	struct coroi_rec *r = world_record_of(coroi_deque_pop(&w->queue));
	coroi_door_unlock(w);
	took(r);
}

static void setup_thief(void)
{
	make(3, 4);
	ex_thread("owner", owner, NULL);
	ex_thread("thief1", thief, (void *)1);
}

static const struct ex_scenario door_thief = {
	.name = "door-thief",
	.about = "an owner that takes and adds, and one thief",
	.setup = setup_thief,
	.check = check,
	.workers = 2,
	.raw = 3,
	.reach = 1 << SERVED | 1 << FORCED | 1 << REFUSED,
};

static void setup_thieves(void)
{
	setup_thief();
	ex_thread("thief2", thief, (void *)2);
}

static const struct ex_scenario door_thieves = {
	.name = "door-thieves",
	.about = "the same with two thieves",
	.setup = setup_thieves,
	.check = check,
	.workers = 3,
	.raw = 7,
	.reach = 1 << SERVED | 1 << FORCED | 1 << REFUSED,
};

static void setup_foreign(void)
{
	setup_thief();
	ex_thread("foreign", foreign, NULL);
}

static const struct ex_scenario door_foreign = {
	.name = "door-foreign",
	.about = "the same with a thief and a thread that is no worker",
	.setup = setup_foreign,
	.check = check,
	.workers = 2,
	.raw = 3,
	.reach = 1 << SERVED | 1 << FORCED | 1 << REFUSED | 1 << LOCKED_BY_FOREIGN,
};

static const struct ex_scenario door_exchange = {
	.name = "door-exchange",
	.about = "door-thief where there is no membarrier",
	.setup = setup_thief,
	.check = check,
	.workers = 2,
	.raw = 3,
	.flags = CORO_NO_MEMBARRIER,
	.reach = 1 << SERVED | 1 << FORCED | 1 << REFUSED,
};

/* A collector (CRD1 of slab.h) and a thief come to one door. The owner spends credit and earns some
 * inside. */

static unsigned alive;
static bool collected;

static void owner_with_credit(void *arg)
{
	struct coroi_worker *w = world_worker(0);
	(void)arg;
	world_be(0);
	coroi_door_enter(w);
	EX_CHECK(coroi_mags_spend(&w->mags));
	alive++;
	coroi_door_leave(w);
	take_one(w);
	coroi_door_enter(w);
	alive--;
	coroi_mags_earn(&w->mags);
	coroi_queue_locked(w, g.item[3]);
	if (w->mags.credit & COROI_LEAN)
		ex_reached(COLLECTED);
	coroi_door_leave(w);
	take_one(w);
}

static void collector(void *arg)
{
	(void)arg;
	at_xchg(&sched->slab.wanted, COROI_WANTED);
	world_collect(world_worker(0));
	collected = true;
}

static void setup_collector(void)
{
	make(3, 4);
	sched->slab.granted = world_worker(0)->mags.credit = 2;
	world_region(&alive, sizeof alive);
	world_region(&collected, sizeof collected);
	ex_thread("owner", owner_with_credit, NULL);
	ex_thread("thief1", thief, (void *)1);
	ex_thread("collector", collector, NULL);
}

static void check_collector(void)
{
	EX_CHECK(collected);
	/* what was in hand has come back, and no more is kept */
	EX_CHECK(world_worker(0)->mags.credit % COROI_LEAN == 0);
	EX_CHECK(sched->slab.granted == alive);
	check();
}

static const struct ex_scenario door_collector = {
	.name = "door-collector",
	.about = "an owner that spends and earns credit, a thief, and a collector of credit",
	.setup = setup_collector,
	.check = check_collector,
	.workers = 2,
	.raw = 3,
	.reach = 1 << SERVED | 1 << FORCED | 1 << REFUSED | 1 << COLLECTED,
};

/* An owner with an empty queue and one record in `next`. A remote wake of another record is on its
 * way. */

static void owner_of_next(void *arg)
{
	struct coroi_worker *w = world_worker(0);
	(void)arg;
	world_be(0);
	take_one(w);
	take_one(w);
}

static void waker(void *arg)
{
	(void)arg;
	EX_CHECK(coro_wake(coroi_handle(g.item[1])) == CORO_OK);
}

static void setup_next(void)
{
	struct coroi_worker *w = world_worker(0);

	make(0, 2);
	w->next = g.item[0];
	g.item[1]->state = COROI_PARKED;
	ex_thread("owner", owner_of_next, NULL);
	ex_thread("thief1", thief, (void *)1);
	ex_thread("waker", waker, NULL);
}

static void check_next(void)
{
	struct coroi_worker *w = world_worker(0);
	coroi_drain_locked(w);
	check();
}

static const struct ex_scenario steal_next_wake = {
	.name = "steal-next-wake",
	.about = "an empty queue, a record in next, a remote wake on its way, a thief",
	.setup = setup_next,
	.check = check_next,
	.workers = 2,
	.raw = 3,
	.reach = 1 << FORCED,
};

/* Two busy workers that stir: each may find that the other has far more to do, and both may knock
 * at the same time. w0 has 4 records and w1 2; w0 takes all of its own before. */

static void stirs(void *arg)
{
	struct coroi_worker *w = world_worker((unsigned)(uintptr_t)arg);

	world_be(w->id);
	if (w->id == 0) {
		coroi_door_enter(w);
		for (unsigned i = 0; i < 4; i++)
			took(world_record_of(coroi_pick_locked(w)));
		coroi_door_leave(w);
	}
	w->stir.from = world_worker(1 - w->id);
	coroi_stir(w);
	EX_CHECK(!w->stir.from);
	if (w->count.served + w->count.forced)
		ex_reached(w->count.served ? SERVED : FORCED);
	else
		ex_reached(REFUSED);
	take_one(w);
}

static void setup_stir(void)
{
	make(4, ITEMS);
	for (unsigned i = 4; i < ITEMS; i++) {
		g.item[i] = world_record(world_worker(1));
		coroi_queue_locked(world_worker(1), g.item[i]);
	}
	ex_thread("w0", stirs, (void *)0);
	ex_thread("w1", stirs, (void *)1);
}

static const struct ex_scenario stir = {
	.name = "stir",
	.about = "two busy workers, each of which may take from the other",
	.setup = setup_stir,
	.check = check,
	.workers = 2,
	.raw = 3,
	.reach = 1 << SERVED | 1 << FORCED | 1 << REFUSED,
};

const struct ex_scenario *const scenarios_door[] = {
	&door_thief,     &door_thieves,    &door_foreign, &door_exchange,
	&door_collector, &steal_next_wake, &stir,         NULL,
};
