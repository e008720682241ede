//go:build ignore
/* nowait.c - see nowait.h. */
#include "kernel/nowait.h"

#include "kernel/inner.h"
#include "kernel/slab.h"
#include "base/sys.h"
#include "base/text.h"

/* say - the report where no hook is set: a line on stderr. */
static void say(const coro_nowait_report *r)
{
	struct coroi_text t = {.n = 0};

	coroi_text_put(&t, "coro: ");
	coroi_text_put(&t, r->call);
	coroi_text_put(&t, " in the no-wait section ");
	coroi_text_put(&t, r->where);
	coroi_text_put(&t, ", in the coroutine of function ");
	coroi_text_number(&t, (uintptr_t)r->fn, 16);
	coroi_text_put(&t, " on worker ");
	coroi_text_number(&t, r->worker, 10);
	coroi_text_put(&t, "\n");
	coroi_say(t.at, t.n);
}

static coro_nowait_hook hook = say; /* atomic; set by an exchange, read by an acquire */

coro_nowait_hook coro_nowait_on_error(coro_nowait_hook now)
{
	coro_nowait_hook before = at_xchg(&hook, now ? now : say);
	return before == say ? NULL : before;
}

static void report(struct coroi_worker *w, const char *call)
{
	coro_nowait_report r = {.where = w->nowait_where,
				.call = call,
				.fn = coroi_user_fn(w->current),
				.worker = w->id};
	/* acquire, pairs with the exchange: what the hook needs, and was written before, is seen */
	at_load_acq (&hook)(&r);
}

COROI_COLD int coroi_nowait_refuse(struct coroi_worker *w, const char *call)
{
	report(w, call);
	return CORO_ENOWAIT;
}

COROI_COLD void coroi_nowait_ended(struct coroi_worker *w)
{
	report(w, "the end");
	w->nowait_depth = 0;
	at_store_rlx(&w->nowait, 0);
}

/* `nowait` shares its words with bytes that other threads write. It is itself written and read by
 * its worker alone. */
int coro_nowait_begin(const char *where)
{
	struct coroi_worker *w = coroi_self();

	if (!w || !w->current)
		return CORO_EPERM;
	if (!where)
		return CORO_EINVAL;
	if (!w->nowait_depth++) {
		w->nowait_where = where;
		at_store_rlx(&w->nowait, 1);
	}
	return CORO_OK;
}

int coro_nowait_end(void)
{
	struct coroi_worker *w = coroi_self();

	if (!w || !w->current || !w->nowait_depth)
		return CORO_EPERM;
	if (!--w->nowait_depth)
		at_store_rlx(&w->nowait, 0);
	return CORO_OK;
}

int coro_unblock_signals(void (*fn)(void *), void *arg)
{
	sigset_t before;

	if (!fn)
		return CORO_EINVAL;
	bool begun = coro_nowait_begin("coro_unblock_signals") == CORO_OK;
	coroi_signals_open(&before);
	fn(arg);
	coroi_signals_close(&before);
	if (begun)
		(void)coro_nowait_end();
	return CORO_OK;
}
