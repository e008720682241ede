/*
 * t_stack.c - stacks: classes, guards, bytes left, calls on another stack, trim. The cap: t_cap.c.
 */
#include "test.h"

#include "base/stack.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

TEST(stack_classes)
{
	CHECK_EQ(coroi_stack_class(0), coroi_stack_class(CORO_STACK_DEFAULT));
	CHECK_EQ(coroi_stack_class(1), -1);
	CHECK_EQ(coroi_stack_class(CORO_STACK_MIN - 1), -1);
	CHECK_EQ(coroi_stack_class(CORO_STACK_MAX + 1), -1);
	CHECK_EQ(coroi_stack_class(SIZE_MAX), -1);
	for (unsigned c = 0; c < COROI_STACK_CLASSES; c++) {
		size_t bytes = coroi_stack_class_bytes(c);
		CHECK_EQ(bytes, CORO_STACK_MIN << c);
		CHECK_EQ(coroi_stack_class(bytes), c);
		if (c)
			CHECK_EQ(coroi_stack_class(coroi_stack_class_bytes(c - 1) + 1), c);
	}
	CHECK_EQ(coroi_stack_class(CORO_STACK_MAX), COROI_STACK_CLASSES - 1);
}

/* touch_all - write to the whole stack, down to `keep` bytes above its guard. */
static __attribute__((noinline, no_sanitize("address", "undefined"))) void touch_all(size_t keep)
{
	size_t left = coro_stack_left();
	if (left > keep + 64) {
		volatile char *low = (volatile char *)__builtin_alloca(left - keep - 64);
		low[0] = 1;
	}
}

static intptr_t use_all(void *arg, intptr_t first)
{
	size_t bytes = (size_t)arg, left = coro_stack_left();

	(void)first;
	CHECK(left + 512 >= bytes); /* all but the frames so far */
	CHECK(left < bytes + 4096 + coroi_page());
	if (!SANITIZED)
		touch_all(256);
	return 1;
}

TEST(stack_of_every_class_can_be_used_up)
{
	for (unsigned c = SANITIZED ? 2 : 0; c < COROI_STACK_CLASSES; c++) {
		coro_t *co[40]; /* more than there are colours */
		for (int i = 0; i < 40; i++) {
			intptr_t got = 0;
			CHECK_EQ(coro_new(&co[i], use_all, (void *)coroi_stack_class_bytes(c),
					  coroi_stack_class_bytes(c)),
				 CORO_OK);
			CHECK_EQ(coro_resume(co[i], 0, &got), CORO_FINISHED);
			CHECK_EQ(got, 1);
		}
		for (int i = 0; i < 40; i++)
			coro_free(co[i]);
	}
}

static void class_body(void *arg, void *result)
{
	size_t bytes, left = coro_stack_left();

	(void)result;
	memcpy(&bytes, arg, sizeof bytes);
	CHECK(left + 512 >= bytes && left < bytes + 4096 + coroi_page());
	CHECK_EQ(coro_yield(), CORO_OK);
	left = coro_stack_left();
	CHECK(left + 512 >= bytes && left < bytes + 4096 + coroi_page());
}

/* A finished coroutine's loop must not start one that wants another class. */
TEST(stack_classes_mixed)
{
	uint64_t seed = 11;
	coro_scheduler *s = start_with(2, 0);

	for (uint64_t i = 0; i < scaled(4000); i++) {
		size_t bytes = coroi_stack_class_bytes((unsigned)(2 + rnd(&seed) % 5));
		coro_attr attr = {.size = sizeof attr, .stack_bytes = bytes};
		CHECK_EQ(coro_scheduler_spawn(s, &attr, class_body, &bytes, sizeof bytes, NULL),
			 CORO_OK);
	}
	finish(s);
}

/* ------------------------------------------------------------------------------------ the guard */

static __attribute__((noinline, no_sanitize("address", "undefined"))) int eat(int n)
{
	volatile char frame[1024];
	frame[0] = (char)n;
	return n == 1 << 20 ? 0 : eat(n + 1) + frame[0];
}

static intptr_t eat_by_hand(void *arg, intptr_t first)
{
	(void)arg;
	(void)first;
	return eat(0);
}

static void eat_scheduled(void *arg, void *result)
{
	(void)arg;
	(void)result;
	eat(0);
}

static void eat_called(void *arg)
{
	(void)arg;
	eat(0);
}

static void eat_on_another(void *arg, void *result)
{
	(void)arg;
	(void)result;
	coro_call_on_stack(64 << 10, eat_called, NULL);
}

static void overflow_scheduled(coro_fn fn)
{
	coro_scheduler *s = start_with(2, 0);
	spawn(s, fn, NULL, 0);
	coro_scheduler_wait(s);
}

static void overflow_by_hand(coro_fn unused)
{
	coro_t *co;
	stack_t alternate = {.ss_sp = mmap(NULL, 1 << 17, PROT_READ | PROT_WRITE,
					   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
			     .ss_size = 1 << 17};

	(void)unused;
	/* workers have an alternate stack, other threads bring their own */
	CHECK_EQ(sigaltstack(&alternate, NULL), 0);
	CHECK_EQ(coro_new(&co, eat_by_hand, NULL, 0), CORO_OK);
	coro_resume(co, 0, NULL);
}

/* The process ends by the fault, and names the function, the worker, and the size of the stack. */
static void expect_overflow(void (*run)(coro_fn), coro_fn fn, bool worker, const char *kib)
{
	char text[4096], want[64];
	int fd;
	pid_t child = child_start(&fd);

	if (child == 0) {
		alarm(60);
		run(fn);
		_exit(0);
	}
	int status = child_end(child, fd, text, sizeof text);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	CHECK(strstr(text, "coro: stack overflow"));
	CHECK(strstr(text, kib));
	snprintf(want, sizeof want, "function 0x%llx", (unsigned long long)(uintptr_t)fn);
	CHECK(strstr(text, want));
	CHECK(!worker == !strstr(text, "on worker "));
}

TEST(stack_guard_faults_and_names_a_scheduled_one)
{
	expect_overflow(overflow_scheduled, eat_scheduled, true, SANITIZED ? "128 KiB" : "16 KiB");
	expect_overflow(overflow_scheduled, eat_on_another, true, "64 KiB");
}

TEST(stack_guard_faults_and_names_one_by_hand)
{
	expect_overflow(overflow_by_hand, (coro_fn)(void *)eat_by_hand, false, "16 KiB");
}

/* --------------------------------------------------------------------------- coro_call_on_stack */

struct deep {
	int depth;
	int suspend; /* 1 coro_yield_value, 2 coro_yield */
	int reached;
	int leave; /* 1 coro_exit at the bottom, 2 coro_abort */
};

static void deep(void *arg)
{
	struct deep *d = arg;
	size_t want = (size_t)STACK << d->depth % 4;

	CHECK(coro_stack_left() + 512 >= want);
	CHECK(coro_malloc(16) != NULL);
	if (d->suspend == 1)
		CHECK_EQ(coro_yield_value(d->depth, NULL), CORO_OK);
	if (d->suspend == 2)
		CHECK_EQ(coro_yield(), CORO_OK);
	d->reached++;
	if (--d->depth >= 0)
		CHECK_EQ(coro_call_on_stack((size_t)STACK << d->depth % 4, deep, d), CORO_OK);
	else if (d->leave)
		CHECK_EQ(d->leave == 1 ? coro_exit() : coro_abort(), 12345);
	if (d->suspend == 1)
		CHECK_EQ(coro_yield_value(d->depth, NULL), CORO_OK);
	if (d->suspend == 2)
		CHECK_EQ(coro_yield(), CORO_OK);
	d->reached++;
}

static intptr_t deep_by_hand(void *arg, intptr_t first)
{
	struct deep *d = arg;
	size_t before = coro_stack_left();

	(void)first;
	CHECK_EQ(coro_call_on_stack(CORO_STACK_MAX + 1, deep, d), CORO_EINVAL);
	CHECK_EQ(coro_call_on_stack(1, deep, d), CORO_EINVAL);
	CHECK_EQ(coro_call_on_stack(0, NULL, d), CORO_EINVAL);
	fail_map = 0;
	CHECK_EQ(coro_call_on_stack(CORO_STACK_MAX, deep, d), CORO_ENOMEM);
	CHECK_EQ(d->reached, 0);
	CHECK_EQ(coro_call_on_stack((size_t)STACK << d->depth % 4, deep, d), CORO_OK);
	CHECK_EQ(coro_stack_left(), before);
	return 8;
}

TEST(stack_call_by_hand)
{
	for (int leave = 0; leave <= 2; leave++) {
		struct deep d = {.depth = 9, .suspend = 1, .leave = leave};
		coro_t *co;
		int resumes = 0, status;

		fail_map = -1;
		CHECK_EQ(coro_new(&co, deep_by_hand, &d, STACK), CORO_OK);
		while ((status = coro_resume(co, 0, NULL)) == CORO_MAY_RESUME)
			resumes++;
		CHECK_EQ(status, leave == 2 ? CORO_ABORT : CORO_FINISHED);
		CHECK_EQ(d.reached, leave ? 10 : 20);
		CHECK_EQ(resumes, leave ? 10 : 20);
		coro_free(co);
	}
}

TEST(stack_call_abandoned_by_reset)
{
	struct deep d = {.depth = 5, .suspend = 1};
	coro_t *co;

	CHECK_EQ(coro_new(&co, deep_by_hand, &d, STACK), CORO_OK);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(coro_resume(co, 0, NULL), CORO_MAY_RESUME);
	d = (struct deep){.depth = 3, .suspend = 1};
	CHECK_EQ(coro_reset(co, deep_by_hand, &d), CORO_OK);
	while (coro_resume(co, 0, NULL) == CORO_MAY_RESUME)
		;
	CHECK_EQ(d.reached, 8);
	CHECK_EQ(coro_free(co), CORO_OK);
}

static uint64_t deep_done;

static void deep_scheduled(void *arg, void *result)
{
	struct deep d;

	(void)result;
	memcpy(&d, arg, sizeof d);
	CHECK_EQ(coro_call_on_stack(1, deep, &d), CORO_EINVAL);
	int status = coro_call_on_stack((size_t)STACK << d.depth % 4, deep, &d);
	CHECK_EQ(status, CORO_OK);
	CHECK_EQ(d.leave, 0);
	CHECK_EQ(d.reached, 12);
	__atomic_add_fetch(&deep_done, 1, __ATOMIC_SEQ_CST);
}

/* Suspending inside moves the caller to other workers. Ending inside gives all its stacks back;
 * finish checks that. */
TEST(stack_call_scheduled)
{
	for (uint32_t workers = 1; workers <= 3; workers += 2) {
		coro_scheduler *s = start_with(workers, 0);
		struct deep d = {.depth = 5, .suspend = 2};

		deep_done = 0;
		for (int i = 0; i < 300; i++) {
			d.leave = i % 3;
			spawn(s, deep_scheduled, &d, sizeof d);
		}
		finish(s);
		CHECK_EQ(deep_done, 100);
	}
}

static void end_in_call(void *arg, void *result)
{
	struct deep d;

	memcpy(&d, arg, sizeof d);
	memset(result, 7, 8);
	coro_call_on_stack((size_t)STACK << d.depth % 4, deep, &d);
	CHECK(!"came back");
}

static void joins_ended_in_call(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (int i = 0; i < 200; i++) {
		struct deep d = {.depth = i % 7, .suspend = i % 2 * 2, .leave = 1 + i % 3 / 2};
		coro_handle h;
		uint64_t got = 0;
		CHECK_EQ(coro_spawn_attr(JOINABLE(8), end_in_call, &d, sizeof d, &h), CORO_OK);
		CHECK_EQ(coro_join(h, &got, 8), d.leave == 2 ? CORO_EABORTED : CORO_OK);
		CHECK(got == UINT64_C(0x0707070707070707));
	}
}

TEST(stack_call_ended_inside_is_joined)
{
	coro_scheduler *s = start_with(2, 0);
	spawn(s, joins_ended_in_call, NULL, 0);
	finish(s);
}

/* ----------------------------------------------------------------------------------------- trim */

static void park_and_use(void *arg, void *result)
{
	(void)arg;
	(void)result;
	if (!SANITIZED)
		touch_all(1024);
	CHECK_EQ(coro_park(), CORO_ECANCELED);
}

/* resident - from the page tables: statm is late by some pages for each CPU. */
static size_t resident(void)
{
	char line[200];
	size_t kib = 0;
	FILE *f = fopen("/proc/self/smaps_rollup", "r");

	CHECK(f);
	while (!kib && fgets(line, sizeof line, f))
		sscanf(line, "Rss: %zu kB", &kib);
	fclose(f);
	CHECK(kib);
	return kib << 10;
}

/* Memory is given back to the kernel, and stacks in use are left alone. */
TEST(stack_trim_gives_memory_back)
{
	enum { MANY = 2000 };
	coro_scheduler *s = start_with(1, 0);
	size_t before = resident();

	spawn(s, park_and_use, NULL, 0);
	for (int i = 0; i < MANY; i++)
		spawn(s, park_and_use, NULL, 0);
	while (coro_scheduler_blocked(s, NULL, 0) != MANY + 1)
		sleep_us(1000);
	coro_stats t = stats(s);
	CHECK_EQ(t.stacks, MANY + 1);
	CHECK_EQ(coro_scheduler_trim(s) & 4095, 0);
	CHECK_EQ(stats(s).stacks, MANY + 1);
	size_t most = resident();
	if (!SANITIZED)
		/* two pages each: the first and the last */
		CHECK(most > before + (size_t)MANY * (6 << 10));
	CHECK_EQ(coro_scheduler_close(s, 1), CORO_OK);
	if (!SANITIZED)
		CHECK(resident() < before + (most - before) / 4);
	CHECK_EQ(stats(s).stacks, 0);
	CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
}

/* ------------------------------------------------------------------------------ room at the cap */

/* Idle stacks make room for others of another size, dirty or not. Stacks in use are left alone. No
 * stack is given twice. */
TEST(stack_pool_makes_room)
{
	/* four pages, whatever the size of a page; and sixteen */
	unsigned c = (unsigned)__builtin_ctzl(coroi_page() / 4096) + 2;
	size_t small = coroi_stack_class_bytes(c) + coroi_page(),
	       large = coroi_stack_class_bytes(c + 2) + coroi_page();
	struct coroi_stack *s[8], *l[2], *again[8];
	struct coroi_stack_pool p;

	coroi_stack_pool_init(&p, 8 * small);
	for (int i = 0; i < 8; i++)
		CHECK_EQ(coroi_stack_pool_get(&p, c, &s[i], 1), 1);
	CHECK_EQ(coroi_stack_pool_get(&p, c, &l[0], 1), 0);
	CHECK_EQ(coroi_stack_pool_get(&p, c + 2, &l[0], 1), 0);
	memset(s[7]->low, 7, 4096);
	coroi_stack_pool_put(&p, &s[0], 2);
	CHECK_EQ(coroi_stack_pool_trim(&p), 2 * small); /* these are clean */
	CHECK_EQ(coroi_stack_pool_get(&p, c + 2, &l[0], 1), 0);
	CHECK_EQ(p.stacks, 8); /* nothing is taken where that would not be enough */
	coroi_stack_pool_put(&p, &s[2], 2);
	CHECK_EQ(coroi_stack_pool_get(&p, c + 2, &l[0], 1), 1);
	memset(l[0]->low, 1, large - 64);
	CHECK_EQ(p.bytes, (8 - (large + small - 1) / small) * small + large);
	CHECK_EQ(coroi_stack_pool_get(&p, c, &again[0], 1), 0);
	CHECK_EQ(s[7]->low[0], 7);
	coroi_stack_pool_put(&p, &l[0], 1);
	for (int i = 0; i < 4; i++) { /* hollow ones first, at their old addresses */
		CHECK_EQ(coroi_stack_pool_get(&p, c, &again[i], 1), 1);
		CHECK(again[i] == s[0] || again[i] == s[1] || again[i] == s[2] || again[i] == s[3]);
		for (int k = 0; k < i; k++)
			CHECK(again[i] != again[k]);
	}
	CHECK_EQ(p.bytes, 8 * small);
	CHECK_EQ(p.idle_bytes, 0);
	CHECK_EQ(coroi_stack_pool_get(&p, c, &l[1], 1), 0);
	coroi_stack_pool_put(&p, again, 4);
	coroi_stack_pool_put(&p, &s[4], 4);
	coroi_stack_pool_trim(&p);
	CHECK_EQ(p.bytes | p.stacks | p.idle_count | p.idle_bytes, 0);
	CHECK(!p.idle[c] && !p.hollow[c] && !p.idle[c + 2] && !p.hollow[c + 2] && !p.arenas[c] &&
	      !p.arenas[c + 2]);
	coroi_stack_pool_destroy(&p);
}
