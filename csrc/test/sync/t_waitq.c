/*
 * t_waitq.c - waits of threads, and waits between two schedulers.
 */
#include "test.h"

#include "sync/chan.h"
#include "sync/waitq.h"

/* -------------------------------------------------------------------------------------- threads */

static uint32_t event;
static uint64_t asked;

static bool keeps(void *arg)
{
	add_one(arg);
	return false; /* the event is committed */
}

static void *waits_as_thread(void *arg)
{
	CHECK_EQ(coroi_thread_wait(&event, coro_now() + 1, keeps, arg), CORO_OK);
	return NULL;
}

/* A thread whose deadline has come asks once, and then waits for the committed event. */
TEST(waits_of_a_thread_end_by_a_committed_event)
{
	pthread_t t;

	thread_start(&t, waits_as_thread, &asked);
	while (__atomic_load_n(&asked, __ATOMIC_SEQ_CST) == 0)
		sleep_us(50);
	sleep_us(200);
	at_xchg(&event, 1);
	coroi_futex_wake(&event, 1);
	thread_join(t);
	CHECK_EQ(asked, 1);
}

static coro_chan *chan;

/* A deadline of a thread may be later than the kernel's clock can express. */
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

/* ------------------------------------------------------------------------------- two schedulers */

static uint64_t done;
static coro_sem sem;

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

/* The caller that ends a wait may belong to another scheduler than the waiter. */
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
