/* courier.h - an actor whose messages have buffers. */
#ifndef TESTBODY_COURIER_H
#define TESTBODY_COURIER_H

#include "coro_actor.h"

#include <stdint.h>

/* What the actor does with a message: free the buffer; answer with it; answer with it and 8 bytes
 * more; pass it on to the actor `next`; keep the turn until the state's semaphore has a permit, and
 * free it; abort. */
enum {
	TB_CARRY_FREE,
	TB_CARRY_ECHO,
	TB_CARRY_ECHO_MORE,
	TB_CARRY_NEXT,
	TB_CARRY_HOLD,
	TB_CARRY_ABORT
};

struct tb_carried {
	uint64_t next;
	coro_buffer buffer;
};

struct tb_echo {
	coro_buffer buffer;
	uint64_t bytes; /* of the buffer */
};

/* tb_courier - the kind, tb_courier_room with a room for one message; the state is tb_courier_state. */
extern const coro_actor_kind tb_courier, tb_courier_room;
extern coro_sem tb_courier_go;

/* tb_courier_held - how many messages have begun to keep their turns. */
uint64_t tb_courier_held(void);

/* tb_courier_asks - a body that sends a question with a buffer of so many bytes, and frees that of
 * the answer. Returns the bytes of the answer's. */
struct tb_courier_ask {
	uint64_t to, bytes;
};
void tb_courier_asks(void *arg, void *result);

#endif
