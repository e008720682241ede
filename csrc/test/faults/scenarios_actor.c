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
	sends_from_outside(s);
	CHECK_EQ(coro_actor_stats_of(s, &t), CORO_OK);
	/* where a turn never had a stack, its messages are dead with the scheduler */
	CHECK(t.accepted == t.handled + t.dead[CORO_DEAD_STOPPED] || may_fail());
	/* the turns, and the coroutine that sends what is due later */
	coro_worker_stats w;
	coro_stats all;
	CHECK_EQ(coro_scheduler_stats(s, &all, &w, 1), CORO_OK);
	uint64_t others = w.spawned - accepted;
	accepted += others;
	ran += others;
	end(s);
}
