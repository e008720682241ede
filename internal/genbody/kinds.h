/* kinds.h - structs with members of all kinds that coro gen knows. */
#ifndef CORO_GENBODY_KINDS_H
#define CORO_GENBODY_KINDS_H

#include "coro.h"
#include "coro_actor.h"
#include "coro_io.h"

#include <stdbool.h>

/* What a shape is. */
enum shape {
	SHAPE_ROUND,
	SHAPE_FLAT = 7,
};

typedef enum { COLD = -1, MILD, HOT } warmth; /* its values are signed */

struct point {
	int16_t x, y; /* in steps */
};

/*
 * Numbers of all sizes,
 * in two lines of comment.
 */
struct numbers {
	bool yes;
	/* between 0 and 1 */
	float part;
	double whole;
	int8_t i8;
	uint8_t u8;
	uint16_t u16;
	uint32_t u32;
	uint64_t u64;
	char c;
	signed char sc;
	unsigned long ul;
};

typedef struct {
	struct point corner[2][2];
	enum shape shape;
	warmth warmth;
	struct {
		uint8_t r, g, b;
	} colour;
	const char *name;
	coro_handle who;
} picture;

/* What coro.h has numbers for, and Go has types for. */
struct ids {
	coro_fd fd[2];
	coro_actor actor;
	coro_handle handle;
	coro_go_id go;
};

/* What passes from owner to owner. */
struct crate {
	coro_buffer part[2];
	coro_stream *to;
	uint32_t weight;
};

/* What a message of the server is, which no body has. */
enum event { EVENT_BEGIN, EVENT_END };

struct figures {
	enum event last;
	coro_fd fd;
	struct {
		uint32_t in, out;
	} bytes;
};

#endif
