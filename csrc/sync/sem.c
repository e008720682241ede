//go:build ignore
/* sem.c - semaphores: permits, or a queue of waiters, each for one permit. */
#include "sync/sem.h"

struct sem {
	struct coroi_object object;
	struct coroi_waitq queue; /* not empty: permits is 0 */
	uint64_t permits;
};
COROI_VIEW(struct sem, coro_sem, sem_of)
_Static_assert(sizeof(struct sem) <= COROI_GO_WORD && COROI_GO_WORD < sizeof(coro_sem),
	       "the word is free");

int coro_sem_init(coro_sem *p, uint64_t permits, uint32_t flags)
{
	int status = permits <= CORO_PERMITS_MAX ? coroi_object_init(p, sizeof(struct sem), flags)
						 : CORO_EINVAL;

	if (!status)
		sem_of(p)->permits = permits;
	return status;
}

int coro_sem_destroy(coro_sem *p)
{
	return coroi_object_destroy(p, NULL);
}

/* --------------------------------------------------------------------------------- acquiring */

static const struct coroi_wait_as wait_as = {CORO_WAIT_SEMAPHORE, "coro_sem_acquire"};

static COROI_NOINLINE COROI_RETURNS_AFTER_SWITCH int
sem_wait_shared(struct sem *s, uint64_t deadline, struct coroi_worker *w)
{
	return coroi_object_wait(w, &s->object, false, &wait_as, 0, 0, deadline);
}

static COROI_NOINLINE COROI_RETURNS_AFTER_SWITCH int sem_wait_home(struct sem *s, uint64_t deadline,
								   struct coroi_worker *w)
{
	return coroi_object_wait(w, &s->object, true, &wait_as, 0, 0, deadline);
}

static int sem_acquire_spent(struct sem *s, uint64_t deadline);

/* sem_acquire - at w (coroi_here). s is entered, and is left. home: s is bound. spends: the wait is
 * counted, if it ends at once. */
static inline __attribute__((always_inline)) int
sem_acquire(struct coroi_worker *w, struct sem *s, bool home, bool spends, uint64_t deadline)
{
	if (coroi_unlikely(!s->permits))
		return home ? sem_wait_home(s, deadline, w) : sem_wait_shared(s, deadline, w);
	if (spends && coroi_spend_here(w))
		return sem_acquire_spent(s, deadline);
	s->permits--;
	coroi_object_leave_as(&s->object, home);
	return CORO_OK;
}

/* sem_acquire_at - the general way: enter s. */
static inline int sem_acquire_at(coro_sem *p, bool spends, uint64_t deadline)
{
	int status = coroi_object_enter_at(p);
	return status ? status
		      : sem_acquire(coroi_here(), sem_of(p), sem_of(p)->object.home, spends,
				    deadline);
}

/* sem_acquire_spent - the caller's waits have gone on for a while, this one included: it is counted
 * no more. s is entered, and is left. */
static COROI_NOINLINE int sem_acquire_spent(struct sem *s, uint64_t deadline)
{
	coroi_object_leave(&s->object);
	coroi_spent(deadline);
	return sem_acquire_at((coro_sem *)s, false, deadline);
}

static COROI_NOINLINE int sem_acquire_slow(coro_sem *p, uint64_t deadline)
{
	return sem_acquire_at(p, true, deadline);
}

int coro_sem_acquire(coro_sem *p, uint64_t deadline)
{
	struct coroi_worker *w = coroi_here();

	if (coroi_likely(p != NULL)) {
		if (coroi_object_is_home(&sem_of(p)->object, w))
			return sem_acquire(w, sem_of(p), true, true, deadline);
		if (coroi_likely(coroi_object_try_shared(&sem_of(p)->object)))
			return sem_acquire(w, sem_of(p), false, true, deadline);
	}
	return sem_acquire_slow(p, deadline);
}

/* sem_try - CORO_OK: a permit was taken; COROI_WAITS: there is none. s is entered. */
static inline int sem_try(struct sem *s)
{
	bool may = s->permits > 0;
	s->permits -= may;
	return may ? CORO_OK : COROI_WAITS;
}

int coroi_sem_acquire_gowaiter(coro_sem *p, struct coroi_gowaiter *g)
{
	struct sem *s = sem_of(p);
	int status = coroi_object_enter(&s->object);

	return status ? status : coroi_object_answer_gowaiter(&s->object, sem_try(s), g, 0, 0);
}

int coroi_sem_acquire_leaf(coro_sem *p, void *unused)
{
	struct sem *s = sem_of(p);
	(void)unused;

	return coroi_object_enter_leaf(&s->object, COROI_SPIN_PAUSE)
		       ? coroi_object_answer(&s->object, sem_try(s))
		       : COROI_BY_CALL;
}

/* --------------------------------------------------------------------------------- releasing */

/* sem_release_many - sem_release, the general way. */
static COROI_NOINLINE int sem_release_many(struct sem *s, uint64_t n)
{
	struct coroi_chain woken = {NULL, NULL};

	if (n > CORO_PERMITS_MAX || s->permits + n > CORO_PERMITS_MAX)
		return coroi_object_answer(&s->object, CORO_EOVERFLOW);
	s->permits += n - coroi_object_take(&s->object, n, &woken);
	return coroi_object_leave_waking(&s->object, &woken);
}

/* sem_release - n permits; otherwise as sem_acquire. */
static inline __attribute__((always_inline)) int sem_release(struct coroi_worker *w, struct sem *s,
							     bool home, uint64_t n)
{
	struct coroi_waiter *x;

	if (coroi_unlikely(n != 1))
		return sem_release_many(s, n);
	if (s->queue.first && coroi_likely((x = coroi_waitq_take(&s->queue)) != NULL)) {
		coroi_object_leave_as(&s->object, home);
		return home ? coroi_waiter_wake_home(w, x) : coroi_waiter_wake_on(w, x);
	}
	if (coroi_unlikely(s->permits == CORO_PERMITS_MAX))
		return sem_release_many(s, n);
	s->permits++;
	coroi_object_leave_as(&s->object, home);
	return CORO_OK;
}

static COROI_NOINLINE int sem_release_slow(coro_sem *p, uint64_t n)
{
	int status = n ? coroi_object_enter_at(p) : CORO_EINVAL;
	return status ? status : sem_release(coroi_here(), sem_of(p), sem_of(p)->object.home, n);
}

int coro_sem_release(coro_sem *p, uint64_t n)
{
	struct coroi_worker *w = coroi_here();

	if (coroi_likely(p && n)) {
		if (coroi_object_is_home(&sem_of(p)->object, w))
			return sem_release(w, sem_of(p), true, n);
		if (coroi_likely(coroi_object_try_shared(&sem_of(p)->object)))
			return sem_release(w, sem_of(p), false, n);
	}
	return sem_release_slow(p, n);
}

int coroi_sem_release_leaf(coro_sem *p, void *unused)
{
	struct sem *s = sem_of(p);
	(void)unused;

	if (!coroi_object_enter_leaf(&s->object, COROI_SPIN_PAUSE))
		return COROI_BY_CALL;
	bool may = !s->queue.first && s->permits < CORO_PERMITS_MAX;
	s->permits += may;
	return coroi_object_answer(&s->object, may ? CORO_OK : COROI_BY_CALL);
}
