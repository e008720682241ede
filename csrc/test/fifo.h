/*
 * fifo.h - a policy for the tests of the manual dispatcher, first in first out. The policy checks
 * how it is called, counts the buffers that it gives, and makes the mistakes that a test asks for.
 */
#ifndef FIFO_H
#define FIFO_H

#include "test.h"

#define MANY 4096

struct player {
	coro_dispatched own; /* first */
	uint64_t id;
	unsigned rounds;
	int status; /* of the last coro_dispatch_block */
	void (*body)(struct player *);
};

extern struct fifo {
	coro_dispatched *queue[MANY];
	unsigned head, tail;   /* free-running */
	coro_dispatched *last; /* the coroutine that ran last */
	uint64_t asked, live, bytes, most, allocs, frees;
	/* n buffers are granted, and the next is refused; negative: none is refused */
	int fail_in;
	unsigned refused;       /* refusals that no player has seen yet */
	unsigned random;        /* not 0: a seed; next takes any of the queue */
	coro_dispatched *wrong; /* next returns this once */
	void (*asking)(void);   /* called by next, unless NULL */
} fifo;

extern coro_dispatcher *dispatcher;
extern const coro_dispatch_policy fifo_policy;

/* The three callbacks of fifo_policy. */
coro_dispatched *fifo_next(coro_dispatcher *d, void *user);
void *fifo_alloc(void *user, coro_dispatched *c, size_t bytes);
void fifo_free(void *user, coro_dispatched *c, void *buffer, size_t bytes);

/* fifo_reset - forget everything. fifo_open - reset, and make a dispatcher. fifo_close - free the
 * dispatcher; every buffer has been freed. */
void fifo_reset(void);
void fifo_open(size_t stack_bytes);
void fifo_close(void);

/* fifo_ready - put c at the end of the queue. fifo_enter - a new player, ready. fifo_enter_many - n
 * of them; the caller frees them with free(). */
void fifo_ready(coro_dispatched *c);
void fifo_enter(struct player *p, void (*body)(struct player *));
struct player *fifo_enter_many(unsigned n, void (*body)(struct player *));

/* fifo_run - run until no player is left. fifo_run_all - run; all n have ended with status `how`;
 * free everything. */
void fifo_run(void);
void fifo_run_all(struct player *p, unsigned n, int how);

/* Bodies of players. player_main - the function of all players; it calls the player's body.
 * with_pattern - block over n words of the stack with a pattern, which is there afterwards.
 * small_frames, any_frames - do so again and again. */
void player_main(void *arg);
void with_pattern(unsigned words, uint64_t seed);
void small_frames(struct player *p);
void any_frames(struct player *p);
void blocks_once(struct player *p);
void nothing(struct player *p);

#endif
