//go:build ignore
/*
 * delay.c - random delays before atomic operations, in builds for stress tests (-DCOROI_STRESS).
 *
 * A delay takes from a few nanoseconds to a preemption, so that every order of two threads' steps
 * comes up sooner or later. Empty in other builds.
 */
#ifdef COROI_STRESS
#include "base/atomics.h"

#include <sched.h>
#include <time.h>

uint32_t coroi_delay_every = 2000; /* operations between two delays, about */

#define SPINS_MOST 9 /* most doublings of a pause of some 40 ns */

static __thread uint32_t left;
static __thread uint64_t random_state;

static COROI_COLD void delay(void)
{
	uint64_t x = random_state ? random_state
				  : (uintptr_t)&left * UINT64_C(0x9e3779b97f4a7c15) | 1;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	random_state = x;
	left = (uint32_t)(x >> 32) % (2 * __atomic_load_n(&coroi_delay_every, __ATOMIC_RELAXED));
	switch (x % 64) {
	case 0:
		nanosleep(&(struct timespec){0, 1000}, NULL);
		break;
	case 1:
	case 2:
		sched_yield();
		break;
	default:
		for (uint32_t n = 1u << (x >> 8) % (SPINS_MOST + 1); n; n--)
			at_relax();
	}
}

/* Not inline: the address of a thread-local word must not outlive a switch. */
COROI_NOINLINE void coroi_delay(void)
{
	if (coroi_unlikely(left-- == 0))
		delay();
}
#endif
