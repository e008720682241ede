/*
 * t_chan.c - channels and select.
 */
#include "test.h"

#include <string.h>

static uint64_t received, sum, done;
static coro_chan *chan;

static void sends(void *arg, void *result)
{
	uint64_t n;
	(void)result;

	memcpy(&n, arg, 8);
	for (uint64_t i = 1; i <= n; i++)
		CHECK_EQ(coro_chan_send(chan, &i, CORO_FOREVER), CORO_OK);
	if (__atomic_sub_fetch(&done, 1, __ATOMIC_ACQ_REL) == 0)
		CHECK_EQ(coro_chan_close(chan), CORO_OK);
}

static void receives(void *arg, void *result)
{
	uint64_t v, n = 0, all = 0;
	int status;
	(void)arg;
	(void)result;

	while ((status = coro_chan_recv(chan, &v, CORO_FOREVER)) == CORO_OK) {
		n++;
		all += v;
	}
	CHECK_EQ(status, CORO_ECLOSED);
	__atomic_add_fetch(&received, n, __ATOMIC_RELAXED);
	__atomic_add_fetch(&sum, all, __ATOMIC_RELAXED);
}

static void pass(uint32_t workers, size_t capacity, int senders, int receivers, uint64_t n)
{
	coro_scheduler *s = start_with(workers, CORO_PAUSED);

	CHECK_EQ(coro_chan_new(&chan, 8, capacity, 0), CORO_OK);
	received = sum = 0;
	done = (uint64_t)senders;
	for (int i = 0; i < senders; i++)
		spawn(s, sends, &n, 8);
	for (int i = 0; i < receivers; i++)
		spawn(s, receives, NULL, 0);
	uint64_t began = now_ns();
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	report("%u workers, capacity %zu, %d to %d: %.1f ns a value", workers, capacity, senders, receivers,
	       (double)(now_ns() - began) / (double)(n * (uint64_t)senders));
	CHECK_EQ(received, n * (uint64_t)senders);
	CHECK_EQ(sum, n * (n + 1) / 2 * (uint64_t)senders);
	CHECK_EQ(coro_chan_free(chan), CORO_OK);
	finish(s);
}

TEST(chan_values_come_once_and_in_order)
{
	static const size_t capacity[] = {0, 1, 3, 64};
	for (uint32_t workers = 1; workers <= 3; workers++)
		for (unsigned i = 0; i < sizeof capacity / sizeof *capacity; i++) {
			pass(workers, capacity[i], 1, 1, scaled(100000));
			pass(workers, capacity[i], 3, 5, scaled(20000));
		}
}
