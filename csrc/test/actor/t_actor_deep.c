/* t_actor_deep.c - SND3 of box.h: what sends into a deep mailbox yields. */
#include "actor/stage.h"

#include "kernel/worker.h"
#include "kernel/task.h"

#include <sched.h>

#define DEEP 257 /* messages: the last makes its sender yield */

/* counts - the kind of a message is its sender, and the word its number. */
#define SENDERS 40

struct counter {
	uint64_t n, next[SENDERS];
};

static size_t counts(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	struct counter *c = state;

	(void)turn;
	for (size_t i = 0; i < n; i++) {
		CHECK_EQ(m[i]->words[0], c->next[m[i]->kind]);
		c->next[m[i]->kind]++;
		add_one(&c->n);
	}
	return n;
}

static const coro_actor_kind kind = {.size = sizeof kind, .behave = counts};

/* tell_words - send the numbers from `first` on, before `end`. */
static void tell_words(coro_actor a, uint64_t first, uint64_t end)
{
	for (uint64_t word = first; word < end; word++)
		tell(a, 0, word);
}

/* What a sender gets. */
struct deep {
	coro_actor to;
	uint64_t *n;   /* what the actor has handled */
	uint32_t free; /* see with_a_full_ring */
};

/* sends_alone - fn sends in a scheduler of one worker. Returns: how many messages were handled. */
static uint64_t sends_alone(coro_fn fn, uint32_t free)
{
	coro_scheduler *s = start_with(1, 0);
	struct counter c = {0};
	struct deep p = {.to = actor(s, &kind, &c), .n = &c.n, .free = free};

	spawn(s, fn, &p, sizeof p);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	settled(s);
	finish(s);
	return c.n;
}

/* ------------------------------------------------------------------------- a full queue */

static uint64_t ran;

static void runs(void *arg, void *result)
{
	(void)arg;
	(void)result;
	add_one(&ran);
}

/* with_a_full_ring - `free` places are free in the queue's ring: nothing is lost. */
static void with_a_full_ring(void *arg, void *result)
{
	const struct deep *p = arg;
	uint64_t n = 0;

	(void)result;
	tell_words(p->to, 0, 1);
	const struct coroi_deque *d = &coroi_self()->queue;
	while (d->count + p->free < d->room) {
		spawn_in(runs, NULL, 0);
		n++;
	}
	tell_words(p->to, 1, 4 * DEEP);
	while (seen(&ran) < n)
		CHECK_EQ(coro_yield(), CORO_OK);
	add_to(&ran, -n);
}

TEST(actor_deep_behind_a_full_queue)
{
	for (uint32_t free = 0; free < 3; free++)
		CHECK_EQ(sends_alone(with_a_full_ring, free), 4 * DEEP);
}

/* ------------------------------------------------------------------------------- who may yield */

static void may_not_wait(void *arg, void *result)
{
	const struct deep *p = arg;

	(void)result;
	CHECK_EQ(coro_nowait_begin("here"), CORO_OK);
	tell_words(p->to, 0, DEEP);
	CHECK_EQ(seen(p->n), 0);
	CHECK_EQ(coro_nowait_end(), CORO_OK);
	while (seen(p->n) < DEEP)
		CHECK_EQ(coro_yield(), CORO_OK);
}

TEST(actor_deep_in_a_section_without_waits)
{
	CHECK_EQ(sends_alone(may_not_wait, 0), DEEP);
}

/* -------------------------------------------------------------------------------------- stress */

/* A sender: an actor that sends itself on, a coroutine, a dense or a pinned one. */
struct sender {
	coro_actor to, self;
	uint64_t number, sent, n;
};

static size_t sends_on(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	struct sender *s = state;

	(void)m;
	for (int i = 0; i < 100 && s->sent < s->n; i++)
		tell(s->to, (uint32_t)s->number, s->sent++);
	if (s->sent < s->n)
		tell(turn->self, 0, 0);
	return n;
}

static void sends_all(void *arg, void *result)
{
	struct sender *s = *(struct sender **)arg;

	(void)result;
	if (s->number % 4 == 3)
		CHECK_EQ(coro_pin(CORO_HERE), CORO_OK);
	for (; s->sent < s->n; s->sent++)
		tell(s->to, (uint32_t)s->number, s->sent);
}

TEST(actor_deep_stress)
{
	static const coro_actor_kind on = {.size = sizeof on, .behave = sends_on};

	for (uint32_t workers = 1; workers <= 4; workers++) {
		coro_scheduler *s = start_with(workers, 0);
		struct counter c = {0};
		static struct sender from[SENDERS];
		coro_actor to = actor(s, &kind, &c);
		uint64_t n = scaled(20000);

		for (uint64_t i = 0; i < SENDERS; i++) {
			struct sender *one = &from[i];
			*one = (struct sender){.to = to, .number = i, .n = n};
			if (i % 4 < 2) {
				one->self = actor(s, &on, one);
				tell(one->self, 0, 0);
			} else {
				coro_attr a = {.size = sizeof a,
					       .flags = i % 8 == 2 ? CORO_DENSE : 0};
				CHECK_EQ(coro_scheduler_spawn(s, &a, sends_all, &one, sizeof one,
							      NULL),
					 CORO_OK);
			}
		}
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(c.n, SENDERS * n);
		settled(s);
		finish(s);
	}
}
