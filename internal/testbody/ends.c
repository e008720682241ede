#include "ends.h"

#include "bodies.h"

#include <string.h>

void testbody_fail(void *arg, void *result)
{
	struct testbody_failure f = *(struct testbody_failure *)arg;

	(void)result;
	coro_fail(f.code, f.text);
}

void testbody_may_fail(void *arg, void *result)
{
	struct testbody_may_fail f = *(struct testbody_may_fail *)arg;

	if (f.code)
		coro_fail((int)f.code, NULL);
	*(int64_t *)result = 2 * f.number;
}

intptr_t testbody_fail_by_hand(void *arg, intptr_t first)
{
	const struct testbody_failure *f = arg;

	coro_yield_value(first, NULL);
	if (f)
		coro_fail(f->code, f->text);
	coro_fail(3, "by hand");
	return 0;
}

void testbody_join_failed(void *arg, void *result)
{
	struct testbody_joined *j = result;

	j->status = coro_join(*(coro_handle *)arg, NULL, 0);
	coro_join_error(&j->code, j->text, sizeof j->text);
}

#define SECOND UINT64_C(1000000000)

void testbody_trade(void *arg, void *result)
{
	const struct testbody_trader *t = arg;
	struct testbody_order order = {.id = t->id};
	int64_t *answer = result;

	int status = coro_chan_send(t->book, &order, CORO_FOREVER);
	if (status == CORO_OK)
		status = coro_chan_recv(t->answers, answer, CORO_FOREVER);
	if (status != CORO_ECANCELED)
		return;

	coro_shield_begin(coro_now() + SECOND);
	order.cancels = 1;
	if (coro_chan_send(t->book, &order, CORO_FOREVER) == CORO_OK &&
	    coro_chan_recv(t->answers, answer, CORO_FOREVER) == CORO_OK)
		coro_call_go(t->audit, answer, sizeof *answer, NULL, 0, NULL);
	coro_shield_end();
	if (t->finishes)
		coro_exit_finished();
}

void testbody_shielded_for(void *arg, void *result)
{
	uint64_t ns = *(uint64_t *)arg;

	(void)result;
	coro_shield_begin(ns == CORO_FOREVER ? ns : coro_now() + ns);
	coro_park();
	coro_shield_end();
}

static void asks_deadline(void *arg, void *result)
{
	(void)arg;
	*(uint64_t *)result = coro_deadline();
}

void testbody_asks(void *arg, void *result)
{
	struct testbody_ask ask = *(struct testbody_ask *)arg;
	struct testbody_asked *asked = result;
	coro_attr attr = {.size = sizeof attr, .flags = CORO_JOINABLE, .result_bytes = 8};
	uint64_t until = ask.shield < CORO_FOREVER ? coro_now() + ask.shield : CORO_FOREVER;
	coro_handle child;

	memset(asked, 0, sizeof *asked);
	asked->deadline = coro_deadline();
	if (ask.child && coro_spawn_attr(&attr, asks_deadline, NULL, 0, &child) == CORO_OK)
		coro_join(child, &asked->deadline, 8);
	if (ask.shield)
		coro_shield_begin(until);
	asked->shielded = coro_deadline();
	if (ask.shield)
		coro_shield_end();
	if (ask.waits)
		coro_park();
	if (ask.nowait)
		coro_nowait_begin("asks");
	asked->length = coro_cancel_cause(ask.room ? asked->cause : NULL, ask.room);
	if (ask.nowait)
		coro_nowait_end();
	coro_exit_finished();
}
