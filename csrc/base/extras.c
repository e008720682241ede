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

/* A mark is on the list of what is deferred, and has no function. The arena gives its memory. */
struct coro_mark {
	struct coroi_deferred deferred;
	bool runs; /* what was deferred since runs: the mark is to stay meanwhile */
	/* the arena before there was the mark */
	struct coroi_block *blocks;
	char *at, *end;
};

_Static_assert(offsetof(struct coro_mark, deferred) == 0, "one is taken for the other");
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

struct coro_mark *coroi_extras_mark(struct coroi_extras **e)
{
	struct coroi_extras *x = make(e);
	if (!x)
		return NULL;
	struct coro_mark before = {{.next = x->deferred}, false, x->blocks, x->at, x->end};
	struct coro_mark *m = coroi_extras_malloc(e, sizeof *m);
	if (!m)
		return NULL;
	*m = before;
	x->deferred = &m->deferred;
	return m;
}

static struct coro_mark *mark_of(struct coroi_deferred *d)
{
	return d->fn ? NULL : (struct coro_mark *)d;
}

/* find_mark - CORO_OK: mark is on the list, and no mark whose functions run would go with it. */
static int find_mark(const struct coroi_extras *e, const struct coro_mark *mark)
{
	for (struct coroi_deferred *d = e ? e->deferred : NULL; d; d = d->next) {
		const struct coro_mark *m = mark_of(d);
		if (m && m->runs)
			return CORO_EBUSY;
		if (m && m == mark)
			return CORO_OK;
	}
	return CORO_EINVAL;
}

/* release_blocks - those that are newer than `first`. */
static void release_blocks(struct coroi_extras *e, const struct coroi_block *first)
{
	for (struct coroi_block *b; (b = e->blocks) != first;) {
		e->blocks = b->next;
		coroi_release(b);
	}
}

/* run_until - run what is deferred, last first, until `last` is the last one. */
static void run_until(struct coroi_extras *e, const struct coroi_deferred *last)
{
	for (struct coroi_deferred *d; (d = e->deferred) != last;) {
		e->deferred = d->next;
		if (d->fn) /* else a mark that nobody has run to */
			d->fn(d->arg);
	}
}

int coroi_extras_run_to(struct coroi_extras *e, struct coro_mark *mark)
{
	int status = find_mark(e, mark);

	if (status < 0)
		return status;
	mark->runs = true;
	run_until(e, &mark->deferred);
	struct coro_mark before = *mark; /* which lies in what is released, or told free */
	e->deferred = before.deferred.next;
	release_blocks(e, before.blocks);
	e->at = before.at;
	e->end = before.end;
	coroi_tell_kept(e->at, (size_t)(e->end - e->at));
	return CORO_OK;
}

int coroi_extras_disarm(struct coroi_extras *e, void (*fn)(void *), void *arg)
{
	if (!e)
		return CORO_EINVAL;
	for (struct coroi_deferred **d = &e->deferred; *d; d = &(*d)->next)
		if ((*d)->fn == fn && (*d)->arg == arg) {
			*d = (*d)->next;
			return CORO_OK;
		}
	return CORO_EINVAL;
}

void coroi_extras_run(struct coroi_extras *e)
{
	if (e)
		run_until(e, NULL);
}

static void release_shields(struct coroi_shield *s)
{
	for (struct coroi_shield *outer; s; s = outer) {
		outer = s->outer;
		coroi_release(s);
	}
}

void coroi_extras_free(struct coroi_extras *e)
{
	if (!e)
		return;
	release_blocks(e, NULL);
	release_shields(e->shield);
	release_shields(e->spare);
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
