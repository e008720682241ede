/*
 * state.h - what the border keeps in a scheduler.
 */
#ifndef COROI_STATE_H
#define COROI_STATE_H

#include "border/context.h"
#include "border/gobell.h"
#include "border/gocall.h"
#include "border/policy.h"
#include "kernel/worker.h"

struct coroi_border {
	struct coroi_gobell bell;
	struct coroi_offloaded calls __attribute__((aligned(COROI_APART)));
	struct coroi_deadlines deadlines __attribute__((aligned(COROI_APART)));
};

_Static_assert(sizeof(struct coroi_border) <= sizeof(((struct coro_scheduler *)0)->border),
	       "a scheduler has room for it");

/* coroi_border - that of s. */
static inline struct coroi_border *coroi_border(struct coro_scheduler *s)
{
	return (struct coroi_border *)(void *)s->border;
}

#endif
