/* sem.h - semaphores: the calls for Go. */
#ifndef COROI_SEM_H
#define COROI_SEM_H

#include "sync/object.h"

/* coroi_sem_acquire_gowaiter - coro_sem_acquire, for which g waits. */
int coroi_sem_acquire_gowaiter(coro_sem *s, struct coroi_gowaiter *g);

int coroi_sem_acquire_leaf(coro_sem *s, void *unused);
int coroi_sem_release_leaf(coro_sem *s, void *unused); /* of one permit */

#endif
