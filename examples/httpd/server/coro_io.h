/*
 * coro_io.h - descriptors for scheduled coroutines: sockets, pipes, terminals, files. It stands
 * beside coro.h, which it includes.
 *
 * A descriptor is adopted first. From then on it is named by a coro_fd. A call that would block
 * suspends the coroutine until the kernel says that the descriptor is ready. The worker runs other
 * coroutines meanwhile, and sleeps in epoll when there are none.
 *
 *   Caller       A scheduled coroutine of the scheduler that has adopted the descriptor. All others
 *                get CORO_EPERM, unless the call says "Thread: any".
 *   Directions   One call at a time reads, and one writes: a second one gets CORO_EBUSY.
 *   Deadlines    Every call that may wait has one: CORO_FOREVER, a time of coro_now, or 0 for "do
 *                not wait", which tries once. A deadline ends a loop of calls that need not wait,
 *                too: once it is over, at most 256 calls of the worker later, a call returns
 *                CORO_ETIMEDOUT without a try.
 *   Cancel       A wait that is canceled, or timed out, has taken nothing.
 *   Fairness     Calls that end at once, over and over, yield after about 20 us, unless the
 *                deadline is 0 or the coroutine is in a no-wait section.
 *   Buffers      They may lie on the coroutine's stack, of a dense coroutine too.
 *   errno, SIGPIPE   The first is not touched, the second is not sent by sockets. A write to a pipe
 *                without a reader sends it, as ever; coro's worker threads block the signal.
 *   Scheduler    A coroutine that waits for a descriptor is work that may come: the end of the
 *                scheduler waits for it, and it is no deadlock. A close of the scheduler closes the
 *                descriptors that are left.
 *   Cost         Some 15 ns beyond the system call. A wait and its event cost some 80 ns beyond
 *                epoll.
 *   Returns      A status below 0 is an error: CORO_ESTALE, the coro_fd was closed or released, or
 *                never was one; CORO_ECLOSED, it was closed during the call; CORO_EBUSY;
 *                CORO_EPERM; CORO_ETIMEDOUT; CORO_ECANCELED; CORO_ENOWAIT; or what a system call
 *                has failed with, which CORO_ERRNO tells. The calls below name only what they
 *                return besides these.
 */
#ifndef CORO_IO_H
#define CORO_IO_H

#include "coro.h"

#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* One adopted descriptor, for as long as it is adopted: generation << 32 | number. 0 is none. */
typedef uint64_t coro_fd;

/* The errno of a status that a system call has failed with; 0: the status is not of that kind.
 * coro_strerror has a text for these, too. */
#define CORO_ERRNO(status)     ((status) <= -4096 ? (int)(-4096 - (status)) : 0)
#define CORO_OF_ERRNO(number_) (-4096 - (number_))

/* Directions. CORO_REQUEST is CORO_IN for what begins a request: a wait ends, too, with
 * CORO_ECLOSED, when nothing has come and the server that has accepted the connection ends
 * (coro_serve). */
enum { CORO_IN = 1, CORO_OUT = 2, CORO_REQUEST = 4 };

/* For adopt: coro_fd_close and the end of the scheduler do not close(2) the descriptor. It is
 * blocking again if it was so before. */
#define CORO_FD_KEEP 1u

/*
 * coro_fd_adopt - make fd the calling coroutine's scheduler's. It becomes non-blocking (O_NONBLOCK,
 * which all duplicates of the descriptor share, also in other processes), and is owned by coro:
 * nothing else reads, writes or closes it. If it was blocking it is so again at its close, its
 * release or the end of s; while another duplicate is adopted, at that one's.
 * coro_scheduler_adopt - the same for the scheduler s. Thread: any.
 *
 * Cost:    three system calls, about 1 us; two more at the end of one that was blocking.
 * Returns: CORO_OK and *out; CORO_EINVAL: out or s is NULL, or flags are unknown; CORO_EBUSY: the
 *          number is adopted already; CORO_ECLOSED: s is closing; CORO_ENOMEM. With any error the
 *          descriptor stays the caller's, and as it was.
 */
int coro_fd_adopt(coro_fd *out, int fd, uint32_t flags);
int coro_scheduler_adopt(coro_scheduler *s, coro_fd *out, int fd, uint32_t flags);

/* coro_fd_release - the descriptor is the caller's again, *fd, and blocking if it was so before.
 * Thread: any. Returns: CORO_OK; CORO_EBUSY while a call uses it. */
int coro_fd_release(coro_fd f, int *fd);

/* coro_fd_close - close it. Calls that wait return CORO_ECLOSED. close(2) is called when the last
 * call has left: before this returns, if there is none. Where something that has come is unread, or
 * comes later, the system resets a TCP connection, and what the peer has not got of the last writes
 * is lost: coro_serve_finish closes without that. Thread: any. Returns: CORO_OK; CORO_ECLOSED:
 * another close is under way. */
int coro_fd_close(coro_fd f);

/* coro_fd_number - its number, for setsockopt(2) and its like. Thread: any. Returns: the number;
 * CORO_ESTALE. */
int coro_fd_number(coro_fd f);

/* coro_fd_wait - wait until a direction is ready, for a library that makes its system calls itself.
 * It may return too early, never too late. A library whose last call has said EAGAIN waits; one
 * that has not tried yet tries first. coro_select waits for several, and for channels. Returns:
 * also CORO_EINVAL. */
int coro_fd_wait(coro_fd f, int direction, uint64_t deadline);

/*
 * coro_read, coro_write and their like - as read(2), write(2), readv(2), writev(2), recv(2),
 * send(2), recvmsg(2) and sendmsg(2). Reading and writing files: a thread of the pool makes the
 * call where the page cache has not what is wanted; a cancel then waits for the call.
 *
 * 0 bytes: coro_read, coro_readv and coro_serve_read return 0 at once, whatever there is to read,
 * and take nothing. coro_recv and coro_recvmsg wait until there is something; of datagrams they
 * take one. All that write send an empty datagram through a socket of datagrams, and nothing
 * otherwise.
 *
 * Returns: the number of bytes; 0: the end of what can be read; below 0: a status.
 */
int64_t coro_read(coro_fd f, void *buffer, size_t bytes, uint64_t deadline);
int64_t coro_write(coro_fd f, const void *buffer, size_t bytes, uint64_t deadline);
int64_t coro_readv(coro_fd f, const struct iovec *v, int n, uint64_t deadline);
int64_t coro_writev(coro_fd f, const struct iovec *v, int n, uint64_t deadline);
int64_t coro_recv(coro_fd f, void *buffer, size_t bytes, int flags, uint64_t deadline);
int64_t coro_send(coro_fd f, const void *buffer, size_t bytes, int flags, uint64_t deadline);
int64_t coro_recvmsg(coro_fd f, struct msghdr *m, int flags, uint64_t deadline);
int64_t coro_sendmsg(coro_fd f, const struct msghdr *m, int flags, uint64_t deadline);

/* coro_sendfile - as sendfile(2), from `from`, a descriptor of the caller's own, to f. A file that
 * is not in the page cache keeps the worker waiting. */
int64_t coro_sendfile(coro_fd f, int from, int64_t *offset, size_t bytes, uint64_t deadline);

/* coro_read_full - read until the buffer is full, or the end comes. *got: how many bytes were read,
 * with an error too. coro_write_all - write all; *put: how many were written. coro_writev_all - the
 * same; the array v is changed. Of 0 bytes they make no call. Returns: CORO_OK, with *got < bytes
 * at the end; a status. */
int coro_read_full(coro_fd f, void *buffer, size_t bytes, size_t *got, uint64_t deadline);
int coro_write_all(coro_fd f, const void *buffer, size_t bytes, size_t *put, uint64_t deadline);
int coro_writev_all(coro_fd f, struct iovec *v, int n, size_t *put, uint64_t deadline);

/* coro_accept - as accept4(2): *out is the connection, adopted. peer and length may be NULL.
 * ECONNABORTED is tried again. Where no descriptor is left (EMFILE, ENFILE) the connection stays in
 * the queue, and the status says so. Returns: also CORO_EINVAL, CORO_ENOMEM. */
int coro_accept(coro_fd listener, coro_fd *out, struct sockaddr *peer, socklen_t *length,
		uint64_t deadline);

/* How to serve. Zero it, then set what is wanted. */
typedef struct coro_serve_options {
	uint32_t size;  /* sizeof(coro_serve_options), or 0 */
	uint32_t limit; /* connections at once; 0: no limit. Others wait in the kernel's queue */
	/* The time that connections have after the end of the listener: ns, or CORO_FOREVER; 0:
	 * 10 s. */
	uint64_t grace;
	/* How long a connection whose function has ended may stay for its peer to get what was
	 * written: ns, or CORO_FOREVER; 0: 2 s; 1: it is half-closed, and closed. */
	uint64_t linger;
} coro_serve_options;

/*
 * coro_serve - accept the connections of a listener, and spawn a coroutine for each, until the
 * listener is closed, by coro_fd_close on any thread. The argument of fn is the connection's
 * coro_fd.
 *
 * attr:    of the coroutines, as of coro_spawn_attr, but without a result; NULL: CORO_ANYWHERE.
 * options: NULL: none of them.
 *
 * Options of sockets: connections of TCP have TCP_NODELAY, and keep-alive: a silent peer is asked
 * after 15 s, and 9 times, 15 s apart. coro_serve sets the options of the listener, and Linux gives
 * them to each connection. fn may set others, with setsockopt(2) and coro_fd_number.
 *
 * The end of a connection: when fn has returned or called coro_exit, its coroutine goes on with
 * coro_serve_finish, with the time to linger for its deadline, unless fn has closed or released the
 * descriptor. The connection counts for the limit as long. When fn calls coro_abort or coro_fail,
 * the descriptor is closed at once, as by coro_fd_close; when its coroutine is canceled, too.
 *
 * The end of the server: connections that wait in coro_serve_read, or with CORO_REQUEST in
 * coro_select or coro_fd_wait, end. Others have the time of grace to answer what has come. Then
 * those whose fn has not ended are closed, and their coroutines canceled. coro_serve waits for the
 * end of all, of those that linger too.
 *
 * Where the system or the scheduler has no room for a connection (EMFILE, ENOMEM and the like) the
 * server tries again after 5 ms, and then after twice the time, up to 1 s, or when a connection has
 * ended.
 *
 * Suspends.
 * Cost:    200 ns for each connection, beyond that of coro_accept and coro_serve_finish.
 * Returns: CORO_ECLOSED: the listener was closed, and all connections have ended; CORO_ECANCELED:
 *          the same, but the connections, which are closed and canceled, may go on for a while;
 *          another: what accept has failed with for good, after such an end. The listener is closed
 *          in all these cases. Nothing was done: CORO_ESTALE, CORO_EPERM, CORO_EINVAL, CORO_ENOMEM,
 *          CORO_ENOWAIT.
 */
int coro_serve(coro_fd listener, const coro_attr *attr, coro_fn fn,
	       const coro_serve_options *options);

/*
 * coro_serve_finish - close a connection so that what was written reaches the peer: half-close it
 * (SHUT_WR), read and drop what still comes, and close it when the peer has ended too, or when the
 * peer has been silent for 100 ms and its system has acknowledged everything; at the deadline in
 * any case. coro_serve does that where fn ends. A function calls it for another deadline, or to go
 * on afterwards. A descriptor that is no socket is closed at once.
 *
 * deadline: as of all calls; 0: half-close, drop what has come, close.
 *
 * Suspends. The coroutine and its stack stay as long.
 * Cost:    beyond coro_fd_close one or two system calls where the peer has ended before, and else
 *          three and a wait.
 * Returns: CORO_OK: the peer has ended, or its system has everything; CORO_ETIMEDOUT: neither is
 *          known, and the system goes on sending unless something comes; CORO_ECANCELED;
 *          CORO_EBUSY: another coroutine reads; what a system call has failed with, as ECONNRESET.
 *          f is closed in all these cases. Nothing was done: CORO_ESTALE, CORO_ECLOSED, CORO_EPERM,
 *          CORO_ENOWAIT.
 */
int coro_serve_finish(coro_fd f, uint64_t deadline);

/* coro_serve_read - coro_read on a socket, for what begins a request. Returns: also CORO_ECLOSED:
 * nothing has come, and the server that has accepted the connection ends. */
int64_t coro_serve_read(coro_fd f, void *buffer, size_t bytes, uint64_t deadline);

/* coro_serve_ends - 1: the server that has accepted the connection ends, so that this answer is to
 * be the last; 0: it goes on, or there is none. Thread: any. Cost: 10 ns. Returns: also
 * CORO_ESTALE, CORO_ECLOSED. */
int coro_serve_ends(coro_fd f);

/* coro_connect - as connect(2). Where a Unix socket's queue is full the call tries again until the
 * deadline, after 1 ms, and then after twice the time, up to 32 ms; with the deadline 0 the status
 * is that of EAGAIN. After another error the descriptor is to be closed. */
int coro_connect(coro_fd f, const struct sockaddr *to, socklen_t length, uint64_t deadline);

/* coro_shutdown - as shutdown(2). It wakes a call that waits. */
int coro_shutdown(coro_fd f, int how);

/*
 * coro_pread, coro_pwrite, coro_fsync - as pread(2), pwrite(2) and fsync(2), of files. What the
 * page cache has is read at once; for all else a thread of the pool makes the call. Calls do not
 * exclude each other. A call that a thread makes cannot be canceled any more.
 *
 * Cost:    beyond the system call some 100 ns, or what coro_blocking costs.
 * Returns: the number of bytes, coro_fsync CORO_OK; also CORO_EAGAIN: no thread can be had.
 */
int64_t coro_pread(coro_fd f, void *buffer, size_t bytes, int64_t offset);
int64_t coro_pwrite(coro_fd f, const void *buffer, size_t bytes, int64_t offset);
int coro_fsync(coro_fd f);

/*
 * coro_getaddrinfo - as getaddrinfo(3), by a thread of the pool. *out is to be freed by
 * freeaddrinfo(3).
 *
 * Look-ups have half of the pool's threads at most (coro_options.blocking_threads), and more wait
 * their turn: however long name servers do not answer, files and coro_blocking have the other half.
 *
 * A call that has been canceled, or timed out, returns at once. A look-up that has not begun is
 * taken back. One that has begun holds its thread until getaddrinfo returns, and the answer is
 * dropped; the end of the scheduler waits for it, as it joins its threads.
 * Returns: CORO_OK; CORO_EINVAL; CORO_EAGAIN: no thread can be had; CORO_ENOMEM; or 1: *error is
 *          what getaddrinfo has returned, for gai_strerror(3).
 */
struct addrinfo;
int coro_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
		     struct addrinfo **out, int *error, uint64_t deadline);

#ifdef __cplusplus
}
#endif

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#endif
