//go:build ignore
/* gobridge.c - see gobridge.h. */
#include "actor/gobridge.h"

#include "base/sys.h"

#include <string.h>

/* handled - what a call of Go's with a batch has done. Where Go has panicked, the first message is
 * a dead letter, and the others come with the next turn. */
static uint32_t handled(int status, uint32_t done)
{
	if (status == CORO_EFAILED)
		coro_abort();
	return status == CORO_OK ? done : 0; /* else the turn, or all, is canceled */
}

static size_t to_go(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	const struct coroi_go_actor *g = state;
	struct coroi_go_batch b = {g->number, (uintptr_t)m, n};
	uint32_t done = 0, first = 0;

	int status = coro_call_go_inline(g->deliver, &b, sizeof b, &done, sizeof done, NULL);
	done = handled(status, done);
	if (done == n || status != CORO_OK)
		return done;
	turn->handled = done;
	b.messages += done * sizeof *m;
	b.n = 1;
	status = coro_call_go(g->await, &b, sizeof b, &first, sizeof first, NULL);
	return done + handled(status, first);
}

static void go_ended(void *state, int cause)
{
	struct coroi_go_actor *g = state;

	if (cause != CORO_DEAD_CLOSED)
		(void)coro_call_go(g->ended, &g->number, sizeof g->number, NULL, 0, NULL);
	coroi_release(g);
}

int coroi_go_actor_spawn(coro_scheduler *s, const struct coroi_go_actor *a, coro_actor *out)
{
	static const coro_actor_kind kind = {.size = sizeof kind, .behave = to_go, .end = go_ended};
	struct coroi_go_actor *g = coroi_alloc(sizeof *g, _Alignof(struct coroi_go_actor));

	if (!g)
		return CORO_ENOMEM;
	*g = *a;
	int status = coro_actor_spawn(s, &kind, g, out);
	if (status)
		coroi_release(g);
	return status;
}

void coroi_go_ask(void *arg, void *result)
{
	const struct coroi_go_ask a = *(struct coroi_go_ask *)arg;
	coro_answer answer;

	int status = coro_actor_ask(a.to, a.kind, a.payload, a.bytes, &answer, CORO_FOREVER);
	if (status == CORO_OK && answer.bytes != a.wants)
		status = CORO_ETOOBIG;
	if (status != CORO_OK)
		coro_fail(status, NULL);
	memcpy(result, answer.payload, CORO_MESSAGE_BYTES);
}
