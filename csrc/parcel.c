//go:build cgo && linux
/* parcel.c - see parcel.h. */
#include "parcel.h"

void coroi_parcels_destroy(struct coroi_parcels *p)
{
	for (struct coroi_parcel *x = p->idle, *next; x; x = next) {
		next = (struct coroi_parcel *)(uintptr_t)x->next;
		coroi_release(x);
	}
}

static void keep(struct coroi_parcels *p, struct coroi_parcel *x)
{
	coroi_lock(&p->lock);
	x->next = (uintptr_t)p->idle;
	p->idle = x;
	coroi_unlock(&p->lock);
}

struct coroi_parcel *coroi_parcel_open(struct coroi_parcels *p, struct coroi_slab *s)
{
	coroi_lock(&p->lock);
	struct coroi_parcel *x = p->idle;
	if (x)
		p->idle = (struct coroi_parcel *)(uintptr_t)x->next;
	coroi_unlock(&p->lock);
	if (!x)
		x = coroi_alloc(sizeof *x, COROI_LINE);
	if (!x)
		return NULL;
	x->mag = coroi_slab_open(s);
	if (!x->mag) {
		keep(p, x);
		return NULL;
	}
	x->count = 0;
	x->most = x->mag->count;
	return x;
}

void coroi_parcel_close(struct coroi_parcels *p, struct coroi_slab *s, struct coroi_parcel *x)
{
	x->mag->count -= x->count;
	coroi_slab_shut(s, x->mag);
	keep(p, x);
}
