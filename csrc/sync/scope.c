//go:build ignore
/*
 * scope.c - children that do not outlive their parent, and end together.
 *
 * A scope lies in its parent's arena, its children in blocks that stay where they are. A child is a
 * fork (coro_fork.h), or, where its attributes ask for more, or no other worker could take the fork,
 * a joinable coroutine. So a scope at each node of a tree is walked in depth.
 *
 * A child that ends by coro_abort or coro_fail cancels the others: one that the parent's wait calls
 * by the wait, any other one by a deferred function. A cancel comes from anywhere: it sets
 * `canceled` and then looks at the handles, and a fork that begins stores its handle and then looks
 * at `canceled`. Both are sequentially consistent, so that one of them sees the other.
 *
 * The parent joins the children, the newest first, at the latest as it ends itself: then they are
 * canceled first. Nothing of the children is left when that is done.
 */
#include "kernel/kernel.h"

#include "base/copy.h"
#include "base/lock.h"

#include <string.h>

#define BLOCK_FIRST 8u
#define BLOCK_MOST  1024u

struct child {
	coro_fork fork;
	coro_scope *scope;
	coro_fn fn;
	/* Atomic. 0: the child is a fork, and has not begun. */
	coro_handle handle;
	bool is_fork;
	bool left_out; /* of a fork: the scope was canceled before it began */
	unsigned char arg[CORO_SCOPE_BYTES];
};

struct block {
	struct block *next;
	struct block *before;
	uint32_t count, room;
	struct child child[];
};

struct coro_scope {
	struct coroi_lock
		lock; /* of the list of children, between the owner and those who cancel */
	struct block *first, *last; /* `last` has the newest child; those behind it are spare */
	uint32_t canceled;          /* atomic, sequentially consistent */
	struct coroi_rec *owner;
};

/* What a child that is no fork is started with. */
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
	if (!at_xchg(&s->canceled, 1))
		for (struct block *b = s->first; b; b = b->next)
			for (uint32_t i = 0; i < b->count; i++) {
				coro_handle h = at_load_seq(&b->child[i].handle);
				if (h) /* it is stale if the child has ended */
					coro_cancel(h);
			}
	coroi_unlock(&s->lock);
}

/* ended - called as a child ends, in whatever way. */
static void ended(void *scope)
{
	if (coroi_has_aborted(coroi_current(coroi_self())))
		cancel(scope);
}

/* end_with - the current coroutine, a child, tells the scope of its end. */
static void end_with(coro_scope *s)
{
	if (coro_defer(ended, s)) { /* without memory for that, the child does not begin */
		cancel(s);
		coro_abort();
	}
}

static void coroi_scope_child(void *arg, void *result)
{
	struct link *l = arg;

	end_with(l->scope);
	l->fn(l->arg, result);
}

static void coroi_scope_fork(void *arg, void *result)
{
	unsigned char scratch[CORO_INLINE_BYTES] __attribute__((aligned(16))) = {0};
	struct child *c = arg;

	(void)result;
	at_xchg(&c->handle, coro_self());
	if (at_load_seq(&c->scope->canceled)) {
		c->left_out = true;
		return;
	}
	/* another worker has taken it; relaxed: its handle or a cancel is there, FST2 and FCA2 */
	if (at_load_rlx(&c->fork.child))
		end_with(c->scope);
	c->fn(c->arg, scratch);
}

/* join_coroutine - join a child that is no fork. *canceled: the owner is, which then waits in any
 * case. */
static int join_coroutine(coro_scope *s, coro_handle h, bool *canceled)
{
	int status = *canceled ? coroi_join_committed(h) : coro_join(h, NULL, 0);

	if (status == CORO_ECANCELED && coroi_find(h)) { /* the wait was canceled, not the child */
		*canceled = true;
		cancel(s);
		status = coroi_join_committed(h);
	}
	/* a dense owner without memory for its frames: the wait has ended, not the child */
	if (status == CORO_ENOMEM && coroi_find(h))
		status = coroi_join_committed(h);
	return status;
}

static int join_fork(coro_scope *s, struct child *c)
{
	int status = coro_fork_join(&c->fork);

	if (status)
		cancel(s); /* also where the owner is canceled, and the child has not begun */
	return status ? status : c->left_out ? CORO_ECANCELED : CORO_OK;
}

/* join_all - join all children. committed: the owner ends. Returns CORO_OK; or the status of the
 * first child, in the order of spawning, that has not returned, with children that were canceled
 * counted last; or CORO_ECANCELED if the owner was canceled before or while it waited. */
static int join_all(coro_scope *s, bool committed)
{
	bool canceled = committed, any = s->first && s->first->count;
	int why = CORO_OK;

	/* only the owner, which is here, adds children */
	for (struct block *b = s->last; b; b = b->before)
		for (uint32_t i = b->count; i--;) {
			struct child *c = &b->child[i];
			int status = c->is_fork ? join_fork(s, c)
						: join_coroutine(s, c->handle, &canceled);
			if (status && (why == CORO_OK || status != CORO_ECANCELED))
				why = status;
		}
	coroi_lock(&s->lock);
	for (struct block *b = s->first; b; b = b->next)
		b->count = 0;
	s->last = s->first;
	at_xchg(&s->canceled, 0);
	coroi_unlock(&s->lock);
	/* also where the children have returned all the same */
	return any && !committed && (canceled || coroi_refused()) ? CORO_ECANCELED : why;
}

/* close_scope - the owner ends. */
static void close_scope(void *arg)
{
	coro_scope *s = arg;

	if (s->first && s->first->count) {
		cancel(s);
		join_all(s, true);
	}
	for (struct block *b = s->first, *next; b; b = next) {
		next = b->next;
		coroi_release(b);
	}
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

/* place - a place for one more child. NULL: no memory. */
static struct child *place(coro_scope *s)
{
	struct block *b = s->last;

	if (b && b->count < b->room)
		return &b->child[b->count];
	if (!b || !b->next) {
		uint32_t room = !b ? BLOCK_FIRST : b->room < BLOCK_MOST ? 2 * b->room : BLOCK_MOST;
		struct block *more = coroi_alloc(sizeof *more + room * sizeof more->child[0],
						 COROI_LINE);
		if (!more)
			return NULL;
		*more = (struct block){.before = b, .room = room};
		coroi_lock(&s->lock);
		if (b)
			b->next = more;
		else
			s->first = more;
		coroi_unlock(&s->lock);
		s->last = more;
	} else {
		s->last = b->next;
	}
	return &s->last->child[0];
}

/* spawn - start c as a joinable coroutine. */
static int spawn(struct child *c, const coro_attr *attr, const void *arg, size_t arg_bytes)
{
	struct link l = {.scope = c->scope, .fn = c->fn};
	coro_attr a = {.size = sizeof a};

	if (attr)
		a = *attr;
	a.flags |= CORO_JOINABLE;
	if (arg_bytes)
		coroi_copy_few(l.arg, arg, arg_bytes);
	return coro_spawn_attr(&a, coroi_scope_child, &l, sizeof l, &c->handle);
}

/* asks_for_more - than a fork is. */
static bool asks_for_more(const coro_attr *attr)
{
	return attr && ((attr->size && attr->size != sizeof *attr) ||
			attr->flags & ~CORO_JOINABLE || attr->stack_bytes || attr->worker);
}

int coro_scope_spawn(coro_scope *s, const coro_attr *attr, coro_fn fn, const void *arg,
		     size_t arg_bytes)
{
	int status = CORO_OK;

	if (!s || !fn || arg_bytes > CORO_SCOPE_BYTES || (arg_bytes && !arg) ||
	    (attr && (attr->result_bytes || attr->arg_buffers || attr->result_buffers)))
		return CORO_EINVAL;
	if (coroi_current(coroi_self()) != s->owner)
		return CORO_EPERM;
	struct child *c = place(s);
	if (!c)
		return CORO_ENOMEM;
	*c = (struct child){.scope = s, .fn = fn};
	/* under the lock, so that the child is canceled with the others, or is not there yet */
	coroi_lock(&s->lock);
	if (s->canceled)
		status = CORO_ECANCELED;
	else if (!(c->is_fork = !asks_for_more(attr) && coroi_forks_may_go(coroi_self())))
		status = spawn(c, attr, arg, arg_bytes);
	s->last->count += status == CORO_OK;
	coroi_unlock(&s->lock);
	if (status == CORO_OK && c->is_fork) {
		if (arg_bytes)
			coroi_copy_few(c->arg, arg, arg_bytes);
		coro_fork_begin(&c->fork, coroi_scope_fork, c, NULL);
	}
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

static coro_fn fn_of_fork(const void *arg)
{
	return ((const struct child *)arg)->fn;
}

__attribute__((constructor)) static void scope_register(void)
{
	static struct coroi_inner child = {.body = coroi_scope_child, .stands_for = fn_of_child};
	static struct coroi_inner forked = {.body = coroi_scope_fork, .stands_for = fn_of_fork};

	coroi_inner_register(&child);
	coroi_inner_register(&forked);
}
