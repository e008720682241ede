/*
 * stand.h - stands in for base/atomics.h in the explored copy of the core: the same names, and each
 * operation asks the explorer first which thread goes on. The compiler includes stand.h ahead of
 * every file (-include), so that the real header finds itself included already.
 *
 * A store stays in memory and is noted in the store buffer of its thread; see stores.c. No thread
 * is changed at a store: while it is in the buffer, no other thread can tell whether it was made.
 */
#ifndef COROI_ATOMICS_H
#define COROI_ATOMICS_H
#define COROI_EXPLORED
#define COROI_HOMES   2u /* so that actors meet there, and little is put back */
#define COROI_IN_HAND (2 * COROI_HAND)

#include "engine.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define ex_bits(v) ((uint64_t)(uintptr_t)(v))

#define at_load_rlx(p)                                   \
	({                                               \
		__auto_type ex_p = (p);                  \
		ex_load(ex_p, sizeof *ex_p);             \
		__atomic_load_n(ex_p, __ATOMIC_RELAXED); \
	})
#define at_load_acq(p) at_load_rlx(p)
#define at_load_seq(p) at_load_rlx(p)

#define ex_store(p, v, release)                                        \
	({                                                             \
		__auto_type ex_p = (p);                                \
		__typeof__(*ex_p) ex_v = (v);                          \
		ex_buffer(ex_p, sizeof *ex_p, ex_bits(ex_v), release); \
	})
#define at_store_rlx(p, v) ex_store(p, v, false)
#define at_store_rel(p, v) ex_store(p, v, true)
/* Who reads it later without atomics is to find it in memory. */
#define at_store_own(p, v) ((void)(*(p) = (v)))
#define at_load_hint(p)    (*(p))
#define at_bump_by(p, n)                            \
	({                                          \
		__auto_type ex_b = (p);             \
		ex_store(ex_b, *ex_b + (n), false); \
	})
#define at_bump(p) at_bump_by((p), 1)

/* v is evaluated first: it may be a call with steps of its own. */
#define ex_rmw(p, v, operation)                   \
	({                                        \
		__auto_type ex_p = (p);           \
		__typeof__(*ex_p) ex_v = (v);     \
		ex_rmw_begin(ex_p, sizeof *ex_p); \
		__auto_type ex_r = operation;     \
		ex_rmw_end();                     \
		ex_r;                             \
	})
/* A bump that is a release. */
#define at_bump_rel(p)                           \
	({                                       \
		__auto_type ex_b = (p);          \
		ex_store(ex_b, *ex_b + 1, true); \
	})
#define at_xchg(p, v) ex_rmw(p, v, __atomic_exchange_n(ex_p, ex_v, __ATOMIC_SEQ_CST))
#define at_add(p, v)  ex_rmw(p, v, __atomic_add_fetch(ex_p, ex_v, __ATOMIC_SEQ_CST))
#define at_or(p, v)   ex_rmw(p, v, __atomic_fetch_or(ex_p, ex_v, __ATOMIC_SEQ_CST))
#define at_and(p, v)  ex_rmw(p, v, __atomic_fetch_and(ex_p, ex_v, __ATOMIC_SEQ_CST))
#define at_cas(p, expected, v)                                                              \
	ex_rmw(p, v,                                                                        \
	       __atomic_compare_exchange_n(ex_p, (expected), ex_v, false, __ATOMIC_SEQ_CST, \
					   __ATOMIC_SEQ_CST))
#define at_fence()        ex_fence()
#define at_fence_signal() __atomic_signal_fence(__ATOMIC_SEQ_CST)
#define at_relax()        ex_relax()

static inline void coroi_prefetchw(const void *p)
{
	(void)p;
}

/* The wrong steps: see mutants.h. */
#define COROI_MUTANT(name, right, wrong) (ex_mutant == MUTANT_##name ? (wrong) : (right))
#define COROI_MUTANT_ADDS(name, wrong)    \
	if (ex_mutant == MUTANT_##name) { \
		wrong                     \
	}

/* Locks of the C library. */
#define pthread_mutex_lock(m)     ex_lock(m)
#define pthread_mutex_unlock(m)   ex_unlock(m)
#define pthread_cond_wait(c, m)   ex_cond_wait(c, m)
#define pthread_cond_broadcast(c) ex_cond_broadcast(c)
#define pthread_join(t, r)        ex_join((unsigned)(t))

#define coroi_likely(x)   __builtin_expect(!!(x), 1)
#define coroi_unlikely(x) __builtin_expect(!!(x), 0)
#define COROI_NOINLINE    __attribute__((noinline))
#define COROI_COLD        __attribute__((noinline, cold))
#define COROI_HOT
#define COROI_LINE  64
#define COROI_APART 128

/* Switches are watched. */
#define coroi_swap coroi_swap_watched

/* No block has a mapping of its own: mappings are not put back before each schedule. */
#define COROI_LARGE SIZE_MAX

/* Lists of buffers that trade few. */
#define COROI_BUFFER_TRADE_MOST 2

/* Small arrays of events: what lies unused in them would tell equal states apart. */
#define COROI_FD_EVENTS 4

#endif
