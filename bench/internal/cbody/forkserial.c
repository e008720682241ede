/* forkserial.c - the loads of forkload.h as plain C, without children. */
#include "cbody.h"

#include "forkload.h"

static uint64_t fib(uint32_t n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static uint64_t queens(uint32_t row, uint32_t columns, uint32_t left, uint32_t right)
{
	uint64_t found = 0;

	if (row == fj.size)
		return 1;
	for (uint32_t at = fj_free(columns, left, right); at; at &= at - 1) {
		uint32_t field = at & -at;
		found += queens(row + 1, columns | field, (left | field) << 1,
				(right | field) >> 1);
	}
	return found;
}

static uint64_t tree(uint64_t node, uint32_t level)
{
	uint64_t sum = node;

	for (uint32_t i = 0, n = fj_kids(node, level); i < n; i++)
		sum += tree(fj_hash(node + i), level + 1);
	return sum;
}

/* product - by quarters, too: in one piece large matrices would miss the caches. */
static void product(uint32_t *c, const uint32_t *a, const uint32_t *b, uint32_t n)
{
	if (n <= FJ_PRODUCT_LEAF) {
		fj_product(c, a, b, n);
		return;
	}
	uint32_t half = n / 2;
	size_t row = (size_t)half * fj.size;
	for (uint32_t k = 0; k < 2; k++)
		for (uint32_t i = 0; i < 2; i++)
			for (uint32_t j = 0; j < 2; j++)
				product(c + i * row + j * half, a + i * row + k * half,
					b + k * row + j * half, half);
}

static void once(void)
{
	switch (fj.load) {
	case FJ_FIB:
		fj.result = fib(fj.size);
		break;
	case FJ_QUEENS:
		fj.result = queens(0, 0, 0, 0);
		break;
	case FJ_SORT:
		fj_sort(fj.keys, fj.size);
		break;
	case FJ_MANDEL:
		for (uint32_t row = 0; row < fj.size; row++)
			fj.result += fj_mandel_row(row);
		break;
	case FJ_TREE:
		fj.result = tree(FJ_TREE_ROOT, 0);
		break;
	case FJ_PRODUCT:
		product(fj.c, fj.a, fj.b, fj.size);
		break;
	}
}

struct cb_forked cb_fork_serial(const struct cb_fork *f)
{
	fj.load = f->load;
	fj.size = f->size;
	fj.laps = f->laps;
	int status = fj_measure(once);
	return (struct cb_forked){status ? -1 : fj.ns, fj.sum};
}

/* ---------------------------------------------------------------------------- counted children */

static uint64_t fib_children(uint32_t n)
{
	return n < 2 ? 0 : 1 + fib_children(n - 1) + fib_children(n - 2);
}

static uint64_t queens_children(uint32_t row, uint32_t columns, uint32_t left, uint32_t right)
{
	uint64_t children = 0;

	if (row == fj.size)
		return 0;
	for (uint32_t at = fj_free(columns, left, right); at; at &= at - 1) {
		uint32_t field = at & -at;
		children += 1 + queens_children(row + 1, columns | field, (left | field) << 1,
						(right | field) >> 1);
	}
	return children;
}

static uint64_t tree_children(uint64_t node, uint32_t level)
{
	uint64_t children = 0;

	for (uint32_t i = 0, n = fj_kids(node, level); i < n; i++)
		children += 1 + tree_children(fj_hash(node + i), level + 1);
	return children;
}

uint64_t cb_fork_children(const struct cb_fork *f)
{
	fj.size = f->size;
	switch (f->load) {
	case FJ_FIB:
		return fib_children(f->size);
	case FJ_QUEENS:
		return queens_children(0, 0, 0, 0);
	case FJ_TREE:
		return tree_children(FJ_TREE_ROOT, 0);
	}
	return 0;
}
