//go:build ignore
/* carry.c - see carry.h. */
#include "kernel/carry.h"

#include "base/lock.h"
#include "kernel/worker.h"

#define CARRY_PLACES      (1u << COROI_CARRY_BITS)
#define CARRY_PLACES_MOST (CARRY_PLACES / 2)

struct coroi_carry coroi_carry;

/* A place is empty while fn is 0. It is written once, under the lock. */
static struct carry_place {
	uint64_t fn; /* atomic: release, after the masks */
	uint8_t arg, result;
} places[CARRY_PLACES];

static struct coroi_lock places_lock;
static uint32_t places_used; /* under the lock */

/* place_of - that of fn, or the empty one where fn would be. */
static struct carry_place *place_of(coro_fn fn)
{
	uint64_t f = (uintptr_t)fn, found;
	uint32_t i = (uint32_t)(f * UINT64_C(0x9e3779b97f4a7c15) >> (64 - COROI_CARRY_BITS));

	/* acquire; pairs with the release of a place's fn */
	while ((found = at_load_acq(&places[i].fn)) && found != f)
		i = (i + 1) % CARRY_PLACES;
	return &places[i];
}

static int declare_locked(coro_fn fn, uint8_t arg, uint8_t result)
{
	struct carry_place *c = place_of(fn);

	if (c->fn)
		return c->arg == arg && c->result == result ? CORO_OK : CORO_EINVAL;
	if (places_used == CARRY_PLACES_MOST)
		return CORO_ENOMEM;
	places_used++;
	c->arg = arg;
	c->result = result;
	at_store_rel(&c->fn, (uint64_t)(uintptr_t)fn);
	return CORO_OK;
}

int coroi_carry_declare(coro_fn fn, uint8_t arg, uint8_t result)
{
	const struct carry_place *c = place_of(fn);

	/* acquire, as in place_of; the place was perhaps empty, and is another function's now */
	if (at_load_acq(&c->fn) == (uintptr_t)fn && c->arg == arg && c->result == result)
		return CORO_OK;
	coroi_lock(&places_lock);
	int status = declare_locked(fn, arg, result);
	coroi_unlock(&places_lock);
	return status;
}

void coroi_carry_mark(struct coroi_rec *r)
{
	struct coro_scheduler *s = coroi_owner(r);

	r->arg_bytes |= COROI_CARRIES;
	if (!at_load_rlx(&s->carries))
		at_xchg(&s->carries, 1);
}

/* unmark - r carries no more. Returns: the place of its function. */
static const struct carry_place *unmark(struct coroi_rec *r)
{
	r->arg_bytes &= (uint8_t)~COROI_CARRIES;
	return place_of(r->fn ? r->fn : coroi_carry_body((uint32_t)(uintptr_t)r->stack));
}

void coroi_carry_drop_argument(struct coroi_rec *r)
{
	coroi_carry.drop(coroi_cold(r)->payload, unmark(r)->arg); /* it has no result */
}

void coroi_carry_drop_result(struct coroi_rec *r, size_t but)
{
	coroi_carry.drop(coroi_cold(r)->payload, unmark(r)->result >> but / 8 << but / 8);
}
