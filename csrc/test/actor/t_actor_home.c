/* t_actor_home.c - actors that are at home at a worker, and what takes them away from there: HOM1
 * to HOM6 of box.h. */
#include "actor/stage.h"

#include "actor/home.h"

#include <sched.h>

#define AT_HOME 2000 /* messages by coroutines of one worker: the actor is at home there then */

/* What an actor has got, and what it is to do with that. */
struct got {
	uint64_t n, next[3]; /* of each sender */
	uint64_t told;       /* to itself */
	uint32_t turns;      /* under way */
	int how;
};
enum { HANDLES, YIELDS, EXITS, TELLS_ITSELF };
enum { INSIDE, OUTSIDE, OWN };

/* gets - a message's kind is its sender, and the word its number. */
static size_t gets(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	struct got *g = state;

	for (size_t i = 0; i < n; i++) {
		CHECK_EQ(__atomic_exchange_n(&g->turns, 1, __ATOMIC_RELAXED), 0);
		CHECK_EQ(m[i]->words[0], g->next[m[i]->kind]);
		g->next[m[i]->kind]++;
		if (g->how == YIELDS && m[i]->words[0] % 8 == 3)
			CHECK_EQ(coro_yield(), CORO_OK);
		if (g->how == TELLS_ITSELF && m[i]->kind == INSIDE)
			for (uint64_t k = 0; k < m[i]->words[0] % 4; k++)
				tell(turn->self, OWN, g->told++);
		__atomic_store_n(&g->turns, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&g->n, g->n + 1, __ATOMIC_RELEASE);
		turn->handled = (uint32_t)i;
		if (g->how == EXITS && m[i]->words[0] % 16 == 5)
			(void)coro_exit();
	}
	return n;
}

static const coro_actor_kind kind = {.size = sizeof kind, .behave = gets};

/* A coroutine that sends to two actors by turns, one after the other, and yields. */
struct feeds {
	coro_actor to[2];
	uint64_t n;
	uint64_t *seen; /* after that, it computes until this is not 0 */
};

static void feeds(void *arg, void *result)
{
	const struct feeds *f = *(struct feeds **)arg;

	(void)result;
	CHECK_EQ(coro_actor_send(0, 0, &f->n, sizeof f->n), CORO_ESTALE);
	for (uint64_t i = 0; i < f->n; i++) {
		tell(f->to[0], INSIDE, i);
		tell(f->to[1], INSIDE, i);
		if (i % 4 == 0)
			CHECK_EQ(coro_yield(), CORO_OK);
	}
	if (f->seen)
		while (!seen(f->seen))
			;
}

/* sends_beside - a thread outside, while they are fed. */
struct beside {
	coro_actor to[2];
	uint64_t n;
};

static void *sends_beside(void *arg)
{
	const struct beside *b = arg;

	for (uint64_t i = 0; i < b->n; i++) {
		tell(b->to[0], OUTSIDE, i);
		tell(b->to[1], OUTSIDE, i);
		if (i % 64 == 0)
			sched_yield();
	}
	return NULL;
}

/* All that is sent comes in the order of each sender, whatever takes the actors away from home. */
TEST(actor_home_keeps_the_order)
{
	for (uint32_t workers = 1; workers <= 2; workers++)
		for (int how = HANDLES; how <= TELLS_ITSELF; how++) {
			coro_scheduler *s = start_with(workers, 0);
			struct got g[2] = {{.how = how}, {.how = how}};
			uint64_t n = scaled(20000);
			coro_actor a = actor(s, &kind, &g[0]), b = actor(s, &kind, &g[1]);
			struct feeds f = {.to = {a, b}, .n = n}, *arg = &f;
			struct beside beside = {.to = {a, b}, .n = n / 10};
			pthread_t t;

			thread_start(&t, sends_beside, &beside);
			spawn(s, feeds, &arg, sizeof arg);
			thread_join(t);
			CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
			for (int i = 0; i < 2; i++) {
				CHECK_EQ(g[i].next[INSIDE], n);
				CHECK_EQ(g[i].next[OUTSIDE], beside.n);
				CHECK_EQ(g[i].next[OWN], g[i].told);
			}
			settled(s);
			finish(s);
		}
}

/* A message to an actor that is at home at a worker which computes: another worker takes it
 * over. */
TEST(actor_home_of_a_worker_that_computes)
{
	coro_scheduler *s = start_with(2, 0);
	struct got g[2] = {{0}, {0}};
	coro_actor a = actor(s, &kind, &g[0]), b = actor(s, &kind, &g[1]);
	uint64_t done = 0;
	struct feeds f = {.to = {a, b}, .n = AT_HOME, .seen = &done}, *arg = &f;

	spawn(s, feeds, &arg, sizeof arg);
	while (seen(&g[0].n) < AT_HOME - 4 || seen(&g[1].n) < AT_HOME - 4)
		sched_yield();
	tell(a, OUTSIDE, 0);
	tell(b, OUTSIDE, 0);
	while (seen(&g[0].n) < AT_HOME + 1 || seen(&g[1].n) < AT_HOME + 1)
		sched_yield(); /* or the test hangs */
	__atomic_store_n(&done, 1, __ATOMIC_RELEASE);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	settled(s);
	finish(s);
}

/* A message to an actor that is at home at the only worker, which always has something to run. */
static void yields_until(void *arg, void *result)
{
	uint64_t *done = *(uint64_t **)arg;

	(void)result;
	while (!seen(done))
		CHECK_EQ(coro_yield(), CORO_OK);
}

TEST(actor_home_of_a_worker_that_never_rests)
{
	coro_scheduler *s = start_with(1, 0);
	struct got g[2] = {{0}, {0}};
	coro_actor a = actor(s, &kind, &g[0]), b = actor(s, &kind, &g[1]);
	uint64_t done = 0, *until = &done;
	struct feeds f = {.to = {a, b}, .n = AT_HOME}, *arg = &f;

	spawn(s, yields_until, &until, sizeof until);
	spawn(s, feeds, &arg, sizeof arg);
	while (seen(&g[0].n) < AT_HOME || seen(&g[1].n) < AT_HOME)
		sched_yield();
	tell(a, OUTSIDE, 0);
	CHECK_EQ(coro_actor_drain(b), CORO_OK);
	while (seen(&g[0].n) < AT_HOME + 1)
		sched_yield();
	coro_actor_stats t;
	do
		CHECK_EQ(coro_actor_stats_of(s, &t), CORO_OK);
	while (t.actors != 1);
	__atomic_store_n(&done, 1, __ATOMIC_RELEASE);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	settled(s);
	finish(s);
}

/* What actors at home keep is there for others: as many coroutines can be had as without actors. */
static void parks(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_sleep(CORO_FOREVER), CORO_ECANCELED);
}

TEST(actor_home_keeps_no_coroutine_from_starting)
{
	uint64_t most[2];

	for (int with = 0; with < 2; with++) {
		coro_options o = options(1, 0);
		o.record_limit = 2 << 20;
		coro_scheduler *s = start(&o);
		struct got g[2] = {{0}, {0}};
		coro_actor a = actor(s, &kind, &g[0]), b = actor(s, &kind, &g[1]);
		struct feeds f = {.to = {a, b}, .n = AT_HOME}, *arg = &f;

		if (with) {
			spawn(s, feeds, &arg, sizeof arg);
			CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		}
		for (most[with] = 0;; most[with]++)
			if (coro_scheduler_spawn(s, NULL, parks, NULL, 0, NULL))
				break;
		CHECK_EQ(coro_scheduler_close(s, true), CORO_OK);
		CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
	}
	CHECK_EQ(most[0], most[1]);
}

/* Actors that send to each other without end, on several workers: thieves take some at times. */
#define CIRCLE 60

struct circle {
	coro_actor self, next;
	uint64_t came, hops; /* hops: of each token */
	uint64_t *left;      /* tokens that still go round */
};

static size_t goes_round(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	struct circle *c = state;

	CHECK_EQ(turn->self, c->self);
	for (size_t i = 0; i < n; i++) {
		c->came++;
		if (m[i]->words[0] < c->hops)
			tell(c->next, 0, m[i]->words[0] + 1);
		else
			__atomic_fetch_sub(c->left, 1, __ATOMIC_RELAXED);
	}
	return n;
}

TEST(actor_circle_loses_nothing)
{
	static const coro_actor_kind round = {.size = sizeof round, .behave = goes_round};

	for (uint32_t workers = 2; workers <= 4; workers++) {
		coro_scheduler *s = start_with(workers, 0);
		struct circle c[CIRCLE] = {{0}};
		uint64_t hops = scaled(20000), left = CIRCLE, came = 0;

		for (int i = 0; i < CIRCLE; i++) {
			c[i].hops = hops;
			c[i].left = &left;
			c[i].self = actor(s, &round, &c[i]);
		}
		for (int i = 0; i < CIRCLE; i++)
			c[i].next = c[(i + 7) % CIRCLE].self;
		for (int i = 0; i < CIRCLE; i++)
			tell(c[i].self, 0, 1);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		for (int i = 0; i < CIRCLE; i++)
			came += c[i].came;
		CHECK_EQ(left, 0);
		CHECK_EQ(came, CIRCLE * hops);
		settled(s);
		finish(s);
	}
}

/* What an actor at home does to itself ends its turn, or the actor, before the messages that it has
 * sent to itself. */
enum { PLAIN, STOPS, CANCELS };

struct itself {
	uint64_t handled, own;
	int does;
	bool ended;
};

static size_t does_to_itself(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	struct itself *x = state;

	for (size_t i = 0; i < n; i++) {
		CHECK(!coro_canceled());
		x->handled++;
		if (m[i]->kind == OWN) {
			x->own++;
		} else if (m[i]->words[0] == AT_HOME) {
			for (uint64_t k = 0; k < 3; k++)
				tell(turn->self, OWN, k);
			if (x->does == STOPS)
				CHECK_EQ(coro_actor_stop(turn->self), CORO_OK);
			else if (x->does == CANCELS)
				CHECK_EQ(coro_cancel(coro_self()), CORO_OK);
		}
	}
	return n;
}

static void has_ended(void *state, int cause)
{
	((struct itself *)state)->ended = cause == CORO_DEAD_STOPPED;
}

static void sends_one_by_one(void *arg, void *result)
{
	coro_actor a = *(coro_actor *)arg;

	(void)result;
	for (uint64_t i = 1; i <= AT_HOME; i++) {
		tell(a, INSIDE, i);
		CHECK_EQ(coro_yield(), CORO_OK);
	}
}

TEST(actor_home_ends_its_turn)
{
	static const coro_actor_kind kind_itself = {
		.size = sizeof kind_itself, .behave = does_to_itself, .end = has_ended};

	for (int does = PLAIN; does <= CANCELS; does++) {
		coro_scheduler *s = start_with(1, 0);
		struct itself x = {.does = does};
		coro_actor a = actor(s, &kind_itself, &x);

		spawn(s, sends_one_by_one, &a, sizeof a);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		coro_actor_stats t = settled(s);
		CHECK_EQ(x.own, does == STOPS ? 0 : 3);
		CHECK_EQ(x.handled, AT_HOME + x.own);
		CHECK_EQ(t.dead[CORO_DEAD_STOPPED], does == STOPS ? 3 : 0);
		CHECK_EQ(x.ended, does == STOPS);
		finish(s);
	}
}
