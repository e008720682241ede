/*
 * t_service.c - what rooms above the kernel hang into it: services, drivers, probes.
 */
#include "test.h"

#include "base/sys.h"
#include "kernel/activity.h"
#include "kernel/kernel.h"

#include <string.h>

/* The calls of a service that watches schedulers of one name alone, in the order in which they
 * came. */
static char calls[64];
static int fails; /* what its init returns */
static struct coroi_service watcher;

static bool is_watched(struct coro_scheduler *s)
{
	return strcmp(s->name, "watched") == 0;
}

static void note(struct coro_scheduler *s, const char *call)
{
	if (is_watched(s))
		strcat(calls, call);
}

static uint64_t sleeps, kicks, polls;

static bool counts_sleep(struct coroi_worker *w, int64_t ns)
{
	at_add(&sleeps, 1);
	return coroi_futex_driver.sleep(w, ns);
}

static void counts_kick(struct coroi_worker *w)
{
	at_add(&kicks, 1);
	coroi_futex_driver.kick(w);
}

static bool counts_poll(struct coroi_worker *w)
{
	(void)w;
	at_add(&polls, 1);
	return false;
}

static const struct coroi_driver counting = {
	.sleep = counts_sleep, .kick = counts_kick, .poll = counts_poll};

static int watcher_init(struct coro_scheduler *s, const coro_options *o)
{
	(void)o;
	note(s, "init ");
	if (!is_watched(s))
		return CORO_OK;
	CHECK(!*coroi_service_state(s, &watcher));
	*coroi_service_state(s, &watcher) = calls;
	coroi_set_driver(s, &counting);
	return fails;
}

static void watcher_refuse(struct coro_scheduler *s)
{
	note(s, "refuse ");
}

static void watcher_canceled(struct coro_scheduler *s, struct coroi_rec *r)
{
	CHECK(!is_watched(s) || r);
	note(s, "canceled ");
}

static void watcher_close(struct coro_scheduler *s)
{
	note(s, "close ");
}

static void watcher_destroy(struct coro_scheduler *s)
{
	note(s, "destroy ");
	*coroi_service_state(s, &watcher) = NULL;
}

static struct coroi_service watcher = {
	.init = watcher_init,
	.refuse = watcher_refuse,
	.canceled = watcher_canceled,
	.close = watcher_close,
	.destroy = watcher_destroy,
};

__attribute__((constructor)) static void watcher_register(void)
{
	coroi_service_register(&watcher);
}

static const coro_options watched = {.size = sizeof watched, .workers = 2, .name = "watched"};

static void parks(void *arg, void *result)
{
	(void)result;
	coro_handle *h = *(void **)arg;
	struct coroi_rec *me = coroi_current(coroi_self());
	coroi_flag(me, COROI_F_TOLD);
	__atomic_store_n(h, coro_self(), __ATOMIC_RELEASE);
	CHECK_EQ(coro_park(), CORO_ECANCELED);
}

TEST(service_calls_come_in_the_order_of_a_life)
{
	coro_scheduler *s;
	coro_handle h = 0;
	void *arg = &h;

	CHECK_EQ(coro_scheduler_init(&s, &watched), CORO_OK);
	CHECK_EQ(coro_scheduler_spawn(s, NULL, parks, &arg, sizeof arg, NULL), CORO_OK);
	while (!__atomic_load_n(&h, __ATOMIC_ACQUIRE))
		sleep_us(50);
	CHECK_EQ(coro_cancel(h), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(strcmp(calls, "init canceled "), 0);
	CHECK_EQ(coro_scheduler_close(s, 0), CORO_OK);
	CHECK_EQ(strcmp(calls, "init canceled refuse close "), 0);
	CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
	CHECK_EQ(strcmp(calls, "init canceled refuse close destroy "), 0);
}

TEST(service_that_fails_fails_the_scheduler)
{
	coro_scheduler *s = NULL;

	fails = CORO_EAGAIN;
	CHECK_EQ(coro_scheduler_init(&s, &watched), CORO_EAGAIN);
	CHECK(!s);
	CHECK_EQ(strcmp(calls, "init destroy "), 0);
}

TEST(service_of_each_scheduler_is_its_own)
{
	coro_scheduler *a, *b;

	CHECK_EQ(coro_scheduler_init(&a, NULL), CORO_OK);
	CHECK_EQ(coro_scheduler_init(&b, &watched), CORO_OK);
	CHECK(!*coroi_service_state(a, &watcher));
	CHECK(*coroi_service_state(b, &watcher) == calls);
	CHECK_EQ(coro_scheduler_destroy(a), CORO_OK);
	CHECK_EQ(coro_scheduler_destroy(b), CORO_OK);
}

static uint64_t ran;

static void counts(void *arg, void *result)
{
	(void)arg;
	(void)result;
	at_add(&ran, 1);
}

/* The workers sleep in the driver that a service has set, and are kicked by it. */
TEST(driver_of_a_service_is_slept_in)
{
	coro_scheduler *s;
	uint64_t n = scaled(200);

	CHECK_EQ(coro_scheduler_init(&s, &watched), CORO_OK);
	coroi_watch(&s->worker[0], 1); /* else there is nothing to poll for */
	for (uint64_t i = 1; i <= n; i++) {
		while (COROI_AWAKE_OF(at_load_seq(&s->activity)))
			sleep_us(10);
		spawn(s, counts, NULL, 0);
		while (at_load_seq(&ran) < i)
			sleep_us(10);
	}
	CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
	CHECK(at_load_seq(&sleeps) >= n / 2);
	CHECK(at_load_seq(&kicks) >= n / 2);
	CHECK(at_load_seq(&polls) > 0);
}

#ifdef COROI_PROBES
static uint64_t told[8];

static void probe(enum coroi_probe_event event, const struct coroi_rec *r)
{
	CHECK(r != NULL);
	at_add(&told[event], 1);
}

static void is_woken_once(void *arg, void *result)
{
	(void)result;
	coro_handle *h = *(void **)arg;
	__atomic_store_n(h, coro_self(), __ATOMIC_RELEASE);
	CHECK_EQ(coro_park(), CORO_OK);
}

/* One coroutine with a handle has each event once; it moves by its pin alone. */
static void moves(void *arg, void *result)
{
	is_woken_once(arg, result);
	CHECK_EQ(coro_pin(1 - (uint32_t)coro_worker()), CORO_OK);
}

TEST(probe_sees_a_life)
{
	coro_scheduler *s;
	coro_handle h = 0;
	void *arg = &h;
	coro_attr attr = {.size = sizeof attr, .worker = 1};

	coroi_probe = probe;
	CHECK_EQ(coro_scheduler_init(&s, &watched), CORO_OK);
	CHECK_EQ(coro_scheduler_spawn(s, &attr, moves, &arg, sizeof arg, NULL), CORO_OK);
	while (!__atomic_load_n(&h, __ATOMIC_ACQUIRE))
		sleep_us(50);
	CHECK_EQ(coro_wake(h), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
	CHECK_EQ(at_load_seq(&told[COROI_PROBE_SPAWN]), 1);
	CHECK_EQ(at_load_seq(&told[COROI_PROBE_START]), 1);
	CHECK(at_load_seq(&told[COROI_PROBE_WAIT]) <= 1); /* the permit may have come first */
	CHECK_EQ(at_load_seq(&told[COROI_PROBE_WAKE]), at_load_seq(&told[COROI_PROBE_WAIT]));
	CHECK_EQ(at_load_seq(&told[COROI_PROBE_MOVE]), 1);
	CHECK_EQ(at_load_seq(&told[COROI_PROBE_END]), 1);
}
#endif
