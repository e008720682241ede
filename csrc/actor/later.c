//go:build ignore
/*
 * later.c - messages that are sent later.
 *
 * They lie in a heap, by the time when they are due, with one coroutine that sleeps until the first
 * is: the clock. It is spawned with the first message, and ends when there is none. So a message
 * that is to be sent is work, as the clock lives.
 *
 * A message for an actor that ends is a dead letter at once, and no work any more. So the messages
 * are also in a table by their actors. An actor's end looks into it only if there is any message:
 *
 *   LTR1  the sender, in the lock of the clock: put the message into heap and table, and count it:
 *         an addition. Then look at the actor's box, a load in the order of the additions. The
 *         actor has ended: take the message back, and refuse
 *   LTR2  the end, after END1, an exchange: load the count, in the same order. It is not 0: take
 *         the actor's messages, in the lock
 *
 *   LTR3  who takes a message back, in the lock: it is there, by its number, and the actor's box is
 *         LIVE, so that what the handle names is memory of this clock: END1 comes before that is
 *         freed, which takes the lock
 *
 * One of the two sees the other: either the count of LTR1 comes before the load of LTR2, or END1
 * before the look of LTR1. If both do, the lock says which takes the message.
 */
#include "actor/actors.h"

#include "base/fault.h"
#include "base/sys.h"

#include <string.h>

/* A message that is to be sent later. */
struct coroi_later {
	struct coroi_later *next, *prev; /* in its list of the table; or next of the spare ones */
	uint64_t number;                 /* in the order in which they came */
	coro_actor to;
	struct coro_message *m; /* NULL: it is spare */
	uint32_t at;            /* in the heap */
};

struct coroi_due {
	uint64_t due; /* ns */
	struct coroi_later *x;
};

struct coroi_later_list {
	struct coroi_later *first, *last;
};

/* Memory for `most` messages, as many as there were before. */
struct coroi_later_chunk {
	struct coroi_later_chunk *next;
	struct coroi_later x[];
};

static bool is_before(const struct coroi_due *x, const struct coroi_due *y)
{
	return x->due != y->due ? x->due < y->due : x->x->number < y->x->number;
}

static struct coroi_later_list *list_of(const struct coroi_clock *k, coro_actor to)
{
	return &k->table[(to * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (k->most - 1)];
}

static void add_spare(struct coroi_clock *k, struct coroi_later *x)
{
	x->next = k->spare;
	k->spare = x;
}

/* later_move - move all into another table, which is larger. The messages for one actor were in one
 * list, and keep their order. */
static void later_move(struct coroi_clock *k, struct coroi_later_list *table, uint32_t most)
{
	struct coroi_later_list *before = k->table;
	uint32_t n = k->most;
	struct coroi_later *x;

	k->table = table;
	k->most = most;
	for (uint32_t i = 0; i < n; i++)
		while ((x = before[i].first)) {
			coroi_dlist_remove_first(&before[i], x);
			coroi_dlist_add(list_of(k, x->to), x);
		}
	coroi_release(before);
}

/* later_room - there is room for one more. */
static bool later_room(struct coroi_clock *k)
{
	uint32_t n = at_load_rlx(&k->n), more = k->most ? k->most : COROI_LATER_FIRST;
	uint32_t most = k->most + more;

	if (n < k->most)
		return true;
	struct coroi_due *heap = coroi_alloc(most * sizeof *heap, COROI_LINE);
	struct coroi_later_list *table = coroi_alloc(most * sizeof *table, COROI_LINE);
	struct coroi_later_chunk *c = coroi_alloc(sizeof *c + more * sizeof *c->x, COROI_LINE);
	if (!heap || !table || !c) {
		coroi_release(heap);
		coroi_release(table);
		coroi_release(c);
		return false;
	}
	if (n)
		memcpy(heap, k->heap, n * sizeof *heap);
	coroi_release(k->heap);
	k->heap = heap;
	c->next = k->chunks;
	k->chunks = c;
	for (uint32_t i = more; i; i--)
		add_spare(k, &c->x[i - 1]);
	later_move(k, table, most);
	return true;
}

static void heap_set(struct coroi_clock *k, uint32_t i, struct coroi_due d)
{
	k->heap[i] = d;
	d.x->at = i;
}

/* heap_put - d belongs to the place i, which is free, or above it, or below. */
static void heap_put(struct coroi_clock *k, uint32_t i, struct coroi_due d)
{
	uint32_t n = at_load_rlx(&k->n), child;

	for (; i && is_before(&d, &k->heap[(i - 1) / 2]); i = (i - 1) / 2)
		heap_set(k, i, k->heap[(i - 1) / 2]);
	while ((child = 2 * i + 1) < n) {
		if (child + 1 < n && is_before(&k->heap[child + 1], &k->heap[child]))
			child++;
		if (!is_before(&k->heap[child], &d))
			break;
		heap_set(k, i, k->heap[child]);
		i = child;
	}
	heap_set(k, i, d);
}

/* later_put - there is room. The addition is that of LTR1. */
static struct coroi_later *later_put(struct coroi_clock *k, coro_actor to, struct coro_message *m,
				     uint64_t due)
{
	struct coroi_later *x = k->spare;

	k->spare = x->next;
	x->number = k->number++;
	x->to = to;
	x->m = m;
	coroi_dlist_add(list_of(k, to), x);
	heap_put(k, at_add(&k->n, 1) - 1, (struct coroi_due){due, x});
	return x;
}

/* later_take - x leaves. Returns: its message. */
static struct coro_message *later_take(struct coroi_clock *k, struct coroi_later *x)
{
	uint32_t n = at_load_rlx(&k->n) - 1;
	struct coroi_due last = k->heap[n];

	at_store_rlx(&k->n, n);
	if (last.x != x)
		heap_put(k, x->at, last);
	coroi_dlist_remove(list_of(k, x->to), x);
	add_spare(k, x);
	struct coro_message *m = x->m;
	x->m = NULL;
	return m;
}

/* A message that is due. */
struct delivery {
	coro_actor to;
	struct coro_message *m;
};

/* deliver - on a worker. */
static void deliver(struct coroi_actors *all, const struct delivery *x)
{
	struct coroi_place *a = coroi_place_of(x->to);
	int status;

	while ((status = coroi_post(all, a, x->to, x->m)) == CORO_ENOMEM)
		if (coro_yield()) /* others end meanwhile */
			break;
	if (status)
		coroi_bury(all, coroi_hand_of(coroi_here()), x->to, x->m, CORO_DEAD_STOPPED);
}

/* next_due - take what is due now. Returns: false: nothing is; *until: when the next is, or 0:
 * there is none, and the clock ends. */
static bool next_due(struct coroi_clock *k, struct delivery *out, uint64_t *until)
{
	uint64_t now = coroi_now_ns();

	coroi_lock(&k->lock);
	bool due = at_load_rlx(&k->n) && k->heap[0].due <= now;
	if (due) {
		out->to = k->heap[0].x->to;
		out->m = later_take(k, k->heap[0].x);
	}
	*until = at_load_rlx(&k->n) ? k->heap[0].due : 0;
	if (!due && !*until) {
		k->runs = false;
		k->handle = 0;
	}
	coroi_unlock(&k->lock);
	return due;
}

static void clock_body(void *arg, void *result)
{
	struct coroi_actors *all;
	struct delivery x;
	uint64_t until;

	(void)result;
	memcpy(&all, arg, sizeof all);
	struct coroi_clock *k = &all->clock;
	coro_handle self = coro_self();
	coroi_lock(&k->lock);
	k->handle = self;
	coroi_unlock(&k->lock);
	for (;;) {
		while (next_due(k, &x, &until))
			deliver(all, &x);
		if (!until || coro_park_until(until) == CORO_ECANCELED)
			return; /* what is left is buried by the close */
	}
}

/* start_clock - in the lock, which it takes first. */
static int start_clock(struct coroi_actors *all)
{
	static const char name[] = "coro: sends messages later";
	const coro_attr anywhere = {.size = sizeof anywhere, .worker = CORO_ANYWHERE};

	coroi_fault_name((uintptr_t)clock_body, name, sizeof name);
	return coroi_hand_here(all)
		       ? coro_spawn_attr(&anywhere, clock_body, &all, sizeof all, NULL)
		       : coro_scheduler_spawn(all->sched, NULL, clock_body, &all, sizeof all, NULL);
}

/* later_accept - LTR1, in the lock. */
static int later_accept(struct coroi_actors *all, const struct coroi_place *a, coro_actor to,
			uint64_t due, struct coro_message *m, coro_later *out)
{
	struct coroi_clock *k = &all->clock;

	if (!later_room(k))
		return CORO_ENOMEM;
	struct coroi_later *x = later_put(k, to, m, due);
	int status = coroi_box_takes(at_load_seq(&a->box), to) ? CORO_OK : CORO_ESTALE;
	if (!status && !k->runs) /* then nothing else is there */
		status = start_clock(all);
	if (status)
		(void)later_take(k, x);
	else
		k->runs = true;
	if (!status && out)
		*out = (coro_later){to, {(uintptr_t)x, x->number}};
	return status;
}

static int send_later(struct coroi_actors *all, const struct coroi_place *a, coro_actor to,
		      uint64_t due, struct coro_message *m, coro_later *out)
{
	struct coroi_clock *k = &all->clock;

	coroi_lock(&k->lock);
	int status = later_accept(all, a, to, due, m, out);
	/* one that is not the first changes nothing for the clock */
	coro_handle wakes = !status && k->heap[0].x->m == m ? k->handle : 0;
	coroi_unlock(&k->lock);
	if (wakes)
		(void)coro_wake(wakes); /* if it has ended meanwhile, it has looked */
	return status;
}

COROI_COLD struct coro_message *coroi_later_end(struct coroi_actors *all, coro_actor to)
{
	struct coroi_clock *k = &all->clock;
	struct coro_message *first = NULL, **link = &first;

	coroi_lock(&k->lock); /* LTR2 */
	bool any = at_load_rlx(&k->n) > 0;
	for (struct coroi_later *x = any ? list_of(k, to)->first : NULL, *next; x; x = next) {
		next = x->next;
		if (x->to != to)
			continue;
		*link = later_take(k, x);
		link = &(*link)->next_;
	}
	*link = NULL;
	/* nothing is left for it: the clock ends, and not when the first would have been due */
	coro_handle wakes = any && !at_load_rlx(&k->n) ? k->handle : 0;
	coroi_unlock(&k->lock);
	if (wakes)
		(void)coro_wake(wakes);
	return first;
}

int coro_actor_send_after(coro_actor to, uint64_t ns, uint32_t kind, const void *payload,
			  size_t bytes, coro_later *out)
{
	struct coroi_place *a = coroi_place_of(to);
	uint64_t now = coroi_now_ns();
	struct coroi_visit v;

	if (kind >= CORO_MESSAGE_SYSTEM || bytes > CORO_MESSAGE_BYTES || (bytes && !payload))
		return CORO_EINVAL;
	int status = a ? coroi_visit_begin(&v, a, to) : CORO_ESTALE;
	if (status)
		return status;
	struct coro_message *m = NULL;
	status = CORO_ESTALE;
	if (coroi_box_takes(coroi_box_look(&a->box), to)) {
		m = coroi_visit_get(&v);
		status = CORO_ENOMEM;
	}
	if (m) {
		uint64_t due = ns < CORO_FOREVER - now ? now + ns : CORO_FOREVER - 1;
		status = coroi_write_for(v.all, a, to, m, kind, 0, payload, bytes);
		if (!status) {
			coroi_visit_count(&v, 1);
			if ((status = send_later(v.all, a, to, due, m, out)))
				coroi_visit_count(&v, -1u);
		}
		if (status) {
			coroi_carry_back(m);
			coroi_visit_put(&v, m);
		}
	}
	coroi_visit_end(&v);
	return status;
}

/* later_take_back - LTR3. Returns: the message; NULL: it is there no more. */
static struct coro_message *later_take_back(struct coroi_clock *k, const struct coroi_place *a,
					    const coro_later *later)
{
	struct coroi_later *x = (struct coroi_later *)(uintptr_t)later->words_[0];
	struct coro_message *m = NULL;
	coro_handle wakes = 0;

	coroi_lock(&k->lock);
	if (coroi_box_takes(at_load_seq(&a->box), later->to_) && x->m &&
	    x->number == later->words_[1]) {
		m = later_take(k, x);
		wakes = at_load_rlx(&k->n) ? 0 : k->handle; /* the clock ends */
	}
	coroi_unlock(&k->lock);
	if (wakes)
		(void)coro_wake(wakes);
	return m;
}

int coro_actor_take_back(const coro_later *later)
{
	struct coroi_place *a = later ? coroi_place_of(later->to_) : NULL;
	struct coroi_visit v;

	if (!later)
		return CORO_EINVAL;
	int status = a ? coroi_visit_begin(&v, a, later->to_) : CORO_ESTALE;
	if (status)
		return status;
	struct coro_message *m = later_take_back(&v.all->clock, a, later);
	if (m) {
		at_add(&v.all->taken_back, 1);
		coroi_carry_back(m);
		coroi_drop(a, m);
		coroi_visit_put(&v, m);
	}
	coroi_visit_end(&v);
	return m ? CORO_OK : CORO_ESTALE;
}

void coroi_clock_close(struct coroi_actors *all)
{
	struct coroi_clock *k = &all->clock;

	coroi_lock(&k->lock);
	uint32_t n = at_load_rlx(&k->n);
	struct coroi_due *heap = k->heap;
	struct coroi_later_chunk *chunks = k->chunks;
	coroi_release(k->table);
	at_store_rlx(&k->n, 0);
	k->most = 0;
	k->heap = NULL;
	k->table = NULL;
	k->spare = NULL;
	k->chunks = NULL;
	coroi_unlock(&k->lock);
	for (uint32_t i = 0; i < n; i++)
		coroi_bury(all, NULL, heap[i].x->to, heap[i].x->m, CORO_DEAD_CLOSED);
	coroi_release(heap);
	for (struct coroi_later_chunk *next; chunks; chunks = next) {
		next = chunks->next;
		coroi_release(chunks);
	}
}
