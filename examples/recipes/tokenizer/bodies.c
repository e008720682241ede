#include "bodies.h"

static int kind_of(uint8_t c)
{
	if ((c | 32) >= 'a' && (c | 32) <= 'z')
		return WORD;
	if (c >= '0' && c <= '9')
		return NUMBER;
	return c > ' ' ? SIGN : 0;
}

/* tokenize - marks where tokens begin, and counts them: words, numbers and single signs. */
CORO_BODY(tokenize, struct part, struct tokens, 0)
{
	const uint8_t *text = arg->text.at;
	uint8_t *marks = arg->marks.at;
	uint64_t count[SIGN + 1] = {0};
	int before = 0;

	if (arg->marks.n < arg->text.n)
		coro_fail(1, "there are fewer marks than bytes");
	for (size_t i = 0; i < arg->text.n; i++) {
		int kind = kind_of(text[i]);
		int begins = kind != 0 && (kind != before || kind == SIGN);
		marks[i] = (uint8_t)(begins ? kind : 0);
		count[begins ? kind : 0]++;
		before = kind;
	}
	*result = (struct tokens){count[WORD], count[NUMBER], count[SIGN]};
}
