/*
 * frames.h - the frames of a coroutine that shares its stack: where they are, and how they are
 * copied out and back (dense.c, dispatch.c).
 *
 *      stack  | guard | ............. | frames of the occupant | the loop's frame | top
 *                                     ^ bottom                 ^ base
 *
 * The code that copies runs on another stack. Frames come back to the addresses they had. What lies
 * above the base belongs to the stack, and is the same for all coroutines that run there.
 */
#ifndef COROI_FRAMES_H
#define COROI_FRAMES_H

#include "base/stack.h"

/* Frames are copied as they are, with whatever the sanitizers have put between them. */
#define COROI_RAW __attribute__((no_sanitize("address", "thread")))

typedef uint64_t coroi_pair __attribute__((vector_size(16), aligned(8), may_alias));
typedef uint64_t coroi_word __attribute__((may_alias));

/* coroi_frames_copy - copy bytes, a multiple of 8, between 8-aligned places. Not memcpy: the bytes
 * are words, and about a hundred. */
static inline COROI_RAW void coroi_frames_copy(void *to, const void *from, size_t bytes)
{
	char *t = to;
	const char *f = from;

	for (const char *end = f + (bytes & ~(size_t)31); f < end; f += 32, t += 32) {
		coroi_pair low = *(const coroi_pair *)f, high = *(const coroi_pair *)(f + 16);
		*(coroi_pair *)t = low;
		*(coroi_pair *)(t + 16) = high;
	}
	if (bytes & 16) {
		*(coroi_pair *)t = *(const coroi_pair *)f;
		f += 16;
		t += 16;
	}
	if (bytes & 8)
		*(coroi_word *)t = *(const coroi_word *)f;
}

/* coroi_frames_swap - exchange two such places. */
static inline COROI_RAW void coroi_frames_swap(void *a, void *b, size_t bytes)
{
	char *x = a, *y = b;

	for (const char *end = x + (bytes & ~(size_t)31); x < end; x += 32, y += 32) {
		coroi_pair x0 = *(coroi_pair *)x, x1 = *(coroi_pair *)(x + 16);
		coroi_pair y0 = *(coroi_pair *)y, y1 = *(coroi_pair *)(y + 16);
		*(coroi_pair *)x = y0;
		*(coroi_pair *)(x + 16) = y1;
		*(coroi_pair *)y = x0;
		*(coroi_pair *)(y + 16) = x1;
	}
	if (bytes & 16) {
		coroi_pair x0 = *(coroi_pair *)x, y0 = *(coroi_pair *)y;
		*(coroi_pair *)x = y0;
		*(coroi_pair *)y = x0;
		x += 16;
		y += 16;
	}
	if (bytes & 8) {
		coroi_word x0 = *(coroi_word *)x, y0 = *(coroi_word *)y;
		*(coroi_word *)x = y0;
		*(coroi_word *)y = x0;
	}
}

/* coroi_frames_bottom - where the frames on `shared` end, of a coroutine that is suspended at sp on
 * `stack`. `stack` is `shared`, or a deeper one of coro_call_on_stack, which keeps its frames. */
static inline char *coroi_frames_bottom(const struct coroi_stack *shared,
					const struct coroi_stack *stack, void *sp)
{
	if (coroi_likely(stack == shared))
		return sp;
	while (stack->below != shared)
		stack = stack->below;
	return stack->back;
}

/* With AddressSanitizer, frames of coroutines that do not run are poisoned: a pointer into them
 * that is followed is reported at once. Copying does not mind. coroi_frames_hide - poison the
 * frames on `shared`, below base. coroi_frames_show - allow all of it again: before a switch to the
 * stack, and before it is given back. */
static inline void coroi_frames_hide(const struct coroi_stack *shared, const char *base)
{
	(void)shared;
	(void)base;
#ifdef COROI_ASAN
	__asan_poison_memory_region(shared->low, (size_t)(base - shared->low));
#endif
}

static inline void coroi_frames_show(const struct coroi_stack *shared)
{
	(void)shared;
#ifdef COROI_ASAN
	__asan_unpoison_memory_region(shared->low, (size_t)(shared->top - shared->low));
#endif
}

#endif
