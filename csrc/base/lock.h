/*
 * lock.h - two locks: one that sleeps after a while, and one that naps.
 *
 * coroi_lock is for sections of a few dozen instructions, between workers and threads of Go. It
 * spins for some microseconds, about what it costs to sleep and be woken, and only then sleeps. The
 * C library's adaptive mutex gives up after a few hundred nanoseconds, and then every hand-over of
 * a busy lock costs two system calls. After Drepper, "Futexes Are Tricky", 2011.
 *
 *      word  0 free | 1 held | 2 held, and a thread may sleep
 */
#ifndef COROI_LOCK_H
#define COROI_LOCK_H

#include "base/atomics.h"
#include "base/sys.h"

struct coroi_lock {
	uint32_t word;
};

#define COROI_LOCK_SPINS 300

static COROI_NOINLINE __attribute__((unused)) void coroi_lock_slow(struct coroi_lock *l)
{
	for (int i = 0; i < COROI_LOCK_SPINS; i++) {
		uint32_t free = 0;
		if (at_load_rlx(&l->word) == 0 && at_cas(&l->word, &free, 1))
			return;
		at_relax();
	}
	while (at_xchg(&l->word, 2) != 0)
		coroi_futex_wait(&l->word, 2, -1);
}

static inline void coroi_lock(struct coroi_lock *l)
{
	uint32_t free = 0;
	/* acquire; pairs with the exchange of the last holder */
	if (coroi_unlikely(!at_cas(&l->word, &free, 1)))
		coroi_lock_slow(l);
}

static inline void coroi_unlock(struct coroi_lock *l)
{
	if (coroi_unlikely(at_xchg(&l->word, 0) == 2))
		coroi_futex_wake(&l->word, 1);
}

/*
 * coroi_spin is for sections of a few instructions, taken as often as a channel is used. It costs
 * half as much, since unlocking is a plain store, which wakes no thread. A waiter that finds the
 * lock held for long assumes that the holder was preempted inside, and naps. A waiter pauses
 * between two looks, so that the holder can do more than one thing meanwhile: each time the lock
 * changes hands, both sides miss every line that it guards.
 *
 *      word  0 free | 1 held
 */
struct coroi_spin {
	uint32_t word;
};

#define COROI_SPIN_NAP_NS     20000
#define COROI_SPIN_PAUSE      8  /* at_relax before the second look; doubled each time, */
#define COROI_SPIN_PAUSE_MOST 32 /* up to this */

static COROI_NOINLINE __attribute__((unused)) void coroi_spin_slow(struct coroi_spin *l)
{
	uint32_t free;

	for (int waited = 0, pause = COROI_SPIN_PAUSE;;) {
		if (waited < COROI_LOCK_SPINS) {
			for (int k = 0; k < pause; k++)
				at_relax();
			waited += pause;
			if (pause < COROI_SPIN_PAUSE_MOST)
				pause *= 2;
		} else {
			coroi_futex_wait(&l->word, 1, COROI_SPIN_NAP_NS);
		}
		free = 0;
		if (at_load_rlx(&l->word) == 0 && at_cas(&l->word, &free, 1))
			return;
	}
}

static inline void coroi_spin_lock(struct coroi_spin *l)
{
	uint32_t free = 0;
	/* acquire; pairs with the store of the last holder */
	if (coroi_unlikely(!at_cas(&l->word, &free, 1)))
		coroi_spin_slow(l);
}

static inline void coroi_spin_unlock(struct coroi_spin *l)
{
	at_store_rel(&l->word, 0);
}

#endif
