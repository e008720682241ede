/*
 * forkbody.h - the loads of forkload.h with children, in words that each system defines:
 *
 *	BODY(name, type)    the head of a child's function, whose argument is type *me
 *	END                 it ends
 *	CHILDREN(n)         it is about to have children, n at a time at most
 *	FORK(i, name, to)   a child, the i-th since the last JOIN, with the argument `to`
 *	CALL(name, to)      the same as a call
 *	JOIN(n)             all n children have ended
 *	ROOT(name, to)      the first call, and its end
 *
 * A child has its result written into its argument, which lies in its parent's frame.
 */
#include "forkload.h"

struct fib_arg {
	uint32_t n;
	uint64_t result;
};

BODY(fib, struct fib_arg)
{
	if (me->n < 2) {
		me->result = me->n;
		END;
	}
	struct fib_arg a = {me->n - 1, 0}, b = {me->n - 2, 0};
	CHILDREN(1);
	FORK(0, fib, &a);
	CALL(fib, &b);
	JOIN(1);
	me->result = a.result + b.result;
}

struct queens_arg {
	uint32_t row, columns, left, right; /* fields of this row that others reach */
	uint64_t result;
};

BODY(queens, struct queens_arg)
{
	if (me->row == fj.size) {
		me->result = 1;
		END;
	}
	struct queens_arg next[FJ_QUEENS_MAX];
	uint32_t n = 0;
	CHILDREN(FJ_QUEENS_MAX);
	for (uint32_t at = fj_free(me->columns, me->left, me->right); at; at &= at - 1) {
		uint32_t field = at & -at;
		next[n].row = me->row + 1;
		next[n].columns = me->columns | field;
		next[n].left = (me->left | field) << 1;
		next[n].right = (me->right | field) >> 1;
		next[n].result = 0;
		FORK(n, queens, &next[n]);
		n++;
	}
	JOIN(n);
	for (uint32_t i = 0; i < n; i++)
		me->result += next[i].result;
}

struct sort_arg {
	uint32_t *key;
	uint32_t n;
};

BODY(sort, struct sort_arg)
{
	if (me->n <= FJ_SORT_LEAF) {
		fj_sort(me->key, me->n);
		END;
	}
	uint32_t left = fj_part(me->key, me->n);
	struct sort_arg a = {me->key, left}, b = {me->key + left, me->n - left};
	CHILDREN(1);
	FORK(0, sort, &a);
	CALL(sort, &b);
	JOIN(1);
}

struct mandel_arg {
	uint32_t row, end;
	uint64_t result;
};

BODY(mandel, struct mandel_arg)
{
	if (me->end - me->row == 1) {
		me->result = fj_mandel_row(me->row);
		END;
	}
	uint32_t middle = me->row + (me->end - me->row) / 2;
	struct mandel_arg a = {me->row, middle, 0}, b = {middle, me->end, 0};
	CHILDREN(1);
	FORK(0, mandel, &a);
	CALL(mandel, &b);
	JOIN(1);
	me->result = a.result + b.result;
}

struct tree_arg {
	uint64_t node, result;
	uint32_t level;
};

BODY(tree, struct tree_arg)
{
	uint32_t n = fj_kids(me->node, me->level);
	me->result = me->node;
	if (n == 0)
		END;
	struct tree_arg kid[FJ_KIDS];
	CHILDREN(FJ_KIDS);
	for (uint32_t i = 0; i < n; i++) {
		kid[i].node = fj_hash(me->node + i);
		kid[i].level = me->level + 1;
		FORK(i, tree, &kid[i]);
	}
	JOIN(n);
	for (uint32_t i = 0; i < n; i++)
		me->result += kid[i].result;
}

struct product_arg {
	uint32_t *c;
	const uint32_t *a, *b;
	uint32_t n;
};

/* quarter - of c, the one at (i, j), with the products of a's k-th column of quarters. */
static inline struct product_arg quarter(const struct product_arg *of, uint32_t i, uint32_t j,
					 uint32_t k)
{
	uint32_t n = of->n / 2;
	size_t row = (size_t)n * fj.size;
	struct product_arg q = {of->c + i * row + j * n, of->a + i * row + k * n,
				of->b + k * row + j * n, n};
	return q;
}

BODY(product, struct product_arg)
{
	if (me->n <= FJ_PRODUCT_LEAF) {
		fj_product(me->c, me->a, me->b, me->n);
		END;
	}
	struct product_arg q[4];
	CHILDREN(3);
	for (uint32_t k = 0; k < 2; k++) {
		for (uint32_t i = 0; i < 3; i++) {
			q[i] = quarter(me, i / 2, i % 2, k);
			FORK(i, product, &q[i]);
		}
		q[3] = quarter(me, 1, 1, k);
		CALL(product, &q[3]);
		JOIN(3);
	}
}

/* once - do the load of fj. */
static void once(void)
{
	struct fib_arg f = {fj.size, 0};
	struct queens_arg q = {0, 0, 0, 0, 0};
	struct sort_arg s = {fj.keys, fj.size};
	struct mandel_arg m = {0, fj.size, 0};
	struct tree_arg t = {FJ_TREE_ROOT, 0, 0};
	struct product_arg p = {fj.c, fj.a, fj.b, fj.size};

	switch (fj.load) {
	case FJ_FIB:
		ROOT(fib, &f);
		break;
	case FJ_QUEENS:
		ROOT(queens, &q);
		break;
	case FJ_SORT:
		ROOT(sort, &s);
		break;
	case FJ_MANDEL:
		ROOT(mandel, &m);
		break;
	case FJ_TREE:
		ROOT(tree, &t);
		break;
	case FJ_PRODUCT:
		ROOT(product, &p);
		break;
	}
	fj.result = f.result + q.result + m.result + t.result;
}
