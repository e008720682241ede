#include "calls.h"

#include "bodies.h"

#include <stdbool.h>
#include <string.h>

typedef int (*call)(coro_go_id, const void *, size_t, void *, size_t, size_t *);

static const call calls[] = {coro_call_go_inline, coro_call_go};

struct testbody_came testbody_call_here(struct testbody_call a)
{
	struct testbody_came came = {0};
	char text[sizeof came.start] = {0};
	size_t got = 77;

	came.status = calls[a.how](a.id, a.arg_bytes ? &a.number : NULL, a.arg_bytes,
				   a.result_bytes ? &came.number : NULL, a.result_bytes, &got);
	came.got = (uint32_t)got;
	came.text = (uint32_t)coro_call_error(text, sizeof text);
	memcpy(came.start, text, sizeof text);
	return came;
}

void testbody_call(void *arg, void *result)
{
	*(struct testbody_came *)result = testbody_call_here(*(struct testbody_call *)arg);
}

void testbody_call_beside(void *arg, void *result)
{
	coro_spawn(testbody_spin, NULL, 0);
	coro_yield();
	testbody_call(arg, result);
}

void testbody_calls(void *arg, void *result)
{
	struct testbody_calls a = *(struct testbody_calls *)arg;
	int64_t number = 0;

	(void)result;
	for (int64_t i = 1; i <= a.n; i++) {
		if (calls[a.how](a.id, &number, sizeof number, &number, sizeof number, NULL) !=
		    CORO_OK)
			break;
		if (a.k && i % a.k == 0)
			coro_yield();
	}
	__atomic_add_fetch(&testbody_sum, number, __ATOMIC_RELAXED);
	__atomic_add_fetch(&testbody_ran, 1, __ATOMIC_RELAXED);
}

void testbody_turn_call(void *arg, void *result)
{
	struct testbody_calls a = *(struct testbody_calls *)arg;
	unsigned char in[1024] = {0}, out[1024];
	int64_t right = 0;

	for (int64_t n = 0; n < a.n && n <= (int64_t)sizeof in; n++) {
		size_t got = 0;
		for (int64_t i = 0; i < n; i++)
			in[i] = (unsigned char)(i * 31 + n);
		int status = calls[a.how](a.id, in, (size_t)n, out, (size_t)n, &got);
		bool ok = status == CORO_OK && got == (size_t)n;
		for (int64_t i = 0; ok && i < n; i++)
			ok = out[i] == in[n - 1 - i];
		right += ok;
	}
	*(int64_t *)result = right;
}

void testbody_name(void *arg, void *result)
{
	*(coro_go_id *)result = coro_go_function(arg);
}
