/*
 * t_actor_carry.c - buffers in messages to actors, and in answers: what is handled is the
 * behaviour's, what is not accepted stays the sender's, and what is dropped is freed.
 */
#include "stage.h"

#include "base/atomics.h"
#include "buffer/buffer.h"

#include <stdlib.h>
#include <string.h>

/* What the behaviour does with a message. */
enum { FREE, HOLD, ABORT, LEAVE, LEAVE_ONE, ANSWER, KEEP, STORE, BECOME, KINDS };

struct letter {
	coro_buffer first;
	uint64_t number; /* as in both buffers */
	coro_buffer second;
};

static const uint32_t words = (uint32_t)(coro_buffer_word(offsetof(struct letter, first)) |
					 coro_buffer_word(offsetof(struct letter, second)));

struct reply {
	uint64_t number;
	coro_buffer buffer;
};

struct holder {
	coro_sem go;
	coro_actor self;
	uint64_t begun, handled;
	coro_asker asker;
	coro_buffer stored;
	int status;
};

static coro_scheduler *sched;

static coro_buffer numbered(uint64_t n)
{
	coro_buffer b = {0};

	CHECK_EQ(coro_buffer_make_on(sched, 8 * (n % 100 + 1), &b), CORO_OK);
	memcpy(coro_buffer_at(b, NULL), &n, 8);
	return b;
}

static void is_numbered(coro_buffer b, uint64_t n)
{
	uint64_t got;

	CHECK(coro_buffer_at(b, NULL) != NULL);
	memcpy(&got, coro_buffer_at(b, NULL), 8);
	CHECK_EQ(got, n);
}

static struct letter letter(uint64_t n)
{
	return (struct letter){numbered(n), n, numbered(n)};
}

/* is_mine, is_gone - the letter was not sent, or it was. is_mine frees it. */
static void is_mine(const struct letter *l)
{
	is_numbered(l->first, l->number);
	is_numbered(l->second, l->number);
	CHECK_EQ(coro_buffer_free(l->first), CORO_OK);
	CHECK_EQ(coro_buffer_free(l->second), CORO_OK);
}

static void is_gone(const struct letter *l)
{
	CHECK_EQ(coro_buffer_free(l->first), CORO_ESTALE);
	CHECK_EQ(coro_buffer_free(l->second), CORO_ESTALE);
}

/* freed - what was made is freed; also after a close. */
static coro_actor_stats freed(void)
{
	struct coroi_tally t;

	coroi_buffers_sum(sched, &t);
	CHECK(t.made > 0);
	CHECK_EQ(t.made, t.freed);
	CHECK_EQ(t.bytes, 0);
	return settled(sched);
}

static struct letter letter_of(const coro_message *m)
{
	struct letter l;

	CHECK_EQ(m->bytes, sizeof l);
	memcpy(&l, m->payload, sizeof l);
	return l;
}

static const coro_actor_kind other;

static size_t acts(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	struct holder *x = state;

	for (size_t i = 0; i < n; i++) {
		turn->handled = (uint32_t)i;
		struct letter l = letter_of(m[i]);
		struct reply r = {l.number, l.first};
		is_numbered(l.second, l.number);
		add_one(&x->begun);
		switch (m[i]->kind) {
		case LEAVE_ONE:
			(void)coro_buffer_free(l.first); /* by the first call */
							 /* fall through */
		case LEAVE:
			(void)coro_yield();
			return i;
		case HOLD:
			(void)coro_sem_acquire(&x->go, CORO_FOREVER);
			break;
		case ABORT:
			coro_abort();
			break;
		case BECOME:
			CHECK_EQ(coro_actor_become(turn, &other), CORO_EINVAL);
			break;
		case ANSWER:
			is_numbered(l.first, l.number);
			r.buffer.id ^= 1 << 30; /* stale: the message is not answered by that */
			CHECK_EQ(coro_message_answer(m[i], &r, sizeof r), CORO_EINVAL);
			r.buffer = l.first;
			x->status = coro_message_answer(m[i], &r, sizeof r);
			if (x->status == CORO_OK)
				CHECK_EQ(coro_buffer_free(l.first), CORO_ESTALE);
			else
				CHECK_EQ(coro_buffer_free(l.first), CORO_OK);
			l.first.id = 0;
			break;
		case KEEP:
			CHECK_EQ(coro_message_keep(m[i], &x->asker), CORO_OK);
			break;
		case STORE:
			x->stored = l.first;
			l.first.id = 0;
			break;
		}
		if (l.first.id) {
			is_numbered(l.first, l.number);
			CHECK_EQ(coro_buffer_free(l.first), CORO_OK);
		}
		CHECK_EQ(coro_buffer_free(l.second), CORO_OK);
		add_one(&x->handled);
	}
	return n;
}

#define CARRIES .buffers = (uint32_t)5, .answer_buffers = (uint32_t)2

static const coro_actor_kind kind = {.size = sizeof kind, .behave = acts, CARRIES};
static const coro_actor_kind brief = {
	.size = sizeof brief, .behave = acts, .flags = CORO_ACTOR_BRIEF, CARRIES};
static const coro_actor_kind bounded = {.size = sizeof bounded, .behave = acts, .room = 2, CARRIES};
static const coro_actor_kind other = {.size = sizeof other, .behave = acts, .buffers = 1};

static void begin_with(struct holder *x, const coro_actor_kind *k, uint32_t workers)
{
	CHECK_EQ(words, k->buffers);
	sched = start_with(workers, 0);
	memset(x, 0, sizeof *x);
	CHECK_EQ(coro_sem_init(&x->go, 0, 0), CORO_OK);
	x->self = actor(sched, k, x);
}

static void go(struct holder *x)
{
	CHECK_EQ(coro_sem_release(&x->go, 1), CORO_OK);
}

static void hold(struct holder *x)
{
	struct letter l = letter(1);
	uint64_t n = seen(&x->begun);

	CHECK_EQ(coro_actor_send(x->self, HOLD, &l, sizeof l), CORO_OK);
	is_gone(&l);
	sleep_until_seen(&x->begun, n + 1);
}

/* ------------------------------------------------------------------------------------ accepted */

static void is_answered(int status, const coro_answer *answer, uint64_t n)
{
	struct reply r;

	CHECK_EQ(status, CORO_OK);
	CHECK_EQ(answer->bytes, sizeof r);
	memcpy(&r, answer->payload, sizeof r);
	CHECK_EQ(r.number, n);
	is_numbered(r.buffer, n);
	CHECK_EQ(coro_buffer_free(r.buffer), CORO_OK);
}

static void sends_each_way(void *arg, void *result)
{
	struct holder *x = *(struct holder **)arg;
	struct letter l = letter(2), many[3] = {letter(3), letter(4), letter(5)};
	coro_ask q[3] = {{.to = 0}};
	coro_answer answer;

	(void)result;
	CHECK_EQ(coro_actor_send(x->self, FREE, &l, sizeof l), CORO_OK);
	is_gone(&l);
	CHECK_EQ(coro_actor_send_many(x->self, FREE, many, sizeof l, 3), CORO_OK);
	l = letter(6);
	CHECK_EQ(coro_actor_send_until(x->self, FREE, &l, sizeof l, CORO_FOREVER), CORO_OK);
	is_gone(&l);
	l = letter(7);
	CHECK_EQ(coro_actor_send_after(x->self, MS, FREE, &l, sizeof l, NULL), CORO_OK);
	is_gone(&l);
	l = letter(8);
	CHECK_EQ(coro_actor_send_urgent(x->self, FREE, &l, sizeof l), CORO_OK);
	is_gone(&l);
	l = letter(9);
	is_answered(coro_actor_ask(x->self, ANSWER, &l, sizeof l, &answer, CORO_FOREVER), &answer,
		    9);
	is_gone(&l);
	l = letter(10);
	is_answered(coro_actor_ask_lend(x->self, ANSWER, &l, sizeof l, &answer, CORO_FOREVER),
		    &answer, 10);
	is_gone(&l);
	l = letter(11);
	CHECK_EQ(coro_actor_ask(x->self, FREE, &l, sizeof l, &answer, CORO_FOREVER), CORO_ENDED);
	is_gone(&l);
	for (int i = 0; i < 3; i++) {
		is_gone(&many[i]);
		many[i] = letter(12 + (uint64_t)i);
		q[i] = (coro_ask){.to = i < 2 ? x->self : 1,
				  .payload = &many[i],
				  .bytes = sizeof l,
				  .kind = ANSWER,
				  .flags = i == 1 ? CORO_ASK_LENDS : 0};
	}
	CHECK_EQ(coro_actor_ask_all(q, 3, CORO_FOREVER), CORO_ESTALE);
	is_answered(q[0].status, &q[0].answer, 12);
	is_answered(q[1].status, &q[1].answer, 13);
	CHECK_EQ(q[2].status, CORO_ESTALE);
	is_mine(&many[2]);
	l = letter(15);
	CHECK_EQ(coro_actor_send(x->self, BECOME, &l, sizeof l), CORO_OK);
}

TEST(carry_each_way)
{
	static const coro_actor_kind *const kinds[] = {&kind, &brief, &bounded};

	for (int k = 0; k < 6; k++) {
		struct holder x, *p = &x;
		begin_with(&x, kinds[k / 2], 1 + (uint32_t)k % 2);
		if (k < 4) { /* a send of three at once needs three spaces */
			sends_each_way(&p, NULL);
			CHECK_EQ(coro_scheduler_wait(sched), CORO_OK);
			spawn(sched, sends_each_way, &p, sizeof p);
		} else {
			struct letter l[4];
			for (uint64_t i = 0; i < 4; i++) {
				l[i] = letter(i);
				CHECK_EQ(coro_actor_send_until(x.self, FREE, &l[i], sizeof *l,
							       CORO_FOREVER),
					 CORO_OK);
				is_gone(&l[i]);
			}
		}
		CHECK_EQ(coro_scheduler_wait(sched), CORO_OK);
		coro_actor_stats t = freed();
		CHECK_EQ(t.handled, t.accepted);
		finish(sched);
	}
}

/* An actor whose messages carry sends to itself, and to one whose messages do not. */
static size_t sends_on(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	coro_actor *next = state;

	for (size_t i = 0; i < n; i++) {
		struct letter l = letter_of(m[i]);
		if (l.number == 0) {
			CHECK_EQ(coro_buffer_free(l.first), CORO_OK);
			CHECK_EQ(coro_buffer_free(l.second), CORO_OK);
			continue;
		}
		l.number--;
		CHECK_EQ(coro_actor_send(l.number % 3 ? turn->self : *next, FREE, &l, sizeof l),
			 CORO_OK);
		is_gone(&l);
	}
	return n;
}

TEST(carry_goes_round)
{
	static const coro_actor_kind ring = {.size = sizeof ring, .behave = sends_on, CARRIES};
	coro_actor a[3];

	for (uint32_t workers = 1; workers <= 2; workers++) {
		sched = start_with(workers, 0);
		for (int i = 0; i < 3; i++)
			a[i] = actor(sched, &ring, &a[(i + 1) % 3]);
		for (int i = 0; i < 3; i++) {
			struct letter l = letter(scaled(2000));
			CHECK_EQ(coro_actor_send(a[i], FREE, &l, sizeof l), CORO_OK);
		}
		CHECK_EQ(coro_scheduler_wait(sched), CORO_OK);
		freed();
		finish(sched);
	}
}

/* --------------------------------------------------------------------------------- not accepted */

TEST(carry_refused)
{
	struct holder x;
	struct letter l, many[2];
	uint64_t large[6] = {0};
	coro_answer answer;

	begin_with(&x, &bounded, 1);
	hold(&x);
	l = letter(2);
	coro_buffer first = l.first;
	l.first = (coro_buffer){first.id ^ (UINT64_C(1) << 30)};
	CHECK_EQ(coro_actor_send(x.self, FREE, &l, sizeof l), CORO_EINVAL);
	CHECK_EQ(coro_actor_send_after(x.self, 1, FREE, &l, sizeof l, NULL), CORO_EINVAL);
	CHECK_EQ(coro_actor_send_urgent(x.self, FREE, &l, sizeof l), CORO_EINVAL);
	CHECK_EQ(coro_actor_ask(x.self, FREE, &l, sizeof l, &answer, 0), CORO_EINVAL);
	l.first = first;
	coro_buffer second = l.second;
	l.second = first; /* twice in one message */
	CHECK_EQ(coro_actor_send(x.self, FREE, &l, sizeof l), CORO_EINVAL);
	l.second = second;
	CHECK_EQ(coro_actor_send(x.self + 1, FREE, &l, sizeof l), CORO_ESTALE);
	CHECK_EQ(coro_actor_send(x.self, CORO_MESSAGE_SYSTEM, &l, sizeof l), CORO_EINVAL);
	many[0] = l;
	many[1] = l; /* twice in one call */
	CHECK_EQ(coro_actor_send_many(x.self, FREE, many, sizeof l, 2), CORO_EOVERFLOW);
	is_numbered(l.first, 2);
	is_numbered(l.second, 2);
	memcpy(large, &l, sizeof l);
	CHECK_EQ(coro_actor_send(x.self, FREE, large, sizeof large), CORO_EINVAL);
	CHECK_EQ(coro_actor_send_after(x.self, 1, FREE, large, sizeof large, NULL), CORO_EINVAL);
	CHECK_EQ(coro_actor_send_urgent(x.self, FREE, large, sizeof large), CORO_EINVAL);
	CHECK_EQ(coro_actor_send(x.self, FREE, &l, sizeof l), CORO_OK);
	is_gone(&l);
	l = letter(3);
	CHECK_EQ(coro_actor_send(x.self, FREE, &l, sizeof l), CORO_EOVERFLOW);
	CHECK_EQ(coro_actor_send_until(x.self, FREE, &l, sizeof l, coro_now() + MS),
		 CORO_ETIMEDOUT);
	CHECK_EQ(coro_actor_ask_lend(x.self, ANSWER, &l, sizeof l, &answer, coro_now() + MS),
		 CORO_ETIMEDOUT);
	is_mine(&l);
	go(&x);
	CHECK_EQ(coro_scheduler_wait(sched), CORO_OK);
	l = letter(4);
	many[0] = letter(5);
	many[1] = many[0];
	CHECK_EQ(coro_actor_send_many(x.self, FREE, many, sizeof l, 2), CORO_EINVAL);
	is_mine(&many[0]);
	CHECK_EQ(coro_actor_drain(x.self), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(sched), CORO_OK);
	CHECK_EQ(coro_actor_send(x.self, FREE, &l, sizeof l), CORO_ESTALE);
	CHECK_EQ(coro_actor_send_after(x.self, 1, FREE, &l, sizeof l, NULL), CORO_ESTALE);
	CHECK_EQ(coro_actor_send_urgent(x.self, FREE, &l, sizeof l), CORO_ESTALE);
	CHECK_EQ(coro_actor_ask_lend(x.self, FREE, &l, sizeof l, &answer, CORO_FOREVER),
		 CORO_ESTALE);
	is_mine(&l);
	coro_actor_kind bad = kind;
	bad.buffers = 1 << CORO_CARRY_BYTES / 8;
	CHECK_EQ(coro_actor_spawn(sched, &bad, NULL, &x.self), CORO_EINVAL);
	bad = kind;
	bad.answer_buffers = 1 << CORO_MESSAGE_BYTES / 8;
	CHECK_EQ(coro_actor_spawn(sched, &bad, NULL, &x.self), CORO_EINVAL);
	freed();
	finish(sched);
}

/* ------------------------------------------------------------------------------------- dropped */

static uint64_t hooked;

static void hook(const coro_dead_letter *d)
{
	struct letter l = letter_of(d->message);

	is_numbered(l.first, l.number); /* not freed yet */
	is_numbered(l.second, l.number);
	if (add_one(&hooked) == 1) { /* the hook's from now on */
		CHECK_EQ(coro_buffer_resize(l.second, 100), CORO_OK);
		CHECK_EQ(coro_buffer_free(l.first), CORO_OK);
	}
}

/* fill - messages in each place where some can lie, of an actor that holds its turn. */
static uint64_t fill(struct holder *x)
{
	uint64_t n = 0;

	hold(x);
	for (uint64_t i = 0; i < 3; i++) {
		struct letter l = letter(10 + i), urgent = letter(20 + i), later = letter(30 + i);
		CHECK_EQ(coro_actor_send(x->self, HOLD, &l, sizeof l), CORO_OK);
		CHECK_EQ(coro_actor_send_urgent(x->self, HOLD, &urgent, sizeof l), CORO_OK);
		CHECK_EQ(coro_actor_send_after(x->self, 3600000 * MS, HOLD, &later, sizeof l, NULL),
			 CORO_OK);
		is_gone(&l);
		is_gone(&urgent);
		is_gone(&later);
		n += 3;
	}
	return n;
}

TEST(carry_dropped_with_the_actor)
{
	for (int way = 0; way < 6; way++) {
		struct holder x;
		begin_with(&x, &kind, 1 + (uint32_t)way % 2);
		hooked = 0;
		CHECK(coro_actor_on_dead_letter(way < 4 ? hook : NULL) == NULL);
		uint64_t n = fill(&x);
		if (way / 2 == 1) {
			CHECK_EQ(coro_scheduler_close(sched, 1), CORO_OK);
		} else {
			CHECK_EQ(coro_actor_stop(x.self), CORO_OK);
			go(&x);
			CHECK_EQ(coro_scheduler_wait(sched), CORO_OK);
		}
		coro_actor_stats t = freed();
		CHECK_EQ(t.dead[way / 2 == 1 ? CORO_DEAD_CLOSED : CORO_DEAD_STOPPED] + t.handled,
			 n + 1);
		CHECK(way / 2 == 1 || dead(&t) == n);
		if (way < 4)
			CHECK_EQ(hooked, dead(&t));
		(void)coro_actor_on_dead_letter(NULL);
		if (way / 2 == 1)
			coro_scheduler_destroy(sched);
		else
			finish(sched);
	}
}

TEST(carry_dropped_with_the_drain)
{
	struct holder x;

	begin_with(&x, &kind, 2);
	hold(&x);
	CHECK_EQ(coro_actor_drain(x.self), CORO_OK);
	struct letter l = letter(2);
	CHECK_EQ(coro_actor_send(x.self, FREE, &l, sizeof l), CORO_OK);
	is_gone(&l);
	go(&x);
	CHECK_EQ(coro_scheduler_wait(sched), CORO_OK);
	CHECK_EQ(freed().dead[CORO_DEAD_STOPPED], 1);
	finish(sched);
}

/* The behaviour ends its turn with a message, or leaves it: then it comes again. */
TEST(carry_failed_and_left)
{
	struct holder x;
	struct letter l;

	begin_with(&x, &kind, 1);
	for (uint64_t i = 0; i < 3; i++) {
		l = letter(i);
		CHECK_EQ(coro_actor_send(x.self, ABORT, &l, sizeof l), CORO_OK);
	}
	l = letter(4);
	CHECK_EQ(coro_actor_send(x.self, FREE, &l, sizeof l), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(sched), CORO_OK);
	coro_actor_stats t = freed();
	CHECK_EQ(t.dead[CORO_DEAD_FAILED], 3);
	CHECK_EQ(t.handled, 1);
	l = letter(5);
	CHECK_EQ(coro_actor_send(x.self, LEAVE, &l, sizeof l), CORO_OK);
	sleep_until_seen(&x.begun, 8);
	CHECK_EQ(coro_actor_stop(x.self), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(sched), CORO_OK);
	CHECK_EQ(freed().dead[CORO_DEAD_STOPPED], 1);
	finish(sched);
}

/* What a behaviour has stored of a message that it handles stays. */
TEST(carry_stored)
{
	struct holder x;
	struct letter l;

	begin_with(&x, &kind, 1);
	l = letter(1);
	CHECK_EQ(coro_actor_send(x.self, STORE, &l, sizeof l), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(sched), CORO_OK);
	CHECK_EQ(stats(sched).buffers_made - stats(sched).buffers_freed, 1);
	is_numbered(x.stored, 1);
	CHECK_EQ(coro_actor_stop(x.self), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(sched), CORO_OK);
	CHECK_EQ(coro_buffer_free(x.stored), CORO_OK);
	freed();
	finish(sched);
}

/* Blocks, and messages of the core, have no buffers. */

static uint64_t destroyed;

static void destroy(void *data, size_t bytes)
{
	(void)data;
	(void)bytes;
	add_one(&destroyed);
}

static size_t counts(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	coro_block b;

	(void)turn;
	(void)state;
	for (size_t i = 0; i < n; i++)
		if (m[i]->kind == KEEP) {
			CHECK_EQ(coro_message_take(m[i], &b), CORO_OK);
			coro_abort();
		}
	return n;
}

TEST(carry_not_blocks)
{
	static const coro_actor_kind all = {
		.size = sizeof all, .behave = counts, .batch = 1, .buffers = 31};
	coro_block b = {.bytes = 1, .destroy = destroy};
	coro_buffer none[5] = {{0}};

	sched = start_with(1, 0);
	coro_buffer kept = numbered(1);
	memcpy(&b.data, &kept, sizeof kept); /* as a number */
	coro_actor a = actor(sched, &all, NULL), ended = actor(sched, &all, NULL);
	CHECK_EQ(coro_actor_watch(a, ended), CORO_OK);
	CHECK_EQ(coro_actor_stop(ended), CORO_OK);
	CHECK_EQ(coro_actor_send_block(a, FREE, &b), CORO_OK);
	CHECK_EQ(coro_actor_send_block(a, KEEP, &b), CORO_OK);
	CHECK_EQ(coro_actor_send(a, FREE, none, sizeof none), CORO_OK);
	CHECK_EQ(coro_actor_send(a, FREE, none, 0), CORO_OK);
	CHECK_EQ(coro_actor_send_many(a, FREE, NULL, 0, 2), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(sched), CORO_OK);
	CHECK_EQ(destroyed, 1);
	is_numbered(kept, 1);
	CHECK_EQ(coro_buffer_free(kept), CORO_OK);
	freed();
	finish(sched);
}

/* ---------------------------------------------------------------------------------- taken back */

TEST(carry_later_taken_back)
{
	struct holder x;
	struct letter l = {.number = 0};
	coro_later later;

	begin_with(&x, &kind, 1);
	l = letter(1);
	for (int i = 0; i < 3; i++) { /* by the same handles */
		CHECK_EQ(coro_actor_send_after(x.self, 3600000 * MS, FREE, &l, sizeof l, &later),
			 CORO_OK);
		CHECK_EQ(coro_buffer_at(l.first, NULL) == NULL, true);
		CHECK_EQ(coro_actor_take_back(&later), CORO_OK);
		is_numbered(l.first, 1);
		is_numbered(l.second, 1);
		CHECK_EQ(coro_actor_take_back(&later), CORO_ESTALE);
	}
	CHECK_EQ(coro_actor_send_after(x.self, 1, FREE, &l, sizeof l, &later), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(sched), CORO_OK);
	CHECK_EQ(coro_actor_take_back(&later), CORO_ESTALE);
	is_gone(&l);
	CHECK_EQ(freed().taken_back, 3);
	finish(sched);
}

/* A question that lends is taken back before a call has the message, or between two calls, also if
 * the first has freed one of the buffers. */
TEST(carry_lent_taken_back)
{
	struct holder x;
	coro_answer answer;
	struct letter l;

	begin_with(&x, &kind, 2);
	hold(&x);
	l = letter(2);
	for (int i = 0; i < 2; i++) { /* by the same handles, while the first message lies there */
		CHECK_EQ(
			coro_actor_ask_lend(x.self, ANSWER, &l, sizeof l, &answer, coro_now() + MS),
			CORO_ETIMEDOUT);
		is_numbered(l.first, 2);
		is_numbered(l.second, 2);
	}
	coro_ask q[2] = {{.to = x.self,
			  .payload = &l,
			  .bytes = sizeof l,
			  .kind = ANSWER,
			  .flags = CORO_ASK_LENDS}};
	struct letter passed = letter(3);
	q[1] = q[0];
	q[1].payload = &passed;
	q[1].flags = 0; /* it stays with the actor */
	CHECK_EQ(coro_actor_ask_all(q, 2, coro_now() + MS), CORO_ETIMEDOUT);
	is_gone(&passed);
	CHECK_EQ(coro_actor_send(x.self, FREE, &l, sizeof l), CORO_OK);
	is_gone(&l);
	go(&x);
	CHECK_EQ(coro_scheduler_wait(sched), CORO_OK);
	CHECK_EQ(x.status, CORO_ESTALE); /* the late answer: the behaviour has its buffer back */
	CHECK_EQ(freed().taken_back, 3);
	for (int one = 0; one < 2; one++)
		for (uint64_t begun = seen(&x.begun), within = MS;; within *= 2) {
			l = letter(4);
			CHECK_EQ(coro_actor_ask_lend(x.self, one ? LEAVE_ONE : LEAVE, &l, sizeof l,
						     &answer, coro_now() + within),
				 CORO_ETIMEDOUT);
			if (!one || seen(&x.begun) == begun) {
				is_mine(&l);
			} else {
				CHECK_EQ(coro_buffer_free(l.first), CORO_ESTALE);
				CHECK_EQ(coro_buffer_free(l.second), CORO_OK);
			}
			if (seen(&x.begun) != begun)
				break;
		}
	CHECK_EQ(coro_scheduler_wait(sched), CORO_OK);
	freed();
	finish(sched);
}

/* -------------------------------------------------------------------------------------- answers */

static size_t gets(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	uint64_t *got = state;

	(void)turn;
	for (size_t i = 0; i < n; i++) {
		if (m[i]->kind == CORO_MESSAGE_UNANSWERED) {
			CHECK_EQ(m[i]->words[0], 77);
		} else {
			struct reply r;
			CHECK_EQ(m[i]->kind, 77);
			CHECK_EQ(m[i]->bytes, sizeof r);
			memcpy(&r, m[i]->payload, sizeof r);
			is_numbered(r.buffer, r.number);
			CHECK_EQ(coro_buffer_free(r.buffer), CORO_OK);
		}
		add_one(got);
	}
	return n;
}

static void asks_then(struct holder *x, coro_actor asker, uint32_t what)
{
	struct letter l = letter(5);

	CHECK_EQ(coro_actor_ask_then(x->self, what, &l, sizeof l, asker, 77), CORO_OK);
	is_gone(&l);
}

TEST(carry_answers_as_messages)
{
	static const coro_actor_kind plain = {.size = sizeof plain, .behave = gets};
	struct holder x;
	uint64_t got = 0, large[6] = {0, 0, 1};

	begin_with(&x, &kind, 2);
	coro_actor asker = actor(sched, &plain, &got);
	asks_then(&x, asker, ANSWER);
	CHECK_EQ(coro_scheduler_wait(sched), CORO_OK);
	CHECK_EQ(got, 1);
	asks_then(&x, asker, FREE); /* no answer */
	CHECK_EQ(coro_scheduler_wait(sched), CORO_OK);
	CHECK_EQ(got, 2);
	asks_then(&x, asker, KEEP);
	CHECK_EQ(coro_scheduler_wait(sched), CORO_OK);
	struct reply r = {6, numbered(6)};
	memcpy(large, &r, sizeof r);
	CHECK_EQ(coro_asker_answer(&x.asker, large, sizeof large), CORO_EINVAL);
	CHECK_EQ(coro_asker_answer(&x.asker, &r, sizeof r), CORO_OK);
	CHECK_EQ(coro_buffer_free(r.buffer), CORO_ESTALE);
	CHECK_EQ(coro_scheduler_wait(sched), CORO_OK);
	CHECK_EQ(got, 3);
	asks_then(&x, asker, KEEP);
	CHECK_EQ(coro_scheduler_wait(sched), CORO_OK);
	CHECK_EQ(coro_actor_stop(asker), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(sched), CORO_OK);
	r = (struct reply){6, numbered(6)};
	CHECK_EQ(coro_asker_answer(&x.asker, &r, sizeof r), CORO_ESTALE);
	CHECK_EQ(coro_buffer_free(r.buffer), CORO_OK);
	freed();
	/* an answer that waits in the mailbox of one that is stopped */
	struct holder y;
	memset(&y, 0, sizeof y);
	CHECK_EQ(coro_sem_init(&y.go, 0, 0), CORO_OK);
	y.self = actor(sched, &kind, &y);
	hold(&y);
	asks_then(&x, y.self, ANSWER);
	sleep_until_seen(&x.handled, 5);
	CHECK_EQ(coro_actor_stop(y.self), CORO_OK);
	go(&y);
	CHECK_EQ(coro_scheduler_wait(sched), CORO_OK);
	CHECK_EQ(freed().dead[CORO_DEAD_STOPPED], 1);
	finish(sched);
}

/* A question of which nobody waits for the answer: the message is the actor's, the answer stays. */
TEST(carry_answer_is_late)
{
	struct holder x;
	coro_answer answer;
	struct letter l;

	begin_with(&x, &kind, 1);
	l = letter(1);
	CHECK_EQ(coro_actor_ask(x.self, KEEP, &l, sizeof l, &answer, coro_now() + 20 * MS),
		 CORO_ETIMEDOUT);
	is_gone(&l);
	CHECK_EQ(coro_scheduler_wait(sched), CORO_OK);
	struct reply r = {2, numbered(2)};
	CHECK_EQ(coro_asker_answer(&x.asker, &r, sizeof r), CORO_ESTALE);
	is_numbered(r.buffer, 2);
	CHECK_EQ(coro_buffer_free(r.buffer), CORO_OK);
	freed();
	finish(sched);
}

/* --------------------------------------------------------------------------------------- at random */

static coro_actor crowd[4];
static uint64_t refused;

/* does_something - to one of the crowd, which may be stopped meanwhile. */
static void does_something(uint64_t *seed)
{
	uint64_t r = rnd(seed);
	coro_actor to = at_load_rlx(&crowd[r % 4]);
	struct letter l = letter(r >> 8 & 1023);
	uint64_t deadline = coro_now() + (r >> 20 & 1023) * 500;
	static const uint32_t whats[] = {FREE, ANSWER, ABORT, FREE};
	uint32_t what = whats[r >> 18 & 3];
	coro_later later;
	coro_answer answer;
	int status;

	switch (r >> 32 & 7) {
	case 0:
		status = coro_actor_send_after(to, r >> 40 & 0xfffff, what, &l, sizeof l, &later);
		if (!status && r >> 60 && coro_actor_take_back(&later) == CORO_OK)
			status = CORO_ESTALE;
		break;
	case 1:
		status = coro_actor_send_urgent(to, what, &l, sizeof l);
		break;
	case 2:
		status = coro_actor_ask(to, what, &l, sizeof l, &answer, deadline);
		if (status == CORO_OK)
			is_answered(status, &answer, l.number);
		if (status == CORO_OK || status == CORO_ENDED)
			is_gone(&l);
		else /* passed, or not */
			(void)(coro_buffer_free(l.first) + coro_buffer_free(l.second));
		return;
	case 3:
		status = coro_actor_ask_lend(to, what, &l, sizeof l, &answer, deadline);
		if (status == CORO_OK)
			is_answered(status, &answer, l.number);
		if (status == CORO_ENDED)
			status = CORO_OK;
		break;
	case 4:
		status = coro_actor_send_until(to, what, &l, sizeof l, deadline);
		break;
	default:
		status = coro_actor_send(to, what, &l, sizeof l);
	}
	if (status == CORO_OK) {
		is_gone(&l);
		return;
	}
	is_mine(&l);
	add_one(&refused);
}

static void does_many(void *arg, void *result)
{
	uint64_t seed = *(uint64_t *)arg;

	(void)result;
	for (uint64_t n = scaled(3000); n && coro_canceled() != 1; n--)
		does_something(&seed);
}

static void *does_many_outside(void *arg)
{
	does_many(arg, NULL);
	return NULL;
}

TEST_LIMIT(carry_at_random, 120)
{
	static const coro_actor_kind *const kinds[] = {&kind, &brief, &bounded, &bounded};
	const uint64_t changes = scaled(100);
	pthread_t t[2];

	for (uint64_t round = 1; round <= 3; round++) {
		uint64_t seeds[4] = {round, round + 10, round + 20, round + 30}, seed = round;
		sched = start_with((uint32_t)round, 0);
		struct holder *x = calloc(4 + changes, sizeof *x), *next = x;
		CHECK(x != NULL);
		for (int i = 0; i < 4; i++)
			crowd[i] = actor(sched, kinds[i], next++);
		for (int i = 0; i < 2; i++) {
			thread_start(&t[i], does_many_outside, &seeds[i]);
			spawn(sched, does_many, &seeds[2 + i], sizeof seeds[0]);
		}
		for (uint64_t i = 0; i < changes; i++) {
			int k = (int)(rnd(&seed) % 4);
			coro_actor before = crowd[k];
			at_store_rlx(&crowd[k], actor(sched, kinds[k], next++));
			CHECK_EQ(rnd(&seed) % 2 ? coro_actor_stop(before)
						: coro_actor_drain(before),
				 CORO_OK);
			sleep_us(200);
		}
		for (int i = 0; i < 2; i++)
			thread_join(t[i]);
		CHECK_EQ(round == 3 ? coro_scheduler_close(sched, 1) : coro_scheduler_wait(sched),
			 CORO_OK);
		freed();
		if (round == 3)
			coro_scheduler_destroy(sched);
		else
			finish(sched);
		free(x);
	}
}
