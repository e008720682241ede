/*
 * ops.c - the operations of the explored code: atomics, fences, futexes, locks, the clock.
 *
 * Each operation asks point() first whether its thread may go on, or give_way() which thread goes
 * on instead. Outside a schedule an operation does what its name says, and nothing else.
 */
#include "schedule.h"

#include <string.h>

#define SPINS_MOST 700 /* more than any bounded loop of the core makes */
#define LOCKS      8
#define STEP_NS    6000 /* by which the clock advances at each look */

static uint64_t clock_ns;
static const void *locks[LOCKS];
static struct {
	void *p;
	size_t bytes;
	uint64_t before;
} rmw;

void ops_begin(void)
{
	memset(locks, 0, sizeof locks);
	clock_ns = 1000000;
}

uint64_t ops_clock(void)
{
	return clock_ns;
}

uint64_t ops_locks(void)
{
	uint64_t all = 0;
	for (unsigned i = 0; i < LOCKS; i++) /* in any order */
		all += (uint64_t)(uintptr_t)locks[i] * UINT64_C(0x9e3779b97f4a7c15);
	return all;
}

static void say_op(const char *op, const void *p, const char *what, uint64_t value)
{
	if (plan->trace)
		say("%5u  %-8s %-9s %-18s %s 0x%llx\n", steps, cur->name, op, name_of(p), what,
		    (unsigned long long)value);
}

bool held(const void *mutex)
{
	for (unsigned i = 0; i < LOCKS; i++)
		if (locks[i] == mutex)
			return true;
	return false;
}

/* other - the operation is no load of a known word and no relax: the thread has left the loop in
 * which it spun, if it was in one. */
static void other(void)
{
	cur->spinning = cur->relaxed = false;
	cur->recents = 0;
}

void ex_load(const void *p, size_t bytes)
{
	if (!active)
		return;
	struct thread *me = cur;
	me->relaxed = false;
	if (me->spinning) {
		bool known = false;
		for (unsigned i = 0; i < RECENT && i < me->recents; i++)
			known |= me->recent[i].p == p;
		if (known)
			return;
		other();
	}
	if (touch(p, false) || plan->random)
		point();
	me->recent[me->recents++ % RECENT] = (struct seen){p, get(p, bytes), (uint8_t)bytes};
	say_op("load", p, "is", get(p, bytes));
	ex_world.saw(EX_LOAD, p, get(p, bytes), get(p, bytes));
}

void ex_buffer(void *p, size_t bytes, uint64_t value, bool release)
{
	uint64_t before = get(p, bytes);

	if (bytes < 8)
		value &= (UINT64_C(1) << 8 * bytes) - 1;
	if (!active) {
		memcpy(p, &value, bytes);
		return;
	}
	other();
	bool shared = touch(p, true);
	if (plan->machine == SC) {
		if (shared || plan->random)
			point();
		before = get(p, bytes);
		put(p, bytes, value);
	} else {
		buffer_store(p, bytes, value, release);
	}
	say_op(release ? "release" : "store", p, "=", value);
	ex_world.saw(EX_STORE, p, before, value);
}

void ex_rmw_begin(void *p, size_t bytes)
{
	if (!active)
		return;
	other();
	if (touch(p, true) || plan->random)
		point();
	drain();
	rmw.p = p;
	rmw.bytes = bytes;
	rmw.before = get(p, bytes);
}

void ex_rmw_end(void)
{
	if (!active)
		return;
	uint64_t after = get(rmw.p, rmw.bytes);
	if (plan->trace)
		say("%5u  %-8s %-9s %-18s was 0x%llx, is 0x%llx\n", steps, cur->name, "rmw",
		    name_of(rmw.p), (unsigned long long)rmw.before, (unsigned long long)after);
	ex_world.saw(EX_RMW, rmw.p, rmw.before, after);
}

static void system_call(const char *name)
{
	other();
	point();
	drain();
	say("%5u  %-8s %s\n", steps, cur->name, name);
}

void ex_fence(void)
{
	if (active)
		system_call("fence");
}

void ex_membarrier(void)
{
	if (!active)
		return;
	system_call("membarrier");
	drain_all();
}

void ex_relax(void)
{
	struct thread *me = cur;

	if (!active)
		return;
	if (me->spinning) {
		if (++me->spins < SPINS_MOST)
			return;
		me->spinning = false;
		me->stuck = true;
	} else if (me->relaxed) { /* two in a row */
		return;
	}
	me->relaxed = true;
	ex_world.waits();
	me->state = SPINS;
	if (give_way(!me->stuck)) {
		me->state = READY;
		me->spinning = true;
		me->spins = 0;
	} else {
		suspend();
		if (!me->spinning)
			me->recents = 0; /* one more round */
	}
	me->stuck = false;
	ex_clean();
}

void ex_call(const char *name)
{
	if (active)
		system_call(name);
}

void ex_sleep(const uint32_t *word, int64_t timeout_ns)
{
	if (!active)
		return;
	cur->timed = timeout_ns >= 0;
	ex_world.waits();
	wait_as(SLEEPS, word);
}

void ex_wake(const uint32_t *word, int count)
{
	for (struct thread *t = threads; t < threads + thread_count && count > 0; t++) {
		if (t->state == SLEEPS && t->on == word) {
			t->state = READY;
			count--;
		}
	}
}

void ex_futex_wait(uint32_t *word, uint32_t value, int64_t timeout_ns)
{
	ex_call("futex wait");
	if (*word == value)
		ex_sleep(word, timeout_ns);
}

void ex_futex_wake(uint32_t *word, int count)
{
	ex_call("futex wake");
	ex_wake(word, count);
}

static void take_lock(void *mutex)
{
	while (held(mutex))
		wait_as(LOCKED_OUT, mutex);
	for (unsigned i = 0; i < LOCKS; i++) {
		if (!locks[i]) {
			locks[i] = mutex;
			return;
		}
	}
	ex_fail("more than %d locks", LOCKS);
}

static void drop_lock(const void *mutex)
{
	for (unsigned i = 0; i < LOCKS; i++)
		if (locks[i] == mutex)
			locks[i] = NULL;
}

void ex_lock(void *mutex)
{
	if (!active)
		return;
	system_call("lock");
	take_lock(mutex);
}

void ex_unlock(void *mutex)
{
	if (!active)
		return;
	system_call("unlock");
	drop_lock(mutex);
}

void ex_cond_wait(void *cond, void *mutex)
{
	if (!active)
		return;
	system_call("condition wait");
	drop_lock(mutex);
	wait_as(AWAITS, cond);
	take_lock(mutex);
}

void ex_cond_broadcast(void *cond)
{
	if (!active)
		return;
	system_call("condition broadcast");
	for (struct thread *t = threads; t < threads + thread_count; t++)
		if (t->state == AWAITS && t->on == cond)
			t->state = READY;
}

int ex_join(unsigned thread)
{
	if (active) {
		system_call("join");
		if (threads[thread].state != DONE)
			wait_as(JOINS, &threads[thread]);
	}
	return 0;
}

uint64_t ex_now_ns(void)
{
	return clock_ns += STEP_NS;
}

void ex_pass(int64_t ns)
{
	clock_ns += (uint64_t)ns;
}
