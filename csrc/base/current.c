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
#include "base/sys.h"

#include <string.h>

/* What vsnprintf takes of a stack: glibc's takes 2 KiB for numbers and texts, and up to 9 KiB for a
 * long double. */
#define PRINT_STACK ((size_t)16 << 10)

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

/* extras_of_innermost - NULL outside a coroutine, and where there is no memory for a place. */
static struct coroi_extras **extras_of_innermost(void)
{
	const struct coroi_layer *l = coroi_innermost();

	return l ? l->extras() : NULL;
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

coro_mark *coro_defer_mark(void)
{
	struct coroi_extras **e = extras_of_innermost();

	return e ? coroi_extras_mark(e) : NULL;
}

int coro_defer_run(coro_mark *mark)
{
	struct coroi_extras **e = extras_of_innermost();

	return e ? coroi_extras_run_to(*e, mark) : CORO_EPERM;
}

int coro_defer_disarm(void (*fn)(void *), void *arg)
{
	struct coroi_extras **e = extras_of_innermost();

	return !fn ? CORO_EINVAL : e ? coroi_extras_disarm(*e, fn, arg) : CORO_EPERM;
}

void *coro_malloc(size_t bytes)
{
	struct coroi_extras **e = extras_of_innermost();

	return e ? coroi_extras_malloc(e, bytes) : NULL;
}

void *coro_malloc_with(size_t bytes, void (*destroy)(void *))
{
	void *p = coro_malloc(bytes);

	return p && destroy && coro_defer(destroy, p) ? NULL : p;
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

/* ------------------------------------------------------------------------------ printed texts */

struct print {
	const char *format;
	va_list args;
	char *text;
};

/* print - p->text, or NULL. */
static void print(void *arg)
{
	struct print *p = arg;
	va_list args;

	va_copy(args, p->args);
	int n = coroi_print(NULL, 0, p->format, args);
	va_end(args);
	char *text = n < 0 ? NULL : coro_malloc((size_t)n + 1);
	if (text && coroi_print(text, (size_t)n + 1, p->format, p->args) == n)
		p->text = text;
}

char *coro_vasprintf(const char *format, va_list args)
{
	struct print p = {.format = format};

	if (!coroi_innermost())
		return NULL;
	va_copy(p.args, args);
	if (coro_stack_left() >= PRINT_STACK)
		print(&p);
	else
		coro_call_on_stack(PRINT_STACK, print, &p); /* else p.text is NULL */
	va_end(p.args);
	return p.text;
}

char *coro_asprintf(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	char *text = coro_vasprintf(format, args);
	va_end(args);
	return text;
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
