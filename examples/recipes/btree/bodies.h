/* bodies.h - lookups in a B-tree. */
#ifndef BTREE_BODIES_H
#define BTREE_BODIES_H

#include <stdint.h>

#include "coro.h"

#define NODE_KEYS 16 /* a cache line of 64 bytes */
#define NOWHERE   UINT32_MAX

CORO_SLICE(numbers, uint32_t);

/* A tree, keys to look up, and for each of them where it is found. Node k of the tree is NODE_KEYS
 * numbers in ascending order, and its children are the nodes k * (NODE_KEYS + 1) + 1 and following.
 * What is left over is UINT32_MAX, which is no key. */
struct lookups {
	numbers tree, keys, found;
};

#endif
