/*
 * t_chan.c - channels and select.
 */
#include "test.h"

#include "sync/chan.h"

#include <stdlib.h>
#include <string.h>

static uint64_t received, sum, done;
static coro_chan *chan;

static void sends(void *arg, void *result)
{
	uint64_t n;
	(void)result;

	memcpy(&n, arg, 8);
	for (uint64_t i = 1; i <= n; i++)
		CHECK_EQ(coro_chan_send(chan, &i, CORO_FOREVER), CORO_OK);
	if (__atomic_sub_fetch(&done, 1, __ATOMIC_ACQ_REL) == 0)
		CHECK_EQ(coro_chan_close(chan), CORO_OK);
}

static void receives(void *arg, void *result)
{
	uint64_t v, n = 0, all = 0;
	int status;
	(void)arg;
	(void)result;

	while ((status = coro_chan_recv(chan, &v, CORO_FOREVER)) == CORO_OK) {
		n++;
		all += v;
	}
	CHECK_EQ(status, CORO_ECLOSED);
	__atomic_add_fetch(&received, n, __ATOMIC_RELAXED);
	__atomic_add_fetch(&sum, all, __ATOMIC_RELAXED);
}

static void pass(uint32_t workers, size_t capacity, int senders, int receivers, uint64_t n)
{
	coro_scheduler *s = start_with(workers, CORO_PAUSED);

	CHECK_EQ(coro_chan_new(&chan, 8, capacity, 0), CORO_OK);
	received = sum = 0;
	done = (uint64_t)senders;
	for (int i = 0; i < senders; i++)
		spawn(s, sends, &n, 8);
	for (int i = 0; i < receivers; i++)
		spawn(s, receives, NULL, 0);
	uint64_t began = now_ns();
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	report("%u workers, capacity %zu, %d to %d: %.1f ns a value", workers, capacity, senders,
	       receivers, (double)(now_ns() - began) / (double)(n * (uint64_t)senders));
	CHECK_EQ(received, n * (uint64_t)senders);
	CHECK_EQ(sum, n * (n + 1) / 2 * (uint64_t)senders);
	CHECK_EQ(coro_chan_free(chan), CORO_OK);
	finish(s);
}

TEST(chan_values_come_once_and_in_order)
{
	static const size_t capacity[] = {0, 1, 3, 64};
	for (uint32_t workers = 1; workers <= 3; workers++)
		for (unsigned i = 0; i < sizeof capacity / sizeof *capacity; i++) {
			pass(workers, capacity[i], 1, 1, scaled(100000));
			pass(workers, capacity[i], 3, 5, scaled(20000));
		}
}

static void receives_in_order(void *arg, void *result)
{
	uint64_t v, n = 0;
	(void)arg;
	(void)result;

	while (coro_chan_recv(chan, &v, CORO_FOREVER) == CORO_OK)
		CHECK_EQ(v, ++n);
	received = n;
}

/* The counts of a channel's ends are free-running, and have 32 bits. */
TEST(chan_counts_begin_anew)
{
	for (uint32_t workers = 1; workers <= 2; workers++)
		for (uint32_t capacity = 1; capacity <= 5; capacity += 2) {
			uint64_t n = scaled(20000);
			coro_scheduler *s = start_with(workers, CORO_PAUSED);
			CHECK_EQ(coro_chan_new(&chan, 8, capacity, 0), CORO_OK);
			chan->in.passed = chan->in.seen = chan->out.passed = chan->out.seen =
				UINT32_MAX - (uint32_t)n / 2;
			done = 1;
			spawn(s, sends, &n, 8);
			spawn(s, receives_in_order, NULL, 0);
			CHECK_EQ(coro_scheduler_run(s), CORO_OK);
			CHECK_EQ(received, n);
			CHECK(chan->in.passed < n && chan->in.passed == chan->out.passed);
			CHECK_EQ(coro_chan_free(chan), CORO_OK);
			finish(s);
		}
}

/* --------------------------------------------------------------------------------------- misuse */

#define MS UINT64_C(1000000)

static coro_chan *make(size_t bytes, size_t capacity)
{
	coro_chan *c = NULL;
	CHECK_EQ(coro_chan_new(&c, bytes, capacity, 0), CORO_OK);
	CHECK_EQ(coro_chan_capacity(c), capacity);
	return c;
}

static void *const one = &(uint64_t){0};

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

	c = make(8, 2);
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
	for (uint64_t i = 1; i <= 2; i++) { /* what was in it is not lost */
		CHECK_EQ(coro_chan_recv(c, &v, CORO_FOREVER), CORO_OK);
		CHECK_EQ(v, i);
	}
	CHECK_EQ(coro_chan_recv(c, &v, CORO_FOREVER), CORO_ECLOSED);
	CHECK_EQ(coro_chan_free(c), CORO_OK);

	c = make(8, 0);
	coro_chan *d = make(8, 1);
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
	cases[1] = (coro_case){.chan = d, .send = &v, .reserved = 1};
	CHECK_EQ(coro_select(cases, 2, 0), CORO_EINVAL);
	CHECK_EQ(coro_chan_length(d), 0);
	/* Both directions of one that has no room: nobody meets itself. */
	cases[1] = (coro_case){.chan = c, .send = &v};
	CHECK_EQ(coro_select(cases, 2, coro_now() + MS), CORO_ETIMEDOUT);
	CHECK_EQ(coro_select(cases, 2, 0), CORO_ETIMEDOUT);
	/* One of them can be done: room for one, and then something in it. */
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

/* ------------------------------------------------------------------------------ sizes of values */

struct sized {
	coro_chan *c;
	size_t bytes;
	uint64_t n;
};

static struct sized sized;

static void sends_sized(void *arg, void *result)
{
	unsigned char *value = malloc(sized.bytes + 1);
	(void)arg;
	(void)result;

	for (uint64_t i = 0; i < sized.n; i++) {
		memset(value, (int)(i & 0xff), sized.bytes + 1);
		CHECK_EQ(coro_chan_send(sized.c, sized.bytes ? value : NULL, CORO_FOREVER),
			 CORO_OK);
	}
	free(value);
	CHECK_EQ(coro_chan_close(sized.c), CORO_OK);
}

static void receives_sized(void *arg, void *result)
{
	unsigned char *value = malloc(sized.bytes + 1);
	uint64_t n = 0;
	(void)arg;
	(void)result;

	for (;; n++) {
		value[sized.bytes] = 99;
		coro_case k = {.chan = sized.c, .recv = sized.bytes || n % 4 == 1 ? value : NULL};
		if (n % 2)
			CHECK_EQ(coro_select(&k, 1, CORO_FOREVER), 0);
		else
			k.status = coro_chan_recv(sized.c, k.recv, CORO_FOREVER);
		if (k.status == CORO_ECLOSED)
			break;
		CHECK_EQ(k.status, CORO_OK);
		CHECK_EQ(value[sized.bytes], 99); /* not one byte more */
		for (size_t b = 0; b < sized.bytes; b++)
			if (value[b] != (n & 0xff))
				CHECK_EQ(value[b], n & 0xff);
	}
	CHECK_EQ(n, sized.n);
	free(value);
}

TEST(chan_values_of_all_sizes)
{
	static const size_t bytes[] = {0, 1, 7, 8, 9, 100, 4096, CORO_ELEMENT_MAX};
	static const size_t capacity[] = {0, 1, 5};

	for (uint32_t workers = 1; workers <= 2; workers++) {
		coro_scheduler *s = start_with(workers, CORO_PAUSED);
		for (unsigned i = 0; i < sizeof bytes / sizeof *bytes; i++)
			for (unsigned k = 0; k < sizeof capacity / sizeof *capacity; k++) {
				sized = (struct sized){make(bytes[i], capacity[k]), bytes[i],
						       bytes[i] > 1000 ? 50 : 500};
				spawn(s, sends_sized, NULL, 0);
				spawn(s, receives_sized, NULL, 0);
				CHECK_EQ(coro_scheduler_run(s), CORO_OK);
				CHECK_EQ(coro_chan_free(sized.c), CORO_OK);
			}
		finish(s);
	}
}

/* --------------------------------------------------------------------------- those who wait
 * there */

static coro_chan *two[2];

static void waits_for_one_of_two(void *arg, void *result)
{
	uint64_t v = 0, w = 0;
	coro_case cases[2] = {{.chan = two[0], .recv = &v}, {.chan = two[1], .recv = &w}};
	(void)arg;
	(void)result;

	CHECK_EQ(coro_select(cases, 2, CORO_FOREVER), 0);
	CHECK_EQ(v, 1);
	CHECK_EQ(w, 0);
	done++;
}

static void serves_and_frees(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_chan_free(two[1]), CORO_EBUSY);
	CHECK_EQ(coro_chan_send(two[0], &(uint64_t){1}, 0), CORO_OK);
	/* who waited there was served elsewhere */
	CHECK_EQ(coro_chan_send(two[1], &(uint64_t){2}, 0), CORO_ETIMEDOUT);
	/* and has not left yet */
	CHECK_EQ(coro_chan_free(two[1]), CORO_EBUSY);
	/* which has no more to do with it */
	CHECK_EQ(coro_chan_free(two[0]), CORO_OK);
	coro_yield();
	CHECK_EQ(done, 1);
	CHECK_EQ(coro_chan_free(two[1]), CORO_OK);
}

TEST(chan_is_not_freed_under_a_select)
{
	coro_scheduler *s = start_with(1, CORO_PAUSED);

	two[0] = make(8, 0);
	two[1] = make(8, 0);
	spawn(s, waits_for_one_of_two, NULL, 0);
	spawn(s, serves_and_frees, NULL, 0);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	finish(s);
}

static coro_chan *full, *empty;

static void waits_at(void *arg, void *result)
{
	uint64_t what, v = 5;
	int status;
	(void)result;

	memcpy(&what, arg, 8);
	coro_case cases[2] = {{.chan = full, .send = &v}, {.chan = empty, .recv = &v}};
	switch (what) {
	case 0:
		status = coro_chan_send(full, &v, CORO_FOREVER);
		break;
	case 1:
		status = coro_chan_recv(empty, &v, CORO_FOREVER);
		break;
	default:
		status = coro_select(cases, 2, CORO_FOREVER);
		if (status >= 0)
			status = cases[status].status;
	}
	CHECK(status == CORO_ECLOSED || status == CORO_ECANCELED);
	__atomic_add_fetch(status == CORO_ECLOSED ? &done : &received, 1, __ATOMIC_RELAXED);
}

static void *waits_as_thread(void *arg)
{
	waits_at(arg, NULL);
	return NULL;
}

/* All who wait are told, by a close of the channels, or one of the scheduler with cancel; and
 * nothing was sent. */
TEST(chan_close_tells_all)
{
	for (int cancel = 0; cancel < 2; cancel++) {
		coro_scheduler *s = start_with(2, 0);
		uint64_t what[3] = {0, 1, 2};
		pthread_t t[3];
		full = make(8, 1);
		empty = make(8, 1);
		done = received = 0;
		CHECK_EQ(coro_chan_send(full, one, 0), CORO_OK);
		for (int i = 0; i < 30; i++)
			spawn(s, waits_at, &what[i % 3], 8);
		until_waiting(s, 30);
		CHECK_EQ(coro_chan_free(full), CORO_EBUSY);
		CHECK_EQ(coro_chan_free(empty), CORO_EBUSY);
		if (cancel) {
			CHECK_EQ(coro_scheduler_close(s, 1), CORO_OK);
			CHECK_EQ(received, 30);
			CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
		} else {
			for (int i = 0; i < 3; i++)
				thread_start(&t[i], waits_as_thread, &what[i]);
			CHECK_EQ(coro_chan_close(full), CORO_OK);
			CHECK_EQ(coro_chan_close(empty), CORO_OK);
			for (int i = 0; i < 3; i++)
				thread_join(t[i]);
			CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
			CHECK_EQ(done, 33);
			finish(s);
		}
		CHECK_EQ(coro_chan_length(full), 1);
		CHECK_EQ(coro_chan_length(empty), 0);
		CHECK_EQ(coro_chan_free(full), CORO_OK);
		CHECK_EQ(coro_chan_free(empty), CORO_OK);
	}
}

/* --------------------------------------------------------------------- select with little of the
 * stack */

static uint64_t refused, waited;

/* It returns, or says that the stack is too small: it never touches the guard. */
static __attribute__((noinline)) int select_at_depth(coro_case *cases, size_t left,
						     uint64_t deadline)
{
	volatile char spent[64];

	spent[0] = 0;
	int status = coro_stack_left() > left + 200 ? select_at_depth(cases, left, deadline)
						    : coro_select(cases, CORO_CASES_MAX, deadline);
	spent[1] = spent[0];
	return status;
}

static void selects_at_all_depths(void *arg, void *result)
{
	uint64_t v;
	coro_chan *c = make(8, 0);
	coro_case cases[CORO_CASES_MAX];
	(void)arg;
	(void)result;

	for (int i = 0; i < CORO_CASES_MAX; i++)
		cases[i] = (coro_case){.chan = c, .recv = &v};
	for (size_t left = 600; left < 12000; left += 16) {
		/* the clock's first call wants more */
		int status = select_at_depth(cases, left, coro_now() + 50000);
		CHECK(status == CORO_ENOMEM || status == CORO_ETIMEDOUT);
		(*(status == CORO_ENOMEM ? &refused : &waited))++;
	}
	CHECK_EQ(coro_chan_free(c), CORO_OK);
}

static intptr_t selects_by_hand(void *arg, intptr_t first)
{
	uint64_t v;
	coro_case *cases = arg;
	(void)first;

	CHECK_EQ(select_at_depth(cases, 3000, CORO_FOREVER), CORO_ENOMEM);
	CHECK_EQ(coro_select(cases, 1, CORO_FOREVER), CORO_EPERM);
	CHECK_EQ(coro_select(cases, 1, 0), CORO_ETIMEDOUT);
	CHECK_EQ(coro_chan_send(cases[0].chan, one, CORO_FOREVER), CORO_EPERM);
	CHECK_EQ(coro_chan_recv(cases[0].chan, &v, CORO_FOREVER), CORO_EPERM);
	return 0;
}

TEST(chan_select_with_little_stack)
{
	coro_options o = options(1, CORO_PAUSED);
	o.stack_bytes = 32 << 10;
	coro_scheduler *s = start(&o);
	uint64_t v;
	coro_t *co;

	if (SANITIZED) /* frames have other sizes */
		return;
	spawn(s, selects_at_all_depths, NULL, 0);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK(refused > 0 && waited > 0);
	finish(s);

	coro_case cases[CORO_CASES_MAX] = {{.chan = make(8, 0), .recv = &v}};
	for (int i = 1; i < CORO_CASES_MAX; i++)
		cases[i] = cases[0];
	CHECK_EQ(coro_new(&co, selects_by_hand, cases, CORO_STACK_MIN), CORO_OK);
	CHECK_EQ(coro_resume(co, 0, NULL), CORO_FINISHED);
	CHECK_EQ(coro_free(co), CORO_OK);
	CHECK_EQ(coro_chan_free(cases[0].chan), CORO_OK);
}

/* -------------------------------------------------------------------------------- the order of
 * waking */

#define CAME 5

static struct {
	int first, ended;
} order;

static void waits_in_order(void *arg, void *result)
{
	int i;
	uint64_t v = 0;
	(void)result;

	memcpy(&i, arg, sizeof i);
	CHECK_EQ(order.first++, i);
	CHECK_EQ(coro_chan_recv(chan, &v, i & 1 ? CORO_FOREVER : coro_now() + 3600000 * MS),
		 CORO_ECLOSED);
	CHECK_EQ(order.ended++, i);
}

static void closes_after(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(order.first, CAME);
	CHECK_EQ(coro_chan_close(chan), CORO_OK);
	CHECK_EQ(order.ended, 0);
}

/* Without hand-overs they run in the order in which they were woken. */
TEST(chan_close_wakes_first_come_first)
{
	coro_options o = options(1, CORO_PAUSED);
	o.handover_budget = -1;
	coro_scheduler *s = start(&o);

	chan = make(8, 0);
	for (int i = 0; i < CAME; i++)
		spawn(s, waits_in_order, &i, sizeof i);
	spawn(s, closes_after, NULL, 0);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK_EQ(order.ended, CAME);
	CHECK_EQ(coro_chan_free(chan), CORO_OK);
	finish(s);
}

/* ------------------------------------------------------------------------------ bound to a
 * worker */

static coro_chan *home;

static void uses_home(int want)
{
	uint64_t v = 3;
	coro_case k = {.chan = home, .send = &v};

	CHECK_EQ(coro_chan_send(home, &v, 0), want);
	CHECK_EQ(coro_chan_length(home), want ? 0 : 1);
	CHECK_EQ(coro_chan_recv(home, &v, CORO_FOREVER), want);
	CHECK_EQ(coro_chan_recv(home, &v, 0), want ? want : CORO_ETIMEDOUT);
	CHECK_EQ(coro_select(&k, 1, CORO_FOREVER), want);
	CHECK_EQ(coro_chan_recv(home, &v, 0), want);
	if (want) {
		CHECK_EQ(coro_chan_close(home), want);
		CHECK_EQ(coro_chan_free(home), want);
	}
}

static void is_home(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_chan_new(&home, 8, 1, CORO_HOME), CORO_OK);
	uses_home(CORO_OK);
	CHECK_EQ(coro_unpin(), CORO_OK);
	uses_home(CORO_EPERM);
	CHECK_EQ(coro_pin(1), CORO_OK);
	uses_home(CORO_EPERM);
	CHECK_EQ(coro_pin(0), CORO_OK);
	uses_home(CORO_OK);
}

static void frees_home(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_chan_close(home), CORO_OK);
	CHECK_EQ(coro_chan_free(home), CORO_OK);
}

TEST(chan_home_is_for_those_pinned_there)
{
	coro_scheduler *s = start_with(2, 0);
	coro_attr first = {.size = sizeof first, .worker = 1};

	CHECK_EQ(coro_scheduler_spawn(s, &first, is_home, NULL, 0, NULL), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	uses_home(CORO_EPERM);
	CHECK_EQ(coro_scheduler_spawn(s, &first, frees_home, NULL, 0, NULL), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	finish(s);
}

static void makes_home(void *arg, void *result)
{
	coro_chan *c = NULL;
	uint64_t v = 1;
	(void)arg;

	CHECK_EQ(coro_chan_new(&c, 8, 1, CORO_HOME), CORO_OK);
	CHECK_EQ(coro_chan_send(c, &v, 0), CORO_OK);
	memcpy(result, &c, sizeof c);
}

static void gets_home(void *arg, void *result)
{
	coro_attr there = {.size = sizeof there,
			   .flags = CORO_JOINABLE,
			   .result_bytes = sizeof home,
			   .worker = 2};
	coro_handle h;
	(void)arg;
	(void)result;

	CHECK_EQ(coro_spawn_attr(&there, makes_home, NULL, 0, &h), CORO_OK);
	CHECK_EQ(coro_join(h, &home, sizeof home), CORO_OK);
	CHECK_EQ(coro_chan_free(home), CORO_EPERM); /* from another worker */
}

static void frees_another(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_chan_free(home), CORO_OK);
}

static coro_scheduler *with_home(void)
{
	coro_scheduler *s = start_with(2, 0);

	spawn(s, gets_home, NULL, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	return s;
}

/* By whoever comes afterwards: a thread, a coroutine of another scheduler that lies where it lay,
 * perhaps. */
TEST(chan_home_is_freed_after_its_scheduler)
{
	for (int destroyed = 0; destroyed < 2; destroyed++) {
		for (int inside = 0; inside < 2; inside++) {
			coro_scheduler *s = with_home(),
				       *other = destroyed ? NULL : start_with(2, 0);
			CHECK_EQ(coro_chan_free(home), CORO_EPERM);
			CHECK_EQ(coro_scheduler_close(s, 0), CORO_OK);
			if (destroyed) {
				CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
				other = start_with(2, 0);
			}
			CHECK_EQ(coro_chan_length(home), 0); /* nobody may use it, even so */
			if (inside)
				spawn(other, frees_another, NULL, 0);
			else
				frees_another(NULL, NULL);
			finish(other);
			if (!destroyed)
				CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
		}
	}
}
