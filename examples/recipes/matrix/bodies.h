/* bodies.h - blocks of a product of matrices. */
#ifndef MATRIX_BODIES_H
#define MATRIX_BODIES_H

#include <stdint.h>

#include "coro.h"

CORO_SLICE(doubles, double);

/* A block of a product of two matrices of n rows and n columns, size rows and columns of it. The
 * matrices lie row by row, and the factors one behind the other: an argument has at most 48
 * bytes. */
struct block {
	doubles factors, product;
	uint32_t n, size, row, column;
};

#endif
