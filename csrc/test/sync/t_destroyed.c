/*
 * t_destroyed.c - channels of Go's, and once: after their end each call is CORO_EINVAL, as long as
 * the memory is there. The other objects: t_object.c.
 */
#include "sync/gochan.h"
#include "test.h"

static void nothing(void *arg)
{
	CHECK(!arg);
}

/* destroyed - c, with or without room, is Go's: it is destroyed, and its memory stays. */
static void destroyed(size_t capacity)
{
	coro_chan *c, *other;
	uint64_t v = 7;

	CHECK_EQ(coro_chan_new(&c, 8, capacity, 0), CORO_OK);
	coroi_chan_keep(c);
	struct coroi_gowaiter *g = coroi_gowaiter_new(NULL, 0, NULL, 0, 8); /* never woken */
	CHECK(g);
	CHECK_EQ(coroi_chan_recv_gowaiter(c, g), COROI_WAITS);
	CHECK_EQ(coroi_chan_destroy(c), CORO_EBUSY);
	CHECK(coroi_gowaiter_withdraw(g));
	CHECK_EQ(coro_chan_send(c, &v, 0), capacity ? CORO_OK : CORO_ETIMEDOUT);
	CHECK_EQ(coroi_chan_destroy(c), CORO_OK);
	CHECK_EQ(coroi_chan_destroy(c), CORO_EINVAL);
	CHECK_EQ(coro_chan_free(c), CORO_EINVAL);
	CHECK_EQ(coro_chan_close(c), CORO_EINVAL);
	CHECK_EQ(coro_chan_length(c), 0);
	CHECK_EQ(coro_chan_recv(c, &v, 0), CORO_EINVAL);
	CHECK_EQ(coro_chan_recv(c, &v, CORO_FOREVER), CORO_EINVAL);
	CHECK_EQ(coro_chan_send(c, &v, 0), CORO_EINVAL);
	CHECK_EQ(coro_chan_send(c, &v, CORO_FOREVER), CORO_EINVAL);
	CHECK(coroi_chan_recv_leaf(c, &v) != CORO_OK);
	CHECK(coroi_chan_send_leaf(c, &v) != CORO_OK);
	CHECK_EQ(coroi_chan_send_gowaiter(c, g), CORO_EINVAL);
	CHECK_EQ(coroi_chan_recv_gowaiter(c, g), CORO_EINVAL);
	coroi_gowaiter_free(g);
	CHECK_EQ(coro_chan_new(&other, 8, 1, 0), CORO_OK);
	coro_case cases[] = {{.chan = other, .recv = &v}, {.chan = c, .send = &v}};
	CHECK_EQ(coro_select(cases, 2, 0), CORO_EINVAL);
	CHECK_EQ(coro_select(cases, 2, CORO_FOREVER), CORO_EINVAL);
	CHECK_EQ(coro_chan_free(other), CORO_OK);
	CHECK_EQ(v, 7);
	coroi_chan_release(c);
}

TEST(cond_of_a_mutex_that_was_destroyed)
{
	coro_mutex m = {{0}};
	coro_cond c = {{0}};

	CHECK_EQ(coro_cond_wait(&c, &m, 0), CORO_EPERM); /* the caller does not hold it */
	CHECK_EQ(coro_mutex_destroy(&m), CORO_OK);
	CHECK_EQ(coro_cond_wait(&c, &m, 0), CORO_EINVAL);
	CHECK_EQ(coro_cond_wait(&c, &m, CORO_FOREVER), CORO_EINVAL);
}

TEST(chan_and_once_are_destroyed_for_go)
{
	coro_once o = {{0}};

	destroyed(0);
	destroyed(2);
	CHECK_EQ(coro_once_do(&o, nothing, NULL, 0), CORO_OK);
	CHECK_EQ(coro_once_destroy(&o), CORO_OK);
	CHECK_EQ(coro_once_do(&o, nothing, NULL, CORO_FOREVER), CORO_EINVAL);
	CHECK_EQ(coro_once_destroy(NULL), CORO_EINVAL);
}
