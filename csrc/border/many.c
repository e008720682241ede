//go:build ignore
/* many.c - see many.h. */
#include "border/many.h"

#include "border/policy.h"
#include "kernel/carry.h"
#include "kernel/inner.h"
#include "kernel/run.h"
#include "kernel/wait.h"

#include <string.h>

static struct coroi_one *one_of(struct coroi_many *m, uint32_t i)
{
	return (struct coroi_one *)(void *)(m->ones + (size_t)i * m->stride);
}

static struct coroi_one *argument(const void *arg)
{
	struct coroi_one *one;

	memcpy(&one, arg, sizeof one);
	return one;
}

/* count_out - n calls have ended (MNY2). Returns: the leader, if it is to be sent its event. */
static struct coroi_rec *count_out(struct coroi_many *m, uint32_t n)
{
	if (at_add(&m->left, -n))
		return NULL;
	return (struct coroi_rec *)(uintptr_t)at_xchg(&m->waiter, 0);
}

/* drop_argument - one never begins: the buffers of its argument are freed. */
static void drop_argument(struct coroi_one *one)
{
	struct coroi_many *m = one->of;

	if (coroi_unlikely(at_load_rlx(&m->state) & COROI_MANY_CARRIES))
		coroi_carry.drop(one->payload + m->arg_at, m->arg_buffers);
}

/* fail - one ends with another status than CORO_OK, which it has to begin with. */
COROI_COLD static void fail(struct coroi_one *one, int status)
{
	one->status = status;
	at_store_rlx(&one->of->failed, 1);
}

/* fail_unbegun - the same of one that never begins. */
static void fail_unbegun(struct coroi_one *one, int status)
{
	drop_argument(one);
	fail(one, status);
}

void coroi_many_unstarted_locked(struct coroi_worker *w, uint64_t arg, int status)
{
	struct coroi_one *one = (struct coroi_one *)(uintptr_t)arg;

	fail_unbegun(one, status);
	struct coroi_rec *leader = count_out(one->of, 1);
	if (leader)
		coroi_event_send_remote(w->sched, leader);
}

void coroi_many_ended(struct coroi_rec *me)
{
	struct coroi_one *one = argument(coroi_cold(me)->payload);
	int status = coroi_join_status(me);

	/* from the count on the call may be freed, and reports still name me */
	at_store_own(&me->fn, (coro_fn)(uintptr_t)one->of->fn);
	coroi_more_drop(me, COROI_M_FAILED); /* the failure is in the call, not in the record */
	if (status != CORO_OK)
		fail(one, status);
	struct coroi_rec *leader = count_out(one->of, 1);
	if (leader)
		coroi_event_send(leader);
}

void coroi_many_fail(struct coroi_rec *me, struct coroi_failure f)
{
	struct coroi_one *one = argument(coroi_cold(me)->payload);

	if (me->more & COROI_M_FAILED) /* told before what me had deferred ran */
		return;
	one->code = f.code;
	one->text = f.text;
	coroi_more_add(me, COROI_M_FAILED);
}

/* may_begin - the state of one's calls is not 0: may it begin? If not, one ends with the status
 * that it has, or else as canceled. */
COROI_COLD static bool may_begin(struct coroi_one *one)
{
	struct coroi_many *m = one->of;
	uint32_t state = at_load_rlx(&m->state);

	if (one->status)
		return false;
	if (state & COROI_MANY_LENDS) {
		at_xchg(&one->handle, coro_self()); /* MNY4 */
		state = at_load_seq(&m->state);
	}
	if (!(state & COROI_MANY_CANCELED))
		return true;
	drop_argument(one);
	coroi_tell(CORO_ECANCELED);
	return false;
}

void coroi_many_one(void *arg, void *scratch)
{
	struct coroi_one *one = argument(arg);
	struct coroi_many *m = one->of;
	coro_fn fn = (coro_fn)(uintptr_t)m->fn;

	if (coroi_likely(!at_load_rlx(&m->state)) || may_begin(one))
		fn(m->arg_bytes ? one->payload + m->arg_at : NULL,
		   m->result_bytes ? one->payload : scratch);
	if (coroi_unlikely(!coroi_self())) /* fn has ended on a thread that is no worker */
		coroi_on_end_elsewhere();
	struct coroi_rec *me = coroi_self()->current;
	if (coroi_likely(!(me->flags & COROI_F_EXTRAS))) /* else the end comes later: run.c */
		coroi_many_ended(me);
}

/* spawn - start up to n calls, from the i-th on. Returns: how many; fewer than n: there was no
 * record for more. */
static uint32_t spawn(struct coroi_worker *w, struct coroi_many *m, uint32_t i, uint32_t n)
{
	uint64_t runnable = coroi_runnable_new(coroi_many_one, m->class, 1, false);
	uint32_t k = 0;

	coroi_door_enter(w);
	for (; k < n && coroi_mags_spend(&w->mags); k++) {
		struct coroi_one *one = one_of(m, i + k);
		one->of = m;
		if (coroi_unlikely(!coroi_deque_push_new(&w->queue, runnable, (uintptr_t)one))) {
			coroi_mags_earn(&w->mags);
			break;
		}
	}
	at_bump_by(&w->spawned, k);
	coroi_notify_queued(w);
	coroi_door_leave(w);
	return k;
}

/* cancel_calls - those that have not begun never will. Those that have are canceled, if they
 * lend. */
COROI_COLD static void cancel_calls(struct coroi_many *m)
{
	uint32_t state = at_load_rlx(&m->state);

	if (state & COROI_MANY_CANCELED)
		return;
	if (!(state & COROI_MANY_LENDS)) {
		at_store_rlx(&m->state, state | COROI_MANY_CANCELED); /* MNY3 */
		return;
	}
	at_or(&m->state, COROI_MANY_CANCELED); /* MNY4 */
	for (uint32_t i = 0; i < m->count; i++) {
		coro_handle handle = at_load_seq(&one_of(m, i)->handle);
		if (handle)
			coro_cancel(handle); /* ended: it is stale */
	}
}

/* spawn_all - start all calls. Where there is no record for one, wait for the end of others;
 * without others, the calls that are left end with CORO_ENOMEM. */
static void spawn_all(struct coroi_many *m)
{
	for (uint32_t i = 0; i < m->count;) {
		uint32_t left = m->count - i;
		uint32_t k = spawn(coroi_self(), m, i,
				   left < COROI_MANY_AT_ONCE ? left : COROI_MANY_AT_ONCE);
		if (!k && at_load_seq(&m->left) == left + 1) {
			for (; i < m->count; i++) {
				one_of(m, i)->of = m; /* it was never spawned */
				fail_unbegun(one_of(m, i), CORO_ENOMEM);
			}
			count_out(m, left); /* not the last: the leader is left */
			return;
		}
		if ((i += k) >= m->count)
			return;
		coro_yield();
		if ((at_load_rlx(&m->state) & COROI_MANY_LENDS) && coro_canceled())
			cancel_calls(m); /* else there may never be a record for the rest */
	}
}

static bool withdraw(void *arg)
{
	struct coroi_many *m = arg;

	return at_xchg(&m->waiter, 0) != 0; /* MNY3 */
}

void coroi_many_lead(void *arg, void *unused)
{
	struct coroi_many *m;

	(void)unused;
	memcpy(&m, arg, sizeof m);
	spawn_all(m);
	coro_self(); /* the record is known from now on */
	struct coroi_rec *me = coroi_self()->current;
	at_xchg(&m->waiter, (uintptr_t)me); /* MNY1 */
	if (!at_add(&m->left, -1))
		return;
	if (coroi_wait(me, CORO_WAIT_JOIN, CORO_FOREVER, withdraw, m) == CORO_OK)
		return;
	cancel_calls(m);
	at_xchg(&m->waiter, (uintptr_t)me);
	if (!at_load_seq(&m->left) && at_xchg(&m->waiter, 0))
		return;
	coroi_wait(me, CORO_WAIT_JOIN, CORO_FOREVER, NULL, NULL);
}

/* ------------------------------------------------------------------------------ what reports name
 * */

static coro_fn fn_of_one(const void *payload)
{
	return (coro_fn)(uintptr_t)argument(payload)->of->fn;
}

static coro_fn fn_of_leader(const void *payload)
{
	struct coroi_many *m;

	memcpy(&m, payload, sizeof m);
	return (coro_fn)(uintptr_t)m->fn;
}

__attribute__((constructor)) static void many_register(void)
{
	static struct coroi_inner one = {.body = coroi_many_one, .stands_for = fn_of_one};
	static struct coroi_inner leader = {
		.body = coroi_many_lead, .stands_for = fn_of_leader, .hidden = true};

	coroi_inner_register(&one);
	coroi_inner_register(&leader);
}
