/* scenarios_actor.c - actors, while calls fail. */
#include "ledger.h"

#include "coro_actor.h"

#define ACTORS 10

static uint64_t told, handled;

static size_t handles(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	(void)turn;
	(void)state;
	for (size_t i = 0; i < n; i++)
		add_one(m[i]->kind == CORO_MESSAGE_ENDED ? &told : &handled);
	return n;
}

/* can - the call has succeeded; else it has failed as it may. */
static bool can(int status)
{
	CHECK(status == CORO_OK || (status == CORO_ENOMEM && may_fail()));
	return status == CORO_OK;
}

static void uses_actors(void *arg, void *result)
{
	static const coro_actor_kind kinds[2] = {
		{.size = sizeof *kinds, .behave = handles},
		{.size = sizeof *kinds, .behave = handles, .room = 4},
	};
	uint64_t sent = 0, watched = 0, word = 0;
	coro_actor a[ACTORS], watcher;

	(void)arg;
	(void)result;
	told = handled = 0;
	if (can(coro_actor_spawn(NULL, &kinds[0], NULL, &watcher)))
		for (int i = 0; i < ACTORS; i++) {
			uint32_t worker = i % 3 ? 0 : 1; /* anywhere, or pinned */
			if (!can(coro_actor_spawn_on(NULL, worker, &kinds[i % 2], NULL, &a[i])))
				continue;
			watched += can(coro_actor_watch(watcher, a[i]));
			sent += can(coro_actor_send(a[i], 0, &word, sizeof word));
			sent += can(coro_actor_send_urgent(a[i], 0, &word, sizeof word));
			sent += can(coro_actor_send_after(a[i], 1000, 0, &word, sizeof word, NULL));
			sent += can(coro_actor_send_many(a[i], 0, NULL, 0, 1));
			do /* what is sent later must come before the drain */
				coro_sleep(100000);
			while (seen(&handled) < sent && !may_fail());
			CHECK(can(coro_actor_drain(a[i])) || may_fail());
		}
	coro_sleep(1000000);
	CHECK(seen(&handled) == sent || may_fail());
	CHECK(told <= watched);
	count(&ran);
}

/* Askers, while the actor may have no turn: then the deadline ends the ask, and nothing else does. */

static size_t answers(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	(void)turn;
	(void)state;
	for (size_t i = 0; i < n; i++) {
		uint64_t *lent = (uint64_t *)(uintptr_t)m[i]->words[0];
		++*lent;
		CHECK_EQ(coro_message_answer(m[i], lent, sizeof *lent), CORO_OK);
	}
	return n;
}

/* is_answered - status is an ask's, which has lent *n. */
static bool is_answered(int status, const coro_answer *answer, uint64_t n)
{
	if (status == CORO_OK)
		CHECK(n == 1 && answer->words[0] == 1);
	else
		CHECK(n == 0 && may_fail() &&
		      (status == CORO_ENOMEM || (status == CORO_ETIMEDOUT && lasting)));
	return status == CORO_OK;
}

static void asks_actors(void *arg, void *result)
{
	static const coro_actor_kind kind = {.size = sizeof kind, .behave = answers};
	uint64_t within = lasting ? 20 * MS : CORO_FOREVER, n[4] = {0};
	uint64_t words[4] = {(uintptr_t)&n[0], (uintptr_t)&n[1], (uintptr_t)&n[2],
			     (uintptr_t)&n[3]};
	coro_ask q[3] = {{.to = 0}};
	coro_actor a[3];
	coro_answer answer;
	int made = 0;

	(void)arg;
	(void)result;
	while (made < 3 && can(coro_actor_spawn(NULL, &kind, NULL, &a[made])))
		made++;
	if (made) {
		int status = coro_actor_ask_lend(a[0], 0, &words[3], 8, &answer,
						 lasting ? coro_now() + within : within);
		is_answered(status, &answer, n[3]);
	}
	for (int i = 0; i < made; i++)
		q[i] = (coro_ask){
			.to = a[i], .payload = &words[i], .bytes = 8, .flags = CORO_ASK_LENDS};
	int status = coro_actor_ask_all(q, (size_t)made, lasting ? coro_now() + within : within);
	bool all = true;
	for (int i = 0; i < made; i++)
		all &= is_answered(q[i].status, &q[i].answer, n[i]);
	CHECK(all == (status == CORO_OK));
	count(&ran);
}

/* sends_from_outside - to an actor that is dormant for the first one, and perhaps for others. */
static void sends_from_outside(coro_scheduler *s)
{
	static const coro_actor_kind kind = {.size = sizeof kind, .behave = handles};
	uint64_t sent = 0, word = 0;
	coro_actor a;

	handled = 0;
	if (can(coro_actor_spawn(s, &kind, NULL, &a)))
		for (int i = 0; i < 3; i++)
			sent += can(coro_actor_send(a, 0, &word, sizeof word));
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK(handled == sent || may_fail());
}

SCENARIO(actors)
{
	coro_scheduler *s = begin(1, 0, 0);
	coro_actor_stats t;

	if (!s)
		return;
	outside(s, uses_actors, NULL, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	outside(s, asks_actors, NULL, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	sends_from_outside(s);
	CHECK_EQ(coro_actor_stats_of(s, &t), CORO_OK);
	/* where a turn never had a stack, its messages are dead with the scheduler */
	CHECK(t.accepted == t.handled + t.dead[CORO_DEAD_STOPPED] + t.taken_back || may_fail());
	/* the turns, and the coroutine that sends what is due later */
	coro_worker_stats w;
	coro_stats all;
	CHECK_EQ(coro_scheduler_stats(s, &all, &w, 1), CORO_OK);
	uint64_t others = w.spawned - accepted;
	accepted += others;
	ran += others;
	end(s);
}

/* Buffers in messages, and in answers: what is not accepted stays the sender's, and all are freed. */

struct carried {
	coro_buffer buffer;
	uint64_t number;
};

static size_t frees(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	(void)turn;
	(void)state;
	for (size_t i = 0; i < n; i++) {
		coro_buffer b = {m[i]->words[0]}; /* or none */
		if (!b.id)
			continue;
		if (m[i]->kind != 1 || coro_message_answer(m[i], &b, sizeof b) != CORO_OK)
			CHECK_EQ(coro_buffer_free(b), CORO_OK);
	}
	return n;
}

/* carried - the buffer of a message was passed, or is the sender's; 0: there is none. */
static void carried(int status, coro_buffer b)
{
	CHECK_EQ(coro_buffer_free(b), can(status) ? CORO_ESTALE : CORO_OK);
}

static bool buffer_of(coro_scheduler *s, struct carried *c)
{
	return can(s ? coro_buffer_make_on(s, 8, &c->buffer) : coro_buffer_make(8, &c->buffer));
}

static void carries_to(coro_scheduler *s, coro_actor to)
{
	struct carried c = {.number = 1}, many[3] = {{.number = 1}};
	coro_later later;
	coro_answer answer;
	bool all = true;

	if (buffer_of(s, &c))
		carried(coro_actor_send(to, 0, &c, sizeof c), c.buffer);
	if (buffer_of(s, &c))
		carried(coro_actor_send_urgent(to, 0, &c, sizeof c), c.buffer);
	if (buffer_of(s, &c))
		carried(coro_actor_send_after(to, 1000, 0, &c, sizeof c, NULL), c.buffer);
	if (buffer_of(s, &c)) {
		if (can(coro_actor_send_after(to, 3600000 * MS, 0, &c, sizeof c, &later)))
			CHECK_EQ(coro_actor_take_back(&later), CORO_OK);
		CHECK_EQ(coro_buffer_free(c.buffer), CORO_OK);
	}
	for (int i = 0; i < 3; i++)
		all &= many[i].buffer.id || buffer_of(s, &many[i]);
	int status = coro_actor_send_many(to, 0, many, sizeof *many, 3);
	CHECK(all || may_fail());
	for (int i = 0; i < 3; i++)
		if (many[i].buffer.id)
			carried(status, many[i].buffer);
	if (!buffer_of(s, &c))
		return;
	status = coro_actor_ask_lend(to, 1, &c, sizeof c, &answer,
				     lasting ? coro_now() + 20 * MS : CORO_FOREVER);
	if (lasting && status == CORO_ETIMEDOUT)
		status = CORO_ENOMEM; /* no turn */
	carried(status, c.buffer);
	if (status == CORO_OK)
		CHECK_EQ(coro_buffer_free((coro_buffer){answer.words[0]}), CORO_OK);
}

static void carries_inside(void *arg, void *result)
{
	(void)result;
	carries_to(NULL, *(coro_actor *)arg);
	count(&ran);
}

SCENARIO(actor_buffers)
{
	static const coro_actor_kind kinds[2] = {
		{.size = sizeof *kinds, .behave = frees, .buffers = 1, .answer_buffers = 1},
		{.size = sizeof *kinds,
		 .behave = frees,
		 .room = 100,
		 .buffers = 1,
		 .answer_buffers = 1},
	};
	coro_scheduler *s = begin(1, 0, 0);
	coro_worker_stats w;
	coro_stats t;
	coro_actor a;

	if (!s)
		return;
	for (int i = 0; i < 2; i++)
		if (can(coro_actor_spawn(s, &kinds[i], NULL, &a))) {
			outside(s, carries_inside, &a, sizeof a);
			carries_to(s, a);
			CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		}
	CHECK_EQ(coro_scheduler_stats(s, &t, &w, 1), CORO_OK);
	CHECK(t.buffers_made == t.buffers_freed || may_fail()); /* a turn may have had no stack */
	uint64_t others = w.spawned - accepted;
	accepted += others;
	ran += others;
	end(s);
}
