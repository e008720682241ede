/* bodies.h - stages of a pipeline of images. */
#ifndef IMAGES_BODIES_H
#define IMAGES_BODIES_H

#include <stdint.h>

#include "coro.h"

/* An image, the message of all stages: its pixels, a byte each, row by row. */
struct image {
	coro_buffer pixels;
	uint32_t width, height;
	uint64_t number;
};

/* Kinds of messages: an image; and a question of the last stage, for its totals. */
enum { IMAGE, TOTALS };

/* What the last stage has got. */
struct totals {
	uint64_t images, bytes, sum;
};

/* Stages in C. */
enum { SOFTEN, HALVE, ADD };

/* A stage to be opened, and the one that it hands its images to; the last one has none. */
struct stage {
	uint64_t next; /* a coro_actor */
	uint32_t what;
};

#endif
