/* courier.c - see courier.h. */
#include "courier.h"

#include <stddef.h>
#include <string.h>

coro_sem tb_courier_go;
static uint64_t held;

uint64_t tb_courier_held(void)
{
	return __atomic_load_n(&held, __ATOMIC_ACQUIRE);
}

static void echo(coro_message *m, coro_buffer b, size_t bytes)
{
	struct tb_echo out[2] = {{.buffer = b}};
	size_t n;

	(void)coro_buffer_at(b, &n);
	out[0].bytes = n;
	if (coro_message_answer(m, out, bytes))
		(void)coro_buffer_free(b); /* nobody waits any more */
}

static size_t carries(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	(void)state;
	for (size_t i = 0; i < n; i++) {
		struct tb_carried c = {0};
		turn->handled = (uint32_t)i;
		memcpy(&c, m[i]->payload, m[i]->bytes < sizeof c ? m[i]->bytes : sizeof c);
		switch (m[i]->kind) {
		case TB_CARRY_ECHO:
			echo(m[i], c.buffer, sizeof(struct tb_echo));
			break;
		case TB_CARRY_ECHO_MORE:
			echo(m[i], c.buffer, sizeof(struct tb_echo) + 8);
			break;
		case TB_CARRY_NEXT:
			if (coro_actor_send(c.next, TB_CARRY_FREE, &c, sizeof c))
				(void)coro_buffer_free(c.buffer);
			break;
		case TB_CARRY_ABORT:
			coro_abort();
			break;
		case TB_CARRY_HOLD:
			__atomic_add_fetch(&held, 1, __ATOMIC_ACQ_REL);
			(void)coro_sem_acquire(&tb_courier_go, CORO_FOREVER);
			/* fall through */
		default:
			(void)coro_buffer_free(c.buffer);
		}
	}
	return n;
}

#define WORDS                                                                       \
	.buffers = (uint32_t)coro_buffer_word(offsetof(struct tb_carried, buffer)), \
	.answer_buffers = (uint32_t)coro_buffer_word(offsetof(struct tb_echo, buffer))

const coro_actor_kind tb_courier = {.size = sizeof tb_courier, .behave = carries, WORDS};
const coro_actor_kind tb_courier_room = {
	.size = sizeof tb_courier_room, .behave = carries, .room = 1, WORDS};

void tb_courier_asks(void *arg, void *result)
{
	struct tb_courier_ask a = *(struct tb_courier_ask *)arg;
	struct tb_carried c = {0};
	struct tb_echo got = {.buffer = {0}};
	coro_answer answer;

	if (coro_buffer_make(a.bytes, &c.buffer))
		coro_abort();
	int status = coro_actor_ask(a.to, TB_CARRY_ECHO, &c, sizeof c, &answer, CORO_FOREVER);
	if (status)
		coro_fail(status, NULL);
	memcpy(&got, answer.payload, sizeof got);
	size_t n;
	(void)coro_buffer_at(got.buffer, &n);
	(void)coro_buffer_free(got.buffer);
	*(uint64_t *)result = n;
}
