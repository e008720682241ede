/*
 * t_dense.c - dense coroutines: frames are unchanged when their owner goes on, whatever it waited
 * for, and whatever ran on its stack meanwhile. Large frames: t_dense_private.c; no memory:
 * t_dense_nomemory.c.
 */
#include "dense_bodies.h"

#include "kernel/dense.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --------------------------------------------------------------------------------------- yields */

static void many_yield(uint32_t workers, uint32_t shared_stacks, uint64_t n)
{
	coro_scheduler *s = dense_start(workers, shared_stacks, 0);

	dense_done = 0;
	for (uint64_t i = 0; i < n; i++)
		dense_spawn(s, dense_yields, i);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(seen(&dense_done), n);
	coro_stats st = stats(s);
	CHECK_EQ(st.dense_copied_in, st.dense_copied_out);
	finish(s);
}

TEST(dense_frames_last)
{
	for (uint32_t workers = 1; workers <= 4; workers++)
		for (uint32_t shared_stacks = 2; shared_stacks <= 32; shared_stacks *= 4)
			many_yield(workers, shared_stacks, scaled(2000));
}

/* A few coroutines never share a stack: nothing is copied. */
static void yields_alone(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (unsigned i = 0; i < 1000; i++)
		CHECK_EQ(coro_yield(), CORO_OK);
	add_one(&dense_done);
}

TEST(dense_a_few_are_not_copied)
{
	coro_scheduler *s = dense_start(1, 0, 0);

	dense_done = 0;
	for (unsigned i = 0; i < COROI_SHARED_STACKS; i++)
		dense_spawn(s, yields_alone, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(seen(&dense_done), COROI_SHARED_STACKS);
	CHECK_EQ(stats(s).dense_copied_out, 0);
	finish(s);
}

/* ------------------------------------------------------------------------- many that are parked */

static coro_handle *handles;
static uint64_t arrived;

static void parks(void *arg, void *result)
{
	uint64_t id;
	(void)result;

	memcpy(&id, arg, 8);
	handles[id] = coro_self();
	add_one(&arrived);
	CHECK_EQ(coro_park(), CORO_OK);
	add_one(&dense_done);
}

TEST(dense_many_wait_in_little_memory)
{
	uint64_t n = scaled(FIBERS ? 2000 : 200000);
	coro_scheduler *s = dense_start(2, 0, 0);

	handles = calloc(n, sizeof *handles);
	arrived = dense_done = 0;
	for (uint64_t i = 0; i < n; i++)
		dense_spawn(s, parks, i);
	while (seen(&arrived) < n || stats(s).awake) /* until all have parked */
		usleep(1000);                        /* each look stops the workers */
	coro_stats st = stats(s);
	CHECK_EQ(st.live, n);
	CHECK(st.stacks <= 2 * 128 + 64);
	CHECK(st.dense_saved + 2 * COROI_SHARED_STACKS >= n);
	report("%llu bytes of records and %llu of frames each, p50 %llu, p99 %llu",
	       (unsigned long long)(st.record_bytes / n), (unsigned long long)(st.dense_bytes / n),
	       (unsigned long long)st.dense_p50, (unsigned long long)st.dense_p99);
#ifdef __OPTIMIZE__ /* without optimization every variable is in the frames */
	if (!SANITIZED)
		CHECK(st.dense_p99 <= 320); /* arm64 saves 160 bytes in a switch alone */
#endif
	for (uint64_t i = 0; i < n; i++)
		CHECK_EQ(coro_wake(handles[i]), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(seen(&dense_done), n);
	st = stats(s);
	CHECK_EQ(st.dense_saved, 0);
	/* each worker keeps a chunk and its spare blocks */
	CHECK(st.dense_bytes <= 2 * (UINT64_C(3) << 20));
	finish(s);
	free(handles);
}

/* ----------------------------------------------------------------------------------------- ends */

static void joins(void *arg, void *result)
{
	enum { N = 100 };
	coro_handle child[N];
	(void)arg;
	(void)result;

	for (uint64_t i = 0; i < N; i++)
		CHECK_EQ(coro_spawn_attr(&dense_joinable, dense_ends, &i, 8, &child[i]), CORO_OK);
	for (uint64_t i = 0; i < N; i++) {
		uint64_t got = 0;
		CHECK_EQ(coro_join(child[i], &got, 8), (i + 1) % 3 == 2 ? CORO_EABORTED : CORO_OK);
		CHECK_EQ(got, i + 1);
	}
	add_to(&dense_done, 1000);
}

TEST(dense_ends_and_joins)
{
	for (uint32_t workers = 1; workers <= 2; workers++) {
		coro_scheduler *s = dense_start(workers, 2, 0);
		dense_done = 0;
		for (unsigned i = 0; i < 10; i++) {
			uint64_t arg = 0;
			const coro_attr *attr = i & 1 ? &dense_attr : NULL;
			CHECK_EQ(coro_scheduler_spawn(s, attr, joins, &arg, 8, NULL), CORO_OK);
		}
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(seen(&dense_done), 10 * (1000 + 100));
		finish(s);
	}
}

static coro_sem sem;

static void is_canceled(void *arg, void *result)
{
	(void)arg;
	(void)result;
	add_one(&arrived);
	CHECK_EQ(coro_park(), CORO_ECANCELED);
	CHECK_EQ(coro_sleep(1000 * MS), CORO_ECANCELED);
	CHECK_EQ(coro_sem_acquire(&sem, CORO_FOREVER), CORO_ECANCELED);
	add_one(&dense_done);
}

TEST(dense_close_with_cancel)
{
	coro_scheduler *s = dense_start(2, 2, 0);
	uint64_t n = scaled(1000);

	arrived = dense_done = 0;
	CHECK_EQ(coro_sem_init(&sem, 0, 0), CORO_OK);
	for (uint64_t i = 0; i < n; i++)
		dense_spawn(s, is_canceled, i);
	while (seen(&arrived) < n)
		sched_yield();
	CHECK_EQ(coro_scheduler_close(s, 1), CORO_OK);
	CHECK_EQ(seen(&dense_done), n);
	CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
	CHECK_EQ(coro_sem_destroy(&sem), CORO_OK);
}

/* -------------------------------------------------------------- dense and plain, children first */

static void spawner(void *arg, void *result)
{
	uint64_t depth;
	(void)result;

	memcpy(&depth, arg, 8);
	add_one(&dense_done);
	if (!depth)
		return;
	depth--;
	for (unsigned i = 0; i < 3; i++) {
		const coro_attr *attr = (depth + i) & 1 ? &dense_attr : NULL;
		int status = i == 1 ? coro_spawn_first(attr, spawner, &depth, 8, NULL)
				    : coro_spawn_attr(attr, spawner, &depth, 8, NULL);
		CHECK_EQ(status, CORO_OK);
		CHECK_EQ(pattern_across(5, depth + i, coro_yield), CORO_OK);
	}
}

TEST(dense_and_plain_spawn_each_other)
{
	for (uint32_t workers = 1; workers <= 4; workers *= 2) {
		coro_scheduler *s = dense_start(workers, workers == 4 ? 2 : 0, 0);
		dense_done = 0;
		dense_spawn(s, spawner, 6);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(seen(&dense_done), (2187 - 1) / 2);
		finish(s);
	}
}

/* ------------------------------------------------------------------------- the stack of another */

#ifdef COROI_ASAN
static volatile uint64_t *not_yours;

static void looks(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (unsigned i = 0; i < 100; i++) {
		CHECK(__asan_address_is_poisoned((const char *)not_yours));
		CHECK_EQ(coro_yield(), CORO_OK);
	}
}

static void shows(void *arg, void *result)
{
	volatile uint64_t mine[4] = {1, 2, 3, 4};
	const coro_attr *attr = *(uint64_t *)arg ? &dense_attr : NULL;
	(void)result;

	not_yours = mine;
	CHECK_EQ(coro_spawn_attr(attr, looks, NULL, 0, NULL), CORO_OK);
	for (unsigned i = 0; i < 100; i++) {
		CHECK_EQ(coro_yield(), CORO_OK);
		CHECK(!__asan_address_is_poisoned((const char *)not_yours));
		CHECK(mine[0] == 1 && mine[3] == 4);
	}
}

TEST(dense_stacks_are_poisoned_while_they_wait)
{
	for (uint64_t i = 0; i < 2; i++) {
		coro_scheduler *s = dense_start(1, 4, 0);
		dense_spawn(s, shows, i);
		finish(s);
	}
}
#endif

/* --------------------------------------------------------------------------------------- misuse */

static void touch(void *arg)
{
	*(int *)arg = 1;
}

static void misuses(void *arg, void *result)
{
	coro_sem on_stack;
	coro_mutex too;
	int local = 0;
	(void)arg;
	(void)result;

	CHECK_EQ(coro_sem_init(&on_stack, 0, 0), CORO_EINVAL);
	memset(&on_stack, 0, sizeof on_stack); /* as coro_sem_init would have made it */
	CHECK_EQ(coro_sem_acquire(&on_stack, CORO_FOREVER), CORO_EINVAL);
	CHECK_EQ(coro_mutex_init(&too, 0), CORO_EINVAL);
	CHECK_EQ(coro_blocking(touch, &local), CORO_EINVAL);
	CHECK_EQ(local, 0);
	CHECK_EQ(coro_thread_begin(), CORO_EPERM);
	CHECK_EQ(coro_pin(!coro_worker()), CORO_EPERM);
	CHECK_EQ(coro_pin(2), CORO_EINVAL);
	CHECK_EQ(coro_pin(CORO_HERE), CORO_OK);
	CHECK_EQ(coro_pin((uint32_t)coro_worker()), CORO_OK);
	CHECK_EQ(coro_unpin(), CORO_OK);
	add_one(&dense_done);
}

TEST(dense_misuse)
{
	coro_scheduler *s = dense_start(2, 0, 0);
	coro_attr with_stack = {
		.size = sizeof with_stack, .flags = CORO_DENSE, .stack_bytes = 8 << 10};
	coro_options o = {.size = sizeof o, .shared_stacks = 1};
	coro_scheduler *none;

	CHECK_EQ(coro_scheduler_init(&none, &o), CORO_EINVAL);
	o.shared_stacks = 1025;
	CHECK_EQ(coro_scheduler_init(&none, &o), CORO_EINVAL);
	o.shared_stacks = 2;
	o.shared_stack_bytes = (size_t)16 << 20;
	CHECK_EQ(coro_scheduler_init(&none, &o), CORO_EINVAL);
	CHECK_EQ(coro_scheduler_spawn(s, &with_stack, misuses, NULL, 0, NULL), CORO_EINVAL);
	dense_done = 0;
	dense_spawn(s, misuses, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(seen(&dense_done), 1);
	finish(s);
}
