//go:build ignore
/*
 * current.c - the calls that a coroutine of any layer may make for itself: memory, deferred
 * functions, its end, a larger stack.
 *
 * They are for the innermost coroutine on this thread.
 */
#include "base/current.h"

#include "base/extras.h"
#include "base/fault.h"
#include "base/switch.h"

#include <string.h>

__thread struct coroi_rec **coroi_scheduled_tls;
const struct coroi_layer *coroi_layer[COROI_LAYERS];

const struct coroi_layer *coroi_innermost(void)
{
	struct coroi_rec **scheduled = coroi_scheduled();

	if (coroi_likely(scheduled && *scheduled)) /* not hidden: no other layer is inside it */
		return coroi_layer[COROI_LAYER_SCHEDULED];
	for (int i = 0; i < COROI_LAYER_SCHEDULED; i++)
		if (coroi_layer[i] && coroi_layer[i]->stack())
			return coroi_layer[i];
	return NULL;
}

bool coroi_is_plain_thread(void)
{
	const struct coroi_layer *blocking = coroi_layer[COROI_LAYER_BLOCKING];
	struct coroi_where at;

	return !coroi_innermost() && !(blocking && blocking->where(&at));
}

int coro_defer(void (*fn)(void *), void *arg)
{
	const struct coroi_layer *l = coroi_innermost();

	if (!fn)
		return CORO_EINVAL;
	if (!l)
		return CORO_EPERM;
	struct coroi_extras **e = l->extras();
	return e ? coroi_extras_defer(e, fn, arg) : CORO_ENOMEM;
}

void *coro_malloc(size_t bytes)
{
	const struct coroi_layer *l = coroi_innermost();
	struct coroi_extras **e = l ? l->extras() : NULL;

	return e ? coroi_extras_malloc(e, bytes) : NULL;
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

/* end - end the innermost coroutine. Returns only if there is none: CORO_EPERM. */
static int end(int status)
{
	const struct coroi_layer *l = coroi_innermost();

	if (l)
		l->end(status);
	return CORO_EPERM;
}

int coro_exit(void)
{
	return end(CORO_FINISHED);
}

int coro_abort(void)
{
	return end(CORO_ABORT);
}

int coro_fail(int code, const char *text)
{
	const struct coroi_layer *l = coroi_innermost();

	if (l && l->fail)
		l->fail(coroi_failure_make(code, text, CORO_FAILURE_BYTES));
	return end(CORO_FAILED);
}

size_t coro_stack_left(void)
{
	const struct coroi_layer *l = coroi_innermost();
	const struct coroi_stack *s = l ? *l->stack() : NULL;
	char *here = __builtin_frame_address(0);

	return s && here > s->low ? (size_t)(here - s->low) : 0;
}

/* ------------------------------------------------------------------------- coro_call_on_stack */

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

int coro_call_on_stack(size_t bytes, void (*fn)(void *), void *arg)
{
	const struct coroi_layer *l = coroi_innermost();
	int class = coroi_stack_class(bytes);
	struct deep_call call = {.fn = fn, .arg = arg};

	if (!l)
		return CORO_EPERM;
	if (class < 0 || !fn)
		return CORO_EINVAL;
	struct coroi_stack **stack = l->stack(), *s = l->take((unsigned)class);
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
	*stack = s->below; /* still the place of the same coroutine, on any thread */
	s->below = NULL;
	l->give(s);
	return CORO_OK;
}
