/*
 * t_actor_lend_ends.c - questions that lend where nothing can be sent, and where nobody handles what
 * was sent.
 */
#include "stage.h"

#include <string.h>

/* What an asker lends, and what it has come to. */
struct lent {
	coro_actor to;
	uint64_t touched;
	uint64_t done;
	int status;
};

struct holder {
	coro_sem go;
	uint64_t begun;
};

enum { TOUCH, HOLD };

/* A message without an address holds the actor. */
static size_t holds(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	struct holder *x = state;

	(void)turn;
	for (size_t i = 0; i < n; i++)
		if (m[i]->kind == HOLD) {
			add_one(&x->begun);
			(void)coro_sem_acquire(&x->go, CORO_FOREVER); /* or a close */
		} else {
			++*(uint64_t *)(uintptr_t)m[i]->words[0];
			CHECK_EQ(coro_message_answer(m[i], NULL, 0), CORO_OK);
		}
	return n;
}

static const coro_actor_kind holder = {.size = sizeof holder, .behave = holds, .batch = 1},
			     small_holder = {
				     .size = sizeof holder, .behave = holds, .batch = 1, .room = 1};

static coro_actor held(coro_scheduler *s, const coro_actor_kind *kind, struct holder *x)
{
	memset(x, 0, sizeof *x);
	CHECK_EQ(coro_sem_init(&x->go, 0, 0), CORO_OK);
	coro_actor a = actor(s, kind, x);
	tell(a, HOLD, 0);
	sleep_until_seen(&x->begun, 1);
	return a;
}

static int lend(struct lent *l, uint64_t deadline)
{
	uint64_t word = (uintptr_t)&l->touched;
	coro_answer answer;

	return coro_actor_ask_lend(l->to, TOUCH, &word, sizeof word, &answer, deadline);
}

/* ------------------------------------------------------------------------------- nothing is sent */

static uint64_t refused;

static void is_refused(const coro_nowait_report *report)
{
	(void)report;
	add_one(&refused);
}

/* It may have to wait for what has begun, whatever its deadline. */
static void asks_in_section(void *arg, void *result)
{
	struct lent *l = *(struct lent **)arg;
	uint64_t word = (uintptr_t)&l->touched;
	coro_ask q[2] = {{.to = l->to, .payload = &word, .bytes = 8},
			 {.to = l->to, .payload = &word, .bytes = 8, .flags = CORO_ASK_LENDS}};

	(void)result;
	CHECK_EQ(coro_nowait_begin("here"), CORO_OK);
	CHECK_EQ(lend(l, 0), CORO_ENOWAIT);
	CHECK_EQ(coro_actor_ask_all(q, 2, 0), CORO_ENOWAIT);
	CHECK_EQ(q[0].status, CORO_ENOWAIT);
	CHECK_EQ(q[1].status, CORO_ENOWAIT);
	CHECK_EQ(coro_nowait_end(), CORO_OK);
}

TEST(actor_lend_in_a_section_without_waits)
{
	coro_scheduler *s = start_with(1, 0);
	struct holder x;
	struct lent l = {.to = held(s, &holder, &x)}, *p = &l;

	coro_nowait_on_error(is_refused);
	spawn(s, asks_in_section, &p, sizeof p);
	CHECK_EQ(coro_sem_release(&x.go, 1), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(refused, 2);
	CHECK_EQ(l.touched, 0);
	CHECK_EQ(settled(s).accepted, 1);
	finish(s);
}

/* No memory for one question, or for the second, or the third of three: none is lost. */
TEST(actor_ask_without_memory)
{
	static const int fails[] = {2, 0, 0};
	coro_scheduler *s = start_with(1, 0);
	struct holder x;
	struct lent l = {.to = held(s, &holder, &x)};
	uint64_t word = (uintptr_t)&l.touched;
	coro_ask q[3];
	coro_answer answer;

	CHECK_EQ(coro_sem_release(&x.go, 1), CORO_OK);
	for (int i = 0; i < 3; i++)
		q[i] = (coro_ask){.to = l.to, .payload = &word, .bytes = 8};
	fail_alloc = 0;
	CHECK_EQ(lend(&l, CORO_FOREVER), CORO_ENOMEM);
	fail_alloc = 0;
	CHECK_EQ(coro_actor_ask(l.to, TOUCH, &word, 8, &answer, CORO_FOREVER), CORO_ENOMEM);
	for (int i = 0; i < 3; i++) { /* the first time there are two at the end */
		fail_alloc = fails[i];
		CHECK_EQ(coro_actor_ask_all(q, 3, CORO_FOREVER), CORO_ENOMEM);
		CHECK_EQ(fail_alloc, -1); /* it was called */
		for (int k = 0; k < 3; k++)
			CHECK_EQ(q[k].status, CORO_ENOMEM);
	}
	CHECK_EQ(l.touched, 0);
	CHECK_EQ(coro_actor_ask_all(q, 3, CORO_FOREVER), CORO_OK);
	CHECK_EQ(lend(&l, CORO_FOREVER), CORO_OK);
	CHECK_EQ(l.touched, 4);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(settled(s).accepted, 5);
	finish(s);
}

/* There is no space in the mailbox until the deadline. */
TEST(actor_lend_finds_no_space)
{
	coro_scheduler *s = start_with(1, 0);
	struct holder x;
	struct lent l = {.to = held(s, &small_holder, &x)};

	CHECK_EQ(lend(&l, coro_now() + MS), CORO_ETIMEDOUT);
	CHECK_EQ(coro_sem_release(&x.go, 1), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(l.touched, 0);
	coro_actor_stats t = settled(s);
	CHECK_EQ(t.accepted, 1);
	CHECK_EQ(t.taken_back, 0);
	CHECK_EQ(lend(&l, CORO_FOREVER), CORO_OK); /* and then there is */
	CHECK_EQ(l.touched, 1);
	finish(s);
}

/* ------------------------------------------------------------------------------- nobody handles it */

/* A cancel that has come before the ask takes back what the actor has not begun. */
static void asks_canceled(void *arg, void *result)
{
	struct lent *l = *(struct lent **)arg;
	uint64_t word = (uintptr_t)&l->touched;
	coro_ask q[2] = {{.to = l->to, .payload = &word, .bytes = 8},
			 {.to = l->to, .payload = &word, .bytes = 8, .flags = CORO_ASK_LENDS}};

	(void)result;
	CHECK_EQ(coro_cancel(coro_self()), CORO_OK);
	CHECK_EQ(lend(l, CORO_FOREVER), CORO_ECANCELED);
	q[0].flags = CORO_ASK_LENDS;
	CHECK_EQ(coro_actor_ask_all(q, 2, CORO_FOREVER), CORO_ECANCELED);
	CHECK_EQ(q[0].status, CORO_ECANCELED);
	CHECK_EQ(q[1].status, CORO_ECANCELED);
	add_one(&l->done);
}

TEST(actor_lend_of_one_that_is_canceled)
{
	coro_scheduler *s = start_with(2, 0);
	struct holder x;
	struct lent l = {.to = held(s, &holder, &x)}, *p = &l;

	spawn(s, asks_canceled, &p, sizeof p);
	sleep_until_seen(&l.done, 1);
	CHECK_EQ(coro_sem_release(&x.go, 1), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(l.touched, 0);
	CHECK_EQ(settled(s).taken_back, 3);
	finish(s);
}

/* The hook of dead letters may use what is lent: the asker is there until it has returned. */
static void touches(const coro_dead_letter *letter)
{
	if (letter->message->kind == TOUCH)
		++*(uint64_t *)(uintptr_t)letter->message->words[0];
}

static void *lends_outside(void *arg)
{
	struct lent *l = arg;

	l->status = lend(l, CORO_FOREVER);
	return NULL;
}

TEST(actor_lend_dies_unhandled)
{
	coro_actor_on_dead_letter(touches);
	for (int how = 0; how < 2; how++) {
		coro_scheduler *s = start_with(1, 0);
		struct holder x;
		struct lent l = {.to = held(s, &holder, &x)};
		coro_actor_stats t;
		pthread_t thread;

		thread_start(&thread, lends_outside, &l);
		do
			CHECK_EQ(coro_actor_stats_of(s, &t), CORO_OK);
		while (t.accepted < 2);
		if (how) { /* it is there when the actor is stopped, or the scheduler closed */
			CHECK_EQ(coro_scheduler_close(s, 1), CORO_OK);
		} else {
			CHECK_EQ(coro_actor_stop(l.to), CORO_OK);
			CHECK_EQ(coro_sem_release(&x.go, 1), CORO_OK);
			CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		}
		thread_join(thread);
		CHECK_EQ(l.status, CORO_ENDED);
		CHECK_EQ(l.touched, 1);
		CHECK_EQ(settled(s).dead[how ? CORO_DEAD_CLOSED : CORO_DEAD_STOPPED], 1);
		CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
	}
	CHECK(coro_actor_on_dead_letter(NULL) == touches);
}
