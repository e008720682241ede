/*
 * t_blocking.c - blocking calls, and coroutines that go on on threads of their own.
 */
#include "test.h"

#include "io/blocking.h"
#include "kernel/service.h"
#include "kernel/worker.h"

#include <sched.h>
#include <string.h>
#include <unistd.h>

static uint64_t made, done, at_once, most_at_once, canceled;

static void sleeps_for(void *arg)
{
	uint64_t now = __atomic_add_fetch(&at_once, 1, __ATOMIC_SEQ_CST),
		 most = __atomic_load_n(&most_at_once, __ATOMIC_SEQ_CST);

	while (now > most && !__atomic_compare_exchange_n(&most_at_once, &most, now, false,
							  __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		;
	CHECK_EQ(coro_park(), CORO_EPERM);
	CHECK_EQ(coro_blocking(sleeps_for, arg), CORO_EPERM);
	CHECK_EQ(coro_thread_begin(), CORO_EPERM);
	CHECK_EQ(coro_thread_end(), CORO_EPERM);
	usleep(*(unsigned *)arg);
	__atomic_sub_fetch(&at_once, 1, __ATOMIC_SEQ_CST);
	add_one(&made);
}

static void blocks(void *arg, void *result)
{
	unsigned us;
	(void)result;

	memcpy(&us, arg, sizeof us);
	int status = coro_blocking(sleeps_for, &us);
	if (status == CORO_ECANCELED) {
		add_one(&canceled);
		return;
	}
	CHECK_EQ(status, CORO_OK);
	CHECK(coro_worker() >= 0);
	add_one(&done);
}

static coro_scheduler *with_threads(uint32_t workers, uint32_t flags, uint32_t threads)
{
	coro_options o = options(workers, flags);
	o.blocking_threads = threads;
	return start(&o);
}

TEST(block_calls_are_made_once_by_n_threads)
{
	for (uint32_t threads = 1; threads <= 8; threads *= 2) {
		coro_scheduler *s = with_threads(2, CORO_PAUSED, threads);
		unsigned us = 200;
		made = done = most_at_once = 0;
		for (int i = 0; i < 200; i++)
			spawn(s, blocks, &us, sizeof us);
		/* a call that is being made is not the end */
		CHECK_EQ(coro_scheduler_run(s), CORO_OK);
		CHECK_EQ(made, 200);
		CHECK_EQ(done, 200);
		CHECK(most_at_once >= 1 && most_at_once <= threads);
		finish(s);
	}
}

static void counts(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (int i = 0; i < 100; i++) {
		add_one(&done);
		coro_yield();
	}
}

static uint32_t release;

static void holds(void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&release, __ATOMIC_ACQUIRE))
		usleep(100);
}

static void held(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_blocking(holds, NULL), CORO_OK);
	add_one(&made);
}

/* One worker, which goes on during a blocking call. */
TEST(block_the_worker_goes_on)
{
	coro_scheduler *s = start_with(1, 0);

	spawn(s, held, NULL, 0);
	spawn(s, counts, NULL, 0);
	while (__atomic_load_n(&done, __ATOMIC_SEQ_CST) < 100)
		sleep_us(100);
	CHECK_EQ(__atomic_load_n(&made, __ATOMIC_SEQ_CST), 0);
	coro_blocked b;
	while (coro_scheduler_blocked(s, &b, 1) != 1)
		sleep_us(100);
	CHECK_EQ(b.waits, CORO_WAIT_BLOCKING);
	__atomic_store_n(&release, 1, __ATOMIC_RELEASE);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(made, 1);
	finish(s);
}

/* A cancel withdraws a call that has not begun, and waits for one that has. */
TEST(block_cancel)
{
	coro_scheduler *s = with_threads(2, 0, 1);
	unsigned us = 1;

	spawn(s, held, NULL, 0);
	coro_blocked b;
	while (coro_scheduler_blocked(s, &b, 1) != 1)
		sleep_us(100);
	for (int i = 0; i < 100; i++)
		spawn(s, blocks, &us, sizeof us);
	until_waiting(s, 101);
	CHECK_EQ(coro_cancel(b.handle), CORO_OK);
	pthread_t t;
	thread_start(&t, (void *(*)(void *))(void *)coro_scheduler_destroy, s);
	while (__atomic_load_n(&canceled, __ATOMIC_SEQ_CST) < 100)
		sleep_us(100);
	CHECK_EQ(__atomic_load_n(&made, __ATOMIC_SEQ_CST), 0);
	__atomic_store_n(&release, 1, __ATOMIC_RELEASE);
	thread_join(t);
	CHECK_EQ(made, 1);
	CHECK_EQ(done, 0);
}

static void refused(void *arg, void *result)
{
	unsigned us = 1;
	(void)arg;
	(void)result;

	CHECK_EQ(coro_blocking(NULL, NULL), CORO_EINVAL);
	fail_thread = 0;
	CHECK_EQ(coro_blocking(sleeps_for, &us), CORO_EAGAIN);
	fail_thread = 0;
	CHECK_EQ(coro_thread_begin(), CORO_EAGAIN);
	CHECK_EQ(coro_thread_end(), CORO_EPERM);
	fail_thread = -1;
	CHECK_EQ(coro_blocking(sleeps_for, &us), CORO_OK);
	CHECK_EQ(coro_thread_begin(), CORO_OK);
	CHECK_EQ(coro_thread_end(), CORO_OK);
	CHECK_EQ(coro_cancel(coro_self()), CORO_OK);
	CHECK_EQ(coro_blocking(sleeps_for, &us), CORO_ECANCELED);
	CHECK_EQ(coro_thread_begin(), CORO_ECANCELED);
	add_one(&done);
}

TEST(block_refusals)
{
	coro_scheduler *s = start_with(1, 0);

	CHECK_EQ(coro_blocking(sleeps_for, NULL), CORO_EPERM);
	CHECK_EQ(coro_thread_begin(), CORO_EPERM);
	CHECK_EQ(coro_thread_end(), CORO_EPERM);
	spawn(s, refused, NULL, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(done, 1);
	CHECK_EQ(made, 1);
	finish(s);
}

static void deferred(void *arg)
{
	(void)arg;
	CHECK(coro_worker() >= 0); /* wherever the body has ended */
	add_one(&made);
}

static void rides(void *arg, void *result)
{
	uint64_t i, seed;
	double d = 1.5;
	(void)result;

	memcpy(&i, arg, 8);
	seed = i + 1;
	CHECK_EQ(coro_defer(deferred, NULL), CORO_OK);
	for (int k = 0; k < 20; k++) {
		CHECK_EQ(coro_thread_begin(), CORO_OK);
		CHECK_EQ(coro_worker(), -1);
		CHECK_EQ(coro_self(), 0);
		CHECK_EQ(coro_park(), CORO_EPERM);
		CHECK_EQ(coro_thread_begin(), CORO_EPERM);
		usleep((unsigned)(rnd(&seed) % 100));
		d *= 1.0001;
		if (k == 19 && i % 2)
			break; /* the coroutine ends on its thread */
		CHECK_EQ(coro_thread_end(), CORO_OK);
		CHECK(coro_worker() >= 0);
		CHECK_EQ(coro_yield(), CORO_OK);
	}
	CHECK(d > 1.5);
	add_one(&done);
}

TEST(block_coroutines_on_threads_of_their_own)
{
	for (uint32_t workers = 1; workers <= 3; workers++) {
		coro_scheduler *s = with_threads(workers, workers == 2 ? CORO_PAUSED : 0, 5);
		made = done = 0;
		for (uint64_t i = 0; i < 60; i++)
			spawn(s, rides, &i, 8);
		CHECK_EQ(workers == 2 ? coro_scheduler_run(s) : coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(done, 60);
		CHECK_EQ(made, 60);
		finish(s);
	}
}

static void woken_meanwhile(void *arg, void *result)
{
	(void)arg;
	(void)result;
	coro_handle me = coro_self();
	for (int i = 0; i < 100; i++) {
		CHECK_EQ(coro_thread_begin(), CORO_OK);
		CHECK_EQ(coro_wake(me), CORO_OK);
		CHECK_EQ(coro_thread_end(), CORO_OK);
		CHECK_EQ(coro_park(), CORO_OK); /* the permit is still there */
	}
	add_one(&done);
}

TEST(block_wakes_while_away_are_kept)
{
	coro_scheduler *s = start_with(2, 0);

	for (int i = 0; i < 10; i++)
		spawn(s, woken_meanwhile, NULL, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(done, 10);
	finish(s);
}

/* ----------------------------------------------------------------------------- threads that end */

static void blocks_again(void *arg, void *result)
{
	uint64_t seed, n;
	(void)result;

	memcpy(&seed, arg, 8);
	for (n = scaled(500); n; n--) {
		unsigned us = (unsigned)(rnd(&seed) % 20);
		CHECK_EQ(coro_blocking(sleeps_for, &us), CORO_OK);
		if (rnd(&seed) % 4 == 0)
			CHECK_EQ(coro_sleep(rnd(&seed) % 100000), CORO_OK);
	}
	add_one(&done);
}

/* An idle thread ends, or gets a call, or is told to end together with the scheduler: exactly one
 * of these. */
TEST(block_idle_threads_end)
{
	for (uint64_t idle = 0; idle <= 20000; idle += 10000) {
		coro_scheduler *s = with_threads(2, 0, 4);
		coroi_blocking_pool(s)->idle_ns = idle;
		done = made = 0;
		for (uint64_t i = 1; i <= 8; i++)
			spawn(s, blocks_again, &i, 8);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(done, 8);
		CHECK_EQ(made, 8 * scaled(500));
		for (uint32_t left = 1; left;) {
			coroi_lock(&coroi_blocking_pool(s)->lock);
			left = coroi_blocking_pool(s)->threads;
			coroi_unlock(&coroi_blocking_pool(s)->lock);
			sched_yield();
		}
		CHECK(!coroi_blocking_pool(s)->idle);
		finish(s);
	}
}

static void *closes_pool(void *arg)
{
	coroi_services_close(arg);
	return NULL;
}

/* A thread returns from its call while all threads are told to end. */
TEST(block_a_thread_ends_after_its_call)
{
	coro_scheduler *s = with_threads(1, 0, 1);
	pthread_t t;

	spawn(s, held, NULL, 0);
	until_waiting(s, 1);
	thread_start(&t, closes_pool, s);
	for (bool closing = false; !closing;) {
		coroi_lock(&coroi_blocking_pool(s)->lock);
		closing = coroi_blocking_pool(s)->closing;
		coroi_unlock(&coroi_blocking_pool(s)->lock);
		sched_yield();
	}
	__atomic_store_n(&release, 1, __ATOMIC_RELEASE);
	thread_join(t);
	CHECK_EQ(coroi_blocking_pool(s)->threads, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(made, 1);
	finish(s);
}

static void refused_beside_one(void *arg, void *result)
{
	unsigned us = 1;
	(void)arg;
	(void)result;

	fail_thread = 0;
	CHECK_EQ(coro_blocking(sleeps_for, &us), CORO_OK);
	CHECK_EQ(fail_thread, -1);
	add_one(&done);
}

/* There is no second thread: the first one makes this call, too. */
TEST(block_by_the_threads_that_there_are)
{
	coro_scheduler *s = with_threads(1, 0, 2);

	spawn(s, held, NULL, 0);
	until_waiting(s, 1);
	spawn(s, refused_beside_one, NULL, 0);
	/* and the thread has not come for another call yet */
	for (bool queued = false; !queued;) {
		coroi_lock(&coroi_blocking_pool(s)->lock);
		queued = coroi_blocking_pool(s)->queue.first != NULL;
		coroi_unlock(&coroi_blocking_pool(s)->lock);
		sched_yield();
	}
	__atomic_store_n(&release, 1, __ATOMIC_RELEASE);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(done, 1);
	finish(s);
}
