/* yield.c - coroutines of one worker that yield to each other in turn. */
#include "cbody.h"

#include <alloca.h>
#include <string.h>

static struct cb_yield run;
static int64_t started, done, start_ns, end_ns;

static __attribute__((noinline)) void turns(int64_t left)
{
	while (started < run.members) /* a yield that is under way when the clock starts */
		coro_yield();
	while (left--)
		coro_yield();
}

static __attribute__((noinline)) void turns_deep(int64_t left)
{
	char *extra = alloca((size_t)run.extra);

	memset(extra, 1, (size_t)run.extra);
	__asm__ volatile("" : : "r"(extra) : "memory");
	turns(left);
	__asm__ volatile("" : : "r"(extra) : "memory");
}

static void yielder(void *arg, void *result)
{
	int64_t left = *(int64_t *)arg;
	(void)result;

	if (++started == run.members)
		start_ns = cb_now_ns();
	(run.extra ? turns_deep : turns)(left);
	if (++done == run.members)
		end_ns = cb_now_ns();
}

void cb_yield_start(void *arg, void *result)
{
	(void)result;
	run = *(struct cb_yield *)arg;
	started = done = start_ns = end_ns = 0;
	coro_attr attr = {.size = sizeof attr, .flags = run.dense ? CORO_DENSE : 0};
	for (int64_t i = 0; i < run.members; i++)
		cb_fail(coro_spawn_attr(&attr, yielder, &run.yields, sizeof run.yields, NULL));
}

int64_t cb_yield_ns(void)
{
	return done == run.members ? end_ns - start_ns : CORO_EINVAL;
}
