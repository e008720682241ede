#include "kinds.h"

#include <string.h>

/*
 * genbody_add - adds up what the members are.
 *
 * Each has another weight:
 *
 *	1, 2, 3
 */
CORO_BODY(genbody_add, struct numbers, double, CORO_BRIEF)
{
	*result = arg->yes + 2 * (double)arg->part + 3 * arg->whole + 4 * arg->i8 + 5 * arg->u8 +
		  6 * arg->u16 + 7 * (double)arg->u32 + 8 * (double)arg->u64 + 9 * arg->c +
		  10 * arg->sc + 11 * (double)arg->ul;
}

// Turns a picture around,
// and makes it cold.
CORO_BODY(genbody_turn, picture, picture, 0)
{
	*result = *arg;
	for (int i = 0; i < 4; i++)
		result->corner[i / 2][i % 2] = arg->corner[(3 - i) / 2][(3 - i) % 2];
	result->shape = arg->shape == SHAPE_FLAT ? SHAPE_ROUND : SHAPE_FLAT;
	result->warmth = COLD;
	result->colour.r = arg->colour.b;
	result->colour.b = arg->colour.r;
	result->who = coro_self();
}

typedef uint32_t row[3];

CORO_BODY_STACK(genbody_rows, row, warmth, 32 << 10, 0)
{
	*result = (*arg)[0] + (*arg)[1] + (*arg)[2] > 10 ? HOT : MILD;
}

CORO_BODY(genbody_length, const char *, uint64_t, 0)
{
	*result = strlen(*arg);
}

CORO_BODY(genbody_nothing, coro_none, coro_none, CORO_DENSE)
{
}

/* genbody_serve - a connection, whose bytes go back to it. */
CORO_BODY(genbody_serve, coro_fd, coro_none, 0)
{
	char text[512];
	for (;;) {
		int64_t n = coro_read(*arg, text, sizeof text, CORO_FOREVER);
		size_t put;
		if (n <= 0 || coro_write_all(*arg, text, (size_t)n, &put, CORO_FOREVER) < 0)
			return;
	}
}

/* genbody_ids gives the numbers back. */
CORO_BODY(genbody_ids, struct ids, struct ids, CORO_BRIEF)
{
	*result = *arg;
	result->fd[0] = arg->fd[1];
	result->fd[1] = arg->fd[0];
}

/* genbody_weigh writes the weight of a crate to its stream, and turns its parts around. */
CORO_BODY(genbody_weigh, struct crate, struct crate, 0)
{
	uint32_t weight = 0;
	for (int i = 0; i < 2; i++) {
		size_t bytes;
		coro_buffer_at(arg->part[i], &bytes);
		weight += (uint32_t)bytes;
		result->part[i] = arg->part[1 - i];
	}
	result->weight = weight;
	coro_stream_write(arg->to, &weight, sizeof weight, CORO_FOREVER);
	coro_stream_free(arg->to);
}

/* It has no Go side: what it takes cannot be had there. */
CORO_BODY(genbody_left_out, long double, coro_none, 0)
{
}
