//go:build ignore
/*
 * fail.c - how a coroutine that ends by coro_fail tells its joiner.
 *
 * Code and text lie where the result would be, as such an end has none. The code needs no memory.
 * While deferred functions run they lie in the extras: those functions may use the payload. The
 * joiner keeps them in its own extras, for coro_join_error. Where there is no memory for extras, it
 * keeps the code where the tick of a deadline would be (timer.h).
 */
#include "kernel/wait.h"

#include "kernel/life.h"
#include "kernel/hooks.h"

/* In the upper half of a tick: the lower half is the code of a failure. No tick is as large. */
#define CODE_ALONE (UINT64_C(0xfa11) << 48)

static struct coroi_failure *failure_of(struct coroi_rec *r)
{
	return (struct coroi_failure *)(void *)coroi_cold(r)->payload;
}

void coroi_fail(struct coroi_rec *r, struct coroi_failure f)
{
	if (coroi_unlikely(coroi_carries(r) && r->result_bytes))
		coroi_carry_drop_result(r, 0); /* the failure takes its place */
	if (coroi_unlikely(coroi_hooks.fails(r, f)))
		return;
	if (!(r->flags & COROI_F_JOINABLE) && !(r->more & COROI_M_FORK)) { /* nobody will ask */
		coroi_release(f.text);
		return;
	}
	if (r->flags & COROI_F_EXTRAS) { /* until the deferred functions have run */
		coroi_cold(r)->extras->failure = f;
	} else {
		if (f.text)
			at_add(&coroi_owner(r)->failures, 1);
		*failure_of(r) = f;
	}
	coroi_more_add(r, COROI_M_FAILED);
}

void coroi_fail_with(struct coroi_rec *r, int32_t code, const char *text, size_t bytes)
{
	coroi_flag(r, COROI_F_ABORTED);
	coroi_fail(r, coroi_failure_make(code, text, bytes));
}

struct coroi_failure coroi_failed(struct coroi_rec *r)
{
	struct coroi_failure f = *failure_of(r);

	if (f.text)
		at_add(&coroi_owner(r)->failures, -1);
	coroi_more_drop(r, COROI_M_FAILED);
	return f;
}

static void forget(struct coroi_rec *r, void *unused)
{
	(void)unused;
	if (at_load_rlx(&r->state) == COROI_ENDED)
		coroi_forget_failure(r);
}

void coroi_forget_failures(struct coro_scheduler *s)
{
	if (at_load_acq(&s->failures) || at_load_acq(&s->carries))
		coroi_slab_each(&s->slab, forget, NULL);
}

COROI_COLD void coroi_keep_failure(struct coroi_rec *me, struct coroi_failure f)
{
	struct coroi_extras **e = coroi_extras_of(me);

	if (!e) {
		coroi_release(f.text);
		coroi_cold(me)->tick = CODE_ALONE | (uint32_t)f.code;
		return;
	}
	coroi_release((*e)->joined.text);
	(*e)->joined = f;
}

/* kept - what coro_join_error of me tells, and where that lies; NULL: not in extras. */
static struct coroi_failure kept(struct coroi_rec *me, struct coroi_failure **at)
{
	struct coroi_failure f = {0};

	*at = NULL;
	if (me->flags & COROI_F_EXTRAS) {
		*at = &coroi_cold(me)->extras->joined;
		f = **at;
	} else if (coroi_cold(me)->tick >> 48 == CODE_ALONE >> 48) {
		f.code = (int32_t)coroi_cold(me)->tick;
	}
	return f;
}

COROI_COLD struct coroi_failure coroi_kept_failure(struct coroi_rec *me)
{
	struct coroi_failure *at, f = kept(me, &at);

	if (at)
		*at = (struct coroi_failure){0};
	return f;
}

size_t coro_join_error(int *code, char *text, size_t bytes)
{
	struct coroi_rec *me = coroi_current(coroi_self());
	struct coroi_failure *at, f = {0};

	if (me)
		f = kept(me, &at);
	if (code)
		*code = f.code;
	return coroi_text_get(f.text, text, bytes);
}
