/*
 * t_dispatch_end.c - the manual dispatcher: how a coroutine ends, by itself, by others or by an
 * overflow, on the shared stack or on a deeper one. Coroutines beside those of the other layers.
 */
#include "fifo.h"

#include "dispatch/dispatch.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* ------------------------------------------------------------------- the current coroutine ends */

static char story[64];

static void tell(void *what)
{
	size_t n = strlen(story);

	CHECK(n + 1 < sizeof story);
	story[n] = *(const char *)what;
	story[n + 1] = 0;
}

static void tell_and_block(void *what)
{
	struct player *me = (struct player *)coro_dispatch_self();

	tell((void *)"(");
	CHECK_EQ(coro_dispatch_block(), CORO_OK);
	CHECK((struct player *)coro_dispatch_self() == me);
	tell(what);
}

static __attribute__((noinline)) void at_depth(unsigned levels, int (*end)(void))
{
	volatile char frame[100];

	frame[0] = 1;
	if (levels)
		at_depth(levels - 1, end);
	else
		end();
	CHECK(frame[0] == 2);
}

static void aborts(struct player *p)
{
	char *mine = coro_strdup("from its arena");

	CHECK_EQ(coro_defer(tell, (void *)"b"), CORO_OK);
	CHECK_EQ(coro_defer(tell, (void *)"a"), CORO_OK);
	if (p->id % 2)
		CHECK_EQ(coro_dispatch_block(), CORO_OK);
	CHECK(strcmp(mine, "from its arena") == 0);
	at_depth(10, coro_abort);
}

TEST(dispatch_abort)
{
	fifo_open(0);
	story[0] = 0;
	fifo_run_all(fifo_enter_many(5, aborts), 5, CORO_ABORT);
	CHECK_EQ(strlen(story), 10);
	CHECK(strcmp(story, "ababababab") == 0);
}

static int fails_with_a_text(void)
{
	return coro_fail(7, "nobody can ask for it");
}

static void fails_deep(void *arg)
{
	(void)arg;
	fails_with_a_text();
}

static void fails(struct player *p)
{
	CHECK_EQ(coro_defer(tell, (void *)"f"), CORO_OK);
	if (p->id % 2)
		CHECK_EQ(coro_dispatch_block(), CORO_OK);
	if (p->id == 4)
		CHECK_EQ(coro_call_on_stack(STACK, fails_deep, NULL), CORO_OK);
	at_depth(10, fails_with_a_text);
}

/* What has failed has a status of its own, and the others go on. */
TEST(dispatch_fail)
{
	fifo_open(0);
	story[0] = 0;
	struct player *p = fifo_enter_many(6, fails);
	p[5].body = blocks_once;
	fifo_run();
	CHECK(strcmp(story, "fffff") == 0);
	for (unsigned i = 0; i < 6; i++)
		CHECK_EQ(coro_dispatch_status(&p[i].own), i < 5 ? CORO_FAILED : CORO_FINISHED);
	free(p);
	fifo_close();
}

static void exits(struct player *p)
{
	CHECK_EQ(coro_defer(tell_and_block, (void *)")"), CORO_OK);
	CHECK_EQ(coro_defer(tell_and_block, (void *)")"), CORO_OK);
	if (p->id % 2)
		at_depth(3, coro_exit);
}

/* Deferred functions may block, and others run meanwhile. */
TEST(dispatch_deferred_may_block)
{
	fifo_open(0);
	story[0] = 0;
	fifo_run_all(fifo_enter_many(4, exits), 4, CORO_FINISHED);
	CHECK_EQ(strlen(story), 16);
	CHECK(strncmp(story, "((((", 4) == 0);
}

static void abort_in_deferred(void *arg)
{
	tell(arg);
	coro_abort();
	CHECK(false);
}

static void ends_twice(struct player *p)
{
	(void)p;
	CHECK_EQ(coro_defer(tell, (void *)"z"), CORO_OK);
	CHECK_EQ(coro_defer(abort_in_deferred, (void *)"y"), CORO_OK);
	coro_exit();
	CHECK(false);
}

TEST(dispatch_ends_while_it_ends)
{
	fifo_open(0);
	story[0] = 0;
	/* the body has ended before what it has deferred */
	fifo_run_all(fifo_enter_many(2, ends_twice), 2, CORO_FINISHED);
	CHECK(strcmp(story, "yzyz") == 0);
}

/* ---------------------------------------------------------------------------- on a deeper stack */

static void deep_inside(void *arg)
{
	struct player *p = arg;

	with_pattern(300, p->id);
	with_pattern(1, p->id);
	if (p->id % 4 == 3)
		coro_abort();
}

static void deep_again(void *arg)
{
	with_pattern(20, ((struct player *)arg)->id);
	CHECK_EQ(coro_call_on_stack(STACK, deep_inside, arg), CORO_OK);
	with_pattern(20, ((struct player *)arg)->id);
}

static void goes_deep(struct player *p)
{
	volatile uint64_t own = p->id;

	CHECK_EQ(coro_call_on_stack(4 * STACK, p->id % 2 ? deep_again : deep_inside, p), CORO_OK);
	CHECK(own == p->id);
	with_pattern(10, p->id);
	CHECK_EQ(coro_call_on_stack(1, deep_inside, p), CORO_EINVAL);
	p->rounds = 1;
}

TEST(dispatch_blocks_on_a_deeper_stack)
{
	unsigned n = 64;

	fifo_open(0);
	fifo.random = 5;
	struct player *p = fifo_enter_many(n, goes_deep);
	fifo_run();
	for (unsigned i = 0; i < n; i++)
		CHECK_EQ(coro_dispatch_status(&p[i].own), i % 4 == 3 ? CORO_ABORT : CORO_FINISHED);
	free(p);
	fifo_close();
}

/* ------------------------------------------------------------------------------------------
 * drop */

static void blocks_forever(struct player *p)
{
	volatile char large[1000] = {0};

	large[p->id] = (char)(large[0] + 1);
	CHECK_EQ(coro_defer(tell, (void *)"d"), CORO_OK);
	CHECK(coro_malloc(5000));
	CHECK_EQ(coro_dispatch_block(), CORO_OK);
	CHECK(false);
}

static void blocks_deep_inside(void *arg)
{
	blocks_forever(arg);
}

static void blocks_deep(struct player *p)
{
	CHECK_EQ(coro_call_on_stack(STACK, blocks_deep_inside, p), CORO_OK);
}

static struct player *victims;

static void *drop_elsewhere(void *arg)
{
	for (unsigned i = 0; i < 4; i++)
		CHECK_EQ(coro_dispatch_drop(&victims[i].own), CORO_OK);
	return arg;
}

static void drops_all(struct player *p)
{
	(void)p;
	drop_elsewhere(NULL);
	fifo.head = fifo.tail;
}

/* In the policy's `next`, when the last of them has just blocked. */
static void drop_in_next(void)
{
	if (fifo.last == &victims[3].own) {
		drop_elsewhere(NULL);
		fifo.head = fifo.tail;
	}
}

static void drop_four(void (*how)(void))
{
	fifo_open(0);
	story[0] = 0;
	victims = calloc(5, sizeof *victims);
	for (unsigned i = 0; i < 4; i++) {
		victims[i].id = i;
		fifo_enter(&victims[i], i == 2 ? blocks_deep : blocks_forever);
	}
	how();
	CHECK(strcmp(story, "dddd") == 0);
	for (unsigned i = 0; i < 4; i++) {
		CHECK_EQ(coro_dispatch_status(&victims[i].own), CORO_ABORT);
		CHECK_EQ(coro_dispatch_drop(&victims[i].own), CORO_EINVAL);
	}
	/* The stack can be used as before. */
	fifo.asking = NULL;
	fifo.last = NULL;
	fifo_enter(&victims[0], small_frames);
	fifo_enter(&victims[1], small_frames);
	fifo_run();
	free(victims);
	fifo_close();
}

static void by_a_coroutine(void)
{
	fifo_enter(&victims[4], drops_all);
	fifo_run();
}

static void in_next(void)
{
	fifo.asking = drop_in_next;
	fifo_run();
}

static void stop_at_five(void)
{
	if (fifo.asked == 5)
		fifo.wrong = &victims[4].own; /* belongs to no dispatcher: the run ends */
}

static void between_runs(void)
{
	pthread_t t;

	fifo.asking = stop_at_five;
	CHECK_EQ(coro_dispatch_run(dispatcher), CORO_EINVAL);
	fifo.head = fifo.tail;
	CHECK_EQ(coro_dispatch_free(dispatcher), CORO_EBUSY);
	thread_start(&t, drop_elsewhere, NULL);
	thread_join(t);
}

TEST(dispatch_drop)
{
	drop_four(by_a_coroutine);
	drop_four(in_next);
	drop_four(between_runs);

	fifo_open(0); /* fresh coroutines have no frames */
	struct player *p = fifo_enter_many(3, nothing);
	CHECK_EQ(coro_dispatch_drop(&p[1].own), CORO_OK);
	CHECK_EQ(coro_dispatch_status(&p[1].own), CORO_ABORT);
	CHECK_EQ(coro_dispatch_run(dispatcher), CORO_ENDED);
	free(p);
	fifo_close();
}

/* --------------------------------------------------------------------------------- other layers */

static intptr_t counts(void *arg, intptr_t first)
{
	(void)arg;
	(void)first;
	for (intptr_t i = 0;; i++) {
		CHECK_EQ(coro_dispatch_block(), CORO_EPERM);
		CHECK(!coro_dispatch_self());
		CHECK_EQ(coro_dispatch_run(dispatcher), CORO_EPERM);
		CHECK_EQ(coro_yield_value(i, NULL), CORO_OK);
	}
}

static void uses_one_by_hand(struct player *p)
{
	coro_t *co;
	intptr_t got;

	CHECK_EQ(coro_new(&co, counts, NULL, STACK), CORO_OK);
	for (; p->rounds < 10; p->rounds++) {
		CHECK_EQ(coro_resume(co, 0, &got), CORO_MAY_RESUME);
		CHECK_EQ(got, p->rounds);
		CHECK((struct player *)coro_dispatch_self() == p);
		CHECK_EQ(coro_dispatch_block(), CORO_OK);
	}
	CHECK_EQ(coro_free(co), CORO_OK);
}

TEST(dispatch_uses_coroutines_by_hand)
{
	fifo_open(0);
	fifo_run_all(fifo_enter_many(20, uses_one_by_hand), 20, CORO_FINISHED);
}

static coro_t *outer;

static void inside_one_by_hand(struct player *p)
{
	CHECK_EQ(coro_yield_value(5, NULL), CORO_EPERM);
	CHECK_EQ(coro_resume(outer, 0, NULL), CORO_EBUSY);
	small_frames(p);
}

static intptr_t runs_by_hand(void *arg, intptr_t first)
{
	intptr_t sent;
	(void)arg;
	(void)first;

	fifo_open(0);
	fifo_run_all(fifo_enter_many(20, inside_one_by_hand), 20, CORO_FINISHED);
	CHECK_EQ(coro_yield_value(1, &sent), CORO_OK);
	fifo_open(0);
	fifo_run_all(fifo_enter_many(3, aborts), 3, CORO_ABORT);
	return 2;
}

TEST(dispatch_runs_in_a_coroutine_by_hand)
{
	intptr_t got;

	story[0] = 0;
	CHECK_EQ(coro_new(&outer, runs_by_hand, NULL, 4 * STACK), CORO_OK);
	CHECK_EQ(coro_resume(outer, 0, &got), CORO_MAY_RESUME);
	CHECK_EQ(coro_resume(outer, 0, &got), CORO_FINISHED);
	CHECK_EQ(got, 2);
	CHECK_EQ(coro_free(outer), CORO_OK);
}

/* ------------------------------------------------------------------------- the end of the stack */

static __attribute__((noinline, no_sanitize("address", "undefined"))) int eat(int n)
{
	volatile char frame[1024];
	frame[0] = (char)n;
	return n == 1 << 20 ? 0 : eat(n + 1) + frame[0];
}

static void eats(void *arg)
{
	(void)arg;
	eat(0);
}

static void overflow_by(void (*body)(void *), void (*asking)(void))
{
	coro_dispatched c = {{0}};
	stack_t alternate = {.ss_sp = mmap(NULL, 1 << 17, PROT_READ | PROT_WRITE,
					   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
			     .ss_size = 1 << 17};

	/* a pool's threads have an alternate stack, others bring their own */
	CHECK_EQ(sigaltstack(&alternate, NULL), 0);
	fifo_open(0);
	fifo.asking = asking;
	CHECK_EQ(coro_dispatch_init(&c, dispatcher, body, NULL), CORO_OK);
	fifo_ready(&c);
	fifo_run();
}

static void overflow(void)
{
	overflow_by(eats, NULL);
}

/* Once a coroutine has begun, the policy is called on the same stack. */
static void asks_deep(void)
{
	if (fifo.asked > 1)
		eat(0);
}

static void ends_at_once(void *arg)
{
	(void)arg;
}

static void overflow_of_the_policy(void)
{
	overflow_by(ends_at_once, asks_deep);
}

static void overflow_in_a_pool(void)
{
	coro_dispatch_pool *p;
	coro_dispatch_pool_options o = {.size = sizeof o, .policy = CORO_DISPATCH_LL, .threads = 1};

	CHECK_EQ(coro_dispatch_pool_new(&p, &o), CORO_OK);
	CHECK_EQ(coro_dispatch_pool_spawn(p, eats, NULL, 0, NULL), CORO_OK);
	CHECK_EQ(coro_dispatch_pool_wait(p), CORO_OK);
	CHECK_EQ(coro_dispatch_pool_free(p), CORO_OK);
}

static void expect_overflow(void (*how)(void), uintptr_t whose)
{
	char text[4096], want[64];
	int fd;
	pid_t child = child_start(&fd);

	if (child == 0) {
		alarm(60);
		how();
		_exit(0);
	}
	int status = child_end(child, fd, text, sizeof text);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	snprintf(want, sizeof want, "function 0x%llx: its stack of 256 KiB is used up",
		 (unsigned long long)whose);
	CHECK(strstr(text, want));
}

TEST(dispatch_guard_faults_and_names_it)
{
	expect_overflow(overflow, (uintptr_t)eats);
	expect_overflow(overflow_in_a_pool, (uintptr_t)eats);
	expect_overflow(overflow_of_the_policy, (uintptr_t)fifo_next);
}
