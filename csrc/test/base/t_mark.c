/*
 * t_mark.c - marks of what a coroutine has deferred and allocated, memory with a destructor, texts
 * that are printed into the arena.
 */
#include "test.h"

#include <string.h>

static char said[64];
static size_t says;

static void say(void *text)
{
	size_t n = strlen(text);

	CHECK(says + n < sizeof said);
	memcpy(said + says, text, n + 1);
	says += n;
}

static void says_more(void *text)
{
	CHECK_EQ(coro_defer(say, "+"), CORO_OK);
	say(text);
}

/* have_said - what was said since the last look. */
static bool have_said(const char *text)
{
	bool same = strcmp(said, text) == 0;

	said[says = 0] = 0;
	return same;
}

/* by_hand - run body in a coroutine that is resumed until it has ended. Returns: its last status. */
static int by_hand(coro_body body)
{
	coro_t *co;
	int status;

	said[says = 0] = 0;
	CHECK_EQ(coro_new(&co, body, NULL, STACK), CORO_OK);
	do
		status = coro_resume(co, 0, NULL);
	while (status == CORO_MAY_RESUME);
	CHECK_EQ(coro_free(co), CORO_OK);
	return status;
}

/* ---------------------------------------------------------------------------------------- order */

static intptr_t runs_back(void *arg, intptr_t first)
{
	(void)arg;
	CHECK_EQ(coro_defer(say, "a"), CORO_OK);
	coro_mark *outer = coro_defer_mark();
	CHECK_EQ(coro_defer(say, "b"), CORO_OK);
	CHECK_EQ(coro_defer(says_more, "c"), CORO_OK);
	coro_mark *inner = coro_defer_mark();
	CHECK_EQ(coro_defer(say, "d"), CORO_OK);
	CHECK_EQ(coro_defer_run(inner), CORO_OK);
	CHECK(have_said("d"));
	CHECK_EQ(coro_defer_run(inner), CORO_EINVAL);
	CHECK(coro_defer_mark() != NULL);
	CHECK_EQ(coro_defer(say, "e"), CORO_OK);
	CHECK(coro_defer_mark() != NULL);
	CHECK_EQ(coro_defer_run(outer), CORO_OK);
	CHECK(have_said("ec+b"));
	CHECK(coro_defer_mark() != NULL); /* the end passes it by */
	CHECK_EQ(coro_defer(say, "f"), CORO_OK);
	return first;
}

TEST(mark_runs_back_in_order)
{
	CHECK_EQ(by_hand(runs_back), CORO_FINISHED);
	CHECK(have_said("fa"));
}

/* -------------------------------------------------------------------------------------- the arena */

static intptr_t requests(void *arg, intptr_t first)
{
	char *small = NULL, *kept = coro_strdup("kept"), *large_kept;

	(void)arg;
	CHECK((large_kept = coro_malloc(5000)) != NULL);
	memset(large_kept, 7, 5000);
	for (int i = 0; i < 1000; i++) {
		coro_mark *m = coro_defer_mark();
		char *p = coro_malloc(40);
		CHECK(p && (SANITIZED || !small || p == small)); /* the arena does not grow */
		small = p;
		memset(p, i, 40);
		for (size_t n = 1; n < (size_t)i * 13 % 3000; n += n) {
			CHECK((p = coro_malloc(n)) != NULL);
			memset(p, i, n);
		}
		CHECK_EQ(coro_defer(say, "."), CORO_OK);
		CHECK_EQ(coro_defer_run(m), CORO_OK);
		CHECK(have_said("."));
		CHECK(strcmp(kept, "kept") == 0 && large_kept[0] == 7 && large_kept[4999] == 7);
	}
	return first;
}

/* first_of_all - the mark comes before there is an arena. */
static intptr_t first_of_all(void *arg, intptr_t first)
{
	for (int i = 0; i < 3; i++) {
		coro_mark *m = coro_defer_mark();
		CHECK(m && coro_malloc(2000));
		CHECK_EQ(coro_defer_run(m), CORO_OK);
	}
	return requests(arg, first);
}

TEST(mark_frees_what_came_since)
{
	CHECK_EQ(by_hand(requests), CORO_FINISHED);
	CHECK_EQ(by_hand(first_of_all), CORO_FINISHED);
}

/* ---------------------------------------------------------------------------------------- misuse */

static coro_mark *older, *running;

static void runs_itself(void *text)
{
	CHECK_EQ(coro_defer_run(running), CORO_EBUSY);
	CHECK_EQ(coro_defer_run(older), CORO_EBUSY);
	coro_mark *own = coro_defer_mark();
	CHECK_EQ(coro_defer(say, "o"), CORO_OK);
	CHECK_EQ(coro_defer_run(own), CORO_OK);
	say(text);
}

static intptr_t misuses(void *arg, intptr_t first)
{
	(void)arg;
	CHECK_EQ(coro_defer_run(NULL), CORO_EINVAL);
	CHECK_EQ(coro_defer_disarm(NULL, NULL), CORO_EINVAL);
	CHECK_EQ(coro_defer_disarm(say, "a"), CORO_EINVAL);
	older = coro_defer_mark();
	running = coro_defer_mark();
	CHECK_EQ(coro_defer(say, "a"), CORO_OK);
	CHECK_EQ(coro_defer(runs_itself, "r"), CORO_OK);
	CHECK_EQ(coro_defer_run(running), CORO_OK);
	CHECK(have_said("ora"));
	CHECK_EQ(coro_defer_run(running), CORO_EINVAL);
	CHECK_EQ(coro_defer_run(older), CORO_OK);
	older = coro_defer_mark();
	return first;
}

static intptr_t has_none(void *arg, intptr_t first)
{
	(void)arg;
	CHECK_EQ(coro_defer_run(older), CORO_EINVAL); /* another coroutine's, which has ended */
	CHECK(coro_malloc(1) != NULL);
	CHECK_EQ(coro_defer_run(older), CORO_EINVAL);
	return first;
}

TEST(mark_misuse)
{
	CHECK(coro_defer_mark() == NULL);
	CHECK_EQ(coro_defer_run(NULL), CORO_EPERM);
	CHECK_EQ(coro_defer_disarm(say, NULL), CORO_EPERM);
	CHECK(coro_malloc_with(1, say) == NULL && coro_asprintf("%d", 1) == NULL);
	CHECK_EQ(by_hand(misuses), CORO_FINISHED);
	CHECK_EQ(by_hand(has_none), CORO_FINISHED);
}

static intptr_t disarms(void *arg, intptr_t first)
{
	static char a[] = "a", b[] = "b", c[] = "c";

	(void)arg;
	CHECK_EQ(coro_defer(say, a), CORO_OK);
	CHECK_EQ(coro_defer(say, b), CORO_OK);
	CHECK_EQ(coro_defer(say, a), CORO_OK);
	CHECK_EQ(coro_defer(say, c), CORO_OK);
	CHECK_EQ(coro_defer_disarm(say, a), CORO_OK); /* the later one */
	CHECK_EQ(coro_defer_disarm(says_more, c), CORO_EINVAL);
	coro_mark *m = coro_defer_mark();
	CHECK_EQ(coro_defer(say, b), CORO_OK);
	CHECK_EQ(coro_defer_disarm(say, c), CORO_OK); /* older than the mark */
	CHECK_EQ(coro_defer_disarm(say, c), CORO_EINVAL);
	CHECK_EQ(coro_defer_run(m), CORO_OK);
	CHECK(have_said("b"));
	return first;
}

TEST(mark_disarm)
{
	CHECK_EQ(by_hand(disarms), CORO_FINISHED);
	CHECK(have_said("ba"));
}

static intptr_t meets_no_memory(void *arg, intptr_t first)
{
	(void)arg;
	fail_alloc = 0;
	CHECK(coro_defer_mark() == NULL);
	CHECK(coro_malloc(1) != NULL);
	fail_alloc = 0;
	while (coro_malloc(1)) /* until the first block is full */
		;
	fail_alloc = 0;
	CHECK(coro_defer_mark() == NULL);
	fail_alloc = 0;
	CHECK(coro_asprintf("%300d", 1) == NULL);
	fail_alloc = 1; /* the memory is there, and not the deferred function's */
	CHECK(coro_malloc_with(2000, say) == NULL);
	coro_mark *m = coro_defer_mark();
	CHECK_EQ(coro_defer(say, "a"), CORO_OK);
	CHECK_EQ(coro_defer_run(m), CORO_OK);
	CHECK(have_said("a"));
	return first;
}

TEST(mark_without_memory)
{
	CHECK_EQ(by_hand(meets_no_memory), CORO_FINISHED);
}

/* -------------------------------------------------------------------- an end in the midst of it */

static void exits(void *text)
{
	say(text);
	coro_exit();
}

static void fails(void *text)
{
	say(text);
	coro_fail(3, "in the midst");
}

static intptr_t ends_inside(void *arg, intptr_t first)
{
	(void)arg;
	CHECK_EQ(coro_defer(say, "a"), CORO_OK);
	coro_mark *m = coro_defer_mark();
	CHECK_EQ(coro_defer(say, "b"), CORO_OK);
	CHECK_EQ(coro_defer(exits, "c"), CORO_OK);
	CHECK_EQ(coro_defer(fails, "d"), CORO_OK);
	coro_defer_run(m);
	CHECK(!"it ended the coroutine");
	return first;
}

TEST(mark_function_that_ends_the_coroutine)
{
	CHECK_EQ(by_hand(ends_inside), CORO_FAILED); /* d does; c ends itself alone */
	CHECK(have_said("dcba"));
}

/* ---------------------------------------------------------------------------------- in a scheduler */

static void waits(void *text)
{
	CHECK_EQ(coro_sleep(MS), CORO_OK);
	say(text);
}

static uint64_t begun, ended;

static void is_canceled(void *arg, void *result)
{
	(void)arg;
	(void)result;
	add_one(&begun);
	CHECK_EQ(coro_park(), CORO_ECANCELED);
	add_one(&ended);
}

static void in_a_scheduler(void *arg, void *result)
{
	coro_scope *scope;

	(void)arg;
	(void)result;
	CHECK_EQ(coro_defer(say, "a"), CORO_OK);
	coro_mark *m = coro_defer_mark();
	CHECK_EQ(coro_defer(waits, "b"), CORO_OK);
	/* a shield's section that begins behind the mark ends after it */
	CHECK_EQ(coro_shield_begin(CORO_FOREVER), CORO_OK);
	CHECK_EQ(coro_scope_new(&scope), CORO_OK);
	for (int i = 0; i < 5; i++)
		CHECK_EQ(coro_scope_spawn(scope, NULL, is_canceled, NULL, 0), CORO_OK);
	while (seen(&begun) < 5)
		CHECK_EQ(coro_yield(), CORO_OK);
	CHECK_EQ(coro_defer_run(m), CORO_OK); /* ends the scope, which waits for its children */
	CHECK_EQ(seen(&ended), 5);
	CHECK(have_said("b"));
	CHECK(coro_malloc(200) != NULL); /* where the section's memory would have been */
	CHECK_EQ(coro_shield_begin(CORO_FOREVER), CORO_OK);
	CHECK_EQ(coro_shield_end(), CORO_OK);
	CHECK_EQ(coro_shield_end(), CORO_OK);
	CHECK_EQ(coro_shield_end(), CORO_EPERM);
	CHECK_EQ(coro_shield_begin(CORO_FOREVER), CORO_OK); /* and ends with the coroutine */
}

TEST(mark_functions_may_wait)
{
	for (uint32_t workers = 1; workers <= 2; workers++) {
		said[says = 0] = 0;
		begun = ended = 0;
		run_alone(start_with(workers, 0), NULL, in_a_scheduler);
		CHECK(have_said("a"));
	}
}

/* ------------------------------------------------------------------- destructors, printed texts */

static void destroys(void *memory)
{
	CHECK(strcmp(memory, "memory") == 0);
	strcpy(memory, "gone");
	say("~");
}

static intptr_t with_destructors(void *arg, intptr_t first)
{
	(void)arg;
	CHECK(coro_malloc_with(8, NULL) != NULL);
	strcpy(coro_malloc_with(8, destroys), "memory");
	coro_mark *m = coro_defer_mark();
	strcpy(coro_malloc_with(2000, destroys), "memory");
	CHECK_EQ(coro_defer_run(m), CORO_OK);
	CHECK(have_said("~"));
	return first;
}

TEST(mark_memory_with_a_destructor)
{
	CHECK_EQ(by_hand(with_destructors), CORO_FINISHED);
	CHECK(have_said("~"));
}

static char *print(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	char *text = coro_vasprintf(format, args);
	va_end(args);
	return text;
}

static void prints(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK(strcmp(coro_asprintf("%s %d%%", "some", 7), "some 7%") == 0);
	CHECK(strcmp(coro_asprintf("%s", ""), "") == 0);
	CHECK(strcmp(print("%.3f %Lf", 1.5, 2.25L), "1.500 2.250000") == 0);
	char *wide = coro_asprintf("%5000Lf", 1e300L);
	CHECK(wide && strlen(wide) == 5000 && wide[4999] == '0');
}

TEST(mark_prints_on_the_smallest_stack)
{
	coro_attr small = {.size = sizeof small, .stack_bytes = SANITIZED ? STACK : CORO_STACK_MIN};

	run_alone(start_with(1, 0), &small, prints);
}
