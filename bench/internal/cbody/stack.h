/* stack.h - stacks as a program makes them that has no library for it: memory of the kernel, with a
 * page below that nothing may touch. */
#ifndef CBODY_STACK_H
#define CBODY_STACK_H

#include <stddef.h>

#define CB_STACK_BYTES ((size_t)16 << 10)

/* cb_stack_new - the lowest address of `bytes` of stack; NULL: no memory. cb_stack_free takes what
 * it returned, and the same bytes. */
char *cb_stack_new(size_t bytes);
void cb_stack_free(char *low, size_t bytes);

#endif
