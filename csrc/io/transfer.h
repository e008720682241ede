/*
 * transfer.h - a call on a descriptor: FDC1 to FDC7 of fd.h around a system call that does not
 * block.
 */
#ifndef COROI_TRANSFER_H
#define COROI_TRANSFER_H

#include "base/sysio.h"
#include "io/fd.h"

struct coroi_io;

/* What a public call does. */
struct coroi_io_kind {
	/* FDC3, the system call. Returns: its result, or -errno; -EAGAIN: wait for the direction */
	int64_t (*call)(const struct coroi_slot *p, int fd, const struct coroi_io *io);
	const char *name; /* of the public call */
	bool empties;     /* a read: a result that is short has emptied a stream socket */
};

/* A call on a descriptor, small: it lies on the stack of a coroutine that waits. */
struct coroi_io {
	const struct coroi_io_kind *kind;
	const struct iovec *v; /* n buffers, which are read or written; or NULL */
	int n, flags;
	union {
		struct iovec one; /* the only buffer: there v may point */
		struct {
			void *more; /* what else the call needs */
			socklen_t length;
		};
	};
};

static inline bool coroi_is_socket(const struct coroi_slot *p)
{
	return p->kind == COROI_KIND_STREAM || p->kind == COROI_KIND_SOCKET;
}

/* coroi_transfer - FDC1 to FDC7. use: COROI_FD_IN_USE or COROI_FD_OUT_USE. Returns: what
 * io->kind->call has returned, or a status below 0. */
int64_t coroi_transfer(coro_fd f, uint64_t use, uint64_t deadline, const struct coroi_io *io);

/* coroi_call_read - FDC3 of coro_read, for `call`. */
int64_t coroi_call_read(const struct coroi_slot *p, int fd, const struct coroi_io *io);

#endif
