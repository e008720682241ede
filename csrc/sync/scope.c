//go:build ignore
/*
 * scope.c - children that do not outlive their parent, and end together.
 *
 * A scope lies in its parent's arena, with the handles of its children. Each child is joinable. A
 * child runs inside the function coroi_scope_child(), so that a child that aborts cancels the
 * others. The parent joins the children one after the other, at the latest as it ends itself: then
 * they are canceled first. Nothing of the children is left when that is done.
 */
#include "kernel/kernel.h"

#include "base/copy.h"
#include "base/lock.h"

#include <string.h>

#define CHILDREN_FIRST 8u

struct coro_scope {
	struct coroi_lock lock; /* of what follows: children that fail use it, too */
	coro_handle *child;
	uint32_t count, capacity;
	bool canceled;
	struct coroi_rec *owner;
};

/* What a child is started with. */
struct link {
	coro_scope *scope;
	coro_fn fn;
	unsigned char arg[CORO_SCOPE_BYTES];
};

_Static_assert(sizeof(struct link) == CORO_INLINE_BYTES, "as much as a coroutine takes along");

/* cancel - cancel all children, now and to come, except for one that is ending already. */
static void cancel(coro_scope *s)
{
	coroi_lock(&s->lock);
	for (uint32_t i = 0; !s->canceled && i < s->count; i++)
		coro_cancel(s->child[i]); /* the handle is stale if the child has ended */
	s->canceled = true;
	coroi_unlock(&s->lock);
}

/* ended - called as a child ends, in whatever way. */
static void ended(void *arg)
{
	struct link *l = arg;
	if (coroi_has_aborted(coroi_current(coroi_self())))
		cancel(l->scope);
}

static void coroi_scope_child(void *arg, void *result)
{
	struct link *l = arg;
	if (coro_defer(ended, l)) { /* without memory for that, the child does not begin */
		cancel(l->scope);
		coro_abort();
	}
	l->fn(l->arg, result);
}

/* join_all - join all children. Returns CORO_OK; or the status of the first child, in the order of
 * spawning, that has not returned, with children that were canceled counted last; or CORO_ECANCELED
 * if the owner was canceled before or while it waited. */
static int join_all(coro_scope *s, bool committed)
{
	bool canceled = false;
	int why = CORO_OK;

	for (uint32_t i = 0; i < s->count; i++) { /* only the owner, which is here, adds children */
		coro_handle h = s->child[i];
		int status = committed ? coroi_join_committed(h) : coro_join(h, NULL, 0);
		if (status == CORO_ECANCELED &&
		    coroi_find(h)) { /* the wait was canceled, not the child */
			committed = canceled = true;
			cancel(s);
			status = coroi_join_committed(h);
		}
		/* a dense owner without memory for its frames: the wait has ended, not the child */
		if (status == CORO_ENOMEM && coroi_find(h))
			status = coroi_join_committed(h);
		if (status && (why == CORO_OK || why == CORO_ECANCELED))
			why = status;
	}
	s->count = 0;
	s->canceled = false;
	return canceled ? CORO_ECANCELED : why;
}

/* close_scope - the owner ends. */
static void close_scope(void *arg)
{
	coro_scope *s = arg;
	if (s->count) {
		cancel(s);
		join_all(s, true);
	}
	coroi_release(s->child);
}

int coro_scope_new(coro_scope **out)
{
	struct coroi_rec *me = coroi_current(coroi_self());

	if (!out)
		return CORO_EINVAL;
	if (!me)
		return CORO_EPERM;
	coro_scope *s = coro_malloc(sizeof *s);
	if (!s)
		return CORO_ENOMEM;
	memset(s, 0, sizeof *s);
	s->owner = me;
	if (coro_defer(close_scope, s))
		return CORO_ENOMEM;
	*out = s;
	return CORO_OK;
}

static bool grow(coro_scope *s)
{
	if (s->count < s->capacity)
		return true;
	uint32_t more = s->capacity ? 2 * s->capacity : CHILDREN_FIRST;
	coro_handle *list = coroi_alloc(more * sizeof *list, sizeof(void *));
	if (!list)
		return false;
	if (s->count)
		memcpy(list, s->child, s->count * sizeof *list);
	coroi_lock(&s->lock);
	coro_handle *old = s->child;
	s->child = list;
	coroi_unlock(&s->lock);
	coroi_release(old);
	s->capacity = more;
	return true;
}

int coro_scope_spawn(coro_scope *s, const coro_attr *attr, coro_fn fn, const void *arg,
		     size_t arg_bytes)
{
	struct link l = {.scope = s, .fn = fn};
	coro_attr a = {.size = sizeof a};

	if (!s || !fn || arg_bytes > CORO_SCOPE_BYTES || (arg_bytes && !arg))
		return CORO_EINVAL;
	if (coroi_current(coroi_self()) != s->owner)
		return CORO_EPERM;
	if (attr) {
		a = *attr;
		if (a.result_bytes)
			return CORO_EINVAL;
	}
	a.flags |= CORO_JOINABLE;
	if (arg_bytes)
		coroi_copy_few(l.arg, arg, arg_bytes);
	if (!grow(s))
		return CORO_ENOMEM;
	coroi_lock(
		&s->lock); /* so that the child is canceled with the others, or is not there yet */
	int status = s->canceled ? CORO_ECANCELED
				 : coro_spawn_attr(&a, coroi_scope_child, &l, sizeof l,
						   &s->child[s->count]);
	s->count += status == CORO_OK;
	coroi_unlock(&s->lock);
	return status;
}

int coro_scope_cancel(coro_scope *s)
{
	if (!s)
		return CORO_EINVAL;
	cancel(s);
	return CORO_OK;
}

int coro_scope_wait(coro_scope *s)
{
	if (!s)
		return CORO_EINVAL;
	if (coroi_current(coroi_self()) != s->owner)
		return CORO_EPERM;
	int status = coroi_nowait(coroi_self(), "coro_scope_wait", CORO_FOREVER);
	return status ? status : join_all(s, false);
}

static coro_fn fn_of_child(const void *payload)
{
	return ((const struct link *)payload)->fn;
}

__attribute__((constructor)) static void scope_register(void)
{
	static struct coroi_inner in = {.body = coroi_scope_child, .stands_for = fn_of_child};

	coroi_inner_register(&in);
}
