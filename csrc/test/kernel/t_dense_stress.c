/*
 * t_dense_stress.c - dense and plain coroutines that wait at random for everything there is.
 */
#include "dense_bodies.h"

#include <sched.h>
#include <string.h>

static coro_sem sem;
static coro_mutex mutex;
static coro_rwlock rwlock;
static coro_cond cond;
static coro_chan *chan[2];
static uint64_t guarded, sent, received;

static void sleep_a_little(void *arg)
{
	add_one(arg);
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
	case 5: { /* one of the two cases is ready at some time */
		coro_case both[2] = {{.chan = chan[0], .send = &value},
				     {.chan = chan[1], .recv = &got}};
		int i = coro_select(both, 2, coro_now() + 100000);
		CHECK(i == CORO_ETIMEDOUT || i == 0 || i == 1);
		add_to(&sent, i == 0 ? value : 0);
		add_to(&received, i == 1 ? got : 0);
		break;
	}
	case 6:
		if (coro_chan_send(chan[value & 1], &value, coro_now() + 100000) == CORO_OK)
			add_to(&sent, value);
		break;
	case 7:
		if (coro_chan_recv(chan[value & 1], &got, coro_now() + 100000) == CORO_OK)
			add_to(&received, got);
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
	add_one(&dense_done);
}

static void everything(uint32_t workers)
{
	enum { EACH = 100 };
	coro_scheduler *s = dense_start(workers, workers == 1 ? 2 : 4, 0);
	uint64_t left = 0, value;

	rounds = scaled(200);
	dense_done = guarded = sent = received = slept = 0;
	CHECK_EQ(coro_sem_init(&sem, 3, 0), CORO_OK);
	CHECK_EQ(coro_mutex_init(&mutex, 0), CORO_OK);
	CHECK_EQ(coro_rwlock_init(&rwlock, 0), CORO_OK);
	CHECK_EQ(coro_cond_init(&cond, 0), CORO_OK);
	for (unsigned i = 0; i < 2; i++)
		CHECK_EQ(coro_chan_new(&chan[i], 8, 3, 0), CORO_OK);
	for (uint64_t i = 0; i < 2 * EACH; i++)
		CHECK_EQ(coro_scheduler_spawn(s, i & 1 ? &dense_attr : NULL, waits, &i, 8, NULL),
			 CORO_OK);
	/* meanwhile an observer looks, and trims */
	for (unsigned i = 0; i < 100 && workers == 2; i++) {
		coro_scheduler_trim(s);
		coro_scheduler_blocked(s, NULL, 0);
		sched_yield();
	}
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(seen(&dense_done), 2 * EACH);
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
