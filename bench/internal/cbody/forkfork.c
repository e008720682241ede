/* forkfork.c - the loads of forkload.h with a fork for each child, and that of rows by coro_for. */
#include "cbody.h"

/* A child's function is that of the fork. */
#define BODY(name, type)                           \
	static void name(void *arg, void *result); \
	static inline void name##_of(type *me);    \
	static void name(void *arg, void *result)  \
	{                                          \
		(void)result;                      \
		name##_of(arg);                    \
	}                                          \
	static inline void name##_of(type *me)
#define CALL(name, to) name(to, NULL)
#include "forkcoro.h"

/* The newest first: each is the newest fork of its stack then. */
static inline void join_children(coro_fork *child, uint32_t n)
{
	while (n-- > 0)
		cb_fail(coro_fork_join(&child[n]));
}

#define CHILDREN(n)       coro_fork child[n]
#define FORK(i, name, to) coro_fork_begin(&child[i], name, to, NULL)
#define JOIN(n)           join_children(child, n)
#include "forkbody.h"

void cb_fork_fork(void *arg, void *result)
{
	fork_measure(arg, once, result);
}

/* Not fj.result: where the address of fj is given away, compilers read its size in each loop again. */
static uint64_t rows;

static void some_rows(int64_t from, int64_t to, void *sum)
{
	uint64_t own = 0;

	for (int64_t row = from; row < to; row++)
		own += fj_mandel_row((uint32_t)row);
	__atomic_fetch_add((uint64_t *)sum, own, __ATOMIC_RELAXED);
}

static void once_for(void)
{
	rows = 0;
	if (fj.load == FJ_MANDEL)
		cb_fail(coro_for(0, fj.size, 1, some_rows, &rows));
	else
		cb_fail(CORO_EINVAL);
	fj.result = rows;
}

void cb_fork_for(void *arg, void *result)
{
	fork_measure(arg, once_for, result);
}
