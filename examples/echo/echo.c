#include "coro_io.h"

#define SILENCE_NS UINT64_C(60000000000)
#define WRITE_NS   UINT64_C(10000000000)

/* echo - sends back what comes, until the client has sent all, or is silent for a minute. The
 * connection stays open: Serve closes it. */
CORO_BODY(echo, coro_fd, coro_none, 0)
{
	char bytes[4096];
	int64_t n;

	(void)result;
	while ((n = coro_serve_read(*arg, bytes, sizeof bytes, coro_now() + SILENCE_NS)) > 0)
		if (coro_write_all(*arg, bytes, (size_t)n, NULL, coro_now() + WRITE_NS) != CORO_OK)
			break;
}
