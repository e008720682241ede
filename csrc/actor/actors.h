/*
 * actors.h - what the actors of one scheduler share: their places, and memory for messages.
 *
 * A place is 32 bytes. Places lie in chunks of 2 MiB, which are never unmapped, and are used for
 * nothing else: so whoever has a reference, stale or forged, reads a place, whose generation tells.
 * A chunk of a scheduler that was destroyed goes to the next one that needs a chunk. The
 * generations go on.
 *
 *      reference   generation:16 | 0:17 | chunk:15 | number:16
 *
 * Messages have 64 bytes. A worker has up to COROI_IN_HAND of them in hand, and trades COROI_HAND
 * at once with the others, in a lock (Bonwick's magazines, 2001). Threads that are no workers share
 * some hands, each with a lock (coroi_hand_locks). Messages flow from those who send to those who
 * handle; the magazines bring them back. A message that comes from another core is in that core's
 * cache. So nobody reads a message to find the next one: a hand and a magazine are arrays of
 * addresses, from which messages are fetched ahead.
 */
#ifndef COROI_ACTORS_H
#define COROI_ACTORS_H

#include "actor/box.h"
#include "base/list.h"
#include "base/lock.h"
#include "kernel/kernel.h"

#define COROI_PLACES_BYTES  ((size_t)2 << 20) /* of a chunk */
#define COROI_PLACES        (1u << 16)        /* of a chunk, with its header */
#define COROI_PLACES_CHUNKS (1u << 15)

/* An actor. Others look, relaxed, at words of 64 bits that are the turn's: so the turn writes these
 * as wholes. */
struct coroi_place {
	uint64_t box; /* atomic: box.h */
	/* The first message that was taken and is not handled, or that came by HOM2, and in the
	 * highest 16 bits how many there are, at most COROI_DEPTH_MOST. Written by the turn, and by
	 * HOM2. Atomic, relaxed. */
	uint64_t pending;
	/* The kind, or with COROI_P_SIDE in the highest 16 bits the side table, which has it.
	 * Atomic, release: the turn and senders look. */
	uint64_t kind;
	/* The state, and in the highest 16 bits the stamp (passive.c) and the pace: the turn's. Of
	 * a free place: the next. Atomic, relaxed: the sweeper looks. */
	uint64_t state;
};
_Static_assert(sizeof(struct coroi_place) == 32, "an idle actor");

#define COROI_HIGH_SHIFT 48
#define COROI_LOW        ((UINT64_C(1) << COROI_HIGH_SHIFT) - 1)

/* What few actors have. The lock of the place's sides (coroi_side_lock) guards it, but for kind,
 * which is the turn's, and for room. */
struct coroi_side {
	const coro_actor_kind *kind;
	struct {
		struct coro_message *first, *last;
	} urgent;                      /* what overtakes; oldest first */
	uint64_t takes;                /* how often `urgent` was taken */
	struct coro_message *watchers; /* what they are to be told; words[2] is the watcher */
	struct coroi_bound *bound;     /* NULL: none */
};

/* Flags of a place, in the highest 16 bits of `kind`. */
enum {
	COROI_P_SIDE = 1,
	COROI_P_BOUND = 2, /* with SIDE */
	COROI_P_IDLE = 4,  /* the kind has an idle time */
	COROI_P_PINNED = 8,
	COROI_P_BRIEF = 16,   /* of the kind at the spawn: its turns may run where its sender is */
	COROI_P_CARRIES = 32, /* the kind has words of buffers */
	/* From here on the worker that it is pinned to. */
	COROI_P_WORKER_SHIFT = 8,
};
_Static_assert(CORO_WORKERS_MAX <= 1 << (16 - COROI_P_WORKER_SHIFT), "a worker's number");

#define COROI_P_TABLE ((uint64_t)(COROI_P_SIDE | COROI_P_BOUND)) /* the others stay to the end */

/* What lies where the first place of a chunk would be. */
struct coroi_places {
	/* Atomic, release: whoever finds a place LIVE finds its owner. */
	struct coroi_actors *owner;
	struct coroi_places *next; /* of the same owner's, or of those without one */
	uint32_t id;
	/* Places that were used; the header is one of them. Written in the lock. Atomic, relaxed: a
	 * send to reference 0 looks at the kind of the place that is none. */
	uint32_t carved;
};
_Static_assert(sizeof(struct coroi_places) <= sizeof(struct coroi_place), "it lies there");
_Static_assert(COROI_PLACES * sizeof(struct coroi_place) == COROI_PLACES_BYTES, "a chunk");

/* The directory of all chunks of the process. It only grows. */
extern struct coroi_places *coroi_places_dir[COROI_PLACES_CHUNKS];

/* Where COROI_HAND messages are that nobody has in hand. */
struct coroi_magazine {
	struct coroi_magazine *next;
	struct coro_message *m[COROI_HAND];
};

/* What one worker has in hand, or threads outside, in their lock (coroi_hand_locks). */
struct coroi_hand {
	struct coroi_actors *actors;
	uint32_t count; /* of spare */
	bool dedicated; /* what its coroutines wake does not start at the worker */
	/* Of a worker: see home.h. The first worker's are at the beginning of all workers'. */
	struct coroi_home *homes;
	uint64_t home_box; /* coroi_box_home of no generation */
	/* How many of those that wake next are not to come home, and how many that is the next
	 * time. */
	uint8_t skips, skips_most; /* skips_most: atomic, relaxed */
	/* Messages. Atomic, relaxed: statistics. */
	uint64_t accepted, handled;
	struct coro_message *spare[COROI_IN_HAND]; /* the last is used first */
} __attribute__((aligned(COROI_APART)));

/* What is to be sent later: see later.c. */
struct coroi_clock {
	struct coroi_lock lock; /* of all */
	bool runs;              /* the clock's coroutine is spawned, or about to be */
	coro_handle handle;     /* 0: it has not begun to run */
	struct coroi_due *heap;
	struct coroi_later_list *table; /* by the actor */
	struct coroi_later *spare;
	struct coroi_later_chunk *chunks; /* of all coroi_later */
	uint32_t n;                       /* atomic: written in the lock, LTR1 and LTR2 */
	uint32_t most;                    /* a power of two, or 0 */
	uint64_t number;
};

struct coroi_actors {
	struct coro_scheduler *sched;
	struct coroi_clock clock;
	/* See passive.c. The shortest idle time of a kind, ns, 0: none; the sweeper's handle, 0: it
	 * has not begun. Atomic. */
	struct {
		uint64_t least;
		coro_handle handle;
	} sweep;

	struct coroi_lock lock; /* of the places and their figures */
	struct coroi_place *free;
	struct coroi_places *chunks; /* the first is the one that is carved */
	uint64_t live, spawned, retired;
	bool closed;

	uint32_t refuses; /* a close has begun. Atomic, relaxed: threads outside look */

	struct coroi_lock messages; /* of what follows */
	struct coroi_magazine *full, *empty;
	struct coro_message *carve, *carve_end;
	struct coro_message *mapped; /* the chunks, linked by their first message */
	uint64_t bytes, limit;

	uint64_t dead[CORO_DEAD_CAUSES], taken_back; /* atomic: statistics */

	struct coroi_spin sides[COROI_SIDE_LOCKS];

	struct coroi_hand outside[COROI_HANDS_OUTSIDE];
	uint32_t workers;
	struct coroi_hand hand[]; /* of each worker */
};

/* coroi_actors_of - the actors of a scheduler, which are made if need be. NULL: no memory. Thread:
 * any, while the scheduler is not destroyed. */
struct coroi_actors *coroi_actors_of(struct coro_scheduler *s);

/* coroi_place_of - the place that a reference names. NULL: there is no such place. */
static inline struct coroi_place *coroi_place_of(coro_actor ref)
{
	uint64_t at = ref & COROI_LOW;
	struct coroi_places *chunk;

	if (coroi_unlikely(at >= (uint64_t)COROI_PLACES_CHUNKS * COROI_PLACES))
		return NULL;
	chunk = at_load_acq(&coroi_places_dir[at / COROI_PLACES]); /* pairs with places_take */
	return coroi_likely(chunk != NULL) ? (struct coroi_place *)(void *)chunk + at % COROI_PLACES
					   : NULL;
}

static inline struct coroi_places *coroi_places_of(const struct coroi_place *a)
{
	return (struct coroi_places *)((uintptr_t)a & ~(uintptr_t)(COROI_PLACES_BYTES - 1));
}

/* coroi_owner_of - the actors that the place belongs to, if the box is LIVE; else a value that may
 * only be compared. */
static inline struct coroi_actors *coroi_owner_of(const struct coroi_place *a)
{
	return at_load_acq(&coroi_places_of(a)->owner);
}

/* coroi_reference - the reference of the actor that is in the place now, with this box. */
static inline coro_actor coroi_reference(const struct coroi_place *a, uint64_t box)
{
	const struct coroi_places *chunk = coroi_places_of(a);

	return (box & COROI_BOX_GEN) | (uint64_t)chunk->id * COROI_PLACES |
	       (uint64_t)(a - (const struct coroi_place *)(const void *)chunk);
}

/* coroi_place_get - a free place, in all's lock. NULL: no memory. coroi_place_put - it was not used.
 * coroi_place_free - END3: the actor has ended; in no lock. coroi_places_give_back - `all` is
 * destroyed. */
struct coroi_place *coroi_place_get(struct coroi_actors *all);
void coroi_place_put(struct coroi_actors *all, struct coroi_place *a);
void coroi_place_free(struct coroi_actors *all, struct coroi_place *a);
void coroi_places_give_back(struct coroi_actors *all);

#define COROI_PACE_BITS 4 /* of a pace: 2^that messages from look to look at the clock (turn.c) */

/* coroi_check_kind - CORO_OK or CORO_EINVAL. */
int coroi_check_kind(const coro_actor_kind *kind);

/* ------------------------------------------------------------------------------- its words */

static inline void *coroi_pointer(uint64_t word)
{
	return (void *)(uintptr_t)(word & COROI_LOW);
}

static inline uint64_t coroi_pack(const void *p, uint64_t high)
{
	return (uintptr_t)p | high << COROI_HIGH_SHIFT;
}

static inline bool coroi_has(const struct coroi_place *a, unsigned flag)
{
	return at_load_rlx(&a->kind) >> COROI_HIGH_SHIFT & flag;
}

/* coroi_stays - the flags that an actor has from its spawn to its end. */
static inline uint64_t coroi_stays(const struct coroi_place *a)
{
	return at_load_rlx(&a->kind) >> COROI_HIGH_SHIFT & ~COROI_P_TABLE;
}

/* coroi_pin_of - the worker that the actor is pinned to, and 1; 0: none. */
static inline uint32_t coroi_pin_of(const struct coroi_place *a)
{
	uint64_t flags = coroi_stays(a);

	return flags & COROI_P_PINNED ? (uint32_t)(flags >> COROI_P_WORKER_SHIFT) + 1 : 0;
}

/* coroi_state - the user's. coroi_pace, coroi_set_pace - thread: the turn. */
static inline void *coroi_state(const struct coroi_place *a)
{
	return coroi_pointer(at_load_rlx(&a->state));
}

static inline unsigned coroi_pace(const struct coroi_place *a)
{
	return (unsigned)(at_load_rlx(&a->state) >> COROI_HIGH_SHIFT) &
	       ((1u << COROI_PACE_BITS) - 1);
}

static inline void coroi_set_pace(struct coroi_place *a, unsigned pace, uint64_t stamp)
{
	at_store_rlx(&a->state, coroi_pack(coroi_state(a), stamp << COROI_PACE_BITS | pace));
}

/* coroi_kind_of - thread: the turn. */
static inline const coro_actor_kind *coroi_kind_of(const struct coroi_place *a)
{
	uint64_t word = at_load_acq(&a->kind); /* pairs with side_make: the table is seen whole */

	if (coroi_unlikely(word >> COROI_HIGH_SHIFT & COROI_P_SIDE))
		return ((const struct coroi_side *)coroi_pointer(word))->kind;
	return coroi_pointer(word);
}

static inline struct coro_message *coroi_pending(const struct coroi_place *a)
{
	return coroi_pointer(at_load_rlx(&a->pending));
}

/* coroi_behind - how many messages the turn has taken and not handled. */
static inline uint32_t coroi_behind(const struct coroi_place *a)
{
	return (uint32_t)(at_load_rlx(&a->pending) >> COROI_HIGH_SHIFT);
}

static inline void coroi_set_pending(struct coroi_place *a, struct coro_message *m, uint32_t n)
{
	at_store_rlx(&a->pending, coroi_pack(m, n < COROI_DEPTH_MOST ? n : COROI_DEPTH_MOST));
}

/* coroi_add_pending - m comes behind last, the last of `pending`. Thread: as `pending`. Returns:
 * how many there are. */
static inline uint64_t coroi_add_pending(struct coroi_place *a, struct coro_message *last,
					 struct coro_message *m)
{
	uint64_t pending = at_load_rlx(&a->pending);

	m->next_ = NULL;
	last->next_ = m;
	if (coroi_likely(pending >> COROI_HIGH_SHIFT < COROI_DEPTH_MOST))
		pending += UINT64_C(1) << COROI_HIGH_SHIFT;
	at_store_rlx(&a->pending, pending);
	return pending >> COROI_HIGH_SHIFT;
}

/* -------------------------------------------------------------------------------- messages */

/* coroi_hand_refill, coroi_hand_trade - coroi_message_get and coroi_message_put where there is no
 * spare one, and where there are COROI_IN_HAND. Refill returns false at the limit, or where
 * there is no memory. */
COROI_COLD bool coroi_hand_refill(struct coroi_hand *h);
COROI_NOINLINE void coroi_hand_trade(struct coroi_hand *h);

/* coroi_messages_free - `all` is destroyed. */
void coroi_messages_free(struct coroi_actors *all);

/* coroi_message_of - one of the spare messages of h; there are `count`, 1 or more.
 * coroi_message_own - the same for a message that the sending worker is to handle: its cache has
 * it. */
static inline struct coro_message *coroi_message_of(struct coroi_hand *h, uint32_t count)
{
	uint32_t i = count - 1;
	struct coro_message *m = h->spare[i];

	h->count = i;
	coroi_prefetchw(h->spare[i > COROI_SPARE_AHEAD ? i - COROI_SPARE_AHEAD : 0]);
	return m;
}

static inline struct coro_message *coroi_message_own(struct coroi_hand *h, uint32_t count)
{
	struct coro_message *m = h->spare[--count];

	h->count = count;
	return m;
}

static inline struct coro_message *coroi_message_get(struct coroi_hand *h)
{
	if (coroi_unlikely(!h->count) && !coroi_hand_refill(h))
		return NULL;
	return coroi_message_of(h, h->count);
}

static inline void coroi_message_put(struct coroi_hand *h, struct coro_message *m)
{
	if (coroi_unlikely(h->count == COROI_IN_HAND))
		coroi_hand_trade(h);
	h->spare[h->count++] = m;
}

/* The locks of the hands for threads outside, by the address of a thread's stack, for all
 * schedulers. A thread that has one finds a box LIVE: then the actors' scheduler is not destroyed
 * before the thread leaves. For END1 of all actors comes before outside_await (open.c), which takes
 * each lock once, and outside_await comes before the destroy. So a send from outside needs no other
 * mark. */
struct coroi_hand_lock {
	struct coroi_spin lock;
} __attribute__((aligned(COROI_APART)));

extern struct coroi_hand_lock coroi_hand_locks[COROI_HANDS_OUTSIDE];

/* coroi_outside_enter - take the caller's lock. Returns: its number. */
static inline unsigned coroi_outside_enter(void)
{
	char here;
	unsigned i = (uintptr_t)&here >> 14 & (COROI_HANDS_OUTSIDE - 1);

	coroi_spin_lock(&coroi_hand_locks[i].lock);
	return i;
}

static inline void coroi_outside_leave(unsigned i)
{
	coroi_spin_unlock(&coroi_hand_locks[i].lock);
}

/* coroi_hand_of - that of w, from coroi_here; NULL: there is none. */
static inline struct coroi_hand *coroi_hand_of(struct coroi_worker *w)
{
	return at_load_acq(coroi_room(w)); /* pairs with the store in open.c */
}

/* coroi_hand_here - the hand of the calling worker, or NULL: it is none, or belongs to another
 * scheduler than `all`, or runs no coroutine. */
static inline struct coroi_hand *coroi_hand_here(const struct coroi_actors *all)
{
	struct coroi_worker *w = coroi_here();
	struct coroi_hand *h = coroi_hand_of(w);

	return h && h->actors == all && coroi_current_here(w) ? h : NULL;
}

/* coroi_set_head - all of a message but its link and its payload, in one store. Its depth is 0. */
static inline void coroi_set_head(struct coro_message *m, uint32_t kind, uint8_t flags,
				  uint8_t bytes)
{
	typedef uint64_t __attribute__((may_alias)) word;
	_Static_assert(offsetof(struct coro_message, depth_) == 8 &&
			       offsetof(struct coro_message, flags_) == 10 &&
			       offsetof(struct coro_message, bytes) == 11 &&
			       offsetof(struct coro_message, kind) == 12 &&
			       __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
		       "in this order");

	at_store_own((word *)(void *)&m->depth_,
		     (uint64_t)kind << 32 | (uint64_t)bytes << 24 | (uint64_t)flags << 16);
}

/* Flags of a message. */
enum {
	COROI_M_BLOCK = 1,    /* it owns a block */
	COROI_M_DRAIN = 2,    /* no message for the behaviour: the actor ends here */
	COROI_M_ASK = 4,      /* words[4] and [5] say who waits for an answer */
	COROI_M_CREDIT = 8,   /* it has a space in a bounded mailbox */
	COROI_M_URGENT = 16,  /* it overtakes */
	COROI_M_LENDS = 32,   /* it asks, and the asker lends: see ask.c */
	COROI_M_CARRIES = 64, /* it has buffers: see carries.c */
};

/* words[5] of a message that asks, or carries; and so the second word of who waits for an answer.
 * From the lowest bit: the number of a question, or the kind of the answer as a message; which
 * words of the message have buffers; which of the answer; COROI_BY_CALL: the first of the two words
 * is a question. A question that is asked again each 100 ns has numbers for 7 years. */
#define COROI_ASK_NUMBER    ((UINT64_C(1) << 51) - 1)
#define COROI_CARRIES_SHIFT 51
#define COROI_ANSWERS_SHIFT 57
#define COROI_CARRY_WORDS   UINT64_C(63)
#define COROI_BY_CALL       (UINT64_C(1) << 63)

/* coroi_carried - which of the first `bytes` have buffers, by the bits that stand at `shift`. */
static inline uint64_t coroi_carried(uint64_t bits, unsigned shift, size_t bytes)
{
	return bits >> shift & COROI_CARRY_WORDS & ((UINT64_C(1) << bytes / 8) - 1);
}

/* coroi_carries_here - where messages to the actor have buffers, and its answers, in the bits of
 * words[5]; 0: it has ended. Thread: on a worker of `all`, or in a visit. coroi_carries_of - the
 * same for any thread. Returns: CORO_OK and *out, or as coroi_visit_begin. */
COROI_COLD uint64_t coroi_carries_here(struct coroi_actors *all, const struct coroi_place *a,
				       coro_actor to);
COROI_COLD int coroi_carries_of(const struct coroi_place *a, coro_actor to, uint64_t *out);

/* coroi_carry_into - BUF2 of the buffers of m, which is filled in; bits: as of coroi_carries_of.
 * Returns: CORO_OK; CORO_EINVAL, CORO_EBUSY: nothing was passed. coroi_carry_back - m is not sent,
 * or was taken back unseen: the sender owns its buffers as before. coroi_carry_end - m is dead: its
 * buffers are freed. coroi_carry_pass - BUF2 of a payload's copy; returns as coroi_carry_into. */
COROI_COLD int coroi_carry_into(struct coro_message *m, uint64_t bits);
COROI_COLD void coroi_carry_back(struct coro_message *m);
COROI_COLD void coroi_carry_end(struct coro_message *m);
COROI_COLD int coroi_carry_pass(void *copy, uint64_t mask);

/* coroi_bury - m, which was accepted for `to`, is a dead letter. It is given back to h, or, if h is
 * NULL, to nobody: the memory is about to go. */
void coroi_bury(struct coroi_actors *all, struct coroi_hand *h, coro_actor to,
		struct coro_message *m, int cause);

/* coroi_took_back - m, which was accepted, is nobody's: its sender has taken it back. m is dropped,
 * and h as for coroi_bury. */
COROI_COLD void coroi_took_back(struct coroi_actors *all, struct coroi_hand *h,
				struct coroi_place *a, struct coro_message *m);

/* coroi_drop - m is handled, or dead: its buffer is destroyed, the one that waits for its answer is
 * told that there is none, and its credit goes back to the place. */
COROI_COLD void coroi_drop(struct coroi_place *a, struct coro_message *m);

/* ------------------------------------------------------------ sending: visit.c, change.c, send.c */

/* coroi_may_enter - a guest has come: is the actor still there, and open for those outside? A box
 * that is LIVE after coroi_guest_begin is so until the end of the visit, or END1 of the close comes
 * first. */
int coroi_may_enter(const struct coroi_place *a, coro_actor ref);

/* Where the caller is: on a worker of `all`, or outside of it, where `all` is not destroyed
 * meanwhile. */
struct coroi_visit {
	struct coroi_actors *all;
	uint32_t *guest; /* NULL: on a worker */
};

/* coroi_visit_begin - CORO_OK and *v, which is to be ended; CORO_ESTALE: the actor has ended;
 * CORO_ECLOSED: a close has begun, and the caller is outside. The
 * visitor is on a worker after that, or stays outside. */
int coroi_visit_begin(struct coroi_visit *v, const struct coroi_place *a, coro_actor ref);
void coroi_visit_end(const struct coroi_visit *v);

/* coroi_visit_get, coroi_visit_put - a message. NULL: no memory. */
struct coro_message *coroi_visit_get(const struct coroi_visit *v);
void coroi_visit_put(const struct coroi_visit *v, struct coro_message *m);

/* coroi_visit_count - n messages were accepted. */
void coroi_visit_count(const struct coroi_visit *v, uint32_t n);

/* coroi_post - SND1 and SND2 of one message. coroi_mark - CTL2. Returns: as coro_actor_send. */
int coroi_post(struct coroi_actors *all, struct coroi_place *a, coro_actor to,
	       struct coro_message *m);
int coroi_mark(struct coroi_actors *all, struct coroi_place *a, coro_actor to, uint64_t mark);

/* coroi_mark_dormant - PSV1: CTL2 if the actor is dormant, else nothing. */
int coroi_mark_dormant(struct coroi_actors *all, struct coroi_place *a, coro_actor to,
		       uint64_t mark);

/* coroi_send_asking - coro_actor_send_until of a message that asks, with the words that say who
 * waits for the answer. coroi_send_back - send an answer, or that there is none; it needs no space
 * in a bounded mailbox. */
struct coroi_asks {
	uint64_t words[2];
	uint64_t carried; /* out: which words of the message have buffers */
};
int coroi_send_asking(coro_actor to, uint32_t kind, const void *payload, size_t bytes,
		      struct coroi_asks *ask, bool lends, uint64_t deadline);
int coroi_send_back(coro_actor asker, uint32_t kind, const void *payload, size_t bytes,
		    uint64_t buffers);

/* coroi_write - fill m in. coroi_write_for - the same for a user's message to an actor, with its
 * buffers. Thread: as coroi_carries_here. Returns: CORO_OK, CORO_EINVAL, CORO_EBUSY, CORO_ESTALE. */
void coroi_write(struct coro_message *m, uint32_t kind, uint8_t flags, const void *payload,
		 size_t bytes);
int coroi_write_for(struct coroi_actors *all, const struct coroi_place *a, coro_actor to,
		    struct coro_message *m, uint32_t kind, uint8_t flags, const void *payload,
		    size_t bytes);

/* -------------------------------------------------------------------------- side tables, side.c */

static inline struct coroi_spin *coroi_side_lock(struct coroi_actors *all,
						 const struct coroi_place *a)
{
	return &all->sides[(uintptr_t)a / sizeof *a % COROI_SIDE_LOCKS];
}

/* coroi_urgent_take - CTL3: what overtakes, oldest first. */
struct coro_message *coroi_urgent_take(struct coroi_actors *all, struct coroi_place *a);

/* coroi_side_end - END2: the place has no side table any more. Returns: what it had, or NULL, to be
 * given to coroi_side_tell, which tells those that watch, if `tells`, and frees it. */
struct coroi_side *coroi_side_end(struct coroi_actors *all, struct coroi_place *a);
void coroi_side_tell(struct coroi_actors *all, struct coroi_side *side, coro_actor who, int cause,
		     bool tells);

/* coroi_bound_make - a bounded mailbox for a new actor, whose box is not LIVE yet. Returns:
 * CORO_OK, CORO_ENOMEM. coroi_bound_enter - take a space in it. Returns: CORO_OK, CORO_EOVERFLOW,
 * CORO_ETIMEDOUT, CORO_ESTALE or what coro_sem_acquire does. coroi_bound_leave - give one back;
 * thread: the turn. */
int coroi_bound_make(struct coroi_place *a, const coro_actor_kind *kind);
int coroi_bound_enter(struct coroi_visit *v, struct coroi_place *a, coro_actor to,
		      uint64_t deadline);
void coroi_bound_leave(struct coroi_place *a, coro_actor to, struct coroi_actors *all);

/* -------------------------------------------------------------------------------------- ask.c */

/* coroi_unanswered - the asker of m gets no answer. */
void coroi_unanswered(struct coro_message *m);

/* coroi_ask_begin - ASK2 of a message that lends, from now on shown to the user's code. False: its
 * asker has taken it back, and it is to be dropped. coroi_ask_left - ASK3 of the first n of a list,
 * which the user's code sees no more. */
COROI_COLD bool coroi_ask_begin(const struct coro_message *m);
COROI_COLD void coroi_ask_left(struct coro_message *m, uint32_t n);

/* coroi_sweep_for - an actor of a kind with an idle time is about to be made, in the lock. Returns:
 * as coro_spawn_attr. coroi_stamp - the stamp of now. coroi_is_old - by its stamp the actor had no
 * message for its idle time, as seen at the time now, ns; the stamp may be later. */
int coroi_sweep_for(struct coroi_actors *all, const coro_actor_kind *kind);
uint64_t coroi_stamp(const coro_actor_kind *kind);
bool coroi_is_old(const struct coroi_place *a, const coro_actor_kind *kind, uint64_t now);

/* coroi_later_end - LTR2: what was to be sent to an actor later, after END1, where clock.n is not
 * 0. Returns: the messages, linked by next_, in the order of the calls. Thread: a worker of all. */
struct coro_message *coroi_later_end(struct coroi_actors *all, coro_actor to);

/* coroi_clock_close - no worker runs: what was to be sent is dead. */
void coroi_clock_close(struct coroi_actors *all);

/* coroi_turn_here - the turn that the caller is in; NULL: none. */
static inline coro_actor_turn *coroi_turn_here(void)
{
	return coroi_task_here(coroi_self());
}

/* coroi_turn - the body of all turns: see turn.c. coroi_turn_ended - of coroi_tasks. */
void coroi_turn(void *arg, void *result);
void coroi_turn_ended(void *arg, bool aborted);

/* ---------------------------------------------------------------------------------- ends, end.c */

/* coroi_back - what the user's function has done is over: be on a worker, with nothing deferred. */
static inline void coroi_back(void)
{
	if (coroi_unlikely(!coroi_self()))
		coroi_on_end_elsewhere();
	coroi_end_call();
}

/* coroi_actor_end - END1 to END3: the actor ends, and m, which was taken before and is not handled,
 * is dead. coroi_actor_end_after - END2 and END3, after END1. box: what was there. Thread: the
 * turn. */
COROI_COLD void coroi_actor_end(struct coroi_place *a, coro_actor self, struct coro_message *m,
				int cause);
COROI_COLD void coroi_actor_end_after(struct coroi_place *a, coro_actor self, uint64_t box,
				      struct coro_message *m, int cause);

/* coroi_actor_close - the actor that is in the place ends with its scheduler. Thread: the closing
 * one; no worker runs. */
void coroi_actor_close(struct coroi_actors *all, struct coroi_place *a);

#endif
