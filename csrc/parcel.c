//go:build cgo && linux
/* parcel.c - see parcel.h. The spare ones lie with the slab, under its lock. */
#include "parcel.h"

#define SETTLE_EVERY 8 /* parcels a worker has done with before it takes the lock */

uint32_t coroi_parcel_open(struct coroi_slab *s, struct coroi_parcel **out, uint32_t want)
{
	struct coroi_mag *mag[COROI_PARCELS_AT_ONCE];
	uint32_t n = 0, spare = 0;

	coroi_lock(&s->lock);
	while (n < want && (mag[n] = coroi_slab_open_locked(s)))
		n++;
	for (; spare < n && s->parcels; spare++) {
		out[spare] = s->parcels;
		s->parcels = (struct coroi_parcel *)(uintptr_t)s->parcels->next;
	}
	coroi_unlock(&s->lock);
	for (; spare < n && (out[spare] = coroi_alloc(sizeof **out, COROI_LINE)); spare++)
		;
	for (; n > spare; n--)
		coroi_slab_shut(s, mag[n - 1]);
	for (uint32_t i = 0; i < n; i++) {
		out[i]->mag = mag[i];
		out[i]->count = 0;
		out[i]->most = mag[i]->count;
	}
	return n;
}

void coroi_parcel_drop(struct coroi_slab *s, struct coroi_parcel *x)
{
	coroi_slab_shut(s, x->mag);
	coroi_lock(&s->lock);
	x->next = (uintptr_t)s->parcels;
	s->parcels = x;
	coroi_unlock(&s->lock);
}

void coroi_parcel_done(struct coroi_mags *m, struct coroi_parcel *x)
{
	struct coroi_mag **list = x->count < x->mag->count ? &m->back : &m->spare;

	x->mag->count -= x->count;
	x->mag->next = (uintptr_t)*list;
	*list = x->mag;
	x->next = (uintptr_t)m->parcels;
	m->parcels = x;
	if (!m->parcels_last)
		m->parcels_last = x;
	if (++m->owed >= SETTLE_EVERY)
		coroi_mags_settle(m);
}

void coroi_mags_settle(struct coroi_mags *m)
{
	if (!m->owed)
		return;
	coroi_lock(&m->slab->lock);
	coroi_slab_give_locked(m->slab, m->back);
	coroi_slab_give_locked(m->slab, m->spare);
	m->slab->users -= m->owed;
	m->parcels_last->next = (uintptr_t)m->slab->parcels;
	m->slab->parcels = m->parcels;
	coroi_unlock(&m->slab->lock);
	m->back = m->spare = NULL;
	m->parcels = m->parcels_last = NULL;
	m->owed = 0;
}

size_t coroi_parcels_trim(struct coroi_slab *s)
{
	size_t bytes = 0;

	coroi_lock(&s->lock);
	struct coroi_parcel *list = s->parcels;
	s->parcels = NULL;
	coroi_unlock(&s->lock);
	for (struct coroi_parcel *next; list; list = next) {
		next = (struct coroi_parcel *)(uintptr_t)list->next;
		coroi_release(list);
		bytes += sizeof *list;
	}
	return bytes;
}
