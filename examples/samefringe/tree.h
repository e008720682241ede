/* tree.h - binary trees in C memory, and the generator of their leaves. */
#ifndef TREE_H
#define TREE_H

#include <stdint.h>

struct tree {
	struct tree *left, *right; /* both NULL in a leaf */
	intptr_t value;            /* of a leaf */
};

/* tree_leaf, tree_fork - a new one, or NULL without memory. A fork owns its parts. */
struct tree *tree_leaf(intptr_t value);
struct tree *tree_fork(struct tree *left, struct tree *right);
void tree_free(struct tree *t);

/* tree_fringe - a generator: yields the leaves of a struct tree from left to right. It takes less
 * than 64 bytes of stack for each level of the tree. */
intptr_t tree_fringe(void *tree, intptr_t first);

#endif
