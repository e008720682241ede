/* stages.h - what the stages of the pipeline share. */
#ifndef STAGES_H
#define STAGES_H

#include "coro.h"

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
	/* the stage after it, which gets a permit for each block that is done */
	coro_handle next;
};

#endif
