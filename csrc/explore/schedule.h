/*
 * schedule.h - one schedule while it runs. Shared by engine.c (which thread goes on), stores.c
 * (when a store reaches memory) and ops.c (the operations of the explored code).
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
	void *own[EX_OWN];

	enum state state;
	const void *on; /* what the thread waits for */
	bool timed;

	bool spinning, stuck, relaxed;
	unsigned rank;      /* in a random schedule by rank: the highest that can go on does */
	unsigned overtaken; /* times that time passed for other threads, and not for this one */
	unsigned spins, recents;
	struct seen {
		const void *p;
		uint64_t value;
		uint8_t bytes;
	} recent[RECENT]; /* loads since the last at_relax: those of the loop that may spin */

	unsigned kept;
	struct store store[STORES_MOST];
};

extern const struct plan *plan;
extern struct thread threads[EX_THREADS];
extern unsigned thread_count;
extern struct thread *cur; /* the running thread: memory is as it sees memory */
extern bool active;        /* a schedule runs */
extern unsigned steps;

/* say - print, if the plan shows each step. Otherwise say leaves nothing on the stack, not even its
 * arguments. */
#define say(...) (plan && plan->trace ? say_it(__VA_ARGS__) : (void)0)
void say_it(const char *format, ...) __attribute__((format(printf, 1, 2)));
const char *name_of(const void *p);

/* point - the running thread is about to do what others can notice. Others may go on first. */
void point(void);

/* give_way - the running thread waits, for what its state says: choose which thread goes on. True:
 * the thread is to spin on instead, which may_spin allows. suspend - let the chosen thread run;
 * returns when the caller is chosen. wait_as - both. */
bool give_way(bool may_spin);
void suspend(void);
void wait_as(enum state state, const void *on);

/* ------------------------------------------------------------------------------- stores.c */

uint64_t get(const void *p, size_t bytes);
void put(void *p, size_t bytes, uint64_t v);

/* touch - the running thread reads or writes p. True: several threads use p, and one writes. */
bool touch(const void *p, bool writes);
void forget_places(void);

/* A mask says which of a thread's kept stores reach memory. all_of - all of them. may_keep - the
 * others may stay, and that makes a difference. */
unsigned all_of(const struct thread *t);
bool may_keep(const struct thread *t, unsigned mask);

/* buffer_store - put a store of the running thread into its buffer. */
void buffer_store(void *p, size_t bytes, uint64_t value, bool release);

/* take_back - memory is as threads other than t see it. apply - memory is as t sees it. settle -
 * the stores of the mask reach memory; before and after, memory is no thread's view. */
void take_back(struct thread *t);
void apply(struct thread *t);
void settle(struct thread *t, unsigned mask);

/* leave_view - take_back of the running thread. */
void leave_view(void);

/* drain - all stores of the running thread reach memory. drain_all - those of all threads. */
void drain(void);
void drain_all(void);

/* ---------------------------------------------------------------------------------- ops.c */

bool held(const void *mutex);
void ops_begin(void); /* a schedule begins: no lock is held, and the clock is set */
uint64_t ops_clock(void);
uint64_t ops_locks(void); /* a word that tells which locks are held */

#endif
