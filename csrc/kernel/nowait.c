//go:build ignore
/* nowait.c - see nowait.h. */
#include "kernel/nowait.h"

#include "kernel/fork.h"
#include "kernel/inner.h"
#include "kernel/run.h"
#include "kernel/slab.h"
#include "base/sys.h"
#include "base/text.h"

/* say - the report where no hook is set: a line on stderr. */
static void say(const coro_nowait_report *r)
{
	struct coroi_text t = {.n = 0};

	coroi_text_put(&t, "coro: ");
	coroi_text_put(&t, r->call);
	coroi_text_put(&t, r->finite ? " in the finite-wait section " : " in the no-wait section ");
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
	uint8_t level = w->nowait & COROI_LEVELS;
	coro_nowait_report r = {.where = w->sections.where[level - 1],
				.call = call,
				.fn = coroi_user_fn(w->current),
				.worker = w->id,
				.finite = level == COROI_SECTION_FINITE};
	/* acquire, pairs with the exchange: what the hook needs, and was written before, is seen */
	at_load_acq (&hook)(&r);
}

COROI_COLD int coroi_nowait_refuse(struct coroi_worker *w, const char *call)
{
	report(w, call);
	return CORO_ENOWAIT;
}

/* ------------------------------------------------------------------------ the sections of a worker
 *
 * `nowait` shares its words with bytes that other threads write. It is itself written and read by
 * its worker alone. */

static void set_level(struct coroi_worker *w)
{
	const uint32_t *depth = w->sections.depth;

	uint8_t level = depth[COROI_SECTION_NOWAIT - 1]   ? COROI_SECTION_NOWAIT
			: depth[COROI_SECTION_FINITE - 1] ? COROI_SECTION_FINITE
							  : 0;

	at_store_rlx(&w->nowait, (w->nowait & COROI_HOLDS_FORKS) | level);
}

struct coroi_sections coroi_sections_leave(struct coroi_worker *w)
{
	struct coroi_sections open = w->sections;

	w->sections = (struct coroi_sections){.depth = {0}};
	set_level(w);
	return open;
}

void coroi_sections_return(const struct coroi_sections *open)
{
	struct coroi_worker *w = coroi_self();

	w->sections = *open;
	set_level(w);
}

COROI_COLD int coroi_suspend_inside_locked(struct coroi_worker *w, struct coroi_rec *me,
					   uint64_t runnable)
{
	struct coroi_sections open = coroi_sections_leave(w);
	coroi_forks_suspend_locked(w);
	int code = coroi_suspend_locked(w, me, runnable ? runnable : coroi_pick_locked(w));

	coroi_sections_return(&open);
	return code;
}

COROI_COLD void coroi_nowait_ended(struct coroi_worker *w, const struct coroi_sections *outer)
{
	static const struct coroi_sections none;
	bool own = false;

	if (!outer)
		outer = &none;
	for (int i = 0; i < 2; i++)
		own |= w->sections.depth[i] > outer->depth[i];
	if (own)
		report(w, "the end");
	coroi_sections_return(outer);
}

/* --------------------------------------------------------------------------------- public calls */

static int section_begin(const char *where, uint32_t level)
{
	struct coroi_worker *w = coroi_self();

	if (!w || !w->current)
		return CORO_EPERM;
	if (!where)
		return CORO_EINVAL;
	if (!w->sections.depth[level - 1]++)
		w->sections.where[level - 1] = where;
	set_level(w);
	return CORO_OK;
}

static int section_end(uint32_t level)
{
	struct coroi_worker *w = coroi_self();

	if (!w || !w->current || !w->sections.depth[level - 1])
		return CORO_EPERM;
	w->sections.depth[level - 1]--;
	set_level(w);
	return CORO_OK;
}

int coro_nowait_begin(const char *where)
{
	return section_begin(where, COROI_SECTION_NOWAIT);
}

int coro_nowait_end(void)
{
	return section_end(COROI_SECTION_NOWAIT);
}

int coro_finite_begin(const char *where)
{
	return section_begin(where, COROI_SECTION_FINITE);
}

int coro_finite_end(void)
{
	return section_end(COROI_SECTION_FINITE);
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
