/* scenarios_go.c - what Go is told, and calls into Go. */
#include "ledger.h"

#include "kernel/gobell.h"
#include "kernel/wait.h"

#include <poll.h>
#include <unistd.h>

/* ------------------------------------------------------------------------ the bell */

/* awaited - h's end is awaited as Go does it: by its slot on the list, and the bell. False: h had
 * ended. */
static bool awaited(coro_scheduler *s, coro_handle h, uint32_t slot)
{
	struct coroi_rec *r = coroi_at((uint32_t)h);
	uint64_t word = coroi_join_word((uint32_t)(h >> 32), COROI_JOIN_NOBODY, 0);

	if (!at_cas(&coroi_cold(r)->join, &word,
		    coroi_join_word((uint32_t)(h >> 32), COROI_JOIN_GO, slot)))
		return false;
	at_xchg(&s->go_sleeps, 1);
	coro_wake(h);
	return true;
}

static void await_bell(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	uint64_t rung = 0;

	while (poll(&p, 1, -1) < 0) /* a bell that does not ring is a hang */
		CHECK_EQ(errno, EINTR);
	CHECK(p.revents & POLLIN);
	CHECK_EQ(read(fd, &rung, sizeof rung), sizeof rung);
}

SCENARIO(bell)
{
	coro_scheduler *s = begin(2, 0, 0);
	uint32_t n = 9;
	coro_handle h;

	if (!s)
		return;
	int fd = QUIET(coroi_bell_open(s));
	if (fd < 0) {
		CHECK_EQ(fd, CORO_EAGAIN);
		CHECK(may_fail());
		CHECK_EQ(s->bell, -1);
		fd = QUIET(coroi_bell_open(s));
		CHECK(lasting || fd >= 0);
	}
	bool spawned = again(coro_scheduler_spawn(s, JOINABLE(4), parks, &n, sizeof n, &h),
			     CORO_ENOMEM);
	if (spawned)
		count(&accepted);
	if (spawned && fd < 0) {
		coro_wake(h);
		coro_detach(h);
	} else if (spawned && awaited(s, h, 77)) {
		await_bell(fd);
		struct coroi_rec *r = (struct coroi_rec *)(uintptr_t)at_xchg(&s->done, 0);
		CHECK(r == coroi_at((uint32_t)h));
		CHECK_EQ(r->permits, 77);
		CHECK(went_well(coroi_join_status(r), CORO_ENOMEM) || lasting);
		coroi_join_free(r);
	} else if (spawned) {
		CHECK(lasting);
		CHECK_EQ(coro_detach(h), CORO_OK);
	}
	if (fd >= 0) { /* and for every rest */
		at_add(&s->go_waits_rest, 1);
		at_xchg(&s->go_sleeps, 1);
		if (outside(s, leaf, NULL, 0))
			await_bell(fd);
		at_add(&s->go_waits_rest, -1);
	}
	end(s);
}
