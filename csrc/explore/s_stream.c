/*
 * s_stream.c - scenarios of streams (sync/stream.h): a coroutine at one end, threads at the other.
 */
#include "world.h"

#include "sync/stream.h"

#define CODE   (-9)
#define BIT(n) (UINT32_C(1) << (n))

static struct {
	coro_stream *own, *other; /* the coroutine's end, and that of the threads */
	coro_chan *chan;
	coro_handle user;
	unsigned got, values, ended;
} g;

/* What a schedule has come to. */
enum { FIRST, SECOND, CANCELED };

static void open_stream(size_t bytes, coro_fn fn)
{
	world_region(&g, sizeof g);
	EX_CHECK(coro_stream_new(&g.own, &g.other, bytes) == CORO_OK);
	/* The rings are there: memory is put back with all the rest. */
	EX_CHECK(coro_stream_write(g.own, "x", 1, 0) == 1);
	EX_CHECK(coro_stream_write(g.other, "x", 1, 0) == 1);
	char c;
	EX_CHECK(coro_stream_read(g.own, &c, 1, 0) == 1);
	EX_CHECK(coro_stream_read(g.other, &c, 1, 0) == 1);
	EX_CHECK(coro_scheduler_spawn(sched, NULL, fn, NULL, 0, &g.user) == CORO_OK);
}

/* read_one - read the next byte: 'a', 'b', ... Returns what the call does. */
static int64_t read_one(uint64_t deadline)
{
	char c = 0;
	int64_t n = coro_stream_read(g.own, &c, 1, deadline);

	if (n == 1)
		EX_CHECK(c == (char)('a' + g.got++));
	return n;
}

/* write_bytes - write two, and the end unless arg is there. */
static void write_bytes(void *arg)
{
	world_pushing(true);
	for (char c = 'a'; c < 'c'; c++)
		EX_CHECK(coro_stream_write(g.other, &c, 1, 0) == 1);
	if (!arg)
		EX_CHECK(coro_stream_close(g.other, CORO_STREAM_OUT, CODE) == CORO_OK);
	world_pushing(false);
}

/* Two bytes come, and an end with a code. */

static void reads_all(void *arg, void *result)
{
	int64_t n;
	(void)arg;
	(void)result;

	while ((n = read_one(CORO_FOREVER)) == 1)
		;
	EX_CHECK(n == CODE && g.got == 2);
	g.ended++;
}

static void setup_reads(void)
{
	open_stream(2, reads_all);
	ex_thread("writer", write_bytes, NULL);
}

static void check_ended(void)
{
	EX_CHECK(g.ended == 1);
}

static const struct ex_scenario stream_reads = {
	.name = "stream-reads",
	.about = "a coroutine reads what a thread writes, until the thread closes with a code",
	.setup = setup_reads,
	.check = check_ended,
	.workers = 1,
};

/* The coroutine writes more than there is room for, while a thread reads. */

static void writes_all(void *arg, void *result)
{
	(void)arg;
	(void)result;
	EX_CHECK(coro_stream_write(g.own, "abc", 3, CORO_FOREVER) == 3);
	g.ended++;
}

static void read_bytes(void *arg)
{
	char c[3];
	(void)arg;

	world_pushing(true);
	for (int64_t n; g.got < 3; g.got += (unsigned)n) {
		n = coro_stream_read(g.other, c, 3, CORO_FOREVER);
		EX_CHECK(n > 0);
		for (int64_t i = 0; i < n; i++)
			EX_CHECK(c[i] == (char)('a' + g.got + i));
	}
	world_pushing(false);
}

static void setup_writes(void)
{
	open_stream(1, writes_all);
	ex_thread("reader", read_bytes, NULL);
}

static const struct ex_scenario stream_writes = {
	.name = "stream-writes",
	.about = "a coroutine writes three bytes to a stream of one byte, which a thread reads",
	.setup = setup_writes,
	.check = check_ended,
	.workers = 1,
};

/* A cancel. What a read has not taken is still there. */

static void reads_unless_canceled(void *arg, void *result)
{
	int64_t n = 1;
	(void)arg;
	(void)result;

	while (g.got < 2 && n == 1) {
		n = read_one(CORO_FOREVER);
		EX_CHECK(n == 1 || n == CORO_ECANCELED);
		ex_reached(n == 1 ? FIRST : CANCELED);
	}
	g.ended++;
}

static void cancel_it(void *arg)
{
	(void)arg;
	world_pushing(true);
	int status = coro_cancel(g.user);
	EX_CHECK(status == CORO_OK || status == CORO_ESTALE);
	world_pushing(false);
}

static void setup_cancel(void)
{
	open_stream(2, reads_unless_canceled);
	ex_thread("writer", write_bytes, &g);
	ex_thread("cancel", cancel_it, NULL);
}

static void check_cancel(void)
{
	const struct coroi_pipe *p = g.own->in;
	uint64_t left = (p->writer.at >> COROI_PIPE_SHIFT) - (p->reader.at >> COROI_PIPE_SHIFT);

	EX_CHECK(g.got + left == 2 && !p->readers.first && !p->reader.used);
}

static const struct ex_scenario stream_cancel = {
	.name = "stream-cancel",
	.about = "a coroutine reads two bytes, and is canceled meanwhile",
	.setup = setup_cancel,
	.check = check_cancel,
	.workers = 1,
	.reach = BIT(FIRST) | BIT(CANCELED),
};

/* Nothing but the bytes ends the waits. */

static void setup_waits(void)
{
	open_stream(2, reads_unless_canceled);
	ex_thread("writer", write_bytes, &g);
}

static void check_waits(void)
{
	EX_CHECK(g.ended == 1 && g.got == 2);
}

static const struct ex_scenario stream_waits = {
	.name = "stream-waits",
	.about = "a coroutine reads two bytes that a thread writes, and no end comes",
	.setup = setup_waits,
	.check = check_waits,
	.workers = 1,
	.reach = BIT(FIRST),
};

/* A select from the stream and a channel. A byte and a value come. */

static void selects_both(void *arg, void *result)
{
	uint64_t value = 0;
	coro_case k[2] = {{.stream = g.own, .direction = CORO_STREAM_IN},
			  {.chan = g.chan, .recv = &value}};
	(void)arg;
	(void)result;

	int i = coro_select(k, 2, CORO_FOREVER);
	EX_CHECK(i == 0 || i == 1);
	EX_CHECK(k[i].status == CORO_OK);
	ex_reached((unsigned)i);
	/* no event is left over, which would end the sleep */
	uint64_t until = coroi_now_ns() + 100000;
	EX_CHECK(coro_sleep_until(until) == CORO_OK && coroi_now_ns() >= until);
	if (i == 0)
		EX_CHECK(coro_chan_recv(g.chan, &value, CORO_FOREVER) == CORO_OK);
	EX_CHECK(value == 7);
	EX_CHECK(read_one(CORO_FOREVER) == 1 && read_one(CORO_FOREVER) == 1);
	EX_CHECK(read_one(CORO_FOREVER) == CODE);
	g.ended++;
}

static void send_value(void *arg)
{
	uint64_t value = 7;

	(void)arg;
	world_pushing(true);
	EX_CHECK(coro_chan_send(g.chan, &value, 0) == CORO_OK);
	world_pushing(false);
}

static void setup_select(void)
{
	world_select_regions();
	open_stream(2, selects_both);
	EX_CHECK(coro_chan_new(&g.chan, sizeof(uint64_t), 1, 0) == CORO_OK);
	ex_thread("writer", write_bytes, NULL);
	ex_thread("value", send_value, NULL);
}

static const struct ex_scenario stream_select = {
	.name = "stream-select",
	.about = "a coroutine selects from a stream and a channel; bytes, an end and a value come",
	.setup = setup_select,
	.check = check_ended,
	.workers = 1,
	.reach = BIT(FIRST) | BIT(SECOND),
};

const struct ex_scenario *const scenarios_stream[] = {
	&stream_reads, &stream_writes, &stream_cancel, &stream_waits, &stream_select, NULL,
};
