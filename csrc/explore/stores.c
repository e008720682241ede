/*
 * stores.c - when a store reaches memory.
 *
 * A thread must see its own stores at once, in its plain loads too, which ask no function here. So
 * a buffered store is in memory while its thread runs, and is taken back while another thread runs:
 * memory is always the running thread's view. Stores leave a buffer
 *
 *      SC    at once
 *      TSO   in order
 *      ARM   in any order, with two exceptions: stores to one address stay in order, and a release
 *            comes after all stores before it
 *
 * A read-modify-write, a fence, a system call and a lock empty the buffer of their thread.
 * membarrier empties all buffers. Loads are never reordered. Plain stores reach memory at once.
 *
 * Threads are changed only at shared places: those that several threads use, and one writes. At
 * other places a change makes no difference. Random schedules show first which places are shared,
 * and always show the same ones. If the search finds another shared place, more random schedules
 * are run, and the search starts again.
 */
#include "schedule.h"

#include <string.h>

#define PLACES 4096 /* a power of two */

uint64_t get(const void *p, size_t bytes)
{
	switch (bytes) {
	case 1:
		return *(const uint8_t *)p;
	case 2:
		return *(const uint16_t *)p;
	case 4:
		return *(const uint32_t *)p;
	default:
		return *(const uint64_t *)p;
	}
}

void put(void *p, size_t bytes, uint64_t v)
{
	memcpy(p, &v, bytes);
}

/* ---------------------------------------------------------------------------- shared places */

static struct place {
	const void *p;
	uint32_t users; /* a bit for each thread */
	bool written, shared;
} places[PLACES];

void forget_places(void)
{
	memset(places, 0, sizeof places);
}

static struct place *place(const void *p)
{
	uint64_t h = (uint64_t)(uintptr_t)p * UINT64_C(0x9e3779b97f4a7c15) >> 32;

	for (;; h++) {
		struct place *x = &places[h % PLACES];
		if (x->p == p)
			return x;
		if (!x->p) {
			x->p = p;
			x->shared = ex_world.shared(p);
			return x;
		}
	}
}

bool touch(const void *p, bool writes)
{
	struct place *x = place(p);

	x->users |= 1u << (cur - threads);
	x->written |= writes;
	if (!x->shared && x->written && (x->users & (x->users - 1)))
		x->shared = outcome->learned = true;
	return x->shared;
}

/* --------------------------------------------------------------------------- store buffers */

void buffer_store(void *p, size_t bytes, uint64_t value, bool release)
{
	if (cur->kept == plan->stores) {
		/* The oldest store reaches memory. Our view has it already. */
		cur->kept--;
		memmove(cur->store, cur->store + 1, cur->kept * sizeof cur->store[0]);
	}
	cur->store[cur->kept++] = (struct store){p, value, get(p, bytes), (uint8_t)bytes, release};
	put(p, bytes, value);
}

unsigned all_of(const struct thread *t)
{
	return (1u << t->kept) - 1;
}

/* may_leave - the stores of the mask may reach memory while the others stay. */
static bool may_leave(const struct thread *t, unsigned mask)
{
	for (unsigned i = 0; i < t->kept; i++) {
		if (!(mask >> i & 1))
			continue;
		for (unsigned k = 0; k < i; k++)
			if (!(mask >> k & 1) && (plan->machine == TSO || t->store[i].release ||
						 t->store[i].p == t->store[k].p))
				return false;
	}
	return true;
}

/* may_keep - the stores outside the mask may stay, and that makes a difference: a store that no
 * other thread reads leaves as soon as it can. */
bool may_keep(const struct thread *t, unsigned mask)
{
	if (!may_leave(t, mask))
		return false;
	if (plan->random) /* a random schedule must not depend on what was learned */
		return true;
	for (unsigned i = 0; i < t->kept; i++)
		if (!(mask >> i & 1) && !place(t->store[i].p)->shared &&
		    may_leave(t, mask | 1u << i))
			return false;
	return true;
}

void take_back(struct thread *t)
{
	for (unsigned i = t->kept; i-- > 0;)
		memcpy(t->store[i].p, &t->store[i].before, t->store[i].bytes);
}

void apply(struct thread *t)
{
	for (unsigned i = 0; i < t->kept; i++) {
		struct store *s = &t->store[i];
		s->before = get(s->p, s->bytes);
		memcpy(s->p, &s->value, s->bytes);
	}
}

/* overwritten - a plain store came after a buffered one to the same place. The plain store is in
 * memory, so the buffered one must be too. */
static bool overwritten(const struct thread *t)
{
	for (unsigned i = 0; i < t->kept; i++) {
		const struct store *s = &t->store[i];
		bool last = true;
		for (unsigned k = i + 1; k < t->kept; k++)
			last &= t->store[k].p != s->p;
		if (last && get(s->p, s->bytes) != s->value)
			return true;
	}
	return false;
}

void leave_view(void)
{
	if (overwritten(cur))
		drain();
	take_back(cur);
}

void settle(struct thread *t, unsigned mask)
{
	unsigned left = 0;

	for (unsigned i = 0; i < t->kept; i++) {
		struct store *s = &t->store[i];
		if (!(mask >> i & 1)) {
			t->store[left++] = *s;
			continue;
		}
		put(s->p, s->bytes, s->value);
		if (plan->trace)
			say("%5u  %-8s           %-18s reaches memory: 0x%llx\n", steps, t->name,
			    name_of(s->p), (unsigned long long)s->value);
	}
	t->kept = left;
}

/* Memory becomes what the thread sees. */
void drain(void)
{
	cur->kept = 0;
}

void drain_all(void)
{
	drain();
	for (unsigned i = 0; i < thread_count; i++)
		if (threads[i].kept)
			settle(&threads[i], all_of(&threads[i]));
}
