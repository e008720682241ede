//go:build ignore
/* end.c - END1 to END3 of box.h: an actor ends; and what becomes of messages that are not
 * handled. */
#include "actor/actors.h"

static coro_dead_letter_hook dead_letter_hook; /* atomic */

coro_dead_letter_hook coro_actor_on_dead_letter(coro_dead_letter_hook hook)
{
	return at_xchg(&dead_letter_hook, hook);
}

COROI_COLD void coroi_drop(struct coroi_place *a, struct coro_message *m)
{
	coro_block b;

	if (m->flags_ & COROI_M_CREDIT && coroi_has(a, COROI_P_BOUND))
		coroi_bound_leave(a, coroi_reference(a, at_load_rlx(&a->box)), coroi_owner_of(a));
	if (m->flags_ & COROI_M_ASK)
		coroi_unanswered(m);
	if (coro_message_take(m, &b) == CORO_OK && b.destroy)
		b.destroy(b.data, b.bytes);
}

COROI_COLD void coroi_took_back(struct coroi_actors *all, struct coroi_hand *h,
				struct coroi_place *a, struct coro_message *m)
{
	at_add(&all->taken_back, 1);
	coroi_drop(a, m);
	if (h)
		coroi_message_put(coroi_hand_of(coroi_here()), m);
}

void coroi_bury(struct coroi_actors *all, struct coroi_hand *h, coro_actor to,
		struct coro_message *m, int cause)
{
	if (coroi_unlikely(m->flags_ & COROI_M_LENDS) && !coroi_ask_begin(m)) {
		coroi_took_back(all, h, coroi_place_of(to), m);
		return;
	}
	if (!(m->flags_ & COROI_M_DRAIN)) {
		at_add(&all->dead[cause], 1);
		/* acquire, pairs with the exchange: what the hook uses was written before */
		coro_dead_letter_hook hook = at_load_acq(&dead_letter_hook);
		if (hook)
			hook(&(coro_dead_letter){.to = to, .message = m, .cause = cause});
	}
	if (coroi_unlikely(m->flags_ & COROI_M_CARRIES))
		coroi_carry_end(m);
	coroi_drop(coroi_place_of(to), m);
	if (h)
		coroi_message_put(coroi_hand_of(coroi_here()), m);
}

static void bury_all(struct coroi_actors *all, struct coroi_hand *h, coro_actor to,
		     struct coro_message *m, int cause)
{
	while (m) {
		struct coro_message *next = m->next_;
		coroi_bury(all, h, to, m, cause);
		m = next;
	}
}

COROI_COLD void coroi_actor_end_after(struct coroi_place *a, coro_actor self, uint64_t box,
				      struct coro_message *m, int cause)
{
	struct coroi_hand *h = coroi_hand_of(coroi_here());
	struct coroi_actors *all = h->actors;
	const coro_actor_kind *kind = coroi_kind_of(a);
	uint32_t n;

	struct coroi_side *side = coroi_side_end(all, a);
	coroi_set_pending(a, NULL, 0);
	bury_all(all, h, self, m, cause);
	bury_all(all, h, self, coroi_box_reverse(box, &n), cause);
	bury_all(all, h, self, side ? side->urgent.first : NULL, cause);
	bury_all(all, h, self,
		 coroi_unlikely(at_load_seq(&all->clock.n)) ? coroi_later_end(all, self) : NULL,
		 cause);
	coroi_side_tell(all, side, self, cause, true);
	if (kind->end) {
		kind->end(coroi_state(a), cause);
		coroi_back();
	}
	coroi_place_free(all, a);
}

COROI_COLD void coroi_actor_end(struct coroi_place *a, coro_actor self, struct coro_message *m,
				int cause)
{
	coroi_actor_end_after(a, self, coroi_box_end(&a->box, self), m, cause);
}

void coroi_actor_close(struct coroi_actors *all, struct coroi_place *a)
{
	coro_actor self = coroi_reference(a, at_load_rlx(&a->box));
	const coro_actor_kind *kind = coroi_kind_of(a);
	uint32_t n;

	uint64_t box = coroi_box_end(&a->box, self);
	struct coroi_side *side = coroi_side_end(all, a);
	struct coro_message *pending = coroi_pending(a), *list = coroi_box_reverse(box, &n);
	bury_all(all, NULL, self, pending, CORO_DEAD_CLOSED);
	bury_all(all, NULL, self, list, CORO_DEAD_CLOSED);
	bury_all(all, NULL, self, side ? side->urgent.first : NULL, CORO_DEAD_CLOSED);
	coroi_side_tell(all, side, self, CORO_DEAD_CLOSED, false); /* they end too */
	if (kind->end)
		kind->end(coroi_state(a), CORO_DEAD_CLOSED);
	coroi_place_free(all, a);
}
