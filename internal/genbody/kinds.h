/* kinds.h - structs with members of all kinds that coro gen knows. */
#ifndef CORO_GENBODY_KINDS_H
#define CORO_GENBODY_KINDS_H

#include "coro.h"

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

#endif
