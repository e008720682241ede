/*
 * sys.h - every system call and every allocation of the core, so that fault injection can stand in.
 *
 * All return 0 or a pointer on success. The errno of a failure is returned, if anything; the
 * caller's stays as it was.
 */
#ifndef COROI_SYS_H
#define COROI_SYS_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* coroi_page - bytes of a page: 4, 16 or 64 KiB. What is guarded and discarded starts and ends at a
 * multiple of it. */
size_t coroi_page(void);

/* coroi_map - bytes of zeroed, lazily backed memory; align is a power of two of at least a page.
 * NULL: refused. */
void *coroi_map(size_t bytes, size_t align);

/* coroi_unmap - if the kernel cannot (it may have to split a mapping, and be at its limit of them),
 * at least the memory goes back, and only addresses are lost. */
void coroi_unmap(void *base, size_t bytes);

/* coroi_discard - give the pages back to the kernel; the range reads as zeros afterwards. Guards
 * stay. False: they are locked (mlockall), and nothing was changed. */
bool coroi_discard(void *base, size_t bytes);

/* coroi_huge - ask for huge pages (want), or ask not to get them. Only advice. */
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

/* coroi_alloc_large - zeroed memory, aligned to a cache line, of any size; from COROI_LARGE on a
 * mapping of its own, which goes back to the system when it is freed, whatever was allocated
 * meanwhile. Not of huge pages: it is gone through from end to end, which needs few translations,
 * and the fault that brings one takes milliseconds where the system has to make room, or a host to
 * find the memory. NULL: refused. coroi_release_large - of the same size. */
#ifndef COROI_LARGE
#define COROI_LARGE ((size_t)64 << 10)
#endif

static inline void *coroi_alloc_large(size_t bytes)
{
	if (bytes < COROI_LARGE)
		return coroi_alloc(bytes, 64);
	return coroi_map(bytes, coroi_page());
}

static inline void coroi_release_large(void *p, size_t bytes)
{
	if (bytes < COROI_LARGE)
		coroi_release(p);
	else
		coroi_unmap(p, bytes);
}

/* coroi_has_membarrier - the process is registered for private expedited barriers (done in a
 * constructor, while there is one thread). coroi_membarrier then makes every running thread pass a
 * full barrier. */
bool coroi_has_membarrier(void);
void coroi_membarrier(void);

/* coroi_futex_wait - sleep while *word == value, at most timeout_ns (negative: for ever). May
 * return early. */
void coroi_futex_wait(uint32_t *word, uint32_t value, int64_t timeout_ns);
/* coroi_cpu - the CPU that the caller runs on, at this moment; some ns. */
int32_t coroi_cpu(void);

void coroi_futex_wake(uint32_t *word, int count);

/* coroi_thread_start - a thread with a native stack of its own and all signals blocked that are not
 * its own faults or Go's (profiling, preemption). Returns 0 or an errno. */
int coroi_thread_start(pthread_t *out, void *(*fn)(void *), void *arg);

/* coroi_thread_mask - block those signals on this thread again, which has started so. */
void coroi_thread_mask(void);

/* coroi_sigstack_install - an alternate signal stack with a guard for this thread. Returns its base
 * or NULL. coroi_sigstack_remove - on the same thread, the last thing that it does: the one that
 * was there before is in use again (whoever set it, a sanitizer for one, frees what it finds when
 * the thread ends), and all signals are blocked. */
void *coroi_sigstack_install(void);
void coroi_sigstack_remove(void *base);

void coroi_thread_name(const char *name, unsigned index);
bool coroi_thread_pin(unsigned cpu);
int32_t coroi_thread_id(void);
unsigned coroi_cpus(void); /* cores that this process may use, at least 1 */

uint64_t coroi_now_ns(void); /* CLOCK_MONOTONIC */

/* coroi_event_open - a descriptor that is readable once it was rung (not blocking, close-on-exec);
 * -1: refused. */
int coroi_event_open(void);
void coroi_event_ring(int fd);
void coroi_event_close(int fd);

/* coroi_signal - sigaction(2): now or before may be NULL. False: refused. coroi_say - text to
 * stderr, at once. Both may be called by a signal handler. */
bool coroi_signal(int sig, const struct sigaction *now, struct sigaction *before);
void coroi_say(const char *text, size_t bytes);

#endif
