/*
 * plant.c - a yield that takes PLANT_PERCENT longer, for the check of the tool itself.
 *
 * The linker is told to have calls of coro_yield come here. Once in a number of them the time since
 * the last such moment is taken, and a part of it is spent again. So the slow-down is that part of
 * whatever a yield takes, in every row. A delay in each yield could not be less than a cycle, which
 * is more. Both sides are built so, the other one with 0 %: what the detour itself costs is the
 * same, and all code lies where it does there, as only a number differs, of which the compiler
 * knows nothing.
 */
#include <stdint.h>
#include <time.h>

#define BETWEEN  4096    /* yields, some 20 us: reading the clock is nothing against that */
#define PAUSE_NS 1000000 /* longer than BETWEEN yields take: something else was done */

int __real_coro_yield(void);
int __wrap_coro_yield(void);

static volatile int64_t percent = PLANT_PERCENT;
static __thread uint32_t yields;
static __thread int64_t last_ns;

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static __attribute__((noinline)) void dawdle(void)
{
	int64_t begin = now_ns(), took = begin - last_ns, now = begin;

	while (took < PAUSE_NS && (now - begin) * 100 < took * percent)
		now = now_ns();
	last_ns = now;
}

int __wrap_coro_yield(void)
{
	if (++yields % BETWEEN == 0)
		dawdle();
	return __real_coro_yield();
}
