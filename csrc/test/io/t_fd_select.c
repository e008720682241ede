/*
 * t_fd_select.c - select over channels and descriptors: each way in which it ends, and storms, in
 * which every byte and every value is accounted for.
 */
#include "fds.h"

#include "dense_bodies.h"

#include "base/atomics.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct pair pair;
static coro_chan *chan;
static uint64_t counted;

static uint64_t soon(uint64_t ns)
{
	return coro_now() + ns;
}

static coro_case at(coro_fd f, uint32_t direction)
{
	return (coro_case){.fd = f, .direction = direction};
}

/* on_each - run fn in a coroutine, and then in a dense one, on 1, 2 and 4 workers. */
static void on_each(coro_fn fn)
{
	for (uint32_t workers = 1; workers <= 4; workers *= 2) {
		coro_scheduler *s = dense_start(workers, 2, 0);
		for (int dense = 0; dense < 2; dense++) {
			counted = 0;
			pair = dense ? pair_of(s) : pair_of_tcp(s);
			chan = channel(8, 4);
			CHECK_EQ(coro_scheduler_spawn(s, dense ? &dense_attr : NULL, fn, NULL, 0,
						      NULL),
				 CORO_OK);
			CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
			CHECK_EQ(counted, 1);
			pair_close(&pair);
			CHECK_EQ(coro_chan_free(chan), CORO_OK);
		}
		finish(s);
	}
}

/* ------------------------------------------------------------------- what can be done at once */

static void put_byte(void)
{
	CHECK_EQ(coro_write(pair.b, "x", 1, CORO_FOREVER), 1);
}

/* get_byte - what has been sent is there, whatever was done with its event. */
static void get_byte(void)
{
	char bytes[4] = {0};

	CHECK_EQ(coro_read(pair.a, bytes, sizeof bytes, soon(5000 * MS)), 1);
	CHECK_EQ(bytes[0], 'x');
}

static void selects_at_once(void *arg, void *result)
{
	uint64_t value = 7, got = 0, was[2] = {0};
	coro_case c[3] = {{.chan = chan, .recv = &got}, at(pair.a, CORO_IN)};

	(void)arg;
	(void)result;
	CHECK_EQ(coro_select(c, 2, 0), CORO_ETIMEDOUT);
	CHECK_EQ(coro_select(c, 2, soon(MS)), CORO_ETIMEDOUT);
	CHECK_EQ(coro_select(c + 1, 1, soon(MS)), CORO_ETIMEDOUT);
	put_byte();
	CHECK_EQ(coro_select(c, 2, CORO_FOREVER), 1);
	CHECK_EQ(c[1].status, CORO_OK);
	get_byte();
	CHECK_EQ(coro_chan_send(chan, &value, 0), CORO_OK);
	CHECK_EQ(coro_select(c, 2, CORO_FOREVER), 0);
	CHECK_EQ(c[0].status, CORO_OK);
	CHECK_EQ(got, 7);
	/* among several, a random one */
	put_byte();
	CHECK_EQ(coro_chan_send(chan, &value, 0), CORO_OK);
	for (int i = 0; i < 200; i++) {
		int done = coro_select(c, 2, 0);
		CHECK(done == 0 || done == 1);
		was[done]++;
		if (done == 0)
			CHECK_EQ(coro_chan_send(chan, &value, 0), CORO_OK);
	}
	CHECK(was[0] > 20 && was[1] > 20);
	CHECK_EQ(coro_chan_recv(chan, &got, 0), CORO_OK);
	get_byte();
	/* the other direction is ready, beside this one of the same descriptor */
	c[2] = at(pair.a, CORO_OUT);
	CHECK_EQ(coro_select(c, 3, CORO_FOREVER), 2);
	CHECK_EQ(coro_select(c + 1, 2, CORO_FOREVER), 1);
	CHECK_EQ(coro_nowait_begin("t_fd_select"), CORO_OK);
	CHECK_EQ(coro_select(c, 2, CORO_FOREVER), CORO_ENOWAIT);
	CHECK_EQ(coro_select(c, 2, 0), CORO_ETIMEDOUT);
	CHECK_EQ(coro_select(c, 3, CORO_FOREVER), 2);
	CHECK_EQ(coro_nowait_end(), CORO_OK);
	add_one(&counted);
}

TEST(fd_select_does_what_can_be_done)
{
	on_each(selects_at_once);
}

static void selects_badly(void *arg, void *result)
{
	uint64_t got;
	char path[] = "/tmp/coro-test-XXXXXX";
	coro_case c[4] = {{.chan = chan, .recv = &got}, at(pair.a, CORO_IN)};
	int fd = mkstemp(path);
	struct pair p = pair;
	coro_fd f;

	(void)arg;
	(void)result;
	for (uint32_t bad = 3; bad <= 8; bad += bad == 3 ? 2 : 1) {
		c[2] = at(pair.a, bad);
		CHECK_EQ(coro_select(c, 3, CORO_FOREVER), CORO_EINVAL);
	}
	c[2] = at(pair.a, CORO_REQUEST); /* is the same as CORO_IN */
	CHECK_EQ(coro_select(c, 3, CORO_FOREVER), CORO_EBUSY);
	CHECK_EQ(coro_select(c + 2, 1, 0), CORO_ETIMEDOUT); /* no server ends */
	c[2] = (coro_case){.fd = pair.a, .direction = CORO_OUT, .recv = &got};
	CHECK_EQ(coro_select(c, 3, CORO_FOREVER), CORO_EINVAL);
	c[2] = at(pair.a, CORO_IN); /* once more */
	CHECK_EQ(coro_select(c, 3, CORO_FOREVER), CORO_EBUSY);
	CHECK_EQ(coro_select(c, 2, 0), CORO_ETIMEDOUT); /* nothing is in use by now */
	c[2] = at(0, CORO_IN);
	CHECK_EQ(coro_select(c, 3, CORO_FOREVER), 2);
	CHECK_EQ(c[2].status, CORO_ESTALE);
	/* a file is always ready */
	unlink(path);
	CHECK_EQ(coro_fd_adopt(&f, fd, 0), CORO_OK);
	for (uint32_t direction = CORO_IN; direction <= CORO_OUT; direction++) {
		c[2] = at(f, direction);
		CHECK_EQ(coro_select(c, 3, CORO_FOREVER), 2);
		CHECK_EQ(c[2].status, CORO_OK);
	}
	CHECK_EQ(coro_fd_close(f), CORO_OK);
	CHECK_EQ(coro_select(c, 3, CORO_FOREVER), 2);
	CHECK_EQ(c[2].status, CORO_ESTALE);
	/* many */
	static coro_case all[CORO_CASES_MAX];
	for (int i = 0; i < CORO_CASES_MAX; i++)
		all[i] = i % 2 ? c[0] : at(0, CORO_OUT);
	all[0] = c[1];
	all[2] = at(pair.a, CORO_OUT);
	for (int i = 4; i < CORO_CASES_MAX; i += 2)
		all[i] = c[0];
	CHECK_EQ(coro_select(all, CORO_CASES_MAX, CORO_FOREVER), 2);
	CHECK_EQ(p.a, pair.a);
	add_one(&counted);
}

TEST(fd_select_misuse)
{
	on_each(selects_badly);
}

static void is_foreign(void *arg, void *result)
{
	coro_case c = at(pair.a, CORO_OUT);

	(void)arg;
	(void)result;
	CHECK_EQ(coro_select(&c, 1, CORO_FOREVER), CORO_EPERM);
	add_one(&counted);
}

TEST(fd_select_by_others)
{
	coro_scheduler *s = start_with(1, 0), *t = start_with(1, 0);
	coro_case c;

	pair = pair_of(s);
	c = at(pair.a, CORO_OUT);
	CHECK_EQ(coro_select(&c, 1, CORO_FOREVER), CORO_EPERM);
	counted = 0;
	spawn(t, is_foreign, NULL, 0);
	CHECK_EQ(coro_scheduler_wait(t), CORO_OK);
	CHECK_EQ(counted, 1);
	pair_close(&pair);
	finish(s);
	finish(t);
}

/* ------------------------------------------------------------------------------ ends of a wait */

enum end { BY_CHANNEL, BY_BYTES, BY_BOTH, BY_PEER, BY_FD_CLOSE, BY_CHAN_CLOSE, BY_CANCEL, ENDS };

struct waiting {
	coro_handle h;
	enum end end;
	int done, status[2];
	uint64_t got;
	struct pair p;
	coro_chan *c;
	bool dense;
	uint64_t go; /* 1: it is to end */
};

/* until_selecting - return when a coroutine of s waits in a select with a descriptor. */
static void until_selecting(coro_scheduler *s)
{
	coro_blocked b[2];

	for (;;) {
		size_t n = coro_scheduler_blocked(s, b, 2);
		for (size_t i = 0; i < n && i < 2; i++)
			if (b[i].waits == CORO_WAIT_SELECT_FD)
				return;
		sleep_us(100);
	}
}

static void selects(void *arg, void *result)
{
	struct waiting *x = *(struct waiting **)arg;
	char byte = 0;

	(void)result;
	coro_case c[2] = {{.chan = x->c, .recv = &x->got}, at(x->p.a, CORO_IN)};
	x->done = coro_select(c, 2, CORO_FOREVER);
	x->status[0] = c[0].status;
	x->status[1] = c[1].status;
	if (x->end == BY_BOTH) {
		uint64_t got = x->got;
		CHECK_EQ(coro_read(x->p.a, &byte, 1, soon(5000 * MS)), 1);
		if (x->done == 1)
			CHECK_EQ(coro_chan_recv(x->c, &got, soon(5000 * MS)), CORO_OK);
		CHECK_EQ(byte, 'x');
		CHECK_EQ(got, 9);
	}
	add_one(&counted);
}

static void ends_it(struct waiting *x)
{
	uint64_t value = 9;

	switch (x->end) {
	case BY_CHANNEL:
		CHECK_EQ(coro_chan_send(x->c, &value, CORO_FOREVER), CORO_OK);
		break;
	case BY_BYTES:
		CHECK_EQ(coro_write(x->p.b, "x", 1, CORO_FOREVER), 1);
		break;
	case BY_BOTH:
		CHECK_EQ(coro_write(x->p.b, "x", 1, CORO_FOREVER), 1);
		CHECK_EQ(coro_chan_send(x->c, &value, CORO_FOREVER), CORO_OK);
		break;
	case BY_PEER:
		CHECK_EQ(coro_fd_close(x->p.b), CORO_OK);
		break;
	case BY_FD_CLOSE:
		CHECK_EQ(coro_fd_close(x->p.a), CORO_OK);
		break;
	case BY_CHAN_CLOSE:
		CHECK_EQ(coro_chan_close(x->c), CORO_OK);
		break;
	default:
		CHECK_EQ(coro_cancel(x->h), CORO_OK);
	}
}

static void spawns_and_ends(void *arg, void *result)
{
	struct waiting *x = *(struct waiting **)arg;
	coro_attr a = {.size = sizeof a, .flags = CORO_JOINABLE | (x->dense ? CORO_DENSE : 0)};
	char bytes[2];

	(void)result;
	/* a short read, after which no byte is known to be there */
	CHECK_EQ(coro_write(x->p.b, "y", 1, CORO_FOREVER), 1);
	CHECK_EQ(coro_read(x->p.a, bytes, 2, CORO_FOREVER), 1);
	CHECK_EQ(coro_spawn_attr(&a, selects, &x, sizeof x, &x->h), CORO_OK);
	while (!seen(&x->go))
		CHECK_EQ(coro_sleep(MS / 10), CORO_OK);
	ends_it(x);
	int status = coro_join(x->h, NULL, 0);
	CHECK(status == CORO_OK || (x->end == BY_CANCEL && status == CORO_ECANCELED));
}

static void check_end(const struct waiting *x)
{
	switch (x->end) {
	case BY_CHANNEL:
		CHECK_EQ(x->done, 0);
		CHECK_EQ(x->status[0], CORO_OK);
		CHECK_EQ(x->got, 9);
		break;
	case BY_BOTH:
		CHECK(x->done == 0 || x->done == 1);
		break;
	case BY_CHAN_CLOSE:
		CHECK_EQ(x->done, 0);
		CHECK_EQ(x->status[0], CORO_ECLOSED);
		break;
	case BY_CANCEL:
		CHECK_EQ(x->done, CORO_ECANCELED);
		break;
	default:
		CHECK_EQ(x->done, 1);
		CHECK_EQ(x->status[1], x->end == BY_FD_CLOSE ? CORO_ECLOSED : CORO_OK);
	}
}

TEST_LIMIT(fd_select_ends_in_each_way, 120)
{
	for (uint32_t workers = 1; workers <= 4; workers *= 2) {
		coro_scheduler *s = dense_start(workers, 4, 0);
		for (int i = 0; i < 2 * ENDS; i++) {
			struct waiting w = {.end = i / 2,
					    .p = i % 2 ? pair_of_tcp(s) : pair_of(s),
					    .c = channel(8, 0),
					    .dense = i / 2 % 2 == (int)(workers % 2)},
				       *x = &w;
			counted = 0;
			spawn(s, spawns_and_ends, &x, sizeof x);
			if (x->end != BY_BOTH || i % 2)
				until_selecting(s);
			add_one(&x->go);
			CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
			CHECK_EQ(counted, 1);
			check_end(x);
			if (x->end != BY_FD_CLOSE)
				CHECK_EQ(coro_fd_close(w.p.a), CORO_OK);
			if (x->end != BY_PEER)
				CHECK_EQ(coro_fd_close(w.p.b), CORO_OK);
			CHECK_EQ(coro_chan_free(w.c), CORO_OK);
		}
		finish(s);
	}
}

/* ------------------------------------------------ what a select is to others, and its scheduler */

static void selects_in_vain(void *arg, void *result)
{
	uint64_t got;
	coro_case c[2] = {{.chan = chan, .recv = &got}, at(pair.a, CORO_IN)};

	(void)arg;
	(void)result;
	CHECK_EQ(coro_select(c, 2, CORO_FOREVER), 1);
	add_one(&counted);
}

static void is_second(void *arg, void *result)
{
	coro_case c = at(pair.a, CORO_IN);
	char byte;
	int fd;

	(void)arg;
	(void)result;
	CHECK_EQ(coro_read(pair.a, &byte, 1, CORO_FOREVER), CORO_EBUSY);
	CHECK_EQ(coro_select(&c, 1, CORO_FOREVER), CORO_EBUSY);
	CHECK_EQ(coro_fd_release(pair.a, &fd), CORO_EBUSY);
	CHECK_EQ(coro_write(pair.b, "x", 1, CORO_FOREVER), 1);
	add_one(&counted);
}

TEST(fd_select_is_listed_and_uses_the_direction)
{
	coro_scheduler *s = start_with(1, 0);
	coro_blocked b;

	counted = 0;
	chan = channel(8, 0);
	pair = pair_of(s);
	spawn(s, selects_in_vain, NULL, 0);
	until_selecting(s);
	CHECK_EQ(coro_scheduler_blocked(s, &b, 1), 1);
	CHECK_EQ(strcmp(coro_wait_name(b.waits), "select with a descriptor"), 0);
	spawn(s, is_second, NULL, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(counted, 2);
	pair_close(&pair);
	CHECK_EQ(coro_chan_free(chan), CORO_OK);
	finish(s);
}

static void *writes_later(void *arg)
{
	sleep_us(20000);
	CHECK_EQ(write(*(int *)arg, "x", 1), 1);
	return NULL;
}

/* A run waits for what comes from a descriptor: that is no deadlock. */
TEST(fd_select_holds_the_end_off)
{
	coro_options o = options(1, CORO_PAUSED);
	pthread_t t;

	chan = channel(8, 0);
	for (int i = 0; i < 10; i++) {
		coro_scheduler *s = start(&o);
		counted = 0;
		pair = pair_of(s);
		int number = coro_fd_number(pair.b);
		spawn(s, selects_in_vain, NULL, 0);
		thread_start(&t, writes_later, &number);
		CHECK_EQ(coro_scheduler_run(s), CORO_OK);
		CHECK_EQ(counted, 1);
		thread_join(t);
		finish(s);
	}
	CHECK_EQ(coro_chan_free(chan), CORO_OK);
}

/* ---------------------------------------------------- shields, sections, budget, other callers */

/* What is to happen to a coroutine that is shielded: a cancel, and later a byte or nothing. */
struct shielded {
	coro_handle h;
	bool early, byte;
};

static void cancels_then_puts(void *arg, void *result)
{
	struct shielded x = *(struct shielded *)arg;

	(void)result;
	CHECK_EQ(coro_sleep(2 * MS), CORO_OK); /* the other one selects by then */
	if (!x.early)
		CHECK_EQ(coro_cancel(x.h), CORO_OK);
	CHECK_EQ(coro_sleep(5 * MS), CORO_OK);
	if (x.byte)
		put_byte();
}

/* The cancel comes before the select, or during it. The select goes on, until there is a byte, or
 * until the section's deadline. */
static void selects_shielded(void *arg, void *result)
{
	uint64_t got, end;
	coro_case c[2] = {{.chan = chan, .recv = &got}, at(pair.a, CORO_IN)};
	struct shielded x = *(struct shielded *)arg;

	(void)result;
	x.h = coro_self();
	end = x.byte ? CORO_FOREVER : soon(20 * MS);
	CHECK_EQ(coro_shield_begin(end), CORO_OK);
	if (x.early)
		CHECK_EQ(coro_cancel(x.h), CORO_OK);
	CHECK_EQ(coro_spawn(cancels_then_puts, &x, sizeof x), CORO_OK);
	if (x.byte) {
		CHECK_EQ(coro_select(c, 2, soon(MS / 2)), CORO_ETIMEDOUT); /* its own deadline */
		CHECK_EQ(coro_select(c, 2, CORO_FOREVER), 1);
		CHECK_EQ(c[1].status, CORO_OK);
		get_byte();
	} else {
		CHECK_EQ(coro_select(c, 2, CORO_FOREVER), CORO_ECANCELED);
		CHECK(coro_now() >= end);
	}
	CHECK_EQ(coro_canceled(), 1);
	CHECK_EQ(coro_shield_end(), CORO_OK);
	CHECK_EQ(coro_select(c, 2, CORO_FOREVER), CORO_ECANCELED);
	CHECK_EQ(coro_select(c + 1, 1, soon(1000 * MS)), CORO_ECANCELED);
	add_one(&counted);
}

TEST(fd_select_in_a_shield)
{
	for (uint32_t workers = 1; workers <= 2; workers++) {
		coro_scheduler *s = dense_start(workers, 2, 0);
		for (int i = 0; i < 8; i++) {
			struct shielded x = {.early = i & 1, .byte = i & 2};
			counted = 0;
			pair = i & 1 ? pair_of(s) : pair_of_tcp(s);
			chan = channel(8, 0);
			coro_attr a = {.size = sizeof a, .flags = i & 4 ? CORO_DENSE : 0};
			CHECK_EQ(coro_scheduler_spawn(s, &a, selects_shielded, &x, sizeof x, NULL),
				 CORO_OK);
			CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
			CHECK_EQ(counted, 1);
			pair_close(&pair);
			CHECK_EQ(coro_chan_free(chan), CORO_OK);
		}
		finish(s);
	}
}

/* A refused select has changed nothing, and one that need not wait is none that waits. */
static void selects_in_a_section(void *arg, void *result)
{
	uint64_t value = 5, got = 0;
	char byte;
	coro_case c[3] = {{.chan = chan, .recv = &got, .status = 77}, at(pair.a, CORO_IN)};
	coro_chan *full = NULL;

	(void)arg;
	(void)result;
	CHECK_EQ(coro_chan_new(&full, 8, 1, 0), CORO_OK);
	CHECK_EQ(coro_chan_send(full, &value, 0), CORO_OK);
	c[2] = (coro_case){.chan = full, .send = &value, .status = 77};
	c[1].status = 77;
	CHECK_EQ(coro_nowait_begin("t_fd_select"), CORO_OK);
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(coro_select(c, 3, i % 2 ? soon(MS) : CORO_FOREVER), CORO_ENOWAIT);
		CHECK(c[0].status == 77 && c[1].status == 77 && c[2].status == 77);
		CHECK_EQ(coro_chan_length(full), 1);
		CHECK_EQ(coro_chan_length(chan), 0);
		CHECK_EQ(coro_read(pair.a, &byte, 1, 0), CORO_ETIMEDOUT); /* not in use */
	}
	CHECK_EQ(coro_chan_send(chan, &value, 0), CORO_OK);
	CHECK_EQ(coro_select(c, 3, CORO_FOREVER), 0);
	CHECK_EQ(got, 5);
	put_byte();
	CHECK_EQ(coro_select(c, 3, CORO_FOREVER), 1);
	CHECK_EQ(coro_select(c + 1, 1, CORO_FOREVER), 0);
	CHECK_EQ(coro_nowait_end(), CORO_OK);
	get_byte();
	CHECK_EQ(coro_select(c, 3, soon(MS)), CORO_ETIMEDOUT);
	CHECK_EQ(coro_chan_recv(full, &got, 0), CORO_OK);
	CHECK_EQ(coro_chan_free(full), CORO_OK);
	add_one(&counted);
}

TEST(fd_select_in_a_section)
{
	on_each(selects_in_a_section);
}

static uint64_t turns;

static void takes_turns(void *arg, void *result)
{
	(void)arg;
	(void)result;
	while (!seen(&counted)) {
		turns++; /* one worker */
		CHECK_EQ(coro_yield(), CORO_OK);
	}
}

/* ways: a byte, a value, both, or room for bytes; what is taken is put back. */
static void selects_over_and_over(void *arg, void *result)
{
	uint64_t value = 1;
	int way = *(int *)arg;
	coro_case c[2] = {{.chan = chan, .recv = &value},
			  at(pair.a, way == 3 ? CORO_OUT : CORO_IN)};

	(void)result;
	if (way != 1)
		put_byte();
	if (way == 1 || way == 2)
		CHECK_EQ(coro_chan_send(chan, &value, 0), CORO_OK);
	while (turns < 200) {
		int done = coro_select(c, 2, CORO_FOREVER);
		CHECK(done >= 0 && c[done].status == CORO_OK);
		if (done == 0)
			CHECK_EQ(coro_chan_send(chan, &value, 0), CORO_OK);
	}
	add_one(&counted);
}

/* One that never waits yields after some 20 us: else this does not end. */
TEST(fd_select_that_ends_at_once_lets_others_run)
{
	for (int i = 0; i < 8; i++) {
		int way = i % 4;
		coro_options o = options(1, CORO_PAUSED);
		o.shared_stacks = 2;
		coro_scheduler *s = start(&o);
		coro_attr a = {.size = sizeof a, .flags = i < 4 ? 0 : CORO_DENSE};
		counted = turns = 0;
		pair = pair_of(s);
		chan = channel(8, 2);
		CHECK_EQ(coro_scheduler_spawn(s, &a, selects_over_and_over, &way, sizeof way, NULL),
			 CORO_OK);
		spawn(s, takes_turns, NULL, 0);
		CHECK_EQ(coro_scheduler_run(s), CORO_OK);
		CHECK(turns >= 200);
		pair_close(&pair);
		CHECK_EQ(coro_chan_free(chan), CORO_OK);
		finish(s);
	}
}

/* cannot_select - the caller is no coroutine that is scheduled, so it gets nothing, although a byte
 * and a value are there. */
static void cannot_select(void)
{
	uint64_t got = 0;
	coro_case c[2] = {{.chan = chan, .recv = &got, .status = 77}, at(pair.a, CORO_IN)};

	CHECK_EQ(coro_select(c, 2, CORO_FOREVER), CORO_EPERM);
	CHECK_EQ(coro_select(c, 2, 0), CORO_EPERM);
	CHECK_EQ(coro_select(c + 1, 1, CORO_FOREVER), CORO_EPERM);
	CHECK_EQ(c[0].status, 77);
	CHECK_EQ(got, 0);
	CHECK_EQ(coro_chan_length(chan), 1);
}

static intptr_t by_hand(void *arg, intptr_t first)
{
	(void)arg;
	cannot_select();
	CHECK_EQ(coro_yield_value(first, NULL), CORO_OK);
	cannot_select();
	return 0;
}

static void resumes_by_hand(void)
{
	coro_t *co;

	CHECK_EQ(coro_new(&co, by_hand, NULL, STACK), CORO_OK);
	CHECK_EQ(coro_resume(co, 0, NULL), CORO_MAY_RESUME);
	CHECK_EQ(coro_resume(co, 0, NULL), CORO_FINISHED);
	CHECK_EQ(coro_free(co), CORO_OK);
}

static void selects_by_hand(void *arg, void *result)
{
	uint64_t value = 6, got = 0;
	coro_case c[2] = {{.chan = chan, .recv = &got}, at(pair.a, CORO_IN)};

	(void)arg;
	(void)result;
	put_byte();
	CHECK_EQ(coro_chan_send(chan, &value, 0), CORO_OK);
	resumes_by_hand();
	/* the coroutine that has resumed it gets all */
	CHECK_EQ(coro_select(c + 1, 1, CORO_FOREVER), 0);
	get_byte();
	CHECK_EQ(coro_select(c, 2, CORO_FOREVER), 0);
	CHECK_EQ(got, 6);
	add_one(&counted);
}

TEST(fd_select_by_hand)
{
	on_each(selects_by_hand);
}

static void *selects_on_a_thread(void *arg)
{
	(void)arg;
	cannot_select();
	resumes_by_hand();
	return NULL;
}

TEST(fd_select_on_a_thread)
{
	coro_scheduler *s = start_with(1, 0);
	uint64_t value = 3;
	pthread_t t;

	pair = pair_of(s);
	chan = channel(8, 1);
	CHECK_EQ(coro_chan_send(chan, &value, 0), CORO_OK);
	CHECK_EQ(write(coro_fd_number(pair.b), "x", 1), 1);
	thread_start(&t, selects_on_a_thread, NULL);
	thread_join(t);
	selects_on_a_thread(NULL);
	CHECK_EQ(coro_chan_recv(chan, &value, 0), CORO_OK);
	pair_close(&pair);
	CHECK_EQ(coro_chan_free(chan), CORO_OK);
	finish(s);
}

/* -------------------------------------------------------------------------------------- storms */

/* A hub selects among four ways: bytes come and go at its descriptor, values come and go at two
 * channels. At the other end of each way a coroutine sends, or receives and checks. */
enum way { BYTES_IN, BYTES_OUT, VALUES_IN, VALUES_OUT, WAYS };

struct hub {
	struct pair p;
	coro_chan *in, *out;
	uint64_t all, at[WAYS], random;
	bool cancels;
};

#define CHUNK 700

static unsigned char byte_at(uint64_t i)
{
	return (unsigned char)(i * 0x9e3779b97f4a7c15 >> 56);
}

static size_t chunk(struct hub *x, uint64_t from, unsigned char *bytes)
{
	size_t n = CHUNK < x->all - from ? CHUNK : x->all - from;

	for (size_t i = 0; i < n; i++)
		bytes[i] = byte_at(from + i);
	return n;
}

static void check_bytes(const unsigned char *bytes, int64_t n, uint64_t from)
{
	for (int64_t i = 0; i < n; i++)
		CHECK_EQ(bytes[i], byte_at(from + (uint64_t)i));
}

/* moves_bytes - a direction is ready. It may be found not ready, but not for long. */
static void moves_bytes(struct hub *x, enum way way)
{
	unsigned char bytes[CHUNK];
	int64_t n;

	if (way == BYTES_IN) {
		n = coro_read(x->p.a, bytes, 1 + rnd(&x->random) % CHUNK, CORO_FOREVER);
		check_bytes(bytes, n, x->at[way]);
	} else {
		n = coro_write(x->p.a, bytes, chunk(x, x->at[way], bytes), CORO_FOREVER);
	}
	if (n != CORO_ECANCELED) {
		CHECK(n > 0);
		x->at[way] += (uint64_t)n;
	}
}

static void selects_once(struct hub *x, uint64_t deadline)
{
	uint64_t received, sent = x->at[VALUES_OUT];
	coro_case one[WAYS] = {at(x->p.a, CORO_IN),
			       at(x->p.a, CORO_OUT),
			       {.chan = x->in, .recv = &received},
			       {.chan = x->out, .send = &sent}},
		  c[WAYS];
	enum way way[WAYS];
	uint32_t n = 0;

	for (uint32_t i = 0; i < WAYS; i++)
		if (x->at[i] < x->all) {
			way[n] = i;
			c[n++] = one[i];
		}
	int done = n ? coro_select(c, n, deadline) : CORO_ETIMEDOUT;
	if (done < 0) {
		CHECK(done == CORO_ETIMEDOUT || done == CORO_ECANCELED);
		return;
	}
	CHECK_EQ(c[done].status, CORO_OK);
	if (way[done] <= BYTES_OUT) {
		moves_bytes(x, way[done]);
		return;
	}
	if (way[done] == VALUES_IN)
		CHECK_EQ(received, x->at[VALUES_IN]);
	x->at[way[done]]++;
}

static void selects_in_a_child(void *arg, void *result)
{
	(void)result;
	selects_once(*(struct hub **)arg, CORO_FOREVER);
}

static void in_a_child(struct hub *x)
{
	coro_handle h;
	uint64_t yields = rnd(&x->random) % 4; /* *x is the child's from its spawn to its join */

	CHECK_EQ(coro_spawn_attr(JOINABLE(0), selects_in_a_child, &x, sizeof x, &h), CORO_OK);
	for (uint64_t i = 0; i < yields; i++)
		CHECK_EQ(coro_yield(), CORO_OK);
	(void)coro_cancel(h); /* it may have ended */
	int status = coro_join(h, NULL, 0);
	CHECK(status == CORO_OK || status == CORO_ECANCELED);
}

static bool is_done(const struct hub *x)
{
	for (int i = 0; i < WAYS; i++)
		if (x->at[i] < x->all)
			return false;
	return true;
}

static void is_hub(void *arg, void *result)
{
	struct hub *x = *(struct hub **)arg;

	(void)result;
	while (!is_done(x))
		if (x->cancels && rnd(&x->random) % 2)
			in_a_child(x);
		else
			selects_once(x, rnd(&x->random) % 4 ? soon(rnd(&x->random) % 30000)
							    : CORO_FOREVER);
	add_one(&counted);
}

static void feeds_bytes(void *arg, void *result)
{
	struct hub *x = *(struct hub **)arg;
	unsigned char bytes[CHUNK];
	uint64_t at = 0;

	(void)result;
	while (at < x->all) {
		int64_t n = coro_write(x->p.b, bytes, chunk(x, at, bytes), CORO_FOREVER);
		CHECK(n > 0);
		at += (uint64_t)n;
		if (at % 3 == 0)
			CHECK_EQ(coro_yield(), CORO_OK);
	}
	add_one(&counted);
}

static void eats_bytes(void *arg, void *result)
{
	struct hub *x = *(struct hub **)arg;
	unsigned char bytes[CHUNK];
	uint64_t at = 0;

	(void)result;
	while (at < x->all) {
		int64_t n = coro_read(x->p.b, bytes, sizeof bytes, CORO_FOREVER);
		CHECK(n > 0);
		check_bytes(bytes, n, at);
		at += (uint64_t)n;
	}
	add_one(&counted);
}

static void feeds_values(void *arg, void *result)
{
	struct hub *x = *(struct hub **)arg;

	(void)result;
	for (uint64_t i = 0; i < x->all; i++)
		CHECK_EQ(coro_chan_send(x->in, &i, CORO_FOREVER), CORO_OK);
	add_one(&counted);
}

static void eats_values(void *arg, void *result)
{
	struct hub *x = *(struct hub **)arg;
	uint64_t got;

	(void)result;
	for (uint64_t i = 0; i < x->all; i++) {
		CHECK_EQ(coro_chan_recv(x->out, &got, CORO_FOREVER), CORO_OK);
		CHECK_EQ(got, i);
	}
	add_one(&counted);
}

static void storm_of_selects(uint32_t workers, bool cancels, uint64_t all)
{
	enum { HUBS = 6 };
	static const coro_fn bodies[] = {is_hub, feeds_bytes, eats_bytes, feeds_values,
					 eats_values};
	static struct hub hub[HUBS];
	coro_scheduler *s = start_with(workers, 0);

	counted = 0;
	for (int i = 0; i < HUBS; i++) {
		hub[i] = (struct hub){.p = i % 2 ? pair_of(s) : pair_of_tcp(s),
				      .in = channel(8, (size_t)i % 3),
				      .out = channel(8, (size_t)i % 4),
				      .all = all,
				      .random = 13 + (uint64_t)i,
				      .cancels = cancels};
		struct hub *x = &hub[i];
		for (int k = 0; k < 5; k++)
			spawn(s, bodies[k], &x, sizeof x);
	}
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(counted, 5 * HUBS);
	for (int i = 0; i < HUBS; i++) {
		pair_close(&hub[i].p);
		CHECK_EQ(coro_chan_free(hub[i].in), CORO_OK);
		CHECK_EQ(coro_chan_free(hub[i].out), CORO_OK);
	}
	finish(s);
}

TEST_LIMIT(fd_storm_of_selects_with_deadlines, 300)
{
	for (uint32_t workers = 1; workers <= 4; workers *= 2)
		storm_of_selects(workers, false, scaled(40000));
}

TEST_LIMIT(fd_storm_of_selects_with_cancels, 300)
{
	for (uint32_t workers = 1; workers <= 4; workers *= 2)
		storm_of_selects(workers, true, scaled(20000));
}

/* Descriptors and channels are closed under selects, at random moments. Each select ends, and tells
 * which case was closed. */
struct closing {
	struct pair p;
	coro_chan *c;
	uint64_t random;
	uint64_t users; /* the last one frees the channel */
};

static void gone(struct closing *x)
{
	if (add_to(&x->users, (uint64_t)-1) == 0) {
		CHECK_EQ(coro_chan_free(x->c), CORO_OK);
		free(x);
		add_one(&counted);
	}
}

static void selects_until_closed(void *arg, void *result)
{
	struct closing *x = *(struct closing **)arg;
	uint64_t got;
	coro_case c[2] = {{.chan = x->c, .recv = &got}, at(x->p.a, CORO_IN)};
	char bytes[8];
	int64_t n = 1;

	(void)result;
	for (;;) {
		int done = coro_select(c, 2, CORO_FOREVER);
		CHECK(done >= 0);
		if (c[done].status) {
			CHECK(c[done].status == CORO_ECLOSED ||
			      (done && c[1].status == CORO_ESTALE));
			break;
		}
		if (done == 1 && (n = coro_read(x->p.a, bytes, sizeof bytes, CORO_FOREVER)) <= 0)
			break;
	}
	CHECK(n >= 0 || n == CORO_ECLOSED || n == CORO_ESTALE || n == CORO_OF_ERRNO(ECONNRESET));
	gone(x);
}

static void close_one(struct closing *x, uint64_t which)
{
	uint64_t value = 1;

	(void)coro_write(x->p.b, "x", 1, 0);
	(void)coro_chan_send(x->c, &value, 0);
	switch (which) {
	case 0:
		CHECK_EQ(coro_fd_close(x->p.a), CORO_OK);
		break;
	case 1:
		CHECK_EQ(coro_chan_close(x->c), CORO_OK);
		break;
	default:
		CHECK_EQ(coro_fd_close(x->p.b), CORO_OK);
	}
}

static void closes_all(void *arg, void *result)
{
	struct closing *x = *(struct closing **)arg;
	uint64_t first = rnd(&x->random) % 3;

	(void)result;
	for (uint64_t i = rnd(&x->random) % 4; i; i--)
		CHECK_EQ(coro_yield(), CORO_OK);
	for (uint64_t i = 0; i < 3; i++) {
		close_one(x, (first + i) % 3);
		if (rnd(&x->random) % 2)
			CHECK_EQ(coro_yield(), CORO_OK);
	}
	gone(x);
}

TEST_LIMIT(fd_storm_of_closes_under_selects, 300)
{
	uint64_t n = scaled(3000);

	for (uint32_t workers = 1; workers <= 4; workers *= 2) {
		coro_scheduler *s = start_with(workers, 0);
		counted = 0;
		for (uint64_t i = 0; i < n; i++) {
			struct closing *x = malloc(sizeof *x);
			*x = (struct closing){.p = i % 2 ? pair_of(s) : pair_of_tcp(s),
					      .c = channel(8, 1),
					      .random = 1 + i,
					      .users = 2};
			spawn(s, selects_until_closed, &x, sizeof x);
			spawn(s, closes_all, &x, sizeof x);
			if (i % 64 == 0)
				CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		}
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(counted, n);
		finish(s);
	}
}
