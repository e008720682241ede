/*
 * copy.h - a few bytes are copied, or cleared.
 *
 * gcc makes `rep movs` of a memcpy of few bytes whose number it does not know, and `rep stos` of a
 * memset of some 100. That takes some 20 ns to begin: as long as a coroutine.
 */
#ifndef COROI_COPY_H
#define COROI_COPY_H

#include "base/atomics.h"

#include <string.h>

/* coroi_copy_few - copy few bytes, word by word, and without a call. What was
 * just written as one word is read as one word: as a part of more, the CPU would wait for it. The
 * barriers keep compilers from turning the loops into one instruction, or a call. */
static inline __attribute__((always_inline)) void coroi_copy_few(void *to, const void *from,
								 size_t bytes)
{
	size_t i = 0;

	if (coroi_likely(bytes == 8)) {
		memcpy(to, from, 8);
		return;
	}
	if (coroi_likely(bytes == 16)) {
		memcpy(to, from, 8);
		at_fence_signal();
		memcpy((char *)to + 8, (const char *)from + 8, 8);
		return;
	}
	for (; i + 8 <= bytes; i += 8) {
		memcpy((char *)to + i, (const char *)from + i, 8);
		at_fence_signal();
	}
	for (; i < bytes; i++) {
		((char *)to)[i] = ((const char *)from)[i];
		at_fence_signal();
	}
}

/* coroi_clear_few - the same with zeros, in whole words. */
static inline __attribute__((always_inline)) void coroi_clear_few(void *to, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += 8) {
		memset((char *)to + i, 0, 8);
		at_fence_signal();
	}
}

#endif
