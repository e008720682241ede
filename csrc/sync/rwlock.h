/* rwlock.h - reader-writer locks: the calls for Go. */
#ifndef COROI_RWLOCK_H
#define COROI_RWLOCK_H

#include "sync/object.h"

/* coroi_rwlock_lock_gowaiter - coro_rwlock_read, or coro_rwlock_write, by owner, for which g
 * waits. g may be NULL. */
int coroi_rwlock_lock_gowaiter(coro_rwlock *l, bool write, uint64_t owner,
			       struct coroi_gowaiter *g);

/* coroi_rwlock_unlock_as - coro_rwlock_unlock by owner. CORO_EPERM also if the lock is held for
 * reading and write is true, or the other way round. */
int coroi_rwlock_unlock_as(coro_rwlock *l, bool write, uint64_t owner);

/* coroi_rwlock_consistent_as - coro_rwlock_consistent by owner. */
int coroi_rwlock_consistent_as(coro_rwlock *l, uint64_t owner);

/* coroi_rwlock_look - if a writer has ended that held l, those that wait get l. */
void coroi_rwlock_look(coro_rwlock *l);

int coroi_rwlock_read_leaf(coro_rwlock *l, const uint64_t *owner);
int coroi_rwlock_write_leaf(coro_rwlock *l, const uint64_t *owner);
int coroi_rwlock_unread_leaf(coro_rwlock *l, const uint64_t *owner);
int coroi_rwlock_unwrite_leaf(coro_rwlock *l, const uint64_t *owner);

#endif
