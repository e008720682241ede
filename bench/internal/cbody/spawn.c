/* spawn.c - the empty coroutine, and one that spawns it. */
#include "cbody.h"

void cb_empty(void *arg, void *result)
{
	(void)arg;
	(void)result;
}

void cb_spawn_empty(void *arg, void *result)
{
	int64_t n = *(int64_t *)arg;
	int status = CORO_OK;
	(void)result;
	for (int64_t i = 0; i < n && status == CORO_OK; i++)
		status = coro_spawn(cb_empty, NULL, 0);
	cb_fail(status);
}
