/* stack.c - see stack.h. */
#include "stack.h"

#include <sys/mman.h>

#define GUARD_BYTES ((size_t)4 << 10)

char *cb_stack_new(size_t bytes)
{
	char *low = mmap(NULL, GUARD_BYTES + bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (low == MAP_FAILED)
		return NULL;
	if (mprotect(low, GUARD_BYTES, PROT_NONE)) {
		munmap(low, GUARD_BYTES + bytes);
		return NULL;
	}
	return low + GUARD_BYTES;
}

void cb_stack_free(char *low, size_t bytes)
{
	munmap(low - GUARD_BYTES, GUARD_BYTES + bytes);
}
