//go:build ignore
/* inner.c - see inner.h. */
#include "kernel/inner.h"

#include "kernel/inlined.h"

static struct coroi_inner *inners; /* written by constructors alone */

void coroi_inner_register(struct coroi_inner *in)
{
	in->next = inners;
	inners = in;
}

const struct coroi_inner *coroi_inner_of(const struct coroi_rec *r)
{
	/* relaxed: coroi_be_known_as and coroi_many_ended may change it meanwhile, to the user's */
	return coroi_inner_body(at_load_hint(&r->fn));
}

const struct coroi_inner *coroi_inner_body(coro_fn fn)
{
	const struct coroi_inner *in = inners;

	while (in && in->body != fn)
		in = in->next;
	return in;
}

coro_fn coroi_user_fn(const struct coroi_rec *r)
{
	const struct coroi_inner *in = coroi_inner_of(r);

	if (!in)
		return at_load_hint(&r->fn);
	return in->stands_for(coroi_unlikely(r->more & COROI_M_INLINED) ? coroi_fork_of(r)->arg
									: coroi_cold(r)->payload);
}
