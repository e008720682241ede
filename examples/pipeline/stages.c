#include "stages.h"

#include "coro.h"

/* take - wait for a block. When the coroutine is cancelled, it ends here. */
static struct block *take(const struct stage *s, uint64_t i)
{
	if (coro_park() != CORO_OK)
		coro_exit();
	return &s->ring[i % RING_BLOCKS];
}

void scramble(void *arg, void *result)
{
	const struct stage *s = arg;
	uint64_t *count = result;
	uint32_t words;
	uint64_t i = 0;

	do {
		struct block *b = take(s, i++);
		*count += words = b->words;
		for (uint32_t k = 0; k < words; k++) {
			uint64_t x = b->word[k] * 0x9e3779b97f4a7c15;
			b->word[k] = x ^ x >> 32;
		}
		coro_wake(s->next); /* the block is the next one's from here on */
	} while (words > 0);
}

void sum_up(void *arg, void *result)
{
	const struct stage *s = arg;
	uint64_t *count = result;
	uint64_t sum = 0, i = 0;
	uint32_t words;

	do {
		struct block *b = take(s, i++);
		*count += words = b->words;
		for (uint32_t k = 0; k < words; k++)
			b->word[k] = sum += b->word[k];
		coro_wake(s->next);
	} while (words > 0);
}
