/* scenarios_dense.c - dense coroutines: frames that are copied, stacks that are kept, waits. */
#include "ledger.h"

#include <string.h>

/* A shared stack. Frames of COPIED bytes have a mapping of their own when they are copied out, so
 * that a refused mapping is a refused copy. Frames of KEPT bytes are too large to be copied. */
#define SHARED ((size_t)8 * STACK)
#define COPIED (SHARED / 4)
#define KEPT   (SHARED / 2 + SHARED / 4)

#define DENSE_CHILD                                        \
	(&(coro_attr){.size = sizeof(coro_attr),           \
		      .flags = CORO_DENSE | CORO_JOINABLE, \
		      .result_bytes = sizeof(uint64_t)})

static coro_scheduler *begin_dense(uint32_t workers)
{
	coro_options o = options(workers, 0);

	o.shared_stacks = 2;
	o.shared_stack_bytes = SHARED;
	return begin_with(&o);
}

/* ------------------------------------------------------------------------ frames */

/* parked_with - that many bytes of the stack are what they were, after a park and a yield. */
static __attribute__((noinline)) void parked_with(size_t bytes)
{
	char frame[bytes];

	frames_filled(frame, bytes);
	again(coro_park(), CORO_ENOMEM);
	frames_kept(frame, bytes);
	again(coro_yield(), CORO_ENOMEM);
	frames_kept(frame, bytes);
}

static void parks_with_frames(void *arg, void *result)
{
	uint64_t bytes = *(uint64_t *)arg;

	parked_with(bytes);
	memcpy(result, &bytes, sizeof bytes);
	count(&ran);
}

#define LARGE  2 /* as many as there are shared stacks */
#define FAMILY 14

static void dense_family(void *arg, void *result)
{
	static const uint64_t frames[] = {200, COPIED, 200, 3000};
	uint64_t bytes[FAMILY], got;
	coro_handle h[FAMILY];

	(void)arg;
	(void)result;
	for (uint64_t i = 0; i < FAMILY; i++) {
		bytes[i] = i < LARGE ? KEPT : frames[i % 4] + 8 * (i % 2);
		inside(DENSE_CHILD, parks_with_frames, &bytes[i], sizeof bytes[i], &h[i]);
		if (i + 1 == LARGE) /* each of them alone on its shared stack */
			CHECK_EQ(coro_yield(), CORO_OK);
	}
	CHECK_EQ(coro_yield(), CORO_OK);
	for (int i = 0; i < FAMILY; i++)
		if (h[i])
			CHECK(went_well(coro_wake(h[i]), CORO_ESTALE) || lasting);
	for (int i = 0; i < FAMILY; i++) {
		if (!h[i])
			continue;
		if (went_well(coro_join(h[i], &got, sizeof got), CORO_ENOMEM))
			CHECK_EQ(got, bytes[i]);
		else
			CHECK(lasting);
	}
	count(&ran);
}

/* One worker, two shared stacks. A coroutine that starts has one that waits copied out. One that
 * goes on changes places with another. */
SCENARIO(dense)
{
	coro_scheduler *s = begin_dense(1);

	if (!s)
		return;
	outside(s, dense_family, NULL, 0);
	CHECK_EQ(QUIET(coro_scheduler_wait(s)), CORO_OK);
	if (!may_fail()) {
		CHECK_EQ(stats(s).dense_private, LARGE);
		CHECK(stats(s).dense_copied_out >= FAMILY - 2 * LARGE);
		CHECK_EQ(stats(s).dense_copied_in, stats(s).dense_copied_out);
	}
	end(s);
}

/* ------------------------------------------------------------------------ waits */

/* Bytes of a value: what a dense coroutine waits with has a mapping of its own, too. */
#define VALUE ((size_t)32 << 10)

static coro_chan *bulk;
static uint64_t sent, received, called;

static void counts_call(void *arg)
{
	count(arg);
}

/* may_have - what a wait at bulk returns, of a dense coroutine. True: a value was passed. */
static bool may_have(int status)
{
	return status != CORO_ETIMEDOUT && went_well(status, CORO_ENOMEM);
}

static __attribute__((noinline)) void sends_and_receives(uint64_t id)
{
	char value[VALUE];
	uint64_t deadline = coro_now() + 100000;
	coro_case both[] = {{.chan = bulk, .send = value}, {.chan = bulk, .recv = value}};

	frames_filled(value, sizeof value);
	if (id % 3 == 2) {
		int one = coro_select(both, 2, deadline);
		if (may_have(one > 0 ? CORO_OK : one))
			count(one ? &received : &sent);
	} else if (id % 3) {
		if (may_have(coro_chan_send(bulk, value, deadline)))
			count(&sent);
	} else if (may_have(coro_chan_recv(bulk, value, deadline))) {
		count(&received);
	}
	frames_kept(value, sizeof value);
}

static void deep_wait(void *arg)
{
	char frame[1000];

	frames_filled(frame, sizeof frame);
	again(coro_yield(), CORO_ENOMEM);
	frames_kept(frame, sizeof frame);
	count(arg);
}

static void waits_dense(void *arg, void *result)
{
	uint64_t id = *(uint64_t *)arg, *deep = coro_malloc(sizeof *deep);

	(void)result;
	for (uint64_t i = 0; i < 4; i++) {
		sends_and_receives(id + i);
		again(coro_yield(), CORO_ENOMEM);
	}
	again(coro_sleep(50000), CORO_ENOMEM);
	int status = coro_blocking(counts_call, &called);
	CHECK(status == CORO_OK ||
	      (may_fail() && (status == CORO_EAGAIN || status == CORO_ENOMEM)));
	CHECK_EQ(coro_thread_begin(), CORO_EPERM); /* a shared stack stays with its worker */
	if (deep) {
		*deep = 0;
		bool ok = again(coro_call_on_stack(STACK, deep_wait, deep), CORO_ENOMEM);
		CHECK_EQ(*deep, ok);
	}
	count(&ran);
}

/* Waits that need memory aside, for what others are to reach meanwhile. */
SCENARIO(dense_waits)
{
	coro_attr dense = {.size = sizeof dense, .flags = CORO_DENSE};
	coro_scheduler *s = begin_dense(2);

	if (!s)
		return;
	sent = received = called = 0;
	if (again(QUIET(coro_chan_new(&bulk, VALUE, 1, 0)), CORO_ENOMEM)) {
		for (uint64_t id = 0; id < 6; id++)
			outside_attr(s, &dense, waits_dense, &id, sizeof id);
		CHECK_EQ(QUIET(coro_scheduler_wait(s)), CORO_OK);
		CHECK_EQ(coro_chan_length(bulk), sent - received);
		CHECK(may_fail() || called == 6);
		CHECK_EQ(QUIET(coro_chan_free(bulk)), CORO_OK);
	}
	end(s);
}
