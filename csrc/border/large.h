/*
 * large.h - coroutines that Go starts with an argument or a result of more than CORO_INLINE_BYTES.
 *
 * Both lie in a block of memory, which outlives the coroutine: the result, and behind it the
 * argument. The coroutine has their addresses for its argument, and no result of its own.
 */
#ifndef COROI_LARGE_H
#define COROI_LARGE_H

#include "border/lend.h"

/* The argument of coroi_large. */
struct coroi_large_arg {
	void *arg, *result; /* result: NULL if there is none. A failure takes the place of both */
	coro_fn fn;         /* the user's; reports read it */
};

/* coroi_large - the body of such a coroutine. arg: a struct coroi_large_arg. */
void coroi_large(void *arg, void *scratch);

/* coroi_large_block - make the block, whose result is zero, and set the addresses in *a. Returns
 * the block, which coroi_release frees. NULL: no memory. */
void *coroi_large_block(struct coroi_large_arg *a, size_t arg_bytes, size_t result_bytes);

/*
 * coroi_large_lend - coroi_lend_call of such a coroutine, with a block of its own. l->fn is the
 * user's function. arg, result: the caller's, which are used during the call alone.
 *
 * Cost:    that of coroi_lend_call, of the C library's malloc and free, and of copying.
 * Returns: COROI_LEND_ENDED: the result is copied, if there is one. COROI_LEND_SUSPENDED,
 *          COROI_LEND_CALLS: l->payload is the struct coroi_large_arg, and the block is the
 *          caller's from now on. Another, as coroi_lend_call: nothing was started, nothing is left.
 */
int coroi_large_lend(struct coroi_lend *l, const void *arg, size_t arg_bytes, void *result,
		     size_t result_bytes);

#endif
