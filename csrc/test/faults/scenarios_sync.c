/* scenarios_sync.c - waits with deadlines at channels, one or several; scopes. */
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

/* ------------------------------------------------------------------------ several channels */

#define SENDERS   3
#define RECEIVERS 3
#define VALUES    8 /* of each sender */

static coro_chan *two[2], *idle; /* 16 bytes a value; without room, and with room for two */
static uint64_t passed, taken, waiting, canceled;

static void sends_to_either(void *arg, void *result)
{
	uint64_t value[2] = {7, 8};
	coro_case to[] = {{.chan = two[0], .send = value}, {.chan = two[1], .send = value}};

	(void)arg;
	(void)result;
	for (int i = 0; i < VALUES; i++) {
		int one = coro_select(to, 2, coro_now() + 200000);
		CHECK(one >= 0 || one == CORO_ETIMEDOUT);
		if (one < 0)
			continue;
		CHECK_EQ(to[one].status, CORO_OK);
		count(&passed);
	}
	count(&ran);
}

/* took_one - of the channels that are not closed. False: both are. */
static bool took_one(bool closed[2])
{
	uint64_t value[2] = {0, 0};
	coro_case from[] = {{.chan = two[0], .recv = value}, {.chan = two[1], .recv = value}};
	int first = closed[0], n = 2 - closed[0] - closed[1];

	if (!n)
		return false;
	int one = coro_select(from + first, (uint32_t)n, coro_now() + 100000);
	if (one < 0) {
		CHECK_EQ(one, CORO_ETIMEDOUT);
	} else if (from[first + one].status == CORO_ECLOSED) {
		closed[first + one] = true;
	} else {
		CHECK(value[0] == 7 && value[1] == 8);
		count(&taken);
	}
	return true;
}

/* Until both channels are closed. With a fault it gives up: a sender may need the stack. */
static void receives_from_either(void *arg, void *result)
{
	bool closed[2] = {false, false};

	(void)arg;
	(void)result;
	for (int n = 0; took_one(closed) && !(n > 50 && may_fail()); n++)
		;
	count(&ran);
}

static void selects_until_canceled(void *arg, void *result)
{
	uint64_t value[2];
	coro_case both[] = {{.chan = idle, .recv = value}, {.chan = two[0], .recv = value}};

	(void)arg;
	(void)result;
	count(&waiting);
	CHECK_EQ(coro_select(both, 1, CORO_FOREVER), CORO_ECANCELED);
	count(&canceled);
	count(&ran);
	coro_exit_finished(); /* although it was canceled */
}

static void cancels(const coro_handle forever[2])
{
	for (int i = 0; i < 2; i++)
		if (forever[i])
			CHECK(went_well(coro_cancel(forever[i]), CORO_ESTALE) || may_fail());
}

static void closes_and_cancels(void *arg, void *result)
{
	coro_handle h[SENDERS + RECEIVERS], forever[2];

	(void)arg;
	(void)result;
	for (int i = 0; i < SENDERS + RECEIVERS; i++)
		inside(JOINABLE(0), i < SENDERS ? sends_to_either : receives_from_either, NULL, 0,
		       &h[i]);
	for (int i = 0; i < 2; i++)
		inside(JOINABLE(0), selects_until_canceled, NULL, 0, &forever[i]);
	until_seen(&waiting, 2);
	/* While these two wait, somebody may wake them from outside, and give a stack back. So what
	 * has no stack would wait, too. */
	bool early = may_fail();
	if (early)
		cancels(forever);
	for (int i = 0; i < SENDERS; i++)
		joined(h[i]);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(coro_chan_close(two[i]), CORO_OK);
	for (int i = SENDERS; i < SENDERS + RECEIVERS; i++)
		joined(h[i]);
	if (!early)
		cancels(forever);
	for (int i = 0; i < 2; i++)
		joined(forever[i]);
	count(&ran);
}

/* chan_made - NULL: there was no memory. */
static coro_chan *chan_made(size_t capacity)
{
	coro_chan *c = NULL;

	again(QUIET(coro_chan_new(&c, 2 * sizeof(uint64_t), capacity, 0)), CORO_ENOMEM);
	return c;
}

/* Senders and receivers wait for either of two channels, with deadlines, until these are closed.
 * Others are canceled as they wait, and a thread finds nothing. */
SCENARIO(selects)
{
	coro_scheduler *s = begin(2, 0, 0);

	if (!s)
		return;
	passed = taken = waiting = canceled = 0;
	two[0] = chan_made(0);
	two[1] = chan_made(2);
	idle = chan_made(1);
	if (two[0] && two[1] && idle) {
		uint64_t value[2];
		coro_case nothing_there = {.chan = idle, .recv = value};
		outside(s, closes_and_cancels, NULL, 0);
		CHECK_EQ(QUIET(coro_select(&nothing_there, 1, coro_now() + 50000)), CORO_ETIMEDOUT);
		CHECK_EQ(QUIET(coro_scheduler_wait(s)), CORO_OK);
		CHECK_EQ(passed, taken + coro_chan_length(two[1]));
		CHECK(may_fail() || canceled == 2);
	}
	end(s);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(QUIET(coro_chan_free(two[i])), CORO_OK);
	CHECK_EQ(QUIET(coro_chan_free(idle)), CORO_OK);
}

/* ------------------------------------------------------------------------ scopes */

/* The children of one owner that have begun, and those that have come to their end. */
struct children {
	uint64_t begun, left;
};

/* in_scope - a child of s, with the books of its owner. A child that is canceled, or has no memory to
 * end well, does not begin. */
static void in_scope(coro_scope *s, coro_fn fn, struct children *books)
{
	int status = coro_scope_spawn(s, NULL, fn, &books, sizeof books);

	if (status == CORO_ENOMEM) {
		went_well(status, CORO_ENOMEM);
		status = coro_scope_spawn(s, NULL, fn, &books, sizeof books);
		CHECK(status != CORO_ENOMEM || lasting);
	}
	if (status == CORO_OK)
		return;
	/* a child that had no memory has failed, and has canceled the others */
	CHECK((status == CORO_ECANCELED || status == CORO_ENOMEM) && may_fail());
}

/* waited - all children of s have ended. For `why`, or with a fault for another documented
 * reason. */
static void waited(coro_scope *s, const struct children *books, int why)
{
	int status = coro_scope_wait(s);

	CHECK_EQ(seen(&books->begun), seen(&books->left));
	if (status == why)
		return;
	CHECK(may_fail());
	CHECK(status == CORO_OK || status == CORO_ENOMEM || status == CORO_EABORTED ||
	      status == CORO_ECANCELED);
}

static void returns(void *arg, void *result)
{
	struct children *books = *(struct children **)arg;

	(void)result;
	count(&books->begun);
	CHECK_EQ(coro_yield(), CORO_OK);
	count(&books->left);
}

static void parks_in_scope(void *arg, void *result)
{
	struct children *books = *(struct children **)arg;

	(void)result;
	count(&books->begun);
	CHECK_EQ(coro_park(), CORO_ECANCELED);
	count(&books->left);
	coro_exit_finished(); /* although it was canceled */
}

static void aborts(void *arg, void *result)
{
	struct children *books = *(struct children **)arg;

	(void)result;
	count(&books->begun);
	count(&books->left);
	coro_abort();
}

/* scope_made - NULL: there was no memory. */
static coro_scope *scope_made(void)
{
	coro_scope *s = NULL;

	return again(coro_scope_new(&s), CORO_ENOMEM) ? s : NULL;
}

static void all_left(void *arg)
{
	const struct children *books = arg;

	CHECK_EQ(seen(&books->begun), seen(&books->left));
}

/* with_parked - n children of s that have begun, and wait. */
static void with_parked(coro_scope *s, struct children *books, uint64_t n)
{
	uint64_t before = seen(&books->begun);

	for (uint64_t i = 0; i < n; i++)
		in_scope(s, parks_in_scope, books);
	until_seen(&books->begun, before + n);
}

/* Twenty children return (the list of children grows twice); three are canceled; one aborts, and
 * ends the others. */
static void uses_scope(coro_scope *s, struct children *books)
{
	for (int i = 0; i < 20; i++)
		in_scope(s, returns, books);
	waited(s, books, CORO_OK);
	with_parked(s, books, 3);
	CHECK_EQ(coro_scope_cancel(s), CORO_OK);
	waited(s, books, CORO_OK); /* each of them returns */
	with_parked(s, books, 3);
	in_scope(s, aborts, books);
	if (may_fail()) /* one that never had a stack has not aborted */
		coro_scope_cancel(s);
	waited(s, books, CORO_EABORTED);
}

/* Three children more are left to the end of their owner. */
static void owns_scope(void *arg, void *result)
{
	struct children *books = coro_malloc(sizeof *books);
	coro_scope *s;

	(void)arg;
	(void)result;
	CHECK(books || may_fail());
	if (books) {
		*books = (struct children){0, 0};
		again(coro_defer(all_left, books),
		      CORO_ENOMEM); /* before the scope: run after it */
		if ((s = scope_made())) {
			uses_scope(s, books);
			with_parked(s, books, 3);
		}
	}
	count(&ran);
}

SCENARIO(scopes)
{
	coro_scheduler *s = begin(2, 0, 0);

	if (!s)
		return;
	outside(s, owns_scope, NULL, 0);
	outside(s, owns_scope, NULL, 0);
	end_of_forks(s);
}

static void waits_in_scope(void *arg, void *result)
{
	struct children books = {0, 0};
	coro_scope *s = scope_made();

	(void)result;
	if (s) {
		with_parked(s, &books, 4);
		count(*(uint64_t **)arg);
		waited(s, &books, CORO_ECANCELED);
	}
	count(&ran);
	coro_exit_finished(); /* although it was canceled */
}

static void cancels_owners(void *arg, void *result)
{
	uint64_t waiting_owners = 0, *at = &waiting_owners;
	coro_handle owner[2];

	(void)arg;
	(void)result;
	for (int i = 0; i < 2; i++)
		inside(JOINABLE(0), waits_in_scope, &at, sizeof at, &owner[i]);
	until_seen(&waiting_owners, 2);
	for (int i = 0; i < 2; i++) {
		if (owner[i]) /* stale: it had no memory for a scope */
			went_well(coro_cancel(owner[i]), CORO_ESTALE);
		joined(owner[i]);
	}
	count(&ran);
}

/* Owners are canceled as they wait for their children: so are these. */
SCENARIO(scopes_canceled)
{
	coro_scheduler *s = begin(2, 0, 0);

	if (!s)
		return;
	outside(s, cancels_owners, NULL, 0);
	end_of_forks(s);
}
