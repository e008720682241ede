/*
 * t_resolve.c - look-ups of names that hang: what they leave to other calls, and what is left of
 * them when their callers give up.
 */
#include "fds.h"

#include "io/blocking.h"
#include "kernel/life.h"

#include <netdb.h>
#include <string.h>

#define MANY 64

static uint64_t begun, at_once, most_at_once, gave_up, found, called;
static uint32_t answers;

/* hangs - a name server that does not answer before `answers` is set. */
static int hangs(const char *node)
{
	uint64_t now = add_one(&at_once), most = __atomic_load_n(&most_at_once, __ATOMIC_SEQ_CST);

	CHECK_EQ(strcmp(node, "a.name"), 0);
	while (now > most && !__atomic_compare_exchange_n(&most_at_once, &most, now, false,
							  __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		;
	add_one(&begun);
	while (!__atomic_load_n(&answers, __ATOMIC_SEQ_CST))
		sleep_us(100);
	__atomic_sub_fetch(&at_once, 1, __ATOMIC_SEQ_CST);
	return EAI_NONAME;
}

static void answer(void)
{
	__atomic_store_n(&answers, 1, __ATOMIC_SEQ_CST);
}

static coro_scheduler *with_threads(uint32_t threads)
{
	coro_options o = options(2, 0);

	o.blocking_threads = threads;
	begun = at_once = most_at_once = gave_up = found = called = 0;
	answers = 0;
	look_up_instead = hangs;
	return start(&o);
}

static int looks_up_for(uint64_t ns)
{
	struct addrinfo *list;
	int error = 0;
	int status = coro_getaddrinfo("a.name", NULL, NULL, &list, &error,
				      ns == CORO_FOREVER ? ns : coro_now() + ns);

	if (status == 1)
		CHECK_EQ(error, EAI_NONAME);
	return status;
}

static void looks_up(void *arg, void *result)
{
	uint64_t ns = *(uint64_t *)arg;

	(void)result;
	int status = looks_up_for(ns);
	if (status == 1) {
		add_one(&found);
		return;
	}
	CHECK_EQ(status, ns == CORO_FOREVER ? CORO_ECANCELED : CORO_ETIMEDOUT);
	add_one(&gave_up);
}

static void spawn_all(coro_scheduler *s, uint64_t ns)
{
	for (int i = 0; i < MANY; i++)
		spawn(s, looks_up, &ns, sizeof ns);
}

static void nothing(void *arg)
{
	(void)arg;
	add_one(&called);
}

static void calls(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_blocking(nothing, NULL), CORO_OK);
}

/* While look-ups hang, other calls are made, and the scheduler comes to rest. */
TEST(resolve_leaves_half_of_the_threads)
{
	static const uint32_t threads[] = {0, 2, 3, 16};

	for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
		uint64_t half = (threads[i] ? threads[i] : COROI_BLOCKING_THREADS) / 2;
		coro_scheduler *s = with_threads(threads[i]);
		spawn_all(s, 20 * MS);
		spawn(s, calls, NULL, 0);
		sleep_until_seen(&gave_up, MANY);
		spawn(s, calls, NULL, 0);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(seen(&called), 2);
		CHECK_EQ(seen(&most_at_once), half);
		CHECK_EQ(stats(s).blocking_queued, 0);
		answer();
		finish(s);
		CHECK_EQ(seen(&begun), half); /* those that waited were taken back */
	}
}

/* More look-ups than may be made at once: all are made, also by a single thread. */
TEST(resolve_takes_turns)
{
	for (uint32_t threads = 1; threads <= 8; threads *= 2) {
		coro_scheduler *s = with_threads(threads);
		uint64_t half = threads > 1 ? threads / 2 : 1;
		spawn_all(s, CORO_FOREVER);
		sleep_until_seen(&begun, half);
		while (stats(s).blocking_queued != MANY - half)
			sleep_us(100);
		answer();
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(seen(&found), MANY);
		CHECK_EQ(seen(&begun), MANY);
		CHECK(seen(&most_at_once) <= half);
		finish(s);
	}
}

/* Some give up while others wait, and while look-ups end. */
TEST(resolve_some_give_up)
{
	for (uint64_t round = 0; round < scaled(40); round++) {
		coro_scheduler *s = with_threads(4);
		uint64_t seed = round + 1;
		for (int i = 0; i < MANY; i++) {
			uint64_t ns = rnd(&seed) % (2 * MS);
			spawn(s, looks_up, &ns, sizeof ns);
		}
		sleep_us((unsigned)(rnd(&seed) % 1500));
		answer();
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(seen(&found) + seen(&gave_up), MANY);
		CHECK(seen(&most_at_once) <= 2);
		CHECK_EQ(stats(s).blocking_queued, 0);
		finish(s);
	}
}

static void *closes(void *arg)
{
	CHECK_EQ(coro_scheduler_close(arg, 1), CORO_OK);
	return NULL;
}

/* A close cancels all that wait. What goes on is told. */
TEST(resolve_goes_on_behind_a_close)
{
	coro_scheduler *s = with_threads(8);
	coro_fn list[16];
	pthread_t t;

	spawn_all(s, CORO_FOREVER);
	sleep_until_seen(&begun, 4);
	while (stats(s).blocking_queued != MANY - 4)
		sleep_us(100); /* one that has not asked yet ends by the close before it does */
	thread_start(&t, closes, s);
	sleep_until_seen(&gave_up, MANY);
	while (coroi_running(s, list, 16) != 4)
		sleep_us(100); /* the last that has given up is about to end */
	for (int i = 0; i < 4; i++)
		CHECK(list[i] == (coro_fn)(uintptr_t)coro_getaddrinfo);
	answer();
	thread_join(t);
	CHECK_EQ(coroi_running(s, list, 16), 0);
	CHECK_EQ(seen(&begun), 4);
	CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
}
