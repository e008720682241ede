/*
 * t_deque.c - a worker's queue: order, growth, what does not fit, and what thieves get.
 */
#include "test.h"

#include "../deque.h"
#include "../inbox.h"

#include <stdlib.h>
#include <string.h>

#define MANY 5000

static struct coroi_rec *records(uint32_t n)
{
	struct coroi_rec *r = aligned_alloc(64, n * sizeof *r);
	memset(r, 0, n * sizeof *r);
	for (uint32_t i = 0; i < n; i++)
		r[i].mail_next = i;
	return r;
}

TEST(deque_is_first_in_first_out)
{
	struct coroi_deque d;
	struct coroi_rec *r = records(MANY);
	uint64_t seed = 1;
	uint32_t in = 0, out = 0;

	CHECK_EQ(coroi_deque_init(&d), CORO_OK);
	CHECK(coroi_deque_pop(&d) == NULL);
	d.head = UINT32_MAX - 100; /* it must run over */
	while (out < 20 * MANY) {
		bool push = rnd(&seed) % 100 < (in / MANY % 2 ? 40 : 60);
		if (push && in - out < MANY) {
			coroi_deque_push(&d, &r[in++ % MANY]);
		} else {
			struct coroi_rec *got = coroi_deque_pop(&d);
			CHECK((got != NULL) == (in != out));
			if (got)
				CHECK_EQ(got->mail_next, out++ % MANY);
		}
		CHECK_EQ(coroi_deque_length(&d), in - out);
	}
	coroi_deque_destroy(&d);
	free(r);
}

/* When the ring cannot grow nothing is lost, the order neither; and it grows again later. */
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
			coroi_deque_push(&d, &r[i]);
			CHECK_EQ(coroi_deque_length(&d), i + 1);
		}
		CHECK_EQ(d.mask + 1, entries); /* it did refuse to grow */
		CHECK_EQ(d.spill.count, 1000);
		for (uint32_t i = 0; i < entries + 1000; i++) {
			CHECK(coroi_deque_pop(&d) == &r[i]);
			if (i == entries / 2) { /* what comes now comes last */
				coroi_deque_push(&d, &r[entries + 1000]);
				CHECK_EQ(d.spill.count, 1001);
			}
		}
		CHECK(coroi_deque_pop(&d) == &r[entries + 1000]);
		CHECK(coroi_deque_pop(&d) == NULL);
		CHECK_EQ(coroi_deque_length(&d), 0);
		for (uint32_t i = 0; i < entries + 1; i++) /* one more than the ring has, and it grows */
			coroi_deque_push(&d, &r[i]);
		CHECK_EQ(d.spill.count, 0);
		for (uint32_t i = 0; i < entries + 1; i++)
			CHECK(coroi_deque_pop(&d) == &r[i]);
	}
	coroi_deque_destroy(&d);
	free(r);
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

TEST(deque_gives_from_the_back)
{
	for (uint32_t batch = 1; batch <= COROI_STEAL_MAX; batch++) {
		struct coroi_worker *w = worker(batch);
		struct coroi_rec *r = records(300), *out[COROI_STEAL_MAX];

		for (uint32_t i = 0; i < 300; i++)
			coroi_deque_push(&w->queue, &r[i]);
		for (uint32_t i = 0; i < 50; i++)
			CHECK(coroi_deque_pop(&w->queue) == &r[i]);
		uint32_t back = 300;
		for (uint32_t want = 0; want < 10; want++) {
			uint32_t n = coroi_deque_give(w, 7, out, want);
			CHECK_EQ(n, want < batch ? want : batch);
			for (uint32_t i = 0; i < n; i++) {
				CHECK(out[i] == &r[--back]);
				CHECK_EQ(out[i]->home, 7);
			}
			CHECK_EQ(coroi_deque_length(&w->queue), back - 50);
		}
		for (uint32_t i = 50; i < back; i++) {
			struct coroi_rec *got = coroi_deque_pop(&w->queue);
			CHECK(got == &r[i]);
			CHECK_EQ(got->home, 0);
		}
		CHECK_EQ(coroi_deque_give(w, 7, out, 0), 0);
		worker_free(w);
		free(r);
	}
}

/* With some in the ring and some that did not fit, every one is given once. */
TEST(deque_gives_what_did_not_fit)
{
	struct coroi_worker *w = worker(COROI_STEAL_MAX);
	uint32_t entries = w->queue.mask + 1, n, sum = 0;
	struct coroi_rec *r = records(entries + 200), *out[COROI_STEAL_MAX];

	for (uint32_t i = 0; i < entries + 200; i++) {
		fail_alloc = i == entries ? 0 : -1;
		coroi_deque_push(&w->queue, &r[i]);
	}
	CHECK_EQ(w->queue.spill.count, 200);
	while ((n = coroi_deque_length(&w->queue))) {
		uint32_t got = coroi_deque_give(w, 3, out, n);
		CHECK_EQ(got, n < COROI_STEAL_MAX ? n : COROI_STEAL_MAX);
		for (uint32_t i = 0; i < got; i++) {
			CHECK_EQ(out[i]->home, 3);
			CHECK_EQ(out[i]->permits++, 0);
		}
		sum += got;
	}
	CHECK_EQ(sum, entries + 200);
	worker_free(w);
	free(r);
}

/* ------------------------------------------------------------------------ the inbox */

struct pusher {
	struct coroi_worker *w;
	struct coroi_rec *r;
	uint32_t n, kind;
};

static void *pushes(void *arg)
{
	struct pusher *p = arg;

	for (uint32_t i = 0; i < p->n;) {
		uint32_t chain = 1 + i % 3; /* some at once, newest first */
		for (uint32_t k = 1; k < chain && i + k < p->n; k++)
			*coroi_node_link((uintptr_t)&p->r[i + k] | p->kind) = (uintptr_t)&p->r[i + k - 1] | p->kind;
		uint32_t last = i + chain <= p->n ? i + chain - 1 : p->n - 1;
		coroi_inbox_push(p->w, (uintptr_t)&p->r[last] | p->kind, (uintptr_t)&p->r[i] | p->kind);
		i = last + 1;
	}
	return NULL;
}

/* Everything arrives once, and what one thread pushed in the order in which it did. */
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
		p[i] = (struct pusher){w, r + i * n, n, i & 1 ? COROI_NODE_MAIL : COROI_NODE_SPAWN};
		for (uint32_t k = 0; k < n; k++)
			p[i].r[k].permits = k;
		thread_start(&t[i], pushes, &p[i]);
	}
	while (sum < PUSHERS * n) {
		for (uint64_t node = coroi_inbox_take(w), next; node; node = next) {
			struct coroi_rec *got = (struct coroi_rec *)(uintptr_t)(node & ~(uint64_t)COROI_NODE_KIND);
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
