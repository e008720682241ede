//go:build ignore
/* loop.c - see loop.h. */
#include "border/loop.h"

#include "base/atomics.h"
#include "base/sys.h"
#include "kernel/inner.h"
#include "kernel/wait.h"

#include <string.h>

#define CANCEL UINT64_C(1) /* no name is 1 */

static struct coroi_led_loop *loop_of(const void *arg)
{
	struct coroi_led_loop *l;

	memcpy(&l, arg, sizeof l);
	return l;
}

/* keep_failure - with what the lowest part has failed. */
static COROI_COLD void keep_failure(struct coroi_led_loop *l)
{
	struct coroi_failure f = coroi_kept_failure(coroi_self()->current);

	l->code = f.code;
	l->text = f.text;
}

void coroi_loop_lead(void *arg, void *unused)
{
	struct coroi_led_loop *l = loop_of(arg);
	void (*fn)(int64_t, int64_t, void *) = (void (*)(int64_t, int64_t, void *))(uintptr_t)l->fn;
	coro_handle self = coro_self();

	(void)unused;
	if (at_xchg(&l->leader, self) == CANCEL) /* LOP1 */
		(void)coro_cancel(self);
	l->status = coro_for(0, l->n, l->grain, fn, l->arg_bytes ? l->arg : NULL);
	if (l->status == CORO_EFAILED)
		keep_failure(l);
}

void coroi_loop_cancel(struct coroi_led_loop *l)
{
	uint64_t leader = at_xchg(&l->leader, CANCEL); /* LOP2 */

	if (leader > CANCEL)
		(void)coro_cancel(leader);
}

static coro_fn fn_of_loop(const void *payload)
{
	return (coro_fn)(uintptr_t)loop_of(payload)->fn;
}

__attribute__((constructor)) static void loop_register(void)
{
	static struct coroi_inner in = {.body = coroi_loop_lead, .stands_for = fn_of_loop};

	coroi_inner_register(&in);
}
