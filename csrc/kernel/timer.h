/*
 * timer.h - deadlines of waiting coroutines: a timing wheel for each worker, changed inside its
 * door.
 *
 * The problem: nearly every deadline is taken back before it comes, so arming and disarming must
 * cost little with a million of them armed; and neither may want memory, as a wait must not fail
 * for that.
 *
 * A hierarchical timing wheel (Varghese, Lauck, "Hashed and Hierarchical Timing Wheels", SOSP
 * 1987): time in ticks of 65.5 us, eight levels of 64 slots. A timer lies in the level of the
 * highest digit, to the base of 64, in which its tick differs from the present one, in the slot of
 * that digit; when the time comes to a slot of a higher level, what is in it is spread over the
 * lower ones. A bit for each slot that is not empty finds the next one. No timer fires early.
 *
 * With a million armed, what costs is not the work but what has to come into cache for it. So there
 * is no timer beside the record of who waits, whose first line is in cache, as whoever wakes it
 * writes there, and nothing lies on its stack, which is a page of its own:
 *
 *      hot line    next = index of the next one in the slot | index of the one before: 32 bits each
 *      cold line   the tick, which is written when it is armed, and read only if it is spread
 *
 * To disarm it reads nothing else, and writes two links of neighbours: stores, for which nobody
 * waits. Neighbours are often records that lie together. (With the links in a structure on the
 * stack each disarming waited for a page and a line of the stack, and wrote to two more: arming and
 * disarming one of a million took 172 ns. In an array of their own beside the records, links and
 * ticks were no faster, in turn or at random, and want memory.)
 *
 * Whoever makes the coroutine runnable, always in its home's door, disarms it there (run.h): it is
 * at home where it is armed, and stays so while it waits. `due` of the worker says, to everybody,
 * when the next slot is to be looked at. Its worker looks now and then while it runs
 * (coroi_inbox_due), sleeps no longer than until then, and holds a pending-work token meanwhile
 * (idle.c); while it is busy, the standby looks for it.
 */
#ifndef COROI_TIMER_H
#define COROI_TIMER_H

#include "kernel/slab.h"
#include "kernel/worker.h"

#define COROI_TICK_SHIFT   16 /* ns in a tick, as a power of two */
#define COROI_WHEEL_LEVELS 8
#define COROI_WHEEL_SLOTS  64

#define COROI_WHEEL_HEADS (COROI_WHEEL_LEVELS * COROI_WHEEL_SLOTS)

struct coroi_wheel {
	uint64_t now; /* ticks */
	/* the level of a slot of the present that may not be empty yet; 0: none */
	uint8_t spreading;
	uint64_t filled[COROI_WHEEL_LEVELS];
	/* of each slot, level by level: the index of a record; 0: it is empty */
	uint32_t first[COROI_WHEEL_HEADS];
};

/* coroi_timer_arm_locked - me, which is about to wait, is woken with CORO_ETIMEDOUT when
 * CLOCK_MONOTONIC has come to deadline (ns). False: it is known to be past. */
bool coroi_timer_arm_locked(struct coroi_worker *w, struct coroi_rec *me, uint64_t deadline);

/* coroi_timer_disarm_locked - r, which is armed, does not wait any more. */
void coroi_timer_disarm_locked(struct coroi_worker *w, struct coroi_rec *r);

/* coroi_timers_fire_locked - those whose time has come become runnable; not too many at a time. */
void coroi_timers_fire_locked(struct coroi_worker *w, uint64_t now);

/* coroi_timers_are_due - at now (ns) there is a slot to look at. Thread: any; a hint from
 * outside. */
static inline bool coroi_timers_are_due(const struct coroi_worker *w, uint64_t now)
{
	return at_load_rlx(&w->due) <= now;
}

#define COROI_NEVER UINT64_MAX

/* The words of an armed record's `next`: the index of the one behind it, or 0; and of the one
 * before it, or HEAD | the slot's place in `first`. */
enum { COROI_TIMER_NEXT, COROI_TIMER_BEFORE };
#define COROI_TIMER_HEAD (UINT32_C(1) << 31) /* no index has it */
typedef uint32_t __attribute__((may_alias)) coroi_timer_word;

static inline coroi_timer_word *coroi_timer_links(struct coroi_rec *r)
{
	return (coroi_timer_word *)&r->next;
}

/* coroi_timer_tick - where r's tick lies: in the first word of its extras, if it has some, since
 * their address has the other place. */
static inline uint64_t *coroi_timer_tick(struct coroi_rec *r)
{
	struct coroi_cold *cold = coroi_cold(r);
	return coroi_likely(!(r->flags & COROI_F_EXTRAS)) ? &cold->tick
							  : (uint64_t *)(void *)cold->extras;
}

/* coroi_tick_after - the first tick that is not before the deadline, which is not 0. */
static inline uint64_t coroi_tick_after(uint64_t deadline)
{
	return ((deadline - 1) >> COROI_TICK_SHIFT) + 1;
}

/* coroi_timer_link_locked - r is the first in a slot. */
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

/* coroi_timer_unlinked_locked - r is not in its slot any more. False, and it is: it is alone
 * there. */
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
 * The short ways, for what is nearly always so, without a call. Where there is more to do they say
 * so, and have changed nothing.
 */

/* coroi_timer_armed_locked - as coroi_timer_arm_locked. False: the general way. */
static inline bool coroi_timer_armed_locked(struct coroi_worker *w, struct coroi_rec *me,
					    uint64_t deadline)
{
	struct coroi_wheel *wheel = w->timers;
	uint64_t tick = coroi_tick_after(deadline);

	if (coroi_unlikely(deadline <= w->looked || tick <= wheel->now))
		return false;
	unsigned level = (63 - (unsigned)__builtin_clzll(tick ^ wheel->now)) / 6, shift = 6 * level;
	if (coroi_unlikely(level >= COROI_WHEEL_LEVELS ||
			   tick >> shift << (shift + COROI_TICK_SHIFT) < at_load_rlx(&w->due)))
		return false; /* others are to be told, or nobody looks */
	*coroi_timer_tick(me) = tick;
	me->armed = 1;
	coroi_timer_link_locked(wheel, me, level, tick >> shift & (COROI_WHEEL_SLOTS - 1));
	return true;
}

/* coroi_timer_disarmed_locked - as coroi_timer_disarm_locked. False: the general way. */
static inline bool coroi_timer_disarmed_locked(struct coroi_worker *w, struct coroi_rec *r)
{
	if (coroi_unlikely(!coroi_timer_unlinked_locked(w->timers, r)))
		return false;
	r->armed = 0;
	return true;
}

#endif
