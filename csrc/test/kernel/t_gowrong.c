/*
 * t_gowrong.c - calls into Go that are refused or go wrong on either side, with a stand-in for it.
 * See t_gocall.c.
 */
#include "gostand.h"

#include "kernel/gocall.h"
#include "sync/gowait.h"
#include "kernel/idle.h"
#include "kernel/goworker.h"

#include <string.h>

static uint64_t done;
static coro_scheduler *sched, *other;

/* The stand-in knows function 1: it fails; 2: it says it has written more than there is room for;
 * 3: it asks where it is. */
static void serve(struct coroi_worker *w)
{
	for (struct coroi_call *c = w->calls; c < w->calls + w->calls_count; c++) {
		c->status = CORO_OK;
		c->got = 0;
		if (c->id == 1) {
			coroi_call_fail(c, "it failed", 9);
		} else if (c->id == 2) {
			memset(c->result, 7, c->result_bytes);
			c->got = c->result_bytes + 1;
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
	sched->go_id = 1;
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

/* What is copied to a dense coroutine ends where its room ends, whatever Go says; and it is told
 * what Go said. */
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

TEST(gocall_that_writes_too_much)
{
	static const coro_attr dense = {.size = sizeof(coro_attr), .flags = CORO_DENSE};
	run(&dense, gets_too_much);
}

/* The length of the text is told wherever it is to go. */
static void asks_for_the_text(void *arg, void *result)
{
	char text[4] = "abc";
	(void)arg;
	(void)result;

	CHECK_EQ(coro_call_error(text, 4), 0);
	CHECK_EQ(text[0], 0);
	text[0] = 'a';
	fail_alloc = 0;
	CHECK(!coro_malloc(8)); /* no arena: no text either, and none is asked for */
	fail_alloc = 0;
	CHECK_EQ(coro_call_error(text, 4), 0);
	CHECK_EQ(fail_alloc, 0);
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

/* Go takes what is in the goworker as it has room for it. */
static void starts_bodies(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (int i = 0; i < 5; i++)
		CHECK_EQ(coro_spawn_go(COROI_GO_BODY | 9, NULL, 0, NULL), CORO_OK);
	add_one(&done);
}

TEST(gocall_goworker_is_taken_in_parts)
{
	static const uint32_t caps[] = {2, 1, 0, 5}, taken[] = {2, 1, 0, 2};
	struct coroi_goworker_item items[5];

	CHECK_EQ(coroi_goworker_body(COROI_GO_BODY | 9, 0, 0), CORO_OK);
	coro_scheduler *s = start_with(1, 0);
	struct coroi_worker *goworker = coroi_goworker(s);
	s->go_id = 1;
	done = 0;
	spawn(s, starts_bodies, NULL, 0);
	while (!seen(&done) || at_load_acq(&goworker->ev) != COROI_EV_WOKEN)
		sleep_us(100);
	at_store_rlx(&goworker->ev, COROI_EV_NONE);
	for (int i = 0; i < 4; i++) {
		CHECK_EQ(coroi_goworker_take(goworker, items, caps[i]), taken[i]);
		for (uint32_t k = 0; k < taken[i]; k++) {
			CHECK_EQ(items[k].kind, COROI_GOWORKER_START);
			CHECK_EQ(items[k].body, COROI_GO_BODY | 9);
			coroi_goworker_end(goworker, items[k].rec, 0);
			at_bump(&goworker->ended);
		}
		CHECK_EQ(coroi_goworker_park(goworker), i == 3); /* not while there is more */
	}
	finish(s);
}

/* A goroutine that comes to a closed channel does not wait. */
TEST(gocall_at_closed_channels)
{
	coro_scheduler *s = start_with(1, 0);
	struct coroi_gowaiter *g = coroi_gowaiter_new(s, 1, NULL, 0, 8);
	coro_chan *c;

	CHECK(g);
	CHECK_EQ(coro_chan_new(&c, 8, 0, 0), CORO_OK);
	CHECK_EQ(coro_chan_close(c), CORO_OK);
	CHECK_EQ(coroi_chan_send_gowaiter(c, g), CORO_ECLOSED);
	CHECK_EQ(coroi_chan_recv_gowaiter(c, g), CORO_ECLOSED);
	CHECK_EQ(coro_chan_free(c), CORO_OK);
	coroi_gowaiter_free(g);
	finish(s);
}
