/*
 * carry.h - coroutines whose argument or result holds buffers (coro_buffer.h).
 *
 * Which words do is a matter of the function, so that a record has one bit for it
 * (COROI_CARRIES). The bit is set by those that have passed the buffers of the argument. From
 * then on the coroutine owns these buffers; if it ends unstarted, they are freed. Those of its
 * result are the joiner's; if nobody gets the result, they are freed, too. So only cold paths look
 * at the bit.
 *
 * The kernel knows nothing of buffers: the room that has them says what passes and frees some.
 */
#ifndef COROI_CARRY_H
#define COROI_CARRY_H

#include "kernel/record.h"

#include <stdbool.h>

/* A bit of a record's arg_bytes. coroi_call_body asks only whether these are 0. */
#define COROI_CARRIES UINT8_C(0x80)

/* Functions that carry, of the process: a place of a table each, which stays. */
#define COROI_CARRY_BITS 11

/* coroi_carry_declare - coroutines of fn have buffers in these words of their arguments, and of
 * their results, always. Thread: any. Returns: CORO_OK; CORO_EINVAL: others were declared before;
 * CORO_ENOMEM: there are 1024 such functions. */
int coroi_carry_declare(coro_fn fn, uint8_t arg, uint8_t result);

/* coroi_carry_body - what stands for a function where a Go body does (border/goworker.h): the
 * record has none, but the body's id, in `stack`. */
static inline coro_fn coroi_carry_body(uint32_t id)
{
	return (coro_fn)(uintptr_t)((uint64_t)id << 32);
}

/* coroi_carry_mark - r carries from now on: it is filled in, and the buffers of its argument have
 * passed. Thread: the spawner. */
COROI_COLD void coroi_carry_mark(struct coroi_rec *r);

/* coroi_carry_drop_argument - r, which carries, ends unstarted. coroi_carry_drop_result - r, which
 * may have a result, has ended otherwise than by coro_fail, and somebody gets so many bytes of the
 * result at most; once. Thread: that of the end's owner, also in a door. */
COROI_COLD void coroi_carry_drop_argument(struct coroi_rec *r);
COROI_COLD void coroi_carry_drop_result(struct coroi_rec *r, size_t but);

static inline bool coroi_carries(const struct coroi_rec *r)
{
	return r->arg_bytes & COROI_CARRIES;
}

/* What the room of the buffers does with those of a payload: csrc/buffer/buffer.h. */
struct coroi_carry {
	int (*pass)(void *payload, uint64_t mask);
	void (*unpass)(const void *payload, uint64_t mask);
	void (*drop)(const void *payload, uint64_t mask);
};

extern struct coroi_carry coroi_carry;

#endif
