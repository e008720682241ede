#include "lent.h"

#include <string.h>

CORO_BODY(testbody_add_bytes, struct testbody_add_bytes, uint64_t, 0)
{
	const uint8_t *from = arg->from.at;
	uint8_t *to = arg->to.at;

	for (size_t i = 0; i < arg->from.n && i < arg->to.n; i++)
		*result += to[i] = (uint8_t)(from[i] + arg->by);
}

CORO_BODY(testbody_add_bytes_slowly, struct testbody_add_bytes, uint64_t, 0)
{
	const uint8_t *from = arg->from.at;
	uint8_t *to = arg->to.at;
	size_t n = arg->from.n < arg->to.n ? arg->from.n : arg->to.n, i = 0;

	for (; i < n; i++) {
		to[i] = (uint8_t)(from[i] + arg->by);
		if (coro_yield() || coro_canceled())
			break;
	}
	if (i < n) /* canceled */
		for (; i != SIZE_MAX; i--)
			to[i] = 0;
	else
		*result = n;
}

/* first - what comes before the writes. Returns: the status of the call. */
static int first(const struct testbody_lent *arg)
{
	switch (arg->how) {
	case TESTBODY_LENT_YIELDS:
		for (int i = 0; i < 20 && !coro_yield(); i++)
			;
		break;
	case TESTBODY_LENT_PARKS:
		while (coro_park() != CORO_ECANCELED)
			;
		break;
	case TESTBODY_LENT_SLEEPS:
		coro_sleep(20000);
		break;
	case TESTBODY_LENT_CALLS:
		return coro_call_go(arg->id, &arg->to, sizeof arg->to, NULL, 0, NULL);
	case TESTBODY_LENT_INLINE:
		return coro_call_go_inline(arg->id, &arg->to, sizeof arg->to, NULL, 0, NULL);
	}
	return CORO_OK;
}

static void last(const struct testbody_lent *arg)
{
	if (arg->how == TESTBODY_LENT_ABORTS)
		coro_abort();
	if (arg->how == TESTBODY_LENT_FAILS)
		coro_fail(7, "lent");
}

CORO_BODY(testbody_lent, struct testbody_lent, uint64_t, 0)
{
	int status = first(arg);
	const uint8_t *from = arg->from.at;
	uint8_t *to = arg->to.at;
	for (size_t i = 0; i < arg->to.n; i++)
		*result += to[i] = (uint8_t)(from[i] + arg->by);
	*result |= (uint64_t)(uint32_t)status << 32;
	last(arg);
}

void testbody_lent_range(int64_t begin, int64_t end, void *shared)
{
	const struct testbody_lent *arg = shared;
	const uint8_t *from = arg->from.at;
	uint8_t *to = arg->to.at;

	first(arg);
	for (int64_t i = begin; i < end; i++)
		to[i] = (uint8_t)(from[i] + arg->by);
	last(arg);
}

CORO_BODY(testbody_lent_both, struct testbody_lent, int64_t, 0)
{
	uint8_t own[4] = {1, 2, 3, 4};
	struct testbody_lent_both both = {{own, sizeof own}, arg->to, arg->by};

	*result = (arg->how == TESTBODY_LENT_INLINE ? coro_call_go_inline : coro_call_go)(
		arg->id, &both, sizeof both, NULL, 0, NULL);
	if (own[0] != (uint8_t)(1 + arg->by))
		*result = 1;
}

static void nothing(void *unused)
{
	(void)unused;
}

static void turn(const struct testbody_large *arg, struct testbody_large *result)
{
	for (int i = 0; i < 31; i++)
		result->n[i] += arg->n[30 - i] + 1;
}

CORO_BODY(testbody_large, struct testbody_large, struct testbody_large, 0)
{
	switch (arg->what) {
	case TESTBODY_LARGE_FAILS_LATE:
		coro_defer(nothing, NULL);
		/* fallthrough */
	case TESTBODY_LARGE_FAILS:
		memset(result, 1, sizeof *result);
		coro_fail(7, "too large");
		break;
	case TESTBODY_LARGE_ABORTS:
		memset(result, 1, sizeof *result);
		coro_abort();
		break;
	case TESTBODY_LARGE_PARKS:
		if (coro_park() == CORO_ECANCELED)
			return;
		break;
	case TESTBODY_LARGE_STAYS:
		while (coro_park())
			coro_yield();
		break;
	}
	turn(arg, result);
	if (arg->what == TESTBODY_LARGE_EXITS)
		coro_exit_finished();
}

CORO_BODY(testbody_huge, struct testbody_huge, struct testbody_huge, 0)
{
	for (int i = 0; i < 512; i++)
		result->n[i] += arg->n[i] + 1;
}

CORO_BODY(testbody_sum_of_large, struct testbody_large, uint64_t, 0)
{
	for (int i = 0; i < 31; i++)
		*result += arg->n[i];
}

CORO_BODY(testbody_spread, uint64_t, struct testbody_huge, 0)
{
	for (int i = 0; i < 512; i++)
		result->n[i] += *arg;
}

CORO_BODY(testbody_copies_bytes, struct testbody_large_bytes, uint64_t, 0)
{
	const uint8_t *from = arg->from.at;
	uint8_t *to = arg->to.at;

	for (; *result < arg->from.n && !coro_canceled(); ++*result) {
		to[*result] = (uint8_t)(from[*result] + arg->n[5]);
		coro_yield();
	}
}

CORO_BODY(testbody_starts_large, coro_none, struct testbody_statuses, 0)
{
	struct testbody_large all = {0};
	coro_attr attr = {.size = sizeof attr, .flags = CORO_JOINABLE};
	coro_handle h;
	int code;

	result->spawn_all = coro_spawn(testbody_sum_of_large, &all, sizeof all);
	if (coro_spawn_attr(&attr, testbody_sum_of_large, &all, 8, &h) == CORO_OK) {
		result->join = coro_join(h, NULL, 0);
		coro_join_error(&code, result->text, sizeof result->text);
		result->code = code;
	}
}
