/* t_coalesce.c - a receiver that spins at a channel lets values come together, where they do. */
#include "test.h"

#include "sync/chan.h"
#include "kernel/idle.h"

static coro_chan *chan;
static uint64_t sent, received;
static unsigned at_once; /* how many values come during a look */

static void some_come(void)
{
	for (unsigned i = 0; i < at_once; i++) {
		CHECK_EQ(coro_chan_send(chan, &sent, 0), CORO_OK);
		sent++;
	}
}

static void spins_once(void)
{
	uint64_t value;

	coroi_self()->spin.ns = COROI_SPIN_NS; /* as if spinning had paid */
	do {
		CHECK_EQ(coro_chan_recv(chan, &value, CORO_FOREVER), CORO_OK);
		CHECK_EQ(value, received);
		received++;
	} while (received < sent);
}

static void spins(void *arg, void *result)
{
	(void)arg;
	(void)result;

	meanwhile = some_come;
	/* only one value comes: coalesce half as often each time */
	for (unsigned most = 1, i = 0; i < 8; i++) {
		at_once = 1;
		spins_once();
		CHECK_EQ(chan->coalescing.most, most);
		for (unsigned left = most; left; left--) {
			CHECK_EQ(chan->coalescing.skips, left);
			spins_once();
		}
		CHECK_EQ(chan->coalescing.skips, 0);
		most = 2 * most + 1 < 63 ? 2 * most + 1 : 63;
	}
	at_once = 3;
	for (unsigned i = 0; i < 4; i++) { /* several values come: coalesce each time */
		spins_once();
		CHECK_EQ(chan->coalescing.most, 0);
		CHECK_EQ(chan->coalescing.skips, 0);
	}
	meanwhile = NULL;
}

TEST(coalesce_as_long_as_it_pays)
{
	coro_scheduler *s = start_with(1, 0);

	sent = received = 0;
	CHECK_EQ(coro_chan_new(&chan, 8, 64, 0), CORO_OK);
	spawn(s, spins, NULL, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(received, sent);
	CHECK(received > 200);
	CHECK_EQ(coro_chan_free(chan), CORO_OK);
	finish(s);
}
