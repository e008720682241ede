#include "gobodies.h"

#include <stdlib.h>

struct testbody_spawned_go testbody_spawn_go_here(struct testbody_spawn_go a)
{
	struct testbody_spawned_go s = {0};
	coro_handle *out = a.how == TESTBODY_GO_UNNAMED ? NULL : &s.handle;

	s.status = coro_spawn_go(a.id, a.arg_bytes ? &a.number : NULL, a.arg_bytes, out);
	if (s.status != CORO_OK)
		return s;
	if (a.how == TESTBODY_GO_CANCEL)
		coro_cancel(s.handle);
	if (a.how == TESTBODY_GO_JOIN || a.how == TESTBODY_GO_CANCEL)
		s.joined = coro_join(s.handle, &s.number, sizeof s.number);
	if (a.how == TESTBODY_GO_DETACH)
		s.joined = coro_detach(s.handle);
	return s;
}

void testbody_spawn_go(void *arg, void *result)
{
	*(struct testbody_spawned_go *)result = testbody_spawn_go_here(
		*(struct testbody_spawn_go *)arg);
}

void testbody_sum_go(void *arg, void *result)
{
	struct testbody_sum_go a = *(struct testbody_sum_go *)arg;
	coro_handle *child = malloc((size_t)a.n * sizeof *child);
	int64_t sum = 0;

	for (int64_t i = 0; i < a.n; i++) {
		int64_t number = i + 1;
		if (coro_spawn_go(a.id, &number, sizeof number, &child[i]) != CORO_OK)
			child[i] = 0;
	}
	for (int64_t i = 0; i < a.n; i++) {
		int64_t number = 0;
		if (coro_join(child[i], &number, sizeof number) == CORO_OK)
			sum += number;
	}
	free(child);
	*(int64_t *)result = sum;
}

void testbody_pair_go(void *arg, void *result)
{
	struct testbody_sum_go a = *(struct testbody_sum_go *)arg;
	coro_handle me = coro_self(), child;
	int status = coro_spawn_go(a.id, &me, sizeof me, &child);

	for (int64_t i = 0; i < a.n && status == CORO_OK; i++) {
		status = coro_park();
		if (status == CORO_OK)
			status = coro_wake(child);
	}
	*(int32_t *)result = status == CORO_OK ? coro_join(child, NULL, 0) : status;
}

void testbody_fill_go(void *arg, void *result)
{
	coro_go_id id = *(coro_go_id *)arg;
	size_t most = 1 << 20, n = 0, good = 0;
	coro_handle *child = malloc(most * sizeof *child);
	int status = CORO_OK;

	while (n < most && (status = coro_spawn_go(id, NULL, 0, &child[n])) == CORO_OK)
		n++;
	for (size_t i = 0; i < n; i++)
		if (coro_wake(child[i]) == CORO_OK && coro_join(child[i], NULL, 0) == CORO_OK)
			good++;
	free(child);
	*(int64_t *)result = status == CORO_ENOMEM && good == n ? (int64_t)n : -1;
}
