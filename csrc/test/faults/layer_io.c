/* layer_io.c - layer.h for the system calls with descriptors, which sysio.c makes. */
#include "layer.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* STAND_IN - a call that fails by its kind. OPENS - one that returns a descriptor. */
#define STAND_IN(type, name, kind, parameters, arguments)       \
	type fault_##name parameters;                           \
	type fault_##name parameters                            \
	{                                                       \
		return fault_fails(kind) ? -1 : name arguments; \
	}
#define OPENS(name, kind, parameters, arguments)                      \
	int fault_##name parameters;                                  \
	int fault_##name parameters                                   \
	{                                                             \
		int opened = fault_fails(kind) ? -1 : name arguments; \
		fault_holds(opened >= 0);                             \
		return opened;                                        \
	}

OPENS(epoll_create1, FAULT_SET, (int flags), (flags))
OPENS(accept4, FAULT_IO, (int fd, struct sockaddr *a, socklen_t *n, int flags), (fd, a, n, flags))
STAND_IN(int, epoll_wait, FAULT_LOOK, (int set, struct epoll_event *e, int n, int ms),
	 (set, e, n, ms))
STAND_IN(int, connect, FAULT_IO, (int fd, const struct sockaddr *a, socklen_t n), (fd, a, n))
STAND_IN(int, fstat, FAULT_IO, (int fd, struct stat *st), (fd, st))
STAND_IN(int, fsync, FAULT_IO, (int fd), (fd))
STAND_IN(int, getsockopt, FAULT_IO, (int fd, int level, int name, void *v, socklen_t *n),
	 (fd, level, name, v, n))
STAND_IN(int, poll, FAULT_IO, (struct pollfd * p, nfds_t n, int ms), (p, n, ms))
STAND_IN(ssize_t, preadv, FAULT_IO, (int fd, const struct iovec *v, int n, off_t at),
	 (fd, v, n, at))
STAND_IN(ssize_t, pwritev, FAULT_IO, (int fd, const struct iovec *v, int n, off_t at),
	 (fd, v, n, at))
STAND_IN(ssize_t, preadv2, FAULT_IO, (int fd, const struct iovec *v, int n, off_t at, int flags),
	 (fd, v, n, at, flags))
STAND_IN(ssize_t, pwritev2, FAULT_IO, (int fd, const struct iovec *v, int n, off_t at, int flags),
	 (fd, v, n, at, flags))
STAND_IN(ssize_t, readv, FAULT_IO, (int fd, const struct iovec *v, int n), (fd, v, n))
STAND_IN(ssize_t, writev, FAULT_IO, (int fd, const struct iovec *v, int n), (fd, v, n))
STAND_IN(ssize_t, recv, FAULT_IO, (int fd, void *p, size_t n, int flags), (fd, p, n, flags))
STAND_IN(ssize_t, send, FAULT_IO, (int fd, const void *p, size_t n, int flags), (fd, p, n, flags))
STAND_IN(ssize_t, recvmsg, FAULT_IO, (int fd, struct msghdr *m, int flags), (fd, m, flags))
STAND_IN(ssize_t, sendmsg, FAULT_IO, (int fd, const struct msghdr *m, int flags), (fd, m, flags))
STAND_IN(ssize_t, sendfile, FAULT_IO, (int to, int from, off_t *at, size_t n), (to, from, at, n))
STAND_IN(int, shutdown, FAULT_IO, (int fd, int how), (fd, how))
STAND_IN(int, setsockopt, FAULT_IO, (int fd, int level, int name, const void *v, socklen_t n),
	 (fd, level, name, v, n))

/* A bell is read, too: that does not fail. */
ssize_t fault_read(int fd, void *p, size_t n);
ssize_t fault_read(int fd, void *p, size_t n)
{
	return n != sizeof(uint64_t) && fault_fails(FAULT_IO) ? -1 : read(fd, p, n);
}

int fault_epoll_ctl(int set, int what, int fd, struct epoll_event *e);
int fault_epoll_ctl(int set, int what, int fd, struct epoll_event *e)
{
	return what == EPOLL_CTL_ADD && fault_fails(FAULT_SET) ? -1 : epoll_ctl(set, what, fd, e);
}

int fault_fcntl(int fd, int what, ...);
int fault_fcntl(int fd, int what, ...)
{
	va_list args;

	va_start(args, what); /* only calls with an int, or with nothing, are made */
	int arg = what == F_SETFL ? va_arg(args, int) : 0;
	va_end(args);
	return fault_fails(FAULT_IO) ? -1 : fcntl(fd, what, arg);
}

int fault_ioctl(int fd, unsigned long what, ...);
int fault_ioctl(int fd, unsigned long what, ...)
{
	va_list args;

	va_start(args, what); /* only calls with the address of an int are made */
	int *arg = va_arg(args, int *);
	va_end(args);
	return fault_fails(FAULT_IO) ? -1 : ioctl(fd, what, arg);
}

int fault_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
		      struct addrinfo **out);
int fault_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
		      struct addrinfo **out)
{
	return fault_fails(FAULT_IO) ? EAI_AGAIN : getaddrinfo(node, service, hints, out);
}
