/*
 * t_actor_later.c - messages that are sent later: their order, the end that waits for them, and
 * what becomes of them.
 */
#include "stage.h"

struct times {
	uint64_t n, last;
};

/* Not 0: a call took so long that its message may have come to be due after the next one. */
static uint64_t inexact;

static size_t checks_time(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	struct times *t = state;

	(void)turn;
	for (size_t i = 0; i < n; i++) {
		CHECK(coro_now() >= m[i]->words[0]); /* never early */
		CHECK(m[i]->words[0] >= t->last || seen(&inexact));
		t->last = m[i]->words[0];
		t->n++;
	}
	return n;
}

static const coro_actor_kind timed = {.size = sizeof timed, .behave = checks_time};

static void later(coro_actor to, uint64_t ns)
{
	uint64_t due = coro_now() + ns;

	CHECK_EQ(coro_actor_send_after(to, ns, 0, &due, 8), CORO_OK);
	if (coro_now() + ns - due > MS / 8)
		add_one(&inexact);
}

static void sends_later(void *arg, void *result)
{
	(void)result;
	for (uint64_t i = 100; i; i--)
		later(*(coro_actor *)arg, i * MS / 4);
}

TEST(actor_send_later)
{
	for (int paused = 0; paused < 2; paused++) {
		coro_options o = options(2, paused ? CORO_PAUSED : 0);
		coro_scheduler *s = start(&o);
		struct times t = {0};
		coro_actor a = actor(s, &timed, &t);

		sends_later(&a, NULL); /* from outside, and the later first */
		CHECK_EQ(paused ? coro_scheduler_run(s) : coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(t.n, 100);
		t.last = 0;
		spawn(s, sends_later, &a, sizeof a);
		CHECK_EQ(paused ? coro_scheduler_run(s) : coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(t.n, 200);
		settled(s);
		finish(s);
	}
}

TEST(actor_send_later_to_one_that_ends)
{
	coro_scheduler *s = start_with(1, 0);
	struct times t = {0};
	coro_actor a = actor(s, &timed, &t);
	uint64_t word = 0;

	later(a, 200 * MS); /* not before it is told to stop */
	CHECK_EQ(coro_actor_stop(a), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(settled(s).dead[CORO_DEAD_STOPPED], 1);
	CHECK_EQ(coro_actor_send_after(a, 1, 0, &word, 8), CORO_ESTALE);
	CHECK_EQ(coro_actor_send_after(a, 1, CORO_MESSAGE_SYSTEM, &word, 8), CORO_EINVAL);
	a = actor(s, &timed, &t);
	later(a, CORO_FOREVER);
	later(a, 3600 * 1000 * MS);
	CHECK_EQ(coro_scheduler_close(s, 1), CORO_OK);
	CHECK_EQ(settled(s).dead[CORO_DEAD_CLOSED], 2);
	CHECK_EQ(t.n, 0);
	CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
}

static void without_memory(void *arg, void *result)
{
	coro_actor a = *(coro_actor *)arg;
	uint64_t word = 0;

	(void)result;
	fail_alloc = 0;
	CHECK_EQ(coro_actor_send_after(a, 1, 0, &word, 8), CORO_ENOMEM);
	fail_alloc = -1;
	CHECK_EQ(coro_actor_send_after(a, 1, 0, &word, 8), CORO_OK);
	CHECK_EQ(coro_actor_send_urgent(a, 0, &word, 8), CORO_OK);
}

TEST(actor_send_later_without_memory)
{
	coro_scheduler *s = start_with(1, 0);
	struct times t = {0};
	coro_actor a = actor(s, &timed, &t);

	spawn(s, without_memory, &a, sizeof a);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(t.n, 2);
	settled(s);
	finish(s);
}
