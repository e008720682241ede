/*
 * gobridge.h - actors in C whose messages Go handles, and questions of Go's to actors in C.
 *
 * Such an actor is one like any other, to those that send to it. Its behaviour calls Go with its
 * batch, inline: Go's part takes a microsecond, and never waits. Go leaves what it has no room for.
 * The behaviour then waits in one offloaded call for the first of these, so that the messages stay
 * in order. The state is this file's, and is freed when the actor ends.
 */
#ifndef COROI_GOBRIDGE_H
#define COROI_GOBRIDGE_H

#include "coro_actor.h"

/* The Go functions of such actors. Those with a batch return how many messages are handled, a
 * uint32_t, the first ones. */
struct coroi_go_actor {
	uint64_t number;    /* Go's, of the actor */
	coro_go_id deliver; /* inline, with a coroi_go_batch */
	coro_go_id await;   /* offloaded, with a batch of one message: it may wait */
	coro_go_id ended;   /* offloaded, with the number */
};

/* The argument of `deliver` and `await`. What it names is there until the call is over. */
struct coroi_go_batch {
	uint64_t number;
	uint64_t messages; /* a coro_message *const * */
	uint64_t n;
};

/* coroi_go_actor_spawn - an actor of s, with a copy of *a. If it ends because s is closed, `ended`
 * is not called. Returns: as coro_actor_spawn. */
int coroi_go_actor_spawn(coro_scheduler *s, const struct coroi_go_actor *a, coro_actor *out);

/* A question, the argument of coroi_go_ask. */
struct coroi_go_ask {
	coro_actor to;
	uint32_t kind;
	uint8_t bytes; /* of the payload */
	uint8_t wants; /* bytes of the answer */
	uint16_t unused;
	unsigned char payload[CORO_ASK_BYTES];
};

/* coroi_go_ask - a body: ask, and return the answer, CORO_MESSAGE_BYTES; the first `wants` of them
 * count. It fails (coro_fail) with the status of coro_actor_ask, or CORO_ETOOBIG: the answer has
 * another size. */
void coroi_go_ask(void *arg, void *result);

#endif
