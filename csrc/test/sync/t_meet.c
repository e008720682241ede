/*
 * t_meet.c - goroutines that spin at a channel without room, with a stand-in for Go: the leaves of
 * gochan.h, and steps WTQ4 and WTQ5 of waitq.h. The sanitizers' builds have no leaves.
 */
#include "test.h"

#include "border/gobell.h"
#include "sync/gochan.h"

#include <string.h>

#if COROI_LEAVES
static coro_scheduler *s;

/* goroutine - one with an id, which may send the value. */
static struct coroi_gowaiter *goroutine(uint32_t id, uint64_t value)
{
	struct coroi_gowaiter *g = coroi_gowaiter_new(s, id, NULL, 0, COROI_LEAF_BYTES);

	CHECK(g);
	g->x.own = value;
	return g;
}

static bool met(struct coroi_gowaiter *g)
{
	return at_load_acq(&g->x.event) == COROI_EVENT_FIRED;
}

/* takes_back - g spins no more. False: it is met. */
static bool takes_back(struct coroi_gowaiter *g)
{
	uint32_t spins = COROI_EVENT_SPINS;
	return at_cas(&g->x.event, &spins, COROI_EVENT_NONE);
}

/* heard - are there goroutines that were woken? */
static bool heard(void)
{
	return at_xchg(coroi_gowaiters(s), 0) != 0;
}

TEST(chan_meet_by_leaves)
{
	struct coroi_gowaiter *a, *b;
	uint64_t got = 0, v = 5;
	coro_chan *c;

	s = start_with(1, 0);
	a = goroutine(1, 7), b = goroutine(2, 0);
	CHECK_EQ(coro_chan_new(&c, 8, 0, 0), CORO_OK);

	CHECK_EQ(coroi_chan_send_spin_leaf(c, a), COROI_WAITS);
	CHECK(!met(a));
	CHECK_EQ(coro_chan_free(c), CORO_EBUSY);
	CHECK_EQ(coroi_chan_recv_spin_leaf(c, b), CORO_OK);
	CHECK(met(a));
	CHECK_EQ(a->x.status, CORO_OK);
	CHECK_EQ(b->x.own, 7);

	CHECK_EQ(coroi_chan_recv_spin_leaf(c, b), COROI_WAITS);
	CHECK_EQ(coroi_chan_recv_leaf(c, &got), CORO_ETIMEDOUT);
	CHECK_EQ(coroi_chan_send_leaf(c, &v), CORO_OK);
	CHECK(met(b));
	CHECK_EQ(b->x.own, 5);
	CHECK(!takes_back(b));
	CHECK_EQ(coroi_chan_send_leaf(c, &v), CORO_ETIMEDOUT);

	/* in order */
	a->x.own = 8, b->x.own = 9;
	CHECK_EQ(coroi_chan_send_spin_leaf(c, a), COROI_WAITS);
	CHECK_EQ(coroi_chan_send_spin_leaf(c, b), COROI_WAITS);
	CHECK_EQ(coroi_chan_recv_leaf(c, &got), CORO_OK);
	CHECK_EQ(got, 8);
	CHECK(met(a) && !met(b));
	CHECK_EQ(coro_chan_recv(c, &got, 0), CORO_OK); /* by a call */
	CHECK_EQ(got, 9);
	CHECK(met(b));

	CHECK_EQ(coroi_chan_recv_spin_leaf(c, a), COROI_WAITS);
	CHECK_EQ(coroi_chan_recv_spin_leaf(c, b), COROI_WAITS);
	CHECK_EQ(coro_chan_close(c), CORO_OK);
	CHECK(met(a) && met(b));
	CHECK_EQ(a->x.status, CORO_ECLOSED);
	CHECK_EQ(b->x.status, CORO_ECLOSED);
	CHECK_EQ(coroi_chan_recv_spin_leaf(c, a), CORO_ECLOSED);
	CHECK_EQ(coroi_chan_send_spin_leaf(c, a), CORO_ECLOSED);
	CHECK(!heard()); /* none of all this is a wake */
	coroi_gowaiter_free(a);
	coroi_gowaiter_free(b);
	CHECK_EQ(coro_chan_free(c), CORO_OK);
	finish(s);
}

/* A goroutine that spins no more is woken, and that is no matter of a leaf. */
TEST(chan_meet_that_was_taken_back)
{
	struct coroi_gowaiter *a, *b;
	uint64_t got = 0, v = 6;
	coro_chan *c;

	s = start_with(1, 0);
	a = goroutine(1, 7), b = goroutine(2, 8);
	CHECK_EQ(coro_chan_new(&c, 8, 0, 0), CORO_OK);
	CHECK_EQ(coroi_chan_send_spin_leaf(c, a), COROI_WAITS);
	CHECK_EQ(coroi_chan_send_spin_leaf(c, b), COROI_WAITS);
	CHECK(takes_back(a));
	CHECK_EQ(coroi_chan_recv_leaf(c, &got), COROI_BY_CALL); /* b comes after a */
	CHECK_EQ(got, 0);
	CHECK(!met(b));
	CHECK_EQ(coro_chan_recv(c, &got, 0), CORO_OK);
	CHECK_EQ(got, 7);
	CHECK(heard());
	CHECK_EQ(a->fired, 1);
	CHECK_EQ(coroi_chan_recv_leaf(c, &got), CORO_OK);
	CHECK_EQ(got, 8);

	CHECK_EQ(coroi_chan_recv_spin_leaf(c, a), COROI_WAITS);
	CHECK_EQ(a->fired, 0);
	CHECK(takes_back(a));
	CHECK(coroi_gowaiter_withdraw(a));
	CHECK_EQ(coroi_chan_send_leaf(c, &v), CORO_ETIMEDOUT);

	CHECK_EQ(coroi_chan_recv_spin_leaf(c, a), COROI_WAITS);
	CHECK_EQ(coroi_chan_recv_spin_leaf(c, b), COROI_WAITS);
	CHECK_EQ(coro_chan_free(c), CORO_EBUSY);
	CHECK(takes_back(a) && takes_back(b));
	CHECK(coroi_gowaiter_withdraw(a) && coroi_gowaiter_withdraw(b));
	CHECK(!heard());
	CHECK_EQ(coro_chan_free(c), CORO_OK);
	coroi_gowaiter_free(a);
	coroi_gowaiter_free(b);
	finish(s);
}

TEST(chan_meet_of_all_sizes)
{
	s = start_with(1, 0);
	for (size_t bytes = 0; bytes <= COROI_LEAF_BYTES + 1; bytes++) {
		struct coroi_gowaiter *g = goroutine(1, 0);
		unsigned char sent[COROI_LEAF_BYTES + 1], got[COROI_LEAF_BYTES + 1] = {0};
		coro_chan *c;

		memset(sent, (int)bytes + 1, sizeof sent);
		CHECK_EQ(coro_chan_new(&c, bytes, 0, 0), CORO_OK);
		void *value = bytes <= COROI_OWN_BYTES ? (void *)&g->x.own : g->value;
		if (bytes > COROI_LEAF_BYTES) {
			CHECK_EQ(coroi_chan_send_spin_leaf(c, g), COROI_BY_CALL);
		} else {
			memcpy(value, sent, bytes);
			CHECK_EQ(coroi_chan_send_spin_leaf(c, g), COROI_WAITS);
			CHECK_EQ(coroi_chan_recv_leaf(c, got), CORO_OK);
			CHECK(!memcmp(got, sent, bytes));
			CHECK_EQ(coroi_chan_recv_spin_leaf(c, g), COROI_WAITS);
			CHECK_EQ(coroi_chan_send_leaf(c, sent), CORO_OK);
			CHECK(!memcmp(value, sent, bytes));
		}
		CHECK_EQ(coro_chan_free(c), CORO_OK);
		coroi_gowaiter_free(g);
	}
	finish(s);
}

/* ---------------------------------------------------------------------- by many, and impatient */

#define VALUES 20000

static coro_chan *shared;
static uint64_t received, sum; /* atomic */

static void got_value(uint64_t v)
{
	at_add(&received, 1);
	at_add(&sum, v);
}

/* impatient - a goroutine that receives; it spins for a moment only, and then gives up. */
static void *impatient(void *arg)
{
	struct coroi_gowaiter *g = arg;
	uint32_t spins = 0;

	for (;;) {
		int status = coroi_chan_recv_spin_leaf(shared, g);
		if (status == COROI_BY_CALL &&
		    (status = coro_chan_recv(shared, &g->x.own, 0)) == CORO_ETIMEDOUT)
			continue;
		if (status == COROI_WAITS) {
			for (uint32_t i = 0; i < spins && !met(g); i++)
				at_relax();
			spins = (spins + 7) % 61;
			if (takes_back(g)) {
				if (coroi_gowaiter_withdraw(g))
					continue;
				while (!at_load_acq(&g->fired))
					at_relax();
			}
			status = g->x.status;
		}
		if (status == CORO_ECLOSED)
			break;
		CHECK_EQ(status, CORO_OK);
		got_value(g->x.own);
	}
	return NULL;
}

static void sends(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (uint64_t i = 1; i <= VALUES; i++) {
		int status;
		/* a deadline: the waiter does not spin */
		do
			status = coro_chan_send(shared, &i,
						i % 3 ? CORO_FOREVER : coro_now() + 1000);
		while (status == CORO_ETIMEDOUT);
		CHECK_EQ(status, CORO_OK);
	}
}

TEST(chan_meet_impatient)
{
	struct coroi_gowaiter *g[2];
	pthread_t thread[2];

	received = sum = 0;
	s = start_with(1, 0);
	CHECK_EQ(coro_chan_new(&shared, 8, 0, 0), CORO_OK);
	for (uint32_t i = 0; i < 2; i++) {
		spawn(s, sends, NULL, 0);
		g[i] = goroutine(i, 0);
		thread_start(&thread[i], impatient, g[i]);
	}
	sleep_until_seen(&received, 2 * VALUES);
	CHECK_EQ(coro_chan_close(shared), CORO_OK);
	for (int i = 0; i < 2; i++)
		thread_join(thread[i]);
	CHECK_EQ(sum, (uint64_t)VALUES * (VALUES + 1));
	heard();
	for (int i = 0; i < 2; i++)
		coroi_gowaiter_free(g[i]);
	CHECK_EQ(coro_chan_free(shared), CORO_OK);
	finish(s);
}
#endif
