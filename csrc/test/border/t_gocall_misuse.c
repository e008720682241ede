/*
 * t_gocall_misuse.c - calls into Go that are refused, or go wrong on either side.
 */
#include "gostand.h"

#include "border/gocall.h"
#include "border/state.h"
#include "kernel/idle.h"

#include <string.h>

static uint64_t done;
static coro_scheduler *sched, *other;

/* The stand-in has four functions. 1 fails. 2 claims to have written more than there is room for.
 * 3 checks where it is. 4 has a result of 100 bytes, which it writes nowhere: there is less
 * room. */
static void serve(struct coroi_worker *w)
{
	for (struct coroi_call *c = coroi_calls_of(w); c < coroi_calls_of(w) + w->calls.count;
	     c++) {
		c->status = CORO_OK;
		c->got = 0;
		if (c->id == 1) {
			coroi_call_fail(c, "it failed", 9);
		} else if (c->id == 2) {
			memset(c->result, 7, c->result_bytes);
			c->got = c->result_bytes + 1;
		} else if (c->id == 4) {
			CHECK(c->result_bytes < 100);
			c->status = CORO_ETOOBIG;
			c->got = 100;
		} else {
			CHECK_EQ(c->id, 3);
			CHECK(coroi_go_inside(sched));
			CHECK(!coroi_go_inside(other));
		}
	}
}

static void run(const coro_attr *attr, coro_fn fn)
{
	coro_options o = options(1, 0);

	o.shared_stacks = 2;
	done = 0;
	stand_in(serve);
	sched = start(&o);
	coroi_border(sched)->bell.go_id = 1;
	CHECK_EQ(coro_scheduler_spawn(sched, attr, fn, NULL, 0, NULL), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(sched), CORO_OK);
	CHECK_EQ(done, 1);
	finish(sched);
}

static void is_canceled(void *arg, void *result)
{
	size_t got = 9;
	(void)arg;
	(void)result;

	CHECK_EQ(coro_cancel(coro_self()), CORO_OK);
	CHECK_EQ(coro_call_go_inline(3, NULL, 0, NULL, 0, &got), CORO_ECANCELED);
	CHECK_EQ(got, 0);
	CHECK_EQ(coro_call_go(3, NULL, 0, NULL, 0, NULL), CORO_ECANCELED);
	add_one(&done);
}

TEST(gocall_is_not_made_by_one_that_is_canceled_alone)
{
	run(NULL, is_canceled);
}

/* What is copied to a dense coroutine ends where its buffer ends, whatever Go claims. The caller
 * gets the number that Go claimed. */
static void gets_too_much(void *arg, void *result)
{
	unsigned char room[24];
	size_t got = 0;
	(void)arg;
	(void)result;

	memset(room, 1, sizeof room);
	CHECK_EQ(coro_call_go_inline(2, NULL, 0, room, 8, &got), CORO_OK);
	CHECK_EQ(got, 9);
	for (int i = 8; i < 24; i++)
		CHECK_EQ(room[i], 1);
	add_one(&done);
}

static const coro_attr dense = {.size = sizeof(coro_attr), .flags = CORO_DENSE};

TEST(gocall_that_writes_too_much)
{
	run(&dense, gets_too_much);
}

/* A caller is told how large a result is that does not fit, and nothing of it is written. */
static void gets_none(void *arg, void *result)
{
	unsigned char room[24];
	size_t got = 0;
	(void)arg;
	(void)result;

	memset(room, 1, sizeof room);
	CHECK_EQ(coro_call_go_inline(4, NULL, 0, room, sizeof room, &got), CORO_ETOOBIG);
	CHECK_EQ(got, 100);
	CHECK_EQ(coro_call_go_inline(4, NULL, 0, room, 1, NULL), CORO_ETOOBIG);
	for (int i = 0; i < 24; i++)
		CHECK_EQ(room[i], 1);
	CHECK_EQ(coro_call_error(NULL, 0), 0);
	add_one(&done);
}

TEST(gocall_result_that_does_not_fit)
{
	run(NULL, gets_none);
	run(&dense, gets_none);
	CHECK(strstr(coro_strerror(CORO_ETOOBIG), "larger than the buffer"));
}

/* The length of the text is returned wherever the text goes. Without memory there is no text. */
static void asks_for_the_text(void *arg, void *result)
{
	char text[4] = "abc";
	(void)arg;
	(void)result;

	CHECK_EQ(coro_call_error(text, 4), 0);
	CHECK_EQ(text[0], 0);
	text[0] = 'a';
	fail_alloc = 0;
	CHECK(!coro_malloc(8)); /* there is no arena, as before */
	fail_alloc = 0;
	CHECK_EQ(coro_call_error(text, 4), 0);
	CHECK_EQ(fail_alloc, 0); /* asking needs no memory */
	fail_alloc = -1;
	CHECK_EQ(text[0], 0);
	CHECK_EQ(coro_call_go_inline(1, NULL, 0, NULL, 0, NULL), CORO_EFAILED);
	text[0] = 'a';
	CHECK_EQ(coro_call_error(text, 0), 9);
	CHECK_EQ(coro_call_error(NULL, 4), 9);
	CHECK_EQ(text[0], 'a');
	CHECK_EQ(coro_call_error(text, 4), 9);
	CHECK_EQ(strcmp(text, "it "), 0);
	add_one(&done);
}

TEST(gocall_text_of_an_error)
{
	run(NULL, asks_for_the_text);
}

static void asks_where_it_is(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_call_go_inline(3, NULL, 0, NULL, 0, NULL), CORO_OK);
	add_one(&done);
}

TEST(gocall_inside_of_one_scheduler)
{
	other = start_with(1, 0);
	run(NULL, asks_where_it_is);
	CHECK(!coroi_go_inside(other));
	finish(other);
}
