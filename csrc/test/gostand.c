/* gostand.c - see gostand.h. */
#include "gostand.h"

#include "border/gocall.h"
#include "kernel/idle.h"
#include "border/goworker.h"
#include "border/state.h"
#include "kernel/life.h"
#include "kernel/wait.h"

#include <string.h>

static void (*served_by)(struct coroi_worker *);

static void serves_by_turns(struct coroi_worker *w)
{
	do
		served_by(w);
	while (coroi_work(w));
}

void stand_in(void (*serve)(struct coroi_worker *))
{
	served_by = serve;
	coroi_go_register(serves_by_turns);
}

coro_scheduler *start_go(uint32_t workers, uint32_t flags)
{
	coro_scheduler *s = start_with(workers, flags);
	coroi_border(s)->bell.go_id = 1;
	return s;
}

struct go_made go_made;
void (*adds_first)(struct coroi_worker *);

void adds(struct coroi_worker *w)
{
	uint64_t n = w->calls.count;

	CHECK(coroi_self() == w);
	CHECK(!w->current);
	CHECK_EQ(w->busy, 0);
	if (adds_first)
		adds_first(w);
	for (struct coroi_call *c = coroi_calls_of(w); c < coroi_calls_of(w) + n; c++) {
		CHECK_EQ(c->caller->state, COROI_ACTIVE);
		if (c->id == 1 && c->arg_bytes == sizeof(int64_t)) {
			*(int64_t *)c->result = *(const int64_t *)c->arg + 1;
			c->got = sizeof(int64_t);
			c->status = CORO_OK;
		} else if (c->id == 2) {
			coroi_call_fail(c, "it failed", 9);
		} else if (c->id == 4) {
			coroi_call_fail(c, "", 0);
		} else if (c->id == 3) {
			char text[300];
			memset(text, 'x', sizeof text);
			coroi_call_fail(c, text, sizeof text);
		} else {
			c->status = CORO_EINVAL;
			c->got = 0;
		}
	}
	__atomic_add_fetch(&go_made.lists, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&go_made.served, n, __ATOMIC_RELAXED);
	if (n > __atomic_load_n(&go_made.longest, __ATOMIC_RELAXED))
		__atomic_store_n(&go_made.longest, n, __ATOMIC_RELAXED);
}

/* Go's part of OFF5 and OFF6, by threads that poll, or that sleep until the bell would be rung. */
uint64_t clerks_stop;

void complete(struct coro_scheduler *s, struct coroi_call *c)
{
	struct coroi_rec *r = c->caller;
	uint64_t word = at_load_rlx(&r->wake);

	while (!at_cas(&r->wake, &word, word | COROI_EVENT))
		;
	if ((word & COROI_WAKE_MASK) == 0) {
		struct coroi_worker *home = &s->worker[at_load_rlx(&r->home)];
		coroi_inbox_push(home, (uintptr_t)r | COROI_NODE_WAKE);
		coroi_notify_pushed(home);
	}
	coroi_pending_end(s);
}

void make_call(struct coroi_call *c)
{
	if (c->id == 2) {
		coroi_call_fail(c, "it failed", 9);
		return;
	}
	*(int64_t *)c->result = *(const int64_t *)c->arg + 1;
	c->got = sizeof(int64_t);
}

/* clerk_once - make the calls that are there, the latest first. */
uint64_t clerk_once(coro_scheduler *s)
{
	uint64_t n = 0;

	for (uint64_t node = at_xchg(&coroi_border(s)->calls.first, 0), next; node;
	     node = next, n++) {
		struct coroi_call *c = (struct coroi_call *)(uintptr_t)node;
		next = c->next;
		make_call(c);
		complete(s, c);
	}
	return n;
}

void *clerk(void *arg)
{
	struct coro_scheduler *s = arg;

	while (!at_load_seq(&clerks_stop)) {
		if (clerk_once(s))
			continue;
		at_xchg(&coroi_border(s)->calls.unwatched, 1); /* OFF5 */
		if (at_load_seq(&coroi_border(s)->calls.first))
			continue;
		while (at_load_seq(&coroi_border(s)->calls.unwatched) && !at_load_seq(&clerks_stop))
			sleep_us(20);
	}
	return NULL;
}

/* --------------------------------------------------------------------------------------- lends */

/* sleeps_for_good - w sleeps until it is claimed. A standby looks around now and then, and cannot
 * be lent meanwhile; where all sleep, it soon stands down. */
static bool sleeps_for_good(struct coroi_worker *w)
{
	struct coro_scheduler *s = w->sched;

	return coroi_sleeps(s, w->id) && at_load_acq(&w->ev) == COROI_EV_SLEEPS &&
	       (at_load_seq(&s->standby) != w->id + 1u ||
		COROI_AWAKE_OF(at_load_seq(&s->activity))) &&
	       at_load_acq(&w->ev) == COROI_EV_SLEEPS;
}

/* all_sleep - in one look at all: one that lies down may have another look around. */
static bool all_sleep(coro_scheduler *s)
{
	for (uint32_t i = 0; i < coroi_general(s); i++)
		if (!sleeps_for_good(&s->worker[i]))
			return false;
	return true;
}

void until_asleep(coro_scheduler *s)
{
	while (!all_sleep(s))
		sleep_us(50);
}

struct coroi_lend lend_of(coro_scheduler *s, coro_fn fn, const void *arg, size_t arg_bytes,
			  size_t result_bytes)
{
	struct coroi_lend l = {
		.sched = (uintptr_t)s,
		.fn = (uintptr_t)fn,
		.class = s->class,
		.arg_bytes = (uint8_t)arg_bytes,
		.result_bytes = (uint8_t)result_bytes,
		.id = COROI_JOIN_LENDER,
		.status = 77,
	};

	if (arg_bytes)
		memcpy(l.payload, arg, arg_bytes);
	return l;
}

int lend(struct coroi_lend *l)
{
	for (;;) {
		l->outcome = coroi_lend_call(l);
		if (l->outcome != COROI_LEND_NONE)
			return l->outcome;
		sleep_us(20);
	}
}

int take_end(struct coroi_lend *l)
{
	struct coroi_rec *r = (struct coroi_rec *)(uintptr_t)l->rec;
	uint64_t end = coroi_join_word((uint32_t)(l->gen >> COROI_GEN_SHIFT), COROI_JOIN_FINAL,
				       COROI_FINAL_FOR_GO);

	while (at_load_acq(&coroi_cold(r)->join) != end)
		sleep_us(20);
	l->status = coroi_join_status(r);
	if (l->status == CORO_EFAILED) {
		struct coroi_failure f = coroi_failed(r);
		l->code = f.code;
		l->text = (uintptr_t)f.text;
	} else {
		memcpy(l->payload, coroi_cold(r)->payload, sizeof l->payload);
	}
	coroi_join_free(r);
	return l->status;
}

int lend_to_end(struct coroi_lend *l)
{
	struct coro_scheduler *s = (struct coro_scheduler *)(uintptr_t)l->sched;

	for (lend(l); l->outcome == COROI_LEND_CALLS;) {
		struct coroi_call *c = (struct coroi_call *)(uintptr_t)l->call;
		make_call(c);
		l->outcome = coroi_lend_on(l);
		if (l->outcome != COROI_LEND_NONE)
			continue;
		complete(s, c);
		l->outcome = COROI_LEND_SUSPENDED;
	}
	if (l->outcome < 0)
		return l->outcome;
	return l->outcome == COROI_LEND_SUSPENDED ? take_end(l) : l->status;
}
