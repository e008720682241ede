/* scenarios.c - see scenarios.h. */
#include "scenarios.h"

#include "layer.h"

#include "base/manual.h"
#include "kernel/gobell.h"
#include "kernel/idle.h"
#include "kernel/spawn.h"
#include "kernel/wait.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

bool lasting, several, machine;
uint64_t refusals;

static uint64_t accepted, ran;

static void count(uint64_t *counter)
{
	__atomic_add_fetch(counter, 1, __ATOMIC_SEQ_CST);
}

/* may_fail - there is a reason for an error. */
static bool may_fail(void)
{
	return fault_hits() > 0 || machine;
}

bool went_well(int status, int error)
{
	if (status == CORO_OK)
		return true;
	CHECK_EQ(status, error);
	CHECK(may_fail());
	count(&refusals);
	return false;
}

/* again - the same as went_well, for a call that is made again once if it fails: then it must
 * succeed, unless faults last. */
#define again(call, error) \
	(went_well(call, error) || (went_well(call, error) || (CHECK(lasting), false)))

/* is_needed - without it there is no scheduler. */
static bool is_needed(enum fault_kind kind)
{
	return kind == FAULT_MAP || kind == FAULT_PROTECT || kind == FAULT_ALLOC ||
	       kind == FAULT_THREAD || kind == FAULT_ATTR || kind == FAULT_SIGSTACK;
}

/* was_refused - a scheduler or a pool was not made, as documented. */
static void was_refused(int status)
{
	bool thread = fault_last() == FAULT_THREAD || fault_last() == FAULT_ATTR;

	count(&refusals);
	CHECK(may_fail());
	if (several)
		CHECK(status == CORO_EAGAIN || status == CORO_ENOMEM);
	else
		CHECK_EQ(status, thread ? CORO_EAGAIN : CORO_ENOMEM);
}

/* begin - a scheduler. NULL: refused as documented; if the fault does not last, the second try has
 * succeeded. */
static coro_scheduler *begin(uint32_t workers, uint32_t flags, size_t stack_limit)
{
	uint16_t cpus[] = {0};
	coro_options o = options(workers, flags);
	coro_scheduler *s = (coro_scheduler *)&o;

	accepted = ran = 0;
	o.stack_limit = stack_limit;
	o.cpus = cpus;
	o.cpu_count = 1;
	for (int try = 0; try < 2; try++) {
		int64_t hits = fault_hits();
		int status = QUIET(coro_scheduler_init(&s, &o));
		if (status == CORO_OK) {
			CHECK(fault_hits() == hits || !is_needed(fault_last()) || several);
			return s;
		}
		CHECK(s == (coro_scheduler *)&o);
		was_refused(status);
	}
	CHECK(lasting);
	return NULL;
}

/* end - all that was accepted has ended, and has run, but for what never had a stack. */
static void end(coro_scheduler *s)
{
	coro_worker_stats w[8];
	coro_stats t;
	uint64_t spawned = 0;

	int status = QUIET(coro_scheduler_wait(s));
	CHECK(status == CORO_OK || status == CORO_EPERM);
	CHECK_EQ(QUIET(coro_scheduler_stats(s, &t, w, 8)), CORO_OK);
	for (uint32_t i = 0; i < t.workers; i++)
		spawned += w[i].spawned;
	CHECK_EQ(spawned, accepted);
	if (!lasting)
		CHECK_EQ(ran, accepted);
	CHECK(ran <= accepted);
	QUIET(coro_scheduler_trim(s));
	finish(s);
}

static bool outside(coro_scheduler *s, coro_fn fn, const void *arg, size_t bytes)
{
	bool ok = again(QUIET(coro_scheduler_spawn(s, NULL, fn, arg, bytes, NULL)), CORO_ENOMEM);
	if (ok)
		count(&accepted); /* what was spawned before may spawn at this moment */
	return ok;
}

static void inside(const coro_attr *attr, coro_fn fn, const void *arg, size_t bytes,
		   coro_handle *out)
{
	if (again(coro_spawn_attr(attr, fn, arg, bytes, out), CORO_ENOMEM))
		count(&accepted);
	else if (out)
		*out = 0;
}

/* ------------------------------------------------------------------------ spawning */

/* is_guarded - not even the kernel may read what lies there. */
static bool is_guarded(const char *p)
{
	return access(p, F_OK) < 0 && errno == EFAULT;
}

static void leaf(void *arg, void *result)
{
	const char *low = coroi_self()->current->stack->low;

	(void)arg;
	(void)result;
	CHECK(is_guarded(low - 1) && is_guarded(low - COROI_GUARD_BYTES) && !is_guarded(low));
	CHECK_EQ(coro_yield(), CORO_OK);
	count(&ran);
}

static void small(coro_scheduler *s)
{
	for (int i = 0; i < 20; i++)
		outside(s, leaf, NULL, 0);
	end(s);
}

void small_work(coro_scheduler *s)
{
	accepted = ran = 0;
	for (int i = 0; i < 20; i++)
		outside(s, leaf, NULL, 0);
	while (__atomic_load_n(&ran, __ATOMIC_SEQ_CST) < 20)
		sleep_us(20);
}

static void from_outside(void)
{
	coro_scheduler *s = begin(3, 0, 0);
	if (s)
		small(s);
}

static void nothing(void *arg, void *result)
{
	(void)arg;
	(void)result;
	count(&ran);
}

static void grows(void *arg, void *result)
{
	coro_attr large = {.size = sizeof large, .stack_bytes = 2 << 20};
	uint64_t local = 12345;

	(void)arg;
	(void)result;
	for (int i = 0; i < 520; i++)
		inside(NULL, nothing, &local, sizeof local, NULL);
	for (int i = 0; i < 40; i++)
		inside(&large, leaf, &local, sizeof local, NULL);
	CHECK_EQ(local, 12345);
	count(&ran);
}

/* The queue grows twice, and stacks are cut from three arenas. */
static void growth(void)
{
	coro_scheduler *s = begin(1, 0, 0);
	if (!s)
		return;
	outside(s, grows, NULL, 0);
	end(s);
}

/* More than a chunk's records at once. */
static void chunks(void)
{
	coro_scheduler *s = begin(2, CORO_PAUSED, 0);

	if (!s)
		return;
	int refused = 0;
	for (int i = 0; i < 17000 && refused < 100; i++)
		refused += !outside(s, nothing, NULL, 0);
	/* to ask the kernel for 17000 stacks in vain takes a while, and others do */
	if (refused && machine) {
		CHECK_EQ(QUIET(coro_scheduler_destroy(s)), CORO_OK);
		CHECK_EQ(ran, 0);
		return;
	}
	CHECK_EQ(QUIET(coro_scheduler_run(s)), CORO_OK);
	end(s);
}

/* As Go does it: submitters join the slab, and batches come as batches. */
static void batches(void)
{
	coro_scheduler *s = begin(2, 0, 0);
	struct coroi_fill q = {.fn = nothing, .arg_bytes = 8};
	uint64_t arg = 7, n = 1500;

	if (!s)
		return;
	q.class = s->class;
	again(QUIET(coroi_slab_join(&s->slab)), CORO_ENOMEM);
	accepted = QUIET(coroi_spawn_many(s, &q, &arg, n, 0));
	if (accepted < n) {
		CHECK(may_fail());
		uint64_t more = QUIET(coroi_spawn_many(s, &q, &arg, n - accepted, 1));
		accepted += more;
		CHECK(lasting || accepted == n);
	}
	uint32_t credit = QUIET(coroi_slab_grant(&s->slab, 64));
	CHECK(credit == 64 || may_fail());
	coroi_slab_refund(&s->slab, credit);
	struct coroi_batch *p;
	if (QUIET(coroi_batch_open(&s->slab, &p, 1)))
		coroi_batch_drop(&s->slab, p);
	else
		CHECK(may_fail());
	end(s);
}

/* ------------------------------------------------------------------------ waiting */

static void parks(void *arg, void *result)
{
	uint32_t n = *(uint32_t *)arg;

	CHECK_EQ(coro_park(), CORO_OK);
	n *= 3;
	memcpy(result, &n, sizeof n);
	count(&ran);
}

#define CHILDREN 40

static void family(void *arg, void *result)
{
	coro_handle h[CHILDREN];

	(void)arg;
	(void)result;
	for (uint32_t i = 0; i < CHILDREN; i++)
		inside(JOINABLE(4), parks, &i, sizeof i, &h[i]);
	coro_yield();
	for (int i = 0; i < CHILDREN; i++)
		if (h[i])
			CHECK(went_well(coro_wake(h[i]), CORO_ESTALE) || lasting);
	for (uint32_t i = 0; i < CHILDREN; i++) {
		uint32_t got = 0;
		if (!h[i])
			continue;
		if (went_well(coro_join(h[i], &got, sizeof got), CORO_ENOMEM))
			CHECK_EQ(got, 3 * i);
		else
			CHECK(lasting);
	}
	count(&ran);
}

static void joins(void)
{
	coro_scheduler *s = begin(2, 0, 0);
	if (!s)
		return;
	outside(s, family, NULL, 0);
	end(s);
}

static void family_and_a_large_one(void *arg, void *result)
{
	coro_attr large = *JOINABLE(0);
	coro_handle h;

	family(arg, result);
	large.stack_bytes = 4 * STACK;
	inside(&large, leaf, NULL, 0, &h);
	if (h)
		CHECK(went_well(coro_join(h, NULL, 0), CORO_ENOMEM) || lasting);
}

/* Six stacks for one and forty: whoever has none waits for one. And then one of another size, for
 * which they make room. */
static void starvation(void)
{
	coro_scheduler *s = begin(2, 0, 6 * (STACK + 4096));
	if (!s)
		return;
	outside(s, family_and_a_large_one, NULL, 0);
	end(s);
}

static void parks_until_woken(void *arg, void *result)
{
	(void)result;
	*(coro_handle *)*(void **)arg = coro_self();
	int status = coro_park();
	CHECK(status == CORO_OK || status == CORO_ECANCELED);
	count(&ran);
}

/* A deadlock, exact; then wakes from outside and a second run end it. */
static void deadlock(void)
{
	coro_scheduler *s = begin(2, CORO_PAUSED, 0);
	coro_handle h[12] = {0}, *at[12];
	coro_blocked list[12];
	size_t n = 0;

	if (!s)
		return;
	for (int i = 0; i < 12; i++) {
		at[i] = &h[i];
		outside(s, parks_until_woken, &at[i], sizeof at[i]);
	}
	int status = QUIET(coro_scheduler_run(s));
	for (int i = 0; i < 12; i++)
		n += h[i] != 0;
	CHECK_EQ(status, n ? CORO_EDEADLK : CORO_OK);
	CHECK(lasting || n == accepted);
	CHECK_EQ(QUIET(coro_scheduler_blocked(s, list, 12)), n);
	for (int i = 0; i < 12; i++)
		if (h[i])
			CHECK_EQ(QUIET(coro_wake(h[i])), CORO_OK);
	CHECK_EQ(QUIET(coro_scheduler_run(s)), CORO_OK);
	end(s);
}

/* Closed with cancel while some wait, and closed without having run. */
static void closing(void)
{
	coro_scheduler *s = begin(2, 0, 0);
	coro_handle h[6] = {0}, *at[6];
	uint64_t waiting = 0;

	if (!s)
		return;
	for (int i = 0; i < 6; i++) {
		at[i] = &h[i];
		outside(s, parks_until_woken, &at[i], sizeof at[i]);
	}
	for (bool all = false; !all; sleep_us(20)) {
		waiting = QUIET(coro_scheduler_blocked(s, NULL, 0));
		all = waiting == accepted || (lasting && stats(s).awake == 0);
	}
	CHECK_EQ(QUIET(coro_scheduler_close(s, 1)), CORO_OK);
	CHECK(ran >= waiting && (lasting || ran == accepted));
	CHECK_EQ(stats(s).live, 0);
	CHECK_EQ(QUIET(coro_scheduler_destroy(s)), CORO_OK);
	s = begin(2, CORO_PAUSED, 0);
	if (!s)
		return;
	for (int i = 0; i < 6; i++)
		outside(s, nothing, NULL, 0);
	CHECK_EQ(QUIET(coro_scheduler_destroy(s)), CORO_OK);
	CHECK_EQ(ran, 0);
}

/* One that ended and was never joined: its handle is stale when the scheduler is gone, even if its
 * memory could not be given back. */
static void unjoined(void)
{
	coro_scheduler *s = begin(1, 0, 0);
	coro_handle h = 0;

	if (!s)
		return;
	if (again(QUIET(coro_scheduler_spawn(s, JOINABLE(0), nothing, NULL, 0, &h)), CORO_ENOMEM))
		count(&accepted);
	CHECK_EQ(QUIET(coro_scheduler_wait(s)), CORO_OK);
	CHECK(ran == accepted || lasting);
	CHECK_EQ(QUIET(coro_scheduler_destroy(s)), CORO_OK);
	CHECK_EQ(coro_wake(h), CORO_ESTALE);
	CHECK_EQ(coro_detach(h), CORO_ESTALE);
	s = begin(1, 0, 0); /* with the same memory */
	if (!s)
		return;
	CHECK_EQ(coro_wake(h), CORO_ESTALE);
	small(s);
	CHECK_EQ(coro_wake(h), CORO_ESTALE);
}

/* ------------------------------------------------------------------------ stealing */

static void works(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (int i = 0; i < 3; i++) {
		for (uint64_t until = now_ns() + 2000; now_ns() < until;)
			;
		CHECK_EQ(coro_yield(), CORO_OK);
	}
	count(&ran);
}

static void gives_work(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (int i = 0; i < 60; i++)
		inside(NULL, works, NULL, 0, NULL);
	count(&ran);
}

/* Thieves, and somebody who stops all workers at their doors. */
static void stealing(void)
{
	coro_scheduler *s = begin(3, 0, 0);
	if (!s)
		return;
	outside(s, gives_work, NULL, 0);
	for (int i = 0; i < 3; i++) {
		sleep_us(100);
		QUIET(coro_scheduler_trim(s));
	}
	end(s);
}

/* ------------------------------------------------------------------------ waiting */

static coro_chan *line;
static uint64_t sent, received;

static void passes(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (uint64_t i = 0, v = 0; i < 20; i++) {
		uint64_t until = coro_now() + 100000;
		int status = i % 2 ? coro_chan_send(line, &v, until)
				   : coro_chan_recv(line, &v, until);
		CHECK(status == CORO_OK || status == CORO_ETIMEDOUT);
		if (!status)
			count(i % 2 ? &sent : &received);
		CHECK_EQ(coro_pin(i % 2), CORO_OK);
	}
	count(&ran);
}

/* With deadlines, at a channel, from worker to worker. */
static void waits(void)
{
	coro_scheduler *s = begin(2, 0, 0);
	if (!s)
		return;
	sent = received = 0;
	if (again(QUIET(coro_chan_new(&line, 8, 2, 0)), CORO_ENOMEM)) {
		for (int i = 0; i < 5; i++)
			outside(s, passes, NULL, 0);
		CHECK_EQ(QUIET(coro_scheduler_wait(s)), CORO_OK);
		CHECK_EQ(coro_chan_length(line), sent - received);
		CHECK_EQ(QUIET(coro_chan_free(line)), CORO_OK);
	}
	end(s);
}

/* ------------------------------------------------------------------------ stacks and memory of
 * one's own */

static void deep(void *arg)
{
	char frame[40000];
	memset(frame, 1, sizeof frame);
	__asm__ volatile("" : : "r"(frame) : "memory");
	coro_yield(); /* EPERM in one by hand: it stays there */
	count(arg);
}

static void deferred(void *arg)
{
	count(arg);
}

/* what_it_owns - memory, deferred functions and deep calls, in either layer. */
static void what_it_owns(uint64_t *ends)
{
	uint64_t calls = 0, registered = 0;
	char *text = coro_strdup("text"), *large = coro_malloc(5000);

	CHECK((text && large) || may_fail());
	CHECK((text && large) || lasting || (coro_malloc(5000) && coro_malloc(1)));
	if (text)
		CHECK(strcmp(text, "text") == 0);
	if (large)
		memset(large, 1, 5000);
	for (int i = 0; i < 100; i++)
		registered += again(coro_defer(deferred, ends), CORO_ENOMEM);
	CHECK(lasting || registered == 100);
	if (again(coro_call_on_stack(SANITIZED ? 1 << 20 : 64 << 10, deep, &calls), CORO_ENOMEM))
		CHECK_EQ(calls, 1);
	else
		CHECK_EQ(calls, 0);
	__atomic_sub_fetch(ends, registered, __ATOMIC_SEQ_CST); /* zero again when all have run */
}

static uint64_t ends;

static void owner(void *arg, void *result)
{
	(void)arg;
	(void)result;
	what_it_owns(&ends);
	count(&ran);
}

static void owning(void)
{
	coro_scheduler *s = begin(2, 0, 0);
	coro_attr large = {.size = sizeof large, .stack_bytes = CORO_STACK_MAX};

	if (!s)
		return;
	ends = 0;
	for (int i = 0; i < 5; i++) {
		outside(s, owner, NULL, 0);
		if (again(QUIET(coro_scheduler_spawn(s, &large, owner, NULL, 0, NULL)),
			  CORO_ENOMEM))
			count(&accepted);
	}
	end(s);
	CHECK_EQ(ends, 0);
}

static intptr_t by_hand(void *arg, intptr_t first)
{
	intptr_t sent = 0;

	what_it_owns(arg);
	for (intptr_t sum = first;; sum += sent) {
		CHECK_EQ(coro_yield_value(sum, &sent), CORO_OK);
		if (sent == 0)
			return sum;
	}
}

#define BY_HAND 20

/* Their stacks come from three arenas. */
static void bare(void)
{
	coro_t *co[BY_HAND];
	intptr_t got;
	int n = 0;

	ends = 0;
	for (int i = 0; i < BY_HAND; i++) {
		co[n] = NULL;
		if (again(QUIET(coro_new(&co[n], by_hand, &ends, 4 << 20)), CORO_ENOMEM))
			n++;
		else
			CHECK(co[n] == NULL);
	}
	for (int i = 0; i < n; i++) {
		CHECK_EQ(coro_resume(co[i], i, &got), CORO_MAY_RESUME);
		CHECK_EQ(got, i);
	}
	for (int i = 0; i < n; i++) {
		CHECK_EQ(coro_resume(co[i], 5, &got), CORO_MAY_RESUME);
		CHECK_EQ(got, i + 5);
		if (i % 3 == 0)
			CHECK_EQ(coro_resume(co[i], 0, &got), CORO_FINISHED);
		if (i % 3 == 1)
			CHECK_EQ(coro_reset(co[i], by_hand, &ends), CORO_OK);
		CHECK_EQ(QUIET(coro_free(co[i])), CORO_OK);
	}
	CHECK_EQ(ends, 0);
	coroi_stack_pool_trim(coroi_manual_pool());
}

/* ------------------------------------------------------------------------ pools of dispatchers */

static coro_dispatch_pool *begin_pool(uint32_t policy)
{
	coro_dispatch_pool_options o = {.size = sizeof o, .policy = policy, .threads = 2};
	coro_dispatch_pool *p = (coro_dispatch_pool *)&o;

	accepted = ran = ends = 0;
	for (int try = 0; try < 2; try++) {
		int status = QUIET(coro_dispatch_pool_new(&p, &o));
		if (status == CORO_OK)
			return p;
		CHECK(p == (coro_dispatch_pool *)&o);
		was_refused(status);
	}
	CHECK(lasting);
	return NULL;
}

static bool to_pool(coro_dispatch_pool *p, coro_dispatch_fn fn, uint32_t group,
		    coro_dispatch_id *out)
{
	bool ok = again(QUIET(coro_dispatch_pool_spawn(p, fn, p, group, out)), CORO_ENOMEM);
	if (ok)
		count(&accepted);
	else if (out)
		*out = 0;
	return ok;
}

static void is_done(void *arg)
{
	(void)arg;
	count(&ran);
}

/* blocks - with so much in its frame, which is still there afterwards. */
static COROI_NOINLINE void blocks(size_t bytes)
{
	char frame[bytes];

	memset(frame, (int)(bytes % 100), bytes);
	__asm__ volatile("" : : "r"(frame) : "memory");
	again(coro_dispatch_block(), CORO_ENOMEM);
	for (size_t i = 0; i < bytes; i++)
		CHECK_EQ(frame[i], bytes % 100);
}

/* Frames from every kind of block, larger and smaller ones in turn; deferred functions; a deeper
 * stack. */
static void frames_grow(void *pool)
{
	(void)pool;
	for (size_t bytes = 64; bytes <= (32 << 10); bytes *= 8) {
		blocks(bytes);
		blocks(bytes / 4);
	}
	what_it_owns(&ends);
	count(&ran);
}

static void parks_once(void *pool)
{
	(void)pool;
	again(coro_dispatch_park(), CORO_ENOMEM);
	count(&ran);
}

static void parks_until_stopped(void *pool)
{
	int status = coro_dispatch_park();

	(void)pool;
	if (status != CORO_ECANCELED && !went_well(status, CORO_ENOMEM))
		status = coro_dispatch_park();
	CHECK(status == CORO_ECANCELED || (lasting && status == CORO_ENOMEM));
	count(&ran);
}

static void wakes(coro_dispatch_pool *p, uint32_t groups)
{
	coro_dispatch_id id[20];

	for (uint32_t i = 0; i < 20; i++)
		to_pool(p, parks_once, i % groups, &id[i]);
	again(coro_dispatch_block(), CORO_ENOMEM);
	for (int i = 0; i < 20; i++)
		if (id[i])
			CHECK(went_well(coro_dispatch_wake(p, id[i]), CORO_ESTALE) || lasting);
	count(&ran);
}

static void wakes_in_a_row(void *pool)
{
	wakes(pool, 1);
}

static void wakes_in_groups(void *pool)
{
	wakes(pool, 2);
}

/* use_pool - more than a chunk's members; some wait for each other, some until the pool is
 * stopped. */
static void use_pool(coro_dispatch_pool *p, bool ll)
{
	for (uint32_t i = 0; i < 4; i++)
		to_pool(p, frames_grow, ll ? i : 0, NULL);
	to_pool(p, ll ? wakes_in_groups : wakes_in_a_row, 0, NULL);
	for (uint32_t i = 0; i < 1200; i++)
		to_pool(p, is_done, ll ? i % 2 : 0, NULL);
	CHECK_EQ(QUIET(coro_dispatch_pool_wait(p)), CORO_OK);
	CHECK_EQ(ran, accepted);
	CHECK_EQ(ends, 0);
	for (uint32_t i = 0; i < 6; i++)
		to_pool(p, parks_until_stopped, ll ? i : 0, NULL);
	CHECK_EQ(QUIET(coro_dispatch_pool_stop(p)), CORO_OK);
	CHECK_EQ(QUIET(coro_dispatch_pool_spawn(p, is_done, p, 0, NULL)), CORO_ECLOSED);
	CHECK_EQ(QUIET(coro_dispatch_pool_free(p)), CORO_OK);
	CHECK(ran <= accepted); /* some have never begun */
}

static void pool_of(uint32_t policy)
{
	coro_dispatch_pool *p = begin_pool(policy);

	if (p)
		use_pool(p, policy == CORO_DISPATCH_LL);
	coroi_stack_pool_trim(coroi_manual_pool());
}

static void pool_rr(void)
{
	pool_of(CORO_DISPATCH_RR);
}

static void pool_ll(void)
{
	pool_of(CORO_DISPATCH_LL);
}

/* ------------------------------------------------------------------------ telling Go */

/* awaited - h's end is awaited as Go does it: by its slot on the list, and the bell. False: h had
 * ended. */
static bool awaited(coro_scheduler *s, coro_handle h, uint32_t slot)
{
	struct coroi_rec *r = coroi_at((uint32_t)h);
	uint64_t word = coroi_join_word((uint32_t)(h >> 32), COROI_JOIN_NOBODY, 0);

	if (!at_cas(&coroi_cold(r)->join, &word,
		    coroi_join_word((uint32_t)(h >> 32), COROI_JOIN_GO, slot)))
		return false;
	at_xchg(&s->go_sleeps, 1);
	coro_wake(h);
	return true;
}

static void await_bell(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	uint64_t rung = 0;

	while (poll(&p, 1, -1) < 0) /* a bell that does not ring is a hang */
		CHECK_EQ(errno, EINTR);
	CHECK(p.revents & POLLIN);
	CHECK_EQ(read(fd, &rung, sizeof rung), sizeof rung);
}

static void bell(void)
{
	coro_scheduler *s = begin(2, 0, 0);
	uint32_t n = 9;
	coro_handle h;

	if (!s)
		return;
	int fd = QUIET(coroi_bell_open(s));
	if (fd < 0) {
		CHECK_EQ(fd, CORO_EAGAIN);
		CHECK(may_fail());
		CHECK_EQ(s->bell, -1);
		fd = QUIET(coroi_bell_open(s));
		CHECK(lasting || fd >= 0);
	}
	bool spawned = again(coro_scheduler_spawn(s, JOINABLE(4), parks, &n, sizeof n, &h),
			     CORO_ENOMEM);
	if (spawned)
		count(&accepted);
	if (spawned && fd < 0) {
		coro_wake(h);
		coro_detach(h);
	} else if (spawned && awaited(s, h, 77)) {
		await_bell(fd);
		struct coroi_rec *r = (struct coroi_rec *)(uintptr_t)at_xchg(&s->done, 0);
		CHECK(r == coroi_at((uint32_t)h));
		CHECK_EQ(r->permits, 77);
		CHECK(went_well(coroi_join_status(r), CORO_ENOMEM) || lasting);
		coroi_join_free(r);
	} else if (spawned) {
		CHECK(lasting);
		CHECK_EQ(coro_detach(h), CORO_OK);
	}
	if (fd >= 0) { /* and for every rest */
		at_add(&s->go_waits_rest, 1);
		at_xchg(&s->go_sleeps, 1);
		if (outside(s, leaf, NULL, 0))
			await_bell(fd);
		at_add(&s->go_waits_rest, -1);
	}
	end(s);
}

/* ------------------------------------------------------------------------ what is left */

static int threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	int n = -2; /* . and .. */
	CHECK(dir != NULL);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

void check_nothing_left(void)
{
	struct fault_held h = fault_held();
	int64_t kept = 0;

	for (uint32_t i = 0; i < COROI_CHUNKS_MAX && coroi_chunk_dir[i]; i++)
		kept += (int64_t)COROI_CHUNK_BYTES;
	CHECK_EQ(h.mapped - h.stuck, kept);
	CHECK(h.blocks <= 1);
	CHECK_EQ(h.descriptors, 0);
	/* one that was joined takes a moment to vanish */
	for (int i = 0; threads() > 1 && i < 10000; i++)
		sleep_us(1000);
	CHECK_EQ(threads(), SANITIZED ? threads() : 1);
}

void run_all(void)
{
	for (int i = 0; i < scenario_count; i++) {
		test_context = scenarios[i].name;
		scenarios[i].run();
	}
}

const struct scenario scenarios[] = {
	{"from_outside", from_outside},
	{"growth", growth},
	{"chunks", chunks},
	{"batches", batches},
	{"unjoined", unjoined},
	{"joins", joins},
	{"deadlock", deadlock},
	{"closing", closing},
	{"starvation", starvation},
	{"stealing", stealing},
	{"owning", owning},
	{"bare", bare},
	{"bell", bell},
	{"waits", waits},
	{"pool_rr", pool_rr},
	{"pool_ll", pool_ll},
};
const int scenario_count = sizeof scenarios / sizeof *scenarios;
