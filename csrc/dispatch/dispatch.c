//go:build ignore
/* dispatch.c - see dispatch.h. */
#include "dispatch/dispatch.h"

#include "base/current.h"
#include "base/extras.h"
#include "base/frames.h"
#include "base/fault.h"

#define TLS __attribute__((tls_model("initial-exec")))

_Static_assert(sizeof(struct coroi_dispatched) <= sizeof(coro_dispatched),
	       "words of a coro_dispatched");

static __thread coro_dispatcher *here TLS;

COROI_NOINLINE coro_dispatcher *coroi_dispatcher(void)
{
	return here;
}

/* current - inline: to be used before a switch, never after one. */
static inline struct coroi_dispatched *current(void)
{
	coro_dispatcher *d = here;
	return d && !coroi_manual() ? d->current : NULL;
}

static COROI_NOINLINE struct coroi_dispatched *current_here(void)
{
	return current();
}

static struct coroi_dispatched *of(coro_dispatched *c)
{
	return (struct coroi_dispatched *)c;
}

/* ask - the coroutine that the policy names, if it can run. NULL: the run is to end, with
 * d->status. */
static inline struct coroi_dispatched *ask(coro_dispatcher *d)
{
	struct coroi_dispatched *c = of(d->policy.next(d, d->policy.user));

	d->status = CORO_OK;
	if (coroi_likely(c && c->dispatcher == d &&
			 (c->state == COROI_DISPATCH_BLOCKED || c->state == COROI_DISPATCH_FRESH)))
		return c;
	if (c)
		/* a coroutine that was never initialized has no dispatcher */
		d->status = c->dispatcher != d                 ? CORO_EINVAL
			    : c->state == COROI_DISPATCH_ENDED ? CORO_ENDED
							       : CORO_EBUSY;
	return NULL;
}

/* ---------------------------------------------------------------------------- the shared stack */

static inline void begin(coro_dispatcher *d, struct coroi_dispatched *c)
{
	c->state = COROI_DISPATCH_RUNS;
	c->ending = CORO_FINISHED;
	c->stack = d->shared;
	d->current = c;
	d->started++;
}

/* release - give the buffer of c back, which does not run. */
static void release(coro_dispatcher *d, struct coroi_dispatched *c)
{
	coro_dispatched *user = (coro_dispatched *)c;
	struct coroi_frames *buffer = c->buffer;
	uint32_t room = c->room;

	c->buffer = NULL;
	c->room = 0;
	if (buffer)
		d->policy.free(d->policy.user, user, buffer, room);
}

/* end_extras - run what c has deferred, and free its arena. */
static void end_extras(struct coroi_dispatched *c)
{
	coroi_extras_run(c->extras);
	coroi_extras_free(c->extras);
	c->extras = NULL;
}

/* run_extras - what the current coroutine has deferred may block, so it needs a frame of its
 * own. */
COROI_COLD static void run_extras(coro_dispatcher *d)
{
	d->current->extras->over = true;
	end_extras(d->current);
}

/* end - the current coroutine is at its end. */
static inline void end(coro_dispatcher *d)
{
	if (coroi_unlikely(d->current->extras != NULL))
		run_extras(d);
	struct coroi_dispatched *c = d->current; /* not before: see loop() */
	d->current = NULL;
	d->started--;
	if (coroi_unlikely(c->buffer != NULL))
		release(d, c);
	c->state = COROI_DISPATCH_ENDED; /* its memory is the user's again */
}

static COROI_NOINLINE void set_base(coro_dispatcher *d)
{
	d->base = __builtin_dwarf_cfa();
}

static COROI_NOINLINE __attribute__((noreturn)) void leave(coro_dispatcher *d)
{
	void *gone;

	coroi_fiber_leave(NULL, &d->caller);
	coroi_swap(&gone, d->caller_sp, CORO_OK);
	__builtin_unreachable();
}

/* loop - DSP1. finish: the current coroutine has left its frames. After the call of a coroutine the
 * loop uses nothing of its own frame but d. */
static COROI_NOINLINE __attribute__((noreturn)) void loop(coro_dispatcher *d, bool finish)
{
	struct coroi_dispatched *c;

	set_base(d);
	for (;;) {
		if (coroi_likely(!finish)) {
			c = d->current;
			c->fn(c->arg);
		}
		finish = false;
		end(d);
		c = ask(d);
		if (coroi_unlikely(!c || c->state != COROI_DISPATCH_FRESH))
			break;
		begin(d, c);
	}
	d->chosen = c;
	leave(d);
}

/* A bit of a dispatcher's address: the current coroutine has left its frames, and the stack that it
 * ended on may be another's from now on. */
#define FINISH 1

/* loop_start - at the top of the shared stack. All loops begin here, so all have the same frame. */
static void loop_start(intptr_t value)
{
	coro_dispatcher *d = (coro_dispatcher *)(value & ~(intptr_t)FINISH);

	if (value & FINISH) {
		coroi_fiber_arrive(NULL, NULL);
		coroi_manual_unstack(&d->current->stack);
		coroi_stack_clean(d->shared, true);
	} else {
		coroi_fiber_arrive(NULL, &d->caller);
	}
	loop(d, value & FINISH);
}

/* ------------------------------------------------------------------------------- as a layer */

static struct coroi_stack **layer_stack(void)
{
	struct coroi_dispatched *c = current_here();
	return c ? &c->stack : NULL;
}

static struct coroi_extras **layer_extras(void)
{
	struct coroi_extras **e = &current_here()->extras;
	return coroi_extras_make(e) ? e : NULL;
}

static void layer_end(int status)
{
	struct coroi_dispatched *c = current_here();
	coro_dispatcher *d = c->dispatcher;

	if (!coroi_extras_over(c->extras))
		c->ending = (uint8_t)status;
	coroi_stack_restart(d->shared, d->shared->top, loop_start, (intptr_t)d | FINISH);
}

/* The policy is asked on the shared stack, too. */
static bool layer_where(struct coroi_where *at)
{
	coro_dispatcher *d = coroi_dispatcher();

	if (!d)
		return false;
	at->stack = d->current ? d->current->stack : d->shared;
	at->fn = d->current ? (uintptr_t)d->current->fn : (uintptr_t)d->policy.next;
	return true;
}

static const struct coroi_layer layer = {
	.stack = layer_stack,
	.extras = layer_extras,
	.end = layer_end,
	.take = coroi_manual_take,
	.give = coroi_manual_give,
	.where = layer_where,
};

__attribute__((constructor)) static void layer_register(void)
{
	coroi_layer[COROI_LAYER_DISPATCHED] = &layer;
}

/* ---------------------------------------------------------------------------------- out of it,
 * into it */

static inline char *bottom(const coro_dispatcher *d, const struct coroi_dispatched *c)
{
	return coroi_frames_bottom(d->shared, c->stack, c->sp);
}

/* reserve - DSP2: see to it that c, which has just blocked, has a buffer with room for its frames,
 * at most half of it empty. */
static inline int reserve(coro_dispatcher *d, struct coroi_dispatched *c)
{
	size_t bytes = sizeof *c->buffer + (size_t)(d->base - bottom(d, c));

	/* without a buffer, room is 0 */
	if (coroi_likely(c->room >= bytes && c->room - bytes <= bytes))
		return CORO_OK;
	void *buffer = d->policy.alloc(d->policy.user, (coro_dispatched *)c, bytes);
	if (coroi_unlikely((uintptr_t)buffer % 8)) {
		d->policy.free(d->policy.user, (coro_dispatched *)c, buffer, bytes);
		return CORO_EINVAL;
	}
	if (!buffer)
		return c->room >= bytes ? CORO_OK : CORO_ENOMEM;
	release(d, c);
	c->buffer = buffer;
	c->room = (uint32_t)bytes;
	return CORO_OK;
}

static inline void evict(coro_dispatcher *d)
{
	struct coroi_dispatched *c = d->occupant;
	char *from = bottom(d, c);

	coroi_frames_copy(c->buffer->at, from, (size_t)(d->base - from));
	c->buffer->own = d->shared->fiber;
	coroi_fiber_give(&d->shared->fiber);
	d->occupant = NULL;
}

static inline void restore(coro_dispatcher *d, struct coroi_dispatched *c)
{
	char *to = bottom(d, c);

	coroi_fiber_take(&d->shared->fiber, &c->buffer->own, d->shared->low, d->base);
	coroi_frames_copy(to, c->buffer->at, (size_t)(d->base - to));
}

/* ---------------------------------------------------------------------------------- the caller */

/* enter - DSP3: continue in c. Returns when a coroutine blocks, which is current then, or a loop is
 * left. gives_back: one that runs has no buffer. */
static inline void enter(coro_dispatcher *d, struct coroi_dispatched *c, bool gives_back)
{
	struct coroi_stack *to = c->stack;
	intptr_t value = c->code;
	void *sp = c->sp, *fake = NULL;

	if (c != d->occupant) {
		if (d->occupant)
			evict(d);
		if (c->state == COROI_DISPATCH_FRESH) {
			coroi_stack_fresh(d->shared);
			sp = coroi_context(d->shared->top, loop_start);
			value = (intptr_t)d;
			to = d->shared;
			begin(d, c);
		} else {
			restore(d, c);
		}
	}
	d->occupant = NULL;
	c->state = COROI_DISPATCH_RUNS;
	c->code = CORO_OK;
	if (gives_back)
		release(d, c);
	d->current = c;
	coroi_frames_show(d->shared);
	coroi_fiber_leave(&fake, &to->fiber);
	coroi_swap(&d->caller_sp, sp, value);
	coroi_fiber_arrive(fake, NULL);
	coroi_frames_hide(d->shared, d->base);
}

/* serve - run coroutines until the policy names none. Inline: gives_back is a constant. */
static inline __attribute__((always_inline)) void serve(coro_dispatcher *d, bool gives_back)
{
	struct coroi_dispatched *c = ask(d);

	while (c) {
		enter(d, c, gives_back);
		c = d->current;
		if (!c) { /* DSP4 */
			c = d->chosen;
			continue;
		}
		d->current = NULL;
		d->occupant = c;
		int status = reserve(d, c);
		if (coroi_likely(status == CORO_OK)) {
			c->state = COROI_DISPATCH_BLOCKED;
			c = ask(d);
		} else {
			c->code = (int8_t)(d->refused ? d->refused(d->policy.user, c, status)
						      : status);
		}
	}
	if (d->occupant)
		evict(d);
}

static COROI_NOINLINE void serve_keeping(coro_dispatcher *d)
{
	serve(d, false);
}

static COROI_NOINLINE void serve_giving_back(coro_dispatcher *d)
{
	serve(d, true);
}

int coro_dispatch_run(coro_dispatcher *d)
{
	uint32_t nobody = 0;

	if (!d)
		return CORO_EINVAL;
	if (coroi_dispatcher())
		return CORO_EPERM;
	if (!at_cas(&d->owner, &nobody, 1))
		return CORO_EBUSY;
	coroi_manual_hide(&d->outer);
	here = d;
	coroi_fiber_here(&d->caller);
	(d->policy.flags & CORO_DISPATCH_GIVE_BACK ? serve_giving_back : serve_keeping)(d);
	here = NULL;
	coroi_manual_show(&d->outer);
	int status = d->status;
	at_store_rel(&d->owner, 0);
	return status;
}

/* -------------------------------------------------------------------------------- public calls */

int coro_dispatch_block(void)
{
	struct coroi_dispatched *c = current();

	return coroi_likely(c != NULL) ? coroi_dispatch_suspend(c) : CORO_EPERM;
}

coro_dispatched *coro_dispatch_self(void)
{
	return (coro_dispatched *)current();
}

int coro_dispatch_new(coro_dispatcher **out, const coro_dispatch_policy *policy)
{
	if (!out || !policy || (policy->size && policy->size != sizeof *policy) ||
	    policy->flags & ~CORO_DISPATCH_GIVE_BACK || !policy->next || !policy->alloc ||
	    !policy->free)
		return CORO_EINVAL;
	int class = coroi_stack_class(policy->stack_bytes ? policy->stack_bytes
							  : CORO_DISPATCH_STACK_DEFAULT);
	if (class < 0)
		return CORO_EINVAL;
	coro_dispatcher *d = coroi_alloc(sizeof *d, COROI_LINE);
	if (!d)
		return CORO_ENOMEM;
	if (!coroi_stack_pool_get(coroi_manual_pool(), (unsigned)class, &d->shared, 1)) {
		coroi_release(d);
		return CORO_ENOMEM;
	}
	d->policy = *policy;
	coroi_stack_fresh(d->shared);
	*out = d;
	return CORO_OK;
}

int coro_dispatch_free(coro_dispatcher *d)
{
	if (!d)
		return CORO_OK;
	if (at_load_acq(&d->owner) || d->started)
		return CORO_EBUSY;
	coroi_frames_show(d->shared);
	coroi_stack_pool_put(coroi_manual_pool(), &d->shared, 1);
	coroi_release(d);
	return CORO_OK;
}

static bool is_live(const struct coroi_dispatched *c)
{
	return c->state == COROI_DISPATCH_FRESH || c->state == COROI_DISPATCH_BLOCKED ||
	       c->state == COROI_DISPATCH_RUNS;
}

int coro_dispatch_init(coro_dispatched *c, coro_dispatcher *d, coro_dispatch_fn fn, void *arg)
{
	if (!c || !d || !fn)
		return CORO_EINVAL;
	if (is_live(of(c)))
		return CORO_EBUSY;
	*of(c) = (struct coroi_dispatched){
		.dispatcher = d, .fn = fn, .arg = arg, .state = COROI_DISPATCH_FRESH};
	return CORO_OK;
}

int coro_dispatch_drop(coro_dispatched *user)
{
	struct coroi_dispatched *c = of(user);

	if (!c || !is_live(c))
		return CORO_EINVAL;
	coro_dispatcher *d = c->dispatcher;
	if (c->state == COROI_DISPATCH_RUNS || (at_load_acq(&d->owner) && coroi_dispatcher() != d))
		return CORO_EBUSY;
	if (c->state == COROI_DISPATCH_BLOCKED) {
		/* what it has deferred must not see it as one that can be resumed */
		c->state = COROI_DISPATCH_RUNS;
		end_extras(c);
		coroi_manual_unstack(&c->stack);
		if (c == d->occupant)
			d->occupant = NULL;
		else
			coroi_fiber_lost(&c->buffer->own);
		d->started--;
		struct coroi_dispatched *current = d->current;
		d->current = NULL;
		release(d, c);
		d->current = current;
	}
	c->ending = CORO_ABORT;
	c->state = COROI_DISPATCH_ENDED;
	return CORO_OK;
}

int coro_dispatch_status(const coro_dispatched *user)
{
	const struct coroi_dispatched *c = (const struct coroi_dispatched *)user;

	if (!c || c->state == COROI_DISPATCH_NONE)
		return CORO_EINVAL;
	if (c->state == COROI_DISPATCH_ENDED)
		return c->ending;
	return c->state == COROI_DISPATCH_RUNS ? CORO_EBUSY : CORO_MAY_RESUME;
}
