/*
 * gowakes.h - the calls by Go that may wake coroutines. A brief function that such a call wakes
 * runs on the calling thread, once the call is through and holds nothing (border/lend.h).
 */
#ifndef COROI_GOWAKES_H
#define COROI_GOWAKES_H

#include "border/lend.h"
#include "sync/cond.h"
#include "sync/gochan.h"
#include "sync/gostream.h"
#include "sync/mutex.h"
#include "sync/once.h"
#include "sync/rwlock.h"
#include "sync/select.h"

/* GO_WAKES - go_NAME is NAME, as Go calls it. A value is bytes: cgo looks at each call where a
 * pointer to anything leads. */
#define GO_WAKES(name, parameters, arguments)  \
	static inline int go_##name parameters \
	{                                      \
		struct coroi_waker k;          \
		coroi_waker_begin(&k);         \
		int status = name arguments;   \
		coroi_waker_end(&k);           \
		return status;                 \
	}

GO_WAKES(coro_wake, (coro_handle h), (h))
GO_WAKES(coroi_chan_send_passed, (coro_chan * c, const unsigned char *value, uint64_t deadline),
	 (c, value, deadline))
GO_WAKES(coro_chan_recv, (coro_chan * c, unsigned char *value, uint64_t deadline),
	 (c, value, deadline))
GO_WAKES(coro_chan_close, (coro_chan * c), (c))
GO_WAKES(coroi_chan_send_gowaiter, (coro_chan * c, struct coroi_gowaiter *g), (c, g))
GO_WAKES(coroi_chan_recv_gowaiter, (coro_chan * c, struct coroi_gowaiter *g), (c, g))
GO_WAKES(coroi_select_gowaiter, (struct coroi_gowaiter * g, uint32_t n), (g, n))
GO_WAKES(coro_stream_close, (coro_stream * s, uint32_t directions, int code), (s, directions, code))
GO_WAKES(coroi_pipe_tell, (struct coroi_pipe * p, bool writes), (p, writes))
GO_WAKES(coro_sem_release, (coro_sem * s, uint64_t n), (s, n))
GO_WAKES(coroi_mutex_unlock_as, (coro_mutex * m, uint64_t owner), (m, owner))
GO_WAKES(coroi_rwlock_unlock_as, (coro_rwlock * l, bool write, uint64_t owner), (l, write, owner))
GO_WAKES(coro_cond_signal, (coro_cond * c), (c))
GO_WAKES(coro_cond_broadcast, (coro_cond * c), (c))
GO_WAKES(coroi_cond_wait_gowaiter,
	 (coro_cond * c, coro_mutex *m, uint64_t owner, struct coroi_gowaiter *g), (c, m, owner, g))
GO_WAKES(coro_latch_add, (coro_latch * l, int64_t n), (l, n))

/* A value that is passed through a channel without waiting. Integers alone, and no result: cgo
 * looks where a pointer leads, and twice where the stack is of a call that has a result. */
struct coroi_pass {
	uint64_t chan; /* a coro_chan */
	int32_t status;
	bool sends;
	unsigned char value[COROI_LEAF_BYTES] __attribute__((aligned(8)));
};

static inline void go_pass(struct coroi_pass *p)
{
	coro_chan *c = (coro_chan *)(uintptr_t)p->chan;

	p->status = p->sends ? go_coroi_chan_send_passed(c, p->value, 0)
			     : go_coro_chan_recv(c, p->value, 0);
}

static inline void go_coroi_once_end(coro_once *o)
{
	struct coroi_waker k;

	coroi_waker_begin(&k);
	coroi_once_end(o);
	coroi_waker_end(&k);
}

#endif
