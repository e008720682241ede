//go:build ignore
/* context.c - see context.h. */
#include "border/context.h"

#include "base/extras.h"
#include "base/sys.h"
#include "border/state.h"
#include "kernel/nowait.h"
#include "kernel/wait.h"

/* segment_of - the segment in which the place of id is. *offset: where in it. */
static unsigned segment_of(uint32_t id, uint32_t *offset)
{
	unsigned n = 31 - (unsigned)__builtin_clz(id / COROI_DEADLINES_FIRST + 1);

	*offset = id - COROI_DEADLINES_FIRST * ((1u << n) - 1);
	return n;
}

/* place_of - where the deadline of id lies; NULL: in no segment that there is. */
static uint64_t *place_of(struct coro_scheduler *s, uint32_t id)
{
	uint32_t offset;
	/* acquire, pairs with coroi_deadline_set: the zeros are seen */
	uint64_t at = at_load_acq(&coroi_border(s)->deadlines.segment[segment_of(id, &offset)]);

	return at ? (uint64_t *)(uintptr_t)at + offset : NULL;
}

bool coroi_deadline_set(struct coro_scheduler *s, uint32_t id, uint64_t in_ns)
{
	uint64_t now = coroi_now_ns(), *place = place_of(s, id), none = 0;

	if (!place) {
		uint32_t offset;
		unsigned n = segment_of(id, &offset);
		void *made = coroi_alloc((sizeof *place * COROI_DEADLINES_FIRST) << n,
					 sizeof *place);
		if (!made)
			return false;
		if (!at_cas(&coroi_border(s)->deadlines.segment[n], &none,
			    (uint64_t)(uintptr_t)made))
			coroi_release(made); /* another thread was faster */
		place = place_of(s, id);
	}
	/* relaxed: the coroutine that reads it is published afterwards */
	at_store_rlx(place, in_ns < CORO_FOREVER - now ? now + in_ns : CORO_FOREVER);
	return true;
}

void coroi_deadline_forget(struct coro_scheduler *s, uint32_t id)
{
	at_store_rlx(place_of(s, id), 0);
}

void coroi_deadlines_free(struct coro_scheduler *s)
{
	for (unsigned n = 0; n < COROI_DEADLINE_SEGMENTS; n++)
		coroi_release(
			(void *)(uintptr_t)at_load_rlx(&coroi_border(s)->deadlines.segment[n]));
}

/* id_of - the id by which Go hears of the end of me, the current coroutine. False: Go does not. */
static bool id_of(const struct coroi_rec *me, uint32_t *id)
{
	if (!(me->flags & COROI_F_JOINABLE))
		return false;
	uint64_t word = at_load_acq(&coroi_cold(me)->join);
	*id = (uint32_t)(word & COROI_JOIN_INDEX_MASK) & ~COROI_JOIN_COUNTED;
	return coroi_join_kind(word) == COROI_JOIN_GO && *id != COROI_JOIN_LENDER;
}

uint64_t coro_deadline(void)
{
	struct coroi_rec *me = coroi_current(coroi_self());
	uint64_t *place, at = 0;
	uint32_t id;

	if (!me)
		return CORO_FOREVER;
	if (coroi_shield_holds(me, &at))
		return at;
	if (id_of(me, &id) && (place = place_of(coroi_owner(me), id)))
		at = at_load_rlx(place);
	return at ? at : CORO_FOREVER;
}

size_t coro_cancel_cause(char *text, size_t bytes)
{
	struct coroi_worker *w = coroi_self();
	struct coroi_rec *me = coroi_current(w);
	char *cause = NULL;
	uint32_t id;

	if (!coro_canceled())
		return coroi_text_get(NULL, text, bytes);
	if (id_of(me, &id) && coroi_border(w->sched)->bell.go_id &&
	    !coroi_nowait(w, "coro_cancel_cause", CORO_FOREVER))
		cause = coroi_call_cause(me);
	size_t n = coroi_text_get(cause ? cause : "coro: canceled", text, bytes);
	coroi_release(cause);
	return n;
}
