/*
 * atomics.h - every atomic operation of the core, so that the explorer can put its own in their
 * place.
 *
 * The operands are plain integers and pointers: Go sees the same words through sync/atomic.
 * docs/internals/memory-order.md has the argument for each use.
 *
 *   at_load_rlx, at_store_rlx   no order. For words that only one side writes while the reader
 *                               holds the door, and for hints: a wrong hint costs time, never
 *                               work.
 *   at_load_acq, at_store_rel   what was written before the store is seen after the load that
 *                               reads it.
 *   at_cas, at_xchg, at_add,    sequentially consistent read-modify-writes: one order of all of
 *   at_or, at_and               them and of at_load_seq. A full barrier on amd64 only: on arm64
 *                               weaker accesses that follow may be done before their store. at_cas
 *                               updates *expected on failure.
 *   at_load_seq                 a load in that order: the only kind of load that stays behind the
 *                               store of a read-modify-write before it.
 *   at_fence                    a full barrier.
 *   at_fence_signal             the compiler alone keeps the order; the other side makes the CPU
 *                               keep it (membarrier).
 */
#ifndef COROI_ATOMICS_H
#define COROI_ATOMICS_H

#include <stdbool.h>
#include <stdint.h>

/* In a build for stress tests, threads may be delayed before each; see delay.c. */
#ifdef COROI_STRESS
extern uint32_t coroi_delay_every;
void coroi_delay(void);
#define COROI_AT(operation) (coroi_delay(), operation)
#else
#define COROI_AT(operation) operation
#endif

#define at_load_rlx(p)     COROI_AT(__atomic_load_n((p), __ATOMIC_RELAXED))
#define at_load_acq(p)     COROI_AT(__atomic_load_n((p), __ATOMIC_ACQUIRE))
#define at_load_seq(p)     COROI_AT(__atomic_load_n((p), __ATOMIC_SEQ_CST))
#define at_store_rlx(p, v) COROI_AT(__atomic_store_n((p), (v), __ATOMIC_RELAXED))
#define at_store_rel(p, v) COROI_AT(__atomic_store_n((p), (v), __ATOMIC_RELEASE))
/* at_store_own - at_store_rlx of a word that is the storing thread's own. Others may still read a
 * part of it as a hint; the rest is read without atomics. */
#define at_store_own(p, v) at_store_rlx((p), (v))
/* at_load_hint - at_load_rlx of such a word, by another thread. */
#define at_load_hint(p) at_load_rlx(p)
/* at_bump - add to a counter that only one thread writes and others may read. */
#define at_bump_by(p, n) at_store_rlx((p), at_load_rlx(p) + (n))
#define at_bump(p)       at_bump_by((p), 1)
/* at_bump_rel - the same as a release: what the thread has done before is seen after an acquire. */
#define at_bump_rel(p) at_store_rel((p), at_load_rlx(p) + 1)
#define at_xchg(p, v)  COROI_AT(__atomic_exchange_n((p), (v), __ATOMIC_SEQ_CST))
#define at_add(p, v)   COROI_AT(__atomic_add_fetch((p), (v), __ATOMIC_SEQ_CST))
#define at_or(p, v)    COROI_AT(__atomic_fetch_or((p), (v), __ATOMIC_SEQ_CST))
#define at_and(p, v)   COROI_AT(__atomic_fetch_and((p), (v), __ATOMIC_SEQ_CST))
#define at_cas(p, expected, v)                                                              \
	COROI_AT(__atomic_compare_exchange_n((p), (expected), (v), false, __ATOMIC_SEQ_CST, \
					     __ATOMIC_SEQ_CST))
#define at_fence()        COROI_AT(__atomic_thread_fence(__ATOMIC_SEQ_CST))
#define at_fence_signal() COROI_AT(__atomic_signal_fence(__ATOMIC_SEQ_CST))

static inline void at_relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#else
	__asm__ volatile("isb" ::: "memory");
#endif
}

/* coroi_prefetchw - bring a line that will be written. Spelled out on amd64, where compilers emit a
 * read prefetch unless told of a newer CPU: the line then comes shared from another core, and must
 * be asked for twice. */
static inline void coroi_prefetchw(const void *p)
{
#if defined(__x86_64__)
	__asm__ volatile("prefetchw %0" : : "m"(*(const char *)p));
#else
	__builtin_prefetch(p, 1);
#endif
}

#define coroi_likely(x)   __builtin_expect(!!(x), 1)
#define coroi_unlikely(x) __builtin_expect(!!(x), 0)
#define COROI_NOINLINE    __attribute__((noinline))
#define COROI_COLD        __attribute__((noinline, cold))
/* A short function that is called all the time: how long it takes depends on where it begins. */
#define COROI_HOT   __attribute__((aligned(64)))
#define COROI_LINE  64  /* a cache line */
#define COROI_APART 128 /* two: the unit that prefetchers pull together */

#endif
