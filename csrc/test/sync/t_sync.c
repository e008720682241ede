/*
 * t_sync.c - semaphores, mutexes, reader-writer locks, conditions, latches and once.
 */
#include "gostand.h"

#include "kernel/gocall.h"
#include "kernel/worker.h"

#include <string.h>

#define MS UINT64_C(1000000)

static uint64_t done;

static void add(uint64_t *n)
{
	__atomic_add_fetch(n, 1, __ATOMIC_RELAXED);
}

/* ------------------------------------------------------------------------ a strict ring of
 * semaphores */

enum { RING = 8 };

struct ring {
	coro_sem sem[RING];
	uint64_t rounds, at;
	uint32_t next, home;
};

static struct ring rings[4];

static void member(void *arg, void *result)
{
	struct ring *r;
	(void)result;

	memcpy(&r, arg, 8);
	uint32_t i = __atomic_fetch_add(&r->next, 1, __ATOMIC_RELAXED);
	for (uint64_t k = 0; k < r->rounds; k++) {
		CHECK_EQ(coro_sem_acquire(&r->sem[i], CORO_FOREVER), CORO_OK);
		CHECK_EQ(r->at % RING, i); /* one token: nobody else writes */
		r->at++;
		CHECK_EQ(coro_sem_release(&r->sem[(i + 1) % RING], 1), CORO_OK);
	}
	add(&done);
}

static void starts_ring(void *arg, void *result)
{
	struct ring *r;
	(void)result;

	memcpy(&r, arg, 8);
	coro_attr here = {.size = sizeof here, .worker = r->home ? CORO_HERE : 0};
	for (int i = 0; i < RING; i++) {
		CHECK_EQ(coro_sem_init(&r->sem[i], i == 0, r->home ? CORO_HOME : 0), CORO_OK);
	}
	for (int i = 0; i < RING; i++)
		CHECK_EQ(coro_spawn_attr(&here, member, arg, 8, NULL), CORO_OK);
}

static void ring(uint32_t workers, uint32_t home)
{
	coro_scheduler *s = start_with(workers, CORO_PAUSED);
	struct ring *r = &rings[0];

	memset(r, 0, sizeof *r);
	r->rounds = scaled(20000);
	r->home = home;
	done = 0;
	coro_attr a = {.size = sizeof a, .worker = home ? 1 : 0};
	CHECK_EQ(coro_scheduler_spawn(s, &a, starts_ring, &r, 8, NULL), CORO_OK);
	uint64_t began = now_ns();
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	report("%u workers, %s: %.1f ns a hand-over", workers, home ? "home" : "shared",
	       (double)(now_ns() - began) / (double)(r->rounds * RING));
	CHECK_EQ(done, RING);
	CHECK_EQ(r->at, r->rounds * RING);
	finish(s);
}

TEST(sync_ring_of_semaphores)
{
	for (uint32_t workers = 1; workers <= 3; workers++) {
		ring(workers, 0);
		ring(workers, 1);
	}
}

/* ----------------------------------------------------------------------------------- exclusion */

static coro_mutex mutex;
static uint64_t inside, total;

static void increments(void *arg, void *result)
{
	uint64_t n;
	(void)result;

	memcpy(&n, arg, 8);
	for (uint64_t i = 0; i < n; i++) {
		CHECK_EQ(coro_mutex_lock(&mutex, CORO_FOREVER), CORO_OK);
		CHECK_EQ(inside++, 0);
		total++;
		if (i % 16 == 0)
			coro_yield();
		CHECK_EQ(--inside, 0);
		CHECK_EQ(coro_mutex_unlock(&mutex), CORO_OK);
	}
}

static void *increments_as_thread(void *arg)
{
	increments(arg, NULL);
	return NULL;
}

TEST(sync_mutex_excludes_coroutines_and_threads)
{
	coro_scheduler *s = start_with(3, 0);
	uint64_t n = scaled(20000);
	pthread_t t[2];

	for (int i = 0; i < 16; i++)
		spawn(s, increments, &n, 8);
	for (int i = 0; i < 2; i++)
		thread_start(&t[i], increments_as_thread, &n);
	for (int i = 0; i < 2; i++)
		thread_join(t[i]);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(total, 18 * n);
	CHECK_EQ(coro_mutex_destroy(&mutex), CORO_OK);
	CHECK_EQ(coro_mutex_lock(&mutex, 0), CORO_EINVAL);
	finish(s);
}

/* --------------------------------------------------------------------------------------- misuse */

/* The calls that may wait find that they would have to, with any deadline that has passed. */
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
	for (int i = 0; i < 3; i++) /* nothing of that has changed it */
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
	CHECK_EQ(coro_cond_signal(&c), CORO_OK); /* it is not remembered */
	CHECK_EQ(coro_cond_broadcast(&c), CORO_OK);
	CHECK_EQ(coro_mutex_lock(&m, 0), CORO_OK);
	for (int i = 0; i < 4; i++) {
		CHECK_EQ(coro_cond_wait(&c, &m, past(i)), CORO_ETIMEDOUT);
		CHECK_EQ(coro_mutex_lock(&m, 0), CORO_EDEADLK); /* it is locked */
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
	CHECK_EQ(coro_latch_add(&l, 1), CORO_OK); /* and again */
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
	/* what it does is no waiting */
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
	add(&done);
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

/* ------------------------------------------------------------------------------ who may not
 * wait */

/* In a coroutine resumed by hand nobody can wait, nor own anything; what is there can be had. */
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
	CHECK_EQ(coro_sem_destroy(&s), CORO_OK); /* none waits */
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
	add(&done);
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

/* A Go function that is called inline is on a worker's own stack. */
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
	s->bell.go_id = 1;
	spawn(s, calls_inline, NULL, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(done, 1);
	finish(s);
}

/* -------------------------------------------------------------------------- objects that are
 * waited at */

static coro_sem sem;
static coro_rwlock rwlock;
static coro_cond cond;
static coro_latch latch;

static void await_blocked(coro_scheduler *s, size_t n)
{
	until_waiting(s, n);
}

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
		CHECK_EQ(coro_mutex_unlock(&mutex), CORO_EPERM); /* another's */
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
	add(status ? &total : &done);
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
	await_blocked(s, 24);
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
	CHECK_EQ(coro_sem_release(&sem, 5), CORO_OK); /* and one more than wait */
	CHECK_EQ(coro_mutex_unlock(&mutex), CORO_OK);
	CHECK_EQ(coro_rwlock_unlock(&rwlock), CORO_OK);
	CHECK_EQ(coro_cond_signal(&cond), CORO_OK);
	await_blocked(s, 7); /* at the condition and the latch */
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

/* ------------------------------------------------------------------------------------ who is
 * first */

static uint32_t order[32], served;

static void waits_in_turn(void *arg, void *result)
{
	uint64_t i;
	(void)result;

	memcpy(&i, arg, 8);
	/* Every third leaves the queue again. */
	int status = coro_sem_acquire(&sem, i % 3 == 2 ? coro_now() + MS : CORO_FOREVER);
	CHECK_EQ(status, i % 3 == 2 ? CORO_ETIMEDOUT : CORO_OK);
	if (!status)
		order[served++] = (uint32_t)i;
}

static void releases_in_turn(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_sleep(50 * MS), CORO_OK);
	for (uint32_t i = 0; i < 20; i++) {
		CHECK_EQ(served, i);
		CHECK_EQ(coro_sem_release(&sem, 1), CORO_OK);
		CHECK_EQ(coro_sem_acquire(&sem, 0), CORO_ETIMEDOUT); /* it is committed */
		coro_yield();
	}
}

TEST(sync_first_come_first_served)
{
	coro_scheduler *s = start_with(1, CORO_PAUSED);

	for (uint64_t i = 0; i < 30; i++)
		spawn(s, waits_in_turn, &i, 8);
	spawn(s, releases_in_turn, NULL, 0);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK_EQ(served, 20);
	for (uint32_t i = 1; i < 20; i++)
		CHECK(order[i] > order[i - 1]);
	finish(s);
}

/* ---------------------------------------------------------------------------- readers and
 * writers */

static void reads_together(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_rwlock_read(&rwlock, CORO_FOREVER), CORO_OK);
	CHECK_EQ(coro_latch_add(&latch, -1), CORO_OK);
	CHECK_EQ(coro_latch_wait(&latch, CORO_FOREVER), CORO_OK); /* until all are in */
	CHECK_EQ(coro_rwlock_unlock(&rwlock), CORO_OK);
	add(&done);
}

static void writes_if_in_time(void *arg, void *result)
{
	uint64_t ns;
	(void)result;

	memcpy(&ns, arg, 8);
	int status = coro_rwlock_write(&rwlock, ns ? coro_now() + ns : CORO_FOREVER);
	CHECK(status == CORO_ETIMEDOUT || status == CORO_ECANCELED);
	add(&total);
}

/* A writer that is cancelled, or comes too late, lets the readers behind it through. */
TEST(sync_writer_that_leaves_makes_way)
{
	coro_scheduler *s = start_with(2, 0);

	for (int late = 0; late < 2; late++) {
		uint64_t ns = late ? 50 * MS : 0;
		coro_handle writer;
		done = total = 0;
		CHECK_EQ(coro_latch_init(&latch, 10, 0), CORO_OK);
		CHECK_EQ(coro_rwlock_read(&rwlock, 0), CORO_OK);
		CHECK_EQ(coro_scheduler_spawn(s, NULL, writes_if_in_time, &ns, 8, &writer),
			 CORO_OK);
		if (!late)
			await_blocked(s, 1);
		for (int i = 0; i < 10; i++)
			spawn(s, reads_together, NULL, 0);
		if (!late) {
			await_blocked(s, 11);
			CHECK_EQ(coro_rwlock_read(&rwlock, 0), CORO_ETIMEDOUT);
			CHECK_EQ(coro_cancel(writer), CORO_OK);
		}
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(done, 10);
		CHECK_EQ(total, 1);
		CHECK_EQ(coro_rwlock_unlock(&rwlock), CORO_OK);
		CHECK_EQ(coro_rwlock_write(&rwlock, 0), CORO_OK);
		CHECK_EQ(coro_rwlock_unlock(&rwlock), CORO_OK);
	}
	finish(s);
}

/* ------------------------------------------------------------------------ with threads beside
 * them */

static coro_once once;
static uint64_t begun;

static void happens(void *arg)
{
	add(arg);
	coro_sleep(MS); /* not in a thread */
	total = 1;
}

static coro_handle doer;

static void happens_later(void *arg)
{
	doer = coro_self();
	CHECK_EQ(coro_park(), CORO_OK);
	add(arg);
}

static void does_it(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_once_do(&once, happens_later, &begun, CORO_FOREVER), CORO_OK);
	CHECK_EQ(begun, 1);
	add(&done);
}

static void is_impatient(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_once_do(&once, happens_later, &begun, 0), CORO_ETIMEDOUT);
	CHECK_EQ(coro_once_do(&once, happens_later, &begun, coro_now() + 1000), CORO_ETIMEDOUT);
	add(&total);
}

TEST(sync_once_is_waited_for)
{
	coro_scheduler *s = start_with(2, 0);
	coro_blocked b[6];
	uint32_t waiting = 0;

	begun = done = total = 0;
	spawn(s, does_it, NULL, 0);
	while (coro_scheduler_blocked(s, b, 1) != 1 || b[0].waits != CORO_WAIT_PARK)
		sleep_us(50);
	spawn(s, is_impatient, NULL, 0);
	for (int i = 0; i < 5; i++)
		spawn(s, does_it, NULL, 0);
	while (waiting != 5) {
		waiting = 0;
		for (size_t i = 0, n = coro_scheduler_blocked(s, b, 6); i < n && i < 6; i++)
			waiting += b[i].waits == CORO_WAIT_ONCE && b[i].handle != doer;
		waiting = stats(s).live == 6 ? waiting : 0;
		sleep_us(50);
	}
	CHECK_EQ(done, 0);
	CHECK_EQ(total, 1);
	CHECK_EQ(coro_wake(doer), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(begun, 1);
	CHECK_EQ(done, 6);
	finish(s);
}

static uint64_t room, taken;
enum { ROOM = 4 };

/* A bounded buffer of nothing: makers and takers wait for each other at a condition. */
static void makes_or_takes(void *arg, void *result)
{
	uint64_t n;
	bool makes;
	(void)result;

	memcpy(&n, arg, 8);
	makes = n & 1;
	CHECK_EQ(coro_once_do(&once, happens, &begun, CORO_FOREVER), CORO_OK);
	CHECK_EQ(total, 1);
	for (n >>= 1; n; n--) {
		CHECK_EQ(coro_mutex_lock(&mutex, CORO_FOREVER), CORO_OK);
		while (makes ? room == ROOM : room == 0)
			CHECK_EQ(coro_cond_wait(&cond, &mutex, CORO_FOREVER), CORO_OK);
		room += makes ? 1 : (uint64_t)-1;
		taken += !makes;
		CHECK_EQ(coro_cond_broadcast(&cond), CORO_OK);
		CHECK_EQ(coro_mutex_unlock(&mutex), CORO_OK);
	}
	CHECK_EQ(coro_latch_add(&latch, -1), CORO_OK);
	CHECK_EQ(coro_latch_wait(&latch, CORO_FOREVER), CORO_OK);
	CHECK_EQ(room, 0);
	add(&done);
}

static void *makes_or_takes_as_thread(void *arg)
{
	makes_or_takes(arg, NULL);
	return NULL;
}

TEST(sync_threads_and_coroutines_wait_for_each_other)
{
	for (uint32_t workers = 1; workers <= 3; workers++) {
		coro_scheduler *s = start_with(workers, 0);
		uint64_t n = scaled(1000), what[4];
		pthread_t t[4];
		memset(&once, 0, sizeof once);
		done = total = begun = taken = 0;
		CHECK_EQ(coro_latch_init(&latch, 12, 0), CORO_OK);
		for (uint64_t i = 0; i < 4; i++) {
			what[i] = n << 1 | (i & 1);
			thread_start(&t[i], makes_or_takes_as_thread, &what[i]);
		}
		for (uint64_t i = 0; i < 8; i++)
			spawn(s, makes_or_takes, &what[i & 1], 8);
		for (int i = 0; i < 4; i++)
			thread_join(t[i]);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(done, 12);
		CHECK_EQ(begun, 1);
		CHECK_EQ(taken, 6 * n);
		finish(s);
	}
}

/* ------------------------------------------------------------------------------ bound to a
 * worker */

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
	add(&done);
}

static void end_home(int want)
{
	CHECK_EQ(coro_sem_destroy(&home.sem), want);
	CHECK_EQ(coro_mutex_destroy(&home.mutex), want);
	CHECK_EQ(coro_rwlock_destroy(&home.rwlock), want);
	CHECK_EQ(coro_cond_destroy(&home.cond), want);
	CHECK_EQ(coro_latch_destroy(&home.latch), want);
}

/* want: what each call is to return, and it changes nothing then. */
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
	add(&done);
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
	CHECK_EQ(coro_sem_acquire(&home.sem, 0), CORO_EPERM); /* to be used by nobody any more */
	end_home(CORO_OK);
	end_home(CORO_EINVAL);
}
