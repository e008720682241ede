#include "bodies.h"

#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

static int *volatile nothing;
static void (*volatile nobody)(void);

static NOINLINE int crash_inner(int n)
{
	return *nothing + n;
}

static NOINLINE int crash_outer(int n)
{
	return crash_inner(n) + 1;
}

void crash_here(void *arg, void *result)
{
	(void)arg;
	(void)result;
	exit(crash_outer(1));
}

static bool calls_go(void)
{
	return coro_call_go_inline(coro_go_function("nothing"), NULL, 0, NULL, 0, NULL) == CORO_OK;
}

void crash_after_call(void *arg, void *result)
{
	(void)arg;
	(void)result;
	if (calls_go())
		exit(crash_outer(3));
}

void crash_deep_after_call(void *arg, void *result)
{
	if (calls_go())
		crash_deep(arg, result);
}

intptr_t crash_by_hand(void *arg, intptr_t first)
{
	(void)arg;
	return crash_outer((int)first) + 1;
}

static NOINLINE long thread_now(void)
{
	return syscall(SYS_gettid);
}

/* Computes for milliseconds, so that thieves have time for who waits behind it. */
static void hog(void *arg, void *result)
{
	struct timespec a, b;

	(void)arg;
	(void)result;
	clock_gettime(CLOCK_MONOTONIC, &a);
	do
		clock_gettime(CLOCK_MONOTONIC, &b);
	while ((b.tv_sec - a.tv_sec) * 1000000000 + b.tv_nsec - a.tv_nsec < 10000000);
}

void crash_stolen(void *arg, void *result)
{
	static const char text[] = "stolen\n";
	long first = thread_now();

	(void)arg;
	(void)result;
	while (thread_now() == first) {
		coro_spawn(hog, NULL, 0);
		coro_yield();
	}
	if (write(1, text, sizeof text - 1) > 0)
		exit(crash_outer(2));
}

static NOINLINE int crash_level(volatile char *above, int n)
{
	volatile char frame[1024];

	frame[0] = above[0];
	return n <= 0 ? frame[0] : crash_level(frame, n - 1) + frame[0];
}

void crash_deep(void *arg, void *result)
{
	volatile char top[1] = {0};

	(void)arg;
	(void)result;
	exit(crash_level(top, 1 << 20));
}

static NOINLINE void crash_caller(void)
{
	nobody();
	__asm__ volatile(""); /* not a tail call */
}

void crash_nowhere(void *arg, void *result)
{
	(void)arg;
	(void)result;
	crash_caller();
	exit(0);
}

static NOINLINE void crash_aborter(void)
{
	abort();
}

void crash_abort(void *arg, void *result)
{
	(void)arg;
	(void)result;
	crash_aborter();
	exit(0);
}

intptr_t crash_deep_by_hand(void *arg, intptr_t first)
{
	crash_deep(arg, NULL);
	return first;
}

void crash_makes_one(void *arg, void *result)
{
	coro_t *co;

	(void)result;
	if (coro_new(&co, crash_by_hand, arg, 0) == CORO_OK)
		coro_resume(co, 1, NULL);
}

void crash_body(void *arg, void *result)
{
	(void)arg;
	(void)result;
	exit(*nothing);
}

/* The frame is overwritten up to the return address and beyond. */
static NOINLINE void crash_smash(uintptr_t with)
{
	uintptr_t *volatile frame = __builtin_frame_address(0);

	frame[0] = frame[1] = frame[2] = frame[3] = with;
}

void crash_smashed(void *arg, void *result)
{
	(void)arg;
	(void)result;
	crash_smash(0x1000);
	exit(0);
}

void crash_trap(void *arg, void *result)
{
	(void)arg;
	(void)result;
	__builtin_trap();
}

void crash_zero(void *arg, void *result)
{
	volatile int some = 7, zero = 0;

	(void)arg;
	(void)result;
	exit(some / zero);
}

void crash_bus(void *arg, void *result)
{
	char name[] = "/tmp/crashXXXXXX";
	int fd = mkstemp(name);

	(void)arg;
	(void)result;
	unlink(name);
	volatile char *p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	exit(*p);
}

static void deep(void *arg)
{
	crash_deep(arg, NULL);
}

static void here(void *arg)
{
	crash_here(arg, NULL);
}

void crash_deep_on_stack(void *arg, void *result)
{
	(void)result;
	coro_call_on_stack(64 << 10, deep, arg);
}

void crash_blocking(void *arg, void *result)
{
	(void)result;
	coro_blocking(here, arg);
}

void crash_deep_blocking(void *arg, void *result)
{
	(void)result;
	coro_blocking(deep, arg);
}

void crash_between(void *arg, void *result)
{
	if (coro_thread_begin() == CORO_OK)
		crash_here(arg, result);
}

void crash_deep_between(void *arg, void *result)
{
	if (coro_thread_begin() == CORO_OK)
		crash_deep(arg, result);
}

void crash_calls(void *arg, void *result)
{
	(void)result;
	coro_call_go_inline(*(coro_go_id *)arg, NULL, 0, NULL, 0, NULL);
}

void crash_offloads(void *arg, void *result)
{
	(void)result;
	coro_call_go(*(coro_go_id *)arg, NULL, 0, NULL, 0, NULL);
}

int crash_leaf(void *a, void *b)
{
	(void)b;
	return *(volatile int *)a;
}

void crash_now(void)
{
	exit(crash_outer(4));
}
