/*
 * t_machine.c - the machine at its limits, and a machine that is slow or interrupts: no fault is
 * made up here.
 */
#include "child.h"
#include "layer.h"
#include "scenarios.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void must_pass(void (*run)(int), int arg)
{
	char text[2048];
	int status = in_child(run, arg, text, sizeof text);
	if (status)
		test_fail(__FILE__, __LINE__, "with %d: status %x, %s", arg, (unsigned)status,
			  text);
}

/* ------------------------------------------------------------------------ signals */

static uint64_t signals;
static int hold_us; /* most microseconds for which a signal holds its thread */

static void on_signal(int sig)
{
	uint64_t n = __atomic_add_fetch(&signals, 1, __ATOMIC_RELAXED);
	int error = errno;

	(void)sig;
	if (hold_us && n % 8 == 0) {
		struct timespec t = {0, (long)(n % 64 + 1) * hold_us * 1000 / 64};
		nanosleep(&t, NULL);
	}
	errno = error;
}

struct storm {
	pthread_t thread;
	uint32_t stop;
	unsigned pause_us;
};

/* Sends signals to every thread except its own. */
static void *blow(void *arg)
{
	struct storm *s = arg;
	long self = syscall(SYS_gettid);

	while (!__atomic_load_n(&s->stop, __ATOMIC_SEQ_CST)) {
		DIR *dir = opendir("/proc/self/task");
		CHECK(dir != NULL);
		for (struct dirent *d; (d = readdir(dir));) {
			long tid = atol(d->d_name);
			if (tid > 0 && tid != self)
				syscall(SYS_tgkill, getpid(), tid, SIGURG);
		}
		closedir(dir);
		usleep(s->pause_us);
	}
	return NULL;
}

static void storm_begin(struct storm *s, int hold, unsigned pause_us)
{
	struct sigaction a = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK}; /* no SA_RESTART */

	*s = (struct storm){.pause_us = pause_us};
	hold_us = hold;
	CHECK_EQ(sigaction(SIGURG, &a, NULL), 0);
	thread_start(&s->thread, blow, s);
}

static void storm_end(struct storm *s)
{
	__atomic_store_n(&s->stop, 1, __ATOMIC_SEQ_CST);
	thread_join(s->thread);
	check_nothing_left();
}

/* Every wait ends early, again and again. */
TEST_LIMIT(machine_interrupts, 180)
{
	struct storm storm;
	uint64_t n;

	run_all();
	storm_begin(&storm, 0, 20);
	for (n = 0; n < scaled(40) || fault_interrupted() < 100 ||
		    __atomic_load_n(&signals, __ATOMIC_RELAXED) < 1000;
	     n++)
		run_all();
	storm_end(&storm);
	printf("%llu signals, %lld interrupted waits\n", (unsigned long long)signals,
	       (long long)fault_interrupted());
}

/* Threads are stopped for milliseconds, wherever they stand: inside a door, with a lock, on the way
 * to sleep. */
TEST_LIMIT(machine_stops_threads, 180)
{
	struct storm storm;

	run_all();
	storm_begin(&storm, 4000, 200);
	for (uint64_t n = 0; n < scaled(10) || __atomic_load_n(&signals, __ATOMIC_RELAXED) < 100;
	     n++)
		run_all();
	storm_end(&storm);
	printf("%llu signals\n", (unsigned long long)signals);
}

/* ------------------------------------------------------------------------ little time */

static void works_on(int times)
{
	while (times--)
		run_all();
	check_nothing_left();
}

/* Shared with the child: how often the child was stopped. */
static uint32_t *stops;

/* start_child - a child that does the work that many times, and again until it was stopped `least`
 * times. */
static pid_t start_child(int times, uint32_t least)
{
	stops = mmap(NULL, sizeof *stops, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	CHECK(stops != MAP_FAILED);
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid)
		return pid;
	do
		works_on(times);
	while (__atomic_load_n(stops, __ATOMIC_SEQ_CST) < least);
	_exit(0);
}

static void nap_us(uint64_t us)
{
	struct timespec t = {(time_t)(us / 1000000), (long)(us % 1000000) * 1000};
	nanosleep(&t, NULL);
}

/* stop_and_go - the child runs for a random time up to run_us, is stopped for a random time up to
 * stop_us, and so on, to its end. */
static void stop_and_go(pid_t pid, uint64_t run_us, uint64_t stop_us)
{
	uint64_t seed = 42;
	int status;

	for (;; __atomic_add_fetch(stops, 1, __ATOMIC_SEQ_CST)) {
		nap_us(rnd(&seed) % run_us);
		if (waitpid(pid, &status, WNOHANG) == pid)
			break;
		CHECK_EQ(kill(pid, SIGSTOP), 0);
		nap_us(rnd(&seed) % stop_us);
		CHECK_EQ(kill(pid, SIGCONT), 0);
	}
	CHECK_EQ(status, 0);
}

TEST_LIMIT(machine_stops_the_process, 180)
{
	stop_and_go(start_child((int)scaled(20), 10), 3000, 30000);
	printf("%u stops\n", *stops);
}

/* put - write text into a file of the directory. */
static bool put(const char *dir, const char *file, const char *text)
{
	char path[600];

	snprintf(path, sizeof path, "%s/%s", dir, file);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	if (fd >= 0)
		close(fd);
	return ok;
}

/* quota_group - a new control group below ours, with a fifth of one CPU. False: none may be
 * made. */
static bool quota_group(char *dir, size_t bytes)
{
	FILE *f = fopen("/proc/self/cgroup", "re");
	char line[400], *path;

	while (f && fgets(line, sizeof line, f)) {
		line[strcspn(line, "\n")] = 0;
		char *kind = strchr(line, ':');
		path = kind ? strchr(kind + 1, ':') : NULL;
		if (!path)
			continue;
		*path++ = 0;
		bool second = kind[1] == 0;
		if (!second && strcmp(kind + 1, "cpu") != 0 && strcmp(kind + 1, "cpu,cpuacct") != 0)
			continue;
		snprintf(dir, bytes, "/sys/fs/cgroup%s%s%s/coro-%d", second ? "" : "/",
			 second ? "" : kind + 1, strcmp(path, "/") == 0 ? "" : path, (int)getpid());
		if (mkdir(dir, 0755))
			continue;
		if (second ? put(dir, "cpu.max", "20000 100000")
			   : put(dir, "cpu.cfs_period_us", "100000") &&
				     put(dir, "cpu.cfs_quota_us", "20000")) {
			fclose(f);
			return true;
		}
		rmdir(dir);
	}
	if (f)
		fclose(f);
	return false;
}

/* A fifth of one CPU: for four fifths of the time no thread runs. */
TEST_LIMIT(machine_gives_a_fifth_of_its_time, 180)
{
	char dir[500], pid_text[20];
	int times = 15 * (int)scaled(1);

	if (!quota_group(dir, sizeof dir)) {
		stop_and_go(start_child(times, 4), 8000, 32000);
		printf("no control group may be made here: stopped %u times instead\n", *stops);
		return;
	}
	int gate[2], status;
	char go;
	CHECK_EQ(pipe(gate), 0);
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		CHECK_EQ(read(gate[0], &go, 1), 1);
		works_on(times);
		_exit(0);
	}
	snprintf(pid_text, sizeof pid_text, "%d", (int)pid);
	CHECK(put(dir, "cgroup.procs", pid_text));
	uint64_t began = now_ns();
	struct rusage used;
	CHECK_EQ(write(gate[1], "", 1), 1);
	CHECK_EQ(wait4(pid, &status, 0, &used), pid);
	for (int i = 0; rmdir(dir) && i < 1000; i++)
		nap_us(1000);
	CHECK_EQ(status, 0);
	uint64_t wall_us = (now_ns() - began) / 1000;
	uint64_t cpu_us = (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000 +
			  (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
	printf("%llu ms of CPU time in %llu ms\n", (unsigned long long)cpu_us / 1000,
	       (unsigned long long)wall_us / 1000);
	CHECK(cpu_us < wall_us / 2);
}

/* ------------------------------------------------------------------------ little memory */

static void without_limit(void)
{
	lasting = several = machine = false;
	run_all();
	check_nothing_left();
}

/* enough - with nothing left calls have been refused, and with the most none. */
static void enough(int left, int most)
{
	if (left == 0)
		CHECK(refusals > 0);
	if (left == most)
		CHECK_EQ(refusals, 0);
}

#define KIB_MOST (400 << 10)

static uint64_t address_space(void)
{
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");
	CHECK(f && fscanf(f, "%lu", &pages) == 1);
	fclose(f);
	return (uint64_t)pages * 4096;
}

static void limited(int kib)
{
	struct rlimit before, now;

	CHECK_EQ(getrlimit(RLIMIT_AS, &before), 0);
	now = before;
	now.rlim_cur = address_space() + (uint64_t)kib * 1024;
	lasting = several = machine = true;
	CHECK_EQ(setrlimit(RLIMIT_AS, &now), 0);
	run_all();
	CHECK_EQ(setrlimit(RLIMIT_AS, &before), 0);
	enough(kib, KIB_MOST);
	without_limit();
}

/* From nothing to enough. A sanitizer needs more than that for itself. */
TEST_LIMIT(machine_has_little_address_space, 360)
{
	int steps = 0;

	for (int kib = 0; !SANITIZED && kib < KIB_MOST;
	     kib = kib < 4096 ? kib + (int)(1024 / scaled(1)) : kib * 5 / 4, steps++)
		must_pass(limited, kib);
	if (!SANITIZED)
		must_pass(limited, KIB_MOST);
	printf("%d limits\n", steps);
}

#define MAPPINGS_MOST 1000

struct filler {
	char **at;
	int n, cap;
};

/* fill - small mappings until there may be no more. Neighbours differ, so that none are joined. */
static void fill(struct filler *f)
{
	f->cap = 1 << 17;
	f->at = malloc((size_t)f->cap * sizeof *f->at);
	for (f->n = 0; f->n < f->cap; f->n++) {
		f->at[f->n] = mmap(NULL, 4096, f->n % 2 ? PROT_READ : PROT_NONE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (f->at[f->n] == MAP_FAILED)
			break;
	}
}

/* leave - n mappings may be made again. The last ones go first: no hole is left between two others,
 * in which a mapping would cost none. */
static void leave(struct filler *f, int n)
{
	while (n-- > 0 && f->n > 0) {
		f->n--;
		CHECK_EQ(munmap(f->at[f->n], 4096), 0);
	}
}

static void mappings_left(int n)
{
	struct filler f;

	fill(&f);
	if (f.n == f.cap) {
		printf("vm.max_map_count is over %d here: not tried\n", f.cap);
		return;
	}
	for (int guards = 0; guards < 2; guards++) {
		leave(&f, n);
		lasting = several = machine = true;
		if (guards) /* by mprotect: two mappings for each stack */
			fault_set(FAULT_GUARD, 0, FAULT_ALL, EINVAL);
		run_all();
		fault_clear();
	}
	enough(n, MAPPINGS_MOST);
	leave(&f, f.n);
	without_limit();
	free(f.at);
}

/* Instead of a lower vm.max_map_count, which is for the whole machine: all mappings are used up,
 * except for a few. */
TEST_LIMIT(machine_has_few_mappings, 360)
{
	int steps = 0;

	for (int n = 0; !SANITIZED && n < MAPPINGS_MOST;
	     n = n < 40 ? n + 1 + (int)(3 / scaled(1)) : n * 3 / 2, steps++)
		must_pass(mappings_left, n);
	if (!SANITIZED)
		must_pass(mappings_left, MAPPINGS_MOST);
	printf("%d limits\n", steps);
}

/* ------------------------------------------------------------------------ locked memory */

static void locked(int overflow)
{
	struct rlimit none = {0, 0};

	setrlimit(RLIMIT_CORE, &none);
	CHECK_EQ(mlockall(MCL_CURRENT | MCL_FUTURE), 0);
	if (!overflow) {
		/* idle stacks cannot make room for other sizes */
		lasting = several = machine = true;
		run_all();
		CHECK(refusals <= 2);
		check_nothing_left();
		CHECK_EQ(munlockall(), 0);
		without_limit();
		return;
	}
	coro_scheduler *s = start_with(1, 0);
	spawn(s, overflows, NULL, 0);
	coro_scheduler_wait(s);
}

/* may_lock - the process may lock as much memory as the test takes: by its limit, or by a
 * capability, which root in a container may lack. */
static bool may_lock(void)
{
	struct rlimit most;
	unsigned long long able = 0;
	char line[200];
	FILE *f = fopen("/proc/self/status", "re");

	while (f && fgets(line, sizeof line, f))
		sscanf(line, "CapEff: %llx", &able);
	if (f)
		fclose(f);
	CHECK_EQ(getrlimit(RLIMIT_MEMLOCK, &most), 0);
	return most.rlim_cur >= (rlim_t)1 << 30 || able >> CAP_IPC_LOCK & 1;
}

/* Locked memory can have no light guards, and cannot be given back. */
TEST_LIMIT(machine_has_locked_memory, 180)
{
	char text[2048];

	if (!may_lock() || SANITIZED) {
		printf("memory may not be locked here: not tried\n");
		return;
	}
	must_pass(locked, 0);
	int status = in_child(locked, 1, text, sizeof text);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	CHECK(strstr(text, "coro: stack overflow: "));
}
