//go:build ignore
/* timer.c - see timer.h. */
#include "kernel/timer.h"

#include "kernel/run.h"

#define TICK_MOST ((UINT64_C(1) << 6 * COROI_WHEEL_LEVELS) - 1)
_Static_assert(6 * COROI_WHEEL_LEVELS < 64, "a shift by all levels is one");

/* put - link r into its level and slot. Its tick is not before the wheel's. Returns the first tick
 * of the slot. */
static uint64_t put(struct coroi_wheel *wheel, struct coroi_rec *r, uint64_t tick)
{
	uint64_t differs = tick ^ wheel->now;
	unsigned level = differs ? (63 - (unsigned)__builtin_clzll(differs)) / 6 : 0,
		 shift = 6 * level;

	coroi_timer_link_locked(wheel, r, level, tick >> shift & 63);
	return tick >> shift << shift;
}

/* next_tick - when the next slot is to be looked at, and its level and slot. COROI_NEVER: no slot
 * is filled. A timer in a level has the same digits above as the present, and a later digit in that
 * level. So the lowest filled level comes first. The exception is a slot whose time has come and
 * which is not spread to its end. */
static uint64_t next_tick(const struct coroi_wheel *wheel, unsigned *level, unsigned *slot)
{
	unsigned spreading = wheel->spreading;
	*level = spreading;
	*slot = wheel->now >> 6 * spreading & 63;
	if (spreading && wheel->first[spreading * 64 + *slot])
		return wheel->now;
	for (unsigned l = 0; l < COROI_WHEEL_LEVELS; l++) {
		if (!wheel->filled[l])
			continue;
		unsigned s = (unsigned)__builtin_ctzll(wheel->filled[l]), above = 6 * (l + 1);
		*level = l;
		*slot = s;
		return wheel->now >> above << above | (uint64_t)s << 6 * l;
	}
	return COROI_NEVER;
}

/* set_due - tell every thread when to look. Relaxed: a hint to others. */
static void set_due(struct coroi_worker *w)
{
	unsigned level, slot;
	uint64_t tick = next_tick(w->timers, &level, &slot);
	at_store_rlx(&w->due, tick == COROI_NEVER ? COROI_NEVER : tick << COROI_TICK_SHIFT);
}

/* unlink_timer - take r from its slot. True: nothing is left in that level. */
static bool unlink_timer(struct coroi_wheel *wheel, struct coroi_rec *r)
{
	if (coroi_timer_unlinked_locked(wheel, r))
		return false;
	uint32_t head = coroi_timer_links(r)[COROI_TIMER_BEFORE] - COROI_TIMER_HEAD;
	wheel->first[head] = 0;
	return (wheel->filled[head / 64] &= ~(UINT64_C(1) << head % 64)) == 0;
}

static uint64_t tick_of(uint64_t ns)
{
	return ns >> COROI_TICK_SHIFT;
}

bool coroi_timer_arm_locked(struct coroi_worker *w, struct coroi_rec *me, uint64_t deadline)
{
	struct coroi_wheel *wheel = w->timers;

	/* no thread looks at an empty wheel */
	if (deadline && at_load_rlx(&w->due) == COROI_NEVER) {
		coroi_turnclock_set(&w->clock, coroi_now_ns(), coroi_turns(w));
		wheel->now = tick_of(w->clock.looked);
	}
	if (deadline <= w->clock.looked)
		return false;
	uint64_t tick = coroi_tick_after(deadline);
	if (tick > TICK_MOST)
		tick = TICK_MOST; /* 584 years from the start of the clock */
	if (tick <= wheel->now)
		tick = wheel->now + 1;
	*coroi_timer_tick(me) = tick;
	me->more |= COROI_M_ARMED;
	uint64_t start = put(wheel, me, tick) << COROI_TICK_SHIFT;
	if (start < at_load_rlx(&w->due)) {
		at_store_rlx(&w->due, start);
		coroi_idle_due(w, start);
	}
	return true;
}

void coroi_timer_disarm_locked(struct coroi_worker *w, struct coroi_rec *r)
{
	r->more &= (uint8_t)~COROI_M_ARMED;
	if (unlink_timer(w->timers, r))
		set_due(w);
}

void coroi_timers_fire_locked(struct coroi_worker *w, uint64_t now)
{
	struct coroi_wheel *wheel = w->timers;
	uint64_t until = tick_of(now), tick;
	unsigned level, slot;

	for (int n = 0;
	     n < COROI_TIMERS_AT_ONCE && (tick = next_tick(wheel, &level, &slot)) <= until; n++) {
		struct coroi_rec *r = coroi_known(wheel->first[level * 64 + slot]);
		wheel->now = tick;
		wheel->spreading = (uint8_t)level;
		unlink_timer(wheel, r);
		if (level) {
			put(wheel, r, *coroi_timer_tick(r));
			continue;
		}
		r->more &= (uint8_t)~COROI_M_ARMED;
		coroi_resume_locked(w, r, CORO_ETIMEDOUT);
	}
	set_due(w);
	coroi_notify_queued(w);
}
