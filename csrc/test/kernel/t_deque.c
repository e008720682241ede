/*
 * t_deque.c - a worker's queue: order, growth, spill, and what thieves get.
 */
#include "test.h"

#include "kernel/deque.h"
#include "kernel/inbox.h"

#include <stdlib.h>
#include <string.h>

#define MANY 5000

static struct coroi_rec *records(uint32_t n)
{
	struct coroi_rec *r = aligned_alloc(64, n * sizeof *r);
	memset(r, 0, n * sizeof *r);
	for (uint32_t i = 0; i < n; i++)
		r[i].wake_next = i;
	return r;
}

TEST(deque_is_first_in_first_out)
{
	struct coroi_deque d;
	struct coroi_rec *r = records(MANY);
	uint64_t seed = 1;
	uint32_t in = 0, out = 0;

	CHECK_EQ(coroi_deque_init(&d), CORO_OK);
	CHECK_EQ(coroi_deque_pop(&d), 0);
	d.head = UINT32_MAX - 100; /* so that the count wraps around */
	while (out < 20 * MANY) {
		bool push = rnd(&seed) % 100 < (in / MANY % 2 ? 40 : 60);
		if (push && in - out < MANY) {
			coroi_deque_push(&d, coroi_runnable_started(&r[in++ % MANY]));
		} else {
			struct coroi_rec *got = coroi_runnable_resumed(coroi_deque_pop(&d));
			CHECK((got != NULL) == (in != out));
			if (got)
				CHECK_EQ(got->wake_next, out++ % MANY);
		}
		CHECK_EQ(coroi_deque_length(&d), in - out);
	}
	coroi_deque_destroy(&d);
	free(r);
}

/* When the ring cannot grow, nothing is lost and the order is kept. Later the ring grows again. */
TEST(deque_without_memory)
{
	struct coroi_deque d;
	struct coroi_rec *r = records(MANY);

	fail_alloc = 0;
	CHECK_EQ(coroi_deque_init(&d), CORO_ENOMEM);
	CHECK_EQ(coroi_deque_init(&d), CORO_OK);
	for (int round = 0; round < 3; round++) {
		uint32_t entries = d.mask + 1;
		for (uint32_t i = 0; i < entries + 1000; i++) {
			fail_alloc = i == entries ? 0 : -1;
			coroi_deque_push(&d, coroi_runnable_started(&r[i]));
			CHECK_EQ(coroi_deque_length(&d), i + 1);
		}
		CHECK_EQ(d.mask + 1, entries); /* the ring could not grow */
		CHECK_EQ(d.spill.count, 1000);
		for (uint32_t i = 0; i < entries + 1000; i++) {
			CHECK(coroi_deque_pop(&d) == coroi_runnable_started(&r[i]));
			if (i == entries / 2) { /* a runnable that comes now comes last */
				coroi_deque_push(&d, coroi_runnable_started(&r[entries + 1000]));
				CHECK_EQ(d.spill.count, 1001);
			}
		}
		CHECK(coroi_deque_pop(&d) == coroi_runnable_started(&r[entries + 1000]));
		CHECK_EQ(coroi_deque_pop(&d), 0);
		CHECK_EQ(coroi_deque_length(&d), 0);
		/* one more than the ring has room for: the ring grows */
		for (uint32_t i = 0; i < entries + 1; i++)
			coroi_deque_push(&d, coroi_runnable_started(&r[i]));
		CHECK_EQ(d.spill.count, 0);
		for (uint32_t i = 0; i < entries + 1; i++)
			CHECK(coroi_deque_pop(&d) == coroi_runnable_started(&r[i]));
	}
	coroi_deque_destroy(&d);
	free(r);
}

static void nothing(void *arg, void *result)
{
	(void)arg;
	(void)result;
}

/* new_runnable - the i-th, without a record; every other one has an argument. */
static uint64_t new_runnable(uint32_t i)
{
	return coroi_runnable_new(nothing, i % 12, i % 2, i % 3 == 0);
}

/* A trim keeps what is in the queue in its order, with its argument. Without memory a trim keeps
 * the ring, too. */
TEST(deque_trim_keeps_what_is_there)
{
	struct coroi_deque d;
	struct coroi_rec *r = records(MANY);

	CHECK_EQ(coroi_deque_init(&d), CORO_OK);
	CHECK_EQ(coroi_deque_trim(&d), 0);
	uint32_t least = d.mask + 1;
	d.head = UINT32_MAX - 3000; /* so that the count wraps around */
	for (uint32_t i = 0; i < MANY; i++) {
		if (i % 3 == 0)
			coroi_deque_push(&d, coroi_runnable_fresh(&r[i]));
		else
			CHECK(coroi_deque_push_new(&d, new_runnable(i), 7 * i));
	}
	uint32_t grown = d.mask + 1;
	CHECK(grown > MANY);
	CHECK_EQ(coroi_deque_trim(&d), 0); /* the ring is not much too large */
	for (uint32_t i = 0; i < MANY; i++) {
		uint64_t runnable = coroi_deque_pop(&d);
		CHECK(runnable == (i % 3 ? new_runnable(i) : coroi_runnable_fresh(&r[i])));
		if (i % 3 && i % 2)
			CHECK_EQ(*coroi_deque_popped_arg(&d), 7 * i);
		if (i % 500)
			continue;
		uint32_t entries = d.mask + 1, left = MANY - 1 - i;
		fail_alloc = fail_map = 0;
		CHECK_EQ(coroi_deque_trim(&d), 0);
		fail_alloc = fail_map = -1;
		CHECK_EQ(d.mask + 1, entries);
		size_t gone = coroi_deque_trim(&d);
		CHECK_EQ(gone, 16 * (entries - d.mask - 1));
		CHECK(d.mask + 1 >= 2 * left || d.mask + 1 == grown);
		CHECK(d.mask + 1 == least || d.mask + 1 < 4 * left);
		CHECK_EQ(coroi_deque_length(&d), left);
	}
	CHECK_EQ(coroi_deque_pop(&d), 0);
	coroi_deque_trim(&d);
	CHECK_EQ(d.mask + 1, least);
	coroi_deque_destroy(&d);
	free(r);
}

/* Arguments stay with their runnables through growth, from the front and from the back, with
 * records in between. */
TEST(deque_keeps_arguments)
{
	enum { N = 3000 };
	struct coroi_worker *w = aligned_alloc(COROI_APART, sizeof *w);
	struct coro_scheduler *s = aligned_alloc(COROI_APART, sizeof *s);
	struct coroi_rec *r = records(N);
	struct coroi_steal_entry steal_buf[COROI_STEAL_MAX];
	struct coroi_deque *d = &w->queue;
	uint32_t front = 0, back = N, n;

	memset(w, 0, sizeof *w);
	memset(s, 0, sizeof *s);
	s->workers = 1;
	s->steal_batch = COROI_STEAL_MAX;
	w->sched = s;
	CHECK_EQ(coroi_deque_init(d), CORO_OK);
	d->head = UINT32_MAX - 10;
	for (uint32_t i = 0; i < N; i++) {
		if (i % 5 == 0)
			coroi_deque_push(d, coroi_runnable_fresh(&r[i]));
		else
			CHECK(coroi_deque_push_new(d, new_runnable(i), 7 * i));
	}
	while (front < back) {
		uint64_t runnable = coroi_deque_pop(d);
		CHECK(runnable ==
		      (front % 5 ? new_runnable(front) : coroi_runnable_fresh(&r[front])));
		if (front % 5 && front % 2)
			CHECK_EQ(*coroi_deque_popped_arg(d), 7 * front);
		/* put it at the back: it is at the front again */
		if (back - front == 1 && front % 5) {
			coroi_deque_defer(d, runnable);
			CHECK_EQ(coroi_deque_length(d), 1);
			CHECK(coroi_deque_pop(d) == runnable);
			if (front % 2)
				CHECK_EQ(*coroi_deque_popped_arg(d), 7 * front);
		}
		front++;
		n = coroi_deque_give(w, 9, steal_buf, back - front < 3 ? back - front : 3);
		for (uint32_t i = 0; i < n; i++) {
			back--;
			CHECK(steal_buf[i].runnable ==
			      (back % 5 ? new_runnable(back) : coroi_runnable_fresh(&r[back])));
			if (back % 5 && back % 2)
				CHECK_EQ(steal_buf[i].arg, 7 * back);
			CHECK_EQ(r[back].home, back % 5 ? 0 : 9);
		}
		CHECK_EQ(coroi_deque_length(d), back - front);
	}
	/* No memory to grow: runnables without a record are refused, and nothing has changed. */
	uint32_t entries = d->mask + 1;
	for (uint32_t i = 0; i < entries; i++)
		CHECK(coroi_deque_push_new(d, new_runnable(1), i));
	fail_map = 0;
	CHECK(!coroi_deque_push_new(d, new_runnable(1), 1));
	fail_map = 0;
	r[0].state = COROI_FRESH;
	coroi_deque_push(d, coroi_runnable_fresh(&r[0]));
	coroi_deque_push(d, coroi_runnable_started(&r[1]));
	CHECK(!coroi_deque_push_new(d, new_runnable(1), 1)); /* the new runnable would overtake */
	CHECK_EQ(coroi_deque_length(d), entries + 2);
	for (uint32_t i = 0; i < entries; i++) {
		CHECK(coroi_deque_pop(d) == new_runnable(1));
		CHECK_EQ(*coroi_deque_popped_arg(d), i);
	}
	CHECK(coroi_deque_pop(d) == coroi_runnable_fresh(&r[0]));
	CHECK(coroi_deque_pop(d) == coroi_runnable_started(&r[1]));
	CHECK_EQ(coroi_deque_pop(d), 0);
	coroi_deque_destroy(d);
	free(r);
	free(s);
	free(w);
}

static struct coroi_worker *worker(uint32_t batch)
{
	struct coroi_worker *w = aligned_alloc(COROI_APART, sizeof *w);
	struct coro_scheduler *s = aligned_alloc(COROI_APART, sizeof *s);

	memset(w, 0, sizeof *w);
	memset(s, 0, sizeof *s);
	s->steal_batch = batch;
	s->worker = w;
	s->workers = 1;
	w->sched = s;
	CHECK_EQ(coroi_deque_init(&w->queue), CORO_OK);
	return w;
}

static void worker_free(struct coroi_worker *w)
{
	coroi_deque_destroy(&w->queue);
	free(w->sched);
	free(w);
}

/* What is put behind the first n moves them, with their arguments. Once the arguments stayed, where
 * a thief had taken some of those that were put so before, and spawns had come in their place. */
TEST(deque_put_near_keeps_arguments)
{
	enum { FEW = 40 };
	struct coroi_deque d;
	struct coroi_rec *r = records(FEW);

	CHECK_EQ(coroi_deque_init(&d), CORO_OK);
	d.head = UINT32_MAX - 20; /* so that the count wraps around */
	for (uint32_t n = 0; n <= FEW; n++) {
		for (uint32_t i = 0; i < FEW; i++)
			if (i % 5 == 0)
				coroi_deque_push(&d, coroi_runnable_fresh(&r[i]));
			else
				CHECK(coroi_deque_push_new(&d, new_runnable(i), 7 * i + n));
		coroi_deque_put_near(&d, n, coroi_runnable_started(&r[1]));
		CHECK_EQ(coroi_deque_length(&d), FEW + 1);
		for (uint32_t i = 0; i < FEW; i++) {
			if (i == n)
				CHECK(coroi_deque_pop(&d) == coroi_runnable_started(&r[1]));
			uint64_t runnable = coroi_deque_pop(&d);
			CHECK(runnable == (i % 5 ? new_runnable(i) : coroi_runnable_fresh(&r[i])));
			if (i % 5 && i % 2)
				CHECK_EQ(*coroi_deque_popped_arg(&d), 7 * i + n);
		}
		CHECK(n < FEW || coroi_deque_pop(&d) == coroi_runnable_started(&r[1]));
		CHECK_EQ(coroi_deque_pop(&d), 0);
	}
	coroi_deque_destroy(&d);
	free(r);
}

TEST(deque_gives_from_the_back)
{
	for (uint32_t batch = 1; batch <= COROI_STEAL_MAX; batch++) {
		struct coroi_worker *w = worker(batch);
		struct coroi_rec *r = records(300);
		struct coroi_steal_entry out[COROI_STEAL_MAX];

		for (uint32_t i = 0; i < 300; i++)
			coroi_deque_push(&w->queue, coroi_runnable_started(&r[i]));
		for (uint32_t i = 0; i < 50; i++)
			CHECK(coroi_deque_pop(&w->queue) == coroi_runnable_started(&r[i]));
		uint32_t back = 300;
		for (uint32_t want = 0; want < 10; want++) {
			uint32_t n = coroi_deque_give(w, 7, out, want);
			CHECK_EQ(n, want < batch ? want : batch);
			for (uint32_t i = 0; i < n; i++) {
				CHECK(out[i].runnable == coroi_runnable_started(&r[--back]));
				CHECK_EQ(r[back].home, 7);
			}
			CHECK_EQ(coroi_deque_length(&w->queue), back - 50);
		}
		for (uint32_t i = 50; i < back; i++) {
			struct coroi_rec *got = coroi_runnable_resumed(coroi_deque_pop(&w->queue));
			CHECK(got == &r[i]);
			CHECK_EQ(got->home, 0);
		}
		CHECK_EQ(coroi_deque_give(w, 7, out, 0), 0);
		worker_free(w);
		free(r);
	}
}

/* With some in the ring and some in the spill, every runnable is given once. */
TEST(deque_gives_what_did_not_fit)
{
	struct coroi_worker *w = worker(COROI_STEAL_MAX);
	uint32_t entries = w->queue.mask + 1, n, sum = 0;
	struct coroi_rec *r = records(entries + 200);
	struct coroi_steal_entry out[COROI_STEAL_MAX];

	for (uint32_t i = 0; i < entries + 200; i++) {
		fail_alloc = i == entries ? 0 : -1;
		coroi_deque_push(&w->queue, coroi_runnable_started(&r[i]));
	}
	CHECK_EQ(w->queue.spill.count, 200);
	while ((n = coroi_deque_length(&w->queue))) {
		uint32_t got = coroi_deque_give(w, 3, out, n);
		CHECK_EQ(got, n < COROI_STEAL_MAX ? n : COROI_STEAL_MAX);
		for (uint32_t i = 0; i < got; i++) {
			CHECK_EQ(coroi_runnable_record(out[i].runnable)->home, 3);
			CHECK_EQ(coroi_runnable_record(out[i].runnable)->permits++, 0);
		}
		sum += got;
	}
	CHECK_EQ(sum, entries + 200);
	worker_free(w);
	free(r);
}

/* Pinned runnables stay; they keep their order as long as all are in the ring. */
TEST(deque_keeps_what_is_pinned)
{
	for (uint32_t spilled = 0; spilled <= 100; spilled += 100) {
		struct coroi_worker *w = worker(COROI_STEAL_MAX);
		uint32_t entries = w->queue.mask + 1, all = entries + spilled, n, sum = 0,
			 pinned = 0, before = 0;
		struct coroi_rec *r = records(all);
		struct coroi_steal_entry out[COROI_STEAL_MAX];

		for (uint32_t i = 0; i < all; i++) {
			fail_alloc = i == entries ? 0 : -1;
			r[i].flags = i % 3 ? COROI_F_PINNED : 0;
			pinned += i % 3 != 0;
			coroi_deque_push(&w->queue, coroi_runnable_started(&r[i]));
		}
		CHECK_EQ(w->queue.spill.count, spilled);
		while ((n = coroi_deque_give(w, 3, out, 7))) {
			CHECK(n <= 7);
			for (uint32_t i = 0; i < n; i++) {
				CHECK_EQ(coroi_runnable_record(out[i].runnable)->home, 3);
				CHECK_EQ(coroi_runnable_record(out[i].runnable)->flags, 0);
				CHECK_EQ(coroi_runnable_record(out[i].runnable)->permits++, 0);
			}
			sum += n;
			CHECK_EQ(coroi_deque_length(&w->queue), all - sum);
		}
		CHECK_EQ(sum, all - pinned);
		for (uint64_t runnable; (runnable = coroi_deque_pop(&w->queue)); pinned--) {
			struct coroi_rec *got = coroi_runnable_record(runnable);
			CHECK_EQ(got->home, 0);
			CHECK_EQ(got->flags, COROI_F_PINNED);
			CHECK_EQ(got->permits++, 0);
			CHECK(spilled || got - r > before || before == 0);
			before = (uint32_t)(got - r);
		}
		CHECK_EQ(pinned, 0);
		worker_free(w);
		free(r);
	}
}

/* ------------------------------------------------------------------------------------ the inbox */

struct pusher {
	struct coroi_worker *w;
	struct coroi_rec *r;
	uint32_t n, kind;
};

static void *pushes(void *arg)
{
	struct pusher *p = arg;

	for (uint32_t i = 0; i < p->n; i++)
		coroi_inbox_push(p->w, (uintptr_t)&p->r[i] | p->kind);
	return NULL;
}

/* Every node arrives once, and those of one thread in its order. */
TEST(deque_inbox_keeps_order)
{
	enum { PUSHERS = 4 };
	struct coroi_worker *w = worker(1);
	struct pusher p[PUSHERS];
	pthread_t t[PUSHERS];
	uint32_t seen[PUSHERS] = {0}, sum = 0, n = (uint32_t)scaled(200000);
	struct coroi_rec *r = records(PUSHERS * n);

	CHECK_EQ(coroi_inbox_take(w), 0);
	for (uint32_t i = 0; i < PUSHERS; i++) {
		p[i] = (struct pusher){w, r + i * n, n, i & 1 ? COROI_NODE_WAKE : COROI_NODE_SPAWN};
		for (uint32_t k = 0; k < n; k++)
			p[i].r[k].permits = k;
		thread_start(&t[i], pushes, &p[i]);
	}
	while (sum < PUSHERS * n) {
		for (uint64_t node = coroi_inbox_take(w), next; node; node = next) {
			struct coroi_rec *got =
				(struct coroi_rec *)(uintptr_t)(node & ~(uint64_t)COROI_NODE_KIND);
			uint32_t from = (uint32_t)((got - r) / n);
			next = *coroi_node_link(node);
			CHECK_EQ(node & COROI_NODE_KIND, p[from].kind);
			CHECK_EQ(got->permits, seen[from]++);
			sum++;
		}
	}
	CHECK_EQ(coroi_inbox_take(w), 0);
	for (int i = 0; i < PUSHERS; i++)
		thread_join(t[i]);
	worker_free(w);
	free(r);
}
