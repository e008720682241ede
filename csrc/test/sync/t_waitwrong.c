/*
 * t_waitwrong.c - waiting at what is gone, or is not to be waited at, and waits whose end is an
 * error: each says so, and nothing is lost. What needs no wait: t_errors.c; who may not wait:
 * t_sync.c, t_manual.c, t_nowait.c.
 */
#include "test.h"

#include "sync/chan.h"

#include <string.h>

static uint64_t done;

static void run(coro_scheduler *s, const coro_attr *attr, coro_fn fn)
{
	done = 0;
	CHECK_EQ(coro_scheduler_spawn(s, attr, fn, NULL, 0, NULL), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(seen(&done), 1);
	finish(s);
}

/* --------------------------------------------------------------------------------- what is
 * destroyed */

static coro_mutex mutex;
static coro_cond cond;

static void waits_without_a_mutex(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_mutex_lock(&mutex, CORO_FOREVER), CORO_OK);
	CHECK_EQ(coro_cond_wait(&cond, &mutex, CORO_FOREVER), CORO_EINVAL);
	CHECK_EQ(coro_mutex_unlock(&mutex), CORO_EINVAL);
	add_one(&done);
}

/* The mutex goes while somebody waits at the condition, which has given it back: there is nothing
 * to have again. */
TEST(waits_at_a_condition_whose_mutex_is_destroyed)
{
	coro_scheduler *s = start_with(1, 0);

	CHECK_EQ(coro_mutex_init(&mutex, 0), CORO_OK);
	CHECK_EQ(coro_cond_init(&cond, 0), CORO_OK);
	spawn(s, waits_without_a_mutex, NULL, 0);
	until_waiting(s, 1);
	CHECK_EQ(coro_mutex_destroy(&mutex), CORO_OK);
	CHECK_EQ(coro_cond_signal(&cond), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(seen(&done), 1);
	CHECK_EQ(coro_cond_destroy(&cond), CORO_OK);
	finish(s);
}

/* The permit is there before the cancel is seen, and the semaphore is gone by then: it has been
 * acquired. */
static coro_sem sem;
static coro_handle canceled;

static void acquires(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_sem_acquire(&sem, CORO_FOREVER), CORO_OK);
	CHECK_EQ(coro_park(), CORO_ECANCELED);
	add_one(&done);
}

static void cancels_releases_destroys(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_sem_init(&sem, 0, 0), CORO_OK);
	CHECK_EQ(coro_spawn_attr(JOINABLE(0), acquires, NULL, 0, &canceled), CORO_OK);
	CHECK_EQ(coro_yield(), CORO_OK);
	CHECK_EQ(coro_cancel(canceled), CORO_OK);
	CHECK_EQ(coro_sem_release(&sem, 1), CORO_OK);
	CHECK_EQ(coro_sem_destroy(&sem), CORO_OK);
	CHECK_EQ(coro_join(canceled, NULL, 0), CORO_OK);
}

TEST(waits_that_end_before_their_object)
{
	run(start_with(1, 0), NULL, cancels_releases_destroys);
}

static void uses_what_is_gone_at_home(void *arg, void *result)
{
	coro_sem sem;
	coro_chan *c;
	uint64_t value = 1;
	(void)arg;
	(void)result;

	CHECK_EQ(coro_sem_init(&sem, 1, CORO_HOME), CORO_OK);
	CHECK_EQ(coro_sem_acquire(&sem, CORO_FOREVER), CORO_OK);
	CHECK_EQ(coro_sem_destroy(&sem), CORO_OK);
	CHECK_EQ(coro_sem_acquire(&sem, CORO_FOREVER), CORO_EINVAL);
	CHECK_EQ(coro_sem_release(&sem, 1), CORO_EINVAL);
	CHECK_EQ(coro_sem_destroy(&sem), CORO_EINVAL);
	CHECK_EQ(coro_chan_new(&c, 8, 1, CORO_HOME), CORO_OK);
	CHECK_EQ(coro_chan_send(c, &value, CORO_FOREVER), CORO_OK);
	CHECK_EQ(coro_chan_free(c), CORO_OK);
	add_one(&done);
}

TEST(waits_at_what_is_gone_at_home)
{
	coro_attr first = on(1);
	run(start_with(1, 0), &first, uses_what_is_gone_at_home);
}

/* A channel is not freed under somebody who has come to wait at it, whether he is in its queue
 * already or still looks for a value. */
static coro_chan *chan;

static uint64_t refused;

static void frees_it(void)
{
	CHECK_EQ(coro_chan_free(chan), CORO_EBUSY);
	refused++;
}

static void receives_five(void *arg, void *result)
{
	uint64_t value = 0;
	(void)arg;
	(void)result;

	meanwhile = frees_it;
	CHECK_EQ(coro_chan_recv(chan, &value, CORO_FOREVER), CORO_OK);
	CHECK_EQ(value, 5);
}

TEST(waits_keep_a_channel_from_being_freed)
{
	coro_scheduler *s = start_with(1, 0);
	uint64_t five = 5;

	CHECK_EQ(coro_chan_new(&chan, 8, 4, 0), CORO_OK);
	spawn(s, receives_five, NULL, 0);
	until_waiting(s, 1);
	CHECK_EQ(refused, 2); /* as it looks at the channel, and then for its turn */
	frees_it();
	CHECK_EQ(coro_chan_send(chan, &five, CORO_FOREVER), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(coro_chan_free(chan), CORO_OK);
	finish(s);
}

/* What happens while somebody looks is seen. */
static void closes_it(void)
{
	meanwhile = NULL;
	CHECK_EQ(coro_chan_close(chan), CORO_OK);
}

static void looks_in_vain(void *arg, void *result)
{
	uint64_t value = 9;
	(void)arg;
	(void)result;

	for (int sends = 0; sends < 2; sends++) {
		CHECK_EQ(coro_chan_new(&chan, 8, 1, 0), CORO_OK);
		if (sends)
			CHECK_EQ(coro_chan_send(chan, &value, CORO_FOREVER), CORO_OK);
		meanwhile = closes_it;
		CHECK_EQ(sends ? coro_chan_send(chan, &value, CORO_FOREVER)
			       : coro_chan_recv(chan, &value, CORO_FOREVER),
			 CORO_ECLOSED);
		CHECK(!meanwhile);
		CHECK_EQ(value, 9);
		CHECK_EQ(coro_chan_free(chan), CORO_OK);
	}
	add_one(&done);
}

TEST(waits_at_a_channel_that_is_closed_meanwhile)
{
	run(start_with(1, 0), NULL, looks_in_vain);
}

/* ----------------------------------------------------------------------------- by dense
 * coroutines */

static const coro_attr dense = {.size = sizeof(coro_attr), .flags = CORO_DENSE};

static coro_scheduler *start_dense(void)
{
	coro_options o = {.size = sizeof o, .workers = 1, .shared_stacks = 2};
	return start(&o);
}

static void is_not_called(void *arg)
{
	(void)arg;
	CHECK(!"called with a place that others do not see");
}

/* On a stack of its own, what lies on the shared one is still hidden; what lies there is not. */
static void gives_away(void *arg)
{
	coro_sem on_top;
	coro_sem *below = arg;

	CHECK_EQ(coro_blocking(is_not_called, below), CORO_EINVAL);
	CHECK_EQ(coro_sem_acquire(below, CORO_FOREVER), CORO_EINVAL);
	CHECK_EQ(coro_sem_init(&on_top, 0, 0), CORO_OK);
	CHECK_EQ(coro_sem_acquire(&on_top, coro_now() + 1000), CORO_ETIMEDOUT);
	CHECK_EQ(coro_sem_destroy(&on_top), CORO_OK);
}

static void calls_deep(void *arg, void *result)
{
	coro_sem sem;
	(void)arg;
	(void)result;

	memset(&sem, 0, sizeof sem);
	CHECK_EQ(coro_call_on_stack(64 << 10, gives_away, &sem), CORO_OK);
	add_one(&done);
}

TEST(waits_of_dense_ones_on_a_deeper_stack)
{
	run(start_dense(), &dense, calls_deep);
}

/* A select that ends because its channel is closed writes nothing where it was to receive. */
static coro_chan *ways[2];

static void selects_until_closed(void *arg, void *result)
{
	uint64_t got = 11;
	coro_case cases[2] = {{.chan = ways[0], .recv = &got}, {.chan = ways[1], .recv = &got}};
	(void)arg;
	(void)result;

	CHECK_EQ(coro_select(cases, 2, CORO_FOREVER), 1);
	CHECK_EQ(cases[1].status, CORO_ECLOSED);
	CHECK_EQ(got, 11);
	add_one(&done);
}

TEST(waits_of_a_select_end_by_a_close)
{
	for (int k = 0; k < 2; k++) {
		coro_scheduler *s = start_dense();
		done = 0;
		for (int i = 0; i < 2; i++)
			CHECK_EQ(coro_chan_new(&ways[i], 8, 0, 0), CORO_OK);
		CHECK_EQ(coro_scheduler_spawn(s, k ? &dense : NULL, selects_until_closed, NULL, 0,
					      NULL),
			 CORO_OK);
		until_waiting(s, 1);
		CHECK_EQ(coro_chan_close(ways[1]), CORO_OK);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(seen(&done), 1);
		for (int i = 0; i < 2; i++)
			CHECK_EQ(coro_chan_free(ways[i]), CORO_OK);
		finish(s);
	}
}

/* -------------------------------------------------------------------------------------- other
 * waits */

static void ends(void *arg, void *result)
{
	(void)arg;
	*(uint64_t *)result = 3;
}

/* Whoever may not wait can join what has ended. */
static void joins_in_a_section(void *arg, void *result)
{
	coro_handle h;
	uint64_t got = 0;
	(void)arg;
	(void)result;

	CHECK_EQ(coro_spawn_attr(JOINABLE(8), ends, NULL, 0, &h), CORO_OK);
	CHECK_EQ(coro_nowait_begin("here"), CORO_OK);
	CHECK_EQ(coro_join_until(h, &got, 8, 0), CORO_ETIMEDOUT);
	CHECK_EQ(coro_nowait_end(), CORO_OK);
	CHECK_EQ(coro_yield(), CORO_OK);
	CHECK_EQ(coro_nowait_begin("here"), CORO_OK);
	CHECK_EQ(coro_join(h, &got, 8), CORO_OK);
	CHECK_EQ(coro_nowait_end(), CORO_OK);
	CHECK_EQ(got, 3);
	CHECK_EQ(coro_join(h, &got, 8), CORO_ESTALE);
	add_one(&done);
}

TEST(waits_that_are_none_in_a_section)
{
	run(start_with(1, 0), NULL, joins_in_a_section);
}

/* Whoever is canceled while a permit is on its way has the permit first, whether he waits for it or
 * is about to. */
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

/* A thread's deadline may be further away than the kernel can be told. */
static void *waits_for_ages(void *arg)
{
	uint64_t value = 0;
	(void)arg;

	CHECK_EQ(coro_chan_recv(chan, &value, CORO_FOREVER - 1), CORO_OK);
	CHECK_EQ(value, 5);
	return NULL;
}

TEST(waits_of_a_thread_for_ages)
{
	uint64_t five = 5;
	pthread_t t;

	CHECK_EQ(coro_chan_new(&chan, 8, 0, 0), CORO_OK);
	thread_start(&t, waits_for_ages, NULL);
	CHECK_EQ(coro_chan_send(chan, &five, CORO_FOREVER), CORO_OK);
	thread_join(t);
	thread_start(&t, waits_for_ages, NULL);
	for (bool waits = false; !waits;) {
		CHECK_EQ(coroi_object_enter(&chan->object), CORO_OK);
		waits = chan->receivers.first;
		coroi_object_leave(&chan->object);
	}
	CHECK_EQ(coro_chan_send(chan, &five, CORO_FOREVER), CORO_OK);
	thread_join(t);
	CHECK_EQ(coro_chan_free(chan), CORO_OK);
}

/* ------------------------------------------------------------------------- between two
 * schedulers */

#define ROUNDS 300

static coro_chan *there, *back;

static void asks(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (uint64_t i = 0, got; i < ROUNDS; i++) {
		CHECK_EQ(coro_chan_send(there, &i, CORO_FOREVER), CORO_OK);
		CHECK_EQ(coro_chan_recv(back, &got, CORO_FOREVER), CORO_OK);
		CHECK_EQ(got, i + 1);
		CHECK_EQ(coro_sem_release(&sem, 1), CORO_OK);
	}
	add_one(&done);
}

static void answers(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (uint64_t i = 0, got; i < ROUNDS; i++) {
		CHECK_EQ(coro_chan_recv(there, &got, CORO_FOREVER), CORO_OK);
		CHECK_EQ(got, i);
		got++;
		CHECK_EQ(coro_chan_send(back, &got, CORO_FOREVER), CORO_OK);
		CHECK_EQ(coro_sem_acquire(&sem, CORO_FOREVER), CORO_OK);
	}
	add_one(&done);
}

static coro_handle asked;

static void is_joined(void *arg, void *result)
{
	(void)arg;
	CHECK_EQ(coro_park(), CORO_OK);
	*(uint64_t *)result = 8;
}

static void joins_the_others(void *arg, void *result)
{
	uint64_t got = 0;
	(void)arg;
	(void)result;

	CHECK_EQ(coro_join(asked, &got, 8), CORO_OK);
	CHECK_EQ(got, 8);
	add_one(&done);
}

/* Whoever ends a wait may belong to another scheduler than who waits. */
TEST(waits_between_two_schedulers)
{
	coro_scheduler *a = start_with(1, 0), *b = start_with(1, 0);

	done = 0;
	CHECK_EQ(coro_sem_init(&sem, 0, 0), CORO_OK);
	CHECK_EQ(coro_chan_new(&there, 8, 0, 0), CORO_OK);
	CHECK_EQ(coro_chan_new(&back, 8, 0, 0), CORO_OK);
	spawn(a, asks, NULL, 0);
	spawn(b, answers, NULL, 0);
	while (seen(&done) < 2)
		sleep_us(100);
	CHECK_EQ(coro_chan_free(there), CORO_OK);
	CHECK_EQ(coro_chan_free(back), CORO_OK);
	CHECK_EQ(coro_sem_destroy(&sem), CORO_OK);

	CHECK_EQ(coro_scheduler_spawn(a, JOINABLE(8), is_joined, NULL, 0, &asked), CORO_OK);
	spawn(b, joins_the_others, NULL, 0);
	until_waiting(a, 1);
	until_waiting(b, 1);
	CHECK_EQ(coro_wake(asked), CORO_OK);
	while (seen(&done) < 3)
		sleep_us(100);
	finish(a);
	finish(b);
}
