/*
 * layer.h - what stands between the core and the C library, and makes its calls fail.
 *
 *   fault_set(kind, at, count, error)   from now on, calls number at, at+1, ... of that kind fail: count of them
 *   fault_clear()                       none fails any more; returns how many have failed
 *
 * A failed call does nothing. Programs started with CORO_FAULT="kind:at:count:error" in the
 * environment begin with that fault set, before main: what the core does in its constructor can
 * fail too.
 */
#ifndef LAYER_H
#define LAYER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fault_kind {
	FAULT_MAP,       /* mmap */
	FAULT_UNMAP,     /* munmap */
	FAULT_GUARD,     /* madvise(MADV_GUARD_INSTALL) */
	FAULT_TOUCH,     /* clock_getres, which is to write to a guard; error 0: it does */
	FAULT_PROTECT,   /* mprotect; asked for only where the one before fails */
	FAULT_DISCARD,   /* madvise(MADV_DONTNEED) */
	FAULT_HUGE,      /* madvise(MADV_HUGEPAGE, MADV_NOHUGEPAGE) */
	FAULT_ALLOC,     /* posix_memalign */
	FAULT_QUERY,     /* membarrier, asking what there is; error 0: but one that is too slow */
	FAULT_REGISTER,  /* membarrier, registering */
	FAULT_BARRIER,   /* membarrier itself */
	FAULT_WAIT,      /* futex, waiting; error 0: returns at once, as if woken */
	FAULT_THREAD,    /* pthread_create */
	FAULT_ATTR,      /* pthread_attr_init */
	FAULT_STACKSIZE, /* pthread_attr_setstacksize */
	FAULT_NAME,      /* pthread_setname_np */
	FAULT_PIN,       /* sched_setaffinity */
	FAULT_CPUS,      /* sched_getaffinity */
	FAULT_SIGSTACK,  /* sigaltstack */
	FAULT_SIGACTION, /* sigaction */
	FAULT_EVENT,     /* eventfd */
	FAULT_RING,      /* write to an eventfd */
	FAULT_BUFFER,    /* fault_buffer: what a dispatcher's policy gives */
	FAULT_KINDS
};

#define FAULT_ALL INT64_MAX /* for count: every call from there on */

extern const char *const fault_name[FAULT_KINDS];

void fault_set(enum fault_kind kind, int64_t at, int64_t count, int error);
int64_t fault_clear(void);

/* fault_random - each call of these kinds fails with a chance of 1 to one_in; error as usual for
 * the kind. */
void fault_random(const enum fault_kind *kinds, int n, uint32_t one_in, uint64_t seed);

/* fault_last - the kind that has failed last. */
enum fault_kind fault_last(void);

/* fault_hits - how many have failed so far; fault_calls - how many of a kind there were since the
 * last set or clear. */
int64_t fault_hits(void);
int64_t fault_calls(enum fault_kind kind);

/* fault_usual - the error that the kernel has for it. */
int fault_usual(enum fault_kind kind);

/* What the core holds now, of memory that it has mapped and not unmapped, in bytes; of blocks that
 * it has allocated; of descriptors. And what was left mapped because an munmap failed. */
struct fault_held {
	int64_t mapped, blocks, descriptors, stuck;
};
struct fault_held fault_held(void);

/* fault_machine - a machine with so many cores (-1: it does not tell), and signal frames of at
 * least so many bytes; 0: as it is. */
void fault_machine(int cores, unsigned long frame);

/* fault_buffer - memory for a policy's alloc, which may fail too: NULL. Given back by free. */
void *fault_buffer(size_t bytes);

/* fault_last_words - before _exit or worse: where lines are counted, write down what has run. */
void fault_last_words(void);

/* How often the kernel itself ended a wait by EINTR. */
int64_t fault_interrupted(void);

#endif
