/*
 * world.c - the explored copy of the core: made once, put back before each schedule, watched during
 * the schedule, and checked at its end.
 *
 * Errors during a schedule: two threads inside one door, or two owners of one worker; an owner that
 * waits for its door and is busy; a rest that is reported while there is work. At the end: no work
 * lies anywhere while all workers sleep (a lost wake-up); no worker counts as awake, and no work is
 * pending; no rest was counted twice; each record is free exactly once, or in use.
 */
#include "world.h"
#include "border/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_BYTES    ((size_t)8 << 20)
#define REGIONS_MOST   256
#define RESTORED_MOST  ((size_t)32 << 10) /* of one allocation: no scenario writes behind that */
#define RECORDS_APIECE 8                  /* of each magazine: a scenario uses no more */
#define STACKS         16
/* All memory is compared after each of the first schedules, later after one in CHECKED_EVERY. */
#define CHECKED       50
#define CHECKED_EVERY 4096
#define LINE          ((size_t)64)
#define SPANS_MOST    4096

struct coro_scheduler *sched;

static unsigned char arena[ARENA_BYTES] __attribute__((aligned(4096)));
static unsigned char arena_was[ARENA_BYTES];
static size_t arena_used, arena_kept;

static struct {
	unsigned char *p, *copy;
	size_t bytes;
} regions[REGIONS_MOST];
static unsigned region_count;

/* The regions in pieces, of whole lines: pieces that some schedule has written to, and pieces that
 * none has. */
static struct span {
	unsigned char *p, *copy;
	size_t bytes;
	bool written;
} spans[SPANS_MOST];
static unsigned span_count;

static uint64_t restored; /* times */
static uint64_t records;
static const struct ex_scenario *scenario;

/* The truth, whatever the words of the core say. */
static struct {
	/* thread + 1, inside a door as the owner and as a thief */
	unsigned owner_in[8], thief_in[8];
	/* thread + 1, the last inside as the owner. While the worker is lent: the lender */
	unsigned owner[8];
	const void *last[EX_THREADS];
	unsigned pushing;
	uint32_t rests;
} ghost;

/* ------------------------------------------------------------------------------ making it */

struct coroi_worker *world_worker(unsigned id)
{
	return &sched->worker[id];
}

void world_be(unsigned id)
{
	coroi_be(world_worker(id));
}

void world_region(void *p, size_t bytes)
{
	if (region_count == REGIONS_MOST)
		abort();
	regions[region_count].p = p;
	regions[region_count++].bytes = bytes;
}

bool world_refuses;

void *world_alloc(size_t bytes, size_t align)
{
	size_t at = (arena_used + align - 1) & ~(align - 1);
	if (world_refuses || at + bytes > ARENA_BYTES)
		return NULL;
	arena_used = at + bytes;
	if (!arena_kept)
		world_region(arena + at, bytes < RESTORED_MOST ? bytes : RESTORED_MOST);
	return memset(arena + at, 0, bytes);
}

static struct {
	void *(*fn)(void *);
	void *arg;
} mains[EX_THREADS];

static void worker_thread(void *arg)
{
	unsigned i = (unsigned)(uintptr_t)arg;
	mains[i].fn(mains[i].arg);
}

const char *const world_names[] = {"w0", "w1", "w2", "w3"};

unsigned world_worker_thread(void *(*fn)(void *), void *arg)
{
	struct coroi_worker *w = arg;

	w->sched->started++; /* coro_scheduler_init waits for that, and no thread runs yet */
	if (scenario->raw >> w->id & 1)
		return EX_THREADS;
	mains[w->id].fn = fn;
	mains[w->id].arg = arg;
	return ex_thread(world_names[w->id], worker_thread, (void *)(uintptr_t)w->id);
}

/* load - put a full magazine in, so that no record is carved later. A full magazine hands out its
 * records from the last on, at rising addresses. */
static void load(struct coroi_mags *m)
{
	if (!coroi_mags_spend(m))
		abort();
	struct coroi_rec *r = coroi_mags_get(m);
	coroi_mags_put(m, r);
	coroi_mags_earn(m);
	world_region(r, RECORDS_APIECE * sizeof *r);
	world_region(coroi_cold(r), RECORDS_APIECE * sizeof(struct coroi_cold));
}

/* warm_stacks - put stacks in, so that none is mapped later. */
static void warm_stacks(struct coroi_stack_pool *p)
{
	struct coroi_stack *stack[STACKS];

	for (unsigned i = 0; i < STACKS; i++)
		if (coroi_stack_pool_get(p, sched->class, &stack[i], 1) != 1)
			abort();
	for (unsigned i = 0; i < STACKS; i++)
		world_stack(stack[i]->low, stack[i]->top);
	coroi_stack_pool_put(p, stack, STACKS);
}

struct coroi_rec *world_record(struct coroi_worker *w)
{
	if (!coroi_mags_spend(&w->mags))
		abort();
	struct coroi_rec *r = coroi_mags_get(&w->mags);
	struct coroi_fill q = {.fn = NULL};

	coroi_fill(r, &q, w->id);
	r->state = COROI_ACTIVE;
	at_store_rlx(&r->wake, at_load_rlx(&r->wake) | COROI_ESCAPED);
	at_bump(&w->spawned);
	return r;
}

static void add_span(struct span s, unsigned at)
{
	if (span_count == SPANS_MOST)
		abort();
	memmove(spans + at + 1, spans + at, (span_count++ - at) * sizeof spans[0]);
	spans[at] = s;
}

/* split - a schedule has written to the i-th span: its first line that differs becomes a span of
 * its own. */
static void split(unsigned i)
{
	struct span *s = &spans[i];
	size_t at = 0, n;

	while ((n = s->bytes - at < LINE ? s->bytes - at : LINE),
	       !memcmp(s->p + at, s->copy + at, n))
		at += n;
	struct span before = {s->p, s->copy, at, false};
	struct span line = {s->p + at, s->copy + at, n, true};
	*s = (struct span){s->p + at + n, s->copy + at + n, s->bytes - at - n, false};
	if (!s->bytes)
		*s = line;
	else
		add_span(line, i);
	if (before.bytes)
		add_span(before, i);
}

static void setup(const struct ex_scenario *s)
{
	coro_options o = {.size = sizeof o,
			  .workers = s->workers,
			  .flags = s->flags,
			  .stack_cache = 4,
			  .stack_bytes = 64 << 10};

	if (s->flags & CORO_MAIN_WORKER) { /* the last one */
		o.workers--;
		o.dedicated = 1;
	}
	scenario = s;
	if (coro_scheduler_init(&sched, &o))
		abort();
	for (unsigned i = 0; i < s->workers; i++)
		load(&world_worker(i)->mags);
	load(&sched->outside.mags);
	warm_stacks(&sched->stacks);
	records = sched->slab.records;
	world_region(&ghost, sizeof ghost);
	world_lend_regions();
	s->setup();
	coroi_be_nobody();
	for (unsigned i = 0; i < region_count; i++) {
		regions[i].copy = malloc(regions[i].bytes);
		memcpy(regions[i].copy, regions[i].p, regions[i].bytes);
		add_span((struct span){regions[i].p, regions[i].copy, regions[i].bytes, false},
			 span_count);
	}
	arena_kept = arena_used;
	memcpy(arena_was, arena, arena_used);
}

/* look - find the lines that were written to for the first time. True: there are some. */
static bool look(void)
{
	bool any = false;

	for (unsigned i = 0; i < span_count; i++) {
		if (spans[i].written || !memcmp(spans[i].p, spans[i].copy, spans[i].bytes))
			continue;
		split(i--);
		any = true;
	}
	return any;
}

static void restore(bool looked)
{
	if (!looked)
		look();
	for (unsigned i = 0; i < span_count; i++)
		if (spans[i].written)
			memcpy(spans[i].p, spans[i].copy, spans[i].bytes);
	arena_used = arena_kept;
	world_stacks_begin();
	if (restored++ < CHECKED || restored % CHECKED_EVERY == 0)
		if (memcmp(arena, arena_was, arena_kept))
			ex_fail("a schedule has written to memory that is not put back");
}

/* memory - all that was ever written to, and all that was allocated after setup. The rest is as
 * setup left it. False: a line was written to for the first time. */
static bool memory(void (*add)(const void *p, size_t bytes))
{
	if (look())
		return false;
	for (unsigned i = 0; i < span_count; i++)
		if (spans[i].written)
			add(spans[i].p, spans[i].bytes);
	add(arena + arena_kept, arena_used - arena_kept);
	return true;
}

/* -------------------------------------------------------------------------------- watching */

void world_pushing(bool begins)
{
	ghost.pushing += begins ? 1 : -1u;
}

/* has_come - a node with work lies undelivered. An empty batch is no work: a thief may have emptied
 * it there, and the next sender wakes the worker. */
static bool has_come(const struct coroi_worker *w)
{
	for (uint64_t node = w->undelivered.first; node; node = *coroi_node_link(node)) {
		const struct coroi_batch *p = (const void *)(uintptr_t)(node &
									~(uint64_t)COROI_NODE_KIND);
		if ((node & COROI_NODE_KIND) != COROI_NODE_BATCH ||
		    p->taken != (p->state & COROI_BATCH_COUNT))
			return true;
	}
	return false;
}

/* Where stacks are limited, a coroutine may await one at a rest. */
static bool has_queued(const struct coroi_worker *w)
{
	return w->queue.count || w->queue.spill.count || w->next || has_come(w) ||
	       (w->awaiting_stack.count && !sched->stacks.limit);
}

static unsigned nodes(uint64_t node)
{
	unsigned n = 0;
	for (; node && n < RECORDS_APIECE; n++)
		node = *coroi_node_link(node);
	return n;
}

/* rest - no worker is awake, and no work is pending. A node that lies in an inbox then belongs to a
 * thread that is still pushing, and has not woken the worker yet. */
static void rest(void)
{
	unsigned lie = 0;

	ghost.rests++;
	for (unsigned i = 0; i < sched->workers; i++) {
		const struct coroi_worker *w = world_worker(i);
		/* a close with cancel queues something, and claims w afterwards */
		if (has_queued(w) && !scenario->stops)
			ex_fail("a rest, and w%u has something to run", i);
		if (w->outside)
			ex_fail("a rest, and coroutines of w%u wait for descriptors", i);
		/* a run that begins claims w afterwards */
		lie += scenario->paused ? 0 : nodes(w->inbox);
	}
	if (lie > ghost.pushing)
		ex_fail("a rest, and %u lie in inboxes that %u are pushing", lie, ghost.pushing);
}

static void inside(unsigned id)
{
	if (ghost.owner_in[id] && ghost.thief_in[id])
		ex_fail("two are inside the door of w%u", id);
}

static void saw_req(struct coroi_worker *w, enum ex_op op, uint32_t before, uint32_t after)
{
	unsigned me = ex_self() + 1;
	bool owner = coroi_worker_tls == w;

	if (owner && after == COROI_DOOR_FREE && (op == EX_LOAD ? w->busy != 0 : op == EX_STORE)) {
		if (ghost.owner_in[w->id] && ghost.owner_in[w->id] != me)
			ex_fail("two owners are inside the door of w%u", w->id);
		if (w->lent && ghost.owner[w->id] != me)
			ex_fail("w%u is lent to one, and another is inside as the owner", w->id);
		ghost.owner_in[w->id] = ghost.owner[w->id] = me;
		inside(w->id);
	}
	if (op == EX_LOAD)
		return;
	if (!owner && COROI_DOOR_WHAT(after) == COROI_DOOR_LOCK &&
	    COROI_DOOR_WHAT(before) != COROI_DOOR_LOCK) {
		if (ghost.thief_in[w->id])
			ex_fail("two thieves are inside the door of w%u", w->id);
		ghost.thief_in[w->id] = me;
		inside(w->id);
	} else if (COROI_DOOR_WHAT(after) != COROI_DOOR_LOCK && ghost.thief_in[w->id]) {
		if (ghost.thief_in[w->id] != me)
			ex_fail("w%u's door is opened by a thread that is not inside", w->id);
		ghost.thief_in[w->id] = 0;
	}
}

static struct coroi_worker *worker_of(const void *p)
{
	return world_worker((unsigned)(((const char *)p - (const char *)sched->worker) /
				       sizeof *sched->worker));
}

static void saw(enum ex_op op, const void *p, uint64_t before, uint64_t after)
{
	ghost.last[ex_self()] = p;
	if (p == &sched->activity) {
		if (op == EX_RMW && before >> 16 != 0 && after >> 16 == 0)
			rest();
		return;
	}
	if ((const char *)p < (const char *)sched->worker ||
	    (const char *)p >= (const char *)(sched->worker + sched->workers))
		return;
	struct coroi_worker *w = worker_of(p);
	if (p == &w->req)
		saw_req(w, op, (uint32_t)before, (uint32_t)after);
	else if (p == &w->busy && op != EX_LOAD && after == 0)
		ghost.owner_in[w->id] = 0;
}

/* All words of workers that steal from each other are shared, except for the counters: a thief
 * reads some words by plain loads, inside the door. */
static bool shared(const void *p)
{
	if (sched->workers < 2 || (const char *)p < (const char *)sched->worker ||
	    (const char *)p >= (const char *)(sched->worker + sched->workers))
		return false;
	const struct coroi_worker *w = worker_of(p);
	return p != &w->spawned && p != &w->ended &&
	       (size_t)((const char *)p - (const char *)&w->count) >= sizeof w->count;
}

static void waits(void)
{
	struct coroi_worker *w = coroi_worker_tls;
	if (!w || !w->busy)
		return;
	const void *last = ghost.last[ex_self()];
	for (unsigned i = 0; i < sched->workers; i++) {
		const struct coroi_worker *v = world_worker(i);
		if (v == w && last == &w->req)
			ex_fail("w%u waits for its door, and is busy", w->id);
		if (v != w && (last == &v->req || last == &v->busy))
			ex_fail("w%u waits for w%u's door, inside its own", w->id, v->id);
	}
}

/* ------------------------------------------------------------------------------- at the end */

static uint8_t seen_free[COROI_CHUNK_RECORDS];

static void count_mag(const struct coroi_mag *m, uint64_t *n)
{
	for (uint32_t i = 0; m && i < m->count; i++) {
		const struct coroi_rec *r = m->rec[i];
		uint32_t at = coroi_index(r) & (COROI_CHUNK_RECORDS - 1);
		if (seen_free[at])
			ex_fail("record %u is free twice", at);
		seen_free[at] = 1;
		if (r->state != COROI_FREE)
			ex_fail("record %u is free, and its state is %u", at, r->state);
		if (r->wake & (COROI_ESCAPED | COROI_WAKE_MASK))
			ex_fail("record %u is free, and its wake word is 0x%llx", at,
				(unsigned long long)r->wake);
		++*n;
	}
}

static void count_list(const struct coroi_mag *m, uint64_t *n)
{
	for (; m; m = (const struct coroi_mag *)(uintptr_t)m->next)
		count_mag(m, n);
}

static void count_mags(const struct coroi_mags *m, uint64_t *n)
{
	count_mag(m->loaded, n);
	count_mag(m->other, n);
}

static uint64_t used;

static void count_used(struct coroi_rec *r, void *ctx)
{
	(void)ctx;
	if (!seen_free[coroi_index(r) & (COROI_CHUNK_RECORDS - 1)]) {
		used++;
		if (r->state == COROI_FREE)
			ex_fail("record %u is lost", coroi_index(r));
	}
}

static void check_records(void)
{
	uint64_t n = 0;

	memset(seen_free, 0, records + 1);
	for (unsigned i = 0; i < sched->workers; i++)
		count_mags(&world_worker(i)->mags, &n);
	count_mags(&sched->outside.mags, &n);
	count_list(sched->slab.full, &n);
	used = 0;
	coroi_slab_each(&sched->slab, count_used, NULL);
	EX_CHECK(sched->slab.records == records);
	EX_CHECK(used + n == records);
}

static void check(const struct ex_scenario *s)
{
	for (unsigned i = 0; i < s->workers; i++) {
		struct coroi_worker *w = world_worker(i);
		if (w->busy || w->req)
			ex_fail("the door of w%u is not closed: busy %u, req 0x%x", i, w->busy,
				w->req);
		if (!(s->raw >> i & 1) && (has_queued(w) || (w->inbox && !s->paused && !s->stops)))
			ex_fail("a lost wake-up: all wait, and w%u has something to run", i);
	}
	if (!s->raw && !s->stops) {
		EX_CHECK(sched->activity == 0);
		/* two that count at once may count one */
		EX_CHECK(sched->rests <= ghost.rests);
	}
	s->check();
	/* a stopped worker takes no remote wakes: a record that is a node stays one */
	if (!s->stops)
		check_records();
}

/* ------------------------------------------------------------------------------------ names */

static bool named(const void *p, const void *at, size_t bytes)
{
	return (const char *)p >= (const char *)at && (const char *)p < (const char *)at + bytes;
}

static const char *in_worker(const struct coroi_worker *w, const void *p)
{
#define W(field)                                  \
	if (named(p, &w->field, sizeof w->field)) \
	return #field
	W(busy);
	W(req);
	W(inbox);
	W(ev);
	W(next);
	W(steal_buf.count);
	W(undelivered.first);
	W(handovers.n);
	W(queue.head);
	W(queue.count);
	W(queue.spill.count);
	W(forks.head);
	W(forks.tail);
	W(nowait);
	W(awaiting_stack.count);
	W(spawned);
	W(ended);
	W(count.parks);
	W(count.remote_wakes);
	W(count.steals);
	W(count.stolen);
	W(count.served);
	W(count.forced);
#undef W
	return "?";
}

static const char *in_scheduler(const void *p)
{
#define SCHED(field)                                      \
	if (named(p, &sched->field, sizeof sched->field)) \
	return #field
#define BORDER(field)                                                                 \
	if (named(p, &coroi_border(sched)->field, sizeof coroi_border(sched)->field)) \
	return #field
	SCHED(activity);
	SCHED(sleepers);
	SCHED(hungry);
	SCHED(standby);
	SCHED(mode);
	SCHED(rests);
	SCHED(rests_told);
	SCHED(rest_waiters);
	SCHED(awaiting_stack);
	SCHED(slab.lock);
	SCHED(slab.granted);
	SCHED(slab.capacity);
	SCHED(slab.wanted);
	SCHED(stacks.lock);
	SCHED(rest_watchers);
	BORDER(bell.go_sleeps);
	BORDER(bell.done);
#undef SCHED
#undef BORDER
	return NULL;
}

static void name(const void *p, char *out, size_t bytes)
{
	const char *s = in_scheduler(p);

	if (s) {
		snprintf(out, bytes, "%s", s);
		return;
	}
	for (unsigned i = 0; i < sched->workers; i++) {
		if (named(p, world_worker(i), sizeof *world_worker(i))) {
			snprintf(out, bytes, "w%u.%s", i, in_worker(world_worker(i), p));
			return;
		}
	}
	struct coroi_rec *r = (struct coroi_rec *)((uintptr_t)p & ~(uintptr_t)63);
	if (coroi_chunk_dir[0] && named(p, coroi_chunk_dir[0], COROI_CHUNK_BYTES / 2)) {
		const char *field = p == &r->wake    ? "wake"
				    : p == &r->home  ? "home"
				    : p == &r->state ? "state"
						     : "?";
		if (p == &coroi_chunk_of(r)->owner)
			field = "owner";
		snprintf(out, bytes, "r%u.%s", coroi_index(r), field);
	} else if (coroi_chunk_dir[0] && named(p, coroi_chunk_dir[0], COROI_CHUNK_BYTES)) {
		r = (struct coroi_rec *)((uintptr_t)r - COROI_CHUNK_BYTES / 2);
		snprintf(out, bytes, "r%u.%s", coroi_index(r),
			 p == &coroi_cold(r)->join ? "join" : "?");
	} else {
		snprintf(out, bytes, "%p", p);
	}
}

static void **own(unsigned i)
{
	switch (i) {
	case 0:
		return (void **)&coroi_worker_tls;
	case 1:
		return (void **)&coroi_waker_tls;
	default:
		return (void **)&coroi_scheduled_tls;
	}
}

const struct ex_world ex_world = {
	.own = own,
	.setup = setup,
	.restore = restore,
	.check = check,
	.saw = saw,
	.shared = shared,
	.waits = waits,
	.name = name,
	.memory = memory,
	.own_stack = world_stack,
	.stacks = world_stacks,
	.scenarios = {scenarios_door,  scenarios_idle,  scenarios_run,       scenarios_batch,
		      scenarios_wait,  scenarios_call,  scenarios_credit,    scenarios_lend,
		      scenarios_lent,  scenarios_fd,    scenarios_fd_select, scenarios_stream,
		      scenarios_set,   scenarios_host,  scenarios_box,       scenarios_home,
		      scenarios_ask,   scenarios_later, scenarios_many,      scenarios_fork,
		      scenarios_buffer},
};
