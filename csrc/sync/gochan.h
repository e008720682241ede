/*
 * gochan.h - channels: the calls for Go, and the words that Go reads.
 *
 * This is apart from chan.h, which includes it, so that coro_chan has no members in Go: then cgo
 * checks no pointer to a channel, and the garbage collector follows none.
 */
#ifndef COROI_GOCHAN_H
#define COROI_GOCHAN_H

#include "sync/gowait.h"

/* Where Go reads, without a lock: `passed` of `in`, the first of `senders` and of `receivers`,
 * `closed`, `passed` of `out`. */
#define COROI_CHAN_IN        16
#define COROI_CHAN_SENDERS   32
#define COROI_CHAN_RECEIVERS 48
#define COROI_CHAN_CLOSED    88 /* a byte; `sample` is the second after it */
#define COROI_CHAN_OUT       132

/* coroi_chan_keep - c, which is new, is Go's: coro_chan_free refuses to free it (CORO_EPERM). */
void coroi_chan_keep(coro_chan *c);

/* coroi_chan_set_sample - `sample` of c, which is Go's: see COROI_SAMPLED. Thread: any. */
void coroi_chan_set_sample(coro_chan *c, uint8_t mask);

/* coroi_chan_destroy - every use of c, which is Go's, is CORO_EINVAL from now on; the memory stays.
 * What is in c is lost. Returns what coro_chan_free does. */
int coroi_chan_destroy(coro_chan *c);

/* coroi_chan_release - free c, which is Go's, destroyed or not. Nothing is freed while others wait
 * at c. */
void coroi_chan_release(coro_chan *c);

/* coroi_chan_send_passed - coro_chan_send of a value whose buffers Go has passed. So are the values
 * of the calls below. */
int coroi_chan_send_passed(coro_chan *c, const void *value, uint64_t deadline);

/* coroi_chan_send_gowaiter, coroi_chan_recv_gowaiter - coro_chan_send of g's value, coro_chan_recv
 * into it, for which g waits. */
int coroi_chan_send_gowaiter(coro_chan *c, struct coroi_gowaiter *g);
int coroi_chan_recv_gowaiter(coro_chan *c, struct coroi_gowaiter *g);

int coroi_chan_send_leaf(coro_chan *c, void *value);
int coroi_chan_recv_leaf(coro_chan *c, void *value);

/* coroi_chan_send_spin_leaf, coroi_chan_recv_spin_leaf - coroi_chan_send_gowaiter and
 * coroi_chan_recv_gowaiter as leaves, of a channel without room. COROI_WAITS: the goroutine is to
 * look at g's event word, WTQ4. The value of g lies at COROI_GOWAITER_OWN, if it has at most
 * COROI_OWN_BYTES, else behind g. */
int coroi_chan_send_spin_leaf(coro_chan *c, struct coroi_gowaiter *g);
int coroi_chan_recv_spin_leaf(coro_chan *c, struct coroi_gowaiter *g);

#endif
