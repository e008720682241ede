/*
 * wait.h - how a wait ends, by a permit or an event (wait.c), and how a coroutine ends (join.c).
 */
#ifndef COROI_WAIT_H
#define COROI_WAIT_H

#include "kernel/carry.h"
#include "kernel/run.h"

/* The join word of a joinable coroutine: generation << 32 | kind << 29 | index. Four of the eight
 * kinds are not used. */
#define COROI_JOIN_KIND_SHIFT 29
#define COROI_JOIN_INDEX_MASK ((UINT64_C(1) << COROI_JOIN_KIND_SHIFT) - 1)
enum { COROI_JOIN_NOBODY = 0, COROI_JOIN_COROUTINE = 1, COROI_JOIN_GO = 2, COROI_JOIN_FINAL = 3 };
/* With COROI_JOIN_GO the index is an id of the poller in Go, and perhaps COROI_JOIN_COUNTED: the
 * end of the coroutine takes a pending-work token (gobell.h). */
#define COROI_JOIN_COUNTED (UINT32_C(1) << 28)
/* The index, no id of the poller's, of a coroutine whose end is that of a lender (lend.h). The end
 * is told nobody: Go looks. */
#define COROI_JOIN_LENDER (COROI_JOIN_COUNTED - 1)
_Static_assert((uint64_t)COROI_CHUNKS_MAX << COROI_CHUNK_INDEX_BITS <=
		       UINT64_C(1) << COROI_JOIN_KIND_SHIFT,
	       "the index of a record fits");
/* The index with COROI_JOIN_FINAL. */
enum {
	COROI_FINAL_DONE = 0,
	COROI_FINAL_DETACHED = 1,
	COROI_FINAL_TAKEN = 2,
	COROI_FINAL_FOR_GO = 3, /* done, and on Go's list: only Go may take it */
};

static inline uint64_t coroi_join_word(uint32_t gen, unsigned kind, uint32_t index)
{
	return (uint64_t)gen << COROI_GEN_SHIFT | (uint64_t)kind << COROI_JOIN_KIND_SHIFT | index;
}

static inline unsigned coroi_join_kind(uint64_t word)
{
	return word >> COROI_JOIN_KIND_SHIFT & 7;
}

/* coroi_remote_wake_locked - WKC3 to WKC5: r came out of w's inbox as a remote wake. from: as in
 * the node (inbox.h). */
void coroi_remote_wake_locked(struct coroi_worker *w, struct coroi_rec *r, uint32_t from);

/* coroi_move_locked - r, which is suspended at home and in no queue, goes on at `to`. r may run
 * there before this returns. Inside the door of r's home. */
void coroi_move_locked(struct coroi_rec *r, struct coroi_worker *to);

/* coroi_await_wakers - wait until every wake-up from outside that had begun is through. If all
 * coroutines of a scheduler have ended before, no wake-up looks at that scheduler any more. Thread:
 * any. Blocking: while such a waker is preempted. */
void coroi_await_wakers(void);

/* coroi_guest_begin, coroi_guest_end - between the two the caller, which is no worker of the
 * scheduler, uses what coro_scheduler_destroy frees. It looks, after the begin and sequentially
 * consistent, whether the scheduler is closed. end is given what begin returned. Thread: any.
 * Blocking between the two: no more than for a mutex. Cost: a locked addition each. */
uint32_t *coroi_guest_begin(void);
void coroi_guest_end(uint32_t *count);

/* coroi_end_wait_locked - if r, at home here, waits, its wait returns the code, an error. A wait
 * that is committed, or for which a permit is on its way, goes on. */
void coroi_end_wait_locked(struct coroi_worker *w, struct coroi_rec *r, int8_t code);

/* coroi_is_canceled_locked - was coro_cancel called for r, which is at home here? The cancel is
 * seen even if it has not been delivered yet (WKC3). */
static inline bool coroi_is_canceled_locked(const struct coroi_rec *r)
{
	/* relaxed: a coro_cancel that has returned before this look is seen */
	return r->canceled || at_load_rlx(&r->wake) & COROI_CANCEL;
}

/* coroi_permit_comes - a permit for r is on its way, and will wake r when r parks. Relaxed: a
 * coro_wake that had returned before the cancel began is seen, as the door was entered since
 * then. */
static inline bool coroi_permit_comes(const struct coroi_rec *r)
{
	return at_load_rlx(&r->wake) & COROI_COUNT_MASK;
}

/*
 * coroi_wait - suspend me, the current coroutine, until its event comes. me has registered for the
 * event before. Each registration has exactly one event, or is taken back, so that no event is left
 * over for a later wait.
 *
 * deadline: CLOCK_MONOTONIC in ns, or CORO_FOREVER.
 * withdraw: takes the registration back when a cancel or the deadline ends the wait. It returns
 *           false if the event is on its way: then the wait is committed, and goes on until the
 *           event comes. NULL: the wait is committed from the start.
 * what:     the kind of wait that coro_scheduler_blocked reports.
 *
 * Thread:  a worker, in no door.
 * Returns: CORO_OK: the event has come. CORO_ECANCELED, CORO_ETIMEDOUT: the registration was taken
 *          back.
 */
int coroi_wait(struct coroi_rec *me, enum coro_wait_kind what, uint64_t deadline,
	       bool (*withdraw)(void *), void *arg);

/* coroi_event_send - send r its event, once. The caller has found r's registration: so r waits, or
 * is about to, and cannot end meanwhile. Thread: any, in no door. */
void coroi_event_send(struct coroi_rec *r);

/* coroi_events_send - coroi_event_send to n coroutines, in order: those at home with the calling
 * worker go to the back of its queue, in one pass through its door. r is overwritten. */
void coroi_events_send(struct coroi_rec **r, uint32_t n);

/* coroi_event_send_to - the same for an r that may have gone on and ended. If its generation is not
 * gen any more, nothing happens. */
void coroi_event_send_to(struct coroi_rec *r, uint32_t gen);

/* coroi_event_send_remote - send r its event as a remote wake, wherever r is at home. s: the
 * scheduler to which the calling worker, or the goworker, belongs; NULL: the caller is neither.
 * Thread: any, in a door or not. */
void coroi_event_send_remote(struct coro_scheduler *s, struct coroi_rec *r);

/* coroi_wait_once returns this, besides the codes of a wait, if the wait has not begun, since me is
 * cancelled. */
enum { COROI_NOT_BEGUN = 1 };

/* coroi_wait_once - wait for me's event without a deadline, and without withdrawing. Returns: the
 * code that the wait was resumed with; if that is no CORO_OK, the caller withdraws, or goes on
 * waiting. COROI_NOT_BEGUN: me is cancelled. look: deliver first what has come from other
 * threads. */
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
	if (coroi_unlikely(w->cancel | me->canceled)) { /* CAN2 */
		coroi_door_leave(w);
		return COROI_NOT_BEGUN;
	}
	COROI_PROBE(WAIT, me);
	at_store_rlx(&me->state, COROI_WAITING);
	at_store_rlx(&me->waits, (uint8_t)what);
	return coroi_suspend_locked(w, me, coroi_pick_locked(w));
}

/*
 * coroi_wait_begin, coroi_wait_commit - the short way to wait. It is open if nothing forbids the
 * wait, and if there is a coroutine to go on with.
 *
 * coroi_wait_begin returns that coroutine, and the current one of w (coroi_here) in *current. It
 * has entered w's door, so that no event can be delivered before the wait begins. The caller
 * registers, and calls coroi_wait_commit. NULL: take the general way. coroi_wait_commit suspends
 * the current coroutine, and returns the code that its wait was resumed with.
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
	at_store_rlx(&me->waits, (uint8_t)what);
	return coroi_hand_over_within_locked(w, me, next);
}

/*
 * coroi_wake_home, coroi_wake_here - the short ways of coroi_event_send on w (coroi_here). They
 * make no call. coroi_wake_home is for an r that is pinned to w. True: r goes on, and the caller
 * must return coroi_leave_fed(w). False: nothing was done.
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
	/* acquire, as in coroi_event_send; r's home cannot change inside its door */
	if (coroi_likely(coroi_door_try(w) && at_load_acq(&r->home) == w->id &&
			 at_load_rlx(&r->state) == COROI_WAITING && coroi_made_ready_locked(w, r)))
		return true;
	coroi_door_leave(w);
	return false;
}

/* coroi_errand - suspend me, the current coroutine of w, in a committed wait for its event. The
 * native stack then calls run(w, arg) once, in no door. Returns: the code that me was resumed
 * with. */
static inline int coroi_errand(struct coroi_worker *w, struct coroi_rec *me,
			       enum coro_wait_kind what,
			       void (*run)(struct coroi_worker *w, void *arg), void *arg)
{
	coroi_door_enter(w);
	at_store_rlx(&me->state, COROI_COMMITTED);
	at_store_rlx(&me->waits, (uint8_t)what);
	return coroi_errand_locked(w, me, run, arg);
}

/* coroi_errand_failed - called by run instead of sending the event: me goes on with that status. */
static inline void coroi_errand_failed(struct coroi_worker *w, struct coroi_rec *me, int status)
{
	coroi_door_enter(w);
	coroi_resume_locked(w, me, (int8_t)status);
	coroi_door_leave(w);
}

/* coroi_waits_for - what r waits for. r is suspended, or was resumed from that wait. */
static inline enum coro_wait_kind coroi_waits_for(const struct coroi_rec *r)
{
	return (enum coro_wait_kind)r->waits;
}

/* coroi_elsewhere_begin - this thread, which is no worker, goes on with r. An errand has suspended
 * r, and nobody else goes on with r. *native: where the thread's own context is saved. Returns
 * after r has called coroi_elsewhere_end. */
static inline void coroi_elsewhere_begin(struct coroi_rec *r, void **native)
{
	void *fake = NULL;

	coroi_fiber_leave(&fake, &r->stack->fiber);
	coroi_swap(native, r->sp, CORO_OK);
	coroi_fiber_arrive(fake, NULL);
}

/* coroi_elsewhere_end - suspend me, and go on in the context `native` of this thread, which has
 * called coroi_elsewhere_begin. fiber: that context's. me then waits for its event. Returns: the
 * code that me was resumed with. */
static inline int coroi_elsewhere_end(struct coroi_rec *me, void *native,
				      const struct coroi_fiber *fiber)
{
	void *fake = NULL;

	coroi_fiber_leave(&fake, fiber);
	int code = coroi_swap(&me->sp, native, 0);
	coroi_fiber_arrive(fake, NULL);
	return code;
}

/* coroi_escape - me's handle is about to be known to others. Thread: only where me runs, or where
 * it is spawned. */
static inline void coroi_escape(struct coroi_rec *me)
{
	uint64_t word = at_load_rlx(&me->wake);
	if (!(word & COROI_ESCAPED)) /* a store is enough: nobody else writes the word before */
		/* release, pairs with coroi_find: a finder of the handle sees the record */
		at_store_rel(&me->wake, word | COROI_ESCAPED);
}

/* coroi_be_named - me, the current coroutine, is about to be known by its name (slab.h). */
static inline void coroi_be_named(struct coroi_rec *me)
{
	coroi_escape(me);
	coroi_flag(me, COROI_F_NAMED);
	coroi_more_add(me, COROI_M_OWNER);
}

/* What a room with locks is asked at the end of a coroutine that was named. */
struct coroi_owners {
	/* Does anything wait for what the coroutine with that name has left locked? In a door. */
	bool (*owes)(uint64_t name);
	/* Then: tell it. An errand, whose arg is the name. */
	void (*tell)(struct coroi_worker *w, void *name);
};
extern struct coroi_owners coroi_owners; /* set once, by a constructor of that room */

/* ----------------------------------------------------------------------------------- shield.c */

/* coroi_shield_holds - is me, the current coroutine, in a shield section that is not over? *until:
 * the section's deadline. */
bool coroi_shield_holds(const struct coroi_rec *me, uint64_t *until);

/* coroi_begins_locked - may me, the current coroutine of w, begin a wait, although one of w->cancel
 * and me->canceled is not 0? *until, the deadline of the wait, becomes that of me's shield section,
 * if that is earlier; the caller asks again when it has come. False: the wait returns
 * CORO_ECANCELED, and is told by coroi_tell. */
bool coroi_begins_locked(struct coroi_worker *w, struct coroi_rec *me, uint64_t *until);

/* coroi_tell_locked - a call of r, which runs or is about to, returns CORO_ECANCELED. coroi_tell -
 * the same for the current coroutine, in no door; any other code is nothing to be told. Returns:
 * code. */
static inline void coroi_tell_locked(struct coroi_rec *r)
{
	r->canceled |= COROI_C_TOLD;
}

COROI_COLD int coroi_tell(int code);

/* coroi_refused - CORO_ECANCELED if a wait of the current coroutine would return that; the
 * coroutine is told. Else CORO_OK. coroi_refused_locked - the same in w's door. */
int coroi_refused(void);
int coroi_refused_locked(struct coroi_worker *w, struct coroi_rec *me);

/* coroi_shield_ready - the next coroi_shield_whole needs no memory. Returns: CORO_OK, also where the
 * caller is no coroutine; CORO_ENOMEM. coroi_shield_whole - as coro_shield_begin, and the section
 * lasts until its coro_shield_end, also in one whose deadline comes before that: for a wait for
 * somebody who has something of the caller's. */
int coroi_shield_ready(void);
int coroi_shield_whole(void);

/* coroi_wait_shielded_locked - CAN2 of coroi_wait, which can be withdrawn: me or its scheduler is
 * canceled, or me is in a shield section. It leaves the door. */
COROI_COLD int coroi_wait_shielded_locked(struct coroi_worker *w, struct coroi_rec *me,
					  enum coro_wait_kind what, uint64_t deadline,
					  bool (*withdraw)(void *), void *arg);

/* coroi_park_shielded_locked - coro_park_until in a shield section, or in one that is over. It
 * leaves the door. */
COROI_COLD int coroi_park_shielded_locked(struct coroi_worker *w, struct coroi_rec *me,
					  uint64_t deadline);

/* ------------------------------------------------------------------------------------- fail.c */

/* coroi_fail - r, the current coroutine, is about to end by coro_fail. f's text is the callee's. */
void coroi_fail(struct coroi_rec *r, struct coroi_failure f);

/* coroi_failed - r, which has ended, did so by coro_fail: with what. To be taken by the owner of
 * the end, once, before the record is freed. The text is the caller's then. */
struct coroi_failure coroi_failed(struct coroi_rec *r);

/* coroi_forget_failure - nobody asks with what r, which has ended, has failed, if it has; nor for
 * its result. */
static inline void coroi_forget_failure(struct coroi_rec *r)
{
	if (coroi_unlikely(r->more & COROI_M_FAILED))
		coroi_release(coroi_failed(r).text);
	else if (coroi_unlikely(coroi_carries(r)))
		coroi_carry_drop_result(r, 0);
}

/* coroi_fail_with - coroi_fail of r, a coroutine with a Go body that is about to end. Thread: the
 * one that ends r. */
void coroi_fail_with(struct coroi_rec *r, int32_t code, const char *text, size_t bytes);

/* coroi_keep_failure - coro_join_error of me, the current coroutine, tells f from now on. */
COROI_COLD void coroi_keep_failure(struct coroi_rec *me, struct coroi_failure f);

/* coroi_kept_failure - take that back. The text is the caller's then. */
struct coroi_failure coroi_kept_failure(struct coroi_rec *me);

/* coroi_forget_failures - s is destroyed, with what nobody has joined. */
void coroi_forget_failures(struct coro_scheduler *s);

/* ------------------------------------------------------------------------------------- join.c */

/* coroi_put - give r back to the slab, or retire it if its generations are used up. r is free, and
 * no node of an inbox. Thread: any, in no door. */
void coroi_put(struct coroi_rec *r);

/* coroi_put_locked - the same in w's door: r goes to w's magazine. */
static inline void coroi_put_locked(struct coroi_worker *w, struct coroi_rec *r)
{
	if (coroi_unlikely(coroi_gen_is_used_up(coroi_gen(at_load_rlx(&r->wake))))) {
		coroi_slab_retire(&w->sched->slab);
		return;
	}
	coroi_mags_earn(&w->mags);
	coroi_mags_put(&w->mags, r);
}

/* coroi_count_daemon - w has just counted a daemon in `spawned`. In w's door, or by the one thread
 * that counts for the goworker. */
static inline void coroi_count_daemon(struct coroi_worker *w)
{
	/* release, pairs with coroi_others: a thread that sees a daemon has seen its spawn */
	at_bump_rel(&w->daemons.spawned);
}

/* coroi_count_end_locked - an end on w, of a coroutine with those bits. A daemon's end is counted
 * among those of daemons first: see coroi_others. */
static inline void coroi_count_end_locked(struct coroi_worker *w, uint8_t more)
{
	if (coroi_unlikely(more & COROI_M_DAEMON))
		at_bump(&w->daemons.ended);
	at_bump_rel(&w->ended); /* release: see coroi_end_locked */
}

/* coroi_end_slow_locked - coroi_end_locked of a coroutine whose handle is known. */
COROI_NOINLINE void coroi_end_slow_locked(struct coroi_worker *w, struct coroi_rec *r);

/* coroi_end_locked - r, at home here, has ended. Its record is freed, or kept for its joiner. */
static inline void coroi_end_locked(struct coroi_worker *w, struct coroi_rec *r)
{
	COROI_PROBE(END, r);
	/* relaxed: ESCAPED was set where r ran, or where it was spawned */
	if (coroi_unlikely(at_load_rlx(&r->wake) & COROI_ESCAPED)) {
		coroi_end_slow_locked(w, r);
		return;
	}
	/* release, pairs with coroi_live: the end is seen after r's spawn, and after r's own
	 * spawns */
	at_bump_rel(&w->ended);
	at_store_rlx(&r->state, COROI_FREE);
	coroi_mags_earn(&w->mags);
	coroi_mags_put(&w->mags, r);
}

/* coroi_end_outside - r, a joinable coroutine of the goworker, has ended. No door protects it: the
 * caller is the only one that ends it. Thread: any, in no door. */
void coroi_end_outside(struct coro_scheduler *s, struct coroi_rec *r);

/* coroi_find - the record that a handle names. NULL: the handle is stale. The answer stays true
 * only inside the door of the coroutine's home, or for the one that alone may free it (its
 * joiner). */
struct coroi_rec *coroi_find(coro_handle h);

/* coroi_has_ended - the coroutine with that name, which was alive, has ended. All that it did
 * before its end is seen then. False may be old. Thread: any. */
static inline bool coroi_has_ended(uint64_t name)
{
	struct coroi_rec *r = coroi_named(name);
	uint32_t gen = (uint32_t)name;

	if (!r)
		return false;
	/* Acquires: they pair with JOI2, and with WKC4 where no joiner comes. The join word is
	 * final before the generation goes up; once that is seen, the word may be the next user's.
	 * Sequentially consistent, for AWT1 of sync/awaited.h, which pairs with the same two. */
	uint64_t join = at_load_seq(&coroi_cold(r)->join);
	if (coroi_gen(at_load_seq(&r->wake)) != gen)
		return true;
	return coroi_gen(join) == gen && coroi_join_kind(join) == COROI_JOIN_FINAL &&
	       (join & COROI_JOIN_INDEX_MASK) != COROI_FINAL_DETACHED;
}

/* coroi_be_known_as - the current coroutine goes on as if it had been spawned with fn: reports name
 * that, and it is brief if fn is. */
void coroi_be_known_as(coro_fn fn);

/* coroi_join_free - free r, which has ended and whose end the caller has taken, as joiner, detacher
 * or Go. Thread: any, in no door. */
void coroi_join_free(struct coroi_rec *r);

/* coroi_join_committed - coro_join without a result, as a committed wait: no cancel ends it. */
int coroi_join_committed(coro_handle h);

/* coroi_join_status - what coro_join of an ended r returns. */
int coroi_join_status(const struct coroi_rec *r);

/* ------------------------------------------------------------------------------------- self.c */

/* coroi_where_of - fill in what *at says of r, which has not ended. Async-signal-safe. */
struct coroi_where;
void coroi_where_of(const struct coroi_rec *r, struct coroi_where *at);

#endif
