/*
 * switch.h - going from one stack to another.
 *
 * A suspended context is one word: the stack pointer under which its callee-saved registers and the
 * address where it continues are stored. A context is published (in a deque, to a joiner) inside
 * its worker's door. The switch itself opens the door, after the registers are saved: no other
 * thread can resume a context that is still being saved.
 */
#ifndef COROI_SWITCH_H
#define COROI_SWITCH_H

#include "base/atomics.h"

#include <stddef.h>

/* coroi_switch - save the present context in *save, continue in `to`, and open the door (*door = 0,
 * release) in between. Returns when a switch goes back to this context, with the value given to
 * that switch, as an int (a type that lets the public calls end in a tail call). A new context gets
 * all of the value. */
int coroi_switch(void **save, void *to, intptr_t value, uint32_t *door);

/* coroi_switch_within - the same by ret, for a caller that does not end in a tail call of it. The
 * return is predicted right if the context that continues was suspended by the same caller. Also
 * for the way to the native stack and back, if that then returns: each call has its ret then. */
int coroi_switch_within(void **save, void *to, intptr_t value, uint32_t *door);

/* COROI_RETURNS_AFTER_SWITCH - for a function that ends soon after coroi_switch_within. The return
 * predictor then holds the call site of the context that ran before. So the function jumps to its
 * return address, which is predicted as jumps are. Where the compiler cannot do that, the function
 * returns, which is right and slower. It begins a cache line: the place of its call in the line
 * makes a tenth of the time of a hand-over, and would change with any code before it. */
#if defined(__x86_64__) && !defined(__code_model_large__) && __has_attribute(function_return)
#define COROI_RETURNS_AFTER_SWITCH __attribute__((function_return("thunk-extern"), aligned(64)))
#else
#define COROI_RETURNS_AFTER_SWITCH
#endif

/* coroi_call_on - save the present context in *save, as coroi_switch does, and call fn(value) on
 * the stack whose top is given (16-aligned). Each call then has its own return, which is predicted
 * right. fn may return only if nothing has continued the saved context. Returns: fn's result, or
 * the value of the switch that continues the saved context; then fn's frame lives on, and fn must
 * not return. */
int coroi_call_on(void **save, void *top, intptr_t value, int (*fn)(intptr_t));

/* coroi_fork_call - save the present context in *save, and call fn(arg, result) below it. Returns:
 * 0: fn has returned; 1: coroi_fork_return was called with what *save holds. coroi_fork_return gives
 * up all frames below that context, on this stack or on others that were called from there. */
int coroi_fork_call(void **save, void (*fn)(void *arg, void *result), void *arg, void *result);
void coroi_fork_return(void *to) __attribute__((noreturn));

/* coroi_swap - coroi_switch without a door. */
int coroi_swap(void **save, void *to, intptr_t value);

/* coroi_jump - coroi_switch that gives the present context up. */
void coroi_jump(void *to, intptr_t value, uint32_t *door) __attribute__((noreturn));

/* coroi_restart - give the present context up for a new one on the same stack. */
void coroi_restart(void *to, intptr_t value) __attribute__((noreturn));

/* Where new contexts begin; not to be called. */
void coroi_entry(void);
void coroi_entry_again(void);

static inline void *coroi_context_at(void *top, void (*fn)(intptr_t), void (*entry)(void))
{
	void **sp = (void **)top;
#if defined(__x86_64__)
	*--sp = NULL; /* keeps rsp 16-aligned at the call; the zero return slot for unwinders */
	*--sp = NULL;
	*--sp = (void *)entry;
	*--sp = NULL;       /* rbp */
	*--sp = (void *)fn; /* rbx */
	*--sp = NULL;       /* r12-r15 */
	*--sp = NULL;
	*--sp = NULL;
	*--sp = NULL;
#elif defined(__aarch64__)
	sp -= 20;
	for (int i = 0; i < 20; i++)
		sp[i] = NULL;
	sp[0] = (void *)fn;     /* x19 */
	sp[11] = (void *)entry; /* x30 */
#else
#error "coro runs on amd64 and arm64"
#endif
	return sp;
}

/* coroi_context - lay out a context at the top of a stack (16-aligned) that will call fn(value),
 * which never returns. Returns its stack pointer. */
static inline void *coroi_context(void *top, void (*fn)(intptr_t))
{
	return coroi_context_at(top, fn, coroi_entry);
}

/* coroi_context_again - a context that can be switched to any number of times: each time it calls
 * fn(value), which leaves by coroi_jump. */
static inline void *coroi_context_again(void *top, void (*fn)(intptr_t))
{
	return coroi_context_at(top, fn, coroi_entry_again);
}

#endif
