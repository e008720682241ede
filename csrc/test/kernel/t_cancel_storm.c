/*
 * t_cancel_storm.c - cancels and permits at once, from every side: counted.
 */
#include "test.h"

#include "kernel/wait.h"

#include <string.h>

static uint64_t done;

/* -------------------------------------------------------------------------------------- a storm */

#define TARGETS  64
#define STORMERS 3

struct target {
	coro_handle handle;
	uint64_t permits; /* given with CORO_OK to all coroutines of this target */
	uint64_t taken;
};

static struct target targets[TARGETS];
static uint64_t round_ends, cancels_ok, wakes_ok, seen_canceled, unstarted, ended_by_permits,
	cancel_stale, storm_over;

/* weathers - take permits until there are enough, or a cancel comes and no permit is left. Permits
 * that are given and not taken are still in the record at the end, so every grant is accounted
 * for. */
static void weathers(void *arg, void *result)
{
	uint32_t in[2];
	memcpy(in, arg, sizeof in);
	uint64_t taken = 0;

	while (taken < in[1]) {
		int status = coro_park();
		if (status == CORO_ECANCELED) {
			CHECK_EQ(coro_canceled(), 1);
			break;
		}
		CHECK_EQ(status, CORO_OK);
		taken++;
		if (taken % 3 == 0)
			CHECK_EQ(coro_yield(), CORO_OK);
	}
	*(uint64_t *)result = taken;
}

/* hosts - run one coroutine after the other as one target; join each, and count how it ended. */
static void hosts(void *arg, void *result)
{
	uint32_t at = *(uint32_t *)arg;
	struct target *p = &targets[at];
	uint64_t rounds = scaled(300);

	(void)result;
	for (uint64_t i = 0; i < rounds; i++) {
		uint32_t in[2] = {at, (uint32_t)(i % 7)};
		coro_handle h;
		uint64_t taken = 0;
		CHECK_EQ(coro_spawn_attr(JOINABLE(sizeof taken), weathers, in, sizeof in, &h),
			 CORO_OK);
		__atomic_store_n(&p->handle, h, __ATOMIC_RELEASE);
		if (i % 5 == 0)
			CHECK_EQ(coro_yield(), CORO_OK);
		int status = coro_join(h, &taken, sizeof taken);
		CHECK(status == CORO_OK || status == CORO_ECANCELED);
		if (status == CORO_ECANCELED)
			__atomic_add_fetch(&unstarted, 1, __ATOMIC_RELAXED);
		else if (taken < in[1])
			__atomic_add_fetch(&seen_canceled, 1, __ATOMIC_RELAXED);
		else
			__atomic_add_fetch(&ended_by_permits, 1, __ATOMIC_RELAXED);
		p->taken += taken;
		__atomic_add_fetch(&round_ends, 1, __ATOMIC_SEQ_CST);
	}
	add_one(&done);
}

static void storm(uint64_t seed, uint64_t *granted)
{
	while (!__atomic_load_n(&storm_over, __ATOMIC_ACQUIRE)) {
		uint64_t r = rnd(&seed);
		struct target *p = &targets[r % TARGETS];
		coro_handle h = __atomic_load_n(&p->handle, __ATOMIC_ACQUIRE);
		bool cancel = (r >> 32) % 8 == 0;
		int status = cancel ? coro_cancel(h) : coro_wake(h);
		CHECK(status == CORO_OK || status == CORO_ESTALE);
		if (status == CORO_OK)
			__atomic_add_fetch(cancel ? &cancels_ok : &wakes_ok, 1, __ATOMIC_RELAXED);
		else if (cancel)
			__atomic_add_fetch(&cancel_stale, 1, __ATOMIC_RELAXED);
		if (!cancel && status == CORO_OK)
			granted[p - targets]++;
		if (coro_self())
			CHECK_EQ(coro_yield(), CORO_OK);
	}
}

static uint64_t granted_by[STORMERS + 2][TARGETS];

static void *storms(void *arg)
{
	storm((uintptr_t)arg + 1, granted_by[(uintptr_t)arg]);
	return NULL;
}

static void storms_inside(void *arg, void *result)
{
	uint64_t me = *(uint64_t *)arg;
	(void)result;
	storm(me + 100, granted_by[STORMERS + me]);
}

static void weather(uint32_t workers, uint32_t flags)
{
	coro_scheduler *s = start_with(workers, flags);
	pthread_t t[STORMERS];
	uint64_t want = TARGETS * scaled(300);

	memset(targets, 0, sizeof targets);
	memset(granted_by, 0, sizeof granted_by);
	done = round_ends = cancels_ok = wakes_ok = seen_canceled = unstarted = ended_by_permits =
		cancel_stale = storm_over = 0;
	for (uint32_t i = 0; i < TARGETS; i++)
		spawn(s, hosts, &i, sizeof i);
	for (uintptr_t i = 0; i < STORMERS; i++)
		thread_start(&t[i], storms, (void *)i);
	for (uint64_t i = 0; i < 2; i++)
		spawn(s, storms_inside, &i, sizeof i);
	while (__atomic_load_n(&done, __ATOMIC_SEQ_CST) < TARGETS)
		sleep_us(200);
	__atomic_store_n(&storm_over, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < STORMERS; i++)
		thread_join(t[i]);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	/* Each has ended once, in one of three ways. None took more than was granted; none was
	 * canceled without a cancel. */
	CHECK_EQ(round_ends, want);
	CHECK_EQ(seen_canceled + unstarted + ended_by_permits, want);
	CHECK(seen_canceled + unstarted <= cancels_ok);
	for (int i = 0; i < TARGETS; i++) {
		uint64_t granted = 0;
		for (int k = 0; k < STORMERS + 2; k++)
			granted += granted_by[k][i];
		CHECK(targets[i].taken <= granted);
	}
	report("%u workers: %llu ended by permits, %llu canceled, %llu unstarted; "
	       "%llu cancels too late",
	       workers, (unsigned long long)ended_by_permits, (unsigned long long)seen_canceled,
	       (unsigned long long)unstarted, (unsigned long long)cancel_stale);
	finish(s);
}

TEST_LIMIT(cancel_in_a_storm, 60)
{
	weather(1, 0);
	weather(2, 0);
	weather(2, CORO_NO_STANDBY);
	weather(4, CORO_NO_MEMBARRIER);
}

/* --------------------------------------------------------------------------- permits come first */

/* Exact: each of many parked coroutines gets n permits and then a cancel, from different threads.
 * All permits given before the cancel are taken before the wait fails. */
#define EXACT 200
static coro_handle exact[EXACT];
static uint64_t exact_taken[EXACT];

static void takes_all(void *arg, void *result)
{
	uint32_t me = *(uint32_t *)arg;
	int status;

	(void)result;
	__atomic_store_n(&exact[me], coro_self(), __ATOMIC_RELEASE);
	while ((status = coro_park()) == CORO_OK)
		exact_taken[me]++;
	CHECK_EQ(status, CORO_ECANCELED);
	add_one(&done);
}

static void *gives_then_cancels(void *arg)
{
	for (uint32_t i = (uint32_t)(uintptr_t)arg; i < EXACT; i += 2) {
		coro_handle h;
		while (!(h = __atomic_load_n(&exact[i], __ATOMIC_ACQUIRE)))
			sleep_us(20);
		for (uint32_t k = 0; k < i % 11; k++)
			CHECK_EQ(coro_wake(h), CORO_OK);
		CHECK_EQ(coro_cancel(h), CORO_OK);
	}
	return NULL;
}

TEST(cancel_loses_no_permit)
{
	for (uint32_t workers = 1; workers <= 3; workers++) {
		coro_scheduler *s = start_with(workers, 0);
		pthread_t t[2];
		done = 0;
		memset(exact, 0, sizeof exact);
		memset(exact_taken, 0, sizeof exact_taken);
		for (uint32_t i = 0; i < EXACT; i++)
			spawn(s, takes_all, &i, sizeof i);
		for (uintptr_t i = 0; i < 2; i++)
			thread_start(&t[i], gives_then_cancels, (void *)i);
		for (int i = 0; i < 2; i++)
			thread_join(t[i]);
		finish(s);
		CHECK_EQ(done, EXACT);
		for (uint32_t i = 0; i < EXACT; i++)
			CHECK_EQ(exact_taken[i], i % 11);
	}
}

/* A coroutine that is canceled while a permit is on its way gets the permit first, whether it waits
 * for the permit or is about to. */
static uint64_t began;

static void parks_twice(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_park(), CORO_OK);
	CHECK_EQ(coro_park(), CORO_ECANCELED);
	add_one(&done);
}

static void holds_its_worker(void *arg, void *result)
{
	add_one(&began);
	while (!at_load_rlx(&coroi_self()->cancel))
		at_relax();
	parks_twice(arg, result);
}

TEST(waits_whose_permit_is_on_its_way)
{
	coro_scheduler *s = start_with(1, 0);
	coro_handle h[2];

	done = 0;
	CHECK_EQ(coro_scheduler_spawn(s, NULL, parks_twice, NULL, 0, &h[0]), CORO_OK);
	until_waiting(s, 1);
	CHECK_EQ(coro_scheduler_spawn(s, NULL, holds_its_worker, NULL, 0, &h[1]), CORO_OK);
	while (!seen(&began))
		sleep_us(100);
	CHECK_EQ(coro_wake(h[0]), CORO_OK);
	CHECK_EQ(coro_wake(h[1]), CORO_OK);
	CHECK_EQ(coro_scheduler_close(s, 1), CORO_OK);
	CHECK_EQ(seen(&done), 2);
	CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
}

/* --------------------------------------------------------- flags, while a cancel looks at them */

static void nothing_left(void *arg)
{
	(void)arg;
}

static void sets_flags(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_defer(nothing_left, NULL), CORO_OK);
	while (!coro_canceled())
		for (int i = 0; i < 1000; i++) {
			CHECK_EQ(coro_pin(CORO_HERE), CORO_OK);
			CHECK_EQ(coro_unpin(), CORO_OK);
		}
	coro_fail(1, "told of its cancel"); /* sets flags, and clears one */
}

TEST(cancel_while_flags_are_set)
{
	enum { N = 8 };
	coro_scheduler *s = start_with(3, 0);

	for (uint64_t i = 0; i < scaled(100); i++) {
		coro_handle h[N];

		for (int k = 0; k < N; k++)
			CHECK_EQ(coro_scheduler_spawn(s, NULL, sets_flags, NULL, 0, &h[k]),
				 CORO_OK);
		for (int k = 0; k < N; k++) {
			struct timespec pause = {0, 20000};
			nanosleep(&pause, NULL);
			CHECK_EQ(coro_cancel(h[k]), CORO_OK);
		}
	}
	CHECK_EQ(coro_scheduler_close(s, 0), CORO_OK);
	CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
}
