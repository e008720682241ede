/*
 * fifo.h - a policy for the tests of the bare dispatcher, first in first out: it checks how it is
 * asked, counts what it gives, and does what a test wants it to do wrong.
 */
#ifndef FIFO_H
#define FIFO_H

#include "test.h"

#define MANY 4096

struct player {
	coro_dispatched own; /* first */
	uint64_t id;
	unsigned rounds;
	int status; /* of its last coro_dispatch_block */
	void (*body)(struct player *);
};

extern struct fifo {
	coro_dispatched *queue[MANY];
	unsigned head, tail;   /* free-running */
	coro_dispatched *last; /* who ran */
	uint64_t asked, live, bytes, most, allocs, frees;
	/* so many buffers are had, and then one is refused; negative: none */
	int fail_in;
	unsigned refused;       /* of which nobody has been told */
	unsigned random;        /* not 0: its seed; any of the queue is next */
	coro_dispatched *wrong; /* is returned once */
	void (*asking)(void);   /* called when it is asked */
} fifo;

extern coro_dispatcher *dispatcher;
extern const coro_dispatch_policy fifo_policy;

/* Its three callbacks. */
coro_dispatched *fifo_next(coro_dispatcher *d, void *user);
void *fifo_alloc(void *user, coro_dispatched *c, size_t bytes);
void fifo_free(void *user, coro_dispatched *c, void *buffer, size_t bytes);

/* fifo_reset - it knows of nobody; fifo_open - and there is a dispatcher. fifo_close - which is
 * freed, and so is all that was given. */
void fifo_reset(void);
void fifo_open(size_t stack_bytes);
void fifo_close(void);

/* fifo_ready - c is behind all others. fifo_enter - so is a new one. fifo_enter_many - n of them,
 * for free(). */
void fifo_ready(coro_dispatched *c);
void fifo_enter(struct player *p, void (*body)(struct player *));
struct player *fifo_enter_many(unsigned n, void (*body)(struct player *));

/* fifo_run - until nobody is left. fifo_run_all - then all n have ended so, and everything is
 * freed. */
void fifo_run(void);
void fifo_run_all(struct player *p, unsigned n, int how);

/* What players do. player_main - the body of all, which calls theirs; with_pattern - a stretch of
 * the stack of so many words with a pattern of its own, while its owner is blocked; small_frames,
 * any_frames - that, again and again. */
void player_main(void *arg);
void with_pattern(unsigned words, uint64_t seed);
void small_frames(struct player *p);
void any_frames(struct player *p);
void blocks_once(struct player *p);
void nothing(struct player *p);

#endif
