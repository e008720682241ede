/* actor.h - bodies that make actors, send to actors and ask them. */
#ifndef TESTBODY_ACTOR_H
#define TESTBODY_ACTOR_H

#include "coro_actor.h"

#include <stdint.h>

/* The kinds of messages of an actor that tb_actor_spawn has made: add the word, and pass the
 * message on; answer the sum; answer in half a word; handle without an answer; stop. */
enum { TB_ADD, TB_SUM, TB_HALF, TB_NOTHING, TB_STOP };

/* tb_adder - the kind of such an actor, whose state tb_adder_state makes; tb_no_kind has no
 * behaviour. */
extern const coro_actor_kind tb_adder, tb_no_kind;
void *tb_adder_state(uint64_t sum);

struct tb_actor {
	uint64_t next; /* is told each TB_ADD; 0: nobody */
	uint32_t brief, room;
};
void tb_actor_spawn(void *arg, void *result); /* struct tb_actor; uint64_t, the actor */

struct tb_flood {
	uint64_t to, n;
};
void tb_actor_flood(void *arg,
		    void *result); /* struct tb_flood; uint64_t, how many were accepted */

struct tb_ask {
	uint64_t to, word;
	uint32_t kind;
};
struct tb_asked {
	int64_t status;
	uint64_t word, bytes;
};
void tb_actor_ask(void *arg, void *result);    /* struct tb_ask; struct tb_asked */
void tb_actor_buffer(void *arg, void *result); /* struct tb_flood: one of n bytes of the value 7 */

#endif
