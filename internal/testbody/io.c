/* io.c - see io.h. */
#define _GNU_SOURCE
#include "io.h"

#include "bodies.h"

#include <dlfcn.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

void testbody_fd_echo(void *arg, void *result)
{
	struct testbody_fd_echo *e = arg;
	int64_t *done = result, n = 0;
	char bytes[512];

	*done = 0;
	while (!e->bytes || (uint64_t)*done < e->bytes) {
		size_t most = e->bytes && e->bytes - (uint64_t)*done < sizeof bytes
				      ? e->bytes - (uint64_t)*done
				      : sizeof bytes;
		n = coro_read(e->fd, bytes, most, CORO_FOREVER);
		if (n > 0) {
			int status = coro_write_all(e->fd, bytes, (size_t)n, NULL, CORO_FOREVER);
			if (status)
				n = status;
		}
		if (n <= 0)
			break;
		*done += n;
	}
	if (n < 0)
		*done = n;
	if (!e->bytes)
		coro_fd_close(e->fd);
}

static _Atomic uint32_t connections, most_connections;

static void connection_ends(void *arg)
{
	(void)arg;
	connections--;
}

void testbody_serve_echo(void *arg, void *result)
{
	coro_fd f = *(coro_fd *)arg;
	char bytes[512];
	int64_t n;

	(void)result;
	uint32_t now = ++connections, before = most_connections;
	while (before < now && !atomic_compare_exchange_weak(&most_connections, &before, now))
		;
	if (coro_defer(connection_ends, NULL)) {
		connections--;
		return;
	}
	while ((n = coro_serve_read(f, bytes, sizeof bytes, CORO_FOREVER)) > 0) {
		if (bytes[0] == '.' && coro_park())
			return;
		if (bytes[0] == '!')
			bytes[0] = (char)('0' + coro_worker());
		if (coro_write_all(f, bytes, (size_t)n, NULL, CORO_FOREVER) != CORO_OK)
			return;
	}
}

uint32_t testbody_connections(uint32_t *most)
{
	*most = most_connections;
	most_connections = 0;
	return connections;
}

static _Atomic uint32_t answered[TESTBODY_CLIENTS];

/* answer - the whole ones of n bytes of requests. Returns: how many there were; < 0: a status. */
static int answer(coro_fd f, const char *bytes, size_t n)
{
	struct testbody_request first;
	size_t whole = n / sizeof first, put;

	if (!whole)
		return 0;
	memcpy(&first, bytes, sizeof first);
	int status = coro_write_all(f, bytes, whole * sizeof first, &put, CORO_FOREVER);
	answered[first.client % TESTBODY_CLIENTS] += (uint32_t)(put / sizeof first);
	return status ? status : (int)whole;
}

static void serve_streams(coro_fd f, bool looks, int most)
{
	char bytes[2048];
	size_t have = 0;
	int64_t n;
	int sum = 0, now;

	while (sum < most &&
	       (n = coro_serve_read(f, bytes + have, sizeof bytes - have, CORO_FOREVER)) > 0) {
		have += (size_t)n;
		if ((now = answer(f, bytes, have)) < 0)
			break;
		sum += now;
		have -= (size_t)now * sizeof(struct testbody_request);
		memmove(bytes, bytes + (size_t)now * sizeof(struct testbody_request), have);
		if (looks && coro_serve_ends(f))
			break;
	}
}

void testbody_serve_until_ends(void *arg, void *result)
{
	(void)result;
	serve_streams(*(coro_fd *)arg, true, INT_MAX);
}

void testbody_serve_until_told(void *arg, void *result)
{
	(void)result;
	serve_streams(*(coro_fd *)arg, false, INT_MAX);
}

void testbody_serve_some(void *arg, void *result)
{
	(void)result;
	serve_streams(*(coro_fd *)arg, false, 100);
}

uint32_t testbody_answered(uint32_t client)
{
	return atomic_exchange(&answered[client % TESTBODY_CLIENTS], 0);
}

void testbody_serve_options(void *arg, void *result)
{
	static const int option[TESTBODY_OPTIONS][2] = {
		{IPPROTO_TCP, TCP_NODELAY},  {SOL_SOCKET, SO_KEEPALIVE},
		{IPPROTO_TCP, TCP_KEEPIDLE}, {IPPROTO_TCP, TCP_KEEPINTVL},
		{IPPROTO_TCP, TCP_KEEPCNT},
	};
	coro_fd f = *(coro_fd *)arg;
	unsigned char bytes[TESTBODY_OPTIONS];

	(void)result;
	while (coro_serve_read(f, bytes, 1, CORO_FOREVER) > 0) {
		for (int i = 0; i < TESTBODY_OPTIONS; i++) {
			int value = 0;
			socklen_t length = sizeof value;
			bool is = !getsockopt(coro_fd_number(f), option[i][0], option[i][1], &value,
					      &length);
			bytes[i] = is ? (unsigned char)value : 255;
		}
		if (coro_write_all(f, bytes, sizeof bytes, NULL, CORO_FOREVER))
			return;
	}
}

static _Atomic uint32_t lookups;

typedef int look_up(const char *, const char *, const struct addrinfo *, struct addrinfo **);

/* In the place of the C library's. */
__attribute__((visibility("default"))) int getaddrinfo(const char *node, const char *service,
						       const struct addrinfo *hints,
						       struct addrinfo **out)
{
	if (!node || strcmp(node, "testbody.invalid")) {
		look_up *own = (look_up *)dlsym(RTLD_NEXT, "getaddrinfo");
		return own(node, service, hints, out);
	}
	lookups++;
	while (!__atomic_load_n(&testbody_stop, __ATOMIC_ACQUIRE))
		usleep(1000);
	lookups--;
	return EAI_AGAIN;
}

void testbody_looks_up(void *arg, void *result)
{
	struct addrinfo *list;
	int error;

	*(int64_t *)result = coro_getaddrinfo("testbody.invalid", NULL, NULL, &list, &error,
					      coro_now() + *(uint64_t *)arg);
}

uint32_t testbody_lookups(void)
{
	return lookups;
}

void testbody_connects(void *arg, void *result)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int64_t *status = result;
	coro_fd f;

	memcpy(to.sun_path, arg, 40);
	*status = coro_fd_adopt(&f, socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), 0);
	if (*status)
		return;
	*status = coro_connect(f, (struct sockaddr *)&to, sizeof to,
			       coro_now() + UINT64_C(10000000000));
	coro_fd_close(f);
}
