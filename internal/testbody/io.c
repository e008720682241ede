/* io.c - see io.h. */
#include "io.h"

#include <stdatomic.h>

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
