/*
 * t_actor_stress.c - many actors, which send to each other, now and later, ask and watch each
 * other, wait, stop each other, and end their turns in all ways: none is lost or doubled, in order,
 * one turn at a time.
 */
#include "stage.h"

#include <stdlib.h>
#include <string.h>

#define ACTORS  64
#define LIVES   8 /* of one number that may send at the same time */
#define THREADS 2
#define HOPS    200

struct one {
	uint32_t number, life;
	uint64_t random, sent, busy;
	coro_actor self;
	struct {
		uint64_t seq;
		uint32_t life;
	} last[ACTORS + THREADS + 1][LIVES];
};

/* What a message carries: who sent it, and its number, from 1; an id; hops that are left. */
struct token {
	uint32_t from, life;
	uint64_t seq, id, hops;
};

static struct {
	coro_actor ref;
	uint32_t life;
	uint64_t lives;
} table[ACTORS];

static uint64_t sent, sent_sum, got, got_sum, died, died_sum, stopped, stop_all;
static uint64_t watched, told, told_nobody, asked, answered, cycles;

static void dies(const coro_dead_letter *d)
{
	struct token t;

	if (d->message->kind == CORO_MESSAGE_ENDED) {
		add_one(&told_nobody);
		return;
	}
	memcpy(&t, d->message->payload, sizeof t);
	add_one(&died);
	add_to(&died_sum, t.id);
}

static void sees_cycle(const coro_actor *cycle, size_t n)
{
	CHECK(n >= 1 && cycle[0] != 0);
	add_one(&cycles);
}

enum way { NOW, LATER, ASKS };

/* send_so - whether t was accepted. */
static bool send_so(coro_actor ref, uint32_t to, const struct token *t, enum way way)
{
	coro_answer answer;
	int status;

	switch (way) {
	case LATER:
		return coro_actor_send_after(ref, 1 + t->id % 2000000, to, t, sizeof *t, NULL) ==
		       CORO_OK;
	case ASKS:
		status = coro_actor_ask(ref, to, t, sizeof *t, &answer, coro_now() + MS);
		CHECK(status == CORO_OK || status == CORO_ENDED || status == CORO_ETIMEDOUT ||
		      status == CORO_ESTALE || status == CORO_EDEADLK || status == CORO_ECANCELED ||
		      status == CORO_ECLOSED);
		if (status == CORO_OK)
			CHECK_EQ(answer.words[0], t->id);
		add_one(&asked);
		add_to(&answered, status == CORO_OK);
		return status == CORO_OK || status == CORO_ENDED || status == CORO_ETIMEDOUT ||
		       status == CORO_ECANCELED;
	default:
		return coro_actor_send(ref, to, t, sizeof *t) == CORO_OK;
	}
}

/* send_token - t to a random actor. False: that one has ended, or would wait for itself. */
static bool send_token(struct token *t, uint64_t *random, enum way way)
{
	uint32_t to = rnd(random) % ACTORS;
	coro_actor ref = __atomic_load_n(&table[to].ref, __ATOMIC_RELAXED);

	t->id = rnd(random) >> 8;
	add_one(&sent);
	add_to(&sent_sum, t->id);
	if (send_so(ref, to, t, way))
		return true;
	add_to(&sent, -1);
	add_to(&sent_sum, -t->id);
	return false;
}

static void lives(coro_scheduler *s, uint32_t number);

/* acts - what a behaviour does now and then besides. */
static void acts(struct one *me, uint32_t chance)
{
	switch (chance) {
	case 0: {
		uint32_t k = rnd(&me->random) % ACTORS;
		coro_actor ref = __atomic_load_n(&table[k].ref, __ATOMIC_RELAXED);
		int status = rnd(&me->random) % 2 ? coro_actor_stop(ref) : coro_actor_drain(ref);
		if (!status && __atomic_compare_exchange_n(&table[k].ref, &ref, 0, false,
							   __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
			add_one(&stopped);
			lives(NULL, k);
		}
		break;
	}
	case 1:
		CHECK_EQ(coro_yield(), CORO_OK);
		break;
	case 2:
		coro_sleep(1000);
		break;
	case 3:
		__atomic_store_n(&me->busy, 0, __ATOMIC_RELAXED);
		coro_exit();
		break;
	case 4:
		CHECK_EQ(coro_cancel(coro_self()), CORO_OK);
		break;
	case 6: {
		uint32_t k = rnd(&me->random) % ACTORS;
		int status = coro_actor_watch(me->self,
					      __atomic_load_n(&table[k].ref, __ATOMIC_RELAXED));
		CHECK(status == CORO_OK || status == CORO_ESTALE);
		add_to(&watched, status == CORO_OK);
		break;
	}
	}
}

static size_t passes(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	struct one *me = state;

	for (size_t i = 0; i < n; i++) {
		struct token t;
		turn->handled = (uint32_t)i;
		CHECK_EQ(__atomic_exchange_n(&me->busy, 1, __ATOMIC_RELAXED), 0);
		me->self = turn->self;
		if (m[i]->kind == CORO_MESSAGE_ENDED) {
			add_one(&told);
			__atomic_store_n(&me->busy, 0, __ATOMIC_RELAXED);
			continue;
		}
		CHECK_EQ(m[i]->kind, me->number);
		memcpy(&t, m[i]->payload, sizeof t);
		CHECK(t.from <= ACTORS + THREADS + 1);
		bool late = t.from == ACTORS + THREADS + 1; /* sent later: in no order */
		if (late)
			t.from = ACTORS + THREADS;
		if (!late && me->last[t.from][t.life % LIVES].life == t.life)
			CHECK(t.seq > me->last[t.from][t.life % LIVES].seq);
		if (!late) {
			me->last[t.from][t.life % LIVES].seq = t.seq;
			me->last[t.from][t.life % LIVES].life = t.life;
		}
		(void)coro_message_answer(m[i], &t.id, sizeof t.id);
		uint64_t id = t.id;
		uint32_t chance = rnd(&me->random) % 512;
		if (t.hops-- && !seen(&stop_all)) {
			enum way way = chance == 7 ? LATER : chance == 8 ? ASKS : NOW;
			t.from = way == LATER ? ACTORS + THREADS + 1 : me->number;
			t.life = me->life;
			t.seq = ++me->sent;
			for (int k = 0; k < 4 && !send_token(&t, &me->random, way); k++)
				;
		}
		if (chance == 5) { /* this message is a dead letter */
			__atomic_store_n(&me->busy, 0, __ATOMIC_RELAXED);
			coro_abort();
		}
		add_one(&got);
		add_to(&got_sum, id);
		acts(me, chance);
		__atomic_store_n(&me->busy, 0, __ATOMIC_RELAXED);
	}
	return n;
}

static void one_ends(void *state, int cause)
{
	(void)cause;
	CHECK_EQ(((struct one *)state)->busy, 0);
	free(state);
}

static const coro_actor_kind passer = {.size = sizeof passer, .behave = passes, .end = one_ends};
static const coro_actor_kind brief_passer = {
	.size = sizeof passer, .behave = passes, .end = one_ends, .flags = CORO_ACTOR_BRIEF};
static const coro_actor_kind *kind_of_all;

static void lives(coro_scheduler *s, uint32_t number)
{
	struct one *me = calloc(1, sizeof *me);

	me->number = number;
	me->life = (uint32_t)add_one(&table[number].lives);
	me->random = number * 1000003 + me->life + 1;
	__atomic_store_n(&table[number].ref, actor(s, kind_of_all, me), __ATOMIC_RELAXED);
}

struct feed {
	uint32_t from;
	uint64_t tokens;
};

static void feed(struct feed *f)
{
	uint64_t random = f->from + 17, seq = 0;

	for (uint64_t i = 0; i < f->tokens;) {
		struct token t = {.from = f->from, .seq = ++seq, .hops = HOPS};
		i += send_token(&t, &random, NOW);
		if (i % 16 == 0 && coro_self())
			coro_sleep(100000);
		else if (i % 16 == 0)
			sleep_us(100);
	}
}

static void feeds(void *arg, void *result)
{
	(void)result;
	feed(*(struct feed **)arg);
}

static void *feeds_outside(void *arg)
{
	feed(arg);
	return NULL;
}

static void storm(uint32_t workers, uint64_t tokens, bool close)
{
	coro_scheduler *s = start_with(workers, 0);
	struct feed f[THREADS + 1], *inside = &f[THREADS];
	pthread_t t[THREADS];

	sent = sent_sum = got = got_sum = died = died_sum = stopped = stop_all = 0;
	watched = told = told_nobody = asked = answered = cycles = 0;
	memset(table, 0, sizeof table);
	coro_actor_on_deadlock(sees_cycle);
	coro_actor_on_dead_letter(dies);
	for (uint32_t i = 0; i < ACTORS; i++)
		lives(s, i);
	for (uint32_t i = 0; i <= THREADS; i++)
		f[i] = (struct feed){ACTORS + i, tokens / (THREADS + 1) + 1};
	spawn(s, feeds, &inside, sizeof inside);
	for (int i = 0; i < THREADS; i++)
		thread_start(&t[i], feeds_outside, &f[i]);
	for (int i = 0; i < THREADS; i++)
		thread_join(t[i]);
	if (close) {
		CHECK_EQ(coro_scheduler_close(s, 1), CORO_OK);
	} else {
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(settled(s).actors, ACTORS);
	}
	coro_actor_stats figures = settled(s);
	CHECK_EQ(figures.accepted, sent + told + told_nobody);
	CHECK(told + told_nobody <= watched);
	CHECK_EQ(got + died, sent);
	CHECK_EQ(got_sum + died_sum, sent_sum);
	report("%u workers: %llu messages, %llu dead, %llu actors; %llu asked, %llu answered, %llu "
	       "cycles; %llu watched, %llu told",
	       workers, (unsigned long long)sent, (unsigned long long)died,
	       (unsigned long long)figures.spawned, (unsigned long long)asked,
	       (unsigned long long)answered, (unsigned long long)cycles,
	       (unsigned long long)watched, (unsigned long long)(told + told_nobody));
	CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
}

TEST_LIMIT(stress_actors, 120)
{
	kind_of_all = &passer;
	for (uint32_t workers = 1; workers <= 4; workers *= 2) {
		storm(workers, scaled(3000), false);
		storm(workers, scaled(300), true);
	}
}

/* The same where turns run on the threads that send. */
TEST_LIMIT(stress_actors_brief, 120)
{
	kind_of_all = &brief_passer;
	for (uint32_t workers = 1; workers <= 4; workers *= 2) {
		storm(workers, scaled(1500), false);
		storm(workers, scaled(150), true);
	}
}
