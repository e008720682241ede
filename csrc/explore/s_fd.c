/*
 * s_fd.c - scenarios of one descriptor: data, events, deadlines, cancels, closes and moves against
 * the steps of a call (io/fd.h), with the real run loop on every worker.
 */
#include "s_fd.h"

#include "io/set.h"

/* ------------------------------------------------------------------------------------- data */

static void setup_read(void)
{
	open_fd(COROI_KIND_OTHER);
	spawn_at(0, false, reads, 2);
	ex_thread("peer", send_two, NULL);
}

static void check_read(void)
{
	check_got(2, 1);
}

static const struct ex_scenario fd_read = {
	.name = "fd-read",
	.about = "a coroutine reads two bytes, which come one by one, and its worker goes to sleep",
	.setup = setup_read,
	.check = check_read,
	.workers = 1,
	.reach = BIT(WORLD_SLEPT),
};

static void setup_look(void)
{
	setup_read();
	ex_thread("look", look, NULL);
}

static const struct ex_scenario fd_look = {
	.name = "fd-look",
	.about = "fd-read, and another thread looks into the worker's set",
	.setup = setup_look,
	.check = check_read,
	.workers = 1,
	.reach = BIT(WORLD_SLEPT) | BIT(WORLD_POLLED),
};

/* The last bytes and the end come as one event. The first read is short, and takes them all. */

static void reads_to_end(void *arg, void *result)
{
	char buffer[4];
	int64_t n;

	(void)arg;
	(void)result;
	while ((n = coro_read(g.fd, buffer, sizeof buffer, CORO_FOREVER)) > 0)
		g.got += (unsigned)n;
	EX_CHECK(n == 0);
	g.ended++;
}

static void send_and_end(void *arg)
{
	(void)arg;
	world_comes(FD, 2, 'a', WORLD_FIN);
}

static void setup_fin(void)
{
	open_fd(COROI_KIND_STREAM);
	spawn_at(0, false, reads_to_end, 0);
	ex_thread("peer", send_and_end, NULL);
	ex_thread("look", look, NULL);
}

static const struct ex_scenario fd_fin = {
	.name = "fd-fin",
	.about = "bytes and the end of a stream come in one event, which another thread may fetch",
	.setup = setup_fin,
	.check = check_read,
	.workers = 1,
	.reach = BIT(WORLD_SLEPT) | BIT(WORLD_POLLED),
};

/* Both directions wait. A reset is one event for both. */

static void reads_reset(void *arg, void *result)
{
	char c;

	(void)arg;
	(void)result;
	EX_CHECK(coro_read(g.fd, &c, 1, CORO_FOREVER) == CORO_OF_ERRNO(ECONNRESET));
	g.ended++;
}

static void writes_reset(void *arg, void *result)
{
	(void)arg;
	(void)result;
	EX_CHECK(coro_write(g.fd, "b", 1, CORO_FOREVER) == CORO_OF_ERRNO(EPIPE));
	g.ended++;
}

static void reset(void *arg)
{
	(void)arg;
	world_comes(FD, 0, 0, WORLD_RESET);
}

static void setup_reset(void)
{
	open_fd(COROI_KIND_STREAM);
	spawn_at(0, false, reads_reset, 0);
	spawn_at(0, false, writes_reset, 0);
	ex_thread("peer", reset, NULL);
	ex_thread("look", look, NULL);
}

static void check_reset(void)
{
	check_got(0, 2);
}

static const struct ex_scenario fd_reset = {
	.name = "fd-reset",
	.about = "a coroutine reads and another writes, and the peer resets the connection",
	.setup = setup_reset,
	.check = check_reset,
	.workers = 1,
	.reach = BIT(WORLD_SLEPT) | BIT(WORLD_POLLED),
};

/* ------------------------------------------------------------------------- deadline, cancel */

static void reads_in_time(void *arg, void *result)
{
	char c = 0;
	int64_t n = coro_read(g.fd, &c, 1, coroi_now_ns() + DEADLINE_NS);

	(void)arg;
	(void)result;
	EX_CHECK(n == 1 || n == CORO_ETIMEDOUT);
	ex_reached(n == 1 ? 0 : 1);
	if (n == 1) {
		g.got++;
	} else { /* nothing was taken, and no event is under way, which would end the sleep */
		uint64_t until = coroi_now_ns() + DEADLINE_NS;
		EX_CHECK(coro_sleep_until(until) == CORO_OK && coroi_now_ns() >= until);
		read_one();
	}
	g.ended++;
}

static void setup_deadline(void)
{
	open_fd(COROI_KIND_OTHER);
	spawn_at(0, false, reads_in_time, 0);
	ex_thread("peer", send_one, NULL);
	ex_thread("look", look, NULL);
}

static void check_one(void)
{
	check_got(1, 1);
}

static const struct ex_scenario fd_deadline = {
	.name = "fd-deadline",
	.about = "a byte comes at the deadline of a read",
	.setup = setup_deadline,
	.check = check_one,
	.workers = 1,
	.reach = BIT(WORLD_SLEPT) | BIT(WORLD_POLLED) | 3,
};

static void reads_unless_canceled(void *arg, void *result)
{
	char c = 0;
	int64_t n = coro_read(g.fd, &c, 1, CORO_FOREVER);

	(void)arg;
	(void)result;
	EX_CHECK(n == 1 || n == CORO_ECANCELED);
	ex_reached(n == 1 ? 0 : 1);
	g.got += n == 1;
	g.ended++;
}

static void setup_cancel(void)
{
	open_fd(COROI_KIND_OTHER);
	spawn_at(0, false, reads_unless_canceled, 0);
	ex_thread("peer", send_one, NULL);
	ex_thread("look", look, NULL);
	ex_thread("cancel", cancel, NULL);
}

static void check_cancel(void)
{
	EX_CHECK(g.got + world_unread(FD) == 1);
	check_got(g.got, g.ended); /* one that is canceled before it begins does not run */
}

static const struct ex_scenario fd_cancel = {
	.name = "fd-cancel",
	.about = "a byte comes while the coroutine that reads is canceled",
	.setup = setup_cancel,
	.check = check_cancel,
	.workers = 1,
	.reach = BIT(WORLD_SLEPT) | BIT(WORLD_POLLED) | 3,
};

/* ----------------------------------------------------------------------------------- closes */

/* As the peer does, the coroutine may send a byte to itself, when it has read one. */
static void reads_till_closed(void *arg, void *result)
{
	uint64_t more = *(uint64_t *)arg;
	int64_t n;
	char c = 0;

	(void)result;
	while ((n = coro_read(g.fd, &c, 1, CORO_FOREVER)) == 1) {
		EX_CHECK(c == 'a');
		g.got++;
		if (more && more--)
			send_one(NULL);
	}
	EX_CHECK(n == CORO_ECLOSED || n == CORO_ESTALE);
	ex_reached(n == CORO_ECLOSED ? 0 : 1);
	g.ended++;
}

static void setup_close(void)
{
	open_fd(COROI_KIND_OTHER);
	spawn_at(0, false, reads_till_closed, 1);
	ex_thread("peer", send_one, NULL);
	ex_thread("look", look, NULL);
	ex_thread("close", close_it, NULL);
}

static void check_close(void)
{
	EX_CHECK(g.closed == 1 && g.got <= 2);
	check_got(g.got, 1);
	check_closed();
}

static const struct ex_scenario fd_close = {
	.name = "fd-close",
	.about = "a descriptor is closed while a coroutine reads and bytes come",
	.setup = setup_close,
	.check = check_close,
	.workers = 1,
	.reach = BIT(WORLD_SLEPT) | BIT(WORLD_POLLED) | 3,
};

/* The number is given again once it is closed. The first reader has the old name, and reads nothing
 * that comes to the new descriptor. */

static void reads_next(void *arg, void *result)
{
	char c = 0;

	(void)arg;
	(void)result;
	EX_CHECK(coro_read(g.next_fd, &c, 1, CORO_FOREVER) == 1);
	EX_CHECK(c == 'b');
	g.ended++;
}

static void open_next(void *arg)
{
	(void)arg;
	world_await_close(FD);
	world_descriptor(FD, COROI_KIND_OTHER);
	EX_CHECK(coro_scheduler_adopt(sched, &g.next_fd, FD, 0) == CORO_OK);
	world_spawn(reads_next, 1);
	world_comes(FD, 1, 'b', WORLD_OPEN);
}

static void send_and_close(void *arg)
{
	send_one(arg);
	close_it(arg);
}

static void setup_again(void)
{
	open_fd(COROI_KIND_OTHER);
	spawn_at(0, false, reads_till_closed, 0);
	ex_thread("close", send_and_close, NULL);
	ex_thread("open", open_next, NULL);
	ex_thread("look", look, NULL);
}

static void check_again(void)
{
	EX_CHECK(g.closed == 1 && g.got <= 1);
	check_got(g.got, 2);
	EX_CHECK(coro_fd_number(g.fd) == CORO_ESTALE);
	EX_CHECK(coro_fd_number(g.next_fd) == FD);
}

static const struct ex_scenario fd_again = {
	.name = "fd-again",
	.about = "fd-close, and the number is given to another descriptor, which is read too",
	.setup = setup_again,
	.check = check_again,
	.workers = 1,
	.reach = BIT(WORLD_SLEPT) | BIT(WORLD_POLLED) | 3,
};

/* ------------------------------------------------------------------------------------ moves */

/* A coroutine has waited on w0 and then on w1, where the descriptor is in w0's set. At the next
 * wait on w1 it moves. */

static void reads_and_closes(void *arg, void *result)
{
	reads(arg, result);
	if (coroi_watches(world_worker(1)))
		ex_reached(0);
	EX_CHECK(coro_fd_close(g.fd) == CORO_OK);
}

static void setup_move(void)
{
	struct coroi_slot *p;

	open_fd(COROI_KIND_OTHER);
	EX_CHECK(coroi_fd_enter(g.fd, COROI_FD_REFERENCE, &p) == CORO_OK);
	EX_CHECK(coroi_set_watch(world_worker(0), g.fd) == 0);
	p->set = 1;
	p->strays = 1;
	coroi_fd_leave(p, g.fd, COROI_FD_REFERENCE);
	spawn_at(1, true, reads_and_closes, 2);
	ex_thread("peer", send_two, NULL);
}

static void check_move(void)
{
	check_got(2, 1);
	check_closed();
}

static const struct ex_scenario fd_move = {
	.name = "fd-move",
	.about = "a coroutine reads on another worker than before, and its descriptor moves there",
	.setup = setup_move,
	.check = check_move,
	.workers = 2,
	.flags = CORO_NO_STANDBY,
	.reach = BIT(WORLD_SLEPT) | 1,
};

/* One coroutine reads on w0, another writes on w1. Each adds the descriptor to its worker's set. */

static void closes_after(void)
{
	if (++g.ended == 2)
		EX_CHECK(coro_fd_close(g.fd) == CORO_OK);
}

static void reads_and_closes_after(void *arg, void *result)
{
	char c;

	(void)arg;
	(void)result;
	EX_CHECK(coro_read(g.fd, &c, 1, CORO_FOREVER) == CORO_OF_ERRNO(ECONNRESET));
	closes_after();
}

static void writes_and_closes_after(void *arg, void *result)
{
	(void)arg;
	(void)result;
	EX_CHECK(coro_write(g.fd, "b", 1, CORO_FOREVER) == CORO_OF_ERRNO(EPIPE));
	closes_after();
}

static void setup_both(void)
{
	open_fd(COROI_KIND_STREAM);
	spawn_at(0, true, reads_and_closes_after, 0);
	spawn_at(1, true, writes_and_closes_after, 0);
	ex_thread("peer", reset, NULL);
}

static void check_both(void)
{
	check_got(0, 2);
	check_closed();
}

static const struct ex_scenario fd_both = {
	.name = "fd-both",
	.about = "two workers add one descriptor to their sets at once, for its two directions",
	.setup = setup_both,
	.check = check_both,
	.workers = 2,
	.flags = CORO_NO_STANDBY,
	.reach = BIT(WORLD_SLEPT),
};

/* ------------------------------------------------------------------------------------- mode */

/* Two numbers of one description, which was blocking. While one is adopted it is non-blocking; when
 * both are closed it is blocking. */

static void adopts_and_closes(void *arg)
{
	int fd = (int)(uintptr_t)arg;
	coro_fd f;

	EX_CHECK(coro_scheduler_adopt(sched, &f, fd, 0) == CORO_OK);
	EX_CHECK(!world_blocks(fd));
	EX_CHECK(coro_fd_close(f) == CORO_OK);
	g.closed++;
}

static void closes_the_first(void *arg)
{
	(void)arg;
	EX_CHECK(!world_blocks(FD));
	EX_CHECK(coro_fd_close(g.fd) == CORO_OK);
	g.closed++;
}

static void setup_mode(void)
{
	world_io_regions();
	world_region(&g, sizeof g);
	world_descriptor(FD, COROI_KIND_OTHER);
	world_share(FD + 1, FD);
	EX_CHECK(coro_scheduler_adopt(sched, &g.fd, FD, 0) == CORO_OK);
	ex_thread("close", closes_the_first, NULL);
	ex_thread("adopt", adopts_and_closes, (void *)(uintptr_t)(FD + 1));
}

static void check_mode(void)
{
	EX_CHECK(g.closed == 2);
	EX_CHECK(world_blocks(FD));
}

static const struct ex_scenario fd_mode = {
	.name = "fd-mode",
	.about =
		"a descriptor that was blocking is closed while a duplicate is adopted, and closed",
	.setup = setup_mode,
	.check = check_mode,
	.workers = 1,
};

const struct ex_scenario *const scenarios_fd[] = {
	&fd_read,  &fd_look,  &fd_fin,  &fd_reset, &fd_deadline, &fd_cancel,
	&fd_close, &fd_again, &fd_move, &fd_both,  &fd_mode,     NULL,
};
