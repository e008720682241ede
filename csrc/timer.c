//go:build cgo && linux
/* timer.c - see timer.h. */
#include "timer.h"

#include "run.h"

#define STEPS_AT_ONCE 512 /* timers fired or spread while the door is held */
#define TICK_MOST ((UINT64_C(1) << 6 * COROI_WHEEL_LEVELS) - 1)

/* place - into its level and slot. Its tick is not before the wheel's. */
static void place(struct coroi_wheel *wheel, struct coroi_timer *t)
{
	uint64_t differs = t->tick ^ wheel->now;
	unsigned level = differs ? (63 - (unsigned)__builtin_clzll(differs)) / 6 : 0;
	unsigned slot = t->tick >> 6 * level & 63;
	struct coroi_timer **first = &wheel->slot[level][slot], *next = *first;

	t->level = (uint8_t)level;
	t->slot = (uint8_t)slot;
	t->next = next;
	t->link = first;
	if (next)
		next->link = &t->next;
	*first = t;
	wheel->filled[level] |= UINT64_C(1) << slot;
}

/* next_tick - when the next slot is to be looked at; its level and slot. COROI_NEVER: none is filled. What lies in a level
 * has the digits of the present above it, and a later one there: so the lowest level is first, but for a slot whose time
 * has come, and which is not empty yet. */
static uint64_t next_tick(const struct coroi_wheel *wheel, unsigned *level, unsigned *slot)
{
	unsigned spreading = wheel->spreading;
	*level = spreading;
	*slot = wheel->now >> 6 * spreading & 63;
	if (spreading && wheel->slot[spreading][*slot])
		return wheel->now;
	for (unsigned l = 0; l < COROI_WHEEL_LEVELS; l++) {
		if (!wheel->filled[l])
			continue;
		unsigned s = (unsigned)__builtin_ctzll(wheel->filled[l]), above = 6 * (l + 1);
		*level = l;
		*slot = s;
		uint64_t high = above < 64 ? wheel->now >> above << above : 0;
		return high | (uint64_t)s << 6 * l;
	}
	return COROI_NEVER;
}

/* set_due - tell everybody when to look. */
static void set_due(struct coroi_worker *w)
{
	unsigned level, slot;
	uint64_t tick = next_tick(w->timers, &level, &slot);
	at_store_rlx(&w->due, tick == COROI_NEVER ? COROI_NEVER : tick << COROI_TICK_SHIFT);
}

/* take - t out of its slot. */
static void take(struct coroi_wheel *wheel, struct coroi_timer *t)
{
	*t->link = t->next;
	if (t->next)
		t->next->link = t->link;
	else if (!wheel->slot[t->level][t->slot])
		wheel->filled[t->level] &= ~(UINT64_C(1) << t->slot);
}

static uint64_t tick_of(uint64_t ns)
{
	return ns >> COROI_TICK_SHIFT;
}

bool coroi_timer_arm_locked(struct coroi_worker *w, struct coroi_timer *t, struct coroi_rec *me, uint64_t deadline)
{
	struct coroi_wheel *wheel = w->timers;

	if (deadline && at_load_rlx(&w->due) == COROI_NEVER) { /* nobody looks at an empty one */
		w->looked = coroi_now_ns();
		wheel->now = tick_of(w->looked);
		w->look_at = w->queue.head; /* from an old one it may be far to here, or half a round */
	}
	if (deadline <= w->looked)
		return false;
	t->tick = tick_of(deadline - 1) + 1;
	if (t->tick > TICK_MOST)
		t->tick = TICK_MOST; /* in 584 years */
	if (t->tick <= wheel->now)
		t->tick = wheel->now + 1;
	t->rec = me;
	me->next = (uintptr_t)t; /* free while it waits */
	me->armed = 1;
	place(wheel, t);
	uint64_t start = t->tick >> 6 * t->level << (6 * t->level + COROI_TICK_SHIFT);
	if (start < at_load_rlx(&w->due)) {
		at_store_rlx(&w->due, start);
		coroi_idle_due(w, start);
	}
	return true;
}

void coroi_timer_disarm_locked(struct coroi_worker *w, struct coroi_rec *r)
{
	struct coroi_timer *t = (struct coroi_timer *)(uintptr_t)r->next;

	r->armed = 0;
	take(w->timers, t);
	if (!w->timers->filled[t->level])
		set_due(w);
}

void coroi_timers_fire_locked(struct coroi_worker *w, uint64_t now)
{
	struct coroi_wheel *wheel = w->timers;
	uint64_t until = tick_of(now), tick;
	unsigned level, slot;

	for (int n = 0; n < STEPS_AT_ONCE && (tick = next_tick(wheel, &level, &slot)) <= until; n++) {
		struct coroi_timer *t = wheel->slot[level][slot];
		wheel->now = tick;
		wheel->spreading = (uint8_t)level;
		take(wheel, t);
		if (level) {
			place(wheel, t);
			continue;
		}
		t->rec->armed = 0;
		coroi_resume_locked(w, t->rec, CORO_ETIMEDOUT);
	}
	set_due(w);
	coroi_idle_queued(w);
}
