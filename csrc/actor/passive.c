//go:build ignore
/*
 * passive.c - actors of kinds with an idle time end when they had no message for so long.
 *
 * None has a timer. A turn that ends stamps its place with the time, and a daemon, the sweeper,
 * walks over all places now and then: 8 times in the shortest idle time, and for half of the time
 * at most where there are very many. A stamp counts in units of 2^shift ns. An idle time has 8 to
 * 16 of them. A stamp has 12 bits, and is seen long before it comes round again.
 *
 *   PSV1  sweeper, in the lock of the place's sides, since END2 takes it before the kind may go:
 *         the actor is dormant, and its stamp is old: CAS box dormant -> IDLE, as CTL2 with what a
 *         turn needs; and SND2. It is no mark in an active box
 *   PSV2  turn: TRN1 has found IDLE, and no message, and the stamp is still old: between PSV1's
 *         look and PSV1's CAS a message may have come and gone. CAS box ACTIVE -> the next
 *         generation, as TRN4 and END1 in one. It fails: something has come, and the actor goes on.
 *         Else END2 and END3. So no message is lost
 */
#include "actor/actors.h"

#include "base/fault.h"
#include "base/sys.h"

#include <string.h>

#define STAMP_MASK ((UINT64_C(1) << (16 - COROI_PACE_BITS)) - 1)

static unsigned shift_of(const coro_actor_kind *kind)
{
	return 60u - (unsigned)__builtin_clzll(kind->idle); /* idle is CORO_IDLE_MIN at least */
}

uint64_t coroi_stamp(const coro_actor_kind *kind)
{
	return coroi_now_ns() >> shift_of(kind) & STAMP_MASK;
}

bool coroi_is_old(const struct coroi_place *a, const coro_actor_kind *kind, uint64_t now)
{
	uint64_t stamp = at_load_rlx(&a->state) >> (COROI_HIGH_SHIFT + COROI_PACE_BITS);
	unsigned shift = shift_of(kind);
	uint64_t age = ((now >> shift) - stamp) & STAMP_MASK;

	/* one more, since the stamp's unit, and now's, are not whole; from the middle on: later */
	return age > (kind->idle >> shift) + 1 && age <= STAMP_MASK / 2;
}

/* kind_in - the kind of the actor in the place, if it has an idle time, in the lock. */
static const coro_actor_kind *kind_in(const struct coroi_place *a)
{
	uint64_t word = at_load_acq(&a->kind);

	if (!(word >> COROI_HIGH_SHIFT & COROI_P_IDLE))
		return NULL;
	if (word >> COROI_HIGH_SHIFT & COROI_P_SIDE)
		return ((const struct coroi_side *)coroi_pointer(word))->kind;
	return coroi_pointer(word);
}

static void sweep_place(struct coroi_actors *all, struct coroi_place *a, uint64_t now)
{
	uint64_t box = coroi_box_look(&a->box);

	if (!coroi_has(a, COROI_P_IDLE) || !coroi_box_is_dormant(box))
		return;
	struct coroi_spin *lock = coroi_side_lock(all, a);
	coroi_spin_lock(lock);
	box = coroi_box_look(&a->box);
	const coro_actor_kind *kind = coroi_box_is_dormant(box) ? kind_in(a) : NULL;
	bool old = kind && coroi_is_old(a, kind, now);
	coroi_spin_unlock(lock);
	if (old) /* no memory: the next sweep tries again */
		(void)coroi_mark_dormant(all, a, coroi_reference(a, box), COROI_BOX_IDLE);
}

static void sweep(struct coroi_actors *all, uint64_t now)
{
	coroi_lock(&all->lock);
	struct coroi_places *chunk = all->chunks;
	coroi_unlock(&all->lock);
	for (; chunk; chunk = chunk->next) {
		struct coroi_place *place = (struct coroi_place *)(void *)chunk;
		coroi_lock(&all->lock);
		uint32_t n = chunk->carved;
		coroi_unlock(&all->lock);
		for (uint32_t i = 1; i < n; i++) {
			sweep_place(all, &place[i], now);
			if (i % 1024 == 0)
				(void)coro_yield();
		}
	}
}

static void sweeper(void *arg, void *result)
{
	struct coroi_actors *all;
	int status = CORO_OK;

	(void)result;
	memcpy(&all, arg, sizeof all);
	at_xchg(&all->sweep.handle, coro_self());
	while (status != CORO_ECANCELED) {
		uint64_t now = coroi_now_ns();
		sweep(all, now);
		uint64_t took = coroi_now_ns() - now;
		uint64_t pause = at_load_seq(&all->sweep.least) / COROI_SWEEPS;
		/* it rests for as long as it works: its worker sleeps, and the end is seen */
		status = coro_park_until(now + (pause > 2 * took ? pause : 2 * took));
	}
}

int coroi_sweep_for(struct coroi_actors *all, const coro_actor_kind *kind)
{
	const coro_attr attr = {.size = sizeof attr, .flags = CORO_DAEMON, .worker = CORO_ANYWHERE};
	int status = CORO_OK;

	if (!at_load_rlx(&all->sweep.least)) {
		static const char name[] = "coro: lets idle actors in C rest";
		coroi_fault_name((uintptr_t)sweeper, name, sizeof name);
		status = coroi_hand_here(all)
				 ? coro_spawn_attr(&attr, sweeper, &all, sizeof all, NULL)
				 : coro_scheduler_spawn(all->sched, &attr, sweeper, &all,
							sizeof all, NULL);
	} else if (kind->idle >= at_load_rlx(&all->sweep.least)) {
		return CORO_OK;
	}
	if (status)
		return status;
	at_xchg(&all->sweep.least, kind->idle);
	coro_handle handle = at_load_seq(&all->sweep.handle);
	if (handle) /* else it looks when it begins */
		(void)coro_wake(handle);
	return CORO_OK;
}
