//go:build ignore
/* brief.c - see brief.h. */
#include "border/brief.h"

#include <pthread.h>

uint64_t coroi_brief_table[COROI_BRIEF_WORDS];
uint32_t coroi_brief_revoked;

static pthread_mutex_t declare_lock = PTHREAD_MUTEX_INITIALIZER; /* one is added at a time */
static uint32_t declared;                                        /* words that are taken */

/* word_of - the word of fn, or the free one where it belongs. */
static uint64_t *word_of(uint64_t fn)
{
	for (uint32_t i = (uint32_t)((fn >> 4) * UINT32_C(0x9e3779b1));; i++) {
		uint64_t *at = &coroi_brief_table[i % COROI_BRIEF_WORDS];
		uint64_t word = at_load_rlx(at);
		if (!word || (word & COROI_BRIEF_FN) == fn)
			return at;
	}
}

int coroi_brief_declare(coro_fn fn)
{
	uint64_t word = (uint64_t)(uintptr_t)fn;
	int status = CORO_OK;

	pthread_mutex_lock(&declare_lock);
	uint64_t *at = word_of(word);
	if (!at_load_rlx(at)) {
		if (declared < COROI_BRIEF_MOST) {
			declared++;
			at_store_rlx(at, word);
		} else {
			status = CORO_ENOMEM;
		}
	}
	pthread_mutex_unlock(&declare_lock);
	return status;
}

bool coroi_brief_doubted(coro_fn fn)
{
	return at_load_rlx(word_of((uint64_t)(uintptr_t)fn)) & COROI_BRIEF_DOUBT;
}

bool coroi_brief_late(coro_fn fn, bool proven)
{
	uint64_t *at = word_of((uint64_t)(uintptr_t)fn), word = at_load_rlx(at);

	if (!word)
		return false;
	if (!proven || !(word & COROI_BRIEF_DOUBT)) {
		at_or(at, COROI_BRIEF_DOUBT);
		return false;
	}
	if (at_or(at, COROI_BRIEF_REVOKED) & COROI_BRIEF_REVOKED)
		return false;
	at_add(&coroi_brief_revoked, 1);
	return true;
}

void coroi_brief_in_time(coro_fn fn)
{
	uint64_t *at = word_of((uint64_t)(uintptr_t)fn);

	if (coroi_unlikely(at_load_rlx(at) & COROI_BRIEF_DOUBT))
		at_and(at, ~COROI_BRIEF_DOUBT);
}

coro_fn coroi_brief_taken(void)
{
	for (uint32_t i = 0; i < COROI_BRIEF_WORDS; i++) {
		uint64_t *at = &coroi_brief_table[i], word = at_load_rlx(at);
		if (word & COROI_BRIEF_REVOKED && !(word & COROI_BRIEF_TOLD) &&
		    !(at_or(at, COROI_BRIEF_TOLD) & COROI_BRIEF_TOLD))
			return (coro_fn)(uintptr_t)(word & COROI_BRIEF_FN);
	}
	return NULL;
}
