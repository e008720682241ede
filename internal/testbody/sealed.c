#include "sealed.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static unsigned char byte_at(uint64_t seed, size_t i)
{
	return (unsigned char)((seed * UINT64_C(0x9e3779b97f4a7c15) >> 56) + i * 7 + (i >> 8));
}

/* next - another seed. */
static uint64_t next(uint64_t *seed)
{
	return *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
}

static void seal(coro_buffer b, uint64_t seed)
{
	struct testbody_seal s = {seed, 0};
	unsigned char *at = coro_buffer_at(b, &s.bytes);

	memcpy(at, &s, sizeof s);
	for (size_t i = sizeof s; i < s.bytes; i++)
		at[i] = byte_at(seed, i);
}

/* is_broken - 1: b is stale, or not as it was sealed. */
static int is_broken(coro_buffer b)
{
	struct testbody_seal s;
	size_t n;
	const unsigned char *at = coro_buffer_at(b, &n);

	if (!at || n < sizeof s)
		return 1;
	memcpy(&s, at, sizeof s);
	if (s.bytes != n)
		return 1;
	for (size_t i = sizeof s; i < n; i++)
		if (at[i] != byte_at(s.seed, i))
			return 1;
	return 0;
}

/* is_there - 1: the handle, which was sent, is of use yet. */
static int is_there(coro_buffer sent)
{
	return coro_buffer_free(sent) != CORO_ESTALE || coro_buffer_at(sent, NULL) != NULL ||
	       coro_buffer_resize(sent, 1) != CORO_ESTALE;
}

/* resealed - b, which may have other bytes now. */
static void resealed(coro_buffer b, uint64_t *seed)
{
	size_t bytes = sizeof(struct testbody_seal) + (next(seed) >> 54);

	coro_buffer_resize(b, bytes); /* at the limit it stays */
	seal(b, next(seed));
}

static void child(void *arg, void *result)
{
	coro_buffer *b = arg;
	uint64_t seed = b->id;

	if (!is_broken(*b))
		seal(*b, next(&seed));
	*(coro_buffer *)result = *b;
}

/* to_child - b goes to a child, and comes back if it is wanted. */
static int to_child(coro_buffer *b, bool wanted)
{
	coro_attr attr = {.flags = CORO_JOINABLE,
			  .result_bytes = sizeof *b,
			  .arg_buffers = 1,
			  .result_buffers = 1};
	coro_buffer sent = *b;
	coro_handle h;

	if (coro_spawn_attr(&attr, child, b, sizeof *b, &h))
		return is_broken(*b);
	int broken = is_there(sent);
	*b = (coro_buffer){0};
	if (!wanted || coro_join(h, b, sizeof *b))
		coro_detach(h);
	return broken;
}

static int sends(coro_buffer *b, const struct testbody_sealed_arg *arg)
{
	struct testbody_sealed_value v = {arg->seed, *b};

	if (coro_chan_send((coro_chan *)(uintptr_t)arg->chan, &v, coro_now() + arg->seed % 50000))
		return is_broken(*b);
	*b = (coro_buffer){0};
	return is_there(v.buffer);
}

static void receives(coro_buffer *b, const struct testbody_sealed_arg *arg)
{
	struct testbody_sealed_value v = {0};
	coro_chan *c = (coro_chan *)(uintptr_t)arg->chan;
	coro_case one = {.chan = c, .recv = &v};
	uint64_t until = coro_now() + arg->seed % 50000;

	coro_buffer_free(*b);
	*b = (coro_buffer){0};
	if (arg->does == TESTBODY_SEALED_RECV ? coro_chan_recv(c, &v, until) == CORO_OK
					      : coro_select(&one, 1, until) == 0)
		*b = v.buffer;
}

static int calls(coro_buffer *b, const struct testbody_sealed_arg *arg)
{
	coro_buffer sent = *b, got = {0};
	bool wanted = arg->does == TESTBODY_SEALED_CALL;
	int status = coro_call_go((coro_go_id)arg->id, b, sizeof *b, wanted ? &got : NULL,
				  wanted ? sizeof got : 0, NULL);

	/* The function, if it has run, frees what it has got if it fails. */
	if (status && coro_buffer_at(*b, NULL))
		return is_broken(*b);
	*b = got;
	return is_there(sent);
}

CORO_BODY(testbody_sealed, struct testbody_sealed_arg, struct testbody_sealed_result, 0)
{
	coro_buffer b = arg->buffer;
	uint64_t seed = arg->seed;

	result->broken = is_broken(b);
	if (arg->second.id)
		result->broken += is_broken(arg->second) +
				  (coro_buffer_free(arg->second) != CORO_OK);
	switch ((enum testbody_sealed_does)arg->does) {
	case TESTBODY_SEALED_RETURN:
		seal(b, next(&seed));
		break;
	case TESTBODY_SEALED_OTHER:
	case TESTBODY_SEALED_FREE:
		coro_buffer_free(b);
		result->broken += is_there(b);
		b = (coro_buffer){0};
		if (arg->does == TESTBODY_SEALED_OTHER &&
		    coro_buffer_make(100 + seed % 1000, &b) == CORO_OK)
			seal(b, next(&seed));
		break;
	case TESTBODY_SEALED_RESIZE:
		resealed(b, &seed);
		break;
	case TESTBODY_SEALED_SEND:
		result->broken += sends(&b, arg);
		break;
	case TESTBODY_SEALED_RECV:
	case TESTBODY_SEALED_SELECT:
		receives(&b, arg);
		break;
	case TESTBODY_SEALED_CHILD:
	case TESTBODY_SEALED_DROP:
		result->broken += to_child(&b, arg->does == TESTBODY_SEALED_CHILD);
		break;
	case TESTBODY_SEALED_CALL:
	case TESTBODY_SEALED_UNHEARD:
		result->broken += calls(&b, arg);
		break;
	case TESTBODY_SEALED_PARK:
		while (coro_park() == CORO_OK)
			;
		break;
	default:
		break;
	}
	if (b.id)
		result->broken += is_broken(b);
	result->buffer = b;
	switch ((enum testbody_sealed_does)arg->does) {
	case TESTBODY_SEALED_FAIL:
		coro_fail(7, "it failed with a buffer");
		break;
	case TESTBODY_SEALED_EXIT:
		coro_exit();
		break;
	case TESTBODY_SEALED_ABORT:
		coro_abort();
		break;
	default:
		break;
	}
}
