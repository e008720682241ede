/*
 * t_gobody.c - coroutines with Go bodies. The test stands in for the executors that run them.
 */
#include "gostand.h"

#include "sync/sem.h"
#include "border/goworker.h"
#include "border/state.h"

#include <sched.h>
#include <string.h>

#define DOUBLES (COROI_GO_BODY | 2000) /* of an int64_t, which it doubles */

static void spawns_go_bodies(void *arg, void *result)
{
	int64_t number = 21, doubled = 0;
	coro_handle child = 0;

	(void)arg;
	(void)result;
	CHECK_EQ(coro_spawn_go(0, &number, 8, &child), CORO_EINVAL);
	CHECK_EQ(coro_spawn_go(2000, &number, 8, &child), CORO_EINVAL);
	CHECK_EQ(coro_spawn_go(DOUBLES + 1, &number, 8, &child), CORO_EINVAL);
	CHECK_EQ(coro_spawn_go(DOUBLES + 5000, &number, 8, &child), CORO_EINVAL);
	CHECK_EQ(coro_spawn_go(UINT32_MAX, &number, 8, &child), CORO_EINVAL);
	CHECK_EQ(coro_spawn_go(DOUBLES, &number, 7, &child), CORO_EINVAL);
	CHECK_EQ(coro_spawn_go(DOUBLES, NULL, 8, &child), CORO_EINVAL);
	CHECK_EQ(child, 0);
	CHECK_EQ(coro_spawn_go(DOUBLES, &number, 8, NULL), CORO_OK);
	CHECK_EQ(coro_spawn_go(DOUBLES, &number, 8, &child), CORO_OK);
	CHECK_EQ(coro_join(child, &doubled, 8), CORO_OK);
	CHECK_EQ(doubled, 42);
	CHECK_EQ(coro_join(child, &doubled, 8), CORO_ESTALE);
}

/* run_bodies - act as Go's executors until n bodies have ended. */
static void run_bodies(coro_scheduler *s, int n)
{
	struct coroi_worker *goworker = coroi_threadless(s);
	struct coroi_goworker_item item[4];

	while (n > 0) {
		while (at_load_acq(&goworker->ev) != COROI_EV_WOKEN)
			sched_yield();
		at_store_rlx(&goworker->ev, COROI_EV_NONE);
		do {
			uint32_t took = coroi_goworker_take(goworker, item, 4);
			for (uint32_t i = 0; i < took; i++, n--) {
				CHECK_EQ(item[i].kind, COROI_GOWORKER_START);
				CHECK_EQ(item[i].body, DOUBLES);
				CHECK_EQ(item[i].handle, coroi_handle(item[i].rec));
				*(int64_t *)coroi_cold(item[i].rec)->payload *= 2;
				coroi_goworker_end(goworker, item[i].rec, 0);
				at_bump(&goworker->ended);
			}
		} while (!coroi_threadless_park(goworker));
	}
}

TEST(gobody_starts_from_c)
{
	int64_t number = 1;

	fail_alloc = 0;
	CHECK_EQ(coroi_goworker_body(DOUBLES, 8, 8, 0, 0), CORO_ENOMEM);
	fail_alloc = -1;
	CHECK_EQ(coroi_goworker_body(DOUBLES, 8, 8, 0, 0), CORO_OK);
	CHECK_EQ(coroi_goworker_body(DOUBLES + 2, 0, 0, 0, 0), CORO_OK);
	CHECK_EQ(coroi_goworker_body(UINT32_MAX, 8, 8, 0, 0), CORO_ENOMEM);
	CHECK_EQ(coro_spawn_go(DOUBLES, &number, 8, NULL), CORO_EPERM);
	coro_scheduler *s = start_go(1, 0);
	spawn(s, spawns_go_bodies, NULL, 0);
	run_bodies(s, 2);
	finish(s);
}

/* ------------------------------------------------ Go bodies that are woken, canceled and joined */

static coro_sem sem;
static uint64_t joined, woken_up;

static void starts_and_joins(void *arg, void *result)
{
	int64_t number = 21, doubled = 0;
	coro_handle *out, child;
	(void)result;

	memcpy(&out, arg, sizeof out);
	CHECK_EQ(coro_spawn_go(DOUBLES, &number, 8, &child), CORO_OK);
	*out = child;
	CHECK_EQ(coro_join(child, &doubled, 8), CORO_OK);
	CHECK_EQ(doubled, 42);
	at_add(&joined, 1);
}

static void releases(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_sem_release(&sem, 1), CORO_OK);
}

static void parks_once(void *arg, void *result)
{
	coro_handle *out;
	(void)result;

	memcpy(&out, arg, sizeof out);
	*out = coro_self();
	CHECK_EQ(coro_park(), CORO_OK);
	at_add(&woken_up, 1);
}

/* goworker_wakes - return when the goworker, which slept, has been woken. */
static void goworker_wakes(struct coroi_worker *goworker)
{
	while (at_load_acq(&goworker->ev) != COROI_EV_WOKEN)
		sched_yield();
	at_store_rlx(&goworker->ev, COROI_EV_NONE);
}

/* take_one - the only item in the inbox of the goworker, which is awake. It is for the body h. */
static struct coroi_goworker_item take_one(struct coroi_worker *goworker, coro_handle h)
{
	struct coroi_goworker_item item[4];

	CHECK_EQ(coroi_goworker_take(goworker, item, 4), 1);
	CHECK_EQ(item[0].handle, h);
	return item[0];
}

static struct coroi_rec *start_body(struct coroi_worker *goworker)
{
	struct coroi_goworker_item item[4];

	CHECK_EQ(coroi_goworker_take(goworker, item, 4), 1);
	CHECK_EQ(item[0].kind, COROI_GOWORKER_START);
	CHECK_EQ(item[0].body, DOUBLES);
	return item[0].rec;
}

static void end_body(struct coroi_worker *goworker, struct coroi_rec *r)
{
	*(int64_t *)coroi_cold(r)->payload *= 2;
	coroi_goworker_end(goworker, r, 0);
	at_bump(&goworker->ended);
}

/* event_of - the body r waits at the semaphore; a release sends r its event. */
static void event_of(coro_scheduler *s, struct coroi_worker *goworker, struct coroi_rec *r,
		     bool from_inside)
{
	struct coroi_gowaiter *g = coroi_gowaiter_new(NULL, 0, r, coroi_gen(at_load_rlx(&r->wake)),
						      0);

	CHECK(g);
	CHECK_EQ(coroi_sem_acquire_gowaiter(&sem, g), COROI_WAITS);
	if (from_inside)
		spawn(s, releases, NULL, 0);
	else
		CHECK_EQ(coro_sem_release(&sem, 1), CORO_OK);
	while (!at_load_acq(&g->fired) || !at_load_acq(&goworker->inbox))
		sched_yield();
	struct coroi_goworker_item item = take_one(goworker, coroi_handle(r));
	CHECK_EQ(item.kind, COROI_GOWORKER_EVENT);
	CHECK_EQ(item.n, 0);
	CHECK_EQ(item.canceled, 0);
	coroi_gowaiter_free(g);
}

TEST(gobody_is_woken_and_canceled)
{
	coro_handle h = 0, parked = 0, *out = &h, *other = &parked;
	struct coroi_goworker_item item;

	joined = woken_up = 0;
	CHECK_EQ(coroi_goworker_body(DOUBLES, 8, 8, 0, 0), CORO_OK);
	CHECK_EQ(coro_sem_init(&sem, 0, 0), CORO_OK);
	coro_scheduler *s = start_go(1, 0);
	struct coroi_worker *goworker = coroi_threadless(s);
	spawn(s, starts_and_joins, &out, sizeof out);
	goworker_wakes(goworker);
	struct coroi_rec *r = start_body(goworker);
	while (coro_scheduler_blocked(s, NULL, 0) != 1) /* the parent waits for the body */
		sleep_us(50);
	CHECK_EQ(h, coroi_handle(r));

	CHECK_EQ(coro_wake(h), CORO_OK);
	CHECK_EQ(coro_wake(h), CORO_OK);
	item = take_one(goworker, h);
	CHECK_EQ(item.kind, COROI_GOWORKER_WAKE);
	CHECK_EQ(item.n, 2);
	CHECK_EQ(item.canceled, 0);
	CHECK_EQ(coro_cancel(h), CORO_OK);
	CHECK(!coroi_threadless_park(goworker)); /* there is more */
	item = take_one(goworker, h);
	CHECK_EQ(item.kind, COROI_GOWORKER_WAKE);
	CHECK_EQ(item.n, 0);
	CHECK_EQ(item.canceled, 1);
	event_of(s, goworker, r, false);
	event_of(s, goworker, r, true);

	/* A remote wake for a record that is a C body's by now is passed on. */
	spawn(s, parks_once, &other, sizeof other);
	until_waiting(s, 2);
	struct coroi_rec *moved = coroi_at((uint32_t)parked);
	/* WKC1 and WKC2, by a waker to which the record was still at home here */
	at_add(&moved->wake, 1);
	coroi_inbox_push(goworker, (uintptr_t)moved | COROI_NODE_WAKE);
	CHECK_EQ(coroi_goworker_take(goworker, &item, 1), 0);
	while (!at_load_seq(&woken_up))
		sched_yield();

	/* A remote wake that comes too late: the worker that takes it frees the record. */
	CHECK_EQ(coro_wake(h), CORO_OK);
	end_body(goworker, r);
	while (!at_load_seq(&joined))
		sched_yield();
	CHECK_EQ(coro_wake(h), CORO_ESTALE);
	CHECK_EQ(coroi_goworker_take(goworker, &item, 1), 0);
	CHECK(coroi_threadless_park(goworker));
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	finish(s);
	CHECK_EQ(coro_sem_destroy(&sem), CORO_OK);
}

static void starts_one(void *arg, void *result)
{
	int64_t number = 4;
	coro_handle *out, child;
	(void)result;

	memcpy(&out, arg, sizeof out);
	CHECK_EQ(coro_spawn_go(DOUBLES, &number, 8, &child), CORO_OK);
	*out = child;
}

/* A goroutine waits for the body, and a coroutine will hear of that: until then it is not the
 * end. */
TEST(gobody_is_joined_by_goroutines)
{
	coro_handle h, *out = &h;

	CHECK_EQ(coroi_goworker_body(DOUBLES, 8, 8, 0, 0), CORO_OK);
	coro_scheduler *s = start_go(1, 0);
	struct coroi_worker *goworker = coroi_threadless(s);
	spawn(s, starts_one, &out, sizeof out);
	goworker_wakes(goworker);
	struct coroi_rec *r = start_body(goworker);
	uint64_t join = coroi_join_word(coroi_gen(at_load_rlx(&r->wake)), COROI_JOIN_GO,
					5 | COROI_JOIN_COUNTED);
	at_xchg(&coroi_cold(r)->join, join);
	end_body(goworker, r);
	CHECK(coroi_threadless_park(goworker));
	while (stats(s).awake)
		sleep_us(50);
	CHECK(!coroi_at_rest(s));
	CHECK(at_xchg(&coroi_border(s)->bell.done, 0) == (uintptr_t)r);
	CHECK_EQ(r->next, 0);
	CHECK_EQ(r->permits, 5); /* the joiner's id */
	CHECK_EQ(*(int64_t *)coroi_cold(r)->payload, 8);
	coroi_join_free(r);
	coroi_pending_end(s);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	finish(s);
}

/* executes - start and end one body. The body ends at its first wake-up. */
static void *executes(void *arg)
{
	struct coroi_worker *goworker = coroi_threadless(arg);
	struct coroi_goworker_item item[4];
	struct coroi_rec *r = NULL;

	for (bool over = false; !over;) {
		goworker_wakes(goworker);
		do {
			uint32_t took = coroi_goworker_take(goworker, item, 4);
			for (uint32_t i = 0; i < took; i++) {
				if (item[i].kind == COROI_GOWORKER_START) {
					r = item[i].rec;
					continue;
				}
				CHECK_EQ(item[i].kind, COROI_GOWORKER_WAKE);
				CHECK_EQ(item[i].n, 2);
				end_body(goworker, r);
				over = true;
			}
		} while (!coroi_threadless_park(goworker));
	}
	return NULL;
}

static void starts_one_and_detaches_it(void *arg, void *result)
{
	coro_handle *out;

	memcpy(&out, arg, sizeof out);
	starts_one(arg, result);
	CHECK_EQ(coro_detach(*out), CORO_OK);
}

/* A body that is woken between two runs goes on in the next run. */
TEST(gobody_lives_across_runs)
{
	coro_handle h = 0, *out = &h;
	pthread_t t;

	CHECK_EQ(coroi_goworker_body(DOUBLES, 8, 8, 0, 0), CORO_OK);
	coro_scheduler *s = start_go(1, CORO_PAUSED);
	thread_start(&t, executes, s);
	spawn(s, starts_one_and_detaches_it, &out, sizeof out);
	CHECK_EQ(coro_scheduler_run(s), CORO_EDEADLK);
	CHECK_EQ(coro_wake(h), CORO_OK);
	CHECK_EQ(coro_wake(h), CORO_OK);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	thread_join(t);
	CHECK_EQ(coro_wake(h), CORO_ESTALE);
	finish(s);
}

/* --------------------------------------------------------------------- items are taken in parts */

/* Go takes as many of the goworker's items as it has room for. */
static uint64_t started;

static void starts_bodies(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (int i = 0; i < 5; i++)
		CHECK_EQ(coro_spawn_go(COROI_GO_BODY | 9, NULL, 0, NULL), CORO_OK);
	add_one(&started);
}

TEST(gocall_goworker_is_taken_in_parts)
{
	static const uint32_t caps[] = {2, 1, 0, 5}, taken[] = {2, 1, 0, 2};
	struct coroi_goworker_item items[5];

	CHECK_EQ(coroi_goworker_body(COROI_GO_BODY | 9, 0, 0, 0, 0), CORO_OK);
	coro_scheduler *s = start_with(1, 0);
	struct coroi_worker *goworker = coroi_threadless(s);
	coroi_border(s)->bell.go_id = 1;
	spawn(s, starts_bodies, NULL, 0);
	while (!seen(&started) || at_load_acq(&goworker->ev) != COROI_EV_WOKEN)
		sleep_us(100);
	at_store_rlx(&goworker->ev, COROI_EV_NONE);
	for (int i = 0; i < 4; i++) {
		CHECK_EQ(coroi_goworker_take(goworker, items, caps[i]), taken[i]);
		for (uint32_t k = 0; k < taken[i]; k++) {
			CHECK_EQ(items[k].kind, COROI_GOWORKER_START);
			CHECK_EQ(items[k].body, COROI_GO_BODY | 9);
			coroi_goworker_end(goworker, items[k].rec, 0);
			at_bump(&goworker->ended);
		}
		CHECK_EQ(coroi_threadless_park(goworker),
			 i == 3); /* no sleep while there are more */
	}
	finish(s);
}

/* ------------------------------------------------------------------------- bodies with buffers */

#define PASSES (COROI_GO_BODY | 2005) /* of a struct crate, and to one */

struct crate {
	uint64_t number;
	coro_buffer buffer;
};

enum end { RETURNS, ENDS_CANCELED, NEVER_STARTS, FAILS, ENDS };

static struct crate crate(void)
{
	struct crate p = {.number = 7};

	CHECK_EQ(coro_buffer_make(10, &p.buffer), CORO_OK);
	return p;
}

static void sends_to_go_bodies(void *arg, void *result)
{
	struct crate p, got;
	coro_handle child;

	(void)arg;
	(void)result;
	for (int i = 0; i < 4 * ENDS; i++) {
		p = crate();
		CHECK_EQ(coro_spawn_go(PASSES, &p, sizeof p, i < 3 * ENDS ? &child : NULL),
			 CORO_OK);
		CHECK_EQ(coro_buffer_free(p.buffer), CORO_ESTALE);
		CHECK_EQ(coro_spawn_go(PASSES, &p, sizeof p, &child), CORO_ESTALE);
		static const int status[] = {CORO_OK, CORO_ECANCELED, CORO_ECANCELED, CORO_EFAILED};
		switch (i / ENDS) {
		case 0:
			CHECK_EQ(coro_join(child, &got, sizeof got), status[i % ENDS]);
			if (i % ENDS == RETURNS)
				CHECK_EQ(coro_buffer_free(got.buffer), CORO_OK);
			break;
		case 1:
			CHECK_EQ(coro_join(child, &got, 8), status[i % ENDS]);
			break;
		case 2:
			CHECK_EQ(coro_detach(child), CORO_OK);
			break;
		}
	}
}

/* pass_on - act as Go's executors: n bodies with a struct crate end in each way. */
static void pass_on(coro_scheduler *s, int n)
{
	struct coroi_worker *goworker = coroi_threadless(s);
	struct coroi_goworker_item item[1];
	struct crate p;

	for (int i = 0; i < n;) {
		goworker_wakes(goworker);
		do {
			if (!coroi_goworker_take(goworker, item, 1))
				continue;
			struct coroi_rec *r = item[0].rec;
			struct crate *at = (struct crate *)(void *)coroi_cold(r)->payload;
			enum end how = (enum end)(i++ % ENDS);
			CHECK_EQ(item[0].body, PASSES);
			if (how != NEVER_STARTS) { /* what starts takes its argument */
				p = *at;
				memset(at, 0, sizeof *at);
			}
			if (how == RETURNS)
				*at = p;
			else if (how != NEVER_STARTS)
				CHECK_EQ(coro_buffer_free(p.buffer), CORO_OK);
			if (how == FAILS)
				coroi_fail_with(r, 3, "a text", 6);
			coroi_goworker_end(
				goworker, r,
				how == NEVER_STARTS || how == ENDS_CANCELED ? COROI_F_CANCELED : 0);
			at_bump(&goworker->ended);
		} while (!coroi_threadless_park(goworker));
	}
}

TEST(gobody_has_buffers)
{
	CHECK_EQ(coroi_goworker_body(PASSES, 16, 16, 2, 2), CORO_OK);
	CHECK_EQ(coroi_goworker_body(PASSES, 16, 16, 2, 1), CORO_ENOMEM); /* it has others */
	coro_scheduler *s = start_go(1, 0);
	spawn(s, sends_to_go_bodies, NULL, 0);
	pass_on(s, 4 * ENDS);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	coro_stats t = stats(s);
	CHECK_EQ(t.buffers_made, 4 * ENDS);
	CHECK_EQ(t.buffers_freed, t.buffers_made);
	finish(s);
}
