#include "stages.h"

/* take - wait for a block. When the coroutine is cancelled, it ends here. */
static struct block *take(const struct stage *s, uint64_t i)
{
	if (coro_park() != CORO_OK)
		coro_exit();
	return &s->ring[i % RING_BLOCKS];
}

/* scramble - mixes the bits of each word. The result is the number of words. */
CORO_BODY(scramble, struct stage, uint64_t, 0)
{
	uint32_t words;
	uint64_t i = 0;

	do {
		struct block *b = take(arg, i++);
		*result += words = b->words;
		for (uint32_t k = 0; k < words; k++) {
			uint64_t x = b->word[k] * 0x9e3779b97f4a7c15;
			b->word[k] = x ^ x >> 32;
		}
		coro_wake(arg->next); /* the block is the next one's from here on */
	} while (words > 0);
}

/* sum_up - adds to each word all that came before. The result is the number of words. */
CORO_BODY(sum_up, struct stage, uint64_t, 0)
{
	uint64_t sum = 0, i = 0;
	uint32_t words;

	do {
		struct block *b = take(arg, i++);
		*result += words = b->words;
		for (uint32_t k = 0; k < words; k++)
			b->word[k] = sum += b->word[k];
		coro_wake(arg->next);
	} while (words > 0);
}
