/*
 * t_errors.c - every call with bad input, at the wrong time, or without memory: the documented
 * status, and nothing has changed. Coroutines by hand: t_manual.c; joins: t_join.c; handles:
 * t_handle.c; objects: t_object.c; channels: t_chan_misuse.c.
 */
#include "test.h"

#include "kernel/worker.h"

#include <stdlib.h>
#include <string.h>

static uint64_t ran;

static void runs(void *arg, void *result)
{
	(void)arg;
	(void)result;
	__atomic_add_fetch(&ran, 1, __ATOMIC_SEQ_CST);
}

/* ----------------------------------------------------------------------------------------- init */

static void refused(coro_options o, int status)
{
	coro_scheduler *s = (coro_scheduler *)&s, *before = s;
	CHECK_EQ(coro_scheduler_init(&s, &o), status);
	CHECK(s == before);
}

TEST(errors_of_init)
{
	coro_options o, good = options(2, 0);

	CHECK_EQ(coro_scheduler_init(NULL, &good), CORO_EINVAL);
#define BAD(field, value)                \
	do {                             \
		o = good;                \
		o.field = (value);       \
		refused(o, CORO_EINVAL); \
	} while (0)
	BAD(size, sizeof o - 1);
	BAD(size, sizeof o + 8);
	BAD(flags, 16);
	BAD(flags, UINT32_MAX);
	BAD(workers, CORO_WORKERS_MAX + 1);
	BAD(workers, UINT32_MAX);
	BAD(steal_batch, 65);
	BAD(handover_budget, -2);
	BAD(stack_cache, 65537);
	BAD(stack_bytes, CORO_STACK_MIN - 1);
	BAD(stack_bytes, CORO_STACK_MAX + 1);
	BAD(stack_bytes, SIZE_MAX);
	BAD(blocking_threads, 65537);
	BAD(cpus, (const uint16_t *)&o); /* and cpu_count 0 */
	coro_scheduler *s = start(NULL); /* no options at all */
	CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
}

/* Any allocation, mapping or thread may fail: init reports it, and leaves nothing behind. The leak
 * checker looks. */
TEST(errors_of_init_without_means)
{
	coro_options o = options(3, 0);
	coro_scheduler *s;
	int n;

	for (n = 0;; n++) {
		fail_alloc = n;
		int status = coro_scheduler_init(&s, &o);
		if (status == CORO_OK)
			break;
		CHECK_EQ(status, CORO_ENOMEM);
	}
	fail_alloc = -1;
	CHECK(n > 10);
	CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
	for (int i = 0; i < 3; i++) {
		fail_thread = i;
		refused(o, CORO_EAGAIN);
	}
	fail_thread = -1;
	s = start(&o);
	spawn(s, runs, NULL, 0);
	finish(s);
	CHECK_EQ(ran, 1);
}

/* ------------------------------------------------------------------------------------- spawning */

typedef int (*spawner)(const coro_attr *attr, coro_fn fn, const void *arg, size_t bytes,
		       coro_handle *out);
static coro_scheduler *sched;

static int from_outside(const coro_attr *attr, coro_fn fn, const void *arg, size_t bytes,
			coro_handle *out)
{
	return coro_scheduler_spawn(sched, attr, fn, arg, bytes, out);
}

static int plain(const coro_attr *attr, coro_fn fn, const void *arg, size_t bytes, coro_handle *out)
{
	(void)attr;
	(void)out;
	return coro_spawn(fn, arg, bytes);
}

static void check_bad_attr(spawner sp, coro_attr attr, bool named)
{
	coro_handle h = 42;
	CHECK_EQ(sp(&attr, never, NULL, 0, named ? &h : NULL), CORO_EINVAL);
	CHECK_EQ(h, 42);
}

static void check_spawner(spawner sp)
{
	char arg[CORO_INLINE_BYTES + 1] = {0};
	coro_handle h = 42;

	CHECK_EQ(sp(NULL, NULL, NULL, 0, &h), CORO_EINVAL);
	CHECK_EQ(sp(NULL, never, arg, CORO_INLINE_BYTES + 1, &h), CORO_EINVAL);
	CHECK_EQ(sp(NULL, never, arg, SIZE_MAX, &h), CORO_EINVAL);
	CHECK_EQ(sp(NULL, never, NULL, 1, &h), CORO_EINVAL);
	CHECK_EQ(sp(NULL, never, NULL, 8, &h), CORO_EINVAL);
	CHECK_EQ(h, 42);
	if (sp == plain)
		return;
	coro_attr good = {.size = sizeof good}, a;
#define BAD_ATTR(field, value)               \
	do {                                 \
		a = good;                    \
		a.field = (value);           \
		check_bad_attr(sp, a, true); \
	} while (0)
	BAD_ATTR(size, sizeof a - 1);
	BAD_ATTR(size, sizeof a + 8);
	BAD_ATTR(flags, 8);
	BAD_ATTR(flags, UINT32_MAX);
	BAD_ATTR(stack_bytes, 1);
	BAD_ATTR(stack_bytes, CORO_STACK_MAX + 1);
	BAD_ATTR(result_bytes, 1); /* not joinable */
	BAD_ATTR(worker, 1000);
	good.flags = CORO_JOINABLE;
	BAD_ATTR(result_bytes, CORO_INLINE_BYTES + 1);
	check_bad_attr(sp, good, false); /* joinable, and nobody could name the coroutine */
}

static void check_inside(void *arg, void *result)
{
	(void)arg;
	(void)result;
	check_spawner(coro_spawn_attr);
	check_spawner(coro_spawn_first);
	check_spawner(plain);
	check_spawner(from_outside);

	/* Workers may not call what blocks a thread. */
	coro_scheduler *s = NULL;
	coro_options o = options(1, 0);
	CHECK_EQ(coro_scheduler_init(&s, &o), CORO_EPERM);
	CHECK_EQ(coro_scheduler_run(sched), CORO_EPERM);
	CHECK_EQ(coro_scheduler_wait(sched), CORO_EPERM);
	CHECK_EQ(coro_scheduler_close(sched, 0), CORO_EPERM);
	CHECK_EQ(coro_scheduler_close(sched, 1), CORO_EPERM);
	CHECK_EQ(coro_scheduler_destroy(sched), CORO_EPERM);
	CHECK_EQ(coro_scheduler_blocked(sched, NULL, 0), 0);
	CHECK_EQ(coro_scheduler_trim(sched), 0);
	coro_stats t;
	CHECK_EQ(coro_scheduler_stats(sched, &t, NULL, 0), CORO_OK); /* any thread */
	CHECK_EQ(t.live, 1);
	CHECK(s == NULL);
	runs(NULL, NULL);
}

TEST(errors_of_spawn)
{
	coro_handle h = 42;

	sched = start_with(1, 0);
	check_spawner(from_outside);
	CHECK_EQ(coro_scheduler_spawn(NULL, NULL, never, NULL, 0, NULL), CORO_EINVAL);
	CHECK_EQ(coro_spawn(never, NULL, 0), CORO_EPERM);
	CHECK_EQ(coro_spawn_attr(NULL, never, NULL, 0, &h), CORO_EPERM);
	CHECK_EQ(coro_spawn_first(NULL, never, NULL, 0, &h), CORO_EPERM);
	CHECK_EQ(coro_yield(), CORO_EPERM);
	CHECK_EQ(coro_park(), CORO_EPERM);
	CHECK_EQ(coro_self(), 0);
	CHECK_EQ(h, 42);
	CHECK_EQ(stats(sched).live, 0);
	spawn(sched, check_inside, NULL, 0);
	CHECK_EQ(coro_scheduler_wait(sched), CORO_OK);
	CHECK_EQ(ran, 1);
	CHECK_EQ(coro_scheduler_close(sched, 0), CORO_OK);
	CHECK_EQ(coro_scheduler_spawn(sched, NULL, never, NULL, 0, &h), CORO_ECLOSED);
	CHECK_EQ(h, 42);
	CHECK_EQ(coro_scheduler_destroy(sched), CORO_OK);
}

/* coro_spawn's fast path, which is taken after a spawn that woke a worker, checks its arguments
 * too. */
static void spawns_wrongly(void *arg, void *result)
{
	uint64_t word = 1;
	(void)arg;
	(void)result;

	for (int i = 0; i < 3; i++) {
		CHECK_EQ(coro_spawn(runs, &word, 8), CORO_OK);
		CHECK_EQ(coro_spawn(NULL, NULL, 0), CORO_EINVAL);
		CHECK_EQ(coro_spawn(NULL, &word, 8), CORO_EINVAL);
		CHECK_EQ(coro_spawn(never, NULL, 8), CORO_EINVAL);
		CHECK_EQ(coro_spawn(never, NULL, 3), CORO_EINVAL);
	}
}

/* "Here" is not another scheduler's worker, as it is not a thread. */
static void spawns_elsewhere(void *arg, void *result)
{
	coro_scheduler *other = *(coro_scheduler **)arg;
	coro_attr here = on(CORO_HERE), anywhere = on(CORO_ANYWHERE);
	(void)result;

	CHECK_EQ(coro_scheduler_spawn(other, &here, never, NULL, 0, NULL), CORO_EINVAL);
	CHECK_EQ(coro_scheduler_spawn(other, &anywhere, runs, NULL, 0, NULL), CORO_OK);
	runs(NULL, NULL);
}

TEST(errors_of_spawn_here_and_elsewhere)
{
	coro_scheduler *s = start_with(1, 0), *other = start_with(1, 0);
	coro_attr here = on(CORO_HERE), anywhere = on(CORO_ANYWHERE);

	ran = 0;
	spawn(s, spawns_wrongly, NULL, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(ran, 3);
	CHECK_EQ(coro_scheduler_spawn(s, &here, never, NULL, 0, NULL), CORO_EINVAL);
	CHECK_EQ(coro_scheduler_spawn(s, &anywhere, runs, NULL, 0, NULL), CORO_OK);
	spawn(s, spawns_elsewhere, &other, sizeof other);
	finish(s);
	finish(other);
	CHECK_EQ(ran, 6);
}

/* --------------------------------------------------------------------------- the cap on records */

static void spawns_until_full(void *arg, void *result)
{
	uint64_t n = 0, first = 0;
	coro_handle h = 42;

	(void)arg;
	(void)result;
	for (int round = 0; round < 3; round++) {
		uint64_t before = __atomic_load_n(&ran, __ATOMIC_SEQ_CST);
		for (n = 0; coro_spawn(runs, NULL, 0) == CORO_OK; n++)
			;
		CHECK_EQ(coro_spawn(runs, NULL, 0), CORO_ENOMEM);
		CHECK_EQ(coro_spawn_attr(NULL, never, NULL, 0, &h), CORO_ENOMEM);
		CHECK_EQ(coro_spawn_first(NULL, never, NULL, 0, &h), CORO_ENOMEM);
		CHECK_EQ(h, 42);
		if (round == 0)
			first = n;
		CHECK_EQ(n, first); /* every record that has ended is used again */
		while (__atomic_load_n(&ran, __ATOMIC_SEQ_CST) < before + n)
			CHECK_EQ(coro_yield(), CORO_OK);
		CHECK_EQ(coro_yield(), CORO_OK);
	}
	CHECK(first > 16000 && first < 16384);
}

TEST(errors_of_spawn_at_the_cap)
{
	coro_options o = options(1, 0);
	o.record_limit = 1; /* at least one chunk */
	coro_scheduler *s = start(&o);

	spawn(s, spawns_until_full, NULL, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	finish(s);
	o.flags = CORO_PAUSED;
	s = start(&o);
	uint64_t n = 0;
	while (coro_scheduler_spawn(s, NULL, runs, NULL, 0, NULL) == CORO_OK)
		n++;
	CHECK_EQ(coro_scheduler_spawn(s, NULL, never, NULL, 0, NULL), CORO_ENOMEM);
	CHECK(n > 16000);
	ran = 0;
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK_EQ(ran, n);
	finish(s);
}

/* ------------------------------------------------------------------------------------- the rest */

static void *runs_it(void *s)
{
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	return NULL;
}

static void holds(void *arg, void *result)
{
	__atomic_store_n(&ran, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&ran, __ATOMIC_SEQ_CST) == 1)
		coro_yield();
	(void)arg;
	(void)result;
}

TEST(errors_of_modes)
{
	coro_stats t;
	pthread_t runner;

	CHECK_EQ(coro_scheduler_run(NULL), CORO_EINVAL);
	CHECK_EQ(coro_scheduler_wait(NULL), CORO_EINVAL);
	CHECK_EQ(coro_scheduler_close(NULL, 0), CORO_EINVAL);
	CHECK_EQ(coro_scheduler_blocked(NULL, NULL, 0), 0);
	CHECK_EQ(coro_scheduler_trim(NULL), 0);
	CHECK_EQ(coro_scheduler_stats(NULL, &t, NULL, 0), CORO_EINVAL);

	coro_scheduler *s = start_with(1, 0);
	CHECK_EQ(coro_scheduler_stats(s, NULL, NULL, 0), CORO_EINVAL);
	CHECK_EQ(coro_scheduler_run(s), CORO_EPERM); /* service mode */
	CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);

	s = start_with(1, CORO_PAUSED);
	CHECK_EQ(coro_scheduler_wait(s), CORO_EPERM); /* run mode */
	spawn(s, holds, NULL, 0);
	thread_start(&runner, runs_it, s);
	while (!__atomic_load_n(&ran, __ATOMIC_SEQ_CST))
		sleep_us(50);
	CHECK_EQ(coro_scheduler_run(s), CORO_EBUSY);
	__atomic_store_n(&ran, 2, __ATOMIC_SEQ_CST);
	thread_join(runner);
	CHECK_EQ(coro_scheduler_close(s, 0), CORO_OK);
	CHECK_EQ(coro_scheduler_run(s), CORO_ECLOSED);
	CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
}

TEST(errors_have_a_text)
{
	for (int status = -20; status <= 20; status++) {
		const char *text = coro_strerror(status);
		CHECK(text && *text);
		bool known = status >= CORO_ENOTRECOVERABLE && status <= CORO_FAILED;
		CHECK_EQ(strcmp(text, "unknown status") != 0, known);
		for (int other = CORO_ENOTRECOVERABLE; known && other < status; other++)
			CHECK(strcmp(text, coro_strerror(other)) != 0);
	}
}

static void wants_memory(void *arg, void *result)
{
	(void)arg;
	(void)result;
	fail_alloc = 0;
	CHECK_EQ(coro_defer(free, NULL), CORO_ENOMEM);
	CHECK(coro_malloc(10) != NULL);
	fail_alloc = 0;
	CHECK(coro_malloc(5000) == NULL);
	fail_map = 0;
	CHECK_EQ(coro_call_on_stack(4 << 20, free, NULL), CORO_ENOMEM);
	fail_guard = 0;
	CHECK_EQ(coro_call_on_stack(4 << 20, free, NULL), CORO_ENOMEM);
	CHECK_EQ(coro_call_on_stack(4 << 20, free, NULL), CORO_OK);
	runs(NULL, NULL);
}

TEST(errors_without_memory_inside)
{
	coro_scheduler *s = start_with(1, 0);
	spawn(s, wants_memory, NULL, 0);
	finish(s);
	CHECK_EQ(ran, 1);
}

static void waits_without_memory(void *arg, void *result)
{
	(void)arg;
	(void)result;
	fail_alloc = 0;
	CHECK_EQ(coro_defer(free, NULL), CORO_ENOMEM);
	CHECK_EQ(coro_sleep(200000), CORO_OK);
	fail_alloc = 0;
	CHECK(coro_malloc(10) == NULL);
	CHECK_EQ(coro_park_until(coro_now() + 200000), CORO_ETIMEDOUT);
	CHECK_EQ(coro_defer(free, NULL), CORO_OK);
	CHECK_EQ(coro_sleep(200000), CORO_OK);
	runs(NULL, NULL);
}

/* A deadline lies in the record until the coroutine has a first block: a refused one is none. */
TEST(errors_without_memory_then_a_deadline)
{
	coro_scheduler *s = start_with(1, 0);
	ran = 0;
	spawn(s, waits_without_memory, NULL, 0);
	finish(s);
	CHECK_EQ(ran, 1);
}
