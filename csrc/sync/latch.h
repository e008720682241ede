/* latch.h - latches: the calls for Go. */
#ifndef COROI_LATCH_H
#define COROI_LATCH_H

#include "sync/object.h"

/* coroi_latch_wait_gowaiter - coro_latch_wait, for which g waits. g may be NULL. */
int coroi_latch_wait_gowaiter(coro_latch *l, struct coroi_gowaiter *g);

int coroi_latch_add_leaf(coro_latch *l, const int64_t *n);
int coroi_latch_wait_leaf(coro_latch *l, void *unused);

#endif
