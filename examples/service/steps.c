#include "steps.h"

#include "coro.h"

/* steps - how many steps the Collatz sequence takes from a number to 1. It never waits, so it asks
 * whether it was cancelled. */
void steps(void *arg, void *result)
{
	uint64_t n = *(uint64_t *)arg, count = 0;

	while (n != 1) {
		n = n % 2 ? 3 * n + 1 : n / 2;
		if (++count % 64 == 0) {
			if (coro_canceled())
				coro_exit();
			coro_yield();
		}
	}
	*(uint64_t *)result = count;
}
