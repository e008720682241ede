/*
 * t_sweep.c - each scenario, with call number k of each kind failing, for every k until a run makes
 * no call of that number: once call k alone, and once with all later calls. After each run nothing
 * is left, and the same run succeeds without the fault.
 */
#include "layer.h"
#include "scenarios.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define RUN_SECONDS 20u
#define K_MOST      20000

static char present[160]; /* what is being tried, for the message of a failure */

static void out_of_time(int sig)
{
	(void)sig;
	test_fail(__FILE__, __LINE__, "hangs");
}

struct fault {
	enum fault_kind kind;
	int error;
};

/* sweep_one - returns how many faults were planted, one a run. under: besides, this one lasts. */
static int sweep_one(const struct scenario *sc, struct fault f, bool all, const struct fault *under)
{
	for (int k = 0;; k++) {
		snprintf(present, sizeof present, "%s: %s %s %d with errno %d%s", sc->name,
			 fault_name[f.kind], all ? "from" : "call", k, f.error,
			 under ? ", and a lasting one" : "");
		alarm(RUN_SECONDS);
		lasting = all;
		if (under)
			fault_set(under->kind, 0, FAULT_ALL, under->error);
		fault_set(f.kind, k, all ? FAULT_ALL : 1, f.error);
		sc->run();
		bool reached = fault_calls(f.kind) > k;
		fault_clear();
		check_nothing_left();
		if (!reached)
			return k;
		lasting = false;
		sc->run();
		check_nothing_left();
		CHECK(k < K_MOST);
	}
}

static void sweep(const struct scenario *sc)
{
	static const enum fault_kind once[] = {
		FAULT_MAP,       FAULT_UNMAP,   FAULT_GUARD,  FAULT_DISCARD, FAULT_HUGE,
		FAULT_ALLOC,     FAULT_BARRIER, FAULT_WAIT,   FAULT_THREAD,  FAULT_ATTR,
		FAULT_STACKSIZE, FAULT_NAME,    FAULT_PIN,    FAULT_CPUS,    FAULT_SIGSTACK,
		FAULT_EVENT,     FAULT_RING,    FAULT_BUFFER, FAULT_SET,     FAULT_LOOK,
		FAULT_IO};
	/* Two kinds cannot last: a refused barrier ends the process (t_probe.c), and the kernel
	 * interrupts a write to the bell once at most. */
	static const enum fault_kind from[] = {
		FAULT_MAP,  FAULT_UNMAP,    FAULT_GUARD, FAULT_DISCARD,   FAULT_HUGE, FAULT_ALLOC,
		FAULT_WAIT, FAULT_THREAD,   FAULT_ATTR,  FAULT_STACKSIZE, FAULT_NAME, FAULT_PIN,
		FAULT_CPUS, FAULT_SIGSTACK, FAULT_EVENT, FAULT_BUFFER,    FAULT_SET,  FAULT_IO};
	static const struct fault heavy = {FAULT_GUARD, EINVAL}; /* guards by mprotect */
	int faults = 0;

	signal(SIGALRM, out_of_time);
	test_context = present;
	sc->run();
	check_nothing_left();
	for (size_t i = 0; i < sizeof once / sizeof *once; i++)
		faults += sweep_one(sc, (struct fault){once[i], fault_usual(once[i])}, false, NULL);
	for (size_t i = 0; i < sizeof from / sizeof *from; i++)
		faults += sweep_one(sc, (struct fault){from[i], fault_usual(from[i])}, true, NULL);
	faults += sweep_one(sc, (struct fault){FAULT_PROTECT, ENOMEM}, false, &heavy);
	faults += sweep_one(sc, (struct fault){FAULT_PROTECT, ENOMEM}, true, &heavy);
	faults += sweep_one(sc, (struct fault){FAULT_WAIT, EAGAIN}, false, NULL);
	faults += sweep_one(sc, (struct fault){FAULT_WAIT, 0}, false,
			    NULL); /* woken for no reason */
	faults += sweep_one(sc, (struct fault){FAULT_WAIT, 0}, true, NULL);
	printf("%s: %d faults, %llu calls refused\n", sc->name, faults,
	       (unsigned long long)refusals);
}

#define SWEEP(name)                                                      \
	TEST_LIMIT(sweep_##name, 600)                                    \
	{                                                                \
		sweep(&(const struct scenario){#name, scenario_##name}); \
	}

#define S(name) SWEEP(name)
SCENARIOS
