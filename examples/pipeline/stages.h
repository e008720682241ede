/* stages.h - the C coroutines of the pipeline, and what its stages share. */
#ifndef STAGES_H
#define STAGES_H

#include <stdint.h>

#define RING_BLOCKS 16
#define BLOCK_WORDS 256

/* What flows: block number i of the stream lies in place i % RING_BLOCKS of the ring, for all
 * stages. */
struct block {
	uint32_t words; /* in use; 0: the stream has ended */
	uint32_t unused;
	uint64_t word[BLOCK_WORDS];
};

/* A stage's argument. A stage has a permit for each block that is its turn. */
struct stage {
	struct block *ring;
	/* coro_handle of the stage after it, which gets a permit for each block that is done */
	uint64_t next;
};

/* struct stage: mixes the bits of each word; result uint64_t: how many words */
void scramble(void *arg, void *result);
/* struct stage: adds to each word all that came before; result likewise */
void sum_up(void *arg, void *result);

#endif
