/*
 * t_chan_misuse.c - channels and select: each misuse is told, and changes nothing.
 */
#include "test.h"

static uint64_t done;

static void misuse(void *arg, void *result)
{
	coro_chan *c = NULL;
	uint64_t v = 7;
	(void)arg;
	(void)result;

	CHECK_EQ(coro_chan_new(NULL, 8, 1, 0), CORO_EINVAL);
	CHECK_EQ(coro_chan_new(&c, CORO_ELEMENT_MAX + 1, 1, 0), CORO_EINVAL);
	CHECK_EQ(coro_chan_new(&c, 8, 1, 2), CORO_EINVAL);
	CHECK_EQ(coro_chan_new(&c, 8, 1, CORO_HOME), CORO_EPERM);
	CHECK_EQ(coro_chan_new(&c, 8, SIZE_MAX, 0), CORO_ENOMEM);
	CHECK_EQ(coro_chan_new(&c, 8, SIZE_MAX / 8, 0), CORO_ENOMEM);
	CHECK_EQ(coro_chan_new(&c, 0, CORO_CAPACITY_MAX + 1, 0), CORO_EINVAL);
	fail_alloc = 0;
	CHECK_EQ(coro_chan_new(&c, 8, 1, 0), CORO_ENOMEM);
	CHECK(!c);
	CHECK_EQ(coro_chan_free(NULL), CORO_OK);
	CHECK_EQ(coro_chan_close(NULL), CORO_EINVAL);
	CHECK_EQ(coro_chan_send(NULL, &v, 0), CORO_EINVAL);
	CHECK_EQ(coro_chan_recv(NULL, &v, 0), CORO_EINVAL);
	CHECK_EQ(coro_chan_length(NULL), 0);
	CHECK_EQ(coro_chan_capacity(NULL), 0);
	CHECK_EQ(coro_chan_element_bytes(NULL), 0);

	c = channel(8, 2);
	CHECK_EQ(coro_chan_send(c, NULL, 0), CORO_EINVAL);
	CHECK_EQ(coro_chan_recv(c, NULL, 0), CORO_EINVAL);
	CHECK_EQ(coro_chan_recv(c, &v, 0), CORO_ETIMEDOUT);
	CHECK_EQ(coro_chan_recv(c, &v, 1), CORO_ETIMEDOUT);
	CHECK_EQ(coro_chan_recv(c, &v, coro_now() + MS), CORO_ETIMEDOUT);
	CHECK_EQ(v, 7);
	for (v = 1; v <= 2; v++)
		CHECK_EQ(coro_chan_send(c, &v, 0), CORO_OK);
	CHECK_EQ(coro_chan_send(c, &v, 0), CORO_ETIMEDOUT);
	CHECK_EQ(coro_chan_send(c, &v, 1), CORO_ETIMEDOUT);
	CHECK_EQ(coro_chan_send(c, &v, coro_now() + MS), CORO_ETIMEDOUT);
	CHECK_EQ(coro_chan_length(c), 2);
	CHECK_EQ(coro_chan_close(c), CORO_OK);
	CHECK_EQ(coro_chan_close(c), CORO_ECLOSED);
	CHECK_EQ(coro_chan_send(c, &v, CORO_FOREVER), CORO_ECLOSED);
	for (uint64_t i = 1; i <= 2; i++) { /* values in a closed channel are not lost */
		CHECK_EQ(coro_chan_recv(c, &v, CORO_FOREVER), CORO_OK);
		CHECK_EQ(v, i);
	}
	CHECK_EQ(coro_chan_recv(c, &v, CORO_FOREVER), CORO_ECLOSED);
	CHECK_EQ(coro_chan_free(c), CORO_OK);

	c = channel(8, 0);
	coro_chan *d = channel(8, 1);
	coro_case cases[CORO_CASES_MAX + 1] = {{.chan = c, .recv = &v}};
	CHECK_EQ(coro_select(NULL, 1, 0), CORO_EINVAL);
	CHECK_EQ(coro_select(cases, 0, CORO_FOREVER), CORO_EINVAL);
	for (int i = 1; i <= CORO_CASES_MAX; i++)
		cases[i] = cases[0];
	CHECK_EQ(coro_select(cases, CORO_CASES_MAX + 1, 0), CORO_EINVAL);
	CHECK_EQ(coro_select(cases, CORO_CASES_MAX, 0), CORO_ETIMEDOUT);
	CHECK_EQ(coro_select(cases, CORO_CASES_MAX, 1), CORO_ETIMEDOUT);
	CHECK_EQ(coro_select(cases, CORO_CASES_MAX, coro_now() + MS), CORO_ETIMEDOUT);
	cases[1] = (coro_case){.chan = d};
	CHECK_EQ(coro_select(cases, 2, 0), CORO_EINVAL); /* neither */
	cases[1] = (coro_case){.chan = d, .send = &v, .recv = &v};
	CHECK_EQ(coro_select(cases, 2, 0), CORO_EINVAL); /* both */
	cases[1] = (coro_case){.recv = &v};
	CHECK_EQ(coro_select(cases, 2, 0), CORO_EINVAL);
	cases[1] = (coro_case){.chan = d, .send = &v, .direction = 1};
	CHECK_EQ(coro_select(cases, 2, 0), CORO_EINVAL);
	CHECK_EQ(coro_chan_length(d), 0);
	/* Both directions of a channel without capacity: a select does not meet itself. */
	cases[1] = (coro_case){.chan = c, .send = &v};
	CHECK_EQ(coro_select(cases, 2, coro_now() + MS), CORO_ETIMEDOUT);
	CHECK_EQ(coro_select(cases, 2, 0), CORO_ETIMEDOUT);
	/* One case is ready: first there is room for a value, and then a value. */
	v = 41;
	cases[0] = (coro_case){.chan = d, .recv = &v, .status = 1};
	cases[1] = (coro_case){.chan = d, .send = &(uint64_t){42}, .status = 1};
	CHECK_EQ(coro_select(cases, 2, CORO_FOREVER), 1);
	CHECK_EQ(cases[1].status, CORO_OK);
	CHECK_EQ(cases[0].status, 1);
	CHECK_EQ(coro_select(cases, 2, CORO_FOREVER), 0);
	CHECK_EQ(v, 42);
	CHECK_EQ(coro_chan_close(d), CORO_OK);
	CHECK_EQ(coro_select(&cases[1], 1, 0), 0);
	CHECK_EQ(cases[1].status, CORO_ECLOSED);
	CHECK_EQ(coro_select(cases, 1, 0), 0);
	CHECK_EQ(cases[0].status, CORO_ECLOSED);
	CHECK_EQ(coro_chan_free(c), CORO_OK);
	CHECK_EQ(coro_chan_free(d), CORO_OK);
	__atomic_add_fetch(&done, 1, __ATOMIC_RELAXED);
}

TEST(chan_misuse_is_told)
{
	coro_options o = options(2, 0);
	o.stack_bytes = 4 * STACK;
	coro_scheduler *s = start(&o);

	misuse(NULL, NULL);
	for (int i = 0; i < 8; i++)
		spawn(s, misuse, NULL, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(done, 9);
	finish(s);
}
