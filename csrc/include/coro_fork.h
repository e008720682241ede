/*
 * coro_fork.h - forks: calls that may run beside their caller. A part of coro.h. For work that is
 * divided in two, and again, until the parts are small: sorting, searching, trees, matrices.
 *
 *	static void fib(void *arg, void *result)
 *	{
 *		int64_t n = *(int64_t *)arg, a, b, left = n - 1, right = n - 2;
 *		coro_fork f;
 *
 *		if (n < 2) {
 *			*(int64_t *)result = n;
 *			return;
 *		}
 *		coro_fork_begin(&f, fib, &left, &a);
 *		fib(&right, &b);
 *		if (coro_fork_join(&f))
 *			coro_abort();
 *		*(int64_t *)result = a + b;
 *	}
 *
 * A fork that no other worker has taken is a call that its join makes. So a tree of forks is walked
 * in depth, on one stack, and a fork costs about five calls. A worker that has nothing to run takes
 * the oldest fork of another one. docs/fork.md tells when to fork, and what suspending costs.
 */
#ifndef CORO_FORK_H
#define CORO_FORK_H

#ifndef CORO_H
#error "include coro.h"
#endif

/* A fork, 64 bytes. It lies in its parent's frame, or wherever else it stays until the join. */
typedef struct coro_fork {
	coro_fn fn;
	void *arg, *result;
	/* the library's */
	uint64_t word;
	void *parent, *next, *before;
	uint64_t child;
} coro_fork;

/*
 * coro_fork_begin - fn(arg, result) may run from now on, beside the caller. It runs once, in a
 * coroutine of its own, at the latest in coro_fork_join.
 *
 * f, arg, result: memory that stays until coro_fork_join has returned, and that no other thread
 * writes meanwhile, but fn. result may be NULL.
 *
 * The coroutine that has begun a fork joins it, before the function that f lies in returns, in any
 * order. If it ends otherwise than by returning (coro_exit, coro_abort, coro_fail), its forks that
 * have not begun never do, those that run are canceled, and the end waits for them.
 *
 * When the child begins: as another worker takes it; after the caller has suspended, in a wait or a
 * yield of its own; after some ms in which only waits that end at once let others run; or in the
 * join. It begins with half of a stack at least. coro_self, locks, coro_defer, permits and errors
 * are the child's own, wherever it runs. It is neither pinned nor a daemon, has the default stack
 * size where it does not run on its parent's stack, and no coroutine but its parent can join it.
 *
 * Where no other worker may take the fork, the join calls fn: in a pinned coroutine, and in a
 * section (coro_nowait_begin, coro_finite_begin). In a dense coroutine, in one of another layer, and
 * on a thread that runs none, that is a plain call: fn is part of its caller.
 *
 * Thread: any. Blocking: never. Cost: about two calls; a spawn for each from the 1025th on that one
 * stack has begun, none of them joined.
 */
void coro_fork_begin(coro_fork *f, coro_fn fn, void *arg, void *result);

/*
 * coro_fork_join - wait until f's function has ended; call it, if it has not begun.
 *
 * Blocking: as f's function, which the join calls; if another worker has begun it, until it has
 *           ended. A cancel of the caller is one of the child, and the join waits for its end.
 * Returns:  CORO_OK: it has returned. CORO_EABORTED, CORO_EFAILED (coro_join_error tells more),
 *           CORO_ECANCELED: as coro_join. The function was not called: CORO_ECANCELED, as the caller
 *           was canceled before; CORO_ENOMEM: there was no record, or no stack to go on on. Not
 *           joined: CORO_EPERM: the fork is another coroutine's; CORO_ENOWAIT: another worker runs
 *           it, and the caller must not wait.
 * Cost:     about three calls more than f's function. Another worker runs it: a wait.
 */
int coro_fork_join(coro_fork *f);

/*
 * coro_for - fn(from, to, arg) for parts of [begin, end) that together are all of it, of at most
 * `grain` numbers each (less than 1: 1). The parts run one after the other, in order, as long as no
 * other worker has nothing to do; when one has, it takes the upper half of what is left.
 *
 * fn runs in the calling coroutine, and in forks: one that ends its coroutine ends the loop, and in
 * the caller's part the caller. Between two parts others of the worker may run, as in a wait that
 * ends at once.
 *
 * Thread:   any. Blocking: as fn, and as coro_fork_join.
 * Returns:  CORO_OK; or the status of the lowest part that did not return: then some numbers were
 *           perhaps left out. CORO_ECANCELED: the caller was canceled, as it is told between two
 *           parts. CORO_EINVAL: fn is NULL.
 * Cost:     a call for each part. After Tzannes, Caragea, Barua, Vishkin, "Lazy Binary-Splitting",
 *           PPoPP 2010.
 */
int coro_for(int64_t begin, int64_t end, int64_t grain,
	     void (*fn)(int64_t from, int64_t to, void *arg), void *arg);

#endif
