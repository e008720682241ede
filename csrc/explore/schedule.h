/*
 * schedule.h - one schedule while it runs, as engine.c (who goes on), stores.c (when a store
 * reaches memory) and ops.c (the operations of the explored code) share it.
 */
#ifndef EXPLORE_SCHEDULE_H
#define EXPLORE_SCHEDULE_H

#include "search.h"

#include "coro.h"

#define RECENT 16

enum state { READY, SPINS, SLEEPS, LOCKED_OUT, AWAITS, JOINS, DONE };

struct store {
	void *p;
	uint64_t value, before;
	uint8_t bytes;
	bool release;
};

struct thread {
	coro_t *co;
	const char *name;
	void (*fn)(void *);
	void *arg;
	void *tls;

	enum state state;
	const void *on; /* what it waits for */
	bool timed;

	bool spinning, stuck, relaxed;
	unsigned rank;      /* of a random schedule by rank: the highest that can go on does */
	unsigned overtaken; /* how often time passed for others, and not for it */
	unsigned spins, recents;
	struct seen {
		const void *p;
		uint64_t value;
		uint8_t bytes;
	} recent[RECENT]; /* loads since it last relaxed: those of the loop it spins in */

	unsigned kept;
	struct store store[STORES_MOST];
};

extern const struct plan *plan;
extern struct thread threads[EX_THREADS];
extern unsigned thread_count;
extern struct thread *cur; /* the running one: memory is its view of it */
extern bool active;        /* a schedule runs */
extern unsigned steps;

/* say - where each step is shown. Else nothing is left of it on the stack, not even its
 * arguments. */
#define say(...) (plan && plan->trace ? say_it(__VA_ARGS__) : (void)0)
void say_it(const char *format, ...) __attribute__((format(printf, 1, 2)));
const char *name_of(const void *p);

/* point - the running thread is about to do what others can notice: others may go on first. */
void point(void);

/* give_way - the running thread waits, its state says for what: who goes on? True: it is to spin on
 * instead (if it may). suspend - then; returns when it goes on itself. wait_as - both. */
bool give_way(bool may_spin);
void suspend(void);
void wait_as(enum state state, const void *on);

/* ------------------------------------------------------------------------------- stores.c */

uint64_t get(const void *p, size_t bytes);
void put(void *p, size_t bytes, uint64_t v);

/* touch - the running thread reads or writes p. True: so do others, and one of them writes. */
bool touch(const void *p, bool writes);
void forget_places(void);

/* A mask says which of a thread's kept stores reach memory. may_keep - the others may stay, and it
 * makes a difference. */
unsigned all_of(const struct thread *t);
bool may_keep(const struct thread *t, unsigned mask);

/* buffer_store - of the running thread. */
void buffer_store(void *p, size_t bytes, uint64_t value, bool release);

/* take_back - what t keeps is not seen by others; apply - t sees it again; settle - those of the
 * mask reach memory, which is nobody's view before and after. */
void take_back(struct thread *t);
void apply(struct thread *t);
void settle(struct thread *t, unsigned mask);

/* leave_view - take_back, for the running thread. */
void leave_view(void);

/* drain - all of the running thread's reach memory; drain_all - all of everybody's. */
void drain(void);
void drain_all(void);

/* ---------------------------------------------------------------------------------- ops.c */

bool held(const void *mutex);
void ops_begin(void); /* a schedule begins: no lock is held, and the clock is set */
uint64_t ops_clock(void);
uint64_t ops_locks(void); /* a word that tells which are held */

#endif
