/* bodies.h - tokens of a text. */
#ifndef TOKENIZER_BODIES_H
#define TOKENIZER_BODIES_H

#include <stdint.h>

#include "coro.h"

/* Kinds of tokens, as marks. A byte that begins no token has the mark 0. */
enum { WORD = 1, NUMBER, SIGN };

/* A part of a text, which ends at a space, and a mark for each of its bytes. */
struct part {
	coro_bytes text, marks;
};

struct tokens {
	uint64_t words, numbers, signs;
};

#endif
