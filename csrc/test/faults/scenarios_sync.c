/* scenarios_sync.c - waits with deadlines at channels. */
#include "ledger.h"

/* ------------------------------------------------------------------------ channels */

static coro_chan *line;
static uint64_t sent, received;

static void passes(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (uint64_t i = 0, v = 0; i < 20; i++) {
		uint64_t until = coro_now() + 100000;
		int status = i % 2 ? coro_chan_send(line, &v, until)
				   : coro_chan_recv(line, &v, until);
		CHECK(status == CORO_OK || status == CORO_ETIMEDOUT);
		if (!status)
			count(i % 2 ? &sent : &received);
		CHECK_EQ(coro_pin(i % 2), CORO_OK);
	}
	count(&ran);
}

/* With deadlines, at a channel, from worker to worker. */
SCENARIO(waits)
{
	coro_scheduler *s = begin(2, 0, 0);
	if (!s)
		return;
	sent = received = 0;
	if (again(QUIET(coro_chan_new(&line, 8, 2, 0)), CORO_ENOMEM)) {
		for (int i = 0; i < 5; i++)
			outside(s, passes, NULL, 0);
		CHECK_EQ(QUIET(coro_scheduler_wait(s)), CORO_OK);
		CHECK_EQ(coro_chan_length(line), sent - received);
		CHECK_EQ(QUIET(coro_chan_free(line)), CORO_OK);
	}
	end(s);
}
