/* memory.c - very many coroutines that are parked at once. */
#include "cbody.h"

#include <stdlib.h>
#include <string.h>

static coro_handle *handles;
static int64_t capacity, parked, woken;

int cb_park_open(int64_t n)
{
	cb_park_close();
	handles = malloc((size_t)n * sizeof *handles);
	if (!handles)
		return CORO_ENOMEM;
	memset(handles, 0xff, (size_t)n * sizeof *handles); /* not calloc: touched now */
	capacity = n;
	parked = woken = 0;
	return CORO_OK;
}

void cb_park_close(void)
{
	free(handles);
	handles = NULL;
	capacity = 0;
}

void cb_park(void *arg, void *result)
{
	(void)arg;
	(void)result;
	int64_t i = __atomic_fetch_add(&parked, 1, __ATOMIC_RELAXED);
	if (i < capacity)
		handles[i] = coro_self();
	cb_fail(coro_park());
	__atomic_fetch_add(&woken, 1, __ATOMIC_RELAXED);
}

void cb_wake_all(void *arg, void *result)
{
	int64_t n = *(int64_t *)arg;
	(void)result;
	for (int64_t i = 0; i < n && i < capacity; i++)
		cb_fail(coro_wake(handles[i]));
}

int64_t cb_parked(void)
{
	return __atomic_load_n(&parked, __ATOMIC_RELAXED);
}

int64_t cb_woken(void)
{
	return __atomic_load_n(&woken, __ATOMIC_RELAXED);
}
