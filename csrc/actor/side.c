//go:build ignore
/*
 * side.c - what few actors have, in a table beside their place: messages that overtake, watchers,
 * and bounded mailboxes.
 *
 * Whoever puts something into a side table looks at the box in the table's lock; END1 comes before
 * END2, which takes the table in the lock. So what is put there is found by the turn, or by END2.
 *
 * A bounded mailbox is a semaphore with a permit for each free space. It lies apart from the table,
 * and has a count of those who use it, since senders wait there when the actor ends.
 */
#include "actor/actors.h"

#include "base/sys.h"

/* A bounded mailbox. */
struct coroi_bound {
	coro_sem free;
	uint32_t users; /* senders that are in it, and the actor. Atomic */
	uint32_t over;  /* the actor has ended. Atomic */
};

/* side_of - the table of the actor in the place, in the lock. NULL: it has none. */
static struct coroi_side *side_of(const struct coroi_place *a)
{
	return coroi_has(a, COROI_P_SIDE) ? coroi_pointer(at_load_acq(&a->kind)) : NULL;
}

/* side_make - the same, made if need be. *status: CORO_ESTALE, CORO_ENOMEM. */
static struct coroi_side *side_make(struct coroi_place *a, coro_actor to, int *status)
{
	*status = coroi_box_takes(coroi_box_look(&a->box), to) ? CORO_OK : CORO_ESTALE;
	if (*status)
		return NULL;
	struct coroi_side *side = side_of(a);
	if (!side && (side = coroi_alloc(sizeof *side, COROI_LINE))) {
		side->kind = coroi_pointer(at_load_rlx(&a->kind));
		/* pairs with coroi_kind_of */
		at_store_rel(&a->kind, coroi_pack(side, COROI_P_SIDE | coroi_stays(a)));
	}
	if (!side)
		*status = CORO_ENOMEM;
	return side;
}

struct coroi_side *coroi_side_end(struct coroi_actors *all, struct coroi_place *a)
{
	struct coroi_spin *lock = coroi_side_lock(all, a);

	coroi_spin_lock(lock);
	struct coroi_side *side = side_of(a);
	if (side)
		at_store_rel(&a->kind, coroi_pack(side->kind, coroi_stays(a)));
	coroi_spin_unlock(lock);
	return side;
}

int coro_actor_become(coro_actor_turn *turn, const coro_actor_kind *kind)
{
	if (!turn || coroi_check_kind(kind))
		return CORO_EINVAL;
	struct coroi_place *a = turn->place_;
	struct coroi_actors *all = coroi_owner_of(a);
	const coro_actor_kind *was = coroi_kind_of(a);
	if (was->room != kind->room || was->idle != kind->idle || was->buffers != kind->buffers ||
	    was->answer_buffers != kind->answer_buffers)
		return CORO_EINVAL;
	struct coroi_spin *lock = coroi_side_lock(all, a);
	coroi_spin_lock(lock); /* a table may be made meanwhile */
	struct coroi_side *side = side_of(a);
	if (side)
		side->kind = kind;
	else
		at_store_rlx(&a->kind, coroi_pack(kind, coroi_stays(a)));
	coroi_spin_unlock(lock);
	return CORO_OK;
}

/* ---------------------------------------------------------------------------- what overtakes */

struct coro_message *coroi_urgent_take(struct coroi_actors *all, struct coroi_place *a)
{
	struct coroi_spin *lock = coroi_side_lock(all, a);
	struct coro_message *list = NULL;

	coroi_spin_lock(lock);
	struct coroi_side *side = side_of(a);
	if (side) {
		list = side->urgent.first;
		side->urgent.first = NULL;
		side->takes++;
	}
	coroi_spin_unlock(lock);
	return list;
}

/* urgent_withdraw - take m back, which was put there when the table had been taken from `takes`
 * times. False: the turn, or the actor's end, has it, or has had it: then m may lie there again, as
 * another's message. */
static bool urgent_withdraw(struct coroi_actors *all, struct coroi_place *a, coro_actor to,
			    struct coro_message *m, uint64_t takes)
{
	struct coroi_spin *lock = coroi_side_lock(all, a);
	struct coro_message *before = NULL;

	coroi_spin_lock(lock);
	struct coroi_side *side = coroi_box_takes(coroi_box_look(&a->box), to) ? side_of(a) : NULL;
	bool mine = side && side->takes == takes;
	if (mine) {
		for (struct coro_message *at = side->urgent.first; at != m; at = at->next_)
			before = at;
		if (before)
			before->next_ = m->next_;
		else
			side->urgent.first = m->next_;
		if (side->urgent.last == m)
			side->urgent.last = before;
	}
	coroi_spin_unlock(lock);
	return mine;
}

static int send_urgent(struct coroi_actors *all, struct coroi_place *a, coro_actor to,
		       struct coro_message *m)
{
	struct coroi_spin *lock = coroi_side_lock(all, a);
	uint64_t takes = 0;
	int status;

	coroi_spin_lock(lock); /* CTL1 */
	struct coroi_side *side = side_make(a, to, &status);
	if (side) {
		coroi_fifo_add(&side->urgent, m, next_);
		takes = side->takes;
	}
	coroi_spin_unlock(lock);
	if (status)
		return status;
	status = coroi_mark(all, a, to, COROI_BOX_CONTROL);
	return status && urgent_withdraw(all, a, to, m, takes) ? status : CORO_OK;
}

int coro_actor_send_urgent(coro_actor to, uint32_t kind, const void *payload, size_t bytes)
{
	struct coroi_place *a = coroi_place_of(to);
	struct coroi_visit v;

	if (kind >= CORO_MESSAGE_SYSTEM || bytes > CORO_MESSAGE_BYTES || (bytes && !payload))
		return CORO_EINVAL;
	int status = a ? coroi_visit_begin(&v, a, to) : CORO_ESTALE;
	if (status)
		return status;
	struct coro_message *m = coroi_visit_get(&v);
	status = CORO_ENOMEM;
	if (m) {
		status = coroi_write_for(v.all, a, to, m, kind, COROI_M_URGENT, payload, bytes);
		if (!status) {
			coroi_visit_count(&v, 1); /* before it can be handled */
			if ((status = send_urgent(v.all, a, to, m)))
				coroi_visit_count(&v, -1u);
		}
		if (status) {
			coroi_carry_back(m);
			coroi_visit_put(&v, m);
		}
	}
	coroi_visit_end(&v);
	return status;
}

/* ------------------------------------------------------------------------------------- watchers */

/* tell_now - m, which says that an actor has ended, goes to `watcher`. Returns: as coro_actor_send,
 * and then m is the caller's. */
static int tell_now(const struct coroi_visit *v, coro_actor watcher, struct coro_message *m)
{
	struct coroi_place *a = coroi_place_of(watcher);

	coroi_visit_count(v, 1);
	int status = coroi_post(v->all, a, watcher, m);
	if (status)
		coroi_visit_count(v, -1u);
	return status;
}

int coro_actor_watch(coro_actor watcher, coro_actor target)
{
	struct coroi_place *a = coroi_place_of(watcher), *on = coroi_place_of(target);
	struct coroi_visit v;
	int status = a ? coroi_visit_begin(&v, a, watcher) : CORO_ESTALE;

	if (status)
		return status;
	struct coro_message *m = coroi_visit_get(&v);
	status = m ? CORO_ESTALE : CORO_ENOMEM;
	if (m) {
		const coro_ended ended = {.actor = target};
		coroi_write(m, CORO_MESSAGE_ENDED, 0, &ended, sizeof ended);
		m->words[2] = watcher;
		if (!coroi_box_takes(coroi_box_look(&a->box), watcher)) {
			status = CORO_ESTALE;
		} else if (on && coroi_owner_of(on) == v.all) {
			struct coroi_spin *lock = coroi_side_lock(v.all, on);
			coroi_spin_lock(lock);
			struct coroi_side *side = side_make(on, target, &status);
			if (side) {
				m->next_ = side->watchers;
				side->watchers = m;
			}
			coroi_spin_unlock(lock);
			if (status == CORO_ESTALE) /* it has ended before */
				status = tell_now(&v, watcher, m);
		} else if (on && coroi_box_takes(coroi_box_look(&on->box), target)) {
			status = CORO_EPERM;
		} else {
			status = tell_now(&v, watcher, m);
		}
		if (status)
			coroi_visit_put(&v, m);
	}
	coroi_visit_end(&v);
	return status;
}

int coro_actor_unwatch(coro_actor watcher, coro_actor target)
{
	struct coroi_place *on = coroi_place_of(target);
	struct coro_message *m = NULL;
	struct coroi_visit v;
	int status = on ? coroi_visit_begin(&v, on, target) : CORO_ESTALE;

	if (status)
		return status;
	struct coroi_spin *lock = coroi_side_lock(v.all, on);
	coroi_spin_lock(lock);
	struct coroi_side *side = coroi_box_takes(coroi_box_look(&on->box), target) ? side_of(on)
										    : NULL;
	if (side) {
		struct coro_message **link = &side->watchers;
		while ((m = *link) && m->words[2] != watcher)
			link = &m->next_;
		if (m)
			*link = m->next_;
	}
	coroi_spin_unlock(lock);
	if (m)
		coroi_visit_put(&v, m);
	coroi_visit_end(&v);
	return m ? CORO_OK : CORO_ESTALE;
}

static void tell_all(struct coroi_actors *all, struct coro_message *list, coro_actor who, int cause)
{
	struct coroi_visit v = {.all = all};

	while (list) {
		struct coro_message *m = list;
		coro_ended ended = {.actor = who, .cause = cause};
		coro_actor watcher = m->words[2];
		int status;
		list = m->next_;
		coroi_write(m, CORO_MESSAGE_ENDED, 0, &ended, sizeof ended);
		while ((status = tell_now(&v, watcher, m)) == CORO_ENOMEM)
			if (coro_yield()) /* others end meanwhile */
				break;
		if (status)
			coroi_visit_put(&v, m);
	}
}

/* ------------------------------------------------------------------------------------- bounds */

static void bound_leave(struct coroi_bound *b)
{
	if (at_add(&b->users, -1))
		return;
	(void)coro_sem_destroy(&b->free);
	coroi_release(b);
}

int coroi_bound_make(struct coroi_place *a, const coro_actor_kind *kind)
{
	struct coroi_side *side = coroi_alloc(sizeof *side, COROI_LINE);
	struct coroi_bound *b = side ? coroi_alloc(sizeof *b, COROI_APART) : NULL;

	if (!b || coro_sem_init(&b->free, kind->room, 0)) {
		coroi_release(b);
		coroi_release(side);
		return CORO_ENOMEM;
	}
	b->users = 1;
	side->kind = kind;
	side->bound = b;
	at_store_rel(&a->kind, coroi_pack(side, COROI_P_SIDE | COROI_P_BOUND | coroi_stays(a)));
	return CORO_OK;
}

/* wait_for_place - outside of the visit: the mailbox is kept by its count of users. */
static int wait_for_place(struct coroi_visit *v, struct coroi_bound *b, const struct coroi_place *a,
			  coro_actor to, uint64_t deadline)
{
	coroi_visit_end(v);
	int status = coro_sem_acquire(&b->free, deadline);
	if (v->guest) {
		v->guest = coroi_guest_begin();
		if (!status && !coroi_box_takes(at_load_seq(&a->box), to))
			return CORO_ESTALE; /* the scheduler may be gone */
	}
	return status;
}

int coroi_bound_enter(struct coroi_visit *v, struct coroi_place *a, coro_actor to,
		      uint64_t deadline)
{
	struct coroi_spin *lock = coroi_side_lock(v->all, a);

	coroi_spin_lock(lock);
	struct coroi_side *side = coroi_box_takes(coroi_box_look(&a->box), to) ? side_of(a) : NULL;
	struct coroi_bound *b = side ? side->bound : NULL;
	if (b)
		at_add(&b->users, 1);
	coroi_spin_unlock(lock);
	if (!b)
		return CORO_ESTALE;
	const coro_actor_turn *turn = coroi_turn_here();
	int status = coro_sem_acquire(&b->free, 0);
	if (status == CORO_ETIMEDOUT && deadline)
		status = turn && turn->self == to ? CORO_EDEADLK
						  : wait_for_place(v, b, a, to, deadline);
	if (!status && at_load_acq(&b->over)) /* pairs with coroi_side_tell */
		status = CORO_ESTALE;
	bound_leave(b);
	return status == CORO_ETIMEDOUT && !deadline ? CORO_EOVERFLOW : status;
}

void coroi_bound_leave(struct coroi_place *a, coro_actor to, struct coroi_actors *all)
{
	struct coroi_spin *lock = coroi_side_lock(all, a);

	coroi_spin_lock(lock);
	struct coroi_side *side = coroi_box_takes(coroi_box_look(&a->box), to) ? side_of(a) : NULL;
	struct coroi_bound *b = side ? side->bound : NULL;
	if (b)
		at_add(&b->users, 1);
	coroi_spin_unlock(lock);
	if (b) {
		(void)coro_sem_release(&b->free, 1);
		bound_leave(b);
	}
}

/* -------------------------------------------------------------------------------------- the end */

void coroi_side_tell(struct coroi_actors *all, struct coroi_side *side, coro_actor who, int cause,
		     bool tells)
{
	if (!side)
		return;
	if (tells)
		tell_all(all, side->watchers, who, cause);
	if (side->bound) {
		at_xchg(&side->bound->over, 1);
		/* all that wait for a space go on */
		(void)coro_sem_release(&side->bound->free, CORO_PERMITS_MAX / 2);
		bound_leave(side->bound);
	}
	coroi_release(side);
}
