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
	coro_case one = {.chan = chan, .send = &v};
	CHECK_EQ(coro_select(&one, 1, 0), CORO_EINVAL);
	one = (coro_case){.chan = chan, .recv = &w};
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
