/*
 * t_actor_idle.c - actors that end when they had no message for some time.
 */
#include "stage.h"

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
	/* one stays, as it has messages */
	for (int i = 0; i < 60; i++) {
		tell(refs[0], 0, 0);
		sleep_us(3000);
	}
	CHECK_EQ(seen(&ended), IDLERS - 1);
	CHECK_EQ(coro_actor_send(refs[1], 0, NULL, 0), CORO_ESTALE);
	sleep_until_seen(&ended, IDLERS);
	CHECK_EQ(early, 0);
	CHECK_EQ(handled, IDLERS / 2 + 60);
	CHECK_EQ(settled(s).actors, 0);
	CHECK_EQ(coro_scheduler_destroy(s), CORO_OK); /* with a daemon, the sweeper */
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
