//go:build ignore
/* mags.c - what one user of a slab has in hand: two magazines, and credit. See slab.h. */
#include "kernel/slab.h"

/* is_wanted - relaxed: a user that is collected after this look hears of it then. */
static bool is_wanted(const struct coroi_slab *s)
{
	return at_load_rlx(&s->wanted) != COROI_UNWANTED;
}

uint32_t coroi_slab_at_once(const struct coroi_slab *s)
{
	return is_wanted(s) ? 1 : COROI_CREDIT;
}

/* keep - have that much in hand, or less; none if it is wanted. The rest goes back. */
static void keep(struct coroi_mags *m, uint32_t most)
{
	bool lean = is_wanted(m->slab);
	uint32_t have = m->credit & ~COROI_LEAN, kept = lean ? 0 : have < most ? have : most;

	m->credit = kept | (lean ? COROI_LEAN : 0);
	coroi_slab_refund(m->slab, have - kept);
}

COROI_COLD bool coroi_mags_borrow(struct coroi_mags *m)
{
	uint32_t n = coroi_slab_at_once(m->slab);

	m->credit = n == 1 ? COROI_LEAN : 0;
	n = coroi_slab_grant(m->slab, n);
	m->credit |= n;
	return n != 0;
}

COROI_COLD void coroi_mags_repay(struct coroi_mags *m)
{
	keep(m, COROI_CREDIT);
}

COROI_COLD void coroi_mags_keep_one(struct coroi_mags *m)
{
	keep(m, 1);
}

void coroi_mags_surrender(struct coroi_mags *m)
{
	keep(m, 0);
}

void coroi_mags_flush(struct coroi_mags *m)
{
	coroi_mags_surrender(m);
	if (m->loaded->count)
		m->loaded = coroi_slab_trade_empty(m->slab, m->loaded);
	if (m->other->count)
		m->other = coroi_slab_trade_empty(m->slab, m->other);
}

static void swap(struct coroi_mags *m)
{
	struct coroi_mag *t = m->loaded;
	m->loaded = m->other;
	m->other = t;
}

COROI_NOINLINE struct coroi_rec *coroi_mags_load(struct coroi_mags *m)
{
	if (m->other->count) {
		swap(m);
	} else {
		struct coroi_mag *full = coroi_slab_trade_full(m->slab, m->loaded);
		if (!full)
			return NULL;
		m->loaded = full;
	}
	return m->loaded->rec[--m->loaded->count];
}

COROI_NOINLINE void coroi_mags_unload(struct coroi_mags *m, struct coroi_rec *r)
{
	if (m->other->count == 0) {
		swap(m);
	} else {
		m->loaded = coroi_slab_trade_empty(m->slab, m->loaded);
	}
	m->loaded->rec[m->loaded->count++] = r;
}
