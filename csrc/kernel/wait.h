/*
 * wait.h - how a coroutine's wait ends: permits, events (wait.c), and its own end (join.c).
 */
#ifndef COROI_WAIT_H
#define COROI_WAIT_H

#include "kernel/run.h"

/* The join word: generation << 32 | kind << 29 | index. Only of joinable ones. Five kinds are
 * free. */
#define COROI_JOIN_KIND_SHIFT 29
#define COROI_JOIN_INDEX_MASK ((UINT64_C(1) << COROI_JOIN_KIND_SHIFT) - 1)
enum { COROI_JOIN_NOBODY = 0, COROI_JOIN_COROUTINE = 1, COROI_JOIN_GO = 2, COROI_JOIN_FINAL = 3 };
/* The index of COROI_JOIN_GO is a slot of Go's, and perhaps this: its end is to take an
 * pending-work token (gobell.h). */
#define COROI_JOIN_COUNTED (UINT32_C(1) << 28)
_Static_assert((uint64_t)COROI_CHUNKS_MAX << COROI_CHUNK_INDEX_BITS <=
		       UINT64_C(1) << COROI_JOIN_KIND_SHIFT,
	       "the index of a record fits");
/* The index of COROI_JOIN_FINAL. */
enum {
	COROI_FINAL_DONE = 0,
	COROI_FINAL_DETACHED = 1,
	COROI_FINAL_TAKEN = 2,
	COROI_FINAL_FOR_GO = 3, /* done, and on Go's list: nobody else may take it */
};

static inline uint64_t coroi_join_word(uint32_t gen, unsigned kind, uint32_t index)
{
	return (uint64_t)gen << COROI_GEN_SHIFT | (uint64_t)kind << COROI_JOIN_KIND_SHIFT | index;
}

static inline unsigned coroi_join_kind(uint64_t word)
{
	return word >> COROI_JOIN_KIND_SHIFT & 7;
}

/* coroi_remote_wake_locked - r came out of w's inbox as a remote wake. */
void coroi_remote_wake_locked(struct coroi_worker *w, struct coroi_rec *r);

/* coroi_await_wakers - every wake-up from outside that had begun is through. All coroutines of a
 * scheduler have ended: then no wake-up looks at it any more. */
void coroi_await_wakers(void);

/* coroi_end_wait_locked - if r, at home here, waits, it gets an error, the code, from what it waits
 * in. */
void coroi_end_wait_locked(struct coroi_worker *w, struct coroi_rec *r, int8_t code);

/* coroi_is_canceled_locked - coro_cancel was called for r, which is at home here; perhaps it is
 * still on its way. */
static inline bool coroi_is_canceled_locked(const struct coroi_rec *r)
{
	/* relaxed: whoever returned from it before us is seen */
	return r->canceled || at_load_rlx(&r->wake) & COROI_CANCEL;
}

/*
 * coroi_wait - suspend me, the current coroutine, until the event of what it has registered for. A
 * cancel, or the deadline (CLOCK_MONOTONIC, ns; CORO_FOREVER), ends the wait if withdraw(arg) can
 * take the registration back; it returns false if an event is committed by then, which is waited
 * for. withdraw NULL: it is committed from the start.
 *
 * Each registration has one event, or is taken back, so that none is left over for a later wait.
 * what: a letter for coro_blocked. Returns: CORO_OK, or with the registration taken back
 * CORO_ECANCELED or CORO_ETIMEDOUT.
 */
int coroi_wait(struct coroi_rec *me, enum coro_wait_kind what, uint64_t deadline,
	       bool (*withdraw)(void *), void *arg);

/* coroi_event_send - the event that r waits for, once, to whoever has found its registration.
 * Thread: any, in no door. */
void coroi_event_send(struct coroi_rec *r);

/* coroi_event_send_to - the same for one that may have gone on and ended: then nothing happens. */
void coroi_event_send_to(struct coroi_rec *r, uint32_t gen);

/* coroi_event_send_remote - the event for r, wherever that is at home. s: the scheduler of whose
 * worker or goworker the caller is; NULL: of none. Thread: any, in a door or not. */
void coroi_event_send_remote(struct coro_scheduler *s, struct coroi_rec *r);

/* What coroi_wait_once returns beside the codes of a wait: it has not begun, since me is
 * cancelled. */
enum { COROI_NOT_BEGUN = 1 };

/* coroi_wait_once - coroi_wait of a wait that neither a deadline nor withdraw is for yet: wait for
 * the event, or return the code that the wait was resumed with. look: take in what has come from
 * other threads first. */
static inline int coroi_wait_once(struct coroi_rec *me, enum coro_wait_kind what, bool look)
{
	struct coroi_worker *w = coroi_self();

	coroi_door_enter(w);
	if (look)
		coroi_drain_locked(w);
	if (me->event) {
		me->event = 0;
		coroi_door_leave(w);
		return CORO_OK;
	}
	if (coroi_unlikely(w->cancel | me->canceled)) {
		coroi_door_leave(w);
		return COROI_NOT_BEGUN;
	}
	COROI_PROBE(WAIT, me);
	at_store_rlx(&me->state, COROI_WAITING);
	me->waits = (uint8_t)what;
	return coroi_suspend_locked(w, me, coroi_pick_locked(w));
}

/*
 * coroi_wait_begin, coroi_wait_commit - the short way, for a coroutine with nothing against its
 * waiting and somebody to go on with. Begin returns the coroutine that goes on while *current, the
 * current one of w (coroi_here), waits; w's door is entered then, so no event can be there yet, and
 * commit is next. NULL: the general way. Commit returns the code that the wait was resumed with.
 */
static inline __attribute__((always_inline)) struct coroi_rec *
coroi_wait_begin(struct coroi_worker *w, uint64_t deadline, struct coroi_rec **current)
{
	struct coroi_rec *me = *current = w->current, *next;

	if (coroi_unlikely(!me || deadline != CORO_FOREVER || coroi_is_dense(me)))
		return NULL;
	if (coroi_likely(coroi_door_try(w) && !me->canceled && (next = coroi_next_locked(w))))
		return next;
	coroi_door_leave(w);
	return NULL;
}

static inline __attribute__((always_inline)) int coroi_wait_commit(struct coroi_worker *w,
								   struct coroi_rec *me,
								   enum coro_wait_kind what,
								   struct coroi_rec *next)
{
	COROI_PROBE(WAIT, me);
	at_store_rlx(&me->state, COROI_WAITING);
	me->waits = (uint8_t)what;
	return coroi_hand_over_within_locked(w, me, next);
}

/*
 * coroi_wake_home, coroi_wake_here - the short ways of coroi_event_send on w (coroi_here), without
 * a call. True: r goes on, and the caller must return coroi_leave_fed(w). False: nothing was done.
 * home: r is pinned to w.
 */
static inline __attribute__((always_inline)) bool coroi_wake_home(struct coroi_worker *w,
								  struct coroi_rec *r)
{
	if (coroi_likely(coroi_door_try(w) && at_load_rlx(&r->state) == COROI_WAITING &&
			 coroi_made_ready_locked(w, r)))
		return true;
	coroi_door_leave(w);
	return false;
}

static inline __attribute__((always_inline)) bool coroi_wake_here(struct coroi_worker *w,
								  struct coroi_rec *r)
{
	if (coroi_unlikely(coroi_owner(r) != w->sched))
		return false;
	/* firm, inside this door */
	if (coroi_likely(coroi_door_try(w) && at_load_acq(&r->home) == w->id &&
			 at_load_rlx(&r->state) == COROI_WAITING && coroi_made_ready_locked(w, r)))
		return true;
	coroi_door_leave(w);
	return false;
}

/* coroi_errand - me, the current coroutine of w, stops here, and waits for its event; no cancel
 * ends that wait. The native stack calls run(w, arg) once, in no door, when me is suspended.
 * Returns the code that me was resumed with. */
static inline int coroi_errand(struct coroi_worker *w, struct coroi_rec *me,
			       enum coro_wait_kind what,
			       void (*run)(struct coroi_worker *w, void *arg), void *arg)
{
	coroi_door_enter(w);
	at_store_rlx(&me->state, COROI_COMMITTED);
	me->waits = (uint8_t)what;
	return coroi_errand_locked(w, me, run, arg);
}

/* coroi_errand_failed - from run: me goes on with that code, and has no event. */
static inline void coroi_errand_failed(struct coroi_worker *w, struct coroi_rec *me, int status)
{
	coroi_door_enter(w);
	coroi_resume_locked(w, me, (int8_t)status);
	coroi_door_leave(w);
}

/* coroi_escape - me's handle is about to be known. Only me, or who spawns it, may. */
static inline void coroi_escape(struct coroi_rec *me)
{
	uint64_t word = at_load_rlx(&me->wake);
	if (!(word & COROI_ESCAPED))
		at_store_rel(&me->wake, word | COROI_ESCAPED); /* nobody else writes it before */
}

/* ------------------------------------------------------------------------------------- join.c */

/* coroi_put - r is free, and no node: back to the slab, unless its generations are used up. Thread:
 * any, in no door. */
void coroi_put(struct coroi_rec *r);

/* coroi_put_locked - the same, in w's door: to its magazine. */
static inline void coroi_put_locked(struct coroi_worker *w, struct coroi_rec *r)
{
	if (coroi_gen(at_load_rlx(&r->wake)) == UINT32_MAX) {
		coroi_slab_retire(&w->sched->slab);
		return;
	}
	coroi_mags_earn(&w->mags);
	coroi_mags_put(&w->mags, r);
}

/* coroi_end_slow_locked - coroi_end_locked of one with a handle. */
COROI_NOINLINE void coroi_end_slow_locked(struct coroi_worker *w, struct coroi_rec *r);

/* coroi_end_locked - r, at home here, has ended: its record is free, or waits for its joiner. */
static inline void coroi_end_locked(struct coroi_worker *w, struct coroi_rec *r)
{
	/* release: with coroi_live, not before what it has spawned is counted */
	COROI_PROBE(END, r);
	at_bump_rel(&w->ended);
	/* relaxed: only r itself, or who spawned it, set it */
	if (coroi_unlikely(at_load_rlx(&r->wake) & COROI_ESCAPED)) {
		coroi_end_slow_locked(w, r);
		return;
	}
	at_store_rlx(&r->state, COROI_FREE);
	coroi_mags_earn(&w->mags);
	coroi_mags_put(&w->mags, r);
}

/* coroi_end_outside - r, joinable and at home in no worker's door, has ended: the caller is alone
 * with it. */
void coroi_end_outside(struct coro_scheduler *s, struct coroi_rec *r);

/* coroi_find - the record that a handle names, or NULL if it is stale. The answer is firm only
 * inside its home's door, or for whoever alone may free it (its joiner). */
struct coroi_rec *coroi_find(coro_handle h);

/* coroi_join_free - the joiner (or detacher, or Go) has had what it wanted of r. Thread: any, in no
 * door. */
void coroi_join_free(struct coroi_rec *r);

/* coroi_join_committed - coro_join, without the result, that no cancel ends. */
int coroi_join_committed(coro_handle h);

/* coroi_join_status - what the joiner of an ended r is told. */
int coroi_join_status(const struct coroi_rec *r);

#endif
