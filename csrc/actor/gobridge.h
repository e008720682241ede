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
	uint64_t number;                  /* Go's, of the actor */
	coro_go_id deliver;               /* inline, with a coroi_go_batch */
	coro_go_id await;                 /* offloaded, with a batch of one message: it may wait */
	coro_go_id ended;                 /* offloaded, with the number */
	uint16_t buffers, answer_buffers; /* as those of a coro_actor_kind */
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
	/* Which words of the payload have buffers by its type, in the lower byte; in the upper one,
	 * which of the answer. */
	uint16_t buffers;
	unsigned char payload[CORO_ASK_BYTES];
};

/* coroi_go_ask - a body: ask, and return the first `wants` bytes of the answer. It fails
 * (coro_fail) with the status of coro_actor_ask; or CORO_ETOOBIG: the answer has another size;
 * CORO_EPERM: coroi_go_fits says so. Buffers that the actor has not got are freed then. */
void coroi_go_ask(void *arg, void *result);

/* coroi_go_asks - the same, COROI_GO_ASKS times: which words have buffers is a matter of the
 * function (kernel/carry.h), and Go's types have them in different ones. */
#define COROI_GO_ASKS 16
extern const coro_fn coroi_go_asks[COROI_GO_ASKS];

/* coroi_go_fits - do a message of so many bytes, with buffers in these words, and such an answer
 * fit the actor's kind? Returns: CORO_OK; CORO_EPERM: the kind has them in other words;
 * CORO_ESTALE, CORO_ECLOSED. coroi_go_send - coro_actor_send, if the message fits. Thread: any. */
int coroi_go_fits(coro_actor to, size_t bytes, uint64_t buffers, size_t answer_bytes,
		  uint64_t answer_buffers);
int coroi_go_send(coro_actor to, uint32_t kind, const void *payload, size_t bytes,
		  uint64_t buffers);

#endif
