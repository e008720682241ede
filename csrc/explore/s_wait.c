/*
 * s_wait.c - scenarios of waking, stealing, ending and joining, and of records that are used again.
 */
#include "world.h"

static struct {
	coro_handle x, y;
	unsigned ran, others, oks, stales, woken;
	unsigned joined, detached, refused;
	bool may_wake, canceled;
	uint64_t deadline;
} g;

/* spawn_on - spawn into the inbox of that worker, before anything runs. */
static void spawn_on(unsigned id, const coro_attr *attr, coro_fn fn, coro_handle *out)
{
	sched->outside.next_worker = id * 64;
	EX_CHECK(coro_scheduler_spawn(sched, attr, fn, NULL, 0, out) == CORO_OK);
}

static int wake(coro_handle h)
{
	world_pushing(true);
	int status = coro_wake(h);
	world_pushing(false);
	return status;
}

/* ------------------------------------------------------------------------------- wake, park */

static void parks_twice(void *arg, void *result)
{
	(void)arg;
	(void)result;
	EX_CHECK(coro_park() == CORO_OK);
	EX_CHECK(g.woken >= 1);
	EX_CHECK(coro_park() == CORO_OK);
	EX_CHECK(g.woken == 2);
	g.ran++;
}

static void wake_x(void *arg)
{
	(void)arg;
	g.woken++;
	EX_CHECK(wake(g.x) == CORO_OK);
}

static void setup_wake_park(void)
{
	spawn_on(0, NULL, parks_twice, &g.x);
	world_region(&g, sizeof g);
	ex_thread("wake1", wake_x, NULL);
	ex_thread("wake2", wake_x, NULL);
}

static void check_wake_park(void)
{
	EX_CHECK(g.ran == 1);
	EX_CHECK(coroi_finished(sched));
}

static const struct ex_scenario wake_park = {
	.name = "wake-park",
	.about = "a coroutine parks twice, woken by two threads, while its worker goes to sleep",
	.setup = setup_wake_park,
	.check = check_wake_park,
	.workers = 1,
};

/* A coroutine is woken twice from outside. It parks once and ends. Meanwhile it is stolen. */

static void wanders(void *arg, void *result)
{
	unsigned home = coroi_self()->id;
	(void)arg;
	(void)result;
	EX_CHECK(coroi_self()->current->home == home);
	EX_CHECK(coro_park() == CORO_OK);
	EX_CHECK(coroi_self()->current->home == coroi_self()->id);
	if (coroi_self()->id != home)
		ex_reached(0);
	g.ran++;
}

static void wakes_twice(void *arg)
{
	(void)arg;
	for (int i = 0; i < 2; i++) {
		int status = wake(g.x);
		EX_CHECK(status == CORO_OK || status == CORO_ESTALE);
		g.oks += status == CORO_OK;
		g.stales += status == CORO_ESTALE;
		if (i == 0)
			EX_CHECK(status == CORO_OK);
	}
	if (g.stales)
		ex_reached(1);
}

static void setup_wander(void)
{
	spawn_on(0, NULL, wanders, &g.x);
	world_region(&g, sizeof g);
	ex_thread("wake", wakes_twice, NULL);
}

static void check_wander(void)
{
	EX_CHECK(g.ran == 1);
	EX_CHECK(coroi_finished(sched));
}

static const struct ex_scenario wake_steal_end = {
	.name = "wake-steal-end",
	.about = "a coroutine is stolen, woken from outside, and ends, all at once",
	.setup = setup_wander,
	.check = check_wander,
	.workers = 2,
	.flags = CORO_NO_STANDBY,
	.reach = 3,
};

/* ----------------------------------------------------------------------------------- cancel */

/* The coroutine takes the one permit that it may get, and ends by the cancel. */
static void parks_until_canceled(void *arg, void *result)
{
	int status;

	(void)arg;
	(void)result;
	while ((status = coro_park()) == CORO_OK) {
		EX_CHECK(++g.oks == 1 && g.woken);
		ex_reached(0);
	}
	EX_CHECK(status == CORO_ECANCELED && g.canceled && coro_canceled());
	EX_CHECK(coro_yield() == CORO_OK);
	g.ran++;
}

static void wake_or_stale(void *arg)
{
	(void)arg;
	g.woken++;
	int status = wake(g.x);
	EX_CHECK(status == CORO_OK || status == CORO_ESTALE);
	if (status == CORO_ESTALE)
		ex_reached(1);
}

static void cancel_x(void *arg)
{
	(void)arg;
	g.canceled = true;
	world_pushing(true);
	EX_CHECK(coro_cancel(g.x) == CORO_OK);
	world_pushing(false);
}

static void setup_cancel(void)
{
	spawn_on(0, NULL, parks_until_canceled, &g.x);
	world_region(&g, sizeof g);
	if (sched->workers == 1)
		ex_thread("wake", wake_or_stale, NULL);
	ex_thread("cancel", cancel_x, NULL);
}

static void check_cancel(void)
{
	EX_CHECK(g.ran <= 1); /* 0: it was canceled before it started */
	if (!g.ran)
		ex_reached(2);
	EX_CHECK(coroi_finished(sched));
}

static const struct ex_scenario cancel_park = {
	.name = "cancel-park",
	.about = "a coroutine parks in a loop, woken by one thread and canceled by another",
	.setup = setup_cancel,
	.check = check_cancel,
	.workers = 1,
	.reach = 7,
};

static const struct ex_scenario cancel_steal = {
	.name = "cancel-steal",
	.about = "cancel-park without a wake-up, and a second worker that steals",
	.setup = setup_cancel,
	.check = check_cancel,
	.workers = 2,
	.flags = CORO_NO_STANDBY,
	.reach = 4,
};

/* ------------------------------------------------------------------------------------ shield */

static bool is_told(void)
{
	return coroi_self()->current->canceled & COROI_C_TOLD;
}

/* The section lasts until its end: it is the wake-up that ends the park in it, and the cancel that
 * ends the park after it. */
static void parks_shielded(void *arg, void *result)
{
	(void)arg;
	(void)result;
	EX_CHECK(coro_shield_begin(CORO_FOREVER) == CORO_OK);
	bool early = g.canceled;
	EX_CHECK(coro_park() == CORO_OK && g.woken);
	EX_CHECK(!is_told());
	ex_reached(early ? 0 : 1);
	EX_CHECK(coro_shield_end() == CORO_OK);
	EX_CHECK(coro_park() == CORO_ECANCELED && g.canceled && is_told());
	g.ran++;
}

static void setup_shield_end(void)
{
	spawn_on(0, NULL, parks_shielded, &g.x);
	world_region(&g, sizeof g);
	ex_thread("wake", wake_or_stale, NULL);
	ex_thread("cancel", cancel_x, NULL);
}

static const struct ex_scenario shield_end = {
	.name = "shield-end",
	.about = "a coroutine is woken in a shield section, and canceled in it, before or after",
	.setup = setup_shield_end,
	.check = check_cancel,
	.workers = 1,
	.reach = 7,
};

/* The section lasts until its deadline: no park in it ends before, and then the cancel ends it. */

#define SECTION_NS 300000

static void parks_until_section_over(void *arg, void *result)
{
	(void)arg;
	(void)result;
	g.deadline = coroi_now_ns() + SECTION_NS;
	EX_CHECK(coro_shield_begin(g.deadline) == CORO_OK);
	EX_CHECK(coro_park() == CORO_ECANCELED && g.canceled && is_told());
	EX_CHECK(coroi_now_ns() > g.deadline);
	EX_CHECK(coro_shield_end() == CORO_OK);
	g.ran++;
}

static void cancel_shielded(void *arg)
{
	cancel_x(arg);
	if (g.deadline)
		ex_reached(coroi_now_ns() < g.deadline ? 0 : 1);
}

static void setup_shield_deadline(void)
{
	spawn_on(0, NULL, parks_until_section_over, &g.x);
	world_region(&g, sizeof g);
	ex_thread("cancel", cancel_shielded, NULL);
}

static const struct ex_scenario shield_deadline = {
	.name = "shield-deadline",
	.about = "a coroutine is canceled in a shield section with a deadline, before or after",
	.setup = setup_shield_deadline,
	.check = check_cancel,
	.workers = 1,
	/* 2, a cancel after the deadline, takes more than a short search */
	.reach = 5,
};

/* ------------------------------------------------------------------------------------- join */

static void ends(void *arg, void *result)
{
	(void)arg;
	(void)result;
	g.ran++;
}

static const coro_attr joinable = {.size = sizeof joinable, .flags = CORO_JOINABLE};

static void joins(void *arg, void *result)
{
	(void)arg;
	(void)result;
	int status = coro_join(g.x, NULL, 0);
	if (status == CORO_OK) {
		EX_CHECK(g.ran == 1);
		g.joined++;
		ex_reached(0);
	} else {
		EX_CHECK(status == CORO_EBUSY || status == CORO_ESTALE);
		g.refused++;
	}
}

static void detaches(void *arg)
{
	(void)arg;
	int status = coro_detach(g.x);
	if (status == CORO_OK) {
		g.detached++;
		ex_reached(1);
	} else {
		EX_CHECK(status == CORO_EBUSY || status == CORO_ESTALE);
		g.refused++;
	}
}

static void setup_join(void)
{
	spawn_on(0, &joinable, ends, &g.x);
	spawn_on(1, NULL, joins, NULL);
	world_region(&g, sizeof g);
	ex_thread("detach", detaches, NULL);
}

static void check_join(void)
{
	EX_CHECK(g.ran == 1);
	EX_CHECK(g.joined + g.detached == 1);
	EX_CHECK(g.joined + g.detached + g.refused == 2);
	EX_CHECK(coroi_finished(sched));
}

static const struct ex_scenario join = {
	.name = "join",
	.about = "a coroutine ends, one on another worker joins it, a thread detaches it",
	.setup = setup_join,
	.check = check_join,
	.workers = 2,
	.flags = CORO_NO_STANDBY,
	.reach = 3,
};

static void setup_joins(void)
{
	spawn_on(0, &joinable, ends, &g.x);
	spawn_on(0, NULL, joins, NULL);
	spawn_on(1, NULL, joins, NULL);
	world_region(&g, sizeof g);
}

static const struct ex_scenario two_join = {
	.name = "join-join",
	.about = "a coroutine ends, and two join it, one of them on another worker",
	.setup = setup_joins,
	.check = check_join,
	.workers = 2,
	.flags = CORO_NO_STANDBY,
	.reach = 1,
};

static void wakes_stale(void *arg)
{
	for (uintptr_t i = 0; i < (uintptr_t)arg; i++) {
		int status = wake(g.x);
		EX_CHECK(status == CORO_OK || status == CORO_ESTALE);
		if (status == CORO_ESTALE)
			ex_reached(1);
	}
}

/* A close cancels a coroutine that joins another. The other one is woken, and ends. The cancel
 * comes first, or the event. */

static void ends_by_cancel(void *arg, void *result)
{
	(void)arg;
	(void)result;
	int status = coro_park();
	EX_CHECK(status == CORO_OK || status == CORO_ECANCELED);
	g.ran++;
}

static void joins_canceled(void *arg, void *result)
{
	(void)arg;
	(void)result;
	int status = coro_join(g.x, NULL, 0);
	EX_CHECK(status == CORO_OK || status == CORO_ECANCELED);
	if (status == CORO_ECANCELED)
		EX_CHECK(!coroi_self()->current->event);
	ex_reached(status == CORO_OK ? 0 : 1);
	g.others++;
}

static void close_it(void *arg)
{
	(void)arg;
	EX_CHECK(coro_scheduler_close(sched, 1) == CORO_OK);
}

static void setup_close_join(void)
{
	spawn_on(0, &joinable, ends_by_cancel, &g.x);
	spawn_on(0, NULL, joins_canceled, NULL);
	world_region(&g, sizeof g);
	ex_thread("close", close_it, NULL);
	ex_thread("wake", wakes_stale, (void *)1);
}

static void check_close_join(void)
{
	EX_CHECK(g.ran <= 1 && g.others <= 1);
	EX_CHECK(coroi_live(sched) == 0);
}

static const struct ex_scenario close_join = {
	.name = "close-join",
	.about = "a close cancels a coroutine and its joiner, and a thread wakes the first",
	.setup = setup_close_join,
	.check = check_close_join,
	.workers = 1,
	.stops = true,
	.reach = 3,
};

/* ------------------------------------------------------------------------------------ reuse */

/* A coroutine has ended, and its record lies in an inbox as a node. The thread that detaches it
 * frees the record, and another coroutine uses it at once. */

static struct coroi_rec *next_user;

static void detaches_and_uses(void *arg)
{
	(void)arg;
	if (coro_detach(g.x) != CORO_OK)
		return;
	if (!sched->slab.full) /* its end frees it, or its remote wake does */
		return;
	struct coroi_mag *m = coroi_slab_trade_full(&sched->slab, NULL);
	struct coroi_rec *r = m->rec[m->count - 1];
	if (coroi_index(r) == (uint32_t)g.x) { /* the detach has freed it */
		struct coroi_fill q = {.fn = NULL};
		ex_reached(0);
		m->count--;
		next_user = r;
		coroi_fill(r, &q, 0);
		at_store_rlx(&r->state, COROI_PARKED);
		at_store_rel(&r->wake, at_load_rlx(&r->wake) | COROI_ESCAPED);
	}
	coroi_slab_give(&sched->slab, m);
}

static void setup_detach_reuse(void)
{
	spawn_on(0, &joinable, ends, &g.x);
	world_region(&g, sizeof g);
	world_region(&next_user, sizeof next_user);
	ex_thread("wake", wakes_stale, (void *)1);
	ex_thread("detach", detaches_and_uses, NULL);
}

static void check_detach_reuse(void)
{
	EX_CHECK(g.ran == 1);
	if (next_user)
		EX_CHECK(next_user->state == COROI_PARKED && !next_user->permits &&
			 !next_user->event);
}

static const struct ex_scenario detach_reuse = {
	.name = "detach-reuse",
	.about = "an ended coroutine is detached; its record is used as a remote wake is taken",
	.setup = setup_detach_reuse,
	.check = check_detach_reuse,
	.workers = 1,
	.reach = 3,
};

/* x ends. Its record becomes y, which parks. Wake-ups for x go on coming. Only a wake-up for y may
 * wake y. */

static void y(void *arg, void *result)
{
	(void)arg;
	(void)result;
	EX_CHECK(coro_park() == CORO_OK);
	EX_CHECK(g.may_wake);
	g.others++;
}

static void uses_again(void *arg, void *result)
{
	static const coro_attr plain = {.size = sizeof plain};
	(void)arg;
	(void)result;
	EX_CHECK(coro_spawn_attr(&plain, y, NULL, 0, &g.y) == CORO_OK);
	if ((uint32_t)g.y == (uint32_t)g.x) {
		ex_reached(0);
		EX_CHECK(g.y != g.x);
		EX_CHECK(coro_wake(g.x) == CORO_ESTALE);
	}
	EX_CHECK(coro_yield() == CORO_OK);
	g.may_wake = true;
	EX_CHECK(coro_wake(g.y) == CORO_OK);
}

static void setup_reuse(void)
{
	spawn_on(0, NULL, ends, &g.x);
	spawn_on(0, NULL, uses_again, NULL);
	world_region(&g, sizeof g);
	ex_thread("wake", wakes_stale, (void *)(uintptr_t)(sched->workers == 1 ? 2 : 1));
}

static void check_reuse(void)
{
	EX_CHECK(g.ran == 1 && g.others == 1);
	EX_CHECK(coroi_finished(sched));
}

static const struct ex_scenario reuse = {
	.name = "reuse",
	.about = "a record is used again while wake-ups for its last coroutine are on their way",
	.setup = setup_reuse,
	.check = check_reuse,
	.workers = 1,
	.reach = 3,
};

static const struct ex_scenario reuse_steal = {
	.name = "reuse-steal",
	.about = "reuse with one wake-up, and a second worker that steals",
	.setup = setup_reuse,
	.check = check_reuse,
	.workers = 2,
	.flags = CORO_NO_STANDBY,
	.reach = 3,
};

/* The same with a late cancel for x: it does not cancel y. */

static void cancels_stale(void *arg)
{
	(void)arg;
	world_pushing(true);
	int status = coro_cancel(g.x);
	world_pushing(false);
	EX_CHECK(status == CORO_OK || status == CORO_ESTALE);
	if (status == CORO_OK)
		g.canceled = true;
	else
		ex_reached(1);
}

static void setup_reuse_cancel(void)
{
	spawn_on(0, NULL, ends, &g.x);
	spawn_on(0, NULL, uses_again, NULL);
	world_region(&g, sizeof g);
	ex_thread("cancel", cancels_stale, NULL);
}

static void check_reuse_cancel(void)
{
	EX_CHECK(g.ran == 1 || g.canceled); /* x may have been canceled before it started */
	EX_CHECK(g.others == 1);
	EX_CHECK(coroi_finished(sched));
}

static const struct ex_scenario reuse_cancel = {
	.name = "reuse-cancel",
	.about = "a record is used again while a cancel for its last coroutine is on its way",
	.setup = setup_reuse_cancel,
	.check = check_reuse_cancel,
	.workers = 1,
	.reach = 3,
};

/* ------------------------------------------------------------------------------- following */

/* x, on w0, parks, and y, on w1, wakes it. Both queues are long, and it is the turn of such a wake
 * to have x follow y. It must not while it is still running: its context is not saved. */

#define QUEUED 9 /* one more than FOLLOWS_FROM of wait.c: one is picked */

static struct {
	struct coroi_rec *x, *y;
	unsigned found;
} f;

enum { STAYED, FOLLOWED };

static void parks_x(void *arg)
{
	struct coroi_worker *w = world_worker(0);
	(void)arg;

	world_be(0);
	coroi_door_enter(w);
	f.x->state = COROI_PARKED;
	struct coroi_rec *next = world_record_of(coroi_pick_locked(w));
	EX_CHECK(f.x->home == 0);
	w->current = next; /* as the switch does, which saves the context of x */
	coroi_door_leave(w);

	coroi_door_enter(w);
	coroi_drain_locked(w);
	coroi_door_leave(w);
	ex_reached(at_load_acq(&f.x->home) == 0 ? STAYED : FOLLOWED);
}

static void wakes_x(void *arg)
{
	(void)arg;
	world_be(1);
	EX_CHECK(wake(coroi_handle(f.x)) == CORO_OK);
}

static void setup_follow(void)
{
	for (unsigned i = 0; i < 2; i++)
		for (unsigned n = 0; n < QUEUED - i; n++)
			coroi_queue_locked(world_worker(i), world_record(world_worker(i)));
	world_worker(0)->current = f.x = world_record(world_worker(0));
	world_worker(1)->current = f.y = world_record(world_worker(1));
	world_worker(0)->follows = 3;
	world_region(&f, sizeof f);
	world_region(f.x, sizeof *f.x);
	ex_thread("x", parks_x, NULL);
	ex_thread("y", wakes_x, NULL);
}

/* x is in one queue, once, where its home is. */
static void check_follow(void)
{
	for (unsigned i = 0; i < 2; i++) {
		struct coroi_worker *w = world_worker(i);
		coroi_drain_locked(w);
		for (struct coroi_rec *r; (r = world_record_of(coroi_deque_pop(&w->queue)));) {
			if (r != f.x)
				continue;
			EX_CHECK(r->home == i && r->state == COROI_ACTIVE);
			f.found++;
		}
	}
	EX_CHECK(f.found == 1);
}

static const struct ex_scenario follow = {
	.name = "follow",
	.about = "a coroutine is woken by one on another worker, and may follow it there",
	.setup = setup_follow,
	.check = check_follow,
	.workers = 2,
	.raw = 3,
	.reach = 1 << STAYED | 1 << FOLLOWED,
};

const struct ex_scenario *const scenarios_wait[] = {
	&wake_park,       &wake_steal_end, &cancel_park, &cancel_steal, &shield_end,
	&shield_deadline, &join,           &two_join,    &close_join,   &reuse,
	&detach_reuse,    &reuse_cancel,   &reuse_steal, &follow,       NULL,
};
