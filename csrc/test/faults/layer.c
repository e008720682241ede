/* layer.c - see layer.h. */
#include "layer.h"

#include "../test.h"

#include <errno.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

const char *const fault_name[FAULT_KINDS] = {
	[FAULT_MAP] = "map",
	[FAULT_UNMAP] = "unmap",
	[FAULT_GUARD] = "guard",
	[FAULT_TOUCH] = "touch",
	[FAULT_PROTECT] = "protect",
	[FAULT_DISCARD] = "discard",
	[FAULT_HUGE] = "huge",
	[FAULT_ALLOC] = "alloc",
	[FAULT_QUERY] = "query",
	[FAULT_REGISTER] = "register",
	[FAULT_BARRIER] = "barrier",
	[FAULT_WAIT] = "wait",
	[FAULT_THREAD] = "thread",
	[FAULT_ATTR] = "attr",
	[FAULT_STACKSIZE] = "stacksize",
	[FAULT_NAME] = "name",
	[FAULT_PIN] = "pin",
	[FAULT_CPUS] = "cpus",
	[FAULT_SIGSTACK] = "sigstack",
	[FAULT_SIGACTION] = "sigaction",
	[FAULT_EVENT] = "event",
	[FAULT_RING] = "ring",
	[FAULT_BUFFER] = "buffer",
	[FAULT_SET] = "set",
	[FAULT_LOOK] = "look",
	[FAULT_IO] = "io",
};

static const int usual[FAULT_KINDS] = {
	[FAULT_MAP] = ENOMEM,      [FAULT_UNMAP] = ENOMEM,    [FAULT_GUARD] = EINVAL,
	[FAULT_TOUCH] = ENOSYS,    [FAULT_PROTECT] = ENOMEM,  [FAULT_DISCARD] = EINVAL,
	[FAULT_HUGE] = EINVAL,     [FAULT_ALLOC] = ENOMEM,    [FAULT_QUERY] = ENOSYS,
	[FAULT_REGISTER] = EPERM,  [FAULT_BARRIER] = ENOMEM,  [FAULT_WAIT] = EINTR,
	[FAULT_THREAD] = EAGAIN,   [FAULT_ATTR] = ENOMEM,     [FAULT_STACKSIZE] = EINVAL,
	[FAULT_NAME] = ERANGE,     [FAULT_PIN] = EINVAL,      [FAULT_CPUS] = EINVAL,
	[FAULT_SIGSTACK] = ENOMEM, [FAULT_SIGACTION] = EPERM, [FAULT_EVENT] = EMFILE,
	[FAULT_RING] = EINTR,      [FAULT_BUFFER] = ENOMEM,   [FAULT_SET] = ENOMEM,
	[FAULT_LOOK] = EINTR,      [FAULT_IO] = ENOBUFS,
};

struct plan {
	int64_t at, count;
	uint32_t one_in;
	int error;
};

static struct plan plan[FAULT_KINDS];
static int64_t calls[FAULT_KINDS], hits, interrupted;
static uint64_t random_state;
static int machine_cores;
static unsigned long machine_frame;
static enum fault_kind last;
static struct fault_held held;
void (*fault_meanwhile)(void);

int fault_usual(enum fault_kind kind)
{
	return usual[kind];
}

void fault_set(enum fault_kind kind, int64_t at, int64_t count, int error)
{
	memset(calls, 0, sizeof calls);
	plan[kind] = (struct plan){.at = at, .count = count, .error = error};
}

void fault_random(const enum fault_kind *kinds, int n, uint32_t one_in, uint64_t seed)
{
	random_state = seed;
	for (int i = 0; i < n; i++)
		plan[kinds[i]] = (struct plan){.one_in = one_in, .error = usual[kinds[i]]};
}

int64_t fault_clear(void)
{
	memset(plan, 0, sizeof plan);
	memset(calls, 0, sizeof calls);
	return __atomic_exchange_n(&hits, 0, __ATOMIC_SEQ_CST);
}

enum fault_kind fault_last(void)
{
	return __atomic_load_n(&last, __ATOMIC_SEQ_CST);
}

int64_t fault_hits(void)
{
	return __atomic_load_n(&hits, __ATOMIC_SEQ_CST);
}

int64_t fault_calls(enum fault_kind kind)
{
	return __atomic_load_n(&calls[kind], __ATOMIC_SEQ_CST);
}

int64_t fault_interrupted(void)
{
	return __atomic_load_n(&interrupted, __ATOMIC_SEQ_CST);
}

struct fault_held fault_held(void)
{
	return held;
}

/* The core's constructor may run before any of ours: the environment is read at the first call. */
static void from_environment(void)
{
	static bool done;
	const char *text = getenv("CORO_FAULT");
	long at, count;
	char name[32];
	int error;

	if (done)
		return;
	done = true;
	while (text && sscanf(text, "%31[a-z]:%ld:%ld:%d", name, &at, &count, &error) == 4) {
		for (int k = 0; k < FAULT_KINDS; k++)
			if (strcmp(name, fault_name[k]) == 0)
				plan[k] = (struct plan){.at = at, .count = count, .error = error};
		text = strchr(text, ',');
		text += text != NULL;
	}
}

/* due - this call is to fail, with *error. */
static bool due(enum fault_kind kind, int *error)
{
	from_environment();
	const struct plan *p = &plan[kind];
	int64_t n = __atomic_fetch_add(&calls[kind], 1, __ATOMIC_SEQ_CST);
	bool now = n >= p->at && n - p->at < p->count;

	if (p->one_in) {
		uint64_t state = __atomic_fetch_add(&random_state, UINT64_C(0x9e3779b97f4a7c15),
						    __ATOMIC_SEQ_CST) |
				 1;
		now = rnd(&state) >> 33 < (UINT64_C(1) << 31) / p->one_in;
	}
	if (now) {
		__atomic_store_n(&last, kind, __ATOMIC_SEQ_CST);
		__atomic_fetch_add(&hits, 1, __ATOMIC_SEQ_CST);
	}
	*error = p->error;
	return now;
}

/* fails - the same for a function that returns -1 and sets errno. */
static bool fails(enum fault_kind kind)
{
	int error;
	if (!due(kind, &error))
		return false;
	errno = error;
	return true;
}

/* Where lines are counted, a process that is about to die writes down its own first. */
extern void __gcov_dump(void) __attribute__((weak));
extern void __gcov_reset(void) __attribute__((weak));

void fault_last_words(void)
{
	if (__gcov_dump && __gcov_reset) {
		__gcov_dump();
		__gcov_reset(); /* so that what is yet to come is written too, and nothing twice */
	}
}

static void add(int64_t *counter, int64_t n)
{
	__atomic_fetch_add(counter, n, __ATOMIC_SEQ_CST);
}

bool fault_fails(enum fault_kind kind)
{
	return fails(kind);
}

void fault_holds(int64_t n)
{
	add(&held.descriptors, n);
}

/* ------------------------------------------------------------------------ memory */

void *fault_mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t offset);
void *fault_mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t offset)
{
	if (fails(FAULT_MAP))
		return MAP_FAILED;
	void *p = mmap(at, bytes, prot, flags, fd, offset);
	if (p != MAP_FAILED)
		add(&held.mapped, (int64_t)bytes);
	return p;
}

int fault_munmap(void *at, size_t bytes);
int fault_munmap(void *at, size_t bytes)
{
	if (fails(FAULT_UNMAP)) {
		add(&held.stuck, (int64_t)bytes);
		return -1;
	}
	int status = munmap(at, bytes);
	add(status ? &held.stuck : &held.mapped, status ? (int64_t)bytes : -(int64_t)bytes);
	return status;
}

int fault_prctl(int option, unsigned long what, void *at, size_t bytes, const char *name);
int fault_prctl(int option, unsigned long what, void *at, size_t bytes, const char *name)
{
	return fails(FAULT_NAME) ? -1 : prctl(option, what, at, bytes, name);
}

int fault_madvise(void *at, size_t bytes, int advice);
int fault_madvise(void *at, size_t bytes, int advice)
{
	enum fault_kind kind = FAULT_HUGE;

	if (advice == MADV_GUARD_INSTALL)
		kind = FAULT_GUARD;
	else if (advice == MADV_DONTNEED)
		kind = FAULT_DISCARD;
	else
		CHECK(advice == MADV_HUGEPAGE || advice == MADV_NOHUGEPAGE);
	return fails(kind) ? -1 : madvise(at, bytes, advice);
}

int fault_mprotect(void *at, size_t bytes, int prot);
int fault_mprotect(void *at, size_t bytes, int prot)
{
	return fails(FAULT_PROTECT) ? -1 : mprotect(at, bytes, prot);
}

void *fault_malloc(size_t bytes);
void *fault_malloc(size_t bytes)
{
	void *p = fails(FAULT_ALLOC) ? NULL : malloc(bytes);

	add(&held.blocks, p != NULL);
	return p;
}

int fault_posix_memalign(void **out, size_t align, size_t bytes);
int fault_posix_memalign(void **out, size_t align, size_t bytes)
{
	int error;
	if (due(FAULT_ALLOC, &error)) {
		errno = error; /* as some allocators do */
		return error;
	}
	error = posix_memalign(out, align, bytes);
	add(&held.blocks, error == 0);
	return error;
}

void fault_free(void *p);
void fault_free(void *p)
{
	add(&held.blocks, -(p != NULL));
	free(p);
}

void *fault_buffer(size_t bytes)
{
	int error, before = errno;
	void *buffer = due(FAULT_BUFFER, &error) ? NULL : malloc(bytes);

	errno = before; /* it is the policy's own, and not the core's */
	return buffer;
}

/* ------------------------------------------------------------------------ threads */

int fault_pthread_create(pthread_t *out, const pthread_attr_t *attr, void *(*fn)(void *),
			 void *arg);
int fault_pthread_create(pthread_t *out, const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
	int error;
	if (due(FAULT_THREAD, &error)) {
		if (fault_meanwhile)
			fault_meanwhile();
		errno = ENOMEM; /* as the C library leaves it when there is no room for a stack */
		return error;
	}
	return pthread_create(out, attr, fn, arg);
}

int fault_pthread_attr_init(pthread_attr_t *attr);
int fault_pthread_attr_init(pthread_attr_t *attr)
{
	int error;
	return due(FAULT_ATTR, &error) ? error : pthread_attr_init(attr);
}

int fault_pthread_attr_setstacksize(pthread_attr_t *attr, size_t bytes);
int fault_pthread_attr_setstacksize(pthread_attr_t *attr, size_t bytes)
{
	int error;
	return due(FAULT_STACKSIZE, &error) ? error : pthread_attr_setstacksize(attr, bytes);
}

int fault_pthread_setname_np(pthread_t thread, const char *name);
int fault_pthread_setname_np(pthread_t thread, const char *name)
{
	int error;
	return due(FAULT_NAME, &error) ? error : pthread_setname_np(thread, name);
}

int fault_sched_setaffinity(pid_t pid, size_t bytes, const cpu_set_t *set);
int fault_sched_setaffinity(pid_t pid, size_t bytes, const cpu_set_t *set)
{
	return fails(FAULT_PIN) ? -1 : sched_setaffinity(pid, bytes, set);
}

int fault_sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *set);
int fault_sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *set)
{
	if (fails(FAULT_CPUS))
		return -1;
	if (machine_cores <= 0)
		return sched_getaffinity(pid, bytes, set);
	memset(set, 0, bytes);
	for (int i = 0; i < machine_cores; i++)
		CPU_SET(i, set);
	return 0;
}

int fault_vsnprintf(char *text, size_t bytes, const char *format, va_list args);
int fault_vsnprintf(char *text, size_t bytes, const char *format, va_list args)
{
	return fails(FAULT_ALLOC) ? -1 : vsnprintf(text, bytes, format, args);
}

long fault_sysconf(int name);
long fault_sysconf(int name)
{
	return name == _SC_NPROCESSORS_ONLN && machine_cores < 0 ? -1 : sysconf(name);
}

unsigned long fault_getauxval(unsigned long type);
unsigned long fault_getauxval(unsigned long type)
{
	return machine_frame ? machine_frame : getauxval(type);
}

void fault_machine(int cores, unsigned long frame)
{
	machine_cores = cores;
	machine_frame = frame;
}

int fault_sigaltstack(const stack_t *now, stack_t *before);
int fault_sigaltstack(const stack_t *now, stack_t *before)
{
	return fails(FAULT_SIGSTACK) ? -1 : sigaltstack(now, before);
}

int fault_sigaction(int sig, const struct sigaction *now, struct sigaction *before);
int fault_sigaction(int sig, const struct sigaction *now, struct sigaction *before)
{
	if (now && !(now->sa_flags & SA_SIGINFO))
		fault_last_words();
	return fails(FAULT_SIGACTION) ? -1 : sigaction(sig, now, before);
}

/* The monotonic clock is the only one: a change of the time of day moves nothing here. */
int fault_clock_gettime(clockid_t clock, struct timespec *out);
int fault_clock_gettime(clockid_t clock, struct timespec *out)
{
	CHECK(clock == CLOCK_MONOTONIC || clock == CLOCK_THREAD_CPUTIME_ID);
	return clock_gettime(clock, out);
}

void fault_abort(void);
void fault_abort(void)
{
	fault_last_words();
	abort();
}

/* ------------------------------------------------------------------------ system calls by
 * number */

static long membarrier_call(int command, long a, long b)
{
	enum fault_kind kind = FAULT_BARRIER;

	if (command == MEMBARRIER_CMD_QUERY)
		kind = FAULT_QUERY;
	else if (command == MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)
		kind = FAULT_REGISTER;
	else
		CHECK_EQ(command, MEMBARRIER_CMD_PRIVATE_EXPEDITED);
	if (!fails(kind))
		return syscall(SYS_membarrier, command, a, b);
	return errno ? -1 : MEMBARRIER_CMD_GLOBAL; /* an old kernel has no other */
}

/* Waits are for a while, by the monotonic clock, never until a time of day. */
static long futex_call(long word, int op, long value, long timeout, long word2, long value2)
{
	int error;

	if (op == FUTEX_WAKE_PRIVATE)
		return syscall(SYS_futex, word, op, value, timeout, word2, value2);
	CHECK_EQ(op, FUTEX_WAIT_PRIVATE);
	if (due(FAULT_WAIT, &error)) {
		errno = error;
		return error ? -1 : 0;
	}
	long status = syscall(SYS_futex, word, op, value, timeout, word2, value2);
	if (status && errno == EINTR)
		add(&interrupted, 1);
	return status;
}

static long touch_call(long clock, long page)
{
	if (!fails(FAULT_TOUCH))
		return syscall(SYS_clock_getres, clock, page);
	return errno ? -1 : 0;
}

long fault_syscall(long number, ...);
long fault_syscall(long number, ...)
{
	va_list args;
	long a[6];

	va_start(args, number); /* as syscall(2) itself: whatever was not passed is not looked at */
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	if (number == SYS_membarrier)
		return membarrier_call((int)a[0], a[1], a[2]);
	if (number == SYS_futex)
		return futex_call(a[0], (int)a[1], a[2], a[3], a[4], a[5]);
	/* asks whether a guard holds, by a call that must fail: see guards_hold */
	if (number == SYS_clock_getres)
		return touch_call(a[0], a[1]);
	/* coroi_peek asks whether memory is there: what the call says is what the core goes by */
	if (number == SYS_process_vm_readv)
		return syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (number == SYS_epoll_pwait2)
		return fails(FAULT_LOOK) ? -1 : syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (number == SYS_kcmp)
		return fails(FAULT_IO) ? -1 : syscall(number, a[0], a[1], a[2], a[3], a[4]);
	if (number == SYS_recvfrom)
		return fault_recv((int)a[0], (void *)a[1], (size_t)a[2], (int)a[3]);
	if (number == SYS_sendto)
		return fault_send((int)a[0], (const void *)a[1], (size_t)a[2], (int)a[3]);
	CHECK(number == SYS_gettid || number == SYS_getpid);
	return syscall(number);
}

/* ------------------------------------------------------------------------ descriptors */

int fault_eventfd(unsigned count, int flags);
int fault_eventfd(unsigned count, int flags)
{
	if (fails(FAULT_EVENT))
		return -1;
	int fd = eventfd(count, flags);
	add(&held.descriptors, fd >= 0);
	return fd;
}

ssize_t fault_write(int fd, const void *p, size_t bytes);
ssize_t fault_write(int fd, const void *p, size_t bytes)
{
	return fd != 2 && fails(FAULT_RING) ? -1 : write(fd, p, bytes);
}

int fault_close(int fd);
int fault_close(int fd)
{
	add(&held.descriptors, -1);
	return close(fd);
}
