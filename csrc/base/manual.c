//go:build ignore
/*
 * manual.c - manual coroutines: new, resume, yield, reset and free (after Lwan's calls of these
 * names).
 *
 * The value and the status are handed over before the switch. So coro_resume and coro_yield_value
 * both end in a tail call of the switch, and the return predictor is not asked.
 */
#include "base/manual.h"

#include "base/copy.h"
#include "base/current.h"
#include "base/extras.h"
#include "base/fault.h"
#include "base/sanitize.h"
#include "base/switch.h"

#define TLS __attribute__((tls_model("initial-exec")))

/* The bytes at the top of a stack that hold the record of its coroutine: whole lines. */
#define RECORD_BYTES ((sizeof(coro_t) + COROI_LINE - 1) / COROI_LINE * COROI_LINE)

static __thread coro_t *running TLS;

static struct coroi_stack_pool pool;
static pthread_once_t pool_once = PTHREAD_ONCE_INIT;

static void pool_make(void)
{
	coroi_stack_pool_init(&pool, 0);
	coroi_fault_install();
}

struct coroi_stack_pool *coroi_manual_pool(void)
{
	pthread_once(&pool_once, pool_make);
	return &pool;
}

COROI_NOINLINE coro_t *coroi_manual(void)
{
	return running;
}

/* enter, leave - make co the innermost coroutine on this thread, and undo that. The scheduled
 * coroutine that resumes co is hidden meanwhile: scheduler calls inside co find no current
 * coroutine. */
static inline void enter(coro_t *co)
{
	co->outer = running;
	running = co;
	co->outer_rec = coroi_hide_scheduled();
}

static inline void leave(coro_t *co)
{
	running = co->outer;
	coroi_show_scheduled(co->outer_rec);
}

void coroi_manual_hide(struct coroi_outer *o)
{
	*o = (struct coroi_outer){running, coroi_hide_scheduled()};
	running = NULL;
}

void coroi_manual_show(const struct coroi_outer *o)
{
	running = o->co;
	coroi_show_scheduled(o->rec);
}

/* end_extras - run what co deferred, and free its arena. */
static void end_extras(coro_t *co)
{
	coroi_extras_run(co->extras);
	coroi_extras_free(co->extras);
	co->extras = NULL;
}

/* finish - end co, which runs, with a status and a value for its resumer. */
static COROI_NOINLINE __attribute__((noreturn)) void finish(coro_t *co, int status, intptr_t value)
{
	struct coroi_extras *e = co->extras;

	if (e && !e->over) {
		e->over = true;
		e->how = (uint8_t)status;
		e->value = value;
	} else if (e) { /* a deferred function has ended so */
		status = e->how;
		value = e->value;
	}
	end_extras(co);
	if (co->value)
		*co->value = value;
	co->status = status;
	leave(co);
	coroi_fiber_leave(NULL, &co->resumer);
	coroi_swap(&co->sp, co->resumer_sp, status);
	__builtin_unreachable();
}

static void body_main(intptr_t unused)
{
	(void)unused;
	coro_t *co = coroi_manual();
	coroi_fiber_arrive(NULL, &co->resumer);
	finish(co, CORO_FINISHED, co->body(co->arg, co->first));
}

void coroi_manual_unstack(struct coroi_stack **stack)
{
	for (struct coroi_stack *s; (s = *stack)->below;) {
		*stack = s->below;
		s->below = NULL;
		coroi_stack_clean(s, false);
		coroi_manual_give(s);
	}
}

/* exit_main - the end by coro_exit, coro_abort or coro_fail. It runs on co's own stack: the stack
 * on which co made that call may have another user once it is given back. */
static void exit_main(intptr_t status)
{
	coro_t *co = coroi_manual();

	coroi_fiber_arrive(NULL, NULL);
	coroi_manual_unstack(&co->stack);
	coroi_stack_clean(co->stack, true);
	finish(co, (int)status, 0);
}

/* --------------------------------------------------------------------------------- as a layer */

static struct coroi_stack **layer_stack(void)
{
	coro_t *co = coroi_manual();
	return co ? &co->stack : NULL;
}

static struct coroi_extras **layer_extras(void)
{
	struct coroi_extras **e = &coroi_manual()->extras;
	return coroi_extras_make(e) ? e : NULL;
}

static void layer_end(int status)
{
	coro_t *co = coroi_manual();

	coroi_stack_restart(coroi_stack_own(co->stack), (char *)co, exit_main, status);
}

static void layer_fail(struct coroi_failure f)
{
	coro_t *co = coroi_manual();

	if (coroi_extras_over(co->extras))
		coroi_release(f.text);
	else
		co->failure = f;
}

struct coroi_stack *coroi_manual_take(unsigned class)
{
	struct coroi_stack *s = NULL;

	coroi_stack_pool_get(coroi_manual_pool(), class, &s, 1);
	return s;
}

void coroi_manual_give(struct coroi_stack *s)
{
	coroi_stack_pool_put(coroi_manual_pool(), &s, 1);
}

static bool layer_where(struct coroi_where *at)
{
	coro_t *co = coroi_manual();

	if (!co)
		return false;
	at->stack = co->stack;
	at->fn = (uintptr_t)co->body;
	return true;
}

static const struct coroi_layer layer = {
	.stack = layer_stack,
	.extras = layer_extras,
	.end = layer_end,
	.fail = layer_fail,
	.take = coroi_manual_take,
	.give = coroi_manual_give,
	.where = layer_where,
};

__attribute__((constructor)) static void layer_register(void)
{
	coroi_layer[COROI_LAYER_MANUAL] = &layer;
}

/* ------------------------------------------------------------------------------- public calls */

static void prepare(coro_t *co, coro_body body, void *arg)
{
	co->body = body;
	co->arg = arg;
	co->status = CORO_MAY_RESUME;
	co->value = &co->first;
	co->sp = coroi_context(co, body_main);
}

static void forget_failure(coro_t *co)
{
	coroi_release(co->failure.text);
	co->failure = (struct coroi_failure){0};
}

/* drop - run co's deferred functions, and give back what co holds besides its own stack. co does
 * not run; it may have ended. */
static void drop(coro_t *co)
{
	end_extras(co);
	forget_failure(co);
	coroi_manual_unstack(&co->stack);
}

int coro_new(coro_t **out, coro_body body, void *arg, size_t stack_bytes)
{
	int class = coroi_stack_class(stack_bytes);

	if (!out || !body || class < 0)
		return CORO_EINVAL;
	struct coroi_stack *stack = coroi_manual_take((unsigned)class);
	if (!stack)
		return CORO_ENOMEM;
	/* Its record lies above its first frame, in the room that each stack has beside its
	 * size. */
	coroi_stack_fresh(stack);
	coro_t *co = (coro_t *)(stack->top - RECORD_BYTES);
	coroi_clear_few(co, sizeof *co);
	co->stack = stack;
	prepare(co, body, arg);
	*out = co;
	return CORO_OK;
}

int coro_reset(coro_t *co, coro_body body, void *arg)
{
	if (!co || !body)
		return CORO_EINVAL;
	if (co->status == CORO_EBUSY)
		return CORO_EBUSY;
	drop(co);
	coroi_fiber_fresh(&co->stack->fiber, co->stack->low, (char *)co);
	prepare(co, body, arg);
	return CORO_OK;
}

int coro_free(coro_t *co)
{
	if (!co)
		return CORO_OK;
	if (co->status == CORO_EBUSY)
		return CORO_EBUSY;
	drop(co);
	coroi_manual_give(co->stack);
	return CORO_OK;
}

int coro_status(const coro_t *co)
{
	return co ? co->status : CORO_EINVAL;
}

size_t coro_resume_error(const coro_t *co, int *code, char *text, size_t bytes)
{
	bool failed = co && co->status == CORO_FAILED;

	if (code)
		*code = failed ? co->failure.code : 0;
	return coroi_text_get(failed ? co->failure.text : NULL, text, bytes);
}

int coro_resume(coro_t *co, intptr_t send, intptr_t *received)
{
	if (coroi_unlikely(!co))
		return CORO_EINVAL;
	if (coroi_unlikely(co->status != CORO_MAY_RESUME))
		return co->status == CORO_EBUSY ? CORO_EBUSY : CORO_ENDED;
	co->status = CORO_EBUSY;
	if (co->value)
		*co->value = send;
	co->value = received;
	enter(co);
	void *fake = NULL;
	coroi_fiber_here(&co->resumer);
	coroi_fiber_leave(&fake, &co->stack->fiber);
	int status = coroi_swap(&co->resumer_sp, co->sp, CORO_OK);
	coroi_fiber_arrive(fake, NULL);
	return status;
}

int coro_yield_value(intptr_t value, intptr_t *sent)
{
	coro_t *co = running;

	if (coroi_unlikely(!co))
		return CORO_EPERM;
	if (co->value)
		*co->value = value;
	co->value = sent;
	co->status = CORO_MAY_RESUME;
	leave(co);
	void *fake = NULL;
	coroi_fiber_leave(&fake, &co->resumer);
	int status = coroi_swap(&co->sp, co->resumer_sp, CORO_MAY_RESUME);
	coroi_fiber_arrive(fake, &co->resumer);
	return status;
}
