/*
 * t_actor_end.c - how actors end, and their messages: stop, drain, dead letters, behaviours that
 * end their coroutine, closes.
 */
#include "stage.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------- dead letters */

#define LETTERS 1000

static uint64_t buried[CORO_DEAD_CAUSES];
static uint64_t last_buried;
static bool in_order = true;

static void buries(const coro_dead_letter *d)
{
	CHECK(d->to != 0);
	CHECK(d->message != NULL);
	add_one(&buried[d->cause]);
	in_order &= !last_buried || d->message->words[0] == last_buried + 1;
	last_buried = d->message->words[0];
}

static void watch_burials(void)
{
	memset(buried, 0, sizeof buried);
	last_buried = 0;
	in_order = true;
	coro_actor_on_dead_letter(buries);
}

/* An actor that counts, and does something at one message. */
struct doer {
	uint64_t handled, at, ended;
	int cause;
	void (*does)(coro_actor_turn *);
	coro_actor other;
};

static size_t does(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	struct doer *d = state;

	for (size_t i = 0; i < n; i++) {
		turn->handled = (uint32_t)i;
		if (m[i]->words[0] == d->at && d->does) {
			d->handled++;
			d->does(turn);
			return i + 1;
		}
		d->handled++;
	}
	return n;
}

static void doer_ends(void *state, int cause)
{
	struct doer *d = state;

	d->cause = cause;
	d->ended++;
}

static const coro_actor_kind doer = {.size = sizeof doer, .behave = does, .end = doer_ends};

static void stops(coro_actor_turn *turn)
{
	CHECK_EQ(coro_actor_stop(turn->self), CORO_OK);
	CHECK_EQ(coro_actor_stop(turn->self), CORO_OK); /* a stop within a stop */
}

/* with_some - an actor gets the words 1 to letters in a paused scheduler, which then runs. */
static coro_scheduler *with_some(struct doer *d, coro_actor *a, uint64_t letters)
{
	coro_options o = options(2, CORO_PAUSED);
	coro_scheduler *s = start(&o);

	watch_burials();
	*a = actor(s, &doer, d);
	for (uint64_t i = 1; i <= letters; i++)
		tell(*a, 0, i);
	return s;
}

static coro_scheduler *with(struct doer *d, coro_actor *a)
{
	return with_some(d, a, LETTERS);
}

TEST(actor_stop_is_after_this_message)
{
	struct doer d = {.at = 300, .does = stops};
	coro_actor a;
	coro_scheduler *s = with(&d, &a);

	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK_EQ(d.handled, 300);
	CHECK_EQ(d.ended, 1);
	CHECK_EQ(d.cause, CORO_DEAD_STOPPED);
	CHECK_EQ(buried[CORO_DEAD_STOPPED], LETTERS - 300);
	CHECK(in_order);
	coro_actor_stats t = settled(s);
	CHECK_EQ(t.handled, 300);
	CHECK_EQ(t.dead[CORO_DEAD_STOPPED], LETTERS - 300);
	CHECK_EQ(t.actors, 0);
	finish(s);
	CHECK(coro_actor_on_dead_letter(NULL) == buries);
}

TEST(actor_stop_from_outside_overtakes)
{
	struct doer d = {0};
	coro_actor a;
	coro_scheduler *s = with(&d, &a);

	CHECK_EQ(coro_actor_stop(a), CORO_OK);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK_EQ(d.handled, 0);
	CHECK_EQ(d.ended, 1);
	CHECK_EQ(buried[CORO_DEAD_STOPPED], LETTERS);
	settled(s);
	/* an idle one */
	struct doer idle = {0};
	a = actor(s, &doer, &idle);
	CHECK_EQ(coro_actor_stop(a), CORO_OK);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK_EQ(idle.ended, 1);
	finish(s);
}

TEST(actor_drain_handles_what_was_accepted)
{
	struct doer d = {0};
	coro_actor a;
	coro_scheduler *s = with(&d, &a);

	CHECK_EQ(coro_actor_drain(a), CORO_OK);
	for (uint64_t i = 0; i < 10; i++)
		tell(a, 0, LETTERS + 1 + i);
	CHECK_EQ(coro_actor_drain(a), CORO_OK);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK_EQ(d.handled, LETTERS);
	CHECK_EQ(d.ended, 1);
	CHECK_EQ(buried[CORO_DEAD_STOPPED], 10);
	CHECK_EQ(coro_actor_drain(a), CORO_ESTALE);
	settled(s);
	finish(s);
}

/* ------------------------------------------------------------- ends of the coroutine in a turn */

static void aborts(coro_actor_turn *turn)
{
	(void)turn;
	coro_abort();
}

static void exits(coro_actor_turn *turn)
{
	(void)turn;
	coro_exit();
}

static void fails(coro_actor_turn *turn)
{
	(void)turn;
	coro_fail(7, "not today");
}

static void defers(void *arg)
{
	++*(uint64_t *)arg;
}

static uint64_t deferred;

static void exits_with_more(coro_actor_turn *turn)
{
	(void)turn;
	CHECK_EQ(coro_defer(defers, &deferred), CORO_OK);
	CHECK(coro_malloc(10000) != NULL);
	coro_exit();
}

static void cancels(coro_actor_turn *turn)
{
	(void)turn;
	CHECK_EQ(coro_cancel(coro_self()), CORO_OK);
	CHECK_EQ(coro_sleep(1), CORO_ECANCELED);
}

static void lasts(coro_actor_turn *turn)
{
	(void)turn;
	CHECK_EQ(coro_thread_begin(), CORO_OK);
}

static void ends_at(void (*what)(coro_actor_turn *), int cause, uint64_t at, uint64_t letters)
{
	struct doer d = {.at = at, .does = what};
	coro_actor a;
	coro_scheduler *s = with_some(&d, &a, letters);

	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK_EQ(d.handled, letters); /* the failing one has been begun */
	CHECK_EQ(d.ended, 0);
	CHECK_EQ(buried[CORO_DEAD_FAILED], cause == CORO_DEAD_FAILED);
	coro_actor_stats t = settled(s);
	CHECK_EQ(t.handled, letters - (cause == CORO_DEAD_FAILED));
	/* it goes on */
	d.at = 0;
	tell(a, 0, 1);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK_EQ(d.handled, letters + 1);
	CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
	CHECK_EQ(d.ended, 1);
	CHECK_EQ(d.cause, CORO_DEAD_CLOSED);
}

/* ends_so - at one of many messages, and at the only one. */
static void ends_so(void (*what)(coro_actor_turn *), int cause)
{
	ends_at(what, cause, 100, LETTERS);
	ends_at(what, cause, 1, 1);
}

TEST(actor_behaviours_that_end_their_coroutine)
{
	ends_so(aborts, CORO_DEAD_FAILED);
	ends_so(fails, CORO_DEAD_FAILED);
	ends_so(exits, 0);
	ends_so(exits_with_more, 0);
	CHECK_EQ(deferred, 2);
	ends_so(cancels, 0);
	ends_so(lasts, 0);
}

/* More comes to the box while its only message is handled. */
static void sends_and_exits(coro_actor_turn *turn)
{
	tell(turn->self, 0, 2);
	tell(turn->self, 0, 3);
	coro_exit();
}

static void stops_and_aborts(coro_actor_turn *turn)
{
	tell(turn->self, 0, 2);
	CHECK_EQ(coro_actor_stop(turn->self), CORO_OK);
	coro_abort();
}

TEST(actor_whose_only_message_ends_its_coroutine)
{
	struct doer d = {.at = 1, .does = sends_and_exits};
	coro_actor a;
	coro_scheduler *s = with_some(&d, &a, 1);

	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK_EQ(d.handled, 3);
	CHECK_EQ(settled(s).handled, 3);
	finish(s);

	d = (struct doer){.at = 1, .does = stops_and_aborts};
	s = with_some(&d, &a, 1);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK_EQ(d.ended, 1);
	CHECK_EQ(d.cause, CORO_DEAD_STOPPED);
	CHECK_EQ(buried[CORO_DEAD_FAILED], 1);
	CHECK_EQ(buried[CORO_DEAD_STOPPED], 1);
	CHECK(in_order);
	CHECK_EQ(settled(s).handled, 0);
	finish(s);
}

/* A message alone, with which the behaviour ends each time. */
static size_t always_aborts(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	(void)turn;
	(void)m;
	(void)n;
	add_one(state);
	coro_abort();
	return 0;
}

TEST(actor_that_always_aborts)
{
	static const coro_actor_kind kind = {.size = sizeof kind, .behave = always_aborts};
	coro_scheduler *s = start_with(2, 0);
	uint64_t n = 0;
	coro_actor a = actor(s, &kind, &n);

	for (uint64_t i = 0; i < LETTERS; i++)
		tell(a, 0, i);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(n, LETTERS);
	CHECK_EQ(settled(s).dead[CORO_DEAD_FAILED], LETTERS);
	finish(s);
}

/* `end` that ends its coroutine. */
static void end_exits(void *state, int cause)
{
	doer_ends(state, cause);
	if (cause != CORO_DEAD_CLOSED)
		coro_exit();
}

TEST(actor_end_that_exits)
{
	static const coro_actor_kind kind = {.size = sizeof kind, .behave = does, .end = end_exits};
	coro_scheduler *s = start_with(1, 0);
	struct doer d = {0};

	for (int i = 0; i < 100; i++) {
		coro_actor a = actor(s, &kind, &d);
		tell(a, 0, 1);
		CHECK_EQ(coro_actor_drain(a), CORO_OK);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	}
	CHECK_EQ(d.ended, 100);
	CHECK_EQ(settled(s).actors, 0);
	finish(s);
}

/* --------------------------------------------------------------------------------------- closes */

static uint64_t freed;

static void frees(void *data, size_t bytes)
{
	coro_block b = {data, bytes, NULL};

	/* to an actor of a scheduler that is closed, or about to be */
	coro_actor to = *(coro_actor *)data;
	if (coro_actor_send(to, 0, &to, 8) == CORO_OK)
		add_one(&buried[0]);
	free(b.data);
	add_one(&freed);
}

TEST(actor_close_with_full_mailboxes)
{
	for (int paused = 0; paused < 2; paused++) {
		struct doer d[10] = {{0}};
		coro_options o = options(2, paused ? CORO_PAUSED : 0);
		coro_scheduler *s = start(&o);
		coro_actor a[10];
		uint64_t ended = 0;

		memset(buried, 0, sizeof buried);
		freed = 0;
		coro_actor_on_dead_letter(buries);
		for (int i = 0; i < 10; i++)
			a[i] = actor(s, &doer, &d[i]);
		for (int i = 0; i < 10; i++)
			for (int k = 0; k < 100; k++) {
				coro_block b = {malloc(sizeof a[i]), sizeof a[i], frees};
				memcpy(b.data, &a[i], sizeof a[i]);
				CHECK_EQ(coro_actor_send_block(a[i], 0, &b), CORO_OK);
			}
		CHECK_EQ(coro_scheduler_close(s, 1), CORO_OK);
		CHECK_EQ(freed, 1000);
		coro_actor_stats t = settled(s);
		CHECK_EQ(t.accepted, 1000 + buried[0]);
		CHECK_EQ(t.actors, 0);
		CHECK_EQ(buried[CORO_DEAD_CLOSED], t.dead[CORO_DEAD_CLOSED]);
		if (paused)
			CHECK_EQ(t.dead[CORO_DEAD_CLOSED], 1000);
		for (int i = 0; i < 10; i++) {
			ended += d[i].ended;
			CHECK_EQ(d[i].cause, CORO_DEAD_CLOSED);
			CHECK_EQ(coro_actor_send(a[i], 0, NULL, 0), CORO_ESTALE);
		}
		CHECK_EQ(ended, 10);
		CHECK_EQ(coro_actor_spawn(s, &doer, &d[0], a), CORO_ECLOSED);
		CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
	}
}

static uint64_t accepted_by(coro_scheduler *s)
{
	coro_actor_stats t;

	CHECK_EQ(coro_actor_stats_of(s, &t), CORO_OK);
	return t.accepted;
}

/* Local sends: the actor that they wake has its turn later. With SPINS it has none, as the
 * coroutine keeps the worker until that is canceled. */
enum { SLEEPS, STOPS, SPINS, LOCAL_WAYS };

struct tells {
	coro_actor to;
	int how;
	uint64_t n;
};

static void tells(void *arg, void *result)
{
	const struct tells *t = *(struct tells **)arg;

	(void)result;
	for (uint64_t i = 1; i <= t->n; i++)
		CHECK_EQ(coro_actor_send(t->to, 0, &i, sizeof i), CORO_OK);
	if (t->how == STOPS)
		CHECK_EQ(coro_actor_stop(t->to), CORO_OK);
	else if (t->how == SLEEPS)
		CHECK_EQ(coro_sleep(CORO_FOREVER), CORO_ECANCELED);
	else
		while (!coro_canceled())
			;
}

/* waits - the actor handles nothing: it has its turn again and again. */
static size_t waits(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	(void)turn;
	(void)state;
	(void)m;
	(void)n;
	return 0;
}

TEST(actor_whose_local_messages_die)
{
	static const coro_actor_kind kind = {
		.size = sizeof kind, .behave = waits, .end = doer_ends};

	for (int how = 0; how < LOCAL_WAYS; how++) {
		coro_scheduler *s = start_with(1, 0);
		struct doer d = {0};
		/* no more than the soft bound, at which the sender yields */
		struct tells t = {actor(s, &kind, &d), how, how == SPINS ? 200 : 300}, *arg = &t;

		watch_burials();
		CHECK_EQ(coro_scheduler_spawn(s, NULL, tells, &arg, sizeof arg, NULL), CORO_OK);
		while (how != STOPS && accepted_by(s) < t.n)
			CHECK_EQ(sched_yield(), 0);
		CHECK_EQ(coro_scheduler_close(s, how != STOPS), CORO_OK);
		CHECK_EQ(buried[how == STOPS ? CORO_DEAD_STOPPED : CORO_DEAD_CLOSED], t.n);
		CHECK(in_order);
		CHECK_EQ(d.ended, 1);
		CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
	}
}

TEST(actor_of_a_closed_scheduler)
{
	coro_scheduler *s = start_with(1, 0);
	struct doer d = {0};
	coro_actor_stats t;
	coro_actor a;

	CHECK_EQ(coro_scheduler_close(s, 0), CORO_OK);
	CHECK_EQ(coro_actor_spawn(s, &doer, &d, &a), CORO_ECLOSED);
	CHECK_EQ(coro_actor_limit(s, 1 << 20), CORO_ECLOSED);
	CHECK_EQ(coro_actor_stats_of(s, &t), CORO_OK);
	CHECK_EQ(t.spawned, 0);
	CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
	CHECK_EQ(d.ended, 0);
}

/* Threads send while the scheduler closes and is destroyed. */
static coro_actor target;
static uint64_t accepted, quit;

static void *sends_on(void *arg)
{
	uint64_t word = 0;

	(void)arg;
	while (!seen(&quit)) {
		int status = coro_actor_send(target, 0, &word, 8);
		if (!status)
			add_one(&accepted);
		else
			CHECK(status == CORO_ESTALE || status == CORO_ECLOSED);
	}
	return NULL;
}

TEST(actor_destroy_while_threads_send)
{
	pthread_t t[2];

	for (uint64_t i = 0, n = scaled(200); i < n; i++) {
		struct doer d = {0};
		coro_scheduler *s = start_with(1 + i % 2, 0);

		accepted = quit = 0;
		target = actor(s, &doer, &d);
		for (int k = 0; k < 2; k++)
			thread_start(&t[k], sends_on, NULL);
		sleep_us(200);
		if (i % 3)
			CHECK_EQ(coro_scheduler_close(s, i % 3 == 1), CORO_OK);
		CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
		CHECK_EQ(d.ended, 1);
		add_one(&quit);
		for (int k = 0; k < 2; k++)
			thread_join(t[k]);
		CHECK(d.handled <= accepted);
	}
}

/* Threads send faster than the actor handles: a close without cancel takes nothing more from
 * them. */
static size_t takes_time(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	(void)turn;
	(void)m;
	for (uint64_t end = now_ns() + 10000; now_ns() < end;)
		;
	*(uint64_t *)state += n;
	return n;
}

TEST(actor_close_while_threads_flood)
{
	static const coro_actor_kind kind = {.size = sizeof kind, .behave = takes_time, .batch = 1};
	coro_scheduler *s = start_with(1, 0);
	uint64_t n = 0;
	pthread_t t[2];

	accepted = quit = 0;
	target = actor(s, &kind, &n);
	for (int k = 0; k < 2; k++)
		thread_start(&t[k], sends_on, NULL);
	sleep_us(500);
	CHECK_EQ(coro_scheduler_close(s, 0), CORO_OK);
	add_one(&quit);
	for (int k = 0; k < 2; k++)
		thread_join(t[k]);
	CHECK_EQ(n, accepted);
	settled(s);
	CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
}

/* Two schedulers, whose actors talk to each other. */
struct talker {
	coro_actor other;
	uint64_t handled;
};

static size_t talks(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	struct talker *t = state;

	(void)turn;
	for (size_t i = 0; i < n; i++) {
		add_one(&t->handled);
		if (m[i]->words[0])
			tell(t->other, 0, m[i]->words[0] - 1);
	}
	return n;
}

TEST(actor_of_another_scheduler)
{
	static const coro_actor_kind kind = {.size = sizeof kind, .behave = talks};
	coro_scheduler *s[2] = {start_with(1, 0), start_with(1, 0)};
	struct talker t[2] = {{0}};
	uint64_t n = scaled(5000);

	for (int i = 0; i < 2; i++)
		t[!i].other = actor(s[i], &kind, &t[i]);
	tell(t[0].other, 0, n);
	sleep_until_seen(&t[n % 2 ? 0 : 1].handled, n / 2);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(coro_scheduler_wait(s[i % 2]), CORO_OK);
	CHECK_EQ(t[0].handled + t[1].handled, n + 1);
	finish(s[0]);
	finish(s[1]);
}

/* An idle actor is no work; one with messages is. */
static size_t slow(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	(void)turn;
	(void)m;
	CHECK_EQ(coro_sleep(MS), CORO_OK);
	add_to(state, n);
	return n;
}

TEST(actor_with_messages_is_work)
{
	static const coro_actor_kind kind = {.size = sizeof kind, .behave = slow, .batch = 1};
	coro_options o = options(2, CORO_PAUSED);
	coro_scheduler *s = start(&o);
	uint64_t n = 0;
	coro_actor a = actor(s, &kind, &n);

	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	for (uint64_t i = 1; i <= 20; i++) {
		tell(a, 0, i);
		CHECK_EQ(coro_scheduler_run(s), CORO_OK);
		CHECK_EQ(n, i);
	}
	finish(s);
}
