/*
 * subject.c - a program to be looked at in gdb, with coroutines that are parked, running, and
 * resumed by hand.
 */
#include "border/gocall.h"
#include "kernel/life.h"
#include "border/many.h"
#include "border/state.h"

#include <stdlib.h>

#define NOINLINE __attribute__((noinline, noclone))

coro_handle parked, caller, one, forked, taken;
coro_t *held;
static volatile int calls;

NOINLINE void stop_here(void)
{
	calls++;
}

static NOINLINE void parks_inner(void)
{
	if (coro_park() != CORO_OK)
		abort();
	calls++;
}

static NOINLINE void parks_outer(void)
{
	parks_inner();
	calls++;
}

static void parks(void *arg, void *result)
{
	(void)arg;
	(void)result;
	parks_outer();
	calls++;
}

static NOINLINE void runs_inner(void)
{
	stop_here();
	calls++;
}

static NOINLINE void on_another(void *arg)
{
	(void)arg;
	runs_inner();
	calls++;
}

/* Called in place of Go. */
static NOINLINE void serves(struct coroi_worker *w)
{
	do {
		stop_here();
		coroi_calls_of(w)->status = CORO_OK;
	} while (coroi_work(w));
}

static NOINLINE void calls_inner(void)
{
	if (coro_call_go_inline(1, NULL, 0, NULL, 0, NULL))
		abort();
	calls++;
}

static void one_of_many(void *arg, void *result)
{
	(void)arg;
	(void)result;
	one = coro_self();
	parks_inner();
}

/* starts_many - a coroutine that leads one call, as CallN of Go has it. */
static void starts_many(void)
{
	struct coroi_many *m = calloc(1, sizeof *m + sizeof(struct coroi_one));

	if (!m)
		abort();
	m->fn = (uintptr_t)one_of_many;
	m->count = 1;
	m->left = 2;
	m->stride = sizeof(struct coroi_one);
	if (coro_spawn(coroi_many_lead, &m, sizeof m))
		abort();
}

static void parks_in_a_fork(void *arg, void *result)
{
	(void)arg;
	(void)result;
	forked = coro_self();
	parks_inner();
	calls++;
}

/* forks - its child is on its stack, and the child's child, too. */
static void forks(void *arg, void *result)
{
	coro_fork f;

	coro_fork_begin(&f, arg ? forks : parks_in_a_fork, NULL, result);
	if (coro_fork_join(&f))
		abort();
	calls++;
}

static void parks_apart(void *arg, void *result)
{
	(void)arg;
	(void)result;
	taken = coro_self();
	parks_inner();
	calls++;
}

/* forks_and_yields - its child is on another stack. */
static void forks_and_yields(void *arg, void *result)
{
	coro_fork f;

	coro_fork_begin(&f, parks_apart, arg, result);
	coro_yield();
	if (coro_fork_join(&f))
		abort();
	calls++;
}

static void runs(void *arg, void *result)
{
	(void)arg;
	(void)result;
	if (coro_spawn_attr(NULL, parks, NULL, 0, &parked))
		abort();
	starts_many();
	int deeper = 1;
	if (coro_spawn(forks, &deeper, sizeof deeper) || coro_spawn(forks_and_yields, NULL, 0))
		abort();
	for (int i = 0; i < 3; i++)
		coro_yield();
	runs_inner();
	coro_call_on_stack(CORO_STACK_MIN, on_another, NULL);
	caller = coro_self();
	calls_inner();
	if (coro_wake(parked) || coro_wake(one) || coro_wake(forked) || coro_wake(taken))
		abort();
	coro_yield();
}

static NOINLINE intptr_t gives_inner(void)
{
	intptr_t sent = 0;
	coro_yield_value(1, &sent);
	calls++;
	return sent;
}

static intptr_t gives(void *arg, intptr_t first)
{
	(void)arg;
	(void)first;
	return gives_inner() + 1;
}

int main(void)
{
	coro_options o = {.size = sizeof o, .workers = 1};
	coro_scheduler *s;

	if (coro_new(&held, gives, NULL, 0) || coro_resume(held, 0, NULL) != CORO_MAY_RESUME)
		return 2;
	coroi_go_register(serves);
	if (coro_scheduler_init(&s, &o))
		return 3;
	coroi_border(s)->bell.go_id = 1;
	if (coro_scheduler_spawn(s, NULL, runs, NULL, 0, NULL))
		return 3;
	if (coro_scheduler_wait(s) || coro_scheduler_destroy(s))
		return 4;
	if (coro_resume(held, 7, NULL) != CORO_FINISHED || coro_free(held))
		return 5;
	return 0;
}
