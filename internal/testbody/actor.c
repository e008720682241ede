/* actor.c - see actor.h. */
#include "actor.h"

#include "coro_actor.h"

#include <stdlib.h>
#include <string.h>

struct adder {
	uint64_t sum, next;
};

static size_t adds(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	struct adder *me = state;

	for (size_t i = 0; i < n; i++)
		switch (m[i]->kind) {
		case TB_ADD:
			me->sum += m[i]->words[0];
			if (me->next)
				(void)coro_actor_send(me->next, TB_ADD, m[i]->payload, m[i]->bytes);
			break;
		case TB_SUM:
			(void)coro_message_answer(m[i], &me->sum, sizeof me->sum);
			break;
		case TB_HALF:
			(void)coro_message_answer(m[i], &me->sum, sizeof me->sum / 2);
			break;
		case TB_STOP:
			(void)coro_actor_stop(turn->self);
		}
	return n;
}

static void frees(void *state, int cause);

const coro_actor_kind tb_adder = {.size = sizeof tb_adder, .behave = adds, .end = frees};
const coro_actor_kind tb_no_kind = {.size = sizeof tb_no_kind};

void *tb_adder_state(uint64_t sum)
{
	struct adder *me = calloc(1, sizeof *me);

	me->sum = sum;
	return me;
}

static void frees(void *state, int cause)
{
	(void)cause;
	free(state);
}

void tb_actor_spawn(void *arg, void *result)
{
	static const coro_actor_kind kinds[] = {
		{.size = sizeof *kinds, .behave = adds, .end = frees},
		{.size = sizeof *kinds, .behave = adds, .end = frees, .flags = CORO_ACTOR_BRIEF},
		{.size = sizeof *kinds, .behave = adds, .end = frees, .room = 1},
	};
	struct tb_actor a = *(struct tb_actor *)arg;
	struct adder *me = calloc(1, sizeof *me);
	coro_actor out = 0;

	me->next = a.next;
	if (coro_actor_spawn(NULL, &kinds[a.room ? 2 : a.brief], me, &out))
		free(me);
	*(uint64_t *)result = out;
}

void tb_actor_flood(void *arg, void *result)
{
	struct tb_flood f = *(struct tb_flood *)arg;
	uint64_t accepted = 0;

	for (uint64_t i = 1; i <= f.n; i++)
		accepted += coro_actor_send(f.to, TB_ADD, &i, sizeof i) == CORO_OK;
	*(uint64_t *)result = accepted;
}

void tb_actor_ask(void *arg, void *result)
{
	struct tb_ask a = *(struct tb_ask *)arg;
	struct tb_asked *out = result;
	coro_answer answer = {0};
	int status = coro_actor_ask(a.to, a.kind, &a.word, sizeof a.word, &answer, CORO_FOREVER);

	*out = (struct tb_asked){status, answer.words[0], answer.bytes};
}

static void gone(void *data, size_t bytes)
{
	(void)bytes;
	free(data);
}

void tb_actor_buffer(void *arg, void *result)
{
	struct tb_flood f = *(struct tb_flood *)arg;
	coro_block b = {malloc(f.n), f.n, gone};

	memset(b.data, 7, f.n);
	*(uint64_t *)result = coro_actor_send_block(f.to, TB_ADD, &b) == CORO_OK;
}
