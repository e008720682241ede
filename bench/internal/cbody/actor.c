/* actor.c - programs of actors, after Savina's (Imam, Sarkar, 2014), and idle actors. */
#include "cbody.h"

#include "coro_actor.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum { START, PING, PONG, AGAIN, COUNT, RETRIEVE, RESULT, EXIT, MEET, CHANGE };

struct msg {
	int64_t from, n;
};

/* An actor of any of the programs. */
struct one {
	coro_actor self;
	int64_t number, next, left, n, count, expects, color;
	uint64_t random;
	int64_t *seen;
} __attribute__((aligned(64)));

static struct one *all;
static uint32_t alls;
static coro_latch ended;
static int64_t begun, done;

static inline void tell(int64_t to, uint32_t kind, int64_t from, int64_t n)
{
	struct msg m = {from, n};
	cb_fail(coro_actor_send(all[to].self, kind, &m, sizeof m));
}

static void finished(void)
{
	done = cb_now_ns();
	cb_fail(coro_latch_add(&ended, -1));
}

static void wrong(void)
{
	cb_fail(CORO_EINVAL);
}

/* BEHAVIOUR - a function of one message that becomes one of many. */
#define BEHAVIOUR(name)                                                                         \
	static inline void name##_one(struct one *me, uint32_t kind, const struct msg *m);      \
	static size_t name(coro_actor_turn *turn, void *state, coro_message *const *list,       \
			   size_t n)                                                            \
	{                                                                                       \
		(void)turn;                                                                     \
		for (size_t i = 0; i < n; i++)                                                  \
			name##_one(state, list[i]->kind, (const struct msg *)list[i]->payload); \
		return n;                                                                       \
	}                                                                                       \
	static const coro_actor_kind kind_of_##name = {.size = sizeof kind_of_##name,           \
						       .behave = name};                         \
	static inline void name##_one(struct one *me, uint32_t kind, const struct msg *m)

BEHAVIOUR(pinger)
{
	(void)m;
	if (kind == PONG) {
		if (me->left > 0)
			tell(me->number, AGAIN, 0, 0);
		else
			finished();
		return;
	}
	me->left--;
	tell(me->next, PING, me->number, 0);
}

BEHAVIOUR(ponger)
{
	(void)kind;
	tell(m->from, PONG, me->number, 0);
}

BEHAVIOUR(producer)
{
	if (kind == RESULT) {
		if (m->n != me->n)
			wrong();
		finished();
		return;
	}
	for (int64_t i = 0; i < me->n; i++)
		tell(me->next, COUNT, me->number, i);
	tell(me->next, RETRIEVE, me->number, 0);
}

BEHAVIOUR(counter)
{
	if (kind == RETRIEVE)
		tell(m->from, RESULT, 0, me->count);
	else if (m->n != me->count++)
		wrong();
}

BEHAVIOUR(sinner)
{
	volatile double angle = 37.2;

	(void)kind;
	(void)m;
	double s = sin(angle);
	if (s * s <= 0)
		wrong();
	if (!--me->left)
		finished();
}

BEHAVIOUR(ringer)
{
	(void)kind;
	if (m->n > 0)
		tell(me->next, PING, 0, m->n - 1);
	else
		finished();
}

static inline uint64_t random_of(struct one *me)
{
	me->random ^= me->random << 13;
	me->random ^= me->random >> 7;
	me->random ^= me->random << 17;
	return me->random;
}

BEHAVIOUR(big)
{
	if (kind == PING) {
		tell(m->from, PONG, me->number, 0);
		return;
	}
	if (m->from != me->expects)
		wrong();
	if (!me->left--) {
		tell(me->next, EXIT, 0, 0);
		return;
	}
	me->expects = (int64_t)(random_of(me) % (alls - 1));
	if (me->expects == me->number) /* a full channel would wait for itself */
		me->expects = (me->number + 1) % CB_BIG;
	tell(me->expects, PING, me->number, 0);
}

BEHAVIOUR(last)
{
	(void)kind;
	(void)m;
	if (!--me->left)
		finished();
}

BEHAVIOUR(mall)
{
	if (kind == COUNT) {
		me->count += m->n;
		if (!--me->expects) {
			if (me->count != 2 * me->n)
				wrong();
			finished();
		}
	} else if (!me->left) {
		tell(m->from, EXIT, 0, 0);
	} else if (me->next < 0) {
		me->next = m->from;
	} else {
		me->left--;
		tell(me->next, kind, m->from, m->n);
		me->next = -1;
	}
}

BEHAVIOUR(chameneo)
{
	switch (kind) {
	case START:
		tell(0, MEET, me->number, me->color);
		break;
	case MEET:
		me->color = me->color == m->n ? me->color : 3 - me->color - m->n;
		me->count++;
		tell(m->from, CHANGE, me->number, me->color);
		tell(0, MEET, me->number, me->color);
		break;
	case CHANGE:
		me->color = m->n;
		me->count++;
		tell(0, MEET, me->number, me->color);
		break;
	default:
		tell(0, COUNT, 0, me->count);
	}
}

BEHAVIOUR(feeder)
{
	int64_t i = m->n, end = i + 100 < me->n ? i + 100 : me->n;

	(void)kind;
	for (; i < end; i++)
		tell(me->next, COUNT, me->number, i);
	if (i < me->n)
		tell(me->number, AGAIN, 0, i);
}

BEHAVIOUR(funnel)
{
	(void)kind;
	if (me->seen[m->from]++ != m->n)
		wrong();
	if (!--me->left)
		finished();
}

static void add(const coro_actor_kind *kind, const struct one *one)
{
	struct one *me = &all[alls];

	*me = *one;
	me->number = alls++;
	me->random = (uint64_t)me->number * 0x9e3779b97f4a7c15u + 1;
	cb_fail(coro_actor_spawn(NULL, kind, me, &me->self));
}

/* The programs: actors, and what the first messages are. */

static void start_pingpong(int64_t n)
{
	add(&kind_of_ponger, &(struct one){0});
	add(&kind_of_pinger, &(struct one){.left = n});
}

static void start_counting(int64_t n)
{
	add(&kind_of_counter, &(struct one){0});
	add(&kind_of_producer, &(struct one){.n = n});
}

static void start_ring(int64_t n)
{
	(void)n;
	for (int64_t i = 0; i < CB_ACTORS; i++)
		add(&kind_of_ringer, &(struct one){.next = (i + 1) % CB_ACTORS});
}

static void start_big(int64_t n)
{
	for (int64_t i = 0; i < CB_BIG; i++)
		add(&kind_of_big, &(struct one){.next = CB_BIG, .left = n, .expects = -1});
	add(&kind_of_last, &(struct one){.left = CB_BIG});
}

static void start_chameneos(int64_t n)
{
	add(&kind_of_mall, &(struct one){.left = n, .n = n, .next = -1, .expects = CB_ACTORS});
	for (int64_t i = 0; i < CB_ACTORS; i++)
		add(&kind_of_chameneo, &(struct one){.color = i % 3});
}

static int64_t seen[CB_ACTORS];

static void start_fanin(int64_t n)
{
	for (int64_t i = 0; i < CB_ACTORS; i++) {
		seen[i] = 0;
		add(&kind_of_feeder, &(struct one){.next = CB_ACTORS, .n = n});
	}
	add(&kind_of_funnel, &(struct one){.left = CB_ACTORS * n, .seen = seen});
}

static void add_sinners(const coro_actor_kind *kind, int64_t n)
{
	for (int64_t i = 0; i < CB_FORKS; i++)
		add(kind, &(struct one){.left = n});
}

static void start_forkjoin(int64_t n)
{
	add_sinners(&kind_of_sinner, n);
}

static void start_forkjoin_brief(int64_t n)
{
	static const coro_actor_kind brief = {
		.size = sizeof brief, .behave = sinner, .flags = CORO_ACTOR_BRIEF};

	add_sinners(&brief, n);
}

static const struct {
	void (*start)(int64_t n);
	uint32_t first, firsts, kind; /* the actors that get the first message */
	int64_t from, n;              /* what is in it; n is -1: the program's */
} programs[] = {
	[CB_PINGPONG] = {start_pingpong, 1, 1, START, 0, 0},
	[CB_COUNTING] = {start_counting, 1, 1, START, 0, 0},
	[CB_THREADRING] = {start_ring, 0, 1, PING, 0, -1},
	[CB_BIG_ONE] = {start_big, 0, CB_BIG, PONG, -1, 0},
	[CB_CHAMENEOS] = {start_chameneos, 1, CB_ACTORS, START, 0, 0},
	[CB_FANIN] = {start_fanin, 0, CB_ACTORS, START, 0, 0},
	[CB_FJTHRPUT] = {start_forkjoin, 0, 0, 0, 0, 0},
	[CB_FJTHRPUT_BRIEF] = {start_forkjoin_brief, 0, 0, 0, 0, 0},
};

static void stop_all(void)
{
	for (uint32_t i = 0; i < alls; i++)
		cb_fail(coro_actor_stop(all[i].self));
}

void cb_actor_start(void *arg, void *result)
{
	struct cb_actors a = *(struct cb_actors *)arg;

	alls = 0;
	if (!all && !(all = aligned_alloc(64, (CB_BIG + 2) * sizeof *all))) {
		cb_fail(CORO_ENOMEM);
		return;
	}
	bool outside = a.program >= CB_FJTHRPUT;
	cb_fail(coro_latch_init(&ended, outside ? CB_FORKS : 1, 0));
	programs[a.program].start(a.n);
	if (outside)
		return;
	begun = cb_now_ns();
	for (uint32_t i = 0; i < programs[a.program].firsts; i++)
		tell(programs[a.program].first + i, programs[a.program].kind,
		     programs[a.program].from,
		     programs[a.program].n < 0 ? a.n : programs[a.program].n);
	cb_fail(coro_latch_wait(&ended, CORO_FOREVER));
	*(int64_t *)result = done - begun;
	stop_all();
}

int64_t cb_actor_outside(int64_t n, int64_t batch)
{
	struct msg m[CB_BATCH] = {{0}};

	begun = cb_now_ns();
	for (int64_t i = 0; i < n; i += batch)
		for (uint32_t k = 0; k < CB_FORKS; k++)
			if (batch == 1)
				tell(k, START, 0, 0);
			else
				cb_fail(coro_actor_send_many(all[k].self, START, m, sizeof *m,
							     (size_t)batch));
	cb_fail(coro_latch_wait(&ended, CORO_FOREVER));
	int64_t ns = done - begun;
	stop_all();
	return ns;
}

/* ---------------------------------------------------------------------------------------- idle */

static uint64_t woken;

static size_t sleeper(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	(void)turn;
	(void)state;
	(void)m;
	__atomic_fetch_add(&woken, n, __ATOMIC_RELAXED);
	return n;
}

void cb_actor_idle(void *arg, void *result)
{
	static const coro_actor_kind kind = {.size = sizeof kind, .behave = sleeper};
	struct cb_idle a = *(struct cb_idle *)arg;

	(void)result;
	woken = 0;
	for (int64_t i = 0; i < a.n; i++) {
		coro_actor one;
		cb_fail(coro_actor_spawn(NULL, &kind, NULL, &one));
		for (int64_t k = 0; k < a.burst; k++)
			cb_fail(coro_actor_send(one, 0, NULL, 0));
		if (i % 64 == 0 || a.burst > 1) /* they handle them */
			cb_fail(coro_yield());
	}
}

int64_t cb_actor_woken(void)
{
	return (int64_t)__atomic_load_n(&woken, __ATOMIC_RELAXED);
}
