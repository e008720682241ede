/*
 * t_actor.c - actors by themselves: messages, batches, references, buffers, limits, turns.
 */
#include "stage.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------ ping and pong */

struct player {
	coro_actor other;
	uint64_t hits;
};

static size_t plays(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	struct player *p = state;

	(void)turn;
	for (size_t i = 0; i < n; i++) {
		p->hits++;
		if (m[i]->words[0])
			tell(p->other, 0, m[i]->words[0] - 1);
	}
	return n;
}

static const coro_actor_kind player = {.size = sizeof player, .behave = plays};

static void ping_pong(uint32_t workers, uint64_t rallies)
{
	coro_scheduler *s = start_with(workers, 0);
	struct player p[2] = {{0}};

	p[0].other = actor(s, &player, &p[1]);
	p[1].other = actor(s, &player, &p[0]);
	uint64_t begun = now_ns();
	tell(p[0].other, 0, rallies);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	report("%u workers: %.1f ns a message", workers, (double)(now_ns() - begun) / rallies);
	CHECK_EQ(p[0].hits + p[1].hits, rallies + 1);
	coro_actor_stats t = settled(s);
	CHECK_EQ(t.handled, rallies + 1);
	CHECK_EQ(t.actors, 2);
	finish(s);
}

TEST(actor_ping_pong)
{
	ping_pong(1, scaled(1000000));
	ping_pong(2, scaled(1000000));
}

/* -------------------------------------------------------------------- from outside, in order */

#define SENDERS 4

struct sink {
	uint64_t next[SENDERS], sum, batches;
	size_t most;
	uint32_t busy;
};

static size_t sinks(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	struct sink *k = state;

	CHECK(turn->self != 0);
	CHECK_EQ(__atomic_exchange_n(&k->busy, 1, __ATOMIC_RELAXED), 0);
	k->batches++;
	if (n > k->most)
		k->most = n;
	for (size_t i = 0; i < n; i++) {
		CHECK(m[i]->kind < SENDERS);
		CHECK_EQ(m[i]->words[0], k->next[m[i]->kind]++);
		k->sum++;
	}
	__atomic_store_n(&k->busy, 0, __ATOMIC_RELAXED);
	return n;
}

static const coro_actor_kind sink = {.size = sizeof sink, .behave = sinks};

static coro_actor to_sink;
static uint64_t each;

static void *sends_outside(void *arg)
{
	for (uint64_t i = 0; i < each; i++)
		tell(to_sink, (uint32_t)(uintptr_t)arg, i);
	return NULL;
}

static void *sends_many(void *arg)
{
	uint64_t words[37];

	for (uint64_t i = 0; i < each;) {
		uint64_t n = 0;
		for (; n < 37 && i < each; n++)
			words[n] = i++;
		CHECK_EQ(coro_actor_send_many(to_sink, (uint32_t)(uintptr_t)arg, words, 8, n), 0);
	}
	return NULL;
}

static void sends_inside(void *arg, void *result)
{
	(void)result;
	sends_outside(*(void **)arg);
}

static void from(uint32_t workers, void *(*outside)(void *), bool inside)
{
	coro_scheduler *s = start_with(workers, 0);
	struct sink k = {0};
	pthread_t t[SENDERS];

	each = scaled(40000);
	to_sink = actor(s, &sink, &k);
	for (uintptr_t i = 0; i < SENDERS; i++) {
		void *arg = (void *)i;
		if (inside)
			spawn(s, sends_inside, &arg, sizeof arg);
		else
			thread_start(&t[i], outside, arg);
	}
	for (int i = 0; i < SENDERS && !inside; i++)
		thread_join(t[i]);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(k.sum, SENDERS * each);
	CHECK_EQ(settled(s).handled, SENDERS * each);
	CHECK(k.most <= 64);
	finish(s);
}

TEST(actor_order_from_outside)
{
	from(1, sends_outside, false);
	from(2, sends_outside, false);
	from(2, sends_many, false);
}

TEST(actor_order_from_coroutines)
{
	from(1, NULL, true);
	from(2, NULL, true);
	from(4, NULL, true);
}

/* What threads outside wake comes to a worker by an open batch: also to the next worker, where that
 * batch is full; and by another batch, where an idle one was given back. */
TEST(actor_turns_from_outside)
{
	enum { AWAKENED = 300, ROUNDS = 6 }; /* a batch has 125 */
	static struct sink k[AWAKENED];
	static coro_actor refs[AWAKENED];

	for (uint32_t workers = 1; workers <= 3; workers++) {
		coro_scheduler *s = start_with(workers, 0);
		memset(k, 0, sizeof k);
		for (int i = 0; i < AWAKENED; i++)
			refs[i] = actor(s, &sink, &k[i]);
		for (uint64_t round = 0; round < ROUNDS; round++) {
			for (int i = 0; i < AWAKENED; i++)
				tell(refs[i], 0, round);
			if (round % 2)
				CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
			if (round % 3)
				coro_scheduler_trim(s);
		}
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		for (int i = 0; i < AWAKENED; i++)
			CHECK_EQ(k[i].sum, ROUNDS);
		finish(s);
	}
}

/* ----------------------------------------------------------------------------------- references */

static int ended, end_cause;

static void ends(void *state, int cause)
{
	CHECK(state == &ended);
	end_cause = cause;
	ended++;
}

static size_t counts(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	(void)turn;
	(void)m;
	add_to(state, n);
	return n;
}

static const coro_actor_kind counter = {.size = sizeof counter, .behave = counts};

static size_t nothing(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	(void)turn;
	(void)state;
	(void)m;
	return n;
}

static const coro_actor_kind mortal = {.size = sizeof mortal, .behave = nothing, .end = ends};

TEST(actor_references_that_name_none_are_refused)
{
	coro_scheduler *s = start_with(2, 0);
	coro_actor a = actor(s, &mortal, &ended);
	uint64_t random = 7;

	tell(a, 0, 1);
	CHECK_EQ(coro_actor_stop(a), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(ended, 1);
	CHECK_EQ(end_cause, CORO_DEAD_STOPPED);
	CHECK_EQ(coro_actor_send(a, 0, "x", 1), CORO_ESTALE);
	CHECK_EQ(coro_actor_stop(a), CORO_ESTALE);
	CHECK_EQ(coro_actor_drain(a), CORO_ESTALE);
	/* the place is used again: the old reference stays stale */
	uint64_t n = 0;
	coro_actor b = actor(s, &counter, &n);
	CHECK(a != b && (a << 16) == (b << 16));
	CHECK_EQ(coro_actor_send(a, 0, "x", 1), CORO_ESTALE);
	CHECK_EQ(coro_actor_send(0, 0, "x", 1), CORO_ESTALE);
	CHECK_EQ(coro_actor_send(b + 1, 0, "x", 1), CORO_ESTALE);
	CHECK_EQ(coro_actor_send(b | 0xffff, 0, "x", 1), CORO_ESTALE);
	CHECK_EQ(coro_actor_send(b & ~UINT64_C(0xffff), 0, "x", 1), CORO_ESTALE); /* the header */
	CHECK_EQ(coro_actor_send(b + (UINT64_C(1) << 48), 0, "x", 1), CORO_ESTALE);
	for (int i = 0; i < 100000; i++) {
		coro_actor forged = rnd(&random);
		if (forged != b)
			CHECK_EQ(coro_actor_send(forged, 0, "x", 1), CORO_ESTALE);
	}
	CHECK_EQ(n, 0);
	finish(s);
	CHECK_EQ(coro_actor_send(b, 0, "x", 1), CORO_ESTALE);
}

static uint64_t all_made;

static void *sends_to_none(void *arg)
{
	(void)arg;
	do
		CHECK_EQ(coro_actor_send(0, 0, "x", 1), CORO_ESTALE);
	while (!seen(&all_made));
	return NULL;
}

/* What lies where the first place would be is looked at by such a send, and written by a spawn. */
TEST(actor_sends_to_none_while_others_spawn)
{
	coro_scheduler *s = start_with(1, 0);
	uint64_t n = 0;
	pthread_t t;

	(void)actor(s, &counter, &n);
	thread_start(&t, sends_to_none, NULL);
	for (int i = 0; i < 1000; i++)
		(void)actor(s, &counter, &n);
	add_one(&all_made);
	thread_join(t);
	finish(s);
}

static void uses_up(void *arg, void *result)
{
	coro_actor last = 0, first = 0;

	(void)arg;
	(void)result;
	for (uint32_t i = 0; i < 0xffff; i++) {
		coro_actor a = actor(NULL, &mortal, &ended);
		if (!first)
			first = a;
		CHECK_EQ(a << 16, first << 16);
		CHECK(a != last);
		last = a;
		CHECK_EQ(coro_actor_stop(a), CORO_OK);
		CHECK_EQ(coro_yield(), CORO_OK);
		CHECK_EQ(coro_actor_send(a, 0, "x", 1), CORO_ESTALE);
	}
	coro_actor a = actor(NULL, &mortal, &ended);
	CHECK(a << 16 != first << 16);
	CHECK_EQ(coro_actor_send(first, 0, "x", 1), CORO_ESTALE);
}

TEST(actor_place_is_retired_after_65535_uses)
{
	coro_scheduler *s = start_with(1, 0);

	ended = 0;
	run_alone(s, NULL, uses_up);
	CHECK_EQ(ended, 0x10000);
	s = start_with(1, 0); /* which gets the chunk, and not the retired place */
	for (int i = 0; i < 1000; i++)
		actor(s, &mortal, &ended);
	CHECK_EQ(settled(s).actors, 1000);
	finish(s);
}

TEST(actor_misuse)
{
	coro_scheduler *s = start_with(1, 0);
	uint64_t n = 0;
	coro_actor a;
	coro_actor_kind bad = counter;
	coro_block b;

	CHECK_EQ(coro_actor_spawn(NULL, &counter, &n, &a), CORO_EPERM);
	CHECK_EQ(coro_actor_spawn(s, NULL, &n, &a), CORO_EINVAL);
	CHECK_EQ(coro_actor_spawn(s, &counter, &n, NULL), CORO_EINVAL);
	bad.size = 1;
	CHECK_EQ(coro_actor_spawn(s, &bad, &n, &a), CORO_EINVAL);
	bad = counter;
	bad.batch = 65;
	CHECK_EQ(coro_actor_spawn(s, &bad, &n, &a), CORO_EINVAL);
	bad.batch = 0;
	bad.behave = NULL;
	CHECK_EQ(coro_actor_spawn(s, &bad, &n, &a), CORO_EINVAL);
	bad = counter;
	bad.room = CORO_ROOM_MAX + 1;
	CHECK_EQ(coro_actor_spawn(s, &bad, &n, &a), CORO_EINVAL);
	bad.room = CORO_ROOM_MAX;
	CHECK_EQ(coro_actor_send(actor(s, &bad, &n), 0, "x", 1), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(n, 1);
	a = actor(s, &counter, &n);
	CHECK_EQ(coro_actor_send(a, CORO_MESSAGE_SYSTEM, "x", 1), CORO_EINVAL);
	CHECK_EQ(coro_actor_send(a, 0, "x", CORO_MESSAGE_BYTES + 1), CORO_EINVAL);
	CHECK_EQ(coro_actor_send(a, 0, NULL, 1), CORO_EINVAL);
	CHECK_EQ(coro_actor_send_many(a, 0, NULL, 1, 2), CORO_EINVAL);
	CHECK_EQ(coro_actor_send_many(a, 0, NULL, 0, 0), CORO_OK);
	CHECK_EQ(coro_actor_send_block(a, 0, NULL), CORO_EINVAL);
	CHECK_EQ(coro_message_take(NULL, &b), CORO_EINVAL);
	CHECK_EQ(coro_actor_become(NULL, &counter), CORO_EINVAL);
	CHECK_EQ(coro_actor_limit(NULL, 1), CORO_EINVAL);
	CHECK_EQ(coro_actor_stats_of(NULL, NULL), CORO_EINVAL);
	CHECK_EQ(coro_actor_send(a, 0, NULL, 0), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(n, 2);
	finish(s);
}

/* -------------------------------------------------------------------------------------- buffers */

static uint64_t destroyed;
static coro_actor later;

static void destroys(void *data, size_t bytes)
{
	CHECK_EQ(*(unsigned char *)data, 7);
	CHECK_EQ(bytes, 100);
	free(data);
	add_one(&destroyed);
	if (later)
		tell(later, 0, 1);
}

static coro_block buffer(void)
{
	coro_block b = {malloc(100), 100, destroys};

	memset(b.data, 7, 100);
	return b;
}

static size_t reads(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	coro_block b;

	(void)turn;
	for (size_t i = 0; i < n; i++) {
		CHECK_EQ(m[i]->block.bytes, 100);
		CHECK_EQ(*(unsigned char *)m[i]->block.data, 7);
		if (m[i]->kind == 1) {
			CHECK_EQ(coro_message_take(m[i], &b), CORO_OK);
			CHECK_EQ(coro_message_take(m[i], &b), CORO_EINVAL);
			free(b.data);
		}
		++*(uint64_t *)state;
	}
	return n;
}

TEST(actor_buffers_are_destroyed_once)
{
	static const coro_actor_kind reader = {.size = sizeof reader, .behave = reads};
	coro_scheduler *s = start_with(2, 0);
	uint64_t n = 0, told = 0;
	coro_actor a = actor(s, &reader, &n);
	coro_block b;

	for (uint32_t i = 0; i < 100; i++) {
		b = buffer();
		CHECK_EQ(coro_actor_send_block(a, i & 1, &b), CORO_OK);
	}
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(n, 100);
	CHECK_EQ(destroyed, 50);
	/* one that sends, and one that nobody has accepted */
	later = actor(s, &counter, &told);
	b = buffer();
	CHECK_EQ(coro_actor_send_block(a, 0, &b), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(told, 1);
	CHECK_EQ(coro_actor_stop(a), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	b = buffer();
	CHECK_EQ(coro_actor_send_block(a, 0, &b), CORO_ESTALE);
	later = 0;
	destroys(b.data, b.bytes);
	finish(s);
}

/* --------------------------------------------------------------------------------------- limits */

static void *floods(void *arg)
{
	coro_actor a = *(coro_actor *)arg;
	uint64_t accepted = 0;
	int status;

	while (!(status = coro_actor_send(a, 0, &accepted, 8)))
		accepted++;
	CHECK_EQ(status, CORO_ENOMEM);
	return (void *)(uintptr_t)accepted;
}

TEST(actor_limit_of_messages)
{
	coro_options o = options(1, CORO_PAUSED);
	coro_scheduler *s = start(&o);
	uint64_t n = 0;
	coro_actor a = actor(s, &counter, &n);

	CHECK_EQ(coro_actor_limit(s, 512 << 10), CORO_OK);
	uint64_t accepted = (uintptr_t)floods(&a);
	CHECK(accepted > 4000 && accepted <= 8192);
	CHECK_EQ(coro_actor_send_many(a, 0, NULL, 0, 2), CORO_ENOMEM);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK_EQ(n, accepted);
	tell(a, 0, 1); /* there is room again */
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	coro_actor_stats t = settled(s);
	CHECK(t.message_bytes <= 512 << 10);
	CHECK_EQ(t.accepted, accepted + 1);
	finish(s);
}

static void sends_without_memory(void *arg, void *result)
{
	coro_actor a = *(coro_actor *)arg;
	uint64_t word = 1;

	(void)result;
	fail_map = 0;
	CHECK_EQ(coro_actor_send(a, 0, &word, 8), CORO_ENOMEM);
	fail_map = -1;
	CHECK_EQ(coro_actor_send(a, 0, &word, 8), CORO_OK);
}

TEST(actor_without_memory)
{
	coro_scheduler *s = start_with(1, 0);
	uint64_t n = 0;
	coro_actor a;

	fail_alloc = 0;
	CHECK_EQ(coro_actor_spawn(s, &counter, &n, &a), CORO_ENOMEM);
	fail_alloc = -1;
	fail_map = 0;
	CHECK_EQ(coro_actor_spawn(s, &counter, &n, &a), CORO_ENOMEM);
	fail_map = -1;
	a = actor(s, &counter, &n);
	spawn(s, sends_without_memory, &a, sizeof a);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(n, 1);
	finish(s);
}

/* A chunk of records is used up by coroutines that wait: no turn can be started, and nothing was
 * accepted then. */
static coro_handle first_parked;

static void parks(void *arg, void *result)
{
	(void)arg;
	(void)result;
	coro_park();
}

static void sends_without_records(void *arg, void *result)
{
	coro_actor a = *(coro_actor *)arg;
	uint64_t word = 1;
	int status;

	(void)result;
	while (!(status = coro_spawn_attr(NULL, parks, NULL, 0, &first_parked)))
		;
	CHECK_EQ(status, CORO_ENOMEM);
	CHECK_EQ(coro_actor_send(a, 0, &word, 8), CORO_ENOMEM);
	CHECK_EQ(coro_actor_stop(a), CORO_ENOMEM);
}

TEST(actor_without_records)
{
	coro_options o = options(1, CORO_PAUSED);
	o.record_limit = 2 << 20;
	o.stack_limit = 1 << 20;
	coro_scheduler *s = start(&o);
	uint64_t n = 0;
	coro_actor a = actor(s, &counter, &n);

	spawn(s, sends_without_records, &a, sizeof a);
	CHECK(coro_scheduler_run(s) != CORO_ECLOSED);
	CHECK_EQ(n, 0);
	settled(s);
	CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
}

static size_t behaves_and_parks(coro_actor_turn *turn, void *state, coro_message *const *m,
				size_t n)
{
	(void)turn;
	(void)state;
	(void)m;
	CHECK_EQ(coro_park(), CORO_ECANCELED);
	return n;
}

/* What waits in a turn is reported by the behaviour, also of an actor that has a side table. */
TEST(actor_is_reported_by_its_behaviour)
{
	const coro_actor_kind kind = {.size = sizeof kind, .behave = behaves_and_parks},
			      bounded = {
				      .size = sizeof kind, .behave = behaves_and_parks, .room = 9};
	coro_blocked b[3];

	for (int i = 0; i < 2; i++) {
		coro_scheduler *s = start_with(1, CORO_PAUSED);
		tell(actor(s, i ? &bounded : &kind, NULL), 0, 1);
		CHECK_EQ(coro_scheduler_run(s), CORO_EDEADLK);
		CHECK_EQ(coro_scheduler_blocked(s, b, 3), 1);
		CHECK(b[0].fn == (coro_fn)(uintptr_t)behaves_and_parks);
		CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
	}
}

/* ------------------------------------------------------------------------------ becoming, turns */

static size_t second(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	(void)turn;
	for (size_t i = 0; i < n; i++)
		CHECK_EQ(m[i]->words[0], (*(uint64_t *)state)++);
	return n;
}

static const coro_actor_kind seconds = {.size = sizeof seconds, .behave = second, .batch = 5};

static size_t firsts(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	(void)n;
	CHECK_EQ(m[0]->words[0], (*(uint64_t *)state)++);
	CHECK_EQ(coro_actor_become(turn, &seconds), CORO_OK);
	return 1;
}

TEST(actor_becomes_another)
{
	static const coro_actor_kind kind = {.size = sizeof kind, .behave = firsts};
	coro_options o = options(1, CORO_PAUSED);
	coro_scheduler *s = start(&o);
	uint64_t n = 0;
	coro_actor a = actor(s, &kind, &n);

	for (uint64_t i = 0; i < 1000; i++)
		tell(a, 0, i);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK_EQ(n, 1000);
	finish(s);
}

static size_t waits(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	static uint32_t busy;

	(void)turn;
	for (size_t i = 0; i < n; i++) {
		CHECK_EQ(__atomic_exchange_n(&busy, 1, __ATOMIC_RELAXED), 0);
		CHECK_EQ(m[i]->words[0], (*(uint64_t *)state)++);
		switch (m[i]->words[0] % 4) {
		case 0:
			CHECK_EQ(coro_sleep(1000), CORO_OK);
			break;
		case 1:
			CHECK_EQ(coro_yield(), CORO_OK);
			break;
		case 2:
			CHECK(coro_malloc(1000) != NULL);
		}
		__atomic_store_n(&busy, 0, __ATOMIC_RELAXED);
	}
	return n;
}

TEST(actor_waits_in_a_turn)
{
	static const coro_actor_kind kind = {.size = sizeof kind, .behave = waits};
	coro_scheduler *s = start_with(2, 0);
	uint64_t n = 0, count = scaled(2000);
	coro_actor a = actor(s, &kind, &n);

	for (uint64_t i = 0; i < count; i++)
		tell(a, 0, i);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(n, count);
	settled(s);
	finish(s);
}

/* A turn ends by time: a newcomer is not kept waiting by an actor that floods itself. */
static uint64_t stop_flood;

static size_t sends_itself(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	(void)state;
	(void)m;
	for (size_t i = 0; i < n; i++)
		if (!seen(&stop_flood))
			tell(turn->self, 0, 0);
	return n;
}

TEST(actor_that_floods_itself_lets_others_run)
{
	static const coro_actor_kind kind = {.size = sizeof kind, .behave = sends_itself};
	coro_scheduler *s = start_with(1, 0);
	uint64_t n = 0;
	coro_actor flood = actor(s, &kind, NULL), a = actor(s, &counter, &n);

	for (int i = 0; i < 100; i++)
		tell(flood, 0, 0);
	for (int i = 0; i < 100; i++)
		tell(a, 0, 0);
	sleep_until_seen(&n, 100);
	add_one(&stop_flood);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	settled(s);
	finish(s);
}

/* An actor at rest begins its turn on the worker of the coroutine that sends to it, wherever it was
 * spawned: the other workers compute, so that no thief takes the turn elsewhere. */
static uint64_t turns_here;

static size_t begins_here(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	(void)turn;
	(void)state;
	(void)m;
	CHECK_EQ(coro_worker(), 0);
	add_to(&turns_here, n);
	return n;
}

enum { AT_REST = 100 };
static const coro_actor_kind rests = {.size = sizeof rests, .behave = begins_here};
static struct {
	coro_scheduler *s;
	coro_actor actor[AT_REST];
	uint64_t spawned;
} resting;

static void spawns_and_computes(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (int i = 0; i < AT_REST; i++)
		resting.actor[i] = actor(resting.s, &rests, NULL);
	add_one(&resting.spawned);
	while (seen(&turns_here) < AT_REST)
		;
}

static void sends_to_all(void *arg, void *result)
{
	(void)arg;
	(void)result;
	while (!seen(&resting.spawned))
		;
	for (int i = 0; i < AT_REST; i++) {
		tell(resting.actor[i], 0, 0);
		if (i % 10 == 0)
			coro_yield();
	}
}

TEST(actor_at_rest_begins_where_its_sender_is)
{
	coro_scheduler *s = start_with(2, CORO_PAUSED);
	coro_attr sender = on(1), spawner = on(2);

	resting.s = s;
	CHECK_EQ(coro_scheduler_spawn(s, &sender, sends_to_all, NULL, 0, NULL), CORO_OK);
	CHECK_EQ(coro_scheduler_spawn(s, &spawner, spawns_and_computes, NULL, 0, NULL), CORO_OK);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK_EQ(turns_here, AT_REST);
	settled(s);
	finish(s);
}

/* A dedicated worker's senders wake others on general ones. */
static size_t where(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	(void)turn;
	(void)m;
	CHECK(coro_worker() < 2);
	*(uint64_t *)state += n;
	return n;
}

static void sends_from_dedicated(void *arg, void *result)
{
	(void)result;
	CHECK_EQ(coro_worker(), 2);
	for (int i = 0; i < 1000; i++)
		tell(*(coro_actor *)arg, 0, 0);
}

TEST(actor_woken_from_a_dedicated_worker)
{
	static const coro_actor_kind kind = {.size = sizeof kind, .behave = where};
	coro_options o = options(2, 0);
	o.dedicated = 1;
	coro_scheduler *s = start(&o);
	uint64_t n = 0;
	coro_actor a = actor(s, &kind, &n);
	coro_attr there = on(3);

	CHECK_EQ(coro_scheduler_spawn(s, &there, sends_from_dedicated, &a, sizeof a, NULL), 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(n, 1000);
	settled(s);
	finish(s);
}
