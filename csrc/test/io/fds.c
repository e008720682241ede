/* fds.c - see fds.h. */
#include "fds.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

coro_fd adopted(coro_scheduler *s, int fd)
{
	coro_fd f;

	CHECK_EQ(coro_scheduler_adopt(s, &f, fd, 0), CORO_OK);
	CHECK(f != 0);
	CHECK_EQ(coro_fd_number(f), fd);
	return f;
}

struct pair pair_of(coro_scheduler *s)
{
	int fd[2];

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
	return (struct pair){adopted(s, fd[0]), adopted(s, fd[1])};
}

struct pair pair_of_tcp(coro_scheduler *s)
{
	struct sockaddr_in to;
	int l = listener(&to), a = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	CHECK_EQ(connect(a, (struct sockaddr *)&to, sizeof to), 0);
	int b = accept(l, NULL, NULL);
	close(l);
	CHECK_EQ(setsockopt(a, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one), 0);
	CHECK_EQ(setsockopt(b, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one), 0);
	return (struct pair){adopted(s, a), adopted(s, b)};
}

void pair_close(struct pair *p)
{
	CHECK_EQ(coro_fd_close(p->a), CORO_OK);
	CHECK_EQ(coro_fd_close(p->b), CORO_OK);
}

bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

int listener(struct sockaddr_in *to)
{
	socklen_t length = sizeof *to;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*to = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	CHECK_EQ(bind(fd, (struct sockaddr *)to, length), 0);
	CHECK_EQ(getsockname(fd, (struct sockaddr *)to, &length), 0);
	CHECK_EQ(listen(fd, 1024), 0);
	return fd;
}
