/*
 * t_dense.c - dense coroutines: their frames are what they were whenever they go on, whatever they
 * wait for, whoever was on their stack meanwhile.
 */
#include "test.h"

#include "kernel/dense.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MS UINT64_C(1000000)

static uint64_t done;

static uint64_t add(uint64_t *n, uint64_t k)
{
	return __atomic_add_fetch(n, k, __ATOMIC_SEQ_CST);
}

static const coro_attr dense = {.size = sizeof(coro_attr), .flags = CORO_DENSE};
static const coro_attr joined = {
	.size = sizeof(coro_attr), .flags = CORO_DENSE | CORO_JOINABLE, .result_bytes = 8};

static coro_scheduler *scheduler(uint32_t workers, uint32_t slots, size_t slot_bytes)
{
	coro_options o = {.size = sizeof o,
			  .workers = workers,
			  .shared_stacks = slots,
			  .shared_stack_bytes = slot_bytes};
	return start(&o);
}

static void spawn_dense(coro_scheduler *s, coro_fn fn, uint64_t arg)
{
	CHECK_EQ(coro_scheduler_spawn(s, &dense, fn, &arg, sizeof arg, NULL), CORO_OK);
}

/* A stretch of the stack with a pattern of its own, across a call that suspends. */
static __attribute__((noinline)) uint64_t with_pattern(unsigned words, uint64_t seed,
						       int (*wait)(void))
{
	volatile uint64_t at[words];
	uint64_t state = seed | 1, sum = 0;

	for (unsigned i = 0; i < words; i++)
		at[i] = rnd(&state);
	CHECK_EQ(wait(), CORO_OK);
	state = seed | 1;
	for (unsigned i = 0; i < words; i++) {
		CHECK(at[i] == rnd(&state));
		sum += at[i];
	}
	return sum;
}

/* ------------------------------------------------------------------------------------------
 * yields */

static void yields(void *arg, void *result)
{
	uint64_t id, state;
	(void)result;

	memcpy(&id, arg, 8);
	state = id * 2 + 1;
	for (unsigned i = 0; i < 20; i++)
		with_pattern((unsigned)(rnd(&state) % 40 + 1), id, coro_yield);
	add(&done, 1);
}

static void many_yield(uint32_t workers, uint32_t slots, uint64_t n)
{
	coro_scheduler *s = scheduler(workers, slots, 0);

	done = 0;
	for (uint64_t i = 0; i < n; i++)
		spawn_dense(s, yields, i);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(seen(&done), n);
	coro_stats st = stats(s);
	CHECK_EQ(st.dense_copied_in, st.dense_copied_out);
	finish(s);
}

TEST(dense_frames_last)
{
	for (uint32_t workers = 1; workers <= 4; workers++)
		for (uint32_t slots = 2; slots <= 32; slots *= 4)
			many_yield(workers, slots, scaled(2000));
}

/* A few never move: no copy is made. */
static void yields_alone(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (unsigned i = 0; i < 1000; i++)
		CHECK_EQ(coro_yield(), CORO_OK);
	add(&done, 1);
}

TEST(dense_a_few_are_not_copied)
{
	coro_scheduler *s = scheduler(1, 0, 0);

	done = 0;
	for (unsigned i = 0; i < COROI_SHARED_STACKS; i++)
		spawn_dense(s, yields_alone, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(seen(&done), COROI_SHARED_STACKS);
	CHECK_EQ(stats(s).dense_copied_out, 0);
	finish(s);
}

/* ------------------------------------------------------------------------- parked, in great
 * numbers */

static coro_handle *handles;
static uint64_t arrived;

static void parks(void *arg, void *result)
{
	uint64_t id;
	(void)result;

	memcpy(&id, arg, 8);
	handles[id] = coro_self();
	add(&arrived, 1);
	CHECK_EQ(coro_park(), CORO_OK);
	add(&done, 1);
}

TEST(dense_many_wait_in_little_memory)
{
	uint64_t n = scaled(FIBERS ? 2000 : 200000);
	coro_scheduler *s = scheduler(2, 0, 0);

	handles = calloc(n, sizeof *handles);
	arrived = done = 0;
	for (uint64_t i = 0; i < n; i++)
		spawn_dense(s, parks, i);
	while (seen(&arrived) < n || stats(s).awake) /* then all have parked */
		usleep(1000);                        /* a look stops the workers */
	coro_stats st = stats(s);
	CHECK_EQ(st.live, n);
	CHECK(st.stacks <= 2 * 128 + 64);
	CHECK(st.dense_saved + 2 * COROI_SHARED_STACKS >= n);
	report("%llu bytes of records and %llu of frames each, p50 %llu, p99 %llu",
	       (unsigned long long)(st.record_bytes / n), (unsigned long long)(st.dense_bytes / n),
	       (unsigned long long)st.dense_p50, (unsigned long long)st.dense_p99);
#ifdef __OPTIMIZE__ /* elsewhere every variable is in the frames */
	if (!SANITIZED)
		CHECK(st.dense_p99 <= 320); /* arm64 saves 160 bytes in a switch alone */
#endif
	for (uint64_t i = 0; i < n; i++)
		CHECK_EQ(coro_wake(handles[i]), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(seen(&done), n);
	st = stats(s);
	CHECK_EQ(st.dense_saved, 0);
	/* of each worker a chunk, and its spare blocks */
	CHECK(st.dense_bytes <= 2 * (UINT64_C(3) << 20));
	finish(s);
	free(handles);
}

/* ---------------------------------------------------------------------------------- ways to end */

static void deferred(void *arg)
{
	(void)arg;
	add(&done, 1);
}

static void ends_somehow(void *arg, void *result)
{
	uint64_t id;

	memcpy(&id, arg, 8);
	CHECK_EQ(coro_defer(deferred, NULL), CORO_OK);
	char *text = coro_strdup("kept in the arena");
	with_pattern(8, id, coro_yield);
	CHECK(text && strcmp(text, "kept in the arena") == 0);
	id++;
	memcpy(result, &id, 8);
	switch (id % 3) {
	case 1:
		coro_exit();
		break;
	case 2:
		coro_abort();
	}
}

static void joins(void *arg, void *result)
{
	enum { N = 100 };
	coro_handle child[N];
	(void)arg;
	(void)result;

	for (uint64_t i = 0; i < N; i++)
		CHECK_EQ(coro_spawn_attr(&joined, ends_somehow, &i, 8, &child[i]), CORO_OK);
	for (uint64_t i = 0; i < N; i++) {
		uint64_t got = 0;
		CHECK_EQ(coro_join(child[i], &got, 8), (i + 1) % 3 == 2 ? CORO_EABORTED : CORO_OK);
		CHECK_EQ(got, i + 1);
	}
	add(&done, 1000);
}

TEST(dense_ends_and_joins)
{
	for (uint32_t workers = 1; workers <= 2; workers++) {
		coro_scheduler *s = scheduler(workers, 2, 0);
		done = 0;
		for (unsigned i = 0; i < 10; i++) {
			uint64_t arg = 0;
			const coro_attr *attr = i & 1 ? &dense : NULL;
			CHECK_EQ(coro_scheduler_spawn(s, attr, joins, &arg, 8, NULL), CORO_OK);
		}
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(seen(&done), 10 * (1000 + 100));
		finish(s);
	}
}

/* ------------------------------------------------------------------- dense and plain, children
 * first */

static void spawner(void *arg, void *result)
{
	uint64_t depth;
	(void)result;

	memcpy(&depth, arg, 8);
	add(&done, 1);
	if (!depth)
		return;
	depth--;
	for (unsigned i = 0; i < 3; i++) {
		const coro_attr *attr = (depth + i) & 1 ? &dense : NULL;
		int status = i == 1 ? coro_spawn_first(attr, spawner, &depth, 8, NULL)
				    : coro_spawn_attr(attr, spawner, &depth, 8, NULL);
		CHECK_EQ(status, CORO_OK);
		with_pattern(5, depth + i, coro_yield);
	}
}

TEST(dense_and_plain_spawn_each_other)
{
	for (uint32_t workers = 1; workers <= 4; workers *= 2) {
		coro_scheduler *s = scheduler(workers, workers == 4 ? 2 : 0, 0);
		done = 0;
		spawn_dense(s, spawner, 6);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(seen(&done), (2187 - 1) / 2);
		finish(s);
	}
}

/* -------------------------------------------------------------------------------- large and deep
 * frames */

static void large(void *arg, void *result)
{
	uint64_t id;
	(void)result;

	memcpy(&id, arg, 8);
	for (unsigned i = 0; i < 5; i++)
		with_pattern(id & 1 ? 1500 : 10, id, coro_yield);
	add(&done, 1);
}

/* A plain one may have an object on its stack, whoever that stack was before. */
static void is_plain(void *arg, void *result)
{
	coro_sem mine;
	(void)arg;
	(void)result;

	CHECK_EQ(coro_sem_init(&mine, 1, 0), CORO_OK);
	CHECK_EQ(coro_sem_acquire(&mine, CORO_FOREVER), CORO_OK);
	CHECK_EQ(coro_yield(), CORO_OK);
	CHECK_EQ(coro_sem_destroy(&mine), CORO_OK);
	add(&arrived, 1);
}

/* Its stack has become its own by the time that it ends, and those that it has spawned run
 * there. */
static void ends_before_plain_ones(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (unsigned i = 0; i < 50; i++)
		with_pattern(1500, i, coro_yield);
	for (unsigned i = 0; i < 10; i++) /* nobody else is left */
		CHECK_EQ(coro_spawn(is_plain, NULL, 0), CORO_OK);
}

/* From inside, so that they are all there. */
static void starts_one_of_them(void *arg, void *result)
{
	uint64_t n = 0;
	(void)arg;
	(void)result;

	CHECK_EQ(coro_spawn_attr(&dense, ends_before_plain_ones, &n, 8, NULL), CORO_OK);
	for (; n < 3; n++)
		CHECK_EQ(coro_spawn_attr(&dense, yields, &n, 8, NULL), CORO_OK);
}

TEST(dense_stack_becomes_a_plain_one)
{
	coro_scheduler *s = scheduler(1, 2, 16 << 10);

	arrived = done = 0;
	CHECK_EQ(coro_scheduler_spawn(s, NULL, starts_one_of_them, NULL, 0, NULL), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(seen(&arrived), 10);
	CHECK(stats(s).dense_private > 0);
	finish(s);
}

static void starts_large_ones(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (uint64_t i = 0; i < 64; i++)
		CHECK_EQ(coro_spawn_attr(&dense, large, &i, 8, NULL), CORO_OK);
}

TEST(dense_large_frames_keep_their_stack)
{
	coro_scheduler *s = scheduler(1, 4, 16 << 10);

	done = 0;
	CHECK_EQ(coro_scheduler_spawn(s, NULL, starts_large_ones, NULL, 0, NULL), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(seen(&done), 64);
	CHECK(stats(s).dense_private > 0);
	finish(s);
}

/* One that keeps its stack has no slot, but what it waits with lies in the heap: a trim leaves the
 * heap where it is. */
static coro_chan *ways[3];

static int waits_for_one(void)
{
	uint64_t got[2] = {0, 0};

	for (unsigned i = 0; i < 2; i++) {
		CHECK_EQ(coro_chan_recv(ways[0], &got[i], CORO_FOREVER), CORO_OK);
		coro_case both[2] = {{.chan = ways[1], .recv = &got[i]},
				     {.chan = ways[2], .recv = &got[i]}};
		CHECK_EQ(coro_select(both, 2, CORO_FOREVER), i);
		CHECK_EQ(got[i], 1000 + i);
	}
	add(&done, 1);
	return CORO_OK;
}

static void keeps_its_stack(void *arg, void *result)
{
	uint64_t id;
	(void)result;

	memcpy(&id, arg, 8);
	with_pattern(1500, id, waits_for_one);
}

static void starts_one_that_keeps_its_stack(void *arg, void *result)
{
	uint64_t n = 0;
	(void)arg;
	(void)result;

	CHECK_EQ(coro_spawn_attr(&dense, keeps_its_stack, &n, 8, NULL), CORO_OK);
	for (; n < 4; n++)
		CHECK_EQ(coro_spawn_attr(&dense, yields, &n, 8, NULL), CORO_OK);
}

/* trim_and_send - it waits alone. */
static void trim_and_send(coro_scheduler *s, unsigned way, uint64_t value)
{
	while (coro_scheduler_blocked(s, NULL, 0) != 1 || stats(s).live != 1)
		usleep(100);
	coro_scheduler_trim(s);
	CHECK_EQ(coro_chan_send(ways[way], &value, CORO_FOREVER), CORO_OK);
}

TEST(dense_trim_spares_one_that_keeps_its_stack)
{
	for (unsigned round = 0; round < 5; round++) {
		coro_scheduler *s = scheduler(1, 2, 16 << 10);
		done = 0;
		for (unsigned i = 0; i < 3; i++)
			CHECK_EQ(coro_chan_new(&ways[i], 8, 0, 0), CORO_OK);
		CHECK_EQ(coro_scheduler_spawn(s, NULL, starts_one_that_keeps_its_stack, NULL, 0,
					      NULL),
			 CORO_OK);
		for (unsigned i = 0; i < 2; i++) {
			trim_and_send(s, 0, 7);
			trim_and_send(s, 1 + i, 1000 + i);
		}
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(seen(&done), 4 + 1);
		CHECK_EQ(stats(s).dense_private, 1);
		CHECK(stats(s).dense_bytes > 0);
		coro_scheduler_trim(s);
		CHECK_EQ(stats(s).dense_bytes, 0); /* once it has ended */
		finish(s);
		for (unsigned i = 0; i < 3; i++)
			CHECK_EQ(coro_chan_free(ways[i]), CORO_OK);
	}
}

static void deeper(void *arg)
{
	uint64_t *caller = arg; /* on the slot's stack */
	uint64_t before = *caller;

	with_pattern(4000, before, coro_yield);
	CHECK_EQ(*caller, before);
	*caller = before + 1;
}

static void calls_deep(void *arg, void *result)
{
	uint64_t id, mine;
	(void)result;

	memcpy(&id, arg, 8);
	mine = id;
	for (unsigned i = 0; i < 5; i++) {
		CHECK_EQ(coro_call_on_stack(64 << 10, deeper, &mine), CORO_OK);
		CHECK_EQ(mine, ++id);
		with_pattern(12, id, coro_yield);
	}
	add(&done, 1);
}

TEST(dense_deep_calls_wait)
{
	coro_scheduler *s = scheduler(2, 2, 0);

	done = 0;
	for (uint64_t i = 0; i < 50; i++)
		spawn_dense(s, calls_deep, 100 * i);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(seen(&done), 50);
	finish(s);
}

static void exits_deep(void *arg)
{
	(void)arg;
	with_pattern(100, 7, coro_yield);
	coro_exit();
}

static void ends_deep(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_defer(deferred, NULL), CORO_OK);
	coro_call_on_stack(64 << 10, exits_deep, NULL);
	CHECK(false);
}

TEST(dense_exit_from_a_deep_call)
{
	coro_scheduler *s = scheduler(1, 2, 0);

	done = 0;
	for (uint64_t i = 0; i < 50; i++)
		spawn_dense(s, i & 1 ? ends_deep : calls_deep, 100 * i);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(seen(&done), 50);
	finish(s);
}

/* ------------------------------------------------------------------------------- everything to
 * wait for */

static coro_sem sem;
static coro_mutex mutex;
static coro_rwlock rwlock;
static coro_cond cond;
static coro_chan *chan[2];
static uint64_t guarded, sent, received;

static void sleep_a_little(void *arg)
{
	add(arg, 1);
}

static uint64_t slept;

static __attribute__((noinline)) void wait_at_something(unsigned what, uint64_t *state)
{
	uint64_t value = rnd(state), got = 0;

	switch (what) {
	case 0:
		CHECK_EQ(coro_sem_acquire(&sem, CORO_FOREVER), CORO_OK);
		CHECK_EQ(coro_yield(), CORO_OK);
		CHECK_EQ(coro_sem_release(&sem, 1), CORO_OK);
		break;
	case 1:
		CHECK_EQ(coro_mutex_lock(&mutex, CORO_FOREVER), CORO_OK);
		got = guarded;
		CHECK_EQ(coro_yield(), CORO_OK);
		guarded = got + 1;
		CHECK_EQ(coro_mutex_unlock(&mutex), CORO_OK);
		break;
	case 2:
		CHECK_EQ(value & 3 ? coro_rwlock_read(&rwlock, CORO_FOREVER)
				   : coro_rwlock_write(&rwlock, CORO_FOREVER),
			 CORO_OK);
		CHECK_EQ(coro_yield(), CORO_OK);
		CHECK_EQ(coro_rwlock_unlock(&rwlock), CORO_OK);
		break;
	case 3:
		CHECK_EQ(coro_sleep(value % 100000), CORO_OK);
		break;
	case 4:
		CHECK_EQ(coro_park_until(coro_now() + value % 50000), CORO_ETIMEDOUT);
		break;
	case 5: { /* one of the two goes on, whoever is there */
		coro_case both[2] = {{.chan = chan[0], .send = &value},
				     {.chan = chan[1], .recv = &got}};
		int i = coro_select(both, 2, coro_now() + 100000);
		CHECK(i == CORO_ETIMEDOUT || i == 0 || i == 1);
		add(&sent, i == 0 ? value : 0);
		add(&received, i == 1 ? got : 0);
		break;
	}
	case 6:
		if (coro_chan_send(chan[value & 1], &value, coro_now() + 100000) == CORO_OK)
			add(&sent, value);
		break;
	case 7:
		if (coro_chan_recv(chan[value & 1], &got, coro_now() + 100000) == CORO_OK)
			add(&received, got);
		break;
	case 8:
		CHECK_EQ(coro_blocking(sleep_a_little, &slept), CORO_OK);
		break;
	case 9:
		CHECK_EQ(coro_mutex_lock(&mutex, CORO_FOREVER), CORO_OK);
		CHECK_EQ(coro_cond_wait(&cond, &mutex, coro_now() + value % 50000), CORO_ETIMEDOUT);
		CHECK_EQ(coro_mutex_unlock(&mutex), CORO_OK);
		break;
	}
}

static __attribute__((noinline)) void wait_under_a_pattern(unsigned words, uint64_t *state)
{
	volatile uint64_t at[words];
	uint64_t seed = rnd(state) | 1, again = seed;

	for (unsigned i = 0; i < words; i++)
		at[i] = rnd(&seed);
	wait_at_something((unsigned)(rnd(state) % 10), state);
	for (unsigned i = 0; i < words; i++)
		CHECK(at[i] == rnd(&again));
}

static uint64_t rounds;

static void waits(void *arg, void *result)
{
	uint64_t state;
	(void)result;

	memcpy(&state, arg, 8);
	state = state * 2 + 1;
	for (uint64_t i = 0; i < rounds; i++)
		wait_under_a_pattern((unsigned)(rnd(&state) % 60 + 1), &state);
	add(&done, 1);
}

static void everything(uint32_t workers)
{
	enum { EACH = 100 };
	coro_scheduler *s = scheduler(workers, workers == 1 ? 2 : 4, 0);
	uint64_t left = 0, value;

	rounds = scaled(200);
	done = guarded = sent = received = slept = 0;
	CHECK_EQ(coro_sem_init(&sem, 3, 0), CORO_OK);
	CHECK_EQ(coro_mutex_init(&mutex, 0), CORO_OK);
	CHECK_EQ(coro_rwlock_init(&rwlock, 0), CORO_OK);
	CHECK_EQ(coro_cond_init(&cond, 0), CORO_OK);
	for (unsigned i = 0; i < 2; i++)
		CHECK_EQ(coro_chan_new(&chan[i], 8, 3, 0), CORO_OK);
	for (uint64_t i = 0; i < 2 * EACH; i++)
		CHECK_EQ(coro_scheduler_spawn(s, i & 1 ? &dense : NULL, waits, &i, 8, NULL),
			 CORO_OK);
	/* somebody looks, and tidies up, meanwhile */
	for (unsigned i = 0; i < 100 && workers == 2; i++) {
		coro_scheduler_trim(s);
		coro_scheduler_blocked(s, NULL, 0);
		sched_yield();
	}
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(seen(&done), 2 * EACH);
	for (unsigned i = 0; i < 2; i++) {
		while (coro_chan_recv(chan[i], &value, 0) == CORO_OK)
			left += value;
		CHECK_EQ(coro_chan_free(chan[i]), CORO_OK);
	}
	CHECK(seen(&sent) == seen(&received) + left);
	coro_stats st = stats(s);
	report("%u workers: %llu times copied out, %llu private", workers,
	       (unsigned long long)st.dense_copied_out, (unsigned long long)st.dense_private);
	CHECK_EQ(st.dense_copied_in, st.dense_copied_out);
	CHECK_EQ(st.dense_saved, 0);
	finish(s);
	CHECK_EQ(coro_sem_destroy(&sem), CORO_OK);
	CHECK_EQ(coro_mutex_destroy(&mutex), CORO_OK);
	CHECK_EQ(coro_rwlock_destroy(&rwlock), CORO_OK);
	CHECK_EQ(coro_cond_destroy(&cond), CORO_OK);
}

TEST(dense_waits_for_everything)
{
	for (uint32_t workers = 1; workers <= 4; workers *= 2)
		everything(workers);
}

/* --------------------------------------------------------------------------------------------
 * cancel */

static void is_canceled(void *arg, void *result)
{
	(void)arg;
	(void)result;
	add(&arrived, 1);
	CHECK_EQ(coro_park(), CORO_ECANCELED);
	CHECK_EQ(coro_sleep(1000 * MS), CORO_ECANCELED);
	CHECK_EQ(coro_sem_acquire(&sem, CORO_FOREVER), CORO_ECANCELED);
	add(&done, 1);
}

TEST(dense_close_with_cancel)
{
	coro_scheduler *s = scheduler(2, 2, 0);
	uint64_t n = scaled(1000);

	arrived = done = 0;
	CHECK_EQ(coro_sem_init(&sem, 0, 0), CORO_OK);
	for (uint64_t i = 0; i < n; i++)
		spawn_dense(s, is_canceled, i);
	while (seen(&arrived) < n)
		sched_yield();
	CHECK_EQ(coro_scheduler_close(s, 1), CORO_OK);
	CHECK_EQ(seen(&done), n);
	CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
	CHECK_EQ(coro_sem_destroy(&sem), CORO_OK);
}

/* --------------------------------------------------------------------- a stack that is somebody
 * else's */

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
	const coro_attr *attr = *(uint64_t *)arg ? &dense : NULL;
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
		coro_scheduler *s = scheduler(1, 4, 0);
		spawn_dense(s, shows, i);
		finish(s);
	}
}
#endif

/* ------------------------------------------------------------------------------------
 * exhaustion */

static uint64_t refused, unstarted;

static void count(int status)
{
	CHECK(status == CORO_OK || status == CORO_ENOMEM || status == CORO_ETIMEDOUT);
	add(&refused, status == CORO_ENOMEM);
}

/* Each has its neighbour's permit to give, and goes on without its own if there is no memory to
 * wait for it. */
static void lives_with_it(void *arg, void *result)
{
	uint64_t id, state;
	volatile uint64_t at[6];
	(void)result;

	memcpy(&id, arg, 8);
	state = id * 2 + 1;
	for (unsigned i = 0; i < 12; i++) {
		for (unsigned k = 0; k < 6; k++)
			at[k] = id * 1000 + i * 10 + k;
		switch (rnd(&state) % 5) {
		case 0:
			count(coro_yield());
			break;
		case 1:
			count(coro_sleep(rnd(&state) % 20000));
			break;
		case 2:
			count(coro_park_until(coro_now() + rnd(&state) % 20000));
			break;
		case 3: {
			int status = coro_sem_acquire(&sem, CORO_FOREVER);
			count(status);
			if (!status) {
				coro_yield();
				CHECK_EQ(coro_sem_release(&sem, 1), CORO_OK);
			}
			break;
		}
		case 4: {
			uint64_t got = 0;
			coro_handle child;
			CHECK_EQ(coro_spawn_attr(&joined, ends_somehow, &id, 8, &child), CORO_OK);
			/* it never had a stack; or there was no memory to wait for it */
			if (coro_join(child, &got, 8) == CORO_ENOMEM)
				add(coro_detach(child) == CORO_ESTALE ? &unstarted : &refused, 1);
			break;
		}
		}
		for (unsigned k = 0; k < 6; k++)
			CHECK_EQ(at[k], id * 1000 + i * 10 + k);
	}
	add(&arrived, 1);
}

static void with_refusals(void *arg, void *result)
{
	uint64_t k;
	(void)result;

	memcpy(&k, arg, 8);
	fail_block = (int)(k >> 16);
	fail_blocks = (int)(k & 0xffff);
	for (uint64_t i = 0; i < 20; i++)
		CHECK_EQ(coro_spawn_attr(&dense, lives_with_it, &i, 8, NULL), CORO_OK);
}

TEST(dense_without_memory)
{
	static const unsigned in_a_row[] = {1, 2, 5, 1000};
	/* blocks that are had before the first is refused */
	uint64_t most = scaled(150) < 20 ? 20 : scaled(150);

	refused = unstarted = 0;
	for (uint64_t k = 0; k < most; k++) {
		for (unsigned j = 0; j < 4; j++) {
			coro_scheduler *s = scheduler(1, 2, 0);
			uint64_t arg = k << 16 | in_a_row[j];
			arrived = done = 0;
			CHECK_EQ(coro_sem_init(&sem, 2, 0), CORO_OK);
			CHECK_EQ(coro_scheduler_spawn(s, NULL, with_refusals, &arg, 8, NULL),
				 CORO_OK);
			CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
			CHECK(seen(&arrived) <= 20);
			CHECK_EQ(stats(s).dense_saved, 0);
			finish(s);
			CHECK_EQ(coro_sem_destroy(&sem), CORO_OK);
		}
	}
	report("%llu waits and joins refused, %llu children never started",
	       (unsigned long long)refused, (unsigned long long)unstarted);
	CHECK(refused > 0);
}

/* k calls are granted yet, of one kind, then one is refused. */
static void starts_without_memory(void *arg, void *result)
{
	uint64_t k, n = 0;
	(void)result;

	memcpy(&k, arg, 8);
	*(k & 1 ? &fail_map : &fail_alloc) = (int)(k / 2);
	CHECK_EQ(coro_spawn_attr(&dense, large, &n, 8, NULL), CORO_OK);
	for (uint64_t i = 0; i < 5; i++)
		CHECK_EQ(coro_spawn_attr(&dense, large, &i, 8, NULL), CORO_OK);
	for (unsigned i = 0; i < 20; i++)
		CHECK_EQ(coro_yield(), CORO_OK);
	refused += fail_alloc == -1 && fail_map == -1;
	fail_alloc = fail_map = -1;
}

/* The first dense coroutines of a worker, and those whose stacks become their own: they start when
 * there is memory for it. */
TEST(dense_start_without_memory)
{
	refused = 0;
	for (uint64_t k = 0; k < 24; k++) {
		coro_options o = {.size = sizeof o,
				  .workers = 1,
				  .stack_bytes = 64 << 10,
				  .shared_stacks = 2,
				  .shared_stack_bytes = 32 << 10};
		coro_scheduler *s = start(&o);
		done = 0;
		CHECK_EQ(coro_scheduler_spawn(s, NULL, starts_without_memory, &k, 8, NULL),
			 CORO_OK);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(seen(&done), 6);
		finish(s);
	}
	CHECK(refused >= 6);
}

static void is_not_called(void *arg)
{
	(void)arg;
	CHECK(false);
}

static void waits_without_a_block(void *arg, void *result)
{
	uint64_t value = 1;
	coro_case both[2] = {{.chan = chan[0], .recv = &value}, {.chan = chan[1], .send = &value}};
	(void)arg;
	(void)result;
	for (unsigned what = 0; what < 9; what++) {
		int status = 0;
		fail_block = 0;
		fail_blocks = 1;
		switch (what) {
		case 0:
			status = coro_sem_acquire(&sem, CORO_FOREVER);
			break;
		case 1:
			status = coro_mutex_lock(&mutex, CORO_FOREVER);
			break;
		case 2:
			status = coro_rwlock_read(&rwlock, CORO_FOREVER);
			break;
		case 3:
			status = coro_rwlock_write(&rwlock, CORO_FOREVER);
			break;
		case 4:
			fail_blocks = 0;
			CHECK_EQ(coro_mutex_unlock(&mutex), CORO_EPERM);
			coro_mutex own;
			CHECK_EQ(coro_mutex_init(&own, 0), CORO_EINVAL);
			coro_mutex *held = coro_malloc(sizeof *held);
			CHECK_EQ(coro_mutex_init(held, 0), CORO_OK);
			CHECK_EQ(coro_mutex_lock(held, 0), CORO_OK);
			fail_blocks = 1;
			status = coro_cond_wait(&cond, held, CORO_FOREVER);
			CHECK_EQ(coro_mutex_unlock(held), CORO_OK); /* it has kept it */
			CHECK_EQ(coro_mutex_destroy(held), CORO_OK);
			break;
		case 5:
			status = coro_blocking(is_not_called, NULL);
			break;
		case 6:
			status = coro_chan_recv(chan[0], &value, CORO_FOREVER);
			break;
		case 7:
			status = coro_chan_send(chan[1], &value, CORO_FOREVER);
			break;
		case 8:
			status = coro_select(both, 2, CORO_FOREVER);
			break;
		}
		CHECK_EQ(status, CORO_ENOMEM);
		CHECK_EQ(fail_blocks, 0);
	}
	fail_blocks = 1;
	CHECK_EQ(coro_sleep(1000), CORO_OK);
	CHECK_EQ(coro_park_until(coro_now() + 1000), CORO_ETIMEDOUT);
	CHECK_EQ(fail_blocks, 1);
	fail_block = -1;
	add(&done, 1);
}

/* Each is refused, and nobody stays behind in a queue. A deadline alone needs none. */
TEST(dense_waits_need_memory)
{
	coro_scheduler *s = scheduler(1, 0, 0);

	done = 0;
	CHECK_EQ(coro_sem_init(&sem, 0, 0), CORO_OK);
	CHECK_EQ(coro_mutex_init(&mutex, 0), CORO_OK);
	CHECK_EQ(coro_mutex_lock(&mutex, 0), CORO_OK);
	CHECK_EQ(coro_rwlock_init(&rwlock, 0), CORO_OK);
	CHECK_EQ(coro_rwlock_write(&rwlock, 0), CORO_OK);
	CHECK_EQ(coro_cond_init(&cond, 0), CORO_OK);
	for (unsigned i = 0; i < 2; i++)
		CHECK_EQ(coro_chan_new(&chan[i], 8, 0, 0), CORO_OK);
	spawn_dense(s, waits_without_a_block, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(seen(&done), 1);
	for (unsigned i = 0; i < 2; i++)
		CHECK_EQ(coro_chan_free(chan[i]), CORO_OK);
	CHECK_EQ(coro_mutex_unlock(&mutex), CORO_OK);
	CHECK_EQ(coro_rwlock_unlock(&rwlock), CORO_OK);
	CHECK_EQ(coro_sem_destroy(&sem), CORO_OK);
	CHECK_EQ(coro_mutex_destroy(&mutex), CORO_OK);
	CHECK_EQ(coro_rwlock_destroy(&rwlock), CORO_OK);
	CHECK_EQ(coro_cond_destroy(&cond), CORO_OK);
	finish(s);
}

/* --------------------------------------------------------------------------------------------
 * misuse */

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
	memset(&on_stack, 0, sizeof on_stack); /* as init would have made it */
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
	add(&done, 1);
}

TEST(dense_misuse)
{
	coro_scheduler *s = scheduler(2, 0, 0);
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
	done = 0;
	spawn_dense(s, misuses, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(seen(&done), 1);
	finish(s);
}
