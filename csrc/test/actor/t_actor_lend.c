/*
 * t_actor_lend.c - questions that lend: an actor uses memory of who asks, which is not gone before.
 */
#include "stage.h"

#include <stdlib.h>
#include <string.h>

enum { WRITE, WRITE_ONLY, WRITE_AND_WAIT, HOLD, KEEP, ABORT, EXIT, LEAVE, ON };

/* What an asker lends. */
struct lent {
	uint64_t begun, written; /* by the actor */
};

struct lender {
	coro_sem go;
	coro_actor self, next;
	uint64_t begun, calls, most; /* most: messages of a call */
	int status, inner;
};

static struct lent *lent_of(const coro_message *m)
{
	return (struct lent *)(uintptr_t)m->words[0];
}

static size_t uses(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	struct lender *x = state;
	coro_answer answer;
	coro_asker asker;

	x->calls++;
	if (n > x->most)
		x->most = n;
	for (size_t i = 0; i < n; i++) {
		turn->handled = (uint32_t)i;
		struct lent *l = m[i]->bytes ? lent_of(m[i]) : NULL;
		if (m[i]->kind == LEAVE) {
			add_one(&x->begun);
			(void)coro_yield();
			return i;
		}
		if (l)
			add_one(&l->begun);
		add_one(&x->begun);
		switch (m[i]->kind) {
		case WRITE_AND_WAIT:
			CHECK_EQ(coro_sem_acquire(&x->go, CORO_FOREVER), CORO_OK);
			/* fall through */
		case WRITE:
			l->written++;
			CHECK_EQ(coro_message_answer(m[i], &l->written, 8), CORO_OK);
			CHECK_EQ(coro_message_answer(m[i], &l->written, 8), CORO_EINVAL);
			break;
		case WRITE_ONLY:
			l->written++;
			break;
		case HOLD:
			CHECK_EQ(coro_sem_acquire(&x->go, CORO_FOREVER), CORO_OK);
			break;
		case KEEP:
			CHECK_EQ(coro_message_keep(m[i], &asker), CORO_EINVAL);
			l->written++;
			break;
		case ABORT:
			l->written++;
			coro_abort();
			break;
		case EXIT:
			l->written++;
			(void)coro_exit();
			break;
		case ON:
			x->status = coro_actor_ask_lend(x->next, ON, NULL, 0, &answer,
							CORO_FOREVER);
			break;
		}
	}
	return n;
}

static const coro_actor_kind user = {.size = sizeof user, .behave = uses};

static void lender_make(coro_scheduler *s, struct lender *x)
{
	memset(x, 0, sizeof *x);
	CHECK_EQ(coro_sem_init(&x->go, 0, 0), CORO_OK);
	x->self = actor(s, &user, x);
}

static int lend(coro_actor to, uint32_t kind, struct lent *l, coro_answer *answer,
		uint64_t deadline)
{
	uint64_t word = (uintptr_t)l;

	return coro_actor_ask_lend(to, kind, &word, sizeof word, answer, deadline);
}

/* What an asker does, in a coroutine or on a thread. */
struct asker {
	coro_actor to;
	uint32_t kind;
	uint64_t within; /* ns; 0: for ever */
	bool again;      /* until the message has begun, with twice the time */
	uint64_t said, done, deadline;
	int status;
	struct lent l;
	uint64_t answer;
};

static void asks(void *arg, void *result)
{
	struct asker *x = *(struct asker **)arg;
	struct lent l = {0};
	coro_answer answer = {.bytes = 0};

	(void)result;
	add_one(&x->said);
	for (uint64_t within = x->within;; within *= 2) {
		x->deadline = within ? coro_now() + within : CORO_FOREVER;
		x->status = lend(x->to, x->kind, &l, &answer, x->deadline);
		if (!x->again || x->status != CORO_ETIMEDOUT)
			break;
		CHECK_EQ(l.begun, 0);
	}
	x->l = l;
	x->answer = answer.bytes ? answer.words[0] : 0;
	add_one(&x->done);
}

static void *asks_outside(void *arg)
{
	asks(&arg, NULL);
	return NULL;
}

/* An answer, none, and what does not answer in the midst of its call. */
TEST(actor_lend_ends)
{
	static const uint32_t kinds[] = {WRITE, WRITE_ONLY, KEEP, ABORT, EXIT};
	coro_scheduler *s = start_with(2, 0);
	struct lender x;
	coro_answer answer;
	struct lent l;

	lender_make(s, &x);
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		memset(&l, 0, sizeof l);
		CHECK_EQ(lend(x.self, kinds[i], &l, &answer, CORO_FOREVER),
			 i ? CORO_ENDED : CORO_OK);
		CHECK_EQ(l.written, 1);
		if (!i)
			CHECK_EQ(answer.words[0], 1);
	}
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		struct asker a = {.to = x.self, .kind = kinds[i]}, *p = &a;
		spawn(s, asks, &p, sizeof p);
		sleep_until_seen(&a.done, 1);
		CHECK_EQ(a.status, i ? CORO_ENDED : CORO_OK);
		CHECK_EQ(a.l.written, 1);
	}
	CHECK_EQ(lend(77, WRITE, &l, &answer, 0), CORO_ESTALE);
	CHECK_EQ(coro_actor_ask_lend(x.self, WRITE, NULL, 8, &answer, 0), CORO_EINVAL);
	CHECK_EQ(coro_actor_ask_lend(x.self, WRITE, NULL, 0, NULL, 0), CORO_EINVAL);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	coro_actor_stats t = settled(s);
	CHECK_EQ(t.dead[CORO_DEAD_FAILED], 2);
	CHECK_EQ(t.taken_back, 0);
	finish(s);
}

/* The deadline comes, or a cancel, before the actor comes to the message: it never does. */
TEST(actor_lend_is_taken_back)
{
	coro_scheduler *s = start_with(2, 0);
	coro_attr joinable = {.size = sizeof joinable};
	struct lender x;
	pthread_t t;

	lender_make(s, &x);
	tell(x.self, HOLD, 0);
	sleep_until_seen(&x.begun, 1);
	struct asker a[3] = {
		{.to = x.self, .within = MS}, {.to = x.self, .within = MS}, {.to = x.self}};
	struct asker *p = &a[0];
	spawn(s, asks, &p, sizeof p);
	thread_start(&t, asks_outside, &a[1]);
	p = &a[2];
	coro_handle h;
	CHECK_EQ(coro_scheduler_spawn(s, &joinable, asks, &p, sizeof p, &h), CORO_OK);
	sleep_until_seen(&a[2].said, 1);
	CHECK_EQ(coro_cancel(h), CORO_OK);
	for (int i = 0; i < 3; i++) {
		sleep_until_seen(&a[i].done, 1);
		CHECK_EQ(a[i].status, i < 2 ? CORO_ETIMEDOUT : CORO_ECANCELED);
	}
	thread_join(t);
	CHECK_EQ(coro_sem_release(&x.go, 1), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(x.begun, 1);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(a[i].l.begun, 0);
	CHECK_EQ(settled(s).taken_back, 3);
	/* what is taken back, of one that is stopped: no dead letter */
	tell(x.self, HOLD, 0);
	sleep_until_seen(&x.begun, 2);
	a[1].done = 0;
	asks_outside(&a[1]);
	CHECK_EQ(a[1].status, CORO_ETIMEDOUT);
	CHECK_EQ(coro_actor_stop(x.self), CORO_OK);
	CHECK_EQ(coro_sem_release(&x.go, 1), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	coro_actor_stats figures = settled(s);
	CHECK_EQ(figures.taken_back, 4);
	CHECK_EQ(dead(&figures), 0);
	finish(s);
}

/* A call has the message: the ask waits for its end, whatever its deadline, and a cancel. */
TEST(actor_lend_waits_for_what_has_begun)
{
	coro_scheduler *s = start_with(2, 0);
	coro_attr attr = {.size = sizeof attr};
	pthread_t t;

	for (int way = 0; way < 3; way++) {
		struct lender x;
		lender_make(s, &x);
		struct asker a = {.to = x.self,
				  .kind = WRITE_AND_WAIT,
				  .within = way < 2 ? MS : 0,
				  .again = true},
			     *p = &a;
		coro_handle h = 0;
		if (way == 1)
			thread_start(&t, asks_outside, &a);
		else
			CHECK_EQ(coro_scheduler_spawn(s, &attr, asks, &p, sizeof p, &h), CORO_OK);
		sleep_until_seen(&x.begun, 1);
		if (way == 2)
			CHECK_EQ(coro_cancel(h), CORO_OK);
		while (way < 2 && coro_now() < a.deadline)
			sleep_us(1000);
		sleep_us(5000);
		CHECK_EQ(seen(&a.done), 0);
		CHECK_EQ(coro_sem_release(&x.go, 1), CORO_OK);
		sleep_until_seen(&a.done, 1);
		CHECK_EQ(a.status, CORO_OK);
		CHECK_EQ(a.answer, 1);
		CHECK_EQ(a.l.written, 1);
		if (way == 1)
			thread_join(t);
	}
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	(void)settled(s);
	finish(s);
}

/* The same in a shield section whose deadline comes before the end of the call. */
static void asks_in_section(void *arg, void *result)
{
	struct asker *x = *(struct asker **)arg;

	CHECK_EQ(coro_shield_begin(coro_now() + MS), CORO_OK);
	asks(&x, result);
	CHECK_EQ(coro_shield_end(), CORO_OK);
	add_one(&x->done);
}

TEST(actor_lend_waits_beyond_a_section)
{
	coro_scheduler *s = start_with(2, 0);
	coro_attr attr = {.size = sizeof attr};
	struct lender x;
	coro_handle h;

	lender_make(s, &x);
	struct asker a = {.to = x.self, .kind = WRITE_AND_WAIT}, *p = &a;
	CHECK_EQ(coro_scheduler_spawn(s, &attr, asks_in_section, &p, sizeof p, &h), CORO_OK);
	sleep_until_seen(&x.begun, 1);
	CHECK_EQ(coro_cancel(h), CORO_OK);
	sleep_us(5000);
	CHECK_EQ(seen(&a.done), 0);
	CHECK_EQ(coro_sem_release(&x.go, 1), CORO_OK);
	sleep_until_seen(&a.done, 2);
	CHECK_EQ(a.status, CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	(void)settled(s);
	finish(s);
}

/* The behaviour leaves the message for the next call, again and again: between two calls the
 * deadline counts. */
TEST(actor_lend_left_is_taken_back)
{
	coro_scheduler *s = start_with(2, 0);
	struct lender x;

	lender_make(s, &x);
	struct asker a[2] = {{.to = x.self, .kind = LEAVE, .within = 20 * MS},
			     {.to = x.self, .kind = LEAVE, .within = 20 * MS}},
		     *p = &a[0];
	pthread_t t;
	spawn(s, asks, &p, sizeof p);
	thread_start(&t, asks_outside, &a[1]);
	for (int i = 0; i < 2; i++) {
		sleep_until_seen(&a[i].done, 1);
		CHECK_EQ(a[i].status, CORO_ETIMEDOUT);
	}
	thread_join(t);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(settled(s).taken_back, 2);
	finish(s);
}

/* Several messages that lend come in one call, between others. */
TEST(actor_lend_in_batches)
{
	enum { N = 20 };
	coro_scheduler *s = start_with(2, 0);
	struct asker a[N];
	struct lender x;

	lender_make(s, &x);
	tell(x.self, HOLD, 0);
	sleep_until_seen(&x.begun, 1);
	for (int i = 0; i < N; i++) {
		a[i] = (struct asker){.to = x.self, .within = i % 4 == 3 ? MS : 0};
		struct asker *p = &a[i];
		spawn(s, asks, &p, sizeof p);
	}
	for (int i = 3; i < N; i += 4)
		sleep_until_seen(&a[i].done, 1);
	CHECK_EQ(coro_sem_release(&x.go, 1), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	for (int i = 0; i < N; i++) {
		CHECK_EQ(a[i].status, i % 4 == 3 ? CORO_ETIMEDOUT : CORO_OK);
		CHECK_EQ(a[i].l.written, i % 4 != 3);
	}
	CHECK_EQ(settled(s).taken_back, N / 4);
	finish(s);
}

/* A circle of which all have begun is seen. */
static uint64_t circles;

static void sees_circle(const coro_actor *cycle, size_t n)
{
	(void)cycle;
	CHECK_EQ(n, 3);
	add_one(&circles);
}

TEST(actor_lend_in_a_cycle_is_told)
{
	coro_scheduler *s = start_with(2, 0);
	struct lender x[3];

	coro_actor_on_deadlock(sees_circle);
	for (int i = 0; i < 3; i++)
		lender_make(s, &x[i]);
	for (int i = 0; i < 3; i++)
		x[i].next = x[(i + 1) % 3].self;
	tell(x[0].self, ON, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(circles, 1);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(x[i].status, i < 2 ? CORO_ENDED : CORO_EDEADLK);
	CHECK(coro_actor_on_deadlock(NULL) == sees_circle);
	(void)settled(s);
	finish(s);
}

/* Its actor is closed: who lends is told. */
TEST(actor_lend_to_one_that_is_closed)
{
	coro_scheduler *s = start_with(2, 0), *mine = start_with(1, 0);
	struct lender x;

	lender_make(s, &x);
	tell(x.self, HOLD, 0);
	sleep_until_seen(&x.begun, 1);
	struct asker a = {.to = x.self}, *p = &a;
	spawn(mine, asks, &p, sizeof p);
	until_waiting(mine, 1);
	coro_actor_stats t;
	do
		CHECK_EQ(coro_actor_stats_of(s, &t), CORO_OK);
	while (t.accepted < 2);
	CHECK_EQ(coro_actor_stop(x.self), CORO_OK);
	CHECK_EQ(coro_sem_release(&x.go, 1), CORO_OK);
	sleep_until_seen(&a.done, 1);
	CHECK_EQ(a.status, CORO_ENDED);
	CHECK_EQ(a.l.begun, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(settled(s).dead[CORO_DEAD_STOPPED], 1);
	finish(mine);
	finish(s);
}

/* ------------------------------------------------------------------------------ several at once */

enum { ADD, DROP, WAIT, ASK_ALL, KEEPS };

struct oracle {
	coro_sem go;
	uint64_t sum, begun;
	coro_asker kept;
	coro_actor to[2];
	int status[2], all;
};

static size_t adds(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	struct oracle *o = state;

	(void)turn;
	for (size_t i = 0; i < n; i++) {
		int status;
		coro_ask q[2] = {{.to = o->to[0], .kind = ASK_ALL}, {.to = o->to[1], .kind = ADD}};
		add_one(&o->begun);
		switch (m[i]->kind) {
		case WAIT:
			CHECK_EQ(coro_sem_acquire(&o->go, CORO_FOREVER), CORO_OK);
			/* fall through */
		case ADD:
			o->sum += m[i]->bytes ? m[i]->words[0] : 0;
			status = coro_message_answer(m[i], &o->sum, 8);
			CHECK(status == CORO_OK || status == CORO_ESTALE); /* it was too late */
			break;
		case KEEPS:
			CHECK_EQ(coro_message_keep(m[i], &o->kept), CORO_OK);
			break;
		case ASK_ALL:
			o->all = coro_actor_ask_all(q, 2, CORO_FOREVER);
			o->status[0] = q[0].status;
			o->status[1] = q[1].status;
			CHECK_EQ(coro_message_answer(m[i], &o->all, sizeof o->all), CORO_OK);
			break;
		}
	}
	return n;
}

static const coro_actor_kind adder = {.size = sizeof adder, .behave = adds},
			     one_adder = {.size = sizeof one_adder, .behave = adds, .batch = 1};

static coro_actor oracle_make(coro_scheduler *s, struct oracle *o)
{
	memset(o, 0, sizeof *o);
	CHECK_EQ(coro_sem_init(&o->go, 0, 0), CORO_OK);
	return actor(s, &adder, o);
}

struct several {
	coro_actor to[CORO_ASKS_MOST];
	uint64_t done;
};

static void asks_several(void *arg, void *result)
{
	struct several *x = *(struct several **)arg;
	coro_ask q[CORO_ASKS_MOST] = {{.to = 0}};
	uint64_t one = 1;

	(void)result;
	for (uint64_t k = scaled(200); k; k--) {
		for (size_t i = 0; i < CORO_ASKS_MOST; i++)
			q[i] = (coro_ask){.to = x->to[i],
					  .payload = &one,
					  .bytes = 8,
					  .flags = i % 3 ? 0 : CORO_ASK_LENDS};
		size_t n = k % CORO_ASKS_MOST + 1;
		CHECK_EQ(coro_actor_ask_all(q, n, CORO_FOREVER), CORO_OK);
		for (size_t i = 0; i < n; i++) {
			CHECK_EQ(q[i].status, CORO_OK);
			CHECK_EQ(q[i].answer.bytes, 8);
		}
	}
	add_one(&x->done);
}

static void *asks_several_outside(void *arg)
{
	asks_several(&arg, NULL);
	return NULL;
}

TEST(actor_ask_all)
{
	coro_scheduler *s = start_with(2, 0);
	static struct oracle o[CORO_ASKS_MOST];
	struct several x = {.done = 0}, *p = &x;
	uint64_t n = 0, all = 0;
	pthread_t t;

	for (int i = 0; i < CORO_ASKS_MOST; i++)
		x.to[i] = oracle_make(s, &o[i]);
	for (int i = 0; i < 2; i++)
		spawn(s, asks_several, &p, sizeof p);
	thread_start(&t, asks_several_outside, p);
	thread_join(t);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(x.done, 3);
	for (uint64_t k = scaled(200); k; k--)
		n += 3 * (k % CORO_ASKS_MOST + 1);
	for (int i = 0; i < CORO_ASKS_MOST; i++)
		all += o[i].sum;
	CHECK_EQ(all, n);
	settled(s);
	finish(s);
}

/* Each question has an end of its own. */
TEST(actor_ask_all_ends_each)
{
	coro_scheduler *s = start_with(2, 0);
	struct oracle o[3];
	coro_actor a = oracle_make(s, &o[0]);
	(void)oracle_make(s, &o[1]);
	coro_actor slow = actor(s, &one_adder, &o[1]);
	uint64_t five = 5;
	coro_ask q[] = {
		{.to = a, .kind = ADD, .payload = &five, .bytes = 8},
		{.to = a, .kind = DROP},
		{.to = 77, .kind = ADD},
		{.to = a, .kind = CORO_MESSAGE_SYSTEM},
		{.to = a, .kind = ADD, .payload = &five, .bytes = CORO_ASK_BYTES + 1},
		{.to = a, .kind = KEEPS},
		{.to = a, .kind = DROP, .flags = CORO_ASK_LENDS},
		{.to = slow, .kind = WAIT},
		{.to = slow, .kind = WAIT, .flags = CORO_ASK_LENDS},
		{.to = a, .kind = ADD},
	};
	static const int want[] = {CORO_OK,        CORO_ENDED,     CORO_ESTALE, CORO_EINVAL,
				   CORO_EINVAL,    CORO_ETIMEDOUT, CORO_ENDED,  CORO_ETIMEDOUT,
				   CORO_ETIMEDOUT, CORO_OK};
	enum { N = sizeof q / sizeof *q };

	CHECK_EQ(coro_actor_ask_all(q, N, coro_now() + 20 * MS), CORO_ENDED);
	/* on a slow machine a may come to its messages too late */
	for (int i = 0; i < N; i++)
		if (q[i].status != CORO_ETIMEDOUT)
			CHECK_EQ(q[i].status, want[i]);
		else
			CHECK(i != 2 && i != 3 && i != 4);
	for (int i = 5; i < 9; i++)
		CHECK(i == 6 || q[i].status == CORO_ETIMEDOUT);
	CHECK_EQ(coro_sem_release(&o[1].go, 2), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(o[1].begun, 1); /* the other was taken back */
	CHECK_EQ(coro_asker_answer(&o[0].kept, &five, 8), CORO_ESTALE);
	/* what is refused at once */
	CHECK_EQ(coro_actor_ask_all(NULL, 0, 0), CORO_OK);
	CHECK_EQ(coro_actor_ask_all(NULL, 1, 0), CORO_EINVAL);
	CHECK_EQ(coro_actor_ask_all(q, CORO_ASKS_MOST + 1, 0), CORO_EINVAL);
	q[1].flags = 2;
	CHECK_EQ(coro_actor_ask_all(q, 2, 0), CORO_EINVAL);
	CHECK_EQ(q[0].status, CORO_EINVAL);
	settled(s);
	finish(s);
}

/* A question of several that has begun is waited for. */
static void asks_two(void *arg, void *result)
{
	struct several *x = *(struct several **)arg;
	coro_ask q[2] = {{.to = x->to[0], .kind = WAIT, .flags = CORO_ASK_LENDS},
			 {.to = x->to[0], .kind = WAIT, .flags = CORO_ASK_LENDS}};

	(void)result;
	CHECK_EQ(coro_actor_ask_all(q, 2, CORO_FOREVER), CORO_ECANCELED);
	CHECK_EQ(q[0].status, CORO_OK);
	CHECK_EQ(q[1].status, CORO_ECANCELED);
	add_one(&x->done);
}

TEST(actor_ask_all_waits_for_what_has_begun)
{
	coro_scheduler *s = start_with(2, 0);
	coro_attr attr = {.size = sizeof attr};
	struct oracle o;
	struct several x = {.done = 0}, *p = &x;
	coro_handle h;

	oracle_make(s, &o);
	x.to[0] = actor(s, &one_adder, &o);
	CHECK_EQ(coro_scheduler_spawn(s, &attr, asks_two, &p, sizeof p, &h), CORO_OK);
	sleep_until_seen(&o.begun, 1);
	CHECK_EQ(coro_cancel(h), CORO_OK);
	coro_actor_stats f;
	do /* both are sent */
		CHECK_EQ(coro_actor_stats_of(s, &f), CORO_OK);
	while (f.accepted < 2);
	sleep_us(5000);
	CHECK_EQ(seen(&x.done), 0);
	CHECK_EQ(coro_sem_release(&o.go, 1), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(x.done, 1);
	CHECK_EQ(o.begun, 1);
	CHECK_EQ(settled(s).taken_back, 1);
	finish(s);
}

/* A circle over one of several questions is seen, and the others have their answers. */
TEST(actor_ask_all_in_a_cycle_is_told)
{
	coro_scheduler *s = start_with(2, 0);
	struct oracle o[3], other;
	coro_actor a[3], b = oracle_make(s, &other);
	coro_answer answer;

	circles = 0;
	coro_actor_on_deadlock(sees_circle);
	for (int i = 0; i < 3; i++)
		a[i] = oracle_make(s, &o[i]);
	for (int i = 0; i < 3; i++) {
		o[i].to[0] = a[(i + 1) % 3];
		o[i].to[1] = b;
	}
	CHECK_EQ(coro_actor_ask(a[0], ASK_ALL, NULL, 0, &answer, CORO_FOREVER), CORO_OK);
	CHECK_EQ(o[2].all, CORO_EDEADLK);
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(o[i].status[0], i < 2 ? CORO_OK : CORO_EDEADLK);
		CHECK_EQ(o[i].status[1], CORO_OK);
	}
	CHECK_EQ(circles, 1);
	CHECK(coro_actor_on_deadlock(NULL) == sees_circle);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	settled(s);
	finish(s);
}

/* ---------------------------------------------------------------------------------- the storm */

/* Askers lend memory that they free when the ask has returned, and are canceled, or come to their
 * deadline, anywhere. The actors write to it, and let others run meanwhile. Memory is also marked:
 * so a build without AddressSanitizer sees most of what is touched too late. */

#define HERE UINT64_C(0x6865726568657265)
#define GONE UINT64_C(0x676f6e65676f6e65)

struct block {
	uint64_t mark, n, words[12];
	uint64_t sum; /* of what is above */
};

static uint64_t sum_of(const struct block *b)
{
	uint64_t sum = b->mark + b->n;

	for (size_t i = 0; i < sizeof b->words / sizeof *b->words; i++)
		sum = (sum ^ b->words[i]) * UINT64_C(0x100000001b3);
	return sum;
}

static struct block *block_make(uint64_t *seed)
{
	struct block *b = malloc(sizeof *b);

	b->mark = HERE;
	b->n = 0;
	for (size_t i = 0; i < sizeof b->words / sizeof *b->words; i++)
		b->words[i] = rnd(seed);
	b->sum = sum_of(b);
	return b;
}

static uint64_t wrote, ended[4];

static void touch(struct block *b, uint64_t r)
{
	CHECK(b->mark == HERE && b->sum == sum_of(b));
	b->words[b->n++ % (sizeof b->words / sizeof *b->words)] = r;
	b->sum = sum_of(b);
}

/* block_gone - the ask has returned: the block is as the actor has left it, and is freed. */
static void block_gone(struct block *b, int status, const coro_answer *answer)
{
	CHECK(b->mark == HERE && b->sum == sum_of(b));
	if (status == CORO_OK)
		CHECK_EQ(answer->words[0], b->sum);
	if (status == CORO_ETIMEDOUT || status == CORO_ECANCELED)
		CHECK_EQ(b->n, 0);
	b->mark = GONE;
	free(b);
}

static size_t writes(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	uint64_t *seed = state;

	for (size_t i = 0; i < n; i++) {
		struct block *b = (struct block *)(uintptr_t)m[i]->words[0];
		uint64_t r = rnd(seed);
		turn->handled = (uint32_t)i;
		if (r % 16 == 0)
			return i;
		for (unsigned k = 0; k < r / 16 % 4; k++) {
			touch(b, r + k);
			(void)coro_yield();
		}
		touch(b, r);
		add_one(&wrote);
		if (r / 64 % 32 == 0)
			coro_abort();
		if (r / 64 % 32 == 1)
			(void)coro_exit();
		if (r / 64 % 4)
			CHECK_EQ(coro_message_answer(m[i], &b->sum, sizeof b->sum), CORO_OK);
	}
	return n;
}

static const coro_actor_kind writer = {.size = sizeof writer, .behave = writes},
			     one_writer = {.size = sizeof one_writer, .behave = writes, .batch = 1},
			     small_writer = {
				     .size = sizeof small_writer, .behave = writes, .room = 2};

struct storm {
	coro_actor a[3];
	uint64_t n, seed;
};

static void tally(int status)
{
	CHECK(status == CORO_OK || status == CORO_ENDED || status == CORO_ETIMEDOUT ||
	      status == CORO_ECANCELED);
	add_one(&ended[status == CORO_OK          ? 0
		       : status == CORO_ENDED     ? 1
		       : status == CORO_ETIMEDOUT ? 2
						  : 3]);
}

static void lend_once(const struct storm *x, uint64_t *seed)
{
	struct block *b = block_make(seed);
	uint64_t r = rnd(seed), word = (uintptr_t)b;
	coro_answer answer;

	int status = coro_actor_ask_lend(x->a[r % 3], 0, &word, sizeof word, &answer,
					 r / 4 % 2 ? coro_now() + r / 8 % 20000 : CORO_FOREVER);
	block_gone(b, status, &answer);
	tally(status);
}

/* lend_several - the same of several at once. */
static void lend_several(const struct storm *x, uint64_t *seed)
{
	coro_ask q[4] = {{.to = 0}};
	uint64_t words[4];

	for (int i = 0; i < 4; i++) {
		words[i] = (uintptr_t)block_make(seed);
		q[i] = (coro_ask){.to = x->a[rnd(seed) % 3],
				  .payload = &words[i],
				  .bytes = sizeof words[i],
				  .flags = CORO_ASK_LENDS};
	}
	uint64_t r = rnd(seed);
	(void)coro_actor_ask_all(q, 4, r % 2 ? coro_now() + r / 2 % 40000 : CORO_FOREVER);
	for (int i = 0; i < 4; i++) {
		block_gone((struct block *)(uintptr_t)words[i], q[i].status, &q[i].answer);
		tally(q[i].status);
	}
}

static void lends_once(void *arg, void *result)
{
	const struct storm *x = ((void **)arg)[0];
	uint64_t seed = ((uint64_t *)arg)[1];

	(void)result;
	if (rnd(&seed) % 4)
		lend_once(x, &seed);
	else
		lend_several(x, &seed);
}

/* Spawns askers, and cancels each after a while. */
static void cancels(void *arg, void *result)
{
	struct storm *x = *(struct storm **)arg;
	uint64_t seed = add_to(&x->seed, 77);
	coro_attr attr = {.size = sizeof attr};

	(void)result;
	for (uint64_t i = 0; i < x->n; i++) {
		uint64_t args[2] = {(uintptr_t)x, rnd(&seed) | 1}, r = rnd(&seed);
		coro_handle h;
		CHECK_EQ(coro_spawn_attr(&attr, lends_once, args, sizeof args, &h), CORO_OK);
		for (unsigned k = 0; k < r % 8; k++)
			CHECK_EQ(coro_yield(), CORO_OK);
		if (r / 8 % 4)
			(void)coro_cancel(h);
	}
}

static void *lends_outside(void *arg)
{
	struct storm *x = arg;
	uint64_t seed = add_to(&x->seed, 77);

	for (uint64_t i = 0; i < x->n; i++)
		if (i % 4)
			lend_once(x, &seed);
		else
			lend_several(x, &seed);
	return NULL;
}

/* CORO_TEST_SCALE=6 makes it more than 10^5 questions, 50 under AddressSanitizer. */
TEST_LIMIT(stress_lend_cancels, 240)
{
	for (uint32_t workers = 1; workers <= 4; workers *= 2) {
		coro_scheduler *s = start_with(workers, 0);
		struct storm x = {.n = scaled(2000), .seed = workers}, *p = &x;
		uint64_t seeds[3] = {1, 2, 3};
		pthread_t t;

		wrote = 0;
		memset(ended, 0, sizeof ended);
		x.a[0] = actor(s, &writer, &seeds[0]);
		x.a[1] = actor(s, &one_writer, &seeds[1]);
		x.a[2] = actor(s, &small_writer, &seeds[2]);
		spawn(s, cancels, &p, sizeof p);
		spawn(s, cancels, &p, sizeof p);
		thread_start(&t, lends_outside, p);
		thread_join(t);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		coro_actor_stats f = settled(s);
		CHECK(wrote >= ended[0]);
		report("%u workers: %llu written; %llu answered, %llu not, %llu too late, %llu "
		       "canceled; %llu taken back",
		       workers, (unsigned long long)wrote, (unsigned long long)ended[0],
		       (unsigned long long)ended[1], (unsigned long long)ended[2],
		       (unsigned long long)ended[3], (unsigned long long)f.taken_back);
		finish(s);
	}
}
