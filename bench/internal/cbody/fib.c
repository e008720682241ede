/* fib.c - a Fibonacci number in full, with GMP. */
#include "cbody.h"

#include <gmp.h>

/*
 * By steps of 32, F(n+32) = 4870847 F(n) - F(n-32), from F(0) = 0 and F(32) = 2178309: for n = 100 000 that is
 * 3125 multiplications of up to 69 424 bits by a small number, 1 to 2 ms. Adding neighbours takes 13 ms a number,
 * and five runs of all rows with it most of a minute; mpz_fib_ui takes 0.06 ms, which is no coarse task.
 */
uint64_t cb_fib(uint64_t n)
{
	mpz_t before, now;
	mpz_init2(before, n + 64); /* more than the 0.6943 n bits of F(n): nothing is reallocated */
	mpz_init2(now, n + 64);
	mpz_set_ui(before, 2178309); /* F(-32) = -F(32) */
	mpz_neg(before, before);
	for (uint64_t i = 0; i < n; i += 32) {
		mpz_neg(before, before);
		mpz_addmul_ui(before, now, 4870847);
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
