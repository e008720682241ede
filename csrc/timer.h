/*
 * timer.h - deadlines of waiting coroutines: a timing wheel for each worker, changed inside its door.
 *
 * The problem: nearly every deadline is taken back before it comes, so arming and disarming must cost little with a million
 * of them armed; and a coroutine that waits pays for memory already, its stack, so that a timer needs none of its own.
 *
 * A hierarchical timing wheel (Varghese, Lauck, "Hashed and Hierarchical Timing Wheels", SOSP 1987): time in ticks of 65.5 us,
 * eight levels of 64 slots. A timer lies in the level of the highest digit, to the base of 64, in which its tick
 * differs from the present one, in the slot of that digit; when the time comes to a slot of a higher level, what is in it
 * is spread over the lower ones. A bit for each slot that is not empty finds the next one. No timer fires early.
 *
 * A timer lies on the stack of the coroutine that waits, which is at home where it is armed, and stays so while it waits:
 * whoever makes it runnable, always in its home's door, disarms it there (run.h). `due` of the worker says, to everybody,
 * when the next slot is to be looked at. Its worker looks now and then while it runs (coroi_mail_due), sleeps no longer than
 * until then, and holds an ext token meanwhile (idle.c); while it is busy, the standby looks for it.
 */
#ifndef COROI_TIMER_H
#define COROI_TIMER_H

#include "worker.h"

#define COROI_TICK_SHIFT 16 /* ns in a tick, as a power of two */
#define COROI_WHEEL_LEVELS 8
#define COROI_WHEEL_SLOTS 64

struct coroi_timer {
	struct coroi_timer *next, **link; /* in its slot; link: what points to it */
	uint64_t tick;
	struct coroi_rec *rec;
	uint8_t level, slot;
};

struct coroi_wheel {
	uint64_t now; /* ticks */
	uint8_t spreading; /* the level of a slot of the present that may not be empty yet; 0: none */
	uint64_t filled[COROI_WHEEL_LEVELS];
	struct coroi_timer *slot[COROI_WHEEL_LEVELS][COROI_WHEEL_SLOTS];
};

/* coroi_timer_arm_locked - me, which is about to wait, is woken with CORO_ETIMEDOUT when CLOCK_MONOTONIC has come to deadline
 * (ns). *t is the caller's, until it goes on. False: it is known to be past. */
bool coroi_timer_arm_locked(struct coroi_worker *w, struct coroi_timer *t, struct coroi_rec *me, uint64_t deadline);

/* coroi_timer_disarm_locked - r, which is armed, does not wait any more. */
void coroi_timer_disarm_locked(struct coroi_worker *w, struct coroi_rec *r);

/* coroi_timers_fire_locked - those whose time has come become runnable; not too many at a time. */
void coroi_timers_fire_locked(struct coroi_worker *w, uint64_t now);

/* coroi_timers_are_due - at now (ns) there is a slot to look at. Thread: any; a hint from outside. */
static inline bool coroi_timers_are_due(const struct coroi_worker *w, uint64_t now)
{
	return at_load_rlx(&w->due) <= now;
}

#define COROI_NEVER UINT64_MAX

#endif
