/* switch.c - the bare switch of coro: resume and yield by hand, in a tight loop. */
#include "cbody.h"

static intptr_t yielder(void *arg, intptr_t first)
{
	intptr_t value = first;
	(void)arg;
	while (value)
		coro_yield_value(value, &value);
	return 0;
}

int64_t cb_coro_pair(int64_t round_trips)
{
	coro_t *co;
	intptr_t got;
	int status = coro_new(&co, yielder, NULL, 0);
	if (status != CORO_OK)
		return status;

	int64_t start = cb_now_ns();
	for (int64_t i = 0; i < round_trips; i++)
		coro_resume(co, 1, &got);
	int64_t ns = cb_now_ns() - start;

	status = coro_resume(co, 0, &got);
	coro_free(co);
	return status == CORO_FINISHED ? ns : CORO_EINVAL;
}
