//go:build ignore
/* actors.c - see actors.h: places and messages. */
#include "actor/actors.h"

#include "base/sys.h"

#include <string.h>

_Static_assert(sizeof(struct coro_message) == 64, "a cache line");

struct coroi_places *coroi_places_dir[COROI_PLACES_CHUNKS];
static struct coroi_lock places_lock; /* of what follows, and of writes to the directory */
static struct coroi_places *places_spare;
static uint32_t places_count;

/* --------------------------------------------------------------------------------------- places */

/* places_take - one more chunk for `all`, in its lock. */
static bool places_take(struct coroi_actors *all)
{
	coroi_lock(&places_lock);
	struct coroi_places *chunk = places_spare;
	if (chunk) {
		places_spare = chunk->next;
	} else if (places_count < COROI_PLACES_CHUNKS) {
		chunk = coroi_map(COROI_PLACES_BYTES, COROI_PLACES_BYTES, "coro: actors");
		if (chunk) {
			chunk->id = places_count++;
			chunk->carved = 1;
		}
	}
	if (chunk) {
		chunk->next = all->chunks;
		all->chunks = chunk;
		at_store_rel(&chunk->owner, all);
		at_store_rel(&coroi_places_dir[chunk->id], chunk); /* pairs with coroi_place_of */
	}
	coroi_unlock(&places_lock);
	return chunk != NULL;
}

void coroi_place_put(struct coroi_actors *all, struct coroi_place *a)
{
	at_store_rlx(&a->state, (uintptr_t)all->free);
	all->free = a;
}

/* places_free_all - put the places of a chunk that were used before into the list of `all`. */
static void places_free_all(struct coroi_actors *all, struct coroi_places *chunk)
{
	struct coroi_place *place = (struct coroi_place *)(void *)chunk;

	for (uint32_t i = chunk->carved; i-- > 1;) {
		if (at_load_rlx(&place[i].box)) /* else it is retired */
			coroi_place_put(all, &place[i]);
	}
}

struct coroi_place *coroi_place_get(struct coroi_actors *all)
{
	while (!all->free && (!all->chunks || all->chunks->carved == COROI_PLACES)) {
		if (!places_take(all))
			return NULL;
		places_free_all(all, all->chunks);
	}
	struct coroi_place *a = all->free;
	if (a) {
		all->free = (struct coroi_place *)(uintptr_t)at_load_rlx(&a->state);
		return a;
	}
	uint32_t i = all->chunks->carved;
	at_store_own(&all->chunks->carved, i + 1);
	return (struct coroi_place *)(void *)all->chunks + i;
}

void coroi_place_free(struct coroi_actors *all, struct coroi_place *a)
{
	coroi_lock(&all->lock);
	all->live--;
	if (at_load_rlx(&a->box))
		coroi_place_put(all, a);
	else
		all->retired++;
	coroi_unlock(&all->lock);
}

void coroi_places_give_back(struct coroi_actors *all)
{
	coroi_lock(&places_lock);
	for (struct coroi_places *chunk = all->chunks; chunk;) {
		struct coroi_places *next = chunk->next;
		at_store_rel(&chunk->owner, NULL);
		chunk->next = places_spare;
		places_spare = chunk;
		chunk = next;
	}
	coroi_unlock(&places_lock);
}

int coroi_check_kind(const coro_actor_kind *kind)
{
	return kind && (!kind->size || kind->size == sizeof *kind) && kind->behave &&
			       kind->batch <= COROI_HAND && kind->room <= CORO_ROOM_MAX &&
			       !(kind->flags & ~CORO_ACTOR_BRIEF) &&
			       !(kind->buffers >> CORO_CARRY_BYTES / 8) &&
			       !(kind->answer_buffers >> CORO_MESSAGE_BYTES / 8) &&
			       (!kind->idle || kind->idle >= CORO_IDLE_MIN)
		       ? CORO_OK
		       : CORO_EINVAL;
}

/* ------------------------------------------------------------------------------------- messages */

/* carve - a magazine of new messages, in the lock. NULL: the limit, or no memory. */
static struct coroi_magazine *carve(struct coroi_actors *all)
{
	enum {
		FOR_MAGAZINE = (sizeof(struct coroi_magazine) + sizeof *all->carve - 1) /
			       sizeof *all->carve
	};

	if (all->carve_end - all->carve < (ptrdiff_t)(FOR_MAGAZINE + COROI_HAND)) {
		if (all->limit && all->bytes + COROI_MESSAGES_BYTES > all->limit)
			return NULL;
		struct coro_message *m = coroi_map(COROI_MESSAGES_BYTES, coroi_page(),
						   "coro: messages");
		if (!m)
			return NULL;
		all->bytes += COROI_MESSAGES_BYTES;
		m->next_ = all->mapped; /* the first is lost to the link of the chunks */
		all->mapped = m;
		all->carve = m + 1;
		all->carve_end = m + COROI_MESSAGES_BYTES / sizeof *m;
	}
	struct coroi_magazine *full = (struct coroi_magazine *)(void *)all->carve;
	all->carve += FOR_MAGAZINE;
	for (uint32_t i = 0; i < COROI_HAND; i++)
		full->m[i] = all->carve++;
	return full;
}

COROI_COLD bool coroi_hand_refill(struct coroi_hand *h)
{
	struct coroi_actors *all = h->actors;

	coroi_lock(&all->messages);
	struct coroi_magazine *from = all->full;
	if (from)
		all->full = from->next;
	else
		from = carve(all);
	if (from) {
		memcpy(h->spare, from->m, sizeof from->m);
		h->count = COROI_HAND;
		from->next = all->empty;
		all->empty = from;
	}
	coroi_unlock(&all->messages);
	return from != NULL;
}

COROI_NOINLINE void coroi_hand_trade(struct coroi_hand *h)
{
	struct coroi_actors *all = h->actors;

	h->count -= COROI_HAND;
	coroi_lock(&all->messages);
	struct coroi_magazine *to = all->empty; /* there is one: where these messages came from */
	all->empty = to->next;
	memcpy(to->m, &h->spare[h->count], sizeof to->m);
	to->next = all->full;
	all->full = to;
	coroi_unlock(&all->messages);
}

struct coroi_hand_lock coroi_hand_locks[COROI_HANDS_OUTSIDE];

void coroi_messages_free(struct coroi_actors *all)
{
	for (struct coro_message *m = all->mapped; m;) {
		struct coro_message *next = m->next_;
		coroi_unmap(m, COROI_MESSAGES_BYTES);
		m = next;
	}
}
