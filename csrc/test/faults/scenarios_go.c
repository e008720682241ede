/* scenarios_go.c - what Go is told, calls into Go, and lends. */
#include "ledger.h"

#include "../gostand.h"

#include "border/brief.h"
#include "border/gobell.h"
#include "border/gocall.h"
#include "border/many.h"
#include "border/state.h"
#include "kernel/wait.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ------------------------------------------------------------------------ the bell */

/* awaited - wait for the end of h as Go does it: by a number in its join word, and the bell. False:
 * h has ended. */
static bool awaited(coro_scheduler *s, coro_handle h, uint32_t id)
{
	struct coroi_rec *r = coroi_at((uint32_t)h);
	uint64_t word = coroi_join_word((uint32_t)(h >> 32), COROI_JOIN_NOBODY, 0);

	if (!at_cas(&coroi_cold(r)->join, &word,
		    coroi_join_word((uint32_t)(h >> 32), COROI_JOIN_GO, id)))
		return false;
	at_xchg(&coroi_border(s)->bell.go_sleeps, 1);
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
		CHECK_EQ(coroi_border(s)->bell.fd, -1);
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
		struct coroi_rec *r = (struct coroi_rec *)(uintptr_t)at_xchg(
			&coroi_border(s)->bell.done, 0);
		CHECK(r == coroi_at((uint32_t)h));
		CHECK_EQ(r->permits, 77);
		CHECK(went_well(coroi_join_status(r), CORO_ENOMEM) || lasting);
		coroi_join_free(r);
	} else if (spawned) {
		CHECK(lasting);
		CHECK_EQ(coro_detach(h), CORO_OK);
	}
	if (fd >= 0) { /* and for every rest */
		at_add(&s->rest_watchers, 1);
		at_xchg(&coroi_border(s)->bell.go_sleeps, 1);
		if (outside(s, leaf, NULL, 0))
			await_bell(fd);
		at_add(&s->rest_watchers, -1);
	}
	end(s);
}

/* ------------------------------------------------------------------------ calls into Go */

/* The functions of gostand.h: 1 adds, 2 fails with a text. The text of a call needs memory that a
 * coroutine is to have for its end. Without memory the text is lost, and nothing else. */
static void calls_go(void *arg, void *result)
{
	int64_t number = *(int64_t *)arg;
	char text[20] = "";
	size_t got;

	(void)result;
	for (int i = 0; i < 3; i++) {
		int status = coro_call_go_inline(2, NULL, 0, NULL, 0, &got);
		CHECK(status == CORO_EFAILED || !went_well(status, CORO_ENOMEM));
		size_t bytes = status == CORO_EFAILED ? coro_call_error(text, sizeof text) : 0;
		if (bytes)
			CHECK(bytes == 9 && strcmp(text, "it failed") == 0);
		else
			CHECK(may_fail());
		again(coro_sleep(1), CORO_ENOMEM);
		if (again(coro_call_go_inline(1, &number, sizeof number, &number, sizeof number,
					      &got),
			  CORO_ENOMEM))
			CHECK_EQ(got, sizeof number);
		else
			number++;
	}
	CHECK_EQ(number, *(int64_t *)arg + 3);
	count(&ran);
}

SCENARIO(go_calls)
{
	coro_attr dense = {.size = sizeof dense, .flags = CORO_DENSE};
	coro_scheduler *s = begin(2, 0, 0);

	if (!s)
		return;
	stand_in(adds);
	coroi_border(s)->bell.go_id = 1;
	for (int64_t i = 0; i < 6; i++)
		outside_attr(s, i % 3 ? NULL : &dense, calls_go, &i, sizeof i);
	end(s);
}

/* ------------------------------------------------------------------------ lends */

/* is_lent - what needs memory and stacks on the lender's thread: records, a deeper stack, deferred
 * functions, a deadline. The offloaded call is the lender's to make. */
static void counts_end(void *counter)
{
	count(counter);
}

static void is_lent(void *arg, void *result)
{
	int64_t number = *(int64_t *)arg, before = number;
	uint64_t ends = 0;
	size_t got;

	for (int i = 0; i < 4; i++)
		inside(NULL, leaf, NULL, 0, NULL);
	what_it_owns(&ends);
	CHECK_EQ(coro_yield(), CORO_OK);
	CHECK_EQ(coro_call_go(1, &number, sizeof number, &number, sizeof number, &got), CORO_OK);
	CHECK_EQ(number, before + 1);
	if (before % 2)
		CHECK_EQ(coro_sleep(1000), CORO_OK);
	again(coro_defer(counts_end, &ran), CORO_ENOMEM) ? (void)0 : count(&ran);
	*(int64_t *)result = number;
}

/* take_end_of_calls - take_end, of a coroutine whose call may be a poller's. */
static void take_end_of_calls(struct coroi_lend *l)
{
	coro_scheduler *s = (coro_scheduler *)(uintptr_t)l->sched;
	struct coroi_rec *r = (struct coroi_rec *)(uintptr_t)l->rec;

	while (coroi_join_kind(at_load_acq(&coroi_cold(r)->join)) != COROI_JOIN_FINAL) {
		clerk_once(s);
		sleep_us(20);
	}
	take_end(l);
}

static void lend_one(coro_scheduler *s, int64_t n)
{
	struct coroi_lend l = lend_of(s, is_lent, &n, sizeof n, sizeof n);
	int tries = 0;

	until_asleep(s);
	do
		l.outcome = coroi_lend_call(&l);
	while (l.outcome == COROI_LEND_NONE || (l.outcome == CORO_ENOMEM && tries++ == 0));
	if (l.outcome < 0) {
		CHECK_EQ(l.outcome, CORO_ENOMEM);
		CHECK(may_fail() && lasting);
		return;
	}
	CHECK(!tries || may_fail());
	count(&accepted);
	while (l.outcome == COROI_LEND_CALLS) {
		struct coroi_call *c = (struct coroi_call *)(uintptr_t)l.call;
		make_call(c);
		l.outcome = coroi_lend_on(&l);
		if (l.outcome == COROI_LEND_NONE)
			complete(s, c);
	}
	if (l.outcome != COROI_LEND_ENDED)
		take_end_of_calls(&l);
	if (went_well(l.status, CORO_ENOMEM))
		CHECK_EQ(*(int64_t *)l.payload, n + 1);
	else
		CHECK(lasting);
}

/* wake_one - wake a coroutine that is brief: it ends on this thread. */
static void wake_one(coro_scheduler *s)
{
	struct coroi_waker k;
	uint32_t n = 9;
	coro_handle h;

	if (!again(coro_scheduler_spawn(s, JOINABLE(4), parks, &n, sizeof n, &h), CORO_ENOMEM))
		return;
	count(&accepted);
	until_asleep(s);
	coroi_waker_begin(&k);
	coro_wake(h);
	coroi_waker_end(&k);
	CHECK_EQ(coro_detach(h), CORO_OK);
}

SCENARIO(lends)
{
	coro_scheduler *s = begin(2, 0, 0);

	if (!s)
		return;
	coroi_border(s)->bell.go_id = 1;
	s->lends = 1; /* although its workers are pinned */
	CHECK_EQ(coroi_brief_declare(parks), CORO_OK);
	for (int64_t i = 0; i < 6; i++) {
		lend_one(s, i);
		wake_one(s);
	}
	end(s);
}

/* ------------------------------------------------------------------------ many calls that lend */

#define MANY 40

/* A call, as many.h has it: no result, and an argument. */
struct lent_call {
	struct coroi_one one;
	uint64_t *at; /* what it borrows: 1 when it has begun, 2 at its end */
	uint64_t parks;
};

static uint64_t calls_begun;

/* is_lent_to - needs a record, a stack and memory for what it defers. */
static void is_lent_to(void *arg, void *result)
{
	uint64_t *at = *(uint64_t **)arg, parks = ((uint64_t *)arg)[1];
	uint64_t ends = 0;

	(void)result;
	*at = 1;
	count(&calls_begun);
	what_it_owns(&ends);
	if (parks)
		while (coro_park() != CORO_ECANCELED)
			;
	else
		coro_yield();
	*at = 2;
	count(&ran);
}

static void leads_many(void *arg, void *result)
{
	coroi_many_lead(arg, result);
	count(&ran);
}

/* check_many - each call has ended, or never begun, for want of memory or by the cancel. */
static void check_many(struct coroi_many *m, const uint64_t *lent)
{
	struct lent_call *calls = (struct lent_call *)(void *)m->ones;

	if (m->left == MANY + 1) { /* the leader has not begun */
		CHECK(may_fail() && !calls_begun);
		return;
	}
	CHECK_EQ(at_load_seq(&m->left), 0);
	for (int i = 0; i < MANY; i++) {
		int status = calls[i].one.status;
		CHECK(lent[i] == 0 || lent[i] == 2);
		CHECK(status == CORO_OK || status == CORO_ECANCELED || status == CORO_ENOMEM);
		CHECK(status != CORO_OK || lent[i] == 2);
		CHECK(status != CORO_ENOMEM || may_fail());
	}
}

static uint64_t spawned_by(coro_scheduler *s)
{
	coro_worker_stats w[8];
	coro_stats t;
	uint64_t n = 0;

	CHECK_EQ(coro_scheduler_stats(s, &t, w, 8), CORO_OK);
	for (uint32_t i = 0; i < t.workers; i++)
		n += w[i].spawned;
	return n;
}

/* Some of the calls wait for the cancel, which comes when all have begun that can. */
SCENARIO(many_lends)
{
	coro_scheduler *s = begin(2, 0, 0);
	size_t bytes = sizeof(struct coroi_many) + MANY * sizeof(struct lent_call);
	coro_handle h;

	if (!s)
		return;
	struct coroi_many *m = calloc(1, bytes);
	uint64_t *lent = calloc(MANY, sizeof *lent);
	CHECK(m && lent);
	*m = (struct coroi_many){.fn = (uintptr_t)is_lent_to,
				 .count = MANY,
				 .left = MANY + 1,
				 .stride = sizeof(struct lent_call),
				 .arg_bytes = 16,
				 .class = s->class,
				 .state = COROI_MANY_LENDS};
	struct lent_call *calls = (struct lent_call *)(void *)m->ones;
	for (int i = 0; i < MANY; i++) {
		calls[i].at = &lent[i];
		calls[i].parks = i % 3 == 0;
	}
	calls_begun = 0;
	if (again(coro_scheduler_spawn(s, JOINABLE(0), leads_many, &m, sizeof(m), &h),
		  CORO_ENOMEM)) {
		while (at_load_seq(&calls_begun) < MANY && !may_fail())
			sleep_us(20);
		int status = coro_cancel(h);
		CHECK(status == CORO_OK || (status == CORO_ESTALE && may_fail()));
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(coro_detach(h), CORO_OK);
		check_many(m, lent);
		/* The calls that were spawned; the others have found no record. */
		accepted = spawned_by(s);
		CHECK(accepted <= MANY + 1);
		CHECK(may_fail() || accepted == MANY + 1);
		ran = accepted; /* each is accounted for by its status */
	}
	free(lent);
	free(m);
	end(s);
}
