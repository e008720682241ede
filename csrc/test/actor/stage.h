/*
 * stage.h - what the tests of actors share.
 */
#ifndef STAGE_H
#define STAGE_H

#include "coro_actor.h"
#include "test.h"

/* actor - a new one of s (NULL: of the caller's); it succeeds. */
coro_actor actor(coro_scheduler *s, const coro_actor_kind *kind, void *state);

/* tell - send one word; it is accepted. */
void tell(coro_actor to, uint32_t kind, uint64_t word);

/* settled - at rest, the figures of s fit together: what was accepted is handled,
 * dead, or taken back. Returns: the figures. */
coro_actor_stats settled(coro_scheduler *s);

/* dead - all dead letters of the figures. */
uint64_t dead(const coro_actor_stats *t);

#endif
