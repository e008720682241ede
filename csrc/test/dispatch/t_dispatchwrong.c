/*
 * t_dispatchwrong.c - the bare dispatcher: what is done wrong is an error, also by other threads
 * and at the end of the stack.
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

/* ------------------------------------------------------------------------------------- errors */

TEST(dispatch_wrong_arguments)
{
	coro_dispatcher *d;
	coro_dispatched c = {{0}};
	coro_dispatch_policy good = fifo_policy, bad;

	CHECK_EQ(coro_dispatch_new(NULL, &good), CORO_EINVAL);
	CHECK_EQ(coro_dispatch_new(&d, NULL), CORO_EINVAL);
	bad = good, bad.size--;
	CHECK_EQ(coro_dispatch_new(&d, &bad), CORO_EINVAL);
	bad = good, bad.flags = 1;
	CHECK_EQ(coro_dispatch_new(&d, &bad), CORO_EINVAL);
	bad = good, bad.next = NULL;
	CHECK_EQ(coro_dispatch_new(&d, &bad), CORO_EINVAL);
	bad = good, bad.alloc = NULL;
	CHECK_EQ(coro_dispatch_new(&d, &bad), CORO_EINVAL);
	bad = good, bad.free = NULL;
	CHECK_EQ(coro_dispatch_new(&d, &bad), CORO_EINVAL);
	bad = good, bad.stack_bytes = CORO_STACK_MIN - 1;
	CHECK_EQ(coro_dispatch_new(&d, &bad), CORO_EINVAL);
	bad = good, bad.stack_bytes = CORO_STACK_MAX + 1;
	CHECK_EQ(coro_dispatch_new(&d, &bad), CORO_EINVAL);
	bad = good, bad.stack_bytes = SIZE_MAX;
	CHECK_EQ(coro_dispatch_new(&d, &bad), CORO_EINVAL);

	CHECK_EQ(coro_dispatch_new(&d, &good), CORO_OK);
	CHECK_EQ(coro_dispatch_init(NULL, d, player_main, NULL), CORO_EINVAL);
	CHECK_EQ(coro_dispatch_init(&c, NULL, player_main, NULL), CORO_EINVAL);
	CHECK_EQ(coro_dispatch_init(&c, d, NULL, NULL), CORO_EINVAL);
	CHECK_EQ(coro_dispatch_status(NULL), CORO_EINVAL);
	CHECK_EQ(coro_dispatch_status(&c), CORO_EINVAL);
	CHECK_EQ(coro_dispatch_drop(NULL), CORO_EINVAL);
	CHECK_EQ(coro_dispatch_drop(&c), CORO_EINVAL);
	CHECK_EQ(coro_dispatch_run(NULL), CORO_EINVAL);
	CHECK_EQ(coro_dispatch_block(), CORO_EPERM);
	CHECK(!coro_dispatch_self());
	CHECK_EQ(coro_abort(), CORO_EPERM);
	CHECK_EQ(coro_dispatch_free(d), CORO_OK);
	CHECK_EQ(coro_dispatch_free(NULL), CORO_OK);
}

/* Nothing of it where nobody runs: what the callbacks may not do. */
static void ask_for_trouble(void)
{
	coro_dispatcher *other;

	CHECK_EQ(coro_dispatch_block(), CORO_EPERM);
	CHECK_EQ(coro_abort(), CORO_EPERM);
	CHECK_EQ(coro_exit(), CORO_EPERM);
	CHECK_EQ(coro_defer(free, NULL), CORO_EPERM);
	CHECK(!coro_malloc(1));
	CHECK_EQ(coro_stack_left(), 0);
	CHECK_EQ(coro_dispatch_run(dispatcher), CORO_EPERM);
	CHECK_EQ(coro_dispatch_new(&other, &fifo_policy), CORO_OK);
	CHECK_EQ(coro_dispatch_run(other), CORO_EPERM);
	CHECK_EQ(coro_dispatch_free(other), CORO_OK);
	CHECK_EQ(coro_dispatch_free(dispatcher), CORO_EBUSY);
}

static void makes_trouble(struct player *p)
{
	coro_dispatched *c = &p->own;

	CHECK_EQ(coro_dispatch_run(dispatcher), CORO_EPERM);
	CHECK_EQ(coro_dispatch_free(dispatcher), CORO_EBUSY);
	CHECK_EQ(coro_dispatch_init(c, dispatcher, player_main, p), CORO_EBUSY);
	CHECK_EQ(coro_dispatch_drop(c), CORO_EBUSY);
	CHECK_EQ(coro_yield_value(1, NULL), CORO_EPERM);
	CHECK_EQ(coro_yield(), CORO_EPERM);
	CHECK_EQ(coro_park(), CORO_EPERM);
	CHECK_EQ(coro_sleep(1), CORO_EPERM);
	CHECK_EQ(coro_self(), 0);
	CHECK_EQ(coro_spawn((coro_fn)(void *)player_main, NULL, 0), CORO_EPERM);
	coro_sem s = {{0}};
	CHECK_EQ(coro_sem_acquire(&s, CORO_FOREVER), CORO_EPERM);
	CHECK_EQ(coro_dispatch_park(), CORO_EPERM);
	CHECK_EQ(coro_dispatch_id_self(), 0);
	CHECK_EQ(coro_dispatch_block(), CORO_OK);
	CHECK(coro_stack_left() > 0);
	p->rounds++;
}

TEST(dispatch_what_is_not_allowed_inside)
{
	fifo_open(0);
	fifo.asking = ask_for_trouble;
	struct player *p = fifo_enter_many(2, makes_trouble);
	CHECK_EQ(coro_dispatch_init(&p->own, dispatcher, player_main, p), CORO_EBUSY); /* fresh */
	fifo_run();
	CHECK_EQ(p[0].rounds + p[1].rounds, 2);
	CHECK_EQ(coro_dispatch_drop(&p->own), CORO_EINVAL);
	fifo_enter(p, nothing); /* ended ones can be used again */
	fifo_run_all(p, 2, CORO_FINISHED);
}

/* What next must not return ends the run, and nothing else. */
static coro_dispatched *blocked_one;

static void drops_another(void *arg)
{
	(void)arg;
	CHECK_EQ(coro_dispatch_status(blocked_one), CORO_EBUSY);
	fifo.wrong = blocked_one; /* what next returns, while it is being dropped */
	CHECK_EQ(coro_dispatch_block(), CORO_OK);
}

static void defers_and_blocks(struct player *p)
{
	CHECK_EQ(coro_defer(drops_another, NULL), CORO_OK);
	blocked_one = &p->own;
	CHECK_EQ(coro_dispatch_block(), CORO_OK);
	CHECK(false);
}

static void drops_it(struct player *p)
{
	fifo.head = fifo.tail;
	CHECK_EQ(coro_dispatch_drop(blocked_one), CORO_OK);
	CHECK_EQ(coro_dispatch_status(blocked_one), CORO_ABORT);
	p->rounds++;
}

TEST(dispatch_next_returns_what_cannot_run)
{
	coro_dispatched none = {{0}}, foreign = {{0}};
	coro_dispatcher *other;

	fifo_open(0);
	CHECK_EQ(coro_dispatch_new(&other, &fifo_policy), CORO_OK);
	CHECK_EQ(coro_dispatch_init(&foreign, other, player_main, NULL), CORO_OK);
	struct player *p = fifo_enter_many(3, blocks_once);
	fifo.wrong = &none;
	CHECK_EQ(coro_dispatch_run(dispatcher), CORO_EINVAL);
	fifo.wrong = &foreign;
	CHECK_EQ(coro_dispatch_run(dispatcher), CORO_EINVAL);
	fifo_run();
	CHECK_EQ(p[0].rounds + p[1].rounds + p[2].rounds, 3);
	fifo.wrong = &p[1].own;
	CHECK_EQ(coro_dispatch_run(dispatcher), CORO_ENDED);
	CHECK_EQ(coro_dispatch_free(other), CORO_OK);

	fifo_enter(&p[0], defers_and_blocks);
	fifo_enter(&p[1], drops_it);
	CHECK_EQ(coro_dispatch_run(dispatcher), CORO_EBUSY);
	fifo_run();
	CHECK_EQ(p[1].rounds, 2);
	free(p);
	fifo_close();
}

/* Asked after a block, and after an end, by a loop on the slot: both ends of a run are tried. */
static void makes_next_wrong(struct player *p)
{
	static coro_dispatched none;

	if (p->id)
		CHECK_EQ(coro_dispatch_block(), CORO_OK);
	fifo.wrong = &none;
	p->rounds++;
}

TEST(dispatch_next_is_wrong_after_an_end)
{
	fifo_open(0);
	struct player *p = fifo_enter_many(2, makes_next_wrong);
	CHECK_EQ(coro_dispatch_run(dispatcher), CORO_EINVAL);
	CHECK_EQ(p[0].rounds, 1);
	CHECK_EQ(coro_dispatch_run(dispatcher), CORO_EINVAL);
	CHECK_EQ(p[1].rounds, 1);
	fifo_run_all(p, 2, CORO_FINISHED);
}

/* --------------------------------------------------------------------- several runs, several
 * threads */

static unsigned stop_after;

static void stop_when_asked(void)
{
	if (stop_after && --stop_after == 0)
		fifo.wrong = (coro_dispatched *)&fifo; /* replaced below */
}

static coro_dispatched *stopping_next(coro_dispatcher *d, void *user)
{
	coro_dispatched *c = fifo_next(d, user);

	if (c != (coro_dispatched *)&fifo)
		return c;
	if (fifo.last && coro_dispatch_status(fifo.last) == CORO_MAY_RESUME)
		fifo_ready(fifo.last);
	return fifo.last = NULL;
}

static void *run_elsewhere(void *arg)
{
	(void)arg;
	stop_after = 57;
	fifo_run();
	return NULL;
}

/* Between two runs those that are blocked lie in their buffers, and any thread may go on with
 * them. */
TEST(dispatch_moves_between_threads)
{
	coro_dispatch_policy policy = fifo_policy;
	unsigned n = 50, runs = 0, ended;

	policy.next = stopping_next;
	fifo_reset();
	fifo.asking = stop_when_asked;
	fifo.random = 9;
	CHECK_EQ(coro_dispatch_new(&dispatcher, &policy), CORO_OK);
	struct player *p = fifo_enter_many(n, any_frames);
	do {
		pthread_t t;
		if (fifo.live)
			CHECK_EQ(coro_dispatch_free(dispatcher), CORO_EBUSY);
		thread_start(&t, run_elsewhere, NULL);
		thread_join(t);
		run_elsewhere(NULL);
		runs++;
		ended = 0;
		for (unsigned i = 0; i < n; i++)
			ended += coro_dispatch_status(&p[i].own) == CORO_FINISHED;
		if (runs == 1)
			CHECK(fifo.live > 0);
	} while (ended < n);
	CHECK(runs > 1);
	free(p);
	fifo_close();
}

static pthread_barrier_t both;

static void *runs_meanwhile(void *arg)
{
	(void)arg;
	CHECK_EQ(coro_dispatch_run(dispatcher), CORO_EBUSY);
	CHECK_EQ(coro_dispatch_free(dispatcher), CORO_EBUSY);
	pthread_barrier_wait(&both);
	return NULL;
}

static void lets_another_try(struct player *p)
{
	pthread_t t;

	thread_start(&t, runs_meanwhile, NULL);
	pthread_barrier_wait(&both);
	thread_join(t);
	p->rounds++;
}

TEST(dispatch_runs_on_one_thread_at_a_time)
{
	pthread_barrier_init(&both, NULL, 2);
	fifo_open(0);
	struct player *p = fifo_enter_many(1, lets_another_try);
	fifo_run();
	CHECK_EQ(p->rounds, 1);
	fifo_run_all(p, 1, CORO_FINISHED);
	pthread_barrier_destroy(&both);
}

static void *has_its_own(void *arg)
{
	(void)arg;
	coro_dispatcher *mine;

	CHECK_EQ(coro_dispatch_new(&mine, &fifo_policy), CORO_OK);
	CHECK_EQ(coro_dispatch_free(mine), CORO_OK);
	CHECK(!coro_dispatch_self());
	return NULL;
}

static void *drops_from_outside(void *arg)
{
	CHECK_EQ(coro_dispatch_drop(arg), CORO_EBUSY);
	return NULL;
}

static void is_alone_with_it(struct player *p)
{
	pthread_t t;

	thread_start(&t, has_its_own, NULL);
	thread_join(t);
	thread_start(&t, drops_from_outside, &p[1].own);
	thread_join(t);
	CHECK_EQ(coro_dispatch_block(), CORO_OK);
}

TEST(dispatch_belongs_to_its_thread)
{
	fifo_open(0);
	struct player *p = calloc(2, sizeof *p);
	fifo_enter(&p[0], is_alone_with_it);
	fifo_enter(&p[1], nothing);
	fifo_run_all(p, 2, CORO_FINISHED);
}

static void runs_in_a_scheduler(void *arg, void *result)
{
	(void)arg;
	(void)result;
	coro_handle self = coro_self();
	CHECK_EQ(coro_yield(), CORO_OK);
	fifo_open(0);
	fifo_run_all(fifo_enter_many(10, makes_trouble), 10, CORO_FINISHED);
	CHECK_EQ(coro_self(), self);
	CHECK_EQ(coro_yield(), CORO_OK);
	fifo_open(0);
	fifo_run_all(fifo_enter_many(50, small_frames), 50, CORO_FINISHED);
	CHECK_EQ(coro_yield(), CORO_OK);
}

TEST(dispatch_runs_in_a_scheduler)
{
	for (uint32_t flags = 0; flags <= CORO_DENSE; flags += CORO_DENSE) {
		coro_scheduler *s = start_with(2, 0);
		coro_attr attr = {
			.size = sizeof attr, .flags = flags, .stack_bytes = flags ? 0 : 4 * STACK};
		CHECK_EQ(coro_scheduler_spawn(s, &attr, runs_in_a_scheduler, NULL, 0, NULL),
			 CORO_OK);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		finish(s);
	}
}

/* ------------------------------------------------------------------------------------ the guard */

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

	/* a pool's threads have one, others bring their own */
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

/* Once a coroutine has begun, its policy is asked on the same stack. */
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
	snprintf(want, sizeof want, "function 0x%llx used up its stack of 256 KiB",
		 (unsigned long long)whose);
	CHECK(strstr(text, want));
}

TEST(dispatch_guard_faults_and_names_it)
{
	expect_overflow(overflow, (uintptr_t)eats);
	expect_overflow(overflow_in_a_pool, (uintptr_t)eats);
	expect_overflow(overflow_of_the_policy, (uintptr_t)fifo_next);
}
