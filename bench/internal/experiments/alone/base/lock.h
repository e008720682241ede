/*
 * lock.h - in the place of csrc/base/lock.h: locks of a program of which one thread runs at a time.
 * They are no code at all.
 */
#ifndef COROI_LOCK_H
#define COROI_LOCK_H

#include "base/atomics.h"
#include "base/sys.h"

struct coroi_lock {
	uint32_t word;
};

struct coroi_spin {
	uint32_t word;
};

static inline void coroi_lock(struct coroi_lock *l)
{
	(void)l;
}

static inline void coroi_unlock(struct coroi_lock *l)
{
	(void)l;
}

static inline void coroi_spin_lock(struct coroi_spin *l)
{
	(void)l;
}

static inline void coroi_spin_unlock(struct coroi_spin *l)
{
	(void)l;
}

#endif
