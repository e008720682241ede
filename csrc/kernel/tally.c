//go:build ignore
/*
 * tally.c - how many coroutines of each function live.
 *
 * Nothing is counted by function while coroutines are spawned and end: that would cost each of them
 * a look for the function. Instead, with every door locked, all records are looked at, and the
 * entries of the queues that have none. What is still in an inbox has not come to be (coroi_live).
 */
#include "kernel/inner.h"
#include "kernel/life.h"
#include "kernel/runnable.h"
#include "kernel/slab.h"

struct tally {
	coro_function_count *list;
	size_t n, cap;
	size_t last;       /* the entry that was used last: many in a row have one function */
	bool more;         /* there are functions that have no place in the list */
	uint16_t goworker; /* the home of those with a Go body */
};

static void add(struct tally *t, coro_fn fn, bool has_started)
{
	size_t i = t->last;

	if (i >= t->n || t->list[i].fn != fn)
		for (i = 0; i < t->n && t->list[i].fn != fn; i++)
			;
	if (i == t->cap) {
		t->more = true;
		return;
	}
	if (i == t->n)
		t->list[t->n++] = (coro_function_count){.fn = fn};
	t->last = i;
	t->list[i].live++;
	t->list[i].unstarted += !has_started;
}

/* add_record - a fresh coroutine of a body of the library's own is not counted: another thread may
 * be about to fill in the payload, which tells the user's function. */
static void add_record(struct coroi_rec *r, void *arg)
{
	struct tally *t = arg;
	uint8_t state = at_load_rlx(&r->state); /* relaxed: no door protects a free record */

	if (state == COROI_FREE || state == COROI_ENDED || at_load_rlx(&r->home) == t->goworker)
		return;
	const struct coroi_inner *in = coroi_inner_of(r);
	if (!in || !(in->hidden || state == COROI_FRESH))
		add(t, coroi_user_fn(r), state != COROI_FRESH);
}

/* add_queued - what lies in w's queue without a record. */
static void add_queued(struct tally *t, const struct coroi_deque *d)
{
	for (uint32_t i = 0; i < d->count; i++) {
		uint64_t runnable = d->ring[(d->head + i) & d->mask];
		if (coroi_runnable_has_record(runnable))
			continue;
		coro_fn fn = coroi_runnable_fn(runnable);
		if (!coroi_inner_body(fn))
			add(t, fn, false);
	}
}

size_t coro_scheduler_functions(coro_scheduler *s, coro_function_count *list, size_t cap)
{
	if (!s || coroi_self())
		return 0;
	struct tally t = {.list = list, .cap = list ? cap : 0, .goworker = (uint16_t)s->workers};
	pthread_mutex_lock(&s->life_lock);
	if (!s->closed) {
		coroi_doors_lock(s);
		coroi_slab_each(&s->slab, add_record, &t);
		for (uint32_t i = 0; i < s->workers; i++)
			add_queued(&t, &s->worker[i].queue);
		coroi_doors_unlock(s);
	}
	pthread_mutex_unlock(&s->life_lock);
	return t.n + t.more;
}
