/*
 * t_gocall.c - calls into Go, with a stand-in for it: who is suspended, who is served when, and what comes back.
 */
#include "test.h"

#include "../bell.h"
#include "../gocall.h"
#include "../guest.h"
#include "../idle.h"
#include "../lane.h"
#include "../run.h"

#include <sched.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* The stand-in knows function 1: an int64_t, to which it adds 1; 2: fails; 3: the largest text; 4: fails without one. */
static uint64_t lists, served, longest;
static void (*within)(struct coroi_worker *w); /* what a test does there */

static void serve(struct coroi_worker *w)
{
	uint64_t n = w->calls_count;

	CHECK(coroi_self() == w);
	CHECK(!w->current);
	CHECK_EQ(w->busy, 0);
	if (within)
		within(w);
	for (struct coroi_call *c = w->calls; c < w->calls + n; c++) {
		CHECK_EQ(c->caller->state, COROI_ACTIVE);
		if (c->id == 1 && c->arg_bytes == sizeof(int64_t)) {
			*(int64_t *)c->result = *(const int64_t *)c->arg + 1;
			c->got = sizeof(int64_t);
			c->status = CORO_OK;
		} else if (c->id == 2) {
			coroi_call_fail(c, "it failed", 9);
		} else if (c->id == 4) {
			coroi_call_fail(c, "", 0);
		} else if (c->id == 3) {
			char text[300];
			memset(text, 'x', sizeof text);
			coroi_call_fail(c, text, sizeof text);
		} else {
			c->status = CORO_EINVAL;
			c->got = 0;
		}
	}
	__atomic_add_fetch(&lists, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&served, n, __ATOMIC_RELAXED);
	if (n > __atomic_load_n(&longest, __ATOMIC_RELAXED))
		__atomic_store_n(&longest, n, __ATOMIC_RELAXED);
}

/* gos - a scheduler that the stand-in serves. */
static coro_scheduler *gos(uint32_t workers, uint32_t flags)
{
	coro_scheduler *s = start_with(workers, flags);
	s->go_slot = 1;
	return s;
}

static uint64_t ended, sum;

static void calls(void *arg, void *result)
{
	int64_t n = *(int64_t *)arg, number = 0;

	(void)result;
	while (number < n) {
		size_t got = 0;
		int64_t before = number;
		CHECK_EQ(coro_call_go_inline(1, &number, sizeof number, &number, sizeof number, &got), CORO_OK);
		CHECK_EQ(got, sizeof number);
		CHECK_EQ(number, before + 1);
	}
	__atomic_add_fetch(&sum, (uint64_t)n, __ATOMIC_RELAXED);
	__atomic_add_fetch(&ended, 1, __ATOMIC_RELAXED);
}

static void call_in_turns(uint32_t workers, uint32_t flags, uint32_t callers, int64_t each)
{
	stand_in(serve);
	ended = sum = lists = served = longest = 0;
	coro_scheduler *s = gos(workers, flags);
	for (uint32_t i = 0; i < callers; i++)
		spawn(s, calls, &each, sizeof each);
	if (flags & CORO_PAUSED)
		CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	finish(s);
	CHECK_EQ(ended, callers);
	CHECK_EQ(sum, (uint64_t)each * callers);
	CHECK_EQ(served, sum);
	CHECK(lists <= sum);
	CHECK(longest <= COROI_CALLS_AT_ONCE);
}

TEST(gocall_one_caller)
{
	call_in_turns(1, 0, 1, (int64_t)scaled(100000));
	CHECK_EQ(longest, 1);
}

TEST(gocall_many_callers)
{
	for (uint32_t workers = 1; workers <= 4; workers *= 2) {
		call_in_turns(workers, 0, 100, (int64_t)scaled(2000));
		call_in_turns(workers, CORO_NO_MEMBARRIER | CORO_NO_STANDBY, 200, (int64_t)scaled(500));
	}
}

TEST(gocall_in_a_batch)
{
	call_in_turns(1, CORO_PAUSED, 1000, 5);
	CHECK_EQ(longest, COROI_CALLS_AT_ONCE);
	CHECK(lists <= served / COROI_CALLS_AT_ONCE + 64 + 1000 * 5 / 64);
}

/* A worker that always has something to run makes calls all the same, within so many turns. */
static uint64_t stop, turns;

static void never_idle(void *arg, void *result)
{
	(void)arg;
	(void)result;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		__atomic_add_fetch(&turns, 1, __ATOMIC_RELAXED);
		coro_yield();
	}
}

static void calls_once(void *arg, void *result)
{
	int64_t number = 1;

	(void)arg;
	(void)result;
	for (int i = 0; i < 100; i++) {
		uint64_t before = turns;
		CHECK_EQ(coro_call_go_inline(1, &number, sizeof number, &number, sizeof number, NULL), CORO_OK);
		CHECK(turns - before <= 3 * COROI_OPEN_TURNS);
		CHECK(turns > before);
	}
	stop = 1;
}

TEST(gocall_is_served_by_one_that_is_never_idle)
{
	stand_in(serve);
	coro_scheduler *s = gos(1, 0);
	spawn(s, never_idle, NULL, 0);
	spawn(s, never_idle, NULL, 0);
	spawn(s, calls_once, NULL, 0);
	finish(s);
}

/* The same where the others wake each other, and the queue gets its turn seldom. */
static coro_handle partner;

static void answers(void *arg, void *result)
{
	(void)arg;
	(void)result;
	do {
		coro_park();
		coro_wake(partner);
	} while (!stop);
}

static void asks(void *arg, void *result)
{
	coro_handle other;

	(void)arg;
	(void)result;
	partner = coro_self();
	CHECK_EQ(coro_spawn_attr(NULL, answers, NULL, 0, &other), CORO_OK);
	coro_yield();
	while (!stop) {
		coro_wake(other);
		coro_park();
	}
	coro_wake(other); /* it may have come to its park before the stop, or have ended */
}

static void calls_then_stops(void *arg, void *result)
{
	int64_t number = 1;

	(void)arg;
	(void)result;
	CHECK_EQ(coro_call_go_inline(1, &number, sizeof number, &number, sizeof number, NULL), CORO_OK);
	stop = 1;
}

/* both - to their ends, on one worker. */
static void both(coro_fn one, coro_fn other)
{
	stand_in(serve);
	coro_scheduler *s = gos(1, 0);
	spawn(s, one, NULL, 0);
	spawn(s, other, NULL, 0);
	finish(s);
}

TEST(gocall_is_served_in_a_chain_of_hand_overs)
{
	both(asks, calls_then_stops);
}

/* One that calls again and again, with nobody beside it but those who sleep: they wake up in their time. */
#define SLEEPS 20

static void sleeps(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (int i = 0; i < SLEEPS; i++)
		CHECK_EQ(coro_sleep(1000 * 1000), CORO_OK);
	stop = 1;
}

static void takes_a_while(struct coroi_worker *w)
{
	(void)w;
	sleep_us(1000);
}

static void calls_until_then(void *arg, void *result)
{
	int64_t number = 0;

	(void)arg;
	(void)result;
	while (!stop)
		CHECK_EQ(coro_call_go_inline(1, &number, sizeof number, &number, sizeof number, NULL), CORO_OK);
}

TEST(gocall_alone_leaves_deadlines_their_time)
{
	both(sleeps, calls_until_then);

	/* Of long calls few are made before somebody is looked at. */
	stop = lists = 0;
	within = takes_a_while;
	both(sleeps, calls_until_then);
	within = NULL;
	CHECK(lists <= 256 + 10 * SLEEPS);
	report("%d sleeps of 1 ms, %llu calls of 1 ms", SLEEPS, (unsigned long long)lists);
}

/* ------------------------------------------------------------------------ meanwhile */

static coro_handle caller;
static uint64_t others;

static void other(void *arg, void *result)
{
	(void)arg;
	(void)result;
	__atomic_add_fetch(&others, 1, __ATOMIC_SEQ_CST);
}

/* There: nobody is current, and what is queued here is run by another worker. */
static void is_apart(struct coroi_worker *w)
{
	int64_t number;

	within = NULL;
	CHECK_EQ(coro_yield(), CORO_EPERM);
	CHECK_EQ(coro_park(), CORO_EPERM);
	CHECK_EQ(coro_spawn(other, NULL, 0), CORO_EPERM);
	CHECK_EQ(coro_call_go_inline(1, &number, 8, &number, 8, NULL), CORO_EPERM);
	CHECK_EQ(coro_call_error(NULL, 0), 0);
	CHECK_EQ(coro_scheduler_close(w->sched, 1), CORO_EPERM);
	CHECK_EQ(coro_self(), 0);
	CHECK(coroi_go_inside(w->sched));
	CHECK_EQ(coro_wake(caller), CORO_OK); /* a permit: it does not park */
	CHECK(w->calls->caller == coroi_at((uint32_t)caller));
	while (w->sched->workers > 1 && __atomic_load_n(&others, __ATOMIC_SEQ_CST) < 3)
		sleep_us(50);
}

static void calls_apart(void *arg, void *result)
{
	int64_t number = 7;

	(void)arg;
	(void)result;
	caller = coro_self();
	within = is_apart;
	for (int i = 0; i < 3; i++)
		spawn_in(other, NULL, 0);
	CHECK_EQ(coro_call_go_inline(1, &number, sizeof number, &number, sizeof number, NULL), CORO_OK);
	CHECK_EQ(number, 8);
	CHECK_EQ(coro_park(), CORO_OK);
}

TEST(gocall_has_no_current_coroutine_and_holds_nobody_up)
{
	stand_in(serve);
	for (uint32_t workers = 1; workers <= 2; workers++) {
		coro_scheduler *s = gos(workers, 0);
		others = 0;
		spawn(s, calls_apart, NULL, 0);
		finish(s);
		CHECK_EQ(others, 3);
		CHECK(!coroi_go_inside(NULL));
	}
}

/* ------------------------------------------------------------------------ what comes back */

static void errors(void *arg, void *result)
{
	char text[16];
	int64_t number = 1;
	size_t got = 9;

	(void)arg;
	(void)result;
	CHECK_EQ(coro_call_error(text, sizeof text), 0);
	CHECK_EQ(text[0], 0);
	CHECK_EQ(coro_call_go_inline(0, NULL, 0, NULL, 0, &got), CORO_EINVAL);
	CHECK_EQ(got, 0);
	CHECK_EQ(coro_call_go_inline(1, NULL, 8, &number, 8, NULL), CORO_EINVAL);
	CHECK_EQ(coro_call_go_inline(1, &number, 8, NULL, 8, NULL), CORO_EINVAL);
	CHECK_EQ(coro_call_go_inline(99, &number, 8, &number, 8, NULL), CORO_EINVAL);
	for (int i = 0; i < 100; i++) {
		CHECK_EQ(coro_call_go_inline(2, NULL, 0, NULL, 0, NULL), CORO_EFAILED);
		CHECK_EQ(coro_call_error(text, sizeof text), 9);
		CHECK(strcmp(text, "it failed") == 0);
		CHECK_EQ(coro_call_error(text, 3), 9);
		CHECK(strcmp(text, "it") == 0);
		CHECK_EQ(coro_call_error(NULL, 0), 9);
		CHECK_EQ(coro_call_go_inline(3, NULL, 0, NULL, 0, NULL), CORO_EFAILED);
		CHECK_EQ(coro_call_error(text, sizeof text), 300);
		CHECK(strcmp(text, "xxxxxxxxxxxxxxx") == 0);
	}
	CHECK_EQ(coro_call_go_inline(1, &number, 8, &number, 8, NULL), CORO_OK);
	CHECK_EQ(coro_call_error(text, sizeof text), 300); /* the last that failed */
	CHECK(coro_strdup("beside it") != NULL);
}

/* Several at once, of which some fail, and one without a text. */
static void some_fail(void *arg, void *result)
{
	uint64_t i;
	int64_t number = 1;
	char text[16] = "unchanged";
	(void)result;

	memcpy(&i, arg, 8);
	for (int k = 0; k < 20; k++) {
		if (i % 3 == 0) {
			CHECK_EQ(coro_call_go_inline(1, &number, 8, &number, 8, NULL), CORO_OK);
			continue;
		}
		CHECK_EQ(coro_call_go_inline(i % 3 == 1 ? 2 : 4, NULL, 0, NULL, 0, NULL), CORO_EFAILED);
		CHECK_EQ(coro_call_error(text, sizeof text), i % 3 == 1 ? 9 : 0);
		CHECK(strcmp(text, i % 3 == 1 ? "it failed" : "") == 0);
	}
	CHECK_EQ(number, i % 3 ? 1 : 21);
	ended++;
}

TEST(gocall_several_of_which_some_fail)
{
	stand_in(serve);
	ended = longest = 0;
	coro_scheduler *s = gos(1, CORO_PAUSED);
	for (uint64_t i = 0; i < 30; i++)
		spawn(s, some_fail, &i, 8);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK_EQ(ended, 30);
	CHECK(longest > 1);
	finish(s);
}

/* A text that there is no memory for is lost, and nothing else. */
static void fails_without_memory(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (int k = 1; k >= 0; k--) { /* no place for it; no text */
		fail_alloc = k;
		CHECK_EQ(coro_call_go_inline(2, NULL, 0, NULL, 0, NULL), CORO_EFAILED);
		fail_alloc = -1;
		CHECK_EQ(coro_call_error(NULL, 0), 0);
	}
	CHECK_EQ(coro_call_go_inline(2, NULL, 0, NULL, 0, NULL), CORO_EFAILED);
	CHECK_EQ(coro_call_error(NULL, 0), 9);
}

TEST(gocall_tells_errors_apart)
{
	stand_in(serve);
	coro_scheduler *s = gos(1, 0);
	spawn(s, errors, NULL, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	spawn(s, fails_without_memory, NULL, 0);
	finish(s);
	int64_t number = 1;
	CHECK_EQ(coro_call_go_inline(1, &number, 8, &number, 8, NULL), CORO_EPERM);
	CHECK_EQ(coro_call_error(NULL, 0), 0);
}

static void nobody_there(void *arg, void *result)
{
	int64_t number = 1;

	(void)arg;
	(void)result;
	CHECK_EQ(coro_call_go_inline(1, &number, 8, &number, 8, NULL), CORO_EINVAL);
	CHECK_EQ(coro_call_go(1, &number, 8, &number, 8, NULL), CORO_EINVAL);
	CHECK_EQ(coroi_lane_body(COROI_GO_BODY | 5, 8, 0), CORO_OK);
	CHECK_EQ(coro_spawn_go(COROI_GO_BODY | 5, &number, 8, NULL), CORO_EINVAL);
}

TEST(gocall_without_go_is_refused)
{
	stand_in(serve);
	coro_scheduler *s = start_with(1, 0);
	spawn(s, nobody_there, NULL, 0);
	finish(s);
}

/* ------------------------------------------------------------------------------------ Go bodies */

#define DOUBLES (COROI_GO_BODY | 2000) /* int64_t, which it doubles */

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

/* run_bodies - stand in for Go's executors until n bodies have ended. */
static void run_bodies(coro_scheduler *s, int n)
{
	struct coroi_worker *lane = coroi_lane(s);
	struct coroi_lane_item item[4];

	while (n > 0) {
		while (at_load_acq(&lane->ev) != COROI_EV_WOKEN)
			sched_yield();
		at_store_rlx(&lane->ev, COROI_EV_NONE);
		do {
			uint32_t took = coroi_lane_take(lane, item, 4);
			for (uint32_t i = 0; i < took; i++, n--) {
				CHECK_EQ(item[i].kind, COROI_LANE_START);
				CHECK_EQ(item[i].body, DOUBLES);
				CHECK_EQ(item[i].handle, coroi_handle(item[i].rec));
				*(int64_t *)coroi_cold(item[i].rec)->payload *= 2;
				coroi_lane_end(lane, item[i].rec, 0);
				at_bump(&lane->ended);
			}
		} while (!coroi_lane_park(lane));
	}
}

TEST(gocall_starts_go_bodies)
{
	int64_t number = 1;

	fail_alloc = 0;
	CHECK_EQ(coroi_lane_body(DOUBLES, 8, 8), CORO_ENOMEM);
	fail_alloc = -1;
	CHECK_EQ(coroi_lane_body(DOUBLES, 8, 8), CORO_OK);
	CHECK_EQ(coroi_lane_body(DOUBLES + 2, 0, 0), CORO_OK);
	CHECK_EQ(coroi_lane_body(UINT32_MAX, 8, 8), CORO_ENOMEM);
	CHECK_EQ(coro_spawn_go(DOUBLES, &number, 8, NULL), CORO_EPERM);
	coro_scheduler *s = gos(1, 0);
	spawn(s, spawns_go_bodies, NULL, 0);
	run_bodies(s, 2);
	finish(s);
}

/* ------------------------------------------------------- Go bodies that are woken, canceled and joined */

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

/* lane_wakes - somebody has woken the lane, which slept. */
static void lane_wakes(struct coroi_worker *lane)
{
	while (at_load_acq(&lane->ev) != COROI_EV_WOKEN)
		sched_yield();
	at_store_rlx(&lane->ev, COROI_EV_NONE);
}

/* take_one - what lies in the inbox of the lane, which is awake: something for the body h. */
static struct coroi_lane_item take_one(struct coroi_worker *lane, coro_handle h)
{
	struct coroi_lane_item item[4];

	CHECK_EQ(coroi_lane_take(lane, item, 4), 1);
	CHECK_EQ(item[0].handle, h);
	return item[0];
}

static struct coroi_rec *start_body(struct coroi_worker *lane)
{
	struct coroi_lane_item item[4];

	CHECK_EQ(coroi_lane_take(lane, item, 4), 1);
	CHECK_EQ(item[0].kind, COROI_LANE_START);
	CHECK_EQ(item[0].body, DOUBLES);
	return item[0].rec;
}

static void end_body(struct coroi_worker *lane, struct coroi_rec *r)
{
	*(int64_t *)coroi_cold(r)->payload *= 2;
	coroi_lane_end(lane, r, 0);
	at_bump(&lane->ended);
}

/* event_of - the body r waits at the semaphore; who gives it a permit sends it its event. */
static void event_of(coro_scheduler *s, struct coroi_worker *lane, struct coroi_rec *r, bool from_inside)
{
	struct coroi_guest *g = coroi_guest_new(NULL, 0, r, coroi_gen(at_load_rlx(&r->wake)), 0);

	CHECK(g);
	CHECK_EQ(coroi_sem_acquire_guest(&sem, g), COROI_WAITS);
	if (from_inside)
		spawn(s, releases, NULL, 0);
	else
		CHECK_EQ(coro_sem_release(&sem, 1), CORO_OK);
	while (!at_load_acq(&g->fired) || !at_load_acq(&lane->inbox))
		sched_yield();
	struct coroi_lane_item item = take_one(lane, coroi_handle(r));
	CHECK_EQ(item.kind, COROI_LANE_EVENT);
	CHECK_EQ(item.n, 0);
	CHECK_EQ(item.canceled, 0);
	coroi_guest_free(g);
}

TEST(gocall_go_bodies_are_woken_and_canceled)
{
	coro_handle h = 0, parked = 0, *out = &h, *other = &parked;
	struct coroi_lane_item item;

	joined = woken_up = 0;
	CHECK_EQ(coroi_lane_body(DOUBLES, 8, 8), CORO_OK);
	CHECK_EQ(coro_sem_init(&sem, 0, 0), CORO_OK);
	coro_scheduler *s = gos(1, 0);
	struct coroi_worker *lane = coroi_lane(s);
	spawn(s, starts_and_joins, &out, sizeof out);
	lane_wakes(lane);
	struct coroi_rec *r = start_body(lane);
	while (coro_scheduler_blocked(s, NULL, 0) != 1) /* its parent waits for it */
		sleep_us(50);
	CHECK_EQ(h, coroi_handle(r));

	CHECK_EQ(coro_wake(h), CORO_OK);
	CHECK_EQ(coro_wake(h), CORO_OK);
	item = take_one(lane, h);
	CHECK_EQ(item.kind, COROI_LANE_WAKE);
	CHECK_EQ(item.n, 2);
	CHECK_EQ(item.canceled, 0);
	CHECK_EQ(coro_cancel(h), CORO_OK);
	CHECK(!coroi_lane_park(lane)); /* there is more */
	item = take_one(lane, h);
	CHECK_EQ(item.kind, COROI_LANE_WAKE);
	CHECK_EQ(item.n, 0);
	CHECK_EQ(item.canceled, 1);
	event_of(s, lane, r, false);
	event_of(s, lane, r, true);

	/* Mail for a record that has become another's, a C body's, is sent on. */
	spawn(s, parks_once, &other, sizeof other);
	until_waiting(s, 2);
	struct coroi_rec *moved = coroi_at((uint32_t)parked);
	at_add(&moved->wake, 1); /* W1 and W2, by one who knew it at home here */
	coroi_inbox_push(lane, (uintptr_t)moved | COROI_NODE_MAIL);
	CHECK_EQ(coroi_lane_take(lane, &item, 1), 0);
	while (!at_load_seq(&woken_up))
		sched_yield();

	/* Mail that comes too late: who takes it gives the record back. */
	CHECK_EQ(coro_wake(h), CORO_OK);
	end_body(lane, r);
	while (!at_load_seq(&joined))
		sched_yield();
	CHECK_EQ(coro_wake(h), CORO_ESTALE);
	CHECK_EQ(coroi_lane_take(lane, &item, 1), 0);
	CHECK(coroi_lane_park(lane));
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

/* A goroutine waits for it, and a coroutine will hear of that: until then it is not the end. */
TEST(gocall_go_bodies_are_joined_by_goroutines)
{
	coro_handle h, *out = &h;

	CHECK_EQ(coroi_lane_body(DOUBLES, 8, 8), CORO_OK);
	coro_scheduler *s = gos(1, 0);
	struct coroi_worker *lane = coroi_lane(s);
	spawn(s, starts_one, &out, sizeof out);
	lane_wakes(lane);
	struct coroi_rec *r = start_body(lane);
	uint64_t join = coroi_join_word(coroi_gen(at_load_rlx(&r->wake)), COROI_JOIN_GO, 5 | COROI_JOIN_COUNTED);
	at_xchg(&coroi_cold(r)->join, join);
	end_body(lane, r);
	CHECK(coroi_lane_park(lane));
	while (stats(s).awake)
		sleep_us(50);
	CHECK(!coroi_at_rest(s));
	CHECK(at_xchg(&s->done, 0) == (uintptr_t)r);
	CHECK_EQ(r->next, 0);
	CHECK_EQ(r->permits, 5); /* its slot */
	CHECK_EQ(*(int64_t *)coroi_cold(r)->payload, 8);
	coroi_join_free(r);
	coroi_ext_end(s);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	finish(s);
}

/* executes - start and end one body: it ends by its first wake-up. */
static void *executes(void *arg)
{
	struct coroi_worker *lane = coroi_lane(arg);
	struct coroi_lane_item item[4];
	struct coroi_rec *r = NULL;

	for (bool over = false; !over;) {
		lane_wakes(lane);
		do {
			uint32_t took = coroi_lane_take(lane, item, 4);
			for (uint32_t i = 0; i < took; i++) {
				if (item[i].kind == COROI_LANE_START) {
					r = item[i].rec;
					continue;
				}
				CHECK_EQ(item[i].kind, COROI_LANE_WAKE);
				CHECK_EQ(item[i].n, 2);
				end_body(lane, r);
				over = true;
			}
		} while (!coroi_lane_park(lane));
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

/* What is woken between two batches goes on in the next one. */
TEST(gocall_go_bodies_live_across_batches)
{
	coro_handle h = 0, *out = &h;
	pthread_t t;

	CHECK_EQ(coroi_lane_body(DOUBLES, 8, 8), CORO_OK);
	coro_scheduler *s = gos(1, CORO_PAUSED);
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

TEST(gocall_finds_names)
{
	CHECK_EQ(coro_go_function("one"), 0);
	CHECK_EQ(coro_go_function(NULL), 0);
	CHECK_EQ(coroi_go_name("one", 3, 1), CORO_OK);
	CHECK_EQ(coroi_go_name("another", 7, 2), CORO_OK);
	CHECK_EQ(coro_go_function("one"), 1);
	CHECK_EQ(coro_go_function("another"), 2);
	CHECK_EQ(coro_go_function("anothe"), 0);
	fail_alloc = 0;
	CHECK_EQ(coroi_go_name("none", 4, 3), CORO_ENOMEM);
	fail_alloc = -1;
	CHECK_EQ(coro_go_function("none"), 0);
}

/* ------------------------------------------------------------------------ closing */

static uint64_t refused;

static void waits_then_calls(void *arg, void *result)
{
	int64_t number = 1;

	(void)arg;
	(void)result;
	CHECK_EQ(coro_park(), CORO_ECANCELED);
	CHECK_EQ(coro_call_go_inline(1, &number, 8, &number, 8, NULL), CORO_ECANCELED);
	CHECK_EQ(number, 1);
	__atomic_add_fetch(&refused, 1, __ATOMIC_RELAXED);
}

TEST(gocall_is_not_made_by_the_canceled)
{
	stand_in(serve);
	coro_scheduler *s = gos(2, 0);
	for (int i = 0; i < 100; i++)
		spawn(s, waits_then_calls, NULL, 0);
	until_waiting(s, 100);
	CHECK_EQ(coro_scheduler_close(s, 1), CORO_OK);
	coro_scheduler_destroy(s);
	CHECK_EQ(refused, 100);
	CHECK_EQ(served, 0);
}

/* One that has begun is finished, whatever is canceled meanwhile. */
static void canceled_meanwhile(struct coroi_worker *w)
{
	__atomic_store_n(&stop, 1, __ATOMIC_SEQ_CST);
	while (!at_load_rlx(&w->cancel))
		sleep_us(50);
}

static void calls_until_canceled(void *arg, void *result)
{
	int64_t number = 1;

	(void)arg;
	(void)result;
	within = canceled_meanwhile;
	CHECK_EQ(coro_call_go_inline(1, &number, 8, &number, 8, NULL), CORO_OK);
	CHECK_EQ(number, 2);
	CHECK_EQ(coro_call_go_inline(1, &number, 8, &number, 8, NULL), CORO_ECANCELED);
	refused++;
}

TEST(gocall_that_has_begun_is_finished)
{
	stand_in(serve);
	coro_scheduler *s = gos(1, 0);
	spawn(s, calls_until_canceled, NULL, 0);
	while (!__atomic_load_n(&stop, __ATOMIC_SEQ_CST))
		sleep_us(50);
	CHECK_EQ(coro_scheduler_close(s, 1), CORO_OK);
	coro_scheduler_destroy(s);
	CHECK_EQ(refused, 1);
}

/* ------------------------------------------------------------------------ signals */

/* Go opens the mask of a thread that it sees for the first time. */
static void opens_mask(struct coroi_worker *w)
{
	sigset_t none;

	(void)w;
	within = NULL;
	sigemptyset(&none);
	pthread_sigmask(SIG_SETMASK, &none, NULL);
}

static void looks_at_mask(void *arg, void *result)
{
	int64_t number = 1;
	sigset_t before, after;

	(void)arg;
	(void)result;
	pthread_sigmask(SIG_SETMASK, NULL, &before);
	within = opens_mask;
	CHECK_EQ(coro_call_go_inline(1, &number, 8, &number, 8, NULL), CORO_OK);
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	for (int sig = 1; sig < SIGRTMIN; sig++)
		if (sig != 32 && sig != 33) /* the C library's own */
			CHECK_EQ(sigismember(&after, sig), sigismember(&before, sig));
	CHECK(sigismember(&after, SIGTERM) && sigismember(&after, SIGINT) && sigismember(&after, SIGCHLD));
	CHECK(!sigismember(&after, SIGPROF) && !sigismember(&after, SIGURG) && !sigismember(&after, SIGSEGV));
}

TEST(gocall_leaves_the_signal_mask_as_it_was)
{
	stand_in(serve);
	coro_scheduler *s = gos(1, 0);
	spawn(s, looks_at_mask, NULL, 0);
	finish(s);
}

/* ------------------------------------------------------------------------ offloaded calls */

/* Go's part of F5 and F6, by threads that look all the time, or that sleep until the bell would be rung. */
static uint64_t clerks_stop, rings;

static void complete(struct coro_scheduler *s, struct coroi_call *c)
{
	struct coroi_rec *r = c->caller;
	uint64_t word = at_load_rlx(&r->wake);

	while (!at_cas(&r->wake, &word, word | COROI_EVENT))
		;
	if ((word & COROI_MAIL_MASK) == 0) {
		struct coroi_worker *home = &s->worker[at_load_rlx(&r->home)];
		coroi_inbox_push(home, (uintptr_t)r | COROI_NODE_MAIL);
		coroi_notify_pushed(home);
	}
	coroi_ext_end(s);
}

/* make_all - the calls that are there, the latest first. */
static uint64_t make_all(struct coro_scheduler *s)
{
	uint64_t n = 0;

	for (uint64_t node = at_xchg(&s->calls, 0), next; node; node = next, n++) {
		struct coroi_call *c = (struct coroi_call *)(uintptr_t)node;
		next = c->next;
		if (c->id == 2) {
			coroi_call_fail(c, "it failed", 9);
		} else {
			*(int64_t *)c->result = *(const int64_t *)c->arg + 1;
			c->got = sizeof(int64_t);
		}
		complete(s, c);
	}
	return n;
}

static void *clerk(void *arg)
{
	struct coro_scheduler *s = arg;

	while (!at_load_seq(&clerks_stop)) {
		if (make_all(s))
			continue;
		at_xchg(&s->calls_unwatched, 1); /* F5 */
		if (at_load_seq(&s->calls))
			continue;
		while (at_load_seq(&s->calls_unwatched) && !at_load_seq(&clerks_stop))
			sleep_us(20);
		at_add(&rings, 1);
	}
	return NULL;
}

static void offloads(void *arg, void *result)
{
	int64_t n = *(int64_t *)arg, number = 0;

	(void)result;
	while (number < n) {
		int64_t before = number;
		size_t got = 0;
		CHECK_EQ(coro_call_go(1, &number, sizeof number, &number, sizeof number, &got), CORO_OK);
		CHECK_EQ(number, before + 1);
		CHECK_EQ(got, sizeof number);
		if (number % 3 == 0)
			CHECK_EQ(coro_yield(), CORO_OK);
		if (number % 5 == 0)
			CHECK_EQ(coro_call_go_inline(1, &number, sizeof number, &number, sizeof number, NULL), CORO_OK);
	}
	__atomic_add_fetch(&ended, 1, __ATOMIC_RELAXED);
}

static void offload_in_turns(uint32_t workers, uint32_t flags, uint32_t callers, int64_t each)
{
	pthread_t t;

	stand_in(serve);
	ended = clerks_stop = rings = 0;
	coro_scheduler *s = gos(workers, flags);
	thread_start(&t, clerk, s);
	for (uint32_t i = 0; i < callers; i++)
		spawn(s, offloads, &each, sizeof each);
	if (flags & CORO_PAUSED)
		CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	else
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(ended, callers); /* not before: each call holds a token */
	at_xchg(&clerks_stop, 1);
	thread_join(t);
	finish(s);
}

TEST(gocall_offloaded)
{
	for (uint32_t workers = 1; workers <= 4; workers *= 2) {
		offload_in_turns(workers, 0, 1, (int64_t)scaled(300));
		offload_in_turns(workers, CORO_NO_STANDBY, 10, (int64_t)scaled(300));
		offload_in_turns(workers, CORO_NO_MEMBARRIER | CORO_NO_STANDBY, 100, (int64_t)scaled(100));
		offload_in_turns(workers, CORO_PAUSED, 50, (int64_t)scaled(100));
	}
}

/* What is woken while it calls gets permits; what is canceled calls to the end; what calls is listed. */
static void offloads_once(void *arg, void *result)
{
	int64_t number = 4;

	(void)arg;
	(void)result;
	caller = coro_self();
	CHECK_EQ(coro_call_go(1, &number, sizeof number, &number, sizeof number, NULL), CORO_OK);
	CHECK_EQ(number, 5);
	CHECK_EQ(coro_park(), CORO_OK);
	CHECK_EQ(coro_park(), CORO_OK);
	CHECK_EQ(coro_call_go(1, &number, sizeof number, &number, sizeof number, NULL), CORO_ECANCELED);
	refused++;
}

static void *closes(void *s)
{
	CHECK_EQ(coro_scheduler_close(s, 1), CORO_OK);
	return NULL;
}

TEST(gocall_offloaded_is_woken_and_canceled_meanwhile)
{
	coro_blocked b;
	pthread_t t;

	coro_scheduler *s = gos(2, 0);
	spawn(s, offloads_once, NULL, 0);
	while (!at_load_seq(&s->calls) || coro_scheduler_blocked(s, &b, 1) != 1)
		sleep_us(50);
	CHECK_EQ(b.waits, 'g');
	CHECK_EQ(b.handle, caller);
	CHECK_EQ(coro_wake(caller), CORO_OK);
	CHECK_EQ(coro_wake(caller), CORO_OK);
	while (stats(s).awake)
		sleep_us(50);
	CHECK(!coroi_at_rest(s));
	thread_start(&t, closes, s);
	while (!at_load_rlx(&s->worker[0].cancel) || !at_load_rlx(&s->worker[1].cancel))
		sleep_us(50);
	CHECK_EQ(refused, 0);
	CHECK_EQ(make_all(s), 1);
	thread_join(t);
	CHECK_EQ(refused, 1);
	coro_scheduler_destroy(s);
}

static void offloads_and_parks(void *arg, void *result)
{
	int64_t number = 4;

	(void)arg;
	(void)result;
	caller = coro_self();
	CHECK_EQ(coro_call_go(1, &number, sizeof number, &number, sizeof number, NULL), CORO_OK);
	CHECK_EQ(number, 5);
	CHECK_EQ(coro_park(), CORO_ECANCELED);
	refused++;
}

/* F7: Go is told that one of those who call is canceled. */
TEST(gocall_offloaded_is_canceled_alone)
{
	coro_blocked b;
	uint64_t rung;

	refused = 0;
	coro_scheduler *s = gos(1, 0);
	int bell = coroi_bell_open(s);
	CHECK(bell >= 0);
	spawn(s, offloads_and_parks, NULL, 0);
	while (!at_load_seq(&s->calls) || coro_scheduler_blocked(s, &b, 1) != 1 || b.waits != 'g')
		sleep_us(50);
	at_xchg(&s->go_sleeps, 1);
	CHECK_EQ(s->calls_canceled, 0);
	CHECK_EQ(coro_cancel(caller), CORO_OK);
	while (!at_load_seq(&s->calls_canceled) || at_load_seq(&s->go_sleeps))
		sleep_us(50);
	while (read(bell, &rung, sizeof rung) != sizeof rung) /* a moment later */
		sleep_us(50);
	CHECK_EQ(refused, 0);
	CHECK_EQ(make_all(s), 1);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(refused, 1);
	finish(s);
}

static void offload_errors(void *arg, void *result)
{
	int64_t number = 1;

	(void)arg;
	(void)result;
	CHECK_EQ(coro_call_go(0, NULL, 0, NULL, 0, NULL), CORO_EINVAL);
	CHECK_EQ(coro_call_go(1, NULL, 8, &number, 8, NULL), CORO_EINVAL);
	CHECK_EQ(coro_call_go(1, &number, 8, NULL, 8, NULL), CORO_EINVAL);
	CHECK_EQ(coro_call_go(2, NULL, 0, NULL, 0, NULL), CORO_EFAILED);
	CHECK_EQ(coro_call_error(NULL, 0), 9);
	ended++;
}

TEST(gocall_offloaded_errors)
{
	pthread_t t;
	int64_t number = 1;
	coro_scheduler *s = gos(1, 0);

	CHECK_EQ(coro_call_go(1, &number, 8, &number, 8, NULL), CORO_EPERM);
	thread_start(&t, clerk, s);
	spawn(s, offload_errors, NULL, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(ended, 1);
	at_xchg(&clerks_stop, 1);
	thread_join(t);
	finish(s);
}

/* ------------------------------------------------------------------------------ by dense coroutines */

/* What Go reads and writes while they wait does not lie on the stack that they share. */
static coro_scheduler *dense_gos(uint32_t workers)
{
	coro_options o = options(workers, 0);

	o.dense_slots = 2;
	coro_scheduler *s = start(&o);
	s->go_slot = 1;
	return s;
}

static const coro_attr dense = {.size = sizeof(coro_attr), .flags = CORO_DENSE};

TEST(gocall_by_dense_coroutines)
{
	int64_t each = 50;
	pthread_t t;

	stand_in(serve);
	for (uint32_t workers = 1; workers <= 2; workers++) {
		ended = sum = clerks_stop = rings = 0;
		coro_scheduler *s = dense_gos(workers);
		thread_start(&t, clerk, s);
		for (int i = 0; i < 100; i++)
			CHECK_EQ(coro_scheduler_spawn(s, &dense, i % 2 ? calls : offloads, &each, sizeof each, NULL), CORO_OK);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(ended, 100);
		CHECK_EQ(sum, 50 * 50);
		CHECK(stats(s).dense_copied_out > 0);
		at_xchg(&clerks_stop, 1);
		thread_join(t);
		finish(s);
	}
}

static void dense_errors(void *arg, void *result)
{
	int64_t number = 1;
	char text[20];
	size_t got = 9;
	(void)arg;
	(void)result;

	CHECK_EQ(coro_call_go_inline(2, NULL, 0, NULL, 0, &got), CORO_EFAILED);
	CHECK_EQ(coro_call_error(text, sizeof text), 9);
	CHECK_EQ(memcmp(text, "it failed", 10), 0);
	CHECK_EQ(coro_call_go_inline(1, NULL, 8, &number, 8, NULL), CORO_EINVAL);
	CHECK_EQ(coro_call_go_inline(1, &number, 8, NULL, 8, NULL), CORO_EINVAL);
	CHECK_EQ(coro_call_go_inline(1, &number, SIZE_MAX - 7, &number, 8, NULL), CORO_ENOMEM);
	CHECK_EQ(coro_call_go_inline(1, &number, 8, &number, SIZE_MAX / 2, NULL), CORO_ENOMEM);
	for (int k = 0; k < 2; k++) { /* a block for the values; one for the call */
		fail_block = k;
		fail_blocks = 1;
		CHECK_EQ(coro_call_go(1, &number, 8, &number, 8, NULL), CORO_ENOMEM);
		CHECK_EQ(fail_blocks, 0);
	}
	fail_block = 0;
	fail_blocks = 1;
	CHECK_EQ(coro_call_go_inline(1, &number, 8, &number, 8, NULL), CORO_ENOMEM);
	fail_block = -1;
	CHECK_EQ(number, 1);
	CHECK_EQ(coro_call_go_inline(1, &number, 8, &number, 8, &got), CORO_OK);
	CHECK_EQ(number, 2);
	CHECK_EQ(got, 8);
	ended++;
}

TEST(gocall_by_dense_coroutines_fails)
{
	stand_in(serve);
	ended = 0;
	coro_scheduler *s = dense_gos(1);
	CHECK_EQ(coro_scheduler_spawn(s, &dense, dense_errors, NULL, 0, NULL), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(ended, 1);
	finish(s);
}
