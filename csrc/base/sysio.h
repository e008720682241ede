/*
 * sysio.h - every system call that the core makes with a descriptor of the user's, and with sets of
 * descriptors (epoll), so that fault injection can stand in. sys.h has all others.
 *
 * A call returns what the system call returns, or -errno. The variable errno stays as it was. A
 * call that a signal has interrupted (EINTR) is made again, but for coroi_set_wait. None of them
 * blocks, but for coroi_set_wait and those that are said to.
 */
#ifndef COROI_SYSIO_H
#define COROI_SYSIO_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

/* coroi_is_refused - with this errno a system call was not made that came later than others: the
 * kernel does not know it, or a filter (seccomp) that was written before it does not. Such filters
 * answer with EPERM. For calls that do not fail with EPERM of their own. */
static inline bool coroi_is_refused(int number)
{
	return number == ENOSYS || number == EPERM;
}

/* ---- sets of descriptors */

int coroi_set_open(void);
/* coroi_set_add - watch fd. events: EPOLLIN and so on; data comes back with them. */
int coroi_set_add(int set, int fd, uint32_t events, uint64_t data);
int coroi_set_remove(int set, int fd);

/* coroi_set_wait - wait for at most `most` events, and at most ns; ns < 0: without a limit. A
 * kernel without epoll_pwait2 (before 5.11), or with a filter that refuses it, rounds ns up to
 * milliseconds. Returns: their number; -EINTR. */
int coroi_set_wait(int set, struct epoll_event *event, int most, int64_t ns);

/* coroi_event_clear - what was rung by coroi_event_ring (sys.h) is readable no more. */
void coroi_event_clear(int fd);

/* coroi_ready - is fd ready now, for POLLIN or POLLOUT? An error of fd counts as ready. */
int coroi_ready(int fd, short events);

/* ---- descriptors */

/* What is known of a descriptor's kind. */
enum {
	COROI_KIND_OTHER, /* a pipe, a terminal, an eventfd */
	COROI_KIND_FILE,  /* always "ready": reading and writing block on the disk */
	/* a stream socket of the internet: a short read has emptied it. Those of Unix also return
	 * short where descriptors or another sender's bytes begin */
	COROI_KIND_STREAM,
	COROI_KIND_SOCKET, /* any other */
};

/* coroi_kind - one of these, or -errno. *file is a hash of the file that fd is of. */
int coroi_kind(int fd, uint32_t *file);

/* coroi_same_description - are two descriptors of one file the same open file description? Where
 * the kernel does not tell: have they the same access mode? */
bool coroi_same_description(int a, int b);

/* coroi_set_nonblocking - set O_NONBLOCK or clear it. Returns: whether it was set. */
int coroi_set_nonblocking(int fd, bool nonblocking);

void coroi_close(int fd);

int64_t coroi_sys_read(int fd, void *buffer, size_t bytes);
int64_t coroi_sys_write(int fd, const void *buffer, size_t bytes);
int64_t coroi_sys_readv(int fd, const struct iovec *v, int n);
int64_t coroi_sys_writev(int fd, const struct iovec *v, int n);
int64_t coroi_sys_recv(int fd, void *buffer, size_t bytes, int flags);
int64_t coroi_sys_send(int fd, const void *buffer, size_t bytes, int flags);
int64_t coroi_sys_recvmsg(int fd, struct msghdr *m, int flags);
int64_t coroi_sys_sendmsg(int fd, const struct msghdr *m, int flags);
int64_t coroi_sys_sendfile(int to, int from, int64_t *offset, size_t bytes);
int coroi_sys_accept(int fd, struct sockaddr *peer, socklen_t *length);
int coroi_sys_connect(int fd, const struct sockaddr *to, socklen_t length);
int coroi_sys_shutdown(int fd, int how);

/* coroi_sys_unsent - how many bytes of a TCP socket the peer's system has not acknowledged, the end
 * counted as one. */
int coroi_sys_unsent(int fd);

/* coroi_sys_waiting - how many connections of a TCP listener wait for accept. */
int coroi_sys_waiting(int fd);

/* coroi_sys_prompt - have a TCP socket send at once (TCP_NODELAY), and ask a silent peer after
 * 15 s, and 9 times, 15 s apart (keep-alive): what package net sets. A connection has these options
 * from its listener, as they are when its handshake ends. An option that the system refuses is left
 * as it was. */
void coroi_sys_prompt(int fd);

/* ---- files. offset < 0: at the file's own position. now: without waiting for the disk (-EAGAIN:
 * that is not possible; -EOPNOTSUPP: the file system does not know; -ENOSYS, -EPERM: the kernel, or
 * a filter, does not; -EPERM also as below). Else blocking. */
int64_t coroi_sys_pread(int fd, const struct iovec *v, int n, int64_t offset, bool now);
int64_t coroi_sys_pwrite(int fd, const struct iovec *v, int n, int64_t offset, bool now);
int coroi_sys_fsync(int fd);

/* coroi_sys_getaddrinfo - getaddrinfo(3), blocking. coroi_sys_freeaddrinfo - freeaddrinfo(3). */
struct addrinfo;
int coroi_sys_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
			  struct addrinfo **out);
void coroi_sys_freeaddrinfo(struct addrinfo *list);

#endif
