/*
 * t_actor_more.c - what few actors use: messages that overtake, watchers, bounded mailboxes, and
 * questions.
 */
#include "stage.h"

#include <string.h>

/* ------------------------------------------------------------------------------ what overtakes */

struct log {
	uint64_t word[1000];
	size_t n;
};

static size_t logs(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	struct log *l = state;

	(void)turn;
	for (size_t i = 0; i < n; i++)
		l->word[l->n++] = m[i]->words[0];
	return n;
}

static const coro_actor_kind logger = {.size = sizeof logger, .behave = logs};

TEST(actor_urgent_messages_overtake)
{
	coro_options o = options(1, CORO_PAUSED);
	coro_scheduler *s = start(&o);
	struct log l = {.n = 0};
	coro_actor a = actor(s, &logger, &l);

	for (uint64_t i = 0; i < 100; i++)
		tell(a, 0, i);
	for (uint64_t i = 1000; i < 1010; i++)
		CHECK_EQ(coro_actor_send_urgent(a, 0, &i, 8), CORO_OK);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK_EQ(l.n, 110);
	for (uint64_t i = 0; i < 110; i++)
		CHECK_EQ(l.word[i], i < 10 ? 1000 + i : i - 10);
	/* to one that is dormant, and to one that has ended */
	uint64_t word = 7;
	CHECK_EQ(coro_actor_send_urgent(a, 0, &word, 8), CORO_OK);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK_EQ(l.n, 111);
	CHECK_EQ(coro_actor_send_urgent(a, 0, &word, 8), CORO_OK);
	CHECK_EQ(coro_actor_stop(a), CORO_OK);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK_EQ(coro_actor_send_urgent(a, 0, &word, 8), CORO_ESTALE);
	CHECK_EQ(coro_actor_send_urgent(a, CORO_MESSAGE_SYSTEM, &word, 8), CORO_EINVAL);
	coro_actor_stats t = settled(s);
	CHECK_EQ(t.dead[CORO_DEAD_STOPPED], 1);
	a = actor(s, &logger, &l);
	CHECK_EQ(coro_actor_send_urgent(a, 0, &word, 8), CORO_OK);
	CHECK_EQ(coro_scheduler_close(s, 1), CORO_OK);
	CHECK_EQ(settled(s).dead[CORO_DEAD_CLOSED], 1);
	CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
}

/* sends_urgent - a behaviour that takes one message a call: the first sends the urgent messages 1
 * and 2, and 1 sends 3. */
static size_t sends_urgent(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	static const uint64_t word[] = {1, 2, 3};
	uint64_t now = m[0]->words[0];

	if (now < 2)
		CHECK_EQ(coro_actor_send_urgent(turn->self, 0, &word[now * 2], 8), CORO_OK);
	if (now == 0)
		CHECK_EQ(coro_actor_send_urgent(turn->self, 0, &word[1], 8), CORO_OK);
	return logs(turn, state, m, n);
}

TEST(actor_urgent_messages_do_not_overtake_each_other)
{
	static const coro_actor_kind kind = {
		.size = sizeof kind, .behave = sends_urgent, .batch = 1};
	static const uint64_t want[] = {0, 1, 2, 3, 10, 11};
	coro_options o = options(1, CORO_PAUSED);
	coro_scheduler *s = start(&o);
	struct log l = {.n = 0};
	coro_actor a = actor(s, &kind, &l);

	tell(a, 0, 0);
	tell(a, 0, 10);
	tell(a, 0, 11);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK_EQ(l.n, 6);
	for (size_t i = 0; i < 6; i++)
		CHECK_EQ(l.word[i], want[i]);
	CHECK_EQ(settled(s).handled, 6);
	CHECK_EQ(coro_scheduler_close(s, 0), CORO_OK);
	CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
}

/* ---------------------------------------------------------------------------------------- watch */

struct watcher {
	uint64_t told, late;
	coro_actor last;
	int cause;
};

static size_t watches(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	struct watcher *w = state;

	(void)turn;
	for (size_t i = 0; i < n; i++) {
		coro_ended e;
		if (m[i]->kind != CORO_MESSAGE_ENDED)
			continue;
		memcpy(&e, m[i]->payload, sizeof e);
		w->told++;
		w->late += e.cause == 0;
		w->last = e.actor;
		w->cause = e.cause;
	}
	return n;
}

static const coro_actor_kind watcher = {.size = sizeof watcher, .behave = watches};

TEST(actor_watch)
{
	coro_options o = options(2, CORO_PAUSED);
	coro_scheduler *s = start(&o), *other = start(&o);
	struct watcher w = {0};
	struct log l = {.n = 0};
	coro_actor a = actor(s, &watcher, &w), b = actor(s, &logger, &l), c;

	CHECK_EQ(coro_actor_watch(a, b), CORO_OK);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK_EQ(w.told, 0);
	CHECK_EQ(coro_actor_stop(b), CORO_OK);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK_EQ(w.told, 1);
	CHECK_EQ(w.last, b);
	CHECK_EQ(w.cause, CORO_DEAD_STOPPED);
	/* one that has ended before, and one that never was */
	CHECK_EQ(coro_actor_watch(a, b), CORO_OK);
	CHECK_EQ(coro_actor_watch(a, 12345), CORO_OK);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK_EQ(w.told, 3);
	CHECK_EQ(w.late, 2);
	/* taken back */
	b = actor(s, &logger, &l);
	CHECK_EQ(coro_actor_unwatch(a, b), CORO_ESTALE);
	CHECK_EQ(coro_actor_watch(a, b), CORO_OK);
	CHECK_EQ(coro_actor_watch(a, b), CORO_OK);
	CHECK_EQ(coro_actor_unwatch(a, b), CORO_OK);
	CHECK_EQ(coro_actor_drain(b), CORO_OK);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK_EQ(w.told, 4);
	/* itself, which hears nothing */
	CHECK_EQ(coro_actor_watch(a, a), CORO_OK);
	c = actor(other, &logger, &l);
	CHECK_EQ(coro_actor_watch(a, c), CORO_EPERM);
	CHECK_EQ(coro_actor_stop(a), CORO_OK);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK_EQ(coro_actor_watch(a, c), CORO_ESTALE);
	CHECK_EQ(w.told, 4);
	/* a watcher that ends before, and one whose target is closed with it */
	a = actor(s, &watcher, &w);
	b = actor(s, &logger, &l);
	CHECK_EQ(coro_actor_watch(a, b), CORO_OK);
	CHECK_EQ(coro_actor_stop(a), CORO_OK);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK_EQ(coro_actor_stop(b), CORO_OK);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	a = actor(s, &watcher, &w);
	b = actor(s, &logger, &l);
	CHECK_EQ(coro_actor_watch(a, b), CORO_OK);
	settled(s);
	finish(s);
	finish(other);
}

/* Watches and ends race: each call of watch brings one message. */
struct racer {
	coro_actor watcher, target;
};

static void watches_race(void *arg, void *result)
{
	struct racer r = *(struct racer *)arg;

	(void)result;
	for (int i = 0; i < 5; i++)
		CHECK_EQ(coro_actor_watch(r.watcher, r.target), CORO_OK);
}

static void stops_race(void *arg, void *result)
{
	int status = coro_actor_stop(((struct racer *)arg)->target);

	(void)result;
	CHECK(status == CORO_OK || status == CORO_ESTALE);
}

TEST(actor_watch_while_the_target_ends)
{
	coro_scheduler *s = start_with(2, 0);
	struct watcher w = {0};
	struct log l = {.n = 0};
	coro_actor a = actor(s, &watcher, &w);
	uint64_t n = scaled(2000);

	for (uint64_t i = 0; i < n; i++) {
		struct racer r = {a, actor(s, &logger, &l)};
		spawn(s, watches_race, &r, sizeof r);
		spawn(s, stops_race, &r, sizeof r);
	}
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(w.told, 5 * n);
	settled(s);
	finish(s);
}

/* --------------------------------------------------------------------------------------- bounds */

static uint64_t self_status;

static size_t bounded(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	uint64_t word = 1;

	for (size_t i = 0; i < n; i++) {
		add_one(state);
		if (m[i]->kind == 1) { /* fills its own mailbox, and would wait for itself */
			while (!coro_actor_send(turn->self, 0, &word, 8))
				;
			add_to(&self_status, (uint64_t)-coro_actor_send_until(turn->self, 0, &word,
									      8, CORO_FOREVER));
		}
	}
	return n;
}

static const coro_actor_kind room = {
	.size = sizeof room, .behave = bounded, .room = 10, .batch = 3};

static void *waits_for_room(void *arg)
{
	uint64_t word = 1;
	int status = coro_actor_send_until(*(coro_actor *)arg, 0, &word, 8, CORO_FOREVER);

	/* ECLOSED: the thread has begun late, and the close is under way */
	CHECK(status == CORO_OK || status == CORO_ESTALE || status == CORO_ECLOSED);
	return (void *)(uintptr_t)(status == CORO_OK);
}

static void co_waits_for_room(void *arg, void *result)
{
	(void)result;
	for (int i = 0; i < 100; i++)
		CHECK(waits_for_room(arg) != NULL);
}

TEST(actor_bounded_mailbox)
{
	coro_options o = options(1, CORO_PAUSED);
	coro_scheduler *s = start(&o);
	uint64_t n = 0, word = 0;
	coro_actor a = actor(s, &room, &n);

	for (int i = 0; i < 10; i++)
		tell(a, 0, 0);
	CHECK_EQ(coro_actor_send(a, 0, &word, 8), CORO_EOVERFLOW);
	CHECK_EQ(coro_actor_send_until(a, 0, &word, 8, coro_now() + MS), CORO_ETIMEDOUT);
	CHECK_EQ(coro_actor_send_many(a, 0, NULL, 0, 1), CORO_EOVERFLOW);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK_EQ(n, 10);
	CHECK_EQ(coro_actor_send_many(a, 0, NULL, 0, 11), CORO_EOVERFLOW);
	CHECK_EQ(coro_actor_send_many(a, 0, NULL, 0, 10), CORO_OK);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK_EQ(n, 20);
	tell(a, 1, 0);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK_EQ(n, 30);
	CHECK_EQ(self_status, -CORO_EDEADLK);
	/* coroutines wait for room */
	for (int i = 0; i < 5; i++)
		spawn(s, co_waits_for_room, &a, sizeof a);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK_EQ(n, 530);
	/* threads wait, and the actor is stopped */
	pthread_t t[3];
	for (int i = 0; i < 10; i++)
		tell(a, 0, 0);
	for (int i = 0; i < 3; i++)
		thread_start(&t[i], waits_for_room, &a);
	sleep_us(2000);
	CHECK_EQ(coro_actor_stop(a), CORO_OK);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	for (int i = 0; i < 3; i++)
		thread_join(t[i]);
	CHECK_EQ(settled(s).dead[CORO_DEAD_STOPPED], 10);
	/* and the scheduler is destroyed */
	a = actor(s, &room, &n);
	for (int i = 0; i < 10; i++)
		tell(a, 0, 0);
	for (int i = 0; i < 3; i++)
		thread_start(&t[i], waits_for_room, &a);
	sleep_us(2000);
	CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
	for (int i = 0; i < 3; i++)
		thread_join(t[i]);
}

/* ------------------------------------------------------------------------------------ questions */

enum { ADD, DROP, LATER, ASK_ON, GO };

struct asked {
	uint64_t sum;
	coro_asker later;
	coro_actor next;
	int status;
	uint64_t answers, unanswered;
};

static size_t answers(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	struct asked *a = state;
	coro_answer answer;

	(void)turn;
	for (size_t i = 0; i < n; i++) {
		switch (m[i]->kind) {
		case ADD:
			CHECK_EQ(m[i]->bytes, 8);
			a->sum += m[i]->words[0];
			CHECK_EQ(coro_message_answer(m[i], &a->sum, 8), CORO_OK);
			CHECK_EQ(coro_message_answer(m[i], &a->sum, 8), CORO_EINVAL);
			break;
		case LATER:
			CHECK_EQ(coro_message_keep(m[i], &a->later), CORO_OK);
			break;
		case ASK_ON: /* asks the next, the last of them the first */
			a->status = coro_actor_ask(a->next, m[i]->kind, NULL, 0, &answer,
						   CORO_FOREVER);
			CHECK_EQ(coro_message_answer(m[i], &a->status, sizeof a->status), CORO_OK);
			break;
		case GO: {
			uint64_t word = 5;
			CHECK_EQ(coro_actor_ask_then(a->next, ADD, &word, 8, turn->self, 100),
				 CORO_OK);
			CHECK_EQ(coro_actor_ask_then(a->next, DROP, NULL, 0, turn->self, 101),
				 CORO_OK);
			break;
		}
		case 100:
			a->answers += m[i]->words[0];
			break;
		case CORO_MESSAGE_UNANSWERED:
			CHECK_EQ(m[i]->words[0], 101);
			a->unanswered++;
			break;
		}
	}
	return n;
}

static const coro_actor_kind oracle = {.size = sizeof oracle, .behave = answers};

static uint64_t cycles;
static coro_actor in_cycle[3];

static void sees_cycle(const coro_actor *cycle, size_t n)
{
	CHECK(n == 1 || n == 3);
	for (size_t i = 0; n == 3 && i < n; i++)
		CHECK(cycle[i] == in_cycle[0] || cycle[i] == in_cycle[1] ||
		      cycle[i] == in_cycle[2]);
	add_one(&cycles);
}

static void asks(void *arg, void *result)
{
	coro_actor a = *(coro_actor *)arg;
	coro_answer answer;
	uint64_t word = 1;

	(void)result;
	for (uint64_t i = 0, n = scaled(1000); i < n; i++) {
		CHECK_EQ(coro_actor_ask(a, ADD, &word, 8, &answer, CORO_FOREVER), CORO_OK);
		CHECK_EQ(answer.bytes, 8);
	}
	CHECK_EQ(coro_actor_ask(a, DROP, &word, 8, &answer, CORO_FOREVER), CORO_ENDED);
	CHECK_EQ(coro_actor_ask(a, LATER, NULL, 0, &answer, coro_now() + MS), CORO_ETIMEDOUT);
	CHECK_EQ(coro_actor_ask(a, CORO_MESSAGE_SYSTEM, NULL, 0, &answer, 0), CORO_EINVAL);
	CHECK_EQ(coro_actor_ask(a, 0, &word, CORO_ASK_BYTES + 1, &answer, 0), CORO_EINVAL);
	CHECK_EQ(coro_actor_ask(77, 0, &word, 8, &answer, 0), CORO_ESTALE);
}

static void *asks_outside(void *arg)
{
	asks(arg, NULL);
	return NULL;
}

TEST(actor_ask)
{
	coro_scheduler *s = start_with(2, 0);
	struct asked a = {0};
	coro_actor to = actor(s, &oracle, &a);
	pthread_t t[2];
	uint64_t word = 1;

	for (int i = 0; i < 4; i++)
		spawn(s, asks, &to, sizeof to);
	for (int i = 0; i < 2; i++)
		thread_start(&t[i], asks_outside, &to);
	for (int i = 0; i < 2; i++)
		thread_join(t[i]);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(a.sum, 6 * scaled(1000));
	CHECK_EQ(coro_asker_answer(&a.later, &word, 8), CORO_ESTALE); /* too late */
	CHECK_EQ(coro_message_answer(NULL, NULL, 0), CORO_EINVAL);
	/* the answer is one more message */
	struct asked b = {.next = to};
	coro_actor from = actor(s, &oracle, &b);
	tell(from, GO, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(b.answers, a.sum);
	CHECK_EQ(b.unanswered, 1);
	settled(s);
	finish(s);
}

TEST(actor_ask_in_a_cycle_is_told)
{
	coro_scheduler *s = start_with(2, 0);
	struct asked a[3] = {{0}}, alone = {0};
	coro_answer answer;

	coro_actor_on_deadlock(sees_cycle);
	for (int i = 0; i < 3; i++)
		in_cycle[i] = actor(s, &oracle, &a[i]);
	for (int i = 0; i < 3; i++)
		a[i].next = in_cycle[(i + 1) % 3];
	CHECK_EQ(coro_actor_ask(in_cycle[0], ASK_ON, NULL, 0, &answer, CORO_FOREVER), CORO_OK);
	CHECK_EQ(a[2].status, CORO_EDEADLK);
	CHECK_EQ(a[1].status, CORO_OK);
	CHECK_EQ(a[0].status, CORO_OK);
	coro_actor me = actor(s, &oracle, &alone);
	alone.next = me;
	CHECK_EQ(coro_actor_ask(me, ASK_ON, NULL, 0, &answer, CORO_FOREVER), CORO_OK);
	CHECK_EQ(alone.status, CORO_EDEADLK);
	CHECK_EQ(cycles, 2);
	CHECK(coro_actor_on_deadlock(NULL) == sees_cycle);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	settled(s);
	finish(s);
}

/* A question whose actor is stopped, or closed, has no answer. */
static void *asks_once(void *arg)
{
	coro_answer answer;
	int status = coro_actor_ask(*(coro_actor *)arg, ADD, &(uint64_t){1}, 8, &answer,
				    CORO_FOREVER);

	CHECK(status == CORO_ENDED || status == CORO_ESTALE || status == CORO_ECLOSED);
	return NULL;
}

TEST(actor_ask_one_that_ends)
{
	for (int close = 0; close < 2; close++) {
		coro_options o = options(1, CORO_PAUSED);
		coro_scheduler *s = start(&o);
		struct asked a = {0};
		coro_actor to = actor(s, &oracle, &a);
		pthread_t t[3];

		for (int i = 0; i < 3; i++)
			thread_start(&t[i], asks_once, &to);
		sleep_us(2000);
		if (!close) {
			CHECK_EQ(coro_actor_stop(to), CORO_OK);
			CHECK_EQ(coro_scheduler_run(s), CORO_OK);
		}
		CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
		for (int i = 0; i < 3; i++)
			thread_join(t[i]);
		CHECK_EQ(a.sum, 0);
	}
}

/* A kind that asks for a batch gets that many, however long a message takes. */
static size_t takes_long(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	uint64_t *calls = state;

	(void)turn;
	(void)m;
	CHECK_EQ(n, 16);
	for (uint64_t until = coro_now() + n * 50000; coro_now() < until;)
		;
	++*calls;
	return n;
}

TEST(actor_gets_the_batch_that_it_asks_for)
{
	static const coro_actor_kind kind = {
		.size = sizeof kind, .batch = 16, .behave = takes_long};
	coro_scheduler *s = start_with(1, 0);
	uint64_t calls = 0;
	coro_actor a = actor(s, &kind, &calls);

	CHECK_EQ(coro_actor_send_many(a, 0, NULL, 0, 64), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(calls, 4);
	settled(s);
	finish(s);
}
