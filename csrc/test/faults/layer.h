/*
 * layer.h - the layer between the core and the C library, which makes calls fail.
 *
 *   fault_set(kind, at, count, error)   count calls of that kind fail from now on: those with the
 *                                       numbers at, at+1, ...
 *   fault_clear()                       no call fails any more; returns how many have failed
 *
 * A failed call does nothing. A program that is started with CORO_FAULT="kind:at:count:error" in
 * the environment begins with that fault, before main: calls of the core's constructor can fail
 * too.
 */
#ifndef LAYER_H
#define LAYER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum fault_kind {
	FAULT_MAP,     /* mmap */
	FAULT_UNMAP,   /* munmap */
	FAULT_GUARD,   /* madvise(MADV_GUARD_INSTALL) */
	FAULT_TOUCH,   /* clock_getres, which is to write to a guard; error 0: the write succeeds */
	FAULT_PROTECT, /* mprotect; called only where FAULT_GUARD has failed */
	FAULT_DISCARD, /* madvise(MADV_DONTNEED) */
	FAULT_HUGE,    /* madvise(MADV_HUGEPAGE, MADV_NOHUGEPAGE) */
	FAULT_ALLOC,   /* malloc, posix_memalign */
	FAULT_QUERY,   /* membarrier, a query; error 0: there is only a slow one */
	FAULT_REGISTER,  /* membarrier, registering */
	FAULT_BARRIER,   /* membarrier itself */
	FAULT_WAIT,      /* futex, a wait; error 0: it returns at once, as if woken */
	FAULT_THREAD,    /* pthread_create */
	FAULT_ATTR,      /* pthread_attr_init */
	FAULT_STACKSIZE, /* pthread_attr_setstacksize */
	FAULT_NAME,      /* pthread_setname_np, prctl to name a mapping */
	FAULT_PIN,       /* sched_setaffinity */
	FAULT_CPUS,      /* sched_getaffinity */
	FAULT_SIGSTACK,  /* sigaltstack */
	FAULT_SIGACTION, /* sigaction */
	FAULT_EVENT,     /* eventfd */
	FAULT_RING,      /* write to an eventfd */
	FAULT_BUFFER,    /* fault_buffer: what a dispatcher's policy gives */
	FAULT_SET,       /* epoll_create1, epoll_ctl to add */
	FAULT_LOOK,      /* epoll_wait, epoll_pwait2 */
	FAULT_IO,        /* a system call with a descriptor of the user's */
	FAULT_KINDS
};

#define FAULT_ALL INT64_MAX /* for count: every call from there on */

extern const char *const fault_name[FAULT_KINDS];

void fault_set(enum fault_kind kind, int64_t at, int64_t count, int error);
int64_t fault_clear(void);

/* fault_random - each call of these n kinds fails with a chance of 1 to one_in, with the usual
 * error of its kind. */
void fault_random(const enum fault_kind *kinds, int n, uint32_t one_in, uint64_t seed);

/* fault_fails - for a stand-in: does this call fail? Then errno is set. fault_holds - n more
 * descriptors are held. */
bool fault_fails(enum fault_kind kind);
void fault_holds(int64_t n);

/* fault_recv, fault_send - the stand-ins, for those that make the system calls by number. */
ssize_t fault_recv(int fd, void *p, size_t n, int flags);
ssize_t fault_send(int fd, const void *p, size_t n, int flags);

/* fault_last - the kind of the last call that has failed. */
enum fault_kind fault_last(void);

/* fault_hits - calls that have failed since the last clear. fault_calls - calls of a kind since the
 * last set or clear. */
int64_t fault_hits(void);
int64_t fault_calls(enum fault_kind kind);

/* fault_usual - the error that the kernel returns for that kind. */
int fault_usual(enum fault_kind kind);

/* What the core holds now: bytes that are mapped, blocks that are allocated, descriptors. stuck:
 * bytes that stayed mapped because an munmap failed. */
struct fault_held {
	int64_t mapped, blocks, descriptors, stuck;
};
struct fault_held fault_held(void);

/* fault_machine - the machine has that many cores (-1: it does not tell), and signal frames of that
 * many bytes. 0: as it is. */
void fault_machine(int cores, unsigned long frame);

/* fault_buffer - memory for the alloc of a dispatcher's policy; free() gives it back. NULL: the
 * call is to fail. */
void *fault_buffer(size_t bytes);

/* fault_meanwhile - unless it is NULL, called as a pthread_create fails, before it returns. */
extern void (*fault_meanwhile)(void);

/* fault_last_words - called before the process dies: writes the counters of a coverage build. */
void fault_last_words(void);

/* fault_interrupted - how often the kernel itself has ended a wait by EINTR. */
int64_t fault_interrupted(void);

#endif
