#include "brief.h"

#include "bodies.h"
#include "calls.h"

#include <sys/syscall.h>
#include <unistd.h>

#define ADD(word, n) __atomic_add_fetch(&(word), (n), __ATOMIC_RELAXED)

/* Not inlined: a coroutine may go on on another thread. */
static __attribute__((noinline)) int32_t thread_now(void)
{
	return (int32_t)syscall(SYS_gettid);
}

static void nothing(void *arg)
{
	(void)arg;
}

static int wait_for(const struct testbody_wait *a)
{
	int64_t value = 7;
	int status = CORO_OK;

	switch ((enum testbody_waits_for)a->what) {
	case TESTBODY_FOR_PARK:
		return coro_park();
	case TESTBODY_FOR_RECV:
		return coro_chan_recv(a->object, &value, CORO_FOREVER);
	case TESTBODY_FOR_SEND:
		return coro_chan_send(a->object, &value, CORO_FOREVER);
	case TESTBODY_FOR_PERMIT:
		return coro_sem_acquire(a->object, CORO_FOREVER);
	case TESTBODY_FOR_MUTEX:
		status = coro_mutex_lock(a->object, CORO_FOREVER);
		return status ? status : coro_mutex_unlock(a->object);
	case TESTBODY_FOR_READ:
		status = coro_rwlock_read(a->object, CORO_FOREVER);
		return status ? status : coro_rwlock_unlock(a->object);
	case TESTBODY_FOR_WRITE:
		status = coro_rwlock_write(a->object, CORO_FOREVER);
		return status ? status : coro_rwlock_unlock(a->object);
	case TESTBODY_FOR_SIGNAL:
		status = coro_mutex_lock(a->mutex, CORO_FOREVER);
		if (status == CORO_OK)
			status = coro_cond_wait(a->object, a->mutex, CORO_FOREVER);
		return status ? status : coro_mutex_unlock(a->mutex);
	case TESTBODY_FOR_LATCH:
		return coro_latch_wait(a->object, CORO_FOREVER);
	case TESTBODY_FOR_DONE:
		return coro_once_do(a->object, nothing, NULL, CORO_FOREVER);
	case TESTBODY_FOR_NOTHING:
	case TESTBODY_FOR_WAITS:
		break;
	}
	return status;
}

static inline void wait_once(void *arg, void *result)
{
	struct testbody_wait a = *(struct testbody_wait *)arg;
	struct testbody_waited *waited = result;

	waited->began = thread_now();
	waited->status = wait_for(&a);
	waited->went_on = thread_now();
	ADD(testbody_ran, 1);
}

void testbody_wait(void *arg, void *result)
{
	wait_once(arg, result);
}

/* clang-format off */
#define TEN(X, tens) X(tens##0) X(tens##1) X(tens##2) X(tens##3) X(tens##4) \
	X(tens##5) X(tens##6) X(tens##7) X(tens##8) X(tens##9)
#define ALL_ALIKE(X) TEN(X, 10) TEN(X, 11) TEN(X, 12) TEN(X, 13)
#define SIXTEEN(X, n) X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7) \
	X(n##8) X(n##9) X(n##a) X(n##b) X(n##c) X(n##d) X(n##e) X(n##f)
#define ROWS(X) SIXTEEN(X, 0) SIXTEEN(X, 1) SIXTEEN(X, 2) SIXTEEN(X, 3) SIXTEEN(X, 4) \
	SIXTEEN(X, 5) SIXTEEN(X, 6) SIXTEEN(X, 7) SIXTEEN(X, 8) SIXTEEN(X, 9) SIXTEEN(X, a)
#define ALL_IDLE(X) ROWS(X##_a) ROWS(X##_b) ROWS(X##_c)
/* clang-format on */

#define ALIKE(n)                                       \
	static void alike_##n(void *arg, void *result) \
	{                                              \
		wait_once(arg, result);                \
	}
#define ALIKE_ENTRY(n) alike_##n,

ALL_ALIKE(ALIKE)
const coro_fn testbody_alike[TESTBODY_ALIKE] = {ALL_ALIKE(ALIKE_ENTRY)};

#define IDLE(n)                                       \
	static void idle_##n(void *arg, void *result) \
	{                                             \
		(void)arg;                            \
		(void)result;                         \
	}
#define IDLE_a(n)       IDLE(a##n)
#define IDLE_b(n)       IDLE(b##n)
#define IDLE_c(n)       IDLE(c##n)
#define IDLE_ENTRY_a(n) idle_a##n,
#define IDLE_ENTRY_b(n) idle_b##n,
#define IDLE_ENTRY_c(n) idle_c##n,

ALL_IDLE(IDLE)
const coro_fn testbody_idle_ones[TESTBODY_IDLE] = {ALL_IDLE(IDLE_ENTRY)};

static int32_t computes_on;

int32_t testbody_thread(void)
{
	return __atomic_load_n(&computes_on, __ATOMIC_ACQUIRE);
}

void testbody_takes_long(void *arg, void *result)
{
	uint64_t ns = *(uint64_t *)arg;

	(void)result;
	while (coro_park() == CORO_OK) {
		__atomic_store_n(&computes_on, thread_now(), __ATOMIC_RELEASE);
		for (uint64_t until = testbody_now() + ns; testbody_now() < until;)
			;
		ADD(testbody_ran, 1);
	}
}

void testbody_parks_and_calls(void *arg, void *result)
{
	struct testbody_call a = *(struct testbody_call *)arg;
	struct testbody_came *came = result;

	if (coro_park() != CORO_OK)
		return;
	int32_t thread = thread_now();
	*came = testbody_call_here(a);
	came->got = (uint32_t)thread;
}

static void spin_until_stop(void)
{
	ADD(testbody_ran, 1);
	while (!__atomic_load_n(&testbody_stop, __ATOMIC_ACQUIRE))
		;
}

void testbody_spins_when_woken(void *arg, void *result)
{
	(void)arg;
	if (coro_park() != CORO_OK)
		return;
	*(int32_t *)result = thread_now();
	spin_until_stop();
}

void testbody_computes(void *arg, void *result)
{
	int64_t parks = *(int64_t *)arg;

	spin_until_stop();
	if (parks)
		coro_park();
	*(int64_t *)result = 42;
}

static void child(void *arg, void *result)
{
	uint64_t ns = *(uint64_t *)arg;

	for (uint64_t until = testbody_now() + ns; testbody_now() < until;)
		;
	*(int32_t *)result = thread_now();
}

void testbody_children(void *arg, void *result)
{
	enum { MOST = 100 };
	const struct testbody_children a = *(struct testbody_children *)arg;
	const coro_attr joinable = {
		.size = sizeof joinable, .flags = CORO_JOINABLE, .result_bytes = sizeof(int32_t)};
	coro_handle h[MOST];
	int32_t here = thread_now(), thread;
	uint64_t n = 0;

	while (n < MOST && n < a.n &&
	       coro_spawn_attr(&joinable, child, &a.ns, sizeof a.ns, &h[n]) == CORO_OK)
		n++;
	for (uint64_t i = 0; i < n; i++)
		if (coro_join(h[i], &thread, sizeof thread) == CORO_OK)
			*(int64_t *)result += thread == here;
}

void testbody_leaves_spin(void *arg, void *result)
{
	(void)arg;
	(void)result;
	coro_spawn(testbody_spin, NULL, 0);
}

void testbody_stays_behind(void *arg, void *result)
{
	(void)result;
	if (!*(int64_t *)arg)
		return;
	coro_spawn(testbody_spin, NULL, 0);
	coro_yield();
}

void testbody_rides(void *arg, void *result)
{
	if (coro_thread_begin() == CORO_OK)
		*(int64_t *)result = *(int64_t *)arg;
}

void testbody_sums(void *arg, void *result)
{
	struct testbody_flow f = *(struct testbody_flow *)arg;
	int64_t value, *n = result;

	for (; coro_chan_recv(f.object, &value, CORO_FOREVER) == CORO_OK; ++*n)
		ADD(testbody_sum, value);
}

void testbody_adds(void *arg, void *result)
{
	(void)result;
	ADD(testbody_sum, *(int64_t *)arg);
}

void testbody_parks(void *arg, void *result)
{
	(void)arg;
	*(int32_t *)result = coro_park();
	coro_exit_finished(); /* a test looks at the status */
}
