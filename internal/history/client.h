/*
 * client.h - a client of a history: a C coroutine that makes calls, one after the other, and notes
 * when each began and ended, and what came of each.
 */
#ifndef CORO_HISTORY_CLIENT_H
#define CORO_HISTORY_CLIENT_H

#include <stdint.h>

#define HISTORY_CLIENTS 4
#define HISTORY_CHANS   2

enum history_kind {
	HISTORY_SEND,   /* value to chan[object] */
	HISTORY_RECV,   /* from chan[object] */
	HISTORY_CLOSE,  /* chan[object] */
	HISTORY_SELECT, /* a case for each channel: bit i of sends tells whether case i sends */
	HISTORY_ACQUIRE,
	HISTORY_RELEASE, /* value permits */
	HISTORY_LOCK,
	HISTORY_UNLOCK,
	HISTORY_READ,
	HISTORY_WRITE,
	HISTORY_RWUNLOCK, /* of a reader or the writer */
	HISTORY_PARK,
	HISTORY_WAKE, /* client number `object` */
	HISTORY_JOIN, /* client number `object`; for clients in Go */
	HISTORY_END
};

/* What a call returned that was not made: to unlock what the client does not hold. */
#define HISTORY_SKIPPED 1

struct history_op {
	int32_t kind, object;
	int64_t value[HISTORY_CHANS]; /* of case i; of other calls the first */
	uint32_t sends;
	int32_t index;      /* out: the case that was done, or -1 */
	int64_t wait_ns;    /* how long the call may wait; 0: not at all */
	int64_t got;        /* out: the value that was received */
	int64_t call, back; /* out: by the clock of the world */
	int32_t status;     /* out: CORO_OK, an error or HISTORY_SKIPPED */
};

/* What the clients of one history share. */
struct history_world {
	int64_t clock; /* atomic: each look at it is a tick */
	int32_t ready; /* atomic: clients that have come to the gate */
	int32_t open;  /* atomic: the gate is open */
	uint64_t handle[HISTORY_CLIENTS];
	uintptr_t chan[HISTORY_CHANS], sem, mutex, rwlock;
};

struct history_client {
	struct history_world *world;
	struct history_op *op;
	int64_t ops, number;
};

/* history_client - arg: struct history_client. */
void history_client(void *arg, void *result);

#endif
