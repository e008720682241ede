/*
 * t_frames.c - copies of frames: all sizes, all alignments, and nothing beside them.
 */
#include "test.h"

#include "base/frames.h"

#define WORDS 80
#define MOST  64 /* copied bytes */

static uint64_t value(unsigned side, unsigned i)
{
	return (uint64_t)(side + 1) << 32 | i;
}

static void number(uint64_t words[2][WORDS])
{
	for (unsigned side = 0; side < 2; side++)
		for (unsigned i = 0; i < WORDS; i++)
			words[side][i] = value(side, i);
}

TEST(frames_are_copied_and_swapped)
{
	static uint64_t words[2][WORDS] __attribute__((aligned(64)));

	for (unsigned n = 0; n <= MOST; n++)
		for (unsigned a = 1; a <= 8; a++)
			for (unsigned b = 1; b <= 8; b++)
				for (unsigned swap = 0; swap < 2; swap++) {
					number(words);
					if (swap)
						coroi_frames_swap(&words[0][a], &words[1][b],
								  8 * n);
					else
						coroi_frames_copy(&words[0][a], &words[1][b],
								  8 * n);
					for (unsigned i = 0; i < WORDS; i++) {
						CHECK_EQ(words[0][i], i - a < n
									      ? value(1, i - a + b)
									      : value(0, i));
						CHECK_EQ(words[1][i], swap && i - b < n
									      ? value(0, i - b + a)
									      : value(1, i));
					}
				}
}
