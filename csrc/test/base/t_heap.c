/*
 * t_heap.c - the heap of dense coroutines: blocks of all sizes, disjoint, and nothing is left.
 */
#include "test.h"

#include "base/heap.h"

#include <string.h>

/* size - from one byte to some pages; a few are so large that they get a mapping of their own. */
static size_t size(uint64_t *seed)
{
	uint64_t r = rnd(seed);
	return r % 50 == 0   ? 16384 + r / 64 % 100000
	       : r % 10 == 0 ? 1 + r / 64 % 16384
			     : 1 + r / 64 % 1200;
}

TEST(heap_blocks_are_apart)
{
	enum { MOST = 2000 };
	static struct {
		unsigned char *at;
		size_t bytes;
		unsigned char is;
	} b[MOST];
	struct coroi_heap h = {.chunks = NULL};
	uint64_t seed = 1, rounds = scaled(200000);

	for (uint64_t i = 0; i < rounds + MOST; i++) {
		unsigned k = i < rounds ? (unsigned)(rnd(&seed) % MOST) : (unsigned)(i - rounds);
		if (b[k].at) {
			for (size_t n = 0; n < b[k].bytes; n += 13)
				CHECK(b[k].at[n] == b[k].is);
			CHECK(b[k].at[b[k].bytes - 1] == b[k].is);
			coroi_heap_put(&h, b[k].at);
			b[k].at = NULL;
		} else if (i < rounds) {
			b[k].bytes = size(&seed);
			b[k].is = (unsigned char)i;
			b[k].at = coroi_heap_get(&h, b[k].bytes);
			CHECK(b[k].at && (uintptr_t)b[k].at % 16 == 0);
			CHECK(coroi_heap_room(b[k].at) >= b[k].bytes);
			memset(b[k].at, b[k].is, b[k].bytes);
		}
	}
	for (unsigned c = 0; c < COROI_HEAP_CLASSES; c++)
		CHECK_EQ(h.used[c], 0);
	CHECK_EQ(h.bytes, (uint64_t)2 << 20); /* one empty chunk is kept */
	coroi_heap_destroy(&h);
	CHECK_EQ(h.bytes, 0);
}

TEST(heap_without_memory)
{
	struct coroi_heap h = {.chunks = NULL};

	for (int i = 0; i < 2; i++) { /* a chunk; a mapping of its own */
		fail_map = 0;
		CHECK(!coroi_heap_get(&h, i ? 100000 : 100));
		CHECK_EQ(fail_map, -1);
		CHECK_EQ(h.bytes, 0);
	}
	CHECK(!coroi_heap_get(&h, SIZE_MAX - 100));
	void *large = coroi_heap_get(&h, 100000), *small = coroi_heap_get(&h, 100);
	CHECK(large && small);
	coroi_heap_put(&h, large); /* not the first in the list of mappings */
	coroi_heap_put(&h, small);
	coroi_heap_destroy(&h);
}
