/* cond.h - conditions: the calls for Go. */
#ifndef COROI_COND_H
#define COROI_COND_H

#include "sync/object.h"

/* coroi_cond_wait_gowaiter - coro_cond_wait by owner, for which g waits. The mutex is not
 * locked again. */
int coroi_cond_wait_gowaiter(coro_cond *c, coro_mutex *m, uint64_t owner, struct coroi_gowaiter *g);

#endif
