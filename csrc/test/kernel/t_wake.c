/*
 * t_wake.c - permits: counted, from every side, never lost, never given to another coroutine.
 */
#include "test.h"

#include "kernel/wait.h"

#include <string.h>

static uint64_t done;

static void finished(void)
{
	__atomic_add_fetch(&done, 1, __ATOMIC_SEQ_CST);
}

/* -------------------------------------------------------------------------------------- at home */

static void counts_own(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (int n = 0; n < 200; n++) {
		for (int i = 0; i < n; i++)
			CHECK_EQ(coro_wake(coro_self()), CORO_OK);
		for (int i = 0; i < n; i++)
			CHECK_EQ(coro_park(), CORO_OK);
		CHECK_EQ(coroi_self()->current->permits, 0);
	}
	finished();
}

TEST(wake_counts_permits)
{
	coro_scheduler *s = start_with(1, 0);
	spawn(s, counts_own, NULL, 0);
	finish(s);
	CHECK_EQ(done, 1);
}

struct pair {
	coro_handle handle[2];
	uint64_t rounds;
	uint64_t turn; /* the one that may go on; both check it */
};

static struct pair pairs[64];

static void ping(void *arg, void *result)
{
	uint32_t who = *(uint32_t *)arg, me = who & 1;
	struct pair *p = &pairs[who >> 1];

	(void)result;
	__atomic_store_n(&p->handle[me], coro_self(), __ATOMIC_RELEASE);
	while (!__atomic_load_n(&p->handle[!me], __ATOMIC_ACQUIRE))
		CHECK_EQ(coro_yield(), CORO_OK);
	for (uint64_t i = 0; i < p->rounds; i++) {
		if (me || i)
			CHECK_EQ(coro_park(), CORO_OK);
		CHECK_EQ(__atomic_load_n(&p->turn, __ATOMIC_RELAXED) & 1, me);
		__atomic_store_n(&p->turn, p->turn + 1, __ATOMIC_RELAXED);
		CHECK_EQ(coro_wake(p->handle[!me]), CORO_OK);
	}
	if (!me)
		CHECK_EQ(coro_park(), CORO_OK);
	finished();
}

static void ping_pong(uint32_t workers, uint32_t flags, uint32_t count, uint64_t rounds)
{
	coro_scheduler *s = start_with(workers, flags);

	done = 0;
	memset(pairs, 0, sizeof pairs);
	for (uint32_t i = 0; i < count; i++)
		pairs[i].rounds = rounds;
	for (uint32_t who = 0; who < 2 * count; who++)
		spawn(s, ping, &who, sizeof who);
	finish(s);
	CHECK_EQ(done, 2 * count);
	for (uint32_t i = 0; i < count; i++)
		CHECK_EQ(pairs[i].turn, 2 * rounds);
}

TEST(wake_on_one_worker)
{
	ping_pong(1, 0, 1, scaled(200000));
	ping_pong(1, 0, 64, scaled(5000));
}

TEST_LIMIT(wake_across_workers, 180)
{
	for (uint32_t workers = 2; workers <= 4; workers++) {
		ping_pong(workers, 0, 64, scaled(2000));
		ping_pong(workers, CORO_NO_STANDBY, 64, scaled(1000));
		ping_pong(workers, CORO_NO_MEMBARRIER, 64, scaled(1000));
	}
}

/* --------------------------------------------------------------------------- from other threads */

#define TARGETS 50
#define WAKERS  3

static coro_handle target[TARGETS];
static uint64_t registered;
static uint64_t permits_each;

static void takes_permits(void *arg, void *result)
{
	uint32_t me = *(uint32_t *)arg;
	uint64_t want = permits_each * WAKERS;

	(void)result;
	__atomic_store_n(&target[me], coro_self(), __ATOMIC_RELEASE);
	__atomic_add_fetch(&registered, 1, __ATOMIC_RELEASE);
	for (uint64_t i = 0; i < want; i++) {
		CHECK_EQ(coro_park(), CORO_OK);
		if (i % 7 == 0)
			CHECK_EQ(coro_yield(), CORO_OK); /* so that thieves get it now and then */
	}
	finished();
}

static void *waker(void *arg)
{
	uint64_t seed = (uintptr_t)arg;
	uint64_t left[TARGETS], sum = permits_each * TARGETS;

	for (int i = 0; i < TARGETS; i++)
		left[i] = permits_each;
	while (sum) {
		uint64_t i = rnd(&seed) % TARGETS;
		if (!left[i])
			continue;
		CHECK_EQ(coro_wake(target[i]), CORO_OK);
		left[i]--;
		sum--;
		if (rnd(&seed) % 512 == 0)
			sleep_us(30); /* let workers fall asleep */
	}
	return NULL;
}

static void foreign(uint32_t workers, uint32_t flags)
{
	coro_scheduler *s = start_with(workers, flags);
	pthread_t t[WAKERS];

	done = registered = 0;
	permits_each = scaled(600);
	for (uint32_t i = 0; i < TARGETS; i++)
		spawn(s, takes_permits, &i, sizeof i);
	while (__atomic_load_n(&registered, __ATOMIC_ACQUIRE) < TARGETS)
		sleep_us(50);
	for (uintptr_t i = 0; i < WAKERS; i++)
		thread_start(&t[i], waker, (void *)(i + 1));
	for (int i = 0; i < WAKERS; i++)
		thread_join(t[i]);
	finish(s);
	CHECK_EQ(done, TARGETS);
}

TEST_LIMIT(wake_from_other_threads, 180)
{
	for (uint32_t workers = 1; workers <= 4; workers++) {
		foreign(workers, 0);
		foreign(workers, CORO_NO_STANDBY | (workers & 1 ? CORO_NO_MEMBARRIER : 0));
	}
}

/* Coroutines of one scheduler wake those of another. */
static void wakes_all(void *arg, void *result)
{
	(void)result;
	waker((void *)(uintptr_t)(*(uint64_t *)arg + 1));
}

TEST(wake_across_schedulers)
{
	coro_scheduler *a = start_with(2, 0), *b = start_with(2, 0);

	done = registered = 0;
	permits_each = 100;
	for (uint32_t i = 0; i < TARGETS; i++)
		spawn(a, takes_permits, &i, sizeof i);
	while (__atomic_load_n(&registered, __ATOMIC_ACQUIRE) < TARGETS)
		sleep_us(50);
	for (uint64_t i = 0; i < WAKERS; i++)
		spawn(b, wakes_all, &i, sizeof i);
	finish(b);
	finish(a);
	CHECK_EQ(done, TARGETS);
}

static void switches_to_first(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (int i = 0; i < WAKERS; i++) /* the target is elsewhere: it is woken, and we yield */
		CHECK_EQ(coro_switch_to(target[0]), CORO_OK);
	finished();
}

TEST(wake_across_schedulers_by_switching)
{
	coro_scheduler *a = start_with(1, 0), *b = start_with(1, 0);
	uint32_t first = 0;

	done = registered = 0;
	permits_each = 1;
	spawn(a, takes_permits, &first, sizeof first);
	while (__atomic_load_n(&registered, __ATOMIC_ACQUIRE) < 1)
		sleep_us(50);
	spawn(b, switches_to_first, NULL, 0);
	finish(b);
	finish(a);
	CHECK_EQ(done, 2);
	coro_handle gone = target[0];
	CHECK_EQ(coro_wake(gone), CORO_ESTALE);
}

/* ------------------------------------------------------------------------------------ the limit */

static uint32_t phase;

static void at_the_limit(void *arg, void *result)
{
	coro_handle me = coro_self();
	struct coroi_rec *r = coroi_self()->current;

	(void)arg;
	(void)result;
	r->permits = COROI_PERMITS_MAX - 1;
	CHECK_EQ(coro_wake(me), CORO_OK);
	CHECK_EQ(coro_wake(me), CORO_EOVERFLOW);
	CHECK_EQ(r->permits, COROI_PERMITS_MAX);
	r->permits = 0;
	target[0] = me;
	__atomic_store_n(&phase, 1, __ATOMIC_RELEASE);
	/* not back in the run loop: the remote wake stays where it is */
	while (__atomic_load_n(&phase, __ATOMIC_ACQUIRE) == 1)
		;
	CHECK_EQ(coro_park(), CORO_OK);
	finished();
}

TEST(wake_says_when_there_are_too_many)
{
	coro_scheduler *s = start_with(1, 0);

	spawn(s, at_the_limit, NULL, 0);
	while (__atomic_load_n(&phase, __ATOMIC_ACQUIRE) != 1)
		sleep_us(50);
	struct coroi_rec *r = coroi_at((uint32_t)target[0]);
	CHECK_EQ(coro_wake(target[0]), CORO_OK);
	at_add(&r->wake, COROI_PERMITS_MAX - 1);
	uint64_t before = at_load_seq(&r->wake);
	CHECK_EQ(coro_wake(target[0]), CORO_EOVERFLOW);
	CHECK(at_load_seq(&r->wake) == before);
	at_add(&r->wake, -(uint64_t)(COROI_PERMITS_MAX - 1));
	__atomic_store_n(&phase, 2, __ATOMIC_RELEASE);
	finish(s);
	CHECK_EQ(done, 1);
}

static void many_from_both(void *arg, void *result)
{
	coro_handle me = coro_self();
	struct coroi_rec *r = coroi_self()->current;

	(void)arg;
	(void)result;
	r->permits = COROI_PERMITS_MAX - 3;
	target[0] = me;
	__atomic_store_n(&phase, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&phase, __ATOMIC_ACQUIRE) == 1)
		;
	for (int i = 0; i < 100 && r->permits != COROI_PERMITS_MAX + 2; i++)
		coro_yield();                        /* the remote wake comes */
	CHECK_EQ(r->permits, COROI_PERMITS_MAX + 2); /* each permit that was accepted */
	CHECK_EQ(coro_wake(me), CORO_EOVERFLOW);
	CHECK_EQ(coro_park(), CORO_OK);
	CHECK_EQ(r->permits, COROI_PERMITS_MAX + 1);
	r->permits = 1;
	CHECK_EQ(coro_park(), CORO_OK);
	finished();
}

/* Permits at home and permits on their way are counted together, and none is dropped when they
 * meet. */
TEST(wake_loses_none_at_the_limit)
{
	coro_scheduler *s = start_with(1, 0);

	spawn(s, many_from_both, NULL, 0);
	while (__atomic_load_n(&phase, __ATOMIC_ACQUIRE) != 1)
		sleep_us(50);
	struct coroi_rec *r = coroi_at((uint32_t)target[0]);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(coro_wake(target[0]), CORO_OK);
	CHECK_EQ(coro_wake(target[0]), CORO_EOVERFLOW);
	at_add(&r->wake, 2); /* as two wakers that read the permits too early */
	__atomic_store_n(&phase, 2, __ATOMIC_RELEASE);
	finish(s);
	CHECK_EQ(done, 1);
}

/* ------------------------------------------------------------------------------- coro_switch_to */

static char order[16];
static coro_handle sleeper;

static void write_order(void *arg, void *result)
{
	(void)result;
	strncat(order, arg, 1);
}

static void sleeps(void *arg, void *result)
{
	(void)arg;
	(void)result;
	sleeper = coro_self();
	CHECK_EQ(coro_park(), CORO_OK);
	strcat(order, "s");
	CHECK_EQ(coro_park(), CORO_OK);
	strcat(order, "S");
}

static void switches(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_spawn_first(NULL, sleeps, NULL, 0, NULL), CORO_OK);
	spawn_in(write_order, "1", 1);
	spawn_in(write_order, "2", 1);
	/* the sleeper runs now; we come after 1 and 2 */
	CHECK_EQ(coro_switch_to(sleeper), CORO_OK);
	CHECK(strcmp(order, "s12") == 0);
	spawn_in(write_order, "3", 1);
	CHECK_EQ(coro_switch_to(coro_self()), CORO_OK); /* not parked: a permit, and a yield */
	CHECK(strcmp(order, "s123") == 0);
	CHECK_EQ(coro_park(), CORO_OK);
	CHECK_EQ(coro_switch_to(sleeper), CORO_OK);
	CHECK(strcmp(order, "s123S") == 0);
	spawn_in(write_order, "4", 1);
	CHECK_EQ(coro_switch_to(sleeper), CORO_ESTALE); /* there was no yield */
	CHECK_EQ(coro_switch_to(0), CORO_ESTALE);
	CHECK(strcmp(order, "s123S") == 0);
	finished();
}

TEST(wake_by_switching)
{
	coro_scheduler *s = start_with(1, 0);
	CHECK_EQ(coro_switch_to(1), CORO_EPERM);
	spawn(s, switches, NULL, 0);
	finish(s);
	CHECK_EQ(done, 1);
}

/* What a thread did before is there, as if the coroutine had done it itself. */
static void *wakes_before(void *arg)
{
	CHECK_EQ(coro_wake(*(coro_handle *)arg), CORO_OK);
	return NULL;
}

/* wake_from_a_thread - a thread wakes the caller, which is known as fn meanwhile, unless that is
 * NULL. */
static void wake_from_a_thread(coro_fn fn)
{
	coro_handle me = coro_self();
	pthread_t t;

	thread_start(&t, wakes_before, &me);
	if (fn)
		coroi_be_known_as(fn);
	pthread_join(t, NULL);
}

static void parks_after(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (int i = 0; i < 100; i++) {
		wake_from_a_thread(NULL);
		CHECK_EQ(coro_park_until(i % 2 ? 0 : coro_now()), CORO_OK);
		CHECK_EQ(coro_park_until(0), CORO_ETIMEDOUT);
	}
}

TEST(wake_that_has_returned_comes_before_a_deadline)
{
	for (int dense = 0; dense < 2; dense++) {
		coro_scheduler *s = start_with(1, 0);
		coro_attr at = {.size = sizeof at, .flags = dense ? CORO_DENSE : 0};

		CHECK_EQ(coro_scheduler_spawn(s, &at, parks_after, NULL, 0, NULL), CORO_OK);
		CHECK_EQ(coro_scheduler_close(s, 0), CORO_OK);
		CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
	}
}

/* A waker takes the function of its target for a hint, while that may get another one. */
static void known_anew(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (int i = 0; i < 100; i++) {
		wake_from_a_thread(i % 2 ? known_anew : never);
		CHECK_EQ(coro_park(), CORO_OK);
	}
}

TEST(wake_while_known_as_another)
{
	coro_scheduler *s = start_with(1, 0);

	spawn(s, known_anew, NULL, 0);
	finish(s);
}
