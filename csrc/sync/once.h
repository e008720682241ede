/* once.h - work that is done once: the calls for Go. */
#ifndef COROI_ONCE_H
#define COROI_ONCE_H

#include "sync/object.h"

/* Go finds the state at this offset. COROI_ONCE_DONE: it is done. */
#define COROI_ONCE_STATE 32
#define COROI_ONCE_DONE  2

/* coroi_once_begin_gowaiter, coroi_once_end - coro_once_do in two parts. Begin returns CORO_OK: it
 * is done; COROI_YOURS: owner is to do it, and then to call end; CORO_EDEADLK: owner is doing it;
 * COROI_WAITS. g may be NULL. */
int coroi_once_begin_gowaiter(coro_once *o, uint64_t owner, struct coroi_gowaiter *g);
void coroi_once_end(coro_once *o);

#endif
