/*
 * s_fd_select.c - scenarios of coro_select with a descriptor and a channel.
 */
#include "s_fd.h"

#include "io/set.h"

/* A coroutine selects between a descriptor, whose last read was short, and a channel. A value and a
 * byte come. */
static struct {
	coro_chan *chan;
	unsigned values;
	bool begun;
} sel;

static void sleeps_out(void)
{
	/* no event is left over, which would end the sleep */
	uint64_t until = coroi_now_ns() + DEADLINE_NS;

	EX_CHECK(coro_sleep_until(until) == CORO_OK && coroi_now_ns() >= until);
}

static int selects(uint64_t *value)
{
	coro_case c[2] = {{.chan = sel.chan, .recv = value}, {.fd = g.fd, .direction = CORO_IN}};
	sel.begun = true;
	int i = coro_select(c, 2, CORO_FOREVER);

	EX_CHECK(!world_worker(0)->outside); /* nobody else waits for a descriptor */
	if (i >= 0) {
		ex_reached((unsigned)i);
		EX_CHECK(!c[i].status || (i && c[i].status == CORO_ECLOSED) ||
			 (i && c[i].status == CORO_ESTALE));
		return c[i].status ? c[i].status : i;
	}
	EX_CHECK(i == CORO_ECANCELED);
	ex_reached(2);
	return i;
}

static void selects_both(void *arg, void *result)
{
	uint64_t value = 0;
	int i = selects(&value);

	(void)arg;
	(void)result;
	sleeps_out();
	if (i)
		EX_CHECK(coro_chan_recv(sel.chan, &value, CORO_FOREVER) == CORO_OK);
	EX_CHECK(value == 7);
	sel.values++;
	read_one();
	g.ended++;
}

static void send_value(void *arg)
{
	uint64_t value = 7;

	(void)arg;
	world_pushing(true);
	EX_CHECK(coro_chan_send(sel.chan, &value, 0) == CORO_OK);
	world_pushing(false);
}

static void open_select(coro_fn fn)
{
	struct coroi_slot *p;

	open_fd(COROI_KIND_STREAM);
	world_select_regions();
	world_region(&sel, sizeof sel);
	EX_CHECK(coro_chan_new(&sel.chan, sizeof(uint64_t), 1, 0) == CORO_OK);
	EX_CHECK(coroi_fd_enter(g.fd, COROI_FD_REFERENCE, &p) == CORO_OK);
	p->drained = true;
	coroi_fd_leave(p, g.fd, COROI_FD_REFERENCE);
	spawn_at(0, false, fn, 0);
	ex_thread("peer", send_one, NULL);
}

static void setup_select(void)
{
	open_select(selects_both);
	ex_thread("value", send_value, NULL);
	ex_thread("look", look, NULL);
}

static void check_select(void)
{
	EX_CHECK(sel.values == 1);
	check_got(1, 1);
}

static const struct ex_scenario fd_select = {
	.name = "fd-select",
	.about = "a coroutine selects; a byte and a value come, and another thread looks",
	.setup = setup_select,
	.check = check_select,
	.workers = 1,
	.reach = BIT(WORLD_SLEPT) | BIT(WORLD_POLLED) | 3,
};

/* The value comes from a coroutine of the same worker, which wakes the other in the short way. */

static void sends_value(void *arg, void *result)
{
	uint64_t value = 7;

	(void)arg;
	(void)result;
	while (!sel.begun)
		EX_CHECK(coro_yield() == CORO_OK);
	EX_CHECK(coro_chan_send(sel.chan, &value, CORO_FOREVER) == CORO_OK);
	g.ended++;
}

static void setup_select_here(void)
{
	open_select(selects_both);
	spawn_at(0, false, sends_value, 0);
	ex_thread("look", look, NULL);
}

static void check_select_here(void)
{
	EX_CHECK(sel.values == 1);
	check_got(1, 2);
}

static const struct ex_scenario fd_select_here = {
	.name = "fd-select-here",
	.about = "fd-select, but the value is sent by a coroutine on the same worker",
	.setup = setup_select_here,
	.check = check_select_here,
	.workers = 1,
	.reach = BIT(WORLD_SLEPT) | 3,
};

static void selects_unless_canceled(void *arg, void *result)
{
	uint64_t value = 0;
	int i = selects(&value);
	char c;

	(void)arg;
	(void)result;
	sel.values += i == 0;
	if (i == 1 && coro_read(g.fd, &c, 1, CORO_FOREVER) == 1)
		g.got++;
	g.ended++;
}

static void setup_select_cancel(void)
{
	open_select(selects_unless_canceled);
	ex_thread("value", send_value, NULL);
	ex_thread("look", look, NULL);
	ex_thread("cancel", cancel, NULL);
}

static void check_select_cancel(void)
{
	EX_CHECK(g.got + world_unread(FD) == 1);
	EX_CHECK(sel.values + coro_chan_length(sel.chan) == 1);
	check_got(g.got, g.ended); /* one that is canceled before it begins does not run */
}

static const struct ex_scenario fd_select_cancel = {
	.name = "fd-select-cancel",
	.about = "a byte and a value come while the coroutine that selects is canceled",
	.setup = setup_select_cancel,
	.check = check_select_cancel,
	.workers = 1,
	.reach = BIT(WORLD_SLEPT) | BIT(WORLD_POLLED) | 7,
};

static void selects_till_closed(void *arg, void *result)
{
	uint64_t value = 0;
	int64_t n = 1;
	char c;

	(void)arg;
	(void)result;
	for (int i = 0; i >= 0 && n > 0;)
		if ((i = selects(&value)) == 0)
			sel.values++;
		else if (i == 1 && (n = coro_read(g.fd, &c, 1, CORO_FOREVER)) == 1)
			g.got++;
	g.ended++;
}

static void setup_select_close(void)
{
	open_select(selects_till_closed);
	ex_thread("value", send_value, NULL);
	ex_thread("close", close_it, NULL);
}

static void check_select_close(void)
{
	EX_CHECK(g.closed == 1 && g.got <= 1);
	EX_CHECK(sel.values + coro_chan_length(sel.chan) == 1);
	check_got(g.got, 1);
	check_closed();
}

static const struct ex_scenario fd_select_close = {
	.name = "fd-select-close",
	.about = "a descriptor is closed while a coroutine selects, and a byte and a value come",
	.setup = setup_select_close,
	.check = check_select_close,
	.workers = 1,
	.reach = BIT(WORLD_SLEPT) | 3,
};

const struct ex_scenario *const scenarios_fd_select[] = {
	&fd_select, &fd_select_here, &fd_select_cancel, &fd_select_close, NULL,
};
