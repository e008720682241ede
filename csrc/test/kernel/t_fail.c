/*
 * t_fail.c - bodies that end by coro_fail: what their joiners, resumers and scopes are told,
 * without memory too. And that nothing is left of what nobody asks for.
 */
#include "test.h"

#include "kernel/wait.h"

#include <string.h>

/* How a child fails. */
struct how {
	int code;
	const char *text;
	uint8_t defers, deep, second;
};

static uint64_t ran;

static void count(void *arg)
{
	unsigned char *payload = arg;
	ran++;
	/* deferred functions may use the result, also after a failure */
	if (payload)
		memset(payload, 0xee, 8);
}

static void fails_again(void *arg)
{
	(void)arg;
	coro_fail(-7, "the second");
}

static void falls(void *arg)
{
	const struct how *h = arg;
	coro_fail(h->code, h->text);
	CHECK(!"it came back");
}

static void fails(void *arg, void *result)
{
	struct how h = *(struct how *)arg;

	if (h.defers)
		CHECK_EQ(coro_defer(count, result), CORO_OK);
	if (h.second)
		CHECK_EQ(coro_defer(fails_again, NULL), CORO_OK);
	memset(result, 5, 8);
	if (h.deep)
		coro_call_on_stack(32 << 10, falls, &h);
	else
		falls(&h);
}

/* told - join a child that fails: what the joiner is told. */
static void told(const struct how *h, int code, const char *text)
{
	coro_handle child;
	uint64_t got = 1;
	char copy[2 * CORO_FAILURE_BYTES];
	int said = 99;

	CHECK_EQ(coro_spawn_attr(JOINABLE(8), fails, h, sizeof *h, &child), CORO_OK);
	CHECK_EQ(coro_join(child, &got, 8), CORO_EFAILED);
	CHECK_EQ(got, 1); /* there is no result */
	CHECK_EQ(coro_join_error(&said, copy, sizeof copy), strlen(text));
	CHECK_EQ(said, code);
	CHECK_EQ(strcmp(copy, text), 0);
	CHECK_EQ(coro_join_error(NULL, copy, 4), strlen(text));
	CHECK_EQ(strncmp(copy, text, 3), 0);
	CHECK(strlen(copy) <= 3);
	CHECK_EQ(coro_join_error(NULL, NULL, 0), strlen(text));
}

static void joins_all(void *arg, void *result)
{
	static char longer[3 * CORO_FAILURE_BYTES], cut[CORO_FAILURE_BYTES];
	(void)arg;
	(void)result;

	int code = 5;
	CHECK_EQ(coro_join_error(&code, NULL, 0), 0);
	CHECK_EQ(code, 0);
	memset(longer, 'x', sizeof longer - 1);
	memset(cut, 'x', sizeof cut - 1);
	ran = 0;
	for (uint8_t i = 0; i < 4; i++) {
		uint8_t defers = i & 1, deep = i >> 1;
		told(&(struct how){7, "no such order", defers, deep, 0}, 7, "no such order");
		told(&(struct how){INT32_MIN, NULL, defers, deep, 0}, INT32_MIN, "");
		told(&(struct how){0, "", defers, deep, 0}, 0, "");
		told(&(struct how){-1, longer, defers, deep, 0}, -1, cut);
		/* that of a deferred function does not count */
		told(&(struct how){1, "the first", defers, deep, 1}, 1, "the first");
	}
	CHECK_EQ(ran, 10);
}

TEST(fail_is_told_to_the_joiner)
{
	for (uint32_t workers = 1; workers <= 2; workers++) {
		coro_scheduler *s = start_with(workers, 0);
		spawn(s, joins_all, NULL, 0);
		finish(s);
	}
}

/* ---------------------------------------------------------------------- ends in deferred functions
 * */

static void aborts_again(void *arg)
{
	(void)arg;
	coro_abort();
}

static void exits_again(void *arg)
{
	(void)arg;
	coro_exit();
}

/* is_told_and_exits - what a deferred function is told is not what the body was told. */
static void is_told_and_exits(void *arg)
{
	(void)arg;
	CHECK_EQ(coro_cancel(coro_self()), CORO_OK);
	CHECK_EQ(coro_park(), CORO_ECANCELED);
	coro_exit();
}

static void finishes_again(void *arg)
{
	(void)arg;
	coro_exit_finished();
}

static void yields_and_writes(void *arg)
{
	coro_yield();
	*(uint64_t *)arg += 1;
	ran++;
}

static void fails_on_stack(void *arg)
{
	CHECK_EQ(coro_call_on_stack(32 << 10, fails_again, arg), CORO_OK);
}

static void (*const ends_again[])(void *) = {fails_again,       aborts_again,   exits_again,
					     is_told_and_exits, finishes_again, fails_on_stack};
#define ENDS_AGAIN (sizeof ends_again / sizeof *ends_again)

/* ends_once - ends in a way, with a deferred function that ends in another: what comes of it. */
static void ends_once(void *arg, void *result)
{
	const uint8_t *how = arg;
	uint8_t first = how[0], second = how[1];

	CHECK_EQ(coro_defer(yields_and_writes, result), CORO_OK);
	CHECK_EQ(coro_defer(ends_again[second], NULL), CORO_OK);
	CHECK_EQ(coro_defer(yields_and_writes, result), CORO_OK);
	*(uint64_t *)result = 40;
	if (first == 1)
		coro_exit();
	if (first == 2)
		coro_abort();
	if (first == 3)
		coro_fail(9, "the body's");
	if (first == 4) {
		CHECK_EQ(coro_cancel(coro_self()), CORO_OK);
		CHECK_EQ(coro_park(), CORO_ECANCELED);
	}
}

static void joins_those_that_end_once(void *arg, void *result)
{
	static const int want[] = {CORO_OK, CORO_OK, CORO_EABORTED, CORO_EFAILED, CORO_ECANCELED};
	(void)arg;
	(void)result;

	for (uint8_t first = 0; first < 5; first++)
		for (uint8_t second = 0; second < ENDS_AGAIN; second++) {
			uint8_t how[2] = {first, second};
			coro_handle child;
			uint64_t got = 0;
			int code = 0;
			char text[16] = "";
			ran = 0;
			CHECK_EQ(coro_spawn_attr(JOINABLE(8), ends_once, how, 2, &child), CORO_OK);
			CHECK_EQ(coro_join(child, &got, 8), want[first]);
			CHECK_EQ(ran, 2); /* the other deferred functions run */
			CHECK_EQ(got, first < 3 ? 42 : 0);
			if (first == 3)
				coro_join_error(&code, text, sizeof text);
			CHECK_EQ(code, first == 3 ? 9 : 0);
			CHECK(strcmp(text, first == 3 ? "the body's" : "") == 0);
		}
}

TEST(fail_of_a_deferred_function_is_not_that_of_the_body)
{
	for (uint32_t workers = 1; workers <= 2; workers++) {
		coro_scheduler *s = start_with(workers, 0);
		spawn(s, joins_those_that_end_once, NULL, 0);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(stats(s).failed, 2 * ENDS_AGAIN);
		finish(s);
	}
}

/* Nobody asks: the child is not joinable, detached before and after its end, or left. */
static void leaves(void *arg, void *result)
{
	struct how h = {3, "left", *(uint8_t *)arg, 0, 0};
	coro_handle child;
	(void)result;

	CHECK_EQ(coro_spawn_attr(JOINABLE(8), fails, &h, sizeof h, &child), CORO_OK);
	CHECK_EQ(coro_detach(child), CORO_OK);
	CHECK_EQ(coro_spawn_attr(JOINABLE(8), fails, &h, sizeof h, &child), CORO_OK);
	while (coro_wake(child) == CORO_OK)
		coro_yield();
	CHECK_EQ(coro_detach(child), CORO_OK);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(coro_spawn_attr(JOINABLE(8), fails, &h, sizeof h, &child), CORO_OK);
}

static void fails_alone(void *arg, void *result)
{
	(void)result;
	if (*(uint8_t *)arg)
		CHECK_EQ(coro_defer(count, NULL), CORO_OK);
	coro_fail(3, "nobody");
}

TEST(fail_that_nobody_asks_for_leaves_nothing)
{
	for (uint8_t defers = 0; defers < 2; defers++) {
		coro_scheduler *s = start_with(1, 0);
		spawn(s, leaves, &defers, 1);
		spawn(s, fails_alone, &defers, 1);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(coro_scheduler_destroy(s), CORO_OK); /* with three that nobody joins */
	}
	CHECK_EQ(coro_fail(1, "outside"), CORO_EPERM);
}

/* The code needs no memory, neither where it comes from, nor where it goes. */
static void joins_without_memory(void *arg, void *result)
{
	struct how h = {-77, "no memory for this", 0, 0, 0};
	coro_handle child;
	int code = 0, granted = *(uint8_t *)arg; /* 0: not for the text, 1: not to keep it */
	(void)result;

	CHECK_EQ(coro_spawn_attr(JOINABLE(8), fails, &h, sizeof h, &child), CORO_OK);
	fail_alloc = granted;
	CHECK_EQ(coro_join(child, NULL, 0), CORO_EFAILED);
	CHECK_EQ(fail_alloc, -1);
	CHECK_EQ(coro_join_error(&code, NULL, 0), 0);
	CHECK_EQ(code, -77);
}

TEST(fail_without_memory_tells_the_code)
{
	for (uint8_t granted = 0; granted < 2; granted++) {
		coro_scheduler *s = start_with(1, 0);
		spawn(s, joins_without_memory, &granted, 1);
		finish(s);
	}
}

static void child_of_scope(void *arg, void *result)
{
	(void)result;
	if (*(uint8_t *)arg == 2)
		coro_fail(22, "the second part");
	CHECK_EQ(coro_park(), CORO_ECANCELED);
}

static void has_scope(void *arg, void *result)
{
	coro_scope *scope;
	char text[32];
	int code = 0;
	(void)arg;
	(void)result;

	CHECK_EQ(coro_scope_new(&scope), CORO_OK);
	for (uint8_t i = 0; i < 4; i++)
		CHECK_EQ(coro_scope_spawn(scope, NULL, child_of_scope, &i, 1), CORO_OK);
	CHECK_EQ(coro_scope_wait(scope), CORO_EFAILED);
	CHECK_EQ(coro_join_error(&code, text, sizeof text), strlen("the second part"));
	CHECK_EQ(code, 22);
	CHECK_EQ(strcmp(text, "the second part"), 0);
}

TEST(fail_cancels_the_rest_of_a_scope)
{
	coro_scheduler *s = start_with(2, 0);
	spawn(s, has_scope, NULL, 0);
	finish(s);
}

/* ---------------------------------------------------------------------------- resumed by hand */

static intptr_t fails_by_hand(void *arg, intptr_t first)
{
	if (arg)
		CHECK_EQ(coro_defer(count, NULL), CORO_OK);
	coro_yield_value(first + 1, NULL);
	coro_fail(40, "by hand");
	return 0;
}

TEST(fail_of_a_coroutine_by_hand)
{
	coro_t *co;
	char text[16];
	int code = 5;
	intptr_t got;

	ran = 0;
	CHECK_EQ(coro_new(&co, fails_by_hand, NULL, 0), CORO_OK);
	for (int i = 0; i < 4; i++) {
		CHECK_EQ(coro_resume(co, 1, &got), CORO_MAY_RESUME);
		CHECK_EQ(got, 2);
		CHECK_EQ(coro_resume_error(co, &code, text, sizeof text), 0);
		CHECK_EQ(code, 0);
		CHECK_EQ(coro_resume(co, 1, &got), CORO_FAILED);
		CHECK_EQ(coro_status(co), CORO_FAILED);
		CHECK_EQ(coro_resume_error(co, &code, text, sizeof text), 7);
		CHECK_EQ(code, 40);
		CHECK_EQ(strcmp(text, "by hand"), 0);
		CHECK_EQ(coro_resume(co, 1, &got), CORO_ENDED);
		CHECK_EQ(coro_reset(co, fails_by_hand, co), CORO_OK);
	}
	CHECK_EQ(ran, 3);
	CHECK_EQ(coro_resume(co, 1, &got), CORO_MAY_RESUME);
	CHECK_EQ(coro_resume(co, 1, &got), CORO_FAILED);
	CHECK_EQ(coro_free(co), CORO_OK);
	CHECK_EQ(coro_resume_error(NULL, &code, text, sizeof text), 0);
	CHECK_EQ(code, 0);
}
