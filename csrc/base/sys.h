/*
 * sys.h - every system call and every allocation of the core, so that fault injection can stand in.
 *
 * Success is 0, true or a pointer. A failure is returned as an errno, where the caller needs it;
 * the variable errno stays as it was.
 */
#ifndef COROI_SYS_H
#define COROI_SYS_H

#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* coroi_page - bytes of a page: 4, 16 or 64 KiB. Ranges that are guarded or discarded start and end
 * at a multiple of it. */
size_t coroi_page(void);

/* coroi_map - bytes of zeroed, lazily backed memory; align is a power of two of at least a page.
 * /proc/PID/smaps has the mapping as [anon:name], where the kernel can name it (Linux 5.17); name
 * has up to 79 characters. NULL: refused. */
void *coroi_map(size_t bytes, size_t align, const char *name);

/* coroi_unmap - unmap a range. If the kernel cannot (it may have to split a mapping, and be at its
 * limit of them), at least the memory goes back, and only addresses are lost. */
void coroi_unmap(void *base, size_t bytes);

/* coroi_discard - give the pages back to the kernel; the range reads as zeros afterwards. Guards
 * stay. False: the pages are locked (mlockall), and nothing was changed. */
bool coroi_discard(void *base, size_t bytes);

/* coroi_huge - ask for huge pages (want), or for none. Only advice. */
void coroi_huge(void *base, size_t bytes, bool want);

/* coroi_guard - make a range fault on every access. Returns 0 or an errno (ENOMEM:
 * vm.max_map_count). */
int coroi_guard(void *base, size_t bytes);

/* coroi_guard_is_light - guards cost no mapping (MADV_GUARD_INSTALL, Linux 6.13). */
bool coroi_guard_is_light(void);

/* coroi_alloc - zeroed memory from the C library, aligned to align (a power of two). NULL: none
 * left. */
void *coroi_alloc(size_t bytes, size_t align);
void coroi_release(void *p);

/* coroi_alloc_large - zeroed memory, aligned to a cache line, of any size. From COROI_LARGE on it
 * is a mapping of its own, which goes back to the system when it is freed, whatever was allocated
 * meanwhile. It has no huge pages: it is used from end to end, which needs few translations, and
 * the fault that brings a huge page takes milliseconds where the system must make room, or a host
 * must find the memory. NULL: refused. coroi_release_large - free it; bytes as allocated. */
#ifndef COROI_LARGE
#define COROI_LARGE ((size_t)64 << 10)
#endif

static inline void *coroi_alloc_large(size_t bytes)
{
	if (bytes < COROI_LARGE)
		return coroi_alloc(bytes, 64);
	return coroi_map(bytes, coroi_page(), "coro: tables");
}

static inline void coroi_release_large(void *p, size_t bytes)
{
	if (bytes < COROI_LARGE)
		coroi_release(p);
	else
		coroi_unmap(p, bytes);
}

/* coroi_has_membarrier - the process is registered for private expedited barriers (done in a
 * constructor, while there is one thread), and may still make them. Cost: one. coroi_membarrier -
 * make every running thread of the process pass a full barrier. */
bool coroi_has_membarrier(void);
void coroi_membarrier(void);

/* coroi_futex_wait - sleep while *word == value, at most timeout_ns (negative: no limit). May
 * return early. coroi_futex_wake - wake up to count threads that sleep so. */
void coroi_futex_wait(uint32_t *word, uint32_t value, int64_t timeout_ns);
/* coroi_cpu - the CPU that the caller runs on at this moment. Cost: some ns. */
int32_t coroi_cpu(void);

/* coroi_cpu_yield - other threads that wait for this CPU go first. Cost: 0.5 us where none does. */
void coroi_cpu_yield(void);

void coroi_futex_wake(uint32_t *word, int count);

/* coroi_thread_start - start a thread with a native stack of 512 KiB. All signals are blocked there
 * but the thread's own faults and Go's signals (profiling, preemption). Returns 0 or an errno. */
int coroi_thread_start(pthread_t *out, void *(*fn)(void *), void *arg);

/* coroi_thread_mask - block those signals again, on a thread that was started so. */
void coroi_thread_mask(void);

/* coroi_signals_open - the calling thread has the signal mask with which the process was started,
 * and no SIGPIPE of before. *before is what it had, for coroi_signals_close. */
void coroi_signals_open(sigset_t *before);
void coroi_signals_close(const sigset_t *before);

/* coroi_sigstack_install - give this thread an alternate signal stack with a guard. Returns its
 * base or NULL. coroi_sigstack_remove - take it away again, as the last act of the same thread: the
 * signal stack before it is in use again (a sanitizer that has set one frees what it finds when the
 * thread ends), and all signals are blocked. */
void *coroi_sigstack_install(void);
void coroi_sigstack_remove(void *base);
/* coroi_sigstack_borrow - the same for a thread of others', if it has none. Returns NULL if it has
 * one, or there is no memory. coroi_sigstack_return - take it away again, on the same thread. */
void *coroi_sigstack_borrow(void);
void coroi_sigstack_return(void *base);

void coroi_thread_name(const char *name, unsigned index);

/* coroi_print - vsnprintf: how long the whole text is; negative: it has failed. */
int coroi_print(char *text, size_t bytes, const char *format, va_list args);
bool coroi_thread_pin(unsigned cpu);
int32_t coroi_thread_id(void);

/* coroi_thread_usage - what the calling thread has used until now: the CPU, in ns, and how often it
 * has blocked. Cost: two system calls. */
struct coroi_usage {
	uint64_t cpu_ns, blocked;
};
struct coroi_usage coroi_thread_usage(void);

unsigned coroi_cpus(void); /* CPUs that this process may use, at least 1 */

uint64_t coroi_now_ns(void); /* CLOCK_MONOTONIC */

/* coroi_event_open - a descriptor (not blocking, close-on-exec) that becomes readable by
 * coroi_event_ring; -1: refused. */
int coroi_event_open(void);
void coroi_event_ring(int fd);
void coroi_event_close(int fd);

/* coroi_signal - sigaction(2): now or before may be NULL. False: refused. coroi_say - write text to
 * stderr, unbuffered. Both may be called by a signal handler. */
bool coroi_signal(int sig, const struct sigaction *now, struct sigaction *before);
void coroi_say(const char *text, size_t bytes);

/* coroi_peek - copy memory of this process that may not be there. Returns the bytes copied: fewer
 * where memory is missing, 0 where the system call is refused. Async-signal-safe. */
size_t coroi_peek(void *to, uintptr_t from, size_t bytes);

/* coroi_errno_text - what the C library says of an errno; NULL: unknown. */
const char *coroi_errno_text(int number);

#endif
