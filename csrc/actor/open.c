//go:build ignore
/* open.c - the actors of a scheduler are opened and closed with it; actors are spawned; figures. */
#include "actor/home.h"

#include "base/sys.h"
#include "border/border.h"

#include <string.h>

static struct coroi_service actors_service;
static struct coroi_lock making; /* actors of a scheduler that has none yet */

/* Those of a scheduler that was closed before it had any. */
static struct coroi_actors none_any_more = {.closed = true};

/* ----------------------------------------------------------------------------------------- open */

static struct coroi_actors *make(struct coro_scheduler *s)
{
	uint32_t n = coroi_workers_of(s);
	struct coroi_actors *all = coroi_alloc(sizeof *all + n * sizeof *all->hand, COROI_APART);
	struct coroi_home *homes = coroi_alloc(n * COROI_HOMES * sizeof *homes, COROI_APART);

	if (!all || !homes) {
		coroi_release(all);
		coroi_release(homes);
		return NULL;
	}
	for (uint32_t i = 0; i < n * COROI_HOMES; i++)
		homes[i].a = &coroi_no_place;
	all->sched = s;
	all->workers = n;
	for (uint32_t i = 0; i < COROI_HANDS_OUTSIDE; i++)
		all->outside[i].actors = all;
	for (uint32_t i = 0; i < n; i++) {
		struct coroi_hand *h = &all->hand[i];
		h->actors = all;
		h->homes = homes + i * COROI_HOMES;
		h->home_box = coroi_box_home(0, i);
		h->dedicated = coroi_is_dedicated(coroi_worker_at(s, i));
		at_store_rel(coroi_room(coroi_worker_at(s, i)), h);
	}
	return all;
}

struct coroi_actors *coroi_actors_of(struct coro_scheduler *s)
{
	void **at = coroi_service_state(s, &actors_service);
	struct coroi_actors *all = at_load_acq(at); /* pairs with the store below */

	if (coroi_likely(all != NULL))
		return all;
	coroi_lock(&making);
	if (!(all = at_load_rlx(at)) && (all = make(s)))
		at_store_rel(at, all);
	coroi_unlock(&making);
	return all;
}

/* ---------------------------------------------------------------------------------------- spawn */

/* flags_of - what stays in a place from its spawn on. pin: the worker and 1, or 0. */
static uint64_t flags_of(const coro_actor_kind *kind, uint32_t pin)
{
	uint64_t flags = (kind->idle ? COROI_P_IDLE : 0) |
			 (kind->flags & CORO_ACTOR_BRIEF ? COROI_P_BRIEF : 0) |
			 (kind->buffers | kind->answer_buffers ? COROI_P_CARRIES : 0);

	return pin ? flags | COROI_P_PINNED | (uint64_t)(pin - 1) << COROI_P_WORKER_SHIFT : flags;
}

/* behaviour_of - the behaviour, as the function by which lending judges an actor. */
static coro_fn behaviour_of(const coro_actor_kind *kind)
{
	return (coro_fn)(uintptr_t)kind->behave;
}

/* declare_brief - if there is no room for one function more, the kind is not brief. */
static void declare_brief(const coro_actor_kind *kind)
{
	if (!coroi_is_brief(behaviour_of(kind)))
		(void)coroi_brief_declare(behaviour_of(kind));
}

static coro_fn promise(uint64_t place)
{
	return behaviour_of(coroi_kind_of((const struct coroi_place *)(uintptr_t)place));
}

int coro_actor_spawn(coro_scheduler *s, const coro_actor_kind *kind, void *state, coro_actor *out)
{
	return coro_actor_spawn_on(s, 0, kind, state, out);
}

int coro_actor_spawn_on(coro_scheduler *s, uint32_t worker, const coro_actor_kind *kind,
			void *state, coro_actor *out)
{
	struct coroi_worker *w = coroi_self();

	if (coroi_check_kind(kind) || !out || (uintptr_t)state > COROI_LOW)
		return CORO_EINVAL;
	if (!s && !coroi_current(w))
		return CORO_EPERM;
	if (!s)
		s = coroi_scheduler_of(w);
	if (worker == CORO_HERE && coroi_current(w) && coroi_scheduler_of(w) == s)
		worker = coroi_worker_id(w) + 1;
	if (worker > coroi_workers_of(s))
		return CORO_EINVAL;
	struct coroi_actors *all = coroi_actors_of(s);
	if (!all)
		return CORO_ENOMEM;
	if (kind->flags & CORO_ACTOR_BRIEF)
		declare_brief(kind);
	coroi_lock(&all->lock);
	struct coroi_place *a = all->closed ? NULL : coroi_place_get(all);
	int status = all->closed ? CORO_ECLOSED : a ? CORO_OK : CORO_ENOMEM;
	if (a) {
		at_store_rlx(&a->pending, 0);
		at_store_rlx(&a->kind, coroi_pack(kind, flags_of(kind, worker)));
		if (kind->idle)
			status = coroi_sweep_for(all, kind);
		if (!status && kind->room)
			status = coroi_bound_make(a, kind);
		if (status)
			coroi_place_put(all, a);
	}
	if (!status) {
		all->live++;
		all->spawned++;
		at_store_rlx(&a->state, (uintptr_t)state);
		coroi_set_pace(a, COROI_PACE_FIRST, kind->idle ? coroi_stamp(kind) : 0);
		*out = coroi_reference(a, coroi_box_begin(&a->box));
	}
	coroi_unlock(&all->lock);
	return status;
}

/* -------------------------------------------------------------------------- limits, statistics */

int coro_actor_limit(coro_scheduler *s, size_t bytes)
{
	if (!s)
		return CORO_EINVAL;
	struct coroi_actors *all = coroi_actors_of(s);
	if (!all)
		return CORO_ENOMEM;
	if (all == &none_any_more)
		return CORO_ECLOSED;
	coroi_lock(&all->messages);
	all->limit = bytes;
	coroi_unlock(&all->messages);
	return CORO_OK;
}

int coro_actor_stats_of(coro_scheduler *s, coro_actor_stats *out)
{
	if (!s || !out)
		return CORO_EINVAL;
	memset(out, 0, sizeof *out);
	/* acquire, pairs with the store in coroi_actors_of */
	struct coroi_actors *all = at_load_acq(coroi_service_state(s, &actors_service));
	if (!all)
		return CORO_OK;
	coroi_lock(&all->lock);
	out->actors = all->live;
	out->spawned = all->spawned;
	out->retired = all->retired;
	coroi_unlock(&all->lock);
	coroi_lock(&all->messages);
	out->message_bytes = all->bytes;
	coroi_unlock(&all->messages);
	for (uint32_t i = 0; i < CORO_DEAD_CAUSES; i++)
		out->dead[i] = at_load_rlx(&all->dead[i]);
	out->taken_back = at_load_rlx(&all->taken_back);
	for (uint32_t i = 0; i < COROI_HANDS_OUTSIDE + all->workers; i++) {
		struct coroi_hand *h = i < COROI_HANDS_OUTSIDE
					       ? &all->outside[i]
					       : &all->hand[i - COROI_HANDS_OUTSIDE];
		out->accepted += at_load_rlx(&h->accepted);
		out->handled += at_load_rlx(&h->handled);
	}
	return CORO_OK;
}

/* ---------------------------------------------------------------------------------------- close */

/* outside_await - each thread that was outside, in a lock of these, has left. */
static void outside_await(void)
{
	for (unsigned i = 0; i < COROI_HANDS_OUTSIDE; i++) {
		coroi_spin_lock(&coroi_hand_locks[i].lock);
		coroi_outside_leave(i);
	}
}

/* actors_refuse - what comes from outside from now on would keep actors at work. */
static void actors_refuse(struct coro_scheduler *s)
{
	struct coroi_actors *all = at_load_acq(coroi_service_state(s, &actors_service));

	if (all)
		at_store_rlx(&all->refuses, 1);
}

/* actors_close - no worker is left: end all actors. */
static void actors_close(struct coro_scheduler *s)
{
	void **at = coroi_service_state(s, &actors_service);

	coroi_lock(&making);
	struct coroi_actors *all = at_load_rlx(at);
	if (!all)
		at_store_rel(at, &none_any_more);
	coroi_unlock(&making);
	if (!all)
		return;
	coroi_lock(&all->lock);
	all->closed = true; /* none is spawned any more, so that the chunks stay as they are */
	coroi_unlock(&all->lock);
	for (struct coroi_places *chunk = all->chunks; chunk; chunk = chunk->next) {
		struct coroi_place *place = (struct coroi_place *)(void *)chunk;
		for (uint32_t i = 1; i < chunk->carved; i++)
			if (at_load_rlx(&place[i].box) & COROI_BOX_LIVE)
				coroi_actor_close(all, &place[i]);
	}
	outside_await();
	coroi_clock_close(all); /* after END1 of all: nobody adds any more */
}

static void actors_destroy(struct coro_scheduler *s)
{
	void **at = coroi_service_state(s, &actors_service);
	struct coroi_actors *all = *at;

	if (!all)
		return;
	*at = NULL;
	if (all == &none_any_more)
		return;
	coroi_clock_close(all); /* what a thread has added while the close came */
	coroi_messages_free(all);
	coroi_places_give_back(all);
	coroi_release(all->hand[0].homes);
	coroi_release(all);
}

static struct coroi_service actors_service = {
	.refuse = actors_refuse,
	.close = actors_close,
	.destroy = actors_destroy,
};

/* fn_of_turn - the behaviour that the actor of a turn has now. */
static coro_fn fn_of_turn(const void *payload)
{
	return promise((uintptr_t)((const coro_actor_turn *)payload)->place_);
}

__attribute__((constructor)) static void actors_register(void)
{
	static struct coroi_inner turn = {.body = coroi_turn, .stands_for = fn_of_turn};

	coroi_inner_register(&turn);
	coroi_service_register(&actors_service);
	coroi_tasks = (struct coroi_tasks){
		.fn = coroi_turn,
		.ended = coroi_turn_ended,
		.settle = coroi_settle,
	};
	coroi_task_promise = promise;
}
