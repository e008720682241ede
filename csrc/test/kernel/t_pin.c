/*
 * t_pin.c - pinned coroutines: they run on their worker alone, whatever steals, wakes or cancels.
 */
#include "test.h"

#include <string.h>

static uint64_t done, other;
static uint32_t workers;

/* --------------------------------------------------------------------------------------- misuse */

static void nothing(void *arg, void *result)
{
	(void)arg;
	(void)result;
	add_one(&done);
}

static void outside(void)
{
	CHECK_EQ(coro_worker(), -1);
	CHECK_EQ(coro_pin(0), CORO_EPERM);
	CHECK_EQ(coro_pin(CORO_HERE), CORO_EPERM);
	CHECK_EQ(coro_unpin(), CORO_EPERM);
}

static intptr_t by_hand(void *arg, intptr_t first)
{
	(void)arg;
	(void)first;
	outside();
	return 0;
}

static void misuse(void *arg, void *result)
{
	coro_attr nowhere = on(workers + 1), elsewhere = on((uint32_t)!coro_worker() + 1);
	coro_t *co;
	(void)arg;
	(void)result;

	int here = coro_worker();
	CHECK_EQ(coro_pin(workers), CORO_EINVAL);
	CHECK_EQ(coro_pin(CORO_ANYWHERE), CORO_EINVAL);
	CHECK_EQ(coro_worker(), here); /* none of these calls has suspended us */
	CHECK_EQ(coro_spawn_attr(&nowhere, nothing, NULL, 0, NULL), CORO_EINVAL);
	CHECK_EQ(coro_spawn_first(&nowhere, nothing, NULL, 0, NULL), CORO_EINVAL);
	CHECK_EQ(coro_spawn_first(&elsewhere, nothing, NULL, 0, NULL), CORO_EINVAL);
	nowhere.worker = CORO_ANYWHERE - 1;
	CHECK_EQ(coro_spawn_attr(&nowhere, nothing, NULL, 0, NULL), CORO_EINVAL);
	CHECK_EQ(coro_new(&co, by_hand, NULL, STACK), CORO_OK);
	CHECK_EQ(coro_resume(co, 0, NULL), CORO_FINISHED);
	CHECK_EQ(coro_free(co), CORO_OK);
	CHECK_EQ(coro_unpin(), CORO_OK); /* an unpinned coroutine */
}

TEST(pin_misuse_is_told)
{
	workers = 2;
	coro_scheduler *s = start_with(workers, 0);
	coro_attr nowhere = on(workers + 1), here = on(CORO_HERE), far = on(CORO_ANYWHERE - 1);

	outside();
	CHECK_EQ(coro_scheduler_spawn(s, &nowhere, nothing, NULL, 0, NULL), CORO_EINVAL);
	CHECK_EQ(coro_scheduler_spawn(s, &here, nothing, NULL, 0, NULL), CORO_EINVAL);
	CHECK_EQ(coro_scheduler_spawn(s, &far, nothing, NULL, 0, NULL), CORO_EINVAL);
	spawn(s, misuse, NULL, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(done, 0);
	finish(s);
}

/* ------------------------------------------------------------- on the worker that was asked for */

static void stays(void *arg, void *result)
{
	uint64_t worker;
	(void)result;

	memcpy(&worker, arg, 8);
	for (int i = 0; i < 50; i++) {
		CHECK_EQ(coro_worker(), worker);
		if (i % 8)
			CHECK_EQ(coro_yield(), CORO_OK);
		else
			CHECK_EQ(coro_sleep(i * 1000), CORO_OK);
	}
	add_one(&done);
}

/* To each worker, from each, behind and ahead of the parent. */
static void sends_to_all(void *arg, void *result)
{
	coro_attr here = on(CORO_HERE);
	(void)arg;
	(void)result;

	for (uint64_t to = 0; to < workers; to++) {
		coro_attr a = on((uint32_t)to + 1);
		coro_handle h;
		CHECK_EQ(coro_spawn_attr(&a, stays, &to, 8, NULL), CORO_OK);
		a.flags = CORO_JOINABLE;
		CHECK_EQ(coro_spawn_attr(&a, stays, &to, 8, &h), CORO_OK);
		CHECK_EQ(coro_join(h, NULL, 0), CORO_OK);
	}
	CHECK_EQ(coro_pin(CORO_HERE), CORO_OK);
	uint64_t me = (uint64_t)coro_worker();
	CHECK_EQ(coro_spawn_attr(&here, stays, &me, 8, NULL), CORO_OK);
	CHECK_EQ(coro_spawn_first(&here, stays, &me, 8, NULL), CORO_OK);
	stays(&me, NULL);
}

TEST(pin_spawned_ones_stay)
{
	for (workers = 1; workers <= 4; workers++) {
		coro_scheduler *s = start_with(workers, workers % 2 ? CORO_NO_MEMBARRIER : 0);
		done = 0;
		for (uint64_t i = 0; i < workers; i++) {
			coro_attr a = on((uint32_t)i + 1);
			for (int k = 0; k < 20; k++)
				CHECK_EQ(coro_scheduler_spawn(s, &a, stays, &i, 8, NULL), CORO_OK);
			CHECK_EQ(coro_scheduler_spawn(s, &a, sends_to_all, NULL, 0, NULL), CORO_OK);
			spawn(s, sends_to_all, NULL, 0);
		}
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(done, workers * (20 + 2 * (2 * workers + 3)));
		finish(s);
	}
}

/* -------------------------------------------------------------- a worker that computes for long */

static uint32_t go_on, computing;

static void goes_free(void *arg, void *result)
{
	(void)arg;
	(void)result;
	add_one(&other);
}

/* The computing coroutine waits for unpinned ones: some are behind many pinned ones, some before,
 * some woken, some in the inbox as remote wakes. */
static void computes(void *arg, void *result)
{
	uint64_t want;
	(void)result;

	memcpy(&want, arg, 8);
	__atomic_store_n(&computing, 1, __ATOMIC_SEQ_CST);
	while (seen(&other) < want || !__atomic_load_n(&go_on, __ATOMIC_SEQ_CST))
		CHECK_EQ(seen(&done), 0); /* nobody else runs what is pinned here */
}

static void parks_free(void *arg, void *result)
{
	coro_handle *h;
	(void)result;

	memcpy(&h, arg, 8);
	*h = coro_self();
	CHECK_EQ(coro_unpin(), CORO_OK);
	CHECK_EQ(coro_park(), CORO_OK);
	add_one(&other);
}

static void wakes_and_computes(void *arg, void *result)
{
	coro_handle *h;
	uint64_t want = 11;
	(void)result;

	memcpy(&h, arg, 8);
	coro_attr here = on(CORO_HERE);
	for (int i = 0; i < 5; i++)
		spawn_in(goes_free, NULL, 0);
	for (int i = 0; i < 150; i++)
		CHECK_EQ(coro_spawn_attr(&here, nothing, NULL, 0, NULL), CORO_OK);
	CHECK_EQ(coro_wake(*h), CORO_OK); /* into `next` */
	for (int i = 0; i < 5; i++)
		spawn_in(goes_free, NULL, 0);
	computes(&want, NULL);
}

TEST(pin_is_not_stolen_and_hides_nobody)
{
	for (int round = 0; round < 10; round++) {
		coro_scheduler *s = start_with(2, round % 2 ? CORO_NO_MEMBARRIER : 0);
		static coro_handle h;
		coro_handle *p = &h;
		coro_attr first = on(1);
		done = other = 0;
		go_on = 1;
		CHECK_EQ(coro_scheduler_spawn(s, &first, parks_free, &p, 8, NULL), CORO_OK);
		until_waiting(s, 1);
		CHECK_EQ(coro_scheduler_spawn(s, &first, wakes_and_computes, &p, 8, NULL), CORO_OK);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(done, 150);
		CHECK_EQ(other, 11);
		finish(s);
	}
}

/* The same for what comes from outside while pinned ones are queued there. */
TEST(pin_hides_no_remote_wake)
{
	for (int round = 0; round < 10; round++) {
		coro_scheduler *s = start_with(2, 0);
		coro_attr first = on(1);
		/* more than go to the other worker before this one gets a turn */
		uint64_t want = 200;
		done = other = go_on = computing = 0;
		CHECK_EQ(coro_scheduler_spawn(s, &first, computes, &want, 8, NULL), CORO_OK);
		while (!__atomic_load_n(&computing, __ATOMIC_SEQ_CST))
			sleep_us(50);
		for (int i = 0; i < 20; i++)
			CHECK_EQ(coro_scheduler_spawn(s, &first, nothing, NULL, 0, NULL), CORO_OK);
		for (uint64_t i = 0; i < want; i++)
			spawn(s, goes_free, NULL, 0);
		while (seen(&other) < want)
			sleep_us(50);
		__atomic_store_n(&go_on, 1, __ATOMIC_SEQ_CST);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(done, 20);
		finish(s);
	}
}

/* --------------------------------------------------------------------------------------- moving */

static uint64_t given, got, moves;
static coro_handle movers[16];

static void moves_about(void *arg, void *result)
{
	uint64_t i;
	int status = CORO_OK;
	(void)result;

	memcpy(&i, arg, 8);
	uint64_t seed = i + 1, moved = 0;
	__atomic_store_n(&movers[i], coro_self(), __ATOMIC_RELEASE);
	while (status != CORO_ECANCELED) {
		uint32_t to = (uint32_t)(rnd(&seed) % workers);
		CHECK_EQ(coro_pin(to), CORO_OK);
		CHECK_EQ(coro_worker(), to);
		moved++;
		switch (rnd(&seed) % 4) {
		case 0:
			status = coro_park_until(coro_now() + rnd(&seed) % (MS / 4));
			break;
		case 1:
			status = coro_park();
			break;
		case 2:
			status = coro_park_until(0);
			break;
		default:
			CHECK_EQ(coro_yield(), CORO_OK);
			continue;
		}
		CHECK_EQ(coro_worker(), to);
		if (status == CORO_OK)
			add_one(&got);
		if (rnd(&seed) % 8 == 0)
			CHECK_EQ(coro_unpin(), CORO_OK);
	}
	while (coro_park() == CORO_OK) /* permits that were given before may be on their way */
		add_one(&got);
	/* canceled, and it moves all the same */
	CHECK_EQ(coro_pin((uint32_t)i % workers), CORO_OK);
	CHECK_EQ(coro_worker(), i % workers);
	__atomic_add_fetch(&moves, moved, __ATOMIC_SEQ_CST);
	add_one(&done);
}

static void wakes_movers(uint64_t seed, uint64_t n)
{
	for (uint64_t k = 0; k < n; k++) {
		coro_handle h = __atomic_load_n(&movers[rnd(&seed) % 16], __ATOMIC_ACQUIRE);
		if (h) {
			CHECK_EQ(coro_wake(h), CORO_OK);
			add_one(&given);
		}
		if (k % 8 == 0 && coro_yield())
			sleep_us(1);
	}
}

static void wakes(void *arg, void *result)
{
	uint64_t n;
	(void)result;

	memcpy(&n, arg, 8);
	wakes_movers(n, n);
	add_one(&other);
}

static void *wakes_as_thread(void *arg)
{
	wakes(arg, NULL);
	return NULL;
}

/* A wake-up reaches the coroutine on any worker, and so does a cancel, of one or of all. */
TEST_LIMIT(stress_pin_moves, 120)
{
	for (workers = 1; workers <= 4; workers++) {
		for (int close = 0; close < 2; close++) {
			coro_options o = options(workers - workers / 2 * close,
						 workers % 2 ? CORO_NO_MEMBARRIER : 0);
			o.dedicated = workers / 2 * close; /* with workers of all kinds */
			coro_scheduler *s = start(&o);
			uint64_t n = scaled(10000);
			pthread_t t;
			memset(movers, 0, sizeof movers);
			done = other = given = got = moves = 0;
			for (uint64_t i = 0; i < 16; i++)
				spawn(s, moves_about, &i, 8);
			for (int i = 0; i < 3; i++)
				spawn(s, wakes, &n, 8);
			thread_start(&t, wakes_as_thread, &n);
			thread_join(t);
			while (seen(&other) < 4)
				sleep_us(100);
			for (int i = 0; i < 16; i++)
				while (!__atomic_load_n(&movers[i], __ATOMIC_ACQUIRE))
					sleep_us(100);
			for (int i = 0; i < 16 && !close; i++)
				CHECK_EQ(coro_cancel(movers[i]), CORO_OK);
			if (close)
				CHECK_EQ(coro_scheduler_close(s, 1), CORO_OK);
			else
				CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
			CHECK_EQ(done, 16);
			CHECK_EQ(got, given);
			report("%u workers: %llu moves, %llu permits", workers,
			       (unsigned long long)moves, (unsigned long long)given);
			if (close)
				CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
			else
				finish(s);
		}
	}
}

/* In a paused scheduler, a moving coroutine is not the end. */
TEST(pin_moves_in_paused_mode)
{
	for (workers = 1; workers <= 4; workers++) {
		coro_scheduler *s = start_with(workers, CORO_PAUSED);
		done = 0;
		for (int round = 0; round < 50; round++) {
			coro_attr a = on((uint32_t)round % workers + 1);
			CHECK_EQ(coro_scheduler_spawn(s, &a, sends_to_all, NULL, 0, NULL), CORO_OK);
			CHECK_EQ(coro_scheduler_run(s), CORO_OK);
		}
		CHECK_EQ(done, 50 * (2 * workers + 3));
		finish(s);
	}
}
