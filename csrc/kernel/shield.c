//go:build ignore
/*
 * shield.c - what a coroutine knows of its own cancel, and shield sections, which hold it off.
 *
 * A section is for clean-up: a canceled coroutine has somebody to tell, and an answer to wait for.
 * Inside, a cancel is noted as ever (CAN1 of wait.c), and ends no wait, until the section's
 * deadline has come.
 *
 * COROI_C_SHIELDED says that the coroutine is in a section whose deadline was not seen to be over.
 * It lies in the byte at which every wait looks, so that no fast path is taken while it is set.
 * Each wait that begins in a section looks at the clock, and has a deadline no later than the
 * section's: so somebody always looks when that has come. Sections nest in a list in the
 * coroutine's extras. All of this is changed by the coroutine itself, in its home's door, in which
 * a cancel looks at it.
 */
#include "kernel/nowait.h"
#include "kernel/wait.h"

/* is_over_locked - is the section that me is in over? If so, it is noted. */
static bool is_over_locked(struct coroi_rec *me, uint64_t deadline)
{
	if (deadline == CORO_FOREVER || coroi_now_ns() < deadline)
		return false;
	me->canceled &= (uint8_t)~COROI_C_SHIELDED;
	return true;
}

bool coroi_shield_holds(const struct coroi_rec *me, uint64_t *until)
{
	if (!(me->canceled & COROI_C_SHIELDED))
		return false;
	uint64_t deadline = coroi_cold(me)->extras->shield->deadline;
	if (deadline != CORO_FOREVER && coroi_now_ns() >= deadline)
		return false;
	*until = deadline;
	return true;
}

bool coroi_begins_locked(struct coroi_worker *w, struct coroi_rec *me, uint64_t *until)
{
	if (me->canceled & COROI_C_SHIELDED) {
		uint64_t deadline = coroi_cold(me)->extras->shield->deadline;
		if (!is_over_locked(me, deadline)) {
			if (deadline < *until)
				*until = deadline;
			return true;
		}
	}
	return !w->cancel && !(me->canceled & COROI_C_CANCELED);
}

COROI_COLD int coroi_tell(int code)
{
	struct coroi_worker *w = coroi_self();

	if (code != CORO_ECANCELED)
		return code;
	coroi_door_enter(w);
	coroi_tell_locked(w->current);
	coroi_door_leave(w);
	return code;
}

int coroi_refused_locked(struct coroi_worker *w, struct coroi_rec *me)
{
	uint64_t until = CORO_FOREVER;

	if (coroi_begins_locked(w, me, &until))
		return CORO_OK;
	coroi_tell_locked(me);
	return CORO_ECANCELED;
}

int coroi_refused(void)
{
	struct coroi_worker *w = coroi_self();

	coroi_door_enter(w);
	int status = coroi_refused_locked(w, w->current);
	coroi_door_leave(w);
	return status;
}

COROI_COLD int coroi_park_shielded_locked(struct coroi_worker *w, struct coroi_rec *me,
					  uint64_t deadline)
{
	for (;;) {
		uint64_t until = deadline;
		int code = CORO_ETIMEDOUT;
		if (me->permits) {
			at_store_rlx(&me->permits, me->permits - 1);
			coroi_door_leave(w);
			return CORO_OK;
		}
		if (!coroi_begins_locked(w, me, &until) && !coroi_permit_comes(me)) {
			coroi_tell_locked(me);
			coroi_door_leave(w);
			return CORO_ECANCELED;
		}
		if (until == CORO_FOREVER || coroi_timer_arm_locked(w, me, until)) {
			COROI_PROBE(WAIT, me);
			at_store_rlx(&me->state, COROI_PARKED);
			at_store_rlx(&me->waits, CORO_WAIT_PARK);
			code = coroi_suspend_locked(w, me, coroi_pick_locked(w));
		} else {
			coroi_door_leave(w);
		}
		if (code != CORO_ETIMEDOUT || until == deadline)
			return code;
		w = coroi_self(); /* the section is over */
		coroi_door_enter(w);
	}
}

COROI_COLD int coroi_wait_shielded_locked(struct coroi_worker *w, struct coroi_rec *me,
					  enum coro_wait_kind what, uint64_t deadline,
					  bool (*withdraw)(void *), void *arg)
{
	for (;;) {
		uint64_t until = deadline;
		int code = CORO_ECANCELED;
		if (me->event) {
			me->event = 0;
			coroi_door_leave(w);
			return CORO_OK;
		}
		if (!coroi_begins_locked(w, me, &until)) {
			coroi_door_leave(w);
		} else if (until == CORO_FOREVER || coroi_timer_arm_locked(w, me, until)) {
			COROI_PROBE(WAIT, me);
			at_store_rlx(&me->state, COROI_WAITING);
			at_store_rlx(&me->waits, (uint8_t)what);
			coroi_outside_begin_locked(w, me, what);
			code = coroi_suspend_locked(w, me, coroi_pick_locked(w));
		} else {
			coroi_door_leave(w);
			code = CORO_ETIMEDOUT;
		}
		if (code == CORO_OK)
			return CORO_OK;
		if (code != CORO_ETIMEDOUT || until == deadline) {
			if (withdraw(arg)) /* CAN3 */
				return coroi_tell(code);
			return coroi_wait(me, what, CORO_FOREVER, NULL, NULL);
		}
		w = coroi_self(); /* the section is over */
		coroi_door_enter(w);
	}
}

/* --------------------------------------------------------------------------------- public calls */

/* shield_begin - whole: whatever the section around it says. */
static int shield_begin(uint64_t deadline, bool whole)
{
	struct coroi_rec *me = coroi_current(coroi_self());

	if (!me)
		return CORO_EPERM;
	struct coroi_extras **e = coroi_extras_of(me);
	if (!e)
		return CORO_ENOMEM;
	struct coroi_shield *s = (*e)->spare;
	if (s)
		(*e)->spare = s->outer;
	else if (!(s = coroi_alloc(sizeof *s, sizeof(void *))))
		return CORO_ENOMEM;
	struct coroi_worker *w = coroi_self();
	coroi_door_enter(w);
	s->outer = (*e)->shield;
	s->deadline = deadline;
	if (s->outer && s->outer->deadline < deadline && !whole)
		s->deadline = s->outer->deadline;
	(*e)->shield = s;
	me->canceled |= COROI_C_SHIELDED;
	is_over_locked(me, s->deadline);
	coroi_door_leave(w);
	return CORO_OK;
}

int coro_shield_begin(uint64_t deadline)
{
	return shield_begin(deadline, false);
}

int coroi_shield_whole(void)
{
	return shield_begin(CORO_FOREVER, true);
}

int coroi_shield_ready(void)
{
	const struct coroi_rec *me = coroi_current(coroi_self());

	if (!me || (me->flags & COROI_F_EXTRAS && coroi_cold(me)->extras->spare))
		return CORO_OK;
	int status = shield_begin(CORO_FOREVER, true);
	if (!status)
		status = coro_shield_end();
	return status;
}

int coro_shield_end(void)
{
	struct coroi_worker *w = coroi_self();
	struct coroi_rec *me = coroi_current(w);

	if (!me || !(me->flags & COROI_F_EXTRAS) || !coroi_cold(me)->extras->shield)
		return CORO_EPERM;
	struct coroi_extras *e = coroi_cold(me)->extras;
	struct coroi_shield *s = e->shield;
	coroi_door_enter(w);
	e->shield = s->outer;
	me->canceled &= (uint8_t)~COROI_C_SHIELDED;
	if (e->shield) { /* perhaps not over, if s alone is */
		me->canceled |= COROI_C_SHIELDED;
		is_over_locked(me, e->shield->deadline);
	}
	coroi_door_leave(w);
	s->outer = e->spare;
	e->spare = s;
	return CORO_OK;
}

int coro_canceled(void)
{
	struct coroi_worker *w = coroi_self();
	struct coroi_rec *me;

	if (!w || !(me = w->current))
		return 0;
	coroi_door_enter(w); /* WKC3 takes CANCEL out of the word before it sets `canceled` */
	int canceled = w->cancel || me->canceled & COROI_C_CANCELED ||
		       at_load_rlx(&me->wake) & COROI_CANCEL;
	if (canceled)
		coroi_tell_locked(me);
	coroi_door_leave(w);
	return canceled;
}

int coro_exit_finished(void)
{
	struct coroi_worker *w = coroi_self();
	struct coroi_rec *me = coroi_current(w);

	if (!me)
		return CORO_EPERM;
	coroi_door_enter(w);
	me->canceled &= (uint8_t)~COROI_C_TOLD;
	coroi_door_leave(w);
	coroi_exit(w);
}

/* How the body has ended is clear before its deferred functions run: what a wait tells them changes
 * nothing. They may use the payload, so that the failure is put there afterwards. */
void coroi_end_extras(void)
{
	struct coroi_rec *me = coroi_self()->current;
	struct coroi_extras *e = coroi_cold(me)->extras;

	if (!e->over) { /* else a deferred function has ended by coro_exit, or the like */
		e->over = true;
		e->how = at_load_rlx(&me->canceled) & COROI_C_TOLD; /* only me, by now, sets that */
	}
	uint8_t told = e->how;
	coroi_extras_run(e);
	struct coroi_worker *w = coroi_self();
	coroi_door_enter(w);
	me->canceled &= COROI_C_CANCELED; /* an open section ends here */
	me->canceled |= told;
	coroi_door_leave(w);
	struct coroi_failure f = e->failure;
	e->failure.text = NULL;
	coroi_unflag(me, COROI_F_EXTRAS);
	coroi_extras_free(e);
	if (me->more & COROI_M_FAILED)
		coroi_fail(me, f);
}
