//go:build ignore
/* nostack.c - see nostack.h. */
#include "kernel/nostack.h"

#include "kernel/fork.h"
#include "kernel/hooks.h"

#include <string.h>

uint64_t coroi_moves(const struct coro_scheduler *s, bool rest)
{
	uint64_t n = at_load_rlx(&s->worker[s->workers].count.parks);

	for (uint32_t i = 0; i < s->workers; i++)
		n += coroi_turns(&s->worker[i]) + at_load_rlx(&s->worker[i].count.remote_wakes);
	return n << 2 | 2 | rest;
}

void coroi_tell_unstarted_locked(struct coroi_worker *w, coro_fn fn, uint64_t arg, int status)
{
	if (fn == coroi_fork_run)
		coroi_fork_unstarted_locked(w, arg, status);
	else
		coroi_hooks.unstarted_locked(w, fn, arg, status);
}

void coroi_end_unstarted_locked(struct coroi_worker *w, struct coroi_rec *r, uint8_t why)
{
	bool canceled = coroi_is_canceled_locked(r);

	if (canceled)
		at_bump(&w->ends.canceled);
	else if (why == COROI_F_CANCELED)
		at_bump(&w->ends.closed);
	else
		at_bump(&w->ends.no_stack);
	r->flags |= canceled ? COROI_F_CANCELED : why;
	if (coroi_unlikely(coroi_is_lenders(w, r)))
		coroi_hooks.ended_locked(w, r);
	uint64_t arg;
	memcpy(&arg, coroi_cold(r)->payload, sizeof arg);
	coroi_tell_unstarted_locked(w, r->fn, arg, coroi_join_status(r));
	if (coroi_unlikely(coroi_carries(r)))
		coroi_carry_drop_argument(r);
	coroi_end_locked(w, r);
}

void coroi_await_stack_locked(struct coroi_worker *w, struct coroi_rec *r)
{
	coroi_list_add(&w->awaiting_stack, r);
	/* Sequentially consistent, with SLP4 of idle.c: the last worker awake sees it. */
	at_add(&w->sched->awaiting_stack, 1);
}

struct coroi_rec *coroi_take_awaiting_locked(struct coroi_worker *w)
{
	struct coroi_rec *r = coroi_list_take(&w->awaiting_stack);
	if (r)
		at_add(&w->sched->awaiting_stack, -1);
	return r;
}

struct coroi_rec *coroi_take_awaiting_with_stack_locked(struct coroi_worker *w)
{
	struct coroi_rec *r;

	while (w->cancel && (r = coroi_take_awaiting_locked(w)))
		coroi_end_unstarted_locked(w, r, COROI_F_CANCELED);
	coroi_end_canceled_locked(w);
	r = coroi_take_awaiting_locked(w);
	if (r && !(r->stack = coroi_stack_for_locked(w, r))) {
		coroi_await_stack_locked(w, r);
		r = NULL;
	}
	return r;
}

/* ---------------------------------------------------------------------------------- NST3 to
 * NST5 */

/* is_too_large - a stack for r is more than the limit allows in all. */
static bool is_too_large(const struct coroi_worker *w, const struct coroi_rec *r)
{
	struct coro_scheduler *s = w->sched;

	return coroi_stack_pool_never(&s->stacks, coroi_is_dense(r) ? s->dense_class : r->class);
}

/* start_one_locked - find one of those that await a stack for which there is a stack, and put it at
 * the front: the next coroi_run starts it. All that are cancelled, or too large, end. False: there
 * is no stack for any, and each has its place as before. */
static bool start_one_locked(struct coroi_worker *w)
{
	uint32_t refused = 0; /* a bit for each class */

	for (uint32_t n = w->awaiting_stack.count; n; n--) {
		struct coroi_rec *r = coroi_take_awaiting_locked(w);
		struct coroi_stack *stack = NULL;
		if (coroi_is_canceled_locked(r) || is_too_large(w, r)) {
			coroi_end_unstarted_locked(w, r, COROI_F_NO_STACK);
			continue;
		}
		if (!(refused >> r->class & 1))
			stack = coroi_stack_for_locked(w, r);
		if (stack) {
			coroi_put_stack_locked(w, stack);
			coroi_list_add_first(&w->awaiting_stack, r);
			at_add(&w->sched->awaiting_stack, 1);
			return true;
		}
		refused |= 1u << r->class;
		coroi_await_stack_locked(w, r);
	}
	return false;
}

/* can_run_locked - w has something to run; or another worker is awake, which may. */
static bool can_run_locked(struct coroi_worker *w)
{
	return at_load_seq(&w->inbox) || w->next || coroi_deque_length(&w->queue) > w->left ||
	       COROI_AWAKE_OF(at_load_seq(&w->sched->activity)) > 1;
}

/* collect_stacks - bring the idle stacks of the workers that sleep to the pool. Each knock is one
 * try: a worker that does not let w in is not asleep, or another thread stops it. */
static void collect_stacks(struct coroi_worker *w)
{
	struct coro_scheduler *s = w->sched;

	for (uint32_t i = 0; i < s->workers; i++) {
		struct coroi_worker *v = &s->worker[i];
		if (v == w || !coroi_sleeps(s, i) ||
		    coroi_door_knock(v, COROI_FOREIGN) != COROI_LOCKED)
			continue;
		coroi_stack_cache_flush(&v->stacks);
		coroi_door_unlock(v);
	}
}

/* What lives, as far as it matters to NST4. */
struct census {
	struct coro_scheduler *s;
	struct coroi_rec *witness; /* may be woken from outside; NULL: none found */
	uint64_t fresh;            /* have not started, and have no Go body */
	uint64_t joiners;          /* join another, or have a Go body */
	uint64_t joined;           /* are joined by a coroutine of s */
};

/* take_down - add r to the census. No door is closed meanwhile: if r changes, something moves. */
static void take_down(struct coroi_rec *r, void *ctx)
{
	struct census *c = ctx;
	uint8_t state = at_load_acq(&r->state);

	if (state == COROI_FREE || state == COROI_ENDED)
		return;
	if (state == COROI_FRESH) {
		if (at_load_acq(&r->home) == c->s->workers)
			c->joiners++;
		else
			c->fresh++;
	} else if (at_load_rlx(&r->waits) == CORO_WAIT_FORK && state != COROI_ACTIVE) {
		/* It waits for its child, which is one of s, and has no registration. */
	} else if ((state == COROI_WAITING || state == COROI_COMMITTED) &&
		   at_load_rlx(&r->waits) == CORO_WAIT_JOIN) {
		c->joiners++;
	} else {
		c->witness = r;
	}
	uint64_t word = at_load_acq(&coroi_cold(r)->join);
	if (coroi_join_kind(word) == COROI_JOIN_COROUTINE &&
	    coroi_gen(word) == coroi_gen(at_load_acq(&r->wake)))
		c->joined += coroi_owner(coroi_at((uint32_t)(word & COROI_JOIN_INDEX_MASK))) ==
			     c->s;
}

/* is_hopeless - NST4: nobody can ever leave a stack. A coroutine that joins has one registration,
 * and so has a Go body; so if there are as many registrations in s as could register, each waits
 * for one of s, and that chain ends at one that awaits a stack, or in a circle. */
static bool is_hopeless(struct coroi_worker *w)
{
	struct coro_scheduler *s = w->sched;
	struct coroi_rec *before = at_load_rlx(&s->witness);
	struct census c = {.s = s};
	uint64_t moves = coroi_moves(s, true);

	if (s->flags & CORO_PAUSED)
		return true;
	if (before)
		take_down(before, &c);
	if (c.witness)
		return false;
	c = (struct census){.s = s};
	coroi_slab_each(&s->slab, take_down, &c);
	at_store_rlx(&s->witness, c.witness);
	return !c.witness && c.fresh == at_load_seq(&s->awaiting_stack) && c.joiners == c.joined &&
	       at_load_seq(&s->activity) >> 16 == 1 && coroi_moves(s, true) == moves;
}

bool coroi_find_stack(struct coroi_worker *w, bool rest)
{
	struct coro_scheduler *s = w->sched;
	uint64_t moves = coroi_moves(s, rest);

	if (at_load_rlx(&w->no_stack_at) == moves)
		return false;
	if (!s->stacks.limit)
		collect_stacks(w);
	coroi_door_enter(w);
	/* What others left here before they went to sleep runs first: it may give a stack back. */
	bool found = can_run_locked(w) || start_one_locked(w) || can_run_locked(w);
	coroi_door_leave(w);
	if (found)
		return true;
	if (rest && is_hopeless(w)) {
		coroi_door_enter(w);
		while (w->awaiting_stack.count && !(found = can_run_locked(w)))
			coroi_end_unstarted_locked(w, coroi_take_awaiting_locked(w),
						   COROI_F_NO_STACK);
		found |= can_run_locked(w);
		coroi_door_leave(w);
	}
	if (!found)
		at_store_rlx(&w->no_stack_at, moves);
	return found;
}
