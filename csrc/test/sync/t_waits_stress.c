/*
 * t_waits_stress.c - all kinds of waits at random, of coroutines and threads at once. They end by
 * what they wait for, by deadlines and by cancels. Permits, values, locks and counts are conserved,
 * and no wait is endless.
 */
#include "test.h"

#include "sync/waitq.h"

#include <stdlib.h>
#include <string.h>

#define US UINT64_C(1000)

enum { PERMITS = 3, CHANS = 3, BODIES = 64 };

/* What all bodies share. The first coroutine makes it, bound to its worker or not. */
static struct {
	coro_sem sem;
	coro_mutex mutex, monitor;
	coro_rwlock rwlock;
	coro_cond cond;
	coro_latch latch;
	coro_chan *chan[CHANS];
	uint32_t home;

	uint64_t holders, inside, readers, writers, watching; /* how many are inside now */
	uint64_t items, made, taken;                          /* of the monitor */
	uint64_t values, values_most;
	uint8_t *sent, *seen; /* for each value: how often */
	uint64_t steps;       /* of each body; 0: until it is canceled */
	uint64_t began, ended, operations, timed_out, canceled;
} all;

static uint64_t add(uint64_t *n, int64_t by)
{
	return __atomic_add_fetch(n, (uint64_t)by, __ATOMIC_SEQ_CST);
}

static void makes_all(void *arg, void *result)
{
	static const size_t capacity[CHANS] = {0, 1, 8};
	uint32_t flags = all.home ? CORO_HOME : 0;
	(void)arg;
	(void)result;

	CHECK_EQ(coro_sem_init(&all.sem, PERMITS, flags), CORO_OK);
	CHECK_EQ(coro_mutex_init(&all.mutex, flags), CORO_OK);
	CHECK_EQ(coro_mutex_init(&all.monitor, flags), CORO_OK);
	CHECK_EQ(coro_rwlock_init(&all.rwlock, flags), CORO_OK);
	CHECK_EQ(coro_cond_init(&all.cond, flags), CORO_OK);
	CHECK_EQ(coro_latch_init(&all.latch, 0, flags), CORO_OK);
	/* one channel is always shared: select has cases of both kinds */
	for (int i = 0; i < CHANS; i++)
		CHECK_EQ(coro_chan_new(&all.chan[i], 8, capacity[i], i ? flags : 0), CORO_OK);
}

/* Everything is back, and each value that was sent was received once. */
static void ends_all(void *arg, void *result)
{
	uint64_t v;
	(void)arg;
	(void)result;

	CHECK_EQ(all.began, all.ended);
	CHECK_EQ(all.holders | all.inside | all.readers | all.writers | all.watching, 0);
	for (int i = 0; i < PERMITS; i++)
		CHECK_EQ(coro_sem_acquire(&all.sem, 0), CORO_OK);
	CHECK_EQ(coro_sem_acquire(&all.sem, 0), CORO_ETIMEDOUT);
	CHECK_EQ(all.made, all.taken + all.items);
	CHECK_EQ(coro_latch_wait(&all.latch, 0), CORO_OK);
	for (int i = 0; i < CHANS; i++) {
		CHECK_EQ(coro_chan_close(all.chan[i]), CORO_OK);
		while (coro_chan_recv(all.chan[i], &v, 0) == CORO_OK)
			all.seen[v]++;
		CHECK_EQ(coro_chan_free(all.chan[i]), CORO_OK);
	}
	for (v = 0; v < all.values; v++) {
		CHECK_EQ(all.seen[v], all.sent[v]);
		CHECK(all.sent[v] <= 1);
	}
	CHECK_EQ(coro_sem_destroy(&all.sem), CORO_OK);
	CHECK_EQ(coro_mutex_destroy(&all.mutex), CORO_OK);
	CHECK_EQ(coro_mutex_destroy(&all.monitor), CORO_OK);
	CHECK_EQ(coro_rwlock_destroy(&all.rwlock), CORO_OK);
	CHECK_EQ(coro_cond_destroy(&all.cond), CORO_OK);
	CHECK_EQ(coro_latch_destroy(&all.latch), CORO_OK);
	free(all.sent);
	free(all.seen);
}

/* ------------------------------------------------------------------------------------- the body */

struct body {
	uint64_t seed;
	bool patient; /* endless waits are allowed: a cancel will come */
};

static uint64_t deadline(struct body *b)
{
	uint64_t x = rnd(&b->seed) >> 20;

	if (x % 8 == 0)
		return x % 16 ? 0 : 1;
	if (b->patient && x % 8 < 3)
		return CORO_FOREVER;
	return coro_now() + x % (300 * US);
}

/* A lock is given back at some time: an endless wait is allowed. */
static uint64_t deadline_of_lock(struct body *b)
{
	return rnd(&b->seed) >> 60 == 0 ? CORO_FOREVER : deadline(b);
}

static void pauses(struct body *b)
{
	uint64_t x = rnd(&b->seed) >> 30;

	if (x % 4 == 0)
		coro_yield();
	else if (x % 32 == 1)
		coro_sleep(x % (100 * US));
}

static int uses_semaphore(struct body *b)
{
	int status = coro_sem_acquire(&all.sem, deadline_of_lock(b));
	if (status)
		return status;
	uint64_t n = 1 + (coro_sem_acquire(&all.sem, 0) == CORO_OK);
	CHECK(add(&all.holders, (int64_t)n) <= PERMITS);
	pauses(b);
	add(&all.holders, -(int64_t)n);
	CHECK_EQ(coro_sem_release(&all.sem, n), CORO_OK);
	return CORO_OK;
}

static int uses_mutex(struct body *b)
{
	int status = coro_mutex_lock(&all.mutex, deadline_of_lock(b));
	if (status)
		return status;
	CHECK_EQ(add(&all.inside, 1), 1);
	pauses(b);
	CHECK_EQ(add(&all.inside, -1), 0);
	CHECK_EQ(coro_mutex_unlock(&all.mutex), CORO_OK);
	return CORO_OK;
}

static int uses_rwlock(struct body *b)
{
	bool write = rnd(&b->seed) >> 62 == 0;
	int status = write ? coro_rwlock_write(&all.rwlock, deadline_of_lock(b))
			   : coro_rwlock_read(&all.rwlock, deadline_of_lock(b));
	if (status)
		return status;
	add(write ? &all.writers : &all.readers, 1);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(__atomic_load_n(&all.writers, __ATOMIC_SEQ_CST), write);
		CHECK(!write || __atomic_load_n(&all.readers, __ATOMIC_SEQ_CST) == 0);
		pauses(b);
	}
	add(write ? &all.writers : &all.readers, -1);
	CHECK_EQ(coro_rwlock_unlock(&all.rwlock), CORO_OK);
	return CORO_OK;
}

static int uses_monitor(struct body *b)
{
	int status = coro_mutex_lock(&all.monitor, deadline_of_lock(b));
	if (status)
		return status;
	CHECK_EQ(add(&all.watching, 1), 1);
	if (rnd(&b->seed) >> 63) {
		all.items++;
		all.made++;
		CHECK_EQ(rnd(&b->seed) >> 62 ? coro_cond_signal(&all.cond)
					     : coro_cond_broadcast(&all.cond),
			 CORO_OK);
	} else {
		if (!all.items) {
			add(&all.watching, -1);
			status = coro_cond_wait(&all.cond, &all.monitor, deadline(b));
			CHECK_EQ(add(&all.watching, 1), 1); /* locked, whatever the status */
		}
		if (all.items) {
			all.items--;
			all.taken++;
		}
	}
	CHECK_EQ(add(&all.watching, -1), 0);
	CHECK_EQ(coro_mutex_unlock(&all.monitor), CORO_OK);
	return status;
}

static int uses_latch(struct body *b)
{
	if (rnd(&b->seed) >> 63)
		return coro_latch_wait(&all.latch, deadline(b));
	CHECK_EQ(coro_latch_add(&all.latch, 1), CORO_OK);
	pauses(b);
	CHECK_EQ(coro_latch_add(&all.latch, -1), CORO_OK);
	return CORO_OK;
}

/* next_value - a value that nobody has sent. False: there are no more. */
static bool next_value(uint64_t *v)
{
	*v = __atomic_load_n(&all.values, __ATOMIC_RELAXED);
	do {
		if (*v >= all.values_most)
			return false;
	} while (!__atomic_compare_exchange_n(&all.values, v, *v + 1, false, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	return true;
}

static void has_sent(uint64_t v)
{
	all.sent[v] = 1;
}

static void has_seen(uint64_t v)
{
	CHECK(v < all.values_most);
	CHECK_EQ(__atomic_fetch_add(&all.seen[v], 1, __ATOMIC_RELAXED), 0);
}

static int uses_channel(struct body *b)
{
	coro_chan *c = all.chan[rnd(&b->seed) % CHANS];
	bool sends = rnd(&b->seed) >> 63;
	uint64_t v = UINT64_MAX;

	if (sends && !next_value(&v))
		return CORO_OK;
	int status = sends ? coro_chan_send(c, &v, deadline(b))
			   : coro_chan_recv(c, &v, deadline(b));
	if (status)
		return status;
	(sends ? has_sent : has_seen)(v);
	return CORO_OK;
}

static int uses_select(struct body *b)
{
	coro_case cases[6];
	uint64_t v[6];
	uint32_t n = 1 + rnd(&b->seed) % 6;

	for (uint32_t i = 0; i < n; i++) {
		bool sends = rnd(&b->seed) >> 63 && next_value(&v[i]);
		cases[i] = (coro_case){.chan = all.chan[rnd(&b->seed) % CHANS]};
		if (sends)
			cases[i].send = &v[i];
		else
			cases[i].recv = &v[i];
	}
	int status = coro_select(cases, n, deadline(b));
	if (status < 0)
		return status;
	CHECK_EQ(cases[status].status, CORO_OK);
	(cases[status].send ? has_sent : has_seen)(v[status]);
	return CORO_OK;
}

static void returns(void *arg, void *result)
{
	memcpy(result, arg, 8);
	coro_yield();
}

/* Waits that only coroutines have. */
static int waits_alone(struct body *b)
{
	uint64_t x = rnd(&b->seed) >> 32, got = 0;
	coro_handle child;
	int status;

	if (!coro_self())
		return CORO_OK;
	switch (x % 4) {
	case 0:
		return coro_sleep_until(deadline(b));
	case 1:
		return coro_park_until(deadline(b));
	case 2:
		if (!all.home)
			CHECK_EQ(x & 16 ? coro_unpin() : coro_pin(CORO_HERE), CORO_OK);
		return coro_yield();
	default:
		CHECK_EQ(coro_spawn_attr(JOINABLE(8), returns, &x, 8, &child), CORO_OK);
		status = coro_join_until(child, &got, 8, deadline(b));
		if (!status || !coro_join(child, &got, 8)) {
			CHECK_EQ(got, x);
		} else { /* the child or the parent was canceled */
			int left = coro_detach(child);
			CHECK(left == CORO_OK || left == CORO_ESTALE);
		}
		return status;
	}
}

static int (*const uses[])(struct body *b) = {uses_semaphore, uses_mutex, uses_rwlock,
					      uses_monitor,   uses_latch, uses_channel,
					      uses_select,    waits_alone};

static void wanders(struct body *b)
{
	int status = CORO_OK;
	uint64_t step, late = 0;

	add(&all.began, 1);
	for (step = 0; status != CORO_ECANCELED && (step < all.steps || !all.steps); step++) {
		status = uses[rnd(&b->seed) % 8](b);
		CHECK(status == CORO_OK || status == CORO_ETIMEDOUT || status == CORO_ECANCELED);
		late += status == CORO_ETIMEDOUT;
	}
	add(&all.operations, (int64_t)step);
	add(&all.timed_out, (int64_t)late);
	add(&all.canceled, status == CORO_ECANCELED);
	add(&all.ended, 1);
}

static void wanders_as_coroutine(void *arg, void *result)
{
	struct body b;

	(void)result;
	memcpy(&b, arg, sizeof b);
	wanders(&b);
}

static void *wanders_as_thread(void *arg)
{
	wanders(arg);
	return NULL;
}

/* ------------------------------------------------------------------------------------ the tests */

static const uint32_t modes[] = {0, CORO_NO_MEMBARRIER, CORO_NO_STANDBY,
				 CORO_NO_MEMBARRIER | CORO_NO_STANDBY};

static void start_all(uint64_t values, uint64_t steps, uint32_t home)
{
	memset(&all, 0, sizeof all);
	all.home = home;
	all.steps = steps;
	all.values_most = values;
	all.sent = calloc(values, 1);
	all.seen = calloc(values, 1);
}

/* once - run fn in the first worker, pinned, to its end. */
static void once(coro_scheduler *s, coro_fn fn)
{
	coro_attr first = {.size = sizeof first, .worker = 1};

	CHECK_EQ(coro_scheduler_spawn(s, &first, fn, NULL, 0, NULL), CORO_OK);
	int status = coro_scheduler_run(s);
	CHECK_EQ(status == CORO_EPERM ? coro_scheduler_wait(s) : status, CORO_OK);
}

static void tell(const char *what, uint32_t workers)
{
	report("%s, %u workers: %llu operations, %llu values, %llu timed out, %llu canceled", what,
	       workers, (unsigned long long)all.operations, (unsigned long long)all.values,
	       (unsigned long long)all.timed_out, (unsigned long long)all.canceled);
}

/* In run mode: every wait ends by itself, so the run ends. */
static uint64_t wander_to_the_end(uint32_t workers, uint32_t flags, uint32_t home, uint64_t steps)
{
	coro_scheduler *s = start_with(workers, CORO_PAUSED | flags);
	coro_attr a = {.size = sizeof a, .worker = home ? 1 : 0};
	uint64_t seed = workers * 8 + home + 1;

	start_all(steps * BODIES * 2, steps, home);
	once(s, makes_all);
	for (int i = 0; i < BODIES; i++) {
		struct body b = {rnd(&seed), false};
		CHECK_EQ(coro_scheduler_spawn(s, &a, wanders_as_coroutine, &b, sizeof b, NULL),
			 CORO_OK);
	}
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	tell(home ? "home" : "shared", workers);
	CHECK_EQ(all.operations, steps * BODIES);
	CHECK_EQ(all.canceled, 0);
	once(s, ends_all);
	finish(s);
	return all.operations;
}

TEST_LIMIT(stress_waits_come_to_their_end, 240)
{
	uint64_t steps = scaled(1000000) / BODIES / 16 + 1;

	for (uint32_t workers = 1; workers <= 4; workers *= 2)
		for (int m = 0; m < 4; m++)
			wander_to_the_end(workers, modes[m], 0, steps);
	for (uint32_t workers = 1; workers <= 4; workers *= 2)
		wander_to_the_end(workers, modes[workers % 2], 1, steps);
}

/* With threads beside the coroutines. */
TEST_LIMIT(stress_waits_with_threads, 240)
{
	enum { THREADS = 3 };

	for (uint32_t workers = 1; workers <= 4; workers *= 2) {
		coro_scheduler *s = start_with(workers, modes[workers % 2]);
		uint64_t seed = workers;
		struct body of[THREADS];
		pthread_t t[THREADS];

		uint64_t steps = scaled(200000) / BODIES / 4 + 1;
		start_all(steps * (BODIES + THREADS) * 2, steps, 0);
		once(s, makes_all);
		for (int i = 0; i < BODIES; i++) {
			struct body b = {rnd(&seed), false};
			spawn(s, wanders_as_coroutine, &b, sizeof b);
		}
		for (int i = 0; i < THREADS; i++) {
			of[i] = (struct body){rnd(&seed), false};
			thread_start(&t[i], wanders_as_thread, &of[i]);
		}
		for (int i = 0; i < THREADS; i++)
			thread_join(t[i]);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		tell("with threads", workers);
		once(s, ends_all);
		finish(s);
	}
}

struct storm {
	coro_scheduler *s;
	uint64_t seed, cancels;
	bool pinned;
	coro_handle body[BODIES];
};

/* fill - start another body for one that was canceled. */
static void fill(struct storm *m, coro_handle *h)
{
	struct body b = {rnd(&m->seed), true};
	coro_attr a = {.size = sizeof a, .worker = m->pinned ? 1 : 0};

	if (coro_self())
		CHECK_EQ(coro_spawn_attr(&a, wanders_as_coroutine, &b, sizeof b, h), CORO_OK);
	else
		CHECK_EQ(coro_scheduler_spawn(m->s, &a, wanders_as_coroutine, &b, sizeof b, h),
			 CORO_OK);
}

/* cancels - cancel bodies one after the other, at random points of their waits. */
static void cancels(struct storm *m)
{
	for (int i = 0; i < BODIES; i++)
		fill(m, &m->body[i]);
	for (uint64_t n = 0; n < m->cancels; n++) {
		coro_handle *h = &m->body[rnd(&m->seed) % BODIES];
		if (rnd(&m->seed) >> 62 == 0) {
			int status = coro_wake(*h); /* a permit, for those that park */
			CHECK(status == CORO_OK || status == CORO_ESTALE);
		}
		/* no other caller cancels this one, and it goes on until then */
		CHECK_EQ(coro_cancel(*h), CORO_OK);
		fill(m, h);
		/* in a thread: the bodies should do something meanwhile */
		if (n % 8 == 0 && coro_yield())
			sleep_us(10);
	}
	for (int i = 0; i < BODIES; i++)
		CHECK_EQ(coro_cancel(m->body[i]), CORO_OK);
}

static void cancels_as_coroutine(void *arg, void *result)
{
	struct storm *m;

	(void)result;
	memcpy(&m, arg, sizeof m);
	cancels(m);
}

static void *cancels_as_thread(void *arg)
{
	cancels(arg);
	return NULL;
}

/* storm - cancels from inside and from a thread at once. home: all bodies are pinned to one worker,
 * and use objects bound to that worker. */
static uint64_t storm(uint32_t workers, uint32_t flags, uint32_t home, uint64_t n)
{
	coro_scheduler *s = start_with(workers, flags);
	struct storm of[2] = {{.s = s, .seed = workers, .cancels = n / 2, .pinned = home},
			      {.s = s, .seed = workers + 9, .cancels = n / 2, .pinned = home}};
	struct storm *inside = &of[1];
	pthread_t t;

	start_all(n * 64 + 10000, 0, home);
	once(s, makes_all);
	spawn(s, cancels_as_coroutine, &inside, sizeof inside);
	thread_start(&t, cancels_as_thread, &of[0]);
	thread_join(t);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	tell(home ? "storm at home" : "storm", workers);
	CHECK_EQ(all.began, all.canceled); /* of the others, none has begun */
	once(s, ends_all);
	finish(s);
	return 2 * (n / 2 + BODIES);
}

TEST_LIMIT(stress_cancels_of_waits, 360)
{
	uint64_t n = scaled(100000) / 12 + 1, sum = 0;

	for (uint32_t workers = 1; workers <= 4; workers *= 2)
		for (int m = 0; m < 4; m++)
			sum += storm(workers, modes[m], m == 3, n);
	report("%llu cancels", (unsigned long long)sum);
}

/* Objects bound to a worker can be looked at there alone, after all others have ended. */
static void ends_all_at_home(void *arg, void *result)
{
	CHECK_EQ(coro_park(), CORO_ECANCELED);
	while (__atomic_load_n(&all.began, __ATOMIC_SEQ_CST) !=
	       __atomic_load_n(&all.ended, __ATOMIC_SEQ_CST))
		coro_yield();
	ends_all(arg, result);
}

/* A close with cancel ends every wait, even one that nothing else would have ended. */
TEST_LIMIT(stress_close_with_cancel_of_waits, 240)
{
	for (uint64_t round = 0; round < scaled(60); round++) {
		uint32_t workers = 1u << round % 3, home = round % 4 == 3;
		coro_scheduler *s = start_with(workers, modes[round / 2 % 4]),
			       *after = start_with(1, 0);
		coro_attr a = {.size = sizeof a, .worker = home ? 1 : 0};
		uint64_t seed = round + 1;

		start_all(200000, 0, home);
		once(s, makes_all);
		if (home) {
			CHECK_EQ(coro_scheduler_spawn(s, &a, ends_all_at_home, NULL, 0, NULL),
				 CORO_OK);
			until_waiting(s, 1);
		}
		for (int i = 0; i < BODIES; i++) {
			struct body b = {rnd(&seed), true};
			CHECK_EQ(coro_scheduler_spawn(s, &a, wanders_as_coroutine, &b, sizeof b,
						      NULL),
				 CORO_OK);
		}
		sleep_us((unsigned)(rnd(&seed) % 3000));
		CHECK_EQ(coro_scheduler_close(s, 1), CORO_OK);
		CHECK_EQ(all.canceled, all.began);
		CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
		if (!home)
			once(after, ends_all);
		finish(after);
	}
}
