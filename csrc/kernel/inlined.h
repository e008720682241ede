/*
 * inlined.h - records that share a stack: a parent whose join calls a child, that child, and so on
 * up (fork.h). All of them have one home, that of the one that runs or waits.
 *
 *      stack    | ... frames of the child | frames of its parent | frames of the parent's parent |
 *      records    INLINED                   INLINED, INLINES       INLINES
 */
#ifndef COROI_INLINED_H
#define COROI_INLINED_H

#include "kernel/policy.h"
#include "kernel/record.h"

/* The child's fork, in its payload, behind what coro_fail keeps there. */
#define COROI_FORK_AT (CORO_INLINE_BYTES - sizeof(coro_fork *))
/* Before it the child's function, if it is not INLINED. */
#define COROI_FORK_FN_AT (COROI_FORK_AT - sizeof(coro_fn))

/* coroi_fork_of - the fork that r, a child with COROI_M_FORK, came of. coroi_fork_set - set it. */
static inline coro_fork *coroi_fork_of(const struct coroi_rec *r)
{
	coro_fork *f;

	memcpy(&f, coroi_cold(r)->payload + COROI_FORK_AT, sizeof f);
	return f;
}

static inline void coroi_fork_set(struct coroi_rec *r, coro_fork *f)
{
	memcpy(coroi_cold(r)->payload + COROI_FORK_AT, &f, sizeof f);
}

/* coroi_inlined_parent - the parent of r, which is INLINED. coroi_inlined_child - the child of r,
 * which is INLINES. */
static inline struct coroi_rec *coroi_inlined_parent(const struct coroi_rec *r)
{
	return coroi_fork_of(r)->parent;
}

static inline struct coroi_rec *coroi_inlined_child(const struct coroi_rec *r)
{
	return (struct coroi_rec *)(uintptr_t)r->next;
}

/* coroi_inlined_is_pinned - one of r's parents on its stack is pinned, so r is. */
static inline bool coroi_inlined_is_pinned(const struct coroi_rec *r)
{
	for (; coroi_unlikely(r->more & COROI_M_INLINED); r = coroi_inlined_parent(r))
		if (coroi_inlined_parent(r)->flags & COROI_F_PINNED)
			return true;
	return false;
}

/* coroi_inlined_stays - the same; or the parents are too many for a thief, which holds the door. */
static inline bool coroi_inlined_stays(const struct coroi_rec *r)
{
	for (uint32_t n = 0; coroi_unlikely(r->more & COROI_M_INLINED); r = coroi_inlined_parent(r))
		if (++n > COROI_INLINED_MOST || coroi_inlined_parent(r)->flags & COROI_F_PINNED)
			return true;
	return false;
}

/* coroi_inlined_move_locked - FMV1 of fork.h: r goes to the worker t. The caller is in the door of
 * the home that r leaves. */
static inline void coroi_inlined_move_locked(struct coroi_rec *r, uint16_t t)
{
	/* Release; pairs with the acquire in coroi_remote_wake_locked (WKC3 of wait.c), which may
	 * run in t's door, locked by another thief. */
	at_store_rel(&r->home, t);
	while (coroi_unlikely(r->more & COROI_M_INLINED)) {
		r = coroi_inlined_parent(r);
		at_store_rel(&r->home, t);
	}
}

#endif
