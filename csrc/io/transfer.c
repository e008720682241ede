//go:build ignore
/*
 * transfer.c - see transfer.h: FDC2 and FDC3, and the public calls that read, write, accept,
 * connect and wait.
 */
#include "io/transfer.h"

#include "base/sys.h"
#include "io/file.h"

#include <errno.h>
#include <poll.h>

/* ---------------------------------------------------------------------------------- FDC2 and
 * FDC3 */

/* is_useless - the system call would fail with EAGAIN: the last one has emptied the socket, and
 * nothing has come since then. */
static inline bool is_useless(const struct coroi_slot *p, const struct coroi_io *io, uint64_t was)
{
	return io->kind->empties && p->drained && was == COROI_FD_EMPTY && io->v->iov_len &&
	       !at_load_rlx(&p->hung);
}

/* note - whether a read with the result n has emptied the socket. After another call in that
 * direction this is not known: the call may have taken READY at FDC2, and left bytes. */
static inline void note(struct coroi_slot *p, uint64_t use, const struct coroi_io *io, int64_t n)
{
	if (use == COROI_FD_IN_USE)
		p->drained = io->kind->empties && n > 0 && (size_t)n < io->v->iov_len &&
			     p->kind == COROI_KIND_STREAM;
}

#define NOT_NOW CORO_OF_ERRNO(EAGAIN)

/* make_call - FDC3. Returns: the result, or a status; NOT_NOW: wait for the direction. */
static inline int64_t make_call(struct coroi_slot *p, coro_fd f, uint64_t use,
				const struct coroi_io *io)
{
	int64_t n = io->kind->call(p, coroi_fd_number(f), io);

	note(p, use, io, n);
	return coroi_likely(n >= 0) ? n : CORO_OF_ERRNO(-n);
}

/* make_last_call - FDC3 of a call that cannot wait, or no longer, as status says, and has made no
 * system call. */
static COROI_COLD int64_t make_last_call(struct coroi_slot *p, coro_fd f, uint64_t use, int status,
					 const struct coroi_io *io)
{
	int64_t n = make_call(p, f, use, io);

	return n == NOT_NOW ? status : n;
}

/* run - FDC2 to FDC6, on a descriptor that the caller has entered. */
static int64_t run(struct coroi_slot *p, coro_fd f, uint64_t use, uint64_t deadline,
		   const struct coroi_io *io)
{
	uint64_t *direction = coroi_fd_direction(p, use);

	for (;;) {
		uint64_t was = coroi_fd_take_ready(direction); /* FDC2 */
		if (coroi_unlikely(was == COROI_FD_CLOSED))
			return CORO_ECLOSED;
		bool useless = is_useless(p, io, was);
		if (!useless) {
			int64_t n = make_call(p, f, use, io);
			if (n != NOT_NOW)
				return n;
		}
		int status = coroi_fd_await(p, f, use, deadline, io->kind->name); /* FDC4 to FDC6 */
		if (status)
			return useless && (status == CORO_ETIMEDOUT || status == CORO_ENOWAIT)
				       ? make_last_call(p, f, use, status, io)
				       : status;
	}
}

/* begin_call - FDC1. A deadline that is over is looked at here, too: calls that never wait would
 * not come to it. Returns: CORO_OK: f is entered; a status. */
static inline int begin_call(coro_fd f, uint64_t use, uint64_t deadline, struct coroi_slot **p)
{
	struct coroi_worker *w = coroi_here();

	if (coroi_spend_here(w)) {
		coroi_spent(deadline);
		w = coroi_here(); /* it may be another one */
	}
	int status = coroi_fd_enter_here(f, use, p);
	if (coroi_unlikely(!status && coroi_is_over(w, deadline))) {
		coroi_fd_leave(*p, f, use);
		status = CORO_ETIMEDOUT;
	}
	return status;
}

/* A file, which is always ready, is read or written. */
int64_t coroi_transfer(coro_fd f, uint64_t use, uint64_t deadline, const struct coroi_io *io)
{
	struct coroi_slot *p;
	int status = begin_call(f, use, deadline, &p);

	if (coroi_unlikely(status))
		return status;
	int64_t n = coroi_unlikely(p->kind == COROI_KIND_FILE && io->v)
			    ? coroi_file_transfer(p, f, use == COROI_FD_OUT_USE, io->v, io->n, -1)
			    : run(p, f, use, deadline, io);
	coroi_fd_leave(p, f, use);
	return n;
}

/* ---------------------------------------------------------------------------- reading, writing */

/* Of a socket recv(2) is the faster one. But recv(2) of 0 bytes waits, and read(2) does not. */
int64_t coroi_call_read(const struct coroi_slot *p, int fd, const struct coroi_io *io)
{
	return coroi_is_socket(p) && io->v->iov_len
		       ? coroi_sys_recv(fd, io->v->iov_base, io->v->iov_len, 0)
		       : coroi_sys_read(fd, io->v->iov_base, io->v->iov_len);
}

/* send(2) raises no SIGPIPE. */
static int64_t call_write(const struct coroi_slot *p, int fd, const struct coroi_io *io)
{
	return coroi_is_socket(p) ? coroi_sys_send(fd, io->v->iov_base, io->v->iov_len, 0)
				  : coroi_sys_write(fd, io->v->iov_base, io->v->iov_len);
}

int64_t coro_read(coro_fd f, void *buffer, size_t bytes, uint64_t deadline)
{
	static const struct coroi_io_kind read = {
		.call = coroi_call_read, .name = "coro_read", .empties = true};
	struct coroi_io io = {.kind = &read, .v = &io.one, .n = 1, .one = {buffer, bytes}};

	return coroi_transfer(f, COROI_FD_IN_USE, deadline, &io);
}

int64_t coro_write(coro_fd f, const void *buffer, size_t bytes, uint64_t deadline)
{
	static const struct coroi_io_kind write = {.call = call_write, .name = "coro_write"};
	struct coroi_io io = {
		.kind = &write, .v = &io.one, .n = 1, .one = {(void *)(uintptr_t)buffer, bytes}};

	return coroi_transfer(f, COROI_FD_OUT_USE, deadline, &io);
}

static int64_t call_readv(const struct coroi_slot *p, int fd, const struct coroi_io *io)
{
	(void)p;
	return coroi_sys_readv(fd, io->v, io->n);
}

static int64_t call_writev(const struct coroi_slot *p, int fd, const struct coroi_io *io)
{
	struct msghdr m = {.msg_iov = (struct iovec *)(uintptr_t)io->v,
			   .msg_iovlen = (size_t)io->n};

	return coroi_is_socket(p) ? coroi_sys_sendmsg(fd, &m, 0)
				  : coroi_sys_writev(fd, io->v, io->n);
}

int64_t coro_readv(coro_fd f, const struct iovec *v, int n, uint64_t deadline)
{
	static const struct coroi_io_kind readv = {.call = call_readv, .name = "coro_readv"};
	struct coroi_io io = {.kind = &readv, .v = v, .n = n};

	return v && n >= 0 ? coroi_transfer(f, COROI_FD_IN_USE, deadline, &io) : CORO_EINVAL;
}

int64_t coro_writev(coro_fd f, const struct iovec *v, int n, uint64_t deadline)
{
	static const struct coroi_io_kind writev = {.call = call_writev, .name = "coro_writev"};
	struct coroi_io io = {.kind = &writev, .v = v, .n = n};

	return v && n >= 0 ? coroi_transfer(f, COROI_FD_OUT_USE, deadline, &io) : CORO_EINVAL;
}

/* ------------------------------------------------------------------------------ sockets alone */

static int64_t call_recv(const struct coroi_slot *p, int fd, const struct coroi_io *io)
{
	(void)p;
	return coroi_sys_recv(fd, io->one.iov_base, io->one.iov_len, io->flags);
}

static int64_t call_send(const struct coroi_slot *p, int fd, const struct coroi_io *io)
{
	(void)p;
	return coroi_sys_send(fd, io->one.iov_base, io->one.iov_len, io->flags);
}

int64_t coro_recv(coro_fd f, void *buffer, size_t bytes, int flags, uint64_t deadline)
{
	static const struct coroi_io_kind recv = {.call = call_recv, .name = "coro_recv"};
	struct coroi_io io = {.kind = &recv, .one = {buffer, bytes}, .flags = flags};

	return coroi_transfer(f, COROI_FD_IN_USE, deadline, &io);
}

int64_t coro_send(coro_fd f, const void *buffer, size_t bytes, int flags, uint64_t deadline)
{
	static const struct coroi_io_kind send = {.call = call_send, .name = "coro_send"};
	struct coroi_io io = {
		.kind = &send, .one = {(void *)(uintptr_t)buffer, bytes}, .flags = flags};

	return coroi_transfer(f, COROI_FD_OUT_USE, deadline, &io);
}

static int64_t call_recvmsg(const struct coroi_slot *p, int fd, const struct coroi_io *io)
{
	(void)p;
	return coroi_sys_recvmsg(fd, io->more, io->flags);
}

static int64_t call_sendmsg(const struct coroi_slot *p, int fd, const struct coroi_io *io)
{
	(void)p;
	return coroi_sys_sendmsg(fd, io->more, io->flags);
}

int64_t coro_recvmsg(coro_fd f, struct msghdr *m, int flags, uint64_t deadline)
{
	static const struct coroi_io_kind recvmsg = {.call = call_recvmsg, .name = "coro_recvmsg"};
	struct coroi_io io = {.kind = &recvmsg, .more = m, .flags = flags};

	return m ? coroi_transfer(f, COROI_FD_IN_USE, deadline, &io) : CORO_EINVAL;
}

int64_t coro_sendmsg(coro_fd f, const struct msghdr *m, int flags, uint64_t deadline)
{
	static const struct coroi_io_kind sendmsg = {.call = call_sendmsg, .name = "coro_sendmsg"};
	struct coroi_io io = {.kind = &sendmsg, .more = (void *)(uintptr_t)m, .flags = flags};

	return m ? coroi_transfer(f, COROI_FD_OUT_USE, deadline, &io) : CORO_EINVAL;
}

struct from {
	int fd;
	int64_t *offset;
	size_t bytes;
};

static int64_t call_sendfile(const struct coroi_slot *p, int fd, const struct coroi_io *io)
{
	const struct from *from = io->more;
	(void)p;
	return coroi_sys_sendfile(fd, from->fd, from->offset, from->bytes);
}

int64_t coro_sendfile(coro_fd f, int from, int64_t *offset, size_t bytes, uint64_t deadline)
{
	struct from x = {from, offset, bytes};
	static const struct coroi_io_kind sendfile = {.call = call_sendfile,
						      .name = "coro_sendfile"};
	struct coroi_io io = {.kind = &sendfile, .more = &x};

	return coroi_transfer(f, COROI_FD_OUT_USE, deadline, &io);
}

/* ------------------------------------------------------------------------------------ all of it */

/* all - a call again and again, until it has done `bytes`, or returns 0 or an error. */
static int all(coro_fd f, bool writes, unsigned char *buffer, size_t bytes, size_t *done,
	       uint64_t deadline)
{
	size_t n = 0;
	int64_t came = 1;

	while (n < bytes && came > 0) {
		came = writes ? coro_write(f, buffer + n, bytes - n, deadline)
			      : coro_read(f, buffer + n, bytes - n, deadline);
		if (came > 0)
			n += (size_t)came;
	}
	if (done)
		*done = n;
	return came < 0 ? (int)came : CORO_OK;
}

int coro_read_full(coro_fd f, void *buffer, size_t bytes, size_t *got, uint64_t deadline)
{
	return all(f, false, buffer, bytes, got, deadline);
}

int coro_write_all(coro_fd f, const void *buffer, size_t bytes, size_t *put, uint64_t deadline)
{
	return all(f, true, (void *)(uintptr_t)buffer, bytes, put, deadline);
}

int coro_writev_all(coro_fd f, struct iovec *v, int n, size_t *put, uint64_t deadline)
{
	size_t sum = 0;
	int64_t came = v && n >= 0 ? 1 : CORO_EINVAL;

	while (came > 0) {
		for (; n > 0 && !v->iov_len; v++, n--)
			; /* a call of 0 bytes would be the end */
		if (!n)
			break;
		came = coro_writev(f, v, n < COROI_IOV_MOST ? n : COROI_IOV_MOST, deadline);
		size_t left = came > 0 ? (size_t)came : 0;
		sum += left;
		for (; n > 0 && left >= v->iov_len; v++, n--)
			left -= v->iov_len;
		if (left) {
			v->iov_base = (char *)v->iov_base + left;
			v->iov_len -= left;
		}
	}
	if (put)
		*put = sum;
	return came < 0 ? (int)came : CORO_OK;
}

/* --------------------------------------------------------------- connections, and waits alone */

struct accepted {
	struct sockaddr *peer;
	socklen_t room, length; /* for peer, and of it */
	uint8_t kind;           /* of the connection: as the listener's */
};

static int64_t call_accept(const struct coroi_slot *p, int fd, const struct coroi_io *io)
{
	struct accepted *a = io->more;
	int64_t n;

	a->kind = p->kind;
	do { /* a connection that has gone is no error of the listener's */
		a->length = a->room;
		n = coroi_sys_accept(fd, a->peer, a->peer ? &a->length : NULL);
	} while (n == -ECONNABORTED);
	return n;
}

int coro_accept(coro_fd listener, coro_fd *out, struct sockaddr *peer, socklen_t *length,
		uint64_t deadline)
{
	struct accepted a = {.peer = length ? peer : NULL, .room = length ? *length : 0};
	static const struct coroi_io_kind accept = {.call = call_accept, .name = "coro_accept"};
	struct coroi_io io = {.kind = &accept, .more = &a};

	if (!out || a.room > INT32_MAX)
		return CORO_EINVAL;
	int64_t fd = coroi_transfer(listener, COROI_FD_IN_USE, deadline, &io);
	if (fd < 0)
		return (int)fd;
	int status = coroi_fd_adopted(out, (int)fd, a.kind);
	if (status)
		coroi_close((int)fd);
	else if (length)
		*length = a.length;
	return status;
}

#define NO_ROOM               1 /* call_connect: the queue is full of the socket that listens */
#define CONNECT_PAUSE_NS      UINT64_C(1000000)
#define CONNECT_PAUSE_MOST_NS (32 * CONNECT_PAUSE_NS)

/* call_connect - the first call begins, and every other asks what has become of it. */
static int64_t call_connect(const struct coroi_slot *p, int fd, const struct coroi_io *io)
{
	struct coroi_io *own = (struct coroi_io *)(uintptr_t)io;
	int n = coroi_sys_connect(fd, io->more, io->length);
	(void)p;

	if (n == -EAGAIN)
		return NO_ROOM; /* of a Unix socket: nothing has begun */
	if (n == -EISCONN && own->flags)
		return 0;
	own->flags = 1;
	return n == -EINPROGRESS || n == -EALREADY ? -EAGAIN : n;
}

/* pause_connect - no event tells that a Unix socket's queue has room: wait a while, and longer each
 * time. A close of f ends the wait. Returns: CORO_OK: try again; a status. */
static int pause_connect(struct coroi_slot *p, coro_fd f, uint64_t deadline, uint64_t *pause)
{
	uint64_t now = coroi_now_ns();

	if (!deadline)
		return NOT_NOW;
	if (now >= deadline)
		return CORO_ETIMEDOUT;
	uint64_t until = deadline - now < *pause ? deadline : now + *pause;
	*pause = *pause < CONNECT_PAUSE_MOST_NS ? 2 * *pause : CONNECT_PAUSE_MOST_NS;
	int status = coroi_fd_await(p, f, COROI_FD_OUT_USE, until, "coro_connect");
	return status == CORO_ETIMEDOUT ? CORO_OK : status;
}

int coro_connect(coro_fd f, const struct sockaddr *to, socklen_t length, uint64_t deadline)
{
	static const struct coroi_io_kind connect = {.call = call_connect, .name = "coro_connect"};
	struct coroi_io io = {.kind = &connect, .more = (void *)(uintptr_t)to, .length = length};
	uint64_t pause = CONNECT_PAUSE_NS;
	struct coroi_slot *p;
	int64_t n;

	int status = to ? begin_call(f, COROI_FD_OUT_USE, deadline, &p) : CORO_EINVAL;
	if (status)
		return status;
	do
		if ((n = run(p, f, COROI_FD_OUT_USE, deadline, &io)) == NO_ROOM)
			status = pause_connect(p, f, deadline, &pause);
	while (n == NO_ROOM && !status);
	coroi_fd_leave(p, f, COROI_FD_OUT_USE);
	return n == NO_ROOM ? status : (int)n;
}

int coro_shutdown(coro_fd f, int how)
{
	struct coroi_slot *p;
	int status = coroi_fd_enter_here(f, COROI_FD_REFERENCE, &p);

	if (status)
		return status;
	status = coroi_sys_shutdown(coroi_fd_number(f), how);
	coroi_fd_leave(p, f, COROI_FD_REFERENCE);
	return status < 0 ? CORO_OF_ERRNO(-status) : CORO_OK;
}

/* The library's own calls have no order with FDC2. So FDC3 asks the kernel. */
static int64_t call_ready(const struct coroi_slot *p, int fd, const struct coroi_io *io)
{
	int n = coroi_ready(fd, (short)io->flags);
	(void)p;
	return n == 0 ? -EAGAIN : n < 0 ? n : 0;
}

/* call_request - *io->more: nothing has come, and the server ends. */
static int64_t call_request(const struct coroi_slot *p, int fd, const struct coroi_io *io)
{
	bool *ended = io->more, ends = coroi_fd_ends(p);
	int64_t n = call_ready(p, fd, io);

	*ended = ends && n == -EAGAIN;
	return *ended ? 0 : n;
}

int coro_fd_wait(coro_fd f, int direction, uint64_t deadline)
{
	bool ended = false, out = direction == CORO_OUT;
	static const struct coroi_io_kind ready = {.call = call_ready, .name = "coro_fd_wait"},
					  request = {.call = call_request, .name = "coro_fd_wait"};
	struct coroi_io io = {.kind = direction == CORO_REQUEST ? &request : &ready,
			      .flags = out ? POLLOUT : POLLIN | POLLRDHUP,
			      .more = &ended};

	if (!out && direction != CORO_IN && direction != CORO_REQUEST)
		return CORO_EINVAL;
	int status = (int)coroi_transfer(f, out ? COROI_FD_OUT_USE : COROI_FD_IN_USE, deadline,
					 &io);
	return ended ? CORO_ECLOSED : status;
}
