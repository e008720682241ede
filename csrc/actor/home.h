/*
 * home.h - the actors that are at home at a worker: HOM1 to HOM6 of box.h, where a worker notes
 * them, and what its own coroutines do there.
 *
 * A worker has COROI_HOMES places to note an actor, by the actor's number. Where one lingers no
 * other can be noted. The table is the worker's own, in its door.
 */
#ifndef COROI_HOME_H
#define COROI_HOME_H

#include "actor/actors.h"

/* An actor that is at home, and no turn of it runs. */
struct coroi_home {
	/* 0: none. Atomic, relaxed, as is `last`: the worker looks outside of its door. */
	coro_actor ref;
	/* Where ref is 0: the actor that may come home, or coroi_no_place. */
	struct coroi_place *a;
	/* The last message of its `pending`; NULL: it lingers. */
	struct coro_message *last;
	uint32_t given; /* coroi_task_given, when its turn was queued */
};

/* A place without an actor: so that a send to reference 0 finds a box which it may look at. */
extern struct coroi_place coroi_no_place;

/* coroi_worker_of - whose hand h is. */
static inline struct coroi_worker *coroi_worker_of(const struct coroi_hand *h)
{
	return coroi_worker_at(h->actors->sched, coroi_box_worker(h->home_box));
}

/* coroi_home_of - where the actor is noted at h's worker, if it is. */
static inline struct coroi_home *coroi_home_of(const struct coroi_hand *h, coro_actor ref)
{
	return &h->homes[ref % COROI_HOMES];
}

/* coroi_home_box - the actor's box while it is at home at h's worker. */
static inline uint64_t coroi_home_box(const struct coroi_hand *h, coro_actor ref)
{
	return (ref & COROI_BOX_GEN) | h->home_box;
}

/* coroi_lingers - an actor that lingers is noted there. In the door. */
static inline bool coroi_lingers(const struct coroi_home *e)
{
	return at_load_rlx(&e->ref) && !at_load_rlx(&e->last);
}

/* coroi_home_note - note the actor. last: NULL if it lingers. In the door. */
static inline void coroi_home_note(struct coroi_home *e, struct coroi_place *a, coro_actor ref,
				   struct coro_message *last)
{
	e->a = a;
	at_store_rlx(&e->ref, ref);
	at_store_rlx(&e->last, last);
}

/* coroi_home_enter - HOM2: may a coroutine of w send to the actor as to one that is noted at e?
 * True: w's door is entered, and coroi_home_put has to come next. */
static inline __attribute__((always_inline)) bool coroi_home_enter(struct coroi_worker *w,
								   const struct coroi_hand *h,
								   const struct coroi_home *e,
								   coro_actor to)
{
	if (at_load_rlx(&e->last)) {
		if (coroi_unlikely(!coroi_task_hold(w, e->given)))
			return false;
	} else {
		if (coroi_unlikely(!coroi_task_begin(w)))
			return false;
		/* before the door, a thief may have settled it */
		if (coroi_unlikely(at_load_rlx(&e->ref) != to))
			goto drop;
	}
	if (coroi_likely(at_load_rlx(&e->a->box) == coroi_home_box(h, to)))
		return true;
drop:
	coroi_task_drop(w);
	return false;
}

/* coroi_home_first - HOM2: m is the first that an actor gets which lingers. */
static inline void coroi_home_first(const struct coroi_worker *w, struct coroi_home *e,
				    struct coro_message *m)
{
	at_store_rlx(&e->last, m);
	e->given = coroi_task_given(w);
	m->next_ = NULL;
	coroi_set_pending(e->a, m, 1);
}

/* coroi_home_put - HOM2: m is sent. Returns: how many messages wait for the turn. */
static inline __attribute__((always_inline)) uint64_t
coroi_home_put(struct coroi_worker *w, struct coroi_home *e, struct coro_message *m)
{
	struct coro_message *last = at_load_rlx(&e->last);

	if (last) {
		at_store_rlx(&e->last, m);
		uint64_t n = coroi_add_pending(e->a, last, m);
		coroi_task_drop(w);
		return n;
	}
	coroi_home_first(w, e, m);
	coroi_task_commit(w, (uintptr_t)e->a, true);
	return 1;
}

/* coroi_home_woken - HOM1: SND2 on h's worker: the actor may come home when its turn ends there. */
static inline void coroi_home_woken(const struct coroi_worker *w, struct coroi_hand *h,
				    struct coroi_place *a, coro_actor ref)
{
	struct coroi_home *e = coroi_home_of(h, ref);

	if (!COROI_HAS_HOME)
		return;
	if (coroi_unlikely(h->skips)) {
		h->skips--;
		return;
	}
	if (coroi_unlikely(at_load_rlx(&e->ref))) {
		if (!at_load_rlx(&e->last) || e->given == coroi_task_given(w))
			return;
		at_store_rlx(&e->ref, 0); /* its turn may have been stolen */
	}
	e->a = a;
}

/* coroi_home_lost - an actor that was at home at h's worker is not any more, since others have sent
 * to it: fewer come home. */
static inline void coroi_home_lost(struct coroi_hand *h)
{
	unsigned most = at_load_rlx(&h->skips_most);

	most = most < COROI_SKIPS_MOST / 2 ? 2 * most + 1 : COROI_SKIPS_MOST;
	at_store_rlx(&h->skips_most, (uint8_t)most);
}

/* coroi_home_was_woken - HOM1: a turn begins on h's worker, and the actor is not at home: was it
 * woken there? */
static inline bool coroi_home_was_woken(struct coroi_hand *h, const struct coroi_place *a,
					coro_actor ref)
{
	struct coroi_home *e = coroi_home_of(h, ref);

	if (coroi_likely(e->a != a))
		return false;
	if (coroi_unlikely(at_load_rlx(&e->ref) == ref)) { /* it was at home */
		at_store_rlx(&e->ref, 0);
		coroi_home_lost(h);
	}
	bool woken = !at_load_rlx(&e->ref);
	if (woken)
		e->a = &coroi_no_place;
	return woken;
}

/* coroi_home_arrive - the actor's turn begins at h's worker; its box is `box`. Returns: the actor,
 * which is at home there, and *last, the last of its `pending`; 0: it is not at home there. */
static inline coro_actor coroi_home_arrive(struct coroi_hand *h, const struct coroi_place *a,
					   uint64_t box, struct coro_message **last)
{
	/* as coroi_home_of its reference, which is not known yet */
	struct coroi_home *e = &h->homes[(uintptr_t)a / sizeof *a % COROI_HOMES];
	coro_actor ref = at_load_rlx(&e->ref);

	if (coroi_unlikely(box != coroi_home_box(h, ref) || e->a != a))
		return 0;
	*last = at_load_rlx(&e->last);
	at_store_rlx(&e->ref, 0);
	return ref;
}

/* coroi_home_queued - HOM4: TRN3 of an actor that is at home, whose last pending message is `last`.
 * In the door. Where another lingers it is not noted, and not at home when its turn begins. */
static inline void coroi_home_queued(const struct coroi_worker *w, const struct coroi_hand *h,
				     struct coroi_place *a, coro_actor ref,
				     struct coro_message *last)
{
	struct coroi_home *e = coroi_home_of(h, ref);

	if (coroi_lingers(e))
		return;
	coroi_home_note(e, a, ref, last);
	e->given = coroi_task_given(w);
}

/* coroi_linger - HOM4: the turn ends on w, where the actor is at home. False: something has come,
 * or another lingers there. */
static inline bool coroi_linger(struct coroi_worker *w, const struct coroi_hand *h,
				struct coroi_place *a, coro_actor ref)
{
	struct coroi_home *e = coroi_home_of(h, ref);

	if (coroi_unlikely(h->dedicated || !coroi_task_keep(w)))
		return false;
	if (coroi_likely(at_load_rlx(&a->box) == coroi_home_box(h, ref) && !coroi_lingers(e))) {
		coroi_home_note(e, a, ref, NULL);
		coroi_task_kept(w);
		return true;
	}
	coroi_task_drop(w);
	return false;
}

/* coroi_go_home - HOM1: the turn ends on this worker. False: it does not. */
COROI_COLD bool coroi_go_home(struct coroi_place *a, coro_actor ref);

/* coroi_settle - of coroi_tasks, with a worker's hand: HOM3, and HOM5 if `all`. */
bool coroi_settle(void *hand, uint32_t kept, bool all);

#endif
