/*
 * t_lend_brief.c - brief functions (brief.h), which run on the thread that wakes them.
 */
#include "gostand.h"

#include "border/brief.h"
#include "border/gocall.h"
#include "kernel/idle.h"
#include "kernel/wait.h"

#include <string.h>
#include <unistd.h>

static uint64_t counted, served;

static void computes(uint64_t ns)
{
	for (uint64_t until = now_ns() + ns; now_ns() < until;)
		;
}

static void counts(void *arg, void *result)
{
	(void)arg;
	(void)result;
	add_one(&counted);
}

/* ---------------------------------------------------------------------------- the declaration */

static coro_fn fake(uintptr_t i)
{
	return (coro_fn)(0x10000 + 16 * i);
}

TEST(brief_is_declared_and_lost_by_being_late)
{
	CHECK(!coroi_is_brief(counts));
	CHECK(!coroi_brief_late(counts, true));
	CHECK(!coroi_brief_doubted(counts));
	CHECK_EQ(coroi_brief_declare(counts), CORO_OK);
	CHECK_EQ(coroi_brief_declare(counts), CORO_OK);
	CHECK(coroi_is_brief(counts));
	CHECK(!coroi_is_brief(never));
	CHECK_EQ(coroi_brief_declare(fake(1)), CORO_OK);
	for (int i = 0; i < 5; i++) {
		CHECK(!coroi_brief_late(counts, false)); /* however often: no proof */
		CHECK(coroi_brief_doubted(counts));
		CHECK(coroi_is_brief(counts));
		CHECK(!coroi_brief_taken());
	}
	coroi_brief_in_time(counts);
	CHECK(!coroi_brief_doubted(counts));
	CHECK(!coroi_brief_late(counts, true)); /* twice in a row */
	CHECK(coroi_brief_doubted(counts));
	coroi_brief_in_time(counts);
	CHECK(!coroi_brief_late(counts, true));
	CHECK_EQ(coroi_brief_revoked, 0);
	CHECK(coroi_brief_late(counts, true));
	CHECK(!coroi_brief_late(counts, true)); /* told once */
	coroi_brief_in_time(counts);
	CHECK_EQ(coroi_brief_revoked, 1);
	CHECK(!coroi_is_brief(counts));
	CHECK_EQ(coroi_brief_declare(counts), CORO_OK);
	CHECK(!coroi_is_brief(counts)); /* for as long as the process lives */
	CHECK(coroi_brief_taken() == counts);
	CHECK(!coroi_brief_taken());
	CHECK(coroi_is_brief(fake(1)));
}

static void *declares(void *arg)
{
	uintptr_t from = (uintptr_t)arg;

	for (uintptr_t i = 0; i < COROI_BRIEF_MOST; i++)
		CHECK_EQ(coroi_brief_declare(fake((i + from) % COROI_BRIEF_MOST)), CORO_OK);
	return NULL;
}

TEST(brief_table_is_filled_by_many_threads_and_full)
{
	pthread_t t[8];

	for (uintptr_t i = 0; i < 8; i++)
		thread_start(&t[i], declares, (void *)(i * 64));
	for (uintptr_t i = 0; i < 8; i++)
		thread_join(t[i]);
	for (uintptr_t i = 0; i < COROI_BRIEF_MOST; i++)
		CHECK(coroi_is_brief(fake(i)));
	for (int i = 0; i < 2; i++)
		CHECK_EQ(coroi_brief_declare(counts), CORO_ENOMEM);
	CHECK(!coroi_is_brief(counts));
	CHECK_EQ(coroi_brief_declare(fake(7)), CORO_OK);
	CHECK(!coroi_brief_late(fake(7), true));
	CHECK(coroi_brief_late(fake(7), true));
	CHECK_EQ(coroi_brief_declare(counts), CORO_ENOMEM); /* a word never leaves the table */
}

/* ------------------------------------------------------------------------------------- wake-ups */

enum way { WAKE, SEND, RELEASE, WAYS };

static coro_sem sem;
static coro_chan *chan;
static struct server {
	coro_handle h;
	uint64_t runs, stop;
	pid_t ran_on;
	enum way way;
} servers[8];

/* serve - wait, again and again, until stop. */
static void serve(struct server *v)
{
	int64_t value = 0;

	v->h = coro_self();
	add_one(&served);
	for (;;) {
		if (v->way == WAKE)
			CHECK_EQ(coro_park(), CORO_OK);
		else if (v->way == SEND)
			CHECK_EQ(coro_chan_recv(chan, &value, CORO_FOREVER), CORO_OK);
		else
			CHECK_EQ(coro_sem_acquire(&sem, CORO_FOREVER), CORO_OK);
		v->ran_on = gettid();
		add_one(&v->runs);
		if (seen(&v->stop))
			return;
	}
}

static void serves_briefly(void *arg, void *result)
{
	(void)result;
	serve(*(struct server **)arg);
}

static void serves_at_length(void *arg, void *result)
{
	(void)result;
	serve(*(struct server **)arg);
}

static struct server *start_server(coro_scheduler *s, unsigned i, enum way way, coro_fn fn)
{
	struct server *v = &servers[i];
	uint64_t before = served;

	*v = (struct server){.way = way};
	spawn(s, fn, &v, sizeof v);
	sleep_until_seen(&served, before + 1);
	return v;
}

static void wake(struct server *v)
{
	int64_t value = 1;

	if (v->way == WAKE)
		CHECK_EQ(coro_wake(v->h), CORO_OK);
	else if (v->way == SEND)
		CHECK_EQ(coro_chan_send(chan, &value, CORO_FOREVER), CORO_OK);
	else
		CHECK_EQ(coro_sem_release(&sem, 1), CORO_OK);
}

/* keeps_its_promise - take from fn what late runs have done to it: on a slow machine the first runs
 * are late. */
static void keeps_its_promise(coro_fn fn)
{
	for (unsigned i = 0; i < COROI_BRIEF_WORDS; i++)
		if ((at_load_rlx(&coroi_brief_table[i]) & COROI_BRIEF_FN) ==
		    (uint64_t)(uintptr_t)fn)
			at_and(&coroi_brief_table[i], COROI_BRIEF_FN);
}

/* wake_in - wake n servers in one call by Go. */
static void wake_in(struct server **v, unsigned n)
{
	struct coroi_waker k;

	keeps_its_promise(serves_briefly);
	memset(&k, 0x5a, sizeof k); /* it lies on a stack */
	coroi_waker_begin(&k);
	for (unsigned i = 0; i < n; i++)
		wake(v[i]);
	coroi_waker_end(&k);
	CHECK(!coroi_waker_tls && !coroi_self());
}

static coro_scheduler *start_woken(uint32_t workers)
{
	CHECK_EQ(coroi_brief_declare(serves_briefly), CORO_OK);
	CHECK_EQ(coro_sem_init(&sem, 0, 0), CORO_OK);
	chan = channel(8, 0);
	return start_go(workers, 0);
}

static void finish_woken(coro_scheduler *s)
{
	finish(s);
	CHECK_EQ(coro_chan_free(chan), CORO_OK);
	CHECK_EQ(coro_sem_destroy(&sem), CORO_OK);
}

static void stop_server(struct server *v)
{
	add_one(&v->stop);
	wake(v);
}

TEST(brief_target_runs_on_the_waking_thread_and_no_other)
{
	for (enum way way = 0; way < WAYS; way++)
		for (int brief = 0; brief < 2; brief++) {
			coro_scheduler *s = start_woken(1);
			struct server *v = start_server(s, 0, way,
							brief ? serves_briefly : serves_at_length);
			for (uint64_t i = 1; i <= 100; i++) {
				until_asleep(s);
				CHECK_EQ(v->runs, i - 1);
				wake_in(&v, 1);
				if (brief) /* by now */
					CHECK_EQ(v->runs, i);
				sleep_until_seen(&v->runs, i);
				CHECK_EQ(v->ran_on == gettid(), brief);
			}
			CHECK_EQ(at_load_rlx(&s->worker[0].lends.n), brief ? 100 : 0);
			stop_server(v);
			finish_woken(s);
		}
}

TEST(brief_targets_of_one_call_run_together)
{
	coro_scheduler *s = start_woken(1);
	struct server *v[6];
	uint64_t together = 0;

	for (unsigned i = 0; i < 6; i++)
		v[i] = start_server(s, i, WAKE, i < 5 ? serves_briefly : serves_at_length);
	for (uint64_t n = 1; n <= 50; n++) {
		until_asleep(s);
		wake_in(v, 5);
		CHECK_EQ(v[0]->ran_on, gettid());
		for (unsigned i = 0; i < 5; i++) {
			sleep_until_seen(&v[i]->runs, n); /* within 15 us, or elsewhere */
			together += v[i]->ran_on == gettid();
		}
	}
	report("of %d woken %llu ran together", 5 * 50, (unsigned long long)together);
	/* One among them that is not brief runs on the worker's own thread, as do those behind
	 * it. */
	for (uint64_t n = 1; n <= 50; n++) {
		struct server *mixed[] = {v[0], v[5], v[1]};
		until_asleep(s);
		wake_in(mixed, 3);
		CHECK_EQ(v[0]->runs, 50 + n);
		CHECK_EQ(v[0]->ran_on, gettid());
		sleep_until_seen(&v[1]->runs, 50 + n);
		CHECK_EQ(v[5]->runs, n);
		CHECK(v[5]->ran_on != gettid() && v[1]->ran_on != gettid());
	}
	for (unsigned i = 0; i < 6; i++)
		stop_server(v[i]);
	finish_woken(s);
}

/* A server of a channel that is woken by its handle gets a permit, and waits on. Among others that
 * the same call wakes, the first one is not what the thread goes on with at once. */
TEST(brief_target_that_waits_for_something_else_goes_on_waiting)
{
	coro_scheduler *s = start_woken(1);
	struct server *waits = start_server(s, 0, SEND, serves_briefly);
	struct server *parks = start_server(s, 1, WAKE, serves_briefly);
	struct coroi_waker k;

	for (uint64_t n = 1; n <= 50; n++) {
		until_asleep(s);
		coroi_waker_begin(&k);
		CHECK_EQ(coro_wake(waits->h), CORO_OK);
		CHECK(k.w != NULL);
		if (n % 2)
			wake(parks);
		coroi_waker_end(&k);
		CHECK_EQ(waits->runs, 0);
		CHECK_EQ(parks->runs, (n + 1) / 2);
	}
	CHECK_EQ(at_load_rlx(&s->worker[0].lends.n), 50);
	stop_server(waits);
	stop_server(parks);
	finish_woken(s);
}

static uint16_t home_of(const struct server *v)
{
	return at_load_rlx(&coroi_at((uint32_t)v->h)->home);
}

/* The thread stands in for one worker. The others are woken. */
TEST(brief_targets_of_two_workers_run_on_two_threads)
{
	coro_scheduler *s = start_woken(2);
	struct server *v[2];
	uint64_t apart = 0, here = 0;

	for (; apart < 50;) {
		for (unsigned i = 0; i < 2; i++) {
			until_asleep(s);
			s->outside.next_worker = i * 64;
			v[i] = start_server(s, i, WAKE, serves_briefly);
		}
		until_asleep(s);
		bool both = home_of(v[0]) != home_of(v[1]); /* none was stolen */
		for (unsigned i = 0; i < 2; i++)
			add_one(&v[i]->stop);
		wake_in(v, 2);
		for (unsigned i = 0; i < 2; i++)
			sleep_until_seen(&v[i]->runs, 1);
		if (!both)
			continue;
		CHECK(v[1]->ran_on != gettid());
		here += v[0]->ran_on == gettid(); /* or the other worker was faster, and stole it */
		apart++;
	}
	report("of 50 pairs %llu ran one here", (unsigned long long)here);
	finish_woken(s);
}

/* By the thread's CPU time: else the run would be no proof where the thread had no CPU then. */
static void computes_too_long(void)
{
	uint64_t until = coroi_thread_usage().cpu_ns + 2 * COROI_BRIEF_NS;

	while (coroi_thread_usage().cpu_ns < until)
		;
}

/* One that does not keep its promise runs on the worker's own thread in the end. */
static void serves_too_long(void *arg, void *result)
{
	struct server *v = *(struct server **)arg;

	(void)result;
	v->h = coro_self();
	add_one(&served);
	while (!seen(&v->stop)) {
		CHECK_EQ(coro_park(), CORO_OK);
		v->ran_on = gettid();
		computes_too_long();
		add_one(&v->runs);
	}
}

TEST(brief_function_that_takes_too_long_loses_the_mark)
{
	coro_scheduler *s = start_woken(1);
	CHECK_EQ(coroi_brief_declare(serves_too_long), CORO_OK);
	struct server *v = start_server(s, 0, WAKE, serves_too_long);
	uint64_t n = 0;

	while (coroi_is_brief(serves_too_long)) {
		until_asleep(s);
		wake_in(&v, 1);
		CHECK_EQ(v->ran_on, gettid());
		CHECK(++n <= 128); /* two of them were timed */
	}
	CHECK(coroi_brief_taken() == serves_too_long);
	until_asleep(s);
	wake_in(&v, 1);
	sleep_until_seen(&v->runs, n + 1);
	CHECK(v->ran_on != gettid());
	CHECK(at_load_rlx(&s->worker[0].lends.timed) >= 2);
	CHECK(at_load_rlx(&s->worker[0].lends.most) >= COROI_BRIEF_NS);
	stop_server(v);
	finish_woken(s);
}

/* A coroutine that awaits a stack is not brief. The end of one that is brief, on the waking thread,
 * leaves a stack: the worker's own thread starts the other. */
static pid_t started_on;

static void starts_late(void *arg, void *result)
{
	(void)arg;
	(void)result;
	started_on = gettid();
	add_one(&counted);
}

TEST(brief_end_leaves_its_stack_to_the_own_thread)
{
	coro_options o = options_capped(1, 1);

	CHECK_EQ(coroi_brief_declare(serves_briefly), CORO_OK);
	for (uint64_t n = 1; n <= 20; n++) {
		coro_scheduler *s = start(&o);
		struct server *v = start_server(s, 0, WAKE, serves_briefly);
		spawn(s, starts_late, NULL, 0);
		while (!at_load_seq(&s->awaiting_stack))
			sleep_us(50);
		until_asleep(s);
		add_one(&v->stop);
		wake_in(&v, 1);
		CHECK_EQ(v->ran_on, gettid());
		sleep_until_seen(&counted, n);
		CHECK(started_on != gettid());
		finish(s);
	}
}

/* Inline calls are the worker's own thread's. */
static pid_t made_on;

static void notes_thread(struct coroi_worker *w)
{
	(void)w;
	made_on = gettid();
}

static void calls_inline(void *arg, void *result)
{
	struct server *v = *(struct server **)arg;

	(void)result;
	v->h = coro_self();
	add_one(&served);
	while (!seen(&v->stop)) {
		int64_t number = 1;
		CHECK_EQ(coro_park(), CORO_OK);
		v->ran_on = gettid();
		CHECK_EQ(coro_call_go_inline(1, &number, 8, &number, 8, NULL), CORO_OK);
		CHECK_EQ(number, 2);
		CHECK_EQ(gettid(), made_on);
		add_one(&v->runs);
	}
}

TEST(brief_target_leaves_its_inline_calls_to_the_own_thread)
{
	stand_in(adds);
	adds_first = notes_thread;
	coro_scheduler *s = start_woken(1);
	CHECK_EQ(coroi_brief_declare(calls_inline), CORO_OK);
	struct server *v = start_server(s, 0, WAKE, calls_inline);

	for (uint64_t i = 1; i <= 100; i++) {
		until_asleep(s);
		wake_in(&v, 1);
		CHECK_EQ(v->ran_on, gettid());
		sleep_until_seen(&v->runs, i);
		CHECK(made_on != gettid());
	}
	CHECK_EQ(go_made.served, 100);
	stop_server(v);
	finish_woken(s);
}

/* A start by Go, after which what is brief runs. Anybody may join it, wherever it has ended. */
static void computes_briefly(void *arg, void *result)
{
	(void)result;
	computes(*(uint64_t *)arg);
	add_one(&counted);
}

static void is_stolen(void *arg, void *result)
{
	uint64_t ns = *(uint64_t *)arg;

	if (ns)
		spawn_in(computes_briefly, &ns, 8);
	CHECK_EQ(coro_yield(), CORO_OK);
	CHECK_EQ(coro_sleep(MS), CORO_OK);
	*(uint64_t *)result = 7;
}

static void joins(void *arg, void *result)
{
	uint64_t got = 0;

	(void)result;
	CHECK_EQ(coro_join(*(coro_handle *)arg, &got, 8), CORO_OK);
	CHECK_EQ(got, 7);
	add_one(&counted);
}

TEST_LIMIT(brief_lend_is_joined_by_anybody, 20)
{
	CHECK_EQ(coroi_brief_declare(computes_briefly), CORO_OK);
	CHECK_EQ(coroi_brief_declare(is_stolen), CORO_OK);
	coro_scheduler *s = start_go(2, 0);
	/* on a slow machine the function may lose its mark */
	for (uint64_t i = 0; i < 20 && coroi_is_brief(is_stolen); i++) {
		uint64_t ns = i % 2 * 5 * MS;
		struct coroi_lend l = lend_of(s, is_stolen, &ns, 8, 8);
		l.brief = 1;
		counted = 0;
		if (lend(&l) == COROI_LEND_SUSPENDED)
			spawn(s, joins, &l.handle, sizeof l.handle);
		else
			add_one(&counted); /* it was that slow */
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(counted, 1 + i % 2);
		CHECK_EQ(coro_wake(l.handle), CORO_ESTALE);
	}
	finish(s);
}

/* What a start by Go runs is timed as well. */
static void ends_too_late(void *arg, void *result)
{
	(void)arg;
	(void)result;
	computes_too_long();
}

/* leave_on_stack - bytes of that value, for what will lie there next. */
static __attribute__((noinline)) void leave_on_stack(int value)
{
	unsigned char bytes[8192];

	memset(bytes, value, sizeof bytes);
	__asm__ volatile("" : : "r"(bytes) : "memory");
}

TEST(brief_lend_of_a_function_that_takes_too_long_takes_its_mark)
{
	coro_scheduler *s = start_go(1, 0);

	CHECK_EQ(coroi_brief_declare(ends_too_late), CORO_OK);
	for (int n = 1; coroi_is_brief(ends_too_late); n++) {
		struct coroi_lend l = lend_of(s, ends_too_late, NULL, 0, 0);
		l.brief = 1;
		until_asleep(s);
		leave_on_stack(0);
		CHECK_EQ(lend(&l), COROI_LEND_ENDED);
		CHECK(n <= 128); /* two of them were timed */
	}
	CHECK(coroi_brief_taken() == ends_too_late);
	finish(s);
}

/* In such a lend nothing else runs, not even a child that its parent starts first. */
static void starts_first(void *arg, void *result)
{
	CHECK_EQ(coro_spawn_first(NULL, starts_late, NULL, 0, NULL), CORO_OK);
	(void)arg;
	(void)result;
}

TEST(brief_lend_starts_no_child_that_is_not_brief)
{
	coro_scheduler *s = start_go(1, 0);

	CHECK_EQ(coroi_brief_declare(starts_first), CORO_OK);
	for (uint64_t i = 1; i <= 20; i++) {
		struct coroi_lend l = lend_of(s, starts_first, NULL, 0, 0);
		l.brief = 1;
		if (lend(&l) == COROI_LEND_SUSPENDED)
			CHECK_EQ(coro_detach(l.handle), CORO_OK);
		sleep_until_seen(&counted, i);
		CHECK(started_on != gettid());
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	}
	finish(s);
}
