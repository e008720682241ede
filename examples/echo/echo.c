#include "echo.h"

#include "coro_io.h"

#define SILENCE_NS UINT64_C(60000000000)
#define WRITE_NS   UINT64_C(10000000000)

void echo(void *arg, void *result)
{
	coro_fd connection = *(coro_fd *)arg;
	char bytes[4096];
	int64_t n;

	(void)result;
	while ((n = coro_serve_read(connection, bytes, sizeof bytes, coro_now() + SILENCE_NS)) > 0)
		if (coro_write_all(connection, bytes, (size_t)n, NULL, coro_now() + WRITE_NS) !=
		    CORO_OK)
			break;
}
