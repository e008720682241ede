//go:build ignore
/* sys.c - see sys.h. */
#include "base/sys.h"

#include "base/keeperrno.h"
#include "base/sanitize.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

#define NATIVE_STACK     ((size_t)512 << 10)
#define SIGSTACK_MIN     ((size_t)64 << 10)
#define BARRIER_TRIES    1000
#define BARRIER_AGAIN_US 1000

/* COROI_GLIBC - is the C library glibc, of that version or a later one? Others have no
 * __GLIBC_PREREQ. */
#ifdef __GLIBC_PREREQ
#define COROI_GLIBC(major, minor) __GLIBC_PREREQ(major, minor)
#else
#define COROI_GLIBC(major, minor) 0
#endif

static size_t page_bytes;
static bool has_membarrier;
static bool light_guards;
static sigset_t mask_at_start;

/* guards_hold - does a guard hold that the kernel says it has installed? Emulators report success
 * for every advice that they do not know. A system call that writes to the page tells. */
static bool guards_hold(void)
{
	void *page = mmap(NULL, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			  0);
	if (page == MAP_FAILED)
		return false;
	bool hold = madvise(page, page_bytes, MADV_GUARD_INSTALL) == 0 &&
		    syscall(SYS_clock_getres, CLOCK_MONOTONIC, page) < 0 && errno == EFAULT;
	munmap(page, page_bytes);
	return hold;
}

/* probe - before main, so before Go has threads: registering for membarrier is free with one thread
 * and slow with many. */
__attribute__((constructor)) static void probe(void)
{
	page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	pthread_sigmask(SIG_SETMASK, NULL, &mask_at_start);
	long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
#ifdef COROI_TSAN
	/* ThreadSanitizer does not see what membarrier orders: every door is an exchange */
	commands = 0;
#endif
	if (commands > 0 && (commands & MEMBARRIER_CMD_PRIVATE_EXPEDITED) &&
	    syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0)
		has_membarrier = true;
	light_guards = guards_hold();
}

size_t coroi_page(void)
{
	return page_bytes;
}

bool coroi_has_membarrier(void)
{
	KEEP_ERRNO;
	/* a filter may have been installed since the start */
	return has_membarrier &&
	       syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
}

void coroi_membarrier(void)
{
	KEEP_ERRNO;
	for (int i = 0; i < BARRIER_TRIES; i++) {
		if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0)
			return;
		/* ENOMEM: the kernel has no memory for a mask of CPUs; it will have some again */
		if (errno != ENOMEM)
			break;
		usleep(BARRIER_AGAIN_US);
	}
	/* The probe at start succeeded. If a filter was installed since then, nothing here can
	 * continue correctly. */
	static const char text[] =
		"coro: membarrier(2) was allowed at start and is refused now; set CORO_NO_MEMBARRIER\n";
	coroi_say(text, sizeof text - 1);
	abort();
}

bool coroi_guard_is_light(void)
{
	return light_guards;
}

#ifndef PR_SET_VMA
#define PR_SET_VMA           0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

/* name_mapping - only for those who look: a kernel that cannot, or may not, names nothing. */
static void name_mapping(void *base, size_t bytes, const char *name)
{
	prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, base, bytes, name);
}

void *coroi_map(size_t bytes, size_t align, const char *name)
{
	KEEP_ERRNO;
	size_t want = align > page_bytes ? bytes + align : bytes;
	char *p = mmap(NULL, want, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	char *base = p;
	if (align > page_bytes) {
		base = (char *)(((uintptr_t)p + align - 1) & ~(uintptr_t)(align - 1));
		if (base > p)
			coroi_unmap(p, (size_t)(base - p));
		if (p + want > base + bytes)
			coroi_unmap(base + bytes, (size_t)(p + want - (base + bytes)));
	}
	name_mapping(base, bytes, name);
	return base;
}

void coroi_unmap(void *base, size_t bytes)
{
	KEEP_ERRNO;
	coroi_tell_unmapped(base, bytes);
	if (munmap(base, bytes))
		coroi_discard(base, bytes);
}

bool coroi_discard(void *base, size_t bytes)
{
	KEEP_ERRNO;
	return madvise(base, bytes, MADV_DONTNEED) == 0;
}

void coroi_huge(void *base, size_t bytes, bool want)
{
	KEEP_ERRNO;
	madvise(base, bytes, want ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

int coroi_guard(void *base, size_t bytes)
{
	KEEP_ERRNO;
	if (light_guards && madvise(base, bytes, MADV_GUARD_INSTALL) == 0)
		return 0;
	/* EINVAL: the memory is locked by mlockall; there a guard must be a mapping of its own. */
	return mprotect(base, bytes, PROT_NONE) == 0 ? 0 : errno;
}

void *coroi_alloc(size_t bytes, size_t align)
{
	KEEP_ERRNO;
	void *p = NULL;
	if (align <= alignof(max_align_t))
		p = malloc(bytes);
	else if (posix_memalign(&p, align, bytes))
		return NULL;
	return p ? memset(p, 0, bytes) : NULL;
}

void coroi_release(void *p)
{
	KEEP_ERRNO;
	free(p);
}

void coroi_futex_wait(uint32_t *word, uint32_t value, int64_t timeout_ns)
{
	KEEP_ERRNO;
	struct timespec t = {timeout_ns / 1000000000, timeout_ns % 1000000000};
	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, timeout_ns < 0 ? NULL : &t, NULL, 0);
}

int32_t coroi_cpu(void)
{
	return sched_getcpu();
}

void coroi_cpu_yield(void)
{
	KEEP_ERRNO;
	sched_yield();
}

void coroi_futex_wake(uint32_t *word, int count)
{
	KEEP_ERRNO;
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

/* blocked - all signals but a thread's own faults and Go's. */
static sigset_t blocked(void)
{
	static const int open[] = {SIGSEGV, SIGBUS, SIGFPE,  SIGILL, SIGTRAP,
				   SIGABRT, SIGSYS, SIGPROF, SIGURG};
	sigset_t mask;

	sigfillset(&mask);
	for (size_t i = 0; i < sizeof open / sizeof *open; i++)
		sigdelset(&mask, open[i]);
	return mask;
}

void coroi_thread_mask(void)
{
	KEEP_ERRNO;
	sigset_t mask = blocked();
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

void coroi_signals_open(sigset_t *before)
{
	KEEP_ERRNO;
	const struct timespec none = {0};
	sigset_t pipe;

	pthread_sigmask(SIG_SETMASK, NULL, before);
	/* Go ends the process by a SIGPIPE on a thread that is not its own. Others that are pending
	 * were sent to this thread on purpose */
	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	if (sigismember(before, SIGPIPE))
		sigtimedwait(&pipe, NULL, &none);
	pthread_sigmask(SIG_SETMASK, &mask_at_start, NULL);
}

void coroi_signals_close(const sigset_t *before)
{
	KEEP_ERRNO;
	pthread_sigmask(SIG_SETMASK, before, NULL);
}

int coroi_thread_start(pthread_t *out, void *(*fn)(void *), void *arg)
{
	KEEP_ERRNO;
	sigset_t mask = blocked(), old;
	pthread_attr_t attr;

	int err = pthread_attr_init(&attr);
	if (err)
		return err;
	pthread_attr_setstacksize(&attr, NATIVE_STACK);
	/* The new thread inherits the mask: no signal can reach it in between. */
	pthread_sigmask(SIG_SETMASK, &mask, &old);
	err = pthread_create(out, &attr, fn, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return err;
}

static size_t sigstack_bytes(void)
{
#ifdef AT_MINSIGSTKSZ
	size_t least = (size_t)getauxval(AT_MINSIGSTKSZ) + (32 << 10);
	if (least > SIGSTACK_MIN)
		return (least + page_bytes - 1) & ~(page_bytes - 1);
#endif
	return SIGSTACK_MIN;
}

void *coroi_sigstack_install(void)
{
	KEEP_ERRNO;
	size_t bytes = sigstack_bytes();
	char *base = coroi_map(bytes + page_bytes, page_bytes, "coro: signal stack");
	if (!base)
		return NULL;
	stack_t *before = (stack_t *)(base + page_bytes + bytes) - 1; /* above the stack */
	stack_t ss = {.ss_sp = base + page_bytes, .ss_size = bytes - sizeof *before};
	if (coroi_guard(base, page_bytes) || sigaltstack(&ss, before)) {
		coroi_unmap(base, bytes + page_bytes);
		return NULL;
	}
	return base;
}

void coroi_sigstack_remove(void *base)
{
	KEEP_ERRNO;
	size_t bytes = sigstack_bytes();
	sigset_t all;

	if (!base)
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	sigaltstack((stack_t *)((char *)base + page_bytes + bytes) - 1, NULL);
	coroi_unmap(base, bytes + page_bytes);
}

void *coroi_sigstack_borrow(void)
{
	KEEP_ERRNO;
	stack_t now;

	return sigaltstack(NULL, &now) == 0 && now.ss_flags & SS_DISABLE ? coroi_sigstack_install()
									 : NULL;
}

void coroi_sigstack_return(void *base)
{
	KEEP_ERRNO;
	sigset_t before;

	if (!base)
		return;
	pthread_sigmask(SIG_BLOCK, NULL, &before);
	coroi_sigstack_remove(base);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void coroi_thread_name(const char *name, unsigned index)
{
	KEEP_ERRNO;
	char full[16]; /* the kernel's limit, with the zero */
	snprintf(full, sizeof full, "%.10s/%u", name, index);
	pthread_setname_np(pthread_self(), full);
}

int coroi_print(char *text, size_t bytes, const char *format, va_list args)
{
	KEEP_ERRNO;
	return vsnprintf(text, bytes, format, args);
}

bool coroi_thread_pin(unsigned cpu)
{
	KEEP_ERRNO;
	cpu_set_t set;
	if (cpu >= CPU_SETSIZE)
		return false;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof set, &set) == 0;
}

int32_t coroi_thread_id(void)
{
	return (int32_t)syscall(SYS_gettid);
}

unsigned coroi_cpus(void)
{
	KEEP_ERRNO;
	cpu_set_t set;
	long n = sched_getaffinity(0, sizeof set, &set) ? sysconf(_SC_NPROCESSORS_ONLN)
							: CPU_COUNT(&set);
	return n < 1 ? 1 : (unsigned)n; /* no mask: the machine has more CPUs than one holds */
}

/* read_clock - in ns. It cannot fail. */
static inline uint64_t read_clock(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

uint64_t coroi_now_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

struct coroi_usage coroi_thread_usage(void)
{
	struct rusage u = {0};

	getrusage(RUSAGE_THREAD, &u); /* its CPU time is that of the last tick */
	return (struct coroi_usage){
		.cpu_ns = read_clock(CLOCK_THREAD_CPUTIME_ID),
		.blocked = (uint64_t)u.ru_nvcsw,
	};
}

int coroi_event_open(void)
{
	KEEP_ERRNO;
	return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
}

void coroi_event_ring(int fd)
{
	KEEP_ERRNO;
	uint64_t one = 1;
	/* The only other failure is a full counter: then it is readable already. */
	while (write(fd, &one, sizeof one) < 0 && errno == EINTR)
		;
}

void coroi_event_close(int fd)
{
	KEEP_ERRNO;
	close(fd);
}

bool coroi_signal(int sig, const struct sigaction *now, struct sigaction *before)
{
	KEEP_ERRNO;
	return sigaction(sig, now, before) == 0;
}

void coroi_say(const char *text, size_t bytes)
{
	KEEP_ERRNO;
	if (write(2, text, bytes)) {
	}
}

size_t coroi_peek(void *to, uintptr_t from, size_t bytes)
{
	KEEP_ERRNO;
	struct iovec here = {to, bytes}, there = {(void *)from, bytes};
	/* longs: the upper half of an int that is passed on the stack is anything */
	long n = syscall(SYS_process_vm_readv, syscall(SYS_getpid), &here, 1L, &there, 1L, 0L);
	return n < 0 ? 0 : (size_t)n;
}

const char *coroi_errno_text(int number)
{
#if COROI_GLIBC(2, 32)
	return strerrordesc_np(number);
#else
	return strerror(number); /* it has a buffer for unknown ones alone */
#endif
}
