/*
 * t_actor_idle.c - actors that end when they had no message for some time.
 */
#include "stage.h"

#include <stdlib.h>

#include <string.h>

#define IDLE (20 * MS)

static uint64_t handled, ended, early, sent;

struct idler {
	uint64_t last; /* message, ns */
};

static size_t handles(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	(void)turn;
	(void)m;
	((struct idler *)state)->last = coro_now();
	add_to(&handled, n);
	return n;
}

static void idler_ends(void *state, int cause)
{
	struct idler *i = state;

	if (cause != CORO_DEAD_IDLE)
		return;
	add_to(&early, coro_now() - i->last < IDLE);
	add_one(&ended);
}

static const coro_actor_kind idler = {
	.size = sizeof idler, .behave = handles, .end = idler_ends, .idle = IDLE};

#define IDLERS 100

static struct idler idlers[IDLERS];
static coro_actor refs[IDLERS];

static void make(coro_scheduler *s)
{
	handled = ended = early = sent = 0;
	for (int i = 0; i < IDLERS; i++) {
		idlers[i].last = coro_now();
		refs[i] = actor(s, &idler, &idlers[i]);
	}
}

TEST(actor_idle_ones_end)
{
	coro_actor_kind bad = idler;
	coro_scheduler *s = start_with(2, 0);
	coro_actor a;

	bad.idle = CORO_IDLE_MIN - 1;
	CHECK_EQ(coro_actor_spawn(s, &bad, &idlers[0], &a), CORO_EINVAL);
	make(s);
	for (int i = 0; i < IDLERS; i += 2)
		tell(refs[i], 0, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK); /* the sweeper is no work */
	/* one stays, as it has messages, unless this thread has no CPU for as long as IDLE */
	uint64_t told = 0;
	for (int i = 0; i < 60; i++) {
		int status = coro_actor_send(refs[0], 0, NULL, 0);
		CHECK(status == CORO_OK || status == CORO_ESTALE);
		told += !status;
		sleep_us(3000);
	}
	sleep_until_seen(&ended, IDLERS - 1);
	CHECK_EQ(coro_actor_send(refs[1], 0, NULL, 0), CORO_ESTALE);
	sleep_until_seen(&ended, IDLERS);
	CHECK_EQ(early, 0);
	CHECK_EQ(handled, IDLERS / 2 + told);
	CHECK_EQ(settled(s).actors, 0);
	CHECK_EQ(coro_scheduler_destroy(s), CORO_OK); /* with a daemon, the sweeper */
}

/* A walk over many places takes a while. Once an actor that had a message meanwhile was taken for
 * one that was idle for long. */
#define CROWD (FIBERS ? 1000 : 100000)

static void tells_crowd(void *arg, void *result)
{
	const coro_actor *crowd = *(const coro_actor **)arg;
	uint64_t random = 5, until = coro_now() + 400 * MS;

	(void)result;
	while (coro_now() < until) {
		for (int i = 0; i < 50; i++) {
			int status = coro_actor_send(crowd[rnd(&random) % CROWD], 0, NULL, 0);
			CHECK(status == CORO_OK || status == CORO_ESTALE);
		}
		CHECK_EQ(coro_yield(), CORO_OK);
	}
}

TEST(actor_idle_none_ends_early)
{
	struct idler *crowd = calloc(CROWD, sizeof *crowd);
	coro_actor *all = calloc(CROWD, sizeof *all);
	coro_scheduler *s = start_with(2, 0);

	handled = ended = early = 0;
	for (int i = 0; i < CROWD; i++) {
		crowd[i].last = coro_now();
		all[i] = actor(s, &idler, &crowd[i]);
	}
	for (int i = 0; i < 2; i++)
		spawn(s, tells_crowd, &all, sizeof all);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(early, 0);
	CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
	free(crowd);
	free(all);
}

/* Messages come about when the idle time is over: each is handled, or refused. */
static void tells(void *arg, void *result)
{
	uint64_t random = *(uint64_t *)arg;

	(void)result;
	for (uint64_t i = 0, n = scaled(400); i < n; i++) {
		int k = (int)(rnd(&random) % IDLERS);
		int status = coro_actor_send(refs[k], 0, NULL, 0);
		CHECK(status == CORO_OK || status == CORO_ESTALE);
		add_to(&sent, status == CORO_OK);
		coro_sleep(rnd(&random) % (MS / 2));
	}
}

TEST(actor_idle_ends_lose_no_message)
{
	coro_scheduler *s = start_with(2, 0);

	make(s);
	for (uint64_t i = 1; i <= 4; i++)
		spawn(s, tells, &i, sizeof i);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(handled, sent);
	CHECK_EQ(early, 0);
	CHECK_EQ(settled(s).handled, sent);
	CHECK_EQ(coro_scheduler_destroy(s), CORO_OK); /* with a daemon, the sweeper */
}
