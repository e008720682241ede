//go:build ignore
/* sysio.c - see sysio.h. */
#include "base/sysio.h"

#include "base/atomics.h"
#include "base/keeperrno.h"
#include "base/sanitize.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <linux/kcmp.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#ifndef RWF_NOWAIT /* musl before 1.2.5 has neither the flag nor the calls */
#define RWF_NOWAIT 8
static ssize_t preadv2(int fd, const struct iovec *v, int n, off_t at, int flags)
{
	return syscall(SYS_preadv2, fd, v, (long)n, (long)at, 0L, (long)flags);
}

static ssize_t pwritev2(int fd, const struct iovec *v, int n, off_t at, int flags)
{
	return syscall(SYS_pwritev2, fd, v, (long)n, (long)at, 0L, (long)flags);
}
#endif

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

/* AGAIN - the call's result, or -errno; made again after a signal. */
#define AGAIN(call)                                         \
	({                                                  \
		KEEP_ERRNO;                                 \
		__typeof__(call) n_;                        \
		while ((n_ = (call)) < 0 && errno == EINTR) \
			;                                   \
		n_ < 0 ? -errno : n_;                       \
	})

int coroi_set_open(void)
{
	return AGAIN(epoll_create1(EPOLL_CLOEXEC));
}

int coroi_set_add(int set, int fd, uint32_t events, uint64_t data)
{
	struct epoll_event e = {.events = events, .data.u64 = data};
	return AGAIN(epoll_ctl(set, EPOLL_CTL_ADD, fd, &e));
}

int coroi_set_remove(int set, int fd)
{
	struct epoll_event e = {0};
	return AGAIN(epoll_ctl(set, EPOLL_CTL_DEL, fd, &e));
}

/* Atomic, relaxed: a hint, that there is no epoll_pwait2. */
static uint32_t in_milliseconds;

int coroi_set_wait(int set, struct epoll_event *event, int most, int64_t ns)
{
	KEEP_ERRNO;
	if (ns > 0 && !at_load_rlx(&in_milliseconds)) {
		struct timespec t = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
		long n = syscall(SYS_epoll_pwait2, set, event, most, &t, NULL, 0L);
		if (n >= 0 || !coroi_is_refused(errno))
			return n < 0 ? -errno : (int)n;
		at_store_rlx(&in_milliseconds, 1);
	}
	int64_t ms = ns < 0 ? -1 : ns / 1000000 + (ns % 1000000 != 0);
	int n = epoll_wait(set, event, most, ms > INT32_MAX ? INT32_MAX : (int)ms);
	return n < 0 ? -errno : n;
}

void coroi_event_clear(int fd)
{
	uint64_t count;
	(void)AGAIN(read(fd, &count, sizeof count));
}

int coroi_ready(int fd, short events)
{
	struct pollfd p = {.fd = fd, .events = events};
	return AGAIN(poll(&p, 1, 0));
}

static int option(int fd, int name)
{
	int value = -1;
	socklen_t length = sizeof value;

	return AGAIN(getsockopt(fd, SOL_SOCKET, name, &value, &length)) < 0 ? -1 : value;
}

/* hash_of - of what is one file, by Fibonacci hashing. */
static uint32_t hash_of(const struct stat *st)
{
	uint64_t file = (uint64_t)st->st_ino + (uint64_t)st->st_dev * UINT64_C(0x632be59bd9b4e019);

	return (uint32_t)(file * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

int coroi_kind(int fd, uint32_t *file)
{
	struct stat st;

	int status = AGAIN(fstat(fd, &st));
	if (status < 0)
		return status;
	*file = hash_of(&st);
	if (S_ISREG(st.st_mode) || S_ISBLK(st.st_mode) || S_ISDIR(st.st_mode))
		return COROI_KIND_FILE;
	if (!S_ISSOCK(st.st_mode))
		return COROI_KIND_OTHER;
	int domain = option(fd, SO_DOMAIN);
	return (domain == AF_INET || domain == AF_INET6) && option(fd, SO_TYPE) == SOCK_STREAM
		       ? COROI_KIND_STREAM
		       : COROI_KIND_SOCKET;
}

static int access_of(int fd)
{
	int flags = AGAIN(fcntl(fd, F_GETFL));

	return flags < 0 ? flags : flags & O_ACCMODE;
}

bool coroi_same_description(int a, int b)
{
	KEEP_ERRNO;
	long pid = syscall(SYS_getpid);
	long order = syscall(SYS_kcmp, pid, pid, KCMP_FILE, a, b);

	if (order >= 0)
		return order == 0;
	int access = access_of(a);
	return access >= 0 && access == access_of(b);
}

int coroi_set_nonblocking(int fd, bool nonblocking)
{
	int flags = AGAIN(fcntl(fd, F_GETFL));

	if (flags < 0)
		return flags;
	bool was = flags & O_NONBLOCK;
	if (was != nonblocking) {
		int status = AGAIN(fcntl(fd, F_SETFL, flags ^ O_NONBLOCK));
		if (status < 0)
			return status;
	}
	return was;
}

void coroi_close(int fd)
{
	KEEP_ERRNO;
	close(fd); /* with EINTR it is closed, too */
}

int64_t coroi_sys_read(int fd, void *buffer, size_t bytes)
{
	return AGAIN(read(fd, buffer, bytes));
}

int64_t coroi_sys_write(int fd, const void *buffer, size_t bytes)
{
	return AGAIN(write(fd, buffer, bytes));
}

int64_t coroi_sys_readv(int fd, const struct iovec *v, int n)
{
	return AGAIN(readv(fd, v, n));
}

int64_t coroi_sys_writev(int fd, const struct iovec *v, int n)
{
	return AGAIN(writev(fd, v, n));
}

/* The C library's recv and send look, before and after, whether their thread was canceled by
 * pthread_cancel, which no thread of the core is: that takes 30 to 40 ns. The sanitizers know these
 * functions, and not the bare calls. */
#if defined(COROI_ASAN) || defined(COROI_TSAN)
#define RECV(fd, buffer, bytes, flags) recv(fd, buffer, bytes, flags)
#define SEND(fd, buffer, bytes, flags) send(fd, buffer, bytes, flags)
#else
#define RECV(fd, buffer, bytes, flags) syscall(SYS_recvfrom, fd, buffer, bytes, flags, NULL, NULL)
#define SEND(fd, buffer, bytes, flags) syscall(SYS_sendto, fd, buffer, bytes, flags, NULL, 0)
#endif

int64_t coroi_sys_recv(int fd, void *buffer, size_t bytes, int flags)
{
	return AGAIN(RECV(fd, buffer, bytes, flags));
}

int64_t coroi_sys_send(int fd, const void *buffer, size_t bytes, int flags)
{
	return AGAIN(SEND(fd, buffer, bytes, flags | MSG_NOSIGNAL));
}

int64_t coroi_sys_recvmsg(int fd, struct msghdr *m, int flags)
{
	return AGAIN(recvmsg(fd, m, flags));
}

int64_t coroi_sys_sendmsg(int fd, const struct msghdr *m, int flags)
{
	return AGAIN(sendmsg(fd, m, flags | MSG_NOSIGNAL));
}

int64_t coroi_sys_sendfile(int to, int from, int64_t *offset, size_t bytes)
{
	_Static_assert(sizeof(off_t) == sizeof *offset, "an offset has 64 bits");
	return AGAIN(sendfile(to, from, (off_t *)offset, bytes));
}

int coroi_sys_accept(int fd, struct sockaddr *peer, socklen_t *length)
{
	return AGAIN(accept4(fd, peer, length, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

int coroi_sys_connect(int fd, const struct sockaddr *to, socklen_t length)
{
	return AGAIN(connect(fd, to, length));
}

int coroi_sys_shutdown(int fd, int how)
{
	return AGAIN(shutdown(fd, how));
}

int coroi_sys_unsent(int fd)
{
	int bytes;
	int status = AGAIN(ioctl(fd, SIOCOUTQ, &bytes));
	return status < 0 ? status : bytes;
}

int coroi_sys_waiting(int fd)
{
	struct tcp_info info = {0};
	socklen_t length = sizeof info;
	int status = AGAIN(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length));

	if (status >= 0 && length < offsetof(struct tcp_info, tcpi_unacked) + sizeof(uint32_t))
		return -ENOSYS; /* an emulator takes every option for an int */
	return status < 0 ? status : (int)info.tcpi_unacked; /* of a listener: its queue */
}

void coroi_sys_prompt(int fd)
{
	static const struct {
		int level, name, value;
	} option[] = {
		{IPPROTO_TCP, TCP_NODELAY, 1},    {IPPROTO_TCP, TCP_KEEPIDLE, 15},
		{IPPROTO_TCP, TCP_KEEPINTVL, 15}, {IPPROTO_TCP, TCP_KEEPCNT, 9},
		{SOL_SOCKET, SO_KEEPALIVE, 1},
	};

	for (size_t i = 0; i < sizeof option / sizeof *option; i++)
		(void)AGAIN(setsockopt(fd, option[i].level, option[i].name, &option[i].value,
				       sizeof option[i].value));
}

/* Without RWF_NOWAIT these are the old system calls, which no filter refuses that lets files be
 * read.
 */
int64_t coroi_sys_pread(int fd, const struct iovec *v, int n, int64_t offset, bool now)
{
	if (now)
		return AGAIN(preadv2(fd, v, n, offset < 0 ? -1 : offset, RWF_NOWAIT));
	return offset < 0 ? coroi_sys_readv(fd, v, n) : AGAIN(preadv(fd, v, n, offset));
}

int64_t coroi_sys_pwrite(int fd, const struct iovec *v, int n, int64_t offset, bool now)
{
	if (now)
		return AGAIN(pwritev2(fd, v, n, offset < 0 ? -1 : offset, RWF_NOWAIT));
	return offset < 0 ? coroi_sys_writev(fd, v, n) : AGAIN(pwritev(fd, v, n, offset));
}

int coroi_sys_fsync(int fd)
{
	return AGAIN(fsync(fd));
}

int coroi_sys_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
			  struct addrinfo **out)
{
	KEEP_ERRNO;
	return getaddrinfo(node, service, hints, out);
}

void coroi_sys_freeaddrinfo(struct addrinfo *list)
{
	freeaddrinfo(list);
}
