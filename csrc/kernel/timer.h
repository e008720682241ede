/*
 * timer.h - deadlines of waiting coroutines: a timing wheel for each worker, changed inside the
 * worker's door.
 *
 * The problem: nearly every deadline is taken back before it comes. So arming and disarming must
 * cost little with a million timers armed. Neither may need memory, as a wait must not fail for
 * that.
 *
 * A hierarchical timing wheel (Varghese, Lauck, "Hashed and Hierarchical Timing Wheels", SOSP
 * 1987): time in ticks of 65.5 us, eight levels of 64 slots. Write a timer's tick and the present
 * one as numbers to the base of 64. The highest digit in which they differ is the timer's level,
 * and its value there is the slot. When the time comes to a slot of a higher level, the timers in
 * the slot are spread over the lower levels. A bit for each slot that is not empty finds the next
 * one. No timer fires early.
 *
 *      level 0   | 0 | 1 | .. | now's digit | .. | 63 |    one tick a slot
 *      level 1   | 0 | 1 | .. | now's digit | .. | 63 |    64 ticks a slot: spread over level 0
 *        ...                                               64^7 ticks a slot in level 7
 *      first[level * 64 + slot] ──► record ⇄ record ⇄ record
 *
 * With a million timers armed, the cost is not the work but the lines that have to come into cache
 * for it. So the timer is in the record of the coroutine that waits. The record's first line is in
 * cache anyway, since the waker writes there. Nothing of the timer lies on the coroutine's stack,
 * which is a page of its own:
 *
 *      hot line    next = index of the next timer in the slot | of the one before: 32 bits each
 *      cold line   the tick: written when the timer is armed, and read only when it is spread
 *
 * Disarming reads nothing else, and writes two links of neighbours: stores, which no thread waits
 * for. Neighbours are often records that lie together.
 *
 * The thread that makes the coroutine runnable, always in the door of its home, disarms the timer
 * there (run.h). The coroutine is at home where the timer is armed, and stays there while it waits.
 *
 * The worker's `due` tells every thread when the next slot is to be looked at. The worker looks now
 * and then while it runs (coroi_inbox_due). It sleeps no longer than until `due`, and holds a
 * pending-work token meanwhile (idle.c). While it is busy, the standby looks.
 */
#ifndef COROI_TIMER_H
#define COROI_TIMER_H

#include "kernel/slab.h"
#include "kernel/worker.h"

#define COROI_TICK_SHIFT   16 /* a tick is that power of two of ns: 65.5 us */
#define COROI_WHEEL_LEVELS 8
#define COROI_WHEEL_SLOTS  64

#define COROI_WHEEL_HEADS (COROI_WHEEL_LEVELS * COROI_WHEEL_SLOTS)

struct coroi_wheel {
	uint64_t now; /* in ticks */
	/* The level of the slot of the present that is being spread, and may not be empty yet; 0:
	 * none. */
	uint8_t spreading;
	/* Of each level: a bit for each slot that is not empty. */
	uint64_t filled[COROI_WHEEL_LEVELS];
	/* Of each slot, level by level: the index of its first record; 0: the slot is empty. */
	uint32_t first[COROI_WHEEL_HEADS];
};

/* coroi_timer_arm_locked - me, which is about to wait, is to be woken with CORO_ETIMEDOUT when
 * CLOCK_MONOTONIC comes to deadline (ns). False: the deadline is known to be past, and nothing is
 * armed. */
bool coroi_timer_arm_locked(struct coroi_worker *w, struct coroi_rec *me, uint64_t deadline);

/* coroi_timer_disarm_locked - r, which is armed, does not wait any more. */
void coroi_timer_disarm_locked(struct coroi_worker *w, struct coroi_rec *r);

/* coroi_timers_fire_locked - coroutines whose deadline has come at now (ns) become runnable. A
 * bounded number at a time; `due` stays in the past if there are more. */
void coroi_timers_fire_locked(struct coroi_worker *w, uint64_t now);

/* coroi_timers_are_due - at now (ns) there is a slot to look at. Thread: any; from outside the door
 * a hint. */
static inline bool coroi_timers_are_due(const struct coroi_worker *w, uint64_t now)
{
	return at_load_rlx(&w->due) <= now;
}

#define COROI_NEVER UINT64_MAX

/* The words of an armed record's `next`. NEXT: the index of the record behind it, or 0. BEFORE: the
 * index of the record before it, or HEAD | the slot's index in `first`. */
enum { COROI_TIMER_NEXT, COROI_TIMER_BEFORE };
#define COROI_TIMER_HEAD (UINT32_C(1) << 31) /* no record's index has this bit */
typedef uint32_t __attribute__((may_alias)) coroi_timer_word;

static inline coroi_timer_word *coroi_timer_links(struct coroi_rec *r)
{
	return (coroi_timer_word *)&r->next;
}

/* coroi_timer_tick - where r's tick is. Extras have the tick in their first word, since their
 * address lies where the tick would be. */
static inline uint64_t *coroi_timer_tick(struct coroi_rec *r)
{
	struct coroi_cold *cold = coroi_cold(r);
	return coroi_likely(!(r->flags & COROI_F_EXTRAS)) ? &cold->tick
							  : (uint64_t *)(void *)cold->extras;
}

/* coroi_tick_after - the first tick that is not before the deadline. The deadline is not 0. */
static inline uint64_t coroi_tick_after(uint64_t deadline)
{
	return ((deadline - 1) >> COROI_TICK_SHIFT) + 1;
}

/* coroi_timer_link_locked - r becomes the first in a slot. */
static inline void coroi_timer_link_locked(struct coroi_wheel *wheel, struct coroi_rec *r,
					   unsigned level, unsigned slot)
{
	unsigned head = level * COROI_WHEEL_SLOTS + slot;
	uint32_t index = coroi_index(r), next = wheel->first[head];

	coroi_timer_links(r)[COROI_TIMER_NEXT] = next;
	coroi_timer_links(r)[COROI_TIMER_BEFORE] = COROI_TIMER_HEAD | head;
	if (coroi_likely(next))
		coroi_timer_links(coroi_known(next))[COROI_TIMER_BEFORE] = index;
	wheel->first[head] = index;
	wheel->filled[level] |= UINT64_C(1) << slot;
}

/* coroi_timer_unlinked_locked - take r out of its slot. False, and nothing has changed: r is alone
 * in its slot. */
static inline bool coroi_timer_unlinked_locked(struct coroi_wheel *wheel, struct coroi_rec *r)
{
	uint32_t next = coroi_timer_links(r)[COROI_TIMER_NEXT],
		 before = coroi_timer_links(r)[COROI_TIMER_BEFORE];

	if (!(before & COROI_TIMER_HEAD))
		coroi_timer_links(coroi_known(before))[COROI_TIMER_NEXT] = next;
	else if (coroi_likely(next))
		wheel->first[before - COROI_TIMER_HEAD] = next;
	else
		return false;
	if (next)
		coroi_timer_links(coroi_known(next))[COROI_TIMER_BEFORE] = before;
	return true;
}

/*
 * The short ways: what is nearly always so, without a call. Where there is more to do, they return
 * false and have changed nothing.
 */

/* coroi_timer_armed_locked - coroi_timer_arm_locked, the short way. */
static inline bool coroi_timer_armed_locked(struct coroi_worker *w, struct coroi_rec *me,
					    uint64_t deadline)
{
	struct coroi_wheel *wheel = w->timers;
	uint64_t tick = coroi_tick_after(deadline);

	if (coroi_unlikely(deadline <= w->clock.looked || tick <= wheel->now))
		return false;
	unsigned level = (63 - (unsigned)__builtin_clzll(tick ^ wheel->now)) / 6, shift = 6 * level;
	if (coroi_unlikely(level >= COROI_WHEEL_LEVELS ||
			   tick >> shift << (shift + COROI_TICK_SHIFT) < at_load_rlx(&w->due)))
		return false; /* others are to be told, or no thread looks */
	*coroi_timer_tick(me) = tick;
	me->more |= COROI_M_ARMED;
	coroi_timer_link_locked(wheel, me, level, tick >> shift & (COROI_WHEEL_SLOTS - 1));
	return true;
}

/* coroi_timer_disarmed_locked - coroi_timer_disarm_locked, the short way. */
static inline __attribute__((always_inline)) bool
coroi_timer_disarmed_locked(struct coroi_worker *w, struct coroi_rec *r)
{
	if (coroi_unlikely(!coroi_timer_unlinked_locked(w->timers, r)))
		return false;
	r->more &= (uint8_t)~COROI_M_ARMED;
	return true;
}

#endif
