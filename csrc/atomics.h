/*
 * atomics.h - every atomic operation of the core, so that a model explorer can put its own in their place.
 *
 * The operands are plain integers and pointers: Go sees the same words through sync/atomic.
 *
 *   at_load_rlx, at_store_rlx   no order. Used for words that only one side writes while the reader holds
 *                               the door, and for hints whose being wrong costs time, never work.
 *   at_load_acq, at_store_rel   what was written before the store is seen after the load that reads it.
 *   at_cas, at_xchg, at_add,    sequentially consistent read-modify-writes: a full barrier on amd64, and
 *   at_or, at_and               ordered with each other everywhere. at_cas updates *expected on failure.
 *   at_fence                    a full barrier.
 *   at_fence_signal             the compiler alone keeps the order; the other side forces the CPU to (membarrier).
 */
#ifndef COROI_ATOMICS_H
#define COROI_ATOMICS_H

#include <stdbool.h>
#include <stdint.h>

#define at_load_rlx(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define at_load_acq(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define at_load_seq(p) __atomic_load_n((p), __ATOMIC_SEQ_CST)
#define at_store_rlx(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define at_store_rel(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
/* at_bump - add to a counter that only one thread writes and others may read. */
#define at_bump_by(p, n) at_store_rlx((p), at_load_rlx(p) + (n))
#define at_bump(p) at_bump_by((p), 1)
#define at_xchg(p, v) __atomic_exchange_n((p), (v), __ATOMIC_SEQ_CST)
#define at_add(p, v) __atomic_add_fetch((p), (v), __ATOMIC_SEQ_CST)
#define at_or(p, v) __atomic_fetch_or((p), (v), __ATOMIC_SEQ_CST)
#define at_and(p, v) __atomic_fetch_and((p), (v), __ATOMIC_SEQ_CST)
#define at_cas(p, expected, v) \
	__atomic_compare_exchange_n((p), (expected), (v), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)
#define at_fence() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define at_fence_signal() __atomic_signal_fence(__ATOMIC_SEQ_CST)

static inline void at_relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#else
	__asm__ volatile("isb" ::: "memory");
#endif
}

/* coroi_prefetchw - bring a line that will be written. Spelled out on amd64, where compilers emit a read prefetch
 * unless told of a newer CPU: then a line from another core comes shared, and has to be asked for twice. */
static inline void coroi_prefetchw(const void *p)
{
#if defined(__x86_64__)
	__asm__ volatile("prefetchw %0" : : "m"(*(const char *)p));
#else
	__builtin_prefetch(p, 1);
#endif
}

#define coroi_likely(x) __builtin_expect(!!(x), 1)
#define coroi_unlikely(x) __builtin_expect(!!(x), 0)
#define COROI_NOINLINE __attribute__((noinline))
#define COROI_COLD __attribute__((noinline, cold))
#define COROI_LINE 64   /* a cache line */
#define COROI_APART 128 /* two: the unit that prefetchers pull together */

#endif
