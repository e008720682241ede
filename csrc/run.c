//go:build cgo && linux
/*
 * run.c - the run loop.
 *
 * A worker has no scheduler stack between coroutines. The loop itself runs on a pooled stack: it calls a fresh
 * coroutine as a function; if that returns, the same stack takes the next one, and nothing was switched. If it
 * suspends instead, the stack with the loop's frame below it stays with it, and the worker goes on in the next
 * started coroutine, or in a new loop on another pooled stack (after RethinkDB's coroutines, 2010).
 *
 *      native stack ──► loop: fn1() fn2() fn3() ... suspends ──► started coroutine ──► loop on another stack ...
 *           ▲                                                                                  │
 *           └──────────────────────── nothing runnable: idle, park, exit ◄─────────────────────┘
 *
 * A loop's frame travels with a stolen coroutine: after a body has returned, the worker is read anew. A loop
 * serves the stack class it runs on.
 */
#include "run.h"

#include "extras.h"
#include "wait.h"

#include <string.h>

/* ahead - the parcels that follow `node` are opened soon: bring the records of the first, the magazine of the second,
 * and the third itself. */
static void ahead(uint64_t node)
{
	struct coroi_parcel *p[3];

	for (int i = 0; i < 3; i++) {
		if ((node & COROI_NODE_KIND) != COROI_NODE_BATCH)
			return;
		p[i] = (struct coroi_parcel *)(uintptr_t)(node - COROI_NODE_BATCH);
		if (i == 0)
			for (uint32_t k = 0; k < p[0]->mag->count; k++)
				coroi_prefetchw(p[0]->mag->rec[k]);
		if (i == 1)
			for (size_t at = 0; at < sizeof(struct coroi_mag); at += COROI_LINE)
				coroi_prefetchw((char *)p[1]->mag + at);
		if (i == 2)
			coroi_prefetchw(p[2]);
		else
			node = p[i]->next;
	}
}

/* open_parcel - its spawns go into the queue. */
static void open_parcel_locked(struct coroi_worker *w, struct coroi_parcel *p)
{
	struct coroi_rec **first = p->mag->rec + p->mag->count - 1;
	struct coroi_fill q = {.fn = p->fn, .class = p->class, .arg_bytes = p->arg_bytes,
			     .result_bytes = p->result_bytes};
	size_t stride = p->same ? 0 : p->arg_bytes;

	ahead(p->next);
	for (uint32_t i = 0; i < p->count; i++) {
		struct coroi_rec *r = *(first - i);
		coroi_fill(r, &q, w->id);
		coroi_fill_argument(r, p->args + i * stride, p->arg_bytes);
		coroi_queue_locked(w, r);
	}
	at_bump_by(&w->spawned, p->count);
	coroi_parcel_done(&w->mags, p);
}

static void open_node_locked(struct coroi_worker *w, uint64_t node)
{
	void *p = (void *)(uintptr_t)(node & ~(uint64_t)COROI_NODE_KIND);

	if ((node & COROI_NODE_KIND) == COROI_NODE_BATCH) {
		open_parcel_locked(w, p);
	} else {
		at_bump(&w->spawned);
		coroi_queue_locked(w, p);
	}
}

/* unpack - take all out of the inbox: mails are delivered, spawns wait to be opened. */
static void unpack_locked(struct coroi_worker *w)
{
	uint64_t node = coroi_inbox_take(w);

	for (w->drained = 0; node; w->drained++) {
		uint64_t next = *coroi_node_link(node);
		if ((node & COROI_NODE_KIND) == COROI_NODE_MAIL) {
			coroi_mail_locked(w, (struct coroi_rec *)(uintptr_t)(node & ~(uint64_t)COROI_NODE_KIND));
		} else {
			*coroi_node_link(node) = 0;
			if (w->unopened)
				*coroi_node_link(w->unopened_last) = node;
			else
				at_store_rlx(&w->unopened, node);
			w->unopened_last = node;
		}
		node = next;
	}
}

/* A spawn is opened when the queue gets short, so that it is filled in while in cache and run soon after; and one at
 * every so many turns, so that a queue that never gets short keeps nobody waiting. */
#define OPEN_BELOW 64
#define OPEN_TURNS 63

void coroi_drain_locked(struct coroi_worker *w)
{
	if (at_load_rlx(&w->inbox)) /* relaxed: a hint; the take is an acquire */
		unpack_locked(w);
	bool turn = (w->queue.head & OPEN_TURNS) == 0;
	while (w->unopened && (turn || coroi_deque_length(&w->queue) < OPEN_BELOW)) {
		uint64_t node = w->unopened;
		at_store_rlx(&w->unopened, *coroi_node_link(node));
		open_node_locked(w, node);
		turn = false;
	}
	/* One alone is not left lying: we are about to choose, or a thief is about to take it. */
	if (coroi_deque_length(&w->queue) > 1)
		coroi_idle_queued(w);
}

/* starve - there is no stack for r: it waits for one, at home here. */
COROI_COLD static void starve_locked(struct coroi_worker *w, struct coroi_rec *r)
{
	coroi_list_add(&w->starved, r);
	at_add(&w->sched->starved, 1); /* with P4 of idle.c: it does not rest while somebody starves */
}

static struct coroi_rec *unstarve_locked(struct coroi_worker *w)
{
	struct coroi_rec *r = coroi_list_take(&w->starved);
	if (r)
		at_add(&w->sched->starved, -1);
	return r;
}

/* end_starved - all that starve end unstarted. */
static void end_starved_locked(struct coroi_worker *w, uint8_t why)
{
	for (struct coroi_rec *r; (r = unstarve_locked(w));) {
		r->flags |= why;
		coroi_end_locked(w, r);
	}
}

/* unstarve_with_stack - a starved coroutine and, in r->stack, a stack for it; NULL: none, or none to be had. */
COROI_COLD static struct coroi_rec *unstarve_with_stack_locked(struct coroi_worker *w)
{
	if (w->cancel)
		end_starved_locked(w, COROI_F_CANCELED);
	struct coroi_rec *r = unstarve_locked(w);
	if (r && !(r->stack = coroi_stack_get(&w->stacks, r->class))) {
		starve_locked(w, r);
		r = NULL;
	}
	return r;
}

void coroi_fail_starved_locked(struct coroi_worker *w)
{
	for (uint32_t n = w->starved.count; n; n--) {
		struct coroi_rec *r = unstarve_locked(w);
		struct coroi_stack *stack = coroi_stack_get(&w->stacks, r->class);
		if (stack) { /* there is one after all: to the front, and the next coroi_run starts it */
			coroi_stack_put(&w->stacks, stack);
			coroi_list_add_first(&w->starved, r);
			at_add(&w->sched->starved, 1);
			return;
		}
		starve_locked(w, r);
	}
	end_starved_locked(w, w->cancel ? COROI_F_CANCELED : COROI_F_STARVED);
}

/* begin - r runs on stack from now on. */
static inline void begin_locked(struct coroi_worker *w, struct coroi_rec *r, struct coroi_stack *stack)
{
	r->stack = stack;
	r->state = COROI_ACTIVE;
	at_store_rlx(&r->home, w->id);
	w->current = r;
}

/*
 * settle - r was picked; returns the first, from it on, that can go on: a started one, or a fresh one with a
 * stack of its own, or (with no stack) one of the class `have`, whose stack the caller has. NULL: none. The one that
 * is about to suspend, if its turn comes again, is a started one, although it may have no context yet.
 */
static inline struct coroi_rec *settle_locked(struct coroi_worker *w, struct coroi_rec *r, int have)
{
	for (;; r = coroi_pick_locked(w)) {
		if (!r || r->sp || r->state != COROI_FRESH)
			return r;
		if (coroi_unlikely(w->cancel)) {
			r->flags |= COROI_F_CANCELED;
			coroi_end_locked(w, r);
			continue;
		}
		if (coroi_likely(r->class == have))
			return r;
		r->stack = coroi_stack_get(&w->stacks, r->class);
		if (coroi_likely(r->stack != NULL))
			return r;
		starve_locked(w, r);
	}
}

static void loop_start(intptr_t first);
static void loop_finish(intptr_t me);

/* fresh_context - a new loop on r's stack, to begin with r. */
static void *fresh_context_locked(struct coroi_worker *w, struct coroi_rec *r)
{
	struct coroi_stack *stack = r->stack;
	coroi_unpoison(stack->low, (size_t)(stack->top - stack->low));
	begin_locked(w, r, stack);
	return coroi_context(stack->top, loop_start);
}

/* go - save the present context in *save and go on with next, as settle_locked returns it. */
static int go_locked(struct coroi_worker *w, void **save, struct coroi_rec *next)
{
	w->current = next;
	if (!next)
		return coroi_to(save, w->native_sp, 0, w, NULL);
	if (next->sp)
		return coroi_to(save, next->sp, next->code, w, next->stack);
	void *sp = fresh_context_locked(w, next);
	return coroi_to(save, sp, (intptr_t)next, w, next->stack);
}

COROI_NOINLINE int coroi_suspend_slow(struct coroi_worker *w, struct coroi_rec *me, struct coroi_rec *next)
{
	next = settle_locked(w, next, -1);
	if (next == me) {
		coroi_door_leave(w);
		return me->code;
	}
	return go_locked(w, &me->sp, next);
}

/* abandon - leave this loop for ever; its stack is free. next as settle_locked returns it. */
static __attribute__((noreturn)) void abandon_locked(struct coroi_worker *w, struct coroi_stack *stack,
						     struct coroi_rec *next)
{
	const void *low = w->native_low;
	size_t bytes = w->native_bytes;
	void *sp = w->native_sp;
	intptr_t value = 0;

	if (coroi_unlikely(at_load_rlx(&w->sched->starved)))
		coroi_share_stacks_locked(w);
	coroi_stack_put(&w->stacks, stack); /* nobody takes it before the jump: the door is ours */
	w->current = next;
	if (next) {
		low = next->stack->low;
		bytes = (size_t)(next->stack->top - next->stack->low);
		value = next->sp ? next->code : (intptr_t)next;
		sp = next->sp ? next->sp : fresh_context_locked(w, next);
	}
	coroi_fiber_leave(NULL, low, bytes);
	coroi_jump(sp, value, &w->busy);
}

/* The argument is copied out, because the result takes its place. */
static COROI_NOINLINE void call_with_result(struct coroi_rec *r)
{
	unsigned char *payload = coroi_cold(r)->payload;
	unsigned char arg[CORO_INLINE_BYTES] __attribute__((aligned(16)));

	memcpy(arg, payload, sizeof arg);
	memset(payload, 0, sizeof arg);
	r->fn(r->arg_bytes ? arg : NULL, payload);
}

static inline void call(struct coroi_rec *r)
{
	if (coroi_unlikely(r->result_bytes))
		call_with_result(r);
	else
		r->fn(r->arg_bytes ? coroi_cold(r)->payload : NULL, NULL);
}

/* unstack - give back what coro_call_on_stack stacked up, when coro_exit left from within. */
COROI_COLD static void unstack(struct coroi_rec *r)
{
	struct coroi_worker *w = coroi_self();

	coroi_door_enter(w);
	for (struct coroi_stack *s; (s = r->stack)->below;) {
		r->stack = s->below;
		s->below = NULL;
		coroi_stack_put(&w->stacks, s);
	}
	coroi_door_leave(w);
}

static __attribute__((noreturn)) void loop(struct coroi_rec *me, bool finish)
{
	struct coroi_stack *stack = me->stack;

	for (;;) {
		if (coroi_likely(!finish))
			call(me);
		finish = false;
		if (coroi_unlikely(me->flags & COROI_F_EXTRAS))
			coroi_extras_run(coroi_cold(me)->extras);

		struct coroi_worker *w = coroi_self(); /* perhaps another than at the start */
		coroi_door_enter(w);
		coroi_end_locked(w, me);
		struct coroi_rec *next = NULL;
		if (coroi_unlikely(w->starved.count && w->starved.first->class == stack->class && !w->cancel))
			next = unstarve_locked(w);
		if (coroi_likely(!next))
			next = settle_locked(w, coroi_pick_locked(w), stack->class);
		if (coroi_unlikely(!next || next->sp || next->stack))
			abandon_locked(w, stack, next);
		begin_locked(w, next, stack);
		coroi_door_leave(w);
		me = next;
	}
}

static void loop_start(intptr_t first)
{
	coroi_fiber_arrive(NULL, NULL, NULL);
	loop((struct coroi_rec *)first, false);
}

static void loop_finish(intptr_t me)
{
	unstack((struct coroi_rec *)me);
	loop((struct coroi_rec *)me, true);
}

void coroi_exit(struct coroi_worker *w)
{
	struct coroi_rec *me = w->current;
	struct coroi_stack *s = me->stack;

	while (s->below)
		s = s->below;
#ifdef COROI_ASAN
	if (s != me->stack) { /* the sanitizer wants to know of the change of stacks */
		coroi_fiber_leave(NULL, s->low, (size_t)(s->top - s->low));
		coroi_fiber_arrive(NULL, NULL, NULL);
	}
#endif
	coroi_unpoison(s->low, (size_t)(s->top - s->low));
	coroi_restart(coroi_context(s->top, loop_finish), (intptr_t)me);
}

void coroi_run(struct coroi_worker *w)
{
	for (;;) {
		coroi_door_enter(w);
		struct coroi_rec *next = NULL;
		if (coroi_unlikely(w->starved.count))
			next = unstarve_with_stack_locked(w);
		if (!next)
			next = settle_locked(w, coroi_pick_locked(w), -1);
		if (!next) {
			coroi_door_leave(w);
			return;
		}
		go_locked(w, &w->native_sp, next);
	}
}
