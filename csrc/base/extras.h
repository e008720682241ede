/*
 * extras.h - what a coroutine may own besides its stack: deferred functions and an arena, of either
 * layer.
 */
#ifndef COROI_EXTRAS_H
#define COROI_EXTRAS_H

#include <stddef.h>

/* Their first word is for timer.h, which has no other place then. */
struct coroi_extras;
struct coroi_rec;

/* Each makes *e at the first use. NULL or CORO_ENOMEM: no memory, nothing changed. */
void *coroi_extras_malloc(struct coroi_extras **e, size_t bytes);
int coroi_extras_defer(struct coroi_extras **e, void (*fn)(void *), void *arg);

/* coroi_extras_text - where a text from coroi_alloc may hang, to be freed with the rest. NULL: no
 * memory. */
char **coroi_extras_text(struct coroi_extras **e);

/* coroi_extras_of - where those of a scheduled coroutine hang, with their first block; only it, or
 * its end, may ask. NULL: no memory, nothing changed. */
struct coroi_extras **coroi_extras_of(struct coroi_rec *me);

/* coroi_extras_run - run the deferred functions, last first (they may defer more), then free it
 * all. NULL is allowed. */
void coroi_extras_run(struct coroi_extras *e);

#endif
