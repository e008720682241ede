/*
 * t_lend_stress.c - many threads lend themselves, wake, send, cancel and close at once, while
 * workers steal from each other. Everything is counted.
 */
#include "gostand.h"

#include "border/brief.h"
#include "border/gocall.h"
#include "kernel/idle.h"
#include "kernel/life.h"
#include "kernel/wait.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define THREADS_MOST 32
#define TARGETS      16

static coro_scheduler *s;
static coro_chan *chan;
static bool moves; /* some pin themselves: a worker that was pinned to is lent no more */
static uint64_t came, ended, wakes, sent, sent_sum, received, received_sum, asked, stop, refused;
static struct target {
	coro_handle h;
	uint64_t woken;
} targets[TARGETS];

static void reset(void)
{
	came = ended = wakes = sent = sent_sum = received = received_sum = asked = stop = refused =
		0;
	memset(targets, 0, sizeof targets);
}

static void comes(void)
{
	add_one(&came);
}

static void ends(void)
{
	add_one(&ended);
}

/* ------------------------------------------------------------------------------ what is lent */

static void leaf(void *arg, void *result)
{
	(void)arg;
	(void)result;
	comes();
	ends();
}

/* storm - spawn a tree: enough for thieves. */
static void storm(void *arg, void *result)
{
	uint64_t depth = *(uint64_t *)arg;

	(void)result;
	comes();
	for (int i = 0; depth && i < 4; i++) {
		uint64_t less = depth - 1;
		if (i == 3)
			CHECK_EQ(coro_spawn_first(NULL, storm, &less, 8, NULL), CORO_OK);
		else
			spawn_in(storm, &less, 8);
	}
	ends();
}

static int sleeps_or_is_canceled(uint64_t ns)
{
	int status = coro_sleep(ns);
	CHECK(status == CORO_OK || status == CORO_ECANCELED);
	return status;
}

enum kind { RETURNS, YIELDS, SLEEPS, JOINS, STORMS, SENDS, CALLS, CALLS_INLINE, MOVES, KINDS };

/* works - as its kind is. The result tells that it has come to its end. A wait may be canceled. */
static void works(void *arg, void *result)
{
	uint64_t random = *(uint64_t *)arg, kind = random % KINDS, depth = 2;
	int64_t number = (int64_t)(random >> 40);
	coro_handle child[4];

	comes();
	if (kind == YIELDS) {
		for (uint64_t i = 0; i < (random >> 8) % 8; i++)
			CHECK_EQ(coro_yield(), CORO_OK);
	} else if (kind == SLEEPS) {
		sleeps_or_is_canceled(random >> 8 & 0xffff);
	} else if (kind == JOINS) {
		for (int i = 0; i < 4; i++)
			CHECK_EQ(coro_spawn_attr(JOINABLE(0), leaf, NULL, 0, &child[i]), CORO_OK);
		for (int i = 0; i < 4; i++) {
			int status = coro_join(child[i], NULL, 0);
			if (status == CORO_ECANCELED)
				coro_detach(child[i]);
			else
				CHECK_EQ(status, CORO_OK);
		}
	} else if (kind == STORMS) {
		CHECK_EQ(coro_spawn(storm, &depth, 8), CORO_OK);
	} else if (kind == SENDS) {
		if (coro_chan_send(chan, &number, CORO_FOREVER) == CORO_OK) {
			add_one(&sent);
			add_to(&sent_sum, (uint64_t)number);
		}
	} else if (kind == CALLS || kind == CALLS_INLINE) {
		int64_t before = number;
		int status = kind == CALLS ? coro_call_go(1, &number, 8, &number, 8, NULL)
					   : coro_call_go_inline(1, &number, 8, &number, 8, NULL);
		CHECK(status == CORO_OK || status == CORO_ECANCELED);
		CHECK_EQ(number, before + (status == CORO_OK));
	} else if (kind == MOVES && moves) {
		CHECK_EQ(coro_pin((uint32_t)(random >> 20) % s->workers), CORO_OK);
		CHECK_EQ(coro_unpin(), CORO_OK);
	}
	if (result)
		*(uint64_t *)result = ~random;
	ends();
}

/* awaits - park until it is told to stop. Each wake-up counts, none is lost. */
static void awaits(void *arg, void *result)
{
	struct target *t = *(struct target **)arg;

	(void)result;
	comes();
	at_store_rel(&t->h, coro_self());
	while (coro_park() == CORO_OK && !seen(&stop))
		add_one(&t->woken);
	ends();
}

static void receives(void *arg, void *result)
{
	int64_t value;

	(void)arg;
	(void)result;
	comes();
	while (coro_chan_recv(chan, &value, CORO_FOREVER) == CORO_OK) {
		add_one(&received);
		add_to(&received_sum, (uint64_t)value);
	}
	ends();
}

/* ---------------------------------------------------------------------------------- the threads */

struct stresser {
	pthread_t thread;
	uint64_t random, rounds;
	bool closed; /* the scheduler may be closed meanwhile */
};

/* lend_once - one lend. False: no worker could be lent. */
static bool lend_once(uint64_t *random)
{
	uint64_t r = rnd(random) >> 1;
	struct coroi_lend l = lend_of(s, works, &r, 8, 8);
	bool once = rnd(random) % 4 == 0;

	for (int tries = 0; (l.outcome = coroi_lend_call(&l)) == COROI_LEND_NONE; tries++) {
		if (tries == 20 || at_load_rlx(&s->outside.refusing))
			return false;
		sleep_us(50);
	}
	while (l.outcome == COROI_LEND_CALLS) {
		struct coroi_call *c = (struct coroi_call *)(uintptr_t)l.call;
		make_call(c);
		/* as a caller does whose context can end: a poller completes it */
		l.outcome = once ? COROI_LEND_NONE : coroi_lend_on(&l);
		if (l.outcome == COROI_LEND_NONE) {
			complete(s, c);
			l.outcome = COROI_LEND_SUSPENDED;
		}
	}
	if (l.outcome == COROI_LEND_SUSPENDED && rnd(random) % 8 == 0)
		coro_cancel(l.handle);
	if (l.outcome == COROI_LEND_SUSPENDED)
		take_end(&l);
	else
		CHECK_EQ(l.outcome, COROI_LEND_ENDED);
	CHECK(l.status == CORO_OK || l.status == CORO_ECANCELED);
	if (l.status == CORO_OK)
		CHECK_EQ(*(uint64_t *)l.payload, ~r);
	add_one(&asked);
	CHECK(!coroi_self() && !coroi_waker_tls);
	return true;
}

static void wake_some(uint64_t *random)
{
	struct coroi_waker k;
	uint64_t n = rnd(random) % 4 + 1, with = rnd(random) % 4;

	if (with)
		coroi_waker_begin(&k);
	for (uint64_t i = 0; i < n; i++) {
		struct target *t = &targets[rnd(random) % TARGETS];
		int status = coro_wake(at_load_acq(&t->h));
		if (status == CORO_OK)
			add_one(&wakes);
		else
			CHECK_EQ(status, CORO_ESTALE);
	}
	if (with)
		coroi_waker_end(&k);
}

/* send_one - a thread that is no worker waits for no room. */
static void send_one(uint64_t *random)
{
	struct coroi_waker k;
	int64_t value = (int64_t)(rnd(random) >> 40);

	coroi_waker_begin(&k);
	int status = coro_chan_send(chan, &value, 0);
	coroi_waker_end(&k);
	if (status != CORO_OK)
		return;
	add_one(&sent);
	add_to(&sent_sum, (uint64_t)value);
}

static void *stresses(void *arg)
{
	struct stresser *t = arg;
	uint64_t none = 0;

	for (uint64_t i = 0; i < t->rounds; i++) {
		uint64_t what = rnd(&t->random) % 8;
		if (what < 5)
			none += !lend_once(&t->random);
		else if (what == 5)
			wake_some(&t->random);
		else if (what == 6)
			send_one(&t->random);
		else if (rnd(&t->random) % 4 == 0) {
			uint64_t depth = 3;
			int status = coro_scheduler_spawn(s, NULL, storm, &depth, 8, NULL);
			CHECK(status == CORO_OK || (t->closed && status == CORO_ECLOSED));
		} else {
			sleep_us(rnd(&t->random) % 64);
		}
	}
	add_to(&refused, none);
	return NULL;
}

static void begin(uint32_t workers, uint32_t flags)
{
	reset();
	s = start_go(workers, flags);
	stand_in(adds);
	chan = channel(8, 4);
	for (int i = 0; i < TARGETS; i++) {
		struct target *t = &targets[i];
		spawn(s, awaits, &t, sizeof t);
	}
	for (int i = 0; i < 4; i++)
		spawn(s, receives, NULL, 0);
	until_waiting(s, TARGETS + 4);
}

/* close_down - end what waits, and check all counts. */
static void close_down(void)
{
	uint64_t woken;

	CHECK_EQ(coro_chan_close(chan), CORO_OK);
	while (coroi_live(s) > TARGETS) /* permits are taken, and all else ends */
		sleep_us(100);
	for (;;) {
		woken = 0;
		for (int i = 0; i < TARGETS; i++)
			woken += seen(&targets[i].woken);
		if (woken == seen(&wakes))
			break;
		sleep_us(100);
	}
	add_one(&stop);
	for (int i = 0; i < TARGETS; i++)
		CHECK_EQ(coro_wake(targets[i].h), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(came, ended);
	CHECK_EQ(stats(s).spawned, came);
	CHECK_EQ(sent, received);
	CHECK_EQ(sent_sum, received_sum);
	finish(s);
	CHECK_EQ(coro_chan_free(chan), CORO_OK);
}

static void run_threads(unsigned n, uint64_t rounds, bool closed)
{
	static struct stresser t[THREADS_MOST];

	for (unsigned i = 0; i < n; i++) {
		t[i] = (struct stresser){.random = 7 + i * UINT64_C(0x9e3779b97f4a7c15),
					 .rounds = rounds / n + 1,
					 .closed = closed};
		thread_start(&t[i].thread, stresses, &t[i]);
	}
	if (closed) {
		uint64_t random = now_ns() | 1;
		sleep_us((unsigned)(rnd(&random) % 3000));
		CHECK_EQ(coro_scheduler_close(s, 1), CORO_OK);
	}
	for (unsigned i = 0; i < n; i++)
		thread_join(t[i].thread);
}

static void stress(unsigned threads, uint32_t workers, uint32_t flags)
{
	char context[80];

	snprintf(context, sizeof context, "%u threads, %u workers, flags %u", threads, workers,
		 flags);
	test_context = context;
	delays(DELAYS_USUAL);
	CHECK_EQ(coroi_brief_declare(threads % 2 ? works : awaits), CORO_OK);
	CHECK_EQ(coroi_brief_declare(receives), CORO_OK);
	begin(workers, flags);
	run_threads(threads, scaled(FIBERS ? 4000 : 20000), false);
	uint64_t lends = 0;
	for (uint32_t i = 0; i < workers; i++)
		lends += at_load_rlx(&s->worker[i].lends.n);
	report("%u threads, %u workers: %llu calls ended, %llu refused, %llu lends, %llu wakes",
	       threads, workers, (unsigned long long)asked, (unsigned long long)refused,
	       (unsigned long long)lends, (unsigned long long)wakes);
	close_down();
	delays(0);
}

TEST_LIMIT(stress_lend_by_one_thread, 120)
{
	for (uint32_t workers = 1; workers <= 4; workers++)
		stress(1, workers, 0);
}

TEST_LIMIT(stress_lend_by_eight_threads, 120)
{
	stress(8, 1, 0);
	stress(8, 2, CORO_NO_MEMBARRIER);
	stress(8, 4, CORO_NO_STANDBY);
	stress(8, 7, 0);
	moves = true;
	stress(8, 4, 0);
}

TEST_LIMIT(stress_lend_by_thirty_two_threads, 120)
{
	stress(32, 1, 0);
	stress(32, 3, CORO_NO_MEMBARRIER | CORO_NO_STANDBY);
	stress(32, 16, 0);
}

/* A close comes at any moment, while threads lend themselves and wake. */
TEST_LIMIT(stress_lend_while_the_scheduler_is_closed, 120)
{
	delays(DELAYS_USUAL);
	CHECK_EQ(coroi_brief_declare(awaits), CORO_OK);
	for (uint64_t i = 0; i < scaled(FIBERS ? 20 : 100); i++) {
		uint32_t workers = (uint32_t)(i % 4) + 1;
		begin(workers, i % 2 ? CORO_NO_MEMBARRIER : 0);
		run_threads(i % 3 == 0 ? 32 : 8, 800, true);
		CHECK_EQ(came, ended);
		coro_scheduler *closed = s;
		CHECK_EQ(coro_scheduler_destroy(closed), CORO_OK);
		CHECK_EQ(coro_chan_free(chan), CORO_OK);
	}
	delays(0);
}
