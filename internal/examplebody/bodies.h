/* bodies.h - the C coroutines of the examples in package coro's documentation. */
#ifndef CORO_EXAMPLEBODY_H
#define CORO_EXAMPLEBODY_H

#include "coro.h"

/* An argument is a plain struct; the Go side declares one with the same fields. */
struct range {
	uint32_t from, to;
};

/* A byte for each number. */
struct sieve {
	uint8_t *prime;
};

/* Two channels of int64_t: the addresses that Go gave. */
struct pipe {
	coro_chan *in, *out;
};

/* A shop: what guards it, and who waits for goods. */
struct shop {
	coro_mutex *lock;
	coro_cond *delivered;
};

extern int64_t goods;    /* in the shop; with its lock */
extern int64_t table[4]; /* of squares, once it is made */

/* A counter in C memory, which several coroutines add to. Atomic. */
extern int64_t primes_found;

extern int64_t most_inside; /* visitors at once */

/* struct sieve: a part of a range, for For: says of each number whether it is prime */
void sieve(int64_t from, int64_t to, void *arg);
/* struct range: adds how many primes are in [from, to) */
void count_primes(void *arg, void *result);
/* uint64_t: result uint32_t, how many steps it takes to 1 */
void collatz(void *arg, void *result);
/* coro_handle: waits for a permit, then passes one on */
void relay(void *arg, void *result);
/* uint32_t: adds it for each permit, until it is canceled; result uint32_t */
void adder(void *arg, void *result);
/* int64_t: a line; result int64_t, its words, counted by a Go function */
void word_count(void *arg, void *result);
/* struct pipe: twice what comes in, until that is closed; result int64_t, how many */
void doubler(void *arg, void *result);
void visitor(void *arg, void *result); /* coro_sem *: takes a permit, yields, gives it back */
/* struct shop: waits until there are goods, and takes one */
void buyer(void *arg, void *result);
void depositor(void *arg, void *result); /* coro_mutex *: adds 1 to goods, with the lock */
/* coro_rwlock *: result int64_t, what is in the table */
void auditor(void *arg, void *result);
void runner(void *arg, void *result); /* coro_latch *: counts it down */
/* coro_once *: makes the table; result int64_t, what is in it */
void user(void *arg, void *result);
intptr_t fibonacci(void *arg, intptr_t sent); /* yields the Fibonacci numbers */
void echo(void *arg, void *result);           /* coro_fd: sends back what comes, and closes it */

#endif
