/*
 * t_object.c - what semaphores, mutexes, reader-writer locks, conditions, latches and once have in
 * common: misuse is told, an object with waiters is not destroyed, CORO_HOME is for one worker.
 * Misuse of channels: t_chan_misuse.c; waits in no-wait sections: t_nowait.c.
 */
#include "gostand.h"

#include "border/gocall.h"
#include "border/state.h"
#include "kernel/worker.h"
#include "sync/chan.h"

#include <string.h>

static uint64_t done;

/* --------------------------------------------------------------------------------------- misuse */

/* past - deadlines that have passed, or are about to: calls that would have to wait time out. */
static uint64_t past(int i)
{
	return i == 0 ? 0 : i == 1 ? 1 : i == 2 ? coro_now() : coro_now() + MS;
}

static void semaphore_misuse(void)
{
	coro_sem s = {0};

	CHECK_EQ(coro_sem_init(NULL, 0, 0), CORO_EINVAL);
	CHECK_EQ(coro_sem_init(&s, 3, 0), CORO_OK);
	CHECK_EQ(coro_sem_init(&s, CORO_PERMITS_MAX + 1, 0), CORO_EINVAL);
	CHECK_EQ(coro_sem_init(&s, 1, 2), CORO_EINVAL);
	CHECK_EQ(coro_sem_init(&s, 1, CORO_HOME), CORO_EPERM);
	CHECK_EQ(coro_sem_acquire(NULL, 0), CORO_EINVAL);
	CHECK_EQ(coro_sem_release(NULL, 1), CORO_EINVAL);
	CHECK_EQ(coro_sem_destroy(NULL), CORO_EINVAL);
	CHECK_EQ(coro_sem_release(&s, 0), CORO_EINVAL);
	CHECK_EQ(coro_sem_release(&s, CORO_PERMITS_MAX), CORO_EOVERFLOW);
	CHECK_EQ(coro_sem_release(&s, UINT64_MAX), CORO_EOVERFLOW);
	for (int i = 0; i < 3; i++) /* the semaphore is unchanged */
		CHECK_EQ(coro_sem_acquire(&s, i ? CORO_FOREVER : 0), CORO_OK);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(coro_sem_acquire(&s, past(i)), CORO_ETIMEDOUT);
	CHECK_EQ(coro_sem_release(&s, CORO_PERMITS_MAX), CORO_OK);
	CHECK_EQ(coro_sem_release(&s, 1), CORO_EOVERFLOW);
	CHECK_EQ(coro_sem_acquire(&s, 0), CORO_OK);
	CHECK_EQ(coro_sem_destroy(&s), CORO_OK);
	CHECK_EQ(coro_sem_acquire(&s, CORO_FOREVER), CORO_EINVAL);
	CHECK_EQ(coro_sem_release(&s, 1), CORO_EINVAL);
	CHECK_EQ(coro_sem_destroy(&s), CORO_EINVAL);
}

static void mutex_misuse(void)
{
	coro_mutex m = {0};

	CHECK_EQ(coro_mutex_init(NULL, 0), CORO_EINVAL);
	CHECK_EQ(coro_mutex_lock(NULL, 0), CORO_EINVAL);
	CHECK_EQ(coro_mutex_unlock(NULL), CORO_EINVAL);
	CHECK_EQ(coro_mutex_destroy(NULL), CORO_EINVAL);
	CHECK_EQ(coro_mutex_unlock(&m), CORO_EPERM);
	CHECK_EQ(coro_mutex_lock(&m, 0), CORO_OK);
	CHECK_EQ(coro_mutex_init(&m, 2), CORO_EINVAL);
	CHECK_EQ(coro_mutex_init(&m, CORO_HOME), CORO_EPERM);
	CHECK_EQ(coro_mutex_lock(&m, 0), CORO_EDEADLK);
	CHECK_EQ(coro_mutex_lock(&m, CORO_FOREVER), CORO_EDEADLK);
	CHECK_EQ(coro_mutex_destroy(&m), CORO_EBUSY);
	CHECK_EQ(coro_mutex_unlock(&m), CORO_OK);
	CHECK_EQ(coro_mutex_unlock(&m), CORO_EPERM);
	CHECK_EQ(coro_mutex_destroy(&m), CORO_OK);
	CHECK_EQ(coro_mutex_lock(&m, CORO_FOREVER), CORO_EINVAL);
	CHECK_EQ(coro_mutex_unlock(&m), CORO_EINVAL);
	CHECK_EQ(coro_mutex_destroy(&m), CORO_EINVAL);
}

static void rwlock_misuse(void)
{
	coro_rwlock l = {0};

	CHECK_EQ(coro_rwlock_init(NULL, 0), CORO_EINVAL);
	CHECK_EQ(coro_rwlock_read(NULL, 0), CORO_EINVAL);
	CHECK_EQ(coro_rwlock_write(NULL, 0), CORO_EINVAL);
	CHECK_EQ(coro_rwlock_unlock(NULL), CORO_EINVAL);
	CHECK_EQ(coro_rwlock_destroy(NULL), CORO_EINVAL);
	CHECK_EQ(coro_rwlock_unlock(&l), CORO_EPERM);
	CHECK_EQ(coro_rwlock_write(&l, 0), CORO_OK);
	CHECK_EQ(coro_rwlock_init(&l, 2), CORO_EINVAL);
	CHECK_EQ(coro_rwlock_init(&l, CORO_HOME), CORO_EPERM);
	CHECK_EQ(coro_rwlock_write(&l, CORO_FOREVER), CORO_EDEADLK);
	CHECK_EQ(coro_rwlock_read(&l, CORO_FOREVER), CORO_EDEADLK);
	CHECK_EQ(coro_rwlock_destroy(&l), CORO_EBUSY);
	CHECK_EQ(coro_rwlock_unlock(&l), CORO_OK);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(coro_rwlock_read(&l, 0), CORO_OK);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(coro_rwlock_write(&l, past(i)), CORO_ETIMEDOUT);
	CHECK_EQ(coro_rwlock_destroy(&l), CORO_EBUSY);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(coro_rwlock_unlock(&l), CORO_OK);
	CHECK_EQ(coro_rwlock_unlock(&l), CORO_EPERM);
	CHECK_EQ(coro_rwlock_destroy(&l), CORO_OK);
	CHECK_EQ(coro_rwlock_read(&l, 0), CORO_EINVAL);
	CHECK_EQ(coro_rwlock_write(&l, 0), CORO_EINVAL);
	CHECK_EQ(coro_rwlock_unlock(&l), CORO_EINVAL);
	CHECK_EQ(coro_rwlock_destroy(&l), CORO_EINVAL);
}

static void condition_misuse(void)
{
	coro_cond c = {0};
	coro_mutex m = {0};

	CHECK_EQ(coro_cond_init(NULL, 0), CORO_EINVAL);
	CHECK_EQ(coro_cond_init(&c, 2), CORO_EINVAL);
	CHECK_EQ(coro_cond_init(&c, CORO_HOME), CORO_EPERM);
	CHECK_EQ(coro_cond_wait(NULL, &m, 0), CORO_EINVAL);
	CHECK_EQ(coro_cond_wait(&c, NULL, 0), CORO_EINVAL);
	CHECK_EQ(coro_cond_signal(NULL), CORO_EINVAL);
	CHECK_EQ(coro_cond_broadcast(NULL), CORO_EINVAL);
	CHECK_EQ(coro_cond_destroy(NULL), CORO_EINVAL);
	CHECK_EQ(coro_cond_wait(&c, &m, CORO_FOREVER), CORO_EPERM);
	CHECK_EQ(coro_cond_signal(&c), CORO_OK); /* a signal is not remembered */
	CHECK_EQ(coro_cond_broadcast(&c), CORO_OK);
	CHECK_EQ(coro_mutex_lock(&m, 0), CORO_OK);
	for (int i = 0; i < 4; i++) {
		CHECK_EQ(coro_cond_wait(&c, &m, past(i)), CORO_ETIMEDOUT);
		CHECK_EQ(coro_mutex_lock(&m, 0), CORO_EDEADLK); /* the mutex is locked */
	}
	CHECK_EQ(coro_cond_destroy(&c), CORO_OK);
	CHECK_EQ(coro_cond_wait(&c, &m, CORO_FOREVER), CORO_EINVAL);
	CHECK_EQ(coro_cond_signal(&c), CORO_EINVAL);
	CHECK_EQ(coro_cond_broadcast(&c), CORO_EINVAL);
	CHECK_EQ(coro_cond_destroy(&c), CORO_EINVAL);
	CHECK_EQ(coro_mutex_unlock(&m), CORO_OK);
}

static void latch_misuse(void)
{
	coro_latch l = {0};

	CHECK_EQ(coro_latch_init(NULL, 0, 0), CORO_EINVAL);
	CHECK_EQ(coro_latch_add(NULL, 1), CORO_EINVAL);
	CHECK_EQ(coro_latch_wait(NULL, 0), CORO_EINVAL);
	CHECK_EQ(coro_latch_destroy(NULL), CORO_EINVAL);
	CHECK_EQ(coro_latch_wait(&l, CORO_FOREVER), CORO_OK);
	CHECK_EQ(coro_latch_add(&l, -1), CORO_EINVAL);
	CHECK_EQ(coro_latch_init(&l, 2, 0), CORO_OK);
	CHECK_EQ(coro_latch_init(&l, CORO_PERMITS_MAX + 1, 0), CORO_EINVAL);
	CHECK_EQ(coro_latch_init(&l, 0, 2), CORO_EINVAL);
	CHECK_EQ(coro_latch_init(&l, 0, CORO_HOME), CORO_EPERM);
	CHECK_EQ(coro_latch_add(&l, -3), CORO_EINVAL);
	CHECK_EQ(coro_latch_add(&l, INT64_MIN), CORO_EINVAL);
	CHECK_EQ(coro_latch_add(&l, INT64_MAX), CORO_EOVERFLOW);
	CHECK_EQ(coro_latch_add(&l, CORO_PERMITS_MAX - 1), CORO_EOVERFLOW);
	CHECK_EQ(coro_latch_add(&l, 0), CORO_OK);
	CHECK_EQ(coro_latch_add(&l, -1), CORO_OK);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(coro_latch_wait(&l, past(i)), CORO_ETIMEDOUT);
	CHECK_EQ(coro_latch_add(&l, -1), CORO_OK);
	CHECK_EQ(coro_latch_wait(&l, 0), CORO_OK);
	CHECK_EQ(coro_latch_add(&l, 1), CORO_OK); /* a latch can be used again */
	CHECK_EQ(coro_latch_wait(&l, 0), CORO_ETIMEDOUT);
	CHECK_EQ(coro_latch_destroy(&l), CORO_OK);
	CHECK_EQ(coro_latch_add(&l, 1), CORO_EINVAL);
	CHECK_EQ(coro_latch_wait(&l, 0), CORO_EINVAL);
	CHECK_EQ(coro_latch_destroy(&l), CORO_EINVAL);
}

struct once_user {
	coro_once once;
	uint64_t times;
};

static void does_it_again(void *arg)
{
	struct once_user *u = arg;

	u->times++;
	CHECK_EQ(coro_once_do(&u->once, does_it_again, u, CORO_FOREVER), CORO_EDEADLK);
}

static void once_misuse(void)
{
	struct once_user u = {0};

	CHECK_EQ(coro_once_do(NULL, does_it_again, &u, 0), CORO_EINVAL);
	CHECK_EQ(coro_once_do(&u.once, NULL, &u, 0), CORO_EINVAL);
	/* doing it is no wait */
	CHECK_EQ(coro_once_do(&u.once, does_it_again, &u, 0), CORO_OK);
	CHECK_EQ(coro_once_do(&u.once, does_it_again, &u, 0), CORO_OK);
	CHECK_EQ(u.times, 1);
}

static void misuse(void *arg, void *result)
{
	(void)arg;
	(void)result;
	semaphore_misuse();
	mutex_misuse();
	rwlock_misuse();
	condition_misuse();
	latch_misuse();
	once_misuse();
	add_one(&done);
}

TEST(sync_misuse_is_told)
{
	coro_scheduler *s = start_with(2, 0);

	misuse(NULL, NULL);
	for (int i = 0; i < 8; i++)
		spawn(s, misuse, NULL, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(done, 9);
	finish(s);
}

/* -------------------------------------------------------------------- callers that may not wait */

/* A coroutine resumed by hand cannot wait, and cannot own anything. It gets what is there. */
static intptr_t by_hand(void *arg, intptr_t first)
{
	coro_sem s;
	coro_mutex m = {0};
	coro_rwlock l = {0};
	coro_cond c = {0};
	coro_latch latch;
	struct once_user u = {0};
	(void)arg;
	(void)first;

	CHECK_EQ(coro_sem_init(&s, 1, 0), CORO_OK);
	CHECK_EQ(coro_latch_init(&latch, 1, 0), CORO_OK);
	CHECK_EQ(coro_sem_acquire(&s, CORO_FOREVER), CORO_OK);
	CHECK_EQ(coro_sem_acquire(&s, 0), CORO_ETIMEDOUT);
	CHECK_EQ(coro_sem_acquire(&s, CORO_FOREVER), CORO_EPERM);
	CHECK_EQ(coro_sem_acquire(&s, coro_now() + 1), CORO_EPERM);
	CHECK_EQ(coro_sem_release(&s, 1), CORO_OK);
	CHECK_EQ(coro_sem_destroy(&s), CORO_OK); /* nobody waits */
	CHECK_EQ(coro_mutex_lock(&m, CORO_FOREVER), CORO_EPERM);
	CHECK_EQ(coro_mutex_unlock(&m), CORO_EPERM);
	CHECK_EQ(coro_mutex_destroy(&m), CORO_OK);
	CHECK_EQ(coro_rwlock_read(&l, CORO_FOREVER), CORO_EPERM);
	CHECK_EQ(coro_rwlock_write(&l, CORO_FOREVER), CORO_EPERM);
	CHECK_EQ(coro_rwlock_destroy(&l), CORO_OK);
	CHECK_EQ(coro_cond_wait(&c, &m, CORO_FOREVER), CORO_EPERM);
	CHECK_EQ(coro_cond_destroy(&c), CORO_OK);
	CHECK_EQ(coro_latch_wait(&latch, CORO_FOREVER), CORO_EPERM);
	CHECK_EQ(coro_latch_add(&latch, -1), CORO_OK);
	CHECK_EQ(coro_latch_wait(&latch, CORO_FOREVER), CORO_OK);
	CHECK_EQ(coro_once_do(&u.once, does_it_again, &u, CORO_FOREVER), CORO_EPERM);
	CHECK_EQ(u.times, 0);
	CHECK_EQ(coro_sleep(1), CORO_EPERM);
	add_one(&done);
	return 0;
}

static void resumes_by_hand(void *arg, void *result)
{
	coro_t *co;
	(void)arg;
	(void)result;

	CHECK_EQ(coro_new(&co, by_hand, NULL, STACK), CORO_OK);
	CHECK_EQ(coro_resume(co, 0, NULL), CORO_FINISHED);
	CHECK_EQ(coro_free(co), CORO_OK);
}

TEST(sync_resumed_by_hand_cannot_wait)
{
	coro_scheduler *s = start_with(1, 0);

	resumes_by_hand(NULL, NULL);
	spawn(s, resumes_by_hand, NULL, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(done, 2);
	finish(s);
}

/* A Go function that is called inline runs on a worker's native stack. */
static void as_inline_call(struct coroi_worker *w)
{
	(void)w;
	by_hand(NULL, 0);
}

static void calls_inline(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_call_go_inline(1, NULL, 0, NULL, 0, NULL), CORO_OK);
}

TEST(sync_inline_calls_cannot_wait)
{
	stand_in(as_inline_call);
	coro_scheduler *s = start_with(1, 0);
	coroi_border(s)->bell.go_id = 1;
	spawn(s, calls_inline, NULL, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(done, 1);
	finish(s);
}

/* ------------------------------------------------------------------------- objects with waiters */

static coro_sem sem;
static coro_mutex mutex;
static coro_rwlock rwlock;
static coro_cond cond;
static coro_latch latch;
static uint64_t total;

static void waits_at(void *arg, void *result)
{
	uint64_t what;
	int status;
	(void)result;

	memcpy(&what, arg, 8);
	switch (what) {
	case 0:
		status = coro_sem_acquire(&sem, CORO_FOREVER);
		break;
	case 1:
		CHECK_EQ(coro_mutex_unlock(&mutex), CORO_EPERM); /* another has the lock */
		status = coro_mutex_lock(&mutex, CORO_FOREVER);
		if (!status)
			CHECK_EQ(coro_mutex_unlock(&mutex), CORO_OK);
		break;
	case 2:
	case 3:
		CHECK_EQ(coro_rwlock_unlock(&rwlock), CORO_EPERM); /* another writes */
		status = what == 2 ? coro_rwlock_read(&rwlock, CORO_FOREVER)
				   : coro_rwlock_write(&rwlock, CORO_FOREVER);
		if (!status)
			CHECK_EQ(coro_rwlock_unlock(&rwlock), CORO_OK);
		break;
	case 4: {
		coro_mutex own = {0};
		CHECK_EQ(coro_mutex_lock(&own, 0), CORO_OK);
		status = coro_cond_wait(&cond, &own, CORO_FOREVER);
		CHECK_EQ(coro_mutex_unlock(&own), CORO_OK);
		break;
	}
	default:
		status = coro_latch_wait(&latch, CORO_FOREVER);
	}
	CHECK(status == CORO_OK || status == CORO_ECANCELED);
	add_one(status ? &total : &done);
}

static void start_waiting(coro_scheduler *s)
{
	memset(&sem, 0, sizeof sem);
	memset(&mutex, 0, sizeof mutex);
	memset(&rwlock, 0, sizeof rwlock);
	memset(&cond, 0, sizeof cond);
	done = total = 0;
	CHECK_EQ(coro_mutex_lock(&mutex, 0), CORO_OK);
	CHECK_EQ(coro_rwlock_write(&rwlock, 0), CORO_OK);
	CHECK_EQ(coro_latch_init(&latch, 1, 0), CORO_OK);
	for (uint64_t i = 0; i < 24; i++) {
		uint64_t what = i % 6;
		spawn(s, waits_at, &what, 8);
	}
	until_waiting(s, 24);
}

TEST(sync_destroying_what_is_waited_at)
{
	coro_scheduler *s = start_with(2, 0);

	start_waiting(s);
	CHECK_EQ(coro_sem_destroy(&sem), CORO_EBUSY);
	CHECK_EQ(coro_mutex_destroy(&mutex), CORO_EBUSY);
	CHECK_EQ(coro_rwlock_destroy(&rwlock), CORO_EBUSY);
	CHECK_EQ(coro_cond_destroy(&cond), CORO_EBUSY);
	CHECK_EQ(coro_latch_destroy(&latch), CORO_EBUSY);
	CHECK_EQ(coro_sem_release(&sem, 5), CORO_OK); /* one more than wait */
	CHECK_EQ(coro_mutex_unlock(&mutex), CORO_OK);
	CHECK_EQ(coro_rwlock_unlock(&rwlock), CORO_OK);
	CHECK_EQ(coro_cond_signal(&cond), CORO_OK);
	until_waiting(s, 7); /* those at the condition and the latch */
	CHECK_EQ(coro_cond_broadcast(&cond), CORO_OK);
	CHECK_EQ(coro_latch_add(&latch, -1), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(done, 24);
	CHECK_EQ(coro_sem_acquire(&sem, 0), CORO_OK);
	CHECK_EQ(coro_sem_acquire(&sem, 0), CORO_ETIMEDOUT);
	CHECK_EQ(coro_sem_destroy(&sem), CORO_OK);
	CHECK_EQ(coro_mutex_destroy(&mutex), CORO_OK);
	CHECK_EQ(coro_rwlock_destroy(&rwlock), CORO_OK);
	CHECK_EQ(coro_cond_destroy(&cond), CORO_OK);
	CHECK_EQ(coro_latch_destroy(&latch), CORO_OK);
	finish(s);
}

/* Nothing was taken: the objects are as if nobody had waited. */
TEST(sync_close_with_cancel_ends_all_waits)
{
	for (uint32_t workers = 1; workers <= 3; workers++) {
		coro_scheduler *s = start_with(workers, 0);
		start_waiting(s);
		CHECK_EQ(coro_scheduler_close(s, 1), CORO_OK);
		CHECK_EQ(done, 0);
		CHECK_EQ(total, 24);
		CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
		CHECK_EQ(coro_mutex_unlock(&mutex), CORO_OK);
		CHECK_EQ(coro_rwlock_unlock(&rwlock), CORO_OK);
		CHECK_EQ(coro_sem_destroy(&sem), CORO_OK);
		CHECK_EQ(coro_mutex_destroy(&mutex), CORO_OK);
		CHECK_EQ(coro_rwlock_destroy(&rwlock), CORO_OK);
		CHECK_EQ(coro_cond_destroy(&cond), CORO_OK);
		CHECK_EQ(coro_latch_destroy(&latch), CORO_OK);
	}
}

/* ---------------------------------------------------------------------------- bound to a worker */

struct home {
	coro_sem sem;
	coro_mutex mutex;
	coro_rwlock rwlock;
	coro_cond cond;
	coro_latch latch;
};

static struct home home;

static void makes_home(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_sem_init(&home.sem, 1, CORO_HOME), CORO_OK);
	CHECK_EQ(coro_mutex_init(&home.mutex, CORO_HOME), CORO_OK);
	CHECK_EQ(coro_rwlock_init(&home.rwlock, CORO_HOME), CORO_OK);
	CHECK_EQ(coro_cond_init(&home.cond, CORO_HOME), CORO_OK);
	CHECK_EQ(coro_latch_init(&home.latch, 1, CORO_HOME), CORO_OK);
	add_one(&done);
}

static void end_home(int want)
{
	CHECK_EQ(coro_sem_destroy(&home.sem), want);
	CHECK_EQ(coro_mutex_destroy(&home.mutex), want);
	CHECK_EQ(coro_rwlock_destroy(&home.rwlock), want);
	CHECK_EQ(coro_cond_destroy(&home.cond), want);
	CHECK_EQ(coro_latch_destroy(&home.latch), want);
}

/* uses_home - each call returns `want`; unless that is CORO_OK, nothing has changed. */
static void uses_home(int want)
{
	CHECK_EQ(coro_sem_acquire(&home.sem, CORO_FOREVER), want);
	CHECK_EQ(coro_sem_release(&home.sem, 1), want);
	CHECK_EQ(coro_mutex_lock(&home.mutex, CORO_FOREVER), want);
	CHECK_EQ(coro_cond_wait(&home.cond, &home.mutex, 0), want ? want : CORO_ETIMEDOUT);
	CHECK_EQ(coro_mutex_unlock(&home.mutex), want);
	CHECK_EQ(coro_rwlock_read(&home.rwlock, CORO_FOREVER), want);
	CHECK_EQ(coro_rwlock_unlock(&home.rwlock), want);
	CHECK_EQ(coro_rwlock_write(&home.rwlock, CORO_FOREVER), want);
	CHECK_EQ(coro_rwlock_unlock(&home.rwlock), want);
	CHECK_EQ(coro_cond_signal(&home.cond), want);
	CHECK_EQ(coro_cond_broadcast(&home.cond), want);
	CHECK_EQ(coro_latch_add(&home.latch, 1), want);
	CHECK_EQ(coro_latch_add(&home.latch, -1), want);
	CHECK_EQ(coro_latch_wait(&home.latch, 0), want ? want : CORO_ETIMEDOUT);
	if (want)
		end_home(want);
	add_one(&done);
}

static void is_not_home(void *arg, void *result)
{
	(void)arg;
	(void)result;
	uses_home(CORO_EPERM);
}

static intptr_t is_not_home_by_hand(void *arg, intptr_t first)
{
	(void)arg;
	(void)first;
	uses_home(CORO_EPERM);
	return 0;
}

static void is_home(void *arg, void *result)
{
	coro_t *co;
	(void)arg;
	(void)result;

	uses_home(CORO_OK);
	CHECK_EQ(coro_new(&co, is_not_home_by_hand, NULL, STACK), CORO_OK);
	CHECK_EQ(coro_resume(co, 0, NULL), CORO_FINISHED);
	CHECK_EQ(coro_free(co), CORO_OK);
	CHECK_EQ(coro_unpin(), CORO_OK);
	uses_home(CORO_EPERM);
	CHECK_EQ(coro_pin(0), CORO_OK);
	uses_home(CORO_OK);
}

TEST(sync_home_is_for_those_pinned_there)
{
	coro_scheduler *s = start_with(2, 0), *other = start_with(1, 0);
	coro_attr first = {.size = sizeof first, .worker = 1},
		  second = {.size = sizeof second, .worker = 2};

	CHECK_EQ(coro_scheduler_spawn(s, &first, makes_home, NULL, 0, NULL), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	uses_home(CORO_EPERM);
	CHECK_EQ(coro_scheduler_spawn(s, &first, is_home, NULL, 0, NULL), CORO_OK);
	CHECK_EQ(coro_scheduler_spawn(s, &second, is_not_home, NULL, 0, NULL), CORO_OK);
	CHECK_EQ(coro_scheduler_spawn(s, NULL, is_not_home, NULL, 0, NULL), CORO_OK);
	CHECK_EQ(coro_scheduler_spawn(other, &first, is_not_home, NULL, 0, NULL), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(other), CORO_OK);
	CHECK_EQ(done, 9);
	finish(other);
	end_home(CORO_EPERM);
	finish(s);
	CHECK_EQ(coro_sem_acquire(&home.sem, 0), CORO_EPERM); /* nobody can use it any more */
	end_home(CORO_OK);
	end_home(CORO_EINVAL);
}

static void uses_what_is_gone_at_home(void *arg, void *result)
{
	coro_sem sem;
	coro_chan *c;
	uint64_t value = 1;
	(void)arg;
	(void)result;

	CHECK_EQ(coro_sem_init(&sem, 1, CORO_HOME), CORO_OK);
	CHECK_EQ(coro_sem_acquire(&sem, CORO_FOREVER), CORO_OK);
	CHECK_EQ(coro_sem_destroy(&sem), CORO_OK);
	CHECK_EQ(coro_sem_acquire(&sem, CORO_FOREVER), CORO_EINVAL);
	CHECK_EQ(coro_sem_release(&sem, 1), CORO_EINVAL);
	CHECK_EQ(coro_sem_destroy(&sem), CORO_EINVAL);
	CHECK_EQ(coro_chan_new(&c, 8, 1, CORO_HOME), CORO_OK);
	CHECK_EQ(coro_chan_send(c, &value, CORO_FOREVER), CORO_OK);
	CHECK_EQ(coro_chan_free(c), CORO_OK);
	add_one(&done);
}

TEST(waits_at_what_is_gone_at_home)
{
	coro_attr first = on(1);
	done = 0;
	run_alone(start_with(1, 0), &first, uses_what_is_gone_at_home);
	CHECK_EQ(seen(&done), 1);
}
