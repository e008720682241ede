//go:build ignore
/* extras.c - see extras.h. */
#include "base/extras.h"

#include "coro.h"
#include "base/sanitize.h"
#include "base/sys.h"

#include <string.h>

#define BLOCK_FIRST ((size_t)256) /* with room for four deferred functions: most have no more */
#define BLOCK       ((size_t)1024)
#define ALIGN       ((size_t)16)

struct coroi_block {
	struct coroi_block *next;
};

struct coroi_deferred {
	struct coroi_deferred *next;
	void (*fn)(void *);
	void *arg;
};

_Static_assert(offsetof(struct coroi_extras, tick) == 0, "where timer.h has it");

#define ROUND(n) (((n) + ALIGN - 1) & ~(ALIGN - 1))

/* make - *e, which stands at the start of its first block. */
static struct coroi_extras *make(struct coroi_extras **e)
{
	if (*e)
		return *e;
	struct coroi_extras *x = coroi_alloc(BLOCK_FIRST, ALIGN);
	if (!x)
		return NULL;
	x->at = (char *)x + ROUND(sizeof *x);
	x->end = (char *)x + BLOCK_FIRST;
	coroi_tell_kept(x->at, (size_t)(x->end - x->at));
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
	size_t asked = bytes;
	bytes = ROUND(bytes ? bytes : 1) + COROI_RED_ZONE;
	if ((size_t)(x->end - x->at) < bytes) {
		/* A large request gets a block of its own; the rest of the present block stays in
		 * use. */
		size_t head = ROUND(sizeof(struct coroi_block));
		bool large = bytes > BLOCK / 4;
		size_t total = large ? head + bytes : BLOCK;
		struct coroi_block *b = coroi_alloc(total, ALIGN);
		if (!b)
			return NULL;
		b->next = x->blocks;
		x->blocks = b;
		coroi_tell_kept((char *)b + head, total - head);
		if (large) {
			coroi_tell_given((char *)b + head, asked);
			return (char *)b + head;
		}
		x->at = (char *)b + head;
		x->end = (char *)b + total;
	}
	void *p = x->at;
	x->at += bytes;
	coroi_tell_given(p, asked);
	return p;
}

int coroi_extras_defer(struct coroi_extras **e, void (*fn)(void *), void *arg)
{
	struct coroi_deferred *d = coroi_extras_malloc(e, sizeof *d);
	if (!d)
		return CORO_ENOMEM;
	d->fn = fn;
	d->arg = arg;
	d->next = (*e)->deferred;
	(*e)->deferred = d;
	return CORO_OK;
}

void coroi_extras_run(struct coroi_extras *e)
{
	if (!e)
		return;
	for (struct coroi_deferred *d; (d = e->deferred);) {
		e->deferred = d->next;
		d->fn(d->arg);
	}
}

void coroi_extras_free(struct coroi_extras *e)
{
	if (!e)
		return;
	for (struct coroi_block *b = e->blocks, *next; b; b = next) {
		next = b->next;
		coroi_release(b);
	}
	coroi_release(e->failure.text);
	coroi_release(e->joined.text);
	coroi_release(e->text);
	coroi_release(e);
}

struct coroi_failure coroi_failure_make(int code, const char *text, size_t bytes)
{
	struct coroi_failure f = {.code = code};

	if (bytes > CORO_FAILURE_BYTES - 1)
		bytes = CORO_FAILURE_BYTES - 1;
	size_t n = text ? strnlen(text, bytes) : 0;
	if (n && (f.text = coroi_alloc(n + 1, sizeof(void *))))
		memcpy(f.text, text, n);
	return f;
}

size_t coroi_text_get(const char *kept, char *text, size_t bytes)
{
	size_t n = kept ? strlen(kept) : 0;

	if (text && bytes) {
		size_t some = n < bytes ? n : bytes - 1;
		if (some)
			memcpy(text, kept, some);
		text[some] = 0;
	}
	return n;
}
