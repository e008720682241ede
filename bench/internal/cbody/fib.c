/* fib.c - a Fibonacci number in full, with GMP. */
#include "cbody.h"

#include <gmp.h>

/*
 * By steps of sixteen, F(n+16) = 2207 F(n) - F(n-16), from F(0) = 0 and F(16) = 987: for n = 100 000 that is
 * 6250 multiplications of up to 69 424 bits by a small number. Plain addition of neighbours would be 16 times
 * as many steps, mpz_fib_ui doubles its way there in a few: both are the wrong size for a task here.
 */
uint64_t cb_fib(uint64_t n)
{
	mpz_t before, now;
	mpz_init2(before, n + 64); /* more than the 0.6943 n bits of F(n): nothing is reallocated */
	mpz_init2(now, n + 64);
	mpz_set_ui(before, 987); /* F(-16) = -F(16) */
	mpz_neg(before, before);
	for (uint64_t i = 0; i < n; i += 16) {
		mpz_neg(before, before);
		mpz_addmul_ui(before, now, 2207);
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
