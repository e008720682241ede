/*
 * t_chan.c - channels: values come once and in order, a close tells all, a channel bound to a
 * worker. Misuse: t_chan_misuse.c; several at once: t_select.c.
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

/* The counts of a channel's ends wrap around at 32 bits. */
TEST(chan_counts_wrap_around)
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
				sized = (struct sized){channel(bytes[i], capacity[k]), bytes[i],
						       bytes[i] > 1000 ? 50 : 500};
				spawn(s, sends_sized, NULL, 0);
				spawn(s, receives_sized, NULL, 0);
				CHECK_EQ(coro_scheduler_run(s), CORO_OK);
				CHECK_EQ(coro_chan_free(sized.c), CORO_OK);
			}
		finish(s);
	}
}

/* -------------------------------------------------------------------------- waiters and a close */

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

/* A close of the channels tells all waiters, and so does a close of the scheduler with cancel.
 * Nothing was sent. */
TEST(chan_close_tells_all)
{
	for (int cancel = 0; cancel < 2; cancel++) {
		coro_scheduler *s = start_with(2, 0);
		uint64_t what[3] = {0, 1, 2};
		pthread_t t[3];
		full = channel(8, 1);
		empty = channel(8, 1);
		done = received = 0;
		CHECK_EQ(coro_chan_send(full, &(uint64_t){0}, 0), CORO_OK);
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

/* Without hand-overs, waiters run in the order in which they were woken. */
TEST(chan_close_wakes_first_come_first)
{
	coro_options o = options(1, CORO_PAUSED);
	o.handover_budget = -1;
	coro_scheduler *s = start(&o);

	chan = channel(8, 0);
	for (int i = 0; i < CAME; i++)
		spawn(s, waits_in_order, &i, sizeof i);
	spawn(s, closes_after, NULL, 0);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK_EQ(order.ended, CAME);
	CHECK_EQ(coro_chan_free(chan), CORO_OK);
	finish(s);
}

/* A caller that spins before its wait notices what happens meanwhile. */
static void closes_it(void)
{
	meanwhile = NULL;
	CHECK_EQ(coro_chan_close(chan), CORO_OK);
}

static void finds_it_closed(void *arg, void *result)
{
	uint64_t value = 9;
	(void)arg;
	(void)result;

	for (int sends = 0; sends < 2; sends++) {
		CHECK_EQ(coro_chan_new(&chan, 8, 1, 0), CORO_OK);
		if (sends)
			CHECK_EQ(coro_chan_send(chan, &value, CORO_FOREVER), CORO_OK);
		meanwhile = closes_it;
		CHECK_EQ(sends ? coro_chan_send(chan, &value, CORO_FOREVER)
			       : coro_chan_recv(chan, &value, CORO_FOREVER),
			 CORO_ECLOSED);
		CHECK(!meanwhile);
		CHECK_EQ(value, 9);
		CHECK_EQ(coro_chan_free(chan), CORO_OK);
	}
	add_one(&done);
}

TEST(waits_at_a_channel_that_is_closed_meanwhile)
{
	done = 0;
	run_alone(start_with(1, 0), NULL, finds_it_closed);
	CHECK_EQ(seen(&done), 1);
}

/* A channel is not freed while a caller is about to wait there, whether it is in the queue already
 * or still looks for a value. */
static coro_chan *chan;

static uint64_t refused;

static void frees_it(void)
{
	CHECK_EQ(coro_chan_free(chan), CORO_EBUSY);
	refused++;
}

static void receives_five(void *arg, void *result)
{
	uint64_t value = 0;
	(void)arg;
	(void)result;

	meanwhile = frees_it;
	CHECK_EQ(coro_chan_recv(chan, &value, CORO_FOREVER), CORO_OK);
	CHECK_EQ(value, 5);
}

TEST(waits_keep_a_channel_from_being_freed)
{
	coro_scheduler *s = start_with(1, 0);
	uint64_t five = 5;

	CHECK_EQ(coro_chan_new(&chan, 8, 4, 0), CORO_OK);
	spawn(s, receives_five, NULL, 0);
	until_waiting(s, 1);
	CHECK_EQ(refused, 2); /* as the caller looks for a value, and then for its turn */
	frees_it();
	CHECK_EQ(coro_chan_send(chan, &five, CORO_FOREVER), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(coro_chan_free(chan), CORO_OK);
	finish(s);
}

/* ---------------------------------------------------------------------------- bound to a worker */

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

/* By any caller afterwards: a thread, or a coroutine of another scheduler, perhaps at the same
 * address. */
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
			/* all the same, nobody may use the channel */
			CHECK_EQ(coro_chan_length(home), 0);
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
