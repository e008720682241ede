/*
 * parcel.h - many spawns from outside in one box.
 *
 * The sender has taken the records from the slab already, so that running out of them is its error, but does not
 * touch them: it writes the arguments, packed, into the parcel. The worker fills the records in. Records so stay in
 * the caches of those who run them, and what travels between cores is a few lines for a whole batch.
 */
#ifndef COROI_PARCEL_H
#define COROI_PARCEL_H

#include "slab.h"

#define COROI_PARCEL_ARGS 512 /* bytes of arguments */

struct coroi_parcel {
	uint64_t next;         /* in an inbox, in a worker's list of unopened ones, or in a list of spare ones */
	struct coroi_mag *mag; /* its last `count` records are the spawns, the first of them last */
	coro_fn fn;
	uint32_t count;
	uint32_t most;     /* how many fit: records, or bytes of arguments */
	uint8_t class;
	uint8_t arg_bytes; /* of each */
	uint8_t result_bytes;
	uint8_t same;      /* there is one argument for all of them */
	uint8_t spare[4];
	unsigned char args[COROI_PARCEL_ARGS] __attribute__((aligned(64)));
};

#define COROI_PARCELS_AT_ONCE 8

/* coroi_parcel_open - up to want (at most COROI_PARCELS_AT_ONCE) empty parcels with records. Returns how many; 0: no
 * memory. coroi_parcel_drop - one goes back unused. Thread: any. */
uint32_t coroi_parcel_open(struct coroi_slab *s, struct coroi_parcel **out, uint32_t want);
void coroi_parcel_drop(struct coroi_slab *s, struct coroi_parcel *x);

/* coroi_parcel_done - the worker whose magazines are m has taken what was in it. What is left goes back, several
 * parcels at a time. */
void coroi_parcel_done(struct coroi_mags *m, struct coroi_parcel *x);

/* coroi_parcels_trim - free the spare ones. Returns the bytes. */
size_t coroi_parcels_trim(struct coroi_slab *s);

#endif
