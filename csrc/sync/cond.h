/* cond.h - conditions: what Go calls. */
#ifndef COROI_COND_H
#define COROI_COND_H

#include "sync/object.h"

/* coroi_cond_wait_gowaiter - coro_cond_wait by the owner `owner`, for which g waits. It does not
 * lock the mutex again. */
int coroi_cond_wait_gowaiter(coro_cond *c, coro_mutex *m, uint64_t owner, struct coroi_gowaiter *g);

#endif
