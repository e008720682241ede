/*
 * file.h - reading and writing files, which are always "ready" and then wait for a disk. What the
 * page cache has, or takes, is read and written at once (RWF_NOWAIT). For all else a thread of the
 * pool makes the call (blocking.h).
 */
#ifndef COROI_FILE_H
#define COROI_FILE_H

#include "io/fd.h"

/* Buffers in one system call, at most (IOV_MAX). */
#define COROI_IOV_MOST 1024

/* coroi_file_transfer - read or write n buffers of the file of p, which the current coroutine has
 * entered. offset: below 0, at the file's own position. Blocking: see coro_pread. Returns: the
 * number of bytes, or a status. */
int64_t coroi_file_transfer(struct coroi_slot *p, coro_fd f, bool writes, const struct iovec *v,
			    int n, int64_t offset);

#endif
