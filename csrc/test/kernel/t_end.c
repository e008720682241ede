/*
 * t_end.c - the end: exact, distinct from a deadlock, with every way to close.
 */
#include "test.h"

#include "kernel/life.h"
#include "kernel/wait.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static uint64_t done;

static void bump(void *arg, void *result)
{
	(void)arg;
	(void)result;
	__atomic_add_fetch(&done, 1, __ATOMIC_RELAXED);
}

/* ----------------------------------------------------------------------------------- exact ends */

/* A random tree: each node does a few random things, and starts a few more. */
struct node {
	uint64_t seed;
	uint32_t left; /* coroutines of this subtree, its root included */
};

static void tree(void *arg, void *result)
{
	struct node n;

	(void)result;
	memcpy(&n, arg, sizeof n);
	n.left--;
	while (n.left) {
		struct node child = {rnd(&n.seed) | 1, 1 + (uint32_t)(rnd(&n.seed) % n.left)};
		n.left -= child.left;
		switch (rnd(&n.seed) % 6) {
		case 0:
			CHECK_EQ(coro_spawn_first(NULL, tree, &child, sizeof child, NULL), CORO_OK);
			break;
		case 1: {
			coro_handle h;
			CHECK_EQ(coro_spawn_attr(JOINABLE(0), tree, &child, sizeof child, &h),
				 CORO_OK);
			CHECK_EQ(coro_join(h, NULL, 0), CORO_OK);
			break;
		}
		case 2:
			CHECK_EQ(coro_wake(coro_self()), CORO_OK);
			CHECK_EQ(coro_park(), CORO_OK);
			/* fallthrough */
		case 3:
			CHECK_EQ(coro_yield(), CORO_OK);
			/* fallthrough */
		default:
			spawn_in(tree, &child, sizeof child);
		}
	}
	__atomic_add_fetch(&done, 1, __ATOMIC_RELAXED);
}

/* When coro_scheduler_run returns, all is done, whichever worker ended the last. Never earlier. */
static void random_runs(uint32_t workers, uint32_t flags, uint64_t count)
{
	coro_scheduler *s = start_with(workers, CORO_PAUSED | flags);
	uint64_t seed = workers * 77 + flags + 1;

	for (uint64_t i = 0; i < count; i++) {
		uint64_t want = 0;
		done = 0;
		for (uint64_t roots = rnd(&seed) % 4; roots; roots--) {
			struct node n = {rnd(&seed) | 1, 1 + (uint32_t)(rnd(&seed) % 40)};
			want += n.left;
			spawn(s, tree, &n, sizeof n);
		}
		CHECK_EQ(coro_scheduler_run(s), CORO_OK);
		CHECK_EQ(__atomic_load_n(&done, __ATOMIC_RELAXED), want);
		CHECK_EQ(stats(s).live, 0);
	}
	finish(s);
}

/* 10^4 runs. */
TEST_LIMIT(end_is_exact, 180)
{
	static const struct {
		uint32_t workers, flags;
		uint64_t times;
	} runs[] = {
		{1, 0, 2000},
		{2, 0, 2000},
		{2, CORO_NO_STANDBY, 2000},
		{2, CORO_NO_MEMBARRIER, 1000},
		{8, 0, 1000},
		{3, CORO_NO_STANDBY, 1500},
		{5, CORO_NO_STANDBY | CORO_NO_MEMBARRIER, 500},
	};
	uint64_t count = 0;

	for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
		random_runs(runs[i].workers, runs[i].flags, scaled(runs[i].times));
		count += scaled(runs[i].times);
	}
	report("%" PRIu64 " random runs, each over when all was done and not before", count);
}

/* The same in service mode: coro_scheduler_wait does not return before the last has ended. */
TEST_LIMIT(end_is_exact_in_service, 180)
{
	for (uint32_t workers = 1; workers <= 5; workers += 2) {
		coro_scheduler *s = start_with(workers, 0);
		uint64_t seed = workers;
		for (uint64_t i = 0; i < scaled(3000); i++) {
			struct node n = {rnd(&seed) | 1, 1 + (uint32_t)(rnd(&seed) % 60)};
			done = 0;
			spawn(s, tree, &n, sizeof n);
			CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
			CHECK_EQ(__atomic_load_n(&done, __ATOMIC_RELAXED), n.left);
		}
		finish(s);
	}
}

TEST(end_of_nothing)
{
	coro_scheduler *s = start_with(3, CORO_PAUSED);
	for (int i = 0; i < 200; i++)
		CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	finish(s);
	s = start_with(3, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	finish(s);
	for (int i = 0; i < 100; i++) {
		s = start_with((uint32_t)i % 4 + 1, i & 1 ? CORO_PAUSED : 0);
		CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
	}
	CHECK_EQ(coro_scheduler_destroy(NULL), CORO_OK);
}

/* ------------------------------------------------------------------------------------ deadlocks */

static void parks_once(void *arg, void *result)
{
	(void)arg;
	(void)result;
	int status = coro_park();
	CHECK(status == CORO_OK || status == CORO_ECANCELED);
	__atomic_add_fetch(&done, 1, __ATOMIC_RELAXED);
}

static void joins(void *arg, void *result)
{
	coro_handle h;
	(void)result;
	memcpy(&h, arg, sizeof h);
	int status = coro_join(h, NULL, 0);
	CHECK(status == CORO_OK || status == CORO_ECANCELED);
	__atomic_add_fetch(&done, 1, __ATOMIC_RELAXED);
}

#define STUCK_MOST 200

/* Some park, and some join those. The number, the kinds and the functions are reported exactly. A
 * wake and another run set them free. */
static void deadlock(uint64_t seed, uint32_t workers)
{
	static coro_blocked list[2 * STUCK_MOST];
	static coro_handle h[STUCK_MOST];
	coro_scheduler *s = start_with(workers, CORO_PAUSED);
	size_t parked = 1 + rnd(&seed) % STUCK_MOST, joined = rnd(&seed) % (parked + 1),
	       busy = rnd(&seed) % 50;

	done = 0;
	for (size_t i = 0; i < parked; i++)
		CHECK_EQ(coro_scheduler_spawn(s, JOINABLE(0), parks_once, NULL, 0, &h[i]), CORO_OK);
	for (size_t i = 0; i < joined; i++)
		spawn(s, joins, &h[i], sizeof h[i]);
	for (size_t i = 0; i < busy; i++) {
		struct node n = {rnd(&seed) | 1, 5};
		spawn(s, tree, &n, sizeof n);
	}
	CHECK_EQ(coro_scheduler_run(s), CORO_EDEADLK);
	CHECK_EQ(__atomic_load_n(&done, __ATOMIC_RELAXED), busy * 5);
	CHECK_EQ(stats(s).live, parked + joined);
	CHECK_EQ(coro_scheduler_blocked(s, NULL, 0), parked + joined);
	CHECK_EQ(coro_scheduler_blocked(s, list, 2 * STUCK_MOST), parked + joined);
	size_t p = 0, j = 0;
	for (size_t i = 0; i < parked + joined; i++) {
		p += list[i].waits == CORO_WAIT_PARK && list[i].fn == parks_once &&
		     list[i].worker < workers;
		j += list[i].waits == CORO_WAIT_JOIN && list[i].fn == joins &&
		     list[i].worker < workers;
	}
	CHECK_EQ(p, parked);
	CHECK_EQ(j, joined);
	memset(list, 0, sizeof list);
	CHECK_EQ(coro_scheduler_blocked(s, list, 1), parked + joined);
	CHECK(list[0].fn && !list[1].fn);

	size_t freed = rnd(&seed) % (parked + 1);
	if (freed == parked || seed & 1) { /* by waking; in two runs if not all at once */
		for (size_t i = 0; i < freed; i++)
			CHECK_EQ(coro_wake(h[i]), CORO_OK);
		CHECK_EQ(coro_scheduler_run(s), freed < parked ? CORO_EDEADLK : CORO_OK);
		for (size_t i = freed; i < parked; i++)
			CHECK_EQ(coro_wake(h[i]), CORO_OK);
		CHECK_EQ(coro_scheduler_run(s), CORO_OK);
		for (size_t i = joined; i < parked; i++)
			CHECK_EQ(coro_detach(h[i]), CORO_OK);
		CHECK_EQ(coro_scheduler_blocked(s, NULL, 0), 0);
		CHECK_EQ(__atomic_load_n(&done, __ATOMIC_RELAXED), parked + joined + busy * 5);
		finish(s);
	} else { /* or by closing */
		CHECK_EQ(coro_scheduler_close(s, 0), CORO_OK);
		CHECK_EQ(__atomic_load_n(&done, __ATOMIC_RELAXED), parked + joined + busy * 5);
		CHECK_EQ(stats(s).live, 0);
		CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
	}
}

/* 10^2 deadlocks. */
TEST_LIMIT(end_by_deadlock_is_told_exactly, 180)
{
	for (uint64_t seed = 1; seed <= scaled(100); seed++)
		deadlock(seed * UINT64_C(0x9e3779b97f4a7c15), 1 + seed % 4);
	report("%" PRIu64 " deadlocks, each with the number and the names of those that wait",
	       scaled(100));
}

/* ---------------------------------------------------------------------------------------- close */

TEST(close_waits_for_the_end)
{
	for (uint32_t workers = 1; workers <= 3; workers++) {
		for (int i = 0; i < 100; i++) {
			coro_scheduler *s = start_with(workers, 0);
			struct node n = {(uint64_t)i + 1, 300};
			done = 0;
			spawn(s, tree, &n, sizeof n);
			CHECK_EQ(coro_scheduler_close(s, 0), CORO_OK);
			CHECK_EQ(done, 300);
			CHECK_EQ(coro_scheduler_spawn(s, NULL, bump, NULL, 0, NULL), CORO_ECLOSED);
			CHECK_EQ(coro_scheduler_close(s, 0), CORO_OK); /* again: allowed */
			CHECK_EQ(coro_scheduler_close(s, 1), CORO_OK);
			CHECK_EQ(coro_scheduler_blocked(s, NULL, 0), 0);
			CHECK_EQ(stats(s).live, 0);
			CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
			CHECK_EQ(done, 300);
		}
	}
}

/* Right after they have parked, while workers are about to sleep. */
TEST(close_cancels_those_that_just_parked)
{
	uint64_t seed = 5;

	for (uint64_t i = 0; i < scaled(1500); i++) {
		coro_scheduler *s = start_with(1 + (uint32_t)i % 3, i % 5 ? 0 : CORO_NO_STANDBY);
		uint64_t n = 1 + rnd(&seed) % 4, until;
		done = 0;
		for (uint64_t k = 0; k < n; k++)
			spawn(s, parks_once, NULL, 0);
		for (until = now_ns() + rnd(&seed) % 80000; now_ns() < until;)
			;
		CHECK_EQ(coro_scheduler_close(s, 1), CORO_OK);
		CHECK_EQ(stats(s).live, 0);
		CHECK(done <= n); /* an unstarted one stays unstarted */
		CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
	}
}

static void waits_forever(void *arg, void *result)
{
	coro_handle child;

	(void)arg;
	(void)result;
	CHECK_EQ(coro_spawn_attr(JOINABLE(0), parks_once, NULL, 0, &child), CORO_OK);
	/* the present wait; the child may end before we have left it */
	int joined = coro_join(child, NULL, 0);
	CHECK(joined == CORO_ECANCELED || joined == CORO_OK);
	CHECK_EQ(coro_park(), CORO_ECANCELED); /* and later ones */
	CHECK_EQ(coro_yield(), CORO_OK);       /* a yield is no wait */
	if (joined == CORO_ECANCELED) {
		/* the child can still be joined, before and after its end */
		int status = coro_join(child, NULL, 0);
		/* of the wait, or of the child, which has just returned, as may have been the first
		 * */
		CHECK(status == CORO_OK || status == CORO_ECANCELED || status == CORO_ESTALE);
		if (status == CORO_ECANCELED) {
			int detached = coro_detach(child);
			CHECK(detached == CORO_OK || detached == CORO_ESTALE);
		}
	}
	CHECK_EQ(coro_join(child, NULL, 0), CORO_ESTALE);
	CHECK_EQ(coro_wake(coro_self()), CORO_OK);
	CHECK_EQ(coro_park(), CORO_OK); /* a permit that is there is taken without a wait */
	__atomic_add_fetch(&done, 1, __ATOMIC_RELAXED);
}

TEST(close_with_cancel_ends_present_and_future_waits)
{
	for (int i = 0; i < 100; i++) {
		coro_scheduler *s = start_with(1 + (uint32_t)i % 3, 0);
		done = 0;
		for (int k = 0; k < 20; k++)
			spawn(s, waits_forever, NULL, 0);
		until_waiting(s, 40);
		CHECK_EQ(coro_scheduler_close(s, 1), CORO_OK);
		CHECK_EQ(done, 40);
		CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
	}
}

TEST(close_of_paused_drops_what_never_started)
{
	for (uint32_t workers = 1; workers <= 3; workers++) {
		coro_scheduler *s = start_with(workers, CORO_PAUSED);
		done = 0;
		for (int i = 0; i < 50; i++)
			spawn(s, parks_once, NULL, 0);
		CHECK_EQ(coro_scheduler_run(s), CORO_EDEADLK);
		for (int i = 0; i < 1000; i++)
			spawn(s, never, NULL, 0);
		CHECK_EQ(coro_scheduler_close(s, 0), CORO_OK);
		CHECK_EQ(done, 50);
		CHECK_EQ(coro_scheduler_run(s), CORO_ECLOSED);
		CHECK_EQ(stats(s).live, 0);
		CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
	}
}

static void *closes(void *s)
{
	CHECK_EQ(coro_scheduler_close(s, 0), CORO_OK);
	CHECK_EQ(stats(s).live, 0);
	return NULL;
}

static void *closes_with_cancel(void *s)
{
	CHECK_EQ(coro_scheduler_close(s, 1), CORO_OK);
	CHECK_EQ(stats(s).live, 0);
	return NULL;
}

/* One close waits for coroutines that nobody wakes, the other cancels them. Both return after the
 * end. */
TEST(close_twice_from_two_threads)
{
	for (int i = 0; i < 200; i++) {
		coro_scheduler *s = start_with(1 + (uint32_t)i % 3, i % 4 == 3 ? CORO_PAUSED : 0);
		pthread_t a, b;
		for (int k = 0; k < 10; k++)
			spawn(s, parks_once, NULL, 0);
		if (i % 2)
			sleep_us(200);
		thread_start(&a, closes, s);
		if (i % 3)
			sleep_us(50);
		thread_start(&b, closes_with_cancel, s);
		thread_join(a);
		thread_join(b);
		CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
	}
}

static void *only_closes(void *s)
{
	CHECK_EQ(coro_scheduler_close(s, 0), CORO_OK);
	return NULL;
}

/* Destroy while another thread is about to return from close. */
TEST(destroy_while_another_closes)
{
	for (int i = 0; i < 80; i++) {
		coro_scheduler *s = start_with(1 + (uint32_t)i % 2, 0);
		pthread_t t[3];
		spawn(s, parks_once, NULL, 0);
		for (int k = 0; k < 3; k++)
			thread_start(&t[k], only_closes, s);
		for (uint32_t closers = 0; closers < 3;) {
			pthread_mutex_lock(&s->life_lock);
			closers = s->closers;
			pthread_mutex_unlock(&s->life_lock);
		}
		CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
		for (int k = 0; k < 3; k++)
			thread_join(t[k]);
	}
}

/* ------------------------------------------------------------------------ counting from outside */

#define COUNTERS 3

static uint32_t counted;

/* What workers count when each coroutine spawns the next, ends, and goes on elsewhere; all of them
 * are daemons, or none is. */
static void *relays(void *arg)
{
	coro_scheduler *s = arg;

	for (uint32_t i = 0; !__atomic_load_n(&counted, __ATOMIC_ACQUIRE); i++) {
		struct coroi_worker *w = &s->worker[i * 7 % COUNTERS];
		at_bump(&w->spawned);
		if (s->has_daemons)
			coroi_count_daemon(w);
		coroi_count_end_locked(&s->worker[i * 5 % COUNTERS],
				       s->has_daemons ? COROI_M_DAEMON : 0);
	}
	return NULL;
}

/* Meanwhile one lives that is no daemon. */
static void look_at_counters(bool has_daemons, uint64_t looks)
{
	coro_scheduler *s = aligned_alloc(COROI_APART, sizeof *s);
	pthread_t t;

	memset(s, 0, sizeof *s);
	s->workers = COUNTERS - 1; /* and one for the goworker */
	s->has_daemons = has_daemons;
	s->worker = aligned_alloc(COROI_APART, COUNTERS * sizeof *s->worker);
	memset(s->worker, 0, COUNTERS * sizeof *s->worker);
	s->worker[0].spawned = 1;
	__atomic_store_n(&counted, 0, __ATOMIC_RELEASE);
	thread_start(&t, relays, s);
	for (uint64_t i = 0; i < looks; i++) {
		uint64_t others = coroi_others(s);
		CHECK(others >= 1 && others < UINT64_MAX / 2 && !coroi_finished(s));
	}
	__atomic_store_n(&counted, 1, __ATOMIC_RELEASE);
	thread_join(t);
	CHECK_EQ(coroi_others(s), 1);
	free(s->worker);
	free(s);
}

TEST(end_is_not_seen_while_one_lives)
{
	look_at_counters(false, scaled(5000000));
}

TEST(end_is_not_seen_among_daemons)
{
	look_at_counters(true, scaled(2000000));
}

/* ------------------------------------------------------------- what an end leaves on its stack */

#define SECRET UINT64_C(0x5ec4e75ec4e75ec4)
#define NEAR   ((size_t)(SANITIZED ? 24 << 10 : 2 << 10)) /* of the run loop and the test itself */

enum { RETURNS, EXITS, ABORTS, FAILS };

static struct leaves {
	int how;
	bool on_stack, by_hand;
	size_t secrets; /* that the next one finds on its stack */
} leaves;

/* write_secrets - down to the end of the stack, but for a frame of its own. */
static __attribute__((noinline)) void write_secrets(void)
{
	size_t n = (coro_stack_left() - NEAR / 2) / 8;
	volatile uint64_t *secrets = __builtin_alloca(n * 8);

	for (size_t i = 0; i < n; i++)
		secrets[i] = SECRET;
}

static void leaves_secrets(void *unused)
{
	(void)unused;
	write_secrets();
	if (leaves.how == EXITS)
		coro_exit();
	if (leaves.how == ABORTS)
		coro_abort();
	if (leaves.how == FAILS)
		coro_fail(1, NULL);
}

/* find_secrets - how many the part of the stack has that the caller has not used yet. */
static __attribute__((noinline)) void find_secrets(void *unused)
{
	char *here = __builtin_frame_address(0);
	volatile uint64_t *p = (uint64_t *)(void *)(here - coro_stack_left());

	(void)unused;
	for (; (char *)p < here - NEAR; p++) {
		if (leaves.how != RETURNS)
			CHECK_EQ(*p, 0);
		leaves.secrets += *p == SECRET;
	}
}

static void leaves_body(void *arg, void *result)
{
	(void)arg;
	(void)result;
	if (leaves.on_stack)
		CHECK_EQ(coro_call_on_stack(4 * STACK, leaves_secrets, NULL), CORO_OK);
	else
		leaves_secrets(NULL);
}

static void finds_body(void *arg, void *result)
{
	(void)arg;
	(void)result;
	if (leaves.on_stack)
		CHECK_EQ(coro_call_on_stack(4 * STACK, find_secrets, NULL), CORO_OK);
	else
		find_secrets(NULL);
}

static intptr_t leaves_by_hand(void *arg, intptr_t first)
{
	leaves_body(arg, NULL);
	return first;
}

static intptr_t finds_by_hand(void *arg, intptr_t first)
{
	finds_body(arg, NULL);
	return first;
}

static void run_one(coro_scheduler *s, coro_fn fn, coro_body by_hand)
{
	coro_t *co;

	if (!leaves.by_hand) {
		spawn(s, fn, NULL, 0);
		CHECK_EQ(coro_scheduler_run(s), CORO_OK);
		return;
	}
	CHECK_EQ(coro_new(&co, by_hand, NULL, STACK), CORO_OK);
	CHECK(coro_resume(co, 0, NULL) >= CORO_FINISHED);
	CHECK_EQ(coro_free(co), CORO_OK);
}

/* Those that leave their frames leave zeros behind; one that returns does not, which shows that the
 * two have the same stack. */
TEST(end_that_leaves_its_frames_leaves_zeros)
{
	coro_scheduler *s = start_with(1, CORO_PAUSED);

	for (int by_hand = 0; by_hand < 2; by_hand++)
		for (int on_stack = 0; on_stack < 2; on_stack++)
			for (int how = RETURNS; how <= FAILS; how++) {
				leaves = (struct leaves){how, on_stack, by_hand, 0};
				run_one(s, leaves_body, leaves_by_hand);
				run_one(s, finds_body, finds_by_hand);
				CHECK((leaves.secrets > STACK / 64) == (how == RETURNS));
			}
	finish(s);
}
