//go:build ignore
/* waitq.c - see waitq.h. */
#include "sync/waitq.h"

#include "base/current.h"
#include "sync/gowait.h"

/* What this room keeps for a scheduler. A list has the schedulers that are open. A bound object
 * names its scheduler by the serial number, since an address may be used again. */
struct of_scheduler {
	/* gowaiters of goroutines that have waited: LIFO of struct coroi_gowaiter */
	uint64_t gowaiters;
	uint32_t serial; /* differs from every other scheduler's */
	struct of_scheduler *next_open;
};

static struct coroi_service objects_service;
static struct of_scheduler *open_ones;
static uint32_t serials;
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;

static struct of_scheduler *of(struct coro_scheduler *s)
{
	return *coroi_service_state(s, &objects_service);
}

uint64_t *coroi_gowaiters(struct coro_scheduler *s)
{
	return &of(s)->gowaiters;
}

static int objects_init(struct coro_scheduler *s, const coro_options *o)
{
	struct of_scheduler *x = coroi_alloc(sizeof *x, COROI_APART);

	(void)o;
	if (!x)
		return CORO_ENOMEM;
	pthread_mutex_lock(&open_lock);
	x->serial = ++serials;
	x->next_open = open_ones;
	open_ones = x;
	pthread_mutex_unlock(&open_lock);
	*coroi_service_state(s, &objects_service) = x;
	return CORO_OK;
}

/* objects_close - no coroutine of s is left. */
static void objects_close(struct coro_scheduler *s)
{
	struct of_scheduler **at = &open_ones;

	pthread_mutex_lock(&open_lock);
	while (*at && *at != of(s))
		at = &(*at)->next_open;
	if (*at)
		*at = (*at)->next_open;
	pthread_mutex_unlock(&open_lock);
}

static void objects_destroy(struct coro_scheduler *s)
{
	objects_close(s); /* after an init that failed, s was not closed */
	coroi_release(of(s));
	*coroi_service_state(s, &objects_service) = NULL;
}

static struct coroi_service objects_service = {
	.init = objects_init,
	.close = objects_close,
	.destroy = objects_destroy,
};

__attribute__((constructor)) static void objects_register(void)
{
	coroi_service_register(&objects_service);
}

int coroi_object_bind(struct coroi_object *o, uint32_t flags)
{
	struct coroi_worker *w = coroi_self();

	*o = (struct coroi_object){.home = 0};
	if (flags & ~CORO_HOME)
		return CORO_EINVAL;
	if (!(flags & CORO_HOME))
		return CORO_OK;
	if (!w || !coroi_is_pinned_here(w, w))
		return CORO_EPERM;
	o->home = (uint16_t)(coro_worker() + 1);
	o->serial = of(coroi_scheduler_of(w))->serial;
	o->worker = w;
	return CORO_OK;
}

static bool is_open(uint32_t serial)
{
	pthread_mutex_lock(&open_lock);
	struct of_scheduler *x = open_ones;
	while (x && x->serial != serial)
		x = x->next_open;
	pthread_mutex_unlock(&open_lock);
	return x != NULL;
}

int coroi_object_enter_end(struct coroi_object *o)
{
	if (!o->home || coroi_object_is_home(o, coroi_here()))
		return coroi_object_enter(o);
	return is_open(o->serial) ? CORO_EPERM : CORO_OK;
}

COROI_COLD int coroi_object_refuse(struct coroi_object *o)
{
	coroi_object_leave(o);
	return CORO_EINVAL;
}

COROI_COLD struct coroi_waiter *
coroi_waiter_aside(struct coroi_object *o, const struct coroi_rec *me, size_t bytes, int *status)
{
	struct coroi_waiter *x = NULL;

	if (coroi_is_hidden(me, o))
		*status = CORO_EINVAL;
	else if (!(x = coroi_aside_get(sizeof *x + bytes)))
		*status = CORO_ENOMEM;
	if (!x)
		coroi_object_leave(o);
	return x;
}

bool coroi_may_block(void)
{
	return !coroi_innermost(); /* no scheduled coroutine runs on a thread that is no worker */
}

COROI_NOINLINE int coroi_waiter_wake(struct coroi_waiter *x)
{
	uint32_t *event = coroi_waiter_event(x), spins = COROI_EVENT_SPINS;

	switch (x->tell) {
	case COROI_TELL_SPINNER:
		if (!at_cas(event, &spins, COROI_EVENT_FIRED)) /* WTQ4 */
			coroi_event_send(x->rec);
		break;
	case COROI_TELL_COROUTINE:
		coroi_event_send(x->rec);
		break;
	case COROI_TELL_GOWAITER:
		if (!at_cas(event, &spins, COROI_EVENT_FIRED)) /* WTQ4 */
			coroi_gowaiter_wake(x->gowaiter);
		break;
	default:
		at_xchg(event, COROI_EVENT_FIRED);
		/* The waiter may be gone by now: then the call wakes nothing, or a thread that
		 * looks again. */
		coroi_futex_wake(event, 1);
	}
	return CORO_OK;
}

/* The usual path: the coroutine that waits is at home here, and suspended. */

COROI_NOINLINE int coroi_waiter_wake_on(struct coroi_worker *w, struct coroi_waiter *x)
{
	if (coroi_unlikely(x->tell != COROI_TELL_COROUTINE))
		return coroi_waiter_wake(x);
	if (coroi_likely(coroi_wake_here(w, x->rec)))
		return coroi_leave_fed(w);
	return coroi_waiter_wake(x);
}

bool coroi_waiter_withdraw(struct coroi_waiter *x)
{
	bool waits = false;

	/* This does not fail: an object with a waiter is not destroyed, and a pinned coroutine
	 * stays with its worker. */
	if (coroi_object_enter(x->object))
		return false;
	if (x->queue) {
		coroi_waitq_remove(x);
		waits = true;
	}
	coroi_object_leave(x->object);
	return waits;
}

static bool withdraw(void *x)
{
	return coroi_waiter_withdraw(x);
}

int coroi_thread_wait(uint32_t *event, uint64_t deadline, bool (*withdraw)(void *), void *arg)
{
	while (!at_load_acq(event)) {
		int64_t left = -1;
		if (withdraw && deadline != CORO_FOREVER) {
			uint64_t now = coroi_now_ns();
			if (deadline <= now) {
				if (withdraw(arg))
					return CORO_ETIMEDOUT;
				withdraw = NULL;
				continue;
			}
			left = deadline - now < INT64_MAX ? (int64_t)(deadline - now) : INT64_MAX;
		}
		coroi_futex_wait(event, COROI_EVENT_NONE, left);
	}
	return CORO_OK;
}

static bool has_come(void *event)
{
	return at_load_rlx((uint32_t *)event) == COROI_EVENT_FIRED || coroi_has_inbox(coroi_self());
}

bool coroi_spin_for_event(uint32_t *event)
{
	uint32_t spins = COROI_EVENT_SPINS;

	coroi_idle_spin(coroi_self(), has_come, event, 1);
	/* Both are an acquire: what WTQ2 has written is seen. The load comes first, since a
	 * compare-and-swap asks for the line once more. */
	return at_load_acq(event) == COROI_EVENT_FIRED || !at_cas(event, &spins, COROI_EVENT_NONE);
}

/* await_event - coroi_wait_once for the event of x, after WTQ4 if x spins. */
static inline int await_event(struct coroi_waiter *x, enum coro_wait_kind what)
{
	bool spun = x->tell == COROI_TELL_SPINNER;

	if (spun && coroi_spin_for_event(&x->event))
		return CORO_OK;
	return coroi_wait_once(x->rec, what, spun);
}

int coroi_waiter_wait_in(struct coroi_waiter *x, struct coroi_waitq *q, enum coro_wait_kind what,
			 uint64_t deadline, bool committed)
{
	if (!x->object->home && !committed && coroi_may_spin(x->rec, deadline)) {
		x->tell = COROI_TELL_SPINNER;
		x->event = COROI_EVENT_SPINS;
	}
	coroi_waitq_add(q, x);
	coroi_object_leave(x->object);
	return coroi_waiter_wait(x, what, deadline, committed);
}

COROI_COLD int coroi_waiter_resumed(struct coroi_waiter *x, int code)
{
	if (coroi_waiter_withdraw(x))
		return coroi_tell(code);
	/* The event is committed: nothing else ends the wait. */
	coroi_wait(x->rec, coroi_waits_for(x->rec), CORO_FOREVER, NULL, NULL);
	return x->status;
}

int coroi_waiter_wait(struct coroi_waiter *x, enum coro_wait_kind what, uint64_t deadline,
		      bool committed)
{
	if (coroi_likely(x->rec && deadline == CORO_FOREVER && !committed)) {
		int code = await_event(x, what);
		if (coroi_likely(code == CORO_OK))
			return x->status;
		if (code != COROI_NOT_BEGUN)
			return coroi_waiter_resumed(x, code);
	}
	int status = x->rec ? coroi_wait(x->rec, what, deadline, committed ? NULL : withdraw, x)
			    : coroi_thread_wait(&x->event, deadline, committed ? NULL : withdraw,
						x);
	return status ? status : x->status;
}
