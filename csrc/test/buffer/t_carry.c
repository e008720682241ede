/*
 * t_carry.c - coroutines whose arguments and results have buffers: what is sent is the receiver's,
 * and what nobody receives is freed.
 */
#include "test.h"

#include <string.h>

struct pair {
	coro_buffer a;
	uint64_t number;
	coro_buffer b;
};

#define BOTH \
	(coro_buffer_word(offsetof(struct pair, a)) | coro_buffer_word(offsetof(struct pair, b)))

static const coro_attr carries = {.flags = CORO_JOINABLE,
				  .result_bytes = sizeof(struct pair),
				  .arg_buffers = BOTH,
				  .result_buffers = BOTH};
enum how { RETURNS, FAILS, ABORTS, PARKS, EXITS };

static struct pair two(coro_scheduler *s, enum how how)
{
	struct pair p = {.number = how};

	CHECK_EQ(coro_buffer_make_on(s, 10, &p.a), CORO_OK);
	CHECK_EQ(coro_buffer_make_on(s, 10000, &p.b), CORO_OK);
	return p;
}

static void body(void *arg, void *result)
{
	struct pair *p = arg, *out = result;

	memset(coro_buffer_at(p->a, NULL), 1, 10);
	memset(coro_buffer_at(p->b, NULL), 2, 10000);
	*out = *p;
	switch ((enum how)p->number) {
	case FAILS:
		coro_fail(1, "text");
		break;
	case ABORTS:
		coro_abort();
		break;
	case EXITS:
		coro_exit();
		break;
	case PARKS:
		while (coro_park() == CORO_OK)
			;
		break;
	case RETURNS:
		break;
	}
}

static void free_both(struct pair p)
{
	CHECK_EQ(*(unsigned char *)coro_buffer_at(p.a, NULL), 1);
	CHECK_EQ(*(unsigned char *)coro_buffer_at(p.b, NULL), 2);
	CHECK_EQ(coro_buffer_free(p.a), CORO_OK);
	CHECK_EQ(coro_buffer_free(p.b), CORO_OK);
}

static coro_scheduler *sched;

static coro_handle begun(enum how how, const coro_attr *attr, struct pair *sent)
{
	coro_handle h;

	*sent = two(sched, how);
	CHECK_EQ(coro_spawn_attr(attr, body, sent, sizeof *sent, &h), CORO_OK);
	CHECK(coro_buffer_at(sent->a, NULL) == NULL);
	CHECK_EQ(coro_buffer_free(sent->b), CORO_ESTALE);
	return h;
}

static void parent(void *arg, void *result)
{
	struct pair p, sent;

	(void)arg;
	(void)result;
	for (int i = 0; i < 50; i++) {
		coro_attr elsewhere = carries;
		elsewhere.worker = (uint32_t)(i % 2) + 1;
		const coro_attr *attr = i % 3 ? &carries : &elsewhere;
		CHECK_EQ(coro_join(begun(RETURNS, attr, &sent), &p, sizeof p), CORO_OK);
		free_both(p);
		CHECK_EQ(coro_join(begun(EXITS, attr, &sent), &p, sizeof p), CORO_OK);
		free_both(p);
		CHECK_EQ(coro_join(begun(ABORTS, attr, &sent), &p, sizeof p), CORO_EABORTED);
		free_both(p);
		/* with a part of the result */
		CHECK_EQ(coro_join(begun(RETURNS, attr, &sent), &p, 16), CORO_OK);
		CHECK_EQ(coro_buffer_free(p.a), CORO_OK);
		CHECK_EQ(coro_join(begun(ABORTS, attr, &sent), &p, 8), CORO_EABORTED);
		CHECK_EQ(coro_buffer_free(p.a), CORO_OK);
		CHECK_EQ(coro_join(begun(EXITS, attr, &sent), &p, 4), CORO_OK);
		/* without the result */
		CHECK_EQ(coro_join(begun(RETURNS, attr, &sent), NULL, 0), CORO_OK);
		CHECK_EQ(coro_join(begun(ABORTS, attr, &sent), NULL, 0), CORO_EABORTED);
		CHECK_EQ(coro_join(begun(FAILS, attr, &sent), &p, sizeof p), CORO_EFAILED);
		CHECK_EQ(coro_detach(begun(FAILS, attr, &sent)), CORO_OK);
		CHECK_EQ(coro_detach(begun(RETURNS, attr, &sent)), CORO_OK);
		coro_handle h = begun(RETURNS, attr, &sent);
		for (int k = 0; k < 5; k++)
			coro_yield();
		CHECK_EQ(coro_detach(h), CORO_OK); /* mostly after its end */
		h = begun(RETURNS, attr, &sent);
		CHECK_EQ(coro_cancel(h), CORO_OK); /* mostly before its start */
		int status = coro_join(h, &p, sizeof p);
		CHECK(status == CORO_OK || status == CORO_ECANCELED);
		if (status == CORO_OK)
			free_both(p);
		h = begun(PARKS, attr, &sent);
		if (i % 4)
			coro_yield();
		CHECK_EQ(coro_cancel(h), CORO_OK);
		CHECK_EQ(coro_join(h, &p, sizeof p), CORO_ECANCELED);
	}
}

static void all_freed(coro_scheduler *s)
{
	coro_stats t = stats(s);

	CHECK_EQ(t.buffers_made, t.buffers_freed);
	CHECK_EQ(t.buffer_bytes, 0);
}

TEST(carry_to_a_child_and_back)
{
	sched = start_with(2, 0);
	spawn(sched, parent, NULL, 0);
	spawn(sched, parent, NULL, 0);
	CHECK_EQ(coro_scheduler_wait(sched), CORO_OK);
	all_freed(sched);
	finish(sched);
}

TEST(carry_refuses_what_it_cannot_do)
{
	coro_scheduler *s = start_with(1, CORO_PAUSED);
	coro_attr bad = carries;
	coro_handle h;

	struct pair p = two(s, RETURNS), q = p;
	bad.arg_buffers = 8;
	CHECK_EQ(coro_scheduler_spawn(s, &bad, body, &p, sizeof p, &h), CORO_EINVAL);
	bad = carries;
	bad.result_buffers = 8;
	CHECK_EQ(coro_scheduler_spawn(s, &bad, body, &p, sizeof p, &h), CORO_EINVAL);
	CHECK_EQ(coro_buffer_free(q.b), CORO_OK);
	CHECK_EQ(coro_scheduler_spawn(s, &carries, body, &p, sizeof p, &h), CORO_ESTALE);
	CHECK(coro_buffer_at(p.a, NULL) != NULL);
	p.b = (coro_buffer){0};
	CHECK_EQ(coro_scheduler_spawn(s, &carries, body, &p, sizeof p, &h), CORO_OK);
	bad = carries;
	bad.arg_buffers = 1;
	CHECK_EQ(coro_scheduler_spawn(s, &bad, body, &p, sizeof p, &h), CORO_EINVAL);
	p = two(s, RETURNS);
	CHECK_EQ(coro_scheduler_close(s, 1), CORO_OK); /* it never starts */
	CHECK_EQ(coro_scheduler_spawn(s, &carries, body, &p, sizeof p, &h), CORO_ECLOSED);
	CHECK_EQ(coro_buffer_free(p.a), CORO_OK);
	CHECK_EQ(coro_buffer_free(p.b), CORO_OK);
	coro_scheduler_destroy(s);
}

/* What nobody has joined when the scheduler is destroyed is freed with it. */
TEST(carry_results_that_nobody_joins)
{
	coro_scheduler *s = start_with(2, 0), *t = start_with(1, 0);
	coro_handle h;

	for (int i = 0; i < 20; i++) {
		struct pair p = two(t, i % 2 ? RETURNS : ABORTS);
		CHECK_EQ(coro_scheduler_spawn(s, &carries, body, &p, sizeof p, &h), CORO_OK);
	}
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(stats(t).buffers_freed, 0);
	CHECK_EQ(coro_scheduler_close(s, 0), CORO_OK);
	coro_scheduler_destroy(s);
	all_freed(t);
	finish(t);
}
