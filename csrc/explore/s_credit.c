/*
 * s_credit.c - scenarios of credit that somebody waits for: CRD1 to CRD4 of slab.h.
 *
 * A thread plays the goroutine that waits, and another the poller: both take the steps of
 * spawnwait.go. Users are threads that enter a door, take a credit or give one back, and leave. All
 * else is the core's.
 */
#include "world.h"
#include "border/state.h"

static struct {
	int64_t base;  /* credit that is out for good */
	int64_t alive; /* the credit of coroutines that live */
	int64_t held;  /* by `asks`, in the scenarios with a trim */
	bool trimming;
	bool none; /* the system has no memory for a credit */
} g;

/* The queue of spawnwait.go, with room for one. */
static struct {
	pthread_mutex_t mu;
	uint32_t waits, busy;
	uint32_t outcome; /* what the one that waits is told */
	uint32_t demand;
} q;

enum { NOTHING, GIVEN, TOLD_NO_MEMORY };
enum { SERVED_AT_ONCE, SERVED_LATER, CAME_LATELY, ALL_CAME_BACK, LEAN, LEFT_WAITING };

static int64_t granted(void)
{
	return at_load_seq(&sched->slab.granted);
}

static void want(uint32_t demand)
{
	if (q.demand == demand)
		return;
	q.demand = demand;
	at_xchg(&q.busy, demand != COROI_UNWANTED);
	at_xchg(&sched->slab.wanted, demand);
}

static void release(uint32_t outcome)
{
	q.waits = 0;
	at_xchg(&q.outcome, outcome);
	coroi_futex_wake(&q.outcome, 1);
}

static void give(bool collecting)
{
	while (q.waits) {
		if (coroi_slab_grant(&sched->slab, 1)) {
			release(GIVEN);
			return;
		}
		if (collecting || granted() > 0)
			return;
		ex_reached(ALL_CAME_BACK);
		if (COROI_MUTANT(EARLY_NO_MEMORY, coroi_slab_is_exhausted(&sched->slab), true))
			release(TOLD_NO_MEMORY);
	}
}

static void serve(void)
{
	if (!at_load_seq(&q.busy))
		return;
	pthread_mutex_lock(&q.mu);
	give(false);
	if (!q.waits) {
		want(COROI_WANTED_LATELY);
		if (coroi_slab_is_roomy(&sched->slab))
			want(COROI_UNWANTED);
	}
	pthread_mutex_unlock(&q.mu);
}

static void await_credit(void)
{
	pthread_mutex_lock(&q.mu);
	bool first = q.demand == COROI_UNWANTED;
	if (!first)
		ex_reached(CAME_LATELY);
	q.waits = 1;
	at_xchg(&q.outcome, NOTHING);
	COROI_MUTANT_ADDS(WANT_LATE, give(first);)
	if (COROI_MUTANT(NOT_WANTED_AGAIN, true, first))
		want(COROI_WANTED); /* CRD1 */
	COROI_MUTANT(WANT_LATE, give(first), (void)0);
	pthread_mutex_unlock(&q.mu);
	if (at_load_acq(&q.outcome) != NOTHING)
		ex_reached(SERVED_AT_ONCE);
	if (first) {
		COROI_MUTANT(NO_COLLECT, coroi_collect(sched), (void)0);
		serve();
	}
	while (at_load_acq(&q.outcome) == NOTHING) {
		ex_reached(SERVED_LATER);
		coroi_futex_wait(&q.outcome, NOTHING, -1);
	}
	EX_CHECK(at_load_acq(&q.outcome) == (g.none ? TOLD_NO_MEMORY : GIVEN));
	g.alive += !g.none;
}

/* waits_twice - what the first credit was for lives on. */
static void waits_twice(void *arg)
{
	(void)arg;
	await_credit();
	await_credit();
}

static void waits(void *arg)
{
	(void)arg;
	await_credit();
}

static void polls(void *arg)
{
	(void)arg;
	for (;;) {
		at_xchg(&coroi_border(sched)->bell.go_sleeps, 1);
		serve();
		while (!at_xchg(&world_bell, 0))
			coroi_futex_wait(&world_bell, 0, -1);
	}
}

static void one_ends(struct coroi_worker *w)
{
	coroi_door_enter(w);
	g.alive--;
	coroi_mags_earn(&w->mags);
	if (w->mags.credit & COROI_LEAN)
		ex_reached(LEAN);
	coroi_door_leave(w);
}

/* user - of w0: two coroutines end, and one is spawned in between. */
static void user(void *arg)
{
	struct coroi_worker *w = world_worker(0);

	(void)arg;
	world_be(0);
	one_ends(w);
	coroi_door_enter(w);
	g.alive += coroi_mags_spend(&w->mags);
	coroi_door_leave(w);
	one_ends(w);
}

static void last_user(void *arg)
{
	(void)arg;
	world_be(0);
	one_ends(world_worker(0));
}

/* begin - of `limit` credits all are out: w0 has one in hand, `alive` are those of coroutines of
 * w0, and `base` are out for good. */
static void begin(int64_t base, int64_t alive, bool hand)
{
	struct coroi_slab *s = &sched->slab;

	g.base = base;
	g.alive = alive;
	sched->outside.mags.credit = 0;
	world_worker(0)->mags.credit = hand;
	s->granted = s->limit = base + alive + hand;
	coroi_border(sched)->bell.fd = 1;
	world_region(&g, sizeof g);
	world_region(&q, sizeof q);
	world_region(&world_bell, sizeof world_bell);
}

/* make - the threads: a user of w0, one that waits, and the poller. */
static void make(void (*uses)(void *), void (*waits)(void *))
{
	ex_thread("user", uses, NULL);
	ex_thread("wait", waits, NULL);
	ex_thread("poll", polls, NULL);
}

static uint32_t in_hand(void)
{
	return (world_worker(0)->mags.credit & ~COROI_LEAN) +
	       (sched->outside.mags.credit & ~COROI_LEAN);
}

static void check(void)
{
	const struct coroi_slab *s = &sched->slab;

	EX_CHECK(s->granted == g.base + g.alive + in_hand());
	EX_CHECK(s->granted <= s->limit && (s->granted <= s->capacity || s->granted == 0));
	if (q.waits) {
		ex_reached(LEFT_WAITING);
		if (s->granted < s->limit && s->granted < s->capacity)
			ex_fail("one waits, and credit is free");
		if (in_hand())
			ex_fail("one waits, and a user has credit in hand");
	}
	if (s->wanted == COROI_WANTED_LATELY && coroi_slab_is_roomy(s))
		ex_fail("there is room, and users keep no credit");
}

static void setup_wait(void)
{
	begin(4, 3, true); /* of 8: there is room when 6 are out */
	make(user, waits_twice);
}

static const struct ex_scenario credit_wait = {
	.name = "credit-wait",
	.about = "a user spawns and ends coroutines, and a goroutine waits for credit twice",
	.setup = setup_wait,
	.check = check,
	.workers = 1,
	.raw = 1,
	.reach = 1 << SERVED_LATER | 1 << CAME_LATELY | 1 << LEAN,
};

static void setup_last(void)
{
	begin(0, 1, false);
	make(last_user, waits);
}

static const struct ex_scenario credit_last = {
	.name = "credit-last",
	.about = "all credit comes back while a goroutine asks for some",
	.setup = setup_last,
	.check = check,
	.workers = 1,
	.raw = 1,
	.reach = 1 << SERVED_LATER | 1 << ALL_CAME_BACK | 1 << LEAN,
};

/* The same where no chunk is left: the goroutine hears of that when nobody's end can help it. */

static void setup_none(void)
{
	begin(0, 1, false);
	g.none = true;
	sched->slab.capacity = 0;
	sched->slab.limit = COROI_CHUNK_USABLE;
	world_refuses = true;
	world_region(&world_refuses, sizeof world_refuses);
	make(last_user, waits);
}

static const struct ex_scenario credit_none = {
	.name = "credit-none",
	.about = "a goroutine waits for credit, and the system has no memory for any",
	.setup = setup_none,
	.check = check,
	.workers = 1,
	.raw = 1,
	.reach = 1 << SERVED_LATER | 1 << ALL_CAME_BACK | 1 << LEAN,
};

/* After the goroutine is served, two coroutines end: there is room again. */

static void two_end(void *arg)
{
	(void)arg;
	world_be(0);
	one_ends(world_worker(0));
	one_ends(world_worker(0));
}

static void setup_room(void)
{
	begin(4, 3, true);
	make(two_end, waits);
}

static const struct ex_scenario credit_room = {
	.name = "credit-room",
	.about = "a goroutine waits for credit, and then there is room again",
	.setup = setup_room,
	.check = check,
	.workers = 1,
	.raw = 1,
	.reach = 1 << LEAN,
};

/* The system has refused memory for another chunk, and has some then. */

static void finds_memory(void *arg)
{
	(void)arg;
	world_refuses = false;
	at_fence();
}

static void spawns(void *arg)
{
	struct coroi_worker *w = world_worker(0);

	(void)arg;
	world_be(0);
	coroi_door_enter(w);
	bool ok = coroi_mags_spend(&w->mags);
	g.alive += ok;
	coroi_door_leave(w);
	if (ok)
		ex_reached(LEAN);
}

static void setup_map(void)
{
	struct coroi_slab *s = &sched->slab;

	begin(s->capacity, 0, false);
	s->limit = 2 * COROI_CHUNK_USABLE;
	EX_CHECK(coroi_slab_grant(s, 1) == 1); /* maps a second chunk, which the trim gives back */
	s->granted = s->capacity - COROI_CHUNK_USABLE;
	EX_CHECK(coroi_slab_trim(s) && s->granted == s->capacity);
	world_chunks();
	world_refuses = true;
	world_region(&world_refuses, sizeof world_refuses);
	make(spawns, waits);
	ex_thread("system", finds_memory, NULL);
}

static const struct ex_scenario credit_map = {
	.name = "credit-map",
	.about = "a goroutine waits for credit, and a user's spawn maps one more chunk",
	.setup = setup_map,
	.check = check,
	.workers = 1,
	.raw = 1,
	.reach = 1 << SERVED_AT_ONCE | 1 << SERVED_LATER | 1 << LEAN | 1 << LEFT_WAITING,
};

/* --------------------------------------------------------------------------- with a trim */

enum { TRIMMED, KEPT, REFUSED };

/* fits - what was handed out is no more than there are records for. */
static void fits(void)
{
	if (!g.trimming && g.held > sched->slab.capacity)
		ex_fail("%lld credits are out, and the capacity is %lld", (long long)g.held,
			(long long)sched->slab.capacity);
}

/* asks - get credit for as many as only two chunks have. */
static void asks(void *arg)
{
	uint32_t want = (uint32_t)(uintptr_t)arg, n = coroi_slab_grant(&sched->slab, want);

	g.held += n;
	fits();
	if (n < want)
		ex_reached(REFUSED);
}

static void trims(void *arg)
{
	(void)arg;
	g.trimming = true;
	ex_reached(coroi_slab_trim(&sched->slab) ? TRIMMED : KEPT);
	g.trimming = false;
	fits();
}

static void setup_trim(void)
{
	struct coroi_slab *s = &sched->slab;
	uint32_t two = COROI_CHUNK_USABLE + 1;

	begin(0, 0, false);
	s->limit = 2 * COROI_CHUNK_USABLE;
	EX_CHECK(coroi_slab_grant(s, two) == two); /* maps the second chunk */
	s->granted = 0;
	s->limit = s->capacity;
	world_chunks();
	ex_thread("ask1", asks, (void *)(uintptr_t)two);
	ex_thread("ask2", asks, (void *)(uintptr_t)two);
	ex_thread("trim", trims, NULL);
}

static void check_trim(void)
{
	EX_CHECK(sched->slab.granted == g.held);
	EX_CHECK(g.held == sched->slab.limit);
	fits();
}

static const struct ex_scenario credit_trim = {
	.name = "credit-trim",
	.about = "two ask for credit for which two chunks are needed, and a trim gives one back",
	.setup = setup_trim,
	.check = check_trim,
	.workers = 1,
	.raw = 1,
	.reach = 1 << TRIMMED | 1 << KEPT | 1 << REFUSED,
};

const struct ex_scenario *const scenarios_credit[] = {
	&credit_wait, &credit_last, &credit_none, &credit_room, &credit_map, &credit_trim, NULL,
};
