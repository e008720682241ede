/* client.c - see client.h. */
#include "client.h"

#include "coro.h"

#include <stdbool.h>

static int64_t tick(struct history_world *w)
{
	return __atomic_add_fetch(&w->clock, 1, __ATOMIC_SEQ_CST);
}

static int do_select(struct history_world *w, struct history_op *op, uint64_t deadline)
{
	coro_case cases[HISTORY_CHANS];

	for (int i = 0; i < HISTORY_CHANS; i++) {
		cases[i] = (coro_case){.chan = (coro_chan *)w->chan[i]};
		if (op->sends >> i & 1)
			cases[i].send = &op->value[i];
		else
			cases[i].recv = &op->got;
	}
	op->index = coro_select(cases, HISTORY_CHANS, deadline);
	if (op->index >= 0)
		return cases[op->index].status;
	int status = op->index;
	op->index = -1;
	return status;
}

/* call - make the call. *held tells whether the client holds a lock. */
static int call(struct history_world *w, struct history_op *op, bool *held)
{
	uint64_t deadline = op->wait_ns ? coro_now() + (uint64_t)op->wait_ns : 0;
	coro_chan *chan = (coro_chan *)w->chan[op->object % HISTORY_CHANS];
	int status;

	switch ((enum history_kind)op->kind) {
	case HISTORY_SEND:
		return coro_chan_send(chan, &op->value[0], deadline);
	case HISTORY_RECV:
		return coro_chan_recv(chan, &op->got, deadline);
	case HISTORY_CLOSE:
		return coro_chan_close(chan);
	case HISTORY_SELECT:
		return do_select(w, op, deadline);
	case HISTORY_ACQUIRE:
		return coro_sem_acquire((coro_sem *)w->sem, deadline);
	case HISTORY_RELEASE:
		return coro_sem_release((coro_sem *)w->sem, (uint64_t)op->value[0]);
	case HISTORY_PARK:
		return coro_park_until(deadline);
	case HISTORY_WAKE:
		return coro_wake((coro_handle)w->handle[op->object]);
	case HISTORY_LOCK:
	case HISTORY_READ:
	case HISTORY_WRITE:
		if (*held)
			return HISTORY_SKIPPED;
		status = op->kind == HISTORY_LOCK
				 ? coro_mutex_lock((coro_mutex *)w->mutex, deadline)
			 : op->kind == HISTORY_READ
				 ? coro_rwlock_read((coro_rwlock *)w->rwlock, deadline)
				 : coro_rwlock_write((coro_rwlock *)w->rwlock, deadline);
		*held = status == CORO_OK;
		return status;
	case HISTORY_UNLOCK:
	case HISTORY_RWUNLOCK:
		if (!*held)
			return HISTORY_SKIPPED;
		*held = false;
		return op->kind == HISTORY_UNLOCK ? coro_mutex_unlock((coro_mutex *)w->mutex)
						  : coro_rwlock_unlock((coro_rwlock *)w->rwlock);
	case HISTORY_JOIN:
	case HISTORY_END:
		break;
	}
	return CORO_OK;
}

void history_client(void *arg, void *result)
{
	struct history_client c = *(struct history_client *)arg;
	bool held = false;

	(void)result;
	c.world->handle[c.number] = coro_self();
	__atomic_add_fetch(&c.world->ready, 1, __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(&c.world->open, __ATOMIC_ACQUIRE))
		coro_yield();
	for (int64_t i = 0; i < c.ops; i++) {
		c.op[i].call = tick(c.world);
		c.op[i].status = call(c.world, &c.op[i], &held);
		c.op[i].back = tick(c.world);
	}
}
