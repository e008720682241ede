/* once.h - what is done once: what Go calls. */
#ifndef COROI_ONCE_H
#define COROI_ONCE_H

#include "sync/object.h"

/* Where Go finds the state, and what that is when it is done. */
#define COROI_ONCE_STATE 32
#define COROI_ONCE_DONE  2

/* coroi_once_begin_gowaiter, coroi_once_end - coro_once_do in two parts. Begin: CORO_OK: it is
 * done; COROI_YOURS: the goroutine owner is to do it, and then to call end; CORO_EDEADLK: it is
 * doing it. g may be NULL. */
int coroi_once_begin_gowaiter(coro_once *o, uint64_t owner, struct coroi_gowaiter *g);
void coroi_once_end(coro_once *o);

#endif
