/*
 * s_fd.h - what the scenarios of descriptors share. They are in s_fd.c, s_fd_select.c and s_set.c,
 * and each of these files has variables of its own.
 */
#ifndef EXPLORE_S_FD_H
#define EXPLORE_S_FD_H

#include "world.h"

#include "base/sysio.h"
#include "coro_io.h"

#include <errno.h>

/* The number of the descriptor that a scenario begins with. */
#define FD 1

#define DEADLINE_NS 100000
#define BIT(n)      (UINT32_C(1) << (n))

static struct {
	coro_fd fd, next_fd;
	coro_handle reader;
	unsigned got;   /* bytes that were read */
	unsigned ended; /* coroutines */
	unsigned closed;
	uint32_t done; /* a coroutine waits for that, with its worker */
} g;

/* open_fd - the descriptor is there, and adopted. During setup. */
static inline void open_fd(int kind)
{
	world_io_regions();
	world_region(&g, sizeof g);
	world_descriptor(FD, kind);
	EX_CHECK(coro_scheduler_adopt(sched, &g.fd, FD, 0) == CORO_OK);
}

/* spawn_at - a coroutine that starts on that worker; pinned to it if `stays`. During setup. */
static inline void spawn_at(unsigned id, bool stays, coro_fn fn, uint64_t n)
{
	coro_attr a = {.size = sizeof a, .worker = stays ? id + 1 : 0};

	sched->outside.next_worker = id * 64;
	EX_CHECK(coro_scheduler_spawn(sched, &a, fn, &n, sizeof n, &g.reader) == CORO_OK);
}

/* read_one - read a byte. */
static inline void read_one(void)
{
	char c = 0;

	EX_CHECK(coro_read(g.fd, &c, 1, CORO_FOREVER) == 1);
	EX_CHECK(c == 'a');
	g.got++;
}

/* Coroutines. */

static inline void reads(void *arg, void *result)
{
	(void)result;
	for (uint64_t n = *(uint64_t *)arg; n--;)
		read_one();
	g.ended++;
}

static inline void leaf(void *arg, void *result)
{
	(void)arg;
	(void)result;
	g.ended++;
}

/* Threads. */

static inline void send_one(void *arg)
{
	(void)arg;
	world_comes(FD, 1, 'a', WORLD_OPEN);
}

static inline void send_two(void *arg)
{
	send_one(arg);
	send_one(arg);
}

static inline void cancel(void *arg)
{
	(void)arg;
	world_pushing(true);
	int status = coro_cancel(g.reader);
	EX_CHECK(status == CORO_OK || status == CORO_ESTALE);
	world_pushing(false);
}

static inline void close_it(void *arg)
{
	(void)arg;
	EX_CHECK(coro_fd_close(g.fd) == CORO_OK);
	EX_CHECK(coro_fd_close(g.fd) < 0);
	g.closed++;
}

/* look - as the standby looks into the set of w0, twice. */
static inline void look(void *arg)
{
	(void)arg;
	for (int i = 0; i < 2; i++)
		sched->driver->poll(world_worker(0));
}

/* check_got - that many bytes were read, by the time when that many coroutines have ended. */
static inline void check_got(unsigned bytes, unsigned coroutines)
{
	if (g.got != bytes)
		ex_fail("%u bytes were read, of %u", g.got, bytes);
	if (g.ended != coroutines)
		ex_fail("%u coroutines have ended, of %u", g.ended, coroutines);
	for (unsigned i = 0; i < sched->workers; i++)
		EX_CHECK(!world_worker(i)->outside);
	EX_CHECK(coroi_finished(sched) && coroi_live(sched) == 0);
}

/* check_closed - the descriptor of the setup is closed, and in no set. */
static inline void check_closed(void)
{
	EX_CHECK(coro_fd_number(g.fd) == CORO_ESTALE);
	for (unsigned i = 0; i < sched->workers; i++)
		EX_CHECK(!coroi_watches(world_worker(i)));
}

#endif
