/*
 * t_random.c - calls of every kind fail by chance, one in 3 to one in 600: errors on the way out of
 * other errors. A failure names its seed. CORO_FAULT_SEED=... is the seed to begin with.
 */
#include "layer.h"
#include "scenarios.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define RUN_SECONDS 20u

static char present[120];

static void out_of_time(int sig)
{
	(void)sig;
	test_fail(__FILE__, __LINE__, "hangs");
}

TEST_LIMIT(random_faults, 600)
{
	static const enum fault_kind kinds[] = {
		FAULT_MAP,      FAULT_UNMAP,     FAULT_GUARD,   FAULT_PROTECT, FAULT_DISCARD,
		FAULT_HUGE,     FAULT_ALLOC,     FAULT_BARRIER, FAULT_WAIT,    FAULT_THREAD,
		FAULT_ATTR,     FAULT_STACKSIZE, FAULT_NAME,    FAULT_PIN,     FAULT_CPUS,
		FAULT_SIGSTACK, FAULT_EVENT,     FAULT_RING,    FAULT_BUFFER,
	};
	static const uint32_t chances[] = {3, 20, 60, 200, 600};
	const char *text = getenv("CORO_FAULT_SEED");
	uint64_t first = text ? strtoull(text, NULL, 10) : 1, rounds = scaled(100), failed = 0;

	signal(SIGALRM, out_of_time);
	test_context = present;
	for (uint64_t seed = first; seed < first + rounds; seed++) {
		for (int i = 0; i < scenario_count; i++) {
			uint32_t one_in =
				chances[(seed + (uint64_t)i) % (sizeof chances / sizeof *chances)];
			snprintf(present, sizeof present, "%s: one call in %u, seed %llu",
				 scenarios[i].name, one_in, (unsigned long long)seed);
			alarm(RUN_SECONDS);
			lasting = several = true;
			fault_random(kinds, sizeof kinds / sizeof *kinds, one_in,
				     seed * 1000 + (uint64_t)i);
			scenarios[i].run();
			failed += (uint64_t)fault_clear();
			check_nothing_left();
			lasting = several = false;
			scenarios[i].run();
			check_nothing_left();
		}
	}
	printf("%llu calls failed\n", (unsigned long long)failed);
	CHECK(failed > rounds);
}
