/*
 * t_door.c - the asymmetric lock alone: an owner, thieves and a foreign thread on one queue. Every
 * item is passed on once, and no two are ever inside; with membarrier and with exchanges.
 */
#include "test.h"

#include "kernel/door.h"
#include "kernel/deque.h"

#include <stdlib.h>
#include <string.h>

#define THIEVES     3
#define ITEMS_LEAST 50000 /* enough for each to have its turn */

/* What the door protects, beside the queue: plain words, which tear if two are inside. */
struct inside {
	uint64_t a, b;
};

struct yard {
	struct coro_scheduler *s;
	struct coroi_worker *w; /* [1 + THIEVES]; the first is the victim */
	struct coroi_rec *items;
	uint32_t count;
	struct inside inside;
	uint32_t ready, over, robbed;
	uint64_t owner_got, owner_sum;
	/* the owner is slow inside now and then: thieves give up or wait */
	uint64_t slow_every;
};

struct thief {
	struct yard *y;
	uint32_t id;
	uint64_t got, sum, served, locked, refused;
};

static void check_inside(struct yard *y)
{
	uint64_t a = y->inside.a;
	CHECK(a == y->inside.b);
	y->inside.a = a + 1;
	y->inside.b = a + 1;
}

static void take_item(struct coroi_rec *r, uint64_t *got, uint64_t *sum)
{
	CHECK_EQ(__atomic_exchange_n(&r->state, 1, __ATOMIC_SEQ_CST), 0);
	*got += 1;
	*sum += r->next;
}

static void *steals(void *arg)
{
	struct thief *t = arg;
	struct yard *y = t->y;
	struct coroi_worker *me = &y->w[t->id], *v = &y->w[0];

	at_add(&y->ready, 1);
	while (!at_load_acq(&y->over)) {
		uint32_t n = 0;
		if (coroi_deque_length(&v->queue) == 0) {
			at_relax();
			continue;
		}
		switch (coroi_door_knock(v, t->id)) {
		case COROI_REFUSED:
			t->refused++;
			break;
		case COROI_SERVED:
			t->served++;
			n = me->steal_buf.count;
			break;
		case COROI_LOCKED:
			t->locked++;
			check_inside(y);
			n = coroi_deque_give(v, (uint16_t)t->id, me->steal_buf.entry,
					     (coroi_deque_length(&v->queue) + 1) / 2);
			check_inside(y);
			coroi_door_unlock(v);
			break;
		}
		CHECK(n <= y->s->steal_batch);
		if (n)
			at_store_rel(&y->robbed, 1);
		for (uint32_t i = 0; i < n; i++) {
			struct coroi_rec *r = coroi_runnable_record(
				me->steal_buf.entry[i].runnable);
			CHECK_EQ(r->home, t->id);
			take_item(r, &t->got, &t->sum);
		}
	}
	return NULL;
}

/* A thread that is no worker is never served, and always gets in. */
static void *inspects(void *arg)
{
	struct yard *y = arg;
	uint64_t n = 0;

	do { /* at least once, even after the end */
		coroi_door_lock(&y->w[0]);
		check_inside(y);
		CHECK_EQ(COROI_DOOR_WHAT(at_load_acq(&y->w[0].req)), COROI_DOOR_LOCK);
		check_inside(y);
		coroi_door_unlock(&y->w[0]);
		n++;
		sleep_us(20);
	} while (!at_load_acq(&y->over));
	return (void *)(uintptr_t)n;
}

static void own(struct yard *y)
{
	struct coroi_worker *w = &y->w[0];
	uint64_t seed = 5;
	uint32_t pushed = 0;

	while (pushed < y->count || coroi_deque_length(&w->queue)) {
		uint64_t what = rnd(&seed);
		coroi_door_enter(w);
		check_inside(y);
		uint32_t n = what % 8;
		for (uint32_t i = 0; i < n && pushed < y->count; i++)
			coroi_deque_push(&w->queue, coroi_runnable_started(&y->items[pushed++]));
		/* Few items or fast hardware: the owner leaves something to steal all the same. */
		n = pushed < y->count / 2 || at_load_acq(&y->robbed) ? (what >> 8) % 8 : 0;
		for (uint32_t i = 0; i < n; i++) {
			struct coroi_rec *r = coroi_runnable_resumed(coroi_deque_pop(&w->queue));
			if (r)
				take_item(r, &y->owner_got, &y->owner_sum);
		}
		if (y->slow_every && what % y->slow_every == 0)
			sleep_us(1);
		check_inside(y);
		coroi_door_leave(w);
		if (what % 64 == 0) /* compute for a while: thieves can get in by the lock alone */
			for (int i = 0; i < 2000; i++)
				at_relax();
	}
}

static void battle(uint64_t items, bool exchange, uint32_t batch, uint64_t slow_every)
{
	struct yard y = {.count = (uint32_t)items, .slow_every = slow_every};
	struct thief t[THIEVES];
	pthread_t thread[THIEVES], foreign;
	void *inspected;

	if (items < ITEMS_LEAST)
		y.count = (uint32_t)(items = ITEMS_LEAST);
	y.s = aligned_alloc(COROI_APART, sizeof *y.s);
	y.w = aligned_alloc(COROI_APART, (1 + THIEVES) * sizeof *y.w);
	y.items = aligned_alloc(64, items * sizeof *y.items);
	memset(y.s, 0, sizeof *y.s);
	memset(y.w, 0, (1 + THIEVES) * sizeof *y.w);
	memset(y.items, 0, items * sizeof *y.items);
	y.s->worker = y.w;
	y.s->workers = 1 + THIEVES;
	y.s->steal_batch = batch;
	uint64_t want = 0;
	for (uint32_t i = 0; i < items; i++) {
		y.items[i].next = (uint64_t)i * 2654435761u + 1;
		want += y.items[i].next;
	}
	for (uint32_t i = 0; i <= THIEVES; i++) {
		y.w[i].id = (uint16_t)i;
		y.w[i].sched = y.s;
		y.w[i].exchange = exchange || !coroi_has_membarrier();
	}
	CHECK_EQ(coroi_deque_init(&y.w[0].queue), CORO_OK);
	for (uint32_t i = 0; i < THIEVES; i++) {
		t[i] = (struct thief){.y = &y, .id = i + 1};
		thread_start(&thread[i], steals, &t[i]);
	}
	thread_start(&foreign, inspects, &y);
	while (at_load_acq(&y.ready) < THIEVES)
		sleep_us(10);
	own(&y);
	at_store_rel(&y.over, 1);
	uint64_t got = y.owner_got, sum = y.owner_sum, stolen = 0;
	for (int i = 0; i < THIEVES; i++) {
		thread_join(thread[i]);
		got += t[i].got;
		sum += t[i].sum;
		stolen += t[i].got;
	}
	CHECK_EQ(pthread_join(foreign, &inspected), 0);
	CHECK_EQ(got, items);
	CHECK(sum == want);
	CHECK(y.inside.a == y.inside.b);
	CHECK(stolen && inspected);
	coroi_deque_destroy(&y.w[0].queue);
	free(y.items);
	free(y.w);
	free(y.s);
}

TEST_LIMIT(door_with_membarrier, 180)
{
	if (!coroi_has_membarrier())
		return;
	battle(scaled(1500000), false, 32, 0);
	battle(scaled(300000), false, 1, 0);
	battle(scaled(100000), false, 64, 50);
}

TEST_LIMIT(door_with_exchange, 180)
{
	battle(scaled(1500000), true, 32, 0);
	battle(scaled(300000), true, 1, 0);
	battle(scaled(100000), true, 64, 50);
}

/* --------------------------------------------------------------- two at the door, with no pause */

static struct coroi_worker *owned;
static struct inside shared;
static uint32_t stop;

static void *knocks(void *arg)
{
	uint64_t n = (uintptr_t)arg, seed = 3;

	while (n) {
		if (coroi_door_knock(owned, COROI_FOREIGN) != COROI_LOCKED)
			continue;
		uint64_t a = __atomic_load_n(&shared.a, __ATOMIC_RELAXED);
		__atomic_store_n(&shared.a, a + 1, __ATOMIC_RELAXED);
		/* b follows a, or somebody else is inside */
		CHECK(__atomic_load_n(&shared.b, __ATOMIC_RELAXED) == a);
		__atomic_store_n(&shared.b, a + 1, __ATOMIC_RELAXED);
		coroi_door_unlock(owned);
		/* meet every point of the owner's round */
		for (uint64_t i = rnd(&seed) % 64; i; i--)
			at_relax();
		n--;
	}
	at_store_rel(&stop, 1);
	return NULL;
}

/* A thief that does not ask first depends on the barriers alone: DRT1 to DRT4 within
 * nanoseconds. */
static void duel(bool exchange, uint64_t locks)
{
	pthread_t t;
	uint64_t rounds = 0;

	owned = aligned_alloc(COROI_APART, sizeof *owned);
	memset(owned, 0, sizeof *owned);
	owned->exchange = exchange;
	shared = (struct inside){0, 0};
	stop = 0;
	thread_start(&t, knocks, (void *)(uintptr_t)locks);
	for (; !at_load_acq(&stop); rounds++) {
		coroi_door_enter(owned);
		uint64_t a = __atomic_load_n(&shared.a, __ATOMIC_RELAXED);
		__atomic_store_n(&shared.a, a + 1, __ATOMIC_RELAXED);
		CHECK(__atomic_load_n(&shared.b, __ATOMIC_RELAXED) == a);
		__atomic_store_n(&shared.b, a + 1, __ATOMIC_RELAXED);
		coroi_door_leave(owned);
	}
	thread_join(t);
	CHECK(shared.a == rounds + locks && shared.b == shared.a);
	free(owned);
}

TEST_LIMIT(door_duel_with_membarrier, 180)
{
	if (coroi_has_membarrier())
		duel(false, scaled(100000));
}

TEST_LIMIT(door_duel_with_exchange, 180)
{
	duel(true, scaled(150000));
}
