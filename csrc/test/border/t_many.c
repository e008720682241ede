/*
 * t_many.c - many calls of one function (many.h), above all those that lend, and are canceled: when
 * the leader has ended, no call touches what it was lent.
 */
#include "test.h"

#include "border/many.h"
#include "kernel/life.h"

#include <stdlib.h>
#include <string.h>

#define LENT 16 /* bytes that a call borrows */

/* What a call does first. */
enum how { WRITES, PARKS, YIELDS, SLEEPS, HEEDLESS, ABORTS, FAILS };

struct argument {
	uint8_t *at; /* LENT bytes: it sets each to 1 when it begins, and to 2 at its end */
	enum how how;
	uint32_t number;
};

struct result {
	uint64_t number;
};

static uint64_t begun, ended, released, innocents;

/* slow - what a call that was canceled does yet. */
static void slow(struct argument *a)
{
	for (int i = 0; i < 10; i++) {
		coro_yield();
		a->at[i] = 1;
	}
}

static void borrows(void *arg, void *result)
{
	struct argument *a = arg;

	memset(a->at, 1, LENT);
	add_one(&begun);
	switch (a->how) {
	case PARKS:
		while (coro_park() != CORO_ECANCELED)
			;
		slow(a);
		break;
	case YIELDS:
		for (int i = 0; i < 20 && !coro_canceled(); i++)
			coro_yield();
		break;
	case SLEEPS:
		if (coro_sleep(2000 * MS) == CORO_ECANCELED)
			slow(a);
		break;
	case HEEDLESS:
		while (!seen(&released))
			coro_yield();
		break;
	default:
		break;
	}
	((struct result *)result)->number = a->number + 1;
	memset(a->at, 2, LENT);
	add_one(&ended);
	if (a->how == ABORTS)
		coro_abort();
	if (a->how == FAILS)
		coro_fail((int)a->number, "lent");
}

static struct coroi_one *one_of(struct coroi_many *m, uint32_t i)
{
	return (struct coroi_one *)(void *)(m->ones + (size_t)i * m->stride);
}

static void *argument_of(struct coroi_many *m, uint32_t i)
{
	return one_of(m, i)->payload + m->arg_at;
}

static struct coroi_many *many_of(coro_scheduler *s, coro_fn fn, uint32_t n, size_t arg_bytes,
				  size_t result_bytes, uint32_t state)
{
	size_t arg_at = (result_bytes + 15) & ~(size_t)15;
	size_t stride = (sizeof(struct coroi_one) + arg_at + arg_bytes + 15) & ~(size_t)15;
	struct coroi_many *m = calloc(1, sizeof *m + n * stride);

	CHECK(m);
	m->fn = (uintptr_t)fn;
	m->count = n;
	m->left = n + 1;
	m->stride = (uint32_t)stride;
	m->arg_at = (uint32_t)arg_at;
	m->arg_bytes = (uint16_t)arg_bytes;
	m->result_bytes = (uint16_t)result_bytes;
	m->class = s->class;
	m->state = state;
	return m;
}

/* lending - n calls that lend; how gives what each does. The memory is of the heap: after its free
 * a write is found by a sanitizer. */
static struct coroi_many *lending(coro_scheduler *s, uint32_t n, uint8_t **lent,
				  enum how (*how)(uint32_t i))
{
	struct coroi_many *m = many_of(s, borrows, n, sizeof(struct argument),
				       sizeof(struct result), COROI_MANY_LENDS);

	*lent = calloc(n, LENT);
	CHECK(*lent);
	for (uint32_t i = 0; i < n; i++) {
		struct argument a = {.at = *lent + (size_t)i * LENT, .how = how(i), .number = i};
		memcpy(argument_of(m, i), &a, sizeof a);
	}
	begun = ended = released = 0;
	return m;
}

/* start_leader - spawn it; it is joinable. */
static coro_handle start_leader(coro_scheduler *s, struct coroi_many *m)
{
	coro_handle h;

	CHECK_EQ(coro_scheduler_spawn(s, JOINABLE(0), coroi_many_lead, &m, sizeof(m), &h), CORO_OK);
	return h;
}

/* none_is_left - all calls have ended, or the leader was canceled before it began. */
static bool none_is_left(struct coroi_many *m)
{
	uint32_t left = at_load_seq(&m->left);

	return !left || (left == m->count + 1 && !seen(&begun));
}

/* joins - joins the leader of arg, and looks at once whether each call that has begun has ended. */
struct join {
	coro_handle leader;
	struct coroi_many *m;
	uint64_t *done;
};

static void joins(void *arg, void *result)
{
	struct join *j = arg;

	(void)result;
	int status = coro_join(j->leader, NULL, 0);
	CHECK(status == CORO_OK || status == CORO_ECANCELED);
	CHECK(none_is_left(j->m));
	CHECK_EQ(seen(&begun), seen(&ended));
	add_one(j->done);
}

static uint64_t joined;

static void join_leader(coro_scheduler *s, coro_handle h, struct coroi_many *m)
{
	struct join j = {h, m, &joined};

	joined = 0;
	spawn(s, joins, &j, sizeof j);
}

/* check_lent - each call has written all, or has not begun. Returns: how many have begun. Then
 * nobody has the memory. */
static uint64_t check_lent(struct coroi_many *m, uint8_t *lent, bool canceled)
{
	uint64_t ran = 0;

	for (uint32_t i = 0; i < m->count; i++) {
		struct coroi_one *one = one_of(m, i);
		struct argument *a = argument_of(m, i);
		for (int k = 0; k < LENT; k++)
			CHECK_EQ(a->at[k], a->at[0]);
		CHECK(a->at[0] == 0 || a->at[0] == 2);
		CHECK(a->at[0] == 2 || (canceled && (one->status == CORO_ECANCELED || m->left)));
		ran += a->at[0] == 2;
		if (a->at[0] == 2 && a->how == ABORTS)
			CHECK_EQ(one->status, CORO_EABORTED);
		else if (a->at[0] == 2 && a->how == FAILS)
			CHECK(one->status == CORO_EFAILED && one->code == (int)i &&
			      strcmp(one->text, "lent") == 0);
		else if (a->at[0] == 2 && !canceled)
			CHECK_EQ(one->status, CORO_OK);
		free(one->text);
	}
	CHECK_EQ(ran, seen(&begun));
	free(lent);
	free(m);
	return ran;
}

static enum how parks_all(uint32_t i)
{
	(void)i;
	return PARKS;
}

static enum how mixed(uint32_t i)
{
	return (enum how)(i % 7 == HEEDLESS ? WRITES : i % 7);
}

static enum how mixed_heedless(uint32_t i)
{
	return (enum how)(i % 7);
}

static enum how ends_all(uint32_t i)
{
	enum how how = mixed(i);

	return how == PARKS || how == SLEEPS ? YIELDS : how;
}

/* Without a cancel each call ends by itself, and the leader after it. */
TEST(many_that_lend_end_by_themselves)
{
	for (uint32_t workers = 1; workers <= 3; workers++) {
		coro_scheduler *s = start_with(workers, 0);
		uint8_t *lent;
		struct coroi_many *m = lending(s, 1000, &lent, ends_all);
		join_leader(s, start_leader(s, m), m);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(joined, 1);
		CHECK_EQ(check_lent(m, lent, false), 1000);
		finish(s);
	}
}

/* The leader is canceled when so many of the calls have begun: none of them, some, all. */
TEST(many_that_lend_are_canceled_at_each_point)
{
	uint64_t seed = 1, some = 0, none = 0;

	for (uint64_t i = 0; i < scaled(600); i++) {
		uint32_t n = 1 + (uint32_t)(rnd(&seed) % 300);
		uint64_t at = rnd(&seed) % (n + 1);
		coro_scheduler *s = start_with(1 + (uint32_t)(i % 3), 0);
		uint8_t *lent;
		struct coroi_many *m = lending(s, n, &lent, i % 2 ? parks_all : mixed);
		coro_handle h = start_leader(s, m);
		join_leader(s, h, m);
		sleep_until_seen(&begun, at);
		CHECK(coro_cancel(h) == CORO_OK || seen(&joined));
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(joined, 1);
		uint64_t ran = check_lent(m, lent, true);
		CHECK(ran >= at);
		some += ran < n;
		none += ran == 0;
		finish(s);
	}
	report("%llu times some had not begun, %llu times none had", (unsigned long long)some,
	       (unsigned long long)none);
}

/* A call that heeds no cancel keeps the leader. */
TEST(many_that_lend_are_waited_for)
{
	coro_scheduler *s = start_with(2, 0);
	uint8_t *lent;
	struct coroi_many *m = lending(s, 70, &lent, mixed_heedless);
	coro_handle h = start_leader(s, m);

	join_leader(s, h, m);
	sleep_until_seen(&begun, 70);
	CHECK_EQ(coro_cancel(h), CORO_OK);
	CHECK_EQ(coro_cancel(h), CORO_OK); /* once more */
	sleep_until_seen(&ended, 60);
	CHECK_EQ(seen(&joined), 0);
	CHECK_EQ(seen(&ended), 60);
	add_one(&released);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(joined, 1);
	CHECK_EQ(check_lent(m, lent, true), 70);
	finish(s);
}

/* Records of calls that have ended have new coroutines: a cancel is none of these. */
static void innocent(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (int i = 0; i < 200; i++)
		CHECK_EQ(coro_yield(), CORO_OK);
	CHECK(!coro_canceled());
	add_one(&innocents);
}

static enum how first_end(uint32_t i)
{
	return i < 190 ? WRITES : PARKS;
}

TEST(many_that_lend_and_have_ended_are_not_canceled)
{
	for (uint64_t i = 0; i < scaled(50); i++) {
		coro_scheduler *s = start_with(1 + (uint32_t)(i % 2), 0);
		uint8_t *lent;
		struct coroi_many *m = lending(s, 200, &lent, first_end);
		coro_handle h = start_leader(s, m);
		innocents = 0;
		join_leader(s, h, m);
		sleep_until_seen(&ended, 190);
		for (int k = 0; k < 300; k++)
			spawn(s, innocent, NULL, 0);
		sleep_until_seen(&begun, 200);
		CHECK_EQ(coro_cancel(h), CORO_OK);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(innocents, 300);
		CHECK_EQ(check_lent(m, lent, true), 200);
		finish(s);
	}
}

/* A close cancels the leader, the calls, and what has not started. */
TEST(many_that_lend_are_closed)
{
	for (uint64_t i = 0; i < scaled(200); i++) {
		coro_scheduler *s = start_with(1 + (uint32_t)(i % 3), 0);
		uint8_t *lent;
		struct coroi_many *m = lending(s, 100, &lent, mixed);
		coro_handle h = start_leader(s, m);
		sleep_until_seen(&begun, i % 50);
		CHECK_EQ(coro_scheduler_close(s, 1), CORO_OK);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(coroi_live(s), 0);
		CHECK_EQ(coro_detach(h), CORO_OK);
		CHECK(none_is_left(m));
		check_lent(m, lent, true);
		CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
	}
}

/* There is a record for some alone. Others begin when these have ended, but not after a cancel. A
 * chunk of records is more fibers than ThreadSanitizer has. */
TEST(many_that_lend_are_canceled_without_records)
{
	coro_options o = options(1, 0);
	uint8_t *lent;
	uint32_t n = 30000;

	if (FIBERS)
		return;
	o.record_limit = 1;
	coro_scheduler *s = start(&o);
	struct coroi_many *m = lending(s, n, &lent, parks_all);
	coro_handle h = start_leader(s, m);
	sleep_until_seen(&begun, 1000);
	CHECK_EQ(coro_cancel(h), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(coro_detach(h), CORO_OK);
	uint64_t ran = check_lent(m, lent, true);
	CHECK(ran >= 1000 && ran < n);
	finish(s);
}

/* The leader has the last record, and its calls have none: they end with an error. */
static uint64_t fillers;

static void fills(void *arg, void *result)
{
	(void)arg;
	(void)result;
	add_one(&fillers);
	CHECK(coro_park() == CORO_OK || coro_canceled());
}

static void fills_all(void *arg, void *result)
{
	(void)arg;
	(void)result;
	while (coro_spawn(fills, NULL, 0) == CORO_OK)
		;
	coro_park();
}

static coro_handle filler_of(coro_scheduler *s)
{
	coro_attr attr = {.size = sizeof attr};
	coro_handle h;

	CHECK_EQ(coro_scheduler_spawn(s, &attr, fills, NULL, 0, &h), CORO_OK);
	return h;
}

TEST(many_that_find_no_record)
{
	coro_options o = options(1, 0);
	uint64_t refused = 0;

	if (FIBERS)
		return;
	o.record_limit = 1;
	for (int i = 0; i < 50 && !refused; i++) {
		coro_scheduler *s = start(&o);
		uint8_t *lent;
		struct coroi_many *m = lending(s, 5, &lent, ends_all);
		coro_handle first = filler_of(s), h;
		spawn(s, fills_all, NULL, 0);
		while (coro_scheduler_spawn(s, NULL, fills, NULL, 0, NULL) != CORO_ENOMEM)
			;
		sleep_us(1000);
		CHECK_EQ(coro_wake(first), CORO_OK);
		while (coro_scheduler_spawn(s, JOINABLE(0), coroi_many_lead, &m, sizeof(m), &h) ==
		       CORO_ENOMEM)
			sleep_us(20);
		while (at_load_seq(&m->left))
			sleep_us(20);
		for (uint32_t k = 0; k < m->count; k++) {
			int status = one_of(m, k)->status;
			CHECK(seen(&begun) || status == CORO_ENOMEM);
			refused += status == CORO_ENOMEM;
		}
		CHECK(!refused || m->failed);
		CHECK_EQ(coro_scheduler_close(s, 1), CORO_OK);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(coro_detach(h), CORO_OK);
		CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
		for (uint32_t k = 0; k < m->count; k++)
			free(one_of(m, k)->text);
		free(lent);
		free(m);
	}
	CHECK(refused > 0);
}

/* Of those that do not lend, the calls that have begun hear of no cancel. */
static uint64_t told;
static coro_handle parked[8];

static void waits(void *arg, void *result)
{
	uint32_t number = *(uint32_t *)arg;

	parked[number] = coro_self();
	add_one(&begun);
	if (coro_park() != CORO_OK)
		add_one(&told);
	*(uint64_t *)result = number + 1;
}

TEST(many_that_do_not_lend_go_on)
{
	coro_scheduler *s = start_with(2, 0);
	struct coroi_many *m = many_of(s, waits, 8, sizeof(uint32_t), sizeof(uint64_t), 0);

	for (uint32_t i = 0; i < 8; i++)
		memcpy(argument_of(m, i), &i, sizeof i);
	begun = told = 0;
	coro_handle h = start_leader(s, m);
	sleep_until_seen(&begun, 8);
	CHECK_EQ(coro_cancel(h), CORO_OK);
	while (!(at_load_seq(&m->state) & COROI_MANY_CANCELED))
		sleep_us(20);
	for (uint32_t i = 0; i < 8; i++)
		CHECK_EQ(coro_wake(parked[i]), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(coro_detach(h), CORO_OK);
	CHECK_EQ(told, 0);
	CHECK(!m->failed && !m->left);
	for (uint32_t i = 0; i < 8; i++)
		CHECK_EQ(*(uint64_t *)(void *)one_of(m, i)->payload, i + 1);
	free(m);
	finish(s);
}

/* Arguments and results of the largest size lie in the block of the calls. */
static void adds_all(void *arg, void *result)
{
	const uint64_t *from = arg;
	uint64_t *to = result;

	for (size_t i = 0; i < CORO_LARGE_BYTES / 8; i++)
		to[i] += from[i] + 1;
	coro_yield();
	CHECK_EQ(to[0], from[0] + 1);
}

TEST(many_with_large_arguments)
{
	coro_scheduler *s = start_with(2, 0);
	uint32_t n = 200;
	struct coroi_many *m = many_of(s, adds_all, n, CORO_LARGE_BYTES, CORO_LARGE_BYTES, 0);

	for (uint32_t i = 0; i < n; i++)
		for (size_t k = 0; k < CORO_LARGE_BYTES / 8; k++)
			((uint64_t *)argument_of(m, i))[k] = i * k;
	coro_handle h = start_leader(s, m);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(coro_detach(h), CORO_OK);
	CHECK(!m->failed && !m->left);
	for (uint32_t i = 0; i < n; i++)
		for (size_t k = 0; k < CORO_LARGE_BYTES / 8; k++)
			CHECK_EQ(((uint64_t *)(void *)one_of(m, i)->payload)[k], i * k + 1);
	free(m);
	finish(s);
}

/* Arguments with buffers: the call that begins has its own, and that of one that never begins is
 * freed. */
struct crate {
	coro_buffer buffer;
	uint32_t yields;
};

static void frees(void *arg, void *result)
{
	struct crate *p = arg;

	(void)result;
	add_one(&begun);
	for (uint32_t i = 0; i < p->yields; i++)
		coro_yield();
	CHECK_EQ(coro_buffer_free(p->buffer), CORO_OK);
}

/* A status from the start is that of a call whose buffers could not be passed. */
static bool is_refused(uint32_t i)
{
	return i % 7 == 6;
}

static struct coroi_many *carrying(coro_scheduler *s, coro_scheduler *counts, uint32_t n,
				   uint32_t state)
{
	struct coroi_many *m = many_of(s, frees, n, sizeof(struct crate), 0,
				       state | COROI_MANY_CARRIES);

	m->arg_buffers = 1;
	for (uint32_t i = 0; i < n; i++) {
		struct crate p = {.yields = i % 3};
		if (is_refused(i))
			one_of(m, i)->status = CORO_ESTALE;
		else
			CHECK_EQ(coro_buffer_make_on(counts, 100, &p.buffer), CORO_OK);
		memcpy(argument_of(m, i), &p, sizeof p);
	}
	begun = 0;
	return m;
}

TEST(many_that_never_begin_free_their_buffers)
{
	uint32_t n = 300, unbegun = 0;
	coro_scheduler *counts = start_with(1, 0);

	for (uint32_t i = 0; i < scaled(60) || (!unbegun && i < 10000); i++) {
		coro_scheduler *s = start_with(2, 0);
		struct coroi_many *m = carrying(s, counts, n, i % 2 ? COROI_MANY_LENDS : 0);
		coro_handle h = start_leader(s, m);
		sleep_until_seen(&begun, 1 + i * 11 % 200);
		if (i % 3)
			(void)coro_cancel(h); /* it may have ended */
		CHECK_EQ(coro_scheduler_close(s, i % 3 == 1), CORO_OK);
		coro_stats t = stats(counts);
		CHECK_EQ(t.buffers_made, (i + 1) * (n - n / 7));
		CHECK_EQ(t.buffers_freed, t.buffers_made);
		for (uint32_t k = 0; k < n; k++) {
			int status = one_of(m, k)->status;
			CHECK(status != CORO_OK || !is_refused(k));
			unbegun += status == CORO_ECANCELED && !is_refused(k);
		}
		CHECK_EQ(coro_detach(h), CORO_OK);
		CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
		free(m);
	}
	CHECK(unbegun > 0);
	finish(counts);
}
