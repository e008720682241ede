#include "bodies.h"

#include <string.h>
#include <time.h>

int64_t testbody_sum, testbody_ran;
int32_t testbody_stop;

#define ADD(word, n) __atomic_add_fetch(&(word), (n), __ATOMIC_RELAXED)

void testbody_empty(void *arg, void *result)
{
	(void)arg;
	(void)result;
}

void testbody_add(void *arg, void *result)
{
	(void)result;
	ADD(testbody_sum, *(int64_t *)arg);
	ADD(testbody_ran, 1);
}

void testbody_square(void *arg, void *result)
{
	int64_t x = *(int64_t *)arg;
	*(int64_t *)result = x * x;
}

void testbody_bytes(void *arg, void *result)
{
	for (int i = 0; i < 48; i++)
		((char *)result)[i] = ((char *)arg)[47 - i];
}

void testbody_park(void *arg, void *result)
{
	(void)arg;
	int status = coro_park();
	if (result)
		*(int32_t *)result = status;
	ADD(testbody_ran, 1);
}

void testbody_spin(void *arg, void *result)
{
	(void)arg;
	(void)result;
	ADD(testbody_ran, 1);
	while (!__atomic_load_n(&testbody_stop, __ATOMIC_ACQUIRE))
		;
}

void testbody_abort(void *arg, void *result)
{
	(void)arg;
	(void)result;
	coro_abort();
}

void testbody_yield(void *arg, void *result)
{
	(void)result;
	int64_t n = *(int64_t *)arg;
	while (n--)
		coro_yield();
	ADD(testbody_sum, 1);
}

void testbody_tree(void *arg, void *result)
{
	(void)result;
	int64_t depth = *(int64_t *)arg - 1;
	if (depth < 0) {
		ADD(testbody_sum, 1);
		return;
	}
	for (int i = 0; i < 2; i++)
		while (coro_spawn(testbody_tree, &depth, sizeof depth) == CORO_ENOMEM)
			coro_yield();
}

void testbody_wake(void *arg, void *result)
{
	int status = coro_wake(*(coro_handle *)arg);
	if (result)
		*(int32_t *)result = status;
}

void testbody_join(void *arg, void *result)
{
	*(int32_t *)result = coro_join(*(coro_handle *)arg, NULL, 0);
}

static __attribute__((noinline)) int deep(volatile char *above, int n)
{
	volatile char frame[1024];
	frame[0] = above[0];
	return n <= 0 ? frame[0] : deep(frame, n - 1) + frame[0];
}

void testbody_deep(void *arg, void *result)
{
	(void)arg;
	(void)result;
	volatile char top[1] = {0};
	ADD(testbody_sum, deep(top, 1 << 20));
}

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void testbody_busy_parent(void *arg, void *result)
{
	(void)result;
	uint64_t until = now_ns() + *(uint64_t *)arg;
	int64_t one = 1;
	coro_spawn(testbody_add, &one, sizeof one);
	while (now_ns() < until)
		;
}

intptr_t testbody_count(void *arg, intptr_t first)
{
	intptr_t n = (intptr_t)arg;
	while (n--)
		coro_yield_value(first++, NULL);
	return -1;
}

intptr_t testbody_echo(void *arg, intptr_t first)
{
	(void)arg;
	while (first)
		coro_yield_value(first, &first);
	return 0;
}

intptr_t testbody_perm(void *arg, intptr_t first)
{
	(void)arg;
	(void)first;
	return coro_yield();
}

intptr_t testbody_quit(void *arg, intptr_t first)
{
	(void)arg;
	(void)first;
	coro_abort();
	return 0;
}
