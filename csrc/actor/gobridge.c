//go:build ignore
/* gobridge.c - see gobridge.h. */
#include "actor/gobridge.h"

#include "actor/actors.h"
#include "base/sys.h"
#include "buffer/buffer.h"

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

/* The kinds of such actors. One with buffers is made when the first such actor is, and stays. */
static struct go_kind {
	coro_actor_kind kind;
	struct go_kind *next;
} no_buffers = {.kind = {.size = sizeof(coro_actor_kind), .behave = to_go, .end = go_ended}};
static struct coroi_lock kinds_lock;

/* kind_of - NULL: no memory. */
static const coro_actor_kind *kind_of(const struct coroi_go_actor *a)
{
	struct go_kind *k = &no_buffers;

	if (coroi_likely(!(a->buffers | a->answer_buffers)))
		return &k->kind;
	coroi_lock(&kinds_lock);
	while (k && (k->kind.buffers != a->buffers || k->kind.answer_buffers != a->answer_buffers))
		k = k->next;
	if (!k && (k = coroi_alloc(sizeof *k, _Alignof(struct go_kind)))) {
		*k = no_buffers;
		k->kind.buffers = a->buffers;
		k->kind.answer_buffers = a->answer_buffers;
		no_buffers.next = k;
	}
	coroi_unlock(&kinds_lock);
	return k ? &k->kind : NULL;
}

int coroi_go_actor_spawn(coro_scheduler *s, const struct coroi_go_actor *a, coro_actor *out)
{
	const coro_actor_kind *kind = kind_of(a);
	struct coroi_go_actor *g = coroi_alloc(sizeof *g, _Alignof(struct coroi_go_actor));

	if (!g || !kind) {
		coroi_release(g);
		return CORO_ENOMEM;
	}
	*g = *a;
	int status = coro_actor_spawn(s, kind, g, out);
	if (status)
		coroi_release(g);
	return status;
}

/* go_carries - where the messages to the actor have buffers, and its answers: coroi_carries_of, or
 * none. */
static int go_carries(coro_actor to, uint64_t *bits)
{
	const struct coroi_place *a = coroi_place_of(to);

	*bits = 0;
	if (!a || !coroi_box_takes(coroi_box_look(&a->box), to))
		return CORO_ESTALE;
	return coroi_has(a, COROI_P_CARRIES) ? coroi_carries_of(a, to, bits) : CORO_OK;
}

static int go_fits(uint64_t bits, size_t bytes, uint64_t buffers, size_t answer_bytes,
		   uint64_t answer_buffers)
{
	return coroi_carried(bits, COROI_CARRIES_SHIFT, bytes) == buffers &&
			       coroi_carried(bits, COROI_ANSWERS_SHIFT, answer_bytes) ==
				       answer_buffers
		       ? CORO_OK
		       : CORO_EPERM;
}

int coroi_go_fits(coro_actor to, size_t bytes, uint64_t buffers, size_t answer_bytes,
		  uint64_t answer_buffers)
{
	uint64_t bits;
	int status = go_carries(to, &bits);

	return status ? status : go_fits(bits, bytes, buffers, answer_bytes, answer_buffers);
}

int coroi_go_send(coro_actor to, uint32_t kind, const void *payload, size_t bytes, uint64_t buffers)
{
	const struct coroi_place *a = coroi_place_of(to);

	if (a && coroi_unlikely(buffers || coroi_has(a, COROI_P_CARRIES))) {
		int status = coroi_go_fits(to, bytes, buffers, 0, 0);
		if (status)
			return status;
	}
	return coro_actor_send(to, kind, payload, bytes);
}

void coroi_go_ask(void *arg, void *result)
{
	struct coroi_go_ask a;
	coro_answer answer;
	uint64_t bits;

	memcpy(&a, arg, sizeof a);
	int status = go_carries(a.to, &bits);
	if (!status)
		status = go_fits(bits, a.bytes, a.buffers & 0xff, a.wants, a.buffers >> 8);
	if (!status)
		status = coro_actor_ask(a.to, a.kind, a.payload, a.bytes, &answer, CORO_FOREVER);
	if (status == CORO_OK && answer.bytes != a.wants) {
		coroi_buffers_drop(answer.payload,
				   coroi_carried(bits, COROI_ANSWERS_SHIFT, answer.bytes));
		status = CORO_ETOOBIG;
	}
	if (status != CORO_OK) {
		coroi_buffers_drop(a.payload, a.buffers & 0xff); /* those that it has still */
		coro_fail(status, NULL);
	}
	memcpy(result, answer.payload, a.wants);
}

#define ASKS X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
#define X(n)                                            \
	static void go_ask_##n(void *arg, void *result) \
	{                                               \
		coroi_go_ask(arg, result);              \
	}
ASKS
#undef X
#define X(n) go_ask_##n,
	const coro_fn coroi_go_asks[COROI_GO_ASKS] = {ASKS};
#undef X
