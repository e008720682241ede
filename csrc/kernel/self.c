//go:build cgo && linux
/*
 * self.c - what a coroutine of either layer may ask for itself: memory, deferred functions, its
 * end, its stack.
 *
 * The coroutine meant is the innermost one resumed by hand on this thread, else its dispatcher's,
 * else the worker's current one.
 */
#include "base/manual.h"
#include "dispatch/dispatch.h"
#include "base/extras.h"
#include "kernel/run.h"
#include "base/switch.h"

#include <string.h>

struct coroi_extras **coroi_extras_of(struct coroi_rec *me)
{
	if (!(me->flags & COROI_F_EXTRAS)) {
		struct coroi_extras *first = NULL;
		if (!coroi_extras_text(&first))
			return NULL;
		coroi_cold(me)->extras = first;
		me->flags |= COROI_F_EXTRAS; /* from here on the tick lies there: see timer.h */
	}
	return &coroi_cold(me)->extras;
}

/* extras - *out is where those of the coroutine meant hang. Returns: CORO_OK, CORO_EPERM outside a
 * coroutine, CORO_ENOMEM. */
static int extras(struct coroi_extras ***out)
{
	coro_t *co = coroi_manual();
	struct coroi_dispatched *c = co ? NULL : coroi_dispatched_here();
	struct coroi_rec *me;

	if (co)
		*out = &co->extras;
	else if (c)
		*out = &c->extras;
	else if (!(me = coroi_current(coroi_self())))
		return CORO_EPERM;
	else if (!(*out = coroi_extras_of(me)))
		return CORO_ENOMEM;
	return CORO_OK;
}

int coro_defer(void (*fn)(void *), void *arg)
{
	if (!fn)
		return CORO_EINVAL;
	struct coroi_extras **e;
	int status = extras(&e);
	return status ? status : coroi_extras_defer(e, fn, arg);
}

void *coro_malloc(size_t bytes)
{
	struct coroi_extras **e;
	return extras(&e) ? NULL : coroi_extras_malloc(e, bytes);
}

char *coro_strndup(const char *s, size_t n)
{
	size_t bytes = strnlen(s, n);
	char *copy = coro_malloc(bytes + 1);
	if (copy) {
		memcpy(copy, s, bytes);
		copy[bytes] = 0;
	}
	return copy;
}

char *coro_strdup(const char *s)
{
	return coro_strndup(s, PTRDIFF_MAX);
}

static int end(int status, uint8_t flags)
{
	coro_t *co = coroi_manual();
	if (co)
		coroi_manual_exit(co, status);
	struct coroi_dispatched *c = coroi_dispatched_here();
	if (c)
		coroi_dispatch_exit(c, status);
	struct coroi_rec *me = coroi_current(coroi_self());
	if (!me)
		return CORO_EPERM;
	me->flags |= flags;
	coroi_exit(coroi_self());
}

int coro_exit(void)
{
	return end(CORO_FINISHED, 0);
}

int coro_abort(void)
{
	return end(CORO_ABORT, COROI_F_ABORTED);
}

int coro_exit_canceled(void)
{
	return coro_canceled() ? end(CORO_FINISHED, COROI_F_CANCELED) : CORO_EPERM;
}

static struct coroi_stack **current_stack(void)
{
	coro_t *co = coroi_manual();
	if (co)
		return &co->stack;
	struct coroi_dispatched *c = coroi_dispatched_here();
	if (c)
		return &c->stack;
	struct coroi_rec *me = coroi_current(coroi_self());
	return me ? &me->stack : NULL;
}

size_t coro_stack_left(void)
{
	struct coroi_stack **s = current_stack();
	char *here = __builtin_frame_address(0);
	return s && here > (*s)->low ? (size_t)(here - (*s)->low) : 0;
}

/* ----------------------------------------------------------------------------
 * coro_call_on_stack */

struct deep_call {
	void (*fn)(void *);
	void *arg;
	struct coroi_stack *stack;
	struct coroi_fiber from;
};

static void deep_main(intptr_t value)
{
	struct deep_call *c = (struct deep_call *)value;
	void *gone;

	coroi_fiber_arrive(NULL, &c->from);
	c->fn(c->arg);
	coroi_fiber_leave(NULL, &c->from);
	coroi_swap(&gone, c->stack->back, 0);
	__builtin_unreachable();
}

static struct coroi_stack *take(bool bare, unsigned class)
{
	struct coroi_stack *s = NULL;

	if (bare) {
		coroi_stack_pool_get(coroi_manual_pool(), class, &s, 1);
		return s;
	}
	struct coroi_worker *w = coroi_self();
	coroi_door_enter(w);
	s = coroi_stack_get(&w->stacks, class);
	coroi_door_leave(w);
	return s;
}

static void give_back(bool bare, struct coroi_stack *s)
{
	if (bare) {
		coroi_stack_pool_put(coroi_manual_pool(), &s, 1);
		return;
	}
	struct coroi_worker *w = coroi_self();
	coroi_door_enter(w);
	coroi_stack_put(&w->stacks, s);
	coroi_door_leave(w);
}

int coro_call_on_stack(size_t bytes, void (*fn)(void *), void *arg)
{
	struct coroi_stack **stack = current_stack();
	int class = coroi_stack_class(bytes);
	bool bare = coroi_manual() || coroi_dispatched_here();
	struct deep_call call = {.fn = fn, .arg = arg};

	if (!stack)
		return CORO_EPERM;
	if (class < 0 || !fn)
		return CORO_EINVAL;
	struct coroi_stack *s = take(bare, (unsigned)class);
	if (!s)
		return CORO_ENOMEM;
	call.stack = s;
	s->below = *stack;
	*stack = s;
	coroi_stack_fresh(s);
	void *sp = coroi_context(s->top, deep_main), *fake = NULL;
	coroi_fiber_here(&call.from);
	coroi_fiber_leave(&fake, &s->fiber);
	coroi_swap(&s->back, sp, (intptr_t)&call);
	coroi_fiber_arrive(fake, NULL);
	*stack = s->below; /* of the same record or coroutine, wherever it runs now */
	s->below = NULL;
	give_back(bare, s);
	return CORO_OK;
}
