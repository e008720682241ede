/* spin.c - a task of any length that touches no memory. */
#include "cbody.h"

uint64_t cb_spin(uint64_t steps)
{
	uint64_t x = steps;
	for (uint64_t i = 0; i < steps; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		/* one step after the other, none of them folded away */
		__asm__ volatile("" : "+r"(x));
	}
	return x;
}

void cb_spin_body(void *arg, void *result)
{
	(void)result;
	cb_spin((uint64_t) * (int64_t *)arg);
}
