//go:build ignore
/*
 * join.c - the end of a coroutine, and joining it.
 *
 * The end and the joiner meet in the join word, generation:32 | kind:3 | index:29. Each changes the
 * word by a CAS. So one of them is first, and neither hits the record's next user.
 *
 *   JOI1  joiner: CAS nobody -> coroutine·me (or go·id). If the joiner finds final·done instead,
 *         the coroutine has ended already, and JOI1 is a CAS to final·taken.
 *   JOI2  end: CAS nobody -> final·done. If there is a joiner, the end is that joiner's: the CAS
 *         goes to final·taken, so that no later caller is before the joiner, and the joiner gets an
 *         event. If the joiner is Go's, the CAS goes to final·for-go, and the record to Go's list.
 *         final·detached stays, and the end frees the record (JOI3).
 *   JOI3  joiner, or a detacher that finds final·done: free the record (WKC4 of wait.c).
 */
#include "kernel/wait.h"

#include "kernel/hooks.h"
#include "kernel/nowait.h"

#include <string.h>

/* free_word - WKC4. False: the record is still a node, and WKC5 frees it. */
static inline bool free_word(struct coroi_rec *r)
{
	uint64_t word = at_load_rlx(&r->wake), next;
	do {
		next = ((word >> COROI_GEN_SHIFT) + 1) << COROI_GEN_SHIFT |
		       (word & COROI_WAKE_MASK);
	} while (!at_cas(&r->wake, &word, next));
	return (word & COROI_WAKE_MASK) == 0;
}

void coroi_put(struct coroi_rec *r)
{
	struct coro_scheduler *s = coroi_owner(r);

	if (coroi_gen_is_used_up(coroi_gen(at_load_rlx(&r->wake))))
		coroi_slab_retire(&s->slab);
	else
		coroi_slab_put(&s->slab, r);
}

void coroi_join_free(struct coroi_rec *r)
{
	at_store_rlx(&r->state, COROI_FREE);
	if (free_word(r))
		coroi_put(r);
}

/* free_locked - coroi_join_free in w's door. */
static inline void free_locked(struct coroi_worker *w, struct coroi_rec *r)
{
	at_store_rlx(&r->state, COROI_FREE);
	if (free_word(r))
		coroi_put_locked(w, r);
}

/* free_here - coroi_join_free on w, or on a thread that is no worker if w is NULL. A worker of the
 * record's scheduler keeps the record for its next spawn: the slab has a lock, and takes one record
 * at a time. */
static inline void free_here(struct coroi_worker *w, struct coroi_rec *r)
{
	if (coroi_unlikely(!w || coroi_owner(r) != w->sched)) {
		coroi_join_free(r);
		return;
	}
	coroi_door_enter(w);
	free_locked(w, r);
	coroi_door_leave(w);
}

/* ------------------------------------------------------------------------------------- the end */

/* finalize - JOI2. Returns: the join word as it was. */
static uint64_t finalize(struct coroi_rec *r)
{
	uint32_t gen = coroi_gen(at_load_rlx(&r->wake));

	at_store_rlx(&r->state, COROI_ENDED);
	/* What each kind of joiner makes of the end. The CAS is JOI2: a release for the result, and
	 * an acquire for what the joiner wrote before it registered (JOI1). */
	static const uint32_t whose[] = {
		[COROI_JOIN_NOBODY] = COROI_FINAL_DONE,
		[COROI_JOIN_COROUTINE] = COROI_FINAL_TAKEN,
		[COROI_JOIN_GO] = COROI_FINAL_FOR_GO,
	};
	uint64_t old = at_load_acq(&coroi_cold(r)->join);
	unsigned kind;
	do {
		kind = coroi_join_kind(old);
	} while (kind != COROI_JOIN_FINAL &&
		 !at_cas(&coroi_cold(r)->join, &old,
			 coroi_join_word(gen, COROI_JOIN_FINAL, whose[kind])));
	return old;
}

/* end_joinable - JOI2 in w's door, and what follows from it. */
static void end_joinable_locked(struct coroi_worker *w, struct coroi_rec *r)
{
	uint64_t old = finalize(r);
	uint32_t index = (uint32_t)(old & COROI_JOIN_INDEX_MASK);

	switch (coroi_join_kind(old)) {
	case COROI_JOIN_COROUTINE: {
		struct coroi_rec *joiner = coroi_at(index);
		if (coroi_owner(joiner) != w->sched || at_load_rlx(&joiner->home) != w->id)
			coroi_event_send_remote(w->sched, joiner);
		else
			coroi_event_locked(w, joiner);
		break;
	}
	case COROI_JOIN_GO:
		if (index != COROI_JOIN_LENDER)
			coroi_hooks.ended_for(w->sched, r, index);
		break;
	case COROI_JOIN_FINAL: /* detached */
		coroi_forget_failure(r);
		free_locked(w, r);
		break;
	}
}

static inline void end_or_free_locked(struct coroi_worker *w, struct coroi_rec *r)
{
	if (r->flags & COROI_F_JOINABLE) {
		end_joinable_locked(w, r);
		return;
	}
	free_locked(w, r);
}

static bool owes_nothing(uint64_t name)
{
	(void)name;
	return false;
}

struct coroi_owners coroi_owners = {.owes = owes_nothing};

/* end_rare_locked - the end of a daemon, or of a coroutine that may own a lock. */
static COROI_COLD void end_rare_locked(struct coroi_worker *w, struct coroi_rec *r)
{
	uint64_t owner = r->more & COROI_M_OWNER ? coroi_name(r) : 0;

	coroi_count_end_locked(w, r->more);
	end_or_free_locked(w, r);
	/* after the end can be seen: AWT2 of sync/awaited.h */
	if (owner && coroi_owners.owes(owner)) {
		w->errand = (struct coroi_errand){coroi_owners.tell, (void *)(uintptr_t)owner};
		w->leave = true;
	}
}

COROI_NOINLINE void coroi_end_slow_locked(struct coroi_worker *w, struct coroi_rec *r)
{
	if (coroi_unlikely(r->more & (COROI_M_DAEMON | COROI_M_OWNER))) {
		end_rare_locked(w, r);
		return;
	}
	at_bump_rel(&w->ended); /* release: see coroi_end_locked */
	end_or_free_locked(w, r);
}

void coroi_end_outside(struct coro_scheduler *s, struct coroi_rec *r)
{
	uint64_t old = finalize(r);
	uint32_t index = (uint32_t)(old & COROI_JOIN_INDEX_MASK);

	switch (coroi_join_kind(old)) {
	case COROI_JOIN_COROUTINE:
		coroi_event_send_remote(s, coroi_at(index));
		break;
	case COROI_JOIN_GO:
		coroi_hooks.ended_for(s, r, index);
		break;
	case COROI_JOIN_FINAL: /* detached */
		coroi_forget_failure(r);
		coroi_join_free(r);
		break;
	}
}

/* ------------------------------------------------------------------------------------- joining */

static inline struct coroi_rec *find(coro_handle h)
{
	struct coroi_rec *r = coroi_at((uint32_t)h);
	if (!r)
		return NULL;
	/* acquire, pairs with the release of coroi_escape, or of the spawn that gave us the
	 * handle */
	uint64_t word = at_load_acq(&r->wake);
	return coroi_gen(word) == (uint32_t)(h >> 32) && (word & COROI_ESCAPED) ? r : NULL;
}

struct coroi_rec *coroi_find(coro_handle h)
{
	return find(h);
}

/* unregister - take JOI1 back. False: the end was first, and the event is on its way. */
static bool unregister(struct coroi_rec *r, uint32_t gen, uint32_t index)
{
	uint64_t mine = coroi_join_word(gen, COROI_JOIN_COROUTINE, index);
	return at_cas(&coroi_cold(r)->join, &mine, coroi_join_word(gen, COROI_JOIN_NOBODY, 0));
}

/* A registration in the join word of r. */
struct join {
	struct coroi_rec *r;
	uint32_t gen, index;
};

static bool withdraw_join(void *arg)
{
	struct join *j = arg;
	return unregister(j->r, j->gen, j->index);
}

static inline int join_status(const struct coroi_rec *r)
{
	if (r->flags & COROI_F_NO_STACK)
		return CORO_ENOMEM;
	if (r->flags & COROI_F_CANCELED)
		return CORO_ECANCELED;
	if (r->flags & COROI_F_ABORTED)
		return r->more & COROI_M_FAILED ? CORO_EFAILED : CORO_EABORTED;
	/* relaxed: the coroutine itself may ask, in no door, while a cancel comes */
	return at_load_rlx(&r->canceled) & COROI_C_TOLD ? CORO_ECANCELED : CORO_OK;
}

int coroi_join_status(const struct coroi_rec *r)
{
	return join_status(r);
}

/* taken - what a joiner or detacher returns that came second. CORO_EBUSY: another one joins.
 * CORO_ESTALE: the end was taken, or the coroutine was detached. */
static int taken(uint64_t word, uint32_t gen)
{
	bool waits = coroi_join_kind(word) != COROI_JOIN_FINAL;
	return coroi_gen(word) == gen && waits ? CORO_EBUSY : CORO_ESTALE;
}

/* The calls that join. COMMITTED: neither a deadline nor a cancel ends the wait. */
enum join_call { JOIN, JOIN_UNTIL, COMMITTED };

static int refuse(struct coroi_worker *w, enum join_call call)
{
	return coroi_nowait_refuse(w, call == JOIN_UNTIL ? "coro_join_until" : "coro_join");
}

/* await_end_slow - the rest of await_end: the wait has not begun, or was resumed with an error. */
static COROI_NOINLINE int await_end_slow(struct coroi_rec *me, struct join *j, int code,
					 uint64_t deadline, enum join_call call)
{
	if (code == COROI_NOT_BEGUN)
		return coroi_wait(me, CORO_WAIT_JOIN, deadline,
				  call == COMMITTED ? NULL : withdraw_join, j);
	if (withdraw_join(j)) /* CAN3 of wait.c */
		return coroi_tell(code);
	return coroi_wait(me, CORO_WAIT_JOIN, CORO_FOREVER, NULL, NULL);
}

/* await_end - me, which is registered as j, waits for the end. Returns: as coroi_wait. */
static inline int await_end(struct coroi_rec *me, struct join *j, uint64_t deadline,
			    enum join_call call)
{
	int code = call == JOIN ? coroi_wait_once(me, CORO_WAIT_JOIN, false) : COROI_NOT_BEGUN;

	return coroi_likely(code == CORO_OK) ? CORO_OK
					     : await_end_slow(me, j, code, deadline, call);
}

/* join_carrying - me has joined r, which carries: n bytes of the result, if r has one, are me's. */
static COROI_COLD void join_carrying(struct coroi_rec *me, struct coroi_rec *r, int status,
				     void *result, size_t n)
{
	if (status == CORO_EFAILED) {
		coroi_keep_failure(me, coroi_failed(r));
		return;
	}
	if (status != CORO_OK && status != CORO_EABORTED)
		n = 0;
	if (n)
		memcpy(result, coroi_cold(r)->payload, n);
	coroi_carry_drop_result(r, n);
}

/* join - coro_join_until. call: the one that was made. */
static inline __attribute__((always_inline)) int
join(coro_handle h, void *result, size_t result_bytes, uint64_t deadline, enum join_call call)
{
	struct coroi_worker *w = coroi_self();
	struct coroi_rec *me, *r;
	uint32_t gen = (uint32_t)(h >> 32);

	if (!w || !(me = w->current))
		return CORO_EPERM;
	r = find(h);
	if (!r)
		return CORO_ESTALE;
	uint64_t nobody = coroi_join_word(gen, COROI_JOIN_NOBODY, 0);
	uint64_t final = coroi_join_word(gen, COROI_JOIN_FINAL, COROI_FINAL_DONE);
	uint64_t word = at_load_acq(&coroi_cold(r)->join);
	/* Acquires: if the coroutine was joined meanwhile, and what we have read is of the record's
	 * next user, find sees that the handle is stale. */
	if (r == me || coroi_gen(word) != gen || (result_bytes && !result) ||
	    result_bytes > at_load_acq(&r->result_bytes))
		return coroi_find(h) ? CORO_EINVAL : CORO_ESTALE;
	/* refused even if the coroutine is about to end */
	if (coroi_in_nowait(w, deadline) && word != final)
		return deadline ? refuse(w, call) : CORO_ETIMEDOUT;
	coroi_escape(me);
	word = nobody;
	uint64_t mine = coroi_join_word(gen, COROI_JOIN_COROUTINE, coroi_index(me));
	if (at_cas(&coroi_cold(r)->join, &word, mine)) { /* JOI1 */
		struct join j = {r, gen, coroi_index(me)};
		int status = await_end(me, &j, deadline, call);
		if (status)
			return status;
	} else if (word != final) {
		return taken(word, gen);
	} else if (!at_cas(&coroi_cold(r)->join, &final,
			   coroi_join_word(gen, COROI_JOIN_FINAL, COROI_FINAL_TAKEN))) {
		/* of two callers that find final·done, the one whose CAS succeeds is the joiner */
		return CORO_ESTALE;
	}
	int status = join_status(r);
	/* of a coroutine that ended unstarted, the payload is the argument */
	if (coroi_unlikely(coroi_carries(r)))
		join_carrying(me, r, status, result, result_bytes);
	else if (result_bytes && (status == CORO_OK || status == CORO_EABORTED))
		coroi_copy_few(result, coroi_cold(r)->payload, result_bytes);
	else if (coroi_unlikely(status == CORO_EFAILED))
		coroi_keep_failure(me, coroi_failed(r));
	free_here(coroi_self(), r); /* JOI3; perhaps not the worker on which the wait began */
	return status;
}

COROI_RETURNS_AFTER_SWITCH int coro_join(coro_handle h, void *result, size_t result_bytes)
{
	return join(h, result, result_bytes, CORO_FOREVER, JOIN);
}

int coro_join_until(coro_handle h, void *result, size_t result_bytes, uint64_t deadline)
{
	return join(h, result, result_bytes, deadline, JOIN_UNTIL);
}

int coroi_join_committed(coro_handle h)
{
	return join(h, NULL, 0, CORO_FOREVER, COMMITTED);
}

/* -------------------------------------------------------------------------------------- detach */

int coro_detach(coro_handle h)
{
	uint32_t gen = (uint32_t)(h >> 32);
	struct coroi_rec *r = coroi_find(h);

	if (!r)
		return CORO_ESTALE;
	uint64_t final = coroi_join_word(gen, COROI_JOIN_FINAL, COROI_FINAL_DONE);
	uint64_t word = coroi_join_word(gen, COROI_JOIN_NOBODY, 0);
	if (at_cas(&coroi_cold(r)->join, &word,
		   coroi_join_word(gen, COROI_JOIN_FINAL, COROI_FINAL_DETACHED)))
		return CORO_OK;
	if (coroi_gen(word) != gen)
		return coroi_find(h) ? CORO_EINVAL : CORO_ESTALE;
	if (word != final)
		return taken(word, gen);
	if (!at_cas(&coroi_cold(r)->join, &word,
		    coroi_join_word(gen, COROI_JOIN_FINAL, COROI_FINAL_TAKEN)))
		return CORO_ESTALE;
	coroi_forget_failure(r);
	free_here(coroi_self(), r);
	return CORO_OK;
}
