#include "lent.h"

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
