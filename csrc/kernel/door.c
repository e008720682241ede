//go:build ignore
/* door.c - the slow sides of door.h, which names the steps. */
#include "kernel/door.h"

#include "kernel/deque.h"
#include "kernel/fork.h"

/* serve - DRO4: the owner gives the thief what it wants. */
static void serve(struct coroi_worker *w, uint32_t thief)
{
	if (thief == COROI_COLLECTOR) {
		coroi_tasks_settle_locked(w, true);
		coroi_mags_surrender(&w->mags);
		return;
	}
	struct coroi_worker *t = &w->sched->worker[thief];
	uint32_t half = coroi_deque_length(&w->queue) / 2;
	at_store_rlx(&t->steal_buf.count, coroi_give_locked(w, t, half));
}

COROI_COLD void coroi_door_slow(struct coroi_worker *w)
{
	for (;;) {
		/* DRO3; seq_cst as in coroi_door_enter, after the exchange below. */
		uint32_t req = at_load_seq(&w->req);
		uint32_t thief = COROI_DOOR_THIEF(req);

		switch (COROI_DOOR_WHAT(req)) {
		case COROI_DOOR_FREE:
			return;
		case COROI_DOOR_ASK:
			if (thief == COROI_FOREIGN) {
				/* The asker wants the lock: stay out until it has looked at
				 * busy. */
				at_store_rel(&w->busy, 0);
				for (int i = 0; at_load_acq(&w->req) == req; i++) {
					if (i < COROI_LOCKED_SPINS)
						at_relax();
					else
						coroi_futex_wait(&w->req, req, COROI_PREEMPTED_NS);
				}
				break;
			}
			/* DRO4; after the CAS the thief cannot lock any more, so the steal buffer
			 * may be written. */
			if (at_cas(&w->req, &req, COROI_DOOR_WORD(COROI_DOOR_SERV, thief))) {
				serve(w, thief);
				/* Pairs with DRT6's acquire: the thief sees the steal buffer. */
				at_store_rel(&w->req, COROI_DOOR_FREE);
				return;
			}
			continue;
		case COROI_DOOR_LOCK:
			/* DRO5; a thief may still look at busy (DRT4 of a later knock): the owner
			 * is not inside. */
			at_store_rel(&w->busy, 0);
			for (int i = 0; COROI_DOOR_WHAT(at_load_acq(&w->req)) == COROI_DOOR_LOCK;
			     i++) {
				if (i < COROI_LOCKED_SPINS) {
					at_relax();
					continue;
				}
				req = at_load_acq(&w->req);
				if (COROI_DOOR_WHAT(req) != COROI_DOOR_LOCK)
					break;
				uint32_t waiting = req | COROI_DOOR_WAITER;
				if (req == waiting || at_cas(&w->req, &req, waiting))
					coroi_futex_wait(&w->req, waiting, -1);
			}
			break;
		}
		/* DRO1 again, with an exchange on all machines: this path is slow anyway. */
		at_xchg(&w->busy, 1);
	}
}

void coroi_door_heavy(const struct coroi_worker *victim)
{
	if (victim->exchange)
		at_fence();
	else
		coroi_membarrier();
}

enum coroi_knock coroi_door_knock(struct coroi_worker *victim, uint32_t t)
{
	uint32_t ask = COROI_DOOR_WORD(COROI_DOOR_ASK, t);
	uint32_t serv = COROI_DOOR_WORD(COROI_DOOR_SERV, t);
	uint32_t expected = COROI_DOOR_FREE;

	if (!at_cas(&victim->req, &expected, ask)) /* DRT1 */
		return COROI_REFUSED;
	if (t != COROI_FOREIGN) { /* DRT2 */
		for (int i = 0; i < COROI_ASK_SPINS; i++) {
			if (at_load_acq(&victim->req) != ask)
				goto served;
			at_relax();
		}
	}
	coroi_door_heavy(victim);                    /* DRT3 */
	for (int i = 0; i < COROI_BUSY_SPINS; i++) { /* DRT4 */
		if (at_load_acq(&victim->req) != ask)
			goto served;
		expected = ask;
		/* Pairs with DRO6 and DRO5. */
		if (at_load_acq(&victim->busy) == 0) {
			if (at_cas(&victim->req, &expected, COROI_DOOR_WORD(COROI_DOOR_LOCK, t)))
				return COROI_LOCKED;
			goto served;
		}
		at_relax();
	}
	expected = ask;
	if (at_cas(&victim->req, &expected, COROI_DOOR_FREE)) /* DRT5 */
		return COROI_REFUSED;
served:
	/* DRT6; pairs with DRO4's store of FREE. */
	while (at_load_acq(&victim->req) == serv)
		at_relax();
	return COROI_SERVED;
}

void coroi_door_unlock(struct coroi_worker *victim)
{
	if (at_xchg(&victim->req, COROI_DOOR_FREE) & COROI_DOOR_WAITER)
		coroi_futex_wake(&victim->req, 1);
}

void coroi_door_lock(struct coroi_worker *victim)
{
	while (coroi_door_knock(victim, COROI_FOREIGN) != COROI_LOCKED) {
		uint32_t never = 0;
		/* Another thief is there, or the owner is preempted inside: let that finish. */
		coroi_futex_wait(&never, 0, COROI_PREEMPTED_NS);
	}
}
