/*
 * t_manual.c - coroutines resumed by hand: values, states, nesting, reset, deferred functions, the
 * arena.
 */
#include "test.h"

#include <string.h>

static coro_t *make(coro_body body, void *arg)
{
	coro_t *co = NULL;
	CHECK_EQ(coro_new(&co, body, arg, STACK), CORO_OK);
	return co;
}

static intptr_t echo(void *arg, intptr_t first)
{
	intptr_t sent = first;

	CHECK(arg == (void *)0x1234);
	for (int i = 0; i < 100; i++) {
		intptr_t next = -1;
		CHECK_EQ(coro_yield_value(sent * 2, &next), CORO_OK);
		sent = next;
	}
	return sent + 1;
}

TEST(manual_values_both_ways)
{
	coro_t *co = make(echo, (void *)0x1234);
	intptr_t got = 0;

	CHECK_EQ(coro_status(co), CORO_MAY_RESUME);
	for (intptr_t i = 0; i < 100; i++) {
		CHECK_EQ(coro_resume(co, i * 3, &got), CORO_MAY_RESUME);
		CHECK_EQ(got, i * 6);
	}
	CHECK_EQ(coro_resume(co, INTPTR_MAX - 1, &got), CORO_FINISHED);
	CHECK_EQ(got, INTPTR_MAX);
	CHECK_EQ(coro_status(co), CORO_FINISHED);
	got = 77;
	CHECK_EQ(coro_resume(co, 1, &got), CORO_ENDED);
	CHECK_EQ(got, 77);
	CHECK_EQ(coro_free(co), CORO_OK);
}

static intptr_t ignore_values(void *arg, intptr_t first)
{
	(void)arg;
	CHECK_EQ(first, 5);
	CHECK_EQ(coro_yield_value(6, NULL), CORO_OK);
	return 7;
}

TEST(manual_values_may_be_ignored)
{
	coro_t *co = make(ignore_values, NULL);

	CHECK_EQ(coro_resume(co, 5, NULL), CORO_MAY_RESUME);
	CHECK_EQ(coro_resume(co, 5, NULL), CORO_FINISHED);
	coro_free(co);
}

static intptr_t count_up(void *arg, intptr_t first)
{
	(void)first;
	for (intptr_t i = 0; i < (intptr_t)arg; i++)
		coro_yield_value(i, NULL);
	return -1;
}

TEST(manual_generator)
{
	coro_t *co = make(count_up, (void *)10000);
	intptr_t got, sum = 0, n = 0;

	while (coro_resume(co, 0, &got) == CORO_MAY_RESUME) {
		CHECK_EQ(got, n);
		n++;
		sum += got;
	}
	CHECK_EQ(got, -1);
	CHECK_EQ(sum, 10000 * 9999 / 2);
	coro_free(co);
}

/* -------------------------------------------------------------------------------------- nesting */

#define DEPTH 20
static coro_t *chain[DEPTH];

static intptr_t nested(void *arg, intptr_t first)
{
	intptr_t me = (intptr_t)arg, got = 0;

	CHECK_EQ(coro_status(chain[me]), CORO_EBUSY);
	for (intptr_t i = 0; i <= me; i++) /* me, and all that are resuming me */
		CHECK_EQ(coro_resume(chain[i], 0, NULL), CORO_EBUSY);
	CHECK_EQ(coro_free(chain[me]), CORO_EBUSY);
	CHECK_EQ(coro_reset(chain[0], nested, NULL), CORO_EBUSY);
	if (me + 1 < DEPTH) {
		for (int i = 0; i < 3; i++) {
			CHECK_EQ(coro_resume(chain[me + 1], first + 1, &got),
				 i < 2 ? CORO_MAY_RESUME : CORO_FINISHED);
			CHECK_EQ(coro_yield_value(got + 1, &first), CORO_OK);
			if (i == 1)
				break;
		}
		CHECK_EQ(coro_resume(chain[me + 1], first + 1, &got), CORO_FINISHED);
		return got + 1;
	}
	coro_yield_value(1000 + first, &first);
	coro_yield_value(2000 + first, &first);
	return 3000 + first;
}

/* Each yields to its own resumer, whatever lies between. */
TEST(manual_nested_resumes)
{
	intptr_t got;

	for (intptr_t i = 0; i < DEPTH; i++)
		chain[i] = make(nested, (void *)i);
	for (int i = 1; i <= 3; i++) {
		CHECK_EQ(coro_resume(chain[0], i, &got), i < 3 ? CORO_MAY_RESUME : CORO_FINISHED);
		CHECK_EQ(got, i * 1000 + i + 2 * (DEPTH - 1));
	}
	for (int i = 0; i < DEPTH; i++)
		CHECK_EQ(coro_free(chain[i]), CORO_OK);
}

static void *resume_elsewhere(void *arg)
{
	intptr_t got;
	CHECK_EQ(coro_resume(arg, 0, &got), CORO_MAY_RESUME);
	return (void *)got;
}

TEST(manual_moves_between_threads)
{
	coro_t *co = make(count_up, (void *)100);

	for (intptr_t i = 0; i < 50; i++) {
		pthread_t t;
		void *got;
		thread_start(&t, resume_elsewhere, co);
		pthread_join(t, &got);
		CHECK_EQ((intptr_t)got, i);
	}
	CHECK_EQ(coro_free(co), CORO_OK); /* where it yielded */
}

/* ----------------------------------------------------------------- ends, reset, deferred, arena */

static char trace[64];
static size_t traced;

static void note(void *arg)
{
	CHECK(traced < sizeof trace - 1);
	trace[traced++] = (char)(intptr_t)arg;
	trace[traced] = 0;
}

static void note_and_defer(void *arg)
{
	note(arg);
	CHECK_EQ(coro_defer(note, (void *)'x'), CORO_OK);
}

static __attribute__((noinline)) int end_deep(int depth, int abort)
{
	volatile char frame[64];
	memset((char *)frame, depth, sizeof frame);
	if (depth)
		return end_deep(depth - 1, abort) + frame[0];
	if (abort)
		coro_abort();
	CHECK_EQ(coro_exit(), 12345); /* it does not return */
	return 0;
}

static intptr_t defers(void *arg, intptr_t how)
{
	(void)arg;
	CHECK_EQ(coro_defer(note, (void *)'a'), CORO_OK);
	CHECK_EQ(coro_defer(note_and_defer, (void *)'b'), CORO_OK);
	CHECK_EQ(coro_defer(NULL, NULL), CORO_EINVAL);
	CHECK_EQ(coro_defer(note, (void *)'c'), CORO_OK);
	if (how == 1 || how == 2)
		end_deep(30, how == 2);
	if (how == 3)
		coro_yield_value(0, NULL);
	return 9;
}

static void defers_case(intptr_t how, int status, intptr_t value)
{
	coro_t *co = make(defers, NULL);
	intptr_t got = -1;

	traced = 0;
	CHECK_EQ(coro_resume(co, how, &got), status);
	CHECK_EQ(got, value);
	CHECK(strcmp(trace, "cbxa") == 0);
	CHECK_EQ(coro_status(co), status);
	CHECK_EQ(coro_resume(co, 0, NULL), CORO_ENDED);
	CHECK_EQ(coro_free(co), CORO_OK);
	CHECK_EQ(traced, 4);
}

TEST(manual_defer_runs_at_every_end)
{
	defers_case(0, CORO_FINISHED, 9);
	defers_case(1, CORO_FINISHED, 0);
	defers_case(2, CORO_ABORT, 0);
}

static void note_and_fail(void *arg)
{
	note(arg);
	coro_fail(7, "a deferred function");
}

static intptr_t defers_a_failure(void *arg, intptr_t first)
{
	(void)arg;
	CHECK_EQ(coro_defer(note, (void *)'a'), CORO_OK);
	CHECK_EQ(coro_defer(note_and_fail, (void *)'b'), CORO_OK);
	if (first == 1)
		coro_exit();
	if (first == 2)
		coro_abort();
	if (first == 3)
		coro_fail(5, "the body");
	return 9;
}

/* How a body has ended is clear before what it has deferred. */
TEST(manual_deferred_failure_changes_nothing)
{
	static const int want[] = {CORO_FINISHED, CORO_FINISHED, CORO_ABORT, CORO_FAILED};

	for (int how = 0; how < 4; how++) {
		coro_t *co = make(defers_a_failure, NULL);
		intptr_t got = -1;
		int code = -1;
		char text[32];

		memset(trace, 0, sizeof trace);
		traced = 0;
		CHECK_EQ(coro_resume(co, how, &got), want[how]);
		CHECK_EQ(got, how ? 0 : 9);
		CHECK(strcmp(trace, "ba") == 0);
		coro_resume_error(co, &code, text, sizeof text);
		CHECK_EQ(code, how == 3 ? 5 : 0);
		CHECK(strcmp(text, how == 3 ? "the body" : "") == 0);
		CHECK_EQ(coro_free(co), CORO_OK);
	}
}

static void note_plain(void *arg)
{
	note(arg);
	/* on the caller's stack, in no coroutine */
	CHECK_EQ(coro_defer(note, (void *)'?'), CORO_EPERM);
}

static intptr_t defers_and_yields(void *arg, intptr_t first)
{
	(void)arg;
	coro_defer(note_plain, (void *)'1');
	coro_defer(note_plain, (void *)'2');
	while (coro_yield_value(first, &first) == CORO_OK)
		;
	return 0;
}

TEST(manual_reset_and_free_run_what_was_deferred)
{
	coro_t *co = make(defers_and_yields, NULL);
	intptr_t got;

	traced = 0;
	for (int i = 0; i < 50; i++) {
		CHECK_EQ(coro_resume(co, i, &got), CORO_MAY_RESUME);
		CHECK_EQ(got, i);
		traced = 0;
		CHECK_EQ(coro_reset(co, defers_and_yields, NULL), CORO_OK);
		CHECK(traced == 2 && strcmp(trace, "21") == 0);
		CHECK_EQ(coro_status(co), CORO_MAY_RESUME);
	}
	CHECK_EQ(coro_reset(co, ignore_values, NULL), CORO_OK);
	CHECK_EQ(coro_resume(co, 5, &got), CORO_MAY_RESUME);
	CHECK_EQ(got, 6);
	CHECK_EQ(coro_resume(co, 5, &got), CORO_FINISHED);
	CHECK_EQ(coro_reset(co, defers_and_yields, NULL), CORO_OK); /* an ended one */
	CHECK_EQ(coro_resume(co, 1, &got), CORO_MAY_RESUME);
	traced = 0;
	CHECK_EQ(coro_free(co), CORO_OK);
	CHECK(traced == 2 && strcmp(trace, "21") == 0);
}

static size_t arena_sizes[] = {0, 1, 15, 16, 17, 100, 255, 256, 257, 1000, 1024, 5000, 100000};
#define ARENA_BLOCKS (sizeof arena_sizes / sizeof *arena_sizes * 20)
static char *arena_block[ARENA_BLOCKS];

static void arena_check(void *arg)
{
	(void)arg; /* a deferred function may still use the arena */
	for (size_t i = 0; i < ARENA_BLOCKS; i++)
		for (size_t k = 0; k < arena_sizes[i % (ARENA_BLOCKS / 20)]; k++)
			CHECK_EQ(arena_block[i][k], (char)i);
}

static intptr_t arena(void *arg, intptr_t first)
{
	(void)arg;
	(void)first;
	CHECK_EQ(coro_defer(arena_check, NULL), CORO_OK);
	for (size_t i = 0; i < ARENA_BLOCKS; i++) {
		size_t bytes = arena_sizes[i % (ARENA_BLOCKS / 20)];
		arena_block[i] = coro_malloc(bytes);
		CHECK(arena_block[i] && ((uintptr_t)arena_block[i] & 15) == 0);
		memset(arena_block[i], (int)i, bytes);
		coro_yield_value(0, NULL);
	}
	CHECK(strcmp(coro_strdup("some text"), "some text") == 0);
	CHECK(strcmp(coro_strndup("some text", 4), "some") == 0);
	CHECK(strcmp(coro_strndup("ab", 100), "ab") == 0);
	CHECK(strcmp(coro_strdup(""), "") == 0);
	CHECK(coro_malloc(SIZE_MAX) == NULL);
	CHECK(coro_malloc(SIZE_MAX / 2 + 1) == NULL);
	fail_alloc = 0;
	CHECK(coro_malloc(100000) == NULL);
	CHECK(coro_malloc(100000) != NULL);
	return 0;
}

TEST(manual_arena)
{
	coro_t *co = make(arena, NULL);

	while (coro_resume(co, 0, NULL) == CORO_MAY_RESUME)
		;
	CHECK_EQ(coro_status(co), CORO_FINISHED);
	coro_free(co);
}

TEST(manual_bad_input)
{
	coro_t *co = (coro_t *)&co;
	coro_t *before = co;

	CHECK_EQ(coro_new(NULL, echo, NULL, 0), CORO_EINVAL);
	CHECK_EQ(coro_new(&co, NULL, NULL, 0), CORO_EINVAL);
	CHECK_EQ(coro_new(&co, echo, NULL, CORO_STACK_MIN - 1), CORO_EINVAL);
	CHECK_EQ(coro_new(&co, echo, NULL, CORO_STACK_MAX + 1), CORO_EINVAL);
	fail_alloc = 0; /* the first arena's */
	CHECK_EQ(coro_new(&co, echo, NULL, 0), CORO_ENOMEM);
	fail_map = 0;
	CHECK_EQ(coro_new(&co, echo, NULL, CORO_STACK_MIN), CORO_ENOMEM);
	fail_guard = 0;
	CHECK_EQ(coro_new(&co, echo, NULL, CORO_STACK_MIN), CORO_ENOMEM);
	CHECK(co == before);
	CHECK_EQ(coro_resume(NULL, 0, NULL), CORO_EINVAL);
	CHECK_EQ(coro_reset(NULL, echo, NULL), CORO_EINVAL);
	CHECK_EQ(coro_free(NULL), CORO_OK);
	CHECK_EQ(coro_yield_value(1, NULL), CORO_EPERM);
	CHECK_EQ(coro_exit(), CORO_EPERM);
	CHECK_EQ(coro_abort(), CORO_EPERM);
	CHECK_EQ(coro_defer(note, NULL), CORO_EPERM);
	CHECK_EQ(coro_defer(NULL, NULL), CORO_EINVAL);
	CHECK(coro_malloc(1) == NULL && coro_strdup("a") == NULL && coro_strndup("a", 1) == NULL);
	CHECK_EQ(coro_stack_left(), 0);
	CHECK_EQ(coro_call_on_stack(0, note, NULL), CORO_EPERM);

	co = make(count_up, (void *)1);
	CHECK_EQ(coro_reset(co, NULL, NULL), CORO_EINVAL);
	CHECK_EQ(coro_status(co), CORO_MAY_RESUME);
	CHECK_EQ(coro_resume(co, 0, NULL), CORO_MAY_RESUME);
	coro_free(co);
	CHECK_EQ(coro_status(NULL), CORO_EINVAL);
}

static void is_not_called(void *arg)
{
	(void)arg;
	CHECK(!"called where it may not be");
}

static intptr_t scheduler_calls(void *arg, intptr_t first)
{
	coro_handle h = 42;

	(void)arg;
	(void)first;
	CHECK_EQ(coro_spawn(never, NULL, 0), CORO_EPERM);
	CHECK_EQ(coro_spawn_attr(NULL, never, NULL, 0, &h), CORO_EPERM);
	CHECK_EQ(coro_spawn_first(NULL, never, NULL, 0, &h), CORO_EPERM);
	CHECK_EQ(coro_yield(), CORO_EPERM);
	CHECK_EQ(coro_park(), CORO_EPERM);
	CHECK_EQ(coro_switch_to(1), CORO_EPERM);
	CHECK_EQ(coro_join(1, NULL, 0), CORO_EPERM);
	CHECK_EQ(coro_call_go(1, NULL, 0, NULL, 0, NULL), CORO_EPERM);
	CHECK_EQ(coro_spawn_go(1, NULL, 0, &h), CORO_EPERM);
	CHECK_EQ(coro_park_until(coro_now() + 1), CORO_EPERM);
	CHECK_EQ(coro_blocking(is_not_called, NULL), CORO_EPERM);
	CHECK_EQ(coro_thread_begin(), CORO_EPERM);
	CHECK_EQ(coro_self(), 0);
	CHECK_EQ(h, 42);
	return 0;
}

/* A coroutine resumed by hand may use a channel as long as it need not wait. */
static intptr_t channel_calls(void *arg, intptr_t first)
{
	coro_chan *c, *home = NULL;
	uint64_t value = 7, got = 0;
	(void)arg;
	(void)first;

	CHECK_EQ(coro_chan_new(&home, 8, 1, CORO_HOME), CORO_EPERM);
	CHECK(!home);
	CHECK_EQ(coro_chan_new(&c, 8, 1, 0), CORO_OK);
	coro_case sends = {.chan = c, .send = &value}, receives = {.chan = c, .recv = &got};
	CHECK_EQ(coro_chan_recv(c, &got, CORO_FOREVER), CORO_EPERM);
	CHECK_EQ(coro_select(&receives, 1, CORO_FOREVER), CORO_EPERM);
	CHECK_EQ(coro_select(&sends, 1, CORO_FOREVER), 0);
	CHECK_EQ(coro_chan_send(c, &value, CORO_FOREVER), CORO_EPERM);
	CHECK_EQ(coro_select(&sends, 1, CORO_FOREVER), CORO_EPERM);
	CHECK_EQ(coro_chan_length(c), 1);
	CHECK_EQ(coro_chan_recv(c, &got, CORO_FOREVER), CORO_OK);
	CHECK_EQ(got, 7);
	CHECK_EQ(coro_chan_free(c), CORO_OK);
	return 0;
}

static void by_hand_inside(void *arg, void *result)
{
	(void)arg;
	(void)result;
	coro_handle me = coro_self();
	for (int i = 0; i < 10; i++) {
		coro_t *co = make(scheduler_calls, NULL);
		CHECK_EQ(coro_resume(co, 0, NULL), CORO_FINISHED);
		coro_free(co);
		CHECK_EQ(coro_self(), me);
		CHECK_EQ(coro_yield_value(0, NULL), CORO_EPERM);
		co = make(channel_calls, NULL);
		CHECK_EQ(coro_resume(co, 0, NULL), CORO_FINISHED);
		coro_free(co);
		co = make(defers, NULL); /* coro_exit and coro_defer inside mean the inner one */
		traced = 0;
		CHECK_EQ(coro_resume(co, 2, NULL), CORO_ABORT);
		CHECK_EQ(traced, 4);
		coro_free(co);
		CHECK_EQ(coro_yield(), CORO_OK);
	}
}

/* A coroutine resumed by hand hides the scheduled one that resumes it. */
TEST(manual_makes_no_scheduler_calls)
{
	coro_t *co = make(scheduler_calls, NULL);
	CHECK_EQ(coro_resume(co, 0, NULL), CORO_FINISHED);
	coro_free(co);

	coro_scheduler *s = start_with(1, 0);
	spawn(s, by_hand_inside, NULL, 0);
	finish(s);
}
