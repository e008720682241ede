//go:build ignore
/* dense.c - see dense.h. */
#include "kernel/dense.h"

#include "base/frames.h"
#include "kernel/run.h"
#include "kernel/wait.h"

#define COPIER_BYTES CORO_STACK_DEFAULT

/* ----------------------------------------------------------------- what others must not touch */

#ifdef COROI_ASAN
void coroi_dense_show(struct coroi_worker *w)
{
	for (uint32_t i = 0; w->dense && w->current && i < w->dense->count; i++)
		if (w->dense->shared[i].occupant == w->current)
			coroi_frames_show(w->dense->shared[i].stack);
}

/* On the native stack, and in a manual coroutine (perhaps resumed by a dense one, which waits for
 * it), nothing changes: there is no current coroutine. */
void coroi_dense_hide(void)
{
	struct coroi_worker *w = coroi_self();

	for (uint32_t i = 0; w && w->dense && w->current && i < w->dense->count; i++) {
		const struct coroi_shared_stack *s = &w->dense->shared[i];
		if (s->occupant && s->occupant != w->current)
			coroi_frames_hide(s->stack, s->base);
	}
}
#endif

/* ---------------------------------------------------------------------- out of a shared stack */

static inline char *bottom(const struct coroi_shared_stack *s, const struct coroi_rec *r)
{
	return coroi_frames_bottom(s->stack, r->stack, r->sp);
}

static inline void drop_kept(struct coroi_dense *d, struct coroi_shared_stack *s)
{
	if (s->kept)
		coroi_heap_put(&d->heap, s->kept);
	s->kept = NULL;
}

static inline size_t saved_bytes(size_t frames, bool is_deep)
{
	return sizeof(struct coroi_saved) + frames + (is_deep ? sizeof(struct coroi_deep) : 0);
}

/* block_for - a block of at least `bytes` for the occupant of s: the block that it has kept, unless
 * that is too small or much too large. NULL: no memory. */
static inline struct coroi_saved *block_for(struct coroi_dense *d, struct coroi_shared_stack *s,
					    size_t bytes)
{
	struct coroi_saved *kept = s->kept;

	if (coroi_likely(kept != NULL)) {
		size_t room = coroi_heap_room(kept);
		if (coroi_likely(room >= bytes &&
				 room < bytes + bytes / COROI_SLACK_PART + COROI_SLACK_BYTES)) {
			s->kept = NULL;
			return kept;
		}
	}
	struct coroi_saved *fresh = coroi_heap_get(&d->heap, bytes);
	if (coroi_likely(fresh && kept)) {
		s->kept = NULL;
		coroi_heap_put(&d->heap, kept);
	} else if (!fresh && kept && coroi_heap_room(kept) >= bytes) {
		s->kept = NULL;
		return kept;
	}
	return fresh;
}

/* save - copy the occupant's frames, from `from` to the base, to the block `to`, which has room for
 * them. */
static inline void save(struct coroi_dense *d, struct coroi_shared_stack *s, struct coroi_saved *to,
			char *from)
{
	struct coroi_rec *r = s->occupant;
	size_t bytes = (size_t)(s->base - from);

	to->bytes = (uint32_t)bytes;
	to->shared = s->stack->shared;
	to->is_deep = r->stack != s->stack;
	coroi_frames_copy(to->frames, from, bytes);
	if (coroi_unlikely(to->is_deep)) {
		struct coroi_deep deep = {r->sp, r->stack};
		coroi_frames_copy(to->frames + bytes, &deep, sizeof deep);
	}
	to->fiber = d->copier->fiber;
	to->own = s->stack->fiber;
	coroi_fiber_give(&s->stack->fiber);
	r->stack = (struct coroi_stack *)to; /* see struct coroi_saved */
	r->sp = d->copier_sp;
	s->occupant = NULL;
	s->saved++;
	at_bump(&d->evictions);
	at_bump_by(&d->bytes_copied, bytes);
}

/* evict - copy the occupant of s out. False: no memory. */
static inline bool evict(struct coroi_dense *d, struct coroi_shared_stack *s)
{
	char *from = bottom(s, s->occupant);
	struct coroi_saved *to = block_for(
		d, s, saved_bytes((size_t)(s->base - from), s->occupant->stack != s->stack));

	if (coroi_unlikely(!to))
		return false;
	save(d, s, to, from);
	return true;
}

static inline bool is_spare(const struct coroi_dense *d, const struct coroi_saved *p)
{
	return p == d->spare[0] || p == d->spare[1];
}

/* evict_to_spare - DNS4: copy the occupant of s out to a spare block, as `in` wants its place.
 * False: another coroutine than `in` lies in a spare block. */
COROI_COLD static bool evict_to_spare(struct coroi_dense *d, struct coroi_shared_stack *s,
				      struct coroi_rec *in)
{
	if (d->in_spare && d->in_spare != in)
		return false;
	struct coroi_rec *out = s->occupant;
	save(d, s, d->spare[(struct coroi_saved *)in->stack == d->spare[0]], bottom(s, out));
	d->in_spare = out;
	return true;
}

/* ------------------------------------------------------------------------ into a shared stack */

/* restore - copy r's frames back to the shared stack s, which has no occupant. */
static inline void restore(struct coroi_dense *d, struct coroi_shared_stack *s, struct coroi_rec *r)
{
	struct coroi_saved *from = (struct coroi_saved *)r->stack;
	size_t bytes = from->bytes;
	char *to = s->base - bytes;

	coroi_fiber_take(&s->stack->fiber, &from->own, s->stack->low, s->base);
	coroi_frames_copy(to, from->frames, bytes);
	r->sp = to;
	r->stack = s->stack;
	if (coroi_unlikely(from->is_deep)) {
		struct coroi_deep deep;
		coroi_frames_copy(&deep, from->frames + bytes, sizeof deep);
		r->sp = deep.sp;
		r->stack = deep.stack;
	}
	s->occupant = r;
	s->saved--;
	at_bump(&d->restores);
	at_bump_by(&d->bytes_copied, bytes);
	if (coroi_unlikely(is_spare(d, from))) {
		if (d->in_spare == r)
			d->in_spare = NULL;
		return;
	}
	drop_kept(d, s); /* of a coroutine that has ended */
	s->kept = from;
}

/* exchange - `in` goes to its place in s, and the occupant of s to the block that becomes free.
 * False: their frames differ in size, or this is no such simple case. Nothing was changed then. */
static inline bool exchange(struct coroi_dense *d, struct coroi_shared_stack *s,
			    struct coroi_rec *in)
{
	struct coroi_saved *block = (struct coroi_saved *)in->stack;
	struct coroi_rec *out = s->occupant;
	size_t bytes = block->bytes;
	char *at = s->base - bytes;

	if (coroi_unlikely(!out || out->stack != s->stack || out->sp != at || block->is_deep ||
			   in == d->in_spare))
		return false;
	struct coroi_fiber own = s->stack->fiber;
	coroi_fiber_give(&s->stack->fiber);
	coroi_fiber_take(&s->stack->fiber, &block->own, s->stack->low, at);
	block->own = own;
	out->stack = (struct coroi_stack *)block; /* see struct coroi_saved */
	out->sp = d->copier_sp;
	in->stack = s->stack;
	in->sp = at;
	s->occupant = in;
	at_bump(&d->exchanges);
	at_bump_by(&d->bytes_copied, 2 * bytes);
	/* Last: then all live values fit into the registers that need not be saved. */
	coroi_frames_swap(at, block->frames, bytes);
	return true;
}

/* postpone - DNS4: r cannot have its place now. The wait of the coroutine in the spare block ends
 * with CORO_ENOMEM, and r is queued again. code: what r's wait is to return. */
COROI_COLD static void postpone_locked(struct coroi_worker *w, struct coroi_rec *r, int code)
{
	coroi_end_wait_locked(w, w->dense->in_spare, CORO_ENOMEM);
	w->current = NULL;
	if (code)
		coroi_resume_locked(w, r, (int8_t)code);
	else
		coroi_queue_locked(w, r);
}

/* Functions that never return are not instrumented by sanitizers. */
#define NO_RETURN COROI_RAW __attribute__((noreturn))

/* go_on - switch from the copier to the context sp. The switch opens the door. */
static inline NO_RETURN void go_on(struct coroi_worker *w, void *sp, struct coroi_fiber *fiber,
				   intptr_t code)
{
	(void)fiber;
	coroi_tell_open(&w->busy);
	coroi_dense_show(w);
	coroi_fiber_leave(NULL, fiber);
	coroi_jump(sp, code, &w->busy);
}

/* shared_stack_of - the shared stack of a coroutine that was copied out. */
static inline struct coroi_shared_stack *shared_stack_of(struct coroi_dense *d,
							 const struct coroi_rec *away)
{
	return &d->shared[((const struct coroi_saved *)away->stack)->shared];
}

/* copy_slow - what the copier does if the two cannot be exchanged. */
static COROI_NOINLINE NO_RETURN void copy_slow(struct coroi_worker *w, intptr_t code)
{
	struct coroi_dense *d = w->dense;
	struct coroi_rec *r = w->current;
	struct coroi_shared_stack *s = shared_stack_of(d, r);

	if (coroi_likely(!s->occupant || evict(d, s) || evict_to_spare(d, s, r))) {
		restore(d, s, r);
		go_on(w, r->sp, &r->stack->fiber, code);
	}
	postpone_locked(w, r, (int)code);
	go_on(w, w->native_sp, &w->native, CORO_OK);
}

/* copier_main - DNS2. code: what the current coroutine's wait returns. Each switch to the copier
 * begins here. */
static NO_RETURN void copier_main(intptr_t code)
{
	struct coroi_worker *w = coroi_self();

	coroi_fiber_arrive(NULL, NULL);
	coroi_fiber_again(w->dense->copier_sp,
			  (size_t)(w->dense->copier->top - (char *)w->dense->copier_sp));
	coroi_door_enter(w);
	struct coroi_rec *r = w->current;
	if (coroi_unlikely(!exchange(w->dense, shared_stack_of(w->dense, r), r)))
		copy_slow(w, code);
	go_on(w, r->sp, &r->stack->fiber, code);
}

/* -------------------------------------------------------------------------------- open, close */

static size_t spare_bytes(unsigned class)
{
	/* more than the bytes between low and top */
	return saved_bytes(coroi_stack_class_bytes(class) + 2 * COROI_GUARD_BYTES, true);
}

COROI_COLD static struct coroi_dense *open_locked(struct coroi_worker *w)
{
	struct coro_scheduler *s = w->sched;
	struct coroi_dense *d = coroi_alloc(sizeof *d + s->shared_stacks * sizeof d->shared[0],
					    COROI_LINE);

	if (!d)
		return NULL;
	d->count = s->shared_stacks;
	d->class = s->dense_class;
	d->private_bytes = coroi_stack_class_bytes(d->class) / COROI_PRIVATE_PART;
	d->copier = coroi_stack_get(&w->stacks, (unsigned)coroi_stack_class(COPIER_BYTES));
	for (unsigned i = 0; i < 2; i++)
		/* its pages are touched only when the block is needed */
		d->spare[i] = coroi_heap_get(&d->heap, spare_bytes(d->class));
	if (!d->copier || !d->spare[0] || !d->spare[1]) {
		if (d->copier)
			coroi_stack_put(&w->stacks, d->copier);
		coroi_heap_destroy(&d->heap);
		coroi_release(d);
		return NULL;
	}
	coroi_stack_fresh(d->copier);
	d->copier_sp = coroi_context_again(d->copier->top, copier_main);
	at_store_rel(&w->dense, d); /* complete: pairs with dense_stats in inspect.c */
	return d;
}

void coroi_dense_close(struct coroi_worker *w)
{
	if (!w->dense)
		return;
	coroi_heap_destroy(&w->dense->heap);
	coroi_release(w->dense);
	w->dense = NULL;
}

void coroi_dense_trim_locked(struct coroi_worker *w, bool alive)
{
	struct coroi_dense *d = w->dense;

	if (!d || (alive && d->privates))
		return;
	for (uint32_t i = 0; i < d->count; i++)
		/* w may be using the heap for that coroutine, in no door */
		if (d->shared[i].occupant || d->shared[i].saved)
			return;
	for (uint32_t i = 0; i < d->count; i++) {
		struct coroi_stack *stack = d->shared[i].stack;
		if (stack) {
			stack->serves = stack->class;
			coroi_stack_put(&w->stacks, stack);
		}
	}
	coroi_stack_put(&w->stacks, d->copier);
	coroi_dense_close(w);
}

/* --------------------------------------------------------------------------- fresh coroutines */

/* equip - give s a stack. False: no memory. */
static bool equip(struct coroi_worker *w, struct coroi_shared_stack *s)
{
	struct coroi_stack *stack = coroi_stack_get(&w->stacks, w->dense->class);

	if (!stack)
		return false;
	stack->serves = COROI_DENSE;
	stack->shared = (uint16_t)(s - w->dense->shared);
	s->stack = stack;
	return true;
}

/* make_private - DNS3: the occupant of s keeps the stack, and s gets another. If there is no
 * memory, nothing changes. */
static void make_private(struct coroi_worker *w, struct coroi_shared_stack *s)
{
	struct coroi_stack *stack = s->stack;

	if (!equip(w, s))
		return;
	stack->serves = stack->class;
	coroi_frames_show(stack);
	s->occupant = NULL;
	at_bump(&w->dense->privates);
}

/* vacate - make room in s for a fresh coroutine. False: no memory. */
static bool vacate(struct coroi_worker *w, struct coroi_shared_stack *s)
{
	struct coroi_dense *d = w->dense;

	if (!s->stack)
		return equip(w, s);
	if (s->occupant && !s->saved &&
	    (size_t)(s->base - bottom(s, s->occupant)) > d->private_bytes)
		make_private(w, s);
	return !s->occupant || evict(d, s);
}

struct coroi_stack *coroi_dense_stack_locked(struct coroi_worker *w)
{
	struct coroi_dense *d = w->dense;

	if (coroi_unlikely(!d) && !(d = open_locked(w)))
		return NULL;
	for (uint32_t n = d->count; n; n--) {
		struct coroi_shared_stack *s = &d->shared[d->next];
		d->next = d->next + 1 == d->count ? 0 : d->next + 1;
		/* the current coroutine, which calls this, is on that stack */
		if (coroi_unlikely(s->occupant && s->occupant == w->current))
			continue;
		if (coroi_likely(vacate(w, s)))
			return s->stack;
	}
	return NULL;
}

void coroi_dense_begin_locked(struct coroi_worker *w, struct coroi_rec *r,
			      struct coroi_stack *stack)
{
	r->flags |= COROI_F_PINNED;
	w->dense->shared[stack->shared].occupant = r;
}

COROI_NOINLINE void coroi_dense_base(struct coroi_stack *stack)
{
	coroi_self()->dense->shared[stack->shared].base = __builtin_dwarf_cfa();
}

void coroi_dense_leave_locked(struct coroi_worker *w, struct coroi_stack *stack)
{
	struct coroi_shared_stack *s = &w->dense->shared[stack->shared];

	coroi_frames_show(stack);
	s->occupant = NULL;
	drop_kept(w->dense, s);
}

/* -------------------------------------------------------------------------------------- aside */

void *coroi_aside_get(size_t bytes)
{
	return coroi_heap_get(&coroi_self()->dense->heap, bytes);
}

void coroi_aside_put(void *p)
{
	coroi_heap_put(&coroi_self()->dense->heap, p);
}
