/*
 * slot.h - the slots of descriptors (fd.h), by their numbers.
 */
#ifndef COROI_SLOT_H
#define COROI_SLOT_H

#include "base/atomics.h"
#include "base/lock.h"

#include <stdbool.h>
#include <stddef.h>

struct coro_scheduler;

struct coroi_slot {
	uint64_t word;                /* atomic */
	uint64_t in, out;             /* atomic */
	struct coro_scheduler *sched; /* set before OPEN; atomic */
	struct coroi_lock lock;       /* of `set`, and of cases of a select */
	uint32_t hung;                /* EPOLLRDHUP, EPOLLHUP, EPOLLERR, COROI_FD_ENDS; atomic */
	uint16_t set;                 /* written with the lock; atomic, since FDC4 looks without */
	uint8_t strays; /* the last wait found the descriptor in another worker's set; atomic */
	uint8_t kind;   /* COROI_KIND_FILE... */
	bool drained;   /* the reader's */
	bool keep;
	uint8_t no_nowait; /* a file without RWF_NOWAIT; atomic, relaxed: a hint */
	uint8_t mode;      /* this, and what follows: see mode.h; atomic, relaxed */
	uint32_t file, next;
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct coroi_slot) == 64, "a slot is a cache line");

/* Slots come in chunks, for numbers up to 2^24. The kernel gives the lowest free number. */
#define COROI_SLOT_CHUNK  1024u
#define COROI_SLOT_CHUNKS (1u << 14)

/* Atomic, release: a chunk is seen whole. It stays for good. */
extern struct coroi_slot *coroi_slots[COROI_SLOT_CHUNKS] __attribute__((visibility("hidden")));

/* coroi_slot_at - the slot of a number that was adopted once; NULL: it never was. */
static inline struct coroi_slot *coroi_slot_at(uint32_t number)
{
	uint32_t i = number / COROI_SLOT_CHUNK;
	struct coroi_slot *chunk = i < COROI_SLOT_CHUNKS ? at_load_acq(&coroi_slots[i]) : NULL;

	return chunk ? &chunk[number % COROI_SLOT_CHUNK] : NULL;
}

/* coroi_slot_for - the same, made if need be. NULL: no memory, or the number is too large. */
struct coroi_slot *coroi_slot_for(uint32_t number);

#endif
