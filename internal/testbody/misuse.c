/* misuse.c - one call of C with an object of Go's, allowed or not; how much memory C has. */
#include "bodies.h"

#include <malloc.h>

static void nothing(void *arg)
{
	(void)arg;
}

/* Each use waits for nothing. */
static int misuse(void *object, enum testbody_misuses how)
{
	int64_t value = 7;

	switch (how) {
	case TESTBODY_UNLOCK_MUTEX:
		return coro_mutex_unlock(object);
	case TESTBODY_UNLOCK_RWLOCK:
		return coro_rwlock_unlock(object);
	case TESTBODY_DESTROY_MUTEX:
		return coro_mutex_destroy(object);
	case TESTBODY_DESTROY_RWLOCK:
		return coro_rwlock_destroy(object);
	case TESTBODY_DESTROY_COND:
		return coro_cond_destroy(object);
	case TESTBODY_DESTROY_LATCH:
		return coro_latch_destroy(object);
	case TESTBODY_DESTROY_SEM:
		return coro_sem_destroy(object);
	case TESTBODY_FREE_CHAN:
		return coro_chan_free(object);
	case TESTBODY_SEND:
		return coro_chan_send(object, &value, 0);
	case TESTBODY_SEND_ZEROS:
		return coro_chan_send(object, &(struct { char bytes[64]; }){{0}}, 0);
	case TESTBODY_RECEIVE:
		return coro_chan_recv(object, &value, 0);
	case TESTBODY_ACQUIRE:
		return coro_sem_acquire(object, 0);
	case TESTBODY_READ:
		return coro_rwlock_read(object, 0);
	case TESTBODY_SIGNAL:
		return coro_cond_signal(object);
	case TESTBODY_COUNT:
		return coro_latch_add(object, 1);
	case TESTBODY_LOCK:
		return coro_mutex_lock(object, 0);
	case TESTBODY_DO:
		return coro_once_do(object, nothing, NULL, 0);
	case TESTBODY_LEAVE_MUTEX:
		return coro_mutex_lock(object, CORO_FOREVER);
	case TESTBODY_LEAVE_RWLOCK:
		return coro_rwlock_write(object, CORO_FOREVER);
	}
	return 1;
}

void testbody_misuse(void *arg, void *result)
{
	struct testbody_flow *f = arg;

	*(int64_t *)result = misuse(f->object, (enum testbody_misuses)f->n);
}

size_t testbody_allocated(void)
{
#ifdef __GLIBC_PREREQ
#if __GLIBC_PREREQ(2, 33)
	struct mallinfo2 m = mallinfo2();
	return m.uordblks + m.hblkhd;
#endif
#endif
	return 0;
}
