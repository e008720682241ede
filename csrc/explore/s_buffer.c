/*
 * s_buffer.c - scenarios of buffers (buffer/buffer.h): several threads that use one handle, and
 * what lies in the lists of a worker, of Go and of the depot.
 */
#include "world.h"

#include "buffer/buffer.h"

#include <string.h>

#define LARGER 200 /* bytes: of another class than the rest */
#define BIT(n) (UINT32_C(1) << (n))

static struct {
	coro_buffer b, second; /* handles that all threads have */
	unsigned freed, ended;
	struct coroi_free_buffers list; /* of Go */
} g;

/* What a schedule has come to. */
enum { PASSED, FREED, RESIZED, REFUSED, BUSY, SPILLED, TRADED };

static coro_buffer made(size_t bytes)
{
	coro_buffer b;

	EX_CHECK(coro_buffer_make_on(sched, bytes, &b) == CORO_OK);
	return b;
}

/* own - the caller alone has b: what it writes stays. */
static void own(coro_buffer b, unsigned char with)
{
	size_t n, again;
	unsigned char *at = coro_buffer_at(b, &n);

	EX_CHECK(at && n > 0);
	memset(at, with, n);
	EX_CHECK(coro_buffer_at(b, &again) == (void *)at && again == n);
	EX_CHECK(at[0] == with && at[n - 1] == with);
}

static void end(coro_buffer b)
{
	EX_CHECK(coro_buffer_free(b) == CORO_OK);
}

/* is_others - b was refused, since another thread was first. */
static void is_others(int status)
{
	EX_CHECK(status == CORO_ESTALE || status == CORO_EBUSY);
	if (status == CORO_EBUSY)
		ex_reached(BUSY);
}

/* has_freed - b is freed, unless another thread was first. */
static bool has_freed(coro_buffer b)
{
	int status = coro_buffer_free(b);

	if (status)
		is_others(status);
	return !status;
}

/* another - a buffer is made, owned and freed. */
static void another(size_t bytes, unsigned char with)
{
	coro_buffer b = made(bytes);

	own(b, with);
	end(b);
}

/* One passes the buffer, and has it then under a handle of its own. */
static void passes(void *arg)
{
	coro_buffer b = g.b;
	(void)arg;

	int status = coroi_buffers_pass(&b, 1);
	if (status) {
		is_others(status);
		return;
	}
	ex_reached(PASSED);
	EX_CHECK(b.id != g.b.id);
	own(b, 1);
	end(b);
	g.freed++;
}

/* One frees it, and makes another one, which is probably of the same descriptor. */
static void frees(void *arg)
{
	(void)arg;

	if (!has_freed(g.b))
		return;
	ex_reached(FREED);
	g.freed++;
	another(20, 2);
}

/* One resizes it: then it has other memory. */
static void resizes(void *arg)
{
	(void)arg;

	int status = coro_buffer_resize(g.b, LARGER);
	if (status)
		is_others(status);
	else
		ex_reached(RESIZED);
}

static void begin(unsigned descriptors, unsigned in_hand)
{
	world_region(&g, sizeof g);
	world_buffers(sched, descriptors, in_hand);
	end(made(LARGER)); /* no memory is allocated later */
	g.b = made(10);
	g.second = made(10);
}

static void check_owners(void)
{
	EX_CHECK(g.freed <= 1);
	EX_CHECK((coro_buffer_at(g.b, NULL) != NULL) == !g.freed);
	EX_CHECK(coro_buffer_at(g.second, NULL) != NULL);
	world_check_buffers(sched, &g.list);
}

static void setup_owners(void)
{
	begin(6, 0);
	ex_thread("pass", passes, NULL);
	ex_thread("free", frees, NULL);
	ex_thread("resize", resizes, NULL);
}

static const struct ex_scenario buffer_owners = {
	.name = "buffer-owners",
	.about = "three threads pass, free and resize one buffer by the same handle",
	.setup = setup_owners,
	.check = check_owners,
	.workers = 1,
	.raw = 1,
	.reach = BIT(PASSED) | BIT(FREED) | BIT(RESIZED) | BIT(BUSY),
};

/* Two buffers in a payload. What is not handed over is given back. */

static void sends_in_vain(void *arg)
{
	coro_buffer payload[2] = {g.b, g.second};
	(void)arg;

	int status = coroi_buffers_pass(payload, 3);
	if (status) {
		is_others(status);
		ex_reached(REFUSED);
		EX_CHECK(payload[1].id == g.second.id);
		return;
	}
	ex_reached(PASSED);
	own(payload[0], 3);
	own(payload[1], 4);
	coroi_buffers_unpass(payload, 3);
}

static void frees_second(void *arg)
{
	(void)arg;

	if (!has_freed(g.second))
		return;
	g.freed++;
	another(20, 5);
}

static void frees_first(void *arg)
{
	(void)arg;

	if (!has_freed(g.b))
		return;
	ex_reached(FREED);
	g.ended++;
}

static void check_back(void)
{
	EX_CHECK((coro_buffer_at(g.b, NULL) == NULL) == (g.ended == 1));
	EX_CHECK((coro_buffer_at(g.second, NULL) == NULL) == (g.freed == 1));
	world_check_buffers(sched, &g.list);
}

static void setup_back(void)
{
	begin(6, 0);
	ex_thread("send", sends_in_vain, NULL);
	ex_thread("first", frees_first, NULL);
	ex_thread("second", frees_second, NULL);
}

static const struct ex_scenario buffer_back = {
	.name = "buffer-back",
	.about = "a thread passes two buffers and takes them back; others free them meanwhile",
	.setup = setup_back,
	.check = check_back,
	.workers = 1,
	.raw = 1,
	.reach = BIT(PASSED) | BIT(FREED) | BIT(REFUSED),
};

/* The lists. A coroutine frees and makes some until its worker's list has spilled, and is empty.
 * A thread does what Go does with a list of its own. Another one has none. */

static void in_coroutine(void *arg, void *result)
{
	coro_buffer b[5];
	(void)arg;
	(void)result;

	end(g.b);
	end(g.second);
	ex_reached(SPILLED);
	for (unsigned i = 0; i < 5; i++) {
		EX_CHECK(coro_buffer_make(10, &b[i]) == CORO_OK);
		own(b[i], (unsigned char)i);
	}
	for (unsigned i = 0; i < 5; i++)
		end(b[i]);
	g.ended++;
}

static void by_go(void *arg)
{
	(void)arg;
	for (int i = 0; i < 2; i++) {
		uint32_t n = coroi_buffer_trade(0);
		struct coroi_descriptor *d = coroi_depot_take(0, &n), *last = d;
		EX_CHECK(d && n > 0);
		for (uint32_t k = 1; k < n; k++)
			last = last->next;
		EX_CHECK(!last->next);
		if (i) {
			ex_reached(TRADED);
			coroi_depot_give(d, 0, n);
			continue;
		}
		last->next = g.list.first;
		g.list.first = d;
		g.list.count += n;
	}
}

static void by_none(void *arg)
{
	(void)arg;
	another(30, 9);
}

static void setup_lists(void)
{
	begin(12, 4);
	EX_CHECK(coro_scheduler_spawn(sched, NULL, in_coroutine, NULL, 0, NULL) == CORO_OK);
	ex_thread("go", by_go, NULL);
	ex_thread("none", by_none, NULL);
}

static void check_lists(void)
{
	EX_CHECK(g.ended == 1);
	world_check_buffers(sched, &g.list);
}

static const struct ex_scenario buffer_lists = {
	.name = "buffer-lists",
	.about = "the lists of a worker and of Go trade with the depot, and a thread has none",
	.setup = setup_lists,
	.check = check_lists,
	.workers = 1,
	.reach = BIT(SPILLED) | BIT(TRADED),
};

/* A thread lists the buffers while another one makes some. */

static void makes(void *arg)
{
	(void)arg;
	for (int i = 0; i < 2; i++)
		end(made(30));
}

static void lists(void *arg)
{
	struct coroi_buffer_left left[8];
	(void)arg;

	size_t n = coroi_buffers_list(left, 8);
	EX_CHECK(n >= 2 && n <= 4); /* one may be listed that was freed meanwhile */
	for (size_t i = 0; i < n; i++)
		EX_CHECK(left[i].length == 10 || left[i].length == 30);
	if (n == 3)
		ex_reached(PASSED);
}

static void check_listed(void)
{
	world_check_buffers(sched, &g.list);
}

static void setup_listed(void)
{
	begin(6, 0);
	ex_thread("make", makes, NULL);
	ex_thread("list", lists, NULL);
}

static const struct ex_scenario buffer_listed = {
	.name = "buffer-listed",
	.about = "a thread lists the buffers that are not freed, while another one makes some",
	.setup = setup_listed,
	.check = check_listed,
	.workers = 1,
	.raw = 1,
	.reach = BIT(PASSED),
};

const struct ex_scenario *const scenarios_buffer[] = {
	&buffer_owners, &buffer_back, &buffer_lists, &buffer_listed, NULL,
};
