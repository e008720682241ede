/*
 * t_leaf.c - calls of goroutines without cgo at semaphores, locks and latches: those that need no
 * wake-up and no wait. Everything else is left to a call by cgo, misuse too. Channels: t_gowait.c.
 * The sanitizers' builds have none of these calls.
 */
#include "test.h"

#include "sync/gochan.h"
#include "sync/latch.h"
#include "sync/rwlock.h"
#include "sync/sem.h"

#if COROI_LEAVES
#define ONE   (UINT64_C(8) | COROI_GOROUTINE)
#define OTHER (UINT64_C(16) | COROI_GOROUTINE)

static const uint64_t one = ONE, other = OTHER;
static coro_scheduler *s;

/* somebody - a goroutine that is about to wait. */
static struct coroi_gowaiter *somebody(void)
{
	struct coroi_gowaiter *g = coroi_gowaiter_new(s, 1, NULL, 0, 0);

	CHECK(g);
	return g;
}

static void leaves(struct coroi_gowaiter *g)
{
	CHECK(coroi_gowaiter_withdraw(g));
	coroi_gowaiter_free(g);
}

/* HELD - make the call while somebody else has the lock of the object at p. The compiler does not
 * see the object's type: only some types have two locks. */
#define HELD(p, call)                                                 \
	({                                                            \
		struct coroi_object *o_ = (struct coroi_object *)(p); \
		__asm__("" : "+r"(o_));                               \
		CHECK_EQ(coroi_object_enter(o_), CORO_OK);            \
		int got_ = (call);                                    \
		coroi_object_leave(o_);                               \
		got_;                                                 \
	})

TEST(leaf_semaphores)
{
	coro_sem sem, full;

	s = start_with(1, 0);
	CHECK_EQ(coro_sem_init(&sem, 1, 0), CORO_OK);
	CHECK_EQ(coroi_sem_acquire_leaf(&sem, NULL), CORO_OK);
	CHECK_EQ(coroi_sem_acquire_leaf(&sem, NULL), CORO_ETIMEDOUT);
	CHECK_EQ(coroi_sem_release_leaf(&sem, NULL), CORO_OK);
	CHECK_EQ(HELD(&sem, coroi_sem_acquire_leaf(&sem, NULL)), COROI_BY_CALL);
	CHECK_EQ(HELD(&sem, coroi_sem_release_leaf(&sem, NULL)), COROI_BY_CALL);
	CHECK_EQ(coroi_sem_acquire_leaf(&sem, NULL), CORO_OK); /* nothing has changed meanwhile */
	CHECK_EQ(coroi_sem_acquire_leaf(&sem, NULL), CORO_ETIMEDOUT);

	struct coroi_gowaiter *g = somebody();
	CHECK_EQ(coroi_sem_acquire_gowaiter(&sem, g), COROI_WAITS);
	CHECK_EQ(coroi_sem_release_leaf(&sem, NULL), COROI_BY_CALL); /* g is to be woken */
	leaves(g);
	CHECK_EQ(coro_sem_destroy(&sem), CORO_OK);
	CHECK_EQ(coroi_sem_acquire_leaf(&sem, NULL), COROI_BY_CALL);
	CHECK_EQ(coroi_sem_release_leaf(&sem, NULL), COROI_BY_CALL);

	CHECK_EQ(coro_sem_init(&full, CORO_PERMITS_MAX, 0), CORO_OK);
	CHECK_EQ(coroi_sem_release_leaf(&full, NULL), COROI_BY_CALL);
	CHECK_EQ(coroi_sem_acquire_leaf(&full, NULL), CORO_OK);
	CHECK_EQ(coroi_sem_release_leaf(&full, NULL), CORO_OK);
	CHECK_EQ(coro_sem_destroy(&full), CORO_OK);
	finish(s);
}

TEST(leaf_closed_channels)
{
	coro_chan *c;
	uint64_t value = 3;

	CHECK_EQ(coro_chan_new(&c, 8, 1, 0), CORO_OK);
	coroi_chan_keep(c);
	CHECK_EQ(coroi_chan_recv_leaf(c, &value), CORO_ETIMEDOUT);
	CHECK_EQ(coroi_chan_send_leaf(c, &value), CORO_OK);
	CHECK_EQ(coro_chan_close(c), CORO_OK);
	CHECK_EQ(coroi_chan_send_leaf(c, &value), CORO_ECLOSED);
	CHECK_EQ(coroi_chan_recv_leaf(c, &value), CORO_OK); /* a value is left */
	CHECK_EQ(coroi_chan_recv_leaf(c, &value), CORO_ECLOSED);
	coroi_chan_release(c);
}

TEST(leaf_rwlocks)
{
	coro_rwlock l;

	s = start_with(1, 0);
	CHECK_EQ(coro_rwlock_init(&l, 0), CORO_OK);
	CHECK_EQ(coroi_rwlock_unread_leaf(&l, &one), COROI_BY_CALL); /* nobody has the lock */
	CHECK_EQ(coroi_rwlock_unwrite_leaf(&l, &one), COROI_BY_CALL);
	CHECK_EQ(coroi_rwlock_write_leaf(&l, &one), CORO_OK);
	CHECK_EQ(coroi_rwlock_write_leaf(&l, &one), CORO_EDEADLK);
	CHECK_EQ(coroi_rwlock_read_leaf(&l, &one), CORO_EDEADLK);
	CHECK_EQ(coroi_rwlock_write_leaf(&l, &other), CORO_ETIMEDOUT);
	CHECK_EQ(coroi_rwlock_read_leaf(&l, &other), CORO_ETIMEDOUT);
	CHECK_EQ(coroi_rwlock_unwrite_leaf(&l, &other), COROI_BY_CALL); /* another has the lock */
	CHECK_EQ(coroi_rwlock_unread_leaf(&l, &one), COROI_BY_CALL);
	CHECK_EQ(HELD(&l, coroi_rwlock_unwrite_leaf(&l, &one)), COROI_BY_CALL);
	CHECK_EQ(HELD(&l, coroi_rwlock_read_leaf(&l, &one)), COROI_BY_CALL);
	CHECK_EQ(coroi_rwlock_unwrite_leaf(&l, &one), CORO_OK);

	CHECK_EQ(coroi_rwlock_read_leaf(&l, &one), CORO_OK);
	CHECK_EQ(coroi_rwlock_read_leaf(&l, &other), CORO_OK);
	CHECK_EQ(coroi_rwlock_write_leaf(&l, &other), CORO_ETIMEDOUT);
	struct coroi_gowaiter *g = somebody();
	CHECK_EQ(coroi_rwlock_lock_gowaiter(&l, true, ONE, g), COROI_WAITS);
	CHECK_EQ(coroi_rwlock_read_leaf(&l, &other), CORO_ETIMEDOUT); /* behind the writer */
	/* the writer is to be looked at */
	CHECK_EQ(coroi_rwlock_unread_leaf(&l, &other), COROI_BY_CALL);
	leaves(g);
	CHECK_EQ(coroi_rwlock_unread_leaf(&l, &other), CORO_OK);
	CHECK_EQ(coroi_rwlock_unread_leaf(&l, &one), CORO_OK);
	CHECK_EQ(coroi_rwlock_unread_leaf(&l, &one), COROI_BY_CALL);
	CHECK_EQ(coro_rwlock_destroy(&l), CORO_OK);
	CHECK_EQ(coroi_rwlock_write_leaf(&l, &one), COROI_BY_CALL);
	CHECK_EQ(coroi_rwlock_unwrite_leaf(&l, &one), COROI_BY_CALL);
	finish(s);
}

static int add(coro_latch *l, int64_t n)
{
	return coroi_latch_add_leaf(l, &n);
}

TEST(leaf_latches)
{
	coro_latch l;

	s = start_with(1, 0);
	CHECK_EQ(coro_latch_init(&l, 1, 0), CORO_OK);
	CHECK_EQ(coroi_latch_wait_leaf(&l, NULL), CORO_ETIMEDOUT);
	CHECK_EQ(add(&l, -2), COROI_BY_CALL); /* below zero */
	CHECK_EQ(add(&l, CORO_PERMITS_MAX), COROI_BY_CALL);
	CHECK_EQ(add(&l, CORO_PERMITS_MAX - 1), CORO_OK);
	CHECK_EQ(add(&l, 1 - (int64_t)CORO_PERMITS_MAX), CORO_OK);
	CHECK_EQ(HELD(&l, add(&l, -1)), COROI_BY_CALL);
	CHECK_EQ(HELD(&l, coroi_latch_wait_leaf(&l, NULL)), COROI_BY_CALL);
	CHECK_EQ(coroi_latch_wait_leaf(&l, NULL), CORO_ETIMEDOUT);

	struct coroi_gowaiter *g = somebody();
	CHECK_EQ(coroi_latch_wait_gowaiter(&l, g), COROI_WAITS);
	CHECK_EQ(add(&l, 1), CORO_OK);
	CHECK_EQ(add(&l, -1), CORO_OK);
	CHECK_EQ(add(&l, -1), COROI_BY_CALL); /* g is to be woken */
	leaves(g);
	CHECK_EQ(add(&l, -1), CORO_OK);
	CHECK_EQ(coroi_latch_wait_leaf(&l, NULL), CORO_OK);
	CHECK_EQ(coro_latch_destroy(&l), CORO_OK);
	CHECK_EQ(add(&l, 1), COROI_BY_CALL);
	CHECK_EQ(coroi_latch_wait_leaf(&l, NULL), COROI_BY_CALL);
	finish(s);
}
#endif
