//go:build ignore
/*
 * later.c - messages that are sent later.
 *
 * They lie in a heap, by the time when they are due, with one coroutine that sleeps until the first
 * is: the clock. It is spawned with the first message, and ends when there is none. So a message
 * that is to be sent is work, as the clock lives.
 */
#include "actor/actors.h"

#include "base/fault.h"
#include "base/sys.h"

#include <string.h>

#define LATER_FIRST 64u /* messages that there is room for at first; doubled */

static bool is_before(const struct coroi_later *x, const struct coroi_later *y)
{
	return x->due != y->due ? x->due < y->due : x->number < y->number;
}

/* later_room - there is room for one more. */
static bool later_room(struct coroi_clock *k)
{
	if (k->n < k->most)
		return true;
	uint32_t most = k->most ? k->most * 2 : LATER_FIRST;
	struct coroi_later *heap = coroi_alloc(most * sizeof *heap, COROI_LINE);
	if (!heap)
		return false;
	if (k->n)
		memcpy(heap, k->heap, k->n * sizeof *heap);
	coroi_release(k->heap);
	k->heap = heap;
	k->most = most;
	return true;
}

static void later_put(struct coroi_clock *k, struct coroi_later x)
{
	uint32_t i = k->n++;

	for (; i && is_before(&x, &k->heap[(i - 1) / 2]); i = (i - 1) / 2)
		k->heap[i] = k->heap[(i - 1) / 2];
	k->heap[i] = x;
}

/* later_take - the first. There is one. */
static struct coroi_later later_take(struct coroi_clock *k)
{
	struct coroi_later first = k->heap[0], last = k->heap[--k->n];
	uint32_t i = 0, child;

	while ((child = 2 * i + 1) < k->n) {
		if (child + 1 < k->n && is_before(&k->heap[child + 1], &k->heap[child]))
			child++;
		if (!is_before(&k->heap[child], &last))
			break;
		k->heap[i] = k->heap[child];
		i = child;
	}
	k->heap[i] = last;
	return first;
}

/* deliver - on a worker. */
static void deliver(struct coroi_actors *all, const struct coroi_later *x)
{
	struct coroi_place *a = coroi_place_of(x->to);
	int status;

	while ((status = coroi_post(all, a, x->to, x->m)) == CORO_ENOMEM)
		if (coro_yield()) /* others end meanwhile */
			break;
	if (status)
		coroi_bury(all, coroi_room(coroi_here()), x->to, x->m, CORO_DEAD_STOPPED);
}

/* next_due - take what is due now. Returns: false: nothing is; *until: when the next is, or 0:
 * there is none, and the clock ends. */
static bool next_due(struct coroi_clock *k, struct coroi_later *out, uint64_t *until)
{
	uint64_t now = coroi_now_ns();

	coroi_lock(&k->lock);
	bool due = k->n && k->heap[0].due <= now;
	if (due)
		*out = later_take(k);
	*until = k->n ? k->heap[0].due : 0;
	if (!due && !k->n) {
		k->runs = false;
		k->handle = 0;
	}
	coroi_unlock(&k->lock);
	return due;
}

static void clock_body(void *arg, void *result)
{
	struct coroi_actors *all;
	struct coroi_later x;
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

static int send_later(struct coroi_actors *all, coro_actor to, uint64_t due, struct coro_message *m)
{
	struct coroi_clock *k = &all->clock;
	int status = CORO_OK;

	coroi_lock(&k->lock);
	if (!later_room(k))
		status = CORO_ENOMEM;
	else if (!k->runs) /* then nothing else is there */
		status = start_clock(all);
	coro_handle wakes = 0;
	if (!status) {
		k->runs = true;
		later_put(k, (struct coroi_later){due, k->number++, to, m});
		wakes = k->heap[0].m == m ? k->handle : 0;
	}
	coroi_unlock(&k->lock);
	if (wakes)
		(void)coro_wake(wakes); /* if it has ended meanwhile, it has looked */
	return status;
}

int coro_actor_send_after(coro_actor to, uint64_t ns, uint32_t kind, const void *payload,
			  size_t bytes)
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
		coroi_write(m, kind, 0, payload, bytes);
		coroi_visit_count(&v, 1);
		status = send_later(v.all, to,
				    ns < CORO_FOREVER - now ? now + ns : CORO_FOREVER - 1, m);
		if (status) {
			coroi_visit_count(&v, -1u);
			coroi_visit_put(&v, m);
		}
	}
	coroi_visit_end(&v);
	return status;
}

void coroi_clock_close(struct coroi_actors *all)
{
	struct coroi_clock *k = &all->clock;

	coroi_lock(&k->lock);
	uint32_t n = k->n;
	struct coroi_later *heap = k->heap;
	k->n = k->most = 0;
	k->heap = NULL;
	coroi_unlock(&k->lock);
	for (uint32_t i = 0; i < n; i++)
		coroi_bury(all, NULL, heap[i].to, heap[i].m, CORO_DEAD_CLOSED);
	coroi_release(heap);
}
