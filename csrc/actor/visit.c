//go:build ignore
/* visit.c - what a caller needs of an actor's scheduler, on one of its workers or outside: see
 * actors.h. */
#include "actor/actors.h"

int coroi_may_enter(const struct coroi_place *a, coro_actor ref)
{
	if (!coroi_box_takes(at_load_seq(&a->box), ref))
		return CORO_ESTALE;
	return at_load_rlx(&coroi_owner_of(a)->refuses) ? CORO_ECLOSED : CORO_OK;
}

int coroi_visit_begin(struct coroi_visit *v, const struct coroi_place *a, coro_actor ref)
{
	*v = (struct coroi_visit){.all = coroi_owner_of(a)};
	if (coroi_hand_here(v->all))
		return CORO_OK;
	v->guest = coroi_guest_begin();
	int status = coroi_may_enter(a, ref);
	if (!status)
		v->all = coroi_owner_of(a);
	else
		coroi_guest_end(v->guest);
	return status;
}

void coroi_visit_end(const struct coroi_visit *v)
{
	if (v->guest)
		coroi_guest_end(v->guest);
}

/* hand_of - the visitor's hand; outside, with the lock of number *i. */
static struct coroi_hand *hand_of(const struct coroi_visit *v, unsigned *i)
{
	if (!v->guest)
		return coroi_hand_of(coroi_here());
	*i = coroi_outside_enter();
	return &v->all->outside[*i];
}

static void hand_leave(const struct coroi_visit *v, unsigned i)
{
	if (v->guest)
		coroi_outside_leave(i);
}

struct coro_message *coroi_visit_get(const struct coroi_visit *v)
{
	unsigned i = 0;
	struct coro_message *m = coroi_message_get(hand_of(v, &i));

	hand_leave(v, i);
	return m;
}

void coroi_visit_put(const struct coroi_visit *v, struct coro_message *m)
{
	unsigned i = 0;

	coroi_message_put(hand_of(v, &i), m);
	hand_leave(v, i);
}

void coroi_visit_count(const struct coroi_visit *v, uint32_t n)
{
	unsigned i = 0;
	struct coroi_hand *h = hand_of(v, &i);

	at_bump_by(&h->accepted, (uint64_t)(int64_t)(int32_t)n);
	hand_leave(v, i);
}
