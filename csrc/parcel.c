//go:build cgo && linux
/* parcel.c - see parcel.h. The spare ones lie with the slab, under its lock. */
#include "parcel.h"

#include "task.h"

uint32_t coroi_parcel_open(struct coroi_slab *s, struct coroi_parcel **out, uint32_t want)
{
	uint32_t n = 0;

	coroi_lock(&s->lock);
	for (; n < want && s->parcels; n++) {
		out[n] = s->parcels;
		s->parcels = (struct coroi_parcel *)(uintptr_t)s->parcels->next;
	}
	coroi_unlock(&s->lock);
	while (n < want && (out[n] = coroi_alloc(sizeof **out, COROI_LINE)))
		n++;
	for (uint32_t i = 0; i < n; i++) {
		out[i]->taken = 0;
		out[i]->repeat = 0;
		at_store_rlx(&out[i]->state, COROI_PARCEL_ADRIFT); /* relaxed: nobody else knows it yet */
	}
	return n;
}

void coroi_parcel_drop(struct coroi_slab *s, struct coroi_parcel *p)
{
	coroi_lock(&s->lock);
	p->next = (uintptr_t)s->parcels;
	s->parcels = p;
	coroi_unlock(&s->lock);
}

uint64_t coroi_parcel_left(const struct coroi_parcel *p)
{
	uint32_t have = at_load_acq(&p->state) & COROI_PARCEL_COUNT;
	uint64_t n = 0;

	for (uint32_t at = p->taken; at < have; n++) {
		unsigned words = coroi_task_words(p->words[at]);
		at += 1 + (words == COROI_RECORD ? 0 : words);
	}
	return n && p->repeat ? p->repeat : n;
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
