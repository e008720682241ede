//go:build ignore
/* gocall.c - see gocall.h. */
#include "border/gocall.h"

#include "border/lend.h"
#include "border/state.h"
#include "kernel/dense.h"
#include "base/extras.h"
#include "base/list.h"
#include "kernel/nowait.h"
#include "kernel/run.h"
#include "base/sys.h"
#include "kernel/wait.h"

#include <string.h>

/* ---------------------------------------------------------------------------------- Go's side */

static coroi_go_serve go_serve;
static uint32_t cause_id; /* see coroi_call_cause */

struct name {
	struct name *next;
	uint32_t id;
	char text[];
};

static struct name *names; /* atomic; names are added, never removed */

void coroi_go_register(coroi_go_serve serve)
{
	go_serve = serve;
}

void coroi_go_causes(uint32_t id)
{
	cause_id = id;
}

void coroi_go_enter(struct coroi_worker *w)
{
	go_serve(w);
}

int coroi_go_name(const char *name, size_t bytes, uint32_t id)
{
	struct name *n = coroi_alloc(sizeof *n + bytes + 1, sizeof(void *));

	if (!n)
		return CORO_ENOMEM;
	n->id = id;
	memcpy(n->text, name, bytes);
	/* a release, pairs with coro_go_function: the name is seen whole */
	coroi_lifo_push(&names, n, n->next);
	return CORO_OK;
}

coro_go_id coro_go_function(const char *name)
{
	for (struct name *n = name ? at_load_acq(&names) : NULL; n; n = n->next)
		if (strcmp(n->text, name) == 0)
			return n->id;
	return 0;
}

bool coroi_go_inside(struct coro_scheduler *s)
{
	struct coroi_worker *w = coroi_self();
	return w && w->sched == s;
}

bool coroi_calls_make(struct coroi_worker *w)
{
	w->calls.list = coroi_alloc(COROI_CALLS_AT_ONCE * sizeof(struct coroi_call), COROI_LINE);
	return w->calls.list;
}

void coroi_calls_free(struct coroi_worker *w)
{
	coroi_release(w->calls.list);
	w->calls.list = NULL;
}

void coroi_calls_canceled(struct coro_scheduler *s, struct coroi_rec *r)
{
	(void)r;
	at_xchg(&coroi_border(s)->calls.canceled, 1);
	coroi_bell_ring(s);
}

void coroi_call_fail(struct coroi_call *c, const char *text, size_t bytes)
{
	c->status = CORO_EFAILED;
	c->got = 0;
	c->text = coroi_alloc(bytes + 1, sizeof(void *));
	if (c->text && bytes)
		memcpy(c->text, text, bytes);
}

/* -------------------------------------------------------------------------- the caller's side */

/* may_call - what both ways of calling check first. Returns: CORO_OK, or the error of the call. */
static inline int may_call(struct coroi_worker *w, const char *call, coro_go_id id, const void *arg,
			   size_t arg_bytes, const void *result, size_t result_bytes, size_t *got)
{
	if (got)
		*got = 0;
	if (coroi_unlikely(!coroi_current(w)))
		return CORO_EPERM;
	if (coroi_unlikely(coroi_nowait(w, call, CORO_FOREVER)))
		return CORO_ENOWAIT;
	if (coroi_unlikely(!id || (arg_bytes && !arg) || (result_bytes && !result) ||
			   !coroi_border(w->sched)->bell.go_id))
		return CORO_EINVAL;
	return CORO_OK;
}

/* describe - c is that call of me's. All else of c stays as it is. */
static inline void describe(struct coroi_call *c, struct coroi_rec *me, coro_go_id id,
			    const void *arg, size_t arg_bytes, void *result, size_t result_bytes,
			    size_t *got)
{
	c->caller = me;
	c->id = id;
	c->arg = arg;
	c->arg_bytes = arg_bytes;
	c->result = result;
	c->result_bytes = result_bytes;
	c->out = got;
}

/* keep_text - the text of a failed call stays with the caller, in the place of the text before. */
COROI_COLD static void keep_text(struct coroi_call *c)
{
	struct coroi_extras **e = coroi_extras_of(c->caller);

	if (!e) {
		coroi_release(c->text);
		return;
	}
	coroi_release((*e)->text);
	(*e)->text = c->text;
}

/* ended - the call is over, and its caller is about to go on. Returns: what the caller's call
 * returns. */
static inline int8_t ended(struct coroi_call *c)
{
	if (coroi_unlikely(c->status == CORO_EFAILED))
		keep_text(c);
	if (c->out)
		*c->out = c->got;
	return (int8_t)c->status;
}

size_t coro_call_error(char *text, size_t bytes)
{
	struct coroi_worker *w = coroi_self();
	struct coroi_rec *me = coroi_current(w);
	bool any = me && me->flags & COROI_F_EXTRAS;

	return coroi_text_get(any ? coroi_cold(me)->extras->text : NULL, text, bytes);
}

/* calls_aside - is the caller a dense coroutine that gives valid addresses? Invalid ones are
 * refused later, by the call. */
static inline bool calls_aside(const void *arg, size_t arg_bytes, const void *result,
			       size_t result_bytes)
{
	struct coroi_worker *w = coroi_self();
	return w && w->current && coroi_is_dense(w->current) && (arg || !arg_bytes) &&
	       (result || !result_bytes);
}

typedef int call_fn(coro_go_id id, const void *arg, size_t arg_bytes, void *result,
		    size_t result_bytes, size_t *got);

/* call_aside - make the call of a dense coroutine, with copies of argument and result aside: Go
 * reads and writes them while the coroutine waits. */
static COROI_NOINLINE int call_aside(call_fn *call, coro_go_id id, const void *arg,
				     size_t arg_bytes, void *result, size_t result_bytes,
				     size_t *got)
{
	struct {
		size_t got;
		unsigned char bytes[] __attribute__((aligned(16)));
	} *a = NULL;
	size_t room = (arg_bytes + 15) & ~(size_t)15;

	if (room >= arg_bytes && result_bytes < SIZE_MAX / 2 - room)
		a = coroi_aside_get(sizeof *a + room + result_bytes);
	if (!a)
		return CORO_ENOMEM;
	if (arg_bytes)
		memcpy(a->bytes, arg, arg_bytes);
	int status = call(id, a->bytes, arg_bytes, a->bytes + room, result_bytes, &a->got);
	if (got)
		*got = a->got;
	if (a->got && a->got <= result_bytes)
		memcpy(result, a->bytes + room, a->got);
	coroi_aside_put(a);
	return status;
}

static int call_offloaded(coro_go_id id, const void *arg, size_t arg_bytes, void *result,
			  size_t result_bytes, size_t *got);

/* ------------------------------------------------------------------------------- inline calls */

/* write_locked - INL1, without the suspension. */
static inline void write_locked(struct coroi_worker *w, struct coroi_rec *me, coro_go_id id,
				const void *arg, size_t arg_bytes, void *result,
				size_t result_bytes, size_t *got)
{
	describe(&coroi_calls_of(w)[w->calls.count++], me, id, arg, arg_bytes, result, result_bytes,
		 got);
}

/* goes_on_alone - has w nothing to run besides the caller, and is it not the turn to look at
 * deadlines? */
static inline bool goes_on_alone(const struct coroi_worker *w)
{
	return coroi_nothing_else(w) &&
	       (w->due == COROI_NEVER || !coroi_turnclock_is_due(&w->clock, coroi_turns(w)));
}

/* make_now - the caller suspends: are the calls to be made now, rather than to wait for more? */
static inline bool make_now(const struct coroi_worker *w)
{
	return w->calls.count == COROI_CALLS_AT_ONCE || goes_on_alone(w);
}

/* stop_locked - suspend me, and go on with the native stack. The switch is by ret, as the one in
 * coroi_run, which tells why. */
static inline int stop_locked(struct coroi_worker *w, struct coroi_rec *me)
{
	w->current = NULL;
	return coroi_to_by(coroi_switch_within, &me->sp, w->native_sp, 0, w, NULL);
}

static COROI_NOINLINE struct coroi_rec *made_many_locked(struct coroi_worker *w)
{
	struct coroi_call *c = coroi_calls_of(w), *end = c + w->calls.count;

	/* Before the callers are queued: what has come meanwhile has waited longer. */
	coroi_drain_locked(w);
	for (w->calls.count = 0; c < end; c++) {
		int8_t code = ended(c);
		if (coroi_likely(code == CORO_OK))
			coroi_queue_locked(w, c->caller);
		else
			coroi_resume_locked(w, c->caller, code);
	}
	coroi_notify_queued(w);
	return NULL;
}

static int call_inline(coro_go_id id, const void *arg, size_t arg_bytes, void *result,
		       size_t result_bytes, size_t *got)
{
	struct coroi_worker *w = coroi_self();
	int bad = may_call(w, "coro_call_go_inline", id, arg, arg_bytes, result, result_bytes, got);

	if (coroi_unlikely(bad))
		return bad;
	struct coroi_rec *me = w->current;
	if (coroi_unlikely(coroi_lend_makes(w, me) || coroi_lend_inside(w)))
		return call_offloaded(id, arg, arg_bytes, result, result_bytes, got);
	coroi_door_enter(w);
	if (coroi_unlikely(w->cancel | me->canceled) && coroi_refused_locked(w, me)) {
		coroi_door_leave(w);
		return CORO_ECANCELED;
	}
	coroi_forks_suspend_locked(w);
	write_locked(w, me, id, arg, arg_bytes, result, result_bytes, got);
	return make_now(w) ? stop_locked(w, me) : coroi_suspend_picked_locked(w, me);
}

/* call_inline_slow - coro_call_go_inline, the general way. Nothing was done yet, except that the
 * door may have been tried. */
static COROI_NOINLINE int call_inline_slow(coro_go_id id, const void *arg, size_t arg_bytes,
					   void *result, size_t result_bytes, size_t *got)
{
	struct coroi_worker *w = coroi_self();

	if (w)
		coroi_door_leave(w);
	if (coroi_unlikely(calls_aside(arg, arg_bytes, result, result_bytes)))
		return call_aside(call_inline, id, arg, arg_bytes, result, result_bytes, got);
	return call_inline(id, arg, arg_bytes, result, result_bytes, got);
}

/* The usual path makes no call, as in coro_yield: nothing is wrong, the door is free, and there is
 * a coroutine to go on with, or nothing to run at all. */
int coro_call_go_inline(coro_go_id id, const void *arg, size_t arg_bytes, void *result,
			size_t result_bytes, size_t *got)
{
	struct coroi_worker *w = coroi_self();
	struct coroi_rec *me = coroi_current(w);

	if (coroi_unlikely(!me || !id || (arg_bytes && !arg) || (result_bytes && !result) ||
			   !coroi_border(w->sched)->bell.go_id || coroi_is_dense(me) ||
			   !coroi_door_try(w) || me->canceled))
		return call_inline_slow(id, arg, arg_bytes, result, result_bytes, got);
	write_locked(w, me, id, arg, arg_bytes, result, result_bytes, got);
	if (coroi_unlikely(got))
		*got = 0;
	if (make_now(w))
		return stop_locked(w, me);
	struct coroi_rec *next = coroi_next_locked(w);
	return coroi_likely(next) ? coroi_hand_over_locked(w, me, next)
				  : coroi_suspend_picked_locked(w, me);
}

struct coroi_rec *coroi_calls_made_locked(struct coroi_worker *w)
{
	struct coroi_rec *only = coroi_calls_of(w)->caller;

	if (w->calls.count > 1 || !goes_on_alone(w))
		return made_many_locked(w);
	w->calls.count = 0;
	at_bump(&w->queue.head); /* counts as a turn of the queue, which is empty */
	only->code = ended(coroi_calls_of(w));
	return only;
}

/* ---------------------------------------------------------------------------- offloaded calls */

/* rouse - OFF3, of a call that nobody may look for. The caller's coroutine has not ended, so the
 * scheduler stays. */
static COROI_NOINLINE void rouse(struct coro_scheduler *s)
{
	switch (at_xchg(&coroi_border(s)->calls.unwatched, COROI_CALLS_WATCHED)) {
	case COROI_CALLS_UNWATCHED:
		/* Relaxed: fd was set before the first spawn, and coroi_bell_drop comes after the
		 * last coroutine's end. */
		coroi_event_ring((int)at_load_rlx(&coroi_border(s)->bell.fd));
		break;
	case COROI_CALLS_ASLEEP:
		coroi_futex_wake(&coroi_border(s)->calls.unwatched, 1);
		break;
	}
}

/* offload - OFF2 and OFF3. */
static inline __attribute__((always_inline)) void offload(struct coro_scheduler *s,
							  struct coroi_call *c)
{
	coroi_lifo_push(&coroi_border(s)->calls.first, (uintptr_t)c, c->next); /* OFF2 */
	if (at_load_seq(&coroi_border(s)->calls.unwatched))                    /* OFF3 */
		rouse(s);
}

uint64_t coroi_calls_sleep(struct coro_scheduler *s)
{
	uint32_t unwatched = COROI_CALLS_UNWATCHED;

	if (!at_cas(&coroi_border(s)->calls.unwatched, &unwatched, COROI_CALLS_ASLEEP))
		return 0;
	coroi_futex_wait(&coroi_border(s)->calls.unwatched, COROI_CALLS_ASLEEP, -1);
	return coroi_now_ns();
}

void coroi_calls_rouse(struct coro_scheduler *s)
{
	at_xchg(&coroi_border(s)->calls.unwatched, COROI_CALLS_WATCHED);
	coroi_futex_wake(&coroi_border(s)->calls.unwatched, 1);
}

/* await_lender - OFF4 where the lender makes the call: what coroi_wait does in the end, since
 * nothing else runs before the lender has given w back. */
static inline void await_lender(struct coroi_worker *w, struct coroi_rec *me, struct coroi_call *c)
{
	coroi_lend_make(w, c);
	coroi_door_enter(w);
	coroi_forks_suspend_locked(w); /* w may be lent again before the call is made */
	COROI_PROBE(WAIT, me);
	at_store_rlx(&me->state, COROI_COMMITTED);
	at_store_rlx(&me->waits, CORO_WAIT_CALL);
	stop_locked(w, me);
}

/* await_call - OFF1 to OFF4 for me, the current coroutine of w. */
static inline void await_call(struct coroi_worker *w, struct coroi_rec *me, struct coroi_call *c)
{
	coroi_escape(me); /* the handle is known from now on: Go may send the event */
	coroi_pending_begin(w->sched, 1); /* OFF1 */
	if (coroi_unlikely(coroi_lend_makes(w, me))) {
		await_lender(w, me, c);
		return;
	}
	offload(w->sched, c);
	coroi_wait(me, CORO_WAIT_CALL, CORO_FOREVER, NULL, NULL); /* OFF4 */
}

static int call_offloaded(coro_go_id id, const void *arg, size_t arg_bytes, void *result,
			  size_t result_bytes, size_t *got)
{
	struct coroi_worker *w = coroi_self();
	int bad = may_call(w, "coro_call_go", id, arg, arg_bytes, result, result_bytes, got);

	if (coroi_unlikely(bad))
		return bad;
	struct coroi_rec *me = w->current;
	struct coroi_call *c = coroi_aside(me, sizeof *c);
	if (!c)
		return CORO_ENOMEM;
	*c = (struct coroi_call){0};
	describe(c, me, id, arg, arg_bytes, result, result_bytes, got);
	coroi_door_enter(w);
	/* A cancel after this look counts as one that came during the call (OFF7). */
	int status = w->cancel | me->canceled ? coroi_refused_locked(w, me) : CORO_OK;
	coroi_flag(me, COROI_F_TOLD); /* OFF7 */
	coroi_door_leave(w);
	if (coroi_likely(!status)) {
		await_call(w, me, c);
		status = ended(c);
	}
	coroi_aside_end(me, c);
	return status;
}

char *coroi_call_cause(struct coroi_rec *me)
{
	struct coroi_call *c = coroi_aside(me, sizeof *c);

	if (!c)
		return NULL;
	*c = (struct coroi_call){.caller = me, .id = cause_id};
	await_call(coroi_self(), me, c);
	char *text = c->text;
	coroi_aside_end(me, c);
	return text;
}

int coro_call_go(coro_go_id id, const void *arg, size_t arg_bytes, void *result,
		 size_t result_bytes, size_t *got)
{
	if (coroi_unlikely(calls_aside(arg, arg_bytes, result, result_bytes)))
		return call_aside(call_offloaded, id, arg, arg_bytes, result, result_bytes, got);
	return call_offloaded(id, arg, arg_bytes, result, result_bytes, got);
}
