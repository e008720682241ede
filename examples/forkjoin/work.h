/* work.h - work that is divided in two, and again, until the parts are small. */
#ifndef FORKJOIN_WORK_H
#define FORKJOIN_WORK_H

#include "coro.h"

CORO_SLICE(numbers, uint32_t);

/* A part of coro.For: number i becomes one that looks random, and is always the same. */
void fill(int64_t from, int64_t to, void *numbers);

void sort(void *numbers, void *none);

/* How many ways there are to place n queens on a board of n columns. */
void queens(void *n /* uint32_t */, void *ways /* uint64_t */);

/* A node of a tree that Go has made: its children are places in the slice, or below 0. */
struct node {
	int32_t left, right;
	int64_t value;
};

CORO_SLICE(nodes, const struct node);

struct tree {
	nodes nodes;
	int32_t root;
};

struct sum {
	int64_t values, nodes, depth;
};

void walk(void *tree, void *sum);

#endif
