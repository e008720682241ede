#include "bodies.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

/* PCRE2 keeps 20 KiB for backtracking on the stack, and its compiler some more. */
#define STACK (128 << 10)

/* fail - end the body, by a code and the text of PCRE2. */
static void fail(int code)
{
	char why[120];

	pcre2_get_error_message(code, (PCRE2_UCHAR *)why, sizeof why);
	coro_fail(code, why);
}

static void free_code(void *code)
{
	pcre2_code_free(code);
}

static void free_match(void *match)
{
	pcre2_match_data_free(match);
}

/* search - finds where the pattern matches. The result is how often, of which found has as many as
 * it has room for. */
CORO_BODY_STACK(search, struct search, uint64_t, STACK, 0)
{
	PCRE2_SPTR text = arg->text.at ? arg->text.at : (PCRE2_SPTR) "";
	PCRE2_SIZE at, from = 0, *span;
	int status;

	pcre2_code *code = pcre2_compile(arg->pattern.at, arg->pattern.n, 0, &status, &at, NULL);
	if (!code)
		fail(status);
	coro_defer(free_code, code); /* runs at each of the ends */
	pcre2_match_data *match = pcre2_match_data_create_from_pattern(code, NULL);
	if (!match)
		fail(PCRE2_ERROR_NOMEMORY);
	coro_defer(free_match, match);
	span = pcre2_get_ovector_pointer(match);

	while (from <= arg->text.n) {
		status = pcre2_match(code, text, arg->text.n, from, 0, match, NULL);
		if (status == PCRE2_ERROR_NOMATCH)
			return;
		if (status < 0)
			fail(status);
		if (*result < arg->found.n)
			arg->found.at[*result] = (struct span){(uint32_t)span[0],
							       (uint32_t)span[1]};
		from = span[1] + (span[0] == span[1]); /* an empty match is not found again */
		++*result;
	}
}
