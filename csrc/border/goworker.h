/*
 * goworker.h - the goworker: a worker without a thread, whose coroutines have Go bodies and are run
 * by goroutines.
 *
 * The goworker is the last of the scheduler's workers. Like any other it has an inbox, a bit among
 * the sleepers, and counts of the coroutines that were spawned and have ended. It holds an awake
 * token while any goroutine runs one of its coroutines. It has no door, no queue and no stacks, and
 * nothing is stolen from it: what becomes runnable there is Go's business. So waking, joining and
 * the end take the same steps as everywhere (wait.c, join.c, idle.c), from C to Go and back.
 *
 * Where it says "one caller at a time", Go holds a lock.
 */
#ifndef COROI_GOWORKER_H
#define COROI_GOWORKER_H

#include "kernel/inbox.h"

/* The kind of an item that came out of the inbox. */
enum {
	COROI_GOWORKER_START = 1, /* a fresh coroutine */
	COROI_GOWORKER_WAKE,      /* n permits */
	COROI_GOWORKER_EVENT,     /* perhaps the event of a wait inside coro; and n permits */
};

/*
 * What has happened to a coroutine of the goworker. When Go looks at the item, the coroutine may
 * have ended.
 *
 * n:        permits.
 * body:     of a START, the Go body that coro_spawn_go has asked for; it lies in the record's
 *           `stack`. 0: Go has started the coroutine.
 * canceled: of a WAKE or EVENT, the coroutine is canceled. Go applies that after the item's
 *           permits and event (CAN1 of wait.c).
 */
struct coroi_goworker_item {
	uint32_t kind, n, body, canceled;
	coro_handle handle;
	struct coroi_rec *rec; /* of a START; else NULL, as the record may have another user */
};

/* coroi_goworker_body - from now on coro_spawn_go knows id, which has COROI_GO_BODY, as a body with
 * that many bytes of argument and of result, and with buffers in these words of them
 * (kernel/carry.h). One caller at a time. Returns: CORO_OK, CORO_ENOMEM. */
#define COROI_GO_BODY (UINT32_C(1) << 31) /* tells a body's id from that of a function to call */
int coroi_goworker_body(uint32_t id, uint8_t arg_bytes, uint8_t result_bytes, uint8_t arg_buffers,
			uint8_t result_buffers);

/* coroi_goworker_take - take up to cap items out of the inbox, the oldest first. One caller at a
 * time; the goworker is awake. Returns: how many. */
uint32_t coroi_goworker_take(struct coroi_worker *goworker, struct coroi_goworker_item *items,
			     uint32_t cap);

/* coroi_goworker_end - r, a coroutine of the goworker, has ended. flags: how (COROI_F_ABORTED,
 * COROI_F_CANCELED or 0). One that carries was started if its payload has no argument. Afterwards
 * Go tells the waiters in Go, and counts the end in goworker->ended. Thread: any; the goworker is
 * awake. */
void coroi_goworker_end(struct coroi_worker *goworker, struct coroi_rec *r, uint8_t flags);

#endif
