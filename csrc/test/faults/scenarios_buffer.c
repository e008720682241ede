/*
 * scenarios_buffer.c - buffers: made, grown and freed, by coroutines and from outside; and carried,
 * in arguments, results, values of a channel, and calls into Go.
 */
#include "ledger.h"

#include "../gostand.h"

#include "border/gocall.h"
#include "border/goworker.h"
#include "border/state.h"
#include "buffer/buffer.h"
#include "kernel/kernel.h"

#include <stddef.h>
#include <string.h>

static uint64_t made;

/* kept - makes a buffer, lets it grow, and frees it. A refusal changes nothing. */
static void kept(coro_scheduler *from, size_t bytes)
{
	coro_buffer b = {0};
	size_t n;

	if (!again(QUIET(from ? coro_buffer_make_on(from, bytes, &b) : coro_buffer_make(bytes, &b)),
		   CORO_ENOMEM))
		return;
	count(&made);
	memset(coro_buffer_at(b, &n), 5, bytes);
	CHECK_EQ(n, bytes);
	if (again(QUIET(coro_buffer_resize(b, 3 * bytes)), CORO_ENOMEM))
		bytes *= 3;
	unsigned char *at = coro_buffer_at(b, &n);
	CHECK_EQ(n, bytes);
	CHECK(at[0] == 5);
	CHECK_EQ(QUIET(coro_buffer_free(b)), CORO_OK);
	CHECK_EQ(QUIET(coro_buffer_free(b)), CORO_ESTALE);
}

static void all_freed(coro_scheduler *s)
{
	coro_stats t;

	CHECK_EQ(QUIET(coro_scheduler_stats(s, &t, NULL, 0)), CORO_OK);
	CHECK_EQ(t.buffers_made, made);
	CHECK_EQ(t.buffers_freed, made);
	CHECK_EQ(t.buffer_bytes, 0);
}

static void keeps(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (size_t bytes = 1; bytes < 200000; bytes *= 7)
		kept(NULL, bytes);
	count(&ran);
}

SCENARIO(buffers)
{
	coro_scheduler *s = begin(2, 0, 0);

	if (!s)
		return;
	made = 0;
	for (int i = 0; i < 3; i++)
		outside(s, keeps, NULL, 0);
	for (size_t bytes = 1; bytes < 200000; bytes *= 9)
		kept(s, bytes);
	CHECK_EQ(QUIET(coro_scheduler_wait(s)), CORO_OK);
	all_freed(s);
	end(s);
}

/* ------------------------------------------------------------------------ carried */

struct cargo {
	coro_buffer a;
	uint64_t number;
	coro_buffer b;
};

#define BOTH \
	(coro_buffer_word(offsetof(struct cargo, a)) | coro_buffer_word(offsetof(struct cargo, b)))

static const coro_attr carries = {.size = sizeof carries,
				  .flags = CORO_JOINABLE,
				  .result_bytes = sizeof(struct cargo),
				  .arg_buffers = BOTH,
				  .result_buffers = BOTH};
static coro_chan *line;

/* filled - a buffer; none if there is no memory. */
static coro_buffer filled(coro_scheduler *from, size_t bytes)
{
	coro_buffer b = {0};

	if (!again(QUIET(from ? coro_buffer_make_on(from, bytes, &b) : coro_buffer_make(bytes, &b)),
		   CORO_ENOMEM))
		return (coro_buffer){0};
	count(&made);
	memset(coro_buffer_at(b, NULL), (int)(bytes % 100), bytes);
	return b;
}

static struct cargo loaded(coro_scheduler *from, uint64_t number)
{
	struct cargo c = {.number = number};

	c.a = filled(from, 100 + number);
	c.b = filled(from, 5000);
	return c;
}

static void unload_one(coro_buffer b)
{
	size_t n;
	const unsigned char *at = coro_buffer_at(b, &n);

	if (!b.id)
		return;
	CHECK(at && at[0] == n % 100 && at[n - 1] == n % 100);
	CHECK_EQ(QUIET(coro_buffer_free(b)), CORO_OK);
}

static void unload(struct cargo *c)
{
	unload_one(c->a);
	unload_one(c->b);
	c->a = c->b = (coro_buffer){0};
}

static void is_sent(const struct cargo *c)
{
	CHECK_EQ(QUIET(coro_buffer_free(c->a)), CORO_ESTALE);
	CHECK_EQ(QUIET(coro_buffer_free(c->b)), CORO_ESTALE);
}

/* answers - Go's part of a call whose argument is a buffer, and whose result is. */
static void answers(struct coroi_worker *w)
{
	for (uint64_t i = 0; i < w->calls.count; i++) {
		struct coroi_call *c = coroi_calls_of(w) + i;
		coro_buffer b = *(const coro_buffer *)c->arg;
		CHECK_EQ(coroi_buffers_pass(&b, 1), CORO_OK);
		unload_one(b);
		b = filled((coro_scheduler *)w->sched, 77);
		c->got = sizeof b;
		c->status = coroi_buffers_pass(&b, 1);
		memcpy(c->result, &b, sizeof b);
	}
}

static void asks_go(struct cargo *c)
{
	coro_buffer answer = {0};
	size_t got;

	if (!c->a.id ||
	    !again(coro_call_go_inline(1, &c->a, sizeof c->a, &answer, sizeof answer, &got),
		   CORO_ENOMEM))
		return;
	CHECK_EQ(coro_buffer_free(c->a), CORO_ESTALE);
	c->a = answer;
}

static void moves_on(void *arg, void *result)
{
	struct cargo c = *(struct cargo *)arg;

	switch (c.number % 5) {
	case 0:
		unload(&c);
		break;
	case 1:
		if (coro_chan_send(line, &c, coro_now() + 100000) == CORO_OK) {
			is_sent(&c);
			c = (struct cargo){.number = c.number};
		}
		break;
	case 2:
		asks_go(&c);
		break;
	default:
		CHECK_EQ(coro_yield(), CORO_OK);
	}
	*(struct cargo *)result = c;
	count(&ran);
	if (c.number % 5 == 4)
		coro_abort();
}

/* comes_back - what h has, which may be an end without a stack, or is not wanted. */
static void comes_back(coro_handle h, uint64_t number)
{
	struct cargo c = {0};

	if (number % 3 == 2) {
		CHECK_EQ(coro_detach(h), CORO_OK);
		return;
	}
	int status = coro_join(h, &c, sizeof c);
	if (status == CORO_OK || status == CORO_EABORTED) {
		CHECK_EQ(status == CORO_EABORTED, number % 5 == 4);
		CHECK_EQ(c.number, number);
		unload(&c);
	} else {
		CHECK(went_well(status, CORO_ENOMEM) || lasting);
	}
}

static void loads(void *arg, void *result)
{
	struct cargo mine = *(struct cargo *)arg;

	(void)result;
	for (uint64_t i = 0; i < 15; i++) {
		struct cargo c = loaded(NULL, i);
		coro_handle h;
		if (inside(&carries, moves_on, &c, sizeof c, &h)) {
			is_sent(&c);
			comes_back(h, i);
		} else {
			unload(&c);
		}
	}
	unload(&mine);
	count(&ran);
}

static void takes(void *arg, void *result)
{
	struct cargo c;

	(void)arg;
	(void)result;
	for (int i = 0; i < 5; i++) {
		int status = coro_chan_recv(line, &c, coro_now() + 100000);
		CHECK(status == CORO_OK || status == CORO_ETIMEDOUT);
		if (status == CORO_OK)
			unload(&c);
	}
	count(&ran);
}

/* Coroutines that never have a stack, and values that nobody receives, too. */
SCENARIO(carries)
{
	static const coro_attr to_loader = {.size = sizeof to_loader, .arg_buffers = BOTH};
	coro_scheduler *s = begin(2, 0, 0);

	if (!s)
		return;
	made = 0;
	stand_in(answers);
	coroi_border(s)->bell.go_id = 1;
	if (again(QUIET(coro_chan_new_buffers(&line, sizeof(struct cargo), 2, 0, BOTH)),
		  CORO_ENOMEM)) {
		for (uint64_t i = 0; i < 4; i++) {
			struct cargo c = loaded(s, i);
			if (outside_attr(s, &to_loader, loads, &c, sizeof c))
				is_sent(&c);
			else
				unload(&c);
		}
		outside(s, takes, NULL, 0);
		CHECK_EQ(QUIET(coro_scheduler_wait(s)), CORO_OK);
		CHECK_EQ(QUIET(coro_chan_free(line)), CORO_OK);
	}
	all_freed(s);
	end(s);
}
