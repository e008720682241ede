//go:build ignore
/*
 * self.c - scheduled coroutines as a layer (base/current.h): what base asks of the scheduled
 * coroutine that runs on this thread.
 */
#include "base/current.h"
#include "base/fault.h"
#include "kernel/inner.h"
#include "kernel/wait.h"

static struct coroi_stack **layer_stack(void)
{
	struct coroi_rec *me = coroi_current(coroi_self());
	return me ? &me->stack : NULL;
}

static struct coroi_extras **layer_extras(void)
{
	return coroi_extras_of(coroi_self()->current);
}

/* is_over - the body of me has ended, and its deferred functions run. */
static bool is_over(const struct coroi_rec *me)
{
	return me->flags & COROI_F_EXTRAS && coroi_extras_over(coroi_cold(me)->extras);
}

static void layer_end(int status)
{
	struct coroi_rec *me = coroi_self()->current;

	if (status != CORO_FINISHED && !is_over(me)) {
		at_bump(&coroi_self()->ends.failed);
		coroi_flag(me, COROI_F_ABORTED);
	}
	coroi_exit(coroi_self());
}

static void layer_fail(struct coroi_failure f)
{
	struct coroi_rec *me = coroi_self()->current;

	if (is_over(me))
		coroi_release(f.text);
	else
		coroi_fail(me, f);
}

static struct coroi_stack *layer_take(unsigned class)
{
	struct coroi_worker *w = coroi_self();

	coroi_door_enter(w);
	struct coroi_stack *s = coroi_stack_get(&w->stacks, class);
	coroi_door_leave(w);
	return s;
}

static void layer_give(struct coroi_stack *s)
{
	struct coroi_worker *w = coroi_self();

	coroi_door_enter(w);
	coroi_stack_put(&w->stacks, s);
	coroi_door_leave(w);
}

void coroi_be_known_as(coro_fn fn)
{
	struct coroi_worker *w = coroi_self();

	coroi_door_enter(w);               /* who reports looks with all doors locked */
	at_store_own(&w->current->fn, fn); /* a waker takes it for a hint: remote_wake */
	coroi_door_leave(w);
}

void coroi_where_of(const struct coroi_rec *r, struct coroi_where *at)
{
	at->scheduler = coroi_owner(r)->name;
	at->stack = r->stack;
	at->fn = (uintptr_t)coroi_user_fn(r);
	at->handle = coroi_handle(r);
}

static bool layer_where(struct coroi_where *at)
{
	struct coroi_worker *w = coroi_self();

	if (!w)
		return false;
	at->worker = w->id;
	at->scheduler = w->sched->name;
	if (w->current) {
		coroi_where_of(w->current, at);
		if (coroi_dense_is_away(w, w->current))
			at->stack = NULL;
	} else if (w->in_go) {
		at->what = "in a call of coro_call_go_inline";
	}
	return true;
}

static const struct coroi_layer layer = {
	.stack = layer_stack,
	.extras = layer_extras,
	.end = layer_end,
	.fail = layer_fail,
	.take = layer_take,
	.give = layer_give,
	.where = layer_where,
};

__attribute__((constructor)) static void layer_register(void)
{
	coroi_layer[COROI_LAYER_SCHEDULED] = &layer;
}
