/*
 * text.h - a line of a report, put together without the C library: in a signal handler, or on a
 * small stack.
 */
#ifndef COROI_TEXT_H
#define COROI_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* The longest report fits. More text than that is cut off: another fault would hide the first. */
struct coroi_text {
	char at[1024];
	size_t n;
};

static inline void coroi_text_put(struct coroi_text *t, const char *s)
{
	while (*s && t->n < sizeof t->at)
		t->at[t->n++] = *s++;
}

/* coroi_text_number - v in base 10, or in base 16 with 0x before it. */
static inline void coroi_text_number(struct coroi_text *t, uint64_t v, unsigned base)
{
	char digits[24];
	int n = 0;

	if (base == 16)
		coroi_text_put(t, "0x");
	do {
		digits[n++] = "0123456789abcdef"[v % base];
	} while (v /= base);
	while (n && t->n < sizeof t->at)
		t->at[t->n++] = digits[--n];
}

#endif
