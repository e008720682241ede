/*
 * t_chan_buffers.c - buffers through channels: a value that is sent is the receiver's, one that is
 * not stays the sender's, and what is left in a channel is freed with it.
 */
#include "test.h"

#include <string.h>

struct value {
	uint64_t number;
	coro_buffer buffer;
};

static coro_scheduler *sched;
static coro_chan *chan;
static uint64_t received, kept;

static coro_chan *of_buffers(size_t bytes, size_t capacity, uint64_t mask)
{
	coro_chan *c;

	CHECK_EQ(coro_chan_new_buffers(&c, bytes, capacity, 0, mask), CORO_OK);
	return c;
}

static struct value numbered(uint64_t n)
{
	struct value v = {.number = n};
	size_t bytes;

	CHECK_EQ(coro_buffer_make_on(sched, 8 * (n % 100 + 1), &v.buffer), CORO_OK);
	memcpy(coro_buffer_at(v.buffer, &bytes), &n, 8);
	return v;
}

static void sends(void *arg, void *result)
{
	uint64_t n = *(uint64_t *)arg;

	(void)result;
	for (uint64_t i = 0; i < n; i++) {
		struct value v = numbered(i);
		int status = coro_chan_send(
			chan, &v, i % 4 == 3 ? coro_now() + 1000 * (i % 50) : CORO_FOREVER);
		if (status == CORO_OK) {
			CHECK_EQ(coro_buffer_free(v.buffer), CORO_ESTALE);
			continue;
		}
		CHECK(status == CORO_ETIMEDOUT || status == CORO_ECANCELED ||
		      status == CORO_ECLOSED);
		CHECK_EQ(coro_buffer_free(v.buffer), CORO_OK);
		add_one(&kept);
	}
}

static void receives(void *arg, void *result)
{
	struct value v;
	int status;

	(void)arg;
	(void)result;
	while ((status = coro_chan_recv(chan, &v, CORO_FOREVER)) == CORO_OK) {
		uint64_t n;
		memcpy(&n, coro_buffer_at(v.buffer, NULL), 8);
		CHECK_EQ(n, v.number);
		CHECK_EQ(coro_buffer_free(v.buffer), CORO_OK);
		add_one(&received);
	}
	CHECK(status == CORO_ECLOSED || status == CORO_ECANCELED);
}

static void all_freed(void)
{
	coro_stats t = stats(sched);

	CHECK_EQ(t.buffers_made, t.buffers_freed);
	CHECK_EQ(t.buffer_bytes, 0);
}

TEST(chan_passes_buffers)
{
	static const size_t capacity[] = {0, 1, 16};

	for (uint32_t workers = 1; workers <= 2; workers++)
		for (int i = 0; i < 3; i++) {
			uint64_t n = scaled(20000);
			sched = start_with(workers, 0);
			chan = of_buffers(sizeof(struct value), capacity[i], 2);
			received = kept = 0;
			spawn(sched, receives, NULL, 0);
			for (int k = 0; k < 3; k++)
				spawn(sched, sends, &n, sizeof n);
			sleep_until_seen(&received, n);
			if (i == 1) /* senders that wait, and what they send later, keep theirs */
				CHECK_EQ(coro_chan_close(chan), CORO_OK);
			while (seen(&received) + seen(&kept) < 3 * n)
				sleep_us(100);
			(void)coro_chan_close(chan);
			CHECK_EQ(coro_scheduler_wait(sched), CORO_OK);
			all_freed();
			CHECK_EQ(coro_chan_free(chan), CORO_OK);
			finish(sched);
		}
}

TEST(chan_that_is_freed_frees_its_buffers)
{
	sched = start_with(1, 0);
	chan = of_buffers(sizeof(struct value), 5, 2);
	struct value v, w;

	for (uint64_t i = 0; i < 8; i++) {
		v = numbered(i);
		int status = coro_chan_send(chan, &v, 0);
		CHECK_EQ(status, i < 5 ? CORO_OK : CORO_ETIMEDOUT);
		CHECK_EQ(coro_buffer_free(v.buffer), i < 5 ? CORO_ESTALE : CORO_OK);
		if (i == 2) {
			CHECK_EQ(coro_chan_recv(chan, &w, 0), CORO_OK);
			CHECK_EQ(coro_buffer_free(w.buffer), CORO_OK);
			v = numbered(9);
			CHECK_EQ(coro_chan_send(chan, &v, 0), CORO_OK);
		}
	}
	w = v; /* stale */
	CHECK_EQ(coro_chan_recv(chan, &v, 0), CORO_OK);
	CHECK_EQ(coro_chan_send(chan, &w, 0), CORO_ESTALE);
	w.buffer.id = 0; /* none */
	CHECK_EQ(coro_chan_send(chan, &w, 0), CORO_OK);
	coro_case one = {.chan = chan, .recv = &w};
	CHECK_EQ(coro_select(&one, 1, 0), 0);
	CHECK_EQ(coro_buffer_free(w.buffer), CORO_OK);
	CHECK_EQ(coro_chan_close(chan), CORO_OK);
	CHECK_EQ(coro_chan_send(chan, &v, 0), CORO_ECLOSED);
	CHECK_EQ(coro_buffer_free(v.buffer), CORO_OK);
	CHECK_EQ(coro_chan_free(chan), CORO_OK);
	all_freed();
	CHECK_EQ(coro_chan_new_buffers(&chan, 520, 1, 0, 1), CORO_EINVAL);
	CHECK_EQ(coro_chan_new_buffers(&chan, 16, 1, 0, 4), CORO_EINVAL);
	chan = of_buffers(512, 1, UINT64_C(1) << 63);
	uint64_t large[64] = {0};
	CHECK_EQ(coro_buffer_make_on(sched, 1, (coro_buffer *)&large[63]), CORO_OK);
	CHECK_EQ(coro_chan_send(chan, large, 0), CORO_OK);
	CHECK_EQ(coro_buffer_free((coro_buffer){large[63]}), CORO_ESTALE);
	CHECK_EQ(coro_chan_free(chan), CORO_OK);
	all_freed();
	finish(sched);
}

/* A close with cancel ends waits to send: each sender has its buffer back. */
TEST(chan_sender_that_is_canceled_has_its_buffer)
{
	uint64_t n = 3;

	sched = start_with(2, 0);
	chan = of_buffers(sizeof(struct value), 1, 2);
	kept = 0;
	for (int i = 0; i < 4; i++)
		spawn(sched, sends, &n, sizeof n);
	until_waiting(sched, 4);
	CHECK_EQ(coro_scheduler_close(sched, 1), CORO_OK);
	CHECK(kept > 0);
	CHECK_EQ(coro_chan_free(chan), CORO_OK);
	coro_scheduler_destroy(sched);
	sched = start_with(1, 0);
	struct value v = numbered(1);
	CHECK_EQ(coro_buffer_free(v.buffer), CORO_OK);
	finish(sched);
}

/* ----------------------------------------------------------------------------------- selects */

TEST(select_sends_buffers_of_the_case_that_is_done)
{
	sched = start_with(1, 0);
	coro_chan *a = of_buffers(sizeof(struct value), 1, 2),
		  *b = of_buffers(sizeof(coro_buffer), 1, 1), *numbers;
	CHECK_EQ(coro_chan_new(&numbers, 8, 1, 0), CORO_OK);
	struct value v = numbered(1), w = numbered(2), got;
	uint64_t number = 3;
	/* both cases send the buffer of v, and the last receives */
	coro_case both[] = {{.chan = a, .send = &v},
			    {.chan = b, .send = &v.buffer},
			    {.chan = numbers, .recv = &number}};
	coro_buffer was = v.buffer, out;

	CHECK_EQ(coro_chan_send(a, &w, 0), CORO_OK);
	CHECK_EQ(coro_select(both, 3, 0), 1);
	CHECK_EQ(both[1].status, CORO_OK);
	CHECK_EQ(v.buffer.id, was.id); /* of C's variable nothing is changed */
	CHECK_EQ(coro_buffer_free(was), CORO_ESTALE);
	CHECK_EQ(coro_select(both, 3, 0), CORO_ESTALE);
	v = numbered(3);
	was = v.buffer;
	CHECK_EQ(coro_select(both, 3, 0), CORO_ETIMEDOUT);
	CHECK_EQ(coro_select(both, 3, coro_now() + 1000), CORO_ETIMEDOUT);
	CHECK_EQ(coro_chan_send(numbers, &number, 0), CORO_OK);
	CHECK_EQ(coro_select(both, 3, CORO_FOREVER), 2);
	CHECK(coro_buffer_at(was, NULL) != NULL); /* it was not sent */
	CHECK_EQ(coro_chan_recv(b, &out, 0), CORO_OK);
	CHECK_EQ(coro_buffer_free(out), CORO_OK);
	CHECK_EQ(coro_chan_recv(a, &got, 0), CORO_OK);
	CHECK_EQ(got.number, 2);
	CHECK_EQ(coro_buffer_free(got.buffer), CORO_OK);
	CHECK_EQ(coro_chan_close(a), CORO_OK);
	CHECK_EQ(coro_select(both, 1, CORO_FOREVER), 0);
	CHECK_EQ(both[0].status, CORO_ECLOSED);
	/* a wrong case, and a stale buffer behind a good one: nothing has passed */
	both[2].send = &number;
	CHECK_EQ(coro_select(both, 3, 0), CORO_EINVAL);
	both[2] = (coro_case){.chan = b, .send = &w.buffer};
	CHECK_EQ(coro_select(both, 3, 0), CORO_ESTALE);
	both[0].chan = NULL;
	CHECK_EQ(coro_select(both, 2, 0), CORO_EINVAL);
	CHECK_EQ(coro_select(both, CORO_CASES_MAX + 1, 0), CORO_EINVAL);
	coro_buffer none = {0};
	both[0] = (coro_case){.chan = b, .send = &none};
	CHECK_EQ(coro_select(both, 1, 0), 0);
	CHECK_EQ(coro_chan_recv(b, &out, 0), CORO_OK);
	CHECK_EQ(out.id, 0);
	CHECK_EQ(coro_buffer_free(was), CORO_OK);
	CHECK_EQ(coro_chan_free(a), CORO_OK);
	CHECK_EQ(coro_chan_free(b), CORO_OK);
	CHECK_EQ(coro_chan_free(numbers), CORO_OK);
	all_freed();
	finish(sched);
}

/* A buffer twice in one value has no two owners, whether another case has it too or not. */
TEST(select_sends_a_buffer_once)
{
	sched = start_with(1, 0);
	coro_chan *one = of_buffers(8, 1, 1), *two = of_buffers(16, 1, 3);
	coro_buffer b, twice[2];
	coro_case cases[] = {{.chan = one, .send = &b}, {.chan = two, .send = twice}};

	CHECK_EQ(coro_buffer_make_on(sched, 1, &b), CORO_OK);
	twice[0] = twice[1] = b;
	CHECK_EQ(coro_select(&cases[0], 2, 0), CORO_ESTALE);
	CHECK_EQ(coro_select(&cases[1], 1, 0), CORO_ESTALE);
	CHECK_EQ(coro_buffer_make_on(sched, 1, &twice[1]), CORO_OK);
	CHECK_EQ(coro_chan_send(one, &(coro_buffer){0}, 0), CORO_OK);
	CHECK_EQ(coro_select(cases, 2, 0), 1); /* of several buffers all pass */
	CHECK_EQ(coro_buffer_free(b), CORO_ESTALE);
	CHECK_EQ(coro_buffer_free(twice[1]), CORO_ESTALE);
	CHECK_EQ(coro_chan_free(one), CORO_OK);
	CHECK_EQ(coro_chan_free(two), CORO_OK);
	all_freed();
	finish(sched);
}

TEST(select_without_memory_sends_nothing)
{
	sched = start_with(1, 0);
	chan = of_buffers(sizeof(struct value), 1, 2);
	struct value v = numbered(1);
	coro_case one = {.chan = chan, .send = &v};

	fail_alloc = 0;
	CHECK_EQ(coro_select(&one, 1, 0), CORO_ENOMEM);
	fail_alloc = -1;
	CHECK_EQ(coro_buffer_free(v.buffer), CORO_OK);
	CHECK_EQ(coro_chan_free(chan), CORO_OK);
	all_freed();
	finish(sched);
}

static coro_chan *other;

/* selects - sends n values, each to one of two channels, or not. */
static void selects(void *arg, void *result)
{
	uint64_t n = *(uint64_t *)arg, answer;

	(void)result;
	for (uint64_t i = 0; i < n; i++) {
		struct value v = numbered(i);
		coro_stream *in, *out;
		/* a stream goes another way (source.h), for coroutines alone */
		bool mixed = i % 64 == 0 && coro_self();
		coro_case cases[3] = {{.chan = chan, .send = &v}, {.chan = other, .send = &v}};
		uint64_t until = i % 4 == 3 ? coro_now() + 1000 * (i % 50) : CORO_FOREVER;
		if (mixed) {
			CHECK_EQ(coro_stream_new(&in, &out, 1), CORO_OK);
			cases[2] = (coro_case){.stream = in, .direction = CORO_STREAM_IN};
		}
		int done = coro_select(cases, 2 + mixed, until);
		if (done >= 0 && cases[done].status == CORO_OK) {
			CHECK(done < 2);
			CHECK_EQ(coro_buffer_free(v.buffer), CORO_ESTALE);
		} else {
			int status = done < 0 ? done : cases[done].status;
			CHECK(status == CORO_ETIMEDOUT || status == CORO_ECANCELED ||
			      status == CORO_ECLOSED);
			memcpy(&answer, coro_buffer_at(v.buffer, NULL), 8);
			CHECK_EQ(answer, i);
			CHECK_EQ(coro_buffer_free(v.buffer), CORO_OK);
			add_one(&kept);
		}
		if (mixed) {
			CHECK_EQ(coro_stream_free(in), CORO_OK);
			CHECK_EQ(coro_stream_free(out), CORO_OK);
		}
	}
}

/* receives_both - by selects, until both channels are closed. */
static void receives_both(void *arg, void *result)
{
	struct value v;
	coro_case cases[2] = {{.chan = chan, .recv = &v}, {.chan = other, .recv = &v}};
	uint64_t n;

	(void)arg;
	(void)result;
	for (;;) {
		int done = coro_select(cases, 2, CORO_FOREVER);
		if (done < 0 || cases[done].status != CORO_OK) {
			CHECK(done == CORO_ECANCELED || cases[done].status == CORO_ECLOSED);
			return;
		}
		memcpy(&n, coro_buffer_at(v.buffer, NULL), 8);
		CHECK_EQ(n, v.number);
		CHECK_EQ(coro_buffer_free(v.buffer), CORO_OK);
		add_one(&received);
	}
}

TEST(select_passes_buffers)
{
	static const size_t capacity[] = {0, 1, 16};
	coro_attr dense = {.size = sizeof dense, .flags = CORO_DENSE};

	for (uint32_t workers = 1; workers <= 2; workers++)
		for (int i = 0; i < 3; i++) {
			uint64_t n = scaled(10000);
			sched = start_with(workers, 0);
			chan = of_buffers(sizeof(struct value), capacity[i], 2);
			other = of_buffers(sizeof(struct value), capacity[i], 2);
			received = kept = 0;
			spawn(sched, receives, NULL, 0); /* of chan */
			spawn(sched, receives_both, NULL, 0);
			spawn(sched, selects, &n, sizeof n);
			CHECK_EQ(coro_scheduler_spawn(sched, &dense, selects, &n, sizeof n, NULL),
				 CORO_OK);
			selects(&n, NULL); /* by a thread */
			while (seen(&received) + seen(&kept) < 3 * n)
				sleep_us(100);
			CHECK_EQ(coro_chan_close(chan), CORO_OK);
			CHECK_EQ(coro_chan_close(other), CORO_OK);
			CHECK_EQ(coro_scheduler_wait(sched), CORO_OK);
			all_freed();
			CHECK_EQ(coro_chan_free(chan), CORO_OK);
			CHECK_EQ(coro_chan_free(other), CORO_OK);
			finish(sched);
		}
}
