//go:build ignore
/* large.c - see large.h. */
#include "border/large.h"

#include "base/extras.h"
#include "base/sys.h"
#include "kernel/inner.h"

#include <string.h>

_Static_assert(offsetof(struct coroi_large_arg, fn) >= sizeof(struct coroi_failure),
	       "reports name the function after a failure, too");

static struct coroi_large_arg large_of(const void *payload)
{
	struct coroi_large_arg a;

	memcpy(&a, payload, sizeof a);
	return a;
}

void coroi_large(void *arg, void *scratch)
{
	struct coroi_large_arg a = large_of(arg);

	a.fn(a.arg, a.result ? a.result : scratch);
}

void *coroi_large_block(struct coroi_large_arg *a, size_t arg_bytes, size_t result_bytes)
{
	size_t arg_at = (result_bytes + 15) & ~(size_t)15;
	unsigned char *block = coroi_alloc(arg_at + arg_bytes, 16);

	a->result = block && result_bytes ? block : NULL;
	a->arg = block && arg_bytes ? block + arg_at : NULL;
	return block;
}

int coroi_large_lend(struct coroi_lend *l, const void *arg, size_t arg_bytes, void *result,
		     size_t result_bytes)
{
	struct coroi_large_arg a = {.fn = (coro_fn)(uintptr_t)l->fn};
	void *block = coroi_large_block(&a, arg_bytes, result_bytes);
	int at;

	if (coroi_unlikely(!block))
		return CORO_ENOMEM;
	if (arg_bytes)
		memcpy(a.arg, arg, arg_bytes);
	l->fn = (uintptr_t)coroi_large;
	l->arg_bytes = sizeof a;
	l->result_bytes = 0;
	memcpy(l->payload, &a, sizeof a);
	at = coroi_lend_call(l);
	if (coroi_unlikely(at == COROI_LEND_SUSPENDED || at == COROI_LEND_CALLS)) {
		memcpy(l->payload, &a, sizeof a);
		return at;
	}
	if (at == COROI_LEND_ENDED && l->status == CORO_OK && result_bytes)
		memcpy(result, a.result, result_bytes);
	coroi_release(block);
	return at;
}

static coro_fn fn_of_large(const void *payload)
{
	return large_of(payload).fn;
}

__attribute__((constructor)) static void large_register(void)
{
	static struct coroi_inner in = {.body = coroi_large, .stands_for = fn_of_large};

	coroi_inner_register(&in);
}
