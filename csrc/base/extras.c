//go:build ignore
/* extras.c - see extras.h. */
#include "base/extras.h"

#include "coro.h"
#include "base/sys.h"

#include <stdint.h>

#define BLOCK ((size_t)1024)
#define ALIGN ((size_t)16)

struct block {
	struct block *next;
};

struct deferred {
	struct deferred *next;
	void (*fn)(void *);
	void *arg;
};

/* Stands at the start of the first block. */
struct coroi_extras {
	uint64_t tick;        /* see timer.h */
	struct block *blocks; /* the later ones */
	struct deferred *deferred;
	char *at, *end; /* free bytes of the newest block */
	char *text;
};

_Static_assert(offsetof(struct coroi_extras, tick) == 0, "where timer.h has it");

#define ROUND(n) (((n) + ALIGN - 1) & ~(ALIGN - 1))

static struct coroi_extras *make(struct coroi_extras **e)
{
	if (*e)
		return *e;
	struct coroi_extras *x = coroi_alloc(BLOCK, ALIGN);
	if (!x)
		return NULL;
	x->at = (char *)x + ROUND(sizeof *x);
	x->end = (char *)x + BLOCK;
	return *e = x;
}

bool coroi_extras_make(struct coroi_extras **e)
{
	return make(e) != NULL;
}

void *coroi_extras_malloc(struct coroi_extras **e, size_t bytes)
{
	struct coroi_extras *x = make(e);

	if (!x || bytes > SIZE_MAX / 2)
		return NULL;
	bytes = ROUND(bytes ? bytes : 1);
	if ((size_t)(x->end - x->at) < bytes) {
		/* A large request gets a block of its own; the rest of the present block stays in
		 * use. */
		size_t head = ROUND(sizeof(struct block));
		bool large = bytes > BLOCK / 4;
		size_t total = large ? head + bytes : BLOCK;
		struct block *b = coroi_alloc(total, ALIGN);
		if (!b)
			return NULL;
		b->next = x->blocks;
		x->blocks = b;
		if (large)
			return (char *)b + head;
		x->at = (char *)b + head;
		x->end = (char *)b + total;
	}
	void *p = x->at;
	x->at += bytes;
	return p;
}

int coroi_extras_defer(struct coroi_extras **e, void (*fn)(void *), void *arg)
{
	struct deferred *d = coroi_extras_malloc(e, sizeof *d);
	if (!d)
		return CORO_ENOMEM;
	d->fn = fn;
	d->arg = arg;
	d->next = (*e)->deferred;
	(*e)->deferred = d;
	return CORO_OK;
}

char **coroi_extras_text(struct coroi_extras **e)
{
	struct coroi_extras *x = make(e);
	return x ? &x->text : NULL;
}

void coroi_extras_run(struct coroi_extras *e)
{
	if (!e)
		return;
	for (struct deferred *d; (d = e->deferred);) {
		e->deferred = d->next;
		d->fn(d->arg);
	}
	for (struct block *b = e->blocks, *next; b; b = next) {
		next = b->next;
		coroi_release(b);
	}
	coroi_release(e->text);
	coroi_release(e);
}
