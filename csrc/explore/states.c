/*
 * states.c - a schedule that comes to a state from which everything has been explored is left
 * there.
 *
 * Everything is put back before each schedule, at the same addresses. So what may happen from a
 * decision on depends only on the state at that decision: the memory that is put back, the live
 * part of every stack (with the registers of the context suspended on it), the threads with their
 * store buffers, the locks, the clock, and which thread decides. All of that is hashed to 128 bits.
 *
 * A state that was met before with as many preemptions left, or more, is not explored again: its
 * schedules have been run, or lie on the path along which the search goes back. A state that was
 * met before with fewer left is explored again. So the reduction loses nothing: the search comes to
 * every state within the bound, and takes every step out of it.
 *
 * A dead variable in a frame would tell equal states apart. So stacks are cleared below the thread
 * that goes on, and parts that are not live are left out. The opposite error, that different states
 * look equal, is what -check looks for: it runs all schedules, and each choice at each state must
 * lead to the same state, on whichever path the search came there.
 *
 * A state that is met again on its own path, with as many preemptions left, begins a schedule that
 * does not end. A path that is followed by hand is watched in the same way, so that it shows the
 * same error.
 */
#include "states.h"

#include "schedule.h"

#include "base/manual.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ----------------------------------------------------------------------------------- hashing */

#define LANES 4

/* Each lane takes 16 bytes of 64, multiplies the halves, and keeps all 128 bits of the product. */
static struct lane {
	uint64_t low, high;
} lanes[LANES];

static const uint64_t keys[2 * LANES] = {
	UINT64_C(0x9e3779b97f4a7c15), UINT64_C(0xbf58476d1ce4e5b9), UINT64_C(0x94d049bb133111eb),
	UINT64_C(0x2545f4914f6cdd1d), UINT64_C(0xd6e8feb86659fd93), UINT64_C(0xa0761d6478bd642f),
	UINT64_C(0xe7037ed1a0b428db), UINT64_C(0x8ebc6af09c88c6e3),
};

static inline void absorb(struct lane *l, uint64_t v, uint64_t w, unsigned i)
{
	unsigned __int128 p = (unsigned __int128)(v ^ keys[2 * i] ^ l->low) *
			      (w ^ keys[2 * i + 1] ^ l->high);
	l->low = (uint64_t)p + w;
	l->high = (uint64_t)(p >> 64) + v;
}

static inline void absorb_block(struct lane *l, const unsigned char *p)
{
	uint64_t word[2 * LANES];

	memcpy(word, p, sizeof word);
	for (unsigned i = 0; i < LANES; i++)
		absorb(&l[i], word[2 * i], word[2 * i + 1], i);
}

static void add(const void *from, size_t bytes)
{
	const unsigned char *p = from;
	unsigned char rest[16 * LANES] = {0};
	struct lane l[LANES];

	memcpy(l, lanes, sizeof l);
	size_t left = bytes;
	for (; left >= sizeof rest; left -= sizeof rest, p += sizeof rest)
		absorb_block(l, p);
	memcpy(rest, p, left);
	if (left)
		absorb_block(l, rest);
	absorb(&l[0], bytes, 1, 0);
	memcpy(lanes, l, sizeof l);
}

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * keys[1];
	x = (x ^ x >> 27) * keys[2];
	return x ^ x >> 31;
}

static void add_word(uint64_t v)
{
	absorb(&lanes[1], v, 2, 1);
}

/* ------------------------------------------------------------------------------ what a state is */

/* blind - the plan leaves this part of the state out, to show that -check notices. */
static bool blind(enum part part)
{
	return plan->blind == part;
}

static void add_store(const struct thread *t, const struct store *s)
{
	add_word((uint64_t)(uintptr_t)s->p);
	add_word(s->value);
	add_word((uint64_t)s->bytes << 1 | s->release);
	if (t == cur) /* its stores are in memory now, and hide this value */
		add_word(s->before);
}

static void add_thread(const struct thread *t)
{
	bool waits = t->state != READY && t->state != SPINS && t->state != DONE;
	unsigned seen = t->recents < RECENT ? t->recents : RECENT;

	add_word((uint64_t)t->state | (uint64_t)(t->state == SLEEPS && t->timed) << 8 |
		 (uint64_t)t->spinning << 16 | (uint64_t)t->stuck << 17 |
		 (uint64_t)t->relaxed << 18 | (uint64_t)t->overtaken << 24 |
		 (uint64_t)(t->spinning ? t->spins : 0) << 40);
	for (unsigned i = 0; i < EX_OWN; i++)
		add_word((uint64_t)(uintptr_t)t->own[i]);
	add_word(waits ? (uint64_t)(uintptr_t)t->on : 0);
	add_word(t->recents);
	for (unsigned i = 0; i < seen; i++) {
		add_word((uint64_t)(uintptr_t)t->recent[i].p);
		add_word(t->recent[i].value);
	}
	add_word(t->kept);
	for (unsigned i = 0; i < t->kept; i++)
		add_store(t, &t->store[i]);
}

/* add_stack - the live part of a stack. */
static void add_stack(const void *sp, const void *top)
{
	add_word((uint64_t)(uintptr_t)sp);
	add(sp, (size_t)((const char *)top - (const char *)sp));
}

struct fingerprint state_now(void)
{
	const void *sp[EX_THREADS];
	unsigned standing = 0;

	memset(lanes, 0, sizeof lanes);
	for (const struct thread *t = threads; t < threads + thread_count; t++) {
		if (!blind(PART_THREADS))
			add_thread(t);
		if (t->state != DONE)
			sp[standing++] = t->co->sp;
	}
	add_word((uint64_t)(cur - threads));
	if (!blind(PART_MEMORY) && !ex_world.memory(add))
		outcome->widened = true;
	if (!blind(PART_STACKS))
		ex_world.stacks(sp, standing, add_stack);
	add_word(ops_clock());
	add_word(ops_locks());
	for (unsigned i = 1; i < LANES; i++)
		absorb(&lanes[0], lanes[i].low, lanes[i].high, 0);
	absorb(&lanes[0], 0, 0, 1);
	absorb(&lanes[0], 0, 0, 2);
	return (struct fingerprint){lanes[0].low | 1, lanes[0].high};
}

/* ------------------------------------------------------------------------------------- tables */

/* A table of pairs of words, by open addressing. The first word is never 0. A table that may not
 * grow any more takes no new pairs: then more is explored, never less. */
struct table {
	struct fingerprint *slot;
	uint64_t slots, used, most;
};

static struct table seen, after, ends;

#define SLOTS_FIRST ((uint64_t)1 << 12)

static struct fingerprint *slots_new(uint64_t n)
{
	void *p = mmap(NULL, n * sizeof(struct fingerprint), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

static void table_open(struct table *t, uint64_t most)
{
	if (t->slot)
		munmap(t->slot, t->slots * sizeof *t->slot);
	*t = (struct table){.slot = slots_new(SLOTS_FIRST), .slots = SLOTS_FIRST, .most = most};
	if (!t->slot)
		abort();
}

/* table_slot - where s is: the same a, and the same bits of b outside the mask. Or a free place. */
static struct fingerprint *table_slot(const struct table *t, struct fingerprint s, uint64_t mask)
{
	for (uint64_t i = s.a >> 1;; i++) {
		struct fingerprint *x = &t->slot[i & (t->slots - 1)];
		if (!x->a || (x->a == s.a && !((x->b ^ s.b) & ~mask)))
			return x;
	}
}

static bool table_has_room(struct table *t, uint64_t mask)
{
	if (4 * t->used < 3 * t->slots)
		return true;
	struct table larger = {.slots = 2 * t->slots, .used = t->used, .most = t->most};
	if (larger.slots > t->most || !(larger.slot = slots_new(larger.slots)))
		return false;
	for (uint64_t i = 0; i < t->slots; i++)
		if (t->slot[i].a)
			*table_slot(&larger, t->slot[i], mask) = t->slot[i];
	munmap(t->slot, t->slots * sizeof *t->slot);
	*t = larger;
	return true;
}

/* table_find - as table_slot, and a new pair is added; *new tells. NULL: the pair is new, and there
 * is no room. */
static struct fingerprint *table_find(struct table *t, struct fingerprint s, uint64_t mask,
				      bool *new)
{
	struct fingerprint *x = table_slot(t, s, mask);

	*new = !x->a;
	if (!*new)
		return x;
	if (!table_has_room(t, mask))
		return NULL;
	x = table_slot(t, s, mask);
	*x = s;
	t->used++;
	return x;
}

/* ------------------------------------------------------------------------------- what was seen */

/* These bits of a state's second word: the most preemptions that were left at it. The other bits
 * are the state's. */
#define LEFT UINT64_C(15)

/* The states of the path, with the preemptions left, at decisions of several choices. */
static uint64_t trail[PATH_MOST];

void states_open(const struct plan *p)
{
	uint64_t most = p->memory / sizeof(struct fingerprint);

	while (most & (most - 1))
		most &= most - 1;
	table_open(&seen, most);
	table_open(&ends, most);
	table_open(&after, most);
	trail[0] = 1;
	outcome->widened = false;
	outcome->states = 0;
	memset(outcome->digest, 0, sizeof outcome->digest);
}

/* came_to - the last choice of the path has led to this state, as it must each time. */
static void came_to(uint64_t to, unsigned depth)
{
	bool new;

	while (depth-- > 1 && outcome->path[depth].of < 2)
		;
	const struct choice *c = &outcome->path[depth];
	struct fingerprint from = {mix(trail[depth] + c->taken) | 1, to};
	struct fingerprint *x = table_find(&after, from, UINT64_MAX, &new);
	if (x && x->b != to)
		ex_fail("choice %u comes to another state than before: "
			"a state is not all that matters",
			depth);
}

static void count(unsigned which, struct fingerprint s)
{
	outcome->digest[which].a += s.a;
	outcome->digest[which].b += s.b;
}

/* goes_round - the state lies on the path already. */
static bool goes_round(uint64_t here, unsigned depth)
{
	for (unsigned i = 0; i < depth; i++)
		if (trail[i] == here && outcome->path[i].of > 1)
			return true;
	return false;
}

bool state_decides(struct fingerprint s, unsigned depth, unsigned left)
{
	if (outcome->widened) /* hashed over more memory than the states before */
		return false;
	bool new;
	uint64_t here = mix(s.a + left);

	left = left < LEFT ? left : LEFT;
	if (plan->check)
		came_to(here, depth);
	s.b &= ~LEFT;
	struct fingerprint *x = table_find(&seen, (struct fingerprint){s.a, s.b | left}, LEFT,
					   &new);
	if (new) {
		outcome->states++;
		count(0, s);
	} else if ((x->b & LEFT) >= left) {
		if ((x->b & LEFT) == left && goes_round(here, depth))
			ex_fail("goes round and does not end");
		if (plan->reduce)
			return true;
	} else {
		x->b = s.b | left;
	}
	trail[depth] = here;
	return false;
}

void state_ends(struct fingerprint s, unsigned depth)
{
	if (outcome->widened)
		return;
	bool new;
	if (plan->check)
		came_to(s.a, depth);
	table_find(&ends, s, 0, &new);
	if (new)
		count(1, s);
}
