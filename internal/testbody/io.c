/* io.c - see io.h. */
#include "io.h"

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
