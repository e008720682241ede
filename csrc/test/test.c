/*
 * test.c - the runner of test.h, and what the tests share.
 *
 *   ctest [-n TIMES] [-x PROGRAM]... [-v] [-l] [NAME | PREFIX*]...
 *
 * Runs the named tests, or all. A PROGRAM is a build of the same tests; the default is ctest
 * itself. Each test is a process of its own (with -v, in Valgrind): a crash, a leak report or a
 * hang fails that test alone, and names it.
 */
#include "test.h"

#include "base/atomics.h"
#include "base/heap.h"
#include "kernel/idle.h"
#include "base/stack.h"

#include <errno.h>
#include <fnmatch.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define USUAL_SECONDS 60u

/* SLOWER: by how much this build multiplies the time limits. SLOWEST: the most of any build. */
#ifndef SLOWER
#define SLOWER 1
#endif
#define SLOWEST      10u
#define PROGRAMS_MAX 4

static struct test *tests, **last = &tests;

/* What the runners share; several run side by side. */
static struct {
	uint32_t next; /* of all runs of tests */
	uint32_t passed, failed;
} * all;
static bool under_valgrind;
const char *test_context;

void test_register(struct test *t)
{
	*last = t;
	last = &t->next;
}

void test_fail(const char *file, int line, const char *format, ...)
{
	char text[512];
	int n = snprintf(text, sizeof text, "%s:%d: ", file, line);
	va_list args;

	va_start(args, format);
	n += vsnprintf(text + n, sizeof text - (size_t)n, format, args);
	va_end(args);
	if (test_context && n < (int)sizeof text)
		n += snprintf(text + n, sizeof text - (size_t)n, " (%s)", test_context);
	if (n > (int)sizeof text - 2)
		n = (int)sizeof text - 2;
	text[n++] = '\n';
	if (write(2, text, (size_t)n) < 0)
		_exit(3);
	if (getenv("CORO_TEST_ABORT")) /* for a core file or a debugger */
		abort();
	_exit(2);
}

static double scale(void)
{
	const char *text = getenv("CORO_TEST_SCALE");
	double d = text ? atof(text) : 1;
	return d > 0 ? d : 1;
}

uint64_t scaled(uint64_t n)
{
	double d = (double)n * scale() / (SANITIZED ? 8 : 1);
	return d < 1 ? 1 : (uint64_t)d;
}

void delays(uint32_t every)
{
#ifdef COROI_STRESS
	at_store_rlx(&coroi_delay_every, every);
#else
	(void)every;
#endif
}

void report(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("   ", stdout);
	vprintf(format, args);
	putchar('\n');
	va_end(args);
	fflush(stdout);
}

uint64_t rnd(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * UINT64_C(0x2545f4914f6cdd1d);
}

int child_end(pid_t pid, int fd, char *text, size_t bytes)
{
	size_t n = 0;
	int status;

	for (ssize_t got; n < bytes - 1 && (got = read(fd, text + n, bytes - 1 - n)) > 0;)
		n += (size_t)got;
	text[n] = 0;
	close(fd);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	return status;
}

pid_t child_start(int *fd)
{
	int both[2];

	CHECK_EQ(pipe(both), 0);
	fflush(NULL);
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid == 0)
		dup2(both[1], 2);
	else
		*fd = both[0];
	if (pid == 0)
		close(both[0]);
	close(both[1]);
	return pid;
}

uint64_t add_to(uint64_t *n, uint64_t by)
{
	return __atomic_add_fetch(n, by, __ATOMIC_SEQ_CST);
}

uint64_t add_one(uint64_t *n)
{
	return add_to(n, 1);
}

uint64_t seen(const uint64_t *n)
{
	return __atomic_load_n(n, __ATOMIC_SEQ_CST);
}

void sleep_until_seen(const uint64_t *n, uint64_t least)
{
	while (seen(n) < least)
		sleep_us(50);
}

uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void sleep_us(unsigned us)
{
	usleep(us);
}

void thread_start(pthread_t *t, void *(*fn)(void *), void *arg)
{
	CHECK_EQ(pthread_create(t, NULL, fn, arg), 0);
}

void thread_join(pthread_t t)
{
	CHECK_EQ(pthread_join(t, NULL), 0);
}

int pattern_across(unsigned words, uint64_t seed, int (*wait)(void))
{
	volatile uint64_t at[words];
	uint64_t state = seed * 2 + 1;

	for (unsigned i = 0; i < words; i++)
		at[i] = rnd(&state);
	int status = wait();
	state = seed * 2 + 1;
	for (unsigned i = 0; i < words; i++)
		CHECK(at[i] == rnd(&state));
	return status;
}

/* -------------------------------------------------------------------- schedulers and coroutines */

coro_options options(uint32_t workers, uint32_t flags)
{
	return (coro_options){.size = sizeof(coro_options),
			      .workers = workers,
			      .flags = flags,
			      .stack_bytes = STACK};
}

coro_options options_capped(uint32_t workers, size_t stacks)
{
	coro_options o = options(workers, 0);

	o.stack_limit = stacks * (STACK + 4096);
	return o;
}

coro_scheduler *start(const coro_options *o)
{
	coro_scheduler *s = NULL;
	CHECK_EQ(coro_scheduler_init(&s, o), CORO_OK);
	return s;
}

coro_scheduler *start_with(uint32_t workers, uint32_t flags)
{
	coro_options o = options(workers, flags);
	return start(&o);
}

coro_scheduler *start_on_this_cpu(void)
{
	uint16_t cpu = (uint16_t)sched_getcpu();
	coro_options o = options(1, 0);
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	CHECK_EQ(sched_setaffinity(0, sizeof set, &set), 0);
	o.cpus = &cpu;
	o.cpu_count = 1;
	return start(&o);
}

void spawn(coro_scheduler *s, coro_fn fn, const void *arg, size_t arg_bytes)
{
	CHECK_EQ(coro_scheduler_spawn(s, NULL, fn, arg, arg_bytes, NULL), CORO_OK);
}

void spawn_in(coro_fn fn, const void *arg, size_t arg_bytes)
{
	CHECK_EQ(coro_spawn(fn, arg, arg_bytes), CORO_OK);
}

void never(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK(!"a coroutine started that must not");
}

void run_alone(coro_scheduler *s, const coro_attr *attr, coro_fn fn)
{
	CHECK_EQ(coro_scheduler_spawn(s, attr, fn, NULL, 0, NULL), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	finish(s);
}

coro_chan *channel(size_t bytes, size_t capacity)
{
	coro_chan *c = NULL;

	CHECK_EQ(coro_chan_new(&c, bytes, capacity, 0), CORO_OK);
	CHECK_EQ(coro_chan_capacity(c), capacity);
	return c;
}

coro_attr on(uint32_t worker)
{
	return (coro_attr){.size = sizeof(coro_attr), .worker = worker};
}

void until_waiting(coro_scheduler *s, size_t n)
{
	while (coro_scheduler_blocked(s, NULL, 0) != n)
		sleep_us(100); /* each call stops the workers */
}

coro_stats stats(coro_scheduler *s)
{
	coro_stats t;
	CHECK_EQ(coro_scheduler_stats(s, &t, NULL, 0), CORO_OK);
	return t;
}

void finish(coro_scheduler *s)
{
	int waited = coro_scheduler_wait(s);
	/* EPERM: a paused scheduler, which has run */
	CHECK(waited == CORO_OK || waited == CORO_EPERM);

	coro_worker_stats w[CORO_WORKERS_MAX];
	coro_stats t;
	CHECK_EQ(coro_scheduler_stats(s, &t, w, CORO_WORKERS_MAX), CORO_OK);
	uint64_t spawned = 0, ended = 0, queued = 0;
	for (uint32_t i = 0; i < t.workers; i++) {
		spawned += w[i].spawned;
		ended += w[i].ended;
		queued += w[i].queued;
	}
	CHECK_EQ(spawned, ended);
	CHECK_EQ(queued, 0);
	CHECK_EQ(t.live, 0);
	CHECK_EQ(t.awaiting_stack, 0);

	/* Chunks are given back only if every record is free, and arenas only if every stack is. */
	coro_scheduler_trim(s);
	t = stats(s);
	if (t.records_retired == 0) {
		CHECK_EQ(t.records, t.records_idle);
		CHECK_EQ(t.record_bytes, 0);
	}
	CHECK_EQ(t.stacks, 0);
	CHECK_EQ(t.stack_bytes, 0);
	CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
}

/* --------------------------------------------------------------------------------------- faults */

_Thread_local int fail_alloc = -1, fail_map = -1, fail_guard = -1;
_Thread_local void *map_at;
int fail_thread = -1;
_Thread_local int fail_block = -1, fail_blocks;
_Thread_local void (*fail_meanwhile)(void);

/* due - count down; true once, at zero. */
static bool due(int *left)
{
	return *left >= 0 && (*left)-- == 0;
}

void *__real_coroi_alloc(size_t bytes, size_t align);
void *__wrap_coroi_alloc(size_t bytes, size_t align);
void *__wrap_coroi_alloc(size_t bytes, size_t align)
{
	return due(&fail_alloc) ? NULL : __real_coroi_alloc(bytes, align);
}

void *__real_coroi_map(size_t bytes, size_t align, const char *name);
void *__wrap_coroi_map(size_t bytes, size_t align, const char *name);
void *__wrap_coroi_map(size_t bytes, size_t align, const char *name)
{
	if (due(&fail_map))
		return NULL;
	if (map_at && align == COROI_CHUNK_BYTES) {
		void *p = mmap(map_at, bytes, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
		CHECK(p == map_at);
		return p;
	}
	return __real_coroi_map(bytes, align, name);
}

void *__real_coroi_heap_get(struct coroi_heap *h, size_t bytes);
void *__wrap_coroi_heap_get(struct coroi_heap *h, size_t bytes);
void *__wrap_coroi_heap_get(struct coroi_heap *h, size_t bytes)
{
	if (fail_blocks > 0 && fail_block == 0) {
		fail_blocks--;
		if (fail_meanwhile)
			fail_meanwhile();
		return NULL;
	}
	if (fail_block > 0)
		fail_block--;
	return __real_coroi_heap_get(h, bytes);
}

void (*meanwhile)(void);

bool __real_coroi_idle_spin(struct coroi_worker *w, bool (*happened)(void *), void *arg,
			    uint32_t pauses);
bool __wrap_coroi_idle_spin(struct coroi_worker *w, bool (*happened)(void *), void *arg,
			    uint32_t pauses);
bool __wrap_coroi_idle_spin(struct coroi_worker *w, bool (*happened)(void *), void *arg,
			    uint32_t pauses)
{
	if (meanwhile)
		meanwhile();
	return __real_coroi_idle_spin(w, happened, arg, pauses);
}

int __real_coroi_guard(void *base, size_t bytes);
int __wrap_coroi_guard(void *base, size_t bytes);
int __wrap_coroi_guard(void *base, size_t bytes)
{
	/* not every emulator of a larger page checks this */
	CHECK_EQ(((uintptr_t)base | bytes) % coroi_page(), 0);
	return due(&fail_guard) ? ENOMEM : __real_coroi_guard(base, bytes);
}

int __real_coroi_thread_start(pthread_t *out, void *(*fn)(void *), void *arg);
int __wrap_coroi_thread_start(pthread_t *out, void *(*fn)(void *), void *arg);
int __wrap_coroi_thread_start(pthread_t *out, void *(*fn)(void *), void *arg)
{
	return due(&fail_thread) ? EAGAIN : __real_coroi_thread_start(out, fn, arg);
}

/* Another thread may take a stack from the pool at once: nobody may stand on it. */
void __real_coroi_stack_pool_put(struct coroi_stack_pool *p, struct coroi_stack **list, unsigned n);
void __wrap_coroi_stack_pool_put(struct coroi_stack_pool *p, struct coroi_stack **list, unsigned n);
void __wrap_coroi_stack_pool_put(struct coroi_stack_pool *p, struct coroi_stack **list, unsigned n)
{
	const char *here = __builtin_frame_address(0);

	for (unsigned i = 0; i < n; i++)
		CHECK(here < list[i]->low || here >= list[i]->top);
	__real_coroi_stack_pool_put(p, list, n);
}

int (*look_up_instead)(const char *node);

struct addrinfo;
int __real_coroi_sys_getaddrinfo(const char *node, const char *service,
				 const struct addrinfo *hints, struct addrinfo **out);
int __wrap_coroi_sys_getaddrinfo(const char *node, const char *service,
				 const struct addrinfo *hints, struct addrinfo **out);
int __wrap_coroi_sys_getaddrinfo(const char *node, const char *service,
				 const struct addrinfo *hints, struct addrinfo **out)
{
	return look_up_instead ? look_up_instead(node)
			       : __real_coroi_sys_getaddrinfo(node, service, hints, out);
}

/* ----------------------------------------------------------------------------------- the runner */

static unsigned limit_of(const struct test *t, unsigned slower)
{
	unsigned seconds = t->seconds ? t->seconds : USUAL_SECONDS;
	double by = scale() > 1 ? scale() : 1;
	return (unsigned)(seconds * by * slower);
}

static bool limited(void)
{
	return !getenv("CORO_TEST_NO_LIMIT"); /* for a debugger */
}

static struct test *find(const char *name)
{
	for (struct test *t = tests; t; t = t->next)
		if (strcmp(t->name, name) == 0)
			return t;
	return NULL;
}

/* verdict - how a test's process ended. */
static const char *verdict(int status, char *text, size_t bytes)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return NULL;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		snprintf(text, bytes, "over its time limit");
	else if (WIFSIGNALED(status))
		snprintf(text, bytes, "signal %d, %s", WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
	else
		snprintf(text, bytes, "exit %d", WEXITSTATUS(status));
	return text;
}

/* show - print what a test wrote to stderr. True: there is a sanitizer's warning, which does not
 * end the test. */
static bool show(int fd)
{
	char text[65536];
	bool warned = false;
	ssize_t n = pread(fd, text, sizeof text - 1, 0);

	if (n <= 0)
		return false;
	text[n] = 0;
	warned = strstr(text, "WARNING: ") != NULL;
	fputs(text, stderr);
	if (n == sizeof text - 1)
		fputs("...\n", stderr);
	return warned;
}

static volatile sig_atomic_t out_of_patience;

static void on_alarm(int sig)
{
	(void)sig;
	out_of_patience = 1;
}

/* await - wait for the end of the test's process. A test has a time limit of its own, but an
 * emulated one may hang beyond it. Children that it leaves are killed too: they would hold the
 * runner's output open. */
static int await(const struct test *t, pid_t child)
{
	siginfo_t info;
	int status = 0;

	out_of_patience = 0;
	alarm(limited() ? limit_of(t, SLOWEST) + 60 : 0);
	while (waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR &&
	       !out_of_patience)
		;
	alarm(0);
	kill(-child, SIGKILL);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return out_of_patience ? SIGALRM : status; /* as if the test had ended itself */
}

static void run_one(const struct test *t, const char *program)
{
	char text[80];
	int said = memfd_create("stderr", 0);
	uint64_t began = now_ns();

	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		setpgid(0, 0);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(said, 2);
		if (under_valgrind)
			execlp("valgrind", "valgrind", "-q", "--error-exitcode=67",
			       "--leak-check=full", "--fair-sched=yes", program, "-1", t->name,
			       (char *)NULL);
		execl(program, program, "-1", t->name, (char *)NULL);
		_exit(127);
	}
	setpgid(child, child); /* the parent or the child, the first of both */
	int status = await(t, child);
	unsigned ms = (unsigned)((now_ns() - began) / 1000000);
	const char *bad = verdict(status, text, sizeof text);
	if (show(said) && !bad)
		bad = "a warning";
	close(said);
	if (bad) {
		printf("FAIL %s %u ms (%s; %s)\n", t->name, ms, bad, program);
		at_add(&all->failed, 1);
	} else {
		printf("ok %s %u ms\n", t->name, ms);
		at_add(&all->passed, 1);
	}
	fflush(stdout);
}

static bool chosen(const struct test *t, char **names)
{
	if (!*names)
		return true;
	for (; *names; names++)
		if (fnmatch(*names, t->name, 0) == 0)
			return true;
	return false;
}

/* run_some - the runs that no other runner has taken: of each program, `times` times, each test of
 * these names. */
static void run_some(const char **programs, unsigned times, char **names)
{
	uint32_t k = 1, mine = at_add(&all->next, 1);

	for (; *programs; programs++)
		for (unsigned i = 0; i < times; i++)
			for (struct test *t = tests; t; t = t->next)
				if (chosen(t, names) && k++ == mine) {
					run_one(t, *programs);
					mine = at_add(&all->next, 1);
				}
}

int main(int argc, char **argv)
{
	const char *programs[PROGRAMS_MAX + 1] = {NULL};
	unsigned times = 1, count = 0, runners = 1;

	for (int c; (c = getopt(argc, argv, "n:j:x:vl1:")) != -1;) {
		if (c == 'n') {
			times = (unsigned)atoi(optarg);
		} else if (c == 'j') {
			runners = (unsigned)atoi(optarg);
		} else if (c == 'x' && count < PROGRAMS_MAX) {
			programs[count++] = optarg;
		} else if (c == 'v') {
			under_valgrind = true;
		} else if (c == '1') {
			struct test *t = find(optarg);
			if (!t)
				return 126;
			alarm(limited() ? limit_of(t, SLOWER) : 0);
			t->run();
			return 0;
		} else if (c == 'l') {
			for (struct test *t = tests; t; t = t->next)
				puts(t->name);
			return 0;
		} else {
			return 64;
		}
	}
	struct sigaction a = {.sa_handler = on_alarm}; /* no SA_RESTART */
	sigaction(SIGALRM, &a, NULL);
	if (!count)
		programs[count++] = "/proc/self/exe";
	all = mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (all == MAP_FAILED)
		return 125;
	bool first = true;
	for (unsigned i = 1; i < runners && first; i++)
		first = fork() != 0;
	if (!first)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	run_some(programs, times, argv + optind);
	if (!first)
		return 0;
	while (wait(NULL) > 0 || errno == EINTR)
		;
	printf("%u passed, %u failed\n", all->passed, all->failed);
	return all->failed || !all->passed;
}
