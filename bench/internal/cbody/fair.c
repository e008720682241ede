/* fair.c - coroutines over channels that keep each other busy, and newcomers beside them. */
#include "cbody.h"

#include "coro_actor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct cb_fair *all;
static uint32_t count;
static int stopped; /* actors pass no tokens on */

int cb_fair_open(uint32_t n, uint64_t steps)
{
	all = calloc(n, sizeof *all);
	if (!all)
		return CORO_ENOMEM;
	count = n;
	__atomic_store_n(&stopped, 0, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < n; i++) {
		int status = coro_chan_new(&all[i].in, 8, 64, 0);
		if (status)
			return status;
		all[i].steps = steps;
	}
	return CORO_OK;
}

/* The coroutines end when the channels are closed. */
void cb_fair_stop(void)
{
	__atomic_store_n(&stopped, 1, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < count; i++)
		coro_chan_close(all[i].in);
}

void cb_fair_close(void)
{
	for (uint32_t i = 0; i < count; i++)
		coro_chan_free(all[i].in);
	free(all);
	all = NULL;
	count = 0;
}

struct cb_fair *cb_fair_at(uint32_t i)
{
	return &all[i];
}

void cb_sleep_until(int64_t ns)
{
	struct timespec t = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

int cb_fair_send(uint32_t to, uint64_t token)
{
	if (all[to].self)
		return coro_actor_send(all[to].self, 0, &token, sizeof token);
	return coro_chan_send(all[to].in, &token, CORO_FOREVER);
}

/* handles - the behaviour of an actor. */
static size_t handles(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	struct cb_fair *me = state;

	(void)turn;
	if (me->to == CB_NEWCOMER) {
		__atomic_store_n(&me->handled, (uint64_t)cb_now_ns(), __ATOMIC_RELAXED);
		return n;
	}
	for (size_t i = 0; i < n; i++) {
		__atomic_store_n(&me->handled, me->handled + 1, __ATOMIC_RELAXED);
		cb_spin(me->steps);
		if (me->to != CB_COUNTS && !__atomic_load_n(&stopped, __ATOMIC_RELAXED))
			cb_fail(cb_fair_send(me->to, m[i]->words[0]));
	}
	return n;
}

void cb_fair_actors(void *arg, void *result)
{
	static const coro_actor_kind brief = {.size = sizeof brief,
					      .behave = handles,
					      .flags = CORO_ACTOR_BRIEF},
				     slow = {.size = sizeof slow, .behave = handles};
	const coro_actor_kind *kind = all->steps < CB_FAIR_LONG ? &brief : &slow;

	(void)arg;
	(void)result;
	for (uint32_t i = 0; i < count; i++) {
		all[i].to = CB_NEWCOMER;
		cb_fail(coro_actor_spawn(NULL, kind, &all[i], &all[i].self));
	}
}

void cb_fair_busy(void *arg, void *result)
{
	struct cb_fair *me;
	uint64_t token;

	(void)result;
	memcpy(&me, arg, sizeof me);
	while (coro_chan_recv(me->in, &token, CORO_FOREVER) == CORO_OK) {
		__atomic_store_n(&me->handled, me->handled + 1, __ATOMIC_RELAXED);
		cb_spin(me->steps);
		if (coro_chan_send(all[me->to].in, &token, CORO_FOREVER))
			break;
	}
}

void cb_fair_newcomer(void *arg, void *result)
{
	struct cb_fair *me;
	uint64_t token;

	(void)result;
	memcpy(&me, arg, sizeof me);
	cb_fail(coro_chan_recv(me->in, &token, CORO_FOREVER));
	__atomic_store_n(&me->handled, (uint64_t)cb_now_ns(), __ATOMIC_RELAXED);
}

void cb_fair_crier(void *arg, void *result)
{
	struct cb_crier c;

	(void)result;
	memcpy(&c, arg, sizeof c);
	for (uint32_t i = 0; i < c.pairs; i++)
		cb_fail(cb_fair_send(c.first + 2 * i, i));
}

void cb_fair_yields(void *arg, void *result)
{
	const uint32_t *stop;

	(void)result;
	memcpy(&stop, arg, sizeof stop);
	while (!__atomic_load_n(stop, __ATOMIC_RELAXED) && coro_yield() == CORO_OK)
		;
}
