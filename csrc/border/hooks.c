//go:build ignore
/*
 * hooks.c - what the kernel calls of the border: the table of kernel/hooks.h, and a service
 * (kernel/service.h).
 */
#include "kernel/hooks.h"

#include "border/goworker.h"
#include "border/lend.h"
#include "border/many.h"
#include "border/state.h"

static void one_ended(struct coroi_rec *me)
{
	if (coroi_is_one(me))
		coroi_many_ended(me);
}

static void one_unstarted_locked(struct coroi_worker *w, coro_fn fn, uint64_t arg, int status)
{
	if (fn == coroi_many_one)
		coroi_many_unstarted_locked(w, arg, status);
}

static bool one_fails(struct coroi_rec *me, struct coroi_failure f)
{
	if (!coroi_is_one(me))
		return false;
	coroi_many_fail(me, f);
	return true;
}

const struct coroi_hooks coroi_hooks = {
	.serve = coroi_go_enter,
	.made_locked = coroi_calls_made_locked,
	.pick_locked = coroi_lend_pick_locked,
	.suspended = coroi_lend_suspended,
	.ended_locked = coroi_lend_ended_locked,
	.may_begin_locked = coroi_lend_may_begin_locked,
	.wakes = coroi_lend_wakes,
	.keeps = coroi_lend_keeps,
	.ended = one_ended,
	.unstarted_locked = one_unstarted_locked,
	.fails = one_fails,
	.ended_for = coroi_bell_done,
	.look = coroi_bell_ring,
};

static int border_init(struct coro_scheduler *s, const coro_options *o)
{
	(void)o;
	coroi_border(s)->bell.fd = -1;
	for (uint32_t i = 0; i < s->workers; i++)
		if (!coroi_calls_make(&s->worker[i]))
			return CORO_ENOMEM;
	return CORO_OK;
}

static void free_calls(struct coro_scheduler *s)
{
	for (uint32_t i = 0; s->worker && i < s->workers; i++)
		coroi_calls_free(&s->worker[i]);
}

static void border_destroy(struct coro_scheduler *s)
{
	free_calls(s);
	coroi_bell_close(s);
	coroi_deadlines_free(s);
}

__attribute__((constructor)) static void border_register(void)
{
	static struct coroi_service service = {
		.init = border_init,
		.canceled = coroi_calls_canceled,
		.close = free_calls,
		.destroy = border_destroy,
	};

	coroi_service_register(&service);
}
