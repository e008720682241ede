/*
 * t_gocall.c - calls into Go, with a stand-in for Go: which callers are suspended, when each is
 * served, and what comes back. Misuse: t_gocall_misuse.c.
 */
#include "gostand.h"

#include "border/gocall.h"
#include "border/goworker.h"
#include "kernel/run.h"

#include <signal.h>
#include <string.h>

static uint64_t ended, sum;

static void calls(void *arg, void *result)
{
	int64_t n = *(int64_t *)arg, number = 0;

	(void)result;
	while (number < n) {
		size_t got = 0;
		int64_t before = number;
		CHECK_EQ(coro_call_go_inline(1, &number, sizeof number, &number, sizeof number,
					     &got),
			 CORO_OK);
		CHECK_EQ(got, sizeof number);
		CHECK_EQ(number, before + 1);
	}
	__atomic_add_fetch(&sum, (uint64_t)n, __ATOMIC_RELAXED);
	__atomic_add_fetch(&ended, 1, __ATOMIC_RELAXED);
}

static void call_in_turns(uint32_t workers, uint32_t flags, uint32_t callers, int64_t each)
{
	stand_in(adds);
	ended = sum = go_made.lists = go_made.served = go_made.longest = 0;
	coro_scheduler *s = start_go(workers, flags);
	for (uint32_t i = 0; i < callers; i++)
		spawn(s, calls, &each, sizeof each);
	if (flags & CORO_PAUSED)
		CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	finish(s);
	CHECK_EQ(ended, callers);
	CHECK_EQ(sum, (uint64_t)each * callers);
	CHECK_EQ(go_made.served, sum);
	CHECK(go_made.lists <= sum);
	CHECK(go_made.longest <= COROI_CALLS_AT_ONCE);
}

TEST(gocall_one_caller)
{
	call_in_turns(1, 0, 1, (int64_t)scaled(100000));
	CHECK_EQ(go_made.longest, 1);
}

TEST(gocall_many_callers)
{
	for (uint32_t workers = 1; workers <= 4; workers *= 2) {
		call_in_turns(workers, 0, 100, (int64_t)scaled(2000));
		call_in_turns(workers, CORO_NO_MEMBARRIER | CORO_NO_STANDBY, 200,
			      (int64_t)scaled(500));
	}
}

TEST(gocall_in_paused_mode)
{
	call_in_turns(1, CORO_PAUSED, 1000, 5);
	CHECK_EQ(go_made.longest, COROI_CALLS_AT_ONCE);
	CHECK(go_made.lists <= go_made.served / COROI_CALLS_AT_ONCE + 64 + 1000 * 5 / 64);
}

/* A worker that always has something to run makes calls all the same, within a number of turns. */
static uint64_t stop, turns;

static void never_idle(void *arg, void *result)
{
	(void)arg;
	(void)result;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		__atomic_add_fetch(&turns, 1, __ATOMIC_RELAXED);
		coro_yield();
	}
}

static void calls_once(void *arg, void *result)
{
	int64_t number = 1;

	(void)arg;
	(void)result;
	for (int i = 0; i < 100; i++) {
		uint64_t before = turns;
		CHECK_EQ(coro_call_go_inline(1, &number, sizeof number, &number, sizeof number,
					     NULL),
			 CORO_OK);
		CHECK(turns - before <= 3 * COROI_DELIVER_TURNS);
		CHECK(turns > before);
	}
	stop = 1;
}

TEST(gocall_is_served_by_one_that_is_never_idle)
{
	stand_in(adds);
	coro_scheduler *s = start_go(1, 0);
	spawn(s, never_idle, NULL, 0);
	spawn(s, never_idle, NULL, 0);
	spawn(s, calls_once, NULL, 0);
	finish(s);
}

/* The same where others wake each other, and the queue seldom gets a turn. */
static coro_handle partner;

static void answers(void *arg, void *result)
{
	(void)arg;
	(void)result;
	do {
		coro_park();
		coro_wake(partner);
	} while (!stop);
}

static void asks(void *arg, void *result)
{
	coro_handle other;

	(void)arg;
	(void)result;
	partner = coro_self();
	CHECK_EQ(coro_spawn_attr(NULL, answers, NULL, 0, &other), CORO_OK);
	coro_yield();
	while (!stop) {
		coro_wake(other);
		coro_park();
	}
	coro_wake(other); /* the other is about to park before it sees the stop, or has ended */
}

static void calls_then_stops(void *arg, void *result)
{
	int64_t number = 1;

	(void)arg;
	(void)result;
	CHECK_EQ(coro_call_go_inline(1, &number, sizeof number, &number, sizeof number, NULL),
		 CORO_OK);
	stop = 1;
}

/* both - run two coroutines to their ends, on one worker. */
static void both(coro_fn one, coro_fn other)
{
	stand_in(adds);
	coro_scheduler *s = start_go(1, 0);
	spawn(s, one, NULL, 0);
	spawn(s, other, NULL, 0);
	finish(s);
}

TEST(gocall_is_served_in_a_chain_of_hand_overs)
{
	both(asks, calls_then_stops);
}

/* One coroutine calls again and again, beside sleepers alone: the sleepers wake up in time. */
#define SLEEPS 20

static void sleeps(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (int i = 0; i < SLEEPS; i++)
		CHECK_EQ(coro_sleep(1000 * 1000), CORO_OK);
	stop = 1;
}

static void takes_a_while(struct coroi_worker *w)
{
	(void)w;
	sleep_us(1000);
}

static void calls_until_then(void *arg, void *result)
{
	int64_t number = 0;

	(void)arg;
	(void)result;
	while (!stop)
		CHECK_EQ(coro_call_go_inline(1, &number, sizeof number, &number, sizeof number,
					     NULL),
			 CORO_OK);
}

TEST(gocall_alone_leaves_deadlines_their_time)
{
	both(sleeps, calls_until_then);

	/* Of long calls, few are made before a deadline is looked at. */
	stop = go_made.lists = 0;
	adds_first = takes_a_while;
	both(sleeps, calls_until_then);
	adds_first = NULL;
	CHECK(go_made.lists <= 256 + 10 * SLEEPS);
	report("%d sleeps of 1 ms, %llu calls of 1 ms", SLEEPS, (unsigned long long)go_made.lists);
}

/* -------------------------------------------------------------------------------- during a call */

static coro_handle caller;
static uint64_t others;

static void other(void *arg, void *result)
{
	(void)arg;
	(void)result;
	__atomic_add_fetch(&others, 1, __ATOMIC_SEQ_CST);
}

/* During a call no coroutine is current, and what is queued here is run by another worker. */
static void is_apart(struct coroi_worker *w)
{
	int64_t number;

	adds_first = NULL;
	CHECK_EQ(coro_yield(), CORO_EPERM);
	CHECK_EQ(coro_park(), CORO_EPERM);
	CHECK_EQ(coro_spawn(other, NULL, 0), CORO_EPERM);
	CHECK_EQ(coro_call_go_inline(1, &number, 8, &number, 8, NULL), CORO_EPERM);
	CHECK_EQ(coro_call_error(NULL, 0), 0);
	CHECK_EQ(coro_scheduler_close(w->sched, 1), CORO_EPERM);
	CHECK_EQ(coro_self(), 0);
	CHECK(coroi_go_inside(w->sched));
	CHECK_EQ(coro_wake(caller), CORO_OK); /* a permit: the caller does not park */
	CHECK(coroi_calls_of(w)->caller == coroi_at((uint32_t)caller));
	while (w->sched->workers > 1 && __atomic_load_n(&others, __ATOMIC_SEQ_CST) < 3)
		sleep_us(50);
}

static void calls_apart(void *arg, void *result)
{
	int64_t number = 7;

	(void)arg;
	(void)result;
	caller = coro_self();
	adds_first = is_apart;
	for (int i = 0; i < 3; i++)
		spawn_in(other, NULL, 0);
	CHECK_EQ(coro_call_go_inline(1, &number, sizeof number, &number, sizeof number, NULL),
		 CORO_OK);
	CHECK_EQ(number, 8);
	CHECK_EQ(coro_park(), CORO_OK);
}

TEST(gocall_has_no_current_coroutine_and_holds_nobody_up)
{
	stand_in(adds);
	for (uint32_t workers = 1; workers <= 2; workers++) {
		coro_scheduler *s = start_go(workers, 0);
		others = 0;
		spawn(s, calls_apart, NULL, 0);
		finish(s);
		CHECK_EQ(others, 3);
		CHECK(!coroi_go_inside(NULL));
	}
}

/* ------------------------------------------------------------------------------ what comes back */

static void errors(void *arg, void *result)
{
	char text[16];
	int64_t number = 1;
	size_t got = 9;

	(void)arg;
	(void)result;
	CHECK_EQ(coro_call_error(text, sizeof text), 0);
	CHECK_EQ(text[0], 0);
	CHECK_EQ(coro_call_go_inline(0, NULL, 0, NULL, 0, &got), CORO_EINVAL);
	CHECK_EQ(got, 0);
	CHECK_EQ(coro_call_go_inline(1, NULL, 8, &number, 8, NULL), CORO_EINVAL);
	CHECK_EQ(coro_call_go_inline(1, &number, 8, NULL, 8, NULL), CORO_EINVAL);
	CHECK_EQ(coro_call_go_inline(99, &number, 8, &number, 8, NULL), CORO_EINVAL);
	for (int i = 0; i < 100; i++) {
		CHECK_EQ(coro_call_go_inline(2, NULL, 0, NULL, 0, NULL), CORO_EFAILED);
		CHECK_EQ(coro_call_error(text, sizeof text), 9);
		CHECK(strcmp(text, "it failed") == 0);
		CHECK_EQ(coro_call_error(text, 3), 9);
		CHECK(strcmp(text, "it") == 0);
		CHECK_EQ(coro_call_error(NULL, 0), 9);
		CHECK_EQ(coro_call_go_inline(3, NULL, 0, NULL, 0, NULL), CORO_EFAILED);
		CHECK_EQ(coro_call_error(text, sizeof text), 300);
		CHECK(strcmp(text, "xxxxxxxxxxxxxxx") == 0);
	}
	CHECK_EQ(coro_call_go_inline(1, &number, 8, &number, 8, NULL), CORO_OK);
	CHECK_EQ(coro_call_error(text, sizeof text), 300); /* that of the last failure */
	CHECK(coro_strdup("beside it") != NULL);
}

/* Several calls at once; some fail, and some of these without a text. */
static void some_fail(void *arg, void *result)
{
	uint64_t i;
	int64_t number = 1;
	char text[16] = "unchanged";
	(void)result;

	memcpy(&i, arg, 8);
	for (int k = 0; k < 20; k++) {
		if (i % 3 == 0) {
			CHECK_EQ(coro_call_go_inline(1, &number, 8, &number, 8, NULL), CORO_OK);
			continue;
		}
		CHECK_EQ(coro_call_go_inline(i % 3 == 1 ? 2 : 4, NULL, 0, NULL, 0, NULL),
			 CORO_EFAILED);
		CHECK_EQ(coro_call_error(text, sizeof text), i % 3 == 1 ? 9 : 0);
		CHECK(strcmp(text, i % 3 == 1 ? "it failed" : "") == 0);
	}
	CHECK_EQ(number, i % 3 ? 1 : 21);
	ended++;
}

TEST(gocall_several_of_which_some_fail)
{
	stand_in(adds);
	ended = go_made.longest = 0;
	coro_scheduler *s = start_go(1, CORO_PAUSED);
	for (uint64_t i = 0; i < 30; i++)
		spawn(s, some_fail, &i, 8);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK_EQ(ended, 30);
	CHECK(go_made.longest > 1);
	finish(s);
}

/* A text is lost for want of memory, and nothing else is. */
static void fails_without_memory(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (int k = 1; k >= 0; k--) { /* no memory for the arena; none for the text */
		fail_alloc = k;
		CHECK_EQ(coro_call_go_inline(2, NULL, 0, NULL, 0, NULL), CORO_EFAILED);
		fail_alloc = -1;
		CHECK_EQ(coro_call_error(NULL, 0), 0);
	}
	CHECK_EQ(coro_call_go_inline(2, NULL, 0, NULL, 0, NULL), CORO_EFAILED);
	CHECK_EQ(coro_call_error(NULL, 0), 9);
}

TEST(gocall_tells_errors_apart)
{
	stand_in(adds);
	coro_scheduler *s = start_go(1, 0);
	spawn(s, errors, NULL, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	spawn(s, fails_without_memory, NULL, 0);
	finish(s);
	int64_t number = 1;
	CHECK_EQ(coro_call_go_inline(1, &number, 8, &number, 8, NULL), CORO_EPERM);
	CHECK_EQ(coro_call_error(NULL, 0), 0);
}

static void nobody_there(void *arg, void *result)
{
	int64_t number = 1;

	(void)arg;
	(void)result;
	CHECK_EQ(coro_call_go_inline(1, &number, 8, &number, 8, NULL), CORO_EINVAL);
	CHECK_EQ(coro_call_go(1, &number, 8, &number, 8, NULL), CORO_EINVAL);
	CHECK_EQ(coroi_goworker_body(COROI_GO_BODY | 5, 8, 0, 0, 0), CORO_OK);
	CHECK_EQ(coro_spawn_go(COROI_GO_BODY | 5, &number, 8, NULL), CORO_EINVAL);
}

TEST(gocall_without_go_is_refused)
{
	stand_in(adds);
	coro_scheduler *s = start_with(1, 0);
	spawn(s, nobody_there, NULL, 0);
	finish(s);
}

TEST(gocall_finds_names)
{
	CHECK_EQ(coro_go_function("one"), 0);
	CHECK_EQ(coro_go_function(NULL), 0);
	CHECK_EQ(coroi_go_name("one", 3, 1), CORO_OK);
	CHECK_EQ(coroi_go_name("another", 7, 2), CORO_OK);
	CHECK_EQ(coro_go_function("one"), 1);
	CHECK_EQ(coro_go_function("another"), 2);
	CHECK_EQ(coro_go_function("anothe"), 0);
	fail_alloc = 0;
	CHECK_EQ(coroi_go_name("none", 4, 3), CORO_ENOMEM);
	fail_alloc = -1;
	CHECK_EQ(coro_go_function("none"), 0);
}

/* -------------------------------------------------------------------------------------- closing */

static uint64_t refused;

static void waits_then_calls(void *arg, void *result)
{
	int64_t number = 1;

	(void)arg;
	(void)result;
	CHECK_EQ(coro_park(), CORO_ECANCELED);
	CHECK_EQ(coro_call_go_inline(1, &number, 8, &number, 8, NULL), CORO_ECANCELED);
	CHECK_EQ(number, 1);
	__atomic_add_fetch(&refused, 1, __ATOMIC_RELAXED);
}

TEST(gocall_is_not_made_by_the_canceled)
{
	stand_in(adds);
	coro_scheduler *s = start_go(2, 0);
	for (int i = 0; i < 100; i++)
		spawn(s, waits_then_calls, NULL, 0);
	until_waiting(s, 100);
	CHECK_EQ(coro_scheduler_close(s, 1), CORO_OK);
	coro_scheduler_destroy(s);
	CHECK_EQ(refused, 100);
	CHECK_EQ(go_made.served, 0);
}

/* A call that has begun is finished, whatever is canceled meanwhile. */
static void canceled_meanwhile(struct coroi_worker *w)
{
	__atomic_store_n(&stop, 1, __ATOMIC_SEQ_CST);
	while (!at_load_rlx(&w->cancel))
		sleep_us(50);
}

static void calls_until_canceled(void *arg, void *result)
{
	int64_t number = 1;

	(void)arg;
	(void)result;
	adds_first = canceled_meanwhile;
	CHECK_EQ(coro_call_go_inline(1, &number, 8, &number, 8, NULL), CORO_OK);
	CHECK_EQ(number, 2);
	CHECK_EQ(coro_call_go_inline(1, &number, 8, &number, 8, NULL), CORO_ECANCELED);
	refused++;
}

TEST(gocall_that_has_begun_is_finished)
{
	stand_in(adds);
	coro_scheduler *s = start_go(1, 0);
	spawn(s, calls_until_canceled, NULL, 0);
	while (!__atomic_load_n(&stop, __ATOMIC_SEQ_CST))
		sleep_us(50);
	CHECK_EQ(coro_scheduler_close(s, 1), CORO_OK);
	coro_scheduler_destroy(s);
	CHECK_EQ(refused, 1);
}

/* -------------------------------------------------------------------------------------- signals */

/* Go unblocks signals of a thread that it sees for the first time. */
static void opens_mask(struct coroi_worker *w)
{
	sigset_t none;

	(void)w;
	adds_first = NULL;
	sigemptyset(&none);
	pthread_sigmask(SIG_SETMASK, &none, NULL);
}

static void looks_at_mask(void *arg, void *result)
{
	int64_t number = 1;
	sigset_t before, after;

	(void)arg;
	(void)result;
	pthread_sigmask(SIG_SETMASK, NULL, &before);
	adds_first = opens_mask;
	CHECK_EQ(coro_call_go_inline(1, &number, 8, &number, 8, NULL), CORO_OK);
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	for (int sig = 1; sig < SIGRTMIN; sig++)
		if (sig != 32 && sig != 33) /* the C library's own */
			CHECK_EQ(sigismember(&after, sig), sigismember(&before, sig));
	CHECK(sigismember(&after, SIGTERM) && sigismember(&after, SIGINT) &&
	      sigismember(&after, SIGCHLD));
	CHECK(!sigismember(&after, SIGPROF) && !sigismember(&after, SIGURG) &&
	      !sigismember(&after, SIGSEGV));
}

TEST(gocall_leaves_the_signal_mask_as_it_was)
{
	stand_in(adds);
	coro_scheduler *s = start_go(1, 0);
	spawn(s, looks_at_mask, NULL, 0);
	finish(s);
}
