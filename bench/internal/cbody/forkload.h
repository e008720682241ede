/*
 * forkload.h - the loads of the experiment "forkjoin" for programs in C and C++: their data, what
 * is computed without children, and the checksums.
 *
 * A program includes this once. It has one load at a time, whose size is one number:
 *
 *	FJ_FIB      n                 a child for F(n - 1), the parent has F(n - 2)
 *	FJ_QUEENS   n of n queens     a child for each field of a row that is free
 *	FJ_SORT     keys              quicksort, a child for the left part, down to FJ_SORT_LEAF keys
 *	FJ_MANDEL   rows and columns  a child for half of the rows, down to one row
 *	FJ_TREE     levels            an unbalanced tree: a node has FJ_KIDS children or, mostly, none,
 *	                              as a hash says; below so many levels, none
 *	FJ_PRODUCT  rows and columns  of two matrices, a power of two: a child for three quarters of
 *	                              the product, twice, down to FJ_PRODUCT_LEAF
 *
 * All numbers are integers, so that every compiler computes the same.
 */
#ifndef FORKLOAD_H
#define FORKLOAD_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FJ_FIB, FJ_QUEENS, FJ_SORT, FJ_MANDEL, FJ_TREE, FJ_PRODUCT, FJ_LOADS };

enum {
	FJ_QUEENS_MAX = 16,
	FJ_SORT_LEAF = 512,
	FJ_INSERTION = 16, /* keys that are sorted by insertion */
	FJ_MANDEL_LIMIT = 200,
	FJ_MANDEL_BITS = 27, /* behind the point of a number */
	FJ_KIDS = 8,
	FJ_PRODUCT_LEAF = 16
};
#define FJ_MANDEL_ONE (INT64_C(1) << FJ_MANDEL_BITS)
#define FJ_TREE_ROOT  UINT64_C(2386)            /* 20 921 nodes on 187 levels */
#define FJ_TREE_MOST  (UINT64_MAX / 1000 * 124) /* a hash below it: the node has children */

static struct {
	uint32_t load, size, laps;
	uint32_t *keys;      /* FJ_SORT */
	uint32_t *a, *b, *c; /* FJ_PRODUCT: c = a b */
	uint64_t result;     /* of the other loads */
	uint64_t sum;        /* the checksum of the laps */
	int64_t ns;          /* of a lap: the mean of all but the first, or of the only one */
} fj;

/* The finalizer of SplitMix64. */
static inline uint64_t fj_hash(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

static inline int64_t fj_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* fj_open - get memory for the load of fj. Returns 0, or -1 for want of memory. */
static inline int fj_open(void)
{
	size_t n = fj.size, square = n * n * sizeof(uint32_t);

	fj.keys = fj.a = fj.b = fj.c = NULL;
	if (fj.load == FJ_SORT)
		return (fj.keys = (uint32_t *)malloc(n * sizeof(uint32_t))) ? 0 : -1;
	if (fj.load != FJ_PRODUCT)
		return 0;
	fj.a = (uint32_t *)malloc(3 * square);
	if (!fj.a)
		return -1;
	fj.b = fj.a + n * n;
	fj.c = fj.b + n * n;
	for (size_t i = 0; i < 2 * n * n; i++)
		fj.a[i] = (uint32_t)fj_hash(i);
	return 0;
}

static inline void fj_close(void)
{
	free(fj.keys);
	free(fj.a);
}

/* fj_begin - what is not timed of a lap. */
static inline void fj_begin(void)
{
	fj.result = 0;
	if (fj.load == FJ_SORT)
		for (uint32_t i = 0; i < fj.size; i++)
			fj.keys[i] = (uint32_t)fj_hash(i);
	if (fj.load == FJ_PRODUCT)
		memset(fj.c, 0, (size_t)fj.size * fj.size * sizeof *fj.c);
}

/* fj_sum - the checksum of a lap. */
static inline uint64_t fj_sum(void)
{
	const uint32_t *words = fj.load == FJ_SORT ? fj.keys : fj.c;
	size_t n = fj.load == FJ_SORT ? fj.size : (size_t)fj.size * fj.size;
	uint64_t sum = 0;

	if (!words)
		return fj.result;
	for (size_t i = 0; i < n; i++)
		sum = sum * 31 + words[i];
	return sum;
}

/* fj_measure - make the laps by a function that does the load once. The first is not timed, if there
 * are more. Returns 0; -1: not all laps have one checksum, or there is no memory. */
static inline int fj_measure(void (*once)(void))
{
	int status = fj_open();
	uint32_t untimed = fj.laps > 1;

	fj.ns = 0;
	for (uint32_t lap = 0; lap < fj.laps && !status; lap++) {
		fj_begin();
		int64_t begin = fj_now_ns();
		once();
		int64_t end = fj_now_ns();
		uint64_t sum = fj_sum();
		if (lap == 0)
			fj.sum = sum;
		if (lap >= untimed)
			fj.ns += end - begin;
		if (sum != fj.sum)
			status = -1;
	}
	fj.ns /= fj.laps - untimed;
	fj_close();
	return status;
}

/* fj_read - what a program is told: LOAD SIZE LAPS WORKERS. Returns the last of them; 0: the
 * arguments are others. */
static inline uint32_t fj_read(int argc, char **argv)
{
	if (argc != 5)
		return 0;
	fj.load = (uint32_t)atoi(argv[1]);
	fj.size = (uint32_t)atoi(argv[2]);
	fj.laps = (uint32_t)atoi(argv[3]);
	return fj.load < FJ_LOADS && fj.size && fj.laps ? (uint32_t)atoi(argv[4]) : 0;
}

static inline void fj_tell(void)
{
	printf("%lld %llu\n", (long long)fj.ns, (unsigned long long)fj.sum);
}

/* --------------------------------------------------------------------------- without children */

/* What computes for µs is code of its own, whose loops begin at cache lines: else rows differ by up
 * to 40 % by where a compiler puts the same few instructions. */
#define FJ_ALONE __attribute__((noinline, unused, aligned(64), optimize("align-loops=64")))

/* fj_free - the fields of a row of queens that are free. */
static inline uint32_t fj_free(uint32_t columns, uint32_t left, uint32_t right)
{
	return ~(columns | left | right) & ((UINT32_C(1) << fj.size) - 1);
}

/* fj_part - partition two keys or more. Returns how many are left: none of them is greater than any
 * at the right, and there are some on both sides. */
static FJ_ALONE uint32_t fj_part(uint32_t *key, uint32_t n)
{
	uint32_t a = key[0], b = key[n / 2], c = key[n - 1];
	uint32_t low = a < b ? a : b, high = a < b ? b : a;
	uint32_t pivot = c < low ? low : c > high ? high : c;
	uint32_t i = 0, k = n - 1;

	for (;;) {
		while (key[i] < pivot)
			i++;
		while (key[k] > pivot)
			k--;
		if (i >= k)
			return k + 1 < n ? k + 1 : n - 1;
		uint32_t key_i = key[i];
		key[i++] = key[k];
		key[k--] = key_i;
	}
}

static FJ_ALONE void fj_sort(uint32_t *key, uint32_t n)
{
	while (n > FJ_INSERTION) {
		uint32_t left = fj_part(key, n);
		fj_sort(key, left);
		key += left;
		n -= left;
	}
	for (uint32_t i = 1; i < n; i++) {
		uint32_t one = key[i], k = i;
		for (; k > 0 && key[k - 1] > one; k--)
			key[k] = key[k - 1];
		key[k] = one;
	}
}

/* fj_mandel_row - a number made of the steps of all points of a row, in numbers with a fixed
 * point. */
static FJ_ALONE uint64_t fj_mandel_row(uint32_t row)
{
	int64_t y0 = 3 * FJ_MANDEL_ONE * row / fj.size - 3 * FJ_MANDEL_ONE / 2;
	uint64_t sum = 0;

	for (uint32_t column = 0; column < fj.size; column++) {
		int64_t x0 = 3 * FJ_MANDEL_ONE * column / fj.size - 2 * FJ_MANDEL_ONE;
		int64_t x = 0, y = 0;
		uint32_t steps = 0;
		for (; steps < FJ_MANDEL_LIMIT; steps++) {
			int64_t xx = x * x >> FJ_MANDEL_BITS, yy = y * y >> FJ_MANDEL_BITS;
			if (xx + yy > 4 * FJ_MANDEL_ONE)
				break;
			y = (x * y >> (FJ_MANDEL_BITS - 1)) + y0;
			x = xx - yy + x0;
		}
		sum = sum * 31 + steps;
	}
	return sum * (row + 1);
}

static inline uint32_t fj_kids(uint64_t node, uint32_t level)
{
	return level < fj.size && (level == 0 || node < FJ_TREE_MOST) ? FJ_KIDS : 0;
}

/* fj_product - c += a b of n rows and columns, which are parts of those of fj. */
static FJ_ALONE void fj_product(uint32_t *c, const uint32_t *a, const uint32_t *b, uint32_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < n; k++) {
			uint32_t of_a = a[i * fj.size + k];
			for (size_t j = 0; j < n; j++)
				c[i * fj.size + j] += of_a * b[k * fj.size + j];
		}
}

#endif
