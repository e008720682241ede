/* fib.c - a Fibonacci number in full, with GMP. */
#include "cbody.h"

#include <gmp.h>

/*
 * By steps of 80, F(n+80) = L(80) F(n) - F(n-80), L(80) the Lucas number, from F(0) = 0 and F(80):
 * for n = 100 000 that is 1250 multiplications of up to 69 424 bits by a word, half a millisecond
 * to one. Adding neighbours takes 13 ms a number, and five runs of all rows with it most of a
 * minute; mpz_fib_ui takes 0.06 ms, which is no coarse task.
 */
#define STEP       80
#define FIB_STEP   UINT64_C(23416728348467685)
#define LUCAS_STEP UINT64_C(52361396397820127)

uint64_t cb_fib(uint64_t n)
{
	mpz_t before, now;
	mpz_init2(before, n + 64); /* more than the 0.6943 n bits of F(n): nothing is reallocated */
	mpz_init2(now, n + 64);
	mpz_set_ui(before, FIB_STEP); /* F(-80) = -F(80) */
	mpz_neg(before, before);
	for (uint64_t i = 0; i < n; i += STEP) {
		mpz_neg(before, before);
		mpz_addmul_ui(before, now, LUCAS_STEP);
		mpz_swap(before, now);
	}
	uint64_t low = mpz_getlimbn(now, 0);
	mpz_clear(before);
	mpz_clear(now);
	return low;
}

uint64_t cb_fib_check(uint64_t n)
{
	uint64_t a = 0, b = 1;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t sum = a + b;
		a = b;
		b = sum;
	}
	return a;
}
