/*
 * t_host.c - the main worker, and the threads that host it.
 */
#include "test.h"

static uint64_t done, begun, came_back;

static coro_scheduler *start_main(uint32_t workers)
{
	coro_options o = options(workers, CORO_MAIN_WORKER);
	o.dedicated = 1;
	return start(&o);
}

static uint32_t main_of(coro_scheduler *s)
{
	return stats(s).workers; /* as coro_attr counts */
}

/* A thread that hosts. */
struct hosting {
	coro_scheduler *s;
	pthread_t thread;
	int status;
};

static void *host(void *arg)
{
	struct hosting *h = arg;

	h->status = coro_scheduler_host(h->s);
	return NULL;
}

static void host_start(struct hosting *h, coro_scheduler *s)
{
	*h = (struct hosting){.s = s, .status = 1};
	thread_start(&h->thread, host, h);
}

static void host_stop(struct hosting *h, int want)
{
	CHECK_EQ(coro_scheduler_host_leave(h->s), CORO_OK);
	thread_join(h->thread);
	CHECK_EQ(h->status, want);
}

static void note_thread(void *arg, void *result)
{
	(void)result;
	**(pthread_t **)arg = pthread_self();
	add_one(&done);
}

static void spawn_main(coro_scheduler *s, coro_fn fn, const void *arg, size_t bytes)
{
	coro_attr attr = on((int)main_of(s));
	CHECK_EQ(coro_scheduler_spawn(s, &attr, fn, arg, bytes, NULL), CORO_OK);
}

TEST(host_options)
{
	coro_options o = options(1, CORO_MAIN_WORKER);
	coro_scheduler *s;

	CHECK_EQ(coro_scheduler_init(&s, &o), CORO_EINVAL); /* none is dedicated */
	o.dedicated = 1;
	o.flags |= CORO_PAUSED;
	CHECK_EQ(coro_scheduler_init(&s, &o), CORO_EINVAL);
	o.flags = 0;
	s = start(&o);
	CHECK_EQ(coro_scheduler_host(s), CORO_EPERM);
	CHECK_EQ(coro_scheduler_host_leave(s), CORO_EPERM);
	CHECK_EQ(coro_scheduler_host(NULL), CORO_EINVAL);
	CHECK_EQ(coro_scheduler_host_leave(NULL), CORO_EINVAL);
	finish(s);
}

static void tries_to_host(void *arg, void *result)
{
	(void)result;
	CHECK_EQ(coro_scheduler_host(*(coro_scheduler **)arg), CORO_EPERM);
	add_one(&done);
}

/* One thread hosts at a time, no worker does, and a leave that comes first is not lost. */
TEST(host_one_at_a_time)
{
	coro_scheduler *s = start_main(1);
	struct hosting h;

	CHECK_EQ(coro_scheduler_host_leave(s), CORO_OK);
	CHECK_EQ(coro_scheduler_host_leave(s), CORO_OK);
	CHECK_EQ(coro_scheduler_host(s), CORO_OK); /* at once */
	spawn_main(s, tries_to_host, &s, sizeof s);
	host_start(&h, s);
	sleep_until_seen(&done, 1);
	CHECK_EQ(coro_scheduler_host(s), CORO_EBUSY);
	host_stop(&h, CORO_OK);
	finish(s);
}

static void stays(void *arg, void *result)
{
	pthread_t *at = *(pthread_t **)arg;

	(void)result;
	at[0] = pthread_self();
	add_one(&done);
	CHECK_EQ(coro_park(), CORO_OK);
	at[1] = pthread_self();
	add_one(&done);
}

static coro_handle spawn_stays(coro_scheduler *s, pthread_t *at)
{
	coro_attr attr = on((int)main_of(s));
	coro_handle h;

	CHECK_EQ(coro_scheduler_spawn(s, &attr, stays, &at, sizeof at, &h), CORO_OK);
	return h;
}

/* What is sent to the main worker runs on the thread that hosts it, waits while none does, and goes
 * on on the next one. */
TEST(host_runs_what_is_sent_there)
{
	coro_scheduler *s = start_main(2);
	pthread_t at[2], other[3] = {0}, *first = &other[0];
	struct hosting h, g;

	spawn_main(s, note_thread, &first, sizeof first);
	coro_handle stays_there = spawn_stays(s, at);
	sleep_us(2000);
	CHECK_EQ(seen(&done), 0);
	host_start(&h, s);
	sleep_until_seen(&done, 2);
	CHECK(pthread_equal(other[0], h.thread));
	CHECK(pthread_equal(at[0], h.thread));
	host_stop(&h, CORO_OK);

	CHECK_EQ(coro_wake(stays_there), CORO_OK);
	sleep_us(2000);
	CHECK_EQ(seen(&done), 2);
	host_start(&g, s);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(seen(&done), 3);
	CHECK(pthread_equal(at[1], g.thread));
	host_stop(&g, CORO_OK);
	finish(s);
}

static void yields_for_ever(void *arg, void *result)
{
	(void)arg;
	(void)result;
	add_one(&begun);
	while (!coro_canceled())
		CHECK_EQ(coro_yield(), CORO_OK);
	add_one(&done);
}

/* A host that is busy leaves, too, and the next one goes on with what it was busy with. */
TEST(host_leaves_what_never_rests)
{
	coro_scheduler *s = start_main(1);
	struct hosting h;

	for (int i = 0; i < 3; i++)
		spawn_main(s, yields_for_ever, NULL, 0);
	for (int round = 0; round < 20; round++) {
		host_start(&h, s);
		sleep_until_seen(&begun, 3);
		if (round % 2)
			sleep_us(100);
		host_stop(&h, CORO_OK);
	}
	host_start(&h, s);
	CHECK_EQ(coro_scheduler_close(s, 1), CORO_OK);
	thread_join(h.thread);
	CHECK(h.status == CORO_ECLOSED || h.status == CORO_OK);
	CHECK_EQ(seen(&done), 3);
	CHECK_EQ(coro_scheduler_host(s), CORO_ECLOSED);
	CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
}

/* A close without a host, or while one comes, runs what is left. */
TEST(host_close_without_one)
{
	for (int round = 0; round < 40; round++) {
		coro_scheduler *s = start_main(1);
		pthread_t at[2], *first = &at[0];
		struct hosting h;
		bool hosted = round % 2;

		done = 0;
		spawn_main(s, note_thread, &first, sizeof first);
		if (round % 4 >= 2)
			spawn_main(s, yields_for_ever, NULL, 0);
		if (hosted)
			host_start(&h, s);
		CHECK_EQ(coro_scheduler_close(s, round % 4 >= 2), CORO_OK);
		if (hosted) {
			thread_join(h.thread);
			CHECK(h.status == CORO_ECLOSED);
		}
		CHECK(round % 4 >= 2 || seen(&done) == 1);
		CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
	}
}

static void sleeps(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_sleep(30 * MS), CORO_OK);
	add_one(&done);
}

/* A deadline that comes while nobody hosts is kept for the next host. */
TEST(host_deadlines)
{
	coro_scheduler *s = start_main(1);
	struct hosting h;

	spawn_main(s, sleeps, NULL, 0);
	host_start(&h, s);
	while (!stats(s).outside && !seen(&done))
		sleep_us(100);
	host_stop(&h, CORO_OK);
	uint64_t over = seen(&done); /* where the machine was slow: it is over already */
	sleep_us(60000);
	CHECK_EQ(seen(&done), over);
	host_start(&h, s);
	sleep_until_seen(&done, 1);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	host_stop(&h, CORO_OK);
	/* nothing is left behind that would keep a wait from its end, without a host */
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	finish(s);
}

/* A deadline that was taken back does not keep the worker awake. On a slow machine it may come, and
 * the wake after it. */
static void wakes_sleeper(void *arg, void *result)
{
	(void)result;
	int status = coro_wake(*(coro_handle *)arg);
	CHECK(status == CORO_OK || status == CORO_ESTALE);
}

static void parks_for(void *arg, void *result)
{
	coro_handle me = coro_self();
	coro_attr here = on(CORO_ANYWHERE);

	(void)arg;
	(void)result;
	CHECK_EQ(coro_spawn_attr(&here, wakes_sleeper, &me, sizeof me, NULL), CORO_OK);
	int status = coro_park_until(coro_now() + 5 * MS);
	CHECK(status == CORO_OK || status == CORO_ETIMEDOUT);
	add_one(&done);
}

TEST(host_leaves_no_deadline_behind)
{
	coro_scheduler *s = start_main(1);
	struct hosting h;

	for (int i = 0; i < 20; i++)
		spawn_main(s, parks_for, NULL, 0);
	host_start(&h, s);
	sleep_until_seen(&done, 20);
	host_stop(&h, CORO_OK);
	sleep_us(8000);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	finish(s);
}

/* -------------------------------------------------------------------------------------- storm */

#define SPAWNERS 2
#define HOSTS    2

static uint64_t storm_over;

static void back_to_main(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_worker(), 2); /* the last of two and one */
	add_one(&came_back);
}

static void hops(void *arg, void *result)
{
	coro_attr attr = on(3);
	uint64_t seed = *(uint64_t *)arg;

	(void)result;
	if (rnd(&seed) % 3 == 0)
		CHECK_EQ(coro_sleep(rnd(&seed) % 100000), CORO_OK);
	CHECK_EQ(coro_spawn_attr(&attr, back_to_main, NULL, 0, NULL), CORO_OK);
	add_one(&done);
}

static void on_main(void *arg, void *result)
{
	coro_attr anywhere = on(CORO_ANYWHERE);
	uint64_t seed = *(uint64_t *)arg;

	(void)result;
	CHECK_EQ(coro_worker(), 2);
	CHECK_EQ(coro_spawn_attr(&anywhere, hops, &seed, sizeof seed, NULL), CORO_OK);
	if (rnd(&seed) % 4 == 0)
		CHECK_EQ(coro_sleep(rnd(&seed) % 200000), CORO_OK);
	else if (rnd(&seed) % 2)
		CHECK_EQ(coro_yield(), CORO_OK);
	CHECK_EQ(coro_worker(), 2);
	add_one(&begun);
}

static void *storm_spawner(void *arg)
{
	coro_scheduler *s = arg;
	uint64_t seed = (uintptr_t)&seed | 1;

	for (uint64_t i = scaled(4000); i; i--) {
		uint64_t x = rnd(&seed);
		spawn_main(s, on_main, &x, sizeof x);
		if (x % 16 == 0)
			sleep_us((unsigned)(x >> 8 & 127));
	}
	return NULL;
}

static void *storm_host(void *arg)
{
	coro_scheduler *s = arg;

	for (;;) {
		int status = coro_scheduler_host(s);
		if (status == CORO_ECLOSED)
			return NULL;
		CHECK(status == CORO_OK || status == CORO_EBUSY);
		if (status == CORO_EBUSY)
			sleep_us(50);
	}
}

static void *storm_leaver(void *arg)
{
	coro_scheduler *s = arg;
	uint64_t seed = 7;

	while (!seen(&storm_over)) {
		CHECK_EQ(coro_scheduler_host_leave(s), CORO_OK);
		sleep_us((unsigned)(rnd(&seed) % 200));
	}
	return NULL;
}

/* Hosts come and go while work comes from everywhere: everything is done, on the main worker what
 * was sent there, and the end is exact. */
TEST_LIMIT(stress_hosts_come_and_go, 300)
{
	coro_scheduler *s = start_main(2);
	pthread_t spawner[SPAWNERS], hosts[HOSTS], leaver;
	uint64_t n = SPAWNERS * scaled(4000);

	delays(DELAYS_USUAL);
	for (int i = 0; i < HOSTS; i++)
		thread_start(&hosts[i], storm_host, s);
	thread_start(&leaver, storm_leaver, s);
	for (int i = 0; i < SPAWNERS; i++)
		thread_start(&spawner[i], storm_spawner, s);
	for (int i = 0; i < SPAWNERS; i++)
		thread_join(spawner[i]);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(seen(&begun), n);
	CHECK_EQ(seen(&done), n);
	CHECK_EQ(seen(&came_back), n);
	CHECK_EQ(coro_scheduler_close(s, 0), CORO_OK);
	add_one(&storm_over);
	thread_join(leaver);
	for (int i = 0; i < HOSTS; i++)
		thread_join(hosts[i]);
	CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
}
