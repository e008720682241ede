//go:build ignore
/*
 * run.c - the run loop.
 *
 * Between coroutines a worker has no scheduler stack. The loop itself runs on a pooled stack, and
 * calls a fresh coroutine as a function. If the function returns, the same stack takes the next
 * coroutine, and nothing was switched. If the coroutine suspends instead, it keeps the stack, with
 * the loop's frame below its own. The worker then goes on with a started coroutine, or with a new
 * loop on another pooled stack (after RethinkDB's coroutines, 2010).
 *
 *   native stack ──► loop: fn1() fn2() … suspends ──► started coroutine ──► loop on another stack …
 *        ▲                                                                         │
 *        └──────────────────── nothing runnable: idle, park, exit ◄────────────────┘
 *
 * A loop's frame travels with a stolen coroutine. So after a body has returned, the loop reads
 * again which worker it is on. A loop runs coroutines of the stack class that its stack serves.
 */
#include "kernel/run.h"

#include "base/extras.h"
#include "kernel/hooks.h"
#include "kernel/nostack.h"
#include "kernel/nowait.h"
#include "kernel/steal.h"
#include "kernel/wait.h"

#include <string.h>

void (*coroi_on_end_elsewhere)(void);
#ifdef COROI_PROBES
void (*coroi_probe)(enum coroi_probe_event event, const struct coroi_rec *r);
#endif

/* -------------------------------------------------------------------- what comes from outside */

COROI_COLD static bool queue_with_record_locked(struct coroi_worker *w, uint64_t runnable,
						const uint64_t *args)
{
	struct coroi_rec *r = coroi_record_locked(w, runnable, args);
	if (r)
		coroi_queue_fresh_locked(w, r);
	return r != NULL;
}

bool coroi_queue_new_locked(struct coroi_worker *w, uint64_t runnable, const uint64_t *args)
{
	unsigned words = coroi_runnable_words(runnable);

	if (coroi_likely(words <= 1 &&
			 coroi_deque_push_new(&w->queue, runnable, words ? args[0] : 0)))
		return true;
	return queue_with_record_locked(w, runnable, args);
}

/* left_in - p has a spawn that was not taken. */
static bool left_in(const struct coroi_batch *p)
{
	return p->taken < (at_load_acq(&p->state) & COROI_BATCH_COUNT);
}

/* took_one - the first spawn that is left in p, runnable, was taken. */
static inline void took_one(struct coroi_batch *p, uint64_t runnable)
{
	unsigned words = coroi_runnable_words(runnable);

	if (coroi_likely(p->repeat <= 1))
		p->taken += words == COROI_RECORD ? 1 : 1 + words;
	else
		p->repeat--;
}

/* take_spawn - a record out of the inbox comes to be w's. */
static struct coroi_rec *take_spawn_locked(struct coroi_worker *w, uint64_t node)
{
	struct coroi_rec *r = coroi_node_of(node);

	at_bump(&w->spawned);
	if (coroi_unlikely(r->more & COROI_M_DAEMON))
		coroi_count_daemon(w);
	return r;
}

/* come - how many words have come to p that were not taken, or more if p was closed. */
static uint32_t come(const struct coroi_batch *p)
{
	return at_load_acq(&p->state) - p->taken;
}

enum took { TOOK_SOME, TOOK_ALL, TOOK_LAST }; /* LAST: all, and no more will come */

/* take_batch - BTW1: put some of p's spawns into the queue. */
static enum took take_batch_locked(struct coroi_worker *w, struct coroi_batch *p)
{
	uint32_t state = at_load_acq(&p->state), have = state & COROI_BATCH_COUNT, n = 0;

	for (; p->taken < have && n < COROI_TAKE_AT_ONCE; n++) {
		uint64_t runnable = p->words[p->taken];
		if (coroi_runnable_words(runnable) == COROI_RECORD)
			coroi_deque_push(&w->queue, runnable);
		else if (!coroi_queue_new_locked(w, runnable, &p->words[p->taken + 1]))
			break;
		took_one(p, runnable);
	}
	at_bump_by(&w->spawned, n);
	return p->taken != have ? TOOK_SOME : state & COROI_BATCH_CLOSED ? TOOK_LAST : TOOK_ALL;
}

static void undelivered_add_locked(struct coroi_worker *w, uint64_t node)
{
	*coroi_node_link(node) = 0;
	if (w->undelivered.first)
		*coroi_node_link(w->undelivered.last) = node;
	else
		at_store_rlx(&w->undelivered.first, node);
	w->undelivered.last = node;
}

/* undelivered_drop_locked - take the node between `before` and `next` out of the list. 0: there is
 * no such neighbour. */
static void undelivered_drop_locked(struct coroi_worker *w, uint64_t before, uint64_t next)
{
	if (before)
		*coroi_node_link(before) = next;
	else
		at_store_rlx(&w->undelivered.first, next);
	if (!next)
		w->undelivered.last = before;
}

/* unpack - empty the inbox: deliver remote wakes, queue coroutines that have migrated, and keep
 * spawns as undelivered. */
static void unpack_locked(struct coroi_worker *w)
{
	for (uint64_t node = coroi_inbox_take(w), next; node; node = next) {
		next = *coroi_node_link(node);
		if ((node & COROI_NODE_KIND) == COROI_NODE_WAKE) {
			coroi_remote_wake_locked(w, coroi_node_of(node), coroi_node_from(node));
		} else if ((node & COROI_NODE_KIND) == COROI_NODE_MOVED) {
			coroi_queue_locked(w, coroi_node_of(node));
		} else if ((node & COROI_NODE_KIND) == COROI_NODE_TASKS) {
			/* before the look: who asks later is to push the node again */
			at_xchg(&w->tasks.asked, 0);
			coroi_tasks_settle_locked(w, false);
		} else {
			undelivered_add_locked(w, node);
			coroi_turnclock_soon(&w->clock, coroi_turns(w)); /* one of them is let in */
		}
	}
}

void coroi_deliver_locked(struct coroi_worker *w)
{
	uint32_t enough = coroi_deque_length(&w->queue) + COROI_TAKE_AT_ONCE;
	uint64_t before = 0, node = w->undelivered.first;
	bool trickles = true;

	/* relaxed: it may be a thief's thread, and the lender's coroutine looks at `unusual` */
	if (coroi_unlikely(w->lent))
		at_store_rlx(&w->lent, COROI_LENT_MIXED);
	while (node && coroi_deque_length(&w->queue) < enough) {
		uint64_t next = *coroi_node_link(node);
		enum took took = TOOK_LAST;
		if ((node & COROI_NODE_KIND) == COROI_NODE_SPAWN) {
			/* before it is queued: the queue may use the link */
			undelivered_drop_locked(w, before, next);
			coroi_queue_fresh_locked(w, take_spawn_locked(w, node));
		} else if ((took = take_batch_locked(w, coroi_node_of(node))) == TOOK_LAST) {
			undelivered_drop_locked(w, before, next);
			coroi_batch_drop(&w->sched->slab, coroi_node_of(node)); /* BTW2 */
		} else {
			trickles &= took == TOOK_ALL;
			before = node;
		}
		node = next;
	}
	w->spawns.trickles = trickles && !node && w->undelivered.first;
	if (coroi_deque_length(&w->queue) + COROI_TAKE_AT_ONCE != enough)
		w->spawns.delivered_to = w->queue.head + coroi_deque_length(&w->queue);
}

/* has_waiting - something waits for looks at the clock. */
static bool has_waiting(const struct coroi_worker *w)
{
	return w->shares || w->is_main || w->undelivered.first || w->due != COROI_NEVER ||
	       coroi_watches(w);
}

/* worth_of - the length of a queue that is worth sharing; fit: turns that are in COROI_LOOK_NS. Turns
 * of tasks mostly wake each other. Coroutines alone are shared however short their turns are. */
static uint32_t worth_of(const struct coroi_worker *w, uint64_t fit)
{
	return COROI_HAS_WORTH && at_load_rlx(&w->tasks.room) && fit >= COROI_SHORT_TURNS
		       ? (uint32_t)fit
		       : 1;
}

/* look - at the clock: fire deadlines that have come, and set the turn of the next look. */
static void look_locked(struct coroi_worker *w)
{
	uint64_t now = coroi_now_ns();
	uint32_t turn = coroi_turns(w);

	if (coroi_timers_are_due(w, now))
		coroi_timers_fire_locked(w, now);
	uint64_t fit = coroi_turnclock_pace(&w->clock, now, turn);
	/* a chain of hand-overs that began when turns were shorter */
	if (fit && !w->chain.is_fixed && w->handovers.most - w->handovers.n > fit)
		w->handovers.most = w->handovers.n + (uint32_t)fit;
	if (fit)
		at_store_rlx(&w->worth, worth_of(w, fit));
	bool are_long = coroi_turnclock_looked(&w->clock, now, turn, has_waiting(w));
	w->poll_mask = are_long ? 0 : COROI_POLL_TURNS - 1;
}

/* let_in_of - take the first spawn that is left in p, to run next. 0: there is none, or no
 * record. */
static uint64_t let_in_of_locked(struct coroi_worker *w, struct coroi_batch *p)
{
	if (!left_in(p))
		return 0;
	uint64_t *at = &p->words[p->taken], first = *at;
	if (coroi_runnable_words(first) != COROI_RECORD) {
		struct coroi_rec *r = coroi_record_locked(w, first, at + 1);
		if (!r)
			return 0;
		first = coroi_runnable_fresh(r);
	}
	took_one(p, *at);
	at_bump(&w->spawned);
	return first;
}

/* let_in - take the oldest undelivered spawn, to run next. 0: there is none, or no record. */
static uint64_t let_in_locked(struct coroi_worker *w)
{
	uint64_t before = 0, first = 0;

	for (uint64_t node = w->undelivered.first, next; node && !first; node = next) {
		next = *coroi_node_link(node);
		if ((node & COROI_NODE_KIND) == COROI_NODE_SPAWN) {
			undelivered_drop_locked(w, before, next);
			return coroi_runnable_fresh(take_spawn_locked(w, node));
		}
		struct coroi_batch *p = coroi_node_of(node);
		first = let_in_of_locked(w, p);
		if (!first && left_in(p)) /* there is no record */
			break;
		if (at_load_acq(&p->state) == (p->taken | COROI_BATCH_CLOSED)) {
			undelivered_drop_locked(w, before, next);
			coroi_batch_drop(&w->sched->slab, p); /* BTW2 */
		} else {
			before = node;
		}
	}
	return first;
}

/* first_in_locked - let the oldest spawn in, ahead of the queue. 0: there is none, or it has to
 * wait. */
static uint64_t first_in_locked(struct coroi_worker *w)
{
	uint64_t first;

	if ((int32_t)(w->queue.head - w->spawns.delivered_to) < 0)
		return 0; /* older ones are in the queue */
	w->spawns.delivered_to = w->queue.head;
	if (!w->undelivered.first || !coroi_favors_locked(w))
		return 0;
	first = let_in_locked(w);
	if (first) { /* a turn, and neither the queue's nor of a chain */
		at_store_rlx(&w->handovers.n, w->handovers.n + 1);
		w->handovers.most++;
	}
	return first;
}

uint64_t coroi_poll_locked(struct coroi_worker *w)
{
	uint64_t looked = w->clock.looked;

	coroi_drain_locked(w);
	bool look = w->clock.looked != looked;
	if (look && w->shares)
		coroi_stir_look(w);
	if (look && coroi_watches(w))
		w->poll = w->leave = true; /* a spawn is let in afterwards: coroi_run */
	if ((w->calls.count && w->queue.head % COROI_DELIVER_TURNS == 0) ||
	    (look && coroi_host_asked(w)))
		w->leave = true;
	return look && !w->leave ? first_in_locked(w) : 0;
}

/* A chain of hand-overs is to last COROI_CHAIN_NS to 4 * COROI_CHAIN_NS, or to be one hand-over.
 * The clock is read once a chain. Between the ends of two chains the queue had turns too. They are
 * taken to be as long as hand-overs. */
static void adapt_budget_locked(struct coroi_worker *w)
{
	if (!COROI_HAS_CHAINS || w->chain.is_fixed)
		return;
	uint64_t now = coroi_now_ns();
	int32_t ahead = (int32_t)(w->queue.head - w->chain.head);
	uint32_t turns = ahead > 0 ? (uint32_t)ahead : 0;
	uint64_t chain = (now - w->chain.ended) * w->budget / ((uint64_t)w->budget + turns);
	if (chain < COROI_CHAIN_NS && w->budget < COROI_CHAIN_MOST)
		w->budget *= 2;
	else if (chain > 4 * COROI_CHAIN_NS) /* in one step, as in look_locked */
		w->budget = (uint32_t)(w->budget * (2 * COROI_CHAIN_NS) / chain) + 1;
	w->chain.ended = now;
	w->chain.head = w->queue.head;
}

COROI_COLD uint64_t coroi_budget_spent_locked(struct coroi_worker *w)
{
	adapt_budget_locked(w);
	coroi_renew_budget(w);
	return at_load_rlx(&w->inbox) || coroi_is_look_due(w) ? coroi_poll_locked(w) : 0;
}

void coroi_drain_locked(struct coroi_worker *w)
{
	if (at_load_rlx(&w->inbox)) /* relaxed: a hint; the take is an acquire */
		unpack_locked(w);
	if (coroi_turnclock_is_due(&w->clock, coroi_turns(w)) ||
	    (w->due != COROI_NEVER && !coroi_deque_length(&w->queue)))
		look_locked(w);
	/* Where turns are long, spawns are let in one by one. */
	if (w->undelivered.first &&
	    (!coroi_deque_length(&w->queue) ||
	     (w->queue.head % COROI_DELIVER_TURNS == 0 && !coroi_turns_are_long(w))))
		coroi_deliver_locked(w);
	if (coroi_needs_another(w, coroi_deque_length(&w->queue)))
		coroi_notify_queued(w);
}

bool coroi_detach_batches_locked(struct coroi_worker *w)
{
	w->spawns.trickles = false;
	for (uint64_t node; (node = w->undelivered.first);) {
		if ((node & COROI_NODE_KIND) != COROI_NODE_BATCH)
			return false;
		struct coroi_batch *p = coroi_node_of(node);
		uint64_t next = p->next; /* after the CAS the sender may push p again */
		uint32_t empty = p->taken;
		/* BTW3 */
		if (!at_cas(&p->state, &empty, empty | COROI_BATCH_DETACHED))
			return false;
		undelivered_drop_locked(w, 0, next);
	}
	return true;
}

uint32_t coroi_has_spawns(struct coroi_worker *w)
{
	uint32_t n = 0;

	coroi_door_enter(w);
	for (uint64_t node = w->undelivered.first; node; node = *coroi_node_link(node))
		n += (node & COROI_NODE_KIND) == COROI_NODE_BATCH ? come(coroi_node_of(node)) : 1;
	w->spawns.trickles &= !n;
	coroi_door_leave(w);
	return n;
}

/* begin - r runs on stack from now on, as the current coroutine. */
static inline void begin_locked(struct coroi_worker *w, struct coroi_rec *r,
				struct coroi_stack *stack)
{
	COROI_PROBE(START, r);
	r->stack = stack;
	if (coroi_unlikely(stack->serves == COROI_DENSE))
		coroi_dense_begin_locked(w, r, stack);
	at_store_rlx(&r->state, COROI_ACTIVE);
	at_store_rlx(&r->home, w->id);
	w->current = r;
}

/* end_unstarted - end a fresh runnable that is cancelled, or whose scheduler is. */
COROI_COLD static void end_unstarted_locked(struct coroi_worker *w, uint64_t runnable)
{
	if (coroi_runnable_has_record(runnable)) {
		coroi_end_unstarted_locked(w, coroi_runnable_record(runnable), COROI_F_CANCELED);
	} else {
		coroi_tell_unstarted_locked(w, coroi_runnable_fn(runnable),
					    *coroi_deque_popped_arg(&w->queue), CORO_ECANCELED);
		at_bump(&w->ends.closed);
		at_bump_rel(&w->ended); /* release: see coroi_end_locked */
		coroi_mags_earn(&w->mags);
	}
}

/* take_code - return next's code, with which its wait returns. Afterwards the code is CORO_OK: a
 * started runnable without COROI_CODED always has that. */
static inline int8_t take_code(struct coroi_rec *next)
{
	int8_t code = next->code;
	next->code = CORO_OK;
	return code;
}

/*
 * resolve - find a coroutine that can go on: the runnable, which was picked, or the first one after
 * it in the order of picking. NULL: there is none. A coroutine that is returned has started, or has
 * a stack in r->stack, or is a fresh one of the class `have` without a stack: the caller has a
 * stack of that class. The coroutine that is about to suspend counts as started, if it is picked
 * again, although its context is not saved yet.
 */
static inline struct coroi_rec *resolve_locked(struct coroi_worker *w, uint64_t runnable, int have)
{
	for (uint32_t deferred = 0;; runnable = coroi_pick_locked(w)) {
		if (!coroi_runnable_is_new(runnable))
			return coroi_runnable_resumed(runnable);
		struct coroi_rec *r = coroi_runnable_has_record(runnable)
					      ? coroi_runnable_record(runnable)
					      : NULL;
		if (coroi_unlikely(r && runnable & COROI_CODED))
			return r;
		if (coroi_unlikely(w->cancel || (r && coroi_is_canceled_locked(r)))) { /* CAN4 */
			end_unstarted_locked(w, runnable);
			continue;
		}
		if (coroi_likely(!r) &&
		    coroi_unlikely(!(r = coroi_record_locked(w, runnable,
							     coroi_deque_popped_arg(&w->queue))))) {
			/* Records were retired: the runnable waits for a record. Those behind it do
			 * not have to wait. */
			coroi_deque_defer(&w->queue, runnable);
			if (++deferred >= coroi_deque_length(&w->queue))
				return NULL;
			continue;
		}
		if (coroi_likely(r->class == have))
			return r;
		r->stack = coroi_stack_for_locked(w, r);
		if (coroi_likely(r->stack != NULL))
			return r;
		coroi_await_stack_locked(w, r);
	}
}

static void loop_start(intptr_t first);
/* Added to the record that loop_start gets: the coroutine is to end, its function is not called. */
#define FINISH 1

/* fresh_context - the context of a new loop on r's stack, which begins with r. */
static void *fresh_context_locked(struct coroi_worker *w, struct coroi_rec *r)
{
	struct coroi_stack *stack = r->stack;
	coroi_stack_fresh(stack);
	begin_locked(w, r, stack);
	return coroi_context(stack->top, loop_start);
}

/* go - save the present context in *save, and go on with next, as resolve_locked returned it. NULL:
 * go to the native stack. */
static int go_locked(struct coroi_worker *w, void **save, struct coroi_rec *next)
{
	w->current = next;
	if (!next)
		return coroi_to(save, w->native_sp, 0, w, NULL);
	if (next->sp)
		return coroi_to(save, next->sp, take_code(next), w, next->stack);
	void *sp = fresh_context_locked(w, next);
	return coroi_to(save, sp, (intptr_t)next, w, next->stack);
}

COROI_NOINLINE int coroi_suspend_slow(struct coroi_worker *w, struct coroi_rec *me,
				      uint64_t runnable)
{
	struct coroi_rec *next = resolve_locked(w, runnable, -1);
	if (next == me) {
		int code = take_code(me);
		coroi_door_leave(w);
		return code;
	}
	if (coroi_unlikely(!next) && w->nowait)
		return coroi_suspend_inside_locked(w, me, 0);
	return go_locked(w, &me->sp, next);
}

COROI_NOINLINE int coroi_feed_and_leave(struct coroi_worker *w)
{
	coroi_notify_queued(w);
	coroi_door_leave(w);
	return CORO_OK;
}

COROI_NOINLINE int coroi_suspend_picked_locked(struct coroi_worker *w, struct coroi_rec *me)
{
	return coroi_suspend_locked(w, me, coroi_pick_locked(w));
}

/* abandon - give this loop up, put its stack back, and go on with next, as resolve_locked returned
 * it. NULL: go to the native stack. */
static __attribute__((noreturn)) void
abandon_locked(struct coroi_worker *w, struct coroi_stack *stack, struct coroi_rec *next)
{
	const struct coroi_fiber *fiber = &w->native;
	void *sp = w->native_sp;
	intptr_t value = 0;

	if (coroi_unlikely(at_load_rlx(&w->sched->awaiting_stack)))
		coroi_share_stacks_locked(w);
	/* We still run on it. Nobody takes it before the jump, as we are inside the door. */
	coroi_put_stack_locked(w, stack);
	w->current = next;
	if (next) {
		fiber = &next->stack->fiber;
		value = next->sp ? take_code(next) : (intptr_t)next;
		sp = next->sp ? next->sp : fresh_context_locked(w, next);
	}
	coroi_tell_open(&w->busy);
	coroi_dense_show(w);
	coroi_fiber_leave(NULL, fiber);
	coroi_jump(sp, value, &w->busy);
}

COROI_NOINLINE void coroi_call_body_apart(struct coroi_rec *r)
{
	unsigned char *payload = coroi_cold(r)->payload, *arg = payload, *result;
	unsigned char apart[CORO_INLINE_BYTES] __attribute__((aligned(16))) = {0};

	if (r->result_bytes) {
		memcpy(apart, payload, sizeof apart);
		memset(payload, 0, sizeof apart);
		arg = apart;
		result = payload;
	} else {
		result = apart;
	}
	r->fn(r->arg_bytes & ~COROI_CARRIES ? arg : NULL, result);
}

/* unstack - give back the stacks that coro_call_on_stack put on r's own. r has called coro_exit on
 * one of them. */
COROI_COLD static void unstack(struct coroi_rec *r)
{
	struct coroi_worker *w = coroi_self();

	for (struct coroi_stack *s = r->stack; s->below; s = s->below)
		coroi_stack_clean(s, false);
	coroi_door_enter(w);
	for (struct coroi_stack *s; (s = r->stack)->below;) {
		r->stack = s->below;
		s->below = NULL;
		coroi_stack_put(&w->stacks, s);
	}
	coroi_door_leave(w);
}

/* fits - the runnable is fresh, has no record, and wants a stack of that class. */
static inline bool fits(uint64_t runnable, uint8_t class)
{
	return COROI_HAS_SUCCEED && coroi_runnable_is_new(runnable) &&
	       coroi_runnable_words(runnable) != COROI_RECORD &&
	       coroi_runnable_class(runnable) == class;
}

/* succeed - the runnable takes over the record of me, which has ended and whose handle nobody has.
 * Most coroutines that never suspend begin and end here. */
static inline void succeed_locked(struct coroi_worker *w, struct coroi_rec *me,
				  const struct coroi_stack *stack, uint64_t runnable)
{
	unsigned words = coroi_runnable_words(runnable); /* 0 or 1, in a queue */

	at_bump_rel(&w->ended); /* release: see coroi_end_locked */
	coroi_mags_earn(&w->mags);
	me->fn = coroi_runnable_fn(runnable);
	me->flags = coroi_unlikely(stack->serves == COROI_DENSE) ? COROI_F_PINNED : 0;
	/* set again: a dense coroutine's stack may have become private (DNS3 of dense.h) */
	at_store_rlx(&me->class, stack->serves);
	me->arg_bytes = (uint8_t)(8 * words);
	at_store_rlx(&me->result_bytes, (uint8_t)(runnable & COROI_RESULT ? CORO_INLINE_BYTES : 0));
	if (words)
		memcpy(coroi_cold(me)->payload, coroi_deque_popped_arg(&w->queue), 8);
}

/* tell_end - the current coroutine, me, has ended otherwise than by returning, or has run what it
 * had deferred: tell those who count such ends. A task returns with nothing deferred. */
COROI_COLD static void tell_end(struct coroi_rec *me)
{
	if (me->fn == coroi_fork_run)
		coroi_fork_ended(me);
	else if (coroi_is_task(me))
		coroi_tasks.ended(coroi_cold(me)->payload, me->flags & COROI_F_ABORTED);
	else
		coroi_hooks.ended(me);
}

/* loop - call coroutines, one after the other. After each call, the loop uses nothing that was in
 * its frame before. On a shared stack all coroutines share this frame (dense.h), and each may leave
 * other values in it. */
static __attribute__((noreturn)) void loop(struct coroi_rec *me, bool finish)
{
	struct coroi_stack *stack = me->stack;

	if (coroi_unlikely(stack->serves == COROI_DENSE))
		coroi_dense_base(stack);
	for (;;) {
		if (coroi_likely(!finish))
			coroi_call_body(me, stack);
		finish = false;
		if (coroi_unlikely(!coroi_self())) /* me ends on a thread that is no worker */
			coroi_on_end_elsewhere();
		me = coroi_self()->current;
		stack = me->stack;
		if (coroi_unlikely(me->flags & COROI_F_EXTRAS)) {
			if (coroi_self()->nowait & COROI_LEVELS)
				/* before the deferred functions, which may wait */
				coroi_nowait_ended(coroi_self(), NULL);
			coroi_end_extras();
			tell_end(coroi_self()->current);
		}

		/* read again: perhaps not the worker on which me started */
		struct coroi_worker *w = coroi_self();
		coroi_door_enter(w);
		struct coroi_rec *next = NULL;
		uint64_t runnable = 0;
		uint32_t unusual = at_load_rlx(&w->unusual);
		if (coroi_likely(!(at_load_rlx(&me->wake) & COROI_ESCAPED) &&
				 !w->awaiting_stack.count &&
				 (coroi_likely(!unusual) ||
				  (!w->refuses && !coroi_is_lenders(w, me))))) {
			runnable = coroi_pick_here_locked(w, unusual);
			if (coroi_likely(fits(runnable, stack->serves))) {
				succeed_locked(w, me, stack, runnable);
				coroi_door_leave(w);
				continue;
			}
		}
		if (coroi_unlikely(w->nowait)) {
			coroi_door_leave(w);
			if (w->nowait & COROI_LEVELS)
				coroi_nowait_ended(w, NULL);
			coroi_forks_left(w);
			coroi_door_enter(w);
		}
		if (coroi_unlikely(coroi_is_lenders(w, me)))
			coroi_hooks.ended_locked(w, me);
		coroi_end_locked(w, me);
		/* A lender leaves them to w's own thread: LND5 of lend.h. */
		if (coroi_unlikely(w->awaiting_stack.count && !(w->cancel | w->lent))) {
			coroi_end_canceled_locked(w);
			if (w->awaiting_stack.count &&
			    w->awaiting_stack.first->class == stack->serves)
				next = w->leave ? NULL : coroi_take_awaiting_locked(w);
		}
		if (coroi_likely(!next && !w->leave))
			next = resolve_locked(w, runnable ? runnable : coroi_pick_locked(w),
					      stack->serves);
		if (coroi_unlikely(!next || next->sp || next->stack))
			abandon_locked(w, stack, next);
		begin_locked(w, next, stack);
		coroi_door_leave(w);
		me = next;
	}
}

static void loop_start(intptr_t first)
{
	struct coroi_rec *me = (struct coroi_rec *)(first & ~(intptr_t)FINISH);

	coroi_fiber_arrive(NULL, NULL);
	coroi_dense_hide();
	if (coroi_unlikely(first & FINISH)) {
		unstack(me);
		coroi_stack_clean(me->stack, true);
		if (!(me->flags & COROI_F_EXTRAS))
			tell_end(me);
	}
	loop(me, first & FINISH);
}

#if COROI_RUNS_QUICKLY
void coroi_loop(struct coroi_rec *me)
{
	loop(me, true);
}

bool coroi_run_fresh_locked(struct coroi_worker *w, struct coroi_rec *r, struct coroi_stack *stack,
			    int (*start)(intptr_t))
{
	begin_locked(w, r, stack);
	coroi_dense_show(w);
	coroi_door_leave(w);
	return coroi_call_on(&w->native_sp, stack->top, (intptr_t)r, start);
}
#endif

void coroi_exit(struct coroi_worker *w)
{
	struct coroi_rec *me = w->current;

	coroi_fork_exit(w);
	struct coroi_stack *own = coroi_stack_own(me->stack);

	coroi_stack_restart(own, own->top, loop_start, (intptr_t)me | FINISH);
}

/* run_errand - do what a coroutine has asked for, which is suspended now. */
COROI_COLD static void run_errand(struct coroi_worker *w)
{
	struct coroi_errand e = w->errand;

	if (w->lent)
		coroi_hooks.suspended(w);
	w->errand.run = NULL;
	e.run(w, e.arg);
}

/* There and back by ret, as in coro_call_go_inline. Then the return predictor is right about the
 * functions that return from here into Go. */
void coroi_run_on_locked(struct coroi_worker *w, struct coroi_rec *next)
{
	void *sp = next->sp;
	intptr_t value = sp ? take_code(next) : (intptr_t)next;

	if (!sp)
		sp = fresh_context_locked(w, next);
	w->current = next;
	coroi_to_by(coroi_switch_within, &w->native_sp, sp, value, w, next->stack);
}

bool coroi_run(struct coroi_worker *w)
{
	/* a lender makes no calls: those in the list were asked for since it began, by what its own
	 * coroutine has spawned (coroi_run_fresh_locked) */
	for (bool made = w->calls.count && !w->lent;; made = false) {
		w->leave = false;
		if (coroi_unlikely(w->errand.run != NULL))
			run_errand(w);
		if (coroi_unlikely(w->stir.from != NULL))
			coroi_stir(w);
		bool polled = w->poll;
		if (coroi_unlikely(polled)) {
			w->poll = false;
			w->sched->driver->poll(w);
		}
		if (w->calls.count && !made)
			return true;
		if (coroi_unlikely(coroi_host_asked(w)) && !made)
			return false;
		coroi_door_enter(w);
		struct coroi_rec *next = made ? coroi_hooks.made_locked(w) : NULL;
		if (coroi_unlikely(!next && w->awaiting_stack.count && !w->lent))
			next = coroi_take_awaiting_with_stack_locked(w);
		uint64_t first = polled && !next ? first_in_locked(w) : 0;
		if (!next)
			next = resolve_locked(w, first ? first : coroi_pick_locked(w), -1);
		if (!next && !w->leave && coroi_tasks_settle_locked(w, true)) {
			coroi_door_leave(w);
			continue;
		}
		if (!next && !w->leave) {
			w->left = coroi_deque_length(&w->queue);
			coroi_door_leave(w);
			return false;
		}
		if (next)
			coroi_run_on_locked(w, next);
		else
			coroi_door_leave(w);
	}
}
