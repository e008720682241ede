/*
 * extras.h - what a coroutine of any layer may own besides its stack: deferred functions, an arena,
 * and the text of a failed call into Go.
 */
#ifndef COROI_EXTRAS_H
#define COROI_EXTRAS_H

#include <stdbool.h>
#include <stddef.h>

/* The first word is timer.h's: a record with extras has no other place for its tick. */
struct coroi_extras;

/* coroi_extras_make - *e, made if it is NULL. False: no memory. */
bool coroi_extras_make(struct coroi_extras **e);

/* coroi_extras_malloc - bytes, aligned to 16, until coroi_extras_run. coroi_extras_defer - have
 * fn(arg) called by coroi_extras_run. Both make *e at the first use. NULL or CORO_ENOMEM: no
 * memory, nothing changed. */
void *coroi_extras_malloc(struct coroi_extras **e, size_t bytes);
int coroi_extras_defer(struct coroi_extras **e, void (*fn)(void *), void *arg);

/* coroi_extras_text - the place for a text from coroi_alloc, which is freed with the rest. NULL: no
 * memory. */
char **coroi_extras_text(struct coroi_extras **e);

/* coroi_extras_run - run the deferred functions, last first (they may defer more), then free it
 * all. NULL is allowed. */
void coroi_extras_run(struct coroi_extras *e);

#endif
