/*
 * record.h - what the core knows of one scheduled coroutine, in two cache lines that lie apart.
 *
 *      chunk of 2 MiB   | header | hot 1 | hot 2 ...... | (header) | cold 1 | cold 2 ...... |
 *                       0        64                     1 MiB
 *
 * A spawn without arguments, a switch and an end touch the hot line only. The words are plain
 * integers, so that Go can fill a record in. Each atomic word is marked so.
 */
#ifndef COROI_RECORD_H
#define COROI_RECORD_H

#include "base/atomics.h"
#include "base/copy.h"
#include "coro.h"
#include "kernel/probe.h"

#include <string.h>

struct coroi_stack;
struct coroi_extras;

/* A record's state. It changes inside the door of its home, but for two: FREE -> FRESH, by the
 * spawner, and ENDED -> FREE, by the joiner. Atomic, since others look at it; is_home_locked in
 * wait.c tells what they may conclude. */
enum {
	COROI_FREE = 0, /* in a magazine, or never used */
	COROI_FRESH,    /* spawned with a record, and never run: it has no stack */
	COROI_ACTIVE,   /* running, in a queue, or in an inline call of Go */
	COROI_PARKED,   /* waits for a permit */
	/* Waits for an event, and may still take its registration back. */
	COROI_WAITING,
	COROI_ENDED,     /* joinable, and not joined yet */
	COROI_COMMITTED, /* waits for an event that is committed to come */
};

/* Flags. The spawner writes them, then the coroutine itself, then the worker that ends it. */
enum {
	COROI_F_JOINABLE = 1,
	COROI_F_ABORTED = 2,  /* ends by coro_abort */
	COROI_F_NO_STACK = 4, /* ended unstarted: there was no stack */
	/* ended unstarted by a close or a cancel; of a Go body also: canceled, and its error says
	 * so */
	COROI_F_CANCELED = 8,
	COROI_F_EXTRAS = 16, /* has deferred functions or an arena */
	/* May wait for something outside of the kernel: the services are told of a cancel. The
	 * first such wait sets the flag, and the record's next spawn clears it. To clear it after
	 * each wait would take the door again, and saves a service no more than one look. */
	COROI_F_TOLD = 32,
	/* The two highest, so that one comparison tells whether both are set. */
	COROI_F_NAMED = 64,   /* has escaped: its name is never another's (slab.h) */
	COROI_F_PINNED = 128, /* stays with its worker */
};

/* More flags. They change inside the door, or by the coroutine itself while it runs, or by the
 * owner of its end. */
enum {
	/* The coroutine waits with a deadline, and `next` links it to its neighbours: timer.h. */
	COROI_M_ARMED = 1,
	COROI_M_FAILED = 2, /* with COROI_F_ABORTED: ends by coro_fail; see coroi_failed */
	/* CORO_DAEMON. ESCAPED is set from the spawn on, so that the end takes the slow way, where
	 * daemons are counted. */
	COROI_M_DAEMON = 4,
	/* The coroutine waits for a descriptor, and is counted in its home's `outside`. */
	COROI_M_OUTSIDE = 8,
	/* It was named (COROI_F_NAMED): it may own a lock at its end. */
	COROI_M_OWNER = 16,
	/* A parent has called the coroutine, and is below it on its stack: see inlined.h. */
	COROI_M_INLINED = 32,
	/* Such a parent: `next` is its child. */
	COROI_M_INLINES = 64,
	COROI_M_FORK = 128, /* the child of a fork (fork.h), INLINED or not */
};

/* What a record has of a cancel. Not 0: no wait takes a fast path. A fresh coroutine has CANCELED
 * alone, or nothing. */
enum {
	COROI_C_CANCELED = 1, /* by coro_cancel */
	/* A wait has returned CORO_ECANCELED, or coro_canceled 1: if the body just returns now, it
	 * is canceled. */
	COROI_C_TOLD = 2,
	/* In a shield section whose deadline has not been seen to be over: see shield.c. */
	COROI_C_SHIELDED = 4,
};

/* The hot line. */
struct coroi_rec {
	void *sp; /* the suspended context; NULL: the coroutine has never run */
	coro_fn fn;
	struct coroi_stack *stack; /* NULL until the coroutine runs */
	/* The wake word: generation << 32 | ESCAPED | EVENT | CANCEL | count. Atomic; see
	 * wait.c. */
	uint64_t wake;
	/* The link in one list at a time: a node of an inbox or undelivered (spawn, moved),
	 * spilled, awaiting a stack, or `done` of gobell.h. While a timer is armed: the two links
	 * of timer.h. Of COROI_M_INLINES: the child. */
	uint64_t next;
	uint64_t wake_next; /* link in an inbox, of a remote wake */

	/* permits, home, state and flags are one 8-byte store of a spawn. */
	/* Permits that no coro_park has taken. Atomic, relaxed: wakers peek. Of a coroutine that
	 * has ended: Go's number for the goroutine that waits for it. */
	uint32_t permits;
	/* The home: a worker's id. Atomic. Set once the coroutine has started or its handle has
	 * escaped. */
	uint16_t home;
	uint8_t state;
	uint8_t flags;

	/* The fields from here on are another. */
	uint8_t class; /* of its stack */
	uint8_t arg_bytes;
	uint8_t result_bytes;
	/* What the coroutine's wait returns when it goes on. CORO_OK, but after
	 * coroi_resume_locked. */
	int8_t code;
	uint8_t event; /* the event came before the coroutine suspended */
	/* COROI_C_... Written in the home's door; the coroutine looks without, relaxed, and a thief
	 * that has the door may set COROI_C_CANCELED meanwhile. */
	uint8_t canceled;
	uint8_t waits; /* what for: CORO_WAIT_PARK... Atomic, relaxed: others look (nostack.c). */
	uint8_t more;  /* COROI_M_... Written in the home's door, or as coroi_more_add does. */
} __attribute__((aligned(64)));

/* The cold line. It lies where the hot line does, in the second half of the chunk. */
struct coroi_cold {
	/* First the argument, then the result. With COROI_M_FAILED at the end: a struct
	 * coroi_failure. */
	unsigned char payload[CORO_INLINE_BYTES] __attribute__((aligned(16)));
	union {
		/* With COROI_F_EXTRAS: deferred functions and arena. */
		struct coroi_extras *extras;
		/* Without, with COROI_M_ARMED: the tick of the deadline; see timer.h. */
		uint64_t tick;
	};
	uint64_t join; /* atomic: generation << 32 | kind | index; see join.c */
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct coroi_rec) == 64, "the hot words are one cache line");
_Static_assert(sizeof(struct coroi_cold) == 64, "the cold words are one cache line");

/* Records come in chunks of 2 MiB, aligned to their size. Hot lines lie beside hot lines. So a run
 * over many coroutines without arguments touches half of the memory, and the prefetchers bring what
 * is needed.
 *
 * A scheduler's first chunk is of small pages: few coroutines then use few of them, and the first
 * spawn does not wait until a huge page is found and cleared. Later chunks are of huge pages, which
 * make many coroutines faster. docs/benchmarks.md has figures. */
#define COROI_CHUNK_BYTES ((size_t)2 << 20)
/* Number 0 is the header. */
#define COROI_CHUNK_RECORDS (COROI_CHUNK_BYTES / 2 / sizeof(struct coroi_rec))

/* coroi_cold - the cold line of r. */
static inline struct coroi_cold *coroi_cold(const struct coroi_rec *r)
{
	return (struct coroi_cold *)((uintptr_t)r + COROI_CHUNK_BYTES / 2);
}

/* coroi_rec_of - the record whose payload that is. */
static inline const struct coroi_rec *coroi_rec_of(const void *payload)
{
	return (const struct coroi_rec *)((uintptr_t)payload - COROI_CHUNK_BYTES / 2);
}

/* The wake word. */
#define COROI_GEN_SHIFT 32
/* The handle is known to somebody, so others may change this word. */
#define COROI_ESCAPED    (UINT64_C(1) << 31)
#define COROI_EVENT      (UINT64_C(1) << 30) /* the event may have happened */
#define COROI_CANCEL     (UINT64_C(1) << 29) /* the coroutine is to be cancelled */
#define COROI_COUNT_MASK (COROI_CANCEL - 1)
/* Not 0: the record is a node of an inbox, or about to be one. */
#define COROI_WAKE_MASK   (COROI_EVENT | COROI_CANCEL | COROI_COUNT_MASK)
#define COROI_PERMITS_MAX (1u << 28)

/* coroi_gen - the generation in a wake word or a join word. */
static inline uint32_t coroi_gen(uint64_t word)
{
	return (uint32_t)(word >> COROI_GEN_SHIFT);
}

/* What a spawn asks for, checked. */
struct coroi_fill {
	coro_fn fn;
	uint8_t class, flags, arg_bytes, result_bytes;
};

/* Eight bytes of a record, of whatever fields. */
typedef uint64_t __attribute__((may_alias)) coroi_words;

/* Half of an atomic word. */
typedef uint32_t __attribute__((may_alias)) coroi_half;

/* coroi_fill - make r a fresh coroutine but for its argument. The wake word has its generation
 * already. */
static inline void coroi_fill(struct coroi_rec *r, const struct coroi_fill *q, uint16_t home)
{
	uint64_t first = (uint64_t)home << 32 | (uint64_t)COROI_FRESH << 48 |
			 (uint64_t)q->flags << 56;
	uint64_t second = (uint64_t)q->class | (uint64_t)q->arg_bytes << 8 |
			  (uint64_t)q->result_bytes << 16;

	r->sp = NULL;
	r->fn = q->fn;
	r->stack = NULL;
	/* Relaxed: a thread with a stale handle looks at the generation last, and that tells it. */
	at_store_rlx((coroi_words *)&r->permits, first);
	at_store_rlx((coroi_words *)&r->class, second);
	COROI_PROBE(SPAWN, r);
}

/* coroi_fill_argument - copy the argument in. */
static inline void coroi_fill_argument(struct coroi_rec *r, const void *arg, size_t arg_bytes)
{
	if (arg_bytes)
		coroi_copy_few(coroi_cold(r)->payload, arg, arg_bytes);
}

/* Free records that travel together. */
#define COROI_MAG_RECORDS 62

/* A magazine: a box of free records. A full one goes from the slab to a user that needs records; an
 * empty one collects free records again. */
struct coroi_mag {
	uint64_t next; /* link in the slab's lists */
	uint32_t count;
	uint32_t number; /* index in its block of memory */
	struct coroi_rec *rec[COROI_MAG_RECORDS];
};

_Static_assert(sizeof(struct coroi_mag) == 512, "a magazine is eight cache lines");

#endif
