//go:build ignore
/* home.c - HOM1, HOM3 and HOM5 of box.h: an actor comes home, and leaves. */
#include "actor/home.h"

struct coroi_place coroi_no_place;

/* start - HOM3: the actor lingers, and something has come. False: there is no memory for that
 * now. */
static bool start(struct coroi_worker *w, struct coroi_hand *h, struct coroi_home *e)
{
	if (!coroi_task_unkeep_locked(w, (uintptr_t)e->a, true)) {
		coroi_task_ask(w); /* again, later */
		return false;
	}
	at_store_rlx(&e->ref, 0);
	coroi_home_lost(h);
	return true;
}

/* settle_one - HOM3, or HOM5 if `all`. Returns: it lingers no more. */
static bool settle_one(struct coroi_worker *w, struct coroi_hand *h, struct coroi_home *e, bool all)
{
	uint64_t box = coroi_box_look(&e->a->box);

	if (box == coroi_home_box(h, at_load_rlx(&e->ref))) {
		if (!all)
			return false;
		if (coroi_box_rest_home(&e->a->box, box)) {
			at_store_rlx(&e->ref, 0);
			coroi_task_unkeep_locked(w, (uintptr_t)e->a, false);
			return true;
		}
	}
	return start(w, h, e);
}

bool coroi_settle(void *hand, uint32_t kept, bool all)
{
	struct coroi_hand *h = hand;
	struct coroi_worker *w = coroi_worker_of(h);
	bool some = false;

	for (unsigned i = 0; kept && i < COROI_HOMES; i++)
		if (coroi_lingers(&h->homes[i])) {
			kept--;
			some |= settle_one(w, h, &h->homes[i], all);
		}
	return some;
}

COROI_COLD bool coroi_go_home(struct coroi_place *a, coro_actor ref)
{
	struct coroi_worker *w = coroi_here();
	struct coroi_hand *h = coroi_hand_of(w);
	struct coroi_home *e = coroi_home_of(h, ref);

	if (h->dedicated ||
	    coroi_has(a, COROI_P_IDLE | COROI_P_PINNED | COROI_P_BOUND | COROI_P_CARRIES) ||
	    !coroi_task_keep(w))
		return false;
	uint8_t most = at_load_rlx(&h->skips_most);
	h->skips = most;
	at_store_rlx(&h->skips_most,
		     (uint8_t)(most - (most + COROI_SKIPS_PART - 1u) / COROI_SKIPS_PART));
	if ((!coroi_lingers(e) || settle_one(w, h, e, true)) &&
	    coroi_box_go_home(&a->box, ref, coroi_home_box(h, ref))) {
		coroi_home_note(e, a, ref, NULL);
		coroi_task_kept(w);
		return true;
	}
	coroi_task_drop(w);
	return false;
}
