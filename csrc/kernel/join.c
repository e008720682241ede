//go:build cgo && linux
/*
 * join.c - the end of a coroutine, and joining it.
 *
 * Both go through the join word, generation:32 | kind:2 | index:30. Each changes it by a CAS, so
 * that one of them is first, and neither hits the record's next user.
 *
 *   J1  joiner: CAS nobody -> coroutine·me (or go·id); it may find SETTLED: ended already
 *   J2  end: CAS -> final·done. A joiner found there owns it: final·taken, and it gets an event, so
 *       that nobody who comes meanwhile is before it. Go's: final·for-go, and on its list.
 *       Detached: stays so, and the end frees it
 *   J3  the joiner (or who detaches what has ended) frees the record: W4 of wait.c
 */
#include "kernel/wait.h"

#include "kernel/gobell.h"
#include "kernel/nowait.h"

#include <string.h>

/* free_word - W4. True: the record is free for whoever asks. */
static bool free_word(struct coroi_rec *r)
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

	if (coroi_gen(at_load_rlx(&r->wake)) == UINT32_MAX)
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
static void free_locked(struct coroi_worker *w, struct coroi_rec *r)
{
	at_store_rlx(&r->state, COROI_FREE);
	if (free_word(r))
		coroi_put_locked(w, r);
}

/* ------------------------------------------------------------------------------------- the end */

/* finalize - J2. The join word as it was. */
static uint64_t finalize(struct coroi_rec *r)
{
	uint32_t gen = coroi_gen(at_load_rlx(&r->wake));

	at_store_rlx(&r->state, COROI_ENDED);
	/* J2; a release for the result, an acquire for what the joiner wrote before it
	 * registered. */
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
		coroi_bell_done(w->sched, r, index);
		break;
	case COROI_JOIN_FINAL: /* detached */
		free_locked(w, r);
		break;
	}
}

COROI_NOINLINE void coroi_end_slow_locked(struct coroi_worker *w, struct coroi_rec *r)
{
	if (r->flags & COROI_F_JOINABLE) {
		end_joinable_locked(w, r);
		return;
	}
	free_locked(w, r);
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
		coroi_bell_done(s, r, index);
		break;
	case COROI_JOIN_FINAL: /* detached */
		coroi_join_free(r);
		break;
	}
}

/* ------------------------------------------------------------------------------------- joining */

struct coroi_rec *coroi_find(coro_handle h)
{
	struct coroi_rec *r = coroi_at((uint32_t)h);
	if (!r)
		return NULL;
	/* pairs with the release of whoever gave us the handle */
	uint64_t word = at_load_acq(&r->wake);
	return coroi_gen(word) == (uint32_t)(h >> 32) && (word & COROI_ESCAPED) ? r : NULL;
}

/* unregister - J1 taken back. False: the end has come first, and with it an event. */
static bool unregister(struct coroi_rec *r, uint32_t gen, uint32_t index)
{
	uint64_t mine = coroi_join_word(gen, COROI_JOIN_COROUTINE, index);
	return at_cas(&coroi_cold(r)->join, &mine, coroi_join_word(gen, COROI_JOIN_NOBODY, 0));
}

/* A registration with the join word of r. */
struct join {
	struct coroi_rec *r;
	uint32_t gen, index;
};

static bool withdraw_join(void *arg)
{
	struct join *j = arg;
	return unregister(j->r, j->gen, j->index);
}

int coroi_join_status(const struct coroi_rec *r)
{
	if (r->flags & COROI_F_NO_STACK)
		return CORO_ENOMEM;
	if (r->flags & COROI_F_CANCELED)
		return CORO_ECANCELED;
	return r->flags & COROI_F_ABORTED ? CORO_EABORTED : CORO_OK;
}

/* taken - what to tell one who came second. */
static int taken(uint64_t word, uint32_t gen)
{
	bool waits = coroi_join_kind(word) != COROI_JOIN_FINAL;
	return coroi_gen(word) == gen && waits ? CORO_EBUSY : CORO_ESTALE;
}

/* join - committed: neither deadline nor cancel ends it. */
static int join(coro_handle h, void *result, size_t result_bytes, uint64_t deadline, bool committed)
{
	struct coroi_worker *w = coroi_self();
	struct coroi_rec *me, *r;
	uint32_t gen = (uint32_t)(h >> 32);

	if (!w || !(me = w->current))
		return CORO_EPERM;
	r = coroi_find(h);
	if (!r)
		return CORO_ESTALE;
	uint64_t nobody = coroi_join_word(gen, COROI_JOIN_NOBODY, 0);
	uint64_t final = coroi_join_word(gen, COROI_JOIN_FINAL, COROI_FINAL_DONE);
	uint64_t word = at_load_acq(&coroi_cold(r)->join);
	/* acquire: if another has joined it meanwhile and this is the next one's, coroi_find sees
	 * that */
	if (r == me || coroi_gen(word) != gen || (result_bytes && !result) ||
	    result_bytes > at_load_acq(&r->result_bytes))
		return coroi_find(h) ? CORO_EINVAL : CORO_ESTALE;
	if (coroi_unlikely(w->nowait) && word != final) /* not even for one that is about to end */
		return deadline ? coroi_nowait_refuse(w, "coro_join") : CORO_ETIMEDOUT;
	coroi_escape(me);
	word = nobody;
	uint64_t mine = coroi_join_word(gen, COROI_JOIN_COROUTINE, coroi_index(me));
	if (at_cas(&coroi_cold(r)->join, &word, mine)) { /* J1 */
		struct join j = {r, gen, coroi_index(me)};
		int status = coroi_wait(me, CORO_WAIT_JOIN, deadline,
					committed ? NULL : withdraw_join, &j);
		if (status)
			return status;
	} else if (word != final) {
		return taken(word, gen);
	} else if (!at_cas(&coroi_cold(r)->join, &final,
			   coroi_join_word(gen, COROI_JOIN_FINAL, COROI_FINAL_TAKEN))) {
		/* of two who find it final, the one whose CAS takes it is the joiner */
		return CORO_ESTALE;
	}
	int status = coroi_join_status(r);
	/* of one unstarted it is the argument */
	if (result_bytes && (status == CORO_OK || status == CORO_EABORTED))
		memcpy(result, coroi_cold(r)->payload, result_bytes);
	coroi_join_free(r); /* J3 */
	return status;
}

int coro_join(coro_handle h, void *result, size_t result_bytes)
{
	return join(h, result, result_bytes, CORO_FOREVER, false);
}

int coro_join_until(coro_handle h, void *result, size_t result_bytes, uint64_t deadline)
{
	return join(h, result, result_bytes, deadline, false);
}

int coroi_join_committed(coro_handle h)
{
	return join(h, NULL, 0, CORO_FOREVER, true);
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
	coroi_join_free(r);
	return CORO_OK;
}
