/*
 * engine.h - the search over interleavings, as the explored code and the scenarios see it.
 */
#ifndef EXPLORE_ENGINE_H
#define EXPLORE_ENGINE_H

#include "mutants.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---------------------------------------------------------- operations of the explored code */

void ex_load(const void *p, size_t bytes);
void ex_buffer(void *p, size_t bytes, uint64_t value, bool release);
void ex_rmw_begin(void *p, size_t bytes);
void ex_rmw_end(void);
void ex_fence(void);
void ex_membarrier(void);
void ex_relax(void);
void ex_futex_wait(uint32_t *word, uint32_t value, int64_t timeout_ns);
void ex_futex_wake(uint32_t *word, int count);
/* ex_call - a system call of that name begins, and is one step: others go on before it. ex_sleep -
 * as part of it the thread sleeps on the word. ex_wake - as part of it count sleepers wake up. */
void ex_call(const char *name);
void ex_sleep(const uint32_t *word, int64_t timeout_ns);
void ex_wake(const uint32_t *word, int count);
void ex_lock(void *mutex);
void ex_unlock(void *mutex);
void ex_cond_wait(void *cond, void *mutex);
void ex_cond_broadcast(void *cond);
int ex_join(unsigned thread);
uint64_t ex_now_ns(void);
void ex_pass(int64_t ns); /* that much time passes */

/* ex_clean - clear the stack below the caller. If the search keeps no states: nothing. See
 * states.c. */
void ex_clean(void);

extern int ex_mutant;

/* ------------------------------------------------------------------------------ scenarios */

#define EX_THREADS 6
#define EX_LISTS   21
#define EX_OWN     3 /* words that each thread has of its own: thread-local variables */

enum ex_op { EX_LOAD, EX_STORE, EX_RMW, EX_OTHER };

struct ex_scenario {
	const char *name, *about;
	void (*setup)(void); /* once: makes the threads, and what they work on */
	/* after each schedule, when no thread can go on: is everything as it must be? */
	void (*check)(void);
	unsigned workers;
	unsigned raw;   /* a bit for each worker without a thread of its own */
	unsigned flags; /* of the scheduler */
	bool paused;    /* a run: at its end something may lie in an inbox */
	bool stops;     /* the scheduler is closed at the end */
	uint32_t reach; /* a bit for each ex_reached that some schedule must come to */
};

/* The explored part of the program; see world.c. */
struct ex_world {
	/* where the running thread keeps its i-th own word; the first is its worker */
	void **(*own)(unsigned i);
	void (*setup)(const struct ex_scenario *);
	/* memory is again as setup left it. looked: no thread has run since `memory` */
	void (*restore)(bool looked);
	void (*check)(const struct ex_scenario *);
	/* called at each operation, as it is made */
	void (*saw)(enum ex_op op, const void *p, uint64_t before, uint64_t after);
	/* threads share p, even if no atomic operation shows it */
	bool (*shared)(const void *p);
	void (*waits)(void); /* called as the running thread is about to wait for others */
	void (*name)(const void *p, char *out, size_t bytes);
	/* all memory that is put back. False: there is more of it than before */
	bool (*memory)(void (*add)(const void *p, size_t bytes));
	void (*own_stack)(void *low, void *top); /* the stack of a thread: once */
	/* the live parts of all stacks, where the threads stand at the n contexts sp */
	void (*stacks)(const void *const *sp, unsigned n,
		       void (*add)(const void *sp, const void *top));
	const struct ex_scenario *const *scenarios[EX_LISTS]; /* each list ends with NULL */
};

extern const struct ex_world ex_world;

/* ex_thread - one more thread, during setup. Returns its number. ex_self - the number of the
 * running thread. */
unsigned ex_thread(const char *name, void (*fn)(void *), void *arg);
unsigned ex_self(void);

/* ex_fail - this schedule shows an error. Does not return. */
void ex_fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
#define EX_CHECK(condition) \
	((condition) ? (void)0 : ex_fail("%s:%d: %s", __func__, __LINE__, #condition))

/* ex_reached - the schedule has come to this point of its scenario. */
void ex_reached(unsigned bit);

#endif
