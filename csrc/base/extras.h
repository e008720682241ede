/*
 * extras.h - what a coroutine of any layer may own besides its stack: deferred functions, an arena,
 * texts of what has failed, and shield sections.
 */
#ifndef COROI_EXTRAS_H
#define COROI_EXTRAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a coroutine has ended by coro_fail. */
struct coroi_failure {
	int32_t code;
	char *text; /* from coroi_alloc; NULL: none, or no memory for it */
};

/* A shield section; see kernel/shield.c. */
struct coroi_shield {
	struct coroi_shield *outer;
	uint64_t deadline; /* no later than that of the outer one */
};

struct coroi_extras {
	uint64_t tick; /* timer.h's: a record with extras has no other place for its tick */
	struct coroi_failure failure; /* of the coroutine itself, while deferred functions run */
	struct coroi_failure joined;  /* of the last one that it has joined */
	/* From coroi_alloc, linked by `outer`: a mark takes back what the arena gave. */
	struct coroi_shield *shield; /* the innermost section */
	struct coroi_shield *spare;  /* sections for the next use */
	char *text;                  /* of the last call into Go that has failed, or NULL */
	/* The body has ended, and its deferred functions run: a call that ends the coroutine ends
	 * one of them, and changes nothing of how the body has ended. The layer keeps that in `how`
	 * and `value` meanwhile, where it needs to. */
	bool over;
	uint8_t how;
	intptr_t value;
	/* extras.c's */
	struct coroi_block *blocks; /* the later ones */
	struct coroi_deferred *deferred;
	char *at, *end; /* free bytes of the newest block */
};

/* coroi_extras_make - *e, made if it is NULL. False: no memory. */
bool coroi_extras_make(struct coroi_extras **e);

/* coroi_extras_malloc - bytes, aligned to 16, until coroi_extras_free. coroi_extras_defer - have
 * fn(arg) called by coroi_extras_run. Both make *e at the first use. NULL or CORO_ENOMEM: no
 * memory, nothing changed. */
void *coroi_extras_malloc(struct coroi_extras **e, size_t bytes);
int coroi_extras_defer(struct coroi_extras **e, void (*fn)(void *), void *arg);

/* coroi_extras_mark, coroi_extras_run_to, coroi_extras_disarm - coro_defer_mark, coro_defer_run and
 * coro_defer_disarm. */
struct coro_mark *coroi_extras_mark(struct coroi_extras **e);
int coroi_extras_run_to(struct coroi_extras *e, struct coro_mark *mark);
int coroi_extras_disarm(struct coroi_extras *e, void (*fn)(void *), void *arg);

/* coroi_extras_over - deferred functions of the coroutine with these extras (NULL: none) run. */
static inline bool coroi_extras_over(const struct coroi_extras *e)
{
	return e && e->over;
}

/* coroi_extras_run - run the deferred functions, last first; they may defer more. coroi_extras_free
 * - free it all, with the texts. NULL is allowed. */
void coroi_extras_run(struct coroi_extras *e);
void coroi_extras_free(struct coroi_extras *e);

/* coroi_failure_make - a failure with a copy of the first `bytes` bytes of text, at most
 * CORO_FAILURE_BYTES - 1 of them. text: may be NULL. */
struct coroi_failure coroi_failure_make(int code, const char *text, size_t bytes);

/* coroi_text_get - what coro_call_error and the others of that kind do: copy at most bytes - 1
 * bytes of the text kept (NULL: none) and a zero. Returns: the length of the whole text. */
size_t coroi_text_get(const char *kept, char *text, size_t bytes);

#endif
