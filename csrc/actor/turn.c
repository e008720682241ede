//go:build ignore
/*
 * turn.c - TRN1 to TRN4, HOM4 to HOM6 and CTL3 of box.h: an actor's messages are handled.
 *
 * The turn, as its behaviour sees it, lies in the payload of the turn's coroutine, which is there
 * when the behaviour has ended that coroutine, and its frames are gone.
 */
#include "actor/home.h"

#include "base/sys.h"

_Static_assert(COROI_PACE_MOST < 1 << COROI_PACE_BITS, "it fits");
_Static_assert(sizeof(coro_actor_turn) <= CORO_INLINE_BYTES, "it lies in the payload");

/* A turn, as this file sees it. */
struct run {
	coro_actor_turn *turn;
	struct coroi_place *a;
	struct coro_message *m;    /* the first that is taken and not handled */
	struct coro_message *last; /* of those, where the actor is at home */
	bool woken;                /* HOM1: by the worker that it has begun on */
	struct coroi_hand *home;   /* of the worker where the actor is at home; NULL: it is not */
	uint32_t left;             /* how many those are; a hint from COROI_DEPTH_MOST on */
	uint32_t until;            /* messages until the next look at the clock */
	uint64_t began, looked;    /* the first look, and the last, ns; 0: none yet */
};

/* release - n messages are handled, the first of the list. Returns: the next. */
static struct coro_message *release(struct coroi_place *a, struct coro_message *m, uint32_t n)
{
	struct coroi_hand *h = coroi_hand_of(coroi_here());

	at_bump_by(&h->handled, n);
	while (n--) {
		struct coro_message *next = m->next_;
		if (coroi_unlikely(m->flags_)) {
			coroi_drop(a, m); /* which may go on on another worker */
			h = coroi_hand_of(coroi_here());
		}
		coroi_message_put(h, m);
		m = next;
	}
	return m;
}

/* release_one - m is handled, which has no flag. h is the caller's hand. */
static inline void release_one(struct coroi_hand *h, struct coro_message *m)
{
	at_bump(&h->handled);
	coroi_message_put(h, m);
}

/* release_plain - n messages of the list are handled, and none has a flag. */
static inline void release_plain(struct coro_message *const *list, uint32_t n)
{
	struct coroi_hand *h = coroi_hand_of(coroi_here());

	at_bump_by(&h->handled, n);
	if (coroi_unlikely(h->count + n > COROI_IN_HAND))
		coroi_hand_trade(h); /* n is COROI_HAND at most */
	for (uint32_t i = 0; i < n; i++)
		h->spare[h->count + i] = list[i];
	h->count += n;
}

/* ------------------------------------------------------------------------------------- the turn */

static bool yes(void *unused)
{
	(void)unused;
	return true;
}

/* again - TRN3: the actor goes to the back of a queue. The caller does nothing with it afterwards.
 * home: it is at home there, and last is the last message of its `pending`. False: no memory, or no
 * more turns begin. */
static bool again(struct coroi_place *a, coro_actor self, const struct coroi_hand *home,
		  struct coro_message *last)
{
	struct coroi_worker *w = coroi_here();
	struct coroi_hand *h = coroi_hand_of(w);
	uint32_t pin = coroi_pin_of(a);

	if (coroi_likely(!h->dedicated && !pin && coroi_task_begin(w))) {
		if (h == home)
			coroi_home_queued(w, h, a, self, last);
		coroi_task_commit(w, (uintptr_t)a, false);
		return true;
	}
	return coroi_task_spawn(h->actors->sched, pin, (uintptr_t)a, yes, NULL) == CORO_OK;
}

static void begin_look(struct run *r, uint64_t now)
{
	if (!r->began)
		r->began = now;
	r->looked = now;
}

/* look - at the clock, and adapt how many messages there are until the next look. Returns: is the
 * turn over? */
static bool look(struct run *r)
{
	struct coroi_place *a = r->a;
	uint64_t now = coroi_now_ns(), took = now - r->looked;
	unsigned pace = coroi_pace(a);

	if (r->looked) {
		if (took < COROI_ACTOR_LOOK_NS / 2 && pace < COROI_PACE_MOST)
			pace++;
		for (; took > COROI_ACTOR_LOOK_NS && pace; took /= 2)
			pace--;
		coroi_set_pace(a, pace, 0); /* the stamp comes at the end */
	}
	begin_look(r, now);
	r->until = 1u << pace;
	return now - r->began >= COROI_ACTOR_TURN_NS;
}

/* take - TRN1. Returns: the marks in the box. */
static inline uint64_t take(struct run *r)
{
	uint64_t box = coroi_box_take(&r->a->box, r->turn->self);

	r->m = coroi_box_reverse(box, &r->left);
	return box;
}

/* has_urgent - what overtakes was taken before, and is not handled yet: what came later comes after
 * it. CONTROL stays meanwhile. */
static bool has_urgent(const struct run *r)
{
	return r->m && r->m->flags_ & COROI_M_URGENT;
}

/* overtake - CTL3: what overtakes goes before what was taken. */
COROI_COLD static void overtake(struct run *r)
{
	struct coro_message *list = coroi_urgent_take(coroi_owner_of(r->a), r->a), *m = list;

	if (!list)
		return;
	for (r->left++; m->next_; m = m->next_)
		r->left++;
	m->next_ = r->m;
	r->m = list;
}

/* joins - does m, which lends, or at which the actor ends, join the batch? */
COROI_COLD static bool joins(const struct coro_message *m)
{
	return !(m->flags_ & COROI_M_DRAIN) && coroi_ask_begin(m);
}

/* batch - the messages of the next call, and which flags some of them have. Those that lend are
 * begun. Returns: how many; 0: the next is none for a behaviour. */
static inline uint32_t batch(const struct run *r, const coro_actor_kind *kind,
			     struct coro_message **list, struct coro_message **next,
			     unsigned *flags)
{
	uint32_t most = kind->batch ? kind->batch : COROI_HAND, n = 0;
	struct coro_message *m = r->m;

	if (!kind->batch && most > r->until)
		most = r->until;
	*flags = 0;
	for (; m && n < most; m = m->next_) {
		if (coroi_unlikely(m->flags_ & (COROI_M_DRAIN | COROI_M_LENDS)) && !joins(m))
			break;
		list[n++] = m;
		*flags |= m->flags_;
	}
	*next = m;
	return n;
}

/* call - TRN2: one call of the behaviour. */
static inline void call(struct run *r, struct coro_message **list, uint32_t n,
			struct coro_message *next, unsigned flags)
{
	struct coroi_place *a = r->a;

	coroi_set_pending(a, r->m, r->left);
	r->turn->handled = 0;
	r->turn->flags_ = n;
	r->turn->last_ = r->home ? r->last : NULL;
	size_t done = coroi_kind_of(a)->behave(r->turn, coroi_state(a), list, n);
	coroi_back();
	uint32_t k = coroi_likely(done >= n) ? n : (uint32_t)done;
	if (r->home && coroi_unlikely(r->turn->last_ != r->last)) { /* HOM6 */
		r->last = r->turn->last_;
		r->left = coroi_behind(a);
		if (!next)
			next = list[n - 1]->next_;
	}
	r->turn->last_ = NULL;
	if (coroi_unlikely(k < n)) {
		next = list[k];
		if (flags & COROI_M_LENDS)
			coroi_ask_left(next, n - k);
	}
	if (coroi_likely(!flags))
		release_plain(list, k);
	else
		release(a, r->m, k);
	r->m = next;
	r->left = r->left > k ? r->left - k : next != NULL;
	r->until = r->until > k ? r->until - k : 0;
	if (coroi_unlikely(!k)) /* it waits for others */
		r->until = 0;
	coroi_set_pending(a, next, r->left);
}

/* skip - the next message is none for the behaviour. Returns: false: the actor ends there. Else its
 * asker has taken it back. */
COROI_COLD static bool skip(struct run *r)
{
	struct coroi_place *a = r->a;
	struct coro_message *m = r->m;
	struct coroi_hand *h = coroi_hand_of(coroi_here());

	if (m->flags_ & COROI_M_DRAIN)
		return false;
	r->m = m->next_;
	r->left = r->left > 1 ? r->left - 1 : r->m != NULL;
	coroi_set_pending(a, r->m, r->left);
	coroi_took_back(h->actors, h, a, m);
	return true;
}

/* rests_idle - the actor, whose kind has an idle time, has no message: PSV2, or stamp it. box: what
 * TRN1 has found; 0: messages. Returns: has it ended? */
COROI_COLD static bool rests_idle(struct run *r, uint64_t box)
{
	struct coroi_place *a = r->a;

	if (box & COROI_BOX_IDLE && coroi_is_old(a, coroi_kind_of(a), coroi_now_ns())) {
		if (!coroi_box_end_idle(&a->box, r->turn->self))
			return false;
		coroi_actor_end_after(a, r->turn->self, 0, NULL, CORO_DEAD_IDLE);
		return true;
	}
	coroi_set_pace(a, coroi_pace(a), coroi_stamp(coroi_kind_of(a)));
	return false;
}

/* comes_home - HOM1, in place of TRN4. False: it does not. */
static inline bool comes_home(const struct run *r)
{
	return COROI_HAS_HOME && coroi_unlikely(r->woken) && coroi_go_home(r->a, r->turn->self);
}

/* rest - TRN4. False: something has come. */
static inline bool rest(struct run *r)
{
	struct coroi_place *a = r->a;
	coro_actor self = r->turn->self;
	struct coroi_worker *w = coroi_here();
	struct coroi_hand *h = coroi_hand_of(w);

	if (!r->home)
		return comes_home(r) || coroi_box_rest(&a->box, self);
	bool rests = (h == r->home && coroi_linger(w, h, a, self)) ||
		     coroi_box_rest_home(&a->box, coroi_home_box(r->home, self));
	if (coroi_unlikely(!rests)) {
		coroi_home_lost(h);
		r->home = NULL;
	}
	return rests;
}

/* is_over - TRN3, after a call, if the turn is to end. Returns: has it? */
static inline bool is_over(struct run *r)
{
	if (coroi_likely(!(r->until == 0 && look(r)) && !coro_canceled()))
		return false;
	if (again(r->a, r->turn->self, r->m ? r->home : NULL, r->last))
		return true;
	(void)coro_yield(); /* as good, but for the stack */
	r->began = r->looked = 0;
	return false;
}

/* obey - CTL3, and END1 if the actor is stopped. box: as it was at TRN1, or is. Returns: has the
 * actor ended? */
static inline bool obey(struct run *r, uint64_t box)
{
	if (coroi_unlikely(box & COROI_BOX_STOP)) {
		coroi_actor_end(r->a, r->turn->self, r->m, CORO_DEAD_STOPPED);
		return true;
	}
	if (coroi_unlikely(box & COROI_BOX_CONTROL) && !has_urgent(r)) {
		coroi_box_unmark(&r->a->box);
		overtake(r);
	}
	return false;
}

/* go_on - TRN1 to TRN4, until the turn ends. box: as for obey. */
static COROI_NOINLINE void go_on(struct run *r, uint64_t box)
{
	struct coroi_place *a = r->a;
	coro_actor_turn *turn = r->turn;
	struct coro_message *list[COROI_HAND], *next;

	/* one message alone is not timed: the clock costs as much as many a message */
	if (coroi_unlikely(r->left > 1 && r->left >= r->until))
		begin_look(r, coroi_now_ns());
	for (;;) {
		if (obey(r, box))
			return;
		if (r->m) {
			unsigned flags;
			uint32_t n = batch(r, coroi_kind_of(a), list, &next, &flags);
			if (coroi_likely(n)) {
				call(r, list, n, next, flags);
			} else if (!skip(r)) {
				coroi_actor_end(a, turn->self, r->m, CORO_DEAD_STOPPED);
				return;
			}
			box = 0;
		}
		if (!r->m) {
			if (coroi_unlikely(coroi_has(a, COROI_P_IDLE)) && rests_idle(r, box))
				return;
			if (rest(r)) /* TRN4 */
				return;
		}
		box = at_load_rlx(&a->box); /* CTL3 */
		if (is_over(r))
			return;
		if (!r->m)
			box = take(r);
	}
}

/* turn_home - the turn of an actor at home at the worker of h, with one message, m, and those that
 * it sends to itself, one by one. Returns: has the turn ended? Else *r is as go_on wants it. */
static inline bool turn_home(struct run *r, const struct coroi_hand *h, struct coro_message *m)
{
	struct coroi_place *a = r->a;
	coro_actor_turn *turn = r->turn;
	struct coroi_worker *w;
	struct coroi_hand *here;
	bool done;

	for (;;) {
		turn->handled = 0;
		turn->flags_ = 1;
		turn->last_ = m;
		done = coroi_kind_of(a)->behave(turn, coroi_state(a), &m, 1) > 0;
		coroi_back();
		w = coroi_here();
		here = coroi_hand_of(w);
		if (coroi_unlikely(!done || here != h))
			break;
		struct coro_message *next = m->next_;
		if (!next) {
			coroi_set_pending(a, NULL, 0);
			if (coroi_unlikely(!coroi_linger(w, here, a, turn->self)))
				break;
			release_one(here, m);
			return true;
		}
		/* CTL3, and what else ends a turn */
		if (turn->last_ != next || next->flags_ || r->until <= 2 ||
		    at_load_rlx(&a->box) != coroi_home_box(h, turn->self) || coro_canceled())
			break;
		coroi_set_pending(a, next, 1);
		release_one(here, m);
		r->until--;
		m = next;
	}
	r->last = turn->last_;
	r->left = coroi_behind(a);
	turn->last_ = NULL;
	r->m = m;
	if (done) {
		r->m = release(a, m, 1);
		r->left -= r->left > 0;
		coroi_set_pending(a, r->m, r->left);
	}
	return false;
}

/* turn_away - the turn of an actor that is not at home here. box: as the turn has found it. */
static COROI_NOINLINE void turn_away(struct run *r, uint64_t box)
{
	struct coroi_place *a = r->a;

	r->turn->self = coroi_reference(a, box);
	r->woken = coroi_home_was_woken(coroi_hand_of(coroi_here()), a, r->turn->self);
	if (box & COROI_BOX_HOME)
		coroi_box_leave_home(&a->box, box);
	if (!r->m)
		box = take(r);
	go_on(r, box);
}

COROI_HOT void coroi_turn(void *arg, void *result)
{
	coro_actor_turn *turn = arg;
	struct coroi_place *a = turn->place_;
	struct coroi_hand *h = coroi_hand_of(coroi_here());
	uint64_t box = at_load_rlx(&a->box);
	struct run r = {.turn = turn, .a = a, .m = coroi_pending(a), .left = coroi_behind(a)};

	(void)result;
	r.until = 1u << coroi_pace(a);
	turn->last_ = NULL;
	if (!(turn->self = coroi_home_arrive(h, a, box, &r.last))) {
		turn_away(&r, box);
		return;
	}
	r.home = h;
	if (r.left == 1 && !r.m->flags_ && (turn_home(&r, h, r.m) || (r.m && is_over(&r))))
		return;
	go_on(&r, at_load_rlx(&a->box)); /* CTL3 */
}

void coroi_turn_ended(void *arg, bool aborted)
{
	coro_actor_turn *turn = arg;
	struct coroi_place *a = turn->place_;
	struct coroi_hand *h = coroi_hand_of(coroi_here());

	uint64_t box = at_load_rlx(&a->box);
	if (box & COROI_BOX_HOME)
		coroi_box_leave_home(&a->box, box);
	if (!coroi_box_takes(box, turn->self)) { /* END2: by the kind's `end` */
		coroi_place_free(h->actors, a);
		return;
	}
	uint32_t n = turn->flags_, k = turn->handled < n ? turn->handled : n - 1,
		 left = coroi_behind(a);
	struct coro_message *m = release(a, coroi_pending(a), aborted ? k : k + 1);
	if (aborted) {
		struct coro_message *failed = m;
		m = m->next_;
		coroi_bury(h->actors, h, turn->self, failed, CORO_DEAD_FAILED);
	}
	coroi_ask_left(m, n - k - 1);
	coroi_set_pending(a, m, left > k + 1 ? left - k - 1 : m != NULL);
	if ((m || !coroi_box_rest(&a->box, turn->self)) && !again(a, turn->self, NULL, NULL))
		coroi_turn(arg, NULL);
}
