/*
 * stand.c - stands in for base/sys.c in the explored copy of the core, and for the switches that
 * open a door (base/switch_*.S).
 *
 * Memory comes from one arena, which is put back before each schedule; see world.c.
 */
#include "world.h"

#include "base/fault.h"
#include "base/switch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#undef coroi_swap
int coroi_swap(void **save, void *to, intptr_t value);

/* ----------------------------------------------------------------------------------- memory */

void *coroi_alloc(size_t bytes, size_t align)
{
	return world_alloc(bytes, align);
}

void coroi_release(void *p)
{
	(void)p;
}

/* Nothing reports a fault here. */
int coroi_fault_name(uintptr_t fn, const char *text, size_t bytes)
{
	(void)fn;
	(void)text;
	(void)bytes;
	return CORO_OK;
}

size_t coroi_page(void)
{
	return 4096;
}

/* For a chunk of records or an arena of stacks. Neither is ever given back. */
void *coroi_map(size_t bytes, size_t align, const char *name)
{
	(void)name;
	char *p = mmap(NULL, bytes + align, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	return (void *)(((uintptr_t)p + align - 1) & ~(uintptr_t)(align - 1));
}

void coroi_unmap(void *base, size_t bytes)
{
	(void)base;
	(void)bytes;
}

bool coroi_discard(void *base, size_t bytes)
{
	(void)base;
	(void)bytes;
	return true;
}

void coroi_huge(void *base, size_t bytes, bool want)
{
	(void)base;
	(void)bytes;
	(void)want;
}

int coroi_guard(void *base, size_t bytes)
{
	return mprotect(base, bytes, PROT_NONE);
}

bool coroi_guard_is_light(void)
{
	return false;
}

/* ---------------------------------------------------------------------------------- threads */

bool coroi_has_membarrier(void)
{
	return true;
}

void coroi_membarrier(void)
{
	ex_membarrier();
}

void coroi_futex_wait(uint32_t *word, uint32_t value, int64_t timeout_ns)
{
	ex_futex_wait(word, value, timeout_ns);
}

void coroi_futex_wake(uint32_t *word, int count)
{
	ex_futex_wake(word, count);
}

/* Each thread has a CPU of its own. */
int32_t coroi_cpu(void)
{
	return (int32_t)ex_self();
}

void coroi_cpu_yield(void)
{
}

struct coroi_usage coroi_thread_usage(void)
{
	return (struct coroi_usage){0};
}

uint64_t coroi_now_ns(void)
{
	return ex_now_ns();
}

/* A worker's thread becomes a modelled one. */
int coroi_thread_start(pthread_t *out, void *(*fn)(void *), void *arg)
{
	*out = (pthread_t)world_worker_thread(fn, arg);
	return 0;
}

void coroi_thread_mask(void)
{
}

void coroi_signals_open(sigset_t *before)
{
	(void)before;
}

void coroi_signals_close(const sigset_t *before)
{
	(void)before;
}

void *coroi_sigstack_install(void)
{
	return &ex_mutant; /* anything but NULL */
}

void coroi_sigstack_remove(void *base)
{
	(void)base;
}

void *coroi_sigstack_borrow(void)
{
	return NULL;
}

void coroi_sigstack_return(void *base)
{
	(void)base;
}

void coroi_say(const char *text, size_t bytes)
{
	(void)text;
	(void)bytes;
}

int coroi_print(char *text, size_t bytes, const char *format, va_list args)
{
	return vsnprintf(text, bytes, format, args);
}

void coroi_thread_name(const char *name, unsigned index)
{
	(void)name;
	(void)index;
}

const char *coroi_errno_text(int number)
{
	(void)number;
	return NULL;
}

bool coroi_thread_pin(unsigned cpu)
{
	(void)cpu;
	return true;
}

int32_t coroi_thread_id(void)
{
	return 1;
}

unsigned coroi_cpus(void)
{
	return 1;
}

/* --------------------------------------------------------------------------------- switching */

/* Where each context lies. What lies above a context is the live part of its stack. */

#define STACKS_MOST 64

static struct {
	char *low, *top;
	/* holds the context that is suspended on this stack; NULL: a thread stands on the stack, or
	 * no context does */
	void **save;
} stacks[STACKS_MOST];
static unsigned stack_count;

void world_stack(void *low, void *top)
{
	if (stack_count == STACKS_MOST)
		abort();
	stacks[stack_count].low = low;
	stacks[stack_count++].top = top;
}

void world_stacks_begin(void)
{
	for (unsigned i = 0; i < stack_count; i++)
		stacks[i].save = NULL;
}

static bool lies_on(unsigned i, const void *p)
{
	return (const char *)p >= stacks[i].low && (const char *)p <= stacks[i].top;
}

void world_stacks(const void *const *sp, unsigned n, void (*add)(const void *sp, const void *top))
{
	for (unsigned i = 0; i < stack_count; i++) {
		const void *live = stacks[i].save ? *stacks[i].save : NULL;
		for (unsigned k = 0; k < n; k++)
			if (lies_on(i, sp[k]))
				live = sp[k];
		if (live)
			add(live, stacks[i].top);
	}
}

/* from_to - the present context is left, with *save for it (NULL: it is given up); the context `to`
 * goes on. */
static void from_to(void **save, void *to)
{
	bool known = false;

	for (unsigned i = 0; i < stack_count; i++) {
		if (lies_on(i, __builtin_frame_address(0))) {
			stacks[i].save = save;
		} else if (lies_on(i, to)) {
			known = true;
			if (!stacks[i].save) /* a fresh context */
				memset((char *)to - WORLD_CLEANED, 0, WORLD_CLEANED);
			stacks[i].save = NULL;
		}
	}
	if (!known)
		abort();
}

int coroi_swap_watched(void **save, void *to, intptr_t value)
{
	from_to(save, to);
	int code = coroi_swap(save, to, value);
	ex_clean();
	return code;
}

/* A modelled store opens the door. No thread runs between that store and the switch: the real
 * switch opens the door when the context is already saved. */
int coroi_switch(void **save, void *to, intptr_t value, uint32_t *door)
{
	at_store_rel(door, 0);
	return coroi_swap_watched(save, to, value);
}

int coroi_switch_within(void **save, void *to, intptr_t value, uint32_t *door)
{
	return coroi_switch(save, to, value, door);
}

void coroi_jump(void *to, intptr_t value, uint32_t *door)
{
	void *gone;

	at_store_rel(door, 0);
	from_to(NULL, to);
	coroi_swap(&gone, to, value);
	abort();
}

void coroi_fault_install(void)
{
}
