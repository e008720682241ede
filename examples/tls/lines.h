/* lines.h - the C engine of a line protocol. */
#ifndef LINES_H
#define LINES_H

#include "coro.h"

/* Bytes of the longest line, with its end. */
#define LINE_BYTES 4096

CORO_DECLARE_BODY(upper_lines);

#endif
