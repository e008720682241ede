/*
 * t_gowait.c - goroutines that wait at objects, with a stand-in for Go: what each gets, which of
 * them is told, and which gives up.
 */
#include "test.h"

#include "border/gobell.h"
#include "kernel/service.h"
#include "sync/cond.h"
#include "sync/gochan.h"
#include "sync/latch.h"
#include "sync/mutex.h"
#include "sync/once.h"
#include "sync/rwlock.h"
#include "sync/select.h"
#include "sync/sem.h"
#include "border/goworker.h"
#include "border/state.h"

#include <string.h>
#include <unistd.h>

static coro_scheduler *s; /* the one that wakes the goroutines */
static int bell;

static void go_begin(void)
{
	s = start_with(1, 0);
	bell = coroi_bell_open(s);
	CHECK(bell >= 0);
}

static void go_end(void)
{
	finish(s); /* this closes the bell */
}

static bool is_rung(void)
{
	uint64_t n;
	return read(bell, &n, sizeof n) == sizeof n;
}

/* heard - the ids of all that were woken since the last call, a bit for each. If Go slept, the bell
 * was rung. */
static uint32_t heard(void)
{
	uint32_t ids = 0;

	for (uint64_t node = at_xchg(coroi_gowaiters(s), 0); node;) {
		struct coroi_gowaiter *g = (struct coroi_gowaiter *)(uintptr_t)node;
		node = g->next;
		ids |= 1u << g->id;
	}
	CHECK_EQ(is_rung(), ids != 0);
	at_xchg(&coroi_border(s)->bell.go_sleeps, 1);
	return ids;
}

/* gowaiter - a goroutine with an id, which may send the value. */
static struct coroi_gowaiter *gowaiter(uint32_t id, size_t bytes, uint64_t value)
{
	struct coroi_gowaiter *g = coroi_gowaiter_new(s, id, NULL, 0, bytes);

	CHECK(g);
	if (bytes == 8)
		memcpy(g->value, &value, 8);
	at_xchg(&coroi_border(s)->bell.go_sleeps, 1);
	return g;
}

static uint64_t value_of(const struct coroi_gowaiter *g)
{
	uint64_t value;
	memcpy(&value, g->value, 8);
	return value;
}

/* waits - check that nothing has happened to g. */
static void waits(const struct coroi_gowaiter *g)
{
	CHECK_EQ(g->fired, 0);
	CHECK_EQ(heard(), 0);
}

/* woken - check that g alone was woken, with that status. */
static void woken(struct coroi_gowaiter *g, int status)
{
	CHECK_EQ(heard(), 1u << g->id);
	CHECK_EQ(g->fired, 1);
	CHECK_EQ(g->x.status, status);
	CHECK(!coroi_gowaiter_withdraw(g));
	coroi_gowaiter_free(g);
}

/* gives_up - g stops waiting, and is told nothing afterwards. */
static void gives_up(struct coroi_gowaiter *g)
{
	waits(g);
	CHECK(coroi_gowaiter_withdraw(g));
	coroi_gowaiter_free(g);
}

TEST(gowaiter_without_memory)
{
	go_begin();
	fail_alloc = 0;
	CHECK(!coroi_gowaiter_new(s, 1, NULL, 0, 8));
	go_end();
}

/* ------------------------------------------------------------------------------------- channels */

TEST(gowaiter_passes_values)
{
	uint64_t v = 7, got = 0;
	coro_chan *c;

	go_begin();
	CHECK_EQ(coro_chan_new(&c, 8, 0, 0), CORO_OK);
	struct coroi_gowaiter *g = gowaiter(1, 8, 0);
	CHECK_EQ(coroi_chan_recv_gowaiter(c, g), COROI_WAITS);
	waits(g);
	CHECK_EQ(coro_chan_send(c, &v, 0), CORO_OK);
	CHECK_EQ(value_of(g), 7);
	woken(g, CORO_OK);

	g = gowaiter(2, 8, 9);
	CHECK_EQ(coroi_chan_send_gowaiter(c, g), COROI_WAITS);
	CHECK_EQ(coro_chan_recv(c, &got, 0), CORO_OK);
	CHECK_EQ(got, 9);
	woken(g, CORO_OK);

	/* one goroutine gives the value to the other */
	struct coroi_gowaiter *other = gowaiter(3, 8, 11);
	g = gowaiter(4, 8, 0);
	CHECK_EQ(coroi_chan_recv_gowaiter(c, g), COROI_WAITS);
	CHECK_EQ(coroi_chan_send_gowaiter(c, other), CORO_OK);
	CHECK_EQ(value_of(g), 11);
	CHECK_EQ(other->fired, 0);
	woken(g, CORO_OK);
	coroi_gowaiter_free(other);

	g = gowaiter(5, 8, 0);
	CHECK_EQ(coroi_chan_recv_gowaiter(c, g), COROI_WAITS);
	CHECK_EQ(coro_chan_free(c), CORO_EBUSY);
	gives_up(g);
	CHECK_EQ(coro_chan_send(c, &v, 0), CORO_ETIMEDOUT);

	g = gowaiter(6, 8, 1);
	CHECK_EQ(coroi_chan_send_gowaiter(c, g), COROI_WAITS);
	CHECK_EQ(coro_chan_close(c), CORO_OK);
	woken(g, CORO_ECLOSED);
	g = gowaiter(7, 8, 1);
	CHECK_EQ(coroi_chan_send_gowaiter(c, g), CORO_ECLOSED);
	CHECK_EQ(coroi_chan_recv_gowaiter(c, g), CORO_ECLOSED);
	waits(g);
	coroi_gowaiter_free(g);
	CHECK_EQ(coro_chan_free(c), CORO_OK);
	go_end();
}

/* A goroutine that comes to a closed channel does not wait. */
TEST(gowaiter_does_not_wait_at_a_closed_channel)
{
	coro_scheduler *s = start_with(1, 0);
	struct coroi_gowaiter *g = coroi_gowaiter_new(s, 1, NULL, 0, 8);
	coro_chan *c;

	CHECK(g);
	CHECK_EQ(coro_chan_new(&c, 8, 0, 0), CORO_OK);
	CHECK_EQ(coro_chan_close(c), CORO_OK);
	CHECK_EQ(coroi_chan_send_gowaiter(c, g), CORO_ECLOSED);
	CHECK_EQ(coroi_chan_recv_gowaiter(c, g), CORO_ECLOSED);
	CHECK_EQ(coro_chan_free(c), CORO_OK);
	coroi_gowaiter_free(g);
	finish(s);
}

/* What needs neither a wake-up nor a wait needs no cgo. The sanitizers' builds have none of
 * this. */
#if defined(COROI_STRESS) || defined(COROI_ASAN) || defined(COROI_TSAN)
#define BY_LEAF(status) COROI_BY_CALL
#else
#define BY_LEAF(status) (status)
#endif

/* Of the values that pass an end, those are sampled whose number has no bit of the mask. */
TEST(gowaiter_leaves_sample)
{
	coro_chan *c;
	uint64_t v = 3;

	go_begin();
	CHECK_EQ(coro_chan_new(&c, 8, 4, 0), CORO_OK);
	coroi_chan_keep(c);
	for (uint32_t i = 1; i <= 200; i++) {
		uint32_t mask = i <= 100 ? COROI_SAMPLES : 3;
		int want = i & mask ? CORO_OK : COROI_SAMPLED;
		(void)want; /* in a build whose leaves do nothing */
		coroi_chan_set_sample(c, (uint8_t)mask);
		CHECK_EQ(coroi_chan_send_leaf(c, &v), BY_LEAF(want));
		CHECK_EQ(coroi_chan_recv_leaf(c, &v), BY_LEAF(want));
	}
	CHECK_EQ(coroi_chan_recv_leaf(c, &v), BY_LEAF(CORO_ETIMEDOUT));
	coroi_chan_release(c);
	go_end();
}

TEST(gowaiter_passes_values_without_a_call)
{
	unsigned char large[COROI_LEAF_BYTES + 1] = {1}, text[21] = "twenty characters...",
					       copy[21] = "";
	uint64_t v = 3, got = 0;
	coro_chan *c, *wide, *odd;

	go_begin();
	CHECK_EQ(coro_chan_new(&c, 8, 2, 0), CORO_OK);
	coroi_chan_keep(c);
	CHECK_EQ(coroi_chan_recv_leaf(c, &got), BY_LEAF(CORO_ETIMEDOUT));
	for (int i = 0; i < 2; i++)
		CHECK_EQ(coroi_chan_send_leaf(c, &v), BY_LEAF(CORO_OK));
	CHECK_EQ(coroi_chan_send_leaf(c, &v), BY_LEAF(CORO_ETIMEDOUT));
	CHECK_EQ(coro_chan_length(c), BY_LEAF(CORO_OK) == CORO_OK ? 2 : 0);
	CHECK_EQ(coroi_object_enter((struct coroi_object *)c), CORO_OK); /* somebody has the lock */
	CHECK_EQ(coroi_chan_recv_leaf(c, &got), COROI_BY_CALL);
	coroi_object_leave((struct coroi_object *)c);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(coroi_chan_recv_leaf(c, &got), BY_LEAF(CORO_OK));
	CHECK_EQ(got, BY_LEAF(CORO_OK) == CORO_OK ? 3 : 0);

	struct coroi_gowaiter *g = gowaiter(1, 8, 0); /* a waiter, which is to be woken */
	CHECK_EQ(coroi_chan_recv_gowaiter(c, g), COROI_WAITS);
	CHECK_EQ(coroi_chan_send_leaf(c, &v), COROI_BY_CALL);
	gives_up(g);
	CHECK_EQ(coro_chan_close(c), CORO_OK);
	CHECK_EQ(coroi_chan_send_leaf(c, &v), BY_LEAF(CORO_ECLOSED));
	CHECK_EQ(coroi_chan_recv_leaf(c, &got), BY_LEAF(CORO_ECLOSED));
	CHECK_EQ(coro_chan_free(c), CORO_EPERM); /* Go holds the channel */
	coroi_chan_release(c);

	CHECK_EQ(coro_chan_new(&wide, sizeof large, 1, 0), CORO_OK);
	CHECK_EQ(coroi_chan_send_leaf(wide, large), COROI_BY_CALL);
	CHECK_EQ(coro_chan_free(wide), CORO_OK);
	CHECK_EQ(coro_chan_new(&odd, sizeof text, 1, 0), CORO_OK);
	coroi_chan_keep(odd);
	CHECK_EQ(coroi_chan_send_leaf(odd, text), BY_LEAF(CORO_OK));
	CHECK_EQ(coroi_chan_recv_leaf(odd, copy), BY_LEAF(CORO_OK));
	CHECK_EQ(memcmp(copy, text, sizeof text) == 0, BY_LEAF(CORO_OK) == CORO_OK);
	coroi_chan_release(odd);
	go_end();
}

/* --------------------------------------------------------------------------------------- select */

static uint64_t in, out;

/* chooses - g waits to receive from `from` or to send to `to`. */
static struct coroi_gowaiter *chooses(uint32_t id, coro_chan *from, coro_chan *to, int status)
{
	struct coroi_gowaiter *g = gowaiter(id, coroi_select_bytes(2), 0);
	coro_case *k = coroi_select_cases(g);

	in = 0;
	out = 100 + id;
	k[0] = (coro_case){.chan = from, .recv = &in};
	k[1] = (coro_case){.chan = to, .send = &out};
	CHECK_EQ(coroi_select_gowaiter(g, 2), status);
	return g;
}

static void has_chosen(struct coroi_gowaiter *g, int i, int status)
{
	CHECK_EQ(coroi_select_done(g), i);
	CHECK_EQ(coroi_select_cases(g)[i].status, status);
}

TEST(gowaiter_waits_for_one_of_several)
{
	uint64_t v = 5, got = 0;
	coro_chan *from, *to;

	go_begin();
	CHECK_EQ(coro_chan_new(&from, 8, 1, 0), CORO_OK);
	CHECK_EQ(coro_chan_new(&to, 8, 0, 0), CORO_OK);
	CHECK_EQ(coro_chan_send(from, &v, 0), CORO_OK);
	struct coroi_gowaiter *g = chooses(1, from, to, CORO_OK); /* at once */
	has_chosen(g, 0, CORO_OK);
	CHECK_EQ(in, 5);
	waits(g);
	coroi_gowaiter_free(g);

	g = chooses(2, from, to, COROI_WAITS);
	CHECK_EQ(coro_chan_send(from, &v, 0), CORO_OK);
	CHECK_EQ(heard(), 1u << 2);
	CHECK(!coroi_gowaiter_withdraw(g));
	has_chosen(g, 0, CORO_OK);
	CHECK_EQ(in, 5);
	coroi_gowaiter_free(g);
	CHECK_EQ(coro_chan_recv(to, &got, 0), CORO_ETIMEDOUT); /* g has left this queue, too */

	g = chooses(3, from, to, COROI_WAITS);
	CHECK_EQ(coro_chan_recv(to, &got, 0), CORO_OK);
	CHECK_EQ(got, 103);
	CHECK_EQ(heard(), 1u << 3);
	has_chosen(g, 1, CORO_OK);
	coroi_gowaiter_free(g);

	gives_up(chooses(4, from, to, COROI_WAITS));
	CHECK_EQ(coro_chan_recv(to, &got, 0), CORO_ETIMEDOUT);

	g = chooses(5, from, to, COROI_WAITS);
	CHECK_EQ(coro_chan_close(to), CORO_OK);
	CHECK_EQ(heard(), 1u << 5);
	has_chosen(g, 1, CORO_ECLOSED);
	coroi_gowaiter_free(g);

	coroi_gowaiter_free(chooses(6, NULL, to, CORO_EINVAL));
	CHECK_EQ(coro_chan_free(from), CORO_OK);
	CHECK_EQ(coro_chan_free(to), CORO_OK);
	go_end();
}

/* ----------------------------------------------------------------------------------- the others */

#define A (UINT64_C(8) | COROI_GOROUTINE)
#define B (UINT64_C(16) | COROI_GOROUTINE)
#define C (UINT64_C(24) | COROI_GOROUTINE)

TEST(gowaiter_acquires)
{
	coro_sem sem;

	go_begin();
	CHECK_EQ(coro_sem_init(&sem, 1, 0), CORO_OK);
	struct coroi_gowaiter *g = gowaiter(1, 0, 0);
	CHECK_EQ(coroi_sem_acquire_gowaiter(&sem, g), CORO_OK);
	CHECK_EQ(coroi_sem_acquire_gowaiter(&sem, g), COROI_WAITS);
	CHECK_EQ(coro_sem_release(&sem, 1), CORO_OK);
	woken(g, CORO_OK);
	g = gowaiter(2, 0, 0);
	CHECK_EQ(coroi_sem_acquire_gowaiter(&sem, g), COROI_WAITS);
	gives_up(g);
	CHECK_EQ(coro_sem_release(&sem, 1), CORO_OK);
	CHECK_EQ(coro_sem_acquire(&sem, 0), CORO_OK); /* the permit is there for others */
	CHECK_EQ(coro_sem_destroy(&sem), CORO_OK);
	go_end();
}

TEST(gowaiter_locks)
{
	coro_mutex m;

	go_begin();
	CHECK_EQ(coro_mutex_init(&m, 0), CORO_OK);
	struct coroi_gowaiter *g = gowaiter(1, 0, 0);
	CHECK_EQ(coroi_mutex_lock_gowaiter(&m, A, g), CORO_OK);
	CHECK_EQ(coroi_mutex_lock_gowaiter(&m, A, g), CORO_EDEADLK);
	CHECK_EQ(coroi_mutex_lock_gowaiter(&m, B, g), COROI_WAITS);
	CHECK_EQ(coroi_mutex_unlock_as(&m, B), CORO_EPERM);
	CHECK_EQ(coroi_mutex_unlock_as(&m, A), CORO_OK);
	woken(g, CORO_OK);
	CHECK_EQ(coro_mutex_lock(&m, 0), CORO_ETIMEDOUT); /* B has the lock */
	g = gowaiter(2, 0, 0);
	CHECK_EQ(coroi_mutex_lock_gowaiter(&m, C, g), COROI_WAITS);
	gives_up(g);
	CHECK_EQ(coroi_mutex_unlock_as(&m, B), CORO_OK);
	CHECK_EQ(coro_mutex_lock(&m, 0), CORO_OK);
	CHECK_EQ(coro_mutex_unlock(&m), CORO_OK);
	CHECK_EQ(coro_mutex_destroy(&m), CORO_OK);
	go_end();
}

TEST(gowaiter_locks_for_reading_and_writing)
{
	coro_rwlock l;

	go_begin();
	CHECK_EQ(coro_rwlock_init(&l, 0), CORO_OK);
	struct coroi_gowaiter *g = gowaiter(1, 0, 0), *other;
	CHECK_EQ(coroi_rwlock_lock_gowaiter(&l, true, A, g), CORO_OK);
	CHECK_EQ(coroi_rwlock_lock_gowaiter(&l, true, A, g), CORO_EDEADLK);
	CHECK_EQ(coroi_rwlock_lock_gowaiter(&l, false, B, NULL), CORO_ETIMEDOUT);
	CHECK_EQ(coroi_rwlock_lock_gowaiter(&l, false, B, g), COROI_WAITS);
	CHECK_EQ(coroi_rwlock_unlock_as(&l, false, A), CORO_EPERM);
	CHECK_EQ(coroi_rwlock_unlock_as(&l, true, B), CORO_EPERM);
	CHECK_EQ(coroi_rwlock_unlock_as(&l, true, A), CORO_OK);
	woken(g, CORO_OK);

	g = gowaiter(2, 0, 0);
	other = gowaiter(3, 0, 0);
	CHECK_EQ(coroi_rwlock_lock_gowaiter(&l, true, A, g), COROI_WAITS);
	/* behind the writer */
	CHECK_EQ(coroi_rwlock_lock_gowaiter(&l, false, C, other), COROI_WAITS);
	gives_up(g);
	woken(other, CORO_OK); /* the writer has left */
	CHECK_EQ(coroi_rwlock_unlock_as(&l, true, C), CORO_EPERM);
	CHECK_EQ(coroi_rwlock_unlock_as(&l, false, C), CORO_OK);
	CHECK_EQ(coroi_rwlock_unlock_as(&l, false, B), CORO_OK);
	CHECK_EQ(coroi_rwlock_unlock_as(&l, false, B), CORO_EPERM);
	CHECK_EQ(coro_rwlock_destroy(&l), CORO_OK);
	CHECK_EQ(coroi_rwlock_lock_gowaiter(&l, false, A, NULL), CORO_EINVAL);
	CHECK_EQ(coroi_rwlock_unlock_as(&l, false, A), CORO_EINVAL);
	go_end();
}

TEST(gowaiter_waits_for_a_condition)
{
	coro_mutex m;
	coro_cond c;

	go_begin();
	CHECK_EQ(coro_mutex_init(&m, 0), CORO_OK);
	CHECK_EQ(coro_cond_init(&c, 0), CORO_OK);
	struct coroi_gowaiter *g = gowaiter(1, 0, 0);
	CHECK_EQ(coroi_cond_wait_gowaiter(&c, &m, A, g), CORO_EPERM);
	CHECK_EQ(coroi_mutex_lock_gowaiter(&m, A, g), CORO_OK);
	CHECK_EQ(coroi_cond_wait_gowaiter(&c, &m, A, g), COROI_WAITS);
	CHECK_EQ(coro_mutex_lock(&m, 0), CORO_OK); /* the mutex is free during the wait */
	waits(g);
	CHECK_EQ(coro_cond_signal(&c), CORO_OK);
	woken(g, CORO_OK);
	CHECK_EQ(coro_mutex_unlock(&m), CORO_OK);
	CHECK_EQ(coro_cond_destroy(&c), CORO_OK);
	g = gowaiter(2, 0, 0);
	CHECK_EQ(coroi_mutex_lock_gowaiter(&m, A, g), CORO_OK);
	CHECK_EQ(coroi_cond_wait_gowaiter(&c, &m, A, g), CORO_EINVAL);
	CHECK_EQ(coroi_mutex_unlock_as(&m, A), CORO_OK); /* the mutex is still locked */
	coroi_gowaiter_free(g);
	CHECK_EQ(coro_mutex_destroy(&m), CORO_OK);
	go_end();
}

TEST(gowaiter_waits_for_a_latch)
{
	coro_latch l;

	go_begin();
	CHECK_EQ(coro_latch_init(&l, 1, 0), CORO_OK);
	struct coroi_gowaiter *g = gowaiter(1, 0, 0);
	CHECK_EQ(coroi_latch_wait_gowaiter(&l, NULL), CORO_ETIMEDOUT);
	CHECK_EQ(coroi_latch_wait_gowaiter(&l, g), COROI_WAITS);
	waits(g);
	CHECK_EQ(coro_latch_add(&l, -1), CORO_OK);
	woken(g, CORO_OK);
	CHECK_EQ(coroi_latch_wait_gowaiter(&l, NULL), CORO_OK);
	CHECK_EQ(coro_latch_destroy(&l), CORO_OK);
	CHECK_EQ(coroi_latch_wait_gowaiter(&l, NULL), CORO_EINVAL);
	go_end();
}

TEST(gowaiter_does_it_once)
{
	static coro_once o;

	go_begin();
	struct coroi_gowaiter *g = gowaiter(1, 0, 0);
	CHECK_EQ(coroi_once_begin_gowaiter(&o, A, NULL), COROI_YOURS);
	CHECK_EQ(coroi_once_begin_gowaiter(&o, A, g), CORO_EDEADLK);
	CHECK_EQ(coroi_once_begin_gowaiter(&o, B, NULL), CORO_ETIMEDOUT);
	CHECK_EQ(coroi_once_begin_gowaiter(&o, B, g), COROI_WAITS);
	waits(g);
	CHECK_EQ(coro_once_destroy(&o), CORO_EBUSY);
	coroi_once_end(&o);
	woken(g, CORO_OK);
	CHECK_EQ(coroi_once_begin_gowaiter(&o, C, NULL), CORO_OK);
	CHECK_EQ(coro_once_destroy(&o), CORO_OK);
	CHECK_EQ(coroi_once_begin_gowaiter(&o, C, NULL), CORO_EINVAL);
	CHECK_EQ(coro_once_destroy(&o), CORO_EINVAL);
	go_end();
}

/* -------------------------------------------------------------------- objects bound to a worker */

static struct {
	coro_chan *chan;
	coro_sem sem;
	coro_mutex mutex;
	coro_rwlock rwlock;
	coro_cond cond;
	coro_latch latch;
} bound;

static void binds(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_chan_new(&bound.chan, 8, 1, CORO_HOME), CORO_OK);
	CHECK_EQ(coro_sem_init(&bound.sem, 1, CORO_HOME), CORO_OK);
	CHECK_EQ(coro_mutex_init(&bound.mutex, CORO_HOME), CORO_OK);
	CHECK_EQ(coro_rwlock_init(&bound.rwlock, CORO_HOME), CORO_OK);
	CHECK_EQ(coro_cond_init(&bound.cond, CORO_HOME), CORO_OK);
	CHECK_EQ(coro_latch_init(&bound.latch, 0, CORO_HOME), CORO_OK);
	CHECK_EQ(coro_park(), CORO_OK);
	CHECK_EQ(coro_chan_free(bound.chan), CORO_OK);
}

TEST(gowaiter_is_refused_by_what_is_bound)
{
	coro_attr there = {.size = sizeof there, .worker = 1, .flags = CORO_JOINABLE};
	coro_mutex mutex;
	coro_handle h;

	go_begin();
	CHECK_EQ(coro_mutex_init(&mutex, 0), CORO_OK);
	CHECK_EQ(coro_scheduler_spawn(s, &there, binds, NULL, 0, &h), CORO_OK);
	until_waiting(s, 1);
	struct coroi_gowaiter *g = gowaiter(1, 8, 0),
			      *several = chooses(2, bound.chan, bound.chan, CORO_EPERM);
	CHECK_EQ(coroi_mutex_lock_gowaiter(&mutex, A, g), CORO_OK);
	CHECK_EQ(coroi_chan_send_gowaiter(bound.chan, g), CORO_EPERM);
	CHECK_EQ(coroi_chan_recv_gowaiter(bound.chan, g), CORO_EPERM);
	CHECK_EQ(coroi_sem_acquire_gowaiter(&bound.sem, g), CORO_EPERM);
	CHECK_EQ(coroi_mutex_lock_gowaiter(&bound.mutex, A, g), CORO_EPERM);
	CHECK_EQ(coroi_rwlock_lock_gowaiter(&bound.rwlock, false, A, g), CORO_EPERM);
	CHECK_EQ(coroi_cond_wait_gowaiter(&bound.cond, &mutex, A, g), CORO_EPERM);
	CHECK_EQ(coroi_latch_wait_gowaiter(&bound.latch, g), CORO_EPERM);
	waits(g);
	coroi_gowaiter_free(g);
	coroi_gowaiter_free(several);
	CHECK_EQ(coro_wake(h), CORO_OK);
	CHECK_EQ(coro_detach(h), CORO_OK);
	go_end();
}

/* ------------------------------------------------------------------------------------- the bell */

TEST(gowaiter_bell_rings_for_a_sleeper)
{
	go_begin();
	coroi_bell_ring(s);
	CHECK(!is_rung()); /* Go is awake */
	at_xchg(&coroi_border(s)->bell.go_sleeps, 1);
	coroi_bell_ring(s);
	CHECK(is_rung());
	coroi_bell_ring(s);
	CHECK(!is_rung()); /* Go has been told */
	coroi_services_canceled(s, NULL);
	CHECK_EQ(coroi_border(s)->calls.canceled, 1);
	CHECK(!is_rung());
	at_xchg(&coroi_border(s)->bell.go_sleeps, 1);
	coroi_services_canceled(s, NULL);
	CHECK(is_rung());
	go_end();
}

static void *drops(void *arg)
{
	coroi_bell_drop(arg);
	coroi_event_close(bell);
	return NULL;
}

/* A ringer may use the bell as long as it rings. */
TEST(gowaiter_bell_is_dropped_when_nobody_rings)
{
	pthread_t t;

	go_begin();
	at_add(&coroi_border(s)->bell.ringers, 1); /* as coroi_bell_ring does */
	CHECK_EQ((int)at_load_seq(&coroi_border(s)->bell.fd), bell);
	thread_start(&t, drops, s);
	while ((int)at_load_seq(&coroi_border(s)->bell.fd) != -1)
		sleep_us(50);
	for (int i = 0; i < 20; i++) { /* the drop waits for us */
		CHECK(!is_rung());
		coroi_event_ring(bell);
		CHECK(is_rung());
		sleep_us(50);
	}
	at_add(&coroi_border(s)->bell.ringers, -1);
	thread_join(t);
	at_xchg(&coroi_border(s)->bell.go_sleeps, 1);
	coroi_bell_ring(s); /* there is no bell any more */
	CHECK_EQ(coroi_border(s)->bell.ringers, 0);
	go_end();
}
