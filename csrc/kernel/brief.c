//go:build ignore
/* brief.c - see brief.h. */
#include "kernel/brief.h"

#include <pthread.h>

uint64_t coroi_brief_table[COROI_BRIEF_WORDS];
uint32_t coroi_brief_lost;

static pthread_mutex_t declare_lock = PTHREAD_MUTEX_INITIALIZER; /* one is added at a time */
static uint32_t declared;                                        /* words that are taken */

/* A bit beside `late`: coroi_brief_taken has returned the function. */
#define RETURNED (UINT64_C(1) << 63)

static bool is_of(uint64_t word, uint64_t fn)
{
	return (word ^ fn) << (64 - COROI_BRIEF_SHIFT) == 0;
}

static uint32_t late_of(uint64_t word)
{
	return (uint32_t)((word & ~RETURNED) >> COROI_BRIEF_SHIFT);
}

/* is_doubted - the function was late, and has its mark. */
static bool is_doubted(uint64_t word)
{
	return late_of(word) && late_of(word) < COROI_BRIEF_LATE;
}

/* word_of - the word of fn, or the free one where it belongs. */
static uint64_t *word_of(uint64_t fn)
{
	for (uint32_t i = (uint32_t)((fn >> 4) * UINT32_C(0x9e3779b1));; i++) {
		uint64_t *at = &coroi_brief_table[i % COROI_BRIEF_WORDS];
		uint64_t word = at_load_rlx(at);
		if (!word || is_of(word, fn))
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
	return is_doubted(at_load_rlx(word_of((uint64_t)(uintptr_t)fn)));
}

bool coroi_brief_late(coro_fn fn, bool proven)
{
	uint64_t *at = word_of((uint64_t)(uintptr_t)fn), word = at_load_rlx(at);

	while (word && late_of(word) < (proven ? COROI_BRIEF_LATE : 1)) {
		uint64_t next = word + (UINT64_C(1) << COROI_BRIEF_SHIFT);
		if (!at_cas(at, &word, next))
			continue;
		if (late_of(next) < COROI_BRIEF_LATE)
			return false;
		at_add(&coroi_brief_lost, 1);
		return true;
	}
	return false;
}

void coroi_brief_in_time(coro_fn fn)
{
	uint64_t *at = word_of((uint64_t)(uintptr_t)fn), word = at_load_rlx(at);

	/* a failure: another run was judged meanwhile */
	if (coroi_unlikely(is_doubted(word)))
		at_cas(at, &word, word & ((UINT64_C(1) << COROI_BRIEF_SHIFT) - 1));
}

coro_fn coroi_brief_taken(void)
{
	for (uint32_t i = 0; i < COROI_BRIEF_WORDS; i++) {
		uint64_t word = at_load_rlx(&coroi_brief_table[i]);
		if (late_of(word) < COROI_BRIEF_LATE || word & RETURNED)
			continue;
		if (at_cas(&coroi_brief_table[i], &word, word | RETURNED))
			return (coro_fn)(uintptr_t)(word &
						    ((UINT64_C(1) << COROI_BRIEF_SHIFT) - 1));
	}
	return NULL;
}
