#include "steps.h"

#include "coro.h"

/* steps - how many steps the Collatz sequence takes from a number to 1. Now and then it lets the
 * others run. */
void steps(void *arg, void *result)
{
	uint64_t n = *(uint64_t *)arg, count = 0;

	while (n != 1) {
		n = n % 2 ? 3 * n + 1 : n / 2;
		if (++count % 64 == 0)
			coro_yield();
	}
	*(uint64_t *)result = count;
}
