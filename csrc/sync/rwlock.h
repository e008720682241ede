/* rwlock.h - reader-writer locks: what Go calls. */
#ifndef COROI_RWLOCK_H
#define COROI_RWLOCK_H

#include "sync/object.h"

/* coroi_rwlock_lock_gowaiter - coro_rwlock_read, or coro_rwlock_write, by the owner `owner`, for
 * which g waits. g may be NULL. */
int coroi_rwlock_lock_gowaiter(coro_rwlock *l, bool write, uint64_t owner,
			       struct coroi_gowaiter *g);

/* coroi_rwlock_unlock_as - coro_rwlock_unlock by the owner `owner`. What was locked for reading is
 * not unlocked for writing, nor the other way round: CORO_EPERM. */
int coroi_rwlock_unlock_as(coro_rwlock *l, bool write, uint64_t owner);

int coroi_rwlock_read_leaf(coro_rwlock *l, const uint64_t *owner);
int coroi_rwlock_write_leaf(coro_rwlock *l, const uint64_t *owner);
int coroi_rwlock_unread_leaf(coro_rwlock *l, const uint64_t *owner);
int coroi_rwlock_unwrite_leaf(coro_rwlock *l, const uint64_t *owner);

#endif
