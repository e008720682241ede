/*
 * s_lend.h - what the scenarios of lending share. They are in s_lend.c and s_lent.c, and each of
 * these files has variables of its own.
 */
#ifndef EXPLORE_S_LEND_H
#define EXPLORE_S_LEND_H

#include "world.h"

#define LEAVES 4

static struct {
	unsigned ran[LEAVES];
	unsigned returned;
	struct coroi_rec *own[2]; /* of a lend that came out as COROI_LEND_SUSPENDED, and its */
	uint64_t gen[2];          /* generation */
	unsigned suspended;
	coro_handle handle;
	bool over;
} g;

/* is_lent - the caller, a coroutine, runs on a thread that is no worker's own. */
static inline bool is_lent(void)
{
	return coroi_self()->lent;
}

/* A leaf from outside is no lender's to run. */
static inline void leaf(void *arg, void *result)
{
	(void)result;
	EX_CHECK(!is_lent());
	g.ran[*(uint64_t *)arg]++;
}

static inline void push_leaf(void *arg)
{
	world_spawn(leaf, (uint64_t)(uintptr_t)arg);
}

/* call_of - a call of fn(n). */
static inline struct coroi_lend call_of(coro_fn fn, uint64_t n, bool brief)
{
	struct coroi_lend call = {
		.sched = (uint64_t)(uintptr_t)sched,
		.fn = (uint64_t)(uintptr_t)fn,
		.class = sched->class,
		.arg_bytes = sizeof n,
		.brief = brief,
		.id = COROI_JOIN_LENDER,
	};

	memcpy(call.payload, &n, sizeof n);
	return call;
}

/* suspended - call's coroutine goes on elsewhere. */
static inline void suspended(const struct coroi_lend *call)
{
	g.own[g.suspended] = (struct coroi_rec *)(uintptr_t)call->rec;
	g.gen[g.suspended++] = call->gen;
}

/* lends - a call of fn(n), as Go makes it: where no worker can be lent, fn is spawned. */
static inline int lends(coro_fn fn, uint64_t n, bool brief)
{
	struct coroi_lend call = call_of(fn, n, brief);
	int outcome = coroi_lend_call(&call);
	EX_CHECK(!coroi_self());
	EX_CHECK(outcome >= 0 && outcome != COROI_LEND_CALLS);
	ex_reached((unsigned)outcome);
	if (outcome == COROI_LEND_ENDED) {
		EX_CHECK(call.status == CORO_OK);
	} else if (outcome == COROI_LEND_SUSPENDED) {
		suspended(&call);
	} else {
		world_spawn(fn, n);
	}
	return outcome;
}

#define ENDED     (1u << COROI_LEND_ENDED)
#define SUSPENDED (1u << COROI_LEND_SUSPENDED)
#define NONE      (1u << COROI_LEND_NONE)
#define MORE      (COROI_LEND_NONE + 1) /* the first bit of a scenario's own */

/* check_owns - the coroutines that their calls left suspended have ended. The ends are there for
 * the callers to take. */
static inline void check_owns(void)
{
	for (unsigned i = 0; i < g.suspended; i++) {
		struct coroi_rec *r = g.own[i];
		uint64_t join = coroi_cold(r)->join;
		EX_CHECK(r->state == COROI_ENDED);
		EX_CHECK(coroi_gen(r->wake) == g.gen[i] >> COROI_GEN_SHIFT);
		EX_CHECK(coroi_join_kind(join) == COROI_JOIN_FINAL);
	}
}

static inline void check_ran(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (g.ran[i] != 1)
			ex_fail("coroutine %u has run %u times", i, g.ran[i]);
	EX_CHECK(coroi_finished(sched) && coroi_live(sched) == 0);
	check_owns();
}

static inline void empty(void *arg, void *result)
{
	(void)result;
	g.ran[*(uint64_t *)arg]++;
}

static inline void lend_empty(void *arg)
{
	lends(empty, (uint64_t)(uintptr_t)arg, false);
}

static inline void check_two(void)
{
	check_ran(2);
}

#endif
