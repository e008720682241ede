/*
 * t_probe.c - what the core finds out once in a process, before main or at its first scheduler,
 * fails; and what ends the process.
 */
#include "../gostand.h"
#include "child.h"
#include "layer.h"
#include "scenarios.h"

#include "border/gocall.h"
#include "border/state.h"
#include "kernel/worker.h"
#include "dispatch/policy.h"
#include "base/sys.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* The child of the test below, started with faults set before main. CORO_FAULT_FOUND says what the
 * child is to find: membarrier, guards. */
TEST(probe_child)
{
	const char *found = getenv("CORO_FAULT_FOUND");
	if (!found)
		return;
	CHECK_EQ(fault_clear(), 1);
	coro_scheduler *s = start_with(1, 0);
	CHECK_EQ(stats(s).membarrier, found[0] == '1');
	CHECK_EQ(stats(s).guard, found[1] == '1');
	finish(s);
	run_all();
}

static void finds(const char *faults, bool membarrier, bool guard)
{
	char text[2048], found[3] = {membarrier ? '1' : '0', guard ? '1' : '0'};
	int fd;

	setenv("CORO_FAULT", faults, 1);
	setenv("CORO_FAULT_FOUND", found, 1);
	pid_t pid = child_start(&fd);
	if (pid == 0) {
		execl("/proc/self/exe", "faults", "-1", "probe_child", (char *)NULL);
		_exit(127);
	}
	int status = child_end(pid, fd, text, sizeof text);
	if (status)
		test_fail(__FILE__, __LINE__, "with %s: status %d, %s", faults, status, text);
}

/* A part that is missing before main is replaced by another, and everything works. */
TEST(probe_falls_back)
{
	bool membarrier = coroi_has_membarrier(), guard = coroi_guard_is_light();

	if (membarrier) {
		finds("query:0:1:38", false, guard); /* ENOSYS, an old kernel */
		finds("query:0:1:1", false, guard);  /* EPERM, a filter */
		finds("query:0:1:0", false, guard);
		finds("register:0:1:1", false, guard);
		finds("register:0:1:22", false, guard);
	}
	finds("guard:0:1:22", membarrier, false);
	/* an emulator says that it has installed a guard, and has not */
	finds("touch:0:1:0", membarrier, false);
	finds("touch:0:1:38", membarrier, false); /* whether a guard holds cannot be told */
	finds("map:0:1:12", membarrier, false);
}

/* ------------------------------------------------------------------------ a barrier that is
 * refused later */

static void trims(int error)
{
	coro_scheduler *s = start_with(2, 0);
	small_work(s);
	fault_set(FAULT_BARRIER, 0, FAULT_ALL, error);
	coro_scheduler_trim(s);
}

/* The process ends with a report: without the barrier a worker cannot be stopped. */
TEST(probe_ends_the_process_when_barriers_are_refused)
{
	static const int errors[] = {EPERM, ENOSYS, EINVAL, ENOMEM};
	char text[2048];

	for (size_t i = 0; coroi_has_membarrier() && i < sizeof errors / sizeof *errors; i++) {
		int status = in_child(trims, errors[i], text, sizeof text);
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
		CHECK(strstr(text, "coro: membarrier(2) was allowed at start and is refused now"));
	}
}

/* Doors with an exchange need none. */
TEST(probe_no_membarrier_needs_none)
{
	fault_set(FAULT_BARRIER, 0, FAULT_ALL, EPERM);
	coro_scheduler *s = start_with(3, CORO_NO_MEMBARRIER);
	small_work(s);
	coro_scheduler_trim(s);
	finish(s);
	CHECK_EQ(fault_clear(), 0);
}

/* ------------------------------------------------------------------------ the report of a fault */

static void overflow(int failing)
{
	struct rlimit none = {0, 0};

	setrlimit(RLIMIT_CORE, &none);
	if (failing >= 0)
		fault_set(FAULT_SIGACTION, failing, 1, EPERM);
	coro_scheduler *s = start_with(1, 0);
	fault_last_words();
	spawn(s, overflows, NULL, 0);
	coro_scheduler_wait(s);
}

/* Where no handler could be set, the guard still ends the process, without a report. */
TEST(probe_overflow_without_a_handler)
{
	char text[2048];

	/* the first two calls are for SIGSEGV, the next two for SIGBUS */
	for (int failing = -1; failing < 3; failing++) {
		int status = in_child(overflow, failing, text, sizeof text);
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
		CHECK_EQ(strstr(text, "coro: stack overflow: ") != NULL,
			 failing < 0 || failing == 2);
	}
}

/* The handler that was set before gets the signal after our report, with its own flags. A signal
 * that was sent, not caused by an access, goes to that handler alone. */
static void before_us(int sig)
{
	fault_last_words();
	_exit(sig == SIGSEGV ? 7 : 8);
}

static void before_us_too(int sig, siginfo_t *info, void *context)
{
	(void)context;
	before_us(info->si_code > 0 ? sig : 0);
}

enum {
	PLAIN = 1,
	WITH_INFO = 2,
	IGNORED = 4,
	DEFAULT = 8,
	SENT = 16,
	STRAY = 32,
	STRAY_BY_HAND = 64,
	STRAY_OUTSIDE = 128,
	STRAY_IN_GO = 256,
	STRAY_ABOVE = 512
};

static void strays(void *arg, void *result)
{
	(void)result;
	volatile char *nowhere = arg;
	__asm__("" : "+r"(nowhere));
	*nowhere = 1;
}

static void strays_from(void *arg, void *result)
{
	(void)arg;
	strays((void *)8, result);
}

static intptr_t strays_by_hand(void *arg, intptr_t first)
{
	strays(arg, NULL);
	return first;
}

/* A call into Go is on the worker's own stack. */
static void strays_in_go(struct coroi_worker *w)
{
	(void)w;
	strays((void *)8, NULL);
}

static void calls_go(void *arg, void *result)
{
	(void)arg;
	(void)result;
	coro_call_go_inline(1, NULL, 0, NULL, 0, NULL);
}

/* An address above the stack belongs to no guard. */
static void strays_above(void *arg, void *result)
{
	(void)arg;
	strays((void *)(((uintptr_t)1 << 47) - 8), result);
}

static void segv(int how)
{
	struct sigaction a = {.sa_handler = SIG_DFL, .sa_flags = SA_ONSTACK};
	struct rlimit none = {0, 0};

	setrlimit(RLIMIT_CORE, &none);
	if (how & PLAIN)
		a.sa_handler = before_us;
	if (how & IGNORED)
		a.sa_handler = SIG_IGN;
	if (how & WITH_INFO) {
		a.sa_sigaction = before_us_too;
		a.sa_flags |= SA_SIGINFO;
	}
	CHECK_EQ(sigaction(SIGSEGV, &a, NULL), 0);
	coro_scheduler *s = start_with(1, 0);
	if (how & SENT) {
		raise(SIGSEGV);
	} else if (how & STRAY_OUTSIDE) {
		strays((void *)8, NULL);
	} else if (how & STRAY_IN_GO) {
		stand_in(strays_in_go);
		coroi_border(s)->bell.go_id = 1;
		spawn(s, calls_go, NULL, 0);
	} else if (how & STRAY_ABOVE) {
		spawn(s, strays_above, NULL, 0);
	} else if (how & STRAY_BY_HAND) {
		coro_t *co;
		CHECK_EQ(coro_new(&co, strays_by_hand, (void *)8, 0), CORO_OK);
		coro_resume(co, 0, NULL);
	} else {
		spawn(s, how & STRAY ? strays_from : overflows, NULL, 0);
	}
	coro_scheduler_wait(s);
	if (how & SENT)
		small_work(s);
	CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
}

static void expect_segv(int how, int code)
{
	char text[2048];
	int status = in_child(segv, how, text, sizeof text);

	if (code < 0)
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	else
		CHECK_EQ(status, code << 8);
	CHECK_EQ(strstr(text, "coro: stack overflow: ") != NULL, how < SENT);
	/* any other fault on a thread of ours has its line, and what was sent has none */
	CHECK_EQ(strstr(text, "coro: SIGSEGV at address ") != NULL,
		 how >= STRAY && !(how & STRAY_OUTSIDE));
}

TEST(probe_segv_is_handed_on)
{
	expect_segv(PLAIN, 7);
	expect_segv(WITH_INFO, 7);
	expect_segv(DEFAULT, -1);
	expect_segv(IGNORED, -1); /* the kernel does not let an access be ignored */
	expect_segv(PLAIN | SENT, 7);
	expect_segv(WITH_INFO | SENT, 8);
	expect_segv(DEFAULT | SENT, -1);
	expect_segv(IGNORED | SENT, 0);
	expect_segv(PLAIN | STRAY, 7); /* no guard was hit */
	expect_segv(WITH_INFO | STRAY_BY_HAND, 7);
	expect_segv(WITH_INFO | STRAY_OUTSIDE, 7);
	expect_segv(WITH_INFO | STRAY_IN_GO, 7);
	expect_segv(PLAIN | STRAY_ABOVE, 7);
	expect_segv(DEFAULT | STRAY, -1);
}

/* ------------------------------------------------------------------------ other machines */

static void asks(void *arg, void *result)
{
	(void)result;
	CHECK_EQ(sigaltstack(NULL, *(stack_t **)arg), 0);
}

/* Where the registers of a thread take more, its signal stack is larger. */
TEST(probe_large_signal_frames)
{
	stack_t usual = {0}, large = {0}, *at = &usual;

	coro_scheduler *s = start_with(1, 0);
	spawn(s, asks, &at, sizeof at);
	finish(s);
	CHECK(usual.ss_size >= 60 << 10);
	fault_machine(0, 100000);
	at = &large;
	s = start_with(1, 0);
	spawn(s, asks, &at, sizeof at);
	finish(s);
	CHECK(large.ss_size >= 100000 + (30 << 10));
}

TEST(probe_workers_of_a_large_machine)
{
	fault_machine(CORO_WORKERS_MAX + 44, 0);
	coro_scheduler *s = start(NULL);
	CHECK_EQ(stats(s).workers, CORO_WORKERS_MAX);
	small_work(s);
	finish(s);
	coro_dispatch_pool_options o = {.size = sizeof o, .policy = CORO_DISPATCH_LL};
	coro_dispatch_pool *p;
	CHECK_EQ(coro_dispatch_pool_new(&p, &o), CORO_OK);
	CHECK_EQ(p->threads, CORO_WORKERS_MAX);
	CHECK_EQ(coro_dispatch_pool_free(p), CORO_OK);
	fault_machine(5, 0);
	s = start(NULL);
	CHECK_EQ(stats(s).workers, 5);
	finish(s);
}

/* There is one worker. */
TEST(probe_workers_of_a_machine_that_does_not_tell)
{
	fault_machine(-1, 0);
	fault_set(FAULT_CPUS, 0, FAULT_ALL, EINVAL);
	coro_scheduler *s = start(NULL);
	CHECK_EQ(fault_clear(), 1);
	CHECK_EQ(stats(s).workers, 1);
	small_work(s);
	finish(s);
}

/* ------------------------------------------------------------------------ the number of workers */

/* More cores than fit into a mask: as many workers as there are, or may be. */
TEST(probe_workers_without_a_cpu_mask)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	fault_set(FAULT_CPUS, 0, FAULT_ALL, EINVAL);
	coro_scheduler *s = start(NULL);
	CHECK_EQ(fault_clear(), 1);
	CHECK_EQ(stats(s).workers, cores < CORO_WORKERS_MAX ? cores : CORO_WORKERS_MAX);
	small_work(s);
	finish(s);
}

static void counts(void *arg)
{
	__atomic_fetch_add((int *)arg, 1, __ATOMIC_RELAXED);
}

/* A thread of a pool of dispatchers that cannot be pinned works. */
TEST(probe_dispatch_thread_not_pinned)
{
	uint16_t cpu = 0;
	coro_dispatch_pool_options o = {.policy = CORO_DISPATCH_LL, .threads = 2};
	coro_dispatch_pool *p = NULL;
	int ran = 0;

	o.cpus = &cpu;
	o.cpu_count = 1;
	fault_set(FAULT_PIN, 0, FAULT_ALL, EINVAL);
	CHECK_EQ(coro_dispatch_pool_new(&p, &o), CORO_OK);
	for (uint32_t i = 0; i < 2; i++)
		CHECK_EQ(coro_dispatch_pool_spawn(p, counts, &ran, i, NULL), CORO_OK);
	CHECK_EQ(coro_dispatch_pool_wait(p), CORO_OK);
	CHECK_EQ(fault_clear(), 2);
	CHECK_EQ(ran, 2);
	CHECK_EQ(coro_dispatch_pool_free(p), CORO_OK);
}

/* A worker that cannot be pinned says so, and works. */
TEST(probe_worker_not_pinned)
{
	uint16_t cpus[2];
	cpu_set_t mine;
	coro_options o = options(2, 0);
	coro_worker_stats w[2];
	coro_stats t;

	CHECK_EQ(sched_getaffinity(0, sizeof mine, &mine), 0);
	for (cpus[0] = 0; !CPU_ISSET(cpus[0], &mine); cpus[0]++)
		;
	cpus[1] = cpus[0];
	o.cpus = cpus;
	o.cpu_count = 2;
	fault_set(FAULT_PIN, 1, 1, EINVAL);
	coro_scheduler *s = start(&o);
	CHECK_EQ(fault_clear(), 1);
	CHECK_EQ(coro_scheduler_stats(s, &t, w, 2), CORO_OK);
	CHECK_EQ(w[0].cpu + w[1].cpu, cpus[0] - 1); /* one is */
	small_work(s);
	finish(s);
	cpus[0] = 60000; /* no machine has it */
	s = start(&o);
	CHECK_EQ(coro_scheduler_stats(s, &t, w, 2), CORO_OK);
	CHECK_EQ(w[0].cpu, -1);
	CHECK_EQ(w[1].cpu, cpus[1]);
	finish(s);
}
