/*
 * record.h - what the core knows of one scheduled coroutine, in two cache lines that lie apart.
 *
 * The hot line is all that a spawn without arguments, a switch and an end touch. The words are
 * plain integers, so that Go can fill a record in; which of them are atomic is said at each.
 */
#ifndef COROI_RECORD_H
#define COROI_RECORD_H

#include "base/atomics.h"
#include "coro.h"

#include <string.h>

struct coroi_stack;
struct coroi_extras;

/* A record's state. Changed inside its home's door, but for FREE -> FRESH (by the only one who has
 * it) and ENDED -> FREE (by its joiner). Atomic, since others look at it; what they then may
 * conclude, is_home_locked in wait.c tells. */
enum {
	COROI_FREE = 0, /* in a magazine, or in one never yet */
	COROI_FRESH,    /* spawned with a record, never run: it has no stack */
	COROI_ACTIVE,   /* running, or in a queue */
	COROI_PARKED,   /* waits for a permit */
	/* waits for an event, and may still take back what it has registered for it */
	COROI_WAITING,
	COROI_ENDED,     /* joinable, and not joined yet */
	COROI_COMMITTED, /* waits for an event that is committed to come */
};

/* Flags. Written by who spawns it, then by the coroutine itself, then by whoever ends it. */
enum {
	COROI_F_JOINABLE = 1,
	COROI_F_ABORTED = 2,  /* ends by coro_abort */
	COROI_F_NO_STACK = 4, /* never had a stack */
	COROI_F_CANCELED = 8, /* ended unstarted by a close or a cancel, or by coro_exit_canceled */
	COROI_F_EXTRAS = 16,  /* it has deferred functions or an arena */
	COROI_F_PINNED = 32,  /* it stays with its worker */
	/* it may wait for somebody outside: a cancel of it is told to the services */
	COROI_F_TOLD = 64,
};

/* The hot line. */
struct coroi_rec {
	void *sp; /* the suspended context; NULL while it never ran */
	coro_fn fn;
	struct coroi_stack *stack; /* NULL until it runs */
	/* atomic: generation << 32 | ESCAPED | EVENT | CANCEL | count; see wait.c */
	uint64_t wake;
	/* link of a spawn in an inbox, or in a spill list, or of the waiting for a stack or done;
	 * two of its timer */
	uint64_t next;
	uint64_t wake_next; /* link of a remote wake in an inbox */

	/* One 8-byte store for whoever spawns: */
	/* atomic, relaxed: wakers peek. Of an ended one: the slot of the goroutine that waits for
	 * it */
	uint32_t permits;
	/* worker; atomic, relaxed. Set once it has started or its handle has escaped */
	uint16_t home;
	uint8_t state;
	uint8_t flags;

	/* And another. */
	uint8_t class; /* of its stack */
	uint8_t arg_bytes;
	uint8_t result_bytes;
	/* what its wait will return; CORO_OK but from coroi_resume_locked until it goes on */
	int8_t code;
	uint8_t event; /* what it waits for inside coro has happened, before it suspended */
	/* by coro_cancel: it does not start, and its waits return CORO_ECANCELED */
	uint8_t canceled;
	uint8_t waits; /* what for: CORO_WAIT_PARK... */
	/* it waits with a deadline: `next` links it to its neighbours, see timer.h */
	uint8_t armed;
} __attribute__((aligned(64)));

/* The cold line, at the same place in the second half of its chunk. */
struct coroi_cold {
	unsigned char payload[CORO_INLINE_BYTES]; /* first the argument, then the result */
	union {
		/* with COROI_F_EXTRAS: deferred functions and arena */
		struct coroi_extras *extras;
		/* else, while it is armed: when it is to be woken; see timer.h */
		uint64_t tick;
	};
	uint64_t join; /* atomic: generation << 32 | who; see join.c */
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct coroi_rec) == 64, "the hot words are one cache line");
_Static_assert(sizeof(struct coroi_cold) == 64, "the cold words are one cache line");

/* Records come in chunks of 2 MiB, aligned to their size. Hot lines are next to hot lines: a run
 * over many coroutines without arguments touches half of the memory, and the prefetchers bring what
 * is needed. A scheduler's first chunk is of small pages: few coroutines then use few of them, and
 * whoever spawns first does not wait for a huge page to be found and cleared, which takes up to 5
 * ms. Later ones are huge: 320 000 dense coroutines run 5 to 9 % faster. */
#define COROI_CHUNK_BYTES ((size_t)2 << 20)
/* the first is the header */
#define COROI_CHUNK_RECORDS (COROI_CHUNK_BYTES / 2 / sizeof(struct coroi_rec))

static inline struct coroi_cold *coroi_cold(const struct coroi_rec *r)
{
	return (struct coroi_cold *)((uintptr_t)r + COROI_CHUNK_BYTES / 2);
}

/* The wake word. */
#define COROI_GEN_SHIFT 32
/* its handle is known to somebody: others may change this word */
#define COROI_ESCAPED    (UINT64_C(1) << 31)
#define COROI_EVENT      (UINT64_C(1) << 30) /* what it waits for inside coro may have happened */
#define COROI_CANCEL     (UINT64_C(1) << 29) /* it is to be cancelled */
#define COROI_COUNT_MASK (COROI_CANCEL - 1)
/* not zero: the record is a node */
#define COROI_WAKE_MASK   (COROI_EVENT | COROI_CANCEL | COROI_COUNT_MASK)
#define COROI_PERMITS_MAX (1u << 28)

static inline uint32_t coroi_gen(uint64_t word)
{
	return (uint32_t)(word >> COROI_GEN_SHIFT);
}

/* What a spawn asks for, checked. */
struct coroi_fill {
	coro_fn fn;
	uint8_t class, flags, arg_bytes, result_bytes;
};

/* Eight bytes of a record, whatever they are. */
typedef uint64_t __attribute__((may_alias)) coroi_words;

/* coroi_fill - make r a fresh coroutine but for its argument. Its generation is already in the wake
 * word. */
static inline void coroi_fill(struct coroi_rec *r, const struct coroi_fill *q, uint16_t home)
{
	uint64_t first = (uint64_t)home << 32 | (uint64_t)COROI_FRESH << 48 |
			 (uint64_t)q->flags << 56;
	uint64_t second = (uint64_t)q->class | (uint64_t)q->arg_bytes << 8 |
			  (uint64_t)q->result_bytes << 16;

	r->sp = NULL;
	r->fn = q->fn;
	r->stack = NULL;
	/* Relaxed: whoever looks with a stale handle is told by the generation, which it looks at
	 * last. */
	at_store_rlx((coroi_words *)&r->permits, first);
	at_store_rlx((coroi_words *)&r->class, second);
}

static inline void coroi_fill_argument(struct coroi_rec *r, const void *arg, size_t arg_bytes)
{
	if (arg_bytes)
		memcpy(coroi_cold(r)->payload, arg, arg_bytes);
}

/* How many free records travel together. */
#define COROI_MAG_RECORDS 62

/* A magazine: a box of free records. Full, it goes from the slab to whoever needs them; empty, it
 * collects free ones again. */
struct coroi_mag {
	uint64_t next; /* in the slab's lists */
	uint32_t count;
	uint32_t number; /* in its block of memory */
	struct coroi_rec *rec[COROI_MAG_RECORDS];
};

_Static_assert(sizeof(struct coroi_mag) == 512, "a magazine is eight cache lines");

#endif
