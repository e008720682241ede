/*
 * s_batch.c - scenarios of batches that stay open: a sender, which takes the steps BTS1 to BTS4 of
 * batch.h as internal/core/submit.go does, and workers.
 */
#include "world.h"

#define SPAWNS  3
#define ROOM    2 /* spawns of a batch; the sender closes the last batch when it is done */
#define BATCHES 2

static struct {
	unsigned ran[SPAWNS], next;
	struct coroi_batch *open;
	uint32_t used;
} g;

static void leaf(void *arg, void *result)
{
	uint64_t n = *(uint64_t *)arg;

	(void)result;
	g.ran[n]++;
	if (sched->workers == 1)
		EX_CHECK(g.next == n); /* in order */
	g.next++;
}

static bool lies_in(uint64_t list, uint64_t node)
{
	for (; list; list = *coroi_node_link(list))
		if (list == node)
			return true;
	return false;
}

static void push(struct coroi_worker *w, struct coroi_batch *p)
{
	uint64_t node = (uintptr_t)p | COROI_NODE_BATCH;
	if (lies_in(w->inbox, node))
		ex_fail("a batch is pushed twice");
	coroi_inbox_push(w, node);
}

static void send(struct coroi_worker *w, uint64_t n, bool last)
{
	struct coroi_batch *p = g.open;
	uint32_t words = 2, detached = 0;

	p->words[g.used] = coroi_runnable_new(leaf, sched->class, 1, false); /* BTS1 */
	p->words[g.used + 1] = n;
	g.used += words;
	if (last && COROI_MUTANT(CLOSE_APART, true, false)) /* BTS4 */
		words |= COROI_BATCH_CLOSED;
	COROI_MUTANT_ADDS(LOOK_FIRST, coroi_notify_pushed(w);)
	COROI_MUTANT_ADDS(LOOK_THEN_ADD, detached = at_load_seq(&p->state);)
	uint32_t state = at_add(&p->state, words);                                 /* BTS2 */
	if (COROI_MUTANT(LOOK_THEN_ADD, state, detached) & COROI_BATCH_DETACHED) { /* BTS3 */
		COROI_MUTANT_ADDS(PUSH_FIRST, push(w, p);)
		at_add(&p->state, -COROI_BATCH_DETACHED);
		COROI_MUTANT(PUSH_FIRST, push(w, p), (void)0);
	}
	COROI_MUTANT_ADDS(CLOSE_APART, if (last) at_add(&p->state, COROI_BATCH_CLOSED);)
	COROI_MUTANT(LOOK_FIRST, coroi_notify_pushed(w), (void)0);
	if (last)
		g.open = NULL;
}

static void sends(void *arg)
{
	struct coroi_worker *w = world_worker(0);

	(void)arg;
	for (uint64_t n = 0; n < SPAWNS; n++) {
		if (!g.open) {
			EX_CHECK(coroi_batch_open(&sched->slab, &g.open, 1) == 1);
			g.used = 0;
		}
		world_pushing(true);
		send(w, n, n % ROOM == ROOM - 1);
		world_pushing(false);
	}
	if (g.open) { /* BTS4: the sender closes */
		bool ours = at_add(&g.open->state, COROI_BATCH_CLOSED) & COROI_BATCH_DETACHED;
		ex_reached(ours);
		if (COROI_MUTANT(CLOSE_DROPS, COROI_MUTANT(CLOSE_LEAVES, ours, false), true))
			coroi_batch_drop(&sched->slab, g.open);
	}
}

static void setup(void)
{
	struct coroi_batch *p[BATCHES];

	EX_CHECK(coroi_batch_open(&sched->slab, p, BATCHES) == BATCHES);
	for (int i = 0; i < BATCHES; i++)
		coroi_batch_drop(&sched->slab, p[i]);
	EX_CHECK(coroi_slab_grant(&sched->slab, SPAWNS) == SPAWNS);
	world_region(&g, sizeof g);
	ex_thread("send", sends, NULL);
}

static void check(void)
{
	unsigned spare = 0;

	for (unsigned i = 0; i < SPAWNS; i++)
		if (g.ran[i] != 1)
			ex_fail("spawn %u has run %u times", i, g.ran[i]);
	for (struct coroi_batch *p = sched->slab.batches; p;
	     p = (struct coroi_batch *)(uintptr_t)p->next)
		if (++spare > BATCHES)
			ex_fail("a batch is given back twice");
	if (spare != BATCHES)
		ex_fail("of %d batches %u have come back", BATCHES, spare);
}

static const struct ex_scenario batch = {
	.name = "batch",
	.about = "a sender fills batches that stay open; a worker empties them and goes to sleep",
	.setup = setup,
	.check = check,
	.workers = 1,
	.reach = 3,
};

/* The thief steals twice. Each time it empties batches of its victim into the victim's queue, and
 * detaches them. Then it runs what it has got, and goes to sleep. */
static void steals(void *arg)
{
	struct coroi_worker *w = world_worker(1);

	(void)arg;
	world_be(1);
	for (int i = 0; i < 2; i++)
		if (world_steal(w, world_worker(0)))
			ex_reached(2);
	for (uint64_t runnable;;) {
		coroi_door_enter(w);
		if ((runnable = coroi_pick_locked(w))) {
			EX_CHECK(!coroi_runnable_has_record(runnable));
			g.ran[*coroi_deque_popped_arg(&w->queue)]++;
			at_bump_rel(&w->ended);
			coroi_mags_earn(&w->mags);
		}
		coroi_door_leave(w);
		if (!runnable)
			break;
	}
	world_sleep();
}

static void setup_steal(void)
{
	setup();
	ex_thread("thief", steals, NULL);
}

static const struct ex_scenario batch_steal = {
	.name = "batch-steal",
	.about = "batch, and another worker steals",
	.setup = setup_steal,
	.check = check,
	.workers = 2,
	.raw = 2,
	.flags = CORO_NO_STANDBY,
	.reach = 7,
};

const struct ex_scenario *const scenarios_batch[] = {&batch, &batch_steal, NULL};
