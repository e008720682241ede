//go:build ignore
/* fork.c - see fork.h, which names the steps. */
#include "kernel/fork.h"

#include "kernel/budget.h"
#include "kernel/deque.h"
#include "kernel/inlined.h"
#include "kernel/inner.h"
#include "kernel/nowait.h"
#include "kernel/run.h"
#include "kernel/wait.h"
#include "base/text.h"

#include <string.h>

#define MASK (COROI_FORKS_MOST - 1)

#ifdef COROI_TSAN
#define coroi_fork_call   coroi_fiber_call
#define coroi_fork_return coroi_fiber_return
#endif

/* coro_fork.word */
#define PRIVATE UINT64_C(1)
#define DONE    UINT64_C(2) /* the status is in bits 8 to 15 */
#define SETTLED UINT64_C(4) /* with DONE: its parent has called coro_exit or the like */

/* coro_fork.child: no handle is 1. */
#define CANCEL UINT64_C(1)

/* done_with - the word of a fork that has ended with that status. status_of - the status in it. */
static inline uint64_t done_with(int status)
{
	return DONE | (uint64_t)(uint8_t)status << 8;
}

static inline int status_of(uint64_t word)
{
	return (int8_t)(word >> 8);
}

/* has_room - FRK1 may push. Acquire, pairs with FST1: the thief has read the place. */
static inline bool has_room(const struct coroi_forks *q, uint32_t tail)
{
	return tail - at_load_acq(&q->head) < COROI_FORKS_MOST;
}

/* in_section - the current coroutine of w is in one. */
static inline bool in_section(const struct coroi_worker *w)
{
	return w->nowait & COROI_LEVELS;
}

/* is_plain - nothing but forks, or a lender, makes w unusual. By bytes: a load of the word would
 * wait for the store of the byte before it. */
static inline bool is_plain(const struct coroi_worker *w)
{
	return !(w->exchange | at_load_rlx(&w->cancel) | in_section(w));
}

/* has_own - the newest one, which has not begun, is me's. */
static inline bool has_own(const struct coroi_forks *q, const struct coroi_rec *me)
{
	return q->tail != q->head && q->ring[(q->tail - 1) & MASK]->parent == me;
}

/* hold - say whether w has forks. */
static inline void hold(struct coroi_worker *w, bool forks)
{
	at_store_rlx(&w->nowait,
		     (uint8_t)((w->nowait & COROI_LEVELS) | (forks ? COROI_HOLDS_FORKS : 0)));
}

/* ------------------------------------------------------------------------- those that are away
 *
 * A list through the forks, at the stack that their parents are on. Changed in the door of the
 * worker where that stack is at home. */

static void away_add_locked(coro_fork *f)
{
	/* The parent may run, and change stacks: FRK1 has noted its own. */
	struct coroi_stack *s = f->next;
	coro_fork *first = s->away;

	f->before = NULL;
	f->next = first;
	if (first)
		first->before = f;
	s->away = f;
}

static void away_drop_locked(struct coroi_stack *own, coro_fork *f)
{
	coro_fork *before = f->before, *next = f->next;

	if (before)
		before->next = next;
	else
		own->away = next;
	if (next)
		next->before = before;
}

/* ----------------------------------------------------------------------------- a child's end: FST3 */

/* tell - FST3. Returns: the parent, if it waits. */
static struct coroi_rec *tell(coro_fork *f, int status)
{
	/* release: the result, and what the failure is; acquire: the parent waits already */
	return (struct coroi_rec *)(uintptr_t)at_xchg(&f->word, done_with(status));
}

void coroi_fork_ended(struct coroi_rec *me)
{
	coro_fork *f = coroi_fork_of(me);
	int status = coroi_join_status(me);

	if (!f) /* it has returned, and told so */
		return;
	if (status == CORO_EFAILED) {
		struct coroi_failure why = coroi_failed(me);
		memcpy(&f->arg, &why, sizeof why);
	}
	struct coroi_rec *parent = tell(f, status);
	if (parent)
		coroi_event_send(parent);
}

void coroi_fork_unstarted_locked(struct coroi_worker *w, uint64_t arg, int status)
{
	struct coroi_rec *parent = tell((coro_fork *)(uintptr_t)arg, status);

	if (!parent)
		return;
	if (at_load_acq(&parent->home) == w->id)
		coroi_event_locked(w, parent);
	else
		coroi_event_send_remote(w->sched, parent);
}

/* user_fn - the function by which reports name f. */
static coro_fn user_fn(const coro_fork *f)
{
	const struct coroi_inner *in = coroi_inner_body(f->fn);

	return in ? in->stands_for(f->arg) : f->fn;
}

/* fork_known - me, which is not INLINED, has begun as f. In the door: others report it by f's
 * function, also when f is gone. */
static void fork_known(struct coroi_rec *me, coro_fork *f)
{
	struct coroi_worker *w = coroi_self();

	coro_fn fn = user_fn(f);
	coroi_door_enter(w);
	coroi_fork_set(me, f);
	memcpy(coroi_cold(me)->payload + COROI_FORK_FN_AT, &fn, sizeof fn);
	me->more |= COROI_M_FORK;
	coroi_door_leave(w);
}

void coroi_fork_run(void *arg, void *result)
{
	coro_fork *f;
	struct coroi_rec *me = coroi_self()->current;

	(void)result;
	memcpy(&f, arg, sizeof f);
	fork_known(me, f);
	if (at_xchg(&f->child, coro_self()) == CANCEL) { /* FST2 */
		coroi_flag(me, COROI_F_CANCELED);
	} else {
		f->fn(f->arg, f->result);
		struct coroi_worker *w = coroi_self();
		if (coroi_unlikely(!w)) { /* on a thread that is no worker */
			coroi_on_end_elsewhere();
			w = coroi_self();
		}
		if (coroi_unlikely(in_section(w)))
			coroi_nowait_ended(w, NULL);
		if (coroi_unlikely(me->flags & COROI_F_EXTRAS))
			coroi_end_extras();
		w = coroi_self();
		if (coroi_unlikely(w->nowait))
			coroi_forks_left(w);
	}
	coroi_fork_ended(me);
	coroi_fork_set(me, NULL);
}

static coro_fn fn_of_fork(const void *payload)
{
	const struct coroi_rec *r = coroi_rec_of(payload);
	coro_fork *f;
	coro_fn fn;

	if (r->more & COROI_M_FORK) {
		memcpy(&fn, (const unsigned char *)payload + COROI_FORK_FN_AT, sizeof fn);
		return fn;
	}
	memcpy(&f, payload, sizeof f); /* it has not begun */
	return user_fn(f);
}

/* ------------------------------------------------------------------------------- to other workers */

/* send_off_locked - f gets a credit of w's, and is away from its stack. *runnable: what calls it.
 * False: there is no credit. */
static bool send_off_locked(struct coroi_worker *w, coro_fork *f, uint64_t *runnable)
{
	if (!coroi_mags_spend(&w->mags))
		return false;
	*runnable = coroi_runnable_new(coroi_fork_run, w->sched->class, 1, false);
	at_bump(&w->spawned);
	away_add_locked(f);
	return true;
}

/* give_locked - FST1. */
static uint32_t give_locked(struct coroi_worker *v, struct coroi_steal_entry *out)
{
	struct coroi_forks *q = &v->forks;
	uint32_t head = q->head;

	if (coroi_is_dedicated(v) || head == at_load_acq(&q->tail)) /* FST1; pairs with FRK1 */
		return 0;
	coro_fork *f = q->ring[head & MASK];
	if (!send_off_locked(v, f, &out[0].runnable))
		return 0;
	out[0].arg = (uintptr_t)f;
	at_store_rel(&q->head, head + 1); /* pairs with has_room */
	return 1;
}

uint32_t coroi_give_locked(struct coroi_worker *v, struct coroi_worker *t, uint32_t half)
{
	uint32_t wants = at_load_rlx(&t->steal_buf.wants), n = 0;

	if (wants != COROI_WANTS_FORK)
		n = coroi_deque_give(v, t->id, t->steal_buf.entry, half < wants ? half : wants);
	return n || wants < COROI_WANTS_FORK ? n : give_locked(v, t->steal_buf.entry);
}

/* promote_oldest_locked - FSU2 of one. */
static void promote_oldest_locked(struct coroi_worker *w)
{
	struct coroi_forks *q = &w->forks;
	coro_fork *f = q->ring[q->head & MASK];
	uint64_t runnable;

	if (coroi_unlikely(!coroi_deque_make_room(&w->queue) || !send_off_locked(w, f, &runnable)))
		at_store_rlx(&f->word, PRIVATE); /* its parent is here, and looks later */
	else
		coroi_deque_push_new(&w->queue, runnable, (uintptr_t)f);
	at_store_rlx(&q->head, q->head + 1);
}

COROI_COLD void coroi_forks_promote_locked(struct coroi_worker *w)
{
	while (coroi_has_forks(w))
		promote_oldest_locked(w);
	hold(w, false);
	coroi_notify_queued(w);
}

coro_fork *coroi_forks_keep_locked(struct coroi_worker *w)
{
	struct coroi_forks *q = &w->forks;
	coro_fork *first = NULL;

	if (coroi_likely(!coroi_has_forks(w)))
		return NULL;
	if (++coroi_stack_own(w->current->stack)->kept % COROI_FORK_TURNS == 0)
		promote_oldest_locked(w);
	for (uint32_t i = q->tail; i != q->head; i--) {
		coro_fork *f = q->ring[(i - 1) & MASK];
		f->next = first;
		first = f;
	}
	at_store_rlx(&q->head, q->tail);
	hold(w, false);
	return first;
}

void coroi_forks_return(coro_fork *first)
{
	struct coroi_worker *w = coroi_self();
	struct coroi_forks *q = &w->forks;

	if (!first)
		return;
	struct coroi_stack *own = coroi_stack_own(w->current->stack);
	for (coro_fork *f = first, *next; f; f = next) {
		next = f->next;
		f->next = own; /* before a thief can take f */
		q->ring[q->tail & MASK] = f;
		at_store_rel(&q->tail, q->tail + 1); /* as FRK1 */
	}
	hold(w, true);
	if (at_load_rlx(&w->sched->hungry))
		coroi_notify_hungry(w);
}

/* ---------------------------------------------------------------------------------------- begin */

bool coroi_forks_may_go(const struct coroi_worker *w)
{
	const struct coroi_rec *me = w->current;

	return me && !coroi_is_pinned(me) && !in_section(w); /* a dense one is pinned */
}

/* push - FRK1 and FRK2. */
static inline void push(struct coroi_worker *w, coro_fork *f, uint32_t tail)
{
	w->forks.ring[tail & MASK] = f;
	at_store_rlx(&w->nowait, COROI_HOLDS_FORKS);
	at_store_rel(&w->forks.tail, tail + 1);
}

static COROI_NOINLINE void begin_slow(struct coroi_worker *w, coro_fork *f)
{
	if (!coroi_forks_may_go(w)) {
		at_store_rlx(&f->word, PRIVATE);
		return;
	}
	f->next = coroi_stack_own(w->current->stack);
	if (!has_room(&w->forks, w->forks.tail)) {
		coroi_door_enter(w);
		coroi_forks_promote_locked(w);
		coroi_door_leave(w);
	}
	push(w, f, w->forks.tail);
	if (at_load_rlx(&w->sched->hungry))
		coroi_notify_hungry(w);
}

void coro_fork_begin(coro_fork *f, coro_fn fn, void *arg, void *result)
{
	struct coroi_worker *w = coroi_here();
	struct coroi_rec *me = w->current;
	uint32_t tail = w->forks.tail;

	f->fn = fn;
	f->arg = arg;
	f->result = result;
	f->parent = me;
	f->child = 0;
	at_store_rlx(&f->word, 0);
	f->next = me ? me->stack : NULL;
	if (coroi_unlikely(!me || me->flags & COROI_F_PINNED || in_section(w) || me->stack->below ||
			   !has_room(&w->forks, tail) || at_load_rlx(&w->sched->hungry)))
		begin_slow(w, f);
	else
		push(w, f, tail);
}

/* --------------------------------------------------------------------------------- what is left open */

/* drop_left - the current coroutine of w has returned without having joined the n newest forks. */
static COROI_COLD void drop_left(struct coroi_worker *w, uint32_t n)
{
	struct coroi_forks *q = &w->forks;
	struct coroi_text t = {.n = 0};

	coroi_door_enter(w);
	if (n > q->tail - q->head) /* thieves have taken some */
		n = q->tail - q->head;
	at_store_rlx(&q->tail, q->tail - n);
	hold(w, q->tail != q->head);
	coroi_door_leave(w);
	if (!n)
		return;
	coroi_text_put(&t, "coro: ");
	coroi_text_number(&t, n, 10);
	coroi_text_put(&t, " forks not joined, and dropped, at the return of function ");
	coroi_text_number(&t, (uintptr_t)coroi_user_fn(w->current), 16);
	coroi_text_put(&t, "\n");
	coroi_say(t.at, t.n);
}

COROI_COLD void coroi_forks_left(struct coroi_worker *w)
{
	drop_left(w, w->forks.tail - at_load_rlx(&w->forks.head));
}

/* ----------------------------------------------------------------------------------------- join */

/* begun_locked - FRK3 takes a record for f, which becomes the current coroutine. NULL: no memory. */
static inline struct coroi_rec *begun_locked(struct coroi_worker *w, coro_fork *f)
{
	struct coroi_rec *me = w->current, *r;

	if (coroi_unlikely(!coroi_mags_spend(&w->mags)))
		return NULL;
	if (coroi_unlikely(!(r = coroi_mags_get(&w->mags)))) {
		coroi_mags_earn(&w->mags);
		return NULL;
	}
	struct coroi_fill q = {
		.fn = f->fn, .class = me->class, .flags = me->flags & COROI_F_PINNED};
	coroi_fill(r, &q, w->id);
	r->stack = me->stack;
	at_store_rlx(&r->state, COROI_ACTIVE);
	r->more = COROI_M_FORK | COROI_M_INLINED;
	coroi_fork_set(r, f);
	me->next = (uintptr_t)r;
	me->more |= COROI_M_INLINES;
	at_store_rlx(&me->waits, CORO_WAIT_FORK);
	at_store_rlx(&me->state, COROI_COMMITTED);
	at_bump(&w->spawned);
	w->current = r;
	return r;
}

/* unstack - f's child has left by FEX1 on stacks above `base`: give them back. */
static COROI_COLD void unstack(const struct coroi_stack *base)
{
	struct coroi_worker *w = coroi_self();
	struct coroi_rec *r = w->current;

	for (struct coroi_stack *s = r->stack; s != base; s = s->below)
		coroi_stack_clean(s, false);
	coroi_door_enter(w);
	for (struct coroi_stack *s; (s = r->stack) != base;) {
		r->stack = s->below;
		s->below = NULL;
		coroi_stack_put(&w->stacks, s);
	}
	coroi_door_leave(w);
}

/* left - f's child has left by FEX1, on base or on stacks above it. */
static COROI_NOINLINE COROI_COLD void left(const struct coroi_stack *base)
{
	if (coroi_self()->current->stack == base)
		return;
	coroi_fiber_arrive(NULL, NULL);
	unstack(base);
}

/* call - fn(arg, result) in the child of f. base: the stack that the caller is on. False: the child
 * has left it by FEX1. */
static inline bool call(coro_fork *f, coro_fn fn, void *arg, void *result,
			const struct coroi_stack *base)
{
	if (coroi_likely(!coroi_fork_call(&f->next, fn, arg, result)))
		return true;
	left(base);
	return false;
}

static void call_deep(void *arg)
{
	coro_fork *f = arg;

	call(f, f->fn, f->arg, f->result, coroi_self()->current->stack);
}

/* call_on_segment - little of this stack is left: r calls f on another, which is twice as large, so
 * that a deep tree seldom comes here. Without memory for that, it has not been called. */
static COROI_NOINLINE void call_on_segment(struct coroi_rec *r, coro_fork *f,
					   const struct coroi_stack *base)
{
	unsigned class = base->class + 1u < COROI_STACK_CLASSES ? base->class + 1u : base->class;

	if (!coro_call_on_stack(coroi_stack_class_bytes(class), call_deep, f) ||
	    !coro_call_on_stack(coroi_stack_class_bytes(r->class), call_deep, f))
		return;
	at_bump(&coroi_self()->ends.no_stack);
	coroi_flag(r, COROI_F_NO_STACK);
}

/* is_of - f, in w's deque, is of r, which is INLINED and has returned. Its frames, which are gone,
 * lay below `frames`. */
static inline bool is_of(const coro_fork *f, const struct coroi_rec *r, const char *frames)
{
	return ((const char *)f < frames && (const char *)f >= r->stack->low) || f->parent == r;
}

static inline bool has_left(const struct coroi_worker *w, const struct coroi_rec *r,
			    const char *frames)
{
	const struct coroi_forks *q = &w->forks;

	return q->tail != at_load_rlx(&q->head) && is_of(q->ring[(q->tail - 1) & MASK], r, frames);
}

/* forks_left_below - coroi_forks_left of an INLINED one. */
static COROI_COLD void forks_left_below(struct coroi_worker *w, const char *frames)
{
	struct coroi_forks *q = &w->forks;
	uint32_t i = q->tail;

	while (i != at_load_rlx(&q->head) && is_of(q->ring[(i - 1) & MASK], w->current, frames))
		i--;
	drop_left(w, q->tail - i);
}

static void run_extras(void *arg, void *result)
{
	(void)arg;
	(void)result;
	coroi_end_extras();
}

/* end_extras - r, the child of f, has ended but for its deferred functions; these may leave by
 * FEX1, too. */
static COROI_COLD void end_extras(coro_fork *f, const struct coroi_sections *outer,
				  const struct coroi_stack *base)
{
	while (!call(f, run_extras, NULL, NULL, base))
		;
	struct coroi_worker *w = coroi_self();
	if (outer || in_section(w))
		coroi_nowait_ended(w, outer);
}

/* tell_owners - a child has ended that perhaps had locks: its worker goes on, and does at once what
 * was left to the native stack. */
static COROI_COLD void tell_owners(struct coroi_worker *w)
{
	struct coroi_errand e = w->errand;

	w->errand.run = NULL;
	if (e.run)
		e.run(w, e.arg);
}

/* call_begun - the rest of FRK3, and FRK4. outer: the parent's sections, or NULL. Returns: the
 * child's status. */
static inline int call_begun(coro_fork *f, struct coroi_stack *base,
			     const struct coroi_sections *outer)
{
	const char *here = __builtin_frame_address(0);
	struct coroi_rec *me = f->parent;
	int status = CORO_OK;

	if (coroi_unlikely((size_t)(here - base->low) < coroi_stack_class_bytes(me->class) / 2))
		call_on_segment(coroi_here()->current, f, base);
	else
		call(f, f->fn, f->arg, f->result, base);
	struct coroi_worker *w = coroi_here();
	struct coroi_rec *r = w->current;
	if (coroi_unlikely(!r)) { /* on a thread that is no worker */
		coroi_on_end_elsewhere();
		w = coroi_here();
		r = w->current;
	}
	if (coroi_unlikely(outer || in_section(w)))
		coroi_nowait_ended(w, outer);
	if (coroi_unlikely(r->flags & COROI_F_EXTRAS)) {
		end_extras(f, outer, base);
		w = coroi_here();
	}
	if (coroi_unlikely(has_left(w, r, here)))
		forks_left_below(w, here);
	coroi_door_enter(w);
	if (coroi_unlikely((r->flags & (COROI_F_ABORTED | COROI_F_CANCELED | COROI_F_NO_STACK)) |
			   r->canceled))
		status = coroi_join_status(r);
	struct coroi_failure why = {0};
	if (coroi_unlikely(status == CORO_EFAILED))
		why = coroi_failed(r);
	uint8_t more = r->more;
	me->more &= (uint8_t)~COROI_M_INLINES;
	coroi_end_locked(w, r);
	at_store_rlx(&me->state, COROI_ACTIVE);
	w->current = me;
	coroi_door_leave(w);
	if (coroi_unlikely(more & COROI_M_OWNER))
		tell_owners(w);
	if (coroi_unlikely(status == CORO_EFAILED))
		coroi_keep_failure(me, why);
	return status;
}

/* call_here - the join calls f, which is in no deque. */
static inline int call_here(struct coroi_worker *w, coro_fork *f,
			    const struct coroi_sections *outer)
{
	struct coroi_rec *r;

	if (coroi_unlikely(coroi_refused()))
		return CORO_ECANCELED;
	coroi_door_enter(w);
	r = begun_locked(w, f);
	coroi_door_leave(w);
	return r ? call_begun(f, r->stack, outer) : CORO_ENOMEM;
}

/* cancel_away - FCA2 of all forks of me, the current coroutine, that are away. None of them leaves
 * the list meanwhile: me alone takes them out. */
static COROI_COLD void cancel_away(const struct coroi_rec *me)
{
	struct coroi_worker *w = coroi_self();

	coroi_door_enter(w);
	for (coro_fork *f = coroi_stack_own(me->stack)->away; f; f = f->next) {
		uint64_t child = f->parent == me ? at_xchg(&f->child, CANCEL) : 0;
		if (child <= CANCEL)
			continue;
		coroi_door_leave(w);
		(void)coro_cancel(child);
		coroi_door_enter(w);
	}
	coroi_door_leave(w);
}

/* withdraw - a cancel of me ends its wait for a fork: it is one of all of them. */
static bool withdraw(void *me)
{
	cancel_away(me);
	return false; /* the event comes */
}

/* await - FRK6: f is away. canceled: so are all of me's. why: with what it has failed. */
static int await(coro_fork *f, bool canceled, struct coroi_failure *why)
{
	struct coroi_rec *me = coroi_self()->current;
	uint64_t word = 0;

	coroi_escape(me); /* an event from another worker needs that */
	if (at_cas(&f->word, &word, (uintptr_t)me)) {
		(void)coroi_wait(me, CORO_WAIT_FORK, CORO_FOREVER, canceled ? NULL : withdraw, me);
		word = at_load_acq(&f->word);
	}
	struct coroi_worker *w = coroi_self();
	coroi_door_enter(w);
	away_drop_locked(coroi_stack_own(me->stack), f);
	coroi_door_leave(w);
	int status = status_of(word);
	if (coroi_unlikely(status == CORO_EFAILED))
		memcpy(why, &f->arg, sizeof *why);
	return status;
}

/* taken_locked - FRK5: is f in w's deque? It is taken out. */
static bool taken_locked(struct coroi_worker *w, const coro_fork *f)
{
	struct coroi_forks *q = &w->forks;
	uint32_t i = q->tail;

	while (i != q->head && q->ring[(i - 1) & MASK] != f)
		i--;
	bool found = i != q->head;
	for (; found && i != q->tail; i++)
		q->ring[(i - 1) & MASK] = q->ring[i & MASK];
	if (found)
		at_store_rlx(&q->tail, q->tail - 1);
	hold(w, q->tail != q->head);
	return found;
}

/* call_inside - as call_here, in a section of the caller's: the child is inside it, too. */
static COROI_COLD int call_inside(struct coroi_worker *w, coro_fork *f)
{
	struct coroi_sections open = w->sections;

	return call_here(w, f, &open);
}

static COROI_NOINLINE int join_slow(struct coroi_worker *w, coro_fork *f)
{
	if (coroi_unlikely(f->parent != w->current))
		return CORO_EPERM;
	if (!w->current || coroi_is_dense(w->current)) {
		f->fn(f->arg, f->result);
		return CORO_OK;
	}
	if (at_load_rlx(&f->word) != PRIVATE) {
		coroi_door_enter(w);
		bool here = taken_locked(w, f);
		coroi_door_leave(w);
		uint64_t word = at_load_acq(&f->word);
		if (word & SETTLED)
			return status_of(word);
		if (!here && word != PRIVATE) { /* else it could not be promoted */
			struct coroi_failure why;
			int status = word & DONE ? CORO_OK
						 : coroi_nowait(w, "coro_fork_join", CORO_FOREVER);
			if (status)
				return status;
			status = await(f, false, &why);
			if (coroi_unlikely(status == CORO_EFAILED))
				coroi_keep_failure(coroi_self()->current, why);
			if (coroi_likely(status != CORO_ENOMEM))
				return status;
			/* there was no stack for it: it has not begun, and here is one */
		}
	}
	w = coroi_here();
	return in_section(w) ? call_inside(w, f) : call_here(w, f, NULL);
}

int coro_fork_join(coro_fork *f)
{
	struct coroi_worker *w = coroi_here();
	struct coroi_rec *me = w->current;

	if (coroi_unlikely(!me))
		return join_slow(w, f);
	if (coroi_spend(w)) {
		coroi_spent(CORO_FOREVER);
		w = coroi_here();
	}
	struct coroi_forks *q = &w->forks;
	at_store_rlx(&w->busy, 1); /* DRO1; coroi_door_try would look at FORKS */
	at_fence_signal();
	if (coroi_likely(is_plain(w) && !at_load_acq(&w->req) && !me->canceled)) {
		uint32_t tail = q->tail, head = q->head;
		if (coroi_likely(tail != head && q->ring[(tail - 1) & MASK] == f &&
				 f->parent == me)) {
			at_store_rlx(&q->tail, tail - 1);
			at_store_rlx(&w->nowait, tail - 1 == head ? 0 : COROI_HOLDS_FORKS);
			struct coroi_rec *r = begun_locked(w, f);
			coroi_door_leave(w);
			return coroi_likely(r) ? call_begun(f, r->stack, NULL) : CORO_ENOMEM;
		}
	}
	coroi_door_leave(w);
	return join_slow(w, f);
}

/* --------------------------------------------------------------------------------- unusual ends */

/* drop_locked - drop those of me that have not begun: they are the newest. */
static void drop_locked(struct coroi_worker *w, const struct coroi_rec *me)
{
	struct coroi_forks *q = &w->forks;

	while (has_own(q, me)) {
		at_store_rlx(&q->tail, q->tail - 1);
		at_store_rlx(&q->ring[q->tail & MASK]->word, SETTLED | done_with(CORO_ECANCELED));
	}
	hold(w, q->tail != q->head);
}

/* first_away - one of me's that is away, or NULL. A thief may add one of its parents' meanwhile. */
static coro_fork *first_away(struct coroi_worker *w, const struct coroi_rec *me)
{
	coroi_door_enter(w);
	coro_fork *f = coroi_stack_own(me->stack)->away;
	while (f && f->parent != me)
		f = f->next;
	coroi_door_leave(w);
	return f;
}

void coroi_fork_exit(struct coroi_worker *w)
{
	struct coroi_rec *me = w->current;
	coro_fork *f;

	if (coroi_is_dense(me))
		return;
	coroi_door_enter(w);
	drop_locked(w, me);
	coroi_door_leave(w);
	cancel_away(me);
	while ((f = first_away(coroi_self(), me))) {
		struct coroi_failure why;
		int status = await(f, true, &why);
		if (status == CORO_EFAILED)
			coroi_release(why.text);
		at_store_rlx(&f->word, SETTLED | done_with(status));
	}
	if (!(me->more & COROI_M_INLINED))
		return;
	f = coroi_fork_of(me);
	const struct coroi_stack *s = me->stack;
	while ((char *)f->next < s->low || (char *)f->next >= s->top)
		s = s->below;
	coroi_fiber_below(s->low, f->next);
	if (s != me->stack)
		coroi_fiber_leave(NULL, &s->fiber);
	coroi_fork_return(f->next);
}

/* ------------------------------------------------------------------------------------- coro_for */

struct loop {
	int64_t grain;
	void (*fn)(int64_t from, int64_t to, void *arg);
	void *arg;
	/* Atomic, relaxed: halves that are not joined yet, and how many there may be. Parts that wait
	 * would else make a coroutine of each part. */
	uint32_t halves, most;
};

/* The upper half of what is left of a loop, as a fork. */
struct upper {
	struct loop *loop;
	int64_t from, to;
};

static int run_loop(struct loop *l, int64_t from, int64_t to);

/* fails - a fork of the current coroutine has failed, and so does this one, with the same. */
static COROI_COLD int fails(void)
{
	struct coroi_rec *me = coroi_self()->current;

	coroi_flag(me, COROI_F_ABORTED);
	coroi_fail(me, coroi_kept_failure(me));
	coro_exit();
	__builtin_unreachable();
}

static void run_upper(void *arg, void *result)
{
	struct upper *u = arg;

	int status = run_loop(u->loop, u->from, u->to);
	*(int *)result = coroi_likely(status != CORO_EFAILED) ? status : fails();
}

static coro_fn fn_of_upper(const void *arg)
{
	const struct upper *u = arg;

	return (coro_fn)(uintptr_t)u->loop->fn;
}

__attribute__((constructor)) static void fork_register(void)
{
	static struct coroi_inner in = {.body = coroi_fork_run, .stands_for = fn_of_fork};
	static struct coroi_inner upper = {.body = run_upper, .stands_for = fn_of_upper};

	coroi_inner_register(&in);
	coroi_inner_register(&upper);
}

/* join_after - join f, after a lower part has failed: coro_join_error is to tell of that. */
static COROI_COLD int join_after(coro_fork *f)
{
	struct coroi_failure why = coroi_kept_failure(coroi_self()->current);

	(void)coro_fork_join(f);
	coroi_keep_failure(coroi_self()->current, why);
	return CORO_EFAILED;
}

/* is_taken - w has no fork to be taken, and others could take one: a thief has been here, or w has
 * just begun. */
static bool is_taken(const struct coroi_worker *w, const struct loop *l)
{
	return !coroi_has_forks(w) && coroi_forks_may_go(w) && w->shares &&
	       at_load_rlx(&l->halves) < l->most;
}

static int split(struct loop *l, int64_t from, int64_t to)
{
	int64_t middle = from + (int64_t)(((uint64_t)to - (uint64_t)from) / 2);
	struct upper u = {l, middle, to};
	int upper = CORO_OK;
	coro_fork f;

	at_add(&l->halves, 1);
	coro_fork_begin(&f, run_upper, &u, &upper);
	int lower = run_loop(l, from, middle);
	int joined = coroi_likely(lower != CORO_EFAILED) ? coro_fork_join(&f) : join_after(&f);
	at_add(&l->halves, -1);
	return lower ? lower : joined ? joined : upper;
}

static int run_loop(struct loop *l, int64_t from, int64_t to)
{
	while (from < to) {
		struct coroi_worker *w = coroi_here();
		if (coroi_spend_here(w)) {
			coroi_spent_in_loop();
			w = coroi_here();
		}
		if (w->current &&
		    coroi_unlikely(at_load_rlx(&w->cancel) | at_load_rlx(&w->current->canceled)) &&
		    coroi_refused()) {
			cancel_away(w->current);
			return CORO_ECANCELED;
		}
		uint64_t left = (uint64_t)to - (uint64_t)from;
		if (left > (uint64_t)l->grain && is_taken(w, l))
			return split(l, from, to);
		int64_t next = left > (uint64_t)l->grain ? from + l->grain : to;
		l->fn(from, next, l->arg);
		from = next;
	}
	return CORO_OK;
}

int coro_for(int64_t begin, int64_t end, int64_t grain,
	     void (*fn)(int64_t from, int64_t to, void *arg), void *arg)
{
	const struct coroi_worker *w = coroi_here();
	struct loop l = {.grain = grain < 1 ? 1 : grain, .fn = fn, .arg = arg};

	if (w->current)
		l.most = COROI_HALVES * coroi_general(w->sched);
	return fn ? run_loop(&l, begin, end) : CORO_EINVAL;
}
