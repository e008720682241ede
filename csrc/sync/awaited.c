//go:build ignore
/* awaited.c - see awaited.h. */
#include "sync/awaited.h"

#include "base/current.h"

#define GROUPS 1024 /* a power of two */
#define NOTES  2    /* of a group: with its link they fill a line */

/* A note. owner 0: none. o and kind are written after the owner, and read before it is erased. */
struct note {
	uint64_t owner; /* atomic; AWT1 is the swap of 0 for an owner */
	uint64_t o;     /* atomic; 0: AWT1 or AWT3 is under way, in the lock's own lock */
	const struct coroi_awaited_kind *kind;
};

/* Notes whose owners have the same hash. Groups that were needed once stay. */
struct group {
	struct note note[NOTES];
	struct group *more; /* atomic */
	uint64_t unused;
};
_Static_assert(sizeof(struct group) == COROI_LINE, "it is one cache line");

static struct group table[GROUPS] __attribute__((aligned(COROI_LINE)));
static struct coroi_spin ends;

static struct group *group_of(uint64_t owner)
{
	/* the place: records that lie side by side have groups side by side */
	return &table[owner >> COROI_NAME_SHIFT >> 6 & (GROUPS - 1)];
}

static inline bool is_coroutine(uint64_t owner)
{
	return owner && !(owner & COROI_OWNER_KIND);
}

/* find - the note of that owner and lock (0: of any, also one that is being written or erased).
 * Sequentially consistent loads of the owner: AWT2. */
static struct note *find(uint64_t owner, uint64_t o)
{
	for (struct group *g = group_of(owner); g; g = at_load_acq(&g->more))
		for (unsigned i = 0; i < NOTES; i++) {
			struct note *n = &g->note[i];
			if (at_load_seq(&n->owner) == owner && (!o || at_load_rlx(&n->o) == o))
				return n;
		}
	return NULL;
}

/* next_group - the one behind g, which is made if there is none. NULL: no memory. */
static COROI_COLD struct group *next_group(struct group *g)
{
	struct group *more = at_load_acq(&g->more), *fresh;

	if (more || !(fresh = coroi_alloc(sizeof *fresh, COROI_LINE)))
		return more;
	/* a release: the zeros are seen */
	if (at_cas(&g->more, &more, fresh))
		return fresh;
	coroi_release(fresh);
	return more;
}

/* write_note - AWT1: note o under its owner. False: no memory. */
static bool write_note(struct coroi_object *o, const struct coroi_awaited_kind *kind,
		       uint64_t owner)
{
	for (struct group *g = group_of(owner); g; g = next_group(g))
		for (unsigned i = 0; i < NOTES; i++) {
			struct note *n = &g->note[i];
			uint64_t none = 0;
			/* relaxed: a hint. The swap is an acquire: the last user is through */
			if (at_load_rlx(&n->owner) || !at_cas(&n->owner, &none, owner))
				continue;
			n->kind = kind;
			at_store_rel(&n->o, (uintptr_t)o);
			return true;
		}
	return false;
}

static void erase(struct note *n)
{
	at_store_rlx(&n->o, 0);
	at_store_rel(&n->owner, 0); /* pairs with the swap of write_note */
}

bool coroi_awaited(struct coroi_object *o, const struct coroi_awaited_kind *kind, uint64_t owner)
{
	if (!is_coroutine(owner))
		return true;
	if (!find(owner, (uintptr_t)o))
		(void)write_note(o, kind, owner);
	if (coroi_likely(!coroi_owner_has_ended(owner)))
		return true;
	coroi_awaited_drop(o, owner);
	return false;
}

void coroi_awaited_no_more(struct coroi_object *o, uint64_t owner)
{
	struct note *n = is_coroutine(owner) ? find(owner, (uintptr_t)o) : NULL;

	if (n)
		erase(n);
}

COROI_COLD void coroi_awaited_drop(struct coroi_object *o, uint64_t owner)
{
	coroi_spin_lock(&ends);
	coroi_awaited_no_more(o, owner);
	coroi_spin_unlock(&ends);
}

/* ------------------------------------------------------------------------------------- the end */

static bool owns_awaited(uint64_t owner)
{
	return find(owner, 0) != NULL;
}

/* try_enter - coroi_object_enter, by the native stack of the worker that the owner has ended on. A
 * bound lock is bound to that worker. */
static bool try_enter(struct coroi_object *o)
{
	uint32_t free = 0;

	return o->home || at_cas(&o->lock.word, &free, 1); /* as coroi_spin_lock */
}

/* tell_one - AWT4. False: there is no note of the owner. */
static bool tell_one(uint64_t owner)
{
	coroi_spin_lock(&ends);
	struct note *n = find(owner, 0);
	/* an acquire, pairs with write_note: its kind is seen */
	struct coroi_object *o = n ? (struct coroi_object *)(uintptr_t)at_load_acq(&n->o) : NULL;

	if (!o || !try_enter(o)) {
		coroi_spin_unlock(&ends);
		return n != NULL;
	}
	const struct coroi_awaited_kind *kind = n->kind;
	erase(n);
	coroi_spin_unlock(&ends);
	kind->inherit(o);
	return true;
}

static void tell(struct coroi_worker *w, void *owner)
{
	(void)w;
	for (int pause = COROI_SPIN_PAUSE; tell_one((uintptr_t)owner);) {
		uint32_t never = 0;
		/* a holder of the lock may be preempted in it */
		if (pause > COROI_LOCK_SPINS)
			coroi_futex_wait(&never, 0, COROI_SPIN_NAP_NS);
		else
			pause++;
		at_relax();
	}
}

__attribute__((constructor)) static void awaited_register(void)
{
	coroi_owners = (struct coroi_owners){.owes = owns_awaited, .tell = tell};
}
