#include "tree.h"

#include <stdlib.h>

#include "coro.h"

struct tree *tree_leaf(intptr_t value)
{
	struct tree *t = calloc(1, sizeof *t);

	if (t)
		t->value = value;
	return t;
}

struct tree *tree_fork(struct tree *left, struct tree *right)
{
	struct tree *t = left && right ? calloc(1, sizeof *t) : NULL;

	if (!t) {
		tree_free(left);
		tree_free(right);
		return NULL;
	}
	t->left = left;
	t->right = right;
	return t;
}

void tree_free(struct tree *t)
{
	if (!t)
		return;
	tree_free(t->left);
	tree_free(t->right);
	free(t);
}

/* An ordinary recursive walk, which stops in the middle, at any depth, for each leaf. */
static void walk(const struct tree *t)
{
	if (!t->left) {
		coro_yield_value(t->value, NULL);
		return;
	}
	walk(t->left);
	walk(t->right);
}

intptr_t tree_fringe(void *tree, intptr_t first)
{
	(void)first;
	walk(tree);
	return 0;
}
