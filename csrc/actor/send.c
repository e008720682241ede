//go:build ignore
/*
 * send.c - SND1 to SND3, HOM2, HOM3 and HOM6 of box.h: messages to actors, from inside and from
 * outside.
 *
 * A message takes the first of these ways that is open to it:
 *
 *   1  home      the actor is at home at the sender's worker: HOM2, no atomic step
 *   2  own       the sender is the actor's own turn, at home: HOM6
 *   3  active    the actor has a turn: SND1
 *   4  dormant   SND1, and SND2 on the sender's worker
 *   5  general   SND1 and SND2 by coroi_change_slow (change.h): the turn starts on another worker,
 *                as the actor is pinned or the sender's worker is dedicated, or the sender is no
 *                worker, or something is short that a turn needs
 *
 * A bounded mailbox gives a space first, and takes it back if the message is refused. Threads
 * outside share hands, in a lock (send_outside), and try 3 before 5.
 */
#include "actor/change.h"
#include "actor/home.h"

#include "base/copy.h"
#include "base/sys.h"

#include <string.h>

/* took_home - HOM3, on h's worker; `was` is what the box was. If the actor is at home here and does
 * not linger, its turn waits or runs, and looks. */
COROI_COLD static void took_home(const struct coroi_hand *h, coro_actor to, uint64_t was)
{
	const struct coroi_home *e = coroi_home_of(h, to);

	if (was != coroi_home_box(h, to) || (at_load_rlx(&e->ref) == to && coroi_lingers(e)))
		coroi_ask_home(h->actors, coroi_box_worker(was));
}

/* yield_once - SND3, in a coroutine: what was sent is in the mailbox. */
static COROI_NOINLINE int yield_once(void)
{
	if (!coroi_in_nowait(coroi_here(), COROI_BOUNDED))
		(void)coro_yield();
	return CORO_OK;
}

/* pause_outside - SND3, on a thread that is no worker, and has sent x. */
COROI_COLD static void pause_outside(const struct coroi_change *x)
{
	const struct coroi_place *a = x->a;
	uint64_t end = coroi_now_ns() +
		       COROI_PAUSE_NS * (x->n < COROI_PAUSE_MOST ? x->n : COROI_PAUSE_MOST);

	do
		coroi_cpu_yield();
	while ((coroi_box_message(at_load_rlx(&a->box)) == x->last ||
		coroi_behind(a) > COROI_SOFT_BOUND) &&
	       coroi_now_ns() < end);
}

/* send_own - HOM6: the caller is the actor's turn. False: SND1. */
static bool send_own(struct coroi_worker *w, struct coroi_place *a, struct coro_message *m)
{
	coro_actor_turn *turn = coroi_task_here(w);

	if (!turn || turn->place_ != a || !turn->last_)
		return false;
	coroi_add_pending(a, turn->last_, m);
	turn->last_ = m;
	return true;
}

/* What the first message to an actor that lingers changes. */
struct first {
	struct coroi_worker *w;
	const struct coroi_hand *h;
	struct coroi_home *e;
	coro_actor to;
	struct coro_message *m;
};

/* first - HOM2, for coroi_task_spawn_kept. */
static bool first(void *ctx)
{
	struct first *x = ctx;

	if (at_load_rlx(&x->e->ref) != x->to || at_load_rlx(&x->e->last) ||
	    at_load_rlx(&x->e->a->box) != coroi_home_box(x->h, x->to))
		return false;
	coroi_home_first(x->w, x->e, x->m);
	return true;
}

/* post_home - HOM2 on worker w, where e says that the actor is at home. Returns: as coroi_home_put;
 * 0: SND1. */
static uint64_t post_home(struct coroi_worker *w, const struct coroi_hand *h, struct coroi_home *e,
			  coro_actor to, struct coro_message *m)
{
	struct first x = {w, h, e, to, m};

	if (coroi_home_enter(w, h, e, to))
		return coroi_home_put(w, e, m);
	return !at_load_rlx(&e->last) &&
	       coroi_task_spawn_kept(w, (uintptr_t)coroi_place_of(to), first, &x);
}

/* post_box - SND1 and SND2. */
static inline __attribute__((always_inline)) int
post_box(struct coroi_worker *w, struct coroi_hand *h, struct coroi_place *a, coro_actor to,
	 struct coro_message *first, struct coro_message *last, uint32_t n, uint32_t *depth)
{
	uint64_t old = coroi_box_look(&a->box);

	for (;;) {
		if (coroi_unlikely(!coroi_box_takes(old, to)))
			return CORO_ESTALE;
		if (!coroi_box_is_dormant(old)) {
			uint64_t was = old;
			if (coroi_unlikely(was & COROI_BOX_HOME) && n == 1 && send_own(w, a, first))
				return CORO_OK;
			if (coroi_likely(coroi_box_push(&a->box, &old, first, last, n, depth))) {
				if (coroi_unlikely(was & COROI_BOX_HOME))
					took_home(h, to, was);
				return CORO_OK;
			}
		} else if (coroi_likely(!h->dedicated && !coroi_has(a, COROI_P_PINNED) &&
					coroi_task_begin(w))) {
			if (coroi_likely(coroi_box_push(&a->box, &old, first, last, n, depth))) {
				coroi_home_woken(w, h, a, to);
				coroi_task_commit(w, (uintptr_t)a, false);
				return CORO_OK;
			}
			coroi_task_drop(w);
		} else {
			struct coroi_change x = {
				.a = a, .to = to, .first = first, .last = last, .n = n};
			int status = coroi_change_slow(h->actors, &x);
			*depth = x.depth;
			return status;
		}
	}
}

/* post - SND1 to SND3, or HOM2, on worker w, whose hand is h. counted: how many of the n are
 * messages. */
static inline __attribute__((always_inline)) int
post(struct coroi_worker *w, struct coroi_hand *h, struct coroi_place *a, coro_actor to,
     struct coro_message *first, struct coro_message *last, uint32_t n, uint32_t counted)
{
	struct coroi_home *e = coroi_home_of(h, to);
	uint32_t depth = 0;

	if (n == 1 && at_load_rlx(&e->ref) == to)
		depth = (uint32_t)post_home(w, h, e, to, first);
	if (!depth) {
		int status = post_box(w, h, a, to, first, last, n, &depth);
		if (coroi_unlikely(status))
			return status;
		depth += coroi_behind(a);
	}
	at_bump_by(&h->accepted, counted);
	return coroi_likely(depth <= COROI_SOFT_BOUND) ? CORO_OK : yield_once();
}

/* may_carry - a message of so many bytes, for an actor whose kind is of `carries`, has its last word
 * free. */
static bool may_carry(uint64_t carries, size_t bytes)
{
	return bytes <= CORO_CARRY_BYTES || !coroi_carried(carries, COROI_CARRIES_SHIFT, bytes);
}

static inline __attribute__((always_inline)) void
fill(struct coro_message *m, uint32_t kind, uint8_t flags, const void *payload, size_t bytes)
{
	coroi_set_head(m, kind, flags, (uint8_t)bytes);
	coroi_copy_few(m->payload, payload, bytes);
}

void coroi_write(struct coro_message *m, uint32_t kind, uint8_t flags, const void *payload,
		 size_t bytes)
{
	fill(m, kind, flags, payload, bytes);
}

int coroi_write_for(struct coroi_actors *all, const struct coroi_place *a, coro_actor to,
		    struct coro_message *m, uint32_t kind, uint8_t flags, const void *payload,
		    size_t bytes)
{
	fill(m, kind, flags, payload, bytes);
	if (coroi_likely(!coroi_has(a, COROI_P_CARRIES)))
		return CORO_OK;
	uint64_t carries = coroi_carries_here(all, a, to);
	return may_carry(carries, bytes) ? coroi_carry_into(m, carries) : CORO_EINVAL;
}

/* What a call sends. */
struct letter {
	uint32_t kind;
	uint8_t flags;
	const void *payload;
	size_t bytes; /* of each of n */
	size_t n;
	uint64_t deadline; /* for a space in a bounded mailbox */
	uint8_t shows;     /* of one that asks: the bytes that the behaviour is to see */
	uint64_t carries;  /* where it has buffers, and its answer: see coroi_carries_of */
};

/* counted - how many of them are messages. */
static uint32_t counted(const struct letter *l)
{
	return l->flags & COROI_M_DRAIN ? 0 : (uint32_t)l->n;
}

/* give_back - messages that are linked from last back to first. */
static void give_back(struct coroi_hand *h, struct coro_message *last)
{
	while (last) {
		struct coro_message *before = last->next_;
		coroi_carry_back(last);
		coroi_message_put(h, last);
		last = before;
	}
}

/* write_all - l's messages, linked from *last back to *first. Returns: CORO_OK; CORO_ENOMEM: there
 * are not enough; as coroi_carry_into. */
static int write_all(struct coroi_hand *h, const struct letter *l, struct coro_message **first,
		     struct coro_message **last)
{
	const unsigned char *payload = l->payload;
	struct coro_message *before = NULL;

	for (size_t i = 0; i < l->n; i++) {
		struct coro_message *m = coroi_message_get(h);
		if (!m) {
			give_back(h, before);
			return CORO_ENOMEM;
		}
		fill(m, l->kind, l->flags, l->bytes ? payload + i * l->bytes : NULL, l->bytes);
		if (l->flags & COROI_M_ASK)
			m->bytes = l->shows;
		m->next_ = before;
		if (!before)
			*first = m;
		before = m;
		int status = coroi_unlikely(l->carries) ? coroi_carry_into(m, l->carries) : CORO_OK;
		if (coroi_unlikely(status)) {
			give_back(h, before);
			return status;
		}
	}
	*last = before;
	return CORO_OK;
}

/* send_outside - on a thread that is no worker of the actor's scheduler. */
static COROI_NOINLINE int send_outside(struct coroi_place *a, coro_actor to, const struct letter *l)
{
	struct coroi_change x = {.a = a, .to = to, .n = (uint32_t)l->n, .outside = true};
	unsigned i = coroi_outside_enter();
	struct coroi_hand *h = NULL;
	uint32_t *guest = NULL;
	int status = coroi_may_enter(a, to);

	if (!status) {
		h = &coroi_owner_of(a)->outside[i];
		status = write_all(h, l, &x.first, &x.last);
	}
	if (!status) {
		if (coroi_change_active(&x)) {
			status = x.status;
			if (x.asks)
				coroi_ask_home(h->actors, x.asks - 1);
		} else { /* SND2, without the lock: turns may run here */
			guest = coroi_guest_begin();
			coroi_outside_leave(i);
			status = coroi_change_slow(h->actors, &x);
			coroi_spin_lock(&coroi_hand_locks[i].lock);
		}
		if (status) {
			x.first->next_ = NULL;
			give_back(h, x.last);
		} else {
			at_bump_by(&h->accepted, counted(l));
		}
	}
	coroi_outside_leave(i);
	if (guest)
		coroi_guest_end(guest);
	if (coroi_likely(status || x.depth + coroi_behind(a) <= COROI_SOFT_BOUND))
		return status;
	if (coroi_current(coroi_self())) /* another scheduler's */
		return yield_once();
	pause_outside(&x);
	return status;
}

/* send_free - send to an unbounded mailbox, or to one in which the caller has spaces. */
static int send_free(struct coroi_place *a, coro_actor to, const struct letter *l)
{
	struct coroi_hand *h = coroi_hand_here(coroi_owner_of(a));
	if (!h)
		return send_outside(a, to, l);
	struct coro_message *first = NULL, *last = NULL;
	int status = write_all(h, l, &first, &last);
	if (status)
		return status;
	status = post(coroi_here(), h, a, to, first, last, (uint32_t)l->n, counted(l));
	if (status) {
		first->next_ = NULL;
		give_back(h, last);
	}
	return status;
}

/* enter - take a space in a bounded mailbox for each message. */
static int enter(struct coroi_place *a, coro_actor to, const struct letter *l)
{
	struct coroi_visit v;
	size_t k = 0;
	int status = coroi_visit_begin(&v, a, to);

	if (status)
		return status;
	struct coroi_actors *all = v.all;
	for (; k < l->n && !status; k++)
		status = coroi_bound_enter(&v, a, to, k ? 0 : l->deadline);
	if (status)
		for (k--; k; k--)
			coroi_bound_leave(a, to, all);
	coroi_visit_end(&v);
	return status;
}

/* send_bound - to a bounded mailbox. */
COROI_COLD static int send_bound(struct coroi_place *a, coro_actor to, struct letter *l)
{
	int status = enter(a, to, l);

	if (status)
		return status;
	l->flags |= COROI_M_CREDIT;
	status = send_free(a, to, l);
	struct coroi_visit v;
	if (status && !coroi_visit_begin(&v, a, to)) {
		for (size_t k = 0; k < l->n; k++)
			coroi_bound_leave(a, to, v.all);
		coroi_visit_end(&v);
	}
	return status;
}

/* send_apart - to an actor that has a bounded mailbox, or whose messages carry. */
COROI_COLD static int send_apart(struct coroi_place *a, coro_actor to, struct letter *l)
{
	if (coroi_has(a, COROI_P_CARRIES) && !(l->flags & COROI_M_BLOCK)) {
		size_t bytes = l->flags & COROI_M_ASK ? l->shows : l->bytes;
		int status = coroi_carries_of(a, to, &l->carries);
		if (status)
			return status;
		if (!may_carry(l->carries, bytes))
			return CORO_EINVAL;
	}
	return coroi_has(a, COROI_P_BOUND) ? send_bound(a, to, l) : send_free(a, to, l);
}

static int send(coro_actor to, struct letter *l)
{
	struct coroi_place *a = coroi_place_of(to);

	if (!a)
		return CORO_ESTALE;
	if (coroi_unlikely(coroi_has(a, COROI_P_BOUND | COROI_P_CARRIES)) &&
	    !(l->flags & COROI_M_DRAIN))
		return send_apart(a, to, l);
	return send_free(a, to, l);
}

/* send_one - coro_actor_send where something is unusual. */
static COROI_NOINLINE int send_one(coro_actor to, uint32_t kind, const void *payload, size_t bytes,
				   uint64_t deadline)
{
	struct letter l = {
		.kind = kind, .payload = payload, .bytes = bytes, .n = 1, .deadline = deadline};

	if (kind >= CORO_MESSAGE_SYSTEM || bytes > CORO_MESSAGE_BYTES || (bytes && !payload))
		return CORO_EINVAL;
	return send(to, &l);
}

/* send_away - coro_actor_send where something is to be done first, or is unusual. */
static COROI_NOINLINE int send_away(coro_actor to, uint32_t kind, const void *payload, size_t bytes)
{
	struct coroi_worker *w = coroi_here();
	struct coroi_hand *h = coroi_hand_of(w);
	struct coroi_place *a = coroi_place_of(to);

	if (coroi_unlikely(!h || !a || !coroi_current_here(w) || coroi_owner_of(a) != h->actors ||
			   kind >= CORO_MESSAGE_SYSTEM || bytes > CORO_MESSAGE_BYTES || !payload ||
			   coroi_has(a, COROI_P_BOUND | COROI_P_CARRIES)))
		return send_one(to, kind, payload, bytes, 0);
	struct coro_message *m = coroi_message_get(h);
	if (coroi_unlikely(!m))
		return CORO_ENOMEM;
	fill(m, kind, 0, payload, bytes);
	int status = post(w, h, a, to, m, m, 1, 1);
	if (coroi_unlikely(status))
		coroi_message_put(h, m);
	return status;
}

COROI_HOT int coro_actor_send(coro_actor to, uint32_t kind, const void *payload, size_t bytes)
{
	struct coroi_worker *w = coroi_here();
	struct coroi_hand *h = coroi_hand_of(w);
	uint32_t spare;

	if (coroi_unlikely(!h || !(spare = h->count) || !coroi_current_here(w) ||
			   kind >= CORO_MESSAGE_SYSTEM || bytes > CORO_MESSAGE_BYTES || !payload))
		return send_away(to, kind, payload, bytes);
	struct coroi_home *e = coroi_home_of(h, to);
	if (coroi_unlikely(at_load_rlx(&e->ref) != to || !coroi_home_enter(w, h, e, to)))
		return send_away(to, kind, payload, bytes);
	struct coro_message *m = coroi_message_own(h, spare);
	fill(m, kind, 0, payload, bytes);
	uint64_t n = coroi_home_put(w, e, m);
	at_bump(&h->accepted);
	return coroi_likely(n <= COROI_SOFT_BOUND) ? CORO_OK : yield_once();
}

int coro_actor_send_until(coro_actor to, uint32_t kind, const void *payload, size_t bytes,
			  uint64_t deadline)
{
	return send_one(to, kind, payload, bytes, deadline);
}

int coro_actor_send_many(coro_actor to, uint32_t kind, const void *payloads, size_t bytes, size_t n)
{
	struct letter l = {.kind = kind, .payload = payloads, .bytes = bytes, .n = n};

	if (kind >= CORO_MESSAGE_SYSTEM || bytes > CORO_MESSAGE_BYTES || (bytes && !payloads) ||
	    n >= UINT32_MAX)
		return CORO_EINVAL;
	return n ? send(to, &l) : CORO_OK;
}

int coro_actor_send_block(coro_actor to, uint32_t kind, const coro_block *block)
{
	struct letter l = {.kind = kind,
			   .flags = COROI_M_BLOCK,
			   .payload = block,
			   .bytes = sizeof *block,
			   .n = 1};

	if (kind >= CORO_MESSAGE_SYSTEM || !block)
		return CORO_EINVAL;
	return send(to, &l);
}

int coroi_send_asking(coro_actor to, uint32_t kind, const void *payload, size_t bytes,
		      struct coroi_asks *ask, bool lends, uint64_t deadline)
{
	uint64_t words[CORO_MESSAGE_BYTES / 8] = {0};
	struct letter l = {.kind = kind,
			   .flags = COROI_M_ASK | (lends ? COROI_M_LENDS : 0),
			   .payload = words,
			   .bytes = sizeof words,
			   .n = 1,
			   .deadline = deadline,
			   .shows = (uint8_t)bytes};

	coroi_copy_few(words, payload, bytes);
	memcpy(&words[4], ask->words, sizeof ask->words);
	int status = send(to, &l);
	ask->carried = coroi_carried(l.carries, COROI_CARRIES_SHIFT, bytes);
	return status;
}

int coroi_send_back(coro_actor asker, uint32_t kind, const void *payload, size_t bytes,
		    uint64_t buffers)
{
	struct letter l = {.kind = kind,
			   .payload = payload,
			   .bytes = bytes,
			   .n = 1,
			   .carries = buffers << COROI_CARRIES_SHIFT};
	struct coroi_place *a = coroi_place_of(asker);

	if (!may_carry(l.carries, bytes))
		return CORO_EINVAL;
	return a ? send_free(a, asker, &l) : CORO_ESTALE;
}

int coro_message_take(coro_message *m, coro_block *out)
{
	if (!m || !out || !(m->flags_ & COROI_M_BLOCK))
		return CORO_EINVAL;
	*out = m->block;
	m->flags_ &= (uint8_t)~COROI_M_BLOCK;
	return CORO_OK;
}

int coro_actor_drain(coro_actor actor)
{
	struct letter l = {.flags = COROI_M_DRAIN, .n = 1};

	return send(actor, &l);
}

int coro_actor_stop(coro_actor actor)
{
	struct coroi_place *a = coroi_place_of(actor);
	struct coroi_visit v;
	int status = a ? coroi_visit_begin(&v, a, actor) : CORO_ESTALE;

	if (status)
		return status;
	status = coroi_mark(v.all, a, actor, COROI_BOX_STOP);
	coroi_visit_end(&v);
	return status;
}
