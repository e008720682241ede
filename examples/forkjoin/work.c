#include "work.h"

/* A join fails where its child was canceled, say, or where there was no memory for it. Then the
 * parent has no result either. */
static void join(coro_fork *f)
{
	if (coro_fork_join(f))
		coro_abort();
}

/* ------------------------------------------------------------------------------------ a range */

void fill(int64_t from, int64_t to, void *arg)
{
	const numbers *a = arg;

	for (int64_t i = from; i < to; i++) {
		uint64_t x = (uint64_t)i * 0x9e3779b97f4a7c15;
		x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93;
		a->at[i] = (uint32_t)(x >> 32);
	}
}

/* ------------------------------------------------------------------------------------ quicksort */

/* Below that a fork costs more than it brings. */
#define FEW 64

static void insert(uint32_t *at, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		uint32_t x = at[i];
		size_t k = i;
		for (; k > 0 && at[k - 1] > x; k--)
			at[k] = at[k - 1];
		at[k] = x;
	}
}

/* divide - put what is at most the middle one of three to the left. Returns: how many these are,
 * 1 to n - 1. */
static size_t divide(uint32_t *at, size_t n)
{
	uint32_t a = at[0], b = at[n / 2], c = at[n - 1];
	uint32_t pivot = a < b ? (b < c ? b : a < c ? c : a) : (a < c ? a : b < c ? c : b);
	size_t i = SIZE_MAX, k = n;

	for (;;) {
		do
			i++;
		while (at[i] < pivot);
		do
			k--;
		while (at[k] > pivot);
		if (i >= k)
			return k + 1;
		uint32_t x = at[i];
		at[i] = at[k];
		at[k] = x;
	}
}

/* The larger part is the fork, which another worker may take; this one goes on with the smaller
 * part. So others, which take the oldest fork first, get what is worth it. */
void sort(void *arg, void *none)
{
	numbers a = *(numbers *)arg, left, right;
	coro_fork f;

	if (a.n <= FEW) {
		insert(a.at, a.n);
		return;
	}
	left = (numbers){a.at, divide(a.at, a.n)};
	right = (numbers){a.at + left.n, a.n - left.n};
	numbers *large = left.n > right.n ? &left : &right;
	coro_fork_begin(&f, sort, large, NULL);
	sort(large == &left ? &right : &left, none);
	join(&f);
}

/* -------------------------------------------------------------------------------------- queens */

/* A board with queens in the first rows: the columns and the diagonals that they see, of all. */
struct board {
	uint32_t all, columns, left, right;
};

static struct board with_queen(const struct board *b, uint32_t column)
{
	return (struct board){b->all, b->columns | column, (b->left | column) << 1,
			      (b->right | column) >> 1};
}

/* place - a child for each place in the next row. They are joined in the opposite order: that is
 * the cheapest one, as each join then calls the newest fork. */
static void place(void *arg, void *result)
{
	const struct board *b = arg;
	uint32_t free = b->all & ~(b->columns | b->left | b->right), n = 0;
	struct board next[32];
	uint64_t ways[32], sum = b->columns == b->all;
	coro_fork f[32];

	for (; free; free &= free - 1, n++) {
		next[n] = with_queen(b, free & -free);
		coro_fork_begin(&f[n], place, &next[n], &ways[n]);
	}
	while (n--) {
		join(&f[n]);
		sum += ways[n];
	}
	*(uint64_t *)result = sum;
}

void queens(void *arg, void *ways)
{
	struct board empty = {.all = (1u << *(uint32_t *)arg) - 1};

	place(&empty, ways);
}

/* --------------------------------------------------------------------------------------- a tree */

/* Nobody knows how large a subtree is: each left child is a fork. Most forks are never taken, and
 * cost some calls each. */
void walk(void *arg, void *result)
{
	const struct tree *t = arg;
	struct sum left = {0}, right = {0}, *sum = result;
	const struct node *node = &t->nodes.at[t->root];
	struct tree a = {t->nodes, node->left}, b = {t->nodes, node->right};
	coro_fork f;

	if (node->left >= 0)
		coro_fork_begin(&f, walk, &a, &left);
	if (node->right >= 0)
		walk(&b, &right);
	if (node->left >= 0)
		join(&f);
	sum->values = left.values + node->value + right.values;
	sum->nodes = left.nodes + 1 + right.nodes;
	sum->depth = 1 + (left.depth > right.depth ? left.depth : right.depth);
}
