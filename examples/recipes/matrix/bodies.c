#include "bodies.h"

/* multiply - computes one block of the product. Blocks share no element, so any number of these run
 * at a time. */
CORO_BODY(multiply, struct block, coro_none, 0)
{
	size_t n = arg->n;
	const double *a = arg->factors.at, *b = a + n * n;

	for (size_t i = arg->row; i < arg->row + arg->size; i++) {
		double *to = arg->product.at + i * n + arg->column;
		for (size_t k = 0; k < n; k++) {
			const double *from = b + k * n + arg->column;
			for (size_t j = 0; j < arg->size; j++)
				to[j] += a[i * n + k] * from[j];
		}
		coro_yield();
		if (coro_canceled()) /* nobody wants the rest */
			coro_abort();
	}
}
