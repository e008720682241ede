/* chan.c - values through channels: between two coroutines on one worker, on two, and with Go on
 * the other side. */
#include "cbody.h"

static struct cb_chan run;
static coro_chan *channel[2]; /* with `pair` there and back, or what is selected from */
static coro_latch ended;
static int64_t start_ns;

static void sent(coro_chan *c, int64_t value)
{
	cb_fail(coro_chan_send(c, &value, CORO_FOREVER));
}

static void received(coro_chan *c, int64_t want)
{
	int64_t value = -1;

	cb_fail(coro_chan_recv(c, &value, CORO_FOREVER));
	if (value != want)
		cb_fail(CORO_EINVAL);
}

static void selected(int64_t want)
{
	int64_t value = -1;
	coro_case cases[2] = {{.chan = channel[0], .recv = &value},
			      {.chan = channel[1], .recv = &value}};

	if (coro_select(cases, 2, CORO_FOREVER) != (want & 1) || value != want)
		cb_fail(CORO_EINVAL);
}

static void sender(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (int64_t i = 0; i <= run.n; i++) {
		if (i == 1)
			start_ns = cb_now_ns(); /* the first one has found both sides started */
		sent(channel[run.kind == CB_SELECT ? i & 1 : 0], i);
		if (run.kind == CB_PAIR)
			received(channel[1], i);
	}
	cb_fail(coro_latch_add(&ended, -1));
}

static void receiver(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (int64_t i = 0; i <= run.n; i++) {
		if (run.kind == CB_SELECT)
			selected(i);
		else
			received(channel[0], i);
		if (run.kind == CB_PAIR)
			sent(channel[1], i);
	}
	cb_fail(coro_latch_add(&ended, -1));
}

void cb_chan_start(void *arg, void *result)
{
	coro_attr at = {.size = sizeof at, .worker = 1};

	run = *(struct cb_chan *)arg;
	cb_fail(coro_pin(0)); /* what is bound belongs to worker 0 */
	cb_fail(coro_latch_init(&ended, 2, 0));
	for (int i = 0; i < 2; i++)
		cb_fail(coro_chan_new(&channel[i], sizeof(int64_t), run.capacity, run.flags));
	cb_fail(coro_spawn_attr(&at, sender, NULL, 0, NULL));
	at.worker = run.receiver + 1;
	cb_fail(coro_spawn_attr(&at, receiver, NULL, 0, NULL));
	cb_fail(coro_latch_wait(&ended, CORO_FOREVER));
	*(int64_t *)result = cb_now_ns() - start_ns;
	for (int i = 0; i < 2; i++)
		cb_fail(coro_chan_free(channel[i]));
}

void cb_chan_send(void *arg, void *result)
{
	const struct cb_flow a = *(struct cb_flow *)arg;
	uint64_t next = coro_now();

	(void)result;
	for (int64_t i = 0; i < a.n; i++) {
		if (!a.timed) {
			sent((coro_chan *)a.channel, i);
			continue;
		}
		cb_fail(coro_sleep_until(next += (uint64_t)a.pause_ns));
		sent((coro_chan *)a.channel, cb_now_ns());
	}
}

void cb_chan_recv(void *arg, void *result)
{
	const struct cb_flow a = *(struct cb_flow *)arg;
	int64_t value = -1;

	(void)result;
	for (int64_t i = 0; i < a.n; i++) {
		if (!a.timed) {
			received((coro_chan *)a.channel, i);
			continue;
		}
		cb_fail(coro_chan_recv((coro_chan *)a.channel, &value, CORO_FOREVER));
		cb_waits[i % CB_WAITS] = cb_now_ns() - value;
	}
}
