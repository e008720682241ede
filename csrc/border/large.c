//go:build ignore
/* large.c - see large.h. */
#include "border/large.h"

#include "base/extras.h"
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

static coro_fn fn_of_large(const void *payload)
{
	return large_of(payload).fn;
}

__attribute__((constructor)) static void large_register(void)
{
	static struct coroi_inner in = {.body = coroi_large, .stands_for = fn_of_large};

	coroi_inner_register(&in);
}
