//go:build ignore
/* batch.c - see batch.h. Spare batches lie with the slab, under its lock. */
#include "kernel/batch.h"

#include "kernel/runnable.h"

uint32_t coroi_batch_open(struct coroi_slab *s, struct coroi_batch **out, uint32_t want)
{
	uint32_t n = 0;

	coroi_lock(&s->lock);
	for (; n < want && s->batches; n++) {
		out[n] = s->batches;
		s->batches = (struct coroi_batch *)(uintptr_t)s->batches->next;
	}
	coroi_unlock(&s->lock);
	while (n < want && (out[n] = coroi_alloc(sizeof **out, COROI_LINE)))
		n++;
	for (uint32_t i = 0; i < n; i++) {
		out[i]->taken = 0;
		out[i]->repeat = 0;
		/* Relaxed: no other thread knows the batch yet. */
		at_store_rlx(&out[i]->state, COROI_BATCH_DETACHED);
	}
	return n;
}

void coroi_batch_drop(struct coroi_slab *s, struct coroi_batch *p)
{
	coroi_lock(&s->lock);
	p->next = (uintptr_t)s->batches;
	s->batches = p;
	coroi_unlock(&s->lock);
}

void coroi_batch_close(struct coroi_slab *s, struct coroi_batch *p)
{
	if (at_add(&p->state, COROI_BATCH_CLOSED) & COROI_BATCH_DETACHED)
		coroi_batch_drop(s, p);
}

uint64_t coroi_batch_left(const struct coroi_batch *p)
{
	uint32_t have = at_load_acq(&p->state) & COROI_BATCH_COUNT;
	uint64_t n = 0;

	for (uint32_t at = p->taken; at < have; n++) {
		unsigned words = coroi_runnable_words(p->words[at]);
		at += 1 + (words == COROI_RECORD ? 0 : words);
	}
	return n && p->repeat ? p->repeat : n;
}

size_t coroi_batches_trim(struct coroi_slab *s)
{
	size_t bytes = 0;

	coroi_lock(&s->lock);
	struct coroi_batch *list = s->batches;
	s->batches = NULL;
	coroi_unlock(&s->lock);
	for (struct coroi_batch *next; list; list = next) {
		next = (struct coroi_batch *)(uintptr_t)list->next;
		coroi_release(list);
		bytes += sizeof *list;
	}
	return bytes;
}
