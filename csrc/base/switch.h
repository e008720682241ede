/*
 * switch.h - going from one stack to another.
 *
 * A suspended context is one word: the stack pointer under which its callee-saved registers and the
 * place where it goes on are stored. Whatever publishes a suspended context (its deque, its joiner)
 * is protected by its worker's door, and the door is opened by the switch itself, after the
 * registers are saved: nobody can resume a context that is still being saved.
 */
#ifndef COROI_SWITCH_H
#define COROI_SWITCH_H

#include "base/atomics.h"

#include <stddef.h>

/* coroi_switch - save the present context in *save, go on in `to`, and open the door (*door = 0,
 * release) in between. Returns, when somebody switches back, the value that this somebody gave, as
 * an int (a type that lets the public calls end in a tail call); a new context gets all of it. */
int coroi_switch(void **save, void *to, intptr_t value, uint32_t *door);

/* coroi_switch_within - the same by ret, for a caller to which it is no tail call: its return is
 * predicted right if the one that goes on comes from the same caller. And for the way to the native
 * stack and back, if that then returns: each call has its ret then. */
int coroi_switch_within(void **save, void *to, intptr_t value, uint32_t *door);

/* COROI_RETURNS_AFTER_SWITCH - of a function that ends soon after coroi_switch_within: the return
 * predictor holds the call site of who went before, so the place to return to is jumped to, and
 * predicted as jumps are. Where the compiler cannot do that it returns, which is right and slower.
 * It begins a cache line: where in one its call lies makes a tenth of a hand-over (Zen 5: 9.4 or
 * 10.5 ns), which would else change with any line of code before it. */
#if defined(__x86_64__) && !defined(__code_model_large__) && __has_attribute(function_return)
#define COROI_RETURNS_AFTER_SWITCH __attribute__((function_return("thunk-extern"), aligned(64)))
#else
#define COROI_RETURNS_AFTER_SWITCH
#endif

/* coroi_swap - the same without a door. */
int coroi_swap(void **save, void *to, intptr_t value);

/* coroi_jump - the same as coroi_switch, and the present context is given up. */
void coroi_jump(void *to, intptr_t value, uint32_t *door) __attribute__((noreturn));

/* coroi_restart - give the present context up for a new one on the same stack. */
void coroi_restart(void *to, intptr_t value) __attribute__((noreturn));

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

/* coroi_context - lay out a context at the top of a stack (16-aligned) that will call fn(value) and
 * never return from it. Returns its stack pointer. */
static inline void *coroi_context(void *top, void (*fn)(intptr_t))
{
	return coroi_context_at(top, fn, coroi_entry);
}

/* coroi_context_again - the same, to be gone to any number of times: fn leaves for ever by
 * coroi_jump, and is called anew by the next switch. */
static inline void *coroi_context_again(void *top, void (*fn)(intptr_t))
{
	return coroi_context_at(top, fn, coroi_entry_again);
}

#endif
