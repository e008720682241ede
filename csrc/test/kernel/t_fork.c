/*
 * t_fork.c - forks: results, orders of joins, who a child is, plain calls, refusals, how deep. Ends
 * otherwise than by returning: t_fork_ends.c. Cancels: t_fork_cancel.c. Sections, pins, threads, Go:
 * t_fork_places.c.
 */
#include "pools.h"

#include "kernel/policy.h"
#include "kernel/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static uint64_t done, counted, begun;

static void counts(void *arg, void *result)
{
	(void)arg;
	(void)result;
	add_one(&counted);
}

/* in_schedulers - run fn alone in schedulers of 1, 2 and 3 workers. */
static void in_schedulers(coro_fn fn)
{
	for (uint32_t workers = 1; workers <= 3; workers++) {
		coro_scheduler *s = start_with(workers, workers == 3 ? CORO_NO_MEMBARRIER : 0);
		done = counted = 0;
		run_alone(s, NULL, fn);
		CHECK_EQ(done, 1);
	}
}

static void in_one_worker(coro_fn fn)
{
	coro_scheduler *s = start_with(1, 0);

	done = counted = 0;
	run_alone(s, NULL, fn);
	CHECK_EQ(done, 1);
}

/* -------------------------------------------------------------------------------------- results */

static void fib(void *arg, void *result)
{
	int64_t n = *(int64_t *)arg, a, b, left = n - 1, right = n - 2;
	coro_fork f;

	if (n < 2) {
		*(int64_t *)result = n;
		return;
	}
	coro_fork_begin(&f, fib, &left, &a);
	fib(&right, &b);
	CHECK_EQ(coro_fork_join(&f), CORO_OK);
	*(int64_t *)result = a + b;
}

static void computes_fib(void *arg, void *result)
{
	int64_t n = 20, got;
	(void)arg;
	(void)result;

	fib(&n, &got);
	CHECK_EQ(got, 6765);
	done++;
}

TEST(fork_tree)
{
	in_schedulers(computes_fib);
}

static void squares(void *arg, void *result)
{
	int64_t n = *(int64_t *)arg;

	if (result)
		*(int64_t *)result = n * n;
	add_one(&counted);
}

#define SOME 5

/* nth - the n-th of those that are not joined. */
static int nth(const bool *joined, unsigned n)
{
	int i = 0;

	while (joined[i] || n--)
		i++;
	return i;
}

/* joins_in - begin forks, and join them in an order that `number` gives: all orders are tried. */
static void joins_in(unsigned number)
{
	int64_t arg[SOME], got[SOME] = {0};
	coro_fork f[SOME];
	bool joined[SOME] = {false};

	for (int i = 0; i < SOME; i++) {
		arg[i] = i + 1;
		coro_fork_begin(&f[i], squares, &arg[i], i == 2 ? NULL : &got[i]);
	}
	for (unsigned left = SOME; left; number /= left, left--) {
		int i = nth(joined, number % left);
		CHECK_EQ(coro_fork_join(&f[i]), CORO_OK);
		CHECK_EQ(got[i], i == 2 ? 0 : (i + 1) * (i + 1));
		joined[i] = true;
	}
}

static void joins_in_all_orders(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (unsigned number = 0; number < 120; number++)
		joins_in(number);
	CHECK_EQ(counted, 120 * SOME);
	done++;
}

TEST(fork_joins_in_any_order)
{
	in_schedulers(joins_in_all_orders);
}

/* In one worker a child begins in its join, and not before. */
static void begins_in_the_join(void *arg, void *result)
{
	coro_fork f[3];
	(void)arg;
	(void)result;

	for (int i = 0; i < 3; i++)
		coro_fork_begin(&f[i], counts, NULL, NULL);
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(counted, i);
		CHECK_EQ(coro_fork_join(&f[i]), CORO_OK);
	}
	CHECK_EQ(counted, 3);
	done++;
}

TEST(fork_begins_in_its_join)
{
	in_one_worker(begins_in_the_join);
}

/* A yield of the parent's own lets its children begin; so does a wait. */
static void yields_to_children(void *arg, void *result)
{
	coro_fork f[3];
	(void)arg;
	(void)result;

	for (int i = 0; i < 3; i++)
		coro_fork_begin(&f[i], counts, NULL, NULL);
	CHECK_EQ(coro_yield(), CORO_OK);
	CHECK_EQ(counted, 3);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(coro_fork_join(&f[i]), CORO_OK);
	for (int i = 0; i < 3; i++)
		coro_fork_begin(&f[i], counts, NULL, NULL);
	while (counted < 6)
		CHECK_EQ(coro_sleep(1000), CORO_OK);
	for (int i = 2; i >= 0; i--)
		CHECK_EQ(coro_fork_join(&f[i]), CORO_OK);
	CHECK_EQ(counted, 6);
	done++;
}

TEST(fork_begins_as_its_parent_suspends)
{
	in_one_worker(yields_to_children);
}

static void is_taken(void *arg, void *result)
{
	add_one(&begun);
	CHECK(coro_worker() != *(int *)arg);
	*(int *)result = coro_worker();
}

/* A parent that computes: a worker that sleeps is woken, and takes the fork. */
static void computes_beside(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (uint64_t i = 1; i <= scaled(200); i++) {
		int mine = coro_worker(), other = -1;
		coro_fork f;
		coro_fork_begin(&f, is_taken, &mine, &other);
		sleep_until_seen(&begun, i);
		CHECK_EQ(coro_fork_join(&f), CORO_OK);
		CHECK(other >= 0 && other != mine);
		if (i % 4 == 0)
			sleep_us(200); /* the other one falls asleep */
	}
	done++;
}

TEST(fork_is_taken_by_an_idle_worker)
{
	for (uint32_t flags = 0; flags <= CORO_NO_MEMBARRIER; flags += CORO_NO_MEMBARRIER) {
		coro_scheduler *s = start_with(2, flags);
		done = begun = 0;
		run_alone(s, NULL, computes_beside);
		CHECK_EQ(done, 1);
	}
}

/* More than a worker keeps for thieves: the oldest become coroutines. */
static void begins_thousands(void *arg, void *result)
{
	enum { MANY = 3000 };
	static coro_fork f[MANY];
	static int64_t in[MANY], got[MANY];
	(void)arg;
	(void)result;

	for (int order = 0; order < 3; order++) {
		memset(got, 0, sizeof got);
		for (int i = 0; i < MANY; i++) {
			in[i] = i;
			coro_fork_begin(&f[i], squares, &in[i], &got[i]);
		}
		for (int i = 0; i < MANY; i++) {
			int k = order == 0 ? i : order == 1 ? MANY - 1 - i : i * 7 % MANY;
			if (order == 2 && i % 100 == 0)
				CHECK_EQ(coro_yield(), CORO_OK);
			CHECK_EQ(coro_fork_join(&f[order == 2 ? (i * 7) % MANY : k]), CORO_OK);
			CHECK_EQ(got[k], (int64_t)k * k);
		}
	}
	CHECK_EQ(counted, 3 * MANY);
	done++;
}

TEST(fork_more_than_the_ring_has)
{
	_Static_assert(COROI_FORKS_MOST < 3000, "else this tests nothing");
	in_schedulers(begins_thousands);
}

/* ------------------------------------------------------------------------------ who the child is */

struct family {
	coro_handle parent, child;
	char *memory;
	uint64_t deferred;
};

static void notes_deferred(void *arg)
{
	struct family *f = arg;

	CHECK(coro_self() == f->child);
	f->deferred++;
}

static void is_itself(void *arg, void *result)
{
	struct family *f = arg;

	(void)result;
	f->child = coro_self();
	CHECK(f->child && f->child != f->parent);
	CHECK(coro_stack_left() >= STACK / 3); /* half of a stack, but for the frames between */
	CHECK_EQ(coro_defer(notes_deferred, f), CORO_OK);
	CHECK((f->memory = coro_malloc(100)) != NULL);
	memset(f->memory, 1, 100);
	CHECK_EQ(coro_wake(f->parent), CORO_OK);   /* a permit: it is in its join */
	CHECK_EQ(coro_wake(coro_self()), CORO_OK); /* one of its own */
	CHECK_EQ(coro_park(), CORO_OK);
	CHECK_EQ(f->deferred, 0);
}

static void has_a_child(void *arg, void *result)
{
	struct family f = {.parent = coro_self()};
	coro_fork child;
	(void)arg;
	(void)result;

	for (int i = 0; i < 100; i++) {
		f.deferred = 0;
		coro_fork_begin(&child, is_itself, &f, NULL);
		if (i % 4 == 1)
			CHECK_EQ(coro_yield(), CORO_OK);
		if (i % 4 == 2)
			sleep_us(100);
		CHECK_EQ(coro_fork_join(&child), CORO_OK);
		CHECK_EQ(f.deferred, 1); /* at the child's end, not at the parent's */
		CHECK(coro_self() == f.parent);
		CHECK_EQ(coro_park(), CORO_OK); /* the child's permit, and no other one */
		CHECK_EQ(coro_park_until(0), CORO_ETIMEDOUT);
	}
	done++;
}

TEST(fork_child_is_a_coroutine_of_its_own)
{
	in_schedulers(has_a_child);
}

static coro_mutex mutex[4];

static void finds_it_locked(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_mutex_lock(&mutex[0], 0), CORO_ETIMEDOUT); /* of itself: CORO_EDEADLK */
	CHECK_EQ(coro_mutex_lock(&mutex[1], CORO_FOREVER), CORO_OK);
	CHECK_EQ(coro_mutex_lock(&mutex[1], CORO_FOREVER), CORO_EDEADLK);
	/* and it ends with the second one locked */
}

static void locks_with_children(void *arg, void *result)
{
	coro_fork f;
	(void)arg;
	(void)result;

	for (int i = 0; i < 3; i++) {
		CHECK_EQ(coro_mutex_lock(&mutex[0], CORO_FOREVER), CORO_OK);
		coro_fork_begin(&f, finds_it_locked, NULL, NULL);
		if (i == 1)
			CHECK_EQ(coro_yield(), CORO_OK);
		CHECK_EQ(coro_fork_join(&f), CORO_OK);
		CHECK_EQ(coro_mutex_lock(&mutex[1], CORO_FOREVER), CORO_EOWNERDEAD);
		CHECK_EQ(coro_mutex_consistent(&mutex[1]), CORO_OK);
		CHECK_EQ(coro_mutex_unlock(&mutex[1]), CORO_OK);
		CHECK_EQ(coro_mutex_unlock(&mutex[0]), CORO_OK);
	}
	done++;
}

TEST(fork_child_owns_its_locks)
{
	for (int i = 0; i < 2; i++)
		CHECK_EQ(coro_mutex_init(&mutex[i], 0), CORO_OK);
	in_schedulers(locks_with_children);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(coro_mutex_destroy(&mutex[i]), CORO_OK);
}

/* Children that end, one after the other, with locks for which others wait: each of these is told,
 * although nobody is suspended between the ends. */
#define LOCKS 4

static uint64_t told, waiting;

static void is_told(void *arg, void *result)
{
	coro_mutex *m = &mutex[*(int *)arg];

	(void)result;
	add_one(&waiting);
	CHECK_EQ(coro_mutex_lock(m, CORO_FOREVER), CORO_EOWNERDEAD);
	CHECK_EQ(coro_mutex_consistent(m), CORO_OK);
	CHECK_EQ(coro_mutex_unlock(m), CORO_OK);
	add_one(&told);
}

static void ends_with_lock(void *arg, void *result)
{
	int i = *(int *)arg, next = i + 1;
	coro_attr here = on(CORO_HERE);
	coro_fork f;

	CHECK_EQ(coro_mutex_lock(&mutex[i], CORO_FOREVER), CORO_OK);
	CHECK_EQ(coro_spawn_attr(&here, is_told, &i, sizeof i, NULL), CORO_OK);
	while (seen(&waiting) <= (uint64_t)i)
		CHECK_EQ(coro_yield(), CORO_OK);
	if (next == LOCKS)
		return;
	coro_fork_begin(&f, ends_with_lock, &next, result);
	CHECK_EQ(coro_fork_join(&f), CORO_OK);
}

static void has_children_with_locks(void *arg, void *result)
{
	int first = 0;
	coro_fork f;
	(void)arg;

	CHECK_EQ(coro_pin(CORO_HERE), CORO_OK);
	coro_fork_begin(&f, ends_with_lock, &first, result);
	CHECK_EQ(coro_fork_join(&f), CORO_OK);
	CHECK_EQ(coro_pin(1 - (uint32_t)coro_worker()), CORO_OK); /* an errand, as telling is */
	while (seen(&told) < LOCKS)
		CHECK_EQ(coro_sleep(100000), CORO_OK);
	done++;
}

TEST(fork_ends_with_locks_are_told)
{
	coro_scheduler *s = start_with(2, 0);

	for (int i = 0; i < LOCKS; i++)
		CHECK_EQ(coro_mutex_init(&mutex[i], 0), CORO_OK);
	run_alone(s, NULL, has_children_with_locks);
	CHECK_EQ(done, 1);
	for (int i = 0; i < LOCKS; i++)
		CHECK_EQ(coro_mutex_destroy(&mutex[i]), CORO_OK);
}

/* --------------------------------------------------------------------------- plain calls, refusals */

static coro_handle caller;

static void is_part_of_its_caller(void *arg, void *result)
{
	CHECK(coro_self() == caller);
	*(int *)result = 2 * *(int *)arg;
	add_one(&counted);
}

static void forks_plainly(void)
{
	int in[2] = {3, 4}, got[2] = {0};
	coro_fork f[2];

	for (int i = 0; i < 2; i++)
		coro_fork_begin(&f[i], is_part_of_its_caller, &in[i], &got[i]);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(got[i], 0);
		CHECK_EQ(coro_fork_join(&f[i]), CORO_OK);
		CHECK_EQ(got[i], 2 * in[i]);
	}
}

static intptr_t manual(void *arg, intptr_t first)
{
	(void)arg;
	(void)first;
	forks_plainly();
	return 7;
}

static void by_hand(void)
{
	coro_t *co;
	intptr_t got;

	caller = 0;
	CHECK_EQ(coro_new(&co, manual, NULL, STACK), CORO_OK);
	CHECK_EQ(coro_resume(co, 0, &got), CORO_FINISHED);
	CHECK_EQ(got, 7);
	CHECK_EQ(coro_free(co), CORO_OK);
}

static void dispatched_one(void *arg)
{
	(void)arg;
	forks_plainly();
	pool_tell(&pool_done);
}

static void dense_one(void *arg, void *result)
{
	coro_fork f;
	(void)arg;
	(void)result;

	caller = coro_self();
	forks_plainly();
	by_hand();
	coro_fork_begin(&f, counts, NULL, NULL);
	CHECK_EQ(coro_yield(), CORO_OK);
	CHECK_EQ(counted, 4);
	CHECK_EQ(coro_fork_join(&f), CORO_OK);
	CHECK_EQ(counted, 5);
	done++;
}

static void ordinary_one(void *arg, void *result)
{
	coro_fork f;
	(void)arg;
	(void)result;

	coro_fork_begin(&f, counts, NULL, NULL);
	by_hand(); /* what is begun there is not this one's */
	CHECK_EQ(coro_fork_join(&f), CORO_OK);
	CHECK_EQ(counted, 3);
	done++;
}

TEST(fork_is_a_plain_call_elsewhere)
{
	coro_attr dense = {.size = sizeof dense, .flags = CORO_DENSE};
	coro_scheduler *s = start_with(1, 0);

	forks_plainly();
	by_hand();
	CHECK_EQ(counted, 4);
	pool = pool_new(pool_policies[0], 1, 0);
	pool_spawn(dispatched_one, NULL, 0);
	pool_end(pool);
	counted = 0;
	run_alone(s, &dense, dense_one);
	CHECK_EQ(done, 1);
	in_one_worker(ordinary_one);
}

static void joins_its_parents(void *arg, void *result)
{
	(void)result;
	CHECK_EQ(coro_fork_join(arg), CORO_EPERM);
	add_one(&counted);
}

static void joins_on_a_thread(void *arg)
{
	CHECK_EQ(coro_fork_join(arg), CORO_EPERM);
}

static void has_forks_refused(void *arg, void *result)
{
	coro_fork f[2], *threads;
	(void)result;

	memcpy(&threads, arg, sizeof threads);
	CHECK_EQ(coro_fork_join(threads), CORO_EPERM);
	coro_fork_begin(&f[0], counts, NULL, NULL);
	coro_fork_begin(&f[1], joins_its_parents, &f[0], NULL);
	CHECK_EQ(coro_fork_join(&f[1]), CORO_OK);
	CHECK_EQ(coro_blocking(joins_on_a_thread, &f[0]), CORO_OK);
	CHECK_EQ(coro_fork_join(&f[0]), CORO_OK);
	CHECK_EQ(counted, 2);
	done++;
}

TEST(fork_of_another_is_not_joined)
{
	for (uint32_t workers = 1; workers <= 2; workers++) {
		coro_scheduler *s = start_with(workers, 0);
		coro_fork f;
		void *at = &f;
		done = counted = 0;
		coro_fork_begin(&f, counts, NULL, NULL);
		spawn(s, has_forks_refused, &at, sizeof at);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(done, 1);
		CHECK_EQ(coro_fork_join(&f), CORO_OK);
		CHECK_EQ(counted, 3);
		finish(s);
	}
}

/* -------------------------------------------------------------------------- depth, and no join */

static void recurses(void *arg, void *result)
{
	int64_t n = *(int64_t *)arg, less = n - 1, got = 0;
	coro_fork f;

	if (n) {
		coro_fork_begin(&f, recurses, &less, &got);
		CHECK_EQ(coro_fork_join(&f), CORO_OK);
	}
	*(int64_t *)result = got + 1;
}

static void recurses_deep(void *arg, void *result)
{
	/* a fiber of ThreadSanitizer looks at all calls of coroi_fork_call that it is in */
	int64_t n = FIBERS ? 2000 : (int64_t)scaled(100000), got;
	(void)arg;
	(void)result;

	recurses(&n, &got);
	CHECK_EQ(got, n + 1);
	done++;
}

/* Stacks are put on stacks. */
TEST(fork_recursion_is_deep)
{
	in_schedulers(recurses_deep);
}

static void does_not_join(void *arg, void *result)
{
	coro_fork f[3];
	(void)arg;
	(void)result;

	for (int i = 0; i < 3; i++)
		coro_fork_begin(&f[i], never, NULL, NULL);
}

static void has_one_that_does_not_join(void *arg, void *result)
{
	coro_fork f[2];

	coro_fork_begin(&f[0], counts, NULL, NULL);
	coro_fork_begin(&f[1], does_not_join, arg, result);
	CHECK_EQ(coro_fork_join(&f[1]), CORO_OK);
	CHECK_EQ(coro_fork_join(&f[0]), CORO_OK); /* not dropped with the others */
	done++;
	does_not_join(arg, result);
}

/* Forks that nobody has joined or taken are dropped, and a line says so. */
TEST(fork_return_without_a_join)
{
	char text[1024], want[256];
	int fd;
	pid_t child = child_start(&fd);

	if (child == 0) {
		in_one_worker(has_one_that_does_not_join);
		CHECK_EQ(counted, 1);
		_exit(0);
	}
	CHECK_EQ(child_end(child, fd, text, sizeof text), 0);
	snprintf(want, sizeof want,
		 "coro: 3 forks not joined, and dropped, at the return of function %#lx\n"
		 "coro: 3 forks not joined, and dropped, at the return of function %#lx\n",
		 (unsigned long)(uintptr_t)does_not_join,
		 (unsigned long)(uintptr_t)has_one_that_does_not_join);
	if (strcmp(text, want))
		test_fail(__FILE__, __LINE__, "got %s, not %s", text, want);
}

/* ------------------------------------------------------------------------------- who is blocked */

static coro_handle asleep;

static void parks_for_long(void *arg, void *result)
{
	(void)arg;
	(void)result;
	asleep = coro_self();
	CHECK_EQ(coro_park(), CORO_OK);
}

static void has_one_that_parks(void *arg, void *result)
{
	coro_fork f;

	coro_fork_begin(&f, parks_for_long, arg, result);
	CHECK_EQ(coro_fork_join(&f), CORO_OK);
	done++;
}

static void yields_to_one_that_parks(void *arg, void *result)
{
	coro_fork f;

	coro_fork_begin(&f, parks_for_long, arg, result);
	CHECK_EQ(coro_yield(), CORO_OK);
	CHECK_EQ(coro_fork_join(&f), CORO_OK);
	done++;
}

TEST(fork_blocked_parents_are_listed)
{
	static const coro_fn parents[] = {has_one_that_parks, yields_to_one_that_parks};
	coro_scheduler *s = start_with(1, 0);

	for (int i = 0; i < 2; i++) {
		coro_blocked b[2];
		spawn(s, parents[i], NULL, 0);
		until_waiting(s, 2);
		CHECK_EQ(coro_scheduler_blocked(s, b, 2), 2);
		int parent = b[0].fn == parents[i] ? 0 : 1;
		CHECK(b[parent].fn == parents[i]);
		CHECK_EQ(strcmp(coro_wait_name(b[parent].waits), "fork"), 0);
		CHECK(b[1 - parent].fn == parks_for_long && b[1 - parent].handle == asleep);
		CHECK_EQ(b[1 - parent].waits, CORO_WAIT_PARK);
		CHECK_EQ(coro_wake(asleep), CORO_OK);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	}
	CHECK_EQ(done, 2);
	finish(s);
}
