/*
 * t_actor_brief.c - brief actors (CORO_ACTOR_BRIEF), whose turns run on the thread that sends.
 */
#include "gostand.h"
#include "stage.h"

#include "coro_io.h"
#include "border/brief.h"

#include <string.h>
#include <unistd.h>

/* An actor that notes on which thread it runs, and passes each word on. */
struct noted {
	pid_t ran;
	uint64_t n, sum;
	coro_actor next; /* 0: nobody */
	uint64_t wait;   /* before each message, ns */
};

static size_t notes(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	struct noted *me = state;

	(void)turn;
	for (size_t i = 0; i < n; i++) {
		if (me->wait)
			CHECK_EQ(coro_sleep(me->wait), CORO_OK);
		__atomic_store_n(&me->ran, gettid(), __ATOMIC_RELAXED);
		if (me->next)
			tell(me->next, 0, m[i]->words[0]);
		(void)coro_message_answer(m[i], &me->n, sizeof me->n);
		add_to(&me->sum, m[i]->words[0]);
		add_one(&me->n);
	}
	return n;
}

static size_t notes_slowly(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	return notes(turn, state, m, n);
}

static const coro_actor_kind brief = {.size = sizeof brief,
				      .behave = notes,
				      .flags = CORO_ACTOR_BRIEF},
			     undeclared = {.size = sizeof undeclared, .behave = notes_slowly};

static pid_t ran(const struct noted *a)
{
	return __atomic_load_n(&a->ran, __ATOMIC_RELAXED);
}

/* some_ran_here - of the turns of a brief kind some ran on the sender's thread. Each may run on a
 * worker that looks around just then. On a machine so slow that its turns seemed long, the kind has
 * lost its mark. */
static bool some_ran_here(uint64_t here, const coro_actor_kind *kind)
{
	return here > 0 || !coroi_is_brief((coro_fn)(uintptr_t)kind->behave);
}

TEST(actor_brief_runs_on_its_senders_thread)
{
	for (uint32_t workers = 1; workers <= 2; workers++) {
		coro_scheduler *s = start_with(workers, 0);
		struct noted a = {0};
		coro_actor ref = actor(s, &brief, &a);
		uint64_t words[64];
		coro_answer answer;

		uint64_t here = 0;
		for (uint64_t i = 0; i < 200; i++) {
			until_asleep(s);
			tell(ref, 0, i);
			here += seen(&a.n) == i + 1 && ran(&a) == gettid(); /* at once */
			sleep_until_seen(&a.n, i + 1);
		}
		CHECK(some_ran_here(here, &brief));
		until_asleep(s);
		for (uint64_t i = 0; i < 64; i++)
			words[i] = i;
		CHECK_EQ(coro_actor_send_many(ref, 0, words, sizeof *words, 64), CORO_OK);
		sleep_until_seen(&a.n, 264); /* a lend ends after some time */
		until_asleep(s);
		CHECK_EQ(coro_actor_ask(ref, 0, words, sizeof *words, &answer, CORO_FOREVER),
			 CORO_OK);
		CHECK_EQ(*(uint64_t *)answer.payload, 264);
		CHECK(!coroi_self());
		CHECK_EQ(coro_actor_stop(ref), CORO_OK);
		finish(s);
		CHECK_EQ(a.sum, 199 * 200 / 2 + 63 * 64 / 2); /* it answers before it adds */
	}
}

TEST(actor_brief_is_a_promise_of_its_kind)
{
	coro_scheduler *s = start_with(1, 0);
	struct noted a = {0};
	coro_actor_kind wrong = brief;

	wrong.flags |= 2;
	CHECK_EQ(coro_actor_spawn(s, &wrong, &a, &a.next), CORO_EINVAL);
	coro_actor ref = actor(s, &undeclared, &a);
	for (uint64_t i = 1; i <= 20; i++) {
		until_asleep(s);
		tell(ref, 0, i);
		sleep_until_seen(&a.n, i);
		CHECK(ran(&a) != gettid());
	}
	finish(s);
}

/* What a brief actor tells a brief one runs there too; what it tells another, on a worker. */
TEST(actor_brief_tells_others)
{
	coro_scheduler *s = start_with(2, 0);
	struct noted a = {0}, b = {0}, c = {0}, d = {0};

	d.next = 0;
	c.next = actor(s, &undeclared, &d);
	b.next = actor(s, &brief, &c);
	a.next = actor(s, &brief, &b);
	coro_actor first = actor(s, &brief, &a);
	uint64_t here = 0;
	for (uint64_t i = 1; i <= 100; i++) {
		until_asleep(s);
		tell(first, 0, i);
		sleep_until_seen(&d.n, i);
		here += ran(&a) == gettid() && ran(&b) == gettid() && ran(&c) == gettid();
		CHECK(ran(&d) != gettid());
	}
	CHECK(some_ran_here(here, &brief));
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK(a.sum == 5050 && b.sum == 5050 && c.sum == 5050 && d.sum == 5050);
	finish(s);
}

/* A turn that waits goes on elsewhere, and the send returns. What comes meanwhile comes after. */
TEST(actor_brief_waits)
{
	coro_scheduler *s = start_with(1, 0);
	struct noted a = {.wait = 20 * MS};
	coro_actor ref = actor(s, &brief, &a);
	uint64_t word = 3;
	coro_answer answer;

	until_asleep(s);
	tell(ref, 0, 1);
	CHECK_EQ(seen(&a.n), 0);
	tell(ref, 0, 2);
	CHECK_EQ(coro_actor_ask(ref, 0, &word, sizeof word, &answer, CORO_FOREVER), CORO_OK);
	CHECK_EQ(*(uint64_t *)answer.payload, 2);
	CHECK(ran(&a) != gettid());
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(a.n, 3);
	CHECK_EQ(a.sum, 1 + 2 + 3);
	finish(s);
}

TEST(actor_brief_that_is_pinned_stays)
{
	coro_options o = options(1, 0);
	o.dedicated = 1;
	coro_scheduler *s = start(&o);
	struct noted a[2] = {{0}};

	for (uint32_t w = 0; w < 2; w++) {
		coro_actor ref;
		CHECK_EQ(coro_actor_spawn_on(s, w + 1, &brief, &a[w], &ref), CORO_OK);
		for (uint64_t i = 1; i <= 20; i++) {
			tell(ref, 0, i);
			sleep_until_seen(&a[w].n, i);
			CHECK(ran(&a[w]) != gettid());
		}
	}
	finish(s);
}

/* A thread that runs a coroutine, of any kind, or works for one, does not lend itself. */

struct sender {
	coro_actor to;
	struct noted *noted;
};

static void sends(struct sender *x)
{
	uint64_t n = seen(&x->noted->n);

	for (uint64_t i = 1; i <= 20; i++) {
		tell(x->to, 0, i);
		sleep_until_seen(&x->noted->n, n + i);
		CHECK(ran(x->noted) != gettid());
	}
}

static void sends_blocking(void *arg)
{
	sends(arg);
}

static void sends_from_threads(void *arg, void *result)
{
	struct sender *x = *(struct sender **)arg;

	(void)result;
	CHECK_EQ(coro_blocking(sends_blocking, x), CORO_OK);
	CHECK_EQ(coro_thread_begin(), CORO_OK);
	sends(x);
	CHECK_EQ(coro_thread_end(), CORO_OK);
}

static intptr_t sends_by_hand(void *arg, intptr_t first)
{
	(void)first;
	sends(arg);
	return 0;
}

TEST(actor_brief_is_sent_to_by_coroutines_elsewhere)
{
	coro_scheduler *s = start_with(2, 0), *other = start_with(1, 0);
	struct noted a = {0};
	struct sender x = {actor(s, &brief, &a), &a}, *at = &x;

	spawn(other, sends_from_threads, &at, sizeof at);
	CHECK_EQ(coro_scheduler_wait(other), CORO_OK);
	coro_t *co;
	CHECK_EQ(coro_new(&co, sends_by_hand, &x, 64 << 10), CORO_OK);
	CHECK_EQ(coro_resume(co, 0, NULL), CORO_FINISHED);
	CHECK_EQ(coro_free(co), CORO_OK);
	finish(other);
	finish(s);
}

/* A kind that breaks its promise is brief no longer. */

static size_t computes(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	(void)turn;
	(void)m;
	for (uint64_t until = now_ns() + 2 * COROI_BRIEF_NS; now_ns() < until;)
		;
	add_to(state, n);
	return n;
}

TEST(actor_brief_that_computes_loses_the_mark)
{
	static const coro_actor_kind liar = {
		.size = sizeof liar, .behave = computes, .flags = CORO_ACTOR_BRIEF};
	coro_scheduler *s = start_with(1, 0);
	uint64_t n = 0;
	coro_actor ref = actor(s, &liar, &n);
	coro_fn fn = (coro_fn)(uintptr_t)computes;

	CHECK(coroi_is_brief(fn));
	for (uint64_t i = 1; coroi_is_brief(fn); i++) {
		until_asleep(s);
		tell(ref, 0, i);
		sleep_until_seen(&n, i);
		CHECK(i < 100000);
	}
	CHECK_EQ(actor(s, &liar, &n) != 0, true);
	CHECK(!coroi_is_brief(fn)); /* another actor of that kind does not make it so */
	finish(s);
}

/* It stops itself, and others send to it meanwhile. */

static size_t stops(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	(void)m;
	add_to(state, n);
	CHECK_EQ(coro_actor_stop(turn->self), CORO_OK);
	return n;
}

TEST(actor_brief_ends_on_its_senders_thread)
{
	static const coro_actor_kind ends = {
		.size = sizeof ends, .behave = stops, .flags = CORO_ACTOR_BRIEF, .batch = 1};
	coro_scheduler *s = start_with(1, 0);
	uint64_t words[3] = {1, 2, 3}, n = 0, here = 0;

	for (int i = 0; i < 100; i++) {
		coro_actor ref = actor(s, &ends, &n);
		until_asleep(s);
		CHECK_EQ(coro_actor_send_many(ref, 0, words, sizeof *words, 3), CORO_OK);
		here += coro_actor_send(ref, 0, words, sizeof *words) == CORO_ESTALE;
		sleep_until_seen(&n, (uint64_t)i + 1);
	}
	CHECK(some_ran_here(here, &ends));
	coro_actor_stats t = settled(s);
	CHECK_EQ(t.actors, 0);
	CHECK_EQ(t.dead[CORO_DEAD_STOPPED], 200 + 100 - here);
	finish(s);
}
