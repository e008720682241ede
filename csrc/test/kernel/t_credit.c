/*
 * t_credit.c - credit that somebody waits for: CRD1 to CRD4 of slab.h. The Go side: spawn_test.go.
 */
#include "test.h"

#include "border/state.h"
#include "kernel/life.h"
#include "kernel/spawn.h"

#include <poll.h>
#include <unistd.h>

static uint64_t ended, leave, stop;

static void want(coro_scheduler *s, uint32_t wanted)
{
	at_xchg(&s->slab.wanted, wanted);
}

static int64_t granted(coro_scheduler *s)
{
	return at_load_seq(&s->slab.granted);
}

/* rang - the bell has rung since it was armed. It is armed again. */
static bool rang(coro_scheduler *s, int bell)
{
	uint64_t n;
	bool yes = poll(&(struct pollfd){.fd = bell, .events = POLLIN}, 1, 0) == 1;

	if (yes)
		CHECK_EQ(read(bell, &n, sizeof n), 8);
	at_xchg(&coroi_border(s)->bell.go_sleeps, 1);
	return yes;
}

TEST(credit_lean_users_keep_none)
{
	coro_options o = options(1, CORO_PAUSED);
	o.record_limit = COROI_CHUNK_BYTES;
	coro_scheduler *s = start(&o);
	struct coroi_mags m;
	int bell = coroi_bell_open(s);

	CHECK_EQ(coroi_mags_init(&m, &s->slab), CORO_OK);
	rang(s, bell);
	for (int i = 0; i < 10; i++)
		CHECK(coroi_mags_spend(&m));
	CHECK_EQ(granted(s), COROI_CREDIT);
	coroi_mags_earn(&m);
	CHECK(!rang(s, bell));

	want(s, COROI_WANTED);
	coroi_mags_surrender(&m);
	CHECK_EQ(granted(s), 9);
	CHECK(rang(s, bell));
	for (int i = 8; i >= 0; i--) { /* each end is told */
		coroi_mags_earn(&m);
		CHECK_EQ(granted(s), i);
		CHECK(rang(s, bell));
	}
	for (int i = 1; i < 1000; i++) { /* each spawn takes what it needs */
		CHECK(coroi_mags_spend(&m));
		CHECK_EQ(granted(s), i);
	}
	CHECK(!rang(s, bell));

	want(s, COROI_WANTED_LATELY); /* the bell rings only when there is room again */
	CHECK(coroi_slab_is_roomy(&s->slab));
	uint32_t rest = coroi_slab_grant(&s->slab, 1 << 20);
	CHECK(!coroi_slab_is_roomy(&s->slab));
	CHECK(!coroi_mags_spend(&m));
	coroi_mags_earn(&m);
	CHECK(!rang(s, bell));
	coroi_slab_refund(&s->slab, rest);
	CHECK(rang(s, bell));

	want(s, COROI_UNWANTED);
	coroi_mags_earn(&m);
	CHECK_EQ(granted(s), 998); /* it is kept again */
	for (int i = 0; i < 997; i++)
		coroi_mags_earn(&m);
	CHECK(granted(s) <= 2 * COROI_CREDIT);
	coroi_mags_flush(&m);
	CHECK_EQ(granted(s), 0);
	CHECK(!rang(s, bell));
	CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
}

/* Only one that waits while no credit is out, and none can be had, waits in vain. */
TEST(credit_that_came_back_is_no_want_of_memory)
{
	coro_options o = options(1, CORO_PAUSED);
	o.record_limit = COROI_CHUNK_BYTES;
	coro_scheduler *s = start(&o);

	uint32_t all = coroi_slab_grant(&s->slab, 1 << 20);
	CHECK(all >= COROI_CHUNK_USABLE);
	CHECK_EQ(coroi_slab_grant(&s->slab, 1), 0);
	CHECK(!coroi_slab_is_exhausted(&s->slab)); /* an end would help */
	coroi_slab_refund(&s->slab, all);
	CHECK_EQ(granted(s), 0);
	CHECK(!coroi_slab_is_exhausted(&s->slab)); /* all has come back */
	CHECK(coro_scheduler_trim(s) > 0);
	CHECK(at_load_seq(&s->slab.capacity) <= 0);
	CHECK(!coroi_slab_is_exhausted(&s->slab)); /* the system has memory */
	CHECK(at_load_seq(&s->slab.capacity) > 0);
	CHECK_EQ(coroi_slab_grant(&s->slab, 1), 1);
	coroi_slab_refund(&s->slab, 1);
	CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
}

static void ends(void *arg, void *result)
{
	(void)arg;
	(void)result;
	add_one(&ended);
}

static void computes(void *arg, void *result)
{
	(void)arg;
	(void)result;
	add_one(&ended);
	while (!seen(&leave))
		;
}

/* Each worker has some in hand: one sleeps, one is in a body for long. */
TEST(credit_is_collected_while_a_body_computes)
{
	for (uint32_t flags = 0; flags <= CORO_NO_MEMBARRIER; flags += CORO_NO_MEMBARRIER) {
		coro_scheduler *s = start_with(2, flags);
		coro_attr first = on(1), second = on(2);

		ended = leave = 0;
		for (int i = 0; i < 100; i++)
			CHECK_EQ(coro_scheduler_spawn(s, &first, ends, NULL, 0, NULL), CORO_OK);
		CHECK_EQ(coro_scheduler_spawn(s, &first, computes, NULL, 0, NULL), CORO_OK);
		CHECK_EQ(coro_scheduler_spawn(s, &second, ends, NULL, 0, NULL), CORO_OK);
		while (seen(&ended) < 102)
			sleep_us(100);
		want(s, COROI_WANTED);
		coroi_collect(s);
		CHECK_EQ(granted(s), 1); /* that computes */

		ended = 0;
		for (int i = 0; i < 1000; i++) { /* and each end gives it back at once */
			CHECK_EQ(coro_scheduler_spawn(s, &second, ends, NULL, 0, NULL), CORO_OK);
			while (granted(s) > 1)
				at_relax();
		}
		add_one(&leave);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		want(s, COROI_UNWANTED);
		finish(s);
	}
}

static void breeds(void *arg, void *result)
{
	uint64_t n = *(uint64_t *)arg;

	(void)result;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t less = n - 1 - i % 2;
		if (less < n)
			spawn_in(breeds, &less, sizeof less);
		CHECK_EQ(coro_yield(), CORO_OK);
	}
	add_one(&ended);
}

static void *collects(void *arg)
{
	coro_scheduler *s = arg;
	uint64_t random = 3;

	while (!seen(&stop)) {
		want(s, COROI_WANTED);
		coroi_collect(s);
		sleep_us((unsigned)(rnd(&random) % 300));
		want(s, COROI_WANTED_LATELY);
		sleep_us((unsigned)(rnd(&random) % 50));
		want(s, COROI_UNWANTED);
		sleep_us((unsigned)(rnd(&random) % 100));
	}
	return NULL;
}

/* Whatever is collected meanwhile, no credit is lost, and none is made. */
TEST(credit_is_collected_from_workers_at_work)
{
	coro_scheduler *s = start_with(3, 0);
	pthread_t collector;
	uint64_t n = 6;

	stop = ended = 0;
	thread_start(&collector, collects, s);
	for (uint64_t i = 0; i < scaled(60); i++) {
		spawn(s, breeds, &n, sizeof n);
		if (i % 10 == 9)
			CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	}
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	add_one(&stop);
	thread_join(collector);
	want(s, COROI_WANTED);
	coroi_collect(s);
	CHECK_EQ(granted(s), 0);
	finish(s);
}

static uint64_t ran;

static void counts(void *arg, void *result)
{
	(void)arg;
	(void)result;
	__atomic_add_fetch(&ran, 1, __ATOMIC_SEQ_CST);
}

/* Queued spawns have credit for records that were never touched: a trim leaves their chunk. */
TEST(credit_trim_leaves_what_was_granted)
{
	coro_scheduler *s = start_with(1, CORO_PAUSED);
	struct coroi_fill q = {.fn = counts, .class = s->class};

	ran = 0;
	CHECK_EQ(coroi_spawn_many(s, &q, NULL, 20000, 0), 20000);
	uint64_t bytes = stats(s).record_bytes;
	coro_scheduler_trim(s);
	CHECK_EQ(stats(s).record_bytes, bytes);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK_EQ(ran, 20000);
	finish(s);
}
