/*
 * s_fork.c - scenarios of forks (kernel/fork.h): one worker forks and joins, the other is a thief.
 *
 * The forks lie in `g`, and not in their parent's frame. So what touches one that its parent has
 * joined shows: the bytes of such a fork are GONE until the end.
 */
#include "world.h"

#include "kernel/budget.h"

#define FORKS 3
#define GONE  0x5a

static struct {
	coro_fork f[FORKS];
	uint64_t result[FORKS];
	unsigned ran[FORKS], begun[FORKS], returned[FORKS];
	unsigned inside; /* children that have begun, and have not ended */
	unsigned most;   /* of them, if that is limited */
	bool kept;       /* the record of a lend that came out as COROI_LEND_SUSPENDED: not taken */
	unsigned parents, ended, refused, others;
	uint32_t handed; /* the handles are known */
	coro_handle parent, child;
	bool canceled, woken;
} g;

/* What a schedule has come to. */
enum { INLINED, STOLEN, WAITED, DONE_BEFORE, MORE };

static bool is_inlined(void)
{
	return coroi_self()->current->more & COROI_M_INLINED;
}

static void at_home(void)
{
	EX_CHECK(coroi_self()->current->home == coroi_self()->id);
}

/* enters, leaves - the n-th child begins and ends. */
static void enters(uint64_t n)
{
	at_home();
	EX_CHECK(++g.begun[n] == 1);
	g.inside++;
	if (g.most)
		EX_CHECK(g.inside <= g.most);
	/* the parent is counted, and so is the child */
	EX_CHECK(coroi_live(sched) >= 2);
	ex_reached(is_inlined() ? INLINED : STOLEN);
}

static void leaves(uint64_t n, void *result)
{
	at_home();
	if (!is_inlined() && g.f[n].word)
		ex_reached(WAITED);
	*(uint64_t *)result = n + 1;
	g.inside--;
	g.ran[n]++;
}

static void child(void *arg, void *result)
{
	uint64_t n = (uintptr_t)arg;

	enters(n);
	leaves(n, result);
}

static void begin(uint64_t n, coro_fn fn)
{
	coro_fork_begin(&g.f[n], fn, (void *)(uintptr_t)n, &g.result[n]);
}

/* join_status - join the n-th: nobody uses it afterwards. */
static int join_status(uint64_t n)
{
	if (g.f[n].word > 1)
		ex_reached(DONE_BEFORE);
	int status = coro_fork_join(&g.f[n]);
	at_home();
	EX_CHECK(g.begun[n] == g.ran[n]);
	EX_CHECK(g.ran[n] || status);
	EX_CHECK(!g.ran[n] || status == CORO_EABORTED || g.result[n] == n + 1);
	EX_CHECK(!(coroi_self()->current->more & COROI_M_INLINES));
	memset(&g.f[n], GONE, sizeof g.f[n]);
	return status;
}

static void join(uint64_t n)
{
	EX_CHECK(join_status(n) == CORO_OK);
}

static void untouched(const coro_fork *f)
{
	for (unsigned i = 0; i < sizeof *f; i++)
		EX_CHECK(((const unsigned char *)f)[i] == GONE);
}

/* check_ended - at the end: all is over, all credit is there, and the first n forks were joined. */
static void check_ended(unsigned n)
{
	uint64_t credit = g.kept + (sched->outside.mags.credit & ~COROI_LEAN);

	for (unsigned i = 0; i < n; i++)
		untouched(&g.f[i]);
	for (unsigned i = 0; i < sched->workers; i++) {
		const struct coroi_worker *w = world_worker(i);
		EX_CHECK(w->forks.head == w->forks.tail);
		EX_CHECK(!w->nowait && !w->queue.count && !w->next);
		credit += w->mags.credit & ~COROI_LEAN;
	}
	EX_CHECK(g.inside == 0);
	EX_CHECK(coroi_finished(sched) && coroi_live(sched) == 0);
	EX_CHECK((uint64_t)sched->slab.granted == credit);
}

static void check_joined(unsigned n)
{
	EX_CHECK(g.parents == 1);
	for (unsigned i = 0; i < n; i++)
		EX_CHECK(g.ran[i] == 1);
	check_ended(n);
}

static void check_one(void)
{
	check_joined(1);
}

static void check_two(void)
{
	check_joined(2);
}

/* ----------------------------------------------------------------------------------- threads */

/* w1 steals from w0 once, and then does what workers do. */
static void steals(void *arg)
{
	(void)arg;
	world_be(1);
	(void)world_steal(world_worker(1), world_worker(0));
	EX_CHECK(!coroi_work(world_worker(1)));
}

static void hand(void)
{
	at_store_rel(&g.handed, 1);
	coroi_futex_wake(&g.handed, 2);
}

static void await_handles(void)
{
	while (!at_load_acq(&g.handed))
		coroi_futex_wait(&g.handed, 0, -1);
}

static void wakes(coro_handle h)
{
	world_pushing(true);
	int status = coro_wake(h);
	world_pushing(false);
	EX_CHECK(status == CORO_OK);
}

static void wakes_parent(void *arg)
{
	(void)arg;
	g.woken = true;
	wakes(g.parent);
}

static void wakes_child(void *arg)
{
	(void)arg;
	await_handles();
	g.woken = true;
	wakes(g.child);
}

static void wakes_both(void *arg)
{
	wakes_child(arg);
	wakes(g.parent);
}

static void cancels_parent(void *arg)
{
	(void)arg;
	g.canceled = true;
	world_pushing(true);
	int status = coro_cancel(g.parent);
	world_pushing(false);
	EX_CHECK(status == CORO_OK || status == CORO_ESTALE);
}

/* ------------------------------------------------------------------------------------- setup */

static void spawn(coro_fn fn, coro_handle *out)
{
	sched->outside.next_worker = 0;
	EX_CHECK(coro_scheduler_spawn(sched, NULL, fn, NULL, 0, out) == CORO_OK);
}

/* setup_of - w0 is going to run a parent. Of two workers the second one is the thief. setup_known -
 * the same, where others know the parent's handle: it has escaped from the beginning. */
static void setup_with(coro_fn parent, coro_handle *known)
{
	spawn(parent, known);
	world_region(&g, sizeof g);
	if (sched->workers == 1)
		return;
	world_worker(1)->spin.ns = 0;
	sched->hungry = 0;
	world_worker(1)->thread.self = (pthread_t)ex_thread("w1", steals, NULL);
}

static void setup_of(coro_fn parent)
{
	setup_with(parent, NULL);
}

static void setup_known(coro_fn parent)
{
	setup_with(parent, &g.parent);
}

#define TWO_WORKERS .workers = 2, .raw = 2, .flags = CORO_NO_STANDBY

/* ------------------------------------------------------------------------- one fork, and two */

static void forks_one(void *arg, void *result)
{
	(void)arg;
	(void)result;
	begin(0, child);
	EX_CHECK(coroi_live(sched) > 0); /* steps in which the child may come and go */
	join(0);
	g.parents++;
}

static void setup_one(void)
{
	setup_of(forks_one);
}

static const struct ex_scenario one = {
	.name = "fork-one",
	.about = "a join, and a thief that takes the only fork: FRK1, FRK3, FRK6, FST1 to FST3",
	.setup = setup_one,
	.check = check_one,
	TWO_WORKERS,
	.reach = 1 << INLINED | 1 << STOLEN | 1 << WAITED | 1 << DONE_BEFORE,
};

static void forks_two(void *arg, void *result)
{
	(void)arg;
	(void)result;
	begin(0, child);
	begin(1, child);
	join(0);
	join(1);
	g.parents++;
}

static void setup_two(void)
{
	setup_of(forks_two);
}

static const struct ex_scenario two = {
	.name = "fork-order",
	.about = "of two forks the older one is joined first (FRK5), and a thief takes one",
	.setup = setup_two,
	.check = check_two,
	TWO_WORKERS,
	.reach = 1 << INLINED | 1 << STOLEN,
};

/* ----------------------------------------------------------------------- children that suspend */

static void parks(void *arg, void *result)
{
	uint64_t n = (uintptr_t)arg;

	enters(n);
	g.child = coro_self();
	hand();
	EX_CHECK(coro_park() == CORO_OK && g.woken);
	leaves(n, result);
}

static void forks_parks(void *arg, void *result)
{
	(void)arg;
	(void)result;
	begin(0, parks);
	join(0);
	g.parents++;
}

static void setup_wait(void)
{
	setup_of(forks_parks);
	ex_thread("wake", wakes_child, NULL);
}

static const struct ex_scenario wait = {
	.name = "fork-wait",
	.about = "the child parks, where it runs, and a thread wakes it",
	.setup = setup_wait,
	.check = check_one,
	TWO_WORKERS,
	.reach = 1 << INLINED | 1 << STOLEN | 1 << WAITED,
};

/* The child parks on its parent's stack. Woken, the two are stolen together. Then the parent parks,
 * and is woken where it is. */

static void forks_moves(void *arg, void *result)
{
	unsigned home = coroi_self()->id;

	(void)arg;
	(void)result;
	begin(0, parks);
	join(0);
	if (coroi_self()->id != home)
		ex_reached(MORE);
	EX_CHECK(coro_park() == CORO_OK);
	at_home();
	g.parents++;
}

static void setup_move(void)
{
	setup_known(forks_moves);
	ex_thread("wake", wakes_both, NULL);
}

static const struct ex_scenario moves = {
	.name = "fork-move",
	.about = "a child that has parked is stolen with its parent (FMV1), which is woken then",
	.setup = setup_move,
	.check = check_one,
	TWO_WORKERS,
	.reach = 1 << INLINED | 1 << MORE,
};

/* ------------------------------------------------------------------------ parents that suspend */

/* The forks are promoted. A park that finds a permit promotes nothing. */

static void forks_then_parks(void *arg, void *result)
{
	(void)arg;
	(void)result;
	begin(0, child);
	begin(1, child);
	EX_CHECK(coro_park() == CORO_OK && g.woken);
	join(1);
	join(0);
	g.parents++;
}

static void setup_promote(void)
{
	setup_known(forks_then_parks);
	ex_thread("wake", wakes_parent, NULL);
}

static const struct ex_scenario promote = {
	.name = "fork-promote",
	.about = "a parent of two forks parks (FSU2), a thread wakes it, and a thief comes",
	.setup = setup_promote,
	.check = check_two,
	TWO_WORKERS,
	.reach = 1 << INLINED | 1 << STOLEN,
};

/* A yield by the clock takes the forks along. So a child that was not stolen runs on its parent's
 * stack. */

/* slice_ends - the turn of the current coroutine has been long, and it waits. */
static void slice_ends(void)
{
	struct coroi_worker *w = coroi_self();

	w->waits.turn = coroi_turns(w);
	w->waits.since = 0;
	coroi_spent(CORO_FOREVER);
}

static void other(void *arg, void *result)
{
	(void)arg;
	(void)result;
	g.others++;
}

static void forks_then_yields(void *arg, void *result)
{
	unsigned others = g.others;

	(void)arg;
	(void)result;
	begin(0, child);
	begin(1, child);
	slice_ends();
	if (g.others != others)
		ex_reached(MORE);
	join(1);
	join(0);
	g.parents++;
}

static void child_inlined(void *arg, void *result)
{
	EX_CHECK(is_inlined());
	child(arg, result);
}

static void forks_and_keeps(void *arg, void *result)
{
	(void)arg;
	(void)result;
	begin(0, child_inlined);
	begin(1, child_inlined);
	slice_ends();
	EX_CHECK(g.others == 1);
	join(1);
	join(0);
	g.parents++;
}

static void setup_yield(void)
{
	setup_of(forks_then_yields);
	spawn(other, NULL);
}

static void setup_keep(void)
{
	setup_of(forks_and_keeps);
	spawn(other, NULL);
}

static const struct ex_scenario yield = {
	.name = "fork-yield",
	.about =
		"a parent of two forks yields by the clock to another coroutine (FSU1), and a thief comes",
	.setup = setup_yield,
	.check = check_two,
	TWO_WORKERS,
	.reach = 1 << INLINED | 1 << STOLEN | 1 << MORE,
};

static const struct ex_scenario keep = {
	.name = "fork-keep",
	.about = "a parent of two forks yields by the clock, and no worker takes them",
	.setup = setup_keep,
	.check = check_two,
	.workers = 1,
	.reach = 1 << INLINED,
};

/* ------------------------------------------------------------------------------------- cancel */

static void until_canceled(uint64_t n, void *result)
{
	enters(n);
	EX_CHECK(coro_park() == CORO_ECANCELED && g.canceled && coro_canceled());
	leaves(n, result);
}

static void child_until_canceled(void *arg, void *result)
{
	until_canceled((uintptr_t)arg, result);
}

/* joins_canceled - the child is canceled before it begins, or when it parks. */
static void joins_canceled(uint64_t n)
{
	EX_CHECK(join_status(n) == CORO_ECANCELED && g.canceled);
	if (!g.ran[n])
		ex_reached(MORE);
}

static void forks_canceled(void *arg, void *result)
{
	(void)arg;
	(void)result;
	begin(0, child_until_canceled);
	joins_canceled(0);
	EX_CHECK(coro_canceled());
	g.parents++;
}

/* check_canceled - the parent may have been canceled before it started. */
static void check_canceled(void)
{
	EX_CHECK(g.parents <= 1);
	check_ended(g.parents);
}

static void setup_cancel(void)
{
	setup_known(forks_canceled);
	ex_thread("cancel", cancels_parent, NULL);
}

static const struct ex_scenario cancel = {
	.name = "fork-cancel",
	.about = "a parent is canceled whose child is not begun, inlined (FCA1) or stolen (FCA2)",
	.setup = setup_cancel,
	.check = check_canceled,
	TWO_WORKERS,
	.reach = 1 << INLINED | 1 << STOLEN | 1 << MORE,
};

static void forks_waits_canceled(void *arg, void *result)
{
	(void)arg;
	(void)result;
	begin(0, child_until_canceled);
	EX_CHECK(coro_park() == CORO_ECANCELED && g.canceled);
	joins_canceled(0);
	g.parents++;
}

static void setup_cancel_promoted(void)
{
	setup_known(forks_waits_canceled);
	ex_thread("cancel", cancels_parent, NULL);
}

static const struct ex_scenario cancel_promoted = {
	.name = "fork-cancel-away",
	.about = "a parent parks until it is canceled, and joins its promoted fork (FCA2)",
	.setup = setup_cancel_promoted,
	.check = check_canceled,
	TWO_WORKERS,
	.reach = 1 << STOLEN | 1 << MORE,
};

/* -------------------------------------------------------------------------------- other ends */

/* Children that run when their parent aborts are canceled, and the end waits for them. What the
 * parent has deferred may join them. */

static void parent_over(void *arg)
{
	(void)arg;
	EX_CHECK(g.inside == 0);
	EX_CHECK(join_status(0) == CORO_ECANCELED);
	EX_CHECK(join_status(1) == CORO_ECANCELED);
	g.ended++;
}

static void canceled_child(void *arg, void *result)
{
	uint64_t n = (uintptr_t)arg;

	enters(n);
	EX_CHECK(coro_park() == CORO_ECANCELED);
	leaves(n, result);
}

static void forks_and_aborts(void *arg, void *result)
{
	(void)arg;
	(void)result;
	EX_CHECK(coro_defer(parent_over, NULL) == CORO_OK);
	begin(0, canceled_child);
	begin(1, canceled_child);
	coro_abort();
}

static void setup_abort(void)
{
	setup_of(forks_and_aborts);
}

static void check_abort(void)
{
	EX_CHECK(g.ended == 1);
	for (unsigned i = 0; i < 2; i++)
		EX_CHECK(g.begun[i] == g.ran[i] && g.ran[i] <= 1);
	if (g.ran[0] && !g.ran[1])
		ex_reached(MORE);
	check_ended(2);
}

static const struct ex_scenario aborts = {
	.name = "fork-abort",
	.about = "a parent of two forks aborts (FEX1), and a thief takes one, or both",
	.setup = setup_abort,
	.check = check_abort,
	TWO_WORKERS,
	.reach = 1 << STOLEN | 1 << MORE,
};

/* The child has a fork of its own, and aborts, inlined or not. Its parent goes on. */

static void forks_and_aborts_inside(void *arg, void *result)
{
	(void)arg;
	(void)result;
	enters(0);
	begin(2, canceled_child);
	g.inside--;
	g.ran[0]++;
	coro_abort();
}

static void forks_one_that_aborts(void *arg, void *result)
{
	(void)arg;
	(void)result;
	begin(1, child);
	begin(0, forks_and_aborts_inside);
	EX_CHECK(join_status(0) == CORO_EABORTED);
	EX_CHECK(g.begun[2] == g.ran[2]);
	join(1);
	g.parents++;
}

static void setup_abort_inside(void)
{
	setup_of(forks_one_that_aborts);
}

static const struct ex_scenario aborts_inside = {
	.name = "fork-abort-inside",
	.about = "a child with a fork of its own aborts, inlined or stolen; a thief comes",
	.setup = setup_abort_inside,
	.check = check_two,
	TWO_WORKERS,
	.reach = 1 << INLINED | 1 << STOLEN,
};

/* A close with cancel. */

static void forks_closed(void *arg, void *result)
{
	(void)arg;
	(void)result;
	g.canceled = true;
	begin(0, child);
	int status = join_status(0);
	EX_CHECK(status == CORO_OK || status == CORO_ECANCELED);
	ex_reached(status ? MORE : MORE + 1);
	g.parents++;
}

static void close_it(void *arg)
{
	(void)arg;
	EX_CHECK(coro_scheduler_close(sched, 1) == CORO_OK);
	g.ended++;
}

static void setup_close(void)
{
	setup_of(forks_closed);
	ex_thread("close", close_it, NULL);
}

static void check_close(void)
{
	EX_CHECK(g.ended == 1 && g.parents <= 1 && g.inside == 0);
	EX_CHECK(g.begun[0] == g.ran[0]);
	EX_CHECK(coroi_live(sched) == 0);
	if (g.parents)
		untouched(&g.f[0]);
}

static const struct ex_scenario closes = {
	.name = "fork-close",
	.about = "a scheduler is closed with cancel while a fork is begun, stolen and joined",
	.setup = setup_close,
	.check = check_close,
	TWO_WORKERS,
	.stops = true,
	.reach = 3 << MORE,
};

/* ------------------------------------------------------------------ who sleeps, who lends */

/* The other worker goes to sleep by itself as a fork is begun. Whether it wakes to take the fork,
 * or the owner calls it: nothing hangs. */

static void setup_sleep(void)
{
	spawn(forks_one, NULL);
	world_region(&g, sizeof g);
	world_worker(1)->spin.ns = 0;
}

static const struct ex_scenario sleeps = {
	.name = "fork-sleep",
	.about = "the other worker goes to sleep, or stands by, as a fork is begun (FRK2)",
	.setup = setup_sleep,
	.check = check_one,
	.workers = 2,
	.reach = 1 << INLINED | 1 << STOLEN,
};

static void lends(void *arg)
{
	struct coroi_lend call = {
		.sched = (uint64_t)(uintptr_t)sched,
		.fn = (uint64_t)(uintptr_t)forks_one,
		.class = sched->class,
		.id = COROI_JOIN_LENDER,
	};

	(void)arg;
	int outcome = coroi_lend_call(&call);
	EX_CHECK(!coroi_self());
	if (outcome == COROI_LEND_ENDED) {
		EX_CHECK(call.status == CORO_OK && g.parents == 1);
		ex_reached(MORE);
	} else if (outcome == COROI_LEND_SUSPENDED) {
		g.kept = true;
		ex_reached(MORE + 1);
	} else {
		EX_CHECK(outcome == COROI_LEND_NONE);
		world_spawn(forks_one, 0);
	}
}

static void setup_lent(void)
{
	world_asleep(1);
	world_worker(1)->spin.ns = 0;
	sched->activity = COROI_AWAKE; /* w1 */
	world_region(&g, sizeof g);
	ex_thread("lend", lends, NULL);
	ex_thread("w1", steals, NULL);
}

static const struct ex_scenario lent = {
	.name = "fork-lent",
	.about = "a thread lends itself for a call that forks, and a thief takes the fork",
	.setup = setup_lent,
	.check = check_one,
	.workers = 2,
	.raw = 3,
	.flags = CORO_NO_STANDBY,
	.reach = 1 << INLINED | 1 << STOLEN | 3 << MORE,
};

/* --------------------------------------------------------------------------------- no credit */

/* There is credit for the parent and one child. */

static void joins_if_credit(uint64_t n)
{
	int status = join_status(n);

	if (status) {
		EX_CHECK(status == CORO_ENOMEM && !g.ran[n]);
		g.refused++;
		ex_reached(MORE);
	}
}

static void forks_poor(void *arg, void *result)
{
	(void)arg;
	(void)result;
	begin(0, child);
	begin(1, child);
	joins_if_credit(1);
	joins_if_credit(0);
	g.parents++;
}

static void forks_poor_parks(void *arg, void *result)
{
	(void)arg;
	(void)result;
	begin(0, child);
	begin(1, child);
	EX_CHECK(coro_park() == CORO_OK);
	joins_if_credit(1);
	joins_if_credit(0);
	g.parents++;
}

static void setup_poor_of(void (*setup)(coro_fn), coro_fn parent)
{
	struct coroi_slab *s = &sched->slab;

	for (unsigned i = 0; i < sched->workers; i++)
		coroi_mags_surrender(&world_worker(i)->mags);
	setup(parent);
	coroi_mags_surrender(&sched->outside.mags);
	g.most = 1;
	EX_CHECK(s->granted == 1);
	s->capacity = s->limit = 2;
}

static void setup_poor(void)
{
	setup_poor_of(setup_of, forks_poor);
}

static void setup_poor_parks(void)
{
	setup_poor_of(setup_known, forks_poor_parks);
	ex_thread("wake", wakes_parent, NULL);
}

static void check_poor(void)
{
	EX_CHECK(g.parents == 1);
	EX_CHECK(g.ran[0] + g.ran[1] + g.refused == 2);
	check_ended(2);
}

static const struct ex_scenario poor = {
	.name = "fork-credit",
	.about = "there is credit for one of two children, at FST1 or at FRK3",
	.setup = setup_poor,
	.check = check_poor,
	TWO_WORKERS,
	.reach = 1 << INLINED | 1 << STOLEN | 1 << MORE,
};

static const struct ex_scenario poor_parks = {
	.name = "fork-credit-wait",
	.about = "there is credit for one of two children as their parent parks (FSU2)",
	.setup = setup_poor_parks,
	.check = check_poor,
	.workers = 1,
	.reach = 1 << INLINED | 1 << STOLEN,
};

const struct ex_scenario *const scenarios_fork[] = {
	&one,        &two,           &wait,
	&moves,      &promote,       &yield,
	&keep,       &cancel,        &cancel_promoted,
	&aborts,     &aborts_inside, &closes,
	&sleeps,     &lent,          &poor,
	&poor_parks, NULL,
};
